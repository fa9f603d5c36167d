//! FIFO: one list of pages, the page that came first leaves alone.

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference { scheme: "fifo", from: "its page", least_capacity: 1, pair }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let allocate = random.random();
    let reads = if allocate { "allocate" } else { "bypass" };
    let slow = Fifo { capacity: shape.capacity as usize, allocate, pages: Vec::new() };
    (json!({"kind": "fifo", "reads": reads}), Box::new(slow))
}

struct Fifo {
    capacity: usize,
    /// Reads take pages in; else it is a write buffer.
    allocate: bool,
    /// Page, and whether it is dirty; the one that came first is first.
    pages: Vec<(u32, bool)>,
}

impl Buffer for Fifo {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        for Lpn(page) in span.pages() {
            if let Some((_, dirty)) = self.pages.iter_mut().find(|(lpn, _)| *lpn == page) {
                *dirty |= span.write;
                out.hits.push(true);
                continue;
            }
            out.hits.push(false);
            if span.write || self.allocate {
                if self.pages.len() == self.capacity {
                    let oldest = self.pages.remove(0);
                    out.leave(if oldest.1 { Action::Evict } else { Action::Drop }, vec![oldest]);
                }
                self.pages.push((page, span.write));
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        self.pages.retain(|&(lpn, _)| lpn != page);
    }

    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        let action = if self.allocate { Action::WriteBack } else { Action::Evict };
        for (lpn, dirty) in &mut self.pages {
            if std::mem::replace(dirty, false) {
                out.leave(action, vec![(*lpn, true)]);
            }
        }
        if !self.allocate {
            self.pages.clear();
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        let mut forced: Vec<_> = self
            .pages
            .iter()
            .copied()
            .filter(|&(lpn, dirty)| dirty && (first..first + count).contains(&lpn))
            .collect();
        forced.sort_unstable();
        for &(page, _) in &forced {
            if self.allocate {
                self.pages.iter_mut().find(|(lpn, _)| *lpn == page).unwrap().1 = false;
                out.leave(Action::WriteBack, vec![(page, true)]);
            } else {
                self.trim(page);
                out.leave(Action::Evict, vec![(page, true)]);
            }
        }
        out
    }
}
