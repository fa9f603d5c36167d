//! Blocks by how many pages they hold, the fullest first and among equals in the order of use.
//!
//! One list for each number of pages, the most recent first, and a bit for each list that is not
//! empty: O(1), but for a scan of one bit a page of a block where the fullest is asked for.

use crate::support::NONE;
use crate::support::bits::Bits;
use crate::support::list::{Links, List};

/// Nodes in lists by number of pages. The links are the caller's: a node may be in another list of
/// theirs instead.
#[derive(Debug)]
pub struct BySize {
    lists: Vec<List>,
    /// Which of the lists are not empty.
    filled: Bits,
    /// The list that each node is in, or [`NONE`].
    list_of: Vec<u32>,
}

impl BySize {
    /// No nodes of `0..nodes`, whose blocks have so many pages.
    pub fn new(nodes: usize, pages_per_block: u32) -> Self {
        let counts = pages_per_block as usize + 1;
        Self {
            lists: vec![List::default(); counts],
            filled: Bits::new(counts),
            list_of: vec![NONE; nodes],
        }
    }

    /// Whether a node is in.
    pub fn contains(&self, node: u32) -> bool {
        self.list_of[node as usize] != NONE
    }

    /// Whether no node is in.
    pub fn is_empty(&self) -> bool {
        self.fullest() == NONE
    }

    /// Pages of a node; 0 if it is not in.
    #[inline]
    pub fn size(&self, node: u32) -> u32 {
        let count = self.list_of[node as usize];
        if count == NONE { 0 } else { count }
    }

    /// A node has `pages` pages now: it is the most recent of those that have as many.
    #[inline]
    pub fn put(&mut self, links: &mut Links, node: u32, pages: u32) {
        self.remove(links, node);
        self.list_of[node as usize] = pages;
        self.lists[pages as usize].push_front(links, node);
        self.filled.set(pages as usize);
    }

    /// Takes a node out, if it is in.
    #[inline]
    pub fn remove(&mut self, links: &mut Links, node: u32) {
        let count = std::mem::replace(&mut self.list_of[node as usize], NONE);
        if count == NONE {
            return;
        }
        let list = &mut self.lists[count as usize];
        list.remove(links, node);
        if list.is_empty() {
            self.filled.clear(count as usize);
        }
    }

    /// The node with most pages, the least recent among equals; or [`NONE`].
    pub fn fullest(&self) -> u32 {
        self.filled.last_set(self.lists.len()).map_or(NONE, |count| self.lists[count].back())
    }

    /// The nodes, those with most pages first, the most recent first among equals.
    pub fn iter<'a>(&'a self, links: &'a Links) -> impl Iterator<Item = u32> + 'a {
        self.lists.iter().rev().flat_map(|list| list.iter(links))
    }

    /// The nodes in the order in which [`Self::fullest`] would find them if each was taken out. O(1)
    /// for each, but for a scan of one bit a page of a block.
    pub fn from_fullest<'a>(&'a self, links: &'a Links) -> impl Iterator<Item = u32> + 'a {
        let before = |count: usize| self.filled.last_set(count);
        std::iter::successors(before(self.lists.len()), move |&count| before(count)).flat_map(
            move |count| {
                let list = &self.lists[count];
                let held = |node: u32| (node != NONE).then_some(node);
                std::iter::successors(held(list.back()), move |&node| {
                    held(list.before(links, node))
                })
            },
        )
    }

    /// The nodes from the last to the first of those that [`Self::fullest`] would find.
    pub fn fullest_last<'a>(&'a self, links: &'a Links) -> impl Iterator<Item = u32> + 'a {
        self.lists.iter().flat_map(|list| list.iter(links))
    }

    /// The nodes with so many pages, the most recent first.
    pub fn of_size<'a>(&self, links: &'a Links, pages: u32) -> impl Iterator<Item = u32> + 'a {
        self.lists[pages as usize].iter(links)
    }

    /// Compares lists with marks, and with how many pages each node has.
    ///
    /// # Errors
    /// What does not agree.
    pub fn check(&self, links: &Links, pages: impl Fn(u32) -> u32) -> Result<(), String> {
        for (count, list) in self.lists.iter().enumerate() {
            if list.is_empty() == self.filled.get(count) {
                return Err(format!("the list of {count}-page blocks is not marked as it is"));
            }
            let misplaced = |&node: &u32| {
                pages(node) as usize != count || self.list_of[node as usize] as usize != count
            };
            if let Some(node) = list.iter(links).find(misplaced) {
                return Err(format!("node {node} is in the list of {count}-page blocks"));
            }
        }
        Ok(())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.lists.len() * size_of::<List>() + self.filled.bytes() + self.list_of.len() * 4
    }
}
