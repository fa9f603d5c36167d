//! Drives of the SUPA family with no block more than they need: written, read and trimmed without
//! end, every read checked.

use crate::support;
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::{Op, Request};
use serde_json::{Value, json};

/// The drive that exports as many blocks as the mapping lets it, full.
fn fullest(nand: &Value, mapping: &Value, buffer: &Value, end: &str) -> (Device, u64) {
    let blocks =
        nand["channels"].as_u64().unwrap() * nand["chips_per_channel"].as_u64().unwrap() * 12;
    let mut refusal = String::new();
    for exported in (1..blocks).rev() {
        let config = support::config(&json!({
            "nand": nand,
            "ftl": {"exported": format!("{} KiB", exported * 32), "mapping": mapping},
            "buffer": {"size": "96 KiB", "scheme": buffer},
            "host": {"replay": (["untimed", "open"][exported as usize % 2]), "end_of_run": end},
        }));
        match Device::new(&config, Options { verify: true }) {
            Ok(drive) => return (drive, exported),
            Err(error) => refusal = error.to_string(),
        }
    }
    panic!("{mapping} with {buffer}: {refusal}");
}

/// Random requests on a full drive; what went wrong.
fn wear(nand: &Value, mapping: &Value, buffer: &Value, seed: u64) -> Result<(), String> {
    let (mut drive, exported) =
        fullest(nand, mapping, buffer, ["merge", "flush"][seed as usize % 2]);
    let failed = |what: &str, error: String| {
        format!("{exported} blocks, {mapping}, {buffer}, {nand}: {what}: {error}")
    };
    drive.precondition().map_err(|error| failed("filling", error.to_string()))?;
    let mut dice = support::Dice(seed);
    let pages = exported * 8;
    for number in 0..1500u64 {
        // Striped areas come to be sparse as some of their blocks are written at random.
        let block = if dice.roll(2) == 0 {
            dice.roll(exported)
        } else {
            dice.roll(exported.div_ceil(4)) * 4 % exported
        };
        let (first, count) = match dice.roll(5) {
            0 => (block * 8, 8),
            1 => (block * 8 + dice.roll(4), 1 + dice.roll(12)),
            _ => (block * 8 + dice.roll(8), 1 + dice.roll(2)),
        };
        let count = count.min(pages - first);
        let op = match dice.roll(20) {
            0 => Op::Flush,
            1 | 2 => Op::Trim,
            3..8 => Op::Read,
            _ => Op::Write,
        };
        let request = if op == Op::Flush {
            support::request(op, 0, 0)
        } else {
            support::request(op, first, count)
        };
        let request = Request { arrival_ns: number * 1_000_000, ..request };
        drive.submit(&request).map_err(|error| failed("serving", format!("{number}: {error}")))?;
    }
    drive.finish().map(drop).map_err(|error| failed("ending", error.to_string()))
}

#[test]
fn drives_as_full_as_can_be_are_written_on_and_on() {
    let patterns = [
        json!({}),
        json!({"handler": false}),
        json!({"policy": "multi"}),
        json!({"policy": "single"}),
        json!({"in_place": "any-order"}),
        json!({"mixed_writes": "multi", "striping": 3}),
        json!({"handler": false, "striping": 2}),
        json!({"policy": "multi", "striping": 3, "in_place": "any-order"}),
        json!({"striping": 1}),
    ];
    let mut mappings: Vec<Value> = patterns
        .into_iter()
        .map(|options| {
            let mut mapping = json!({"kind": "pattern", "log_blocks": 1, "threshold": 2});
            mapping.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
            mapping
        })
        .collect();
    mappings.extend([
        support::mapping("sftl", 1),
        support::mapping("sftl", 4),
        support::mapping("blas", 2),
    ]);
    mappings.extend([support::mapping("mnk", 1), support::mapping("pattern", 9)]);
    let buffers = [
        json!("none"),
        json!({"kind": "supa", "threshold": 2}),
        json!({"kind": "supa", "threshold": 2, "search_window": 1.0}),
        json!({"kind": "cave", "sequential_above": 2, "padding": false}),
        json!({"kind": "cave", "order": "cflru", "sequential_above": 2}),
        json!("cave"),
        json!("sftl"),
        json!("blas"),
    ];
    let drives = [
        json!({"channels": 4, "chips_per_channel": 1, "blocks_per_plane": 12, "pages_per_block": 8}),
        json!({"channels": 2, "chips_per_channel": 2, "blocks_per_plane": 12, "pages_per_block": 8}),
    ];
    let mut wrong = Vec::new();
    for (at, mapping) in mappings.iter().enumerate() {
        for (buffer_at, buffer) in buffers.iter().enumerate() {
            for (nand_at, nand) in drives.iter().enumerate() {
                let seed = (at * 100 + buffer_at * 10 + nand_at) as u64 + 1;
                let run = std::panic::AssertUnwindSafe(|| wear(nand, mapping, buffer, seed));
                match std::panic::catch_unwind(run) {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => wrong.push(error),
                    Err(_) => wrong.push(format!("{mapping}, {buffer}, {nand}: panic")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of the drives: {wrong:#?}", wrong.len());
}
