//! The worked examples of the papers, as far as their schemes are built.

mod support;

use eraseblock_core::buffer::{Action, Answer, Buffer, BufferConfig, Idle, Outcome, Shape, Span};
use eraseblock_core::device::Device;
use serde_json::{Value, json};
use support::{cost, device, write};

fn buffer(scheme: Value, capacity: u32) -> Box<dyn Buffer> {
    let config: BufferConfig = serde_json::from_value(scheme).unwrap();
    config.build(Shape { capacity, pages_per_block: 4, logical_pages: 64 }).unwrap()
}

/// Hits, and the pages of each flush, under writes of `(first, count)`; padding shows as `+`.
fn run(buffer: &mut dyn Buffer, requests: &[&[u32]]) -> (usize, Vec<Vec<u32>>) {
    let (mut hits, mut flushes) = (0, Vec::new());
    for pages in requests {
        for span in pages.chunk_by(|a, b| a + 1 == *b && a / 4 == b / 4) {
            let mut out = Outcome::default();
            let span = Span { first: span[0], count: span.len() as u32, write: true, request: 0 };
            buffer.access(&span, &Idle, &mut out);
            hits += out.answers.iter().filter(|a| **a == Answer::Hit).count();
            flushes.extend(
                out.evictions.iter().map(|e| out.pages_of(e).iter().map(|p| p.lpn).collect::<Vec<_>>()),
            );
        }
    }
    (hits, flushes)
}

const HBM_TABLE_1_1: &[&[u32]] =
    &[&[0, 1, 2, 3], &[5, 9, 11, 14], &[7], &[3], &[11], &[2], &[14], &[1], &[10], &[7]];

/// Flushes of more than one page whose pages follow one another.
fn sequential(flushes: &[Vec<u32>]) -> usize {
    flushes.iter().filter(|f| f.len() > 1 && f.windows(2).all(|w| w[0] + 1 == w[1])).count()
}

#[test]
fn hbm_table_1_1_page_lru() {
    let mut lru = buffer(json!("lru"), 8);
    let (hits, flushes) = run(&mut *lru, HBM_TABLE_1_1);
    assert_eq!((hits, &flushes, sequential(&flushes)), (6, &vec![vec![0], vec![5]], 0));
    assert_eq!(lru.dump().concat(), [7, 10, 1, 14, 2, 11, 3, 9]);
}

#[test]
fn hbm_table_1_1_block_lru() {
    for order in ["evict-first", "touch-first"] {
        let mut blocks = buffer(
            json!({"kind": "bplru", "padding": false, "compensation": false, "evict_order": order}),
            8,
        );
        let (hits, flushes) = run(&mut *blocks, HBM_TABLE_1_1);
        assert_eq!((hits, &flushes, sequential(&flushes)), (2, &vec![vec![0, 1, 2, 3], vec![5, 7]], 1));
        assert_eq!(blocks.dump(), [vec![7], vec![9, 10, 11], vec![1, 2, 3], vec![14]]);
    }
}

/// Only full blocks in the block region; a page that has to leave takes its block along or not.
#[test]
fn hbm_table_1_1_hybrid() {
    for (compensation, expected_hits, last) in [(false, 3, vec![5]), (true, 2, vec![5, 7])] {
        let scheme = json!({"kind": "hbm", "threshold": 4, "compensation": compensation});
        let mut hybrid = buffer(scheme, 8);
        let (hits, flushes) = run(&mut *hybrid, HBM_TABLE_1_1);
        assert_eq!((hits, &flushes[1]), (expected_hits, &last));
        assert_eq!((flushes[0].as_slice(), flushes.len()), (&[0, 1, 2, 3][..], 2));
        assert_eq!(hybrid.dump().concat(), [7, 10, 1, 14, 2, 11, 3, 9]);
    }
}

/// Reads and writes of `(first page, pages, write)`, each a request; what leaves, each page with whether it is dirty.
fn serve(buffer: &mut dyn Buffer, requests: &[(u32, u32, bool)]) -> Vec<(Action, Vec<(u32, bool)>)> {
    let mut left = Vec::new();
    for (number, &(first, count, write)) in requests.iter().enumerate() {
        let mut out = Outcome::default();
        buffer.access(&Span { first, count, write, request: number as u64 }, &Idle, &mut out);
        left.extend(
            out.evictions
                .iter()
                .map(|e| (e.action, out.pages_of(e).iter().map(|page| (page.lpn, page.dirty)).collect())),
        );
    }
    left
}

#[test]
fn hbm_figure_3_4_the_least_popular_and_fullest_block_leaves() {
    let (r, w) = (false, true);
    let scheme = json!({"kind": "hbm", "threshold": 1});
    let a = [
        (0, 3, w),
        (3, 1, r),
        (8, 2, w),
        (10, 1, w),
        (19, 1, r),
        (11, 1, w),
        (1, 2, w),
        (16, 3, w),
        (24, 1, w),
    ];
    // Popularity 3, 3 and 2: block 4 goes, with the clean page 19.
    let expected = (Action::Flush, vec![(16, true), (17, true), (18, true), (19, false)]);
    assert_eq!(serve(&mut *buffer(scheme.clone(), 12), &a), [expected]);
    let b = [(0, 3, w), (3, 1, r), (8, 2, w), (19, 1, r), (11, 1, w), (1, 2, w), (16, 3, r), (24, 1, w)];
    // Popularity 3, 2 and 2: block 4 has four pages, block 2 three; all of block 4 is clean.
    let expected = (Action::Drop, vec![(16, false), (17, false), (18, false), (19, false)]);
    assert_eq!(serve(&mut *buffer(scheme, 11), &b), [expected]);
    // Section 3.5.2's reading: the block with fewest pages.
    let fewest = json!({"kind": "hbm", "threshold": 1, "size_tie": "fewest-pages"});
    let expected = (Action::Flush, vec![(8, true), (9, true), (11, true)]);
    assert_eq!(serve(&mut *buffer(fewest, 11), &b), [expected]);
}

#[test]
fn hbm_figure_3_5_three_pages_of_a_block_move_together() {
    let mut hbm = buffer(json!({"kind": "hbm", "threshold": 3}), 8);
    run(&mut *hbm, &[&[0], &[5], &[1]]);
    assert_eq!(hbm.dump(), [[1], [5], [0]]);
    let mut out = Outcome { watched: true, ..Outcome::default() };
    hbm.access(&Span { first: 2, count: 1, write: true, request: 3 }, &Idle, &mut out);
    assert_eq!(hbm.dump(), [vec![5], vec![0, 1, 2]]);
    assert_eq!((out.notes[0].what, out.note_pages.as_slice()), ("moved to the block region", &[0, 1, 2][..]));
    // Later pages of the block join it.
    run(&mut *hbm, &[&[3]]);
    assert_eq!(hbm.dump(), [vec![5], vec![0, 1, 2, 3]]);
}

#[test]
fn hbm_counts_a_block_once_for_each_request() {
    // Four pages in one request against three requests of one page each: the first is less popular.
    let left = serve(
        &mut *buffer(json!({"kind": "hbm", "threshold": 1}), 7),
        &[(4, 1, true), (5, 1, true), (6, 1, true), (0, 4, true), (8, 1, true)],
    );
    assert_eq!(left[0].1.iter().map(|page| page.0).collect::<Vec<_>>(), [0, 1, 2, 3]);
}

/// The ring 0, 5, 3, 7 with the hand at 0 and bits 1, 0, 1, 0: page 48 sends block 7 away, not block 5 where the hand stops,
/// and block 12 enters before block 0. Block 1 fills the buffer.
#[test]
fn lb_clock_figure_2_4() {
    let mut clock = buffer(json!({"kind": "lb-clock", "heuristics": false}), 10);
    run(&mut *clock, &[&[0], &[20], &[12], &[28, 29, 30], &[60, 61, 62, 63]]);
    // All bits are set: a round of the hand clears them, and the fullest block leaves. Then blocks 0 and 3 are written.
    assert_eq!(run(&mut *clock, &[&[1], &[13], &[4, 5]]).1, [[60, 61, 62, 63]]);
    assert_eq!(clock.dump(), [vec![0, 1], vec![20], vec![12, 13], vec![28, 29, 30], vec![4, 5]]);
    assert_eq!(run(&mut *clock, &[&[48]]).1, [[28, 29, 30]]);
    assert_eq!(clock.dump(), [vec![20], vec![12, 13], vec![4, 5], vec![48], vec![0, 1]]);
}

#[test]
fn lb_clock_expects_no_return_after_the_last_page() {
    // The last victim had two pages: 37, 38, 39 are more, and block 9 is a candidate although just written.
    let mut clock = buffer(json!("lb-clock"), 4);
    assert_eq!(run(&mut *clock, &[&[0, 1], &[4], &[8], &[37, 38, 39]]).1, [vec![0, 1], vec![4]]);
    // A full block is one, too, and goes first although just written.
    let mut clock = buffer(json!("lb-clock"), 6);
    assert_eq!(run(&mut *clock, &[&[0], &[8], &[4, 5, 6, 7], &[12]]).1, [[4, 5, 6, 7]]);
    let mut plain = buffer(json!({"kind": "lb-clock", "heuristics": false}), 6);
    assert_eq!(run(&mut *plain, &[&[0, 1], &[8], &[4, 5, 6], &[12], &[7, 8]]).1, [vec![4, 5, 6]]);
}

#[test]
fn cflru_lets_clean_pages_of_the_window_go_first() {
    let (r, w) = (false, true);
    let requests = [(1, 1, w), (2, 1, r), (3, 1, w), (4, 1, r), (5, 1, r), (6, 1, r), (7, 1, r)];
    for (window, expected) in [
        (0.75, [(2, false), (4, false), (5, false)]),
        (0.25, [(1, true), (2, false), (3, true)]),
        (0.0, [(1, true), (2, false), (3, true)]),
    ] {
        let mut cflru = buffer(json!({"kind": "cflru", "window": window}), 4);
        let left: Vec<_> = serve(&mut *cflru, &requests).into_iter().flat_map(|(_, pages)| pages).collect();
        assert_eq!(left, expected, "window {window}");
    }
}

#[test]
fn separate_lists_keep_reads_and_writes_apart() {
    let (r, w) = (false, true);
    let mut split = buffer(json!({"kind": "split-lru", "dirty_share": 0.5}), 4);
    let left =
        serve(&mut *split, &[(1, 1, w), (2, 1, w), (3, 1, r), (4, 1, w), (5, 1, r), (6, 1, r), (5, 1, w)]);
    // The third write makes the first dirty page go, the third read the first clean one; page 5 moves over, and 2 goes.
    let left: Vec<_> = left.into_iter().flat_map(|(_, pages)| pages).collect();
    assert_eq!(left, [(1, true), (3, false), (2, true)]);
    assert_eq!(split.dump().concat(), [5, 4, 6]);
}

#[test]
fn fab_evicts_the_fullest_block() {
    let mut fab = buffer(json!("fab"), 8);
    let (_, flushes) = run(&mut *fab, &HBM_TABLE_1_1[..4]);
    assert_eq!(flushes, [[0, 1, 2, 3]]);
    // By pages, then by use: 7 came after 9 and 11, 3 after 14.
    assert_eq!(fab.dump(), [vec![5, 7], vec![9, 11], vec![3], vec![14]]);
    let mut tie = buffer(json!("fab"), 4);
    assert_eq!(run(&mut *tie, &[&[0, 1], &[4, 5], &[0], &[8]]).1, [[4, 5]]);
    // With one page a block it is page LRU.
    let mut single = buffer(json!("fab"), 4);
    assert_eq!(run(&mut *single, &[&[0], &[4], &[8], &[12], &[0], &[16]]).1, [[4]]);
}

#[test]
fn bplru_figure_3_evicts_the_block_written_longest_ago() {
    let mut bplru = buffer(json!({"kind": "bplru", "padding": false}), 8);
    // Eight pages of four blocks, block 1 last in the list; then 15 again and one more page.
    let (hits, flushes) = run(&mut *bplru, &[&[5, 6], &[12], &[15], &[0], &[8], &[9], &[10], &[15]]);
    assert_eq!((hits, flushes.len()), (1, 0));
    assert_eq!(bplru.dump()[0], [12, 15]);
    assert_eq!(run(&mut *bplru, &[&[20]]).1, [[5, 6]]);
}

#[test]
fn bplru_figure_5_sends_a_sequential_block_to_the_end() {
    let writes: &[&[u32]] = &[&[0], &[12], &[8], &[9], &[10], &[11], &[4], &[5]];
    let mut bplru = buffer(json!("bplru"), 8);
    run(&mut *bplru, writes);
    let order: Vec<u32> = bplru.dump().iter().map(|pages| pages[0] / 4).collect();
    assert_eq!(order, [1, 3, 0, 2]);
    assert_eq!(run(&mut *bplru, &[&[16]]).1, [[8, 9, 10, 11]]);
    // Without compensation the block written longest ago goes.
    let mut plain = buffer(json!({"kind": "bplru", "compensation": false}), 8);
    run(&mut *plain, writes);
    assert_eq!(run(&mut *plain, &[&[16]]).1, [[0]]);
}

#[test]
fn a_trim_forgets_dirty_pages_and_a_flush_empties_the_write_buffer() {
    for name in BufferConfig::NAMES {
        let mut buffer = buffer(json!(name), 8);
        run(&mut *buffer, &[&[0, 1], &[5]]);
        buffer.trim(0, 5);
        assert!(!buffer.holds(0) && !buffer.holds(1));
        buffer.check().unwrap();
        let mut out = Outcome::default();
        buffer.flush(&mut out);
        let flushed: Vec<_> =
            out.evictions.iter().filter(|e| e.action != Action::Drop).flat_map(|e| out.pages_of(e)).collect();
        if *name != "none" {
            assert_eq!(flushed.iter().map(|p| p.lpn).collect::<Vec<_>>(), [5], "{name}");
        }
        buffer.check().unwrap();
        out.clear();
        buffer.flush(&mut out);
        assert!(out.pages.is_empty(), "{name} flushes twice");
    }
}

fn bast(logs: u32, more: &Value) -> Device {
    let mut mapping = json!({"kind": "bast", "log_blocks": logs});
    mapping.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    device(&json!({"ftl": {"mapping": mapping}}))
}

#[test]
fn bast_table() {
    type Triple = (u64, u64, u64);
    let cases: &[(&[u64], &str, Triple, Triple)] = &[
        (&[0, 1, 2, 3, 0], "lru", (0, 5, 1), (1, 0, 0)),
        (&[0, 0, 0, 0, 0], "lru", (4, 9, 2), (0, 0, 1)),
        (&[0, 1, 4, 8], "lru", (2, 6, 1), (0, 1, 0)),
        (&[0, 1, 4, 8], "fifo", (2, 6, 1), (0, 1, 0)),
        (&[0, 4, 8, 0, 4, 8], "lru", (12, 18, 4), (0, 4, 0)),
        (&[0, 4, 1, 8], "lru", (3, 7, 1), (0, 1, 0)),
        (&[0, 4, 1, 8], "fifo", (2, 6, 1), (0, 1, 0)),
    ];
    for (writes, victim, expected, merges) in cases {
        let mut drive = bast(2, &json!({"victim": victim}));
        write(&mut drive, writes);
        let c = drive.counters();
        assert_eq!(cost(&drive), *expected, "{writes:?} {victim}");
        assert_eq!((c.switch_merges, c.partial_merges, c.full_merges), *merges, "{writes:?} {victim}");
        drive.finish().unwrap();
    }
}

#[test]
fn bast_eager_merges_at_once_and_full_merges_replace_partial_ones() {
    let mut eager = bast(2, &json!({"merge_timing": "eager"}));
    write(&mut eager, &[0, 1, 2, 3]);
    assert_eq!((cost(&eager), eager.counters().switch_merges), ((0, 4, 1), 1));
    let mut full = bast(2, &json!({"partial_merge": false}));
    write(&mut full, &[0, 1, 4, 8]);
    assert_eq!((cost(&full), full.counters().full_merges), ((4, 8, 2), 1));
    full.finish().unwrap();
}

/// `writes`, then the buffer's flush in LRU order, over BAST with two log blocks that stay open: merges.
fn bplru_table_1(scheme: &Value) -> u64 {
    let mut drive = device(&json!({
        "ftl": {"mapping": {"kind": "bast", "log_blocks": 2}},
        "buffer": {"size": "32 KiB", "scheme": scheme},
        "host": {"end_of_run": "flush"},
    }));
    write(&mut drive, &[0, 4, 8, 12, 16, 1, 5, 9, 13, 17, 2, 6, 10, 14]);
    let report = drive.finish().unwrap();
    report.merges.switch + report.merges.partial + report.merges.full
}

#[test]
fn bplru_table_1_merges() {
    assert_eq!(bplru_table_1(&json!({"kind": "lru", "reads": "bypass"})), 12);
    let block = |order| {
        bplru_table_1(
            &json!({"kind": "bplru", "padding": false, "compensation": false, "evict_order": order}),
        )
    };
    assert_eq!(block("evict-first"), 7);
    assert_eq!(block("touch-first"), 6);
}

#[test]
fn bplru_table_1_stream() {
    let mut blocks = buffer(json!({"kind": "bplru", "padding": false, "compensation": false}), 8);
    let writes: Vec<[u32; 1]> = [0, 4, 8, 12, 16, 1, 5, 9, 13, 17, 2, 6, 10, 14].map(|p| [p]).to_vec();
    let requests: Vec<&[u32]> = writes.iter().map(<[u32; 1]>::as_slice).collect();
    let (_, mut flushes) = run(&mut *blocks, &requests);
    let mut out = Outcome::default();
    blocks.flush(&mut out);
    flushes.extend(out.evictions.iter().map(|e| out.pages_of(e).iter().map(|p| p.lpn).collect::<Vec<_>>()));
    let expected: [&[u32]; 9] = [&[12], &[16], &[0, 1], &[8, 9], &[17], &[2], &[4, 5, 6], &[10], &[13, 14]];
    assert_eq!(flushes, expected);
}

#[test]
fn bplru_figure_4_pads_a_block_and_the_ftl_switches() {
    let mut drive = device(&json!({
        "ftl": {"mapping": {"kind": "bast", "log_blocks": 2}},
        "buffer": {"size": "8 KiB", "scheme": "bplru"},
        "host": {"end_of_run": "merge"},
    }));
    write(&mut drive, &[12, 15]);
    let report = drive.finish().unwrap();
    assert_eq!((report.flash.reads.total, report.flash.programs.total, report.flash.erases.total), (2, 4, 1));
    assert_eq!((report.flash.reads.padding, report.padded_pages, report.merges.switch), (2, 2, 1));
}

#[test]
fn page_mapping_erases_a_block_that_was_overwritten_whole_without_copies() {
    let mut drive = device(&json!({
        "nand": {"blocks_per_plane": 4}, "ftl": {"exported": "32 KiB"}, "precondition": {"state": "empty"},
    }));
    write(&mut drive, &[0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3]);
    assert_eq!(cost(&drive), (0, 12, 1));
    drive.finish().unwrap();
}
