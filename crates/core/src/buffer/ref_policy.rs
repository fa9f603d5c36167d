//! REF: recently evicted first, a write buffer of pages that go to flash in the company of their
//! block.
//!
//! **What it does.** One list of pages, the most recent first; the last ones are in a window. The
//! blocks that pages were lately evicted of are the *victim blocks*, for which the FTL has log
//! blocks open. The last page of the window that belongs to a victim block leaves, alone. If there
//! is none, the block with most pages in the window becomes a victim block, in place of the one
//! that has been one for longest. Reads are served from the buffer where it has the page; they
//! move nothing and allocate nothing.
//!
//! **When it wins**: FTLs with few log blocks, which it keeps to a few logical blocks at a time.
//! **When it loses**: scattered writes, of which no block has several pages in the window; FTLs
//! that map pages.
//!
//! D. Seo and D. Shin, "Recently-evicted-first buffer replacement policy for flash storage
//! devices", IEEE Trans. Consumer Electronics 54(3), 2008. A reconstruction: of that paper only the
//! abstract was at hand.
//!
//! **Where the abstract is silent.** The window is half of the buffer (`window`), rounded to the
//! nearest page. There are eight victim blocks (`victim_blocks`), which should be about as many as
//! the FTL has log blocks. Of blocks with as many pages in the window, the one whose last page was
//! used longest ago is taken. A flush command makes pages leave by the same rule until none is
//! dirty; those that stay come back. `reads = "allocate"` makes it a buffer for reads, too.
//!
//! Cost of a page access: O(log n) in the blocks that have pages in the window.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocks::{ReadPolicy, require_share};
use super::kit::paged::{PageOrder, Paged, Victim};
use super::kit::pages::PageTable;
use super::kit::stamps::Stamps;
use super::kit::window::Window;
use super::{Buffer, Reason, Shape};
use crate::support::bits::Bits;
use crate::support::heap::Heap;
use crate::support::ids::{LogicalBlock, Lpn};
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Cost, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "REF",
    summary: "Write buffer of pages; the last page whose block was evicted from lately leaves.",
    paper: "Seo and Shin, Recently-evicted-first buffer replacement policy for flash storage \
        devices, IEEE TCE 54(3)",
    year: Some(2008),
    reconstruction: true,
    cost: Cost::Logarithmic,
    choices: &[
        Choice { option: "window", others: &["0.25", "1.0"], open: "the size of the window" },
        Choice {
            option: "victim_blocks",
            others: &["1", "64"],
            open: "how many victim blocks there are",
        },
        Choice {
            option: "reads",
            others: &[r#""allocate""#],
            open: "whether it is a buffer for writes alone",
        },
    ],
    examples: &[Example {
        source: "",
        shows: "One victim block, all pages in the window. Page LRU would write 0, 4, 1, 5 and \
            change the block each time; here pages 0 and 1 leave together, then 4 and 5.",
        capacity: 4,
        pages_per_block: 4,
        options: r#"{"victim_blocks": 1, "window": 1.0}"#,
        requests: "W 0, W 4, W 1, W 5, W 8, W 12, W 16, W 20",
    }],
    source: include_str!("ref_policy.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Share of the buffer that the window takes, 0 to 1; at least one page.
    pub window: f64,
    /// Victim blocks, at least 1: about as many as the FTL has log blocks.
    pub victim_blocks: u32,
    /// What reads do.
    pub reads: ReadPolicy,
}

impl Default for Config {
    fn default() -> Self {
        Self { window: 0.5, victim_blocks: 8, reads: ReadPolicy::Bypass }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, a window that is no share, or no victim block.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_share("window", self.window)?;
        if self.victim_blocks == 0 {
            return Err("buffer.scheme.victim_blocks: found 0, expected at least 1".into());
        }
        let blocks = shape.logical_pages.div_ceil(shape.pages_per_block) as usize;
        let order = |slots: usize| Ref {
            pages_per_block: shape.pages_per_block,
            window: Window::new(
                slots,
                (libm::round(self.window * f64::from(shape.capacity)) as u32).max(1),
            ),
            used: Stamps::new(slots),
            links: Links::new(slots),
            block_of: vec![LogicalBlock::NONE; slots],
            inside: vec![Inside::default(); blocks],
            by_pages: Heap::new(blocks),
            most_victims: self.victim_blocks,
            victims: VecDeque::with_capacity(blocks.min(self.victim_blocks as usize)),
            is_victim: Bits::new(blocks),
            due: Heap::new(blocks),
        };
        Paged::build("ref", shape, self.reads, order)
    }
}

const OF_VICTIM: Reason = "last page in the window of a victim block";
const NEW_VICTIM: Reason = "last page of a new victim block, the one with most pages in the window";

/// A block's pages in the window.
#[derive(Debug, Clone, Copy, Default)]
struct Inside {
    pages: List,
    count: u32,
}

#[derive(Debug)]
struct Ref {
    pages_per_block: u32,
    window: Window,
    /// When each slot was used.
    used: Stamps,
    /// Of the slots in the window, by block.
    links: Links,
    block_of: Vec<LogicalBlock>,
    inside: Vec<Inside>,
    /// Blocks with pages in the window: how many are missing to the most there can be, and when the
    /// last one was used.
    by_pages: Heap<(u32, u64)>,
    most_victims: u32,
    /// Victim blocks, the one that has been one for longest first.
    victims: VecDeque<LogicalBlock>,
    is_victim: Bits,
    /// Victim blocks with pages in the window, by when the last one was used.
    due: Heap<u64>,
}

impl Ref {
    /// A block's pages in the window have changed.
    fn rank(&mut self, block: LogicalBlock) {
        let Inside { pages, count } = self.inside[block.index()];
        if count == 0 {
            self.by_pages.remove(block.0);
            self.due.remove(block.0);
            return;
        }
        let used = self.used.get(pages.back());
        self.by_pages.set(block.0, (self.pages_per_block - count, used));
        if self.is_victim.get(block.index()) {
            self.due.set(block.0, used);
        }
    }

    fn widen(&mut self) {
        while let Some(slot) = self.window.widen() {
            let block = self.block_of[slot as usize];
            let inside = &mut self.inside[block.index()];
            inside.pages.push_front(&mut self.links, slot);
            inside.count += 1;
            self.rank(block);
        }
    }

    fn unlink(&mut self, slot: u32) {
        if self.window.remove(slot) {
            let block = self.block_of[slot as usize];
            let inside = &mut self.inside[block.index()];
            inside.pages.remove(&mut self.links, slot);
            inside.count -= 1;
            self.rank(block);
        }
    }

    fn link(&mut self, slot: u32) {
        self.used.stamp(slot);
        self.window.push(slot);
        self.widen();
    }

    /// Takes out the slot that makes room, if any is left.
    fn pop(&mut self) -> Option<Victim> {
        let (block, reason) = if let Some((_, block)) = self.due.first() {
            (LogicalBlock(block), OF_VICTIM)
        } else {
            // No victim block has a page in the window: none that gives up its place has anything
            // to take back.
            let block = LogicalBlock(self.by_pages.first()?.1);
            if self.victims.len() == self.most_victims as usize
                && let Some(oldest) = self.victims.pop_front()
            {
                self.is_victim.clear(oldest.index());
            }
            self.victims.push_back(block);
            self.is_victim.set(block.index());
            (block, NEW_VICTIM)
        };
        let slot = self.inside[block.index()].pages.back();
        self.unlink(slot);
        Some((slot, reason))
    }
}

impl PageOrder for Ref {
    fn hit(&mut self, slot: u32, _write: bool, _pages: &PageTable) -> Option<Victim> {
        self.unlink(slot);
        self.link(slot);
        None
    }

    fn make_room(&mut self, _lpn: Lpn, _write: bool, pages: &PageTable) -> Option<Victim> {
        if pages.is_full() { self.pop() } else { None }
    }

    fn insert(&mut self, slot: u32, lpn: Lpn, _write: bool) {
        self.block_of[slot as usize] = lpn.block(self.pages_per_block);
        self.link(slot);
    }

    fn remove(&mut self, slot: u32, _pages: &PageTable) {
        self.unlink(slot);
        self.widen();
    }

    #[inline]
    fn entry(&self, slot: u32) -> u32 {
        self.links.entry(slot)
    }

    fn parts(&self) -> impl Iterator<Item = impl Iterator<Item = u32>> {
        std::iter::once(self.window.iter())
    }

    /// Which page leaves depends on all pages in the window, clean ones, too: they leave one after
    /// the other until none is dirty, and come back. O(n log n) in the pages held, where the other
    /// orders follow what was used since the last flush.
    fn leaving(&mut self, pages: &PageTable) -> Vec<u32> {
        let slots = self.slots();
        let mut gone = Bits::new(pages.slots());
        let (mut dirty, mut leaving) = (pages.dirty(), Vec::new());
        while dirty > 0
            && let Some((slot, _)) = self.pop()
        {
            gone.set(slot as usize);
            if pages.get(slot).dirty {
                leaving.push(slot);
                dirty -= 1;
            }
            self.widen();
        }
        for slot in slots.into_iter().rev() {
            if !gone.get(slot as usize) {
                self.unlink(slot);
            }
            self.link(slot);
        }
        leaving
    }

    fn check(&self, pages: &PageTable) -> Result<(), String> {
        self.window.check()?;
        for (block, inside) in LogicalBlock(0).onwards().zip(&self.inside) {
            let slots: Vec<u32> = inside.pages.iter(&self.links).collect();
            let here = |slot: u32| {
                self.window.contains(slot)
                    && pages.get(slot).lpn.block(self.pages_per_block) == block
            };
            let rank = slots
                .last()
                .map(|&last| (self.pages_per_block - inside.count, self.used.get(last)));
            let due = rank.filter(|_| self.is_victim.get(block.index())).map(|(_, used)| used);
            if slots.len() != inside.count as usize
                || !slots.iter().all(|&slot| here(slot))
                || self.by_pages.key(block.0) != rank
                || self.due.key(block.0) != due
            {
                return Err(format!(
                    "block {block} has {slots:?} in the window, which is not its rank"
                ));
            }
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.window.bytes()
            + self.used.bytes()
            + self.links.bytes()
            + self.block_of.len() * 4
            + self.inside.len() * size_of::<Inside>()
            + self.by_pages.bytes()
            + self.is_victim.bytes()
            + self.victims.capacity() * 4
            + self.due.bytes()
    }
}
