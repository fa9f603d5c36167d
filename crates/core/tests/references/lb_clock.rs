//! LB-CLOCK: a ring of blocks with a hand, after section 2.4.3 of Gong's thesis.

use eraseblock_core::buffer::{Action, Shape, Span};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::{Block, Decisions, Pair, Reference};

/// The scheme with random options, and by the book.
pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let (heuristics, read_hits_count, last_met) = (random.random(), random.random(), random.random());
    let slow = LbClock {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        heuristics,
        read_hits_count,
        last_met,
        ring: Vec::new(),
        hand: 0,
        last_victim: None,
    };
    let fast = json!({
        "kind": "lb-clock", "heuristics": heuristics, "read_hits_count": read_hits_count,
        "tie": if last_met { "last-met" } else { "first-met" },
    });
    (fast, Box::new(slow))
}

pub struct LbClock {
    pub capacity: usize,
    pub pages_per_block: u32,
    pub heuristics: bool,
    pub read_hits_count: bool,
    /// Of equally full candidates the one met last leaves, not the one met first.
    pub last_met: bool,
    /// The ring, each block with its reference bit.
    pub ring: Vec<(Block, bool)>,
    pub hand: usize,
    pub last_victim: Option<usize>,
}

impl LbClock {
    fn find(&self, number: u32) -> Option<usize> {
        self.ring.iter().position(|(block, _)| block.number == number)
    }

    fn remove(&mut self, at: usize) -> Block {
        let (block, _) = self.ring.remove(at);
        if at < self.hand {
            self.hand -= 1;
        }
        if self.hand == self.ring.len() {
            self.hand = 0;
        }
        block
    }

    /// Where in the ring a block is, counted from the hand.
    fn distance(&self, at: usize) -> usize {
        (at + self.ring.len() - self.hand) % self.ring.len()
    }

    /// When a candidate's turn comes among equally full ones.
    fn turn(&self, at: usize) -> usize {
        if self.last_met { self.ring.len() - self.distance(at) } else { self.distance(at) }
    }

    /// Makes room; the block that the hand pointed to before, if it is still there.
    fn make_room(&mut self, done: &mut Decisions) -> Option<u32> {
        let initial = self.ring[self.hand].0.number;
        let mut candidates: Vec<u32> =
            self.ring.iter().filter(|(_, referenced)| !referenced).map(|(block, _)| block.number).collect();
        if candidates.is_empty() {
            candidates = self.ring.iter().map(|(block, _)| block.number).collect();
            self.ring.iter_mut().for_each(|(_, referenced)| *referenced = false);
        }
        while self.ring[self.hand].1 {
            self.ring[self.hand].1 = false;
            self.hand = (self.hand + 1) % self.ring.len();
        }
        let places = || candidates.iter().map(|&number| self.find(number).unwrap());
        let most = places().map(|at| self.ring[at].0.pages.len()).max().unwrap();
        let victim = places()
            .filter(|&at| self.ring[at].0.pages.len() == most)
            .min_by_key(|&at| self.turn(at))
            .unwrap();
        let moved = self.ring[self.hand].0.number != initial;
        self.last_victim = Some(most);
        let block = self.remove(victim);
        done.leave(Action::Flush, block.pages);
        moved.then_some(initial)
    }

    fn enter(&mut self, number: u32, initial: Option<u32>) {
        let block = (Block { number, pages: Vec::new() }, true);
        match initial.and_then(|initial| self.find(initial)) {
            Some(at) => {
                self.ring.insert(at, block);
                if at <= self.hand {
                    self.hand += 1;
                }
            }
            None if self.ring.is_empty() => {
                self.ring.push(block);
                self.hand = 0;
            }
            // Just behind the hand: the last one that it meets.
            None => {
                self.ring.insert(self.hand, block);
                self.hand = (self.hand + 1) % self.ring.len();
            }
        }
    }
}

impl Reference for LbClock {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        let number = span.first / self.pages_per_block;
        for page in span.first..span.first + span.count {
            let hit = self.ring.iter().any(|(block, _)| block.has(page));
            done.hits.push(hit);
            if !span.write {
                if hit && self.read_hits_count {
                    let at = self.find(number).unwrap();
                    self.ring[at].1 = true;
                }
                continue;
            }
            if !hit {
                let held: usize = self.ring.iter().map(|(block, _)| block.pages.len()).sum();
                let initial = if held == self.capacity { self.make_room(&mut done) } else { None };
                if self.find(number).is_none() {
                    self.enter(number, initial);
                }
            }
            let at = self.find(number).unwrap();
            let (block, referenced) = &mut self.ring[at];
            if !hit {
                block.put(page, true);
            }
            *referenced = true;
            if self.heuristics && page % self.pages_per_block == self.pages_per_block - 1 {
                let pages = block.pages.len();
                if pages as u32 == self.pages_per_block || self.last_victim.is_some_and(|last| pages > last) {
                    *referenced = false;
                }
            }
        }
        done
    }

    fn trim(&mut self, page: u32) {
        if let Some(at) = self.ring.iter().position(|(block, _)| block.has(page)) {
            self.ring[at].0.pages.retain(|&(held, _)| held != page);
            if self.ring[at].0.pages.is_empty() {
                self.remove(at);
            }
        }
    }

    fn flush(&mut self) -> Decisions {
        let mut done = Decisions::default();
        let mut order: Vec<usize> = (0..self.ring.len()).collect();
        order.sort_by_key(|&at| {
            let (block, referenced) = &self.ring[at];
            let fullest = if *referenced { 0 } else { self.pages_per_block as usize - block.pages.len() };
            (*referenced, fullest, if *referenced { self.distance(at) } else { self.turn(at) })
        });
        for at in order {
            done.leave(Action::Flush, self.ring[at].0.pages.clone());
        }
        self.ring.clear();
        self.hand = 0;
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut done = Decisions::default();
        let wanted = |(block, _): &(Block, bool)| (first..first + count).any(|page| block.has(page));
        if let Some(at) = self.ring.iter().position(wanted) {
            done.leave(Action::Flush, self.remove(at).pages);
        }
        done
    }
}
