//! A die that is never idle: a run lasts as long as all its commands together, copies and erases
//! too.
//!
//! Written from the table of commands of Samsung's and Micron's chips (multi-bank thesis, section
//! 2) and docs/reference.md (`nand`): a read is a command, the array's time and a transfer; a
//! program a command, a transfer and the array's time; an erase a command and the array's time. A
//! copy inside the plane (copy-back) has both array times and both commands, and no transfer. Which
//! commands there are is the FTL's to say, and compared elsewhere: they are counted here.

use eraseblock_core::host::Op;
use eraseblock_core::metrics::Counters;
use eraseblock_core::nand::Cause;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use crate::references::{is_chosen, seeds};
use crate::support;

const READ: u64 = 25_013;
const PROGRAM: u64 = 200_003;
const ERASE: u64 = 1_500_007;
const TRANSFER: u64 = 100_019;

/// How many copies and erases a run had.
fn compare(seed: u64) -> (u64, u64) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let command = [0, 307][random.random_range(0..2)];
    let stays_inside: bool = random.random();
    let mapping = ["page", "block", "replacement"][random.random_range(0..3)];
    let mut over = json!({
        "nand": {
            "blocks_per_plane": 20, "pages_per_block": 4, "copy_back": stays_inside,
            "timing": {
                "read": format!("{READ} ns"), "program": format!("{PROGRAM} ns"), "erase": format!("{ERASE} ns"),
                "transfer": format!("{TRANSFER} ns"), "command": format!("{command} ns"),
            },
        },
        "ftl": {"mapping": mapping, "exported": "160 KiB"},
        "host": {"replay": "closed", "max_outstanding": 1},
    });
    if mapping == "page" {
        over["ftl"]["gc"] = json!({"grain": "all"});
    }
    let mut device = support::device(&over);
    for _ in 0..random.random_range(1..60) {
        let first = random.random_range(0..36);
        let op = if random.random_range(0..4) == 0 { Op::Read } else { Op::Write };
        let request = support::request(op, first, random.random_range(1..=4));
        device.submit(&request).unwrap_or_else(|error| panic!("seed {seed}: {error}: {over}"));
    }
    // The second one comes behind all that the last write has caused; an erase may wait for the
    // first.
    for _ in 0..2 {
        device.submit(&support::request(Op::Read, 0, 1)).expect("a read");
    }
    let c = device.counters().clone();
    let report = device.finish().unwrap_or_else(|error| panic!("seed {seed}: {error}: {over}"));
    let total = |counts: &[u64]| counts.iter().sum::<u64>();
    let copies: u64 =
        [Cause::Gc, Cause::Merge].iter().map(|&cause| c.programs[cause as usize]).sum();
    let copied: u64 = [Cause::Gc, Cause::Merge].iter().map(|&cause| c.reads[cause as usize]).sum();
    assert_eq!(copies, copied, "seed {seed}: pages are copied one by one: {over}");
    let mut expected = total(&c.reads) * (command + READ + TRANSFER)
        + total(&c.programs) * (command + TRANSFER + PROGRAM)
        + total(&c.erases) * (command + ERASE);
    if stays_inside {
        expected -= copies * 2 * TRANSFER;
    }
    let found = (report.simulated_s.expect("a timed run") * 1e9).round() as u64;
    assert_eq!(
        found,
        expected,
        "seed {seed}: {copies} copies, {} erases: {over}",
        total(&c.erases)
    );
    (copies, Counters::total(&c.erases))
}

#[test]
fn a_busy_die_takes_the_sum_of_its_commands() {
    if is_chosen("chips") {
        let all: Vec<(u64, u64)> = seeds(300, 3_000).map(compare).collect();
        let most = |of: fn(&(u64, u64)) -> u64| all.iter().map(of).max();
        assert!(
            most(|run| run.0) > Some(50) && most(|run| run.1) > Some(20),
            "too little was collected"
        );
    }
}
