//! S-FTL: what long and short writes cost, what a change of class costs, and what a chained block
//! gains.

use crate::support;
use crate::support::{cost, request};
use eraseblock_core::buffer::{BufferConfig, Idle, Outcome, Shape, Span};
use eraseblock_core::device::Device;
use eraseblock_core::host::Op;
use eraseblock_core::metrics::latency::LatencySummary;
use eraseblock_core::support::ids::Lpn;
use serde_json::{Value, json};

/// One unit, 8 blocks of 4 pages exported and full, 2 log blocks; more than `threshold` pages
/// together are sequential.
fn drive(threshold: u32, buffer: &Value) -> Device {
    support::device(&json!({
        "ftl": {"mapping": {"kind": "sftl", "threshold": threshold, "log_blocks": 2}},
        "buffer": {"size": "64 KiB", "scheme": buffer},
    }))
}

fn write(drive: &mut Device, page: u64, count: u64) {
    drive.submit(&request(Op::Write, page, count)).unwrap();
}

#[test]
fn sequential_pages_are_written_into_a_new_block_and_random_ones_into_a_log() {
    let mut drive = drive(2, &json!("none"));
    // Three of four pages: the fourth is copied, the old block erased.
    write(&mut drive, 0, 3);
    assert_eq!(cost(&drive), (1, 4, 1));
    write(&mut drive, 5, 1);
    assert_eq!(cost(&drive), (1, 5, 1));
    // Block 1 becomes sequential: four pages are copied out of its log and data block, and both
    // erased; then as above.
    write(&mut drive, 4, 3);
    assert_eq!(cost(&drive), (1 + 4 + 1, 5 + 4 + 4, 1 + 2 + 1));
    // Block 2 was written in order, and the rest of it completes the log before the new write.
    write(&mut drive, 8, 1);
    write(&mut drive, 8, 4);
    assert_eq!(cost(&drive), (6 + 3, 13 + 1 + 3 + 4, 4 + 1 + 1));
    drive.finish().unwrap();
}

#[test]
fn the_first_write_of_a_sequential_block_goes_to_its_place() {
    let mut drive = support::device(&json!({
        "ftl": {"mapping": {"kind": "sftl", "threshold": 1, "log_blocks": 2}}, "precondition": {"state": "empty"},
    }));
    write(&mut drive, 0, 2);
    write(&mut drive, 2, 2);
    assert_eq!(cost(&drive), (0, 4, 0));
    write(&mut drive, 2, 2);
    assert_eq!(cost(&drive), (2, 8, 1));
    drive.finish().unwrap();
}

/// A stream of long requests over a full block: the log that they fill in order becomes the data
/// block, and one that ends early is completed.
#[test]
fn with_logs_for_sequential_pages_only_what_no_request_writes_is_copied() {
    let mut drive = support::device(&json!({
        "ftl": {"mapping": {"kind": "sftl", "threshold": 1, "log_blocks": 2, "replace": "log"}},
    }));
    write(&mut drive, 0, 2);
    write(&mut drive, 2, 2);
    assert_eq!(cost(&drive), (0, 4, 0));
    // The third log takes the first one's place, which is switched; then the second one's, of
    // which half is copied.
    write(&mut drive, 4, 2);
    write(&mut drive, 8, 2);
    assert_eq!(cost(&drive), (0, 8, 1));
    write(&mut drive, 12, 2);
    assert_eq!(cost(&drive), (2, 12, 2));
    // A log of long requests takes no page of a short one: it is completed before.
    write(&mut drive, 10, 1);
    assert_eq!(cost(&drive), (4, 15, 3));
    let c = drive.counters();
    assert_eq!((c.switch_merges, c.partial_merges, c.full_merges), (1, 2, 0));
    drive.finish().unwrap();
}

#[test]
fn random_writes_cost_what_they_cost_under_bast() {
    let stream: Vec<u64> = (0..400).map(|n: u64| n * n * 7 % 31).collect();
    let costs = ["sftl", "bast"].map(|kind| {
        let mut drive =
            support::device(&json!({"ftl": {"mapping": {"kind": kind, "log_blocks": 2}}}));
        support::write(&mut drive, &stream);
        let c = drive.counters();
        (cost(&drive), c.switch_merges, c.partial_merges, c.full_merges)
    });
    assert_eq!(costs[0], costs[1]);
    assert!(costs[0].3 > 50, "{costs:?}");
}

/// A request of six pages puts two into block 0 and four into block 1. The buffer knows that they
/// are one long request.
#[test]
fn the_length_at_the_entrance_of_the_buffer_counts() {
    let mut with = drive(4, &json!("sftl"));
    write(&mut with, 2, 6);
    assert_eq!(cost(&with), (0, 0, 0));
    with.submit(&request(Op::Flush, 0, 0)).unwrap();
    assert_eq!(cost(&with), (2, 8, 2));
    let mut without = drive(4, &json!("none"));
    write(&mut without, 2, 6);
    assert_eq!(cost(&without), (0, 6, 0));
}

/// Four channels: four blocks leave together, and their pages are programmed one after the other on
/// each channel.
#[test]
fn a_chained_block_takes_the_time_of_one_block() {
    let mut drive = support::device(&json!({
        "nand": {
            "channels": 4,
            "timing": {"read": "25 us", "program": "200 us", "erase": "1500 us", "transfer": "0 ns"},
        },
        "ftl": {"exported": "512 KiB", "mapping": "sftl"},
        "buffer": {"size": "128 KiB", "scheme": "sftl"},
        "host": {"replay": "open", "max_outstanding": 16, "end_of_run": "keep"},
        "precondition": {"state": "empty"},
    }));
    write(&mut drive, 0, 16);
    write(&mut drive, 64, 5);
    let unit = |page: u32| {
        drive.geometry().unit_of_page(drive.mapping().lookup(Lpn(page)).expect("stored")).0
    };
    assert_eq!([0, 3, 4, 7, 8, 12, 15].map(unit), [0, 0, 1, 1, 2, 3, 3]);
    let report = drive.finish().unwrap();
    let flushed = report.figures.read::<LatencySummary>("flush_response_ns").unwrap();
    assert_eq!((flushed.count, flushed.p50, flushed.max), (4, 4 * 200_000, 4 * 200_000));
}

#[test]
fn a_flush_command_keeps_the_blocks_of_a_chain_together() {
    let shape = Shape { capacity: 40, pages_per_block: 8, logical_pages: 80 };
    let mut buffer =
        serde_json::from_value::<BufferConfig>(json!("sftl")).unwrap().build(shape).unwrap();
    let mut out = Outcome::default();
    // Blocks 0 and 1 are of one chain on four channels, block 4 is of another.
    for (request, block) in [1, 4, 0].into_iter().enumerate() {
        let span = Span { first: Lpn(block * 8), count: 5, write: true, request: request as u64 };
        buffer.access(&span, &Idle, &mut out);
    }
    out.clear();
    buffer.flush(&mut out);
    let order: Vec<u32> = out.evictions.iter().map(|e| out.pages_of(e)[0].lpn.block(8).0).collect();
    assert_eq!(order, [0, 1, 4], "in the order in which they would make room");
}

/// A merge has written the tombstone already, even where that has come to lie in the very flash
/// page that was trimmed.
#[test]
fn a_flush_buries_nothing_twice() {
    for times in 1..40 {
        let mut device = drive(1, &json!("none"));
        device.submit(&request(Op::Trim, 3, 1)).expect("a trim");
        for _ in 0..times {
            write(&mut device, 0, 2);
        }
        let before = cost(&device);
        device.submit(&request(Op::Flush, 0, 0)).expect("a flush");
        assert_eq!(cost(&device), before, "after {times} times");
    }
}
