//! The three readings of a response time that a buffer's paper may mean: the host's mean, the mean
//! over what the buffer sends to the flash, and the sum of the latter over the host's writes. To
//! the nanosecond, by pencil and paper.

use crate::support;
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Report;
use eraseblock_core::metrics::latency::LatencySummary;
use serde_json::{Value, json};

/// A page on the bus and into the array.
const WRITE: u64 = 300_000;
const TRANSFER: u64 = 100_000;

/// Requests `(time in us, read or write, first page, pages)` on a full drive of two chips with
/// pages in turn, a buffer of four pages.
fn run(buffer: &Value, over: &Value, requests: &[(u64, Op, u64, u64)]) -> Report {
    let mut all = json!({
        "nand": {"channels": 2},
        "ftl": {"exported": "256 KiB", "mapping": "page", "allocator": "static"},
        "buffer": {"size": "16 KiB", "scheme": buffer},
        "host": {"replay": "open", "max_outstanding": 16},
    });
    for (section, values) in over.as_object().unwrap() {
        all[section].as_object_mut().unwrap().extend(values.as_object().unwrap().clone());
    }
    let mut device = Device::new(&support::config(&all), Options { verify: true }).unwrap();
    device.precondition().unwrap();
    for &(us, op, first, count) in requests {
        let arrival_ns = us * 1000;
        let (offset, len) = if op == Op::Flush { (0, 0) } else { (first * 4096, count * 4096) };
        device.submit(&Request { arrival_ns, op, offset, len, volume: 0, fua: false }).unwrap();
    }
    device.finish().unwrap()
}

/// Writes of single pages, one millisecond apart but the first four, which come together.
fn writes(pages: &[u64]) -> Vec<(u64, Op, u64, u64)> {
    let time = |n: usize| (n as u64 + 1).saturating_sub(4) * 1000;
    pages.iter().enumerate().map(|(n, &page)| (time(n), Op::Write, page, 1)).collect()
}

/// Times of what was flushed.
fn flushed(report: &Report) -> Option<LatencySummary> {
    report.figures.read("flush_response_ns")
}

/// Their sum over the host's writes.
fn per_write(report: &Report) -> Option<f64> {
    report.figures.read("flush_response_per_write_ns")
}

/// Mean of the host's writes, number and mean of what was flushed, and its sum over the host's
/// writes, in ns.
fn readings(report: &Report) -> (f64, u64, f64, f64) {
    let times = flushed(report).unwrap();
    (
        report.response_ns.write.as_ref().unwrap().mean,
        times.count,
        times.mean,
        per_write(report).unwrap(),
    )
}

#[test]
fn the_pages_of_a_batch_are_requests_of_their_own() {
    let five = writes(&[0, 1, 2, 3, 4]);
    let write = WRITE as f64;
    // Pages 0 and 1 go to two chips, and the fifth write waits for one of them.
    let report = run(&json!("epo"), &json!({}), &five);
    assert_eq!(readings(&report), (write / 5.0, 2, write, 2.0 * write / 5.0));
    assert_eq!(report.figures.read("flush_pages.before_padding.p50"), Some(2));
    // On one bus the second page comes a transfer later.
    let shared = json!({"nand": {"channels": 1, "chips_per_channel": 2}});
    let report = run(&json!("epo"), &shared, &five);
    let late = (WRITE + TRANSFER) as f64;
    assert_eq!(
        readings(&report),
        (write / 5.0, 2, f64::midpoint(write, late), (write + late) / 5.0)
    );
    // Whoever waits for all of it waits for the later one.
    let foreground = json!({"buffer": {"write_back": "foreground"}, "nand": shared["nand"]});
    let report = run(&json!("epo"), &foreground, &five);
    assert_eq!(
        readings(&report),
        (late / 5.0, 2, f64::midpoint(write, late), (write + late) / 5.0)
    );
}

#[test]
fn what_leaves_together_is_one_request_otherwise() {
    // A request of two pages leaves for page 8: both chips work, and the time is that of the later
    // page.
    let requests =
        [(0, Op::Write, 0, 2), (0, Op::Write, 2, 1), (0, Op::Write, 4, 1), (1000, Op::Write, 8, 1)];
    let shared = json!({"nand": {"channels": 1, "chips_per_channel": 2}});
    let (write, late) = (WRITE as f64, (WRITE + TRANSFER) as f64);
    let report = run(&json!("request-lru"), &shared, &requests);
    assert_eq!(readings(&report), (write / 4.0, 1, late, late / 4.0));
    // Under page LRU one page of it leaves.
    let report = run(&json!("lru"), &shared, &requests);
    assert_eq!(readings(&report), (write / 4.0, 1, write, write / 4.0));
    // A padded block: a read on each chip, then two programs on each.
    let bplru = json!("bplru");
    let requests = [(0, Op::Write, 0, 2), (0, Op::Write, 4, 2), (1000, Op::Write, 8, 1)];
    let report = run(&bplru, &json!({}), &requests);
    let times = flushed(&report).unwrap();
    assert_eq!((times.count, report.padded_pages), (1, 2));
    assert_eq!(times.max, 125_000 + 2 * WRITE);
    assert_eq!(per_write(&report), Some(times.mean / 3.0));
}

/// A request that goes past the buffer is what the flash is asked for: two times are one.
#[test]
fn without_a_buffer_the_readings_are_one() {
    let requests = [(0, Op::Write, 0, 4), (0, Op::Read, 9, 1), (2000, Op::Write, 4, 1)];
    let report = run(&json!("none"), &json!({}), &requests);
    let mean = f64::midpoint(2.0 * WRITE as f64, WRITE as f64);
    assert_eq!(readings(&report), (mean, 2, mean, mean));
}

/// What nobody's request made room for is not timed: flush commands, the end, and what takes no
/// time at all.
#[test]
fn flush_commands_and_the_end_are_left_out() {
    let requests = [(0, Op::Write, 0, 2), (1000, Op::Flush, 0, 0), (5000, Op::Write, 2, 2)];
    let report = run(&json!("epo"), &json!({"host": {"end_of_run": "flush"}}), &requests);
    assert_eq!(report.flash.programs.host, 4);
    assert!(flushed(&report).is_none());
    assert_eq!(per_write(&report), Some(0.0));
    let report =
        run(&json!("epo"), &json!({"host": {"replay": "untimed"}}), &writes(&[0, 1, 2, 3, 4]));
    assert_eq!((flushed(&report), per_write(&report)), (None, None));
}

/// A page that waits for its program to become full is stored when that has ended.
#[test]
fn a_page_in_an_open_program_unit_is_not_stored() {
    let nand = json!({"nand": {"channels": 1, "chips_per_channel": 2, "pages_per_program": 2, "program_order": "sequential"}});
    // Two pages leave a millisecond apart, at 1 ms and at 2 ms, and share a program.
    let report = run(&json!("lru"), &nand, &writes(&[0, 1, 2, 3, 4, 5]));
    let times = flushed(&report).unwrap();
    let both = WRITE + TRANSFER;
    assert_eq!((times.count, times.max), (2, 1_000_000 + both));
    assert!((times.mean - (500_000 + both) as f64).abs() < 1.0, "{times:?}");
    // The fifth write finds room, as the page that left for it lies in the FTL's RAM; the sixth
    // waits for the program of both.
    let host = report.response_ns.write.unwrap();
    assert_eq!((host.max, host.p50), (both, 0));
    // Of three the last is not stored by the end of the run.
    let report = run(&json!("lru"), &nand, &writes(&[0, 1, 2, 3, 4, 5, 6]));
    assert_eq!(flushed(&report).unwrap().count, 2);
}

/// Nor is it where all requests come at the same time.
#[test]
fn what_leaves_for_the_warm_up_is_not_measured() {
    let together: Vec<_> = (0..12).map(|page| (0, Op::Write, page, 1)).collect();
    let report = run(&json!("lru"), &json!({"host": {"warm_up": 8}}), &together);
    // Four pages fit: from the fifth write on each drives one out.
    assert_eq!(flushed(&report).unwrap().count, 4);
    let report = run(&json!("lru"), &json!({}), &together);
    assert_eq!(flushed(&report).unwrap().count, 8);
}

/// Keeping what the flash holds to compare reads with changes nothing: chips that program four
/// pages at once.
#[test]
fn checking_reads_changes_no_time() {
    let config = support::config(&json!({
        "nand": {"planes_per_die": 4, "multi_plane": true, "blocks_per_plane": 40, "pages_per_block": 4},
        "ftl": {"exported": "1792 KiB", "mapping": "page"},
        "buffer": {"size": "64 KiB", "scheme": {"kind": "ref", "window": 0.5, "victim_blocks": 2}},
        "host": {"replay": "open"},
    }));
    let report = |verify| {
        let mut device = Device::new(&config, Options { verify }).unwrap();
        device.precondition().unwrap();
        for number in 0..187u64 {
            let op = match number % 40 {
                7 => Op::Flush,
                13 => Op::Trim,
                n if n % 3 == 0 => Op::Read,
                _ => Op::Write,
            };
            let (offset, len) =
                if op == Op::Flush { (0, 0) } else { (number * 5 % 440 * 4096, 5 * 4096) };
            let arrival_ns = number * 30_000;
            device.submit(&Request { arrival_ns, op, offset, len, volume: 0, fua: false }).unwrap();
        }
        device.finish().unwrap()
    };
    let (plain, checked) = (report(false), report(true));
    assert!(flushed(&plain).is_some());
    assert_eq!(flushed(&plain), flushed(&checked));
    assert_eq!(plain.response_ns, checked.response_ns);
}
