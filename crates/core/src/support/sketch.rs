//! How often keys were seen, roughly, in four bits a counter: a count-min sketch.
//!
//! A key has one counter in each of four rows; the smallest of the four is its estimate, and never
//! too small while no counter was full. All four lie in one cache line, so that a key costs one
//! memory access.

/// Rows, that is counters of a key.
const ROWS: usize = 4;
/// Words of a row inside a block: 32 counters.
const WORDS: usize = 2;
/// Counters of a word.
const COUNTERS: usize = 16;
/// What a counter counts to.
pub const MOST: u32 = 15;

/// The counters of all rows that lie in one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Block([u64; ROWS * WORDS]);

/// Which of a key's counters an observation adds to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// All of them.
    All,
    /// The smallest ones: the others only count other keys.
    Smallest,
}

/// Counters of keys.
#[derive(Debug, Clone)]
pub struct Sketch {
    blocks: Vec<Block>,
    update: Update,
}

impl Sketch {
    /// Counters for about `keys` keys: 16 to 32 for each.
    pub fn new(keys: usize, update: Update) -> Self {
        let blocks = keys.div_ceil(ROWS * WORDS).next_power_of_two();
        Self { blocks: vec![Block([0; ROWS * WORDS]); blocks], update }
    }

    /// The number of each counter of a key, from 0 to [`Sketch::counters`].
    #[inline]
    pub fn places(&self, key: u32) -> [usize; ROWS] {
        let hash = mix(u64::from(key));
        let block = (hash >> 32) as usize & (self.blocks.len() - 1);
        std::array::from_fn(|row| {
            let within = (hash >> (8 * row)) as usize % (WORDS * COUNTERS);
            (block * ROWS + row) * WORDS * COUNTERS + within
        })
    }

    /// All counters.
    pub fn counters(&self) -> usize {
        self.blocks.len() * ROWS * WORDS * COUNTERS
    }

    #[inline]
    fn counter(&self, place: usize) -> u32 {
        let word = place / COUNTERS;
        let block = &self.blocks[word / (ROWS * WORDS)].0;
        (block[word % (ROWS * WORDS)] >> (place % COUNTERS * 4)) as u32 & MOST
    }

    /// How often a key was seen, at most [`MOST`].
    #[inline]
    pub fn estimate(&self, key: u32) -> u32 {
        self.places(key).map(|place| self.counter(place)).into_iter().fold(MOST, u32::min)
    }

    /// A key was seen.
    #[inline]
    pub fn add(&mut self, key: u32) {
        let places = self.places(key);
        let counts = places.map(|place| self.counter(place));
        let smallest = counts.into_iter().fold(MOST, u32::min);
        for (place, count) in places.into_iter().zip(counts) {
            if count < MOST && (self.update == Update::All || count == smallest) {
                let word = place / COUNTERS;
                let block = &mut self.blocks[word / (ROWS * WORDS)].0;
                block[word % (ROWS * WORDS)] += 1 << (place % COUNTERS * 4);
            }
        }
    }

    /// Halves all counters, rounding down. O(counters).
    pub fn halve(&mut self) {
        for word in self.blocks.iter_mut().flat_map(|block| &mut block.0) {
            *word = *word >> 1 & 0x7777_7777_7777_7777;
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.blocks.len() * size_of::<Block>()
    }
}

/// A set of keys with false positives, none of which it can forget alone: a Bloom filter with three
/// bits a key.
#[derive(Debug, Clone)]
pub struct Bloom {
    words: Vec<u64>,
}

impl Bloom {
    /// A set for about `keys` keys: four to eight bits for each.
    pub fn new(keys: usize) -> Self {
        Self { words: vec![0; keys.div_ceil(16).next_power_of_two()] }
    }

    /// The bits of a key.
    #[inline]
    pub fn places(&self, key: u32) -> [usize; 3] {
        let hash = mix(u64::from(key) | 1 << 32);
        let (start, step) = (hash as u32, (hash >> 32) as u32 | 1);
        let bits = self.words.len() * 64;
        [0, 1, 2].map(|n| start.wrapping_add(step.wrapping_mul(n)) as usize & (bits - 1))
    }

    /// Whether a key may be in it.
    #[inline]
    pub fn has(&self, key: u32) -> bool {
        self.places(key).into_iter().all(|place| self.words[place / 64] >> (place % 64) & 1 == 1)
    }

    /// Puts a key in; says whether it was new.
    #[inline]
    pub fn insert(&mut self, key: u32) -> bool {
        let new = !self.has(key);
        for place in self.places(key) {
            self.words[place / 64] |= 1 << (place % 64);
        }
        new
    }

    /// Takes all keys out. O(size).
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.words.len() * 8
    }
}

/// Spreads a number over all bits: the finaliser of `SplitMix64`.
#[inline]
fn mix(number: u64) -> u64 {
    let mut hash = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Never less than the true count, and exact where no counters are shared.
        #[test]
        fn estimates_are_not_too_small(keys in prop::collection::vec(0u32..40, 0..300), smallest: bool) {
            let update = if smallest { Update::Smallest } else { Update::All };
            let mut sketch = Sketch::new(8, update);
            let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
            for &key in &keys {
                sketch.add(key);
                *counts.entry(key).or_default() += 1;
            }
            for (&key, &count) in &counts {
                let count = count.min(MOST);
                prop_assert!(sketch.estimate(key) >= count);
                let places = sketch.places(key);
                let shared = |n: usize| counts.keys().any(|&other| other != key && sketch.places(other)[n] == places[n]);
                if (0..ROWS).any(|n| !shared(n)) {
                    prop_assert_eq!(sketch.estimate(key), count);
                }
            }
            let before: Vec<u32> = (0..40).map(|key| sketch.estimate(key)).collect();
            sketch.halve();
            prop_assert!((0..40).all(|key| sketch.estimate(key) == before[key as usize] / 2));
        }

        /// Holds what was put in, and nothing after it was cleared.
        #[test]
        fn sets_hold_their_keys(keys in prop::collection::vec(any::<u32>(), 1..40)) {
            let mut set = Bloom::new(64);
            prop_assert!(set.insert(keys[0]));
            for &key in &keys { set.insert(key); }
            prop_assert!(keys.iter().all(|&key| set.has(key) && !set.insert(key)));
            set.clear();
            prop_assert!(keys.iter().all(|&key| !set.has(key)));
        }
    }

    /// Counters of different keys spread evenly over a row.
    #[test]
    fn places_are_spread() {
        let sketch = Sketch::new(1 << 12, Update::All);
        let mut used = vec![0u32; sketch.counters()];
        let keys = sketch.counters() as u32;
        (0..keys).for_each(|key| sketch.places(key).into_iter().for_each(|place| used[place] += 1));
        // Four on average; a Poisson law leaves e^-4 of the counters unused.
        let unused = used.iter().filter(|&&n| n == 0).count() as f64 / used.len() as f64;
        assert!((0.015..0.022).contains(&unused), "{unused}");
    }
}
