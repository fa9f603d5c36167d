//! Cold groups by hand: what leaves, with what, to which channel, and what the FTL's answers change.

use eraseblock_core::buffer::{Action, Buffer, BufferConfig, Idle, Outcome, Shape, Span, View};
use eraseblock_core::pattern::{Pattern, Route};
use eraseblock_core::support::ids::{LogicalBlock, Lpn, PlaneId};
use serde_json::{Value, json};

/// A drive of four channels on which block b lies on channel b modulo 4, under an FTL that says so
/// much.
#[derive(Debug, Clone, Copy)]
struct Below {
    maps_pages: bool,
    worth_padding: u32,
    striped: bool,
}

const BLOCKS: Below = Below { maps_pages: false, worth_padding: 3, striped: false };
const PAGES: Below = Below { maps_pages: true, worth_padding: 99, striped: false };

impl View for Below {
    fn units(&self) -> u32 {
        4
    }
    fn unit_of(&self, lpn: Lpn) -> Option<PlaneId> {
        Idle.unit_of(lpn)
    }
    fn chips(&self) -> u32 {
        4
    }
    fn home_chip(&self, _lpn: Lpn) -> Option<u32> {
        None
    }
    fn maps_pages(&self) -> bool {
        self.maps_pages
    }
    fn padding_pays(&self, pages: u32) -> bool {
        pages >= self.worth_padding
    }
    fn queued(&self, _unit: PlaneId) -> u32 {
        0
    }
    fn free_blocks(&self, _unit: PlaneId) -> u32 {
        1
    }
    fn channels(&self) -> u32 {
        4
    }
    fn channel_ready(&self, _channel: u32) -> bool {
        true
    }
    fn route(&self, block: LogicalBlock, _pattern: Pattern) -> Route {
        if self.striped { Route::Striped } else { Route::Home(block.0 % 4) }
    }
}

type Left = (Vec<u32>, Action, Option<u32>);

struct Played {
    buffer: Box<dyn Buffer>,
    below: Below,
    out: Outcome,
}

impl Played {
    fn new(options: Value, below: Below, capacity: u32) -> Self {
        let mut scheme = options;
        scheme["kind"] = json!("cold-groups");
        let config: BufferConfig = serde_json::from_value(scheme).unwrap();
        let shape = Shape { capacity, pages_per_block: 4, logical_pages: 256 };
        Self { buffer: config.build(shape).unwrap(), below, out: Outcome::default() }
    }

    /// Writes or reads these pages; what left.
    fn play(&mut self, write: bool, pages: &[u32]) -> Vec<Left> {
        let mut left = Vec::new();
        for &page in pages {
            self.out.clear();
            let span = Span { first: Lpn(page), count: 1, write, request: 0 };
            self.buffer.access(&span, &self.below, &mut self.out);
            left.extend(self.left());
        }
        left
    }

    fn left(&self) -> Vec<Left> {
        self.buffer.check().unwrap();
        let left = |e: &eraseblock_core::buffer::Eviction| {
            let pages = self.out.pages_of(e).iter().map(|page| page.lpn.0).collect();
            (pages, e.action, e.hint.and_then(|hint| hint.channel))
        };
        self.out.evictions.iter().map(left).collect()
    }
}

/// Seven of eight pages are cold, all but page 16.
const EIGHT: [u32; 8] = [0, 1, 2, 4, 5, 8, 24, 16];

#[test]
fn the_largest_group_of_each_channel_leaves() {
    let mut some = Played::new(json!({}), BLOCKS, 8);
    assert_eq!(some.play(true, &EIGHT), []);
    // Block 6 has one cold page as block 2 has, which lies on the same channel and came first.
    let expected = [
        (vec![0, 1, 2], Action::EvictCompleted, Some(0)),
        (vec![4, 5], Action::Evict, Some(1)),
        (vec![8], Action::Evict, Some(2)),
    ];
    assert_eq!(some.play(true, &[20]), expected);
    assert_eq!(some.buffer.len(), 3);
}

#[test]
fn what_is_striped_leaves_alone_and_padding_can_be_switched_off() {
    let striped = Below { striped: true, ..BLOCKS };
    let mut some = Played::new(json!({"padding": false}), striped, 8);
    some.play(true, &EIGHT);
    assert_eq!(some.play(true, &[20]), [(vec![0, 1, 2], Action::Evict, None)]);
}

#[test]
fn hot_pages_go_along_where_the_ftl_maps_blocks() {
    // One of four pages is cold, page 1; its block has two hot ones.
    for (below, left) in [(BLOCKS, vec![0, 1, 2]), (PAGES, vec![1])] {
        let mut some = Played::new(json!({"cold": 0.25, "modules": 1}), below, 4);
        some.play(true, &[1, 2, 0, 2, 8]);
        let found = some.play(true, &[16]);
        assert_eq!(found.len(), 1, "{below:?}");
        assert_eq!(found[0].0, left, "{below:?}");
    }
}

#[test]
fn clean_pages_leave_first_and_reads_come_in_cold() {
    let mut some = Played::new(json!({"cold": 0.25, "modules": 1}), PAGES, 4);
    some.play(true, &[0, 4]);
    some.play(false, &[8, 12]);
    // Used once more, page 8 is hot.
    some.play(false, &[8]);
    assert_eq!(some.play(true, &[16]), [(vec![12], Action::Drop, None)]);
    assert_eq!(some.play(true, &[20]), [(vec![0], Action::Evict, Some(0))]);
    assert!(some.buffer.holds(Lpn(8)));
}

#[test]
fn a_reserve_stays_free_where_the_ftl_maps_pages() {
    // Of 32 pages a sixteenth is 2.
    let pages: Vec<u32> = (0..40).map(|n| 4 * n).collect();
    for (options, below, most) in [
        (json!({}), PAGES, 30),
        (json!({}), BLOCKS, 32),
        (json!({"reserve": 0.25}), PAGES, 24),
        (json!({"reserve": 0.25}), BLOCKS, 24),
        (json!({"reserve": 1.0}), PAGES, 1),
    ] {
        let mut some = Played::new(options, below, 32);
        let mut held = 0;
        for &page in &pages {
            let left = some.play(true, &[page]);
            held = held.max(some.buffer.len());
            assert_eq!(left.is_empty(), page / 4 < most, "{below:?}, page {page}");
            if !left.is_empty() {
                break;
            }
        }
        assert_eq!(held, most, "{below:?}");
    }
}

#[test]
fn hot_pages_stay_where_the_ftl_maps_pages() {
    // Two of four pages are cold, 0 and 1; the third page of their block is hot.
    let mut some = Played::new(json!({"cold": 0.5, "modules": 1}), PAGES, 4);
    some.play(true, &[0, 1, 2, 8]);
    assert_eq!(some.play(true, &[16]), [(vec![0, 1], Action::Evict, Some(0))]);
    assert!(some.buffer.holds(Lpn(2)));
}

#[test]
fn a_flush_command_writes_block_by_block_and_keeps_the_pages() {
    let mut some = Played::new(json!({}), BLOCKS, 8);
    some.play(true, &[5, 0, 4, 1]);
    some.out.clear();
    some.buffer.flush(&mut some.out);
    let written = [(vec![4, 5], Action::WriteBack, None), (vec![0, 1], Action::WriteBack, None)];
    assert_eq!(some.left(), written);
    assert_eq!(some.buffer.len(), 4);
    some.out.clear();
    some.buffer.flush(&mut some.out);
    assert_eq!(some.left(), []);
}
