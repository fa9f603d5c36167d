//! The earliest of a fixed set of clocks.
//!
//! Few clocks are compared with one another when the earliest has changed. More are kept in rows,
//! the earliest first: a clock goes to the end of the first row that it comes last in, and leaves
//! it at the front. There is mostly such a row, since what takes as long as what was set before it
//! ends after that, and there are few times that something takes.

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
    /// Those of the many that are set.
    rows: [Row; ROWS],
    /// The earliest, and the row that it is in.
    first: Entry,
    first_row: u8,
    /// Some are in other rows than the first.
    is_spread: bool,
}

/// Rows of many clocks.
const ROWS: usize = 3;

/// Clocks, the earliest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Row {
    /// From `begin` to the end.
    entries: Vec<Entry>,
    begin: usize,
    /// The first one, or [`NOTHING`]; and the last one, or one that all others come after.
    first: Entry,
    last: Entry,
}

impl Default for Row {
    fn default() -> Self {
        Self { entries: Vec::new(), begin: 0, first: NOTHING, last: BEFORE_ALL }
    }
}

impl Row {
    #[inline(always)]
    fn push(&mut self, entry: Entry) {
        if self.entries.len() == self.entries.capacity() {
            self.forget_those_gone();
        }
        self.entries.push(entry);
        self.last = entry;
        if self.begin + 1 == self.entries.len() {
            self.first = entry;
        }
    }

    /// The first one leaves.
    #[inline]
    fn pop(&mut self) {
        self.begin += 1;
        match self.entries.get(self.begin) {
            Some(&first) => self.first = first,
            None => self.clear(),
        }
    }

    #[inline]
    fn clear(&mut self) {
        self.entries.clear();
        (self.begin, self.first, self.last) = (0, NOTHING, BEFORE_ALL);
    }

    /// Entries have come in or left anywhere.
    fn look(&mut self) {
        match self.entries[self.begin..] {
            [] => self.clear(),
            [first] => (self.first, self.last) = (first, first),
            [first, .., last] => (self.first, self.last) = (first, last),
        }
    }

    /// Those that went off leave the front. There is room for more than twice as many as there can
    /// be, so that this is seldom, and the row never grows.
    #[cold]
    fn forget_those_gone(&mut self) {
        self.entries.drain(..self.begin);
        self.begin = 0;
        // A copy of the clocks has no room to spare.
        self.entries.reserve(self.entries.len().max(8));
    }

    /// An entry that does not come last.
    #[inline(never)]
    fn put_in(&mut self, entry: Entry) {
        if self.entries.len() == self.entries.capacity() {
            self.forget_those_gone();
        }
        let place = self.place_of(entry);
        self.entries.insert(place, entry);
        self.look();
    }

    /// Where an entry is, or belongs.
    fn place_of(&self, entry: Entry) -> usize {
        self.begin + self.entries[self.begin..].partition_point(|one| one.comes_before(entry))
    }

    /// Takes an entry out, if it is here; whether it was.
    fn take_out(&mut self, entry: Entry) -> bool {
        let place = self.place_of(entry);
        let is_here = self.entries.get(place).is_some_and(|one| *one == entry);
        if is_here {
            self.entries.remove(place);
            self.look();
        }
        is_here
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    time: u64,
    clock: u32,
}

impl Entry {
    /// Whether it goes off before another.
    #[inline]
    fn comes_before(self, other: Self) -> bool {
        self.time < other.time || (self.time == other.time && self.clock < other.clock)
    }
}

const NOTHING: Entry = Entry { time: NEVER, clock: 0 };
const BEFORE_ALL: Entry = Entry { time: 0, clock: 0 };

impl Clocks {
    /// `len` clocks.
    pub fn new(len: usize) -> Self {
        let many = if len > FEW { len } else { 0 };
        Self {
            few: [NEVER; FEW],
            len: len.min(FEW) as u8,
            many: vec![NEVER; many],
            rows: Default::default(),
            first: NOTHING,
            first_row: 0,
            is_spread: false,
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

    /// Sets clock `i`, the first one, which has gone off, to a time no earlier.
    #[inline(always)]
    pub fn set_first(&mut self, i: u32, time: u64) {
        debug_assert!(i == self.first.clock && time >= self.first.time, "the first clock goes on");
        if !self.many.is_empty() {
            return self.set_of_many(i, time);
        }
        self.few[i as usize % FEW] = time;
        self.first = self.earliest_of_few();
    }

    /// Sets clock `i`, which is not set. Mostly it goes off after all others.
    #[inline(always)]
    pub fn begin(&mut self, i: u32, time: u64) {
        debug_assert_eq!(self.get(i), NEVER, "a clock that is set");
        let (entry, row) = (Entry { time, clock: i }, &mut self.rows[0]);
        if self.many.is_empty() || self.is_spread || !row.last.comes_before(entry) {
            return self.set(i, time);
        }
        self.many[i as usize] = time;
        row.push(entry);
        self.first = row.first;
    }

    /// Clock `i` has gone off, mostly the first one, and is not set any more.
    #[inline(always)]
    pub fn end(&mut self, i: u32) {
        if self.many.is_empty() || self.is_spread || self.first.clock != i {
            return self.set(i, NEVER);
        }
        self.many[i as usize] = NEVER;
        let row = &mut self.rows[0];
        row.pop();
        self.first = row.first;
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
        let half = self.earliest_of_four(0);
        if usize::from(self.len) <= FEW / 2 {
            return half;
        }
        let other = self.earliest_of_four(FEW / 2);
        if other.time < half.time { other } else { half }
    }

    /// The earliest of four of the few, from this one on.
    #[inline(always)]
    fn earliest_of_four(&self, from: usize) -> Entry {
        let (mut clock, mut time) = (from, self.few[from]);
        for other in from + 1..from + FEW / 2 {
            if self.few[other] < time {
                (clock, time) = (other, self.few[other]);
            }
        }
        Entry { time, clock: clock as u32 }
    }

    #[inline(never)]
    fn set_of_many(&mut self, i: u32, time: u64) {
        let before = std::mem::replace(&mut self.many[i as usize], time);
        let entry = Entry { time, clock: i };
        let row = &mut self.rows[0];
        if self.is_spread || (before != NEVER && row.first.clock != i) {
            return self.set_anywhere(before, entry);
        }
        if before != NEVER {
            row.pop();
        }
        if time != NEVER {
            if !row.last.comes_before(entry) {
                return self.set_anywhere(NEVER, entry);
            }
            row.push(entry);
        }
        self.first = row.first;
    }

    /// A clock is set that went off at `before`, where one row is not enough for all.
    #[inline(never)]
    fn set_anywhere(&mut self, before: u64, entry: Entry) {
        if before != NEVER {
            if self.first.clock == entry.clock {
                self.rows[usize::from(self.first_row) % ROWS].pop();
            } else {
                self.take_out(Entry { time: before, ..entry });
            }
        }
        let [one, two, three] = &mut self.rows;
        if entry.time != NEVER {
            if one.last.comes_before(entry) {
                one.push(entry);
            } else if two.last.comes_before(entry) {
                two.push(entry);
            } else if three.last.comes_before(entry) {
                three.push(entry);
            } else {
                three.put_in(entry);
            }
        }
        self.is_spread = two.first.time != NEVER || three.first.time != NEVER;
        (self.first, self.first_row) = (one.first, 0);
        if two.first.comes_before(self.first) {
            (self.first, self.first_row) = (two.first, 1);
        }
        if three.first.comes_before(self.first) {
            (self.first, self.first_row) = (three.first, 2);
        }
    }

    /// A clock that is not the first one is set anew.
    #[inline(never)]
    fn take_out(&mut self, entry: Entry) {
        let found = self.rows.iter_mut().any(|row| row.take_out(entry));
        debug_assert!(found, "a clock that is set is in a row");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sets a clock that stood at `before` in the way that is meant for it.
    fn put(clocks: &mut Clocks, i: usize, before: u64, time: u64) {
        let (first, earliest) = clocks.first();
        match (before, time) {
            (_, NEVER) => clocks.end(i as u32),
            (NEVER, _) => clocks.begin(i as u32, time),
            _ if first as usize == i && time >= earliest => clocks.set_first(i as u32, time),
            _ => clocks.set(i as u32, time),
        }
    }

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
                put(&mut clocks, i % len, model[i % len], time);
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
                put(&mut clocks, set.0, model[set.0], set.1);
                model[set.0] = set.1;
                prop_assert!(clocks.rows.iter().all(|row| row.entries.capacity() <= 4 * len + 16));
            }
        }
    }
}
