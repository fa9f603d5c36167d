//! In which order pages leave where the host wants them stored: as they would have to make room.
//! And what leaves beside them.

use eraseblock_core::buffer::{Answer, Buffer, BufferConfig, Idle, Outcome, Shape, Span};
use eraseblock_core::support::ids::Lpn;
use serde_json::{Value, json};

/// A buffer over blocks of four pages, and all that it has let go.
struct Driven {
    buffer: Box<dyn Buffer>,
    request: u64,
    out: Outcome,
}

impl Driven {
    fn new(scheme: Value, capacity: u32) -> Self {
        let shape = Shape { capacity, pages_per_block: 4, logical_pages: 64 };
        let buffer = serde_json::from_value::<BufferConfig>(scheme).unwrap().build(shape).unwrap();
        Self { buffer, request: 0, out: Outcome::default() }
    }

    fn access(&mut self, first: u32, count: u32, write: bool) {
        self.request += 1;
        self.out.clear();
        let span = Span { first: Lpn(first), count, write, request: self.request };
        self.buffer.access(&span, &Idle, &mut self.out);
    }

    fn write(&mut self, first: u32, count: u32) {
        self.access(first, count, true);
    }

    /// What the last request made leave, or a flush command now.
    fn left(&self) -> Vec<Vec<u32>> {
        let pages = |e| self.out.pages_of(e).iter().map(|page| page.lpn.0).collect();
        self.out.evictions.iter().map(pages).collect()
    }

    fn flushed(&mut self) -> Vec<Vec<u32>> {
        self.out.clear();
        self.buffer.flush(&mut self.out);
        self.left()
    }
}

#[test]
fn clock_stores_used_pages_after_others() {
    for reads in ["allocate", "bypass"] {
        let mut drive = Driven::new(json!({"kind": "clock", "bits": 2, "reads": reads}), 3);
        (0..3).for_each(|page| drive.write(page, 1));
        // Page 0 was used twice since, page 1 once.
        for page in [0, 0, 1] {
            drive.write(page, 1);
        }
        assert_eq!(drive.flushed(), [[2], [1], [0]], "{reads}");
    }
}

#[test]
fn lb_clock_stores_blocks_as_its_hand_would_choose_them() {
    let mut drive = Driven::new(json!({"kind": "lb-clock", "heuristics": false}), 8);
    drive.write(0, 1);
    drive.write(4, 2);
    drive.write(8, 1);
    // All were written since the hand came by: it clears their bits, and the fullest leaves; then
    // the first that it meets.
    assert_eq!(drive.flushed(), [vec![4, 5], vec![0], vec![8]]);
    let mut drive = Driven::new(json!({"kind": "lb-clock", "heuristics": false}), 5);
    for (first, count) in [(0, 1), (4, 1), (8, 1), (12, 2), (0, 2), (16, 1)] {
        drive.write(first, count);
    }
    // Block 3 has made room for page 1; blocks 0 and 4 were written since. The hand passes block 0,
    // clears its bit and stops at block 1, which leaves. Then block 0 is a candidate, too, and the
    // fullest.
    assert_eq!(drive.flushed(), [vec![4], vec![0, 1], vec![8], vec![16]]);
}

#[test]
fn without_compensation_pages_are_stored_one_by_one() {
    for page_order in ["lru", "lfu"] {
        let scheme =
            json!({"kind": "hbm", "threshold": 5, "compensation": false, "page_order": page_order});
        let mut drive = Driven::new(scheme, 8);
        for page in [0, 4, 1, 0] {
            drive.write(page, 1);
        }
        assert_eq!(drive.flushed(), [[4], [1], [0]], "{page_order}");
    }
    // With it a page takes its block along.
    let mut drive = Driven::new(json!({"kind": "hbm", "threshold": 5}), 8);
    for page in [0, 4, 1, 0] {
        drive.write(page, 1);
    }
    assert_eq!(drive.flushed(), [vec![4], vec![0, 1]]);
}

#[test]
fn cbm_fills_no_hole_with_a_page_that_is_being_written() {
    for room in ["request", "page"] {
        let scheme = json!({"kind": "cbm", "threshold": 1, "room": room, "tie": "lowest-block"});
        let mut drive = Driven::new(scheme, 4);
        // Two pages for writes, two for reads.
        drive.write(0, 1);
        drive.write(4, 1);
        drive.access(1, 2, false);
        // Block 0 leaves with page 1, which fills a hole; page 2 is on its way to the write buffer.
        drive.write(2, 2);
        assert_eq!(drive.left()[0], [0, 1], "{room}");
        assert_eq!(drive.out.answers[0], Answer::Hit, "{room}");
    }
}

#[test]
fn a_trim_does_not_break_a_sequence_of_writes() {
    let mut drive = Driven::new(json!({"kind": "bplru", "padding": false}), 6);
    drive.write(0, 4);
    drive.write(4, 1);
    drive.write(0, 1);
    // Page 3 has not been written anew yet.
    drive.buffer.trim(Lpn(3), 1);
    drive.write(8, 1);
    drive.write(1, 3);
    // Block 0 is full again, written from its first page to its last: it leaves before blocks
    // written longer ago.
    drive.write(12, 1);
    assert_eq!(drive.left(), [[0, 1, 2, 3]]);
}
