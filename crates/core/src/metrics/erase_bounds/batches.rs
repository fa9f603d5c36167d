//! Fewest times that pages of a block are stored together.
//!
//! Assumes: a logical block that is written over has its pages in one physical block, which takes
//! no page twice; so each batch of pages that leaves the buffer costs an erase, and a merge. Where
//! the mapping has log blocks of one logical block each, all batches that come while a block has
//! its log are one, and the erase comes when it gives the log up; how many pages a log takes is
//! not looked at ([`super::logs`] does that).
//!
//! A block that has been stored after entry `i`, and is stored next after entry `j`, pays for each
//! page written in between from its first write on. So the cheapest way up to `j` is the least of
//! the ways up to `i` and what comes between. Steps back from `j` end as soon as a stop in between
//! must be as cheap: what is held from `i` to `j` is at least what is held from `i` to `m` and from
//! `m` to `j`, and a way up to `m` costs at most one merge more than one up to `i` and what comes
//! between.

use super::dual::{Demand, MERGE, Prices, Rule};
use super::history::Block;

const NONE: u32 = u32::MAX;
/// Pages passed on the way back, after which the rest is taken to be as cheap as it can be at most.
const FARTHEST: usize = 512;

/// The rule, and its memory.
#[derive(Debug, Clone, Default)]
pub struct Batches {
    /// The least that all up to an entry costs that ends with storing there.
    cost: Vec<i64>,
    /// The entry before at which the block was stored, from 1; 0: none.
    before: Vec<u32>,
    /// The block keeps its log from the entry before.
    kept: Vec<bool>,
    /// Window of the first write of each page since the entry looked at.
    first: Vec<u32>,
}

/// The first writes of pages, while entries are passed backwards.
#[derive(Debug)]
struct Held<'a> {
    first: &'a mut Vec<u32>,
    /// What it costs to hold all of them until `end`.
    cost: i64,
    end: u32,
    /// Pages passed.
    passed: usize,
}

impl Held<'_> {
    fn pass(&mut self, block: &Block, entry: usize, prices: &Prices) {
        let window = block.entries[entry].window;
        self.passed += block.pages_of(entry).len();
        for &page in block.pages_of(entry) {
            let page = usize::from(page);
            if self.first.len() <= page {
                self.first.resize(page + 1, NONE);
            }
            let was = self.first[page];
            let until = if was == NONE { self.end } else { was };
            self.cost += prices.held(window, until);
            self.first[page] = window;
        }
    }

    /// Forgets all from entry `from` on up to `to`.
    fn forget(&mut self, block: &Block, from: usize, to: usize) {
        for entry in from..to {
            for &page in block.pages_of(entry) {
                self.first[usize::from(page)] = NONE;
            }
        }
    }
}

impl Batches {
    /// The cheapest ways up to all entries.
    fn ways(&mut self, block: &Block, prices: &Prices) {
        self.cost.clear();
        self.before.clear();
        self.kept.clear();
        for (at, entry) in block.entries.iter().enumerate() {
            let mut held = Held { first: &mut self.first, cost: 0, end: entry.window, passed: 0 };
            let (mut best, mut from) = (i64::MAX, 0);
            let mut back = at;
            // The last entry at which the block was stored is `back - 1`.
            loop {
                held.pass(block, back, prices);
                let before = if back == 0 { 0 } else { self.cost[back - 1] };
                if before + held.cost < best {
                    (best, from) = (before + held.cost, back);
                }
                let earlier = before - MERGE + held.cost;
                if back == 0 || block.entries[back - 1].must() || earlier >= best {
                    break;
                }
                if held.passed > FARTHEST {
                    // No way from farther back is cheaper than this.
                    (best, from) = (earlier, back);
                    break;
                }
                back -= 1;
            }
            held.forget(block, back, at + 1);
            best += MERGE;
            let mut kept = false;
            if at > 0 {
                let last = block.entries[at - 1].window;
                let more = prices.logged(last, entry.window).map(|log| self.cost[at - 1] + log);
                if let Some(more) = more.filter(|&more| more < best) {
                    (best, from, kept) = (more, at, true);
                }
            }
            self.cost.push(best);
            self.before.push(from as u32);
            self.kept.push(kept);
        }
    }

    /// The least that the block pays in all, and the last entry at which it is stored, from 1; the
    /// log that it has then may stay to the end.
    fn end(&mut self, block: &Block, prices: &Prices, windows: u32) -> (i64, usize, bool) {
        let (mut best, mut last, mut stays) = (i64::MAX, 0, false);
        let mut held = Held { first: &mut self.first, cost: 0, end: windows, passed: 0 };
        let mut back = block.entries.len();
        loop {
            let before = if back == 0 { 0 } else { self.cost[back - 1] };
            let rest = if block.trimmed { 0 } else { held.cost };
            if before + rest < best {
                (best, last, stays) = (before + rest, back, false);
            }
            if back > 0 {
                let log = if block.trimmed {
                    prices.log.as_ref().map(|_| 0)
                } else {
                    prices.logged(block.entries[back - 1].window, windows)
                };
                if let Some(all) = log.map(|log| before - MERGE + log + rest)
                    && all < best
                {
                    (best, last, stays) = (all, back, true);
                }
            }
            if back == 0 || block.entries[back - 1].must() {
                break;
            }
            back -= 1;
            held.pass(block, back, prices);
        }
        held.forget(block, back, block.entries.len());
        (best, last, stays && !block.trimmed)
    }

    /// Entries at which the block is best stored under these prices, upwards.
    pub fn plan(&mut self, block: &Block, prices: &Prices, windows: u32) -> Vec<u32> {
        self.ways(block, prices);
        let (_, mut at, _) = self.end(block, prices, windows);
        let mut plan = Vec::new();
        while at > 0 {
            plan.push(at as u32 - 1);
            at = self.before[at - 1] as usize;
        }
        plan.reverse();
        plan
    }
}

impl Rule for Batches {
    fn pay(&mut self, block: &Block, prices: &Prices, windows: u32, demand: &mut Demand) -> i64 {
        self.ways(block, prices);
        let (cost, last, stays) = self.end(block, prices, windows);
        if stays {
            demand.log(block.entries[last - 1].window, windows);
        }
        let mut use_up = |from: usize, to: usize, until: u32| {
            for entry in from..to {
                for &page in block.pages_of(entry) {
                    let page = usize::from(page);
                    if self.first.len() <= page {
                        self.first.resize(page + 1, NONE);
                    }
                    if self.first[page] == NONE {
                        self.first[page] = 0;
                        demand.hold(block.entries[entry].window, until);
                    }
                }
            }
            for entry in from..to {
                for &page in block.pages_of(entry) {
                    self.first[usize::from(page)] = NONE;
                }
            }
        };
        if !block.trimmed {
            use_up(last, block.entries.len(), windows);
        }
        let mut at = last;
        let mut logs = Vec::new();
        while at > 0 {
            let (from, window) = (self.before[at - 1] as usize, block.entries[at - 1].window);
            if self.kept[at - 1] {
                logs.push((block.entries[at - 2].window, window));
            } else {
                use_up(from, at, window);
            }
            at = from;
        }
        for (from, to) in logs {
            demand.log(from, to);
        }
        cost
    }
}
