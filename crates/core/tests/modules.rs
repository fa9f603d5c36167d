//! Buffers that keep several modules busy: what leaves together, and how long it takes, to the
//! nanosecond.

use crate::support;
use crate::support::request;
use eraseblock_core::buffer::Part;
use eraseblock_core::buffer::{Buffer, BufferConfig, Outcome, Shape, Span, View};
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Report;
use eraseblock_core::metrics::latency::LatencySummary;
use eraseblock_core::pattern::{Pattern, Route};
use eraseblock_core::support::ids::{LogicalBlock, Lpn, PlaneId};
use serde_json::{Value, json};

/// A page on the bus and into the array.
const WRITE: u64 = 300_000;

/// A drive of four channels whose pages lie on channel *page modulo 4*, with a buffer of so many
/// pages.
fn drive(scheme: &Value, pages: u64, partial_page: &str) -> Device {
    drive_with(
        &json!({"mapping": "page", "allocator": "static"}),
        ("full", partial_page),
        scheme,
        pages,
    )
}

/// A drive of four channels, 32 of whose 64 blocks are exported.
fn drive_with(
    ftl: &Value,
    (state, partial_page): (&str, &str),
    scheme: &Value,
    pages: u64,
) -> Device {
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

/// Writes single pages, all at the same time, and says what happened and which pages are held in
/// the end.
fn run(scheme: &Value, capacity: u64, pages: &[u64]) -> (Report, Vec<u64>) {
    let mut device = drive(scheme, capacity, "round");
    support::write(&mut device, pages);
    let held =
        pages.iter().copied().filter(|&page| device.buffer().holds(Lpn(page as u32))).collect();
    (device.finish().unwrap(), held)
}

fn flushed(report: &Report) -> (u64, u64) {
    let flushed = report.figures.read::<LatencySummary>("flush_response_ns").unwrap();
    (flushed.count, flushed.max)
}

#[test]
fn four_victims_on_four_modules_take_the_time_of_one_program() {
    let cave = json!({"kind": "cave", "order": "lru"});
    let (report, held) = run(&cave, 4, &[0, 1, 2, 3, 4]);
    assert_eq!((flushed(&report), held), ((4, WRITE), vec![4]));
    // One victim at a time, in the order of pages that share a module, takes one program after the
    // other.
    let (report, _) =
        run(&json!({"kind": "lru", "reads": "bypass"}), 4, &[0, 4, 8, 12, 1, 2, 3, 5]);
    assert_eq!(flushed(&report).0, 4);
    assert!(flushed(&report).1 >= 4 * WRITE - 3 * 100_000, "{:?}", flushed(&report));
    // Modules 0, 0, 1, 2 and 3: the second page is passed over.
    let (report, held) = run(&cave, 5, &[0, 4, 1, 2, 3, 8]);
    assert_eq!((flushed(&report), held), ((4, WRITE), vec![4, 8]));
}

/// Pages that were never written are known by their numbers to belong to chips 0, 0, 1, 2 and 3,
/// whatever mapping keeps them.
#[test]
fn fresh_pages_belong_to_the_chips_that_placement_gives_them() {
    for mapping in ["page", "dftl"] {
        let ftl = json!({"mapping": mapping, "allocator": "static"});
        let mut device =
            drive_with(&ftl, ("empty", "round"), &json!({"kind": "cave", "order": "lru"}), 5);
        support::write(&mut device, &[0, 4, 1, 2, 3, 8]);
        assert_eq!(
            [0, 4, 1, 2, 3, 8].map(|page| device.buffer().holds(Lpn(page))),
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
    for request in
        [half(0, 0), request(Op::Write, 4, 1), request(Op::Write, 8, 1), request(Op::Write, 12, 1)]
    {
        device.submit(&request).unwrap();
    }
    assert_eq!(
        [0, 4, 8, 12].map(|page| device.buffer().holds(Lpn(page))),
        [true, false, true, true]
    );
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
    let lies = |&page| device.mapping().lookup(Lpn(page)).expect("a stored page");
    pages.iter().map(|page| device.geometry().unit_of_page(lies(page)).0 % 4).collect()
}

#[test]
fn sequential_blocks_are_striped_and_leave_alone_while_random_ones_leave_together() {
    let ftl = json!({"mapping": {"kind": "pattern", "handler": false}});
    let mut device = drive_with(&ftl, ("empty", "round"), &p_cave(), 8);
    let held = |device: &Device, pages: &[u32]| {
        pages.iter().filter(|&&page| device.buffer().holds(Lpn(page))).copied().collect::<Vec<_>>()
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
        let held =
            [0, 4, 8, 12].into_iter().filter(|&page| device.buffer().holds(Lpn(page))).count();
        assert_eq!(held, 4 - left, "M = {striping}");
        device.finish().unwrap();
    }
}

/// Four channels with a unit each, some of which have work to do. Block and page `n` belong to
/// channel `n modulo 4`, unless they were never written.
#[derive(Debug, Clone, Copy)]
struct Uneven {
    work: [u32; 4],
    erased: [u32; 4],
    written: bool,
}

impl View for Uneven {
    fn units(&self) -> u32 {
        4
    }

    fn unit_of(&self, lpn: Lpn) -> Option<PlaneId> {
        self.written.then_some(PlaneId(lpn.offset(4)))
    }

    fn chips(&self) -> u32 {
        4
    }

    fn home_chip(&self, _lpn: Lpn) -> Option<u32> {
        None
    }

    fn queued(&self, unit: PlaneId) -> u32 {
        self.work[unit.index()]
    }

    fn free_blocks(&self, unit: PlaneId) -> u32 {
        self.erased[unit.index()]
    }

    fn channels(&self) -> u32 {
        4
    }

    fn channel_ready(&self, channel: u32) -> bool {
        self.erased[channel as usize] > 0
    }

    fn route(&self, block: LogicalBlock, _pattern: Pattern) -> Route {
        if self.written { Route::Channel(block.0 % 4) } else { Route::Anywhere }
    }
}

const EVEN: Uneven = Uneven { work: [0; 4], erased: [5; 4], written: true };

/// Pages of a buffer that holds five: they are written one after the other, each of them in these
/// parts, or whole. What leaves with the last one, and for which channel.
fn leaving(scheme: &str, view: Uneven, pages: &[(u32, &[(u32, u32)])]) -> Vec<(u32, Option<u32>)> {
    let config: BufferConfig = serde_json::from_value(json!(scheme)).unwrap();
    let shape = Shape { capacity: 5, pages_per_block: 4, logical_pages: 256 };
    let mut buffer: Box<dyn Buffer> = config.build(shape).unwrap();
    let mut out = Outcome::default();
    for &(first, parts) in pages {
        let whole = [(0, 4096)];
        for &(from, to) in if parts.is_empty() { &whole[..] } else { parts } {
            assert!(out.evictions.is_empty(), "only the last page finds no room");
            if to - from < 4096 {
                buffer.writes_part(Lpn(first), Part { from, to, of: 4096 });
            }
            out.clear();
            buffer.access(
                &Span { first: Lpn(first), count: 1, write: true, request: 0 },
                &view,
                &mut out,
            );
            buffer.check().unwrap();
        }
    }
    let channel = |hint: Option<eraseblock_core::pattern::Hint>| hint.and_then(|hint| hint.channel);
    out.evictions.iter().map(|e| (out.pages_of(e)[0].lpn.0, channel(e.hint))).collect()
}

/// Blocks 0 and 4 on channel 0, then 1, 2 and 3, a page of each; block 5 finds no room.
#[test]
fn fap_lru_sends_blocks_to_channels_that_have_nothing_to_do() {
    let left = |view| leaving("fap-lru", view, &[0, 16, 4, 8, 12, 20].map(|page| (page, &[][..])));
    let at = |page: u32| (page, Some(page / 4 % 4));
    assert_eq!(left(EVEN), [0, 4, 8, 12].map(at));
    assert_eq!(left(Uneven { work: [3, 0, 1, 0], ..EVEN }), [at(4), at(12)]);
    // No channel is idle: the block at the end leaves, wherever it goes.
    assert_eq!(left(Uneven { work: [3, 1, 1, 2], ..EVEN }), [(0, None)]);
    // Blocks that were never written take the idle channels, the one with most erased blocks first.
    let fresh = Uneven { work: [0, 0, 1, 0], erased: [1, 4, 9, 2], written: false };
    assert_eq!(left(fresh), [(0, Some(1)), (16, Some(3)), (4, Some(0))]);
}

#[test]
fn mca_sends_complete_pages_to_chips_that_have_nothing_to_do() {
    let some: &[(u32, u32)] = &[(0, 1024)];
    let left = |view, first: &[(u32, u32)], fourth: &[(u32, u32)]| {
        leaving("mca", view, &[(0, first), (4, &[]), (1, &[]), (2, &[]), (3, fourth), (5, &[])])
    };
    let at = |page: u32| (page, Some(page % 4));
    assert_eq!(left(EVEN, &[], &[]), [0, 1, 2, 3].map(at));
    // Page 3 is the only one for its chip, and page 0 is not.
    assert_eq!(left(Uneven { work: [0, 1, 1, 0], ..EVEN }, some, some), [at(4), at(3)]);
    // No chip is idle: the last page that is complete.
    let busy = Uneven { work: [1; 4], ..EVEN };
    assert_eq!(left(busy, &[], &[]), [(0, None)]);
    assert_eq!(left(busy, some, &[]), [(4, None)]);
    // Parts that meet complete a page, and parts with a hole between them do not.
    assert_eq!(left(busy, &[(0, 2048), (2048, 4096)], &[]), [(0, None)]);
    assert_eq!(left(busy, &[(0, 1024), (2048, 4096)], &[]), [(4, None)]);
}

#[test]
fn gb_sends_pages_where_the_least_work_waits() {
    let left = |view| leaving("gb", view, &[0, 4, 1, 2, 3, 5].map(|page| (page, &[][..])));
    let at = |page: u32| (page, Some(page % 4));
    assert_eq!(left(EVEN), [at(0)]);
    assert_eq!(left(Uneven { work: [2, 1, 3, 1], ..EVEN }), [at(1)]);
    // A channel without an erased block comes last.
    assert_eq!(left(Uneven { work: [2, 0, 3, 1], erased: [1, 0, 1, 1], ..EVEN }), [at(3)]);
    // A page that was never written goes there itself.
    assert_eq!(left(Uneven { work: [2, 1, 0, 1], written: false, ..EVEN }), [(0, Some(2))]);
}

/// A block whose first page was trimmed counted as never written: it was told to go anywhere.
#[test]
fn a_block_goes_to_where_it_lies_whatever_became_of_its_first_page() {
    let drive = |mapping: &Value, state: &str| {
        support::device(&json!({
            "nand": {
                "channels": 4, "blocks_per_plane": 32, "pages_per_block": 4, "program_order": "any"
            },
            "ftl": {"exported": "256 KiB", "mapping": mapping},
            "buffer": {"size": "0 B", "scheme": "none"},
            "precondition": {"state": state},
        }))
    };
    let unit = |drive: &Device, block: u32| {
        drive.mapping().advice().and_then(|advice| advice.unit_of_block(LogicalBlock(block)))
    };
    let logs = |kind: &str| json!({"kind": kind, "log_blocks": 4});
    let mappings =
        [json!("block"), json!("hybrid"), json!("replacement"), logs("bast"), logs("fast")];
    for mapping in &mappings {
        let mut drive_of = drive(mapping, "full");
        for block in 0..8 {
            let lies = drive_of.mapping().lookup(Lpn(block * 4 + 1)).unwrap();
            let lies = drive_of.geometry().unit_of_page(lies);
            assert_eq!(unit(&drive_of, block), Some(lies), "{mapping}");
            drive_of.submit(&support::request(Op::Trim, u64::from(block) * 4, 1)).unwrap();
            assert_eq!(unit(&drive_of, block), Some(lies), "{mapping}");
        }
        let empty = drive(mapping, "empty");
        assert_eq!(unit(&empty, 6), Some(PlaneId(2)), "{mapping}: blocks take turns");
    }
    // Where pages are placed one by one or dealt out, where one of them lies says nothing of a block.
    let dealt = json!({"kind": "mnk", "striping": 2, "group_blocks": 2, "log_blocks": 8});
    let by_pattern = json!({"kind": "pattern", "log_blocks": 8});
    for mapping in [json!("page"), json!("dftl"), dealt, by_pattern] {
        assert_eq!(unit(&drive(&mapping, "full"), 1), None, "{mapping}");
    }
}
