//! SUPA's FTL merges as BAST and MNK do: data blocks are mapped as wholes, so a log becomes one
//! only where its pages lie in order.

use crate::support;
use eraseblock_core::device::Device;
use eraseblock_core::host::Op;
use eraseblock_core::pattern::{Access, Pattern, Route};
use eraseblock_core::support::ids::{LogicalBlock, Lpn, PlaneId};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

const PAGES: u64 = 8;
const BLOCKS: u64 = 24;

fn drive(mapping: &Value, state: &str) -> Device {
    support::device(&json!({
        "nand": {"channels": 4, "blocks_per_plane": 16, "pages_per_block": PAGES},
        "ftl": {"exported": format!("{} KiB", BLOCKS * PAGES * 4), "mapping": mapping},
        "buffer": {"size": "0 B", "scheme": "none"},
        "precondition": {"state": state},
        "host": {"end_of_run": "merge"},
    }))
}

/// Reads, programs, erases; switch, partial and full merges.
fn counts(drive: &Device) -> ((u64, u64, u64), [u64; 3]) {
    let c = drive.counters();
    (support::cost(drive), [c.switch_merges, c.partial_merges, c.full_merges])
}

/// One under SINGLE for each logical block, merged when all are in use: MNK with one unit, one
/// block and one log each, which is BAST.
#[test]
fn one_policy_of_one_channel_is_mnk_of_ones_and_bast() {
    let mut seen = [0; 3];
    for seed in 0..60 {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let logs = [1, 2, 3, 8, 20][seed as usize % 5];
        let state = ["full", "empty"][seed as usize / 5 % 2];
        // A striped area's worth of logs is the least that SUPA's FTL takes; here an area is one
        // block.
        let mappings = [
            json!({"kind": "pattern", "policy": "single", "striping": 1, "log_blocks": logs}),
            json!({"kind": "mnk", "striping": 1, "group_blocks": 1, "group_logs": 1, "log_blocks": logs}),
            json!({"kind": "bast", "log_blocks": logs}),
        ];
        let mut drives = mappings.map(|mapping| drive(&mapping, state));
        let hot = random.random_range(1..=BLOCKS);
        for number in 0..600 {
            let most = if random.random_range(0..4) > 0 { hot } else { BLOCKS };
            let block = random.random_range(0..most);
            let request = match random.random_range(0..20) {
                0 => support::request(Op::Flush, 0, 0),
                1 | 2 => {
                    let (from, count) =
                        (random.random_range(0..PAGES), random.random_range(1..=PAGES));
                    support::request(Op::Trim, block * PAGES + from, count.min(PAGES - from))
                }
                3..6 => {
                    support::request(Op::Read, block * PAGES + random.random_range(0..PAGES), 1)
                }
                // From the first page on, or a whole block, so that logs are often in order.
                6..10 => support::request(Op::Write, block * PAGES, random.random_range(1..=PAGES)),
                10..12 => support::request(Op::Write, block * PAGES, PAGES),
                _ => support::request(Op::Write, block * PAGES + random.random_range(0..PAGES), 1),
            };
            for drive in &mut drives {
                drive.submit(&request).unwrap();
            }
            let [pattern, mnk, bast] = [0, 1, 2].map(|i| counts(&drives[i]));
            assert_eq!(mnk, bast, "mnk: seed {seed}, request {number}: {request:?}");
            assert_eq!(pattern, mnk, "pattern: seed {seed}, request {number}: {request:?}");
        }
        for drive in &mut drives {
            drive.finish().unwrap();
        }
        let [pattern, mnk, bast] = [0, 1, 2].map(|i| counts(&drives[i]));
        assert!(
            pattern == mnk && mnk == bast,
            "seed {seed} at the end: {pattern:?} {mnk:?} {bast:?}"
        );
        seen.iter_mut().zip(pattern.1).for_each(|(all, more)| *all += more);
    }
    assert!(seen.iter().all(|&merges| merges > 200), "{seen:?}");
}

/// So many pages of block 0 are written, then its log is merged: switch, partial and full merges,
/// in order and in any order.
fn merges(policy: &str, in_place: &str, pages: &[u64]) -> [u64; 3] {
    let mapping =
        json!({"kind": "pattern", "policy": policy, "in_place": in_place, "log_blocks": 4});
    let mut drive = drive(&mapping, "full");
    support::write(&mut drive, pages);
    drive.finish().unwrap();
    counts(&drive).1
}

/// Data blocks are mapped as wholes: a log of pages in another order is copied, unless data blocks
/// are mapped page by page.
#[test]
fn a_log_out_of_order_is_copied() {
    let (switch, partial, full) = ([1, 0, 0], [0, 1, 0], [0, 0, 1]);
    let whole: Vec<u64> = (0..PAGES).collect();
    let back: Vec<u64> = (0..PAGES).rev().collect();
    for (pages, in_order, any_order) in [
        (&whole[..], switch, switch),
        (&back[..], full, switch),
        (&[0, 1, 2], partial, partial),
        (&[2, 1, 0], full, partial),
        (&[1, 2], full, partial),
        (&[0, 1, 1, 2], full, full),
    ] {
        assert_eq!(merges("single", "in-order", pages), in_order, "SINGLE, {pages:?}");
        assert_eq!(merges("single", "any-order", pages), any_order, "SINGLE, {pages:?}");
    }
    // Eight pages on four channels are two rows; a block begins at a row that eight pages before it
    // reach.
    let twice = [&whole[..], &whole].concat();
    let shifted = [&whole[..4], &whole].concat();
    for (pages, in_order) in [(&whole, switch), (&twice, switch), (&shifted, full)] {
        assert_eq!(merges("multi", "in-order", pages), in_order, "MULTI, {pages:?}");
        assert_eq!(merges("multi", "any-order", pages), switch, "MULTI, {pages:?}");
    }
    // The lower row holds what is newer.
    let crossed: Vec<u64> = [0, 1, 2, 3, 0, 4, 5, 6, 7].to_vec();
    assert_eq!(merges("multi", "in-order", &crossed), full);
}

/// All logs are in use: the next one makes the oldest leave, where that lies, whichever channel the
/// new one is on. No channel is spared that by passing it over, so none counts as not ready.
#[test]
fn a_full_set_of_logs_makes_no_channel_unready() {
    for block in 12..16 {
        let mut drive =
            drive(&json!({"kind": "pattern", "policy": "single", "log_blocks": 8}), "empty");
        for log in 0..8 {
            support::write(&mut drive, &[log * PAGES + 1]);
        }
        assert!((0..4).map(PlaneId).all(|unit| {
            drive.mapping().advice().unwrap().is_ready(unit, drive.mapping().free_blocks(unit))
        }));
        let channel = |drive: &Device, page: u64| {
            drive.geometry().unit_of_page(drive.mapping().lookup(Lpn(page as u32)).unwrap()).0
        };
        support::write(&mut drive, &[block * PAGES]);
        assert_eq!(counts(&drive).1, [0, 0, 1], "block {block}");
        assert_eq!((channel(&drive, 1), channel(&drive, block * PAGES)), (0, block as u32 % 4));
        drive.finish().unwrap();
    }
}

/// A tombstone takes the last page of a log: the next write finds it full, so that a block of which
/// all is written may go anywhere.
#[test]
fn a_log_that_a_tombstone_fills_is_full() {
    let mut drive =
        drive(&json!({"kind": "pattern", "policy": "single", "log_blocks": 4}), "empty");
    let route = |drive: &Device| {
        drive.mapping().advice().and_then(|advice| {
            advice.route(LogicalBlock(0), Pattern::new(Access::Random, Access::Never))
        })
    };
    support::write(&mut drive, &[0, 1, 2, 3, 4, 5, 6]);
    let Some(Route::Channel(channel)) = route(&drive) else { panic!("{:?}", route(&drive)) };
    drive.submit(&support::request(Op::Trim, 3, 1)).unwrap();
    drive.submit(&support::request(Op::Flush, 0, 0)).unwrap();
    assert_eq!(route(&drive), Some(Route::Home(channel)));
}
