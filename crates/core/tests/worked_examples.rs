//! The worked examples of the papers, beside those that the schemes' files hold (`examples.rs`).

use crate::support;
use crate::support::{cost, device, numbers, write};
use eraseblock_core::buffer::{Action, Answer, Buffer, BufferConfig, Idle, Outcome, Shape, Span};
use eraseblock_core::device::Device;
use eraseblock_core::host::Op;
use eraseblock_core::support::ids::{Lpn, PlaneId, Ppn};
use serde_json::{Value, json};

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
            let span =
                Span { first: Lpn(span[0]), count: span.len() as u32, write: true, request: 0 };
            buffer.access(&span, &Idle, &mut out);
            hits += out.answers.iter().filter(|a| **a == Answer::Hit).count();
            flushes.extend(
                out.evictions
                    .iter()
                    .map(|e| out.pages_of(e).iter().map(|p| p.lpn.0).collect::<Vec<_>>()),
            );
        }
    }
    (hits, flushes)
}

const HBM_TABLE_1_1: &[&[u32]] =
    &[&[0, 1, 2, 3], &[5, 9, 11, 14], &[7], &[3], &[11], &[2], &[14], &[1], &[10], &[7]];

/// Reads and writes of `(first page, pages, write)`, each a request; what leaves, each page with
/// whether it is dirty.
fn serve(
    buffer: &mut dyn Buffer,
    requests: &[(u32, u32, bool)],
) -> Vec<(Action, Vec<(u32, bool)>)> {
    let mut left = Vec::new();
    for (number, &(first, count, write)) in requests.iter().enumerate() {
        let mut out = Outcome::default();
        buffer.access(
            &Span { first: Lpn(first), count, write, request: number as u64 },
            &Idle,
            &mut out,
        );
        left.extend(out.evictions.iter().map(|e| {
            (e.action, out.pages_of(e).iter().map(|page| (page.lpn.0, page.dirty)).collect())
        }));
    }
    left
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

#[test]
fn lb_clock_expects_no_return_after_the_last_page() {
    // The last victim had two pages: 37, 38, 39 are more, and block 9 is a candidate although just
    // written.
    let mut clock = buffer(json!("lb-clock"), 4);
    assert_eq!(run(&mut *clock, &[&[0, 1], &[4], &[8], &[37, 38, 39]]).1, [vec![0, 1], vec![4]]);
    // A full block is one, too, and goes first although just written.
    let mut clock = buffer(json!("lb-clock"), 6);
    assert_eq!(run(&mut *clock, &[&[0], &[8], &[4, 5, 6, 7], &[12]]).1, [[4, 5, 6, 7]]);
    let mut plain = buffer(json!({"kind": "lb-clock", "heuristics": false}), 6);
    assert_eq!(run(&mut *plain, &[&[0, 1], &[8], &[4, 5, 6], &[12], &[7, 8]]).1, [vec![4, 5, 6]]);
}

#[test]
fn fab_evicts_the_fullest_block() {
    let mut fab = buffer(json!("fab"), 8);
    let (_, flushes) = run(&mut *fab, &HBM_TABLE_1_1[..4]);
    assert_eq!(flushes, [[0, 1, 2, 3]]);
    // By pages, then by use: 7 came after 9 and 11, 3 after 14.
    assert_eq!(numbers(&fab.dump()), [vec![5, 7], vec![9, 11], vec![3], vec![14]]);
    let mut tie = buffer(json!("fab"), 4);
    assert_eq!(run(&mut *tie, &[&[0, 1], &[4, 5], &[0], &[8]]).1, [[4, 5]]);
    // With one page a block it is page LRU.
    let mut single = buffer(json!("fab"), 4);
    assert_eq!(run(&mut *single, &[&[0], &[4], &[8], &[12], &[0], &[16]]).1, [[4]]);
}

/// SUPA's arrangements of block lists: a read takes its pages in and moves its block, or does
/// neither.
#[test]
fn block_lru_keeps_reads_or_serves_writes_alone() {
    let (r, w) = (false, true);
    let requests = [(0, 2, w), (4, 1, w), (8, 1, r), (1, 1, r), (12, 1, w)];
    let unified = serve(&mut *buffer(json!("block-lru"), 4), &requests);
    assert_eq!(unified, [(Action::Evict, vec![(4, true)])]);
    let mut dirty_only = buffer(json!({"kind": "block-lru", "reads": "bypass"}), 4);
    assert_eq!(serve(&mut *dirty_only, &requests), []);
    assert_eq!(
        serve(&mut *dirty_only, &[(16, 1, w)]),
        [(Action::Evict, vec![(0, true), (1, true)])]
    );
    // A block with clean and dirty pages writes the dirty ones and drops the others.
    let mixed =
        serve(&mut *buffer(json!("block-lru"), 3), &[(0, 2, r), (1, 1, w), (2, 1, w), (4, 1, r)]);
    assert_eq!(
        mixed,
        [(Action::Evict, vec![(1, true), (2, true)]), (Action::Drop, vec![(0, false)])]
    );
}

/// Two blocks in turn over BAST with one log block, which stays open: merges.
#[test]
fn ref_spares_the_ftl_merges() {
    let merges = |scheme: Value| {
        let mut drive = device(&json!({
            "ftl": {"mapping": {"kind": "bast", "log_blocks": 1}},
            "buffer": {"size": "16 KiB", "scheme": scheme},
            "host": {"end_of_run": "flush"},
        }));
        write(&mut drive, &[0, 4, 1, 5]);
        let report = drive.finish().unwrap();
        report.merges.switch + report.merges.partial + report.merges.full
    };
    assert_eq!(merges(json!({"kind": "ref", "victim_blocks": 1, "window": 1.0})), 1);
    assert_eq!(merges(json!({"kind": "lru", "reads": "bypass"})), 3);
}

fn bast(logs: u32, more: &Value) -> Device {
    let mut mapping = json!({"kind": "bast", "log_blocks": logs});
    mapping.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    device(&json!({"ftl": {"mapping": mapping}}))
}

/// MNK with one flash block, one data block and one log for a group, and logs from one pool, is
/// BAST.
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
        let as_mnk = json!({"kind": "mnk", "striping": 1, "group_blocks": 1, "group_logs": 1, "victim": victim});
        for options in [json!({"victim": victim}), as_mnk] {
            let mut drive = bast(2, &options);
            write(&mut drive, writes);
            let c = drive.counters();
            assert_eq!(cost(&drive), *expected, "{writes:?} {options}");
            assert_eq!(
                (c.switch_merges, c.partial_merges, c.full_merges),
                *merges,
                "{writes:?} {options}"
            );
            drive.finish().unwrap();
        }
    }
}

fn fast(more: &Value) -> Device {
    let mut mapping = json!({"kind": "fast", "log_blocks": 2});
    mapping.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    device(&json!({"ftl": {"mapping": mapping}}))
}

/// One sequential and two random log blocks.
#[test]
fn fast_table() {
    type Triple = (u64, u64, u64);
    let cases: &[(&[u64], Triple, Triple)] = &[
        (&[0, 1, 2, 3, 4], (0, 5, 1), (1, 0, 0)),
        (&[0, 1, 3], (1, 4, 1), (0, 1, 0)),
        (&[0, 1, 1], (3, 6, 2), (0, 0, 1)),
        (&[1, 5, 9, 13, 1, 5, 9, 13, 1], (0, 9, 1), (0, 0, 0)),
        (&[1, 5, 9, 13, 2, 6, 10, 14, 3], (16, 25, 5), (0, 0, 4)),
    ];
    for (writes, expected, merges) in cases {
        let mut drive = fast(&json!({}));
        write(&mut drive, writes);
        let c = drive.counters();
        assert_eq!(cost(&drive), *expected, "{writes:?}");
        assert_eq!((c.switch_merges, c.partial_merges, c.full_merges), *merges, "{writes:?}");
        drive.finish().unwrap();
    }
}

#[test]
fn fast_finishes_the_run_of_a_logical_block_in_the_victim() {
    // Block 1 has a page in the oldest random log block, then begins a run: the victim takes three
    // full merges, and the run is completed with page 7, the newest of which lies in the victim.
    let mut drive = fast(&json!({}));
    write(&mut drive, &[1, 7, 9, 13, 4, 5, 17, 21, 25, 29, 30]);
    let c = drive.counters();
    assert_eq!((c.switch_merges, c.partial_merges, c.full_merges), (0, 1, 3));
    assert_eq!(cost(&drive), (3 * 4 + 2, 11 + 3 * 4 + 2, 3 + 1 + 1));
    drive.finish().unwrap();
}

#[test]
fn fast_takes_random_log_blocks_from_the_units_in_turn() {
    let mut drive = device(
        &json!({"nand": {"channels": 2}, "ftl": {"mapping": {"kind": "fast", "log_blocks": 2}}}),
    );
    write(&mut drive, &[1, 5, 9, 13, 17]);
    let unit = |page| drive.geometry().unit_of_page(drive.mapping().lookup(page).unwrap()).0;
    assert_eq!([1, 5, 9, 13, 17].map(Lpn).map(unit), [0, 0, 0, 0, 1]);
    drive.finish().unwrap();
}

/// Pages 3 and 4 leave the buffer together: the one goes to a random log block, the other begins a
/// run, which is full with page 7.
#[test]
fn fast_begins_a_run_in_the_middle_of_what_leaves_together() {
    let mut drive = device(&json!({
        "ftl": {"mapping": {"kind": "fast", "log_blocks": 2}},
        "buffer": {"size": "8 KiB", "scheme": "request-lru"},
    }));
    for first in [3, 5, 7, 20] {
        drive.submit(&support::request(Op::Write, first, 2)).unwrap();
    }
    let c = drive.counters();
    assert_eq!((c.switch_merges, c.partial_merges, c.full_merges), (1, 0, 0));
    drive.finish().unwrap();
}

#[test]
fn fast_in_other_readings() {
    // The run is completed, then the page goes to the random log blocks.
    let mut log = fast(&json!({"broken_run": "log"}));
    write(&mut log, &[0, 1, 3]);
    assert_eq!((cost(&log), log.counters().partial_merges), ((2, 5, 1), 1));
    log.finish().unwrap();
    // An unfinished run is copied to a new block.
    let mut full = fast(&json!({"partial_merge": false}));
    write(&mut full, &[0, 1, 4]);
    assert_eq!((cost(&full), full.counters().full_merges), ((4, 3 + 4, 2), 1));
    full.finish().unwrap();
    // Log blocks are merged as soon as they are full: the run with its last page, the oldest random
    // one with the eighth page.
    let mut eager = fast(&json!({"merge_timing": "eager"}));
    write(&mut eager, &[0, 1, 2, 3]);
    assert_eq!((cost(&eager), eager.counters().switch_merges), ((0, 4, 1), 1));
    write(&mut eager, &[1, 5, 9, 13, 2, 6, 10, 14]);
    assert_eq!((cost(&eager), eager.counters().full_merges), ((16, 4 + 8 + 16, 1 + 5), 4));
    eager.finish().unwrap();
}

#[test]
fn fast_writes_a_page_for_the_first_time_to_its_slot() {
    let mut drive = device(&json!({
        "ftl": {"mapping": {"kind": "fast", "log_blocks": 2}}, "precondition": {"state": "empty"},
    }));
    // Pages 1 and 3 in the data block; 2 lies below the last page programmed there and goes to a
    // log block.
    write(&mut drive, &[1, 3, 2]);
    assert_eq!(
        (cost(&drive), drive.mapping().lookup(Lpn(1)), drive.mapping().lookup(Lpn(3))),
        ((0, 3, 0), Some(Ppn(1)), Some(Ppn(3)))
    );
    assert!(drive.mapping().lookup(Lpn(2)).is_some_and(|page| page >= Ppn(4)));
    drive.finish().unwrap();
}

#[test]
fn block_mapping_copies_the_block_for_every_page_written_over() {
    let mut drive = device(&json!({"ftl": {"mapping": "block"}}));
    write(&mut drive, &[2]);
    assert_eq!(cost(&drive), (3, 4, 1));
    // Three pages of one request take one copy.
    drive.submit(&support::request(Op::Write, 4, 3)).unwrap();
    assert_eq!(cost(&drive), (3 + 1, 4 + 4, 2));
    drive.finish().unwrap();
    let mut empty =
        device(&json!({"ftl": {"mapping": "block"}, "precondition": {"state": "empty"}}));
    write(&mut empty, &[0, 1, 3, 2]);
    assert_eq!(cost(&empty), (3, 3 + 4, 1));
    empty.finish().unwrap();
}

#[test]
fn replacement_blocks_take_a_page_where_its_slot_is_erased() {
    let over = |more: Value| {
        let mut mapping = json!({"kind": "replacement"});
        mapping.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        device(&json!({"ftl": {"mapping": mapping}, "precondition": {"state": "empty"}}))
    };
    let mut drive = over(json!({}));
    write(&mut drive, &[0, 0, 0, 1]);
    // A chain of three; page 1 is written for the first time and goes to the primary block.
    assert_eq!((cost(&drive), drive.mapping().free_blocks(PlaneId(0))), ((0, 4, 0), 13));
    assert_eq!(
        (drive.mapping().lookup(Lpn(0)), drive.mapping().lookup(Lpn(1))),
        (Some(Ppn(8)), Some(Ppn(1)))
    );
    drive.finish().unwrap();
    // The third block is one too many: the second is completed with the newest pages that it lacks.
    let mut limited = over(json!({"chain_limit": 2}));
    write(&mut limited, &[0, 1, 2, 0, 0]);
    assert_eq!((cost(&limited), limited.counters().partial_merges), ((2, 5 + 2, 1), 1));
    // It lacks page 0, whose slot it has passed: all goes to a new block.
    write(&mut limited, &[4, 5, 6, 5, 5]);
    assert_eq!((cost(&limited), limited.counters().full_merges), ((2 + 3, 7 + 5 + 3, 1 + 2), 1));
    limited.finish().unwrap();
}

fn superblock(more: &Value) -> Device {
    let mapping = json!({"kind": "superblock", "blocks": 2, "update_blocks": 1});
    let mut all = json!({"ftl": {"mapping": mapping}});
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    device(&all)
}

#[test]
fn superblocks_collect_garbage_in_themselves() {
    let mut drive = superblock(&json!({}));
    let others: Vec<_> = (8..32).map(|lpn| drive.mapping().lookup(Lpn(lpn))).collect();
    // Pages 0 to 3 fill the update block; their old block then holds nothing and goes.
    write(&mut drive, &[0, 1, 2, 3, 4]);
    assert_eq!(cost(&drive), (0, 5, 1));
    let mut hot = superblock(&json!({}));
    // The update block holds pages 0 and 4, the two data blocks three pages each: it is the one
    // with least to copy.
    write(&mut hot, &[0, 4, 0, 4, 1]);
    assert_eq!(
        (cost(&hot), hot.counters().programs[eraseblock_core::nand::Cause::Gc as usize]),
        ((2, 5 + 2, 1), 2)
    );
    for drive in [&mut drive, &mut hot] {
        assert!((8..32).map(|lpn| drive.mapping().lookup(Lpn(lpn))).eq(others.iter().copied()));
        drive.finish().unwrap();
    }
}

#[test]
fn a_superblock_gives_up_its_update_block_when_none_is_left() {
    let mut drive = superblock(&json!({"nand": {"blocks_per_plane": 11}}));
    write(&mut drive, &[0, 0, 0, 0]);
    assert_eq!((cost(&drive), drive.mapping().free_blocks(PlaneId(0))), ((0, 4, 0), 2));
    // Superblock 1 needs a block. Superblock 0 empties its update block, then a data block into the
    // room that this gave.
    write(&mut drive, &[8]);
    assert_eq!(
        (cost(&drive), drive.mapping().free_blocks(PlaneId(0))),
        ((1 + 3, 4 + 1 + 3 + 1, 2), 2)
    );
    drive.finish().unwrap();
}

/// Superblocks 0 and 1 have an update block each, and superblock 0 was written last: superblock 1
/// gives up its own for superblock 2.
#[test]
fn the_superblock_written_longest_ago_gives_up_its_update_block() {
    let mut drive = superblock(&json!({"nand": {"blocks_per_plane": 12}}));
    write(&mut drive, &[0, 8, 0]);
    // What is left of a data block goes to the update block.
    let before = [1, 9].map(|lpn| drive.mapping().lookup(Lpn(lpn)));
    write(&mut drive, &[16]);
    let after = [1, 9].map(|lpn| drive.mapping().lookup(Lpn(lpn)));
    assert_eq!([before[0] == after[0], before[1] == after[1]], [true, false]);
    drive.finish().unwrap();
}

/// One page of two fits into the block: only then is it written anew, with two copies.
#[test]
fn hybrid_mapping_uses_the_last_page_of_a_block() {
    let mut drive =
        device(&json!({"ftl": {"mapping": "hybrid"}, "precondition": {"state": "empty"}}));
    write(&mut drive, &[0, 1, 2]);
    drive.submit(&support::request(Op::Write, 0, 2)).unwrap();
    assert_eq!(cost(&drive), (2, 3 + 1 + 3, 1));
    drive.finish().unwrap();
}

#[test]
fn hybrid_mapping_fills_a_block_in_any_order_and_writes_a_full_one_anew() {
    let mut drive = device(&json!({
        "ftl": {"mapping": "hybrid"}, "precondition": {"state": "empty"}, "nand": {"program_order": "sequential"},
    }));
    write(&mut drive, &[3, 1, 1, 0]);
    assert_eq!(cost(&drive), (0, 4, 0));
    assert_eq!(
        [0, 1, 2, 3].map(|lpn| drive.mapping().lookup(Lpn(lpn))),
        [Some(Ppn(3)), Some(Ppn(2)), None, Some(Ppn(0))]
    );
    // The new block holds 0, 1, 2 and 3 in order.
    write(&mut drive, &[2]);
    assert_eq!(cost(&drive), (3, 4 + 4, 1));
    assert_eq!(
        [0, 1, 2, 3].map(|lpn| drive.mapping().lookup(Lpn(lpn))),
        [4, 5, 6, 7].map(|page| Some(Ppn(page)))
    );
    drive.finish().unwrap();
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

/// The third logical block takes the log of one of the first two; writing to the first again shows
/// whose.
#[test]
fn bast_draws_random_victims_from_its_seed() {
    let merges = |seed: u64| {
        let mut drive = bast(2, &json!({"victim": "random", "seed": seed}));
        write(&mut drive, &[0, 4, 8, 1]);
        let merges = drive.counters().partial_merges;
        drive.finish().unwrap();
        merges
    };
    let drawn: Vec<u64> = (0..32).map(merges).collect();
    assert!(
        drawn.contains(&1) && drawn.contains(&2) && drawn.iter().all(|n| (1..3).contains(n)),
        "{drawn:?}"
    );
    assert!((0..32).map(merges).eq(drawn.iter().copied()));
}

#[test]
fn bast_writes_a_page_for_the_first_time_where_it_is_told_to() {
    // Directly, the first goes to its slot in a data block, and only the second takes a log block.
    for (first_write, blocks) in [("log", 1), ("direct", 2)] {
        let mapping = json!({"kind": "bast", "log_blocks": 2, "first_write": first_write});
        let mut drive =
            device(&json!({"ftl": {"mapping": mapping}, "precondition": {"state": "empty"}}));
        write(&mut drive, &[2, 2]);
        assert_eq!(
            (cost(&drive), drive.mapping().free_blocks(PlaneId(0))),
            ((0, 2, 0), 16 - blocks)
        );
        drive.finish().unwrap();
    }
}

/// `writes`, then the buffer's flush in LRU order, over BAST with two log blocks that stay open:
/// merges.
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
    for scheme in [
        json!({"kind": "block-lru", "reads": "bypass"}),
        json!({"kind": "bplru", "padding": false, "compensation": false}),
    ] {
        for (order, merges) in [("evict-first", 7), ("touch-first", 6)] {
            let mut scheme = scheme.clone();
            scheme["evict_order"] = json!(order);
            assert_eq!(bplru_table_1(&scheme), merges, "{scheme}");
        }
    }
}

#[test]
fn bplru_table_1_stream() {
    let mut blocks = buffer(json!({"kind": "block-lru", "reads": "bypass"}), 8);
    let writes: Vec<[u32; 1]> =
        [0, 4, 8, 12, 16, 1, 5, 9, 13, 17, 2, 6, 10, 14].map(|p| [p]).to_vec();
    let requests: Vec<&[u32]> = writes.iter().map(<[u32; 1]>::as_slice).collect();
    let (_, mut flushes) = run(&mut *blocks, &requests);
    let mut out = Outcome::default();
    blocks.flush(&mut out);
    flushes.extend(
        out.evictions.iter().map(|e| out.pages_of(e).iter().map(|p| p.lpn.0).collect::<Vec<_>>()),
    );
    let expected: [&[u32]; 9] =
        [&[12], &[16], &[0, 1], &[8, 9], &[17], &[2], &[4, 5, 6], &[10], &[13, 14]];
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
    assert_eq!(
        (report.flash.reads.total, report.flash.programs.total, report.flash.erases.total),
        (2, 4, 1)
    );
    assert_eq!((report.flash.reads.padding, report.padded_pages, report.merges.switch), (2, 2, 1));
}

/// The HBM thesis, section 2.4.2: pages that are not in the flash memory are no padding.
#[test]
fn bplru_can_leave_out_of_a_padded_block_what_was_never_written() {
    for (scheme, programs) in
        [(json!("bplru"), 4), (json!({"kind": "bplru", "pad_unwritten": false}), 2)]
    {
        let mut drive = device(&json!({
            "ftl": {"mapping": {"kind": "bast", "log_blocks": 2}},
            "buffer": {"size": "8 KiB", "scheme": scheme},
            "precondition": {"state": "empty"},
        }));
        write(&mut drive, &[12, 15, 16]);
        let flash = drive.finish().unwrap().flash;
        assert_eq!((flash.reads.total, flash.programs.total), (0, programs), "{scheme}");
        // What has been written is padding either way: here page 12.
        let mut drive = device(&json!({
            "ftl": {"mapping": {"kind": "bast", "log_blocks": 2}},
            "buffer": {"size": "4 KiB", "scheme": scheme},
            "precondition": {"state": "empty"},
        }));
        write(&mut drive, &[12, 14, 16]);
        let report = drive.finish().unwrap();
        let reads = if programs == 4 { 3 } else { 1 };
        assert_eq!(report.flash.reads.padding, reads, "{scheme}");
        assert_eq!(report.padded_pages, report.flash.programs.total - 2, "{scheme}");
        assert_eq!(report.flash.programs.total, if programs == 4 { 8 } else { 3 }, "{scheme}");
    }
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
