//! Units that are written and collected as one: all of a pool, or each by itself.

use super::{DATA, Store};
use crate::nand::Engine;
use crate::support::ids::{BlockId, PlaneId};
use crate::support::minima::ABSENT;

impl Store {
    /// The units that are written and collected as one with `unit`.
    pub(in crate::ftl) fn together(
        &self,
        unit: PlaneId,
    ) -> impl Iterator<Item = PlaneId> + Clone + use<> {
        let (first, step, end) = if self.limits.pools_as_one {
            (self.pools.of_unit(unit), self.pools.count(), self.geometry.units)
        } else {
            (unit.0, 1, unit.0 + 1)
        };
        PlaneId::every(first, step, end)
    }

    /// The one of them that stands for all.
    #[inline]
    pub(in crate::ftl) fn lead(&self, unit: PlaneId) -> PlaneId {
        if self.limits.pools_as_one { self.pools.nth(self.pools.of_unit(unit), 0) } else { unit }
    }

    /// Their erased blocks.
    #[inline]
    pub(in crate::ftl) fn erased(&self, unit: PlaneId) -> u32 {
        if self.limits.pools_as_one { self.erased_together(unit) } else { self.pool.free(unit) }
    }

    #[inline(never)]
    fn erased_together(&self, unit: PlaneId) -> u32 {
        self.together(unit).map(|unit| self.pool.free(unit)).sum()
    }

    /// Those of them whose erase has ended, counted up to two: mostly the first two are.
    #[inline]
    pub(super) fn really_erased(&self, engine: &Engine, unit: PlaneId) -> usize {
        // An erased block is changed by nothing but its erase.
        if engine.erasing() == 0 {
            return self.erased(unit).min(2) as usize;
        }
        self.count_erased(engine, unit)
    }

    #[inline(never)]
    fn count_erased(&self, engine: &Engine, unit: PlaneId) -> usize {
        let erased = self.together(unit).flat_map(|unit| self.pool.of(unit));
        erased.filter(|&block| !engine.is_changing(block)).take(2).count()
    }

    /// Whether a block of `unit` is open for fresh data.
    pub(in crate::ftl) fn is_open(&self, unit: PlaneId) -> bool {
        self.open[self.write_point(unit, DATA, false)].block != BlockId::NONE
    }

    /// Whether a page could be written to `unit` if it was the last one.
    pub(in crate::ftl) fn has_room(&self, unit: PlaneId) -> bool {
        self.is_open(unit) || self.pool.free(unit) > 0
    }

    /// Whether `unit` waits for, or is under, collection.
    pub(in crate::ftl) fn is_collecting(&self, unit: PlaneId) -> bool {
        self.units[unit.index()].collecting
    }

    /// The valid pages of a closed block; `None` for one that is open, erased or being emptied.
    pub(in crate::ftl) fn closed(&self, block: BlockId) -> Option<u32> {
        let closed = &self.units[self.geometry.unit_of(block).index()].closed;
        let valid = closed.get(self.geometry.place_in_unit(block) as usize);
        (valid != ABSENT).then_some(u32::from(valid))
    }

    /// The blocks of a unit.
    pub(in crate::ftl) fn blocks_of(&self, unit: PlaneId) -> impl Iterator<Item = BlockId> + use<> {
        self.geometry.blocks_of(unit)
    }

    /// The erased blocks of a unit.
    pub(in crate::ftl) fn erased_blocks(
        &self,
        unit: PlaneId,
    ) -> impl Iterator<Item = BlockId> + '_ {
        self.pool.of(unit)
    }

    /// Takes this erased block; says whether it was there.
    pub(in crate::ftl) fn take_erased(&mut self, block: BlockId) -> bool {
        self.pool.take_this(self.geometry.unit_of(block), block)
    }
}
