//! The earliest of a fixed set of clocks.
//!
//! Those that are set lie in a few rows, each in the order of time. A clock goes into the row of
//! those that are set about as far ahead as it: what takes as long as what was begun before it
//! mostly ends after it, so that it goes to the end of its row. Next comes the first of a row.

use serde::{Deserialize, Serialize};

/// A clock that is not set.
pub const NEVER: u64 = u64::MAX;

/// Rows. Times that differ fourfold go to different ones.
const ROWS: usize = 4;

/// A row forgets those that have gone off when there are so many, and no fewer than are set.
const GONE: usize = 128;

/// Clocks `0..len`, none set at first. Among equal times the lowest index wins.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Clocks {
    states: Vec<Clock>,
    rows: [Row; ROWS],
    /// The first of each row.
    heads: [Entry; ROWS],
    /// The earliest of those, and its row.
    first: Entry,
    row: u8,
}

/// When a clock goes off, and the row that it is in.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Clock {
    time: u64,
    row: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    time: u64,
    clock: u32,
}

impl Entry {
    const NONE: Self = Self { time: NEVER, clock: 0 };

    #[inline]
    fn is_before(self, other: Self) -> bool {
        self.time < other.time || (self.time == other.time && self.clock < other.clock)
    }
}

/// Clocks in the order in which they go off, from place `from` on.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Row {
    entries: Vec<Entry>,
    from: usize,
}

impl Row {
    #[inline]
    fn head(&self) -> Entry {
        self.entries.get(self.from).copied().unwrap_or(Entry::NONE)
    }

    #[inline]
    fn insert(&mut self, entry: Entry) {
        let comes_last = self.entries.last().is_none_or(|&last| last.is_before(entry));
        self.entries.push(entry);
        if !comes_last {
            self.put_in_order(entry);
        }
    }

    /// Moves the last entry to where it belongs.
    fn put_in_order(&mut self, entry: Entry) {
        let mut at = self.entries.len() - 1;
        while at > self.from && entry.is_before(self.entries[at - 1]) {
            self.entries[at] = self.entries[at - 1];
            at -= 1;
        }
        self.entries[at] = entry;
    }

    /// The first one is gone.
    #[inline]
    fn pop(&mut self) {
        self.from += 1;
        let left = self.entries.len() - self.from;
        if left == 0 {
            self.entries.clear();
            self.from = 0;
        } else if self.from >= GONE && self.from >= left {
            self.forget();
        }
    }

    #[cold]
    fn forget(&mut self) {
        self.entries.drain(..self.from);
        self.from = 0;
    }

    /// One of them is gone, from anywhere.
    fn remove(&mut self, entry: Entry) {
        let set = &self.entries[self.from..];
        let at = self.from + set.partition_point(|one| one.is_before(entry));
        debug_assert_eq!(self.entries[at], entry, "a clock that is set is in its row");
        self.entries.remove(at);
        if self.entries.len() == self.from {
            self.entries.clear();
            self.from = 0;
        }
    }
}

impl Clocks {
    /// `len` clocks.
    pub fn new(len: usize) -> Self {
        Self {
            states: vec![Clock { time: NEVER, row: 0 }; len],
            rows: std::array::from_fn(|_| Row::default()),
            heads: [Entry::NONE; ROWS],
            first: Entry::NONE,
            row: 0,
        }
    }

    /// Sets clock `i` at time `now`. Mostly O(1), or else O(clocks that are set).
    #[inline]
    pub fn set(&mut self, i: u32, time: u64, now: u64) {
        let Clock { time: before, row } = self.states[i as usize];
        if before == time {
            return;
        }
        if before != NEVER {
            self.take_out(Entry { time: before, clock: i }, row);
        }
        // A fourfold time is one row further.
        let row = ((time.wrapping_sub(now) | 1).ilog2() / 2) as usize % ROWS;
        self.states[i as usize] = Clock { time, row: row as u8 };
        if time == NEVER {
            return;
        }
        let entry = Entry { time, clock: i };
        self.rows[row].insert(entry);
        if entry.is_before(self.heads[row]) {
            self.heads[row] = entry;
            if entry.is_before(self.first) {
                (self.first, self.row) = (entry, row as u8);
            }
        }
    }

    #[inline]
    fn take_out(&mut self, entry: Entry, row: u8) {
        let of = usize::from(row) % ROWS;
        if self.heads[of] == entry {
            self.rows[of].pop();
        } else {
            self.rows[of].remove(entry);
        }
        self.heads[of] = self.rows[of].head();
        if self.first == entry {
            (self.first, self.row) = (self.heads[0], 0);
            for (row, &head) in (0..).zip(&self.heads) {
                if head.is_before(self.first) {
                    (self.first, self.row) = (head, row);
                }
            }
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
        self.states[i as usize].time
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Agrees with a scan, however far ahead clocks are set.
        #[test]
        fn finds_what_a_scan_finds(
            len in 1usize..80,
            ops in prop::collection::vec(
                (0usize..80, prop_oneof![0u64..20, 0u64..100_000, Just(NEVER)], 0u64..20),
                0..700,
            ),
        ) {
            let (mut clocks, mut model) = (Clocks::new(len), vec![NEVER; len]);
            for (i, time, ahead) in ops {
                let now = time.saturating_sub(ahead);
                clocks.set((i % len) as u32, time, now);
                model[i % len] = time;
                let (at, time) = model.iter().copied().enumerate().min_by_key(|&(i, t)| (t, i)).unwrap();
                prop_assert_eq!(clocks.first().1, time);
                prop_assert_eq!(clocks.get((i % len) as u32), model[i % len]);
                if time != NEVER {
                    prop_assert_eq!(clocks.first().0 as usize, at);
                }
            }
        }

        /// The same of clocks that go off in turn and are set anew, as those of dies are.
        #[test]
        fn clocks_go_off_in_order(
            len in 1u32..80,
            delays in prop::collection::vec(prop_oneof![0u64..4, 10u64..12, 100u64..500], 1..1500),
        ) {
            let (mut clocks, mut model) = (Clocks::new(len as usize), vec![NEVER; len as usize]);
            for (n, &delay) in (0u32..).zip(&delays) {
                let (clock, now) = clocks.first();
                let (clock, now) = if now == NEVER || n % 3 == 0 { (n % len, 0) } else { (clock, now) };
                clocks.set(clock, now + delay, now);
                model[clock as usize] = now + delay;
                let first = model.iter().copied().zip(0u32..).min().unwrap();
                prop_assert_eq!(clocks.first(), (first.1, first.0));
            }
        }
    }
}
