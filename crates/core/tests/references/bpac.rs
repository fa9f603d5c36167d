//! BPAC: a list of pages and a list of blocks, after the reading in the scheme's file.

use eraseblock_core::buffer::{Action, Shape, Span};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::{Block, Decisions, Pair, Reference, held};

/// The scheme with random options, and by the book.
pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let (page_share, adapt): (f64, bool) = (random.random(), random.random());
    let threshold = random.random::<bool>().then(|| random.random_range(1..=shape.pages_per_block + 1));
    let capacity = shape.capacity as usize;
    let slow = Bpac {
        capacity,
        pages_per_block: shape.pages_per_block,
        threshold: threshold.unwrap_or((shape.pages_per_block / 2).max(1)) as usize,
        adapt,
        share: ((page_share * capacity as f64).round() as usize).clamp(1, (capacity - 1).max(1)),
        pages: Vec::new(),
        blocks: Vec::new(),
        demoted: Vec::new(),
        flushed: Vec::new(),
    };
    let fast = json!({"kind": "bpac", "page_share": page_share, "threshold": threshold, "adapt": adapt});
    (fast, Box::new(slow))
}

struct Bpac {
    capacity: usize,
    pages_per_block: u32,
    threshold: usize,
    adapt: bool,
    share: usize,
    /// The most recently written page first.
    pages: Vec<u32>,
    /// The block that changed last first.
    blocks: Vec<Block>,
    /// Pages that fell out of the page list, and blocks that left, the latest first.
    demoted: Vec<u32>,
    flushed: Vec<u32>,
}

impl Bpac {
    /// A page joins its block in the block list.
    fn join(&mut self, page: u32) {
        let number = page / self.pages_per_block;
        if self.blocks.iter().all(|block| block.number != number) {
            self.blocks.push(Block { number, pages: Vec::new() });
        }
        self.blocks.sort_by_key(|block| block.number != number);
        self.blocks[0].put(page, true);
    }

    fn take_from_blocks(&mut self, page: u32) {
        self.blocks.sort_by_key(|block| !block.has(page));
        self.blocks[0].drop(page);
        self.blocks.retain(|block| !block.pages.is_empty());
    }

    fn replace(&mut self, done: &mut Decisions) -> u32 {
        if let Some(most) = self.blocks.iter().map(|block| block.pages.len()).max() {
            let at = self.blocks.iter().rposition(|block| block.pages.len() == most).unwrap();
            let block = self.blocks.remove(at);
            done.leave(Action::Flush, block.pages);
            return block.number;
        }
        let number = self.pages.last().unwrap() / self.pages_per_block;
        let mut leaving: Vec<_> =
            self.pages.iter().filter(|&page| page / self.pages_per_block == number).collect();
        leaving.sort_unstable();
        done.leave(Action::Flush, leaving.into_iter().map(|&page| (page, true)).collect());
        self.pages.retain(|page| page / self.pages_per_block != number);
        number
    }

    fn miss(&mut self, page: u32, done: &mut Decisions) {
        let number = page / self.pages_per_block;
        if self.demoted.contains(&page) {
            self.demoted.retain(|&other| other != page);
            self.share = (self.share + 1).min((self.capacity - 1).max(1));
        } else if self.flushed.contains(&number) {
            self.flushed.retain(|&other| other != number);
            self.share = (self.share - 1).max(1);
        }
        if self.pages.len() + held(&self.blocks) == self.capacity {
            let left = self.replace(done);
            if self.adapt {
                self.flushed.retain(|&other| other != left);
                self.flushed.insert(0, left);
                self.flushed.truncate(self.capacity.div_ceil(self.pages_per_block as usize));
            }
        }
    }

    fn front(&mut self, page: u32) {
        self.demoted.retain(|&other| other != page);
        self.pages.insert(0, page);
        let number = page / self.pages_per_block;
        let mut here: Vec<u32> =
            self.pages.iter().copied().filter(|page| page / self.pages_per_block == number).collect();
        if here.len() >= self.threshold {
            here.sort_unstable();
            self.pages.retain(|page| !here.contains(page));
            for page in here {
                self.join(page);
            }
        }
    }

    fn keep_share(&mut self) {
        while self.pages.len() > self.share {
            let last = self.pages.pop().unwrap();
            self.join(last);
            if self.adapt {
                self.demoted.insert(0, last);
                self.demoted.truncate(self.capacity);
            }
        }
    }
}

impl Reference for Bpac {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        let number = span.first / self.pages_per_block;
        for page in span.first..span.first + span.count {
            let (single, block) =
                (self.pages.contains(&page), self.blocks.iter().any(|block| block.has(page)));
            done.hits.push(single || block);
            if !span.write {
                continue;
            }
            if single {
                self.pages.sort_by_key(|&other| other != page);
            } else if block {
                self.take_from_blocks(page);
                self.front(page);
            } else {
                self.miss(page, &mut done);
                if self.blocks.iter().any(|block| block.number == number) {
                    self.join(page);
                } else {
                    self.front(page);
                }
            }
            self.keep_share();
        }
        done
    }

    fn trim(&mut self, page: u32) {
        self.pages.retain(|&other| other != page);
        if self.blocks.iter().any(|block| block.has(page)) {
            self.take_from_blocks(page);
        }
    }

    fn flush(&mut self) -> Decisions {
        let mut done = Decisions::default();
        while !self.pages.is_empty() || !self.blocks.is_empty() {
            self.replace(&mut done);
        }
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut done = Decisions::default();
        let held = |page: &u32| self.pages.contains(page) || self.blocks.iter().any(|block| block.has(*page));
        if !(first..first + count).any(|page| held(&page)) {
            return done;
        }
        // The whole block leaves, from both lists.
        let number = first / self.pages_per_block;
        if let Some(at) = self.blocks.iter().position(|block| block.number == number) {
            done.leave(Action::Flush, self.blocks.remove(at).pages);
        }
        let mut singles = self.pages.clone();
        singles.retain(|page| page / self.pages_per_block == number);
        singles.sort_unstable();
        self.pages.retain(|page| page / self.pages_per_block != number);
        done.leave(Action::Flush, singles.into_iter().map(|page| (page, true)).collect());
        done
    }
}
