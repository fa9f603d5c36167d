//! The dirty slots of an order that hits do not change, and where they are in it.
//!
//! In an order of use the pages written lately are near the front; here they may be anywhere, so
//! that they are kept apart, and put in order when a flush command asks for them.

use super::stamps::Stamps;
use crate::support::members::Members;

/// Dirty slots, and when each slot took its present place.
#[derive(Debug)]
pub struct Written {
    dirty: Members,
    placed: Stamps,
}

impl Written {
    /// None of `slots`.
    pub fn new(slots: usize) -> Self {
        Self { dirty: Members::new(slots), placed: Stamps::new(slots) }
    }

    /// A slot comes to the front.
    #[inline]
    pub fn place(&mut self, slot: u32) {
        self.placed.stamp(slot);
    }

    /// The host uses the page of a slot; it is dirty from now on if it is written.
    #[inline]
    pub fn used(&mut self, slot: u32, write: bool) {
        if write {
            self.dirty.insert(slot);
        }
    }

    /// The page of a slot is gone, or clean.
    #[inline]
    pub fn cleaned(&mut self, slot: u32) {
        self.dirty.remove(slot);
    }

    /// The dirty slots by the `part` that they are in, the longest in their places first.
    pub fn leaving(&self, part: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut slots: Vec<u32> = self.dirty.iter().collect();
        slots.sort_unstable_by_key(|&slot| (part(slot), self.placed.get(slot)));
        slots
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.dirty.bytes() + self.placed.bytes()
    }
}
