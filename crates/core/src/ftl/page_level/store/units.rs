//! The units of a store as an allocator sees them.

use super::Store;
use crate::ftl::alloc::Units;
use crate::nand::Engine;
use crate::support::ids::{BlockId, PlaneId, Ppn};

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

    fn writes_after(&self, unit: PlaneId, ppn: Ppn) -> bool {
        let open = self.store.open[self.store.write_point(unit, self.class, false)].block;
        let opened = |block: BlockId| self.store.history.sequence[block.index()];
        open.is_none() || opened(open) >= opened(self.store.geometry.split(ppn).0)
    }

    fn busy_ns(&self, unit: PlaneId) -> u64 {
        self.engine.busy_ns(self.store.geometry.die_of(unit))
    }

    fn free_pages(&self, unit: PlaneId) -> u32 {
        self.store.free_pages(unit, self.class)
    }

    #[inline]
    fn room(&mut self, unit: PlaneId) -> Option<u32> {
        let (store, u) = (&*self.store, &self.store.units[unit.index()]);
        let open = &store.open[store.write_point(unit, self.class, false)];
        let erased = store.pool.free(unit);
        let (room, opens) =
            if open.block.is_none() { (0, 1) } else { (store.data_pages() - open.page, 0) };
        // While nothing is under way, what is erased really is: so it is asked most often.
        let plenty = store.limits.one_open && self.engine.under_way() == 0 && erased > opens;
        if (plenty && u.valid + u.coming <= store.limits.share) || self.takes(unit) {
            return Some(erased * self.store.data_pages() + room);
        }
        None
    }

    #[inline]
    fn has_pending(&self, unit: PlaneId) -> bool {
        self.store.has_pending(unit, self.class)
    }
}
