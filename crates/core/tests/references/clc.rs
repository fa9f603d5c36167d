//! CLC: hot clusters in the order of use, and cold ones of which the largest leaves.

use eraseblock_core::buffer::{Action, Shape, Span};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::{Block, Decisions, Pair, Reference, held};

/// The scheme with random options, and by the book.
pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let (hot, touch_first) = (random.random_range(0.0..1.0), random.random());
    let slow = Clc {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        share: hot,
        touch_first,
        hot: Vec::new(),
        cold: Vec::new(),
    };
    let order = if touch_first { "touch-first" } else { "evict-first" };
    (json!({"kind": "clc", "hot": hot, "evict_order": order}), Box::new(slow))
}

struct Clc {
    capacity: usize,
    pages_per_block: u32,
    share: f64,
    touch_first: bool,
    /// The most recently written cluster first.
    hot: Vec<Block>,
    /// The cluster that came or changed last first.
    cold: Vec<Block>,
}

impl Clc {
    fn has(&self, page: u32) -> bool {
        self.hot.iter().chain(&self.cold).any(|block| block.has(page))
    }

    /// A cluster goes to the front of the hot ones, if it is there.
    fn heat(&mut self, number: u32) {
        let found = |list: &mut Vec<Block>| {
            list.iter().position(|block| block.number == number).map(|at| list.remove(at))
        };
        if let Some(block) = found(&mut self.hot).or_else(|| found(&mut self.cold)) {
            self.hot.insert(0, block);
        }
    }

    fn pop(&mut self) -> Option<Block> {
        let most = self.cold.iter().map(|block| block.pages.len()).max();
        match self.cold.iter().rposition(|block| Some(block.pages.len()) == most) {
            Some(at) => Some(self.cold.remove(at)),
            None => self.hot.pop(),
        }
    }
}

impl Reference for Clc {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        let number = span.first / self.pages_per_block;
        for page in span.first..span.first + span.count {
            let hit = self.has(page);
            done.hits.push(hit);
            if !span.write {
                continue;
            }
            if !hit {
                if self.touch_first {
                    self.heat(number);
                }
                if held(&self.hot) + held(&self.cold) == self.capacity {
                    self.pop().unwrap().leave(&mut done);
                }
            }
            self.heat(number);
            if self.hot.first().is_none_or(|block| block.number != number) {
                self.hot.insert(0, Block { number, pages: Vec::new() });
            }
            self.hot[0].serve(page, true);
            let clusters = (self.hot.len() + self.cold.len()) as f64;
            while self.hot.len() > 1 && self.hot.len() as f64 > (self.share * clusters).ceil() {
                let cooled = self.hot.pop().unwrap();
                self.cold.insert(0, cooled);
            }
        }
        done
    }

    fn trim(&mut self, page: u32) {
        if let Some(at) = self.cold.iter().position(|block| block.has(page)) {
            // The latest of its size.
            let changed = self.cold.remove(at);
            self.cold.insert(0, changed);
        }
        for list in [&mut self.hot, &mut self.cold] {
            for block in list.iter_mut() {
                block.drop(page);
            }
            list.retain(|block| !block.pages.is_empty());
        }
    }

    fn flush(&mut self) -> Decisions {
        let mut done = Decisions::default();
        while let Some(block) = self.pop() {
            done.leave(Action::Flush, block.pages);
        }
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut done = Decisions::default();
        for list in [&mut self.hot, &mut self.cold] {
            let wanted = |block: &Block| (first..first + count).any(|page| block.has(page));
            if let Some(at) = list.iter().position(wanted) {
                list.remove(at).leave(&mut done);
            }
        }
        done
    }
}
