//! The least of many keys that change: a binary heap that knows where each of its members is.

use serde::{Deserialize, Serialize};

use super::NONE;
use crate::support::roomy::Roomy;

/// Members `0..count`, each in the heap with a key or not. The least key is first; equal keys must
/// not matter to the caller, or be told apart by the key itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Heap<K> {
    /// Members in heap order, each with its key.
    order: Roomy<(K, u32)>,
    /// Where each member stands in `order`, or [`NONE`].
    place: Vec<u32>,
}

impl<K: Ord + Copy> Heap<K> {
    /// An empty heap for members `0..count`.
    pub fn new(count: usize) -> Self {
        Self { order: Roomy::default(), place: vec![NONE; count] }
    }

    /// The same with memory for all of them.
    pub fn with_room(count: usize) -> Self {
        Self { order: Roomy::with_capacity(count), ..Self::new(count) }
    }

    /// Members in it.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The least key and its member. O(1).
    pub fn first(&self) -> Option<(K, u32)> {
        self.order.first().copied()
    }

    /// The least key whose member is accepted, and that member. O(members that are not).
    pub fn first_where(&self, accepts: impl Fn(u32) -> bool) -> Option<(K, u32)> {
        let mut best = None;
        self.search(0, &accepts, &mut best);
        best
    }

    fn search(&self, place: usize, accepts: &impl Fn(u32) -> bool, best: &mut Option<(K, u32)>) {
        let Some(&entry) = self.order.get(place) else { return };
        if best.is_some_and(|(least, _)| least <= entry.0) {
            return;
        }
        if accepts(entry.1) {
            *best = Some(entry);
            return;
        }
        self.search(2 * place + 1, accepts, best);
        self.search(2 * place + 2, accepts, best);
    }

    /// The key of a member that is in it.
    pub fn key(&self, member: u32) -> Option<K> {
        let place = self.place[member as usize];
        (place != NONE).then(|| self.order[place as usize].0)
    }

    /// Puts a member in, or changes its key. O(log n).
    pub fn set(&mut self, member: u32, key: K) {
        let place = self.place[member as usize];
        if place == NONE {
            self.order.push((key, member));
            self.rise(self.order.len() - 1);
        } else {
            let place = place as usize;
            self.order[place].0 = key;
            if self.rise(place) == place {
                self.sink(place);
            }
        }
    }

    /// Takes a member out, if it is in. O(log n).
    pub fn remove(&mut self, member: u32) {
        let place = self.place[member as usize];
        if place == NONE {
            return;
        }
        let place = place as usize;
        self.place[member as usize] = NONE;
        self.order.swap_remove(place);
        if place < self.order.len() && self.rise(place) == place {
            self.sink(place);
        }
    }

    /// All members, from the least key on. O(n log n).
    pub fn sorted(&self) -> Vec<u32> {
        let mut all = self.order.clone();
        all.sort_unstable_by_key(|entry| entry.0);
        all.into_iter().map(|(_, member)| member).collect()
    }

    /// Members in no particular order.
    pub fn members(&self) -> impl Iterator<Item = u32> + '_ {
        self.order.iter().map(|&(_, member)| member)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.order.capacity() * size_of::<(K, u32)>() + self.place.len() * 4
    }

    /// Moves the entry at `place` towards the root as far as it belongs; where it ends.
    fn rise(&mut self, mut place: usize) -> usize {
        let entry = self.order[place];
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.order[parent].0 <= entry.0 {
                break;
            }
            self.put(place, self.order[parent]);
            place = parent;
        }
        self.put(place, entry);
        place
    }

    fn sink(&mut self, mut place: usize) {
        let entry = self.order[place];
        loop {
            let mut child = 2 * place + 1;
            if child >= self.order.len() {
                break;
            }
            if child + 1 < self.order.len() && self.order[child + 1].0 < self.order[child].0 {
                child += 1;
            }
            if entry.0 <= self.order[child].0 {
                break;
            }
            self.put(place, self.order[child]);
            place = child;
        }
        self.put(place, entry);
    }

    fn put(&mut self, place: usize, entry: (K, u32)) {
        self.order[place] = entry;
        self.place[entry.1 as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Agrees with a scan of a map under any sequence of operations.
        #[test]
        fn agrees_with_a_scan(steps in prop::collection::vec((0u32..20, 0u32..50, 0u8..3), 1..200)) {
            let mut heap = Heap::new(20);
            let mut plain = BTreeMap::new();
            for (member, value, step) in steps {
                if step == 0 {
                    heap.remove(member);
                    plain.remove(&member);
                } else {
                    heap.set(member, (value, member));
                    plain.insert(member, (value, member));
                }
                let least = plain.values().min().map(|&key| (key, key.1));
                prop_assert_eq!(heap.first(), least);
                let even = plain.values().filter(|key| key.0 % 2 == 0).min().map(|&key| (key, key.1));
                prop_assert_eq!(heap.first_where(|member| plain[&member].0 % 2 == 0), even);
                prop_assert_eq!(heap.len(), plain.len());
                prop_assert_eq!(heap.is_empty(), plain.is_empty());
                prop_assert_eq!(heap.key(member), plain.get(&member).copied());
                let mut sorted: Vec<_> = plain.values().copied().collect();
                sorted.sort_unstable();
                prop_assert_eq!(heap.sorted(), sorted.iter().map(|key| key.1).collect::<Vec<_>>());
            }
        }
    }
}
