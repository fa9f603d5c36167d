//! LB-CLOCK: blocks on a clock; of those not written since the hand passed, the fullest leaves.

use std::collections::BTreeSet;

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference {
        scheme: "lb-clock",
        from: "Gong's thesis (2010), section 2.4.3 and figure 2.4, and its page",
        least_capacity: 1,
        pair,
    }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let (heuristics, read_hits_count, last_met) =
        (random.random(), random.random(), random.random());
    let slow = LbClock {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        heuristics,
        read_hits_count,
        last_met,
        ring: Vec::new(),
        last_victim: None,
    };
    let tie = if last_met { "last-met" } else { "first-met" };
    let fast = json!({"kind": "lb-clock", "heuristics": heuristics, "read_hits_count": read_hits_count, "tie": tie});
    (fast, Box::new(slow))
}

#[derive(Clone)]
struct Block {
    number: u32,
    pages: BTreeSet<u32>,
    /// The reference bit.
    used: bool,
}

struct LbClock {
    capacity: usize,
    pages_per_block: u32,
    heuristics: bool,
    read_hits_count: bool,
    /// Among equally full candidates the one that the hand would meet last.
    last_met: bool,
    /// The ring, cut open at the hand: the block that it points to is the first.
    ring: Vec<Block>,
    /// How many pages the block had that made room last.
    last_victim: Option<usize>,
}

impl LbClock {
    /// Takes a victim out of the ring. Says where the hand was before, counted from where it is
    /// now: as many blocks before the end of the ring as it has passed and left there.
    fn select(ring: &mut Vec<Block>, last_met: bool) -> (Block, usize) {
        // Those whose bit was clear before this selection.
        let mut candidates: Vec<u32> =
            ring.iter().filter(|block| !block.used).map(|block| block.number).collect();
        let mut passed = 0;
        while ring[0].used {
            ring[0].used = false;
            ring.rotate_left(1);
            passed += 1;
        }
        if candidates.is_empty() {
            // One round has cleared all of them.
            assert_eq!(passed, ring.len());
            passed = 0;
            candidates = ring.iter().map(|block| block.number).collect();
        }
        let most =
            ring.iter().filter(|b| candidates.contains(&b.number)).map(|b| b.pages.len()).max();
        let mut fullest = (0..ring.len()).filter(|&at| {
            candidates.contains(&ring[at].number) && Some(ring[at].pages.len()) == most
        });
        let at = if last_met { fullest.next_back() } else { fullest.next() }.unwrap();
        (ring.remove(at), passed)
    }

    fn write(&mut self, page: u32, out: &mut Decisions) {
        let number = page / self.pages_per_block;
        let hit = self.ring.iter().any(|block| block.pages.contains(&page));
        out.hits.push(hit);
        // A new block goes right behind where the hand is, or was before a victim was looked for.
        let mut behind = 0;
        let held: usize = self.ring.iter().map(|block| block.pages.len()).sum();
        if !hit && held == self.capacity {
            let (victim, passed) = Self::select(&mut self.ring, self.last_met);
            self.last_victim = Some(victim.pages.len());
            behind = passed;
            out.leave(Action::Evict, victim.pages.iter().map(|&page| (page, true)).collect());
        }
        if !self.ring.iter().any(|block| block.number == number) {
            // If the hand has gone all the way round by now, that is right behind it again.
            let at = if behind == self.ring.len() { behind } else { self.ring.len() - behind };
            self.ring.insert(at, Block { number, pages: BTreeSet::new(), used: true });
        }
        let block = self.ring.iter_mut().find(|block| block.number == number).unwrap();
        block.pages.insert(page);
        block.used = true;
        if self.heuristics && page % self.pages_per_block == self.pages_per_block - 1 {
            let pages = block.pages.len();
            let full = pages == self.pages_per_block as usize;
            if full || self.last_victim.is_some_and(|last| pages > last) {
                block.used = false;
            }
        }
    }
}

impl Buffer for LbClock {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        for Lpn(page) in span.pages() {
            if span.write {
                self.write(page, &mut out);
                continue;
            }
            let block = self.ring.iter_mut().find(|block| block.pages.contains(&page));
            out.hits.push(block.is_some());
            if let Some(block) = block {
                block.used |= self.read_hits_count;
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        for block in &mut self.ring {
            block.pages.remove(&page);
        }
        self.ring.retain(|block| !block.pages.is_empty());
    }

    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        while !self.ring.is_empty() {
            let (block, _) = Self::select(&mut self.ring, self.last_met);
            out.leave(Action::Evict, block.pages.iter().map(|&page| (page, true)).collect());
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        let holds = |block: &Block| block.pages.range(first..first + count).next().is_some();
        if let Some(at) = self.ring.iter().position(holds) {
            let block = self.ring.remove(at);
            out.leave(Action::Evict, block.pages.iter().map(|&page| (page, true)).collect());
        }
        out
    }
}
