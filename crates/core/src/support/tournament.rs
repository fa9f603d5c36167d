//! The earliest of a fixed set of clocks: a tournament tree over dense keys.

use std::hint::select_unpredictable;

use serde::{Deserialize, Serialize};

/// A clock that is not set.
pub const NEVER: u64 = u64::MAX;

/// Clocks `0..len`, none set at first. Among equal times the lowest index wins.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tournament {
    /// A binary tree: 1 is the root, node `n` has the earlier of `2n` and `2n + 1`, the second half
    /// are the clocks.
    nodes: Vec<Entry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    time: u64,
    clock: u32,
}

impl Tournament {
    /// `len` clocks.
    pub fn new(len: usize) -> Self {
        let leaves = len.next_power_of_two().max(2);
        let mut nodes = vec![Entry { time: NEVER, clock: 0 }; 2 * leaves];
        for (clock, leaf) in nodes[leaves..].iter_mut().enumerate() {
            leaf.clock = clock as u32;
        }
        for node in (1..leaves).rev() {
            nodes[node] = nodes[node * 2];
        }
        Self { nodes }
    }

    /// Sets clock `i`. O(log n), less where the earliest of its part stays the same.
    #[inline]
    pub fn set(&mut self, i: u32, time: u64) {
        let mut node = self.nodes.len() / 2 + i as usize;
        let mut entry = Entry { time, clock: i };
        self.nodes[node] = entry;
        while node > 1 {
            let other = self.nodes[node ^ 1];
            // The left one has the lower clocks. Which one is earlier cannot be foreseen: a branch
            // would often go wrong.
            let is_right = node as u64 & 1;
            let earlier = other.time < entry.time.saturating_add(is_right);
            entry.time = select_unpredictable(earlier, other.time, entry.time);
            entry.clock = select_unpredictable(earlier, other.clock, entry.clock);
            node /= 2;
            if self.nodes[node] == entry {
                return;
            }
            self.nodes[node] = entry;
        }
    }

    /// The clock that goes off first and its time; [`NEVER`] where none is set.
    #[inline]
    pub fn first(&self) -> (u32, u64) {
        let Entry { time, clock } = self.nodes[1];
        (clock, time)
    }

    /// The time of clock `i`.
    #[inline]
    pub fn get(&self, i: u32) -> u64 {
        self.nodes[self.nodes.len() / 2 + i as usize].time
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Agrees with a scan.
        #[test]
        fn finds_what_a_scan_finds(
            len in 1usize..80,
            ops in prop::collection::vec((0usize..80, prop_oneof![0u64..20, Just(NEVER)]), 0..300),
        ) {
            let (mut tree, mut model) = (Tournament::new(len), vec![NEVER; len]);
            for (i, time) in ops {
                tree.set((i % len) as u32, time);
                model[i % len] = time;
                let (at, time) = model.iter().copied().enumerate().min_by_key(|&(i, t)| (t, i)).unwrap();
                prop_assert_eq!(tree.first().1, time);
                if time != NEVER {
                    prop_assert_eq!(tree.first().0 as usize, at);
                }
            }
        }
    }
}
