//! What several references of schemes for many channels share: blocks in an order, and how a
//! drive's units make up its chips and channels.

use std::collections::BTreeSet;

use eraseblock_core::buffer::View;
use eraseblock_core::pattern::{Access, Hint, Pattern};
use eraseblock_core::support::ids::{LogicalBlock, PlaneId};

/// Blocks of written pages, the most recent first.
#[derive(Debug, Default)]
pub struct Blocks(pub Vec<(u32, BTreeSet<u32>)>);

impl Blocks {
    pub fn len(&self) -> usize {
        self.0.iter().map(|(_, pages)| pages.len()).sum()
    }

    pub fn holds(&self, page: u32) -> bool {
        self.0.iter().any(|(_, pages)| pages.contains(&page))
    }

    pub fn has(&self, block: u32) -> bool {
        self.0.iter().any(|(number, _)| *number == block)
    }

    /// Moves a block to the front; it is new there if it was nowhere.
    pub fn touch(&mut self, block: u32) {
        let pages = self.take(block);
        self.0.insert(0, (block, pages));
    }

    /// Removes a block with its pages.
    pub fn take(&mut self, block: u32) -> BTreeSet<u32> {
        match self.0.iter().position(|(number, _)| *number == block) {
            Some(at) => self.0.remove(at).1,
            None => BTreeSet::new(),
        }
    }

    /// Puts a page into the block at the front.
    pub fn insert(&mut self, page: u32) {
        self.0[0].1.insert(page);
    }

    /// Forgets a page, and its block if it was the last one.
    pub fn forget(&mut self, page: u32) {
        for (_, pages) in &mut self.0 {
            pages.remove(&page);
        }
        self.0.retain(|(_, pages)| !pages.is_empty());
    }
}

/// The pages of a block, all dirty, upwards.
pub fn dirty(pages: &BTreeSet<u32>) -> Vec<(u32, bool)> {
    pages.iter().map(|&page| (page, true)).collect()
}

/// How many of these pages, at most, follow one another.
pub fn longest_run(pages: &BTreeSet<u32>) -> u32 {
    let (mut longest, mut run) = (0, 0);
    for &page in pages {
        run = if page > 0 && pages.contains(&(page - 1)) { run + 1 } else { 1 };
        longest = longest.max(run);
    }
    longest
}

/// Written in sequence, or at random, and not read.
pub fn written(sequential: bool) -> Pattern {
    Pattern::new(if sequential { Access::Sequential } else { Access::Random }, Access::Never)
}

/// As evictions have it.
#[expect(clippy::unnecessary_wraps, reason = "each caller hands it on as an eviction's own")]
pub fn hint(block: u32, pattern: Pattern, channel: Option<u32>) -> Option<Hint> {
    Some(Hint { block: LogicalBlock(block), pattern, channel, again: false })
}

/// Which of so many chips (channels) a unit belongs to: units are numbered channel by channel, chip
/// by chip.
pub fn part_of(view: &dyn View, unit: u32, parts: u32) -> u32 {
    unit * parts / view.units()
}

/// Operations that a chip (channel) has to do, of so many.
pub fn work_of(view: &dyn View, part: u32, parts: u32) -> u32 {
    (0..view.units())
        .filter(|&unit| part_of(view, unit, parts) == part)
        .map(|unit| view.queued(PlaneId(unit)))
        .sum()
}

/// Erased blocks of a chip (channel), of so many.
pub fn free_of(view: &dyn View, part: u32, parts: u32) -> u32 {
    (0..view.units())
        .filter(|&unit| part_of(view, unit, parts) == part)
        .map(|unit| view.free_blocks(PlaneId(unit)))
        .sum()
}
