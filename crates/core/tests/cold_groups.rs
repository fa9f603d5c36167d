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
        let mut some = Played::new(json!({"cold": 0.25, "modules": 1, "hot": "all"}), below, 4);
        some.play(true, &[1, 2, 0, 2, 8]);
        let found = some.play(true, &[16]);
        assert_eq!(found.len(), 1, "{below:?}");
        assert_eq!(found[0].0, left, "{below:?}");
    }
}

#[test]
fn clean_pages_leave_first_and_reads_come_in_cold() {
    let mut some = Played::new(json!({"cold": 0.25, "modules": 1, "hot": "all"}), PAGES, 4);
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
    let mut some = Played::new(json!({"cold": 0.5, "modules": 1, "hot": "all"}), PAGES, 4);
    some.play(true, &[0, 1, 2, 8]);
    assert_eq!(some.play(true, &[16]), [(vec![0, 1], Action::Evict, Some(0))]);
    assert!(some.buffer.holds(Lpn(2)));
}

#[test]
fn only_pages_that_come_back_are_hot_where_the_option_says() {
    let options = json!({"cold": 0.25, "modules": 1, "hot": "returning", "ghosts": 0.5});
    let mut some = Played::new(options, PAGES, 4);
    // A sixteenth of four pages is none: four are held, all cold.
    some.play(true, &[0, 4, 8, 12]);
    assert_eq!(some.play(true, &[16]), [(vec![0], Action::Evict, Some(0))]);
    // Page 0 is remembered: it comes back hot, and page 4 leaves for it.
    assert_eq!(some.play(true, &[0]), [(vec![4], Action::Evict, Some(0))]);
    let rest = [vec![8], vec![12], vec![16], vec![20], vec![24]];
    for (page, left) in [20, 24, 28, 32, 36].into_iter().zip(rest) {
        assert_eq!(some.play(true, &[page]), [(left, Action::Evict, Some(0))]);
    }
    assert!(some.buffer.holds(Lpn(0)));
    // Two are remembered, page 4 no longer: it is as cold as the others.
    some.play(true, &[4]);
    let four: Vec<u32> = some.play(true, &[40, 44, 48]).into_iter().flat_map(|one| one.0).collect();
    assert_eq!(four, [32, 36, 4]);
}

/// A buffer of 600 pages, of which the trials see one of two: written pages of a working set of 400
/// among ever new ones, or of one that moves on.
#[test]
fn what_is_hit_more_on_a_sample_is_done() {
    let hits = |hot: &str, moves: bool| {
        let config = json!({"kind": "cold-groups", "hot": hot, "modules": 4, "below": "pages"});
        let config: BufferConfig = serde_json::from_value(config).unwrap();
        let shape = Shape { capacity: 600, pages_per_block: 4, logical_pages: 1 << 16 };
        let mut buffer = config.build(shape).unwrap();
        let (mut out, mut hits, mut random) = (Outcome::default(), 0, 7_u64);
        for request in 0..60_000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let drawn = (random >> 40) as u32;
            let first = if moves {
                // Lately used pages, mostly: what is new is used again soon.
                (request as u32 / 2 + 16_000 - drawn % 700 * (drawn / 1024 % 700) / 700) % 60_000
            } else if request % 3 == 0 {
                drawn % 400 * 7
            } else {
                4_000 + request as u32 % 50_000
            };
            out.clear();
            let span = Span { first: Lpn(first), count: 1, write: true, request };
            buffer.access(&span, &Idle, &mut out);
            hits += u32::from(out.answers[0] == eraseblock_core::buffer::Answer::Hit);
        }
        buffer.check().unwrap();
        hits
    };
    for moves in [false, true] {
        let [all, returning, tried] = ["all", "returning", "tried"].map(|hot| hits(hot, moves));
        assert_eq!(all > returning, moves, "{all} {returning}");
        let (more, less) = (all.max(returning), all.min(returning));
        assert!(f64::from(more) > 1.05 * f64::from(less), "{all} {returning}");
        assert!(tried > more - (more - less) / 5, "{all} {returning} {tried}, moves: {moves}");
    }
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
