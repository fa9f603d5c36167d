//! The earliest of a fixed set of clocks.
//!
//! Few clocks are compared with one another when the earliest has changed. More are kept in a row,
//! the earliest first: what takes as long as what was set before it goes to the end of the row, and
//! the earliest leaves it at the front, so that mostly nothing has to be moved.

use serde::{Deserialize, Serialize};

/// A clock that is not set.
pub const NEVER: u64 = u64::MAX;

/// So many are few.
const FEW: usize = 8;

/// Clocks `0..len`, none set at first. Among equal times the lowest index wins.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Clocks {
    /// The clocks where there are few, and how many there are.
    few: [u64; FEW],
    len: u8,
    /// The clocks where there are more; else empty.
    many: Vec<u64>,
    /// Those of the many that are set, the earliest first: the row from `begin` to its end.
    row: Vec<Entry>,
    begin: usize,
    first: Entry,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Entry {
    time: u64,
    clock: u32,
}

impl Entry {
    /// Whether it goes off before another. In one comparison: which way it goes cannot be foreseen.
    #[inline]
    fn comes_before(self, other: Self) -> bool {
        self.order() < other.order()
    }

    #[inline]
    fn order(self) -> u128 {
        u128::from(self.time) << 32 | u128::from(self.clock)
    }
}

const NOTHING: Entry = Entry { time: NEVER, clock: 0 };

impl Clocks {
    /// `len` clocks.
    pub fn new(len: usize) -> Self {
        let many = if len > FEW { len } else { 0 };
        Self {
            few: [NEVER; FEW],
            len: len.min(FEW) as u8,
            many: vec![NEVER; many],
            row: Vec::with_capacity(2 * many),
            begin: 0,
            first: NOTHING,
        }
    }

    /// Sets clock `i`. Mostly O(1); where many are set and it goes off between others, O(of those).
    #[inline(always)]
    pub fn set(&mut self, i: u32, time: u64) {
        if !self.many.is_empty() {
            return self.set_of_many(i, time);
        }
        self.few[i as usize % FEW] = time;
        let entry = Entry { time, clock: i };
        if i == self.first.clock {
            if time > self.first.time {
                self.first = self.earliest_of_few();
            } else {
                self.first.time = time;
            }
        } else if entry.comes_before(self.first) {
            self.first = entry;
        }
    }

    /// The clock that goes off first and its time; [`NEVER`] where none is set.
    #[inline]
    pub fn first(&self) -> (u32, u64) {
        (self.first.clock, self.first.time)
    }

    /// The time of clock `i`.
    #[inline]
    pub fn get(&self, i: u32) -> u64 {
        if self.many.is_empty() { self.few[i as usize % FEW] } else { self.many[i as usize] }
    }

    #[inline(never)]
    fn earliest_of_few(&self) -> Entry {
        let (mut clock, mut time) = (0, self.few[0]);
        for other in 1..usize::from(self.len).min(FEW) {
            if self.few[other] < time {
                (clock, time) = (other as u32, self.few[other]);
            }
        }
        Entry { time, clock }
    }

    #[inline(never)]
    fn set_of_many(&mut self, i: u32, time: u64) {
        let before = std::mem::replace(&mut self.many[i as usize], time);
        self.move_in_row(before, Entry { time, clock: i });
    }

    /// A clock that went off at `before` goes off at another time.
    #[inline]
    fn move_in_row(&mut self, before: u64, entry: Entry) {
        let clock = entry.clock;
        if before != NEVER {
            if self.first.clock == clock {
                self.begin += 1;
            } else {
                let place = self.place_of(Entry { time: before, clock });
                self.take_out(place);
            }
        }
        if entry.time != NEVER {
            match self.row.last() {
                Some(&last) if self.begin < self.row.len() && entry.comes_before(last) => {
                    let place = self.place_of(entry);
                    self.put_in(place, entry);
                }
                _ => {
                    if self.row.len() == self.row.capacity() {
                        self.forget_those_gone();
                    }
                    self.row.push(entry);
                }
            }
        }
        self.first = self.row.get(self.begin).copied().unwrap_or(NOTHING);
    }

    /// What is at a place leaves the row: the shorter side closes up.
    fn take_out(&mut self, place: usize) {
        if place - self.begin < self.row.len() - place {
            self.row.copy_within(self.begin..place, self.begin + 1);
            self.begin += 1;
        } else {
            self.row.remove(place);
        }
    }

    /// Something comes in at a place: the shorter side makes way. Mostly the one that has just gone
    /// off has left room at the front.
    #[inline]
    fn put_in(&mut self, place: usize, entry: Entry) {
        if self.begin > 0 && place - self.begin <= self.row.len() - place {
            self.begin -= 1;
            for at in self.begin..place - 1 {
                self.row[at] = self.row[at + 1];
            }
            self.row[place - 1] = entry;
        } else {
            let gone = self.begin;
            if self.row.len() == self.row.capacity() {
                self.forget_those_gone();
            }
            self.row.insert(place - (gone - self.begin), entry);
        }
    }

    /// Those that went off leave the front of the row. It has room for twice as many as there are
    /// clocks, so that this is seldom, and the row never grows.
    #[cold]
    fn forget_those_gone(&mut self) {
        self.row.drain(..self.begin);
        self.begin = 0;
        // A copy of the clocks has no room to spare.
        self.row.reserve(self.many.len());
    }

    /// Where it is in the row, or belongs.
    fn place_of(&self, entry: Entry) -> usize {
        self.begin + self.row[self.begin..].partition_point(|one| one.comes_before(entry))
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
            ops in prop::collection::vec(
                (0usize..600, prop_oneof![0u64..20, 0u64..2000, 0u64..1 << 40, Just(NEVER)]),
                0..300,
            ),
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

        /// The same where time goes on: what goes off first is set anew, or not.
        #[test]
        fn time_goes_on(
            len in prop_oneof![1usize..80, 500usize..600],
            steps in prop::collection::vec(
                (any::<prop::sample::Index>(), prop_oneof![0u64..300, 0u64..1_000_000], any::<bool>()),
                0..1_000,
            ),
        ) {
            let (mut clocks, mut model, mut now) = (Clocks::new(len), vec![NEVER; len], 0);
            for (which, after, serves) in steps {
                let (first, time) = clocks.first();
                let earliest = model.iter().copied().enumerate().min_by_key(|&(i, t)| (t, i));
                prop_assert_eq!(Some(time), earliest.map(|(_, time)| time));
                let set = if serves && time != NEVER {
                    prop_assert_eq!(Some(first as usize), earliest.map(|(i, _)| i));
                    now = time;
                    (first as usize, if after % 3 == 0 { now + after } else { NEVER })
                } else {
                    (which.index(len), now + after)
                };
                clocks.set(set.0 as u32, set.1);
                model[set.0] = set.1;
                prop_assert!(clocks.row.capacity() <= 4 * len);
            }
        }
    }
}
