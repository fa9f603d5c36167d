//! Block mapping: one physical block for each logical block, every page at its own offset.
//!
//! **What it does.** The map has one entry a logical block. A page whose slot in the block is still
//! erased is written there. Any other write takes a *copy of the block*: the pages of the request
//! and all others that the logical block holds go to an erased block, in order, and the old block
//! is erased. Pages of one request that lie in one logical block are written with one copy.
//!
//! **When it wins**: the smallest map there is; media that are written once, or whole blocks at a
//! time. **When it loses**: everywhere else. One page written over costs a block of copies and an
//! erase.
//!
//! Block mapping of the `SmartMedia` card, as described in Kim & Ahn 2008 (BPLRU), section 2.2, and
//! in the HBM thesis, section 2.2.
//!
//! **Where the papers are silent.** Which erased block is taken: one of the plane of the old block,
//! where there is one. A copy of a block counts as a full merge. The host's pages are written with
//! it, and the request does not wait for the erase of the old block (`merge_erase = "before"`: it
//! does). Two erased blocks are needed beside the data blocks: one to copy into, and one that stays
//! erased in case power fails.
//!
//! **Trims.** A trim costs nothing at once. So that trimmed pages do not come back after a power
//! cut, one page, a *tombstone*, speaks of all those of a logical block. It stands in the place of
//! the first of them in each copy of the block, for one program, until they are written again. A
//! flush copies each block with trimmed pages that no copy has buried yet: its other pages are read
//! and programmed, the tombstone is programmed, and one block is erased.
//!
//! Cost of a page write: O(1) in place, else a visit of each page of the block.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::{
    BlockScheme, Blocks, Folded, MERGE_ERASE, MergeErase, Placement, Way, require,
};
use crate::ftl::context::{Cx, PageOut};
use crate::ftl::{Mapping, Shape};
use crate::metrics::observer::Folding;
use crate::nand::JoinId;
use crate::support::ids::{LogicalBlock, Lpn};
use crate::support::registry::About;
use crate::upkeep::Upkeep;

/// What `list` says.
pub const ABOUT: About = About {
    title: "block mapping",
    summary: "One physical block for each logical block, pages at their own offsets; writing over \
        a page copies its block.",
    paper: "SmartMedia logical format, as in Kim and Ahn, BPLRU, FAST 2008, section 2.2",
    choices: &[MERGE_ERASE],
    source: include_str!("block.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// When the erases that a request causes come: after the host's write, or before it, so that
    /// the request waits for them.
    pub merge_erase: MergeErase,
}

/// Blocks beyond the exported ones: one to copy into, and one that stays erased, in case power
/// fails before the old block is.
pub(super) const SPARE: u32 = 2;

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too few blocks, or a chip that it cannot work with.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        require(Block::NAME, shape, true, (SPARE, "2 to copy into"))?;
        Ok(Folded::boxed(shape, Placement::Fixed, self.merge_erase, Block))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Block;

/// The pages of a batch that lie in the logical block of the first one, in ascending order.
pub(super) fn group<'a>(blocks: &Blocks, pages: &'a [PageOut]) -> &'a [PageOut] {
    let (lbn, _) = blocks.split(pages[0].lpn);
    let ascending = pages.windows(2).take_while(|pair| pair[0].lpn < pair[1].lpn);
    let count = 1 + ascending.take_while(|pair| blocks.split(pair[1].lpn).0 == lbn).count();
    &pages[..count]
}

/// Copies a logical block to an erased block, with `fresh` pages of the host in it; `false` while
/// there is none to take.
pub(super) fn rewrite(
    blocks: &mut Blocks,
    cx: &mut Cx<'_>,
    lbn: LogicalBlock,
    fresh: (&[PageOut], JoinId),
) -> bool {
    if !blocks.can_take(cx, 1) {
        return false;
    }
    blocks.merge(cx, lbn, &[blocks.data[lbn.index()]], Way::Full, fresh);
    true
}

impl BlockScheme for Block {
    fn upkeep(&self, _blocks: &Blocks) -> Upkeep {
        Upkeep::OwnLogs { logs: 0, each: 1, width: 1, whole: 1 }
    }

    const NAME: &'static str = "block";

    fn write(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        pages: &[PageOut],
        waits: JoinId,
    ) -> usize {
        let group = group(blocks, pages);
        if group.iter().all(|out| blocks.direct(cx.flash, out.lpn, 1) == 1) {
            return blocks.write_direct(cx, group, waits).unwrap_or(0);
        }
        let (lbn, _) = blocks.split(group[0].lpn);
        if rewrite(blocks, cx, lbn, (group, waits)) { group.len() } else { 0 }
    }

    fn folding(&self) -> Folding {
        Folding::Anew
    }

    fn write_tombstones(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, pages: &[Lpn]) -> bool {
        let (lbn, _) = blocks.split(pages[0]);
        rewrite(blocks, cx, lbn, (&[], JoinId::NONE))
    }
}
