//! Doubly linked lists over indices: the nodes lie in one array, a list is its two ends.

use serde::{Deserialize, Serialize};

use super::NONE;

/// Links of all nodes; a node is in at most one list at a time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Links {
    /// `[towards the front, towards the back]` of each node.
    nodes: Vec<[u32; 2]>,
}

/// One list: front (most recent, where recency is meant) and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct List {
    front: u32,
    back: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { front: NONE, back: NONE }
    }
}

impl Links {
    /// Links for nodes `0..count`.
    pub fn new(count: usize) -> Self {
        Self { nodes: vec![[NONE; 2]; count] }
    }

    /// The links of a node, to have them in the cache.
    #[inline]
    pub fn entry(&self, node: u32) -> u32 {
        self.nodes[node as usize][0]
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<[u32; 2]>()
    }
}

impl List {
    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.front == NONE
    }

    /// The first node, or [`NONE`].
    pub fn front(&self) -> u32 {
        self.front
    }

    /// The last node, or [`NONE`].
    pub fn back(&self) -> u32 {
        self.back
    }

    /// Puts `node`, which is in no list, first. O(1).
    #[inline]
    pub fn push_front(&mut self, links: &mut Links, node: u32) {
        links.nodes[node as usize] = [NONE, self.front];
        if self.front == NONE {
            self.back = node;
        } else {
            links.nodes[self.front as usize][0] = node;
        }
        self.front = node;
    }

    /// Puts `node`, which is in no list, last. O(1).
    #[inline]
    pub fn push_back(&mut self, links: &mut Links, node: u32) {
        links.nodes[node as usize] = [self.back, NONE];
        if self.back == NONE {
            self.front = node;
        } else {
            links.nodes[self.back as usize][1] = node;
        }
        self.back = node;
    }

    /// Puts `node`, which is in no list, in front of `other`, which is in this one. O(1).
    #[inline]
    pub fn insert_before(&mut self, links: &mut Links, node: u32, other: u32) {
        let prev = links.nodes[other as usize][0];
        if prev == NONE {
            return self.push_front(links, node);
        }
        links.nodes[node as usize] = [prev, other];
        links.nodes[prev as usize][1] = node;
        links.nodes[other as usize][0] = node;
    }

    /// Takes `node`, which is in this list, out of it. O(1).
    #[inline]
    pub fn remove(&mut self, links: &mut Links, node: u32) {
        let [prev, next] = links.nodes[node as usize];
        if prev == NONE {
            debug_assert_eq!(self.front, node);
            self.front = next;
        } else {
            links.nodes[prev as usize][1] = next;
        }
        if next == NONE {
            debug_assert_eq!(self.back, node);
            self.back = prev;
        } else {
            links.nodes[next as usize][0] = prev;
        }
    }

    /// Takes the last node out, if there is one. O(1).
    #[inline]
    pub fn pop_back(&mut self, links: &mut Links) -> Option<u32> {
        let node = self.back;
        (node != NONE).then(|| {
            self.remove(links, node);
            node
        })
    }

    /// Moves `node`, which is in this list, to the front. O(1).
    #[inline]
    pub fn touch(&mut self, links: &mut Links, node: u32) {
        if self.front != node {
            self.remove(links, node);
            self.push_front(links, node);
        }
    }

    /// The node before `node`, towards the front, or [`NONE`].
    pub fn before(&self, links: &Links, node: u32) -> u32 {
        links.nodes[node as usize][0]
    }

    /// The node after `node`, towards the back, or [`NONE`].
    pub fn after(&self, links: &Links, node: u32) -> u32 {
        links.nodes[node as usize][1]
    }

    /// The nodes from front to back.
    pub fn iter<'a>(&self, links: &'a Links) -> impl Iterator<Item = u32> + 'a {
        let mut node = self.front;
        std::iter::from_fn(move || {
            (node != NONE).then(|| {
                let this = node;
                node = links.nodes[this as usize][1];
                this
            })
        })
    }

    /// The nodes from back to front.
    #[inline]
    pub fn iter_back<'a>(&self, links: &'a Links) -> impl Iterator<Item = u32> + 'a {
        let mut node = self.back;
        std::iter::from_fn(move || {
            (node != NONE).then(|| {
                let this = node;
                node = links.nodes[this as usize][0];
                this
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Agrees with a plain deque under any sequence of operations.
        #[test]
        fn behaves_like_a_deque(ops in prop::collection::vec((0u8..5, 0u32..16), 0..200)) {
            let (mut links, mut list, mut model) = (Links::new(16), List::default(), VecDeque::new());
            for (op, node) in ops {
                let held = model.contains(&node);
                match op {
                    0 if !held => { list.push_front(&mut links, node); model.push_front(node); }
                    1 if !held => { list.push_back(&mut links, node); model.push_back(node); }
                    2 if held => { list.remove(&mut links, node); model.retain(|&n| n != node); }
                    3 if held => {
                        list.touch(&mut links, node);
                        model.retain(|&n| n != node);
                        model.push_front(node);
                    }
                    4 => { prop_assert_eq!(list.pop_back(&mut links), model.pop_back()); }
                    _ => {}
                }
                prop_assert_eq!(list.iter(&links).collect::<Vec<_>>(), model.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!(list.iter_back(&links).collect::<Vec<_>>(), model.iter().rev().copied().collect::<Vec<_>>());
                prop_assert_eq!(list.is_empty(), model.is_empty());
                prop_assert_eq!(list.front(), model.front().copied().unwrap_or(NONE));
                prop_assert_eq!(list.back(), model.back().copied().unwrap_or(NONE));
            }
        }
    }
}
