//! CFLRU: one list of pages; the clean page nearest its end leaves if it is in the window.

use eraseblock_core::buffer::{Action, Shape, Span};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::paged::slots;
use super::{Decisions, Pair, Reference};

/// The scheme with a random window, and by the book.
pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let window: f64 = random.random();
    let capacity = slots(shape);
    let slow = Cflru { capacity, window: (window * capacity as f64).round() as usize, pages: Vec::new() };
    (json!({"kind": "cflru", "window": window}), Box::new(slow))
}

struct Cflru {
    capacity: usize,
    window: usize,
    /// Each page with whether it is dirty, the most recently used first.
    pages: Vec<(u32, bool)>,
}

impl Cflru {
    fn pop(&mut self) -> (u32, bool) {
        let start = self.pages.len() - self.window;
        let clean = self.pages[start..].iter().rposition(|page| !page.1).map(|at| start + at);
        self.pages.remove(clean.unwrap_or(self.pages.len() - 1))
    }
}

impl Reference for Cflru {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        for lpn in span.first..span.first + span.count {
            let at = self.pages.iter().position(|page| page.0 == lpn);
            done.hits.push(at.is_some());
            let dirty = at.is_some_and(|at| self.pages.remove(at).1);
            if at.is_none() && self.pages.len() == self.capacity {
                let page = self.pop();
                done.leave(if page.1 { Action::Flush } else { Action::Drop }, vec![page]);
            }
            self.pages.insert(0, (lpn, dirty || span.write));
        }
        done
    }

    fn trim(&mut self, lpn: u32) {
        self.pages.retain(|page| page.0 != lpn);
    }

    fn flush(&mut self) -> Decisions {
        let order: Vec<u32> = self.pages.iter().rev().map(|page| page.0).collect();
        let mut done = Decisions::default();
        for lpn in order {
            done.left.extend(self.force(lpn, 1).left);
        }
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut done = Decisions::default();
        for lpn in first..first + count {
            let found = self.pages.iter_mut().find(|page| **page == (lpn, true));
            if let Some(page) = found {
                page.1 = false;
                done.leave(Action::WriteBack, vec![(lpn, true)]);
            }
        }
        done
    }
}
