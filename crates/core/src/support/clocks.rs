//! The earliest of a fixed set of clocks: a tree over dense keys of which each node has eight below
//! it.
//!
//! A clock that is set to go off after the first of its eight changes nothing above; where the
//! first one is set anew, its eight are compared, and so on up to the root.

use serde::{Deserialize, Serialize};

/// A clock that is not set.
pub const NEVER: u64 = u64::MAX;

/// Clocks, or nodes, that are compared at once.
const FAN: usize = 8;

/// Clocks `0..len`, none set at first. Among equal times the lowest index wins.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Clocks {
    /// The clocks first, then the earliest of each eight of them, and so on; the last level has
    /// eight.
    levels: Vec<Level>,
    first: Entry,
}

/// What is compared with one another, in eights.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Level {
    times: Vec<[u64; FAN]>,
    /// Whose times they are; the clocks' own level has none.
    clocks: Vec<[u32; FAN]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    time: u64,
    clock: u32,
}

impl Level {
    #[inline]
    fn entry(&self, at: usize) -> Entry {
        Entry { time: self.times[at / FAN][at % FAN], clock: self.clocks[at / FAN][at % FAN] }
    }

    /// The earliest of eight, the first among equals.
    #[inline]
    fn earliest(&self, group: usize) -> Entry {
        let times = &self.times[group];
        let (mut place, mut time) = (0, times[0]);
        for (other, &earlier) in times.iter().enumerate().skip(1) {
            if earlier < time {
                (place, time) = (other, earlier);
            }
        }
        let clock = self.clocks.get(group).map_or((group * FAN + place) as u32, |all| all[place]);
        Entry { time, clock }
    }
}

impl Clocks {
    /// `len` clocks.
    pub fn new(len: usize) -> Self {
        let mut groups = len.div_ceil(FAN).max(1);
        let mut levels = vec![Level { times: vec![[NEVER; FAN]; groups], clocks: Vec::new() }];
        let mut apart = FAN as u32;
        while groups > 1 {
            let first = |at: usize| at as u32 * apart;
            let above = groups.div_ceil(FAN);
            let clocks = (0..above).map(|group| std::array::from_fn(|at| first(group * FAN + at)));
            levels.push(Level { times: vec![[NEVER; FAN]; above], clocks: clocks.collect() });
            (groups, apart) = (above, apart * FAN as u32);
        }
        Self { levels, first: Entry { time: NEVER, clock: 0 } }
    }

    /// Sets clock `i`. O(log n), less where the earliest of its part stays the same.
    #[inline]
    pub fn set(&mut self, i: u32, time: u64) {
        let (mut entry, mut at) = (Entry { time, clock: i }, i as usize);
        for level in 0..self.levels.len() {
            let (group, place) = (at / FAN, at % FAN);
            let here = &mut self.levels[level];
            here.times[group][place] = entry.time;
            if level > 0 {
                here.clocks[group][place] = entry.clock;
            }
            let first = self.levels.get(level + 1).map_or(self.first, |above| above.entry(group));
            let is_earlier =
                entry.time < first.time || (entry.time == first.time && entry.clock < first.clock);
            if !is_earlier {
                // Somebody else's is earlier, unless the earliest has been this one's.
                if first.clock as usize >> (3 * level) != at {
                    return;
                }
                entry = self.levels[level].earliest(group);
                if entry == first {
                    return;
                }
            }
            at = group;
        }
        self.first = entry;
    }

    /// The clock that goes off first and its time; [`NEVER`] where none is set.
    #[inline]
    pub fn first(&self) -> (u32, u64) {
        (self.first.clock, self.first.time)
    }

    /// The time of clock `i`.
    #[inline]
    pub fn get(&self, i: u32) -> u64 {
        self.levels[0].times[i as usize / FAN][i as usize % FAN]
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
            len in prop_oneof![1usize..80, 500usize..600],
            ops in prop::collection::vec((0usize..600, prop_oneof![0u64..20, Just(NEVER)]), 0..300),
        ) {
            let (mut clocks, mut model) = (Clocks::new(len), vec![NEVER; len]);
            for (i, time) in ops {
                clocks.set((i % len) as u32, time);
                model[i % len] = time;
                let (at, time) = model.iter().copied().enumerate().min_by_key(|&(i, t)| (t, i)).unwrap();
                prop_assert_eq!(clocks.first().1, time);
                prop_assert_eq!(clocks.get((i % len) as u32), model[i % len]);
                if time != NEVER {
                    prop_assert_eq!(clocks.first().0 as usize, at);
                }
            }
        }
    }
}
