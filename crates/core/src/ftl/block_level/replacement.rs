//! Replacement blocks: each logical block has a chain of physical blocks, with every page at its
//! own offset in each.
//!
//! **What it does.** A page goes to the first block of the chain in which its slot is still erased;
//! if there is none, an erased block is appended, a *replacement block*. The newest version of a
//! page is the one in the last block of the chain that has it. When no erased block is left to
//! append, or the chain is as long as it may be, a chain is *folded*: the newest pages that the
//! last block lacks are copied into it where their slots are erased there, else all go to an erased
//! block; the rest of the chain is erased.
//!
//! **When it wins**: whole blocks written over in order, which fold for nothing; little RAM. **When
//! it loses**: a page written often takes a whole block for each version.
//!
//! A. Ban, "Flash file system", US Patent 5,404,485 (1995), in the form for NAND flash; as
//! described in Kim & Ahn 2008 (BPLRU), section 2.2.
//!
//! **Where the papers are silent.** How long a chain may grow: as long as there are erased blocks
//! (`chain_limit`). Which chain is folded when there are none: the longest, the one of the lowest
//! logical block among equals. Two erased blocks are never appended: one is there to fold into, and
//! one stays erased in case power fails. A fold into the last block with nothing to copy counts as
//! a switch, with something as a partial merge, and one into an erased block as a full merge. On
//! chips that program upwards only, a slot below a block's last page counts as taken. A request
//! does not wait for the erases of the folds that it causes (`merge_erase`).
//!
//! **Trims.** A trim costs nothing at once. So that trimmed pages do not come back after a power
//! cut, one page, a *tombstone*, speaks of all those of a logical block. A flush folds each chain
//! with trimmed pages that are not buried yet into an erased block, with the tombstone in the place
//! of the first of them. A trimmed page, or its tombstone, that lies outside the last block is
//! something to copy for later folds, too: it costs one program for all of them, until they are
//! written again.
//!
//! Cost of a page write: O(1) amortised over the blocks of a chain, each of which is passed over
//! once for each offset, and O(log logical blocks) where a chain grows; a fold visits each page of
//! a block once.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::{
    BlockScheme, Blocks, Folded, MERGE_ERASE, MergeErase, Placement, Way, require,
};
use crate::ftl::context::{Cx, PageOut, Place};
use crate::ftl::{Mapping, Shape};
use crate::nand::{Flash, JoinId};
use crate::support::heap::Heap;
use crate::support::ids::{BlockId, LogicalBlock, Lpn};
use crate::support::registry::{About, Choice, Cost};
use crate::support::roomy::Roomy;

/// What `list` says.
pub const ABOUT: About = About {
    title: "replacement blocks",
    summary: "A chain of physical blocks for each logical block, pages at their own offsets; the \
        longest chain is folded.",
    paper: "Ban, US Patent 5,404,485, as in Kim and Ahn, BPLRU, FAST 2008, section 2.2",
    year: Some(1995),
    reconstruction: true,
    cost: Cost::Logarithmic,
    choices: &[
        Choice {
            option: "chain_limit",
            others: &["2"],
            open: "how many physical blocks a logical block may have before they are folded",
        },
        MERGE_ERASE,
    ],
    source: include_str!("replacement.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Physical blocks that a logical block has at most (at least 2). Default: as many as there
    /// are.
    pub chain_limit: Option<u32>,
    /// When the erases that a request causes come: after the host's write, or before it, so that
    /// the request waits for them.
    pub merge_erase: MergeErase,
}

/// Blocks beyond the exported ones: one to append, one to fold into, and one that stays erased, in
/// case power fails before a fold's erases have ended.
const SPARE: u32 = 3;

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too few blocks, a chip that it cannot work with, or impossible options.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        if let Some(limit @ (0 | 1)) = self.chain_limit {
            return Err(format!("ftl.mapping.chain_limit: found {limit}, expected at least 2"));
        }
        require(Replacement::NAME, shape, true, (SPARE, "1 to append, 2 to fold into"))?;
        let data = shape.logical_pages.div_ceil(shape.geometry.pages_per_block) as usize;
        let scheme = Replacement {
            limit: self.chain_limit.unwrap_or(u32::MAX),
            replacements: vec![Roomy::default(); data],
            place: vec![0; shape.geometry.blocks() as usize],
            longest: Heap::new(data),
        };
        Ok(Folded::boxed(shape, Placement::Fixed, self.merge_erase, scheme))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Replacement {
    limit: u32,
    /// Chain of each logical block, behind its data block.
    replacements: Vec<Roomy<BlockId>>,
    /// Place of each physical block in its chain; the data block's is 0.
    place: Vec<u32>,
    /// Logical blocks with a chain of more than one block, the longest first.
    longest: Heap<(Reverse<usize>, LogicalBlock)>,
}

impl Replacement {
    /// The first block of the chain that can take page `lpn`. It comes no earlier than the one that
    /// holds the page now.
    fn slot(&self, blocks: &Blocks, flash: &Flash, lpn: Lpn) -> Option<BlockId> {
        let (lbn, offset) = blocks.split(lpn);
        let holder = blocks.holder(lpn);
        let place = if holder.is_none() { 0 } else { self.place[holder.index()] };
        let data = blocks.data[lbn.index()];
        if place == 0 && data != BlockId::NONE && flash.accepts(data, offset) {
            return Some(data);
        }
        let rest = self.replacements[lbn.index()].iter().skip((place as usize).saturating_sub(1));
        rest.copied().find(|&block| flash.accepts(block, offset))
    }

    /// Appends a block to the chain of `lbn`, or folds a chain to make room for that; `false` while
    /// neither can be done.
    fn extend(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, lbn: LogicalBlock) -> bool {
        let chain = &mut self.replacements[lbn.index()];
        if chain.len() + 1 >= self.limit as usize {
            return self.try_fold(blocks, cx, lbn, false);
        }
        // One is left to fold into.
        if !blocks.can_take(cx, 2) {
            let waits = blocks.pool.total() > 2;
            return !waits
                && self
                    .longest
                    .first()
                    .is_some_and(|((_, lbn), _)| self.try_fold(blocks, cx, lbn, false));
        }
        let block = blocks.take(blocks.home(lbn));
        if blocks.data[lbn.index()].is_none() {
            blocks.data[lbn.index()] = block;
            self.place[block.index()] = 0;
        } else {
            chain.push(block);
            self.place[block.index()] = chain.len() as u32;
            self.longest.set(lbn.0, (Reverse(chain.len()), lbn));
        }
        true
    }

    /// How the chain of `lbn` is folded.
    fn way(&self, blocks: &Blocks, flash: &Flash, lbn: LogicalBlock) -> Way {
        let last =
            self.replacements[lbn.index()].last().copied().unwrap_or(blocks.data[lbn.index()]);
        blocks.way(flash, lbn, last, true)
    }

    /// Folds the chain of `lbn` into one block.
    fn fold(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, lbn: LogicalBlock, way: Way) {
        let mut chain = vec![blocks.data[lbn.index()]];
        chain.append(&mut self.replacements[lbn.index()]);
        blocks.merge(cx, lbn, &chain, way, (&[], JoinId::NONE));
        self.place[blocks.data[lbn.index()].index()] = 0;
        self.longest.remove(lbn.0);
    }

    /// The same; `false` while there is no block to take.
    fn try_fold(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        lbn: LogicalBlock,
        at_last: bool,
    ) -> bool {
        let way = self.way(blocks, cx.flash, lbn);
        let can = way != Way::Full || blocks.can_fold(cx, at_last);
        if can {
            self.fold(blocks, cx, lbn, way);
        }
        can
    }
}

impl BlockScheme for Replacement {
    /// A whole block takes the place of its chain, which is erased and not folded.
    fn padding_pays(&self, _blocks: &Blocks, _pages: u32) -> bool {
        true
    }

    const NAME: &'static str = "replacement";

    fn write(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        pages: &[PageOut],
        waits: JoinId,
    ) -> usize {
        let (lbn, offset) = blocks.split(pages[0].lpn);
        let block = loop {
            if let Some(block) = self.slot(blocks, cx.flash, pages[0].lpn) {
                break block;
            }
            if !self.extend(blocks, cx, lbn) {
                return 0;
            }
        };
        let next =
            pages.iter().zip(pages[0].lpn.onwards()).take((blocks.ppb() - offset) as usize).skip(1);
        let same = |(out, lpn): &(&PageOut, Lpn)| {
            out.lpn == *lpn && self.slot(blocks, cx.flash, *lpn) == Some(block)
        };
        let count = 1 + next.take_while(same).count();
        let at = Place { block, page: offset, label: Blocks::data_label(lbn) };
        blocks.program(cx, at, &pages[..count], waits);
        count
    }

    const WRITES_ALONE: bool = true;

    fn write_alone(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, page: PageOut) -> bool {
        let (lbn, offset) = blocks.split(page.lpn);
        let Some(block) = self.slot(blocks, cx.flash, page.lpn) else { return false };
        let at = Place { block, page: offset, label: Blocks::data_label(lbn) };
        blocks.program_alone(cx, at, page);
        true
    }

    fn write_tombstones(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, pages: &[Lpn]) -> bool {
        let (lbn, _) = blocks.split(pages[0]);
        let can = blocks.can_take(cx, 1);
        if can {
            self.fold(blocks, cx, lbn, Way::Full);
        }
        can
    }

    fn merge_all(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>) -> bool {
        while let Some(((_, lbn), _)) = self.longest.first()
            && self.try_fold(blocks, cx, lbn, true)
        {}
        self.longest.first().is_none()
    }

    fn others(&self) -> Vec<BlockId> {
        self.replacements.iter().flatten().copied().collect()
    }

    fn describe(&self) -> String {
        format!("{} logical blocks have replacement blocks, ", self.longest.len())
    }

    fn bytes(&self) -> usize {
        let chains: usize = self.replacements.iter().map(|chain| chain.capacity() * 4).sum();
        self.replacements.len() * size_of::<Vec<u32>>()
            + chains
            + self.place.len() * 4
            + self.longest.bytes()
    }
}
