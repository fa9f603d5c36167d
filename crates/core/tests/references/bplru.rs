//! BPLRU: a write buffer of blocks in the order of their last write, with padding and compensation.

use eraseblock_core::buffer::{Action, Shape, Span};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::{Block, Decisions, Pair, Reference};

/// The scheme with random options, and by the book.
pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let (padding, compensation, touch_first) = (random.random(), random.random(), random.random());
    let slow = Bplru {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        padding,
        compensation,
        touch_first,
        blocks: Vec::new(),
    };
    let order = if touch_first { "touch-first" } else { "evict-first" };
    let fast = json!({
        "kind": "bplru", "padding": padding, "compensation": compensation, "evict_order": order,
    });
    (fast, Box::new(slow))
}

pub struct Bplru {
    pub capacity: usize,
    pub pages_per_block: u32,
    pub padding: bool,
    pub compensation: bool,
    /// Room is made after the written block has moved to the front.
    pub touch_first: bool,
    /// The most recently written block first, each with the offsets written since its last write at offset 0.
    pub blocks: Vec<(Block, Vec<u32>)>,
}

impl Bplru {
    fn touch(&mut self, number: u32) {
        if let Some(at) = self.blocks.iter().position(|(block, _)| block.number == number) {
            let block = self.blocks.remove(at);
            self.blocks.insert(0, block);
        }
    }

    fn leave(&self, block: &Block, done: &mut Decisions) {
        let action = if self.padding { Action::FlushPadded } else { Action::Flush };
        done.leave(action, block.pages.clone());
    }
}

impl Reference for Bplru {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        let number = span.first / self.pages_per_block;
        for page in span.first..span.first + span.count {
            let hit = self.blocks.iter().any(|(block, _)| block.has(page));
            done.hits.push(hit);
            if !span.write {
                continue;
            }
            if !hit {
                if self.touch_first {
                    self.touch(number);
                }
                let held: usize = self.blocks.iter().map(|(block, _)| block.pages.len()).sum();
                if held == self.capacity {
                    let (victim, _) = self.blocks.pop().unwrap();
                    self.leave(&victim, &mut done);
                }
                if self.blocks.iter().all(|(block, _)| block.number != number) {
                    self.blocks.push((Block { number, pages: Vec::new() }, Vec::new()));
                }
            }
            self.touch(number);
            let (block, offsets) = &mut self.blocks[0];
            if !hit {
                block.put(page, true);
            }
            let offset = page % self.pages_per_block;
            if offset == 0 {
                offsets.clear();
            }
            offsets.push(offset);
            let in_order = offsets.iter().copied().eq(0..self.pages_per_block);
            if self.compensation && in_order && block.pages.len() as u32 == self.pages_per_block {
                let block = self.blocks.remove(0);
                self.blocks.push(block);
            }
        }
        done
    }

    fn trim(&mut self, page: u32) {
        if let Some((block, offsets)) = self.blocks.iter_mut().find(|(block, _)| block.has(page)) {
            block.pages.retain(|&(held, _)| held != page);
            // No longer written in order, until its next write at offset 0.
            offsets.push(page % self.pages_per_block);
            offsets.push(page % self.pages_per_block);
        }
        self.blocks.retain(|(block, _)| !block.pages.is_empty());
    }

    fn flush(&mut self) -> Decisions {
        let mut done = Decisions::default();
        while let Some((block, _)) = self.blocks.pop() {
            self.leave(&block, &mut done);
        }
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut done = Decisions::default();
        let wanted = |(block, _): &(Block, Vec<u32>)| (first..first + count).any(|page| block.has(page));
        if let Some(at) = self.blocks.iter().position(wanted) {
            let (block, _) = self.blocks.remove(at);
            self.leave(&block, &mut done);
        }
        done
    }
}
