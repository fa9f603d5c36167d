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
    /// What is known of each element.
    known: Vec<Known>,
}

/// What is known of an element's planes, so that a drive that is being filled need not look at all
/// of them for each page.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Known {
    /// None has more free pages.
    most: u32,
    /// After so many more pages, wherever they go, every plane still takes one.
    pages: u32,
}

impl Planes {
    /// A page goes to a plane of its element whose open block is newer than the version before, or
    /// `stays` on the plane of that.
    pub fn new(pools: Pools, stays: bool) -> Self {
        // The first scan begins at plane 0.
        let last_plane = pools.units_each() - 1;
        let last = (0..pools.count()).map(|element| pools.nth(element, last_plane)).collect();
        let known = vec![Known::default(); pools.count() as usize];
        Self { pools, stays, last, known }
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
        let known = &mut self.known[page.pool as usize];
        // Among equals the first one is taken: where one has most, no other need be looked at.
        let most = (home.is_none() && known.pages > 0).then_some(known.most);
        known.pages = known.pages.saturating_sub(1);
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
        let mut all_take = true;
        loop {
            unit = if (unit + step).0 < end { unit + step } else { PlaneId(page.pool) };
            if let Some(Offer { free, is_newer }) = units.offer(unit, old) {
                if most == Some(free) {
                    debug_assert!(
                        { self.pools.units(page.pool) }
                            .all(|unit| units.takes(unit) && units.free_pages(unit) <= free),
                        "a plane has changed, and nobody has said so"
                    );
                    return Some(unit);
                }
                if any.0 <= free {
                    any = (free + 1, unit);
                }
                if is_newer && newer.0 <= free {
                    newer = (free + 1, unit);
                }
            } else {
                all_take = false;
            }
            if unit == last {
                break;
            }
        }
        let best = |(_, unit): (u32, PlaneId)| (!unit.is_none()).then_some(unit);
        if home.is_none() {
            let known = &mut self.known[page.pool as usize];
            debug_assert!(all_take || known.pages == 0, "a plane refuses unexpectedly");
            known.most = any.0.saturating_sub(1);
            if all_take && known.pages == 0 {
                let planes = self.pools.units(page.pool).map(|unit| units.sure_pages(unit));
                // The page itself is one of them.
                known.pages = planes.min().map_or(0, |pages| pages.saturating_sub(1));
            }
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

    /// [`Chooser::has_changed`](super::Chooser::has_changed).
    pub(super) fn has_changed(&mut self, unit: PlaneId) {
        self.known[self.pools.of_unit(unit) as usize].pages = 0;
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
        /// How often a plane has been asked for its offer.
        asked: u32,
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
            self.asked += 1;
            self.offers[unit.index()]
        }

        fn sure_pages(&self, unit: PlaneId) -> u32 {
            self.free_pages(unit).saturating_sub(3)
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
        let mut stand = Stand { offers, home: PlaneId(0), recovers, asked: 0 };
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

    /// Where so many fresh pages go, and how many offers were asked for. `anew`: nothing is known.
    fn filled(free: [u32; 4], pages: u32, anew: bool) -> (Vec<u32>, u32) {
        let mut planes = Planes::new(Pools::one(4), false);
        let offers = free.map(|free| Some(Offer { free, is_newer: true })).to_vec();
        let mut stand = Stand { offers, home: PlaneId::NONE, recovers: false, asked: 0 };
        let mut place = |_| {
            let page = Fresh { pool: 0, group: 0, old: None };
            let unit = planes.pick(page, &mut stand).unwrap();
            planes.has_placed(unit);
            if anew {
                planes.has_changed(unit);
            }
            let free = stand.free_pages(unit) - 1;
            // Those that are nearly full take no more.
            stand.offers[unit.index()] = (free > 2).then_some(Offer { free, is_newer: true });
            unit.0
        };
        ((0..pages).map(&mut place).collect(), stand.asked)
    }

    #[test]
    fn what_is_known_spares_questions_and_changes_no_choice() {
        for free in [[40, 40, 40, 40], [40, 17, 39, 40], [9, 9, 3, 9], [3, 3, 3, 3]] {
            let pages = free.iter().map(|free| free - 2).sum();
            let ((known, few), (anew, all)) =
                (filled(free, pages, false), filled(free, pages, true));
            assert_eq!(known, anew, "{free:?}");
            assert_eq!(all, 4 * pages);
            assert!(few <= all, "{free:?}: {few} of {all}");
        }
        // A round of four pages takes 4 + 1 + 1 + 1 questions instead of 16.
        assert_eq!(filled([4000; 4], 4 * 300, false).1, 7 * 300);
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
