//! Erased blocks, unit by unit, the one erased longest ago first: its erase is the likeliest to
//! have ended, and wear spreads over all of them.

use crate::nand::Geometry;
use crate::support::roomy::RoomyQueue;

/// The erased blocks of all units.
#[derive(Debug, Clone)]
pub struct Pool {
    units: Vec<RoomyQueue<u32>>,
    total: u32,
}

impl Pool {
    /// All blocks of an erased array.
    pub fn full(geometry: &Geometry) -> Self {
        let per_unit = geometry.blocks_per_unit;
        let units =
            (0..geometry.units).map(|u| (u * per_unit..(u + 1) * per_unit).collect()).collect();
        Self { units, total: geometry.blocks() }
    }

    /// No blocks yet.
    pub fn empty(geometry: &Geometry) -> Self {
        let queue = |_| RoomyQueue::with_capacity(geometry.blocks_per_unit as usize);
        Self { units: (0..geometry.units).map(queue).collect(), total: 0 }
    }

    /// Erased blocks of a unit.
    #[inline]
    pub fn free(&self, unit: u32) -> u32 {
        self.units[unit as usize].len() as u32
    }

    /// The block of `unit` that is left when one has been taken.
    #[inline]
    pub fn second(&self, unit: u32) -> Option<u32> {
        self.units[unit as usize].get(1).copied()
    }

    /// Erased blocks in all.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Takes a block of `unit`.
    pub fn take(&mut self, unit: u32) -> Option<u32> {
        let block = self.units[unit as usize].pop_front()?;
        self.total -= 1;
        Some(block)
    }

    /// Erased blocks of a unit, the one erased longest ago first.
    pub fn of(&self, unit: u32) -> impl Iterator<Item = u32> + '_ {
        self.units[unit as usize].iter().copied()
    }

    /// Takes this block of `unit`; says whether it was there. O(erased blocks of the unit).
    pub fn take_this(&mut self, unit: u32, block: u32) -> bool {
        let blocks = &mut self.units[unit as usize];
        let Some(at) = blocks.iter().position(|&b| b == block) else { return false };
        blocks.remove(at);
        self.total -= 1;
        true
    }

    /// Takes a block of `unit`, or else of the unit that has most.
    pub fn take_near(&mut self, unit: u32) -> Option<u32> {
        self.take(unit).or_else(|| {
            let most = (0..self.units.len())
                .max_by_key(|&u| (self.units[u].len(), std::cmp::Reverse(u)))?;
            self.take(most as u32)
        })
    }

    /// Gives back a block of `unit` whose erase has been planned.
    pub fn give(&mut self, unit: u32, block: u32) {
        self.units[unit as usize].push_back(block);
        self.total += 1;
    }

    /// Every block in the pool.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.units.iter().flatten().copied()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.units.iter().map(|u| u.capacity() * 4).sum()
    }
}
