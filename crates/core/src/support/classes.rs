//! Members by rank, where many may be equal: any member of the least rank is found in O(log ranks).

use crate::support::roomy::Roomy;
use std::hash::Hash;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::NONE;
use super::heap::Heap;

/// Members `0..count`, each with a rank or not. Those of one rank form a class; classes are in a
/// heap.
#[derive(Debug, Clone)]
pub struct Classes<K> {
    ranks: Heap<K>,
    /// Members of each class; classes without members keep their memory.
    members: Roomy<Roomy<u32>>,
    unused: Roomy<u32>,
    /// Hashed the same in every process: the room that it takes depends on where its entries lie.
    class_of_rank: HashMap<K, u32, FixedState>,
    /// Class of each member, or [`NONE`], and its place there.
    class: Vec<u32>,
    place: Vec<u32>,
}

impl<K: Ord + Copy + Hash> Classes<K> {
    /// No ranks for members `0..count`.
    pub fn new(count: usize) -> Self {
        Self {
            ranks: Heap::new(count),
            members: Roomy::default(),
            unused: Roomy::default(),
            class_of_rank: HashMap::default(),
            class: vec![NONE; count],
            place: vec![NONE; count],
        }
    }

    /// Whether a member has a rank.
    pub fn contains(&self, member: u32) -> bool {
        self.class[member as usize] != NONE
    }

    /// A member's rank, if it has one. O(1).
    pub fn rank(&self, member: u32) -> Option<K> {
        self.class
            .get(member as usize)
            .filter(|&&class| class != NONE)
            .and_then(|&class| self.ranks.key(class))
    }

    /// Gives a member a rank. O(log ranks).
    pub fn set(&mut self, member: u32, rank: K) {
        let old = self.class[member as usize];
        if old != NONE && self.ranks.key(old) == Some(rank) {
            return;
        }
        if old != NONE && self.members[old as usize].len() == 1 && self.rename(old, rank) {
            return;
        }
        self.remove(member);
        let class = *self.class_of_rank.entry(rank).or_insert_with(|| {
            let class = self.unused.pop().unwrap_or(self.members.len() as u32);
            if class as usize == self.members.len() {
                self.members.push(Roomy::default());
            }
            self.ranks.set(class, rank);
            class
        });
        let members = &mut self.members[class as usize];
        (self.class[member as usize], self.place[member as usize]) = (class, members.len() as u32);
        members.push(member);
    }

    /// A class of one member takes its new rank along, unless that has a class already.
    fn rename(&mut self, class: u32, rank: K) -> bool {
        let Entry::Vacant(entry) = self.class_of_rank.entry(rank) else { return false };
        entry.insert(class);
        if let Some(old) = self.ranks.key(class) {
            self.class_of_rank.remove(&old);
        }
        self.ranks.set(class, rank);
        true
    }

    /// Takes a member's rank away, if it has one. O(log ranks).
    pub fn remove(&mut self, member: u32) {
        let class = std::mem::replace(&mut self.class[member as usize], NONE);
        if class == NONE {
            return;
        }
        let place = self.place[member as usize];
        let members = &mut self.members[class as usize];
        members.swap_remove(place as usize);
        if let Some(&moved) = members.get(place as usize) {
            self.place[moved as usize] = place;
        } else if members.is_empty()
            && let Some(rank) = self.ranks.key(class)
        {
            self.class_of_rank.remove(&rank);
            self.ranks.remove(class);
            self.unused.push(class);
        }
    }

    /// The members of the least rank, in no particular order; none if nobody has a rank. O(1).
    pub fn least(&self) -> &[u32] {
        self.ranks.first().map_or(&[], |(_, class)| &self.members[class as usize])
    }

    /// All members with a rank, the least rank first.
    pub fn sorted(&self) -> Vec<u32> {
        self.ranks
            .sorted()
            .into_iter()
            .flat_map(|class| &self.members[class as usize])
            .copied()
            .collect()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.ranks.bytes()
            + self.members.capacity() * size_of::<Roomy<u32>>()
            + self.members.iter().map(|members| members.capacity() * 4).sum::<usize>()
            + self.unused.capacity() * 4
            + self.class_of_rank.allocation_size()
            + (self.class.len() + self.place.len()) * 4
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Agrees with a scan.
        #[test]
        fn finds_what_a_scan_finds(ops in prop::collection::vec((0u32..20, prop::option::of(0u32..6)), 0..300)) {
            let (mut classes, mut model) = (Classes::new(20), [None; 20]);
            for (member, rank) in ops {
                match rank {
                    Some(rank) => classes.set(member, rank),
                    None => classes.remove(member),
                }
                model[member as usize] = rank;
                let least = model.iter().flatten().min();
                let mut found = classes.least().to_vec();
                found.sort_unstable();
                let expected: Vec<u32> = (0..20).filter(|&m| least.is_some() && model[m as usize].as_ref() == least).collect();
                prop_assert_eq!(found, expected);
                let ranks: Vec<_> = classes.sorted().iter().map(|&m| model[m as usize]).collect();
                prop_assert!(ranks.is_sorted() && ranks.len() == model.iter().flatten().count());
                prop_assert!((0..20).all(|m| classes.rank(m) == model[m as usize]));
            }
        }
    }
}
