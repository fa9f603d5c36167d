//! On which plane of its element a page is written.

use serde::{Deserialize, Serialize};

use super::Pool;
use crate::ftl::alloc::{Allocator, Fresh, Offer, Pools, Units};
use crate::support::ids::PlaneId;

/// Chooses planes; an element is a pool.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Planes {
    pools: Pools,
    logic: Pool,
    /// Plane that each element wrote to last.
    last: Vec<PlaneId>,
}

impl Planes {
    pub fn new(pools: Pools, logic: Pool) -> Self {
        // The first scan begins at plane 0.
        let last_plane = pools.units_each() - 1;
        let last = (0..pools.count()).map(|element| pools.nth(element, last_plane)).collect();
        Self { pools, logic, last }
    }
}

impl Allocator for Planes {
    fn pick(&mut self, page: Fresh, units: &mut dyn Units) -> Option<PlaneId> {
        let old = page.old.map(|old| (units.unit_of(old), units.opened(old)));
        if let (Pool::Plane, Some((home, _))) = (self.logic, old) {
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

    #[inline]
    fn placed(&mut self, unit: PlaneId, _units: &mut dyn Units) {
        self.last[self.pools.of_unit(unit) as usize] = unit;
    }
}

/// Writes one block of an element after another.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Whole {
    pools: Pools,
}

impl Whole {
    pub fn new(pools: Pools) -> Self {
        Self { pools }
    }
}

impl Allocator for Whole {
    fn pick(&mut self, page: Fresh, units: &mut dyn Units) -> Option<PlaneId> {
        let unit = units.active(self.pools.nth(page.pool, 0));
        units.takes(unit).then_some(unit)
    }

    #[inline]
    fn placed(&mut self, _unit: PlaneId, _units: &mut dyn Units) {}
}
