//! Replacement blocks: which chain is folded when no block is left to append.

use crate::support;
use eraseblock_core::device::Device;
use eraseblock_core::support::ids::Lpn;

/// Logical blocks whose first two pages lie in one flash block.
fn folded(drive: &Device) -> Vec<u64> {
    let block = |page: u64| drive.mapping().lookup(Lpn(page as u32)).unwrap().0 / 4;
    (0..8).filter(|&lbn| block(lbn * 4) == block(lbn * 4 + 1)).collect()
}

/// Eight logical blocks in 16: six replacement blocks can be appended, and the seventh has a chain
/// folded. That is the longest, or of equals the one of the lowest logical block, whatever came
/// first.
#[test]
fn the_longest_chain_is_folded_when_no_block_is_left() {
    for (written, expected) in [
        ([5, 5, 5, 2, 2, 6], 5),
        ([2, 6, 2, 5, 5, 5], 5),
        ([1, 3, 3, 6, 6, 6], 6),
        ([3, 6, 1, 6, 1, 3], 1),
        ([1, 3, 6, 1, 3, 6], 1),
    ] {
        let mut drive = support::device(&serde_json::json!({"ftl": {"mapping": "replacement"}}));
        for lbn in written {
            support::write(&mut drive, &[lbn * 4]);
        }
        let apart: Vec<u64> = (0..8).filter(|lbn| !written.contains(lbn)).collect();
        assert_eq!(folded(&drive), apart, "{written:?}");
        support::write(&mut drive, &[0]);
        let mut now: Vec<u64> =
            apart.into_iter().filter(|&lbn| lbn != 0).chain([expected]).collect();
        now.sort_unstable();
        assert_eq!(folded(&drive), now, "{written:?}");
        drive.finish().unwrap();
    }
}
