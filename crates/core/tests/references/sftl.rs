//! S-FTL's write buffers by the book: two lists of blocks, and requests that say which one they belong to.

use eraseblock_core::buffer::{Idle, Shape, Span};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::{Block, Decisions, Pair, Reference};

/// The scheme with random options, and by the book.
pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let share = [0.0, 0.25, 0.5, 1.0][random.random_range(0..4)];
    let chain: bool = random.random();
    let threshold = random.random_range(0..6);
    let sequential = libm::round(share * f64::from(shape.capacity)) as usize;
    let sequential = sequential.clamp(1, shape.capacity as usize - 1);
    let fast = json!({
        "kind": "sftl", "sequential_share": share, "threshold": threshold,
        "together": if chain { "chain" } else { "block" },
    });
    let slow = Sftl {
        size: shape.pages_per_block,
        threshold,
        chain,
        most: [shape.capacity as usize - sequential, sequential],
        blocks: [Vec::new(), Vec::new()],
        request: None,
    };
    (fast, Box::new(slow))
}

/// The classes: of short requests, and of long ones.
const SHORT: usize = 0;
const LONG: usize = 1;

struct Sftl {
    size: u32,
    threshold: u32,
    /// The blocks of a chain leave together.
    chain: bool,
    /// Pages that each class may hold.
    most: [usize; 2],
    /// The most recently written block of each class first.
    blocks: [Vec<Block>; 2],
    /// A request, and how many pages it writes.
    request: Option<(u64, u32)>,
}

impl Sftl {
    fn find(&self, number: u32) -> Option<(usize, usize)> {
        [SHORT, LONG].into_iter().find_map(|class| {
            self.blocks[class].iter().position(|block| block.number == number).map(|at| (class, at))
        })
    }

    fn make_room(&mut self, class: usize, pages: usize, done: &mut Decisions) {
        while super::held(&self.blocks[class]) + pages > self.most[class] {
            let last = self.blocks[class].last().unwrap().number;
            let first = if self.chain && class == LONG { last - last % Idle::CHIPS } else { last };
            let end = if self.chain && class == LONG { first + Idle::CHIPS } else { last + 1 };
            for number in first..end {
                if let Some((of, at)) = self.find(number)
                    && of == class
                {
                    self.blocks[class].remove(at).leave(done);
                }
            }
        }
    }

    fn raise(&mut self, number: u32, class: usize) {
        let block = match self.find(number) {
            Some((of, at)) => self.blocks[of].remove(at),
            None => Block { number, pages: Vec::new() },
        };
        self.blocks[class].insert(0, block);
    }

    fn has(&self, page: u32) -> bool {
        self.blocks.iter().flatten().any(|block| block.has(page))
    }
}

impl Reference for Sftl {
    fn writes(&mut self, request: u64, pages: u32) {
        self.request = Some((request, pages));
    }

    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        let length = self.request.filter(|(request, _)| *request == span.request);
        let long = length.map_or(span.count, |(_, pages)| pages) > self.threshold;
        let class = if long { LONG } else { SHORT };
        let number = span.first / self.size;
        for page in span.first..span.first + span.count {
            if !span.write {
                done.hits.push(self.has(page));
                continue;
            }
            if self.find(number).is_some_and(|(of, _)| of != class) {
                self.raise(number, class);
                self.make_room(class, 0, &mut done);
            }
            let hit = self.has(page);
            done.hits.push(hit);
            if !hit {
                self.make_room(class, 1, &mut done);
            }
            self.raise(number, class);
            self.blocks[class][0].serve(page, true);
        }
        done
    }

    fn trim(&mut self, page: u32) {
        for class in &mut self.blocks {
            for block in class.iter_mut() {
                block.drop(page);
            }
            class.retain(|block| !block.pages.is_empty());
        }
    }

    fn flush(&mut self) -> Decisions {
        let mut done = Decisions::default();
        for class in [LONG, SHORT] {
            for block in std::mem::take(&mut self.blocks[class]).into_iter().rev() {
                block.leave(&mut done);
            }
        }
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut done = Decisions::default();
        if (first..first + count).any(|page| self.has(page))
            && let Some((class, at)) = self.find(first / self.size)
        {
            self.blocks[class].remove(at).leave(&mut done);
        }
        done
    }
}
