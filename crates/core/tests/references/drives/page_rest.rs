//! Blocks that a swap has filled, of one unit: they rest, so that what they got need not be cold.
//! No reference of its own.

use std::collections::BTreeSet;

use super::page_store::{Block, Store, Unit};

#[derive(Debug, Clone)]
pub struct Rest {
    /// Rounds of as many erases as there are blocks.
    rounds: usize,
    /// A block that swaps have filled in part.
    pub filling: Option<usize>,
    /// Blocks that are going to rest once they are full.
    planned: BTreeSet<usize>,
    /// Blocks that rest, the first to rest first, and at which erase of the unit that ends.
    resting: Vec<(usize, usize)>,
    erases: usize,
}

impl Rest {
    pub fn new(rounds: usize) -> Self {
        Self { rounds, filling: None, planned: BTreeSet::new(), resting: Vec::new(), erases: 0 }
    }

    /// A swap has filled this block, perhaps in part.
    pub fn plan(&mut self, block: usize) {
        self.planned.insert(block);
    }

    /// A block is full: it rests if it has pages of a swap, unless too many do.
    pub fn filled(&mut self, block: usize, blocks: usize) {
        if self.planned.remove(&block) && self.rounds > 0 {
            self.resting.push((block, self.erases + self.rounds * blocks));
            if self.resting.len() > blocks / 8 {
                self.resting.remove(0);
            }
        }
    }

    /// It does not rest once it is full.
    pub fn unplan(&mut self, block: usize) {
        self.planned.remove(&block);
    }

    pub fn rests(&self, block: usize) -> bool {
        self.resting.iter().any(|&(resting, _)| resting == block)
    }

    /// A block of the unit was erased.
    pub fn erased(&mut self) {
        self.erases += 1;
        self.resting.retain(|&(_, until)| self.erases < until);
    }
}

impl Store {
    /// What a swap has left of a block of this unit.
    pub fn filling(&self, unit: usize) -> Option<usize> {
        self.wear.as_ref().and_then(|wear| wear.rests[unit].filling)
    }

    /// The same, and it is taken away.
    pub fn take_filling(&mut self, unit: usize) -> Option<usize> {
        self.wear.as_mut().and_then(|wear| wear.rests[unit].filling.take())
    }

    /// The unit as its victim policy sees it: what rests is not there, unless the others gain
    /// nothing.
    pub fn awake(&mut self, unit: usize) -> Unit {
        let mut seen = self.units[unit].clone();
        let Some(wear) = &mut self.wear else { return seen };
        let pages = self.rules.pages_per_block;
        let gains = |block: &Block| block.closed.is_some() && block.valid() < pages;
        let rest = &mut wear.rests[unit];
        let others = (0..seen.blocks.len()).any(|b| gains(&seen.blocks[b]) && !rest.rests(b));
        if !others || seen.erased.is_empty() {
            rest.resting.clear();
        }
        (0..seen.blocks.len())
            .filter(|&b| rest.rests(b))
            .for_each(|b| seen.blocks[b].closed = None);
        seen
    }
}
