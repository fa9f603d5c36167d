//! Where pages go: the multi-bank thesis' figures, and what each allocator promises.

use crate::support;
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, DeviceError, Options};
use eraseblock_core::ftl::alloc::AllocatorConfig;
use eraseblock_core::host::{Op, Request};
use eraseblock_core::support::ids::{BlockId, Lpn, PlaneId, Ppn};
use serde_json::{Value, json};

/// Two banks on a bus each, nothing but tPROG = 200 us takes time (Figures 3.2 to 3.4).
fn banks(allocator: &Value) -> DeviceConfig {
    support::config(&json!({
        "nand": {"channels": 2, "blocks_per_plane": 16, "pages_per_block": 16,
                 "timing": {"read": "0 ns", "program": "200 us", "erase": "0 ns", "transfer": "0 ns"}},
        "ftl": {"exported": "1 MiB", "allocator": allocator},
        "host": {"replay": "open", "max_outstanding": 64},
        "precondition": {"state": "empty"},
    }))
}

/// The pages of writes `(first, count)` that arrive together: mean response in us, and the bank of
/// each page.
fn served(allocator: &Value, writes: &[(u64, u64)]) -> (f64, Vec<Vec<u32>>) {
    let mut device = Device::new(&banks(allocator), Options { verify: true }).unwrap();
    for &(first, count) in writes {
        device.submit(&support::request(Op::Write, first, count)).unwrap();
    }
    let mean = device.finish().unwrap().response_ns.write.unwrap().mean / 1000.0;
    let g = device.geometry();
    let bank = |page: u64| {
        let ppn = device.mapping().lookup(Lpn(page as u32)).unwrap();
        g.unit_of_page(ppn).0
    };
    (
        mean,
        writes.iter().map(|&(first, count)| (first..first + count).map(bank).collect()).collect(),
    )
}

/// Requests of 5 and 3 pages. Striped page by page both banks are busy to the end; unstriped each
/// request has a bank.
#[test]
fn figure_3_2_striping_takes_700_us_and_non_striping_800_us() {
    let writes = [(0, 5), (8, 3)];
    let (striped, banks) = served(&json!("dynamic"), &writes);
    assert!((striped - 700.0).abs() < 1e-9, "{striped}");
    assert_eq!(banks, [vec![0, 1, 0, 1, 0], vec![1, 0, 1]]);
    let (whole, banks) = served(&json!("non-striping"), &writes);
    assert!((whole - 800.0).abs() < 1e-9, "{whole}");
    assert_eq!(banks, [vec![0; 5], vec![1; 3]]);
}

/// In turn, a stripe of four pages each: what is left of a stripe is not filled with another
/// request's pages.
#[test]
fn a_stripe_in_turn_holds_pages_of_one_request() {
    let turns = json!({"kind": "round-robin", "striping_unit": 4});
    let (_, banks) = served(&turns, &[(0, 2), (8, 2), (16, 6)]);
    assert_eq!(banks, [vec![0; 2], vec![1; 2], vec![0, 0, 0, 0, 1, 1]]);
}

/// Whatever came before it, the first write after the fill goes where the turn has come to, and not
/// where the fill ended.
#[test]
fn no_request_goes_on_with_a_stripe_of_the_fill() {
    for reads in 0..20 {
        let mut device = support::device(
            &json!({"nand": {"channels": 2}, "ftl": {"allocator": "non-striping"}}),
        );
        for _ in 0..reads {
            device.submit(&support::request(Op::Read, 0, 1)).unwrap();
        }
        support::write(&mut device, &[0]);
        let g = device.geometry();
        let unit = g.unit_of_page(device.mapping().lookup(Lpn(0)).unwrap());
        assert_eq!(unit, PlaneId(0), "the fill ended on unit 1, {reads} reads before the write");
    }
}

/// When request 1 is issued again, its five pages become invalid in one block, or three in one and
/// two in the other.
#[test]
fn figure_3_3_what_a_rewrite_makes_invalid() {
    let invalid = |allocator: &str| {
        let mut device = Device::new(&banks(&json!(allocator)), Options { verify: true }).unwrap();
        for (first, count) in [(0, 5), (8, 3)] {
            device.submit(&support::request(Op::Write, first, count)).unwrap();
        }
        let lie = |device: &Device| -> Vec<Ppn> {
            (0..5).map(|page| device.mapping().lookup(Lpn(page)).unwrap()).collect()
        };
        let old = lie(&device);
        device.submit(&support::request(Op::Write, 0, 5)).unwrap();
        assert!(lie(&device).iter().all(|ppn| !old.contains(ppn)), "all five were written anew");
        device.finish().unwrap();
        let mut blocks: Vec<(BlockId, usize)> = Vec::new();
        for block in old.iter().map(|ppn| ppn.block(16)) {
            match blocks.iter_mut().find(|(b, _)| *b == block) {
                Some((_, pages)) => *pages += 1,
                None => blocks.push((block, 1)),
            }
        }
        blocks.into_iter().map(|(_, pages)| pages).collect::<Vec<_>>()
    };
    assert_eq!(invalid("non-striping"), [5]);
    assert_eq!(invalid("dynamic"), [3, 2]);
}

/// Striping units of one and of two pages: every two pages are clustered and allocated together.
#[test]
fn figure_3_4_striping_units_of_one_and_two_pages() {
    let writes = [(0, 5), (8, 3)];
    let unit = |pages: u32| served(&json!({"kind": "dynamic", "striping_unit": pages}), &writes);
    assert_eq!(unit(1), (700.0, vec![vec![0, 1, 0, 1, 0], vec![1, 0, 1]]));
    assert_eq!(unit(2), (700.0, vec![vec![0, 0, 1, 1, 0], vec![1, 1, 0]]));
    // Units as large as the requests are non-striping.
    assert_eq!(unit(5), served(&json!("non-striping"), &writes));
}

/// A bank that is busy is passed over for one that frees earlier, also inside a request.
#[test]
fn a_stripe_goes_to_the_bank_that_frees_first() {
    let mut device = Device::new(&banks(&json!("dynamic")), Options::default()).unwrap();
    let at = |first, count, arrival_ns| Request {
        arrival_ns,
        ..support::request(Op::Write, first, count)
    };
    // Four pages on bank 0 by way of one request that may not be split; then single pages 100 us
    // later.
    device.submit(&at(0, 1, 0)).unwrap();
    device.submit(&at(1, 1, 100_000)).unwrap();
    device.submit(&at(2, 1, 150_000)).unwrap();
    device.submit(&at(3, 1, 160_000)).unwrap();
    let bank = |device: &Device, page| device.mapping().lookup(page).unwrap().0 / 256;
    // Bank 0 is free at 200 us, bank 1 at 300 us; then bank 1 at 300 us, bank 0 at 400 us.
    assert_eq!((0..4).map(|page| bank(&device, Lpn(page))).collect::<Vec<_>>(), [0, 1, 0, 1]);
    device.finish().unwrap();
}

/// "The page writes of the following request to another bank": where both are free they take turns,
/// or as `tie` says.
#[test]
fn equally_free_banks_take_turns() {
    let chosen = |allocator: Value| {
        let mut device = Device::new(&banks(&allocator), Options::default()).unwrap();
        let gap_ns = 10_000_000;
        for n in 0..6 {
            let request = support::request(Op::Write, n * 4, 2);
            device.submit(&Request { arrival_ns: n * gap_ns, ..request }).unwrap();
        }
        let bank = |page| device.mapping().lookup(page).unwrap().0 / 256;
        let chosen: Vec<u32> = (0..6).map(|n| bank(Lpn(n * 4))).collect();
        device.finish().unwrap();
        chosen
    };
    for kind in ["non-striping", "dynamic"] {
        let tie = |tie: &str| {
            let mut allocator = json!({"kind": kind, "tie": tie});
            if kind == "dynamic" {
                allocator["striping_unit"] = json!(2);
            }
            chosen(allocator)
        };
        assert_eq!(tie("turn"), [0, 1, 0, 1, 0, 1], "{kind}");
        assert_eq!(tie("free-pages"), [0, 1, 0, 1, 0, 1], "{kind}");
        assert_eq!(tie("lowest"), [0; 6], "{kind}");
    }
}

/// Single writes with pauses, no two of which meet: all banks are free each time. In turns they
/// hold equally much; the one with most free pages is the one that has just been collected, which
/// fills up with valid pages while the other empties.
#[test]
fn turns_keep_banks_even() {
    let waf = |tie: &str| {
        let mut config = banks(&json!({"kind": "non-striping", "tie": tie}));
        config.ftl.exported = Some(eraseblock_core::config::Bytes(3 << 19));
        config.precondition.state = eraseblock_core::config::Precondition::Full;
        let mut device = Device::new(&config, Options { verify: true }).unwrap();
        device.precondition().unwrap();
        let pages = device.exported_bytes() / 4096;
        let mut dice = support::Dice(1);
        for n in 0..8000 {
            let request = support::request(Op::Write, dice.roll(pages), 1);
            device.submit(&Request { arrival_ns: n * 50_000_000, ..request }).unwrap();
        }
        device.finish().unwrap().waf.unwrap()
    };
    let (turn, most) = (waf("turn"), waf("free-pages"));
    assert!(turn * 1.1 < most, "{turn} {most}");
}

/// A page that static placement puts somewhere stays there, whatever is written and collected.
#[test]
fn static_placement_keeps_every_page_at_home() {
    for order in ["CWDP", "PDWC", "WPCD", "dcpw"] {
        for striping_unit in [1, 3, 16] {
            let config = support::config(&json!({
                "nand": {"channels": 2, "chips_per_channel": 2, "planes_per_die": 2, "blocks_per_plane": 10},
                "ftl": {"exported": "768 KiB", "allocator": {"kind": "static", "order": order, "striping_unit": striping_unit}},
                "host": {"replay": "closed", "max_outstanding": 8},
            }));
            let mut device = Device::new(&config, Options { verify: true }).unwrap();
            device.precondition().unwrap();
            let pages = device.exported_bytes() / 4096;
            for i in 0..2000 {
                let op = if i % 17 == 0 { Op::Trim } else { Op::Write };
                let first = i * 37 % pages;
                device
                    .submit(&support::request(op, first, (1 + i % 5).min(pages - first)))
                    .unwrap();
                if i % 100 == 0 {
                    device.submit(&support::request(Op::Flush, 0, 0)).unwrap();
                }
            }
            let report = device.finish().unwrap();
            assert!(report.flash.erases.gc > 0);
            let g = device.geometry();
            for page in 0..pages as u32 {
                let home = device.mapping().advice().unwrap().home(Lpn(page)).unwrap();
                let at = device.mapping().lookup(Lpn(page)).map(|ppn| g.unit_of_page(ppn));
                assert!(
                    at.is_none_or(|unit| unit == home),
                    "{order}, unit {striping_unit}: page {page}"
                );
            }
        }
    }
}

/// Under a pool of a chip or a channel a page stays on it, and moves inside it.
#[test]
fn pages_stay_in_their_pool() {
    for (pool, pools) in [("ssd", 1), ("channel", 2), ("chip", 4), ("plane", 8)] {
        let config = support::config(&json!({
            "nand": {"channels": 2, "chips_per_channel": 2, "planes_per_die": 2, "blocks_per_plane": 12},
            "ftl": {"exported": "768 KiB", "allocator": {"kind": "dynamic", "pool": pool}},
            "host": {"replay": "closed", "max_outstanding": 8},
        }));
        let mut device = Device::new(&config, Options { verify: true }).unwrap();
        device.precondition().unwrap();
        let pages = device.exported_bytes() / 4096;
        for i in 0..3000 {
            device.submit(&support::request(Op::Write, i * i % pages, 1)).unwrap();
        }
        device.finish().unwrap();
        let g = device.geometry();
        let unit = |page: u64| g.unit_of_page(device.mapping().lookup(Lpn(page as u32)).unwrap()).0;
        assert!((0..pages).all(|page| u64::from(unit(page)) % pools == page % pools), "{pool}");
        let used: std::collections::BTreeSet<u32> = (0..pages).map(unit).collect();
        assert_eq!(used.len(), 8, "{pool}");
        assert_eq!(device.mapping().advice().unwrap().home(Lpn(0)).is_some(), pool == "plane");
    }
}

/// An untimed fill finds every unit idle, and spreads all the same.
#[test]
fn a_fill_spreads_over_all_units() {
    for name in AllocatorConfig::NAMES {
        let config = support::config(&json!({
            "nand": {"channels": 4, "blocks_per_plane": 16}, "ftl": {"exported": "640 KiB", "allocator": name},
        }));
        let mut device = Device::new(&config, Options { verify: true }).unwrap();
        device.precondition().unwrap();
        let g = device.geometry();
        let mut pages = [0u32; 4];
        for page in 0..160 {
            let ppn = device.mapping().lookup(Lpn(page)).unwrap();
            pages[g.unit_of_page(ppn).index()] += 1;
        }
        assert!(pages.iter().all(|&n| (36..=44).contains(&n)), "{name}: {pages:?}");
    }
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let refused = |over: Value| match Device::new(&support::config(&over), Options::default()) {
        Err(error @ DeviceError::Config(_)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let bast = refused(
        json!({"ftl": {"mapping": {"kind": "bast", "log_blocks": 2}, "allocator": "dynamic"}}),
    );
    assert!(
        bast.contains("ftl.allocator") && bast.contains("`bast`") && bast.contains("page"),
        "{bast}"
    );
    let order = refused(json!({"ftl": {"allocator": {"kind": "static", "order": "CWD"}}}));
    assert!(order.contains("ftl.allocator.order") && order.contains("lacks P"), "{order}");
    for kind in ["round-robin", "static", "dynamic"] {
        let none = refused(json!({"ftl": {"allocator": {"kind": kind, "striping_unit": 0}}}));
        assert!(none.contains("ftl.allocator.striping_unit: found 0"), "{none}");
    }
    // A striping unit so large that it puts more pages on one unit than fit.
    let crowded = refused(json!({
        "nand": {"channels": 2, "blocks_per_plane": 8},
        "ftl": {"exported": "160 KiB", "allocator": {"kind": "static", "striping_unit": 32}},
    }));
    // 24 pages in each unit, of which one gets 32; in all there would be room for 48, and 40 are
    // exported.
    let expected = "which leaves room for 24 pages in each unit, but 32 of the 40 exported ones \
        have to go there";
    assert!(crowded.contains(expected), "{crowded}");
    let one = refused(json!({"ftl": {"exported": "240 KiB"}}));
    assert!(
        one.contains("which leaves room for 56 pages, but 60 are exported; export less"),
        "{one}"
    );
}
