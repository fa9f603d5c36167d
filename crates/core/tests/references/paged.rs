//! What page-granular write-back schemes have in common, by the book: a set of dirty pages, and an order of all.

use std::collections::BTreeSet;

use eraseblock_core::buffer::{Action, Shape, Span};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::{Decisions, Pair, Reference};

/// Which page leaves.
pub trait Order {
    /// A page that is held is used.
    fn hit(&mut self, page: u32);
    /// A page that is not held comes in; the page that leaves for it.
    fn miss(&mut self, page: u32) -> Option<u32>;
    /// The host gives a page up, which may be held or not.
    fn trim(&mut self, page: u32);
    /// The pages held, in the order in which a flush writes them.
    fn held(&self) -> Vec<u32>;
}

/// A page-granular scheme.
pub struct Paged<O> {
    pub order: O,
    /// Reads go past the buffer.
    pub bypass: bool,
    pub dirty: BTreeSet<u32>,
}

/// A scheme's options and its order by the book, as a pair that serves reads or not.
pub fn pair(mut options: Value, order: impl Order + 'static, random: &mut Pcg64Mcg) -> Pair {
    let bypass = random.random_range(0..4) == 0;
    options["reads"] = json!(if bypass { "bypass" } else { "allocate" });
    (options, Box::new(Paged { order, bypass, dirty: BTreeSet::new() }))
}

/// Pages that a page-granular buffer can hold.
pub fn slots(shape: Shape) -> usize {
    shape.capacity.min(shape.logical_pages) as usize
}

/// So many pages, rounded down.
pub fn share(of: f64, pages: usize) -> usize {
    (of * pages as f64) as usize
}

impl<O: Order> Paged<O> {
    fn leave(&mut self, page: u32, done: &mut Decisions) {
        let dirty = self.dirty.remove(&page);
        done.leave(if dirty { Action::Flush } else { Action::Drop }, vec![(page, dirty)]);
    }
}

impl<O: Order> Reference for Paged<O> {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        for page in span.first..span.first + span.count {
            let hit = self.order.held().contains(&page);
            done.hits.push(hit);
            if !span.write && self.bypass {
                continue;
            }
            if hit {
                self.order.hit(page);
            } else if let Some(victim) = self.order.miss(page) {
                self.leave(victim, &mut done);
            }
            if span.write {
                self.dirty.insert(page);
            }
        }
        done
    }

    fn trim(&mut self, page: u32) {
        self.order.trim(page);
        self.dirty.remove(&page);
    }

    fn flush(&mut self) -> Decisions {
        let mut done = Decisions::default();
        for page in self.order.held() {
            if self.bypass {
                self.order.trim(page);
                self.leave(page, &mut done);
            } else if self.dirty.remove(&page) {
                done.leave(Action::WriteBack, vec![(page, true)]);
            }
        }
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut done = Decisions::default();
        for page in first..first + count {
            if self.bypass && self.order.held().contains(&page) {
                self.order.trim(page);
                self.leave(page, &mut done);
            } else if self.dirty.remove(&page) {
                done.leave(Action::WriteBack, vec![(page, true)]);
            }
        }
        done
    }
}
