//! A fixed set of bits, with the range operations that pages of a block need.

use serde::{Deserialize, Serialize};

/// Bits `0..len`, all clear at first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bits {
    #[serde(with = "crate::support::bulk")]
    words: Vec<u64>,
}

impl Bits {
    /// A set of `len` clear bits.
    pub fn new(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)] }
    }

    /// Whether bit `i` is set.
    #[inline]
    pub fn get(&self, i: usize) -> bool {
        self.words[i / 64] >> (i % 64) & 1 == 1
    }

    /// Sets bit `i`; says whether it was clear.
    #[inline]
    pub fn set(&mut self, i: usize) -> bool {
        let (word, mask) = (&mut self.words[i / 64], 1 << (i % 64));
        let fresh = *word & mask == 0;
        *word |= mask;
        fresh
    }

    /// Clears bit `i`; says whether it was set.
    #[inline]
    pub fn clear(&mut self, i: usize) -> bool {
        let (word, mask) = (&mut self.words[i / 64], 1 << (i % 64));
        let was = *word & mask != 0;
        *word &= !mask;
        was
    }

    /// Sets bits `from..to`.
    pub fn set_range(&mut self, from: usize, to: usize) {
        self.for_words(from, to, |word, mask| *word |= mask);
    }

    /// Clears bits `from..to`.
    pub fn clear_range(&mut self, from: usize, to: usize) {
        self.for_words(from, to, |word, mask| *word &= !mask);
    }

    fn for_words(&mut self, from: usize, to: usize, mut apply: impl FnMut(&mut u64, u64)) {
        let mut at = from;
        while at < to {
            let end = to.min((at / 64 + 1) * 64);
            apply(&mut self.words[at / 64], mask(at % 64, end - at));
            at = end;
        }
    }

    /// Set bits in `from..to`.
    pub fn count_range(&self, from: usize, to: usize) -> u32 {
        let (mut at, mut count) = (from, 0);
        while at < to {
            let end = to.min((at / 64 + 1) * 64);
            count += (self.words[at / 64] & mask(at % 64, end - at)).count_ones();
            at = end;
        }
        count
    }

    /// The first set bit in `from..to`.
    #[inline]
    pub fn first_set(&self, from: usize, to: usize) -> Option<usize> {
        self.first(from, to, 0)
    }

    /// The first clear bit in `from..to`.
    pub fn first_clear(&self, from: usize, to: usize) -> Option<usize> {
        self.first(from, to, u64::MAX)
    }

    #[inline]
    fn first(&self, from: usize, to: usize, flip: u64) -> Option<usize> {
        let mut at = from;
        while at < to {
            let word = (self.words[at / 64] ^ flip) >> (at % 64);
            if word != 0 {
                let found = at + word.trailing_zeros() as usize;
                return (found < to).then_some(found);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// The most set bits in `from..to` that follow one another.
    pub fn longest_run(&self, from: usize, to: usize) -> u32 {
        let (mut longest, mut run, mut at) = (0, 0, from);
        while at < to {
            let end = to.min((at / 64 + 1) * 64);
            let (mut word, mut left) = (self.words[at / 64] >> (at % 64), (end - at) as u32);
            loop {
                let ones = word.trailing_ones().min(left);
                run += ones;
                longest = longest.max(run);
                if ones == left {
                    // It may go on in the next word.
                    break;
                }
                run = 0;
                word >>= ones;
                let zeros = word.trailing_zeros().min(left - ones);
                left -= ones + zeros;
                if left == 0 {
                    break;
                }
                word >>= zeros;
            }
            at = end;
        }
        longest
    }

    /// The last set bit below `to`.
    pub fn last_set(&self, to: usize) -> Option<usize> {
        let mut end = to;
        while end > 0 {
            let start = (end - 1) / 64 * 64;
            let word = self.words[start / 64] & mask(0, end - start);
            if word != 0 {
                return Some(start + 63 - word.leading_zeros() as usize);
            }
            end = start;
        }
        None
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.words.len() * 8
    }
}

/// `len` (1..=64) ones from bit `from`.
#[inline]
fn mask(from: usize, len: usize) -> u64 {
    (u64::MAX >> (64 - len)) << from
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Agrees with a plain vector of booleans.
        #[test]
        fn behaves_like_booleans(ops in prop::collection::vec((0u8..4, 0usize..200, 0usize..200), 0..60)) {
            let (mut bits, mut model) = (Bits::new(200), vec![false; 200]);
            for (op, a, b) in ops {
                let (from, to) = (a.min(b), a.max(b));
                match op {
                    0 => prop_assert_eq!(bits.set(a), !std::mem::replace(&mut model[a], true)),
                    1 => prop_assert_eq!(bits.clear(a), std::mem::replace(&mut model[a], false)),
                    2 => { bits.set_range(from, to); model[from..to].fill(true); }
                    _ => { bits.clear_range(from, to); model[from..to].fill(false); }
                }
                prop_assert_eq!(bits.get(a), model[a]);
                prop_assert_eq!(bits.count_range(from, to) as usize, model[from..to].iter().filter(|&&x| x).count());
                prop_assert_eq!(bits.first_set(from, to), (from..to).find(|&i| model[i]));
                prop_assert_eq!(bits.first_clear(from, to), (from..to).find(|&i| !model[i]));
                prop_assert_eq!(bits.last_set(to), (0..to).rev().find(|&i| model[i]));
                let runs = model[from..to].chunk_by(|one, next| one == next).filter(|run| run[0]);
                prop_assert_eq!(bits.longest_run(from, to) as usize, runs.map(<[bool]>::len).max().unwrap_or(0));
            }
        }
    }
}
