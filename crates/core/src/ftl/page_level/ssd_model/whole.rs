//! The open block that the planes of an element share.

use serde::{Deserialize, Serialize};

use crate::ftl::alloc::{Allocator, Fresh, Pools, Units};
use crate::support::ids::PlaneId;

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
