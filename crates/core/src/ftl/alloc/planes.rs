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
