//! FAB: blocks in order of use; the one with most pages leaves, the least recently used among equals.

use eraseblock_core::buffer::{Shape, Span};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::{Block, Decisions, Pair, Reference};

/// The scheme with random options, and by the book.
pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let (bypass, touch_first) = (random.random(), random.random());
    let slow = Fab {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        bypass,
        touch_first,
        blocks: Vec::new(),
    };
    let fast = json!({
        "kind": "fab", "reads": if bypass { "bypass" } else { "allocate" },
        "evict_order": if touch_first { "touch-first" } else { "evict-first" },
    });
    (fast, Box::new(slow))
}

pub struct Fab {
    pub capacity: usize,
    pub pages_per_block: u32,
    pub bypass: bool,
    /// Room is made after the used block has moved to the front.
    pub touch_first: bool,
    /// The most recently used block first.
    pub blocks: Vec<Block>,
}

impl Fab {
    fn touch(&mut self, number: u32) {
        if let Some(at) = self.blocks.iter().position(|block| block.number == number) {
            let block = self.blocks.remove(at);
            self.blocks.insert(0, block);
        }
    }

    fn make_room(&mut self, done: &mut Decisions) {
        if super::held(&self.blocks) < self.capacity {
            return;
        }
        let most = self.blocks.iter().map(|block| block.pages.len()).max().unwrap();
        let victim = self.blocks.iter().rposition(|block| block.pages.len() == most).unwrap();
        self.blocks.remove(victim).leave(done);
    }
}

impl Reference for Fab {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        let number = span.first / self.pages_per_block;
        for page in span.first..span.first + span.count {
            let hit = self.blocks.iter().any(|block| block.has(page));
            done.hits.push(hit);
            if self.bypass && !span.write {
                continue;
            }
            if !hit {
                if self.touch_first {
                    self.touch(number);
                }
                self.make_room(&mut done);
                if self.blocks.iter().all(|block| block.number != number) {
                    self.blocks.push(Block { number, pages: Vec::new() });
                }
            }
            self.touch(number);
            self.blocks[0].serve(page, span.write);
        }
        done
    }

    fn trim(&mut self, page: u32) {
        let number = page / self.pages_per_block;
        if self.blocks.iter().any(|block| block.has(page)) {
            // As any other change of a block, this makes it the most recent of its size.
            self.touch(number);
            self.blocks[0].drop(page);
        }
        self.blocks.retain(|block| !block.pages.is_empty());
    }

    fn flush(&mut self) -> Decisions {
        let mut done = Decisions::default();
        for size in (1..=self.pages_per_block as usize).rev() {
            for block in self.blocks.iter_mut().rev().filter(|block| block.pages.len() == size) {
                done.left.extend(block.write_back());
            }
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
