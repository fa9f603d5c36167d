//! LRU of write requests, as Xie and Koshia compare EPO with (section IV.A).

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference {
        scheme: "request-lru",
        from: "Xie and Koshia 2011, sections IV.A and IV.C; its page on pages written by several \
            requests",
        least_capacity: 1,
        pair,
    }
}

fn pair(shape: Shape, _: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    (
        json!({"kind": "request-lru"}),
        Box::new(RequestLru { capacity: shape.capacity as usize, pages: Vec::new() }),
    )
}

struct RequestLru {
    capacity: usize,
    /// Page, and the request that wrote it last; in the order in which they were written.
    pages: Vec<(u32, u64)>,
}

impl RequestLru {
    /// The least recent request leaves with all of its pages.
    fn evict(&mut self, out: &mut Decisions) {
        let oldest = self.pages[0].1;
        let leaving =
            self.pages.iter().filter(|page| page.1 == oldest).map(|page| (page.0, true)).collect();
        self.pages.retain(|page| page.1 != oldest);
        out.leave(Action::Evict, leaving);
    }

    fn holds(&self, page: u32) -> bool {
        self.pages.iter().any(|held| held.0 == page)
    }
}

impl Buffer for RequestLru {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        for Lpn(page) in span.pages() {
            let hit = self.holds(page);
            out.hits.push(hit);
            if span.write {
                if !hit && self.pages.len() == self.capacity {
                    self.evict(&mut out);
                }
                self.trim(page);
                self.pages.push((page, span.request));
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        self.pages.retain(|held| held.0 != page);
    }

    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        while !self.pages.is_empty() {
            self.evict(&mut out);
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        // At once: together.
        let held: Vec<u32> = (first..first + count).filter(|&page| self.holds(page)).collect();
        for &page in &held {
            self.trim(page);
        }
        out.leave(Action::Evict, held.into_iter().map(|page| (page, true)).collect());
        out
    }
}
