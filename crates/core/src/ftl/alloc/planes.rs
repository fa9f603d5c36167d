//! On which plane of its element a page is written: the one with most free pages. What the SSD model
//! is composed of; it has no name among the allocators.

use serde::{Deserialize, Serialize};

use super::{Allocator, Fresh, Offer, Pools, Units};
use crate::support::ids::PlaneId;

/// Chooses planes; an element is a pool.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Planes {
    pools: Pools,
    /// A page stays on the plane of the version before.
    stays: bool,
    /// Plane that each element wrote to last.
    last: Vec<PlaneId>,
}

impl Planes {
    /// A page goes to a plane of its element whose open block is newer than the version before, or
    /// `stays` on the plane of that.
    pub fn new(pools: Pools, stays: bool) -> Self {
        // The first scan begins at plane 0.
        let last_plane = pools.units_each() - 1;
        let last = (0..pools.count()).map(|element| pools.nth(element, last_plane)).collect();
        Self { pools, stays, last }
    }

    /// [`Allocator::pick`] among any units.
    #[inline]
    pub(super) fn pick_of(
        &mut self,
        page: Fresh,
        units: &mut (impl Units + ?Sized),
    ) -> Option<PlaneId> {
        let old = match page.old {
            Some(old) => (units.unit_of(old), units.opened(old)),
            None => (PlaneId::NONE, 0),
        };
        let home = old.0;
        if self.stays && !home.is_none() {
            if units.takes_in_place(home) {
                return Some(home);
            }
            if units.recovers(home) {
                return None;
            }
        }
        let (step, end) = (self.pools.count(), self.pools.units_in_all());
        let last = self.last[page.pool as usize];
        let mut unit = last;
        // The best plane that is newer than the old copy, and the best of all: one more than its
        // free pages.
        let (mut newer, mut any) = ((0, PlaneId::NONE), (0, PlaneId::NONE));
        loop {
            unit = if (unit + step).0 < end { unit + step } else { PlaneId(page.pool) };
            if let Some(Offer { free, is_newer }) = units.offer(unit, old) {
                if any.0 <= free {
                    any = (free + 1, unit);
                }
                if is_newer && newer.0 <= free {
                    newer = (free + 1, unit);
                }
            }
            if unit == last {
                break;
            }
        }
        let best = |(_, unit): (u32, PlaneId)| (!unit.is_none()).then_some(unit);
        if home.is_none() {
            return best(any);
        }
        // Where the old copy's own plane has no room and never will, any other has to do.
        best(newer).or_else(|| best(any).filter(|_| !units.recovers(home)))
    }

    /// [`Allocator::placed`].
    #[inline]
    pub(super) fn has_placed(&mut self, unit: PlaneId) {
        self.last[self.pools.of_unit(unit) as usize] = unit;
    }
}

impl Allocator for Planes {
    fn pick(&mut self, page: Fresh, units: &mut dyn Units) -> Option<PlaneId> {
        self.pick_of(page, units)
    }

    fn placed(&mut self, unit: PlaneId, _units: &mut dyn Units) {
        self.has_placed(unit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::ids::Ppn;

    /// Free pages of each plane, and whether its open block is newer than the version before, which
    /// lies on `home`. None takes a page in place.
    struct Stand {
        offers: Vec<Option<Offer>>,
        home: PlaneId,
        recovers: bool,
    }

    impl Units for Stand {
        fn takes(&mut self, unit: PlaneId) -> bool {
            self.offers[unit.index()].is_some()
        }

        fn takes_in_place(&mut self, _: PlaneId) -> bool {
            false
        }

        fn recovers(&self, _: PlaneId) -> bool {
            self.recovers
        }

        fn active(&self, unit: PlaneId) -> PlaneId {
            unit
        }

        fn unit_of(&self, _: Ppn) -> PlaneId {
            self.home
        }

        fn opened(&self, _: Ppn) -> u64 {
            0
        }

        fn busy_ns(&self, _: PlaneId) -> u64 {
            0
        }

        fn free_pages(&self, unit: PlaneId) -> u32 {
            self.offers[unit.index()].map_or(0, |offer| offer.free)
        }

        fn offer(&mut self, unit: PlaneId, _: (PlaneId, u64)) -> Option<Offer> {
            self.offers[unit.index()]
        }

        fn has_pending(&self, _: PlaneId) -> bool {
            false
        }
    }

    fn picked(
        free: [u32; 4],
        is_newer: [bool; 4],
        old: Option<Ppn>,
        recovers: bool,
    ) -> Option<u32> {
        let mut planes = Planes::new(Pools::one(4), false);
        // The scan begins behind the plane that was written to last.
        planes.has_placed(PlaneId(1));
        let offers = free.into_iter().zip(is_newer);
        let offers = offers.map(|(free, is_newer)| Some(Offer { free, is_newer })).collect();
        let mut stand = Stand { offers, home: PlaneId(0), recovers };
        let page = Fresh { pool: 0, group: 0, old };
        planes.pick(page, &mut stand).map(|unit| unit.0)
    }

    #[test]
    fn most_free_pages_win_and_of_equals_the_first_behind_the_last() {
        let none = [false; 4];
        assert_eq!(picked([5, 9, 5, 6], none, None, false), Some(1));
        assert_eq!(picked([5, 5, 5, 5], none, None, false), Some(2));
        assert_eq!(picked([5, 5, 4, 5], none, None, false), Some(3));
        // One page more is more, and the last page of a plane counts.
        assert_eq!(picked([0, 1, 0, 2], none, None, false), Some(3));
        assert_eq!(picked([0, 0, 0, 0], none, None, false), Some(2));
    }

    #[test]
    fn a_page_goes_where_the_open_block_is_newer_or_anywhere_if_its_plane_never_recovers() {
        let old = Some(Ppn(7));
        assert_eq!(picked([9, 3, 9, 3], [false, true, false, true], old, false), Some(3));
        assert_eq!(picked([9, 4, 9, 3], [false, true, false, true], old, true), Some(1));
        assert_eq!(picked([9, 4, 9, 3], [false; 4], old, false), Some(2));
        assert_eq!(picked([9, 4, 9, 3], [false; 4], old, true), None);
    }
}
