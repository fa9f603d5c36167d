//! The rules of the page-granular baselines, each in the smallest example that shows it.

use crate::support::numbers;
use eraseblock_core::buffer::{Buffer, BufferConfig, Idle, Outcome, Shape, Span};
use eraseblock_core::support::ids::Lpn;
use serde_json::{Value, json};

fn buffer(scheme: Value, capacity: u32) -> Box<dyn Buffer> {
    let config: BufferConfig = serde_json::from_value(scheme).unwrap();
    config.build(Shape { capacity, pages_per_block: 4, logical_pages: 64 }).unwrap()
}

/// The pages that leave under writes of single pages, with the scheme's reasons.
fn reasons(buffer: &mut dyn Buffer, pages: &[u32]) -> Vec<(u32, &'static str)> {
    let mut left = Vec::new();
    let mut out = Outcome::default();
    for &first in pages {
        out.clear();
        buffer.access(
            &Span { first: Lpn(first), count: 1, write: true, request: 0 },
            &Idle,
            &mut out,
        );
        left.extend(out.evictions.iter().map(|e| (out.pages_of(e)[0].lpn.0, e.reason)));
        buffer.check().unwrap();
    }
    left
}

/// The pages that leave under writes of single pages.
fn write(buffer: &mut dyn Buffer, pages: &[u32]) -> Vec<u32> {
    reasons(buffer, pages).into_iter().map(|(page, _)| page).collect()
}

#[test]
fn clock_spares_pages_that_were_used() {
    let mut clock = buffer(json!("clock"), 3);
    assert_eq!(write(&mut *clock, &[1, 2, 3, 1, 3, 4, 5]), [2, 1]);
    assert_eq!(numbers(&clock.dump()).concat(), [5, 3, 4]);
}

#[test]
fn clock_with_two_bits_counts_to_three() {
    // Page 1 is used five times: three rounds without further use, then it leaves.
    let mut wide = buffer(json!({"kind": "clock", "bits": 2}), 2);
    assert_eq!(write(&mut *wide, &[1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6]), [2, 3, 4, 1]);
    let mut narrow = buffer(json!("clock"), 2);
    assert_eq!(write(&mut *narrow, &[1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6]), [2, 1, 3, 4]);
}

#[test]
fn clock_lets_new_pages_enter_used() {
    // Page 3 is spared once if it is the only one with its bit set, but not if 4 and 5 have theirs
    // too.
    for (enters_used, expected) in [(false, [1, 2, 4]), (true, [1, 2, 3])] {
        let mut clock = buffer(json!({"kind": "clock", "enters_used": enters_used}), 3);
        assert_eq!(write(&mut *clock, &[1, 2, 3, 4, 3, 5, 6]), expected);
    }
}

#[test]
fn arc_moves_its_target_by_what_comes_back() {
    let mut arc = buffer(json!("arc"), 2);
    let t1 = "least recently used page of T1, which is above its target";
    let t2 = "least recently used page of T2";
    assert_eq!(reasons(&mut *arc, &[1, 2, 1, 3, 2]), [(2, t1), (1, t2)]);
    assert_eq!(numbers(&arc.dump()).concat(), [2, 3]);
    // Page 1 is remembered in B2, so that the target returns to zero, and page 3 leaves T1.
    assert_eq!(reasons(&mut *arc, &[1]), [(3, t1)]);
    assert_eq!(numbers(&arc.dump()).concat(), [1, 2]);
}

#[test]
fn arc_is_not_emptied_by_a_scan() {
    let mut arc = buffer(json!("arc"), 4);
    write(&mut *arc, &[1, 2, 1, 2]);
    let scan: Vec<u32> = (10..40).collect();
    write(&mut *arc, &scan);
    assert!(arc.holds(Lpn(1)) && arc.holds(Lpn(2)));
    let mut lru = buffer(json!("lru"), 4);
    write(&mut *lru, &[1, 2, 1, 2]);
    write(&mut *lru, &scan);
    assert!(!lru.holds(Lpn(1)) && !lru.holds(Lpn(2)));
}

#[test]
fn arc_rounds_its_target_where_asked() {
    let stream: Vec<u32> =
        (0..4000u32).map(|n| n.wrapping_mul(2_654_435_761) >> 27 & n >> 3).collect();
    let left =
        |target: &str| write(&mut *buffer(json!({"kind": "arc", "target": target}), 8), &stream);
    assert_ne!(left("real"), left("whole"));
}

#[test]
fn s3_fifo_remembers_what_left_its_small_queue() {
    let mut s3 = buffer(json!("s3-fifo"), 10);
    write(&mut *s3, &(1..=10).collect::<Vec<_>>());
    let few = "end of the small queue, with too few hits";
    assert_eq!(reasons(&mut *s3, &[11, 1, 12]), [(1, few), (2, few), (3, few)]);
    // Main queue first, then the small one.
    assert_eq!(numbers(&s3.dump()).concat(), [1, 12, 11, 10, 9, 8, 7, 6, 5, 4]);
}

#[test]
fn s3_fifo_moves_pages_with_two_hits_to_the_main_queue() {
    for (move_to_main, expected) in [(2, vec![2]), (1, vec![3])] {
        let scheme = json!({"kind": "s3-fifo", "move_to_main": move_to_main});
        let mut s3 = buffer(scheme, 4);
        // Page 1 has two hits, page 2 one.
        assert_eq!(write(&mut *s3, &[1, 2, 3, 4, 1, 1, 2, 5]), expected, "{move_to_main}");
        assert_eq!(s3.dump().concat().contains(&Lpn(2)), move_to_main == 1);
    }
}

#[test]
fn s3_fifo_gives_a_round_for_each_hit_in_the_main_queue() {
    // The whole buffer but a page is the main queue once 1 to 3 have come back.
    let mut s3 = buffer(json!({"kind": "s3-fifo", "small": 0.25, "ghost": 1.0}), 4);
    write(&mut *s3, &[1, 2, 3, 4, 5, 6, 7, 1, 2, 3]);
    assert_eq!(numbers(&s3.dump()).concat(), [3, 2, 1, 7]);
    // 7 goes to G and comes back: S is then empty, so that M gives up a page, and 1 has a hit.
    assert_eq!(write(&mut *s3, &[1, 8, 7, 8]), [7, 8, 2]);
    let no_hits = reasons(&mut *s3, &[7, 7, 9, 10])[0].1;
    assert_eq!(no_hits, "end of the main queue, without hits");
}

#[test]
fn s3_fifo_fills_both_queues_where_asked() {
    let mut s3 = buffer(json!({"kind": "s3-fifo", "fill": "both"}), 10);
    write(&mut *s3, &(1..=10).collect::<Vec<_>>());
    assert_eq!(numbers(&s3.dump()).concat(), [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    // Only page 1 is in the small queue: it leaves, and after it what came last.
    assert_eq!(write(&mut *s3, &[11, 12, 13]), [1, 11, 12]);
}

#[test]
fn w_tinylfu_admits_what_was_used_more_often() {
    let refused = "end of the window, used no more often than the victim of the main part";
    let driven_out =
        "victim of the main part, used less often than the page at the end of the window";
    // A window of one page; 1 and 2 in probation, 3 in the window.
    let fill = |buffer: &mut dyn Buffer, more: &[u32]| {
        assert!(write(buffer, &[1, 2, 3]).is_empty());
        reasons(buffer, more)
    };
    assert_eq!(fill(&mut *buffer(json!("w-tinylfu"), 3), &[4]), [(3, refused)]);
    assert_eq!(fill(&mut *buffer(json!("w-tinylfu"), 3), &[3, 4]), [(1, driven_out)]);
    // A hit protects page 1 and counts for it: 2 is the victim.
    let mut hit = buffer(json!("w-tinylfu"), 3);
    assert_eq!(fill(&mut *hit, &[1, 3, 4]), [(2, driven_out)]);
    assert_eq!(numbers(&hit.dump()).concat(), [1, 3, 4]);
    // Use before a page left counts when it returns: 3 was used twice by then.
    assert_eq!(
        fill(&mut *buffer(json!("w-tinylfu"), 3), &[4, 3, 5]),
        [(3, refused), (4, refused), (1, driven_out)]
    );
}

#[test]
fn w_tinylfu_forgets_old_use() {
    // Eight uses of page 1, then of others: 1 is halved away, and a page used twice drives it out.
    let w_tinylfu = |sample| {
        let scheme = json!({"kind": "w-tinylfu", "sample": sample, "protected": 0.0});
        let mut buffer = buffer(scheme, 2);
        write(&mut *buffer, &[1, 1, 1, 1, 1, 1, 1, 1, 2]);
        write(&mut *buffer, &[3, 2, 3, 2, 3, 2, 3, 2, 3, 2])
    };
    assert!(!w_tinylfu(100).contains(&1));
    assert!(w_tinylfu(4).contains(&1));
}

#[test]
fn w_tinylfu_asks_its_doorkeeper_first() {
    // Page 1 is used twice; the eighth access halves all counts. The doorkeeper had one of the two,
    // and is emptied.
    for (doorkeeper, expected) in [(false, [2, 3, 4, 5, 6, 7, 8]), (true, [2, 3, 4, 5, 6, 7, 1])] {
        let scheme = json!({"kind": "w-tinylfu", "doorkeeper": doorkeeper, "sample": 4});
        let mut buffer = buffer(scheme, 2);
        assert_eq!(write(&mut *buffer, &[1, 1, 2, 3, 4, 5, 6, 7, 8, 9]), expected);
    }
}

#[test]
fn shares_are_of_the_buffer_even_where_it_is_larger_than_the_drive() {
    // Ten pages for dirty data: as many as the drive has, so that nothing ever leaves, whatever the
    // lists are of.
    for unit in ["page", "block"] {
        let scheme = json!({"kind": "split-lru", "unit": unit});
        let config: BufferConfig = serde_json::from_value(scheme).unwrap();
        let shape = Shape { capacity: 20, pages_per_block: 2, logical_pages: 10 };
        let mut split = config.build(shape).unwrap();
        assert_eq!(write(&mut *split, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), [0; 0], "{unit}");
    }
}

#[test]
fn options_out_of_range_are_refused() {
    for (scheme, expected) in [
        (json!({"kind": "clock", "bits": 0}), "buffer.scheme.bits: found 0, expected 1 to 8"),
        (json!({"kind": "clock", "bits": 9}), "buffer.scheme.bits: found 9, expected 1 to 8"),
        (
            json!({"kind": "s3-fifo", "small": 1.5}),
            "buffer.scheme.small: found 1.5, expected a share from 0 to 1",
        ),
        (
            json!({"kind": "s3-fifo", "ghost": -1}),
            "buffer.scheme.ghost: found -1, expected a share from 0 to 1",
        ),
        (
            json!({"kind": "s3-fifo", "move_to_main": 4}),
            "buffer.scheme.move_to_main: found 4, expected 1 to 3",
        ),
        (
            json!({"kind": "w-tinylfu", "window": 2}),
            "buffer.scheme.window: found 2, expected a share from 0 to 1",
        ),
        (
            json!({"kind": "w-tinylfu", "protected": 2}),
            "buffer.scheme.protected: found 2, expected a share from 0 to 1",
        ),
        (
            json!({"kind": "w-tinylfu", "sample": 0}),
            "buffer.scheme.sample: found 0, expected 1 to 1000",
        ),
    ] {
        let config: BufferConfig = serde_json::from_value(scheme).unwrap();
        let shape = Shape { capacity: 8, pages_per_block: 4, logical_pages: 64 };
        assert_eq!(config.build(shape).unwrap_err(), expected);
    }
}
