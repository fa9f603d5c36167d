//! Garbage collection: when it begins, what it costs, where copies go, and which pages lie
//! together.

use crate::support;
use crate::support::Dice;
use eraseblock_core::buffer::{Answer, Buffer, Outcome, Span, View};
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, DeviceError, Options};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Report;
use eraseblock_core::support::ids::{Lpn, PlaneId};
use serde_json::{Value, json};

/// One channel with two chips, or what `over` says; 16 pages a block.
fn config(over: &Value) -> DeviceConfig {
    let mut all = json!({
        "nand": {"chips_per_channel": 2, "blocks_per_plane": 40, "pages_per_block": 16,
                 "timing": {"read": "25 us", "program": "200 us", "erase": "1500 us", "transfer": "0 ns"}},
        "ftl": {"exported": "4 MiB"},
        "host": {"replay": "open", "max_outstanding": 64},
    });
    for (section, values) in over.as_object().unwrap() {
        for (key, value) in values.as_object().unwrap() {
            all[section][key] = value.clone();
        }
    }
    support::config(&all)
}

fn at(op: Op, page: u64, count: u64, arrival_ns: u64) -> Request {
    Request { arrival_ns, ..support::request(op, page, count) }
}

/// Random single-page writes, `gap_ns` apart.
fn overwritten(config: &DeviceConfig, writes: u64, gap_ns: u64) -> Report {
    let mut device = Device::new(config, Options { verify: true }).unwrap();
    device.precondition().unwrap();
    let pages = device.exported_bytes() / 4096;
    let mut dice = Dice(1);
    for i in 0..writes {
        device.submit(&at(Op::Write, dice.roll(pages), 1, i * gap_ns)).unwrap();
    }
    device.finish().unwrap()
}

/// The thesis switches off the time of collection, not collection: as many copies and erases, and
/// every write takes as long as it does on a drive that never collects.
#[test]
fn free_collection_costs_no_time_and_counts_all_the_same() {
    let run = |gc: Value| overwritten(&config(&json!({"ftl": {"gc": gc}})), 6000, 400_000);
    let (full, free) = (run(json!({})), run(json!({"cost": "free"})));
    assert!(full.flash.erases.gc > 100);
    assert_eq!((full.flash.programs.host, free.flash.programs.host), (6000, 6000));
    // Not the same number: what has become invalid by the time of each victim differs.
    let near = |a: u64, b: u64| a.abs_diff(b) * 10 <= a;
    assert!(near(full.flash.erases.gc, free.flash.erases.gc), "{:?} {:?}", full.flash, free.flash);
    let (full, free) = (full.response_ns.write.unwrap(), free.response_ns.write.unwrap());
    assert_eq!((free.mean, free.max), (200_000.0, 200_000));
    assert!(full.max > 1_500_000, "{full:?}");
}

/// The same with all writes at once: however few blocks are in hand, no die is ever idle, as no
/// erase waits until the pages are stored that replace what it takes away.
#[test]
fn free_collection_makes_room_at_once() {
    for free_blocks in [1, 2, 8] {
        let gc = json!({"cost": "free", "free_blocks": free_blocks});
        let report =
            overwritten(&config(&json!({"ftl": {"gc": gc, "exported": "3 MiB"}})), 4000, 0);
        assert!(report.flash.erases.gc > 100);
        // 4000 programs of 200 us on two dies.
        assert_eq!(report.simulated_s, Some(0.4), "{free_blocks}");
    }
}

/// Six blocks of 16 pages are full, and two erased ones too few. Block 1 has 6 valid pages, block 0
/// has 10; they are collected in this order, 225 us a page and 1500 us an erase. A read comes 1 us
/// after that has begun.
#[test]
fn collection_goes_on_without_requests_as_far_as_its_grain_says() {
    let response = |grain: &str, scheduling: &str| {
        let config = config(&json!({
            "nand": {"chips_per_channel": 1, "blocks_per_plane": 8, "scheduling": scheduling},
            "ftl": {"exported": "320 KiB", "gc": {"grain": grain, "free_blocks": 2}},
            "precondition": {"state": "empty"},
        }));
        let mut device = Device::new(&config, Options { verify: true }).unwrap();
        let writes = (0..80).chain(0..6).chain(16..26);
        for (n, page) in (0..).zip(writes) {
            device.submit(&at(Op::Write, page, 1, n * 10_000_000)).unwrap();
        }
        device.submit(&at(Op::Read, 40, 1, 950_201_000)).unwrap();
        let report = device.finish().unwrap();
        assert_eq!((report.flash.erases.gc, report.flash.programs.gc), (2, 16), "{grain}");
        report.response_ns.read.unwrap().max
    };
    let (first, second, erase, read) = (6 * 225_000, 10 * 225_000, 1_500_000, 25_000);
    assert_eq!(response("steps", "fifo"), first - 1_000 + read);
    assert_eq!(response("victim", "fifo"), first + erase - 1_000 + read);
    assert_eq!(response("all", "fifo"), first + erase + second + erase - 1_000 + read);
    // Reads that go before everything wait for the copy of one page.
    assert_eq!(response("all", "read-first"), 225_000 - 1_000 + read);
}

/// A unit that wants more erased blocks than it can have: a collection in one go erases what it can
/// and ends there, with its copies and erases under way. They end with it: nothing is left that
/// waits for them, and collection goes on with the next write.
#[test]
fn a_collection_in_one_go_may_end_with_nothing_left_to_collect() {
    let config = config(&json!({
        "nand": {"chips_per_channel": 1, "blocks_per_plane": 10},
        "ftl": {"exported": "320 KiB", "gc": {"grain": "all", "free_blocks": 4}},
        "precondition": {"state": "empty"},
    }));
    let mut device = Device::new(&config, Options { verify: true }).unwrap();
    for (n, page) in (0..).zip((0..80).chain(0..80)) {
        device.submit(&at(Op::Write, page, 1, n * 1_000)).unwrap();
    }
    let report = device.finish().unwrap();
    assert_eq!(report.requests.completed, 160);
    assert!(report.flash.erases.gc > 2, "{:?}", report.flash.erases);
}

/// 5 % of 40 blocks: collection begins with two erased blocks left; a number says how many.
#[test]
fn thresholds_are_numbers_or_shares_of_each_unit() {
    let left = |free_blocks: f64| {
        let config =
            config(&json!({"ftl": {"gc": {"free_blocks": free_blocks}, "exported": "3 MiB"}}));
        let mut device = Device::new(&config, Options { verify: true }).unwrap();
        device.precondition().unwrap();
        let pages = device.exported_bytes() / 4096;
        let (mut least, mut dice) = (u32::MAX, Dice(1));
        for i in 0..4000 {
            device.submit(&at(Op::Write, dice.roll(pages), 1, i * 200_000_000)).unwrap();
            // Long after each write all collection has ended: nothing is under way but the next
            // one.
            if i > 2000 && device.engine().under_way() == 1 {
                least = least.min(
                    (0..2).map(|unit| device.mapping().free_blocks(PlaneId(unit))).min().unwrap(),
                );
            }
        }
        device.finish().unwrap();
        least
    };
    // A unit is collected when it has filled a block and has so many left; then it has one more.
    assert_eq!((left(1.0), left(0.05), left(2.0), left(0.2)), (1, 2, 2, 8));
    let refused = |key: &str, value: Value| {
        let error = Device::new(&config(&json!({"ftl": {"gc": {key: value}}})), Options::default())
            .unwrap_err();
        assert!(
            error.is_input() && error.to_string().contains(&format!("ftl.gc.{key}")),
            "{error}"
        );
    };
    for (key, value) in [
        ("free_blocks", json!(0)),
        ("free_blocks", json!(1.5)),
        ("free_blocks", json!(-0.5)),
        ("idle_free_blocks", json!(0)),
        ("step_pages", json!(0)),
        ("regions", json!(0)),
        ("regions", json!(9)),
    ] {
        refused(key, value);
    }
}

/// While nothing is to do units are collected ahead of need; a request that comes waits for one
/// step, no more.
#[test]
fn idle_time_is_used_and_given_up_for_requests() {
    let run = |gc: Value, gap_ns: u64| {
        let config =
            config(&json!({"ftl": {"gc": gc, "exported": "3 MiB"}, "nand": {"copy_back": true}}));
        let mut device = Device::new(&config, Options { verify: true }).unwrap();
        device.precondition().unwrap();
        let pages = device.exported_bytes() / 4096;
        let (mut dice, mut now) = (Dice(1), 0);
        for burst in 0..40 {
            now = burst * 1_000_000_000;
            for _ in 0..100 {
                device.submit(&at(Op::Write, dice.roll(pages), 1, now)).unwrap();
                now += gap_ns;
            }
        }
        device.submit(&at(Op::Read, 0, 1, now + 900_000_000)).unwrap();
        let free = (0..2).map(|unit| device.mapping().free_blocks(PlaneId(unit))).min().unwrap();
        (free, device.finish().unwrap())
    };
    let (free, lazy) = run(json!({}), 0);
    assert!(free <= 3, "{free}");
    let (free, ahead) = run(json!({"idle_free_blocks": 10}), 0);
    // After the last burst there was time enough.
    assert!(free > 10, "{free}");
    let mean = |report: &Report| report.response_ns.write.as_ref().unwrap().mean;
    assert!(mean(&ahead) < mean(&lazy) * 0.9, "{} {}", mean(&ahead), mean(&lazy));
    // With single steps between requests: a write waits for a copy of one page or an erase at most.
    let (_, polite) = run(json!({"idle_free_blocks": 10, "step_pages": 1}), 5_000_000);
    let (read, program, erase) = (25_000, 200_000, 1_500_000);
    let most = polite.response_ns.write.unwrap().max;
    assert!(most <= read + program + erase + program, "{most}");
    assert!(polite.flash.erases.gc > 0);
}

/// Copies that are spread over the dies of a pool are programmed at the same time: one request at a
/// time, which goes to a die that collects sooner or later, waits less.
#[test]
fn spread_copies_are_programmed_in_parallel() {
    let run = |copies: &str| {
        overwritten(
            &config(&json!({
                "nand": {"channels": 4, "chips_per_channel": 1},
                "ftl": {"exported": "8 MiB", "gc": {"copies": copies, "step_pages": 16}},
                "host": {"replay": "closed", "max_outstanding": 1},
            })),
            10_000,
            0,
        )
    };
    let (unit, spread) = (run("unit"), run("spread"));
    let near =
        unit.flash.programs.gc.abs_diff(spread.flash.programs.gc) * 5 < unit.flash.programs.gc;
    assert!(near && unit.flash.erases.gc > 500, "{:?} {:?}", unit.flash, spread.flash);
    let p99 = |report: &Report| report.response_ns.write.as_ref().unwrap().p99;
    assert!(p99(&spread) * 4 < p99(&unit) * 3, "{} {}", p99(&spread), p99(&unit));
}

/// Nine of ten writes go to a tenth of the pages: kept apart from the others they leave blocks
/// behind in which nearly everything is invalid.
#[test]
fn hot_and_cold_pages_apart_are_copied_less() {
    let waf = |victim: &str, regions: u32| {
        let config = config(&json!({
            "nand": {"chips_per_channel": 1, "blocks_per_plane": 128, "pages_per_block": 32},
            "ftl": {"exported": "14 MiB", "victim": victim, "gc": {"regions": regions, "region_pages": 2000}},
            "host": {"replay": "untimed"},
        }));
        let mut device = Device::new(&config, Options { verify: true }).unwrap();
        device.precondition().unwrap();
        let pages = device.exported_bytes() / 4096;
        let mut dice = Dice(1);
        for i in 0..80_000 {
            let among = if i % 10 == 0 { pages } else { pages / 10 };
            device.submit(&at(Op::Write, dice.roll(among), 1, 0)).unwrap();
        }
        device.finish().unwrap().waf.unwrap()
    };
    let (one, two, three) = (waf("greedy", 1), waf("greedy", 2), waf("greedy", 3));
    assert!(two < one * 0.9 && three < one * 0.9, "{one} {two} {three}");
    // Cleaned in the order of writing, regions help as well; with a single one it is that order
    // alone.
    let (order, gathered) = (waf("fifo", 1), waf("locality-gathering", 3));
    assert!(gathered < order * 0.8 && gathered < one, "{order} {gathered} {one}");
    assert_eq!(waf("locality-gathering", 1).to_bits(), order.to_bits());
}

#[test]
fn what_does_not_go_together_is_refused_with_a_reason() {
    let refused = |over: Value| match Device::new(&config(&over), Options::default()) {
        Err(error @ DeviceError::Config(_)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let spread = refused(json!({"ftl": {"allocator": "static", "gc": {"copies": "spread"}}}));
    assert!(spread.contains("ftl.gc.copies") && spread.contains("\"unit\""), "{spread}");
    for (part, value) in [
        ("allocator", json!("round-robin")),
        ("victim", json!("greedy")),
        ("wear", json!("hot-cold")),
        ("gc", json!({"cost": "free"})),
    ] {
        let ftl = json!({"mapping": {"kind": "bast", "log_blocks": 4}, part: value});
        let error = refused(json!({"ftl": ftl}));
        assert!(error.contains(&format!("ftl.{part}")) && error.contains("`bast`"), "{error}");
    }
    for (part, key, value) in [
        ("victim", "d-choices", json!({"d": 0})),
        ("victim", "windowed-greedy", json!({"window": 0})),
        ("victim", "random", json!({"least_invalid": 2})),
        ("victim", "leveling-degree", json!({"steepness": 0})),
        ("wear", "hot-cold", json!({"threshold": 0})),
        ("wear", "dual-pool", json!({"cluster": 0})),
    ] {
        let (option, mut table) =
            (value.as_object().unwrap().keys().next().unwrap().clone(), value.clone());
        table["kind"] = json!(key);
        let error = refused(json!({"ftl": {part: table}}));
        assert!(error.contains(&format!("ftl.{part}.{option}: found")), "{error}");
    }
}

/// A buffer that sends each page on as it comes, and has to know where to.
#[derive(Debug)]
struct Homely {
    homes: Vec<Option<PlaneId>>,
}

impl Buffer for Homely {
    fn access(&mut self, span: &Span, view: &dyn View, out: &mut Outcome) {
        for lpn in span.pages() {
            self.homes.push(view.home(lpn));
            out.answers.push(Answer::Bypass);
        }
    }
    fn trim(&mut self, _first: Lpn, _count: u32) {}
    fn flush(&mut self, _out: &mut Outcome) {}
    fn flush_pages(&mut self, _first: Lpn, _count: u32, _out: &mut Outcome) {}
    fn len(&self) -> u32 {
        0
    }
    fn holds(&self, _lpn: Lpn) -> bool {
        false
    }
    fn check(&self) -> Result<(), String> {
        // Units take turns, a page each.
        let turns =
            self.homes.iter().enumerate().all(|(n, home)| *home == Some(PlaneId(n as u32 % 2)));
        if turns { Ok(()) } else { Err(format!("{:?}", self.homes)) }
    }
    fn metadata_bytes(&self) -> usize {
        0
    }
    fn needs_home(&self) -> bool {
        true
    }
    fn dump(&self) -> Vec<Vec<Lpn>> {
        Vec::new()
    }
}

#[test]
fn a_buffer_that_needs_static_placement_gets_it_or_is_refused() {
    let build = |allocator: &str| {
        let config = config(&json!({"ftl": {"allocator": allocator}}));
        Device::with_parts(
            &config,
            Options { verify: true },
            |m| m,
            Some(Box::new(Homely { homes: Vec::new() })),
        )
    };
    for allocator in ["round-robin", "dynamic", "non-striping"] {
        let error = build(allocator).expect_err("a page may go anywhere").to_string();
        assert!(error.contains("static placement") && error.contains("ftl.allocator"), "{error}");
    }
    let mut device = build("static").unwrap();
    device.precondition().unwrap();
    for page in 0..100 {
        device.submit(&at(Op::Write, page, 1, 0)).unwrap();
    }
    device.finish().unwrap();
}
