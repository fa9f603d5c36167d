//! Write amplification of greedy collection under uniform random writes agrees with the published model.

mod common;

use common::{Random, assert_within, drive, nand, preconditioned, request};
use eraseblock_core::config::{Precondition, Replay};
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::Op;

/// Desnoyers, "Analytic modeling of SSD write performance" (SYSTOR 2012), greedy collection in steady state.
///
/// Collection takes blocks with `x` valid pages of `n`, `1 / (n - x)` of them for each page that the host writes. As
/// many blocks pass from `i` valid pages to `i - 1`, for each `i` above `x`; each does so with probability
/// `i / user pages`. Hence there are `user / (n - x) / i` blocks with `i` valid pages, and their sum over `x < i <= n`
/// is the number of blocks. That fixes `x`, between whole numbers by linear interpolation, and the write
/// amplification `n / (n - x)`.
fn greedy_waf(blocks: f64, user_pages: f64, pages_per_block: u32) -> f64 {
    let n = f64::from(pages_per_block);
    // Blocks that the distribution needs if victims hold `x` valid pages: fewer, the larger x is.
    let needed =
        |x: u32| (x + 1..=pages_per_block).map(|i| user_pages / (n - f64::from(x)) / f64::from(i)).sum();
    let mut above: f64 = needed(0);
    for x in 1..pages_per_block {
        let below: f64 = needed(x);
        if below <= blocks && blocks <= above {
            let x = f64::from(x - 1) + (above - blocks) / (above - below);
            return n / (n - x);
        }
        above = below;
    }
    panic!("{blocks} blocks cannot hold {user_pages} pages");
}

/// Write amplification over several drive writes after the drive has settled, in one pool of blocks.
fn measured_waf(blocks: u32, pages_per_block: u32, user_blocks: u32) -> f64 {
    let pages = u64::from(user_blocks * pages_per_block);
    let mut config =
        preconditioned(drive(nand([1, 1, 1, 1], blocks, pages_per_block), pages), Precondition::Steady);
    config.host.replay = Replay::Untimed;
    config.precondition.tolerance = 0.005;
    config.precondition.max_drive_writes = 30;
    let mut device = Device::new(&config, Options::default()).unwrap();
    device.precondition().unwrap();
    let mut random = Random::new(3);
    for _ in 0..pages * 4 {
        device.submit(&request(Op::Write, random.below(pages), 1, 0)).unwrap();
    }
    let report = device.finish().unwrap();
    assert!(report.precondition.settled, "{:?}", report.precondition);
    report.waf.unwrap()
}

#[test]
fn greedy_collection_amplifies_writes_as_published() {
    for (blocks, pages_per_block) in [(2048, 64), (2048, 128)] {
        for spare in [0.07, 0.15, 0.28] {
            let user_blocks = (f64::from(blocks) / (1.0 + spare)).round() as u32;
            let user_pages = f64::from(user_blocks * pages_per_block);
            let found = measured_waf(blocks, pages_per_block, user_blocks);
            let model = |blocks| greedy_waf(f64::from(blocks), user_pages, pages_per_block);
            let what = format!("{blocks} blocks of {pages_per_block} pages, spare {spare}");
            assert_within(found, model(blocks), 0.02, &what);
            // The model knows no reserve and no open blocks. One erased block is always kept, and the two that are
            // being filled are half full on average: without those two blocks' room it agrees more closely.
            assert_within(found, model(blocks - 2), 0.005, &what);
        }
    }
}
