//! The units of a store as an allocator sees them.

use super::Store;
use crate::nand::Engine;

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
            self.store.ask_for_space(unit, self.class);
        }
        takes
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
