//! HBM's dynamic threshold by default: the shares at which it moves are those of the thesis's Table 3.1, and it moves at most once in
//! a hundred requests.

use eraseblock_core::buffer::{Buffer, BufferConfig, Idle, Outcome, Shape, Span};

const PAGES_PER_BLOCK: u32 = 64;
/// Bytes of a page in the table.
const PAGE: u32 = 2048;

/// HBM with its defaults, and a count of its requests.
struct Driven {
    buffer: Box<dyn Buffer>,
    request: u64,
}

impl Driven {
    fn new(capacity: u32) -> Self {
        let shape = Shape { capacity, pages_per_block: PAGES_PER_BLOCK, logical_pages: 2 * capacity };
        Self { buffer: BufferConfig::by_name("hbm").unwrap().build(shape).unwrap(), request: 0 }
    }

    /// Writes a page `later` requests after the one before; the new threshold, if it moved.
    fn write(&mut self, page: u32, later: u64) -> Option<i64> {
        self.request += later;
        let mut out = Outcome { watched: true, ..Outcome::default() };
        let span = Span { first: page, count: 1, write: true, request: self.request };
        self.buffer.access(&span, &Idle, &mut out);
        out.notes.iter().find(|note| note.what == "threshold").and_then(|note| note.value)
    }

    /// Writes new pages until the threshold moves; how many are in the block region then.
    fn fill(&mut self) -> u32 {
        // All pages of the block region: the threshold is 1. Page 1 is left for later.
        for page in (0..).filter(|&page| page != 1) {
            if let Some(threshold) = self.write(page, 1000) {
                assert_eq!(threshold, 2);
                return self.buffer.len();
            }
        }
        unreachable!("the block region reaches beta")
    }
}

#[test]
fn the_shares_are_those_of_table_3_1() {
    for (mib, alpha, beta) in [
        (1, 0.25, 0.5),
        (2, 0.125, 0.25),
        (4, 0.0625, 0.1),
        (8, 0.0313, 0.1),
        (16, 0.0156, 0.2),
        (64, 0.0039, 0.2),
    ] {
        let capacity = (mib << 20) / PAGE;
        let mut above = Driven::new(capacity);
        let pages = above.fill();
        let share = f64::from(pages) / f64::from(capacity);
        let step = 1.0 / f64::from(capacity);
        assert!(share > beta && share <= beta + step, "{mib} MiB: the threshold rises at {share}");

        // Down to so many pages, among them page 0, then one more: is that below alpha?
        let falls_at = |left: u32| {
            let mut drive = Driven::new(capacity);
            drive.fill();
            let held = drive.buffer.len();
            // Pages 0 and 2 to `held` are there.
            drive.buffer.trim(left + 1, held - left);
            assert_eq!(drive.buffer.len(), left);
            drive.write(1, 1000) == Some(1)
        };
        // The table rounds to four places.
        let edge = (1..pages - 1).find(|&left| !falls_at(left)).unwrap();
        let share = f64::from(edge + 1) / f64::from(capacity);
        assert!((share - alpha).abs() <= 0.00005 + 1e-9, "{mib} MiB: the threshold falls below {share}");
    }
}

#[test]
fn it_moves_at_most_once_in_a_hundred_requests() {
    let mut drive = Driven::new(512);
    // Request 99 is too early for the first move although every page is in the block region.
    for page in 0..300 {
        assert_eq!(drive.write(page, 0), None);
    }
    assert_eq!(drive.write(300, 99), None);
    assert_eq!(drive.write(301, 1), Some(2));
    // A single page of another block would stay in the page region; these join their block.
    assert_eq!(drive.write(302, 99), None);
    assert_eq!(drive.write(303, 1), Some(3));
}
