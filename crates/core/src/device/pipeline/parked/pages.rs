//! Of which pages something is parked, and what is done to them last.
//!
//! Thousands of pages may be, and each is looked up when it is parked and when it is written. Two
//! bits for each page of the drive lie in a cache where a map of those that are parked does not.

use hashbrown::HashMap;

use crate::support::ids::Lpn;

/// A page as far as writes and trims of it are parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::device::pipeline) enum Newest {
    /// The last of them writes it.
    Written,
    /// The last of them trims it.
    Trimmed,
}

/// Pages in a word.
const PAGES: usize = 32;
/// What two bits say of a page: it is written once, trimmed once, or parked more than once.
const WRITTEN: u64 = 1;
const TRIMMED: u64 = 2;
const OFTEN: u64 = 3;

/// The pages of which something is parked.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// Two bits for each page, as far as there was one that was parked.
    words: Vec<u64>,
    /// How often a page is parked, and what is done to it last, where it is more than once.
    often: HashMap<Lpn, (u32, Newest)>,
}

impl Pages {
    /// What is parked of a page. O(1).
    #[inline]
    pub fn newest(&self, lpn: Lpn) -> Option<Newest> {
        if lpn.index() / PAGES >= self.words.len() {
            return None;
        }
        match self.bits(lpn) {
            0 => None,
            WRITTEN => Some(Newest::Written),
            TRIMMED => Some(Newest::Trimmed),
            _ => self.often.get(&lpn).map(|&(_, newest)| newest),
        }
    }

    /// Something more is parked of a page.
    #[inline]
    pub fn add(&mut self, lpn: Lpn, done: Newest) {
        let at = lpn.index() / PAGES;
        if at >= self.words.len() {
            self.words.resize((at + 1).next_power_of_two(), 0);
        }
        match self.bits(lpn) {
            0 => self.set(lpn, bits_of(done)),
            OFTEN => {
                let (count, newest) = self.often.entry(lpn).or_insert((0, done));
                (*count, *newest) = (*count + 1, done);
            }
            _ => {
                self.set(lpn, OFTEN);
                self.often.insert(lpn, (2, done));
            }
        }
    }

    /// A page is parked once less.
    #[inline]
    pub fn remove(&mut self, lpn: Lpn) {
        if self.bits(lpn) != OFTEN {
            return self.set(lpn, 0);
        }
        if let Some((count, newest)) = self.often.get_mut(&lpn) {
            *count -= 1;
            if *count == 1 {
                let bits = bits_of(*newest);
                self.often.remove(&lpn);
                self.set(lpn, bits);
            }
        }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = Lpn> {
        let parked = self.words.iter().enumerate().filter(|(_, word)| **word != 0);
        parked.flat_map(|(at, _)| {
            let pages = (at * PAGES..(at + 1) * PAGES).map(|page| Lpn(page as u32));
            pages.filter(|&lpn| self.newest(lpn).is_some())
        })
    }

    #[inline]
    fn bits(&self, lpn: Lpn) -> u64 {
        self.words[lpn.index() / PAGES] >> shift(lpn) & OFTEN
    }

    #[inline]
    fn set(&mut self, lpn: Lpn, bits: u64) {
        let word = &mut self.words[lpn.index() / PAGES];
        *word = *word & !(OFTEN << shift(lpn)) | bits << shift(lpn);
    }
}

#[inline]
fn shift(lpn: Lpn) -> u32 {
    lpn.0 % PAGES as u32 * 2
}

#[inline]
fn bits_of(done: Newest) -> u64 {
    match done {
        Newest::Written => WRITTEN,
        Newest::Trimmed => TRIMMED,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Agrees with a list of what is parked of each page, the oldest first; pages leave in the
        /// order in which they came.
        #[test]
        fn the_newest_of_each_page_is_known(
            steps in prop::collection::vec((0..100u32, 0..3u8), 1..400),
        ) {
            let (mut pages, mut model) = (Pages::default(), vec![Vec::new(); 100]);
            for (page, step) in steps {
                let parked = &mut model[page as usize];
                match step {
                    2 if parked.is_empty() => {}
                    2 => {
                        parked.remove(0);
                        pages.remove(Lpn(page));
                    }
                    step => {
                        let done = if step == 0 { Newest::Written } else { Newest::Trimmed };
                        parked.push(done);
                        pages.add(Lpn(page), done);
                    }
                }
                prop_assert_eq!(pages.newest(Lpn(page)), model[page as usize].last().copied());
            }
            for (page, parked) in (0..).zip(&model) {
                prop_assert_eq!(pages.newest(Lpn(page)), parked.last().copied());
            }
            let parked = (0..).zip(&model).filter(|(_, parked)| !parked.is_empty());
            prop_assert!(pages.iter().eq(parked.map(|(page, _)| Lpn(page))));
            prop_assert_eq!(pages.newest(Lpn(1 << 20)), None);
        }
    }
}
