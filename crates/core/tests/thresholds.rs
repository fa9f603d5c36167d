//! HBM's dynamic threshold. By default the shares at which it moves are those of the thesis's Table
//! 3.1, and it moves at most once in a hundred requests. Whatever changes the block region's size
//! may move it: blocks that leave as well as those that come (Algorithm 3.4).

use eraseblock_core::buffer::{Buffer, BufferConfig, Idle, Outcome, Shape, Span};
use eraseblock_core::support::ids::Lpn;
use serde_json::{Value, json};

const PAGES_PER_BLOCK: u32 = 64;
/// Bytes of a page in the table.
const PAGE: u32 = 2048;

/// A buffer with a dynamic threshold, and a count of its requests.
struct Driven {
    buffer: Box<dyn Buffer>,
    request: u64,
}

impl Driven {
    /// HBM with its defaults.
    fn new(capacity: u32) -> Self {
        let shape =
            Shape { capacity, pages_per_block: PAGES_PER_BLOCK, logical_pages: 2 * capacity };
        Self { buffer: BufferConfig::by_name("hbm").unwrap().build(shape).unwrap(), request: 0 }
    }

    /// Blocks of four pages; the threshold may move with every request, and of equal blocks the
    /// lowest leaves.
    fn small(scheme: &str, capacity: u32, (alpha, beta): (f64, f64)) -> Self {
        let shape = Shape { capacity, pages_per_block: 4, logical_pages: 128 };
        let scheme: Value = json!({"kind": scheme, "alpha": alpha, "beta": beta, "settle": 1, "tie": "lowest-block"});
        let config: BufferConfig = serde_json::from_value(scheme).unwrap();
        Self { buffer: config.build(shape).unwrap(), request: 0 }
    }

    /// Writes a page `later` requests after the one before; the new threshold, if it moved.
    fn write(&mut self, page: u32, later: u64) -> Option<i64> {
        self.write_pages(page, 1, later)
    }

    /// The same for several pages of a block.
    fn write_pages(&mut self, first: u32, count: u32, later: u64) -> Option<i64> {
        self.request += later;
        let mut out = Outcome { watched: true, ..Outcome::default() };
        let span = Span { first: Lpn(first), count, write: true, request: self.request };
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
            drive.buffer.trim(Lpn(left + 1), held - left);
            assert_eq!(drive.buffer.len(), left);
            drive.write(1, 1000) == Some(1)
        };
        // The table rounds to four places.
        let edge = (1..pages - 1).find(|&left| !falls_at(left)).unwrap();
        let share = f64::from(edge + 1) / f64::from(capacity);
        assert!(
            (share - alpha).abs() <= 0.00005 + 1e-9,
            "{mib} MiB: the threshold falls below {share}"
        );
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

/// A buffer of eight pages for writes; CBM shares its pages between writes and reads.
#[test]
fn what_leaves_the_block_region_counts_as_a_change() {
    for (scheme, capacity) in [("hbm", 8), ("cbm", 16)] {
        let mut drive = Driven::small(scheme, capacity, (0.3, 0.4));
        // Two whole blocks come: shares of 1/2 and 1.
        assert_eq!(
            (drive.write_pages(0, 4, 1), drive.write_pages(4, 4, 1)),
            (Some(2), Some(3)),
            "{scheme}"
        );
        // Block 0 leaves for two pages that stay in the page region: 1/2 is left, which is above
        // beta.
        assert_eq!(drive.write_pages(8, 2, 1), Some(4), "{scheme}");
        assert!(!drive.buffer.holds(Lpn(0)) && drive.buffer.holds(Lpn(4)), "{scheme}");
        // There is room: nothing leaves, and the block region is as it was.
        assert_eq!(drive.write_pages(12, 2, 1), None, "{scheme}");
        // Block 1 leaves, and nothing of the block region is left.
        assert_eq!(drive.write_pages(16, 2, 1), Some(3), "{scheme}");
        // It stays empty, with and without room for what comes.
        assert_eq!(
            (drive.write_pages(20, 2, 1), drive.write_pages(24, 2, 1)),
            (None, None),
            "{scheme}"
        );
    }
}

#[test]
fn a_threshold_that_no_block_reaches_falls_as_the_block_region_empties() {
    let mut drive = Driven::small("hbm", 20, (0.25, 0.3));
    let whole: Vec<_> = (0..5).map(|block| drive.write_pages(4 * block, 4, 1)).collect();
    assert_eq!(whole, [None, Some(2), Some(3), Some(4), Some(5)]);
    // A block has four pages. From now on two pages come at a time, and every second time a block
    // leaves: 4/5, 3/5, 2/5, 1/5, 0.
    let pairs: Vec<_> = (5..14).map(|block| drive.write_pages(4 * block, 2, 1)).collect();
    assert_eq!(pairs, [None, None, None, None, None, None, Some(4), None, Some(3)]);
    assert!((0..20).all(|page| !drive.buffer.holds(Lpn(page))));
    // The third page of block 13 makes it a block of the block region again: 3/20, which is below
    // alpha.
    assert_eq!(drive.write(4 * 13 + 2, 1), Some(2));
}

#[test]
fn what_a_trim_takes_away_counts_with_the_next_request() {
    for (scheme, capacity) in [("hbm", 8), ("cbm", 16)] {
        let mut drive = Driven::small(scheme, capacity, (0.3, 0.4));
        assert_eq!(
            (drive.write_pages(0, 4, 1), drive.write_pages(4, 4, 1)),
            (Some(2), Some(3)),
            "{scheme}"
        );
        drive.buffer.trim(Lpn(0), 6);
        // A page that is there is written: 2/8.
        assert_eq!((drive.write(6, 1), drive.write(6, 1)), (Some(2), None), "{scheme}");
    }
}

/// A full buffer of four pages for writes, each a block of the block region; the threshold may move
/// with the next request.
fn full(scheme: &str, capacity: u32, room: &str, exchange_counts: bool) -> Driven {
    let shape = Shape { capacity, pages_per_block: 4, logical_pages: 128 };
    let config = json!({
        "kind": scheme, "alpha": 0.0, "beta": 0.9, "settle": 10, "tie": "lowest-block", "room": room,
        "exchange_counts": exchange_counts,
    });
    let config: BufferConfig = serde_json::from_value(config).unwrap();
    let mut drive = Driven { buffer: config.build(shape).unwrap(), request: 0 };
    let filled: Vec<_> = (0..4).map(|block| drive.write(4 * block, 1)).collect();
    assert_eq!(filled, [None; 4]);
    drive
}

/// One page comes for one that leaves: the block region is as large as before.
#[test]
fn an_exchange_for_as_many_pages_is_no_change() {
    for (scheme, capacity, room) in
        [("hbm", 4, "request"), ("hbm", 4, "page"), ("cbm", 8, "request"), ("cbm", 8, "page")]
    {
        let mut drive = full(scheme, capacity, room, false);
        // The region is full, above beta, and the threshold might move; but nothing changes.
        assert_eq!((drive.write(16, 10), drive.write(20, 10)), (None, None), "{scheme}, {room}");
        // Three pages for three.
        assert_eq!(drive.write_pages(24, 3, 10), None, "{scheme}, {room}");
    }
}

/// The other reading: the size was another in between.
#[test]
fn an_exchange_for_as_many_pages_may_count_as_a_change() {
    for (scheme, capacity, room) in
        [("hbm", 4, "request"), ("hbm", 4, "page"), ("cbm", 8, "request"), ("cbm", 8, "page")]
    {
        let mut drive = full(scheme, capacity, room, true);
        // A page for a page, above beta. A page that is held changes nothing, and nine requests are
        // too few.
        assert_eq!((drive.write(16, 10), drive.write(16, 10)), (Some(2), None), "{scheme}, {room}");
        assert_eq!(drive.write(17, 9), Some(3), "{scheme}, {room}");
        // What comes now stays in the page region, and a block leaves for it: the size falls to
        // 3/4, which is within bounds.
        assert_eq!(drive.write(24, 10), None, "{scheme}, {room}");
    }
}
