//! The cached part of the map: which entries lie in RAM, which of them the flash does not have yet,
//! and which one goes next.

use std::ops::Range;

use super::index::Index;
use crate::support::bits::Bits;
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::persist::{Error, Persist, Sink, Source};
use crate::support::roomy::Roomy;

/// The entries in RAM, in two segments. A new entry is on probation; one that is used again is
/// protected; what the protected segment has no room for goes back on probation. The entry that
/// goes is the one on probation that was used longest ago. Without a protected segment that is
/// plain LRU.
#[derive(Debug, Clone)]
pub struct Cache {
    /// Logical page of each entry.
    lpn: Vec<Lpn>,
    links: Links,
    probation: List,
    protected: List,
    /// Which entries are protected, how many are, and how many may be.
    is_protected: Bits,
    protected_len: u32,
    protected_most: u32,
    /// Slots that hold nothing.
    free: Roomy<u32>,
    /// Slot of each page that is held.
    entries: Index,
    /// Pages whose entry the flash does not have.
    dirty: Bits,
}

/// The index follows from the rest.
impl Persist for Cache {
    fn save(&self, sink: &mut Sink<'_>) -> Result<(), Error> {
        let Self {
            lpn,
            links,
            probation,
            protected,
            is_protected,
            protected_len,
            protected_most,
            free,
            entries: _,
            dirty,
        } = self;
        lpn.save(sink)?;
        links.save(sink)?;
        probation.save(sink)?;
        protected.save(sink)?;
        is_protected.save(sink)?;
        protected_len.save(sink)?;
        protected_most.save(sink)?;
        free.save(sink)?;
        dirty.save(sink)
    }

    fn load(&mut self, source: &mut Source<'_>) -> Result<(), Error> {
        self.lpn.load(source)?;
        self.links.load(source)?;
        self.probation.load(source)?;
        self.protected.load(source)?;
        self.is_protected.load(source)?;
        self.protected_len.load(source)?;
        self.protected_most.load(source)?;
        self.free.load(source)?;
        self.dirty.load(source)?;
        self.entries.clear();
        let mut held = vec![true; self.lpn.len()];
        for &at in &self.free {
            *held.get_mut(at as usize).ok_or(Error::DeserializeBadEncoding)? = false;
        }
        for (at, &lpn) in (0..).zip(&self.lpn).filter(|(at, _)| held[*at as usize]) {
            if !self.entries.fits(lpn) {
                return Err(Error::DeserializeBadEncoding);
            }
            self.entries.insert(lpn, at, &self.lpn);
        }
        Ok(())
    }
}

impl Cache {
    /// No entries yet; at most `capacity`, of which `protected_most` protected.
    pub fn new(capacity: u32, protected_most: u32, logical_pages: u32) -> Self {
        Self {
            lpn: vec![Lpn::NONE; capacity as usize],
            links: Links::new(capacity as usize),
            probation: List::default(),
            protected: List::default(),
            is_protected: Bits::new(capacity as usize),
            protected_len: 0,
            protected_most,
            free: (0..capacity).rev().collect(),
            entries: Index::new(capacity as usize, logical_pages as usize),
            dirty: Bits::new(logical_pages as usize),
        }
    }

    #[inline]
    fn entry_at(&self, lpn: Lpn) -> Option<u32> {
        self.entries.find(lpn, &self.lpn)
    }

    /// Reads from memory what is known of these pages, which are going to be used, and of as many
    /// entries that go next: all at once, where one after the other would be waited for.
    pub fn fetch(&self, pages: &[Lpn]) {
        let known = |lpn: Lpn| self.entry_at(lpn).map_or(0, |at| self.links.entry(at));
        let list = if self.probation.is_empty() { &self.protected } else { &self.probation };
        let goes = list.iter_back(&self.links).take(if self.room() > 0 { 0 } else { pages.len() });
        let goes = goes.map(|entry_at| self.lpn[entry_at as usize]);
        std::hint::black_box(
            pages.iter().copied().chain(goes).fold(0, |all, lpn| all ^ known(lpn)),
        );
    }

    /// Whether the entry of `lpn` is held.
    #[inline]
    pub fn holds(&self, lpn: Lpn) -> bool {
        self.entry_at(lpn).is_some()
    }

    /// Entries that can be taken in before one has to go.
    pub fn room(&self) -> usize {
        self.free.len()
    }

    /// Uses the entry of `lpn`; says whether it was held. O(1).
    #[inline]
    pub fn touch(&mut self, lpn: Lpn) -> bool {
        let Some(entry_at) = self.entry_at(lpn) else { return false };
        if self.is_protected.get(entry_at as usize) {
            self.protected.touch(&mut self.links, entry_at);
        } else if self.protected_most == 0 {
            self.probation.touch(&mut self.links, entry_at);
        } else {
            self.probation.remove(&mut self.links, entry_at);
            self.protected.push_front(&mut self.links, entry_at);
            self.is_protected.set(entry_at as usize);
            self.protected_len += 1;
            if self.protected_len > self.protected_most
                && let Some(last) = self.protected.pop_back(&mut self.links)
            {
                self.is_protected.clear(last as usize);
                self.protected_len -= 1;
                self.probation.push_front(&mut self.links, last);
            }
        }
        true
    }

    /// The page whose entry goes next, if any is held.
    pub fn victim(&self) -> Option<Lpn> {
        let list = if self.probation.is_empty() { &self.protected } else { &self.probation };
        (!list.is_empty()).then(|| self.lpn[list.back() as usize])
    }

    /// Lets the entry of `lpn` go, which is held. O(1).
    pub fn remove(&mut self, lpn: Lpn) {
        let Some(entry_at) = self.entry_at(lpn) else { return };
        self.entries.remove(lpn, entry_at);
        if self.is_protected.clear(entry_at as usize) {
            self.protected.remove(&mut self.links, entry_at);
            self.protected_len -= 1;
        } else {
            self.probation.remove(&mut self.links, entry_at);
        }
        self.free.push(entry_at);
    }

    /// Takes in the entry of `lpn`, which is not held; there is room. O(1).
    pub fn insert(&mut self, lpn: Lpn) {
        let Some(entry_at) = self.free.pop() else { return };
        self.lpn[entry_at as usize] = lpn;
        self.probation.push_front(&mut self.links, entry_at);
        self.entries.insert(lpn, entry_at, &self.lpn);
    }

    /// Whether the flash lacks the entry of `lpn`, which is held.
    #[inline]
    pub fn is_dirty(&self, lpn: Lpn) -> bool {
        self.dirty.get(lpn.index())
    }

    /// The entry of `lpn`, which is held, has changed.
    #[inline]
    pub fn set_dirty(&mut self, lpn: Lpn) {
        self.dirty.set(lpn.index());
    }

    /// The flash has the entries of these pages.
    pub fn clean(&mut self, pages: &Range<Lpn>) {
        self.dirty.clear_range(pages.start.index(), pages.end.index());
    }

    /// The pages whose entries are held: the segment on probation and the protected one, each from
    /// the entry used last to the one that was used longest ago.
    pub fn dump(&self) -> [Vec<Lpn>; 2] {
        [&self.probation, &self.protected].map(|list| {
            list.iter(&self.links).map(|entry_at| self.lpn[entry_at as usize]).collect()
        })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        (self.lpn.len() + self.free.capacity()) * 4
            + self.links.bytes()
            + self.is_protected.bytes()
            + self.dirty.bytes()
            + self.entries.bytes()
    }

    /// Compares redundant state.
    ///
    /// # Errors
    /// What does not agree.
    pub fn check(&self) -> Result<(), String> {
        let [probation, protected] = self.dump();
        let held = probation.len() + protected.len();
        if protected.len() != self.protected_len as usize
            || self.protected_len > self.protected_most
        {
            return Err(format!(
                "dftl: {} entries are protected, {} counted, at most {}",
                protected.len(),
                self.protected_len,
                self.protected_most
            ));
        }
        if held + self.free.len() != self.lpn.len() || held != self.entries.len() {
            return Err(format!(
                "dftl: {held} entries held and {} entries free of {}, {} in the table",
                self.free.len(),
                self.lpn.len(),
                self.entries.len()
            ));
        }
        if let Some(lpn) = probation.iter().chain(&protected).find(|&&lpn| !self.holds(lpn)) {
            return Err(format!("dftl: the entry of page {lpn} is in a list, but not found"));
        }
        let dirty = self.dirty.count_range(0, self.dirty.bytes() * 8) as usize;
        let dirty_held =
            probation.iter().chain(&protected).filter(|&&lpn| self.is_dirty(lpn)).count();
        if dirty != dirty_held {
            return Err(format!("dftl: {dirty} entries are dirty, {dirty_held} of them held"));
        }
        Ok(())
    }
}
