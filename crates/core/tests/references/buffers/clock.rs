//! CLOCK: pages on a ring; each use gives a page another round of the hand.

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference { scheme: "clock", from: "its page, and the common literature", least_capacity: 1, pair }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let allocate = random.random();
    let reads = if allocate { "allocate" } else { "bypass" };
    let bits = random.random_range(1..=3);
    let enters_used: bool = random.random();
    let slow = Clock {
        capacity: shape.capacity as usize,
        allocate,
        most: (1 << bits) - 1,
        first: u32::from(enters_used),
        ring: Vec::new(),
    };
    (
        json!({"kind": "clock", "reads": reads, "bits": bits, "enters_used": enters_used}),
        Box::new(slow),
    )
}

#[derive(Clone, Copy)]
struct Page {
    lpn: u32,
    dirty: bool,
    uses: u32,
}

struct Clock {
    capacity: usize,
    /// Reads take pages in; else it is a write buffer.
    allocate: bool,
    /// Largest value of a page's counter.
    most: u32,
    /// The counter of a page that has just come in.
    first: u32,
    /// The ring, cut open at the hand: the page that it points to is the first, the one it passed
    /// last is the last.
    ring: Vec<Page>,
}

impl Clock {
    /// The hand goes round until it finds a page that has no use left.
    fn victim(ring: &mut Vec<Page>) -> Page {
        loop {
            let mut page = ring.remove(0);
            if page.uses == 0 {
                return page;
            }
            page.uses -= 1;
            ring.push(page);
        }
    }
}

impl Buffer for Clock {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        for Lpn(lpn) in span.pages() {
            let held = self.ring.iter_mut().find(|page| page.lpn == lpn);
            out.hits.push(held.is_some());
            if !span.write && !self.allocate {
                continue;
            }
            if let Some(page) = held {
                page.dirty |= span.write;
                page.uses = self.most.min(page.uses + 1);
                continue;
            }
            if self.ring.len() == self.capacity {
                let page = Self::victim(&mut self.ring);
                out.leave(
                    if page.dirty { Action::Evict } else { Action::Drop },
                    vec![(page.lpn, page.dirty)],
                );
            }
            self.ring.push(Page { lpn, dirty: span.write, uses: self.first });
        }
        out
    }

    fn trim(&mut self, lpn: u32) {
        self.ring.retain(|page| page.lpn != lpn);
    }

    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        // In the order in which the hand would choose them, were there nothing but evictions from
        // now on.
        let mut all = self.ring.clone();
        while !all.is_empty() {
            let page = Self::victim(&mut all);
            if page.dirty {
                let action = if self.allocate { Action::WriteBack } else { Action::Evict };
                out.leave(action, vec![(page.lpn, true)]);
            }
        }
        self.ring.iter_mut().for_each(|page| page.dirty = false);
        if !self.allocate {
            self.ring.clear();
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        for lpn in first..first + count {
            if let Some(page) = self.ring.iter_mut().find(|page| page.lpn == lpn && page.dirty) {
                page.dirty = false;
                if self.allocate {
                    out.leave(Action::WriteBack, vec![(lpn, true)]);
                } else {
                    self.trim(lpn);
                    out.leave(Action::Evict, vec![(lpn, true)]);
                }
            }
        }
        out
    }
}
