//! What write buffers of pages have in common whose pages leave in batches: a table of pages, and
//! an order that says which ones.
//!
//! Every page held is dirty. Reads are served from the buffer where it has the page; they move
//! nothing and take nothing in.

use super::pages::PageTable;
use crate::buffer::{
    Action, Answer, Buffer, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span, View,
};
use crate::support::ids::Lpn;

/// The order of a scheme. Slots are those of the [`PageTable`].
pub trait BatchOrder: std::fmt::Debug + Send {
    /// Why a batch leaves.
    const REASON: Reason;

    /// Whether the pages of a batch are requests of their own to the flash; else they are one.
    const SPLITS: bool;

    /// The drive below, before anything that is written.
    fn look(&mut self, _view: &dyn View) {}

    /// A page that is held in `slot` is written again by a request.
    fn hit(&mut self, slot: u32, request: u64);

    /// A page that a request writes now lies in `slot`.
    fn insert(&mut self, slot: u32, lpn: Lpn, request: u64, view: &dyn View);

    /// The slots that leave together, in order; they are taken out of the order. At least one while
    /// any are in it.
    fn batch(&mut self, into: &mut Vec<u32>);

    /// The page of a slot is gone without having been chosen.
    fn remove(&mut self, slot: u32);

    /// Slots by what leaves together or takes turns, the most recent first: queues, or requests.
    fn groups(&self) -> Vec<Vec<u32>>;

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

/// A write buffer whose pages leave in batches.
#[derive(Debug)]
pub struct Batched<O> {
    name: &'static str,
    pages: PageTable,
    order: O,
    /// The batch that leaves; its memory is used again.
    batch: Vec<u32>,
}

impl<O: BatchOrder + 'static> Batched<O> {
    /// An empty buffer; `order` makes the order for so many slots.
    ///
    /// # Errors
    /// No room for a page.
    pub fn build(
        name: &'static str,
        shape: Shape,
        order: impl FnOnce(usize) -> O,
    ) -> Result<Box<dyn Buffer>, String> {
        super::blocks::require_room(shape, 1)?;
        let pages = PageTable::new(shape);
        let order = order(pages.slots());
        Ok(Box::new(Self { name, pages, order, batch: Vec::new() }))
    }

    fn evict_batch(&mut self, reason: Reason, out: &mut Outcome) {
        self.batch.clear();
        self.order.batch(&mut self.batch);
        let start = out.pages.len();
        out.pages.extend(self.batch.iter().map(|&slot| self.pages.remove(slot)));
        out.evict(start, Action::Evict, reason);
    }
}

impl<O: BatchOrder + 'static> Buffer for Batched<O> {
    fn access(&mut self, span: &Span, view: &dyn View, out: &mut Outcome) {
        if span.write {
            self.order.look(view);
        }
        for lpn in span.pages() {
            let answer = match self.pages.find(lpn) {
                Some(slot) => {
                    if span.write {
                        self.order.hit(slot, span.request);
                    }
                    Answer::Hit
                }
                None if !span.write => Answer::Bypass,
                None => {
                    if self.pages.is_full() {
                        self.evict_batch(O::REASON, out);
                    }
                    let slot = self.pages.insert(lpn, true);
                    self.order.insert(slot, lpn, span.request, view);
                    Answer::Insert
                }
            };
            out.answers.push(answer);
        }
    }

    fn trim(&mut self, first: Lpn, count: u32) {
        for lpn in first.run(count) {
            if let Some(slot) = self.pages.find(lpn) {
                self.order.remove(slot);
                self.pages.remove(slot);
            }
        }
    }

    fn flush(&mut self, out: &mut Outcome) {
        while !self.pages.is_empty() {
            self.evict_batch(FLUSH_COMMAND, out);
        }
    }

    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome) {
        let start = out.pages.len();
        for lpn in first.run(count) {
            if let Some(slot) = self.pages.find(lpn) {
                self.order.remove(slot);
                out.pages.push(self.pages.remove(slot));
            }
        }
        out.evict(start, Action::Evict, FORCED);
    }

    fn splits_evictions(&self) -> bool {
        O::SPLITS
    }

    fn len(&self) -> u32 {
        self.pages.len()
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.pages.find(lpn).is_some()
    }

    fn check(&self) -> Result<(), String> {
        self.pages
            .check(self.order.groups().into_iter().flatten())
            .and_then(|()| self.order.check(&self.pages))
            .map_err(|problem| format!("{}: {problem}", self.name))
    }

    fn metadata_bytes(&self) -> usize {
        self.pages.bytes() + self.order.bytes() + self.batch.capacity() * 4
    }

    fn dump(&self) -> Vec<Vec<Lpn>> {
        let pages =
            |slots: Vec<u32>| slots.into_iter().map(|slot| self.pages.get(slot).lpn).collect();
        self.order.groups().into_iter().map(pages).collect()
    }
}
