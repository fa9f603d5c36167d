//! The blocks of one unit by pool and wear, so that those which the rules ask for are found at
//! once.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::support::heap::Heap;
use crate::support::ids::BlockId;

/// Blocks of a unit that are not worn out. Each heap names its blocks in its keys; among equals the
/// lowest number is first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Ranks {
    /// Number of the unit's first block.
    first: BlockId,
    /// The hot pool, from the most erases on.
    pub worn: Heap<(Reverse<u32>, BlockId)>,
    /// The hot pool, from the fewest erases on.
    pub fresh: Heap<(u32, BlockId)>,
    /// The hot pool, from the fewest effective erases on.
    pub idlest: Heap<(u32, BlockId)>,
    /// The cold pool, from the fewest erases on.
    pub coldest: Heap<(u32, BlockId)>,
    /// The cold pool, from the most effective erases on.
    pub busiest: Heap<(Reverse<u32>, BlockId)>,
}

impl Ranks {
    /// No blocks yet of the `count` from number `first` on.
    pub fn new(first: BlockId, count: u32) -> Self {
        let count = count as usize;
        Self {
            first,
            worn: Heap::with_room(count),
            fresh: Heap::with_room(count),
            idlest: Heap::with_room(count),
            coldest: Heap::with_room(count),
            busiest: Heap::with_room(count),
        }
    }

    /// A block belongs to the hot or the cold pool, with so many erases in all and so many
    /// effective ones. O(log blocks).
    pub fn set(&mut self, block: BlockId, hot: bool, (erases, effective): (u32, u32)) {
        let member = block - self.first;
        if hot {
            self.coldest.remove(member);
            self.busiest.remove(member);
            self.worn.set(member, (Reverse(erases), block));
            self.fresh.set(member, (erases, block));
            self.idlest.set(member, (effective, block));
        } else {
            self.worn.remove(member);
            self.fresh.remove(member);
            self.idlest.remove(member);
            self.coldest.set(member, (erases, block));
            self.busiest.set(member, (Reverse(effective), block));
        }
    }

    /// A block belongs to neither pool. O(log blocks).
    pub fn remove(&mut self, block: BlockId) {
        let member = block - self.first;
        self.worn.remove(member);
        self.fresh.remove(member);
        self.idlest.remove(member);
        self.coldest.remove(member);
        self.busiest.remove(member);
    }

    /// The cold block with the fewest erases among those accepted.
    pub fn coldest_where(&self, accepts: impl Fn(BlockId) -> bool) -> Option<(u32, BlockId)> {
        self.coldest.first_where(|member| accepts(self.first + member)).map(|(key, _)| key)
    }
}
