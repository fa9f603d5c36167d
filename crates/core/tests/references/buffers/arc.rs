//! ARC, figure 4 of Megiddo and Modha (FAST 2003), case by case.

use std::collections::BTreeSet;

use eraseblock_core::buffer::{Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::kit::{leaves, store, take, to_front};
use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference { scheme: "arc", from: "figure 4 of the paper, its page", least_capacity: 1, pair }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let (allocate, whole): (bool, bool) = (random.random(), random.random());
    let config = json!({
        "kind": "arc",
        "reads": if allocate { "allocate" } else { "bypass" },
        "target": if whole { "whole" } else { "real" },
    });
    let reference = Arc { c: shape.capacity as usize, whole, allocate, ..Arc::default() };
    (config, Box::new(reference))
}

#[derive(Default)]
struct Arc {
    c: usize,
    whole: bool,
    allocate: bool,
    /// The target size of T1.
    p: f64,
    t1: Vec<u32>,
    t2: Vec<u32>,
    b1: Vec<u32>,
    b2: Vec<u32>,
    dirty: BTreeSet<u32>,
}

impl Arc {
    /// The host wants these stored; a write buffer lets them go, and remembers none of them.
    fn store(&mut self, pages: impl IntoIterator<Item = u32>) -> Decisions {
        let mut out = Decisions::default();
        for left in store(&mut out, &mut self.dirty, self.allocate, pages) {
            self.trim(left);
        }
        out
    }

    /// How far the target moves for a hit in a list of `own` pages beside one of `other`.
    fn delta(&self, own: usize, other: usize) -> f64 {
        if own >= other {
            1.0
        } else if self.whole {
            (other / own) as f64
        } else {
            other as f64 / own as f64
        }
    }

    /// Subroutine REPLACE: T1 gives up its last page if it is above its target, else T2 does. Where
    /// a trim has emptied a place there is nothing to do.
    fn replace(&mut self, in_b2: bool, out: &mut Decisions) {
        if self.t1.len() + self.t2.len() < self.c {
            return;
        }
        let size = self.t1.len() as f64;
        let from_t1 = !self.t1.is_empty() && (size > self.p || (in_b2 && size >= self.p));
        let (list, remembered) =
            if from_t1 { (&mut self.t1, &mut self.b1) } else { (&mut self.t2, &mut self.b2) };
        let page = list.pop().expect("T2 has a page where T1 is not above its target");
        remembered.insert(0, page);
        leaves(out, &mut self.dirty, page);
    }

    /// A page that is in neither T1 nor T2.
    fn miss(&mut self, x: u32, out: &mut Decisions) {
        if self.b1.contains(&x) {
            // Case II.
            self.p = (self.p + self.delta(self.b1.len(), self.b2.len())).min(self.c as f64);
            self.replace(false, out);
            take(&mut self.b1, x);
            self.t2.insert(0, x);
        } else if self.b2.contains(&x) {
            // Case III.
            self.p = (self.p - self.delta(self.b2.len(), self.b1.len())).max(0.0);
            self.replace(true, out);
            take(&mut self.b2, x);
            self.t2.insert(0, x);
        } else {
            // Case IV.
            let l1 = self.t1.len() + self.b1.len();
            let all = l1 + self.t2.len() + self.b2.len();
            if l1 == self.c {
                if self.t1.len() < self.c {
                    self.b1.pop();
                    self.replace(false, out);
                } else {
                    let page = self.t1.pop().expect("it has c pages");
                    leaves(out, &mut self.dirty, page);
                }
            } else if all >= self.c {
                if all == 2 * self.c {
                    self.b2.pop();
                }
                self.replace(false, out);
            }
            self.t1.insert(0, x);
        }
    }
}

impl Buffer for Arc {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        for Lpn(x) in span.pages() {
            let held = self.t1.contains(&x) || self.t2.contains(&x);
            out.hits.push(held);
            if !span.write && !self.allocate {
                continue;
            }
            if held {
                // Case I.
                take(&mut self.t1, x);
                to_front(&mut self.t2, x);
            } else {
                self.miss(x, &mut out);
            }
            if span.write {
                self.dirty.insert(x);
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        take(&mut self.t1, page);
        take(&mut self.t2, page);
        self.dirty.remove(&page);
    }

    fn flush(&mut self) -> Decisions {
        let order: Vec<u32> = self.t1.iter().rev().chain(self.t2.iter().rev()).copied().collect();
        self.store(order)
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        self.store(first..first + count)
    }
}
