//! Fewest times that log blocks are full.
//!
//! Assumes: every write of a logical block that is written over goes to a log block of its own, or
//! is part of writing the block anew, and a log block takes as many pages as it has. So a block of
//! which P pages are stored gives up a full log, with a merge and an erase at least, once for each
//! log but the last. A page need not be stored that is held until it is written again.
//!
//! Each gap between writes of a page costs the slot's price; the cheapest ones are held, as many
//! as pay.

use super::dual::{Demand, MERGE, Prices, Rule};
use super::history::Block;

/// The rule, and its memory.
#[derive(Debug, Clone)]
pub struct Logs {
    pages_per_block: u64,
    /// Entry of the last write of each page.
    last: Vec<u32>,
    /// Price and windows of each gap.
    gaps: Vec<(i64, u32, u32)>,
}

impl Logs {
    /// For blocks of so many pages.
    pub fn new(pages_per_block: u32) -> Self {
        Self { pages_per_block: pages_per_block.into(), last: Vec::new(), gaps: Vec::new() }
    }

    /// All gaps of a block. What must be stored after an entry is no gap.
    fn find(&mut self, block: &Block, prices: &Prices, windows: u32) {
        self.gaps.clear();
        self.last.clear();
        let mut stored = 0;
        for (at, entry) in block.entries.iter().enumerate() {
            for &page in block.pages_of(at) {
                let page = usize::from(page);
                if self.last.len() <= page {
                    self.last.resize(page + 1, 0);
                }
                let was = std::mem::replace(&mut self.last[page], at as u32 + 1);
                if was > stored {
                    let from = block.entries[was as usize - 1].window;
                    self.gaps.push((prices.held(from, entry.window), from, entry.window));
                }
            }
            if entry.stored {
                stored = at as u32 + 1;
            }
        }
        for &was in self.last.iter().filter(|&&was| was > stored) {
            let from = block.entries[was as usize - 1].window;
            let to = if block.trimmed { from } else { windows };
            self.gaps.push((prices.held(from, to), from, to));
        }
    }
}

impl Rule for Logs {
    fn pay(&mut self, block: &Block, prices: &Prices, windows: u32, demand: &mut Demand) -> i64 {
        self.find(block, prices, windows);
        self.gaps.sort_unstable();
        let writes = block.pages.len() as u64;
        let merges = |stored: u64| stored.div_ceil(self.pages_per_block).saturating_sub(1) as i64;
        let (mut best, mut held, mut sum) = (merges(writes) * MERGE, 0, 0);
        for (at, gap) in self.gaps.iter().enumerate() {
            sum += gap.0;
            let cost = merges(writes - at as u64 - 1) * MERGE + sum;
            if cost < best {
                (best, held) = (cost, at + 1);
            }
        }
        for &(_, from, to) in &self.gaps[..held] {
            demand.hold(from, to);
        }
        best
    }
}
