//! The units of a store as an allocator sees them.

use super::{Open, Store};
use crate::ftl::alloc::{Offer, Units};
use crate::nand::Engine;
use crate::support::ids::{PlaneId, Ppn};

/// A store's units.
#[derive(Debug)]
pub struct View<'a> {
    pub(super) store: &'a mut Store,
    pub(super) engine: &'a Engine,
    /// Class of the page that is being placed.
    pub(super) class: u32,
}

impl Units for View<'_> {
    #[inline(always)]
    fn takes(&mut self, unit: PlaneId) -> bool {
        let takes = self.store.takes(self.engine, unit, self.class);
        if !takes {
            self.store.ask_for_room(unit, self.class);
        }
        takes
    }

    fn takes_in_place(&mut self, unit: PlaneId) -> bool {
        let takes = self.store.has_place(self.engine, unit, self.class);
        if !takes {
            self.store.ask_for_room(unit, self.class);
        }
        takes
    }

    fn recovers(&self, unit: PlaneId) -> bool {
        let alone = self.store.gains(unit) && self.store.has_room(unit);
        self.store.units[unit.index()].collecting || alone
    }

    fn active(&self, unit: PlaneId) -> PlaneId {
        self.store.active(unit)
    }

    fn unit_of(&self, ppn: Ppn) -> PlaneId {
        self.store.geometry.unit_of(self.store.geometry.split(ppn).0)
    }

    fn opened(&self, ppn: Ppn) -> u64 {
        self.store.history.sequence[self.store.geometry.split(ppn).0.index()]
    }

    fn busy_ns(&self, unit: PlaneId) -> u64 {
        self.engine.busy_ns(self.store.geometry.die_of(unit))
    }

    fn free_pages(&self, unit: PlaneId) -> u32 {
        self.store.free_pages(unit, self.class)
    }

    #[inline(always)]
    fn offer(&mut self, unit: PlaneId, (home, opened): (PlaneId, u64)) -> Option<Offer> {
        let store = &*self.store;
        let Open { block, page, .. } = store.open[store.write_point(unit, self.class, false)];
        let (erased, is_home) = (store.pool.free(unit), home == unit);
        let simply = store.limits.one_open && !store.limits.pools_as_one;
        let has_place = if simply && self.engine.erasing() == 0 {
            erased > u32::from(block.is_none())
        } else {
            store.has_place(self.engine, unit, self.class)
        };
        if !has_place || !(is_home || store.has_share(unit)) {
            self.store.ask_for_room(unit, self.class);
            return None;
        }
        let rest = if block.is_none() { 0 } else { store.data_pages() - page };
        // Of a page that lies nowhere it is not asked.
        let is_newer = is_home
            || block.is_none()
            || home.is_none()
            || store.history.sequence[block.index()] >= opened;
        Some(Offer { free: erased * store.data_pages() + rest, is_newer })
    }

    fn sure_pages(&self, unit: PlaneId) -> u32 {
        let store = &*self.store;
        // Where pages wait for erases, some are erased that cannot be written yet.
        if !store.limits.one_open || store.limits.pools_as_one || self.engine.erasing() > 0 {
            return 0;
        }
        let u = &store.units[unit.index()];
        let share = store.limits.share.saturating_sub(u.valid + u.coming);
        // A unit takes pages while one block is erased beside its open one, or two if none is open.
        let room = store.free_pages(unit, self.class).saturating_sub(2 * store.data_pages());
        room.min(share)
    }

    #[inline]
    fn has_pending(&self, unit: PlaneId) -> bool {
        self.store.has_pending(unit, self.class)
    }
}
