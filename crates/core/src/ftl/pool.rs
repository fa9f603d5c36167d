//! Erased blocks, unit by unit, the one erased longest ago first: its erase is the likeliest to
//! have ended, and wear spreads over all of them.

use serde::{Deserialize, Serialize};

use crate::nand::Geometry;
use crate::support::ids::{BlockId, PlaneId};
use crate::support::roomy::RoomyQueue;

/// The erased blocks of all units.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pool {
    units: Vec<RoomyQueue<BlockId>>,
    total: u32,
}

impl Pool {
    /// All blocks of an erased array.
    pub fn full(geometry: &Geometry) -> Self {
        let units = geometry.all_units().map(|unit| geometry.blocks_of(unit).collect()).collect();
        Self { units, total: geometry.blocks() }
    }

    /// No blocks yet.
    pub fn empty(geometry: &Geometry) -> Self {
        let queue = |_| RoomyQueue::with_capacity(geometry.blocks_per_unit as usize);
        Self { units: geometry.all_units().map(queue).collect(), total: 0 }
    }

    /// Erased blocks of a unit.
    #[inline]
    pub fn free(&self, unit: PlaneId) -> u32 {
        self.units[unit.index()].len() as u32
    }

    /// The block of `unit` that is left when one has been taken.
    #[inline]
    pub fn second(&self, unit: PlaneId) -> Option<BlockId> {
        self.units[unit.index()].get(1).copied()
    }

    /// Erased blocks in all.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Takes a block of `unit`.
    pub fn take(&mut self, unit: PlaneId) -> Option<BlockId> {
        let block = self.units[unit.index()].pop_front()?;
        self.total -= 1;
        Some(block)
    }

    /// Erased blocks of a unit, the one erased longest ago first.
    pub fn of(&self, unit: PlaneId) -> impl Iterator<Item = BlockId> + '_ {
        self.units[unit.index()].iter().copied()
    }

    /// Takes this block of `unit`; says whether it was there. O(erased blocks of the unit).
    pub fn take_this(&mut self, unit: PlaneId, block: BlockId) -> bool {
        let blocks = &mut self.units[unit.index()];
        let Some(at) = blocks.iter().position(|&b| b == block) else { return false };
        blocks.remove(at);
        self.total -= 1;
        true
    }

    /// Takes a block of `unit`, or else of the unit that has most.
    pub fn take_near(&mut self, unit: PlaneId) -> Option<BlockId> {
        self.take(unit).or_else(|| {
            let most = (0..self.units.len())
                .max_by_key(|&u| (self.units[u].len(), std::cmp::Reverse(u)))?;
            self.take(PlaneId(most as u32))
        })
    }

    /// Gives back a block of `unit` whose erase has been planned.
    pub fn give(&mut self, unit: PlaneId, block: BlockId) {
        self.units[unit.index()].push_back(block);
        self.total += 1;
    }

    /// Every block in the pool.
    pub fn iter(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.units.iter().flatten().copied()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.units.iter().map(|u| u.capacity() * 4).sum()
    }
}
