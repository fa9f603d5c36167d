//! Superblocks: adjacent logical blocks share physical blocks, in which their pages may lie
//! anywhere.
//!
//! **What it does.** `blocks` adjacent logical blocks make a *superblock*. It has as many physical
//! blocks, its data blocks, and up to `update_blocks` more. Inside it pages are mapped freely: all
//! of them are written, in the order of arrival, to the block that it has open. When that is full,
//! the superblock
//!
//! 1. takes an erased block, if it has not all its update blocks and one can be had;
//! 2. else, if it has all its update blocks, collects garbage in itself: the block with fewest
//!    pages still needed is emptied into an erased block, which is then the open one, and erased;
//! 3. else makes the superblock written longest ago, of those that have update blocks, give one up,
//!    by collecting garbage there.
//!
//! Pages that are written often gather in the blocks written last, the others stay behind in the
//! ones collected.
//!
//! **When it wins**: hot pages among cold ones in a small range: space is shared where it is
//! needed, and no page of another superblock is ever copied for it. **When it loses**: uniform
//! random writes, which leave no block of a superblock with little to copy.
//!
//! J.-U. Kang, H. Jo, J.-S. Kim and J. Lee, "A superblock-based flash translation layer for NAND
//! flash memory", EMSOFT 2006.
//!
//! **Where the paper is silent**, as far as it could be read: how many logical blocks make a
//! superblock, and how many update blocks it may have. A block is emptied into what is left of the
//! open block, then into an erased one, over and over until there is room. Two erased blocks are
//! not given out: one to collect into, and one that stays erased in case power fails. Among blocks
//! with as few pages needed, the one of the lowest number is emptied; the open block is not, while
//! it has room. Superblock `s` takes its blocks from plane `s` modulo the planes, the one erased
//! longest ago first; where there is none, from the plane with most. Where so many blocks are worn
//! out that a single one is erased, garbage is collected into that. Collecting counts as no merge,
//! and a request does not wait for the erases that it causes (`merge_erase`). The map lies in RAM
//! for nothing; the original keeps it in the spare areas.
//!
//! **Trims.** A trim costs nothing at once. So that trimmed pages do not come back after a power
//! cut, one page, a *tombstone*, speaks of all those of a logical block. A flush writes it to the
//! open block, for one program, where pages have been trimmed and not buried yet; it counts as a
//! write of the superblock. In a block that is emptied, all trimmed pages and tombstones that still
//! count are as one page needed, and leave one tombstone for one program.
//!
//! Cost of a page write: O(1), but for garbage collection, which looks at each page of a
//! superblock.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::{BlockScheme, Blocks, Folded, MERGE_ERASE, MergeErase, Placement, require};
use crate::ftl::context::{Cx, Label, PageOut, Place};
use crate::ftl::{Mapping, Shape};
use crate::nand::{Cause, Flash, JoinId, Media, Role};
use crate::support::ids::{BlockId, LogicalBlock, Lpn, PlaneId};
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice};
use crate::support::roomy::Roomy;
use crate::upkeep::Upkeep;

/// What `list` says.
pub const ABOUT: About = About {
    title: "superblock",
    summary: "Adjacent logical blocks share data and update blocks, with pages anywhere in them \
        and garbage collection inside.",
    paper: "Kang et al., A superblock-based flash translation layer for NAND flash memory, EMSOFT",
    year: Some(2006),
    reconstruction: true,
    choices: &[
        Choice {
            option: "blocks",
            others: &["4", "16"],
            open: "how many logical blocks make a superblock",
        },
        Choice {
            option: "update_blocks",
            others: &["2", "16"],
            open: "how many update blocks a superblock may have",
        },
        MERGE_ERASE,
    ],
    source: include_str!("superblock.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Logical blocks of a superblock.
    pub blocks: u32,
    /// Update blocks that a superblock has at most.
    pub update_blocks: u32,
    /// When the erases that a request causes come: after the host's write, or before it, so that
    /// the request waits for them.
    pub merge_erase: MergeErase,
}

impl Default for Config {
    fn default() -> Self {
        Self { blocks: 8, update_blocks: 8, merge_erase: MergeErase::After }
    }
}

/// Blocks beyond the exported ones: an update block, one to collect into, and one that stays
/// erased, in case power fails before a victim's erase has ended.
const SPARE: u32 = 3;

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too few blocks, a chip that it cannot work with, or impossible options.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        for (option, found) in [("blocks", self.blocks), ("update_blocks", self.update_blocks)] {
            if !(1..=1 << 16).contains(&found) {
                return Err(format!(
                    "ftl.mapping.{option}: found {found}, expected 1 to {}",
                    1 << 16
                ));
            }
        }
        require(Superblock::NAME, shape, false, (SPARE, "1 update block, 2 to collect into"))?;
        let groups =
            shape.logical_pages.div_ceil(shape.geometry.pages_per_block).div_ceil(self.blocks);
        let group =
            Group { blocks: Roomy::default(), open: BlockId::NONE, label: Label::default() };
        let scheme = Superblock {
            pages: u64::from(self.blocks) * u64::from(shape.geometry.pages_per_block),
            most: self.update_blocks,
            logical_pages: shape.logical_pages,
            groups: vec![group; groups as usize],
            order: List::default(),
            links: Links::new(groups as usize),
            needs: vec![Need::default(); shape.geometry.blocks() as usize],
        };
        Ok(Folded::boxed(shape, Placement::Free, self.merge_erase, scheme))
    }
}

/// A superblock.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Group {
    /// Its physical blocks.
    blocks: Roomy<BlockId>,
    /// The one that is being written, or [`BlockId::NONE`].
    open: BlockId,
    label: Label,
}

/// What a physical block still holds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Need {
    live: u32,
    trimmed: bool,
}

impl Need {
    /// Pages that it takes elsewhere: one tombstone speaks of all trimmed ones.
    fn pages(self) -> u32 {
        self.live + u32::from(self.trimmed)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Superblock {
    /// Pages of a superblock.
    pages: u64,
    /// Update blocks of a superblock at most.
    most: u32,
    logical_pages: u32,
    groups: Vec<Group>,
    /// Superblocks that have update blocks, the one written longest ago last.
    order: List,
    links: Links,
    /// Scratch: for each physical block of the superblock that is looked at.
    needs: Vec<Need>,
}

impl Superblock {
    fn group_of(&self, lpn: Lpn) -> u32 {
        (u64::from(lpn.0) / self.pages) as u32
    }

    fn pages_of(&self, group: u32) -> Range<Lpn> {
        let end = u64::from(self.logical_pages).min((u64::from(group) + 1) * self.pages);
        Lpn((u64::from(group) * self.pages) as u32)..Lpn(end as u32)
    }

    /// Data blocks of a superblock: the last one may have fewer.
    fn data_blocks(&self, ppb: u32, group: u32) -> usize {
        let pages = self.pages_of(group);
        ((pages.end - pages.start) / ppb) as usize
    }

    /// The next page of the open block, if there is one.
    fn next_page(&self, flash: &Flash, group: u32) -> Option<Place> {
        let Group { open, label, .. } = self.groups[group as usize];
        let page = if open.is_none() { u32::MAX } else { flash.write_ptr(open) };
        (page < flash.geometry.pages_per_block).then_some(Place { block: open, page, label })
    }

    /// Opens an erased block.
    fn open(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, group: u32) {
        let block = blocks.take(blocks.geometry.unit_in_turn(group));
        let g = &mut self.groups[group as usize];
        (g.open, g.label) = (block, cx.label(Role::Data, LogicalBlock(group)));
        g.blocks.push(block);
        if g.blocks.len() == self.data_blocks(blocks.ppb(), group) + 1 {
            self.order.push_front(&mut self.links, group);
        }
    }

    /// One step towards a page that can be written in `group`; `false` while an erase has to end
    /// first.
    fn make_room(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, group: u32) -> bool {
        let has = self.groups[group as usize].blocks.len();
        // A victim that wears out by its erase leaves a single erased block. To do without one in
        // reserve is better than to end here.
        let at_last = blocks.has_worn_out() && blocks.pool.total() == 1 && cx.erasing() == 0;
        if has >= self.data_blocks(blocks.ppb(), group) + self.most as usize {
            return self.collect(blocks, cx, group, at_last);
        }
        // One is left to collect into.
        if blocks.can_take(cx, 2) {
            self.open(blocks, cx, group);
            return true;
        }
        // Without update blocks anywhere there would be enough, unless blocks are worn out.
        let none_comes = blocks.pool.total() <= 2 && !self.order.is_empty();
        none_comes && self.collect(blocks, cx, self.order.back(), at_last)
    }

    /// The block of a superblock that is emptied next, and what it holds.
    fn victim(&mut self, blocks: &Blocks, flash: &Flash, group: u32) -> (BlockId, Need) {
        for (block, trimmed) in blocks.words(self.pages_of(group)) {
            let need = &mut self.needs[block.index()];
            need.live += u32::from(!trimmed);
            need.trimmed |= trimmed;
        }
        let open = self.next_page(flash, group).map_or(BlockId::NONE, |at| at.block);
        let (mut closed, mut opened) = ((BlockId::NONE, Need::default()), (open, Need::default()));
        for &block in &self.groups[group as usize].blocks {
            let need = std::mem::take(&mut self.needs[block.index()]);
            if block == open {
                opened.1 = need;
            } else if closed.0.is_none() || (need.pages(), block) < (closed.1.pages(), closed.0) {
                closed = (block, need);
            }
        }
        // Where all others are full of pages that are needed, the open block holds none.
        if closed.0 != BlockId::NONE && closed.1.pages() < flash.geometry.pages_per_block {
            closed
        } else {
            opened
        }
    }

    /// Empties a block of a superblock and erases it; `false` while there is no block to take.
    fn collect(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, group: u32, at_last: bool) -> bool {
        let (victim, need) = self.victim(blocks, cx.flash, group);
        let target = self.next_page(cx.flash, group).filter(|at| at.block != victim);
        let room = target.map_or(0, |at| blocks.ppb() - at.page);
        if need.pages() > room && !blocks.can_fold(cx, at_last) {
            return false;
        }
        let mut pages = self.pages_of(group);
        if let Some(at) = target {
            pages.start = blocks.gather(cx, pages.clone(), victim, at);
        }
        if need.pages() > room {
            self.open(blocks, cx, group);
            if let Some(at) = self.next_page(cx.flash, group) {
                blocks.gather(cx, pages, victim, at);
            }
        }
        let data = self.data_blocks(blocks.ppb(), group);
        let g = &mut self.groups[group as usize];
        g.blocks.retain(|&block| block != victim);
        if g.open == victim {
            g.open = BlockId::NONE;
        }
        if g.blocks.len() == data {
            self.order.remove(&mut self.links, group);
        }
        blocks.erase(cx, victim, Cause::Gc, JoinId::NONE);
        true
    }

    /// A superblock has been written.
    fn written(&mut self, blocks: &Blocks, group: u32) {
        if self.groups[group as usize].blocks.len() > self.data_blocks(blocks.ppb(), group) {
            self.order.touch(&mut self.links, group);
        }
    }

    /// The next page that can be written in `group`, or `None` while an erase has to end first.
    fn place(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, group: u32) -> Option<Place> {
        loop {
            if let Some(at) = self.next_page(cx.flash, group) {
                return Some(at);
            }
            if !self.make_room(blocks, cx, group) {
                return None;
            }
        }
    }
}

impl BlockScheme for Superblock {
    fn upkeep(&self, blocks: &Blocks) -> Upkeep {
        let width = (self.pages / u64::from(blocks.ppb())) as u32;
        Upkeep::Superblocks { width, each: self.most }
    }

    fn unit_of_block(&self, blocks: &Blocks, block: LogicalBlock) -> Option<PlaneId> {
        let group = self.group_of(block.first(blocks.ppb()));
        let open = self.groups[group as usize].open;
        let is_open = !open.is_none();
        Some(if is_open {
            blocks.geometry.unit_of(open)
        } else {
            blocks.geometry.unit_in_turn(group)
        })
    }

    const NAME: &'static str = "superblock";

    fn write(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        pages: &[PageOut],
        waits: JoinId,
    ) -> usize {
        let group = self.group_of(pages[0].lpn);
        let Some(at) = self.place(blocks, cx, group) else { return 0 };
        let room = (blocks.ppb() - at.page) as usize;
        let count =
            pages.iter().take(room).take_while(|out| self.group_of(out.lpn) == group).count();
        blocks.program(cx, at, &pages[..count], waits);
        self.written(blocks, group);
        count
    }

    fn write_tombstones(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, pages: &[Lpn]) -> bool {
        let group = self.group_of(pages[0]);
        let Some(at) = self.place(blocks, cx, group) else { return false };
        blocks.write_tombstones(cx, at, pages);
        self.written(blocks, group);
        true
    }

    fn recover(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, found: &Media) {
        let pages: Vec<_> =
            (0..self.groups.len() as u32).map(|group| self.pages_of(group)).collect();
        let kept = blocks.read_back(cx, found, &pages);
        for (group, owned) in (0..).zip(kept) {
            if owned.len() > self.data_blocks(blocks.ppb(), group) {
                self.order.push_front(&mut self.links, group);
            }
            // The one with most room goes on being written.
            let open = owned.iter().copied().min_by_key(|&block| cx.flash.write_ptr(block));
            let label = cx.label(Role::Data, LogicalBlock(group));
            self.groups[group as usize] =
                Group { blocks: owned.into(), open: open.unwrap_or(BlockId::NONE), label };
        }
        // Collections that power cut short may have left less in the pool than there should be.
        // Where blocks are worn out, there may be none to collect into.
        while blocks.pool.total() < SPARE
            && !self.order.is_empty()
            && self.collect(blocks, cx, self.order.back(), true)
        {}
    }

    fn others(&self) -> Vec<BlockId> {
        self.groups.iter().flat_map(|group| &group.blocks).copied().collect()
    }

    fn describe(&self) -> String {
        format!(
            "{} of {} superblocks have update blocks, ",
            self.order.iter(&self.links).count(),
            self.groups.len()
        )
    }

    fn bytes(&self) -> usize {
        let owned: usize = self.groups.iter().map(|group| group.blocks.capacity() * 4).sum();
        self.groups.len() * size_of::<Group>()
            + owned
            + self.links.bytes()
            + self.needs.len() * size_of::<Need>()
    }
}
