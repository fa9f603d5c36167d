//! The units of a store as an allocator sees them.

use crate::support::ids::{PlaneId, Ppn};

/// The units: how they stand at this moment, with everything planned so far. An untimed run shows
/// every unit idle.
pub trait Units {
    /// Whether fresh pages may go to a unit. One that has no room is put in line for collection
    /// where that helps.
    fn takes(&mut self, unit: PlaneId) -> bool;

    /// Whether a fresh page may go to the unit that holds the version before, as which it takes no
    /// more room there. A unit that has no room is put in line for collection where that helps.
    fn takes_in_place(&mut self, unit: PlaneId) -> bool;

    /// Whether collection can win back room in a unit without the help of others, or is at it.
    fn recovers(&self, unit: PlaneId) -> bool;

    /// The unit of the open block that `unit` shares with others of its pool, or of the one that is
    /// opened next.
    fn active(&self, unit: PlaneId) -> PlaneId;

    /// The unit of a flash page.
    fn unit_of(&self, ppn: Ppn) -> PlaneId;

    /// Whether the unit's open block was opened after the block of flash page `ppn`, or is that
    /// block; for mappings that keep the order of blocks.
    fn writes_after(&self, unit: PlaneId, ppn: Ppn) -> bool;

    /// How long the unit's die has still to work on what is planned for it, in ns.
    fn busy_ns(&self, unit: PlaneId) -> u64;

    /// Pages of a unit that can be written before anything is erased.
    fn free_pages(&self, unit: PlaneId) -> u32;

    /// The same of a unit to which fresh pages may go.
    fn room(&mut self, unit: PlaneId) -> Option<u32> {
        self.takes(unit).then(|| self.free_pages(unit))
    }

    /// Whether a program unit has been begun there and is not full yet.
    fn has_pending(&self, unit: PlaneId) -> bool;
}
