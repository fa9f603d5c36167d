//! Pages that a scheme remembers although the buffer no longer holds them, in lists by the order in
//! which they left.
//!
//! The index from pages to entries is dense: 4 bytes for each logical page, of which memory is
//! touched only where pages have been.

use crate::buffer::Shape;
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};

/// Remembered pages, each in one of `LISTS` lists.
#[derive(Debug)]
pub struct Ghosts<const LISTS: usize> {
    /// Entry of each logical page + 1, or 0.
    entry_of: Vec<u32>,
    /// Page and list of each entry.
    entries: Vec<(Lpn, u8)>,
    free: Vec<u32>,
    links: Links,
    lists: [List; LISTS],
    len: [u32; LISTS],
}

impl<const LISTS: usize> Ghosts<LISTS> {
    /// Nothing remembered yet, with room for `capacity` pages in all lists together.
    pub fn new(shape: Shape, capacity: u32) -> Self {
        let capacity = capacity.min(shape.logical_pages);
        Self {
            entry_of: vec![0; shape.logical_pages as usize],
            entries: vec![(Lpn(0), 0); capacity as usize],
            free: (0..capacity).rev().collect(),
            links: Links::new(capacity as usize),
            lists: [List::default(); LISTS],
            len: [0; LISTS],
        }
    }

    /// Pages that it can remember.
    pub fn capacity(&self) -> usize {
        self.entries.len()
    }

    /// Whether another page does not fit.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// Pages in a list.
    #[inline]
    pub fn len(&self, list: usize) -> u32 {
        self.len[list]
    }

    /// The list that remembers a page.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<usize> {
        self.entry(lpn).map(|entry| usize::from(self.entries[entry as usize].1))
    }

    /// The entry of a page that is remembered, below [`Self::capacity`].
    #[inline]
    pub fn entry(&self, lpn: Lpn) -> Option<u32> {
        self.entry_of[lpn.index()].checked_sub(1)
    }

    /// The page of an entry.
    #[inline]
    pub fn page(&self, entry: u32) -> Lpn {
        self.entries[entry as usize].0
    }

    /// The entry that has been in a list for longest.
    pub fn oldest(&self, list: usize) -> Option<u32> {
        (!self.lists[list].is_empty()).then(|| self.lists[list].back())
    }

    /// Puts a page that is not remembered at the front of a list; there must be room. Returns its
    /// entry.
    #[inline]
    pub fn remember(&mut self, lpn: Lpn, list: usize) -> u32 {
        debug_assert!(self.find(lpn).is_none());
        let Some(entry) = self.free.pop() else { unreachable!("room was made") };
        self.entries[entry as usize] = (lpn, list as u8);
        self.entry_of[lpn.index()] = entry + 1;
        self.lists[list].push_front(&mut self.links, entry);
        self.len[list] += 1;
        entry
    }

    /// The same in the first list; what has been there for longest is forgotten where there is no
    /// room.
    #[inline]
    pub fn remember_newest(&mut self, lpn: Lpn) {
        if self.is_full() {
            self.forget_oldest(0);
        }
        self.remember(lpn, 0);
    }

    /// Forgets a page; says which list it was in.
    #[inline]
    pub fn forget(&mut self, lpn: Lpn) -> Option<usize> {
        self.entry(lpn).map(|entry| self.release(entry))
    }

    /// Forgets the page that has been in a list for longest, if there is one.
    #[inline]
    pub fn forget_oldest(&mut self, list: usize) {
        if let Some(entry) = self.oldest(list) {
            self.release(entry);
        }
    }

    fn release(&mut self, entry: u32) -> usize {
        let (lpn, list) = self.entries[entry as usize];
        let list = usize::from(list);
        self.entry_of[lpn.index()] = 0;
        self.lists[list].remove(&mut self.links, entry);
        self.len[list] -= 1;
        self.free.push(entry);
        list
    }

    /// The pages of a list, the one that came last first.
    pub fn pages(&self, list: usize) -> impl Iterator<Item = Lpn> + '_ {
        self.lists[list].iter(&self.links).map(|entry| self.entries[entry as usize].0)
    }

    /// Compares redundant state, and that none of the remembered pages is `held`.
    ///
    /// # Errors
    /// What does not agree.
    pub fn check(&self, held: impl Fn(Lpn) -> bool) -> Result<(), String> {
        for list in 0..LISTS {
            let listed = self.pages(list).count();
            if listed != self.len[list] as usize {
                return Err(format!(
                    "{listed} remembered pages in list {list}, {} counted",
                    self.len[list]
                ));
            }
            if let Some(lpn) =
                self.pages(list).find(|&lpn| held(lpn) || self.find(lpn) != Some(list))
            {
                return Err(format!("page {lpn} is remembered in list {list} wrongly"));
            }
        }
        Ok(())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.entry_of.len() * 4
            + self.entries.len() * size_of::<(Lpn, u8)>()
            + self.free.capacity() * 4
            + self.links.bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Agrees with plain queues under any sequence of operations.
        #[test]
        fn behaves_like_queues(steps in prop::collection::vec((0u8..3, 0u32..12, 0usize..2), 0..200)) {
            let shape = Shape { capacity: 4, pages_per_block: 4, logical_pages: 12 };
            let (mut ghosts, mut plain) = (Ghosts::<2>::new(shape, 6), [VecDeque::new(), VecDeque::new()]);
            for (step, page, list) in steps {
                let page = Lpn(page);
                let known = plain.iter().position(|queue| queue.contains(&page));
                match step {
                    0 if known.is_none() && !ghosts.is_full() => {
                        ghosts.remember(page, list);
                        plain[list].push_front(page);
                    }
                    1 => {
                        prop_assert_eq!(ghosts.forget(page), known);
                        for queue in &mut plain { queue.retain(|&held| held != page); }
                    }
                    2 => {
                        ghosts.forget_oldest(list);
                        plain[list].pop_back();
                    }
                    _ => {}
                }
                for (list, queue) in plain.iter().enumerate() {
                    prop_assert_eq!(&ghosts.pages(list).collect::<VecDeque<_>>(), queue);
                }
                prop_assert_eq!(ghosts.is_full(), plain[0].len() + plain[1].len() == 6);
                prop_assert_eq!(ghosts.check(|_| false), Ok(()));
            }
        }
    }
}
