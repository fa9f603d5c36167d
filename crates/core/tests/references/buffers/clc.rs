//! CLC, cold and largest cluster (Kang et al. 2009), as the scheme's page tells it.

use std::collections::{BTreeMap, BTreeSet};

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::kit::{draw_share, take, to_front};
use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference { scheme: "clc", from: "its page (the paper was not at hand)", least_capacity: 1, pair }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let (hot, touch_first) = (draw_share(random), random.random());
    let config = json!({
        "kind": "clc",
        "hot": hot,
        "evict_order": if touch_first { "touch-first" } else { "evict-first" },
    });
    let reference = Clc { shape, share: hot, touch_first, ..Clc::new(shape) };
    (config, Box::new(reference))
}

struct Clc {
    shape: Shape,
    share: f64,
    touch_first: bool,
    /// What is buffered of each block: its cluster.
    clusters: BTreeMap<u32, BTreeSet<u32>>,
    /// Blocks in the order of their last write.
    hot: Vec<u32>,
    /// The others, in the order in which they came to the list of their size.
    cold: Vec<u32>,
}

impl Clc {
    fn new(shape: Shape) -> Self {
        let (clusters, hot, cold) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { shape, share: 0.0, touch_first: false, clusters, hot, cold }
    }

    fn touch(&mut self, block: u32) {
        take(&mut self.cold, block);
        to_front(&mut self.hot, block);
    }

    /// The largest of the cold clusters, that which came first among equals; else the last of the
    /// hot ones.
    fn evict(&mut self, out: &mut Decisions) {
        let size = |block: &u32| self.clusters[block].len();
        let largest = self.cold.iter().map(size).max();
        let oldest = self.cold.iter().rev().copied().find(|block| Some(size(block)) == largest);
        let block = oldest.unwrap_or_else(|| self.hot[self.hot.len() - 1]);
        self.write(block, out);
    }

    /// A cluster is written upwards, and gone.
    fn write(&mut self, block: u32, out: &mut Decisions) {
        take(&mut self.cold, block);
        take(&mut self.hot, block);
        let pages = self.clusters.remove(&block).unwrap_or_default();
        out.leave(Action::Evict, pages.into_iter().map(|page| (page, true)).collect());
    }

    fn holds(&self, page: u32) -> bool {
        self.clusters.values().any(|pages| pages.contains(&page))
    }
}

impl Buffer for Clc {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        let block = span.first.0 / self.shape.pages_per_block;
        for Lpn(page) in span.pages() {
            let held = self.holds(page);
            out.hits.push(held);
            if !span.write {
                continue;
            }
            if self.touch_first && self.clusters.contains_key(&block) {
                self.touch(block);
            }
            let pages: usize = self.clusters.values().map(BTreeSet::len).sum();
            if !held && pages == self.shape.capacity as usize {
                self.evict(&mut out);
            }
            self.clusters.entry(block).or_default().insert(page);
            self.touch(block);
            let most = (self.share * self.clusters.len() as f64).ceil().max(1.0) as usize;
            while self.hot.len() > most {
                let last = self.hot.pop().expect("more than one");
                self.cold.insert(0, last);
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        let block = page / self.shape.pages_per_block;
        let Some(pages) = self.clusters.get_mut(&block) else { return };
        if !pages.remove(&page) {
            return;
        }
        if pages.is_empty() {
            self.write(block, &mut Decisions::default());
        } else if take(&mut self.cold, block) {
            self.cold.insert(0, block);
        }
    }

    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        while !self.clusters.is_empty() {
            self.evict(&mut out);
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        if (first..first + count).any(|page| self.holds(page)) {
            self.write(first / self.shape.pages_per_block, &mut out);
        }
        out
    }
}
