//! CBM: HBM by the book for what is written, and an LRU list of clean pages.

use std::collections::BTreeMap;

use eraseblock_core::buffer::{Action, Shape, Span};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::hbm::Hbm;
use super::{Decisions, Pair, Reference};

/// The scheme with random options, and by the book.
pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let (read_share, fill_holes): (f64, bool) = (random.random(), random.random());
    let clean =
        ((read_share * f64::from(shape.capacity)).round() as usize).clamp(1, shape.capacity as usize - 1);
    let (alpha, beta, settle) =
        (random.random_range(0.0..0.5), random.random_range(0.5..1.0), random.random_range(1..6u64));
    let page_room: bool = random.random();
    let fixed = random.random::<bool>().then(|| random.random_range(1..=shape.pages_per_block + 1));
    let slow = Cbm {
        writes: Hbm {
            capacity: shape.capacity as usize - clean,
            pages_per_block: shape.pages_per_block,
            fixed,
            threshold: fixed.unwrap_or(1),
            fewest_pages: false,
            compensation: true,
            read_hits_count: true,
            lfu: false,
            page_region_counts: true,
            uses: BTreeMap::new(),
            page_room,
            alpha,
            beta,
            settle,
            changed_at: 0,
            watched: 0,
            nodes: Vec::new(),
            pages: Vec::new(),
        },
        capacity: clean,
        fill_holes,
        reads: Vec::new(),
    };
    let fast = json!({
        "kind": "cbm", "read_share": read_share, "fill_holes": fill_holes, "alpha": alpha, "beta": beta,
        "settle": settle, "tie": "lowest-block", "room": if page_room { "page" } else { "request" }, "threshold": fixed.map_or(json!("dynamic"), |pages| json!(pages)),
    });
    (fast, Box::new(slow))
}

struct Cbm {
    writes: Hbm,
    /// Pages of the read cache.
    capacity: usize,
    fill_holes: bool,
    /// The read cache, the most recently used page first.
    reads: Vec<u32>,
}

impl Cbm {
    /// Blocks that leave the write buffer take along what the read cache has of them.
    fn discharge(&mut self, outcome: Decisions, done: &mut Decisions) {
        for (action, mut pages) in outcome.left {
            if self.fill_holes && action == Action::Flush {
                self.fill(&mut pages);
            }
            done.leave(action, pages);
        }
    }

    /// What the read cache has of a block that was written leaves with it.
    fn fill(&mut self, pages: &mut Vec<(u32, bool)>) {
        let ppb = self.writes.pages_per_block;
        let number = pages[0].0 / ppb;
        pages.extend(self.reads.iter().filter(|&page| page / ppb == number).map(|&page| (page, false)));
        pages.sort_unstable();
        self.reads.retain(|page| page / ppb != number);
    }
}

impl Reference for Cbm {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        if span.write && span.count > 1 {
            // One block after the other, as each takes its clean pages along.
            let mut outcome = Decisions::default();
            self.writes.make_room(span, &mut outcome);
            self.discharge(outcome, &mut done);
        }
        let mut counted = false;
        for page in span.first..span.first + span.count {
            let clean = self.reads.iter().position(|&held| held == page);
            if span.write || self.writes.has(page) {
                if let Some(at) = clean {
                    self.reads.remove(at);
                }
                let mut outcome = Decisions::default();
                self.writes.access_page(page, span.write, &mut counted, &mut outcome);
                done.hits.push(outcome.hits[0] || clean.is_some());
                self.discharge(outcome, &mut done);
                continue;
            }
            done.hits.push(clean.is_some());
            match clean {
                Some(at) => drop(self.reads.remove(at)),
                None if self.reads.len() == self.capacity => {
                    done.leave(Action::Drop, vec![(self.reads.pop().unwrap(), false)]);
                }
                None => {}
            }
            self.reads.insert(0, page);
        }
        self.writes.end(span.request);
        done
    }

    fn trim(&mut self, page: u32) {
        self.reads.retain(|&held| held != page);
        self.writes.trim(page);
    }

    fn flush(&mut self) -> Decisions {
        self.writes.flush()
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        self.writes.force(first, count)
    }
}
