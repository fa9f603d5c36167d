//! BPAC, block-page adaptive cache (Wu, Eckart and He 2010), as the scheme's page and section 2.4.4
//! of Gong's thesis tell it.

use std::collections::BTreeSet;

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::kit::{draw_share, nearest_share, take, to_front};
use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference {
        scheme: "bpac",
        from: "its page, section 2.4.4 of Gong's thesis (the paper was not at hand)",
        least_capacity: 1,
        pair,
    }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let (part, adapt) = (draw_share(random), random.random());
    let threshold =
        random.random_bool(0.7).then(|| random.random_range(1..=shape.pages_per_block + 1));
    let config =
        json!({"kind": "bpac", "page_share": part, "threshold": threshold, "adapt": adapt});
    let capacity = shape.capacity as usize;
    let reference = Bpac {
        capacity,
        pages_per_block: shape.pages_per_block,
        size: nearest_share(part, shape.capacity).clamp(1, (capacity - 1).max(1)),
        threshold: threshold.unwrap_or(shape.pages_per_block / 2).max(1) as usize,
        adapt,
        page_list: Vec::new(),
        block_list: Vec::new(),
        fallen: Vec::new(),
        left: Vec::new(),
    };
    (config, Box::new(reference))
}

struct Bpac {
    capacity: usize,
    pages_per_block: u32,
    /// Pages that the page list may have.
    size: usize,
    threshold: usize,
    adapt: bool,
    page_list: Vec<u32>,
    /// Blocks with their pages, the one that changed last in front.
    block_list: Vec<(u32, BTreeSet<u32>)>,
    /// Pages that fell out of the page list, the latest in front.
    fallen: Vec<u32>,
    /// Blocks that left, the latest in front.
    left: Vec<u32>,
}

impl Bpac {
    fn block(&self, page: u32) -> u32 {
        page / self.pages_per_block
    }

    fn in_block_list(&self, page: u32) -> bool {
        self.block_list.iter().any(|(_, pages)| pages.contains(&page))
    }

    fn len(&self) -> usize {
        self.page_list.len() + self.block_list.iter().map(|(_, pages)| pages.len()).sum::<usize>()
    }

    /// A page joins its block in the block list.
    fn join(&mut self, page: u32) {
        let block = self.block(page);
        let at = self.block_list.iter().position(|&(other, _)| other == block);
        let mut node = at.map_or((block, BTreeSet::new()), |at| self.block_list.remove(at));
        node.1.insert(page);
        self.block_list.insert(0, node);
    }

    /// A page goes out of the block list; whether it was there.
    fn part(&mut self, page: u32) -> bool {
        let Some(at) = self.block_list.iter().position(|(_, pages)| pages.contains(&page)) else {
            return false;
        };
        let mut node = self.block_list.remove(at);
        node.1.remove(&page);
        if !node.1.is_empty() {
            self.block_list.insert(0, node);
        }
        true
    }

    /// The fullest block of the block list, the one that changed longest ago among equals; where
    /// there is none, the last page of the page list with the others of its block. Returns the
    /// block.
    fn evict(&mut self, out: &mut Decisions) -> u32 {
        let most = self.block_list.iter().map(|(_, pages)| pages.len()).max();
        let (block, pages) = if let Some(at) =
            self.block_list.iter().rposition(|(_, pages)| Some(pages.len()) == most)
        {
            self.block_list.remove(at)
        } else {
            let block = self.block(self.page_list[self.page_list.len() - 1]);
            (block, self.take_from_page_list(block))
        };
        out.leave(Action::Evict, pages.into_iter().map(|page| (page, true)).collect());
        block
    }

    fn take_from_page_list(&mut self, block: u32) -> BTreeSet<u32> {
        let of_block = |page: &u32| page / self.pages_per_block == block;
        let pages = self.page_list.iter().copied().filter(of_block).collect();
        self.page_list.retain(|page| !of_block(page));
        pages
    }

    /// A page that is not held is written: was one of the lists too small?
    fn adapt(&mut self, page: u32) {
        let block = self.block(page);
        if take(&mut self.fallen, page) {
            self.size = (self.size + 1).min((self.capacity - 1).max(1));
        } else if take(&mut self.left, block) {
            self.size = (self.size - 1).max(1);
        }
    }

    fn write(&mut self, page: u32, out: &mut Decisions) {
        let block = self.block(page);
        if self.page_list.contains(&page) {
            to_front(&mut self.page_list, page);
            return;
        }
        if self.part(page) {
            take(&mut self.fallen, page);
        } else {
            if self.adapt {
                self.adapt(page);
            }
            if self.len() == self.capacity {
                let gone = self.evict(out);
                to_front(&mut self.left, gone);
                self.left.truncate(self.capacity.div_ceil(self.pages_per_block as usize));
            }
            if self.block_list.iter().any(|&(other, _)| other == block) {
                self.join(page);
                self.settle();
                return;
            }
        }
        self.page_list.insert(0, page);
        let together = self.page_list.iter().filter(|&&other| self.block(other) == block).count();
        if together >= self.threshold {
            for page in self.take_from_page_list(block) {
                self.join(page);
            }
        }
        self.settle();
    }

    /// Above its size, the page list's last page falls out of it.
    fn settle(&mut self) {
        while self.page_list.len() > self.size {
            let last = self.page_list.pop().expect("it is above its size");
            self.join(last);
            to_front(&mut self.fallen, last);
            self.fallen.truncate(self.capacity);
        }
    }
}

impl Buffer for Bpac {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        for Lpn(page) in span.pages() {
            out.hits.push(self.page_list.contains(&page) || self.in_block_list(page));
            if span.write {
                self.write(page, &mut out);
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        if !take(&mut self.page_list, page) {
            self.part(page);
        }
    }

    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        while self.len() > 0 {
            self.evict(&mut out);
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        let held = |page| self.page_list.contains(&page) || self.in_block_list(page);
        if (first..first + count).any(held) {
            let block = self.block(first);
            // What the block list has of it, then what the page list has.
            let at = self.block_list.iter().position(|&(other, _)| other == block);
            let joined = at.map(|at| self.block_list.remove(at).1).unwrap_or_default();
            for pages in [joined, self.take_from_page_list(block)] {
                out.leave(Action::Evict, pages.into_iter().map(|page| (page, true)).collect());
            }
        }
        out
    }
}
