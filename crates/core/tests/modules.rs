//! Buffers that keep several modules busy: what leaves together, and how long it takes, to the nanosecond.

use crate::support;
use crate::support::request;
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Report;
use serde_json::{Value, json};

/// A page on the bus and into the array.
const WRITE: u64 = 300_000;

/// A drive of four channels whose pages lie on channel *page modulo 4*, with a buffer of so many pages.
fn drive(scheme: &Value, pages: u64, partial_page: &str) -> Device {
    drive_with(&json!({"mapping": "page", "allocator": "static"}), ("full", partial_page), scheme, pages)
}

/// A drive of four channels, 32 of whose 64 blocks are exported.
fn drive_with(ftl: &Value, (state, partial_page): (&str, &str), scheme: &Value, pages: u64) -> Device {
    let mut ftl = ftl.clone();
    ftl["exported"] = json!("512 KiB");
    let config = json!({
        "nand": {"channels": 4},
        "ftl": ftl,
        "precondition": {"state": state},
        "buffer": {"size": format!("{} KiB", pages * 4), "scheme": scheme},
        "host": {"replay": "open", "partial_page": partial_page, "max_outstanding": 16, "end_of_run": "keep"},
    });
    let mut device = Device::new(&support::config(&config), Options { verify: true }).unwrap();
    device.precondition().unwrap();
    device
}

/// Writes single pages, all at the same time, and says what happened and which pages are held in the end.
fn run(scheme: &Value, capacity: u64, pages: &[u64]) -> (Report, Vec<u64>) {
    let mut device = drive(scheme, capacity, "round");
    support::write(&mut device, pages);
    let held = pages.iter().copied().filter(|&page| device.buffer().holds(page as u32)).collect();
    (device.finish().unwrap(), held)
}

fn flushed(report: &Report) -> (u64, u64) {
    let flushed = report.flush_response_ns.as_ref().unwrap();
    (flushed.count, flushed.max)
}

#[test]
fn four_victims_on_four_modules_take_the_time_of_one_program() {
    let cave = json!({"kind": "cave", "order": "lru"});
    let (report, held) = run(&cave, 4, &[0, 1, 2, 3, 4]);
    assert_eq!((flushed(&report), held), ((4, WRITE), vec![4]));
    // One victim at a time, in the order of pages that share a module, takes one program after the other.
    let (report, _) = run(&json!({"kind": "lru", "reads": "bypass"}), 4, &[0, 4, 8, 12, 1, 2, 3, 5]);
    assert_eq!(flushed(&report).0, 4);
    assert!(flushed(&report).1 >= 4 * WRITE - 3 * 100_000, "{:?}", flushed(&report));
    // Modules 0, 0, 1, 2 and 3: the second page is passed over.
    let (report, held) = run(&cave, 5, &[0, 4, 1, 2, 3, 8]);
    assert_eq!((flushed(&report), held), ((4, WRITE), vec![4, 8]));
}

/// Pages that were never written are known by their numbers to belong to chips 0, 0, 1, 2 and 3, whatever mapping keeps them.
#[test]
fn fresh_pages_belong_to_the_chips_that_placement_gives_them() {
    for mapping in ["page", "dftl"] {
        let ftl = json!({"mapping": mapping, "allocator": "static"});
        let mut device = drive_with(&ftl, ("empty", "round"), &json!({"kind": "cave", "order": "lru"}), 5);
        support::write(&mut device, &[0, 4, 1, 2, 3, 8]);
        assert_eq!(
            [0, 4, 1, 2, 3, 8].map(|page| device.buffer().holds(page)),
            [false, true, false, false, false, true],
            "{mapping}"
        );
        device.finish().unwrap();
    }
}

#[test]
fn a_page_that_was_written_in_part_stays_if_a_complete_one_can_leave() {
    let mut device = drive(&json!("mca"), 3, "read-modify-write");
    let half = |page: u64, half: u64| Request {
        offset: page * 4096 + half * 2048,
        len: 2048,
        ..request(Op::Write, 0, 1)
    };
    // Pages 0 and 4 are on one chip; page 0 was written first, but only in part.
    for request in [half(0, 0), request(Op::Write, 4, 1), request(Op::Write, 8, 1), request(Op::Write, 12, 1)]
    {
        device.submit(&request).unwrap();
    }
    assert_eq!([0, 4, 8, 12].map(|page| device.buffer().holds(page)), [true, false, true, true]);
    // Its other half completes it.
    device.submit(&half(0, 1)).unwrap();
    device.finish().unwrap();
}

/// p-CAVE: a block with more than two dirty pages is sequential.
fn p_cave() -> Value {
    json!({"kind": "cave", "sequential_above": 2, "padding": false, "compensation": false})
}

/// Channels of these pages.
fn channels(device: &Device, pages: &[u32]) -> Vec<u32> {
    let lies = |&page| device.mapping().lookup(page).expect("a stored page") / 4;
    pages.iter().map(|page| device.geometry().unit_of(lies(page)) % 4).collect()
}

#[test]
fn sequential_blocks_are_striped_and_leave_alone_while_random_ones_leave_together() {
    let ftl = json!({"mapping": {"kind": "pattern", "handler": false}});
    let mut device = drive_with(&ftl, ("empty", "round"), &p_cave(), 8);
    let held = |device: &Device, pages: &[u32]| {
        pages.iter().filter(|&&page| device.buffer().holds(page)).copied().collect::<Vec<_>>()
    };
    // Block 0 is sequential; the others have a page each.
    let all = [0, 1, 2, 4, 8, 12, 16, 20, 24, 28];
    support::write(&mut device, &all.map(u64::from)[..9]);
    assert_eq!(held(&device, &all), [4, 8, 12, 16, 20, 24]);
    assert_eq!(channels(&device, &[0, 1, 2]), [0, 1, 2]);
    // Two slots are left; then four random blocks go, one to each channel.
    support::write(&mut device, &[28, 32, 36]);
    assert_eq!(held(&device, &[4, 8, 12, 16, 20, 24, 28, 32, 36]), [20, 24, 28, 32, 36]);
    assert_eq!(channels(&device, &[4, 8, 12, 16]), [0, 1, 2, 3]);
    device.finish().unwrap();
}

#[test]
fn on_mnk_as_many_blocks_leave_as_there_are_places_to_go() {
    for (striping, left) in [(1, 4), (4, 1)] {
        let ftl = json!({"mapping": {"kind": "mnk", "striping": striping}});
        let mut device = drive_with(&ftl, ("full", "round"), &p_cave(), 4);
        support::write(&mut device, &[0, 4, 8, 12, 16]);
        let held = [0, 4, 8, 12].into_iter().filter(|&page| device.buffer().holds(page)).count();
        assert_eq!(held, 4 - left, "M = {striping}");
        device.finish().unwrap();
    }
}
