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
        let old = page.old.map(|old| (units.unit_of(old), units.opened(old)));
        if let Some((home, _)) = old.filter(|_| self.stays) {
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
        // The best plane that is newer than the old copy, and the best of all.
        let (mut newer, mut any) = (None, None);
        let take_best = |best: &mut Option<(u32, PlaneId)>, free: u32, unit: PlaneId| {
            if best.is_none_or(|(most, _)| most < free) {
                *best = Some((free, unit));
            }
        };
        loop {
            unit = if (unit + step).0 < end { unit + step } else { PlaneId(page.pool) };
            if let Some(Offer { free, is_newer }) = units.offer(unit, old) {
                take_best(&mut any, free, unit);
                if is_newer {
                    take_best(&mut newer, free, unit);
                }
            }
            if unit == last {
                break;
            }
        }
        if old.is_none() {
            return any.map(|(_, unit)| unit);
        }
        // Where the old copy's own plane has no room and never will, any other has to do.
        let stuck = old.is_some_and(|(home, _)| !units.recovers(home));
        newer.or(any.filter(|_| stuck)).map(|(_, unit)| unit)
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
