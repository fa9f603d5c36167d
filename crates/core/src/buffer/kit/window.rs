//! Pages in the order of use, the last ones of which are in a window; O(1).

use crate::support::NONE;
use crate::support::bits::Bits;
use crate::support::list::{Links, List};

/// Slots in the order of use, and a window over the last of them.
#[derive(Debug)]
pub struct Window {
    /// Slots that the window holds where there are as many.
    size: u32,
    order: List,
    links: Links,
    /// The window's slot nearest the front, or [`NONE`].
    first: u32,
    inside: Bits,
    count: u32,
    len: u32,
}

impl Window {
    /// None of `slots`, and a window of `size`.
    pub fn new(slots: usize, size: u32) -> Self {
        Self {
            size,
            order: List::default(),
            links: Links::new(slots),
            first: NONE,
            inside: Bits::new(slots),
            count: 0,
            len: 0,
        }
    }

    /// The window holds so many from now on; nothing has been put in.
    pub fn resize(&mut self, size: u32) {
        debug_assert!(self.len == 0);
        self.size = size;
    }

    /// Puts in a slot as the most recent one. [`Self::widen`] is due then.
    #[inline]
    pub fn push(&mut self, slot: u32) {
        self.order.push_front(&mut self.links, slot);
        self.len += 1;
    }

    /// A slot outside the window is the most recent one now.
    #[inline]
    pub fn touch(&mut self, slot: u32) {
        self.order.touch(&mut self.links, slot);
    }

    /// Puts in a slot as the most recent one of the window.
    #[inline]
    pub fn push_inside(&mut self, slot: u32) {
        match self.first {
            NONE => self.order.push_back(&mut self.links, slot),
            first => self.order.insert_before(&mut self.links, slot, first),
        }
        self.first = slot;
        self.inside.set(slot as usize);
        self.count += 1;
        self.len += 1;
    }

    /// The next slot that enters the window, until it has as many as it should.
    #[inline]
    pub fn widen(&mut self) -> Option<u32> {
        if self.count >= self.size.min(self.len) {
            return None;
        }
        let next = match self.first {
            NONE => self.order.back(),
            first => self.order.before(&self.links, first),
        };
        self.inside.set(next as usize);
        self.count += 1;
        self.first = next;
        Some(next)
    }

    /// Takes a slot out; whether it was in the window.
    #[inline]
    pub fn remove(&mut self, slot: u32) -> bool {
        let inside = self.inside.clear(slot as usize);
        if inside {
            self.count -= 1;
            if self.first == slot {
                self.first = self.order.after(&self.links, slot);
            }
        }
        self.order.remove(&mut self.links, slot);
        self.len -= 1;
        inside
    }

    /// Whether a slot is in the window.
    #[inline]
    pub fn contains(&self, slot: u32) -> bool {
        self.inside.get(slot as usize)
    }

    /// The slot used longest ago, or [`NONE`].
    pub fn back(&self) -> u32 {
        self.order.back()
    }

    /// The slot used next after this one, or [`NONE`].
    pub fn before(&self, slot: u32) -> u32 {
        self.order.before(&self.links, slot)
    }

    /// All slots, the most recent first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.order.iter(&self.links)
    }

    /// Compares marks with places.
    ///
    /// # Errors
    /// What does not agree.
    pub fn check(&self) -> Result<(), String> {
        let outside = self.len - self.count;
        for (place, slot) in self.iter().enumerate() {
            if self.contains(slot) != (place as u32 >= outside) {
                return Err(format!(
                    "slot {slot}, at place {place} with {outside} before the window, is not marked \
                     so"
                ));
            }
        }
        Ok(())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.links.bytes() + self.inside.bytes()
    }
}
