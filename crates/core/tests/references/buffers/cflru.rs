//! CFLRU (Park et al. 2006), as the SUPA paper describes it in sections 2 and 5.3: page LRU, "clean
//! pages will always be evicted first in the window".

use std::collections::BTreeSet;

use eraseblock_core::buffer::{Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::kit::{draw_share, leaves, nearest_share, store, take, to_front};
use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference { scheme: "cflru", from: "the SUPA paper's description, its page", least_capacity: 1, pair }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let part = draw_share(random);
    let reference = Cflru {
        capacity: shape.capacity as usize,
        window: nearest_share(part, shape.capacity),
        list: Vec::new(),
        dirty: BTreeSet::new(),
    };
    (json!({"kind": "cflru", "window": part}), Box::new(reference))
}

struct Cflru {
    capacity: usize,
    window: usize,
    list: Vec<u32>,
    dirty: BTreeSet<u32>,
}

impl Cflru {
    /// The clean page nearest the end inside the window; if it has none, the page at the end.
    fn victim(&self) -> u32 {
        let window = self.list.iter().rev().take(self.window);
        let clean = window.copied().find(|page| !self.dirty.contains(page));
        clean.unwrap_or(self.list[self.list.len() - 1])
    }
}

impl Buffer for Cflru {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        for Lpn(page) in span.pages() {
            let held = self.list.contains(&page);
            out.hits.push(held);
            if !held && self.list.len() == self.capacity {
                let victim = self.victim();
                take(&mut self.list, victim);
                leaves(&mut out, &mut self.dirty, victim);
            }
            to_front(&mut self.list, page);
            if span.write {
                self.dirty.insert(page);
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        take(&mut self.list, page);
        self.dirty.remove(&page);
    }

    fn flush(&mut self) -> Decisions {
        // A dirty page leaves only from the end of the list: the one used longest ago first.
        let mut out = Decisions::default();
        store(&mut out, &mut self.dirty, true, self.list.iter().rev().copied());
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        store(&mut out, &mut self.dirty, true, first..first + count);
        out
    }
}
