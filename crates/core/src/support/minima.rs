//! The smallest of many small numbers, kept up to date: a 16-ary tree of minima over dense leaves.
//!
//! A leaf that falls is compared with its group's minimum and mostly stops there; a leaf that rises
//! re-reads 16 leaves (one cache line half) a level. Ties go to the lowest index.

use serde::{Deserialize, Serialize};

const FAN: usize = 16;

/// A leaf that does not take part.
pub const ABSENT: u16 = u16::MAX;

/// Minima of the leaves `0..len`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Minima {
    /// Padded to a multiple of 16.
    leaves: Vec<u16>,
    /// The minima of groups of leaves, and of groups of those; the last level is one group at most.
    above: Vec<Vec<u16>>,
}

impl Minima {
    /// A tree of `len` absent leaves.
    pub fn new(len: usize) -> Self {
        let leaves = vec![ABSENT; len.max(1).next_multiple_of(FAN)];
        let (mut above, mut top) = (Vec::new(), leaves.len());
        while top > FAN {
            top = (top / FAN).next_multiple_of(FAN);
            above.push(vec![ABSENT; top]);
        }
        Self { leaves, above }
    }

    /// The minima of groups on `level`; the leaves are level 0.
    #[inline]
    fn level(&self, level: usize) -> &[u16] {
        if level == 0 { &self.leaves } else { &self.above[level - 1] }
    }

    /// All levels, the smallest first.
    #[inline]
    fn levels_down(&self) -> impl Iterator<Item = &[u16]> {
        self.above.iter().rev().chain([&self.leaves]).map(Vec::as_slice)
    }

    /// The value of leaf `i`.
    #[inline]
    pub fn get(&self, i: usize) -> u16 {
        self.leaves[i]
    }

    /// Gives leaf `i` a new value, if it takes part.
    #[inline(always)]
    pub fn update(&mut self, i: usize, value: u16) {
        let leaf = &mut self.leaves[i];
        if *leaf != ABSENT {
            let old = std::mem::replace(leaf, value);
            self.rise(i, old, value);
        }
    }

    /// Gives leaf `i` a new value. O(log n), mostly O(1) when it falls.
    #[inline]
    pub fn set(&mut self, i: usize, value: u16) {
        let old = std::mem::replace(&mut self.leaves[i], value);
        self.rise(i, old, value);
    }

    /// A leaf has changed: so may the minimum of its group, and of those above.
    #[inline(always)]
    fn rise(&mut self, i: usize, old: u16, value: u16) {
        let Some(&above) = self.above.first().and_then(|level| level.get(i / FAN)) else { return };
        if value < above || old == above {
            self.rise_further(i, old, value);
        }
    }

    #[inline(never)]
    fn rise_further(&mut self, i: usize, mut old: u16, mut value: u16) {
        let mut at = i;
        for level in 0..self.above.len() {
            let Some(&above) = self.above[level].get(at / FAN) else { return };
            if value < above {
                // A new minimum of its group.
            } else if old == above && value != old {
                let group = at / FAN * FAN;
                value =
                    self.level(level)[group..group + FAN].iter().copied().min().unwrap_or(ABSENT);
                if value == above {
                    return;
                }
            } else {
                return;
            }
            at /= FAN;
            old = std::mem::replace(&mut self.above[level][at], value);
        }
    }

    /// The value of the smallest present leaf.
    #[inline]
    pub fn least(&self) -> Option<u16> {
        let top = self.level(self.above.len());
        let least = top.iter().fold(ABSENT, |least, &value| least.min(value));
        (least != ABSENT).then_some(least)
    }

    /// The smallest present leaf: `(index, value)`, the lowest index among equals. O(log n).
    pub fn min(&self) -> Option<(usize, u16)> {
        let mut group = 0;
        for level in self.levels_down() {
            let slice = &level[group * FAN..group * FAN + FAN];
            let least = slice.iter().copied().min().filter(|&v| v != ABSENT)?;
            group = group * FAN + slice.iter().position(|&v| v == least)?;
        }
        Some((group, self.leaves[group]))
    }

    /// The smallest present leaf: `(index, value)`, the highest index among equals. O(log n).
    pub fn min_last(&self) -> Option<(usize, u16)> {
        let mut group = 0;
        for level in self.levels_down() {
            let slice = &level[group * FAN..group * FAN + FAN];
            let least = slice.iter().copied().min().filter(|&v| v != ABSENT)?;
            group = group * FAN + slice.iter().rposition(|&v| v == least)?;
        }
        Some((group, self.leaves[group]))
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.levels_down().map(|level| level.len() * 2).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Agrees with a scan of a plain vector.
        #[test]
        fn finds_what_a_scan_finds(
            len in 1usize..600,
            ops in prop::collection::vec((0usize..600, prop_oneof![0u16..5, Just(ABSENT)]), 0..300),
        ) {
            let (mut tree, mut model) = (Minima::new(len), vec![ABSENT; len]);
            for (i, value) in ops {
                tree.set(i % len, value);
                model[i % len] = value;
                let expected = model.iter().copied().enumerate().filter(|&(_, v)| v != ABSENT).min_by_key(|&(i, v)| (v, i));
                prop_assert_eq!(tree.min(), expected);
                prop_assert_eq!(tree.least(), expected.map(|(_, v)| v));
                let present = model.iter().copied().enumerate().filter(|&(_, v)| v != ABSENT);
                prop_assert_eq!(tree.min_last(), present.rev().min_by_key(|&(_, v)| v));
                prop_assert_eq!(tree.get(i % len), value);
            }
        }
    }
}
