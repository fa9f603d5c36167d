//! Where the entries of the cached map are found: a number for each page that is held.
//!
//! A table of all logical pages where that takes no more memory than hashing those that are held:
//! then a page is found by one look at memory. Else a hash table.

use hashbrown::HashTable;

use crate::support::ids::Lpn;

/// The number of each page that is held.
#[derive(Debug, Clone)]
pub(super) enum Index {
    /// One more than the number of each page, or 0.
    All(Vec<u32>),
    /// Numbers by the page that has them.
    Held(HashTable<u32>),
}

/// A hash table of `capacity` pages: twice as many, so that it never grows for the sake of what has
/// been taken out.
fn table(capacity: usize) -> HashTable<u32> {
    HashTable::with_capacity(2 * (capacity + 1))
}

/// Spreads page numbers over the table.
fn hash(lpn: Lpn) -> u64 {
    u64::from(lpn.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Index {
    /// Empty, for at most `capacity` of `logical_pages` pages.
    pub fn new(capacity: usize, logical_pages: usize) -> Self {
        let held = table(capacity);
        if logical_pages * size_of::<u32>() <= held.allocation_size() {
            Self::All(vec![0; logical_pages])
        } else {
            Self::Held(held)
        }
    }

    /// Whether it can take in `lpn`.
    pub fn fits(&self, lpn: Lpn) -> bool {
        match self {
            Self::All(all) => lpn.index() < all.len(),
            Self::Held(_) => true,
        }
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        match self {
            Self::All(all) => all.fill(0),
            Self::Held(held) => held.clear(),
        }
    }

    /// The number of `lpn`, if it is held; `pages` has the page of each number. O(1).
    #[inline]
    pub fn find(&self, lpn: Lpn, pages: &[Lpn]) -> Option<u32> {
        match self {
            Self::All(all) => all[lpn.index()].checked_sub(1),
            Self::Held(held) => held.find(hash(lpn), |&at| pages[at as usize] == lpn).copied(),
        }
    }

    /// Takes in `lpn`, which is not held and has number `at`. O(1).
    #[inline]
    pub fn insert(&mut self, lpn: Lpn, at: u32, pages: &[Lpn]) {
        match self {
            Self::All(all) => all[lpn.index()] = at + 1,
            Self::Held(held) => {
                held.insert_unique(hash(lpn), at, |&at| hash(pages[at as usize]));
            }
        }
    }

    /// Takes out `lpn`, which has number `at`. O(1).
    #[inline]
    pub fn remove(&mut self, lpn: Lpn, at: u32) {
        match self {
            Self::All(all) => all[lpn.index()] = 0,
            Self::Held(held) => {
                if let Ok(entry) = held.find_entry(hash(lpn), |&other| other == at) {
                    entry.remove();
                }
            }
        }
    }

    /// Pages that are held. O(pages).
    pub fn len(&self) -> usize {
        match self {
            Self::All(all) => all.iter().filter(|&&at| at > 0).count(),
            Self::Held(held) => held.len(),
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match self {
            Self::All(all) => all.len() * size_of::<u32>(),
            Self::Held(held) => held.allocation_size(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_smaller_one_is_taken() {
        assert!(matches!(Index::new(100, 300), Index::All(_)));
        assert!(matches!(Index::new(100, 30_000), Index::Held(_)));
    }

    proptest! {
        /// Both find what a plain search finds.
        #[test]
        fn finds_what_a_search_finds(ops in prop::collection::vec(0u32..40, 0..200)) {
            for logical_pages in [40, 4000] {
                let mut pages = vec![Lpn::NONE; 16];
                let mut index = Index::new(pages.len(), logical_pages);
                for &op in &ops {
                    let lpn = Lpn(op);
                    let held = pages.iter().position(|&page| page == lpn);
                    prop_assert_eq!(index.find(lpn, &pages), held.map(|at| at as u32));
                    match (held, pages.iter().position(|&page| page == Lpn::NONE)) {
                        (Some(at), _) => {
                            index.remove(lpn, at as u32);
                            pages[at] = Lpn::NONE;
                        }
                        (None, Some(at)) => {
                            pages[at] = lpn;
                            index.insert(lpn, at as u32, &pages);
                        }
                        (None, None) => {}
                    }
                    let held = pages.iter().filter(|&&page| page != Lpn::NONE).count();
                    prop_assert_eq!(index.len(), held);
                }
                index.clear();
                prop_assert_eq!(index.len(), 0);
            }
        }
    }
}
