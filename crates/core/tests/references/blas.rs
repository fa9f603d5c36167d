//! BLAS's write buffer by the book: a list of blocks, and a list of those that are marked.

use eraseblock_core::buffer::{Action, Idle, Shape, Span, View};
use eraseblock_core::pattern::{Pattern, Route};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::{Block, Decisions, Pair, Reference};

/// The scheme with random options, and by the book.
pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let slow = Blas {
        capacity: shape.capacity as usize,
        size: shape.pages_per_block,
        keep: random.random_range(0..4),
        search: random.random_range(1..8),
        whole: random.random(),
        sequential: random.random_range(0..5),
        touch_first: random.random(),
        blocks: Vec::new(),
        marked: Vec::new(),
    };
    let fast = json!({
        "kind": "blas", "keep": slow.keep, "search": slow.search, "sequential": slow.sequential,
        "release": if slow.whole { "block" } else { "page" },
        "evict_order": if slow.touch_first { "touch-first" } else { "evict-first" },
    });
    (fast, Box::new(slow))
}

struct Blas {
    capacity: usize,
    size: u32,
    keep: usize,
    search: usize,
    whole: bool,
    sequential: u32,
    touch_first: bool,
    /// The most recently written block first.
    blocks: Vec<Block>,
    /// Numbers of marked blocks, the next one to lose a page first.
    marked: Vec<u32>,
}

impl Blas {
    fn at(&self, number: u32) -> Option<usize> {
        self.blocks.iter().position(|block| block.number == number)
    }

    /// The block has been written, or is about to be.
    fn raise(&mut self, number: u32) {
        self.marked.retain(|&marked| marked != number);
        if let Some(at) = self.at(number) {
            self.blocks[..=at].rotate_right(1);
        }
    }

    fn mark(&mut self) {
        let most = self.blocks.len().saturating_sub(self.keep).max(1);
        let mut free: Vec<u32> = (0..Idle::CHIPS).collect();
        for block in self.blocks.iter().rev().take(most.min(self.search)) {
            let runs = block.pages.chunk_by(|one, next| one.0 + 1 == next.0);
            let run = runs.map(<[_]>::len).max().unwrap_or(0) as u32;
            let channel = match Idle.route(block.number, Pattern::of_runs(run, 0, self.sequential)) {
                Route::Channel(channel) | Route::Home(channel) => Some(channel),
                Route::Anywhere | Route::Striped => free.first().copied(),
            };
            if let Some(at) = free.iter().position(|&free| Some(free) == channel) {
                free.remove(at);
                self.marked.push(block.number);
            }
        }
    }

    fn make_room(&mut self, done: &mut Decisions) {
        if self.marked.is_empty() {
            self.mark();
        }
        let number = self.marked.remove(0);
        let at = self.at(number).unwrap();
        if self.whole {
            return self.blocks.remove(at).leave(done);
        }
        let block = &mut self.blocks[at];
        let page = block.pages[0];
        block.drop(page.0);
        done.leave(Action::Flush, vec![page]);
        if block.pages.is_empty() {
            self.blocks.remove(at);
        } else {
            self.marked.push(number);
        }
    }

    fn forget_empty(&mut self) {
        self.blocks.retain(|block| !block.pages.is_empty());
        let held: Vec<u32> = self.blocks.iter().map(|block| block.number).collect();
        self.marked.retain(|number| held.contains(number));
    }
}

impl Reference for Blas {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        let number = span.first / self.size;
        for page in span.first..span.first + span.count {
            let hit = self.blocks.iter().any(|block| block.has(page));
            done.hits.push(hit);
            if !span.write {
                continue;
            }
            if hit || self.touch_first {
                self.raise(number);
            }
            if !hit && super::held(&self.blocks) == self.capacity {
                self.make_room(&mut done);
            }
            if self.at(number).is_none() {
                self.blocks.push(Block { number, pages: Vec::new() });
            }
            self.raise(number);
            self.blocks[0].serve(page, true);
        }
        done
    }

    fn trim(&mut self, page: u32) {
        for block in &mut self.blocks {
            block.drop(page);
        }
        self.forget_empty();
    }

    fn flush(&mut self) -> Decisions {
        let mut done = Decisions::default();
        for block in std::mem::take(&mut self.blocks).into_iter().rev() {
            block.leave(&mut done);
        }
        self.marked.clear();
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut done = Decisions::default();
        if (first..first + count).any(|page| self.blocks.iter().any(|block| block.has(page)))
            && let Some(at) = self.at(first / self.size)
        {
            self.blocks.remove(at).leave(&mut done);
            self.forget_empty();
        }
        done
    }
}
