//! FAB: the block that holds most pages leaves, the least recently used among equals.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference {
        scheme: "fab",
        from: "its page, Gong's thesis (2010), section 2.4.1, and Kim and Ahn (2008), section 2.4",
        least_capacity: 1,
        pair,
    }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let (allocate, touch_first) = (random.random(), random.random());
    let slow = Fab {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        allocate,
        touch_first,
        blocks: Vec::new(),
    };
    let reads = if allocate { "allocate" } else { "bypass" };
    let evict_order = if touch_first { "touch-first" } else { "evict-first" };
    (json!({"kind": "fab", "reads": reads, "evict_order": evict_order}), Box::new(slow))
}

/// A block node: its page counter is the number of its pages.
struct Node {
    block: u32,
    /// Pages upwards, and whether they are dirty.
    pages: BTreeMap<u32, bool>,
}

impl Node {
    fn pages(&self, dirty: bool) -> Vec<(u32, bool)> {
        self.pages
            .iter()
            .filter(|page| *page.1 == dirty)
            .map(|(&lpn, &dirty)| (lpn, dirty))
            .collect()
    }
}

struct Fab {
    capacity: usize,
    pages_per_block: u32,
    /// Reads take pages in; else it is a write buffer.
    allocate: bool,
    /// A used block moves to the front before room is made.
    touch_first: bool,
    /// The most recently used first.
    blocks: Vec<Node>,
}

impl Fab {
    fn touch(&mut self, block: u32) {
        if let Some(at) = self.blocks.iter().position(|node| node.block == block) {
            let node = self.blocks.remove(at);
            self.blocks.insert(0, node);
        }
    }

    /// Blocks in the order in which they would have to leave: most pages first, then the least
    /// recently used.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.blocks.len()).rev().collect();
        order.sort_by_key(|&at| Reverse(self.blocks[at].pages.len()));
        order
    }
}

impl Buffer for Fab {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        let block = span.first.0 / self.pages_per_block;
        for Lpn(page) in span.pages() {
            let hit = self.blocks.iter().any(|node| node.pages.contains_key(&page));
            out.hits.push(hit);
            if !span.write && !self.allocate {
                continue;
            }
            if self.touch_first {
                self.touch(block);
            }
            let held: usize = self.blocks.iter().map(|node| node.pages.len()).sum();
            if !hit && held == self.capacity {
                let victim = self.blocks.remove(self.order()[0]);
                out.leave(Action::Evict, victim.pages(true));
                out.leave(Action::Drop, victim.pages(false));
            }
            self.touch(block);
            if self.blocks.first().is_none_or(|node| node.block != block) {
                self.blocks.insert(0, Node { block, pages: BTreeMap::new() });
            }
            *self.blocks[0].pages.entry(page).or_insert(false) |= span.write;
        }
        out
    }

    fn trim(&mut self, page: u32) {
        let block = page / self.pages_per_block;
        if self.blocks.iter().any(|node| node.pages.contains_key(&page)) {
            // A block that loses pages to a trim counts as used.
            self.touch(block);
            self.blocks[0].pages.remove(&page);
        }
        self.blocks.retain(|node| !node.pages.is_empty());
    }

    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        for at in self.order() {
            let node = &mut self.blocks[at];
            out.leave(
                if self.allocate { Action::WriteBack } else { Action::Evict },
                node.pages(true),
            );
            node.pages.values_mut().for_each(|dirty| *dirty = false);
        }
        if !self.allocate {
            self.blocks.clear();
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        let forced = first..first + count;
        let block = first / self.pages_per_block;
        let Some(at) = self.blocks.iter().position(|node| node.block == block) else { return out };
        let mut pages = self.blocks[at].pages(true);
        if self.allocate {
            pages.retain(|(page, _)| forced.contains(page));
            self.blocks[at].pages.range_mut(forced).for_each(|(_, dirty)| *dirty = false);
            out.leave(Action::WriteBack, pages);
        } else if pages.iter().any(|(page, _)| forced.contains(page)) {
            self.blocks.remove(at);
            out.leave(Action::Evict, pages);
        }
        out
    }
}
