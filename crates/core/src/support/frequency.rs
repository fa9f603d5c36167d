//! Nodes by how often they were used, the least often and among equals the least recently used one
//! first; O(1).

use super::NONE;
use super::list::{Links, List};
use crate::support::roomy::Roomy;

/// Nodes used equally often.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    uses: u32,
    nodes: List,
}

/// Nodes in the order of their number of uses.
#[derive(Debug, Clone)]
pub struct Frequency {
    links: Links,
    /// Bucket of each node, or [`NONE`].
    bucket_of: Vec<u32>,
    buckets: Vec<Bucket>,
    free: Roomy<u32>,
    /// Buckets that hold nodes, most uses first.
    order: List,
    bucket_links: Links,
}

impl Frequency {
    /// An empty order for nodes `0..count`.
    pub fn new(count: usize) -> Self {
        // One more than nodes: a node moves to its new bucket before the old one may be given up.
        let buckets = count + 1;
        Self {
            links: Links::new(count),
            bucket_of: vec![NONE; count],
            buckets: vec![Bucket { uses: 0, nodes: List::default() }; buckets],
            free: (0..buckets as u32).rev().collect(),
            order: List::default(),
            bucket_links: Links::new(buckets),
        }
    }

    /// Puts in a node that has been used once.
    pub fn insert(&mut self, node: u32) {
        let least = self.order.back();
        if least == NONE || self.buckets[least as usize].uses != 1 {
            let bucket = self.open(1);
            self.order.push_back(&mut self.bucket_links, bucket);
        }
        self.put(node, self.order.back());
    }

    /// A node has been used once more.
    pub fn touch(&mut self, node: u32) {
        let old = self.bucket_of[node as usize];
        let uses = self.buckets[old as usize].uses.saturating_add(1);
        let mut next = self.order.before(&self.bucket_links, old);
        if next == NONE || self.buckets[next as usize].uses != uses {
            next = self.open(uses);
            self.order.insert_before(&mut self.bucket_links, next, old);
        }
        self.remove(node);
        self.put(node, next);
    }

    /// Takes a node out.
    pub fn remove(&mut self, node: u32) {
        let bucket = std::mem::replace(&mut self.bucket_of[node as usize], NONE);
        let nodes = &mut self.buckets[bucket as usize].nodes;
        nodes.remove(&mut self.links, node);
        if nodes.is_empty() {
            self.order.remove(&mut self.bucket_links, bucket);
            self.free.push(bucket);
        }
    }

    /// How often a node that is in has been used.
    pub fn uses(&self, node: u32) -> u32 {
        self.buckets[self.bucket_of[node as usize] as usize].uses
    }

    /// The node used least often, least recently among equals; or [`NONE`].
    pub fn least(&self) -> u32 {
        match self.order.back() {
            NONE => NONE,
            bucket => self.buckets[bucket as usize].nodes.back(),
        }
    }

    /// The nodes, the most often and most recently used one first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let nodes = |bucket: u32| self.buckets[bucket as usize].nodes.iter(&self.links);
        self.order.iter(&self.bucket_links).flat_map(nodes)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.links.bytes()
            + self.bucket_links.bytes()
            + self.bucket_of.len() * 4
            + self.buckets.len() * size_of::<Bucket>()
            + self.free.capacity() * 4
    }

    fn open(&mut self, uses: u32) -> u32 {
        let Some(bucket) = self.free.pop() else {
            unreachable!("as many buckets as nodes, and one")
        };
        self.buckets[bucket as usize] = Bucket { uses, nodes: List::default() };
        bucket
    }

    fn put(&mut self, node: u32, bucket: u32) {
        self.buckets[bucket as usize].nodes.push_front(&mut self.links, node);
        self.bucket_of[node as usize] = bucket;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Agrees with a scan of counts and times.
        #[test]
        fn agrees_with_a_scan(steps in prop::collection::vec((0u32..12, 0u8..4), 1..300)) {
            let mut order = Frequency::new(12);
            let mut plain: BTreeMap<u32, (u32, usize)> = BTreeMap::new();
            for (time, (node, step)) in steps.into_iter().enumerate() {
                if step == 0 {
                    if plain.remove(&node).is_some() {
                        order.remove(node);
                    }
                } else if let Some((uses, last)) = plain.get_mut(&node) {
                    (*uses, *last) = (*uses + 1, time);
                    order.touch(node);
                } else {
                    plain.insert(node, (1, time));
                    order.insert(node);
                }
                let mut expected: Vec<_> = plain.iter().map(|(&node, &key)| (key, node)).collect();
                expected.sort_unstable();
                let expected: Vec<u32> = expected.into_iter().rev().map(|(_, node)| node).collect();
                prop_assert_eq!(order.iter().collect::<Vec<_>>(), expected.clone());
                prop_assert_eq!(order.least(), expected.last().copied().unwrap_or(NONE));
            }
        }
    }
}
