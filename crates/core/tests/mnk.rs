//! MNK: striping, shared logs, recycling, load balancing, and what merges cost.

use crate::support;
use crate::support::{cost, device, write};
use eraseblock_core::device::Device;
use eraseblock_core::host::Op;
use eraseblock_core::support::ids::Lpn;
use serde_json::{Value, json};

/// Four units of 16 blocks of 4 pages, 32 blocks exported and full.
fn drive(options: &Value) -> Device {
    let mut mapping = json!({"kind": "mnk", "log_blocks": 2});
    mapping.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    device(&json!({"nand": {"channels": 4}, "ftl": {"exported": "512 KiB", "mapping": mapping}}))
}

fn unit_of(drive: &Device, page: u32) -> u32 {
    drive.geometry().unit_of_page(drive.mapping().lookup(Lpn(page)).expect("a written page")).0
}

#[test]
fn pages_of_a_clustered_block_lie_on_units_in_turn() {
    for (striping, units) in
        [(4, [0, 1, 2, 3, 0, 1, 2, 3]), (2, [0, 1, 0, 1, 0, 1, 0, 1]), (1, [0; 8])]
    {
        let drive = drive(&json!({"striping": striping}));
        let found = [0, 1, 2, 3, 4, 5, 6, 7].map(|page| unit_of(&drive, page));
        let expected = if striping == 1 { [0, 0, 0, 0, 1, 1, 1, 1] } else { units };
        assert_eq!(found, expected, "striped over {striping}");
    }
    // Updates stay on the unit of their page.
    let mut drive = drive(&json!({}));
    write(&mut drive, &[6, 6, 3]);
    assert_eq!([unit_of(&drive, 6), unit_of(&drive, 3)], [2, 3]);
    drive.finish().unwrap();
}

/// A log of M flash blocks that holds pages of A clustered blocks: `(A * M * pages, A * M * pages,
/// (A + 1) * M)`.
#[test]
fn a_merge_costs_a_clustered_block_for_each_in_the_log() {
    for width in [1u64, 2, 4] {
        for sharing in [1u64, 2, 4] {
            let mut drive = drive(
                &json!({"striping": width, "group_blocks": 4, "group_logs": 1, "log_blocks": 1}),
            );
            // Offsets in no order, so that nothing can be completed in place.
            let pages = 4 * width;
            let log: Vec<u64> =
                (0..pages).rev().map(|page| page % sharing * pages + page).collect();
            write(&mut drive, &log);
            let before = cost(&drive);
            assert_eq!(before, (0, pages, 0));
            write(&mut drive, &[0]);
            let after = cost(&drive);
            let a = sharing;
            assert_eq!(
                (after.0, after.1 - before.1 - 1, after.2),
                (a * width * 4, a * width * 4, (a + 1) * width),
                "{a} clustered blocks on {width} units"
            );
            assert_eq!(drive.counters().full_merges, a * width);
            drive.finish().unwrap();
        }
    }
}

#[test]
fn a_clustered_block_written_in_order_is_switched() {
    let mut drive = drive(&json!({"striping": 4, "log_blocks": 1}));
    drive.submit(&support::request(Op::Write, 16, 16)).unwrap();
    write(&mut drive, &[0]);
    assert_eq!((cost(&drive), drive.counters().switch_merges), ((0, 17, 4), 4));
    // A log in order with 6 of 16 pages is completed.
    let mut drive = self::drive(&json!({"striping": 4, "log_blocks": 1}));
    drive.submit(&support::request(Op::Write, 16, 6)).unwrap();
    write(&mut drive, &[0]);
    assert_eq!((cost(&drive), drive.counters().partial_merges), ((10, 17, 4), 4));
    drive.finish().unwrap();
}

/// Page 1 four times, then page 2: the first of two logs holds nothing any more once page 1 has
/// been written anew.
#[test]
fn a_log_that_holds_nothing_any_more_is_recycled() {
    let erases = |recycling: bool| {
        let mut drive = drive(&json!({"striping": 1, "group_blocks": 2, "recycling": recycling}));
        write(&mut drive, &[1, 1, 1, 1, 1]);
        let found = cost(&drive);
        drive.finish().unwrap();
        found
    };
    assert_eq!((erases(true), erases(false)), ((0, 5, 1), (0, 5, 0)));
}

/// One logical block is written over and over: its unit wears, unless new blocks come from the
/// others.
#[test]
fn load_is_balanced_where_it_is_asked_for() {
    let spread = |balance: Value| {
        let mut drive = drive(&json!({"striping": 1, "balance": balance}));
        for _ in 0..2000 {
            write(&mut drive, &[3, 1, 2]);
        }
        drive.finish().unwrap().wear.erases_max
    };
    let (without, with) = (spread(Value::Null), spread(json!(4)));
    assert!(with < without, "{with:?} {without:?}");
}

/// The columns of a clustered block stay on different units, so that they are read and written at
/// once.
#[test]
fn balance_keeps_the_columns_of_a_clustered_block_apart() {
    let mut drive = drive(&json!({"striping": 2, "balance": 2}));
    let mut moved = false;
    for round in 0..3000 {
        // Out of order, so that logs are merged and data blocks move.
        write(&mut drive, &[3, 1, 2, 0, 7, round % 8]);
        let found = [0, 1].map(|page| unit_of(&drive, page));
        assert_ne!(found[0], found[1], "round {round}");
        moved |= found != [0, 1];
    }
    drive.finish().unwrap();
    assert!(moved, "nothing was balanced");
}

/// A quarter of 32 exported blocks, as logs of M flash blocks each.
#[test]
fn a_share_of_log_blocks_is_counted_in_flash_blocks() {
    for (striping, logs) in [(1, 8), (2, 4), (4, 2)] {
        let space = drive(&json!({"striping": striping, "log_blocks": 0.25})).mapping().space();
        assert!(
            space.contains(&format!("0 of {logs} log blocks are in use")),
            "M = {striping}: {space}"
        );
    }
}

#[test]
fn impossible_numbers_are_refused() {
    for (options, key) in [
        (json!({"striping": 5}), "striping"),
        (json!({"striping": 0}), "striping"),
        (json!({"group_blocks": 0}), "group_blocks"),
        (json!({"group_logs": 0}), "group_logs"),
        (json!({"log_blocks": 0.001}), "log_blocks"),
        (json!({"log_blocks": 9}), "blocks_per_plane"),
    ] {
        let mut mapping = json!({"kind": "mnk", "log_blocks": 2});
        mapping.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        let config = support::config(
            &json!({"nand": {"channels": 4}, "ftl": {"exported": "512 KiB", "mapping": mapping}}),
        );
        let error =
            Device::new(&config, eraseblock_core::device::Options::default()).expect_err("refused");
        assert!(error.to_string().contains(key), "{options}: {error}");
    }
}
