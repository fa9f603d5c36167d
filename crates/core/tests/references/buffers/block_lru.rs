//! Block LRU: one list of blocks, the block used longest ago leaves with all its pages.

use std::collections::BTreeMap;

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference {
        scheme: "block-lru",
        from: "its page, and sections 3.1 and table 1 of Kim and Ahn (2008)",
        least_capacity: 1,
        pair,
    }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let (allocate, touch_first) = (random.random(), random.random());
    let slow = BlockLru {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        allocate,
        touch_first,
        blocks: Vec::new(),
    };
    let reads = if allocate { "allocate" } else { "bypass" };
    let evict_order = if touch_first { "touch-first" } else { "evict-first" };
    (json!({"kind": "block-lru", "reads": reads, "evict_order": evict_order}), Box::new(slow))
}

struct Block {
    number: u32,
    /// Pages upwards, and whether they are dirty.
    pages: BTreeMap<u32, bool>,
}

impl Block {
    fn pages(&self, dirty: bool) -> Vec<(u32, bool)> {
        self.pages
            .iter()
            .filter(|page| *page.1 == dirty)
            .map(|(&lpn, &dirty)| (lpn, dirty))
            .collect()
    }
}

struct BlockLru {
    capacity: usize,
    pages_per_block: u32,
    /// Reads take pages in; else it is a write buffer.
    allocate: bool,
    /// A used block moves to the front before room is made.
    touch_first: bool,
    /// The most recently used first.
    blocks: Vec<Block>,
}

impl BlockLru {
    fn touch(&mut self, number: u32) {
        if let Some(at) = self.blocks.iter().position(|block| block.number == number) {
            let block = self.blocks.remove(at);
            self.blocks.insert(0, block);
        }
    }
}

impl Buffer for BlockLru {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        let number = span.first.0 / self.pages_per_block;
        for Lpn(page) in span.pages() {
            let hit = self.blocks.iter().any(|block| block.pages.contains_key(&page));
            out.hits.push(hit);
            if !span.write && !self.allocate {
                continue;
            }
            if self.touch_first {
                self.touch(number);
            }
            let held: usize = self.blocks.iter().map(|block| block.pages.len()).sum();
            if !hit && held == self.capacity {
                let block = self.blocks.pop().unwrap();
                out.leave(Action::Evict, block.pages(true));
                out.leave(Action::Drop, block.pages(false));
            }
            self.touch(number);
            if self.blocks.first().is_none_or(|block| block.number != number) {
                self.blocks.insert(0, Block { number, pages: BTreeMap::new() });
            }
            *self.blocks[0].pages.entry(page).or_insert(false) |= span.write;
        }
        out
    }

    fn trim(&mut self, page: u32) {
        for block in &mut self.blocks {
            block.pages.remove(&page);
        }
        self.blocks.retain(|block| !block.pages.is_empty());
    }

    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        for block in self.blocks.iter_mut().rev() {
            out.leave(
                if self.allocate { Action::WriteBack } else { Action::Evict },
                block.pages(true),
            );
            block.pages.values_mut().for_each(|dirty| *dirty = false);
        }
        if !self.allocate {
            self.blocks.clear();
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        let forced = first..first + count;
        let number = first / self.pages_per_block;
        let Some(at) = self.blocks.iter().position(|block| block.number == number) else {
            return out;
        };
        let mut pages = self.blocks[at].pages(true);
        if self.allocate {
            pages.retain(|(page, _)| forced.contains(page));
            self.blocks[at].pages.range_mut(forced).for_each(|(_, dirty)| *dirty = false);
            out.leave(Action::WriteBack, pages);
        } else if pages.iter().any(|(page, _)| forced.contains(page)) {
            // As BPLRU without padding: the block is sent as a whole.
            self.blocks.remove(at);
            out.leave(Action::Evict, pages);
        }
        out
    }
}
