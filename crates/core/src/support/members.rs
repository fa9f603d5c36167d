//! A set of small numbers that takes O(1) to change and O(members) to go through.

use serde::{Deserialize, Serialize};

use super::NONE;
use crate::support::roomy::Roomy;

/// Some of the numbers `0..count`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Members {
    members: Roomy<u32>,
    /// Place of each member among them, or [`NONE`].
    place: Vec<u32>,
}

impl Members {
    /// None of `0..count`.
    pub fn new(count: usize) -> Self {
        Self { members: Roomy::default(), place: vec![NONE; count] }
    }

    /// Members in it.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Puts a number in, if it is not in.
    #[inline]
    pub fn insert(&mut self, number: u32) {
        let place = &mut self.place[number as usize];
        if *place == NONE {
            *place = self.members.len() as u32;
            self.members.push(number);
        }
    }

    /// Takes a number out, if it is in.
    #[inline]
    pub fn remove(&mut self, number: u32) {
        let place = std::mem::replace(&mut self.place[number as usize], NONE);
        if place != NONE {
            self.members.swap_remove(place as usize);
            if let Some(&moved) = self.members.get(place as usize) {
                self.place[moved as usize] = place;
            }
        }
    }

    /// The members, in an order that means nothing.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.iter().copied()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        (self.members.capacity() + self.place.len()) * 4
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Agrees with a tree under any sequence of operations.
        #[test]
        fn agrees_with_a_tree(steps in prop::collection::vec((0u32..20, any::<bool>()), 1..200)) {
            let (mut members, mut plain) = (Members::new(20), BTreeSet::new());
            for (number, enters) in steps {
                if enters {
                    members.insert(number);
                    plain.insert(number);
                } else {
                    members.remove(number);
                    plain.remove(&number);
                }
                prop_assert_eq!((members.len(), members.is_empty()), (plain.len(), plain.is_empty()));
                prop_assert_eq!(members.iter().collect::<BTreeSet<_>>(), plain.clone());
            }
        }
    }
}
