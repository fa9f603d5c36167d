//! LIRS-WSR: a stack and a queue of page numbers; and LRU-WSR, one list.

use std::collections::BTreeMap;

use eraseblock_core::buffer::{Action, Shape, Span};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::{Decisions, Pair, Reference};

/// The scheme with random options, and by the book.
pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let (lru, hir_share, ghosts) =
        (random.random(), random.random_range(0.0..1.0), random.random_range(0.0..3.0));
    let slots = f64::from(shape.capacity.min(shape.logical_pages));
    let hirs = ((hir_share * slots).round() as usize).max(1);
    let slow = LirsWsr {
        capacity: shape.capacity as usize,
        most_lirs: if lru { 0 } else { (slots as usize).saturating_sub(hirs) },
        lru,
        most_ghosts: (ghosts * slots).round() as usize,
        pages: BTreeMap::new(),
        stack: Vec::new(),
        queue: Vec::new(),
        ghosts: Vec::new(),
    };
    let base = if lru { "lru" } else { "lirs" };
    let fast = json!({"kind": "lirs-wsr", "base": base, "hir_share": hir_share, "ghosts": ghosts});
    (fast, Box::new(slow))
}

#[derive(Default)]
struct Page {
    dirty: bool,
    cold: bool,
    lir: bool,
}

struct LirsWsr {
    capacity: usize,
    most_lirs: usize,
    /// All pages are in the queue, which is in the order of use.
    lru: bool,
    most_ghosts: usize,
    pages: BTreeMap<u32, Page>,
    /// The most recent first; also pages that have left.
    stack: Vec<u32>,
    /// Buffered HIR pages, the most recent first.
    queue: Vec<u32>,
    /// Pages that have left and are on the stack, the first to leave first.
    ghosts: Vec<u32>,
}

impl LirsWsr {
    fn lirs(&self) -> usize {
        self.pages.values().filter(|page| page.lir).count()
    }

    fn is_lir(&self, lpn: u32) -> bool {
        self.pages.get(&lpn).is_some_and(|page| page.lir)
    }

    /// Whether a page that has to go goes; else it is marked.
    fn goes(&mut self, lpn: u32) -> bool {
        let page = self.pages.get_mut(&lpn).unwrap();
        !page.dirty || std::mem::replace(&mut page.cold, true)
    }

    fn prune(&mut self) {
        while self.stack.last().is_some_and(|&last| !self.is_lir(last)) {
            let last = self.stack.pop().unwrap();
            self.ghosts.retain(|&ghost| ghost != last);
        }
    }

    fn demote(&mut self) {
        while self.lirs() == self.most_lirs {
            let last = self.stack.pop().unwrap();
            if self.goes(last) {
                self.pages.get_mut(&last).unwrap().lir = false;
                self.queue.insert(0, last);
            } else {
                self.stack.insert(0, last);
            }
            self.prune();
        }
    }

    fn pop(&mut self) -> (u32, bool) {
        loop {
            let last = self.queue.pop().unwrap();
            if !self.goes(last) {
                self.queue.insert(0, last);
                continue;
            }
            if self.stack.contains(&last) {
                self.ghosts.push(last);
                if self.ghosts.len() > self.most_ghosts {
                    let first = self.ghosts.remove(0);
                    self.stack.retain(|&lpn| lpn != first);
                }
            }
            return (last, self.pages.remove(&last).unwrap().dirty);
        }
    }

    fn access_page(&mut self, lpn: u32, write: bool, done: &mut Decisions) {
        let known = self.stack.contains(&lpn);
        let hit = self.pages.contains_key(&lpn);
        done.hits.push(hit);
        if let Some(page) = self.pages.get_mut(&lpn) {
            page.cold = false;
            page.dirty |= write;
        }
        if self.is_lir(lpn) {
            self.stack.retain(|&other| other != lpn);
            self.stack.insert(0, lpn);
            self.prune();
            return;
        }
        self.stack.retain(|&other| other != lpn);
        self.queue.retain(|&other| other != lpn);
        self.ghosts.retain(|&other| other != lpn);
        if !hit && self.pages.len() == self.capacity {
            let page = self.pop();
            done.leave(if page.1 { Action::Flush } else { Action::Drop }, vec![page]);
        }
        let lir = self.most_lirs > 0 && (known || (!hit && self.lirs() < self.most_lirs));
        if lir {
            self.demote();
        }
        let page = self.pages.entry(lpn).or_default();
        page.lir = lir;
        page.dirty |= write;
        if !self.lru {
            self.stack.insert(0, lpn);
        }
        if !lir {
            self.queue.insert(0, lpn);
        }
        self.prune();
    }
}

impl Reference for LirsWsr {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        for lpn in span.first..span.first + span.count {
            self.access_page(lpn, span.write, &mut done);
        }
        done
    }

    fn trim(&mut self, lpn: u32) {
        if self.pages.remove(&lpn).is_some() {
            self.stack.retain(|&other| other != lpn);
            self.queue.retain(|&other| other != lpn);
            self.prune();
        }
    }

    fn flush(&mut self) -> Decisions {
        let mut done = Decisions::default();
        let lirs = self.stack.iter().rev().filter(|&&lpn| self.is_lir(lpn));
        let order: Vec<u32> = self.queue.iter().rev().chain(lirs).copied().collect();
        for lpn in order {
            if std::mem::take(&mut self.pages.get_mut(&lpn).unwrap().dirty) {
                done.leave(Action::WriteBack, vec![(lpn, true)]);
            }
        }
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut done = Decisions::default();
        for (&lpn, page) in self.pages.range_mut(first..first + count) {
            if std::mem::take(&mut page.dirty) {
                done.leave(Action::WriteBack, vec![(lpn, true)]);
            }
        }
        done
    }
}
