//! SUPA: blocks in the order of use with flags for each page; who leaves, step by step as sections 5.3.1 to 5.3.3 say.

use std::collections::BTreeSet;

use eraseblock_core::buffer::{Idle, Shape, Span, View};
use eraseblock_core::pattern::{Pattern, Route};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::{Block, Decisions, Pair, Reference};

/// The scheme with random options, and by the book.
pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let slow = Supa {
        capacity: shape.capacity as usize,
        ppb: shape.pages_per_block,
        threshold: random.random_range(0..6),
        outside: [0.0, 0.5, 0.9, 1.0][random.random_range(0..4)],
        period: random.random_range(1..20),
        fixed: random.random::<bool>().then(|| [0.0, 0.4, 1.0][random.random_range(0..3)]),
        striped: random.random_range(0..3),
        fit: random.random_range(1..5),
        reach: random.random_range(1..8),
        blocks: Vec::new(),
        read: BTreeSet::new(),
        written: BTreeSet::new(),
        requests: Vec::new(),
        hits: Vec::new(),
        kept: None,
        turn: 0,
    };
    let fast = json!({
        "kind": "supa", "threshold": slow.threshold, "hits_outside": slow.outside, "window_requests": slow.period,
        "search_window": slow.fixed, "striped_victims": slow.striped, "fit_blocks": slow.fit, "reach": slow.reach,
    });
    (fast, Box::new(slow))
}

struct Supa {
    capacity: usize,
    ppb: u32,
    threshold: u32,
    outside: f64,
    period: usize,
    fixed: Option<f64>,
    striped: u32,
    fit: usize,
    reach: usize,
    /// The most recently used block first.
    blocks: Vec<Block>,
    /// Pages with a read flag, and with a write flag.
    read: BTreeSet<u32>,
    written: BTreeSet<u32>,
    /// Requests since the window was measured, each once.
    requests: Vec<u64>,
    /// For each page hit since then, how many blocks were more recent.
    hits: Vec<usize>,
    kept: Option<usize>,
    turn: u32,
}

impl Supa {
    fn at(&self, number: u32) -> Option<usize> {
        self.blocks.iter().position(|block| block.number == number)
    }

    /// The longest run that has a page in the block, no further than its neighbours.
    fn run(&self, flags: &BTreeSet<u32>, number: u32) -> u32 {
        let own = number * self.ppb..(number + 1) * self.ppb;
        let near = number.saturating_sub(1) * self.ppb..(number + 2) * self.ppb;
        let mut longest = 0;
        for page in own.clone().filter(|page| flags.contains(page)) {
            let down = (near.start..page).rev().take_while(|page| flags.contains(page)).count();
            let up = (page..near.end).take_while(|page| flags.contains(page)).count();
            longest = longest.max((down + up) as u32);
        }
        longest
    }

    fn pattern(&self, number: u32) -> Pattern {
        Pattern::of_runs(self.run(&self.written, number), self.run(&self.read, number), self.threshold)
    }

    fn window(&self) -> usize {
        match (self.fixed, self.kept) {
            (Some(share), _) => (share * self.blocks.len() as f64) as usize,
            (None, Some(kept)) => self.blocks.len().saturating_sub(kept),
            (None, None) => 0,
        }
    }

    fn measure(&mut self) {
        let inside = |kept: &usize| self.hits.iter().filter(|&&hit| hit < *kept).count() as f64;
        let wanted = self.outside * self.hits.len() as f64;
        let most = self.capacity + 1;
        self.kept = (0..most).find(|kept| inside(kept) >= wanted);
        self.hits.clear();
    }

    fn for_read(&self, need: usize, own: u32) -> Vec<u32> {
        let mut victims = Vec::new();
        let mut freed = 0;
        let others = || self.blocks.iter().rev().filter(|block| block.number != own);
        for block in others().filter(|block| block.dirty().is_empty()) {
            if freed < need {
                victims.push(block.number);
                freed += block.pages.len();
            }
        }
        while freed < need {
            let left = others().filter(|block| !victims.contains(&block.number)).take(self.fit);
            let left: Vec<_> = left.map(|block| (block.pages.len(), block.number)).collect();
            let enough =
                left.iter().filter(|(pages, _)| *pages >= need - freed).map(|(pages, _)| *pages).min();
            let Some(pages) = enough.or_else(|| left.iter().map(|(pages, _)| *pages).max()) else { break };
            let (_, number) = left.iter().find(|(found, _)| *found == pages).unwrap();
            victims.push(*number);
            freed += pages;
        }
        victims
    }

    /// Whether a block can be written with those that have taken `channels` and `striped`; it then takes its part.
    fn fits(&mut self, block: &Block, channels: &mut [bool], striped: &mut u32) -> bool {
        let pattern = self.pattern(block.number);
        let free = match Idle.route(block.number, pattern) {
            Route::Striped => {
                let fits = *striped > 0;
                *striped = striped.saturating_sub(1);
                return fits;
            }
            Route::Channel(channel) => Some(channel).filter(|&channel| channels[channel as usize]),
            Route::Home(channel) if block.dirty().len() as u32 != self.ppb => {
                Some(channel).filter(|&channel| channels[channel as usize])
            }
            _ => {
                let all = channels.len() as u32;
                let free = (0..all).map(|i| (self.turn + i) % all).find(|&c| channels[c as usize]);
                if let Some(channel) = free {
                    self.turn = (channel + 1) % all;
                }
                free
            }
        };
        if let Some(channel) = free {
            channels[channel as usize] = false;
        }
        free.is_some()
    }

    fn for_write(&mut self, need: usize, own: u32) -> Vec<u32> {
        let (mut channels, mut striped) = ([true; Idle::CHIPS as usize], self.striped);
        let mut victims = Vec::new();
        let mut freed = 0;
        let oldest: Vec<Block> = self.blocks.iter().rev().cloned().collect();
        for block in oldest.iter().take(self.reach).filter(|block| block.number != own) {
            if freed < need && (block.dirty().is_empty() || self.fits(block, &mut channels, &mut striped)) {
                victims.push(block.number);
                freed += block.pages.len();
            }
        }
        for block in oldest.iter().filter(|block| block.number != own) {
            if freed < need && !victims.contains(&block.number) {
                victims.push(block.number);
                freed += block.pages.len();
            }
        }
        for block in oldest.iter().take(self.window().min(self.reach)).filter(|block| block.number != own) {
            if !victims.contains(&block.number)
                && !block.dirty().is_empty()
                && self.fits(block, &mut channels, &mut striped)
            {
                victims.push(block.number);
            }
        }
        victims
    }

    fn unflag(&mut self, number: u32) {
        for page in number * self.ppb..(number + 1) * self.ppb {
            self.read.remove(&page);
            self.written.remove(&page);
        }
    }

    fn make_room(&mut self, pages: std::ops::Range<u32>, write: bool, done: &mut Decisions) {
        loop {
            let number = pages.start / self.ppb;
            let missing =
                pages.clone().filter(|page| !self.blocks.iter().any(|block| block.has(*page))).count();
            let need = missing.saturating_sub(self.capacity - super::held(&self.blocks));
            if need == 0 {
                return;
            }
            let mut victims = if write { self.for_write(need, number) } else { self.for_read(need, number) };
            if victims.is_empty() {
                victims.push(number);
            }
            for victim in victims {
                let block = self.blocks.remove(self.at(victim).unwrap());
                block.leave(done);
                self.unflag(victim);
            }
        }
    }
}

impl Reference for Supa {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        if self.requests.last() != Some(&span.request) {
            if self.requests.len() == self.period {
                self.measure();
                self.requests.clear();
            }
            self.requests.push(span.request);
        }
        let number = span.first / self.ppb;
        if let Some(at) = self.at(number) {
            let found =
                (span.first..span.first + span.count).filter(|&page| self.blocks[at].has(page)).count();
            self.hits.extend(std::iter::repeat_n(at, found));
            let block = self.blocks.remove(at);
            self.blocks.insert(0, block);
        }
        let pages: Vec<u32> = (span.first..span.first + span.count).collect();
        for part in pages.chunks(self.capacity) {
            self.make_room(part[0]..part[0] + part.len() as u32, span.write, &mut done);
            for &page in part {
                if self.at(number).is_none() {
                    self.blocks.insert(0, Block { number, pages: Vec::new() });
                }
                done.hits.push(self.blocks[0].has(page));
                self.blocks[0].serve(page, span.write);
                if span.write { &mut self.written } else { &mut self.read }.insert(page);
            }
        }
        done
    }

    fn trim(&mut self, page: u32) {
        self.blocks.iter_mut().for_each(|block| block.drop(page));
        self.blocks.retain(|block| !block.pages.is_empty());
        self.read.remove(&page);
        self.written.remove(&page);
    }

    fn flush(&mut self) -> Decisions {
        let mut done = Decisions::default();
        for block in self.blocks.iter_mut().rev() {
            done.left.extend(block.write_back());
        }
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut done = Decisions::default();
        if let Some(at) = self.at(first / self.ppb) {
            done.left.extend(self.blocks[at].write_back_some(first, count));
        }
        done
    }
}
