//! The separated buffer of Kim, Park and Youn (SUPA, 2017), section 4.1 and figure 2(a): two LRU
//! lists, of clean and of dirty blocks.

use std::collections::BTreeSet;

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::kit::{draw_share, nearest_share, to_front};
use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference {
        scheme: "split-lru",
        from: "section 4.1 and figure 2(a) of the SUPA paper, its page",
        least_capacity: 2,
        pair,
    }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let (part, pages): (f64, bool) = (draw_share(random), random.random());
    let config = json!({
        "kind": "split-lru",
        "dirty_share": part,
        "unit": if pages { "page" } else { "block" },
    });
    let capacity = shape.capacity as usize;
    let dirty = nearest_share(part, shape.capacity).clamp(1, capacity - 1);
    // A page is a block of one page.
    let unit = if pages { 1 } else { shape.pages_per_block };
    let parts = [capacity - dirty, dirty].map(|size| Part { size, ..Part::default() });
    (config, Box::new(SplitLru { unit, parts, dirty: BTreeSet::new() }))
}

/// One list, and the pages of its blocks.
#[derive(Default)]
struct Part {
    size: usize,
    blocks: Vec<u32>,
    pages: BTreeSet<u32>,
}

/// Which part.
const CLEAN: usize = 0;
const DIRTY: usize = 1;

struct SplitLru {
    unit: u32,
    parts: [Part; 2],
    /// Pages that flash does not have: all in the dirty part.
    dirty: BTreeSet<u32>,
}

impl SplitLru {
    /// Takes a page out of a part; its block goes with its last page.
    fn remove(&mut self, part: usize, page: u32) {
        let Part { blocks, pages, .. } = &mut self.parts[part];
        pages.remove(&page);
        blocks.retain(|&block| pages.iter().any(|page| page / self.unit == block));
    }

    /// The block of a part that was used longest ago leaves, with all of its pages there.
    fn evict(&mut self, part: usize, out: &mut Decisions) {
        let block = self.parts[part].blocks.pop().expect("a full part has a block");
        let of_block = |page: &u32| page / self.unit == block;
        let leaving: Vec<u32> = self.parts[part].pages.iter().copied().filter(of_block).collect();
        self.parts[part].pages.retain(|page| page / self.unit != block);
        let (written, dropped): (Vec<u32>, Vec<u32>) =
            leaving.into_iter().partition(|page| self.dirty.remove(page));
        out.leave(Action::Evict, written.into_iter().map(|page| (page, true)).collect());
        out.leave(Action::Drop, dropped.into_iter().map(|page| (page, false)).collect());
    }

    /// A page comes into a part, or is used there.
    fn enter(&mut self, part: usize, page: u32, out: &mut Decisions) {
        let held = self.parts[part].pages.contains(&page);
        if !held && self.parts[part].pages.len() == self.parts[part].size {
            self.evict(part, out);
        }
        self.parts[part].pages.insert(page);
        to_front(&mut self.parts[part].blocks, page / self.unit);
    }

    /// Dirty pages of these blocks' pages are written together, block by block, and stay.
    fn write(&mut self, blocks: &[u32], wanted: std::ops::Range<u32>) -> Decisions {
        let mut out = Decisions::default();
        for &block in blocks {
            let of_block = |page: &&u32| **page / self.unit == block && wanted.contains(page);
            let pages: Vec<u32> = self.dirty.iter().filter(of_block).copied().collect();
            self.dirty.retain(|page| !pages.contains(page));
            out.leave(Action::WriteBack, pages.into_iter().map(|page| (page, true)).collect());
        }
        out
    }
}

impl Buffer for SplitLru {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        for Lpn(page) in span.pages() {
            let [clean, dirty] = [CLEAN, DIRTY].map(|part| self.parts[part].pages.contains(&page));
            out.hits.push(clean || dirty);
            if span.write {
                if clean {
                    self.remove(CLEAN, page);
                }
                self.enter(DIRTY, page, &mut out);
                self.dirty.insert(page);
            } else {
                self.enter(if dirty { DIRTY } else { CLEAN }, page, &mut out);
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        self.remove(CLEAN, page);
        self.remove(DIRTY, page);
        self.dirty.remove(&page);
    }

    fn flush(&mut self) -> Decisions {
        let order: Vec<u32> = self.parts[DIRTY].blocks.iter().rev().copied().collect();
        self.write(&order, 0..u32::MAX)
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut blocks: Vec<u32> = (first..first + count).map(|page| page / self.unit).collect();
        blocks.dedup();
        self.write(&blocks, first..first + count)
    }
}
