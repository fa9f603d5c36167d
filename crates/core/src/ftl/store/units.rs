//! The units of a store as an allocator sees them.

use super::Store;
use crate::nand::{Engine, Ppn};
use crate::support::NONE;

/// The units: how they stand at this moment, with everything planned so far. An untimed run shows every unit idle.
#[derive(Debug)]
pub struct Units<'a> {
    pub(super) store: &'a mut Store,
    pub(super) engine: &'a Engine,
    /// Class of the page that is being placed.
    pub(super) class: u32,
}

impl Units<'_> {
    /// Whether fresh pages may go to a unit. One that has no room is put in line for collection where that helps.
    #[inline]
    pub fn takes(&mut self, unit: u32) -> bool {
        let takes = self.store.takes(self.engine, unit, self.class);
        if !takes {
            self.store.ask_for_room(unit, self.class);
        }
        takes
    }

    /// Whether a fresh page may go to the unit that holds the version before, as which it takes no more room there. A unit
    /// that has no room is put in line for collection where that helps.
    pub fn takes_in_place(&mut self, unit: u32) -> bool {
        let takes = self.store.has_place(self.engine, unit, self.class);
        if !takes {
            self.store.ask_for_room(unit, self.class);
        }
        takes
    }

    /// Whether collection can win back room in a unit without the help of others, or is at it.
    pub fn recovers(&self, unit: u32) -> bool {
        let alone = self.store.gains(unit) && self.store.has_room(unit);
        self.store.units[unit as usize].collecting || alone
    }

    /// The unit of the open block that `unit` shares with others of its pool, or of the one that is opened next.
    pub fn active(&self, unit: u32) -> u32 {
        self.store.active(unit)
    }

    /// The unit of a flash page.
    pub fn unit_of(&self, ppn: Ppn) -> u32 {
        self.store.geometry.unit_of(self.store.geometry.split(ppn).0)
    }

    /// Whether the unit's open block was opened after the block of flash page `ppn`, or is that block; for mappings that keep
    /// the order of blocks.
    pub fn writes_after(&self, unit: u32, ppn: Ppn) -> bool {
        let open = self.store.open[self.store.slot(unit, self.class, false)].block;
        let opened = |block: u32| self.store.history.sequence[block as usize];
        open == NONE || opened(open) >= opened(self.store.geometry.split(ppn).0)
    }

    /// How long the unit's die has still to work on what is planned for it, in ns.
    pub fn busy_ns(&self, unit: u32) -> u64 {
        self.engine.busy_ns(self.store.geometry.die_of(unit))
    }

    /// Pages of a unit that can be written before anything is erased.
    pub fn free_pages(&self, unit: u32) -> u32 {
        self.store.free_pages(unit, self.class)
    }

    /// Whether a program unit has been begun there and is not full yet.
    #[inline]
    pub fn has_pending(&self, unit: u32) -> bool {
        self.store.has_pending(unit, self.class)
    }
}
