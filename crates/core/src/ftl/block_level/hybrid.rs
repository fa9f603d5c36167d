//! Hybrid mapping: one physical block for each logical block, pages anywhere inside it.
//!
//! **What it does.** The map has one entry a logical block, and inside each block a table says
//! which page holds which offset. Pages are written one after the other in the order of arrival, so
//! that a page may be written over as long as the block has room. A full block is *written anew*:
//! the newest version of each page and the pages of the request go to an erased block, in the order
//! of offsets, and the old block is erased.
//!
//! **When it wins**: logical blocks that are never quite full, or are first written in any order;
//! chips that demand sequential programming, since it leaves no page out. **When it loses**: on a
//! full drive every write over a page copies its block, as with block mapping.
//!
//! Kim and Lee, "Method of driving remapping in flash memory and flash memory architecture suitable
//! therefor", US Patent 6,381,176 (2002), as described in Kim & Ahn 2008 (BPLRU), section 2.2:
//! block mapping whose "sector position is not fixed inside the block".
//!
//! **Where the paper is silent.** A physical block is as large as a logical block; the order of the
//! pages in a block written anew is that of their offsets. Such a block counts as a full merge, and
//! a request does not wait for the erase of the old one (`merge_erase`). Of a request, as many
//! pages as there is room for go to the block, and the others into the one written anew.
//!
//! **Trims.** A trim costs nothing at once. So that trimmed pages do not come back after a power
//! cut, one page, a *tombstone*, speaks of all those of a logical block. A flush writes it to the
//! block's next page, for one program, where pages have been trimmed and not buried yet; a full
//! block is written anew for it. Each block written anew has one, until the pages are written
//! again.
//!
//! Cost of a page write: O(1) while there is room, else a visit of each page of the block.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::block::{SPARE, group, rewrite};
use super::blocks::{BlockScheme, Blocks, Folded, MERGE_ERASE, MergeErase, Placement, require};
use crate::ftl::context::{Cx, PageOut, Place};
use crate::ftl::{Mapping, Shape};
use crate::metrics::observer::Folding;
use crate::nand::JoinId;
use crate::support::ids::{LogicalBlock, Lpn};
use crate::support::registry::About;
use crate::upkeep::Upkeep;

/// What `list` says.
pub const ABOUT: About = About {
    title: "hybrid mapping",
    summary: "One physical block for each logical block, pages in it in the order of writing; a \
        full block is written anew.",
    paper: "Kim and Lee, US Patent 6,381,176, as in Kim and Ahn, BPLRU, FAST 2008, section 2.2",
    year: Some(2002),
    reconstruction: true,
    choices: &[MERGE_ERASE],
    source: include_str!("hybrid.rs"),
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

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too few blocks, or a chip that it cannot work with.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        require(Hybrid::NAME, shape, false, (SPARE, "2 to copy into"))?;
        Ok(Folded::boxed(shape, Placement::Free, self.merge_erase, Hybrid))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Hybrid;

/// The next page of a logical block's data block, which is taken where there is none; `None` while
/// there is no block to take.
fn next_page(blocks: &mut Blocks, cx: &mut Cx<'_>, lbn: LogicalBlock) -> Option<Place> {
    let block = blocks.data_block(cx, lbn)?;
    Some(Place { block, page: cx.flash.write_ptr(block), label: Blocks::data_label(lbn) })
}

impl BlockScheme for Hybrid {
    fn upkeep(&self, _blocks: &Blocks) -> Upkeep {
        Upkeep::OwnLogs { logs: 0, each: 1, width: 1, whole: 1 }
    }

    const NAME: &'static str = "hybrid";

    fn write(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        pages: &[PageOut],
        waits: JoinId,
    ) -> usize {
        let group = group(blocks, pages);
        let (lbn, _) = blocks.split(group[0].lpn);
        let Some(at) = next_page(blocks, cx, lbn) else { return 0 };
        let room = (blocks.ppb() - at.page) as usize;
        if room == 0 {
            return if rewrite(blocks, cx, lbn, (group, waits)) { group.len() } else { 0 };
        }
        let count = group.len().min(room);
        blocks.program(cx, at, &group[..count], waits);
        count
    }

    const WRITES_ALONE: bool = true;

    fn write_alone(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, page: PageOut) -> bool {
        let (lbn, _) = blocks.split(page.lpn);
        let block = blocks.data[lbn.index()];
        if block.is_none() || cx.flash.write_ptr(block) >= blocks.ppb() {
            return false;
        }
        let at = Place { block, page: cx.flash.write_ptr(block), label: Blocks::data_label(lbn) };
        blocks.program_alone(cx, at, page);
        true
    }

    fn folding(&self) -> Folding {
        Folding::Anew
    }

    fn write_tombstones(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, pages: &[Lpn]) -> bool {
        let (lbn, _) = blocks.split(pages[0]);
        let Some(at) = next_page(blocks, cx, lbn) else { return false };
        if at.page == blocks.ppb() {
            return rewrite(blocks, cx, lbn, (&[], JoinId::NONE));
        }
        blocks.write_tombstones(cx, at, pages);
        true
    }
}
