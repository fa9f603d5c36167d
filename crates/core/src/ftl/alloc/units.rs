//! The units of a store as an allocator sees them.

use crate::support::ids::{PlaneId, Ppn};

/// What a unit that takes a fresh page offers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Pages of it that can be written before anything is erased.
    pub free: u32,
    /// It has the version before, or its open block was opened after the block of that.
    pub is_newer: bool,
}

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

    /// When the block of flash page `ppn` was opened, counted in blocks; for mappings that keep
    /// their order.
    fn opened(&self, ppn: Ppn) -> u64;

    /// How long the unit's die has still to work on what is planned for it, in ns.
    fn busy_ns(&self, unit: PlaneId) -> u64;

    /// Pages of a unit that can be written before anything is erased.
    fn free_pages(&self, unit: PlaneId) -> u32;

    /// What a unit offers a fresh page of which the version before lies on a unit, in a block that
    /// was opened at a time ([`Self::opened`]); [`PlaneId::NONE`] where there is none. `None` where
    /// it does not take the page ([`Self::takes`], or [`Self::takes_in_place`]).
    fn offer(&mut self, unit: PlaneId, old: (PlaneId, u64)) -> Option<Offer>;

    /// So many more pages at least can go to the pool of a unit, to whichever of its units, and this
    /// one still takes one, if nothing else happens in the pool.
    fn sure_pages(&self, unit: PlaneId) -> u32;

    /// Whether a program unit has been begun there and is not full yet.
    fn has_pending(&self, unit: PlaneId) -> bool;
}
