//! REF: pages in the order of use; the last one in the window of a victim block leaves.

use eraseblock_core::buffer::{Action, Shape, Span};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::{Decisions, Pair, Reference};

/// The scheme with random options, and by the book.
pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let (window, most_victims, bypass) =
        (random.random_range(0.0..1.0), random.random_range(1..4), random.random());
    let slots = f64::from(shape.capacity.min(shape.logical_pages));
    let slow = Ref {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        window: ((window * slots).round() as usize).max(1),
        most_victims,
        bypass,
        pages: Vec::new(),
        victims: Vec::new(),
    };
    let fast = json!({
        "kind": "ref", "window": window, "victim_blocks": most_victims,
        "reads": if bypass { "bypass" } else { "allocate" },
    });
    (fast, Box::new(slow))
}

struct Ref {
    capacity: usize,
    pages_per_block: u32,
    window: usize,
    most_victims: usize,
    bypass: bool,
    /// Each page with whether it is dirty, the most recent first.
    pages: Vec<(u32, bool)>,
    /// The oldest first.
    victims: Vec<u32>,
}

impl Ref {
    /// Takes the page out that makes room.
    fn pop(&mut self) -> (u32, bool) {
        let start = self.pages.len().saturating_sub(self.window);
        let block = |page: &(u32, bool)| page.0 / self.pages_per_block;
        let inside = &self.pages[start..];
        if !inside.iter().any(|page| self.victims.contains(&block(page))) {
            let mut most = (0, 0);
            for page in inside.iter().rev() {
                let count = inside.iter().filter(|other| block(other) == block(page)).count();
                if count > most.0 {
                    most = (count, block(page));
                }
            }
            if self.victims.len() == self.most_victims {
                self.victims.remove(0);
            }
            self.victims.push(most.1);
        }
        let at = inside.iter().rposition(|page| self.victims.contains(&block(page))).unwrap();
        self.pages.remove(start + at)
    }
}

impl Reference for Ref {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        for lpn in span.first..span.first + span.count {
            let at = self.pages.iter().position(|page| page.0 == lpn);
            done.hits.push(at.is_some());
            if self.bypass && !span.write {
                continue;
            }
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
        let mut done = Decisions::default();
        let stay: Vec<_> = self.pages.iter().map(|page| (page.0, false)).collect();
        while self.pages.iter().any(|page| page.1) {
            let page = self.pop();
            if page.1 {
                done.leave(if self.bypass { Action::Flush } else { Action::WriteBack }, vec![page]);
            }
        }
        if !self.bypass {
            self.pages = stay;
        }
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut done = Decisions::default();
        for lpn in first..first + count {
            let Some(at) = self.pages.iter().position(|page| page.0 == lpn && page.1) else { continue };
            if self.bypass {
                done.leave(Action::Flush, vec![self.pages.remove(at)]);
            } else {
                self.pages[at].1 = false;
                done.leave(Action::WriteBack, vec![(lpn, true)]);
            }
        }
        done
    }
}
