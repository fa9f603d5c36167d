//! Blocks that are equal by every rule of HBM leave at random: each of them as likely as any other,
//! whenever room has to be made. What goes before that is told in the event log.

use eraseblock_core::buffer::{BufferConfig, Idle, Outcome, Shape, Span};
use eraseblock_core::support::ids::Lpn;
use serde_json::{Value, json};

const PAGES: u32 = 100;
const BLOCKS: u32 = 60_000;

/// How long each of so many one-page blocks stayed, in blocks that came meanwhile, once the buffer
/// was full.
fn ages(scheme: &Value) -> Vec<u32> {
    let shape = Shape { capacity: PAGES, pages_per_block: 4, logical_pages: BLOCKS * 4 };
    let mut buffer =
        serde_json::from_value::<BufferConfig>(scheme.clone()).unwrap().build(shape).unwrap();
    let (mut out, mut ages) = (Outcome::default(), Vec::new());
    for block in 0..BLOCKS {
        out.clear();
        let span = Span { first: Lpn(block * 4), count: 1, write: true, request: u64::from(block) };
        buffer.access(&span, &Idle, &mut out);
        // The first victims are younger than those that follow.
        if block > 10 * PAGES {
            ages.extend(out.pages.iter().map(|page| block - page.lpn.block(4).0));
        }
    }
    ages.sort_unstable();
    ages
}

#[test]
fn equal_blocks_leave_at_random() {
    for seed in 1..=3 {
        // CBM shares its pages between writes and reads.
        for (scheme, held) in [
            (json!({"kind": "hbm", "threshold": 1, "seed": seed}), PAGES),
            (json!({"kind": "cbm", "threshold": 1, "seed": seed}), PAGES / 2),
        ] {
            let ages = ages(&scheme);
            // A block that is drawn from `held` equal ones each time stays for a geometric time.
            let mean = ages.iter().sum::<u32>() as f64 / ages.len() as f64;
            let expected = f64::from(held);
            assert!((mean / expected - 1.0).abs() < 0.03, "{scheme}: mean {mean}");
            for (quantile, share) in [(0.1, 0.105), (0.5, 0.693), (0.9, 2.303), (0.99, 4.605)] {
                let age = f64::from(ages[(quantile * ages.len() as f64) as usize]);
                assert!(
                    (age - share * expected).abs() < 0.05 * share * expected + 2.0,
                    "{scheme}: quantile {quantile} at {age}"
                );
            }
        }
    }
}

/// What is being written does not leave in pieces while anything else could: one write of a whole
/// block into a buffer that is full of others makes these leave, and stays.
#[test]
fn a_block_that_comes_as_one_request_stays_whole() {
    let shape = Shape { capacity: 512, pages_per_block: 64, logical_pages: 1 << 20 };
    for (room, left_of_itself) in [("request", false), ("page", true)] {
        let scheme = json!({"kind": "hbm", "threshold": 1, "room": room});
        let mut buffer =
            serde_json::from_value::<BufferConfig>(scheme).unwrap().build(shape).unwrap();
        let mut out = Outcome::default();
        // Each of 64 blocks has 8 pages and is used twice.
        for request in 0..128 {
            out.clear();
            let span =
                Span { first: Lpn((request % 64) as u32 * 64), count: 8, write: true, request };
            buffer.access(&span, &Idle, &mut out);
        }
        out.clear();
        buffer.access(
            &Span { first: Lpn(64 * 64), count: 64, write: true, request: 128 },
            &Idle,
            &mut out,
        );
        assert_eq!(out.pages.iter().any(|page| page.lpn >= Lpn(64 * 64)), left_of_itself);
        assert_eq!(out.evictions.len(), 8, "64 pages in pieces of 8");
        assert_eq!(buffer.holds(Lpn(64 * 64)), !left_of_itself);
    }
}

/// The reason that the event log has says which of equally popular blocks left.
#[test]
fn the_reason_says_which_rule_chose_the_block() {
    let shape = Shape { capacity: 6, pages_per_block: 4, logical_pages: 64 };
    for (size_tie, left, reason) in [
        ("most-pages", 4, "least popular block, the fullest among equals"),
        ("fewest-pages", 0, "least popular block, the one with fewest pages among equals"),
    ] {
        let scheme = json!({"kind": "hbm", "threshold": 1, "size_tie": size_tie});
        let mut buffer =
            serde_json::from_value::<BufferConfig>(scheme).unwrap().build(shape).unwrap();
        let mut out = Outcome::default();
        for (request, first, count) in [(0, 0, 2), (1, 4, 4), (2, 8, 1)] {
            out.clear();
            buffer.access(
                &Span { first: Lpn(first), count, write: true, request },
                &Idle,
                &mut out,
            );
        }
        assert_eq!((out.pages[0].lpn.0, out.evictions[0].reason), (left, reason), "{size_tie}");
    }
}
