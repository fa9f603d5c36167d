//! What is done to blocks and pages, and what requests would take on an idle drive.

use crate::support;
use eraseblock_core::device::Device;
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Metric;
use eraseblock_core::metrics::patterns::{ChangeRatio, CoHit, Counts, PatternReport};
use eraseblock_core::metrics::service_times::ServiceByKind;
use eraseblock_core::support::ids::Lpn;
use serde_json::{Value, json};

/// Four channels of blocks of 8 pages; reads take 50 us, programs 800 us and erases 1500 us, the
/// bus nothing.
fn drive(changes: &[(&str, Value)]) -> Device {
    let mut config = json!({
        "nand": {
            "channels": 4, "blocks_per_plane": 24, "pages_per_block": 8,
            "timing": {"read": "50 us", "program": "800 us", "erase": "1500 us", "transfer": "0 ns"},
        },
        "ftl": {"exported": "1 MiB", "mapping": {"kind": "pattern", "log_blocks": 8, "threshold": 2}},
        "buffer": {"size": "64 KiB", "scheme": "supa"},
        "host": {"replay": "open"},
        "precondition": {"state": "empty"},
    });
    for (pointer, value) in changes {
        *config.pointer_mut(pointer).unwrap() = value.clone();
    }
    let mut drive = support::device(&config);
    drive.keep(Metric::Patterns);
    drive.keep(Metric::ServiceTimes);
    drive
}

fn submit(drive: &mut Device, op: Op, page: u64, count: u64) {
    drive.submit(&support::request(op, page, count)).unwrap();
}

fn patterns(drive: &mut Device) -> PatternReport {
    drive.finish().unwrap().figures.read("patterns").unwrap()
}

#[test]
fn hits_on_pages_used_the_other_way_are_told_apart() {
    for scheme in ["supa", "cflru"] {
        let mut drive = drive(&[("/buffer/scheme", scheme.into())]);
        for (op, page) in [
            (Op::Write, 1), // not there
            (Op::Write, 1), // hit
            (Op::Read, 1),  // hit on a written page
            (Op::Read, 1),  // and again
            (Op::Write, 1), // hit on a read page
            (Op::Read, 3),
            (Op::Read, 3),  // hit on a page that was only read
            (Op::Write, 3), // hit on a read page
        ] {
            submit(&mut drive, op, page, 1);
        }
        let found = drive.finish().unwrap().figures.read("co_hit");
        let each = CoHit { read: Some(2.0 / 3.0), write: Some(2.0 / 3.0) };
        assert_eq!(found, Some(each), "{scheme}");
    }
}

#[test]
fn a_page_that_left_the_buffer_begins_anew() {
    let mut drive = drive(&[]);
    submit(&mut drive, Op::Write, 8, 2);
    // Block 1 leaves.
    submit(&mut drive, Op::Write, 160, 8);
    submit(&mut drive, Op::Write, 176, 8);
    submit(&mut drive, Op::Read, 8, 2);
    submit(&mut drive, Op::Read, 8, 2);
    assert_eq!(drive.finish().unwrap().figures.read("co_hit.read"), Some(0.0));
}

#[test]
fn blocks_are_counted_by_pattern_as_the_buffer_tells_them() {
    let mut drive = drive(&[("/host", json!({"replay": "open", "end_of_run": "keep"}))]);
    for (turn, (op, count)) in
        (0..).zip([(Op::Write, 2), (Op::Write, 8), (Op::Read, 2), (Op::Read, 8)])
    {
        // Block 1 is used in one way, and leaves.
        submit(&mut drive, op, 8, count);
        let far = 160 + turn % 2 * 32;
        submit(&mut drive, Op::Write, far, 8);
        submit(&mut drive, Op::Write, far + 16, 8);
        assert!(!drive.buffer().holds(Lpn(8)));
    }
    let found = patterns(&mut drive);
    // The others are always written in sequence; the last two stay.
    assert_eq!(found.counts, Counts { rw: 1, sw: 1 + 6, rr: 1, sr: 1, ..Counts::default() });
    assert_eq!(found.blocks, 10);
    // Random to sequential once; from write- to read-intensive once.
    assert_eq!(
        found.change_ratio,
        ChangeRatio { sequential_random: Some(0.1), read_write: Some(0.1) }
    );
}

#[test]
fn blocks_are_told_apart_where_the_buffer_says_nothing() {
    let mut drive = drive(&[("/buffer/scheme", "none".into()), ("/buffer/size", "0 B".into())]);
    for (op, count) in [(Op::Write, 4), (Op::Write, 5), (Op::Read, 2), (Op::Read, 3)] {
        submit(&mut drive, op, 8, count);
    }
    let found = patterns(&mut drive);
    assert_eq!(found.counts, Counts { rw: 1, sw: 1, rr: 1, sr: 1, ..Counts::default() });
    assert_eq!(
        found.change_ratio,
        ChangeRatio { sequential_random: Some(0.25), read_write: Some(0.25) }
    );
}

/// Nothing waits for the requests before it, and what lies on several channels is done at once.
#[test]
fn service_times_are_those_of_an_idle_drive() {
    let none = [("/buffer/scheme", "none".into()), ("/buffer/size", "0 B".into())];
    let mut drive = drive(&none);
    // Four pages in a row are striped, two lie on one channel.
    for (op, arrival_ns) in [(Op::Write, 0), (Op::Read, 100_000_000)] {
        for (page, count) in [(0, 4), (8, 2)] {
            drive.submit(&Request { arrival_ns, ..support::request(op, page, count) }).unwrap();
        }
    }
    let report = drive.finish().unwrap();
    let service: ServiceByKind = report.figures.read("service_ns").unwrap();
    let [write, read] = [service.write.io, service.read.io].map(|times| times.unwrap());
    assert_eq!((write.count, write.max, write.mean), (2, 1_600_000, 1_200_000.0));
    assert_eq!((read.count, read.max, read.mean), (2, 100_000, 75_000.0));
    let waited = report.response_ns;
    assert!(waited.write.unwrap().mean > 1_200_000.0 && waited.read.unwrap().mean > 75_000.0);
    assert_eq!((service.read.gc.unwrap().max, service.write.gc.unwrap().max), (0, 0));
}

/// BAST with one log block of two pages: the third write first merges, which takes a switch's
/// erase.
#[test]
fn collection_is_told_apart() {
    let mut drive = drive(&[
        ("/nand/pages_per_block", 2.into()),
        ("/ftl", json!({"exported": "128 KiB", "mapping": {"kind": "bast", "log_blocks": 1}})),
        ("/buffer/scheme", "none".into()),
        ("/buffer/size", "0 B".into()),
        ("/precondition/state", "full".into()),
    ]);
    for (number, page) in (0..).zip([0, 1, 0]) {
        let request =
            Request { arrival_ns: number * 10_000_000, ..support::request(Op::Write, page, 1) };
        drive.submit(&request).unwrap();
    }
    let report = drive.finish().unwrap();
    let service = report.figures.read::<ServiceByKind>("service_ns").unwrap().write;
    let (io, gc) = (service.io.unwrap(), service.gc.unwrap());
    assert_eq!((io.count, io.max), (3, 800_000));
    assert_eq!(gc.p50, 0, "only the last write merges");
    assert_eq!(gc.max, 1_500_000);
}
