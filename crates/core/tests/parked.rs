//! Writes for which there is no room wait by themselves: what needs nothing of their unit goes on.

use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Report;
use serde_json::{Value, json};

use crate::support;

const US: u64 = 1_000;

fn at(op: Op, page: u64, count: u64, arrival_ns: u64) -> Request {
    Request { arrival_ns, ..support::request(op, page, count) }
}

/// Two units on channels of their own; even pages lie in the first one, odd pages in the second.
fn two_units(over: &Value) -> Device {
    let mut config = json!({
        "nand": {"channels": 2, "blocks_per_plane": 12},
        "ftl": {"exported": "256 KiB", "allocator": "static", "gc": {"free_blocks": 2}},
        "host": {"replay": "open", "max_outstanding": 400},
    });
    for (table, keys) in over.as_object().into_iter().flatten() {
        for (key, value) in keys.as_object().into_iter().flatten() {
            config[table][key] = value.clone();
        }
    }
    support::device(&config)
}

/// Page numbers in the first unit, at random.
fn first_unit(count: u64) -> impl Iterator<Item = u64> {
    let mut dice = support::Dice(11);
    (0..count).map(move |_| dice.roll(32) * 2)
}

fn ends(mut device: Device, mut requests: Vec<Request>) -> (Report, u64) {
    requests.sort_by_key(|request| request.arrival_ns);
    for request in &requests {
        device.submit(request).unwrap();
    }
    let report = device.finish().unwrap();
    (report, device.parked_writes())
}

/// Writes to the first unit far faster than it can be collected.
fn flood(writes: u64) -> Vec<Request> {
    first_unit(writes).zip(0..).map(|(page, i)| at(Op::Write, page, 1, i * 20 * US)).collect()
}

#[test]
fn reads_of_an_idle_unit_take_what_they_take_alone() {
    let reads = || (0..40).map(|i| at(Op::Read, i % 32 * 2 + 1, 1, 500 * US + i * 400 * US));
    let (alone, none) = ends(two_units(&json!({})), reads().collect());
    assert_eq!(none, 0);
    let (report, parked) =
        ends(two_units(&json!({})), flood(300).into_iter().chain(reads()).collect());
    assert!(parked > 100, "{parked} writes had to wait for room");
    assert_eq!(report.response_ns.read, alone.response_ns.read);
    assert!(report.response_ns.write.unwrap().max > 20_000 * US);
}

#[test]
fn writes_to_a_unit_with_room_go_on() {
    let writes = || (0..6).map(|i| at(Op::Write, i * 2 + 1, 1, 4_000 * US + i * 400 * US));
    let requests: Vec<_> = flood(300).into_iter().chain(writes()).collect();
    let mut device = two_units(&json!({}));
    device.note_answers();
    let mut sorted = requests;
    sorted.sort_by_key(|request| request.arrival_ns);
    let odd: Vec<u64> =
        (0..).zip(&sorted).filter(|(_, r)| r.offset / 4096 % 2 == 1).map(|(i, _)| i).collect();
    for request in &sorted {
        device.submit(request).unwrap();
    }
    device.finish().unwrap();
    // They are answered long before the writes that came ahead of them.
    let turn = |number: u64| device.answers().iter().position(|&answer| answer == number).unwrap();
    for number in odd {
        assert!(turn(number) < 150, "write {number} is answered as number {}", turn(number));
    }
}

/// A page whose number names a pool of units waits for that pool alone.
#[test]
fn writes_to_a_pool_with_room_go_on() {
    let mut device = two_units(&json!({
        "nand": {"chips_per_channel": 2, "blocks_per_plane": 8},
        "ftl": {"allocator": {"kind": "dynamic", "pool": "channel"}},
    }));
    device.note_answers();
    let writes = (0..6).map(|i| at(Op::Write, i * 2 + 1, 1, 4_000 * US + i * 400 * US));
    let mut requests: Vec<_> = flood(300).into_iter().chain(writes).collect();
    requests.sort_by_key(|request| request.arrival_ns);
    for request in &requests {
        device.submit(request).unwrap();
    }
    device.finish().unwrap();
    assert!(device.parked_writes() > 50, "{}", device.parked_writes());
    let answers = device.answers();
    for (number, _) in (0..).zip(&requests).filter(|(_, r)| r.offset / 4096 % 2 == 1) {
        let turn = answers.iter().position(|&answer| answer == number).unwrap() as u64;
        // Most of those that came before them have not been answered yet.
        assert!(turn < number / 4, "write {number} is answered as number {turn}");
    }
}

#[test]
fn a_flush_command_waits_for_the_writes_parked_before_it() {
    for buffer in [json!({"scheme": "none"}), json!({"scheme": "lru", "size": "16 KiB"})] {
        let mut device = two_units(&json!({"buffer": buffer}));
        device.note_answers();
        let mut requests = flood(120);
        requests.insert(100, at(Op::Flush, 0, 0, requests[99].arrival_ns));
        for request in &requests {
            device.submit(request).unwrap();
        }
        device.finish().unwrap();
        assert!(device.parked_writes() > 20, "{buffer}");
        let answers = device.answers();
        let turn = |number: u64| answers.iter().position(|&answer| answer == number).unwrap();
        // The last one ends at the same moment.
        assert!((0..99).all(|write| turn(write) < turn(100)), "{buffer}: {answers:?}");
        assert!(turn(99) <= turn(100) + 1, "{buffer}: {answers:?}");
    }
}

/// Writes, reads and trims of a few pages in drives that lack room: each read finds the last write,
/// which the drive itself checks.
#[test]
fn requests_on_one_page_keep_their_order() {
    for allocator in ["static", "round-robin", "dynamic"] {
        for mapping in ["page", "dftl", "bast", "superblock"] {
            if matches!(mapping, "bast" | "superblock") && allocator != "static" {
                continue;
            }
            let mut config = json!({
                "nand": {"channels": 2, "blocks_per_plane": 16},
                "ftl": {"exported": "192 KiB", "mapping": support::mapping(mapping, 2)},
                "buffer": {"scheme": "lru", "size": "8 KiB"},
                "host": {"replay": "open", "max_outstanding": 64},
            });
            if matches!(mapping, "page" | "dftl") {
                config["ftl"]["allocator"] = allocator.into();
            }
            let mut device = support::device(&config);
            let mut dice = support::Dice(5);
            for i in 0..3_000 {
                let op =
                    [Op::Write, Op::Write, Op::Write, Op::Read, Op::Trim][dice.roll(5) as usize];
                let request = Request {
                    fua: dice.roll(9) == 0,
                    ..at(op, dice.roll(44), 1 + dice.roll(4), i * 60 * US)
                };
                device
                    .submit(&request)
                    .unwrap_or_else(|error| panic!("{mapping}, {allocator}: {error}"));
            }
            device.finish().unwrap_or_else(|error| panic!("{mapping}, {allocator}: {error}"));
            assert!(device.parked_writes() > 0, "{mapping}, {allocator}");
        }
    }
}

/// A page that waits for room is read from RAM, and one that is trimmed meanwhile holds nothing.
#[test]
fn pages_that_wait_are_found() {
    let mut device = two_units(&json!({}));
    let mut requests = flood(200);
    let last = requests.last().unwrap().arrival_ns;
    let page = requests[199].offset / 4096;
    requests.push(at(Op::Read, page, 1, last + US));
    requests.push(at(Op::Trim, page, 1, last + 2 * US));
    requests.push(at(Op::Read, page, 1, last + 3 * US));
    for request in &requests {
        device.submit(request).unwrap();
    }
    let c = device.counters();
    assert_eq!((c.inflight_hits, c.unmapped_reads), (1, 1));
    device.finish().unwrap();
}

#[test]
fn a_run_that_stays_overloaded_is_not_trusted() {
    for scheme in ["none", "lru"] {
        let device =
            two_units(&json!({"buffer": {"scheme": scheme}, "host": {"max_outstanding": 32}}));
        let (report, parked) = ends(device, flood(3_000));
        assert!(parked > 100 && !report.trusted, "{scheme}: {parked}");
    }
}

/// With as much as the host can keep under way, a run without verification has the same figures.
#[test]
fn a_drive_that_compares_nothing_does_the_same() {
    let figures = |verify| {
        let config = support::config(&json!({
            "nand": {"channels": 2, "blocks_per_plane": 12},
            "ftl": {"exported": "256 KiB", "allocator": "static"},
            "host": {"replay": "open"},
        }));
        let mut device = Device::new(&config, Options { verify }).unwrap();
        device.precondition().unwrap();
        let (report, _) = ends(device, flood(500));
        (report.response_ns, report.flash)
    };
    assert_eq!(figures(true), figures(false));
}

/// A full log that becomes the data block as it is takes no block, and is merged at once though all
/// that were erased for it are still being erased.
#[test]
fn a_log_that_lies_in_order_is_merged_at_once_without_a_block() {
    let merges = |replay: &str| {
        let mut device = support::device(&json!({
            "nand": {"channels": 1, "blocks_per_plane": 13, "pages_per_block": 4},
            "ftl": {
                "exported": "128 KiB",
                "mapping": {"kind": "bast", "log_blocks": 2, "merge_timing": "eager"},
            },
            "precondition": {"state": "full"},
            "host": {"replay": replay},
        }));
        device.submit(&at(Op::Write, 0, 16, 0)).unwrap();
        device.finish().unwrap();
        device.counters().switch_merges
    };
    assert_eq!((merges("untimed"), merges("open")), (4, 4));
}

/// What is to be merged as soon as it is full, and finds no erased block, is merged before the next
/// write.
#[test]
fn eager_merges_that_find_no_block_go_on_before_the_next_write() {
    // BAST: pages of four blocks, not in order. FAST: a page of each of four blocks.
    let bast =
        json!({"kind": "bast", "log_blocks": 2, "merge_timing": "eager", "partial_merge": false});
    let fast = json!({"kind": "fast", "log_blocks": 1, "merge_timing": "eager"});
    for (mapping, blocks, pages) in
        [(bast, 13, (0..16).rev().collect::<Vec<u64>>()), (fast, 12, vec![1, 5, 9, 13])]
    {
        let merges = |replay: &str| {
            let mut device = support::device(&json!({
                "nand": {"channels": 1, "blocks_per_plane": blocks, "pages_per_block": 4},
                "ftl": {"exported": "128 KiB", "mapping": mapping},
                "precondition": {"state": "full"},
                "host": {"replay": replay},
            }));
            for &page in &pages {
                device.submit(&at(Op::Write, page, 1, 0)).unwrap();
            }
            let before = device.counters().full_merges;
            device.submit(&at(Op::Write, 17, 1, 10_000_000 * US)).unwrap();
            device.finish().unwrap();
            (before, device.counters().full_merges)
        };
        let (untimed, timed) = (merges("untimed"), merges("open"));
        assert_eq!(untimed, (4, 4), "{mapping}");
        assert!(timed.0 < 4, "{mapping}: all found a block at once");
        assert_eq!(timed.1, 4, "{mapping}");
    }
}
