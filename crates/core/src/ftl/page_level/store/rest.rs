//! Blocks that rest: a worn block that a swap has filled is passed over by collection for a while.
//!
//! Its data ought to be cold. Where all data is written about equally often it is not: the block
//! would be collected as soon as any other, and stay the most worn one. So it rests until its unit
//! has erased as many blocks as it has, a number of times. No more than an eighth of the blocks
//! rest, or the first of them no longer does: what is out of date in them is room that collection
//! lacks. None rests where collection gains nothing from the others. Nor does a block that a swap
//! left part-filled and that fresh pages or pages of the map came to share, for want of another:
//! those are not cold, and then room is short already.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Store;
use crate::support::bits::Bits;
use crate::support::ids::{BlockId, PlaneId};

/// One of so many blocks of a unit rests at most.
const MOST: u32 = 8;

/// Blocks that rest, and that are going to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Rest {
    /// Rounds, of as many erases as a unit has blocks, that a block rests. 0: none does.
    rounds: u32,
    /// Blocks that rest once they are closed.
    due: Bits,
    units: Vec<Resting>,
}

/// Those of a unit.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Resting {
    /// Each with the erase of the unit up to which it rests, the oldest first.
    blocks: VecDeque<(BlockId, u64)>,
    erases: u64,
}

impl Rest {
    pub fn new(rounds: u32, units: u32, blocks: u32) -> Self {
        Self {
            rounds,
            due: Bits::new(blocks as usize),
            units: vec![Resting::default(); units as usize],
        }
    }

    /// A block is to rest once it is closed.
    pub fn plan(&mut self, block: BlockId) {
        if self.rounds > 0 {
            self.due.set(block.index());
        }
    }

    /// An open block takes pages that are not cold: it is not to rest.
    pub fn give_up(&mut self, block: BlockId) {
        self.due.clear(block.index());
    }

    /// A block is closed: whether it is to rest.
    pub fn begins(&mut self, block: BlockId) -> bool {
        self.due.clear(block.index())
    }
}

impl Store {
    /// A closed block of `unit` rests; where too many do, the first of them no longer does.
    pub(super) fn rest(&mut self, unit: PlaneId, block: BlockId) {
        let blocks = self.geometry.blocks_per_unit;
        let rounds = u64::from(self.rest.rounds) * u64::from(blocks);
        let resting = &mut self.rest.units[unit.index()];
        resting.blocks.push_back((block, resting.erases + rounds));
        if resting.blocks.len() as u32 > blocks / MOST {
            self.wake(unit);
        }
    }

    /// The block of `unit` that has rested longest may be collected.
    fn wake(&mut self, unit: PlaneId) -> bool {
        let Some((block, _)) = self.rest.units[unit.index()].blocks.pop_front() else {
            return false;
        };
        self.list(unit, block);
        true
    }

    /// A block of `unit` has been erased.
    pub(super) fn rested(&mut self, unit: PlaneId) {
        let resting = &mut self.rest.units[unit.index()];
        resting.erases += 1;
        let erases = resting.erases;
        // Several that began to rest between two erases end together.
        while self.rest.units[unit.index()]
            .blocks
            .front()
            .is_some_and(|&(_, until)| until <= erases)
        {
            self.wake(unit);
        }
    }

    /// All blocks of `unit` may be collected; says whether there were others.
    pub(super) fn wake_all(&mut self, unit: PlaneId) -> bool {
        let mut any = false;
        while self.wake(unit) {
            any = true;
        }
        any
    }

    /// Whether a block that rests has pages that are not valid.
    pub(super) fn rest_gains(&self, unit: PlaneId) -> bool {
        let mut blocks = self.rest.units[unit.index()].blocks.iter();
        blocks.any(|&(block, _)| u32::from(self.valid_of[block.index()]) < self.data_pages())
    }
}
