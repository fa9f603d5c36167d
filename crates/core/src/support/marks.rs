//! A set of numbers that grows upwards, and the greatest of them up to a limit: a bit for each
//! number, and a bit for each word of bits that is not empty, six levels high.

use serde::{Deserialize, Serialize};

use crate::support::roomy::Roomy;

/// Levels; all numbers below 64 to this power, 68 billion, lie in one word of the last.
const LEVELS: usize = 6;

/// Numbers from 0.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Marks {
    /// `levels[0]` has a bit for each number, `levels[n + 1]` one for each word of `levels[n]`.
    levels: [Roomy<u64>; LEVELS],
}

impl Marks {
    /// Puts `number` in. O(1), amortised over the numbers up to it.
    #[inline]
    pub fn set(&mut self, number: u64) {
        let mut at = number as usize;
        for words in &mut self.levels {
            let (word, bit) = (at / 64, 1 << (at % 64));
            if words.len() <= word {
                words.resize(word + 1, 0);
            }
            let was = words[word];
            words[word] |= bit;
            if was != 0 {
                return;
            }
            at = word;
        }
    }

    /// Takes `number`, which is in, out. O(1).
    #[inline]
    pub fn clear(&mut self, number: u64) {
        let mut at = number as usize;
        for words in &mut self.levels {
            let word = at / 64;
            words[word] &= !(1 << (at % 64));
            if words[word] != 0 {
                return;
            }
            at = word;
        }
    }

    /// The greatest number in the set that is not above `limit`. O(1): one word up and one down for
    /// each level.
    #[inline]
    pub fn last_up_to(&self, limit: u64) -> Option<u64> {
        let mut end = limit as usize + 1;
        for (level, words) in self.levels.iter().enumerate() {
            end = end.min(words.len() * 64);
            let (word, bits) = (end / 64, end % 64);
            let below = words.get(word).map_or(0, |found| found & ((1 << bits) - 1));
            if below != 0 {
                return Some(self.last_under(level, word * 64 + last_bit(below)));
            }
            end = word;
        }
        // Only numbers beyond 64 to the power of the levels need more than one word here.
        let top = &self.levels[LEVELS - 1][..end];
        let word = top.iter().rposition(|&word| word != 0)?;
        Some(self.last_under(LEVELS - 1, word * 64 + last_bit(top[word])))
    }

    /// The greatest number under bit `at` of a level, which is set.
    #[inline]
    fn last_under(&self, level: usize, at: usize) -> u64 {
        self.levels[..level].iter().rev().fold(at, |at, words| at * 64 + last_bit(words[at])) as u64
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.levels.iter().map(|words| words.capacity() * 8).sum()
    }
}

/// The highest bit that is set in a word that is not 0.
#[inline]
fn last_bit(word: u64) -> usize {
    63 - word.leading_zeros() as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Agrees with an ordered set, near zero and where higher levels are needed.
        #[test]
        fn agrees_with_an_ordered_set(
            steps in prop::collection::vec((any::<bool>(), prop_oneof![0u64..300, 0u64..600_000]), 1..300),
        ) {
            let (mut marks, mut set) = (Marks::default(), BTreeSet::new());
            for (add, number) in steps {
                if add {
                    marks.set(number);
                    set.insert(number);
                } else if set.remove(&number) {
                    marks.clear(number);
                }
                for limit in [0, number.saturating_sub(1), number, number + 1, number + 4096, 1 << 40] {
                    prop_assert_eq!(marks.last_up_to(limit), set.range(..=limit).next_back().copied());
                }
            }
        }
    }
}
