//! The table that page-granular schemes share: which slot holds which logical page, and whether it
//! is dirty.
//!
//! Slots are numbered from 0; the schemes keep their order by these numbers. The index from pages
//! to slots is dense: 4 bytes for each logical page, of which memory is touched only where pages
//! have been.

use crate::buffer::{Action, Evicted, Outcome, Reason, Shape};
use crate::support::ids::Lpn;

/// Dirty flag in a slot's page number; page numbers stay below it.
const DIRTY: u32 = 1 << 31;

/// Pages and their slots.
#[derive(Debug)]
pub struct PageTable {
    /// Slot of each logical page + 1, or 0.
    slot_of: Vec<u32>,
    /// Page of each slot, and whether it is dirty.
    pages: Vec<u32>,
    /// The slot freed last is used next: it is the one that lies in the cache.
    free: Vec<u32>,
    /// Dirty pages.
    dirty: u32,
}

impl PageTable {
    /// An empty table, with a slot for each page that the buffer may hold.
    pub fn new(shape: Shape) -> Self {
        let slots = shape.capacity.min(shape.logical_pages);
        Self {
            slot_of: vec![0; shape.logical_pages as usize],
            pages: vec![0; slots as usize],
            free: (0..slots).rev().collect(),
            dirty: 0,
        }
    }

    /// Slots.
    pub fn slots(&self) -> usize {
        self.pages.len()
    }

    /// Pages held.
    pub fn len(&self) -> u32 {
        (self.pages.len() - self.free.len()) as u32
    }

    /// Dirty pages among them.
    #[inline]
    pub fn dirty(&self) -> u32 {
        self.dirty
    }

    /// Whether no page is held.
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.pages.len()
    }

    /// Whether another page does not fit.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.free.is_empty()
    }

    /// The slot that holds a page.
    #[inline]
    pub fn find(&self, lpn: Lpn) -> Option<u32> {
        self.slot_of[lpn.index()].checked_sub(1)
    }

    /// The same, or another slot: what is known of it is read from memory without waiting for
    /// whether the page is held.
    #[inline]
    pub fn slot_to_fetch(&self, lpn: Lpn) -> u32 {
        self.slot_of[lpn.index()].wrapping_sub(1).min(self.pages.len() as u32 - 1)
    }

    /// The page of a slot, and whether it is dirty.
    #[inline]
    pub fn get(&self, slot: u32) -> Evicted {
        let page = self.pages[slot as usize];
        Evicted { lpn: Lpn(page & !DIRTY), dirty: page & DIRTY != 0 }
    }

    /// Takes in a page that is not held; there must be room. Returns its slot.
    #[inline]
    pub fn insert(&mut self, lpn: Lpn, dirty: bool) -> u32 {
        debug_assert!(self.find(lpn).is_none());
        let Some(slot) = self.free.pop() else { unreachable!("room was made") };
        self.pages[slot as usize] = lpn.0 | if dirty { DIRTY } else { 0 };
        self.slot_of[lpn.index()] = slot + 1;
        self.dirty += u32::from(dirty);
        slot
    }

    /// Takes the page of a slot out.
    #[inline]
    pub fn remove(&mut self, slot: u32) -> Evicted {
        let page = self.get(slot);
        self.slot_of[page.lpn.index()] = 0;
        self.dirty -= u32::from(page.dirty);
        self.free.push(slot);
        page
    }

    /// The page in `slot` makes way for another one, and is returned.
    #[inline]
    pub fn replace(&mut self, slot: u32, lpn: Lpn, dirty: bool) -> Evicted {
        debug_assert!(self.find(lpn).is_none());
        let page = self.get(slot);
        self.slot_of[page.lpn.index()] = 0;
        self.slot_of[lpn.index()] = slot + 1;
        self.pages[slot as usize] = lpn.0 | if dirty { DIRTY } else { 0 };
        self.dirty = self.dirty + u32::from(dirty) - u32::from(page.dirty);
        page
    }

    /// The page of a slot has been written, by the host or to flash.
    #[inline]
    pub fn set_dirty(&mut self, slot: u32, dirty: bool) {
        let page = &mut self.pages[slot as usize];
        self.dirty = self.dirty + u32::from(dirty) - u32::from(*page & DIRTY != 0);
        *page = (*page & !DIRTY) | if dirty { DIRTY } else { 0 };
    }

    /// Writes the page of a slot to flash if it is dirty; it stays, clean.
    pub fn write_back(&mut self, slot: u32, reason: Reason, out: &mut Outcome) {
        let page = self.get(slot);
        if page.dirty {
            self.set_dirty(slot, false);
            let start = out.pages.len();
            out.pages.push(page);
            out.evict(start, Action::WriteBack, reason);
        }
    }

    /// Compares both directions, given all slots in use.
    ///
    /// # Errors
    /// What does not agree.
    pub fn check(&self, slots: impl Iterator<Item = u32>) -> Result<(), String> {
        let (mut listed, mut dirty) = (0, 0);
        for slot in slots {
            listed += 1;
            dirty += u32::from(self.get(slot).dirty);
            if self.find(self.get(slot).lpn) != Some(slot) {
                return Err(format!("slot {slot} is not where the index says"));
            }
        }
        if listed != self.len() as usize {
            return Err(format!("{listed} slots in order, {} in use", self.len()));
        }
        if dirty != self.dirty {
            return Err(format!("{dirty} pages are dirty, {} counted", self.dirty));
        }
        Ok(())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        (self.slot_of.len() + self.pages.len() + self.free.capacity()) * 4
    }
}
