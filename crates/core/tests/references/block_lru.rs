//! Block LRU: blocks in order of use; the last one leaves.

use eraseblock_core::buffer::{Shape, Span};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::{Block, Decisions, Pair, Reference};

/// The scheme with random options, and by the book.
pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let (bypass, touch_first) = (random.random(), random.random());
    let slow = BlockLru {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        bypass,
        touch_first,
        blocks: Vec::new(),
    };
    let fast = json!({
        "kind": "block-lru", "reads": if bypass { "bypass" } else { "allocate" },
        "evict_order": if touch_first { "touch-first" } else { "evict-first" },
    });
    (fast, Box::new(slow))
}

struct BlockLru {
    capacity: usize,
    pages_per_block: u32,
    bypass: bool,
    /// Room is made after the used block has moved to the front.
    touch_first: bool,
    /// The most recently used block first.
    blocks: Vec<Block>,
}

impl BlockLru {
    fn touch(&mut self, number: u32) {
        self.blocks.sort_by_key(|block| block.number != number);
    }
}

impl Reference for BlockLru {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        let number = span.first / self.pages_per_block;
        for page in span.first..span.first + span.count {
            let hit = self.blocks.iter().any(|block| block.has(page));
            done.hits.push(hit);
            if self.bypass && !span.write {
                continue;
            }
            if !hit && self.touch_first {
                self.touch(number);
            }
            if !hit && super::held(&self.blocks) == self.capacity {
                self.blocks.pop().unwrap().leave(&mut done);
            }
            if self.blocks.iter().all(|block| block.number != number) {
                self.blocks.push(Block { number, pages: Vec::new() });
            }
            self.touch(number);
            self.blocks[0].serve(page, span.write);
        }
        done
    }

    fn trim(&mut self, page: u32) {
        self.blocks.iter_mut().for_each(|block| block.drop(page));
        self.blocks.retain(|block| !block.pages.is_empty());
    }

    fn flush(&mut self) -> Decisions {
        let mut done = Decisions::default();
        for block in self.blocks.iter_mut().rev() {
            done.left.extend(block.write_back());
        }
        if self.bypass {
            super::empty(&mut self.blocks, &mut done);
        }
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        super::force(&mut self.blocks, self.bypass, first, count)
    }
}
