//! What page-granular write-back schemes have in common: a table of pages, and an order that says
//! which one leaves.
//!
//! A hit on a page and a miss ask the scheme's [`PageOrder`]; everything else (answers, dirty
//! marks, trims, flush commands) is the same for all of them and done here. A flush command writes
//! dirty pages and keeps them, clean; a write-only buffer (`reads = "bypass"`) has nothing to keep
//! them for, and lets them go.

use super::blocks::ReadPolicy;
use super::pages::PageTable;
use crate::buffer::{
    Answer, Buffer, Evicted, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span, View,
};
use crate::support::NONE;
use crate::support::ids::Lpn;

/// A page that has to leave, by slot, and why.
pub type Victim = (u32, Reason);

/// The order of a page-granular scheme. Slots are those of the [`PageTable`].
pub trait PageOrder: std::fmt::Debug + Send {
    /// The host uses a page that is held. Where a victim is returned, it has been taken out of the
    /// order.
    fn hit(&mut self, slot: u32, write: bool, pages: &PageTable) -> Option<Victim>;

    /// Page `lpn`, which is not held, is about to be taken in. If there is no room, some page has
    /// to leave; it is taken out of the order and returned.
    fn make_room(&mut self, lpn: Lpn, write: bool, pages: &PageTable) -> Option<Victim>;

    /// That page now lies in `slot`.
    fn insert(&mut self, slot: u32, lpn: Lpn, write: bool);

    /// The page of a slot is gone without having been chosen.
    fn remove(&mut self, slot: u32, pages: &PageTable);

    /// The page of a slot has been written to flash and is clean now.
    fn cleaned(&mut self, _slot: u32) {}

    /// What [`Self::hit`] will read of a slot, so that it is in the cache; of any slot.
    #[inline]
    fn entry(&self, _slot: u32) -> u32 {
        NONE
    }

    /// The slots that leave next, if nothing comes in between, where that is known: what is known of
    /// their pages is read from memory before they leave.
    #[inline]
    fn next_to_leave(&self) -> impl Iterator<Item = u32> {
        std::iter::empty()
    }

    /// The lists that it consists of, each from its front on: the end of the last one leaves first.
    /// [`NONE`] stands for a place in a list that no slot of that part has.
    fn parts(&self) -> impl Iterator<Item = impl Iterator<Item = u32>>;

    /// All slots, those that would leave first last.
    fn slots(&self) -> Vec<u32> {
        self.parts().flatten().filter(|&slot| slot != NONE).collect()
    }

    /// The slots of dirty pages in the order in which they would have to make room.
    ///
    /// In an order of use all that were written since the last flush are behind no others than
    /// those used since. So all lists are followed from their fronts, step by step together, until
    /// as many are found as there are: O(1) for each page used. Orders that a write may leave as
    /// they are do it otherwise.
    fn leaving(&mut self, pages: &PageTable) -> Vec<u32> {
        let (mut left, mut ended) = (pages.dirty(), false);
        let mut parts: Vec<_> = self.parts().map(|part| (part, Vec::new())).collect();
        while left > 0 && !ended {
            ended = true;
            for (part, dirty) in &mut parts {
                let Some(slot) = part.next() else { continue };
                ended = false;
                if slot != NONE && pages.get(slot).dirty {
                    dirty.push(slot);
                    left -= 1;
                }
            }
        }
        parts.into_iter().rev().flat_map(|(_, dirty)| dirty.into_iter().rev()).collect()
    }

    /// Compares redundant state.
    ///
    /// # Errors
    /// What does not agree.
    fn check(&self, _pages: &PageTable) -> Result<(), String> {
        Ok(())
    }

    /// Bytes held.
    fn bytes(&self) -> usize;
}

/// A page-granular scheme.
#[derive(Debug)]
pub struct Paged<O> {
    name: &'static str,
    reads: ReadPolicy,
    pages: PageTable,
    order: O,
}

impl<O: PageOrder + 'static> Paged<O> {
    /// An empty buffer; `order` makes the order for so many slots.
    ///
    /// # Errors
    /// No room for a page.
    pub fn build(
        name: &'static str,
        shape: Shape,
        reads: ReadPolicy,
        order: impl FnOnce(usize) -> O,
    ) -> Result<Box<dyn Buffer>, String> {
        Ok(Box::new(Self::new(name, shape, reads, order)?))
    }

    /// The same, as a part of another buffer.
    ///
    /// # Errors
    /// No room for a page.
    pub fn new(
        name: &'static str,
        shape: Shape,
        reads: ReadPolicy,
        order: impl FnOnce(usize) -> O,
    ) -> Result<Self, String> {
        super::blocks::require_room(shape, 1)?;
        let pages = PageTable::new(shape);
        let order = order(pages.slots());
        Ok(Self { name, reads, pages, order })
    }

    #[inline(never)]
    fn access_pages(&mut self, span: &Span, out: &mut Outcome) {
        for lpn in span.pages() {
            self.access_page(lpn, span.write, out);
        }
    }

    #[inline]
    fn access_page(&mut self, lpn: Lpn, write: bool, out: &mut Outcome) {
        let bypass = !write && self.reads == ReadPolicy::Bypass;
        match self.pages.find(lpn) {
            Some(_) if bypass => out.answer(Answer::Hit),
            Some(slot) => {
                let victim = self.order.hit(slot, write, &self.pages);
                if write {
                    self.pages.set_dirty(slot, true);
                }
                self.evict(victim, out);
                out.answer(Answer::Hit);
            }
            None if bypass => out.answer(Answer::Bypass),
            None => self.take_in(lpn, write, out),
        }
    }

    // Not inlined: a hit need not prepare for a miss.
    #[inline(never)]
    fn take_in(&mut self, lpn: Lpn, write: bool, out: &mut Outcome) {
        let slot = match self.order.make_room(lpn, write, &self.pages) {
            None => self.pages.insert(lpn, write),
            Some((slot, reason)) => {
                out.evict_page(self.pages.replace(slot, lpn, write), reason);
                slot
            }
        };
        self.order.insert(slot, lpn, write);
        out.answer(if write { Answer::Insert } else { Answer::Fill });
    }

    #[inline]
    fn evict(&mut self, victim: Option<Victim>, out: &mut Outcome) {
        if let Some((slot, reason)) = victim {
            let page = self.pages.remove(slot);
            out.evict_page(page, reason);
        }
    }

    /// Writes a page if it is dirty. A buffer that serves reads keeps it.
    fn write_back(&mut self, slot: u32, reason: Reason, out: &mut Outcome) {
        if self.reads == ReadPolicy::Bypass {
            self.order.remove(slot, &self.pages);
            self.evict(Some((slot, reason)), out);
        } else if self.pages.get(slot).dirty {
            self.pages.write_back(slot, reason, out);
            self.order.cleaned(slot);
        }
    }
}

impl<O: PageOrder + 'static> Buffer for Paged<O> {
    fn access(&mut self, span: &Span, _view: &dyn View, out: &mut Outcome) {
        // Apart from the loop: a span of one page need not prepare for others.
        if span.count == 1 {
            self.access_page(span.first, span.write, out);
        } else {
            self.access_pages(span, out);
        }
    }

    fn trim(&mut self, first: Lpn, count: u32) {
        for lpn in first.run(count) {
            if let Some(slot) = self.pages.find(lpn) {
                self.order.remove(slot, &self.pages);
                self.pages.remove(slot);
            }
        }
    }

    fn flush(&mut self, out: &mut Outcome) {
        if self.pages.dirty() == 0 {
            return;
        }
        for slot in self.order.leaving(&self.pages) {
            self.write_back(slot, FLUSH_COMMAND, out);
        }
    }

    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome) {
        for lpn in first.run(count) {
            if let Some(slot) = self.pages.find(lpn) {
                self.write_back(slot, FORCED, out);
            }
        }
    }

    fn len(&self) -> u32 {
        self.pages.len()
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.pages.find(lpn).is_some()
    }

    fn fetch(&self, pages: &[Lpn]) {
        // No look waits for another one, nor for whether a page is held: many are under way at once.
        // Where some are not held, others leave for them; to find those goes from one to the next.
        let mut leaving = self.order.next_to_leave();
        let full = self.pages.is_full();
        let mut all = 0;
        for few in pages.chunks(4) {
            if full && let Some(slot) = leaving.next() {
                all ^= self.pages.slot_to_fetch(self.pages.get(slot).lpn);
            }
            all = few.iter().fold(all, |all, &lpn| all ^ self.pages.slot_to_fetch(lpn));
        }
        // The second loop finds in the cache what the first has read.
        let known = |slot| self.pages.get(slot).lpn.0 ^ self.order.entry(slot);
        let slots = pages.iter().map(|&lpn| self.pages.slot_to_fetch(lpn));
        std::hint::black_box(slots.fold(all, |all, slot| all ^ known(slot)));
    }

    fn check(&self) -> Result<(), String> {
        self.pages
            .check(self.order.slots().into_iter())
            .and_then(|()| self.order.check(&self.pages))
            .map_err(|problem| format!("{}: {problem}", self.name))
    }

    fn metadata_bytes(&self) -> usize {
        self.pages.bytes() + self.order.bytes()
    }

    fn dump(&self) -> Vec<Vec<Lpn>> {
        let page = |slot| {
            let Evicted { lpn, .. } = self.pages.get(slot);
            vec![lpn]
        };
        self.order.slots().into_iter().map(page).collect()
    }
}
