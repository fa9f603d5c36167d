//! S3-FIFO, algorithm 1 of Yang et al. (SOSP 2023).

use std::collections::{BTreeMap, BTreeSet};

use eraseblock_core::buffer::{Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::kit::{draw_share, leaves, share, store, take};
use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference { scheme: "s3-fifo", from: "algorithm 1 of the paper, its page", least_capacity: 1, pair }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let (allocate, both): (bool, bool) = (random.random(), random.random());
    let (small, ghost) = (draw_share(random).max(0.01), draw_share(random));
    let move_to_main = random.random_range(1..=3);
    let config = json!({
        "kind": "s3-fifo",
        "reads": if allocate { "allocate" } else { "bypass" },
        "small": small,
        "ghost": ghost,
        "move_to_main": move_to_main,
        "fill": if both { "both" } else { "small" },
    });
    let reference = S3Fifo {
        capacity: shape.capacity as usize,
        allocate,
        small: share(small, shape.capacity).max(1),
        remembers: share(ghost, shape.capacity),
        move_to_main,
        both,
        ..S3Fifo::default()
    };
    (config, Box::new(reference))
}

#[derive(Default)]
struct S3Fifo {
    capacity: usize,
    allocate: bool,
    small: usize,
    remembers: usize,
    move_to_main: u32,
    both: bool,
    has_evicted: bool,
    /// S, M and G of the paper: the page that came last in front.
    s: Vec<u32>,
    m: Vec<u32>,
    g: Vec<u32>,
    freq: BTreeMap<u32, u32>,
    dirty: BTreeSet<u32>,
}

impl S3Fifo {
    /// The host wants these stored; a write buffer lets them go, and remembers none of them.
    fn store(&mut self, pages: impl IntoIterator<Item = u32>) -> Decisions {
        let mut out = Decisions::default();
        for left in store(&mut out, &mut self.dirty, self.allocate, pages) {
            self.trim(left);
        }
        out
    }

    /// EVICT: from S while it has its size, else from M. Returns the page that left.
    fn evict(&mut self) -> u32 {
        self.has_evicted = true;
        if self.s.len() >= self.small {
            // EVICTS goes on until a page leaves.
            while let Some(t) = self.s.pop() {
                if self.freq[&t] < self.move_to_main {
                    self.g.insert(0, t);
                    self.g.truncate(self.remembers);
                    return t;
                }
                self.freq.insert(t, 0);
                self.m.insert(0, t);
            }
        }
        // EVICTM.
        loop {
            let t = self.m.pop().expect("S is below its size, or empty");
            let freq = self.freq.get_mut(&t).expect("it is held");
            if *freq == 0 {
                return t;
            }
            *freq -= 1;
            self.m.insert(0, t);
        }
    }

    /// INSERT.
    fn insert(&mut self, x: u32, out: &mut Decisions) {
        // G is asked first: what leaves now may push x out of it.
        let remembered = take(&mut self.g, x);
        while self.s.len() + self.m.len() >= self.capacity {
            let left = self.evict();
            self.freq.remove(&left);
            leaves(out, &mut self.dirty, left);
        }
        let fills_main = self.both && !self.has_evicted && self.s.len() >= self.small;
        let queue = if remembered || fills_main { &mut self.m } else { &mut self.s };
        queue.insert(0, x);
        self.freq.insert(x, 0);
    }
}

impl Buffer for S3Fifo {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        for Lpn(x) in span.pages() {
            let held = self.freq.contains_key(&x);
            out.hits.push(held);
            if !span.write && !self.allocate {
                continue;
            }
            if let Some(freq) = self.freq.get_mut(&x) {
                *freq = (*freq + 1).min(3);
            } else {
                self.insert(x, &mut out);
            }
            if span.write {
                self.dirty.insert(x);
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        take(&mut self.s, page);
        take(&mut self.m, page);
        self.freq.remove(&page);
        self.dirty.remove(&page);
    }

    fn flush(&mut self) -> Decisions {
        let order: Vec<u32> = self.s.iter().rev().chain(self.m.iter().rev()).copied().collect();
        self.store(order)
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        self.store(first..first + count)
    }
}
