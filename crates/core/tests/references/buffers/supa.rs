//! SUPA's single unified read-write buffer: Kim, Park and Youn 2017, sections 5.2 and 5.3.

use std::collections::BTreeMap;

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::pattern::{Pattern, Route};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};
use super::channels::hint;

inventory::submit! {
    BufferReference {
        scheme: "supa",
        from: "Kim, Park and Youn 2017, sections 5.2 and 5.3; its page on what they leave open",
        // A request in one block finds room at once.
        least_capacity: 8,
        pair,
    }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let threshold = random.random_range(1..6);
    let hits_outside = [0.0, 0.3, 0.5, 0.9, 1.0][random.random_range(0..5)];
    let window_requests = random.random_range(1..20);
    let search_window =
        random.random_bool(0.5).then(|| [0.0, 0.2, 0.5, 0.75, 1.0][random.random_range(0..5)]);
    let striped_victims = random.random_range(1..4);
    let fit_blocks = random.random_range(1..6);
    let reach = if random.random() { 128 } else { random.random_range(1..6) };
    let config = json!({
        "kind": "supa", "threshold": threshold, "hits_outside": hits_outside, "window_requests": window_requests,
        "search_window": search_window, "striped_victims": striped_victims, "fit_blocks": fit_blocks, "reach": reach,
    });
    let supa = Supa {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        threshold,
        hits_outside,
        window_requests,
        search_window,
        striped_victims,
        fit_blocks,
        reach,
        blocks: Vec::new(),
        hits: Vec::new(),
        requests: 0,
        request: None,
        window_from: usize::MAX,
        turn: 0,
    };
    (config, Box::new(supa))
}

/// A page slot, figure 6.
#[derive(Clone, Copy, Default)]
struct Page {
    dirty: bool,
    write_flag: bool,
    read_flag: bool,
}

struct Block {
    number: u32,
    pages: BTreeMap<u32, Page>,
}

impl Block {
    fn is_clean(&self) -> bool {
        self.pages.values().all(|page| !page.dirty)
    }
}

struct Supa {
    capacity: usize,
    pages_per_block: u32,
    threshold: u32,
    hits_outside: f64,
    window_requests: u32,
    search_window: Option<f64>,
    striped_victims: u32,
    fit_blocks: usize,
    reach: usize,
    /// MRU first.
    blocks: Vec<Block>,
    /// The places in the list at which pages were hit since the window was measured.
    hits: Vec<usize>,
    /// Requests since then.
    requests: u32,
    request: Option<u64>,
    /// The first place of the search window.
    window_from: usize,
    /// The channel whose turn it is to take a block that may go anywhere.
    turn: u32,
}

/// What other victims of a round have been given.
struct Given {
    striped: u32,
    channels: Vec<u32>,
}

impl Supa {
    fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.pages.len()).sum()
    }

    fn position(&self, number: u32) -> Option<usize> {
        self.blocks.iter().position(|block| block.number == number)
    }

    fn page(&self, page: u32) -> Option<Page> {
        self.blocks.iter().find_map(|block| block.pages.get(&page)).copied()
    }

    /// Section 5.3.1: the longest run of flags in a block (L), which goes on from the block before (LP) and to the next (LN).
    fn longest(&self, number: u32, flag: fn(&Page) -> bool) -> u32 {
        let size = self.pages_per_block;
        let (first, end) = (number * size, (number + 1) * size);
        let is_set = |page: u32| self.page(page).is_some_and(|page| flag(&page));
        let (mut longest, mut run, mut touches) = (0, 0, false);
        for page in first.saturating_sub(size)..end + size {
            if is_set(page) {
                run += 1;
                touches |= (first..end).contains(&page);
            } else {
                (run, touches) = (0, false);
            }
            if touches {
                longest = longest.max(run);
            }
        }
        longest
    }

    fn pattern(&self, number: u32) -> Pattern {
        let written = self.longest(number, |page| page.write_flag);
        let read = self.longest(number, |page| page.read_flag);
        Pattern::of_runs(written, read, self.threshold)
    }

    /// A block leaves: its dirty pages are written, its clean ones dropped.
    fn send(&mut self, number: u32, pattern: Pattern, channel: Option<u32>, out: &mut Decisions) {
        let at = self.position(number).unwrap();
        let pages = self.blocks.remove(at).pages;
        let part = |dirty: bool| -> Vec<(u32, bool)> {
            pages.iter().filter(|page| page.1.dirty == dirty).map(|(&page, _)| (page, dirty)).collect()
        };
        let (dirty, clean) = (part(true), part(false));
        if dirty.is_empty() {
            out.leave_with(Action::Drop, clean, hint(number, pattern, channel));
        } else {
            out.leave_with(Action::Flush, dirty, hint(number, pattern, channel));
            out.leave(Action::Drop, clean);
        }
    }

    /// Section 5.3.2. `own` is the block that is being read, which leaves last.
    fn room_for_read(&mut self, own: u32, need: usize, out: &mut Decisions) {
        let patterns: BTreeMap<u32, Pattern> =
            self.blocks.iter().filter(|block| block.number != own).map(|b| (b.number, self.pattern(b.number))).collect();
        let target = self.len().saturating_sub(need);
        while self.len() > target {
            let clean = self.blocks.iter().rev().find(|block| block.number != own && block.is_clean());
            let Some(number) = clean.map(|block| block.number) else { break };
            self.send(number, patterns[&number], None, out);
        }
        while self.len() > target {
            let missing = self.len() - target;
            let oldest: Vec<(u32, usize)> = self
                .blocks
                .iter()
                .rev()
                .filter(|block| block.number != own)
                .take(self.fit_blocks)
                .map(|block| (block.number, block.pages.len()))
                .collect();
            // The smallest that is large enough, else the largest.
            let fits = oldest.iter().filter(|block| block.1 >= missing).min_by_key(|block| block.1);
            let largest = || oldest.iter().rev().max_by_key(|block| block.1);
            let number = fits.or_else(largest).unwrap().0;
            self.send(number, patterns[&number], None, out);
        }
    }

    /// The channel for a dirty block, if it can be written in parallel with the other victims: none if it is striped.
    fn place(&mut self, block: usize, pattern: Pattern, given: &mut Given, view: &dyn View) -> Option<Option<u32>> {
        let block = &self.blocks[block];
        let new = block.pages.values().filter(|page| page.dirty).count();
        let takes = |channel: &u32| view.channel_ready(*channel) && !given.channels.contains(channel);
        let channel = match view.route(block.number, pattern) {
            Route::Striped => {
                given.striped += 1;
                return (given.striped <= self.striped_victims).then_some(None);
            }
            Route::Channel(channel) => Some(channel).filter(takes),
            Route::Home(channel) if new < self.pages_per_block as usize => Some(channel).filter(takes),
            _ => {
                let all = view.channels();
                let next = (0..all).map(|step| (self.turn + step) % all).find(takes);
                self.turn = next.map_or(self.turn, |channel| (channel + 1) % all);
                next
            }
        };
        given.channels.extend(channel);
        channel.map(Some)
    }

    /// Section 5.3.3.
    fn room_for_write(&mut self, own: u32, need: usize, view: &dyn View, out: &mut Decisions) {
        let patterns: BTreeMap<u32, Pattern> =
            self.blocks.iter().filter(|block| block.number != own).map(|b| (b.number, self.pattern(b.number))).collect();
        let mut given = Given { striped: 0, channels: Vec::new() };
        let mut victims: Vec<(u32, Option<u32>)> = Vec::new();
        let mut freed = 0;
        let places: Vec<usize> = (0..self.blocks.len()).rev().filter(|&at| self.blocks[at].number != own).collect();
        // First step: from the LRU position, until there are enough pages.
        for &at in places.iter().take(self.reach) {
            if freed >= need {
                break;
            }
            let (number, pages) = (self.blocks[at].number, self.blocks[at].pages.len());
            if self.blocks[at].is_clean() {
                victims.push((number, None));
                freed += pages;
            } else if let Some(channel) = self.place(at, patterns[&number], &mut given, view) {
                victims.push((number, channel));
                freed += pages;
            }
        }
        // Too few can be written in parallel: the oldest leave whatever they wait for.
        for &at in &places {
            let (number, pages) = (self.blocks[at].number, self.blocks[at].pages.len());
            if freed < need && victims.iter().all(|victim| victim.0 != number) {
                let channel = match view.route(number, patterns[&number]) {
                    Route::Channel(channel) | Route::Home(channel) => Some(channel),
                    _ => None,
                };
                victims.push((number, channel.filter(|_| !self.blocks[at].is_clean())));
                freed += pages;
            }
        }
        // Then more dirty blocks of the search window that can be written at the same time.
        let from = match self.search_window {
            Some(share) => self.blocks.len() - (share * self.blocks.len() as f64) as usize,
            None => self.window_from,
        };
        for &at in places.iter().take(self.reach).filter(|&&at| at >= from) {
            let number = self.blocks[at].number;
            if self.blocks[at].is_clean() || victims.iter().any(|victim| victim.0 == number) {
                continue;
            }
            if let Some(channel) = self.place(at, patterns[&number], &mut given, view) {
                victims.push((number, channel));
            }
        }
        for (number, channel) in victims {
            self.send(number, patterns[&number], channel, out);
        }
    }

    /// The window ends where the hits nearer the MRU position reach the share of all hits.
    fn measure(&mut self) {
        let wanted = self.hits_outside * self.hits.len() as f64;
        let outside = |from: usize| self.hits.iter().filter(|&&place| place < from).count() as f64;
        self.window_from = (0..).find(|&from| outside(from) >= wanted).unwrap();
        self.hits.clear();
    }
}

impl Buffer for Supa {
    fn access(&mut self, span: &Span, view: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        if self.request != Some(span.request) {
            self.request = Some(span.request);
            if self.requests == self.window_requests {
                self.measure();
                self.requests = 0;
            }
            self.requests += 1;
        }
        let pages = span.first..span.first + span.count;
        let own = span.first / self.pages_per_block;
        out.hits = pages.clone().map(|page| self.page(page).is_some()).collect();
        let hits = out.hits.iter().filter(|hit| **hit).count();
        // The block moves to the MRU position, or is inserted there.
        let block = match self.position(own) {
            Some(at) => {
                self.hits.extend(std::iter::repeat_n(at, hits));
                self.blocks.remove(at)
            }
            None => Block { number: own, pages: BTreeMap::new() },
        };
        self.blocks.insert(0, block);
        let need = (self.len() + span.count as usize - hits).saturating_sub(self.capacity);
        if need > 0 {
            if span.write {
                self.room_for_write(own, need, view, &mut out);
            } else {
                self.room_for_read(own, need, &mut out);
            }
        }
        for page in pages {
            let slot = self.blocks[0].pages.entry(page).or_default();
            if span.write {
                slot.dirty = true;
                slot.write_flag = true;
            } else {
                slot.read_flag = true;
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        for block in &mut self.blocks {
            block.pages.remove(&page);
        }
        self.blocks.retain(|block| !block.pages.is_empty());
    }

    /// Dirty pages are written and stay, with their flags.
    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        for at in (0..self.blocks.len()).rev() {
            let number = self.blocks[at].number;
            let pattern = self.pattern(number);
            let dirty = self.blocks[at].pages.iter_mut().filter(|page| page.1.dirty);
            let pages = dirty.map(|(&page, slot)| (page, std::mem::take(&mut slot.dirty))).collect();
            out.leave_with(Action::WriteBack, pages, hint(number, pattern, None));
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        let number = first / self.pages_per_block;
        if let Some(at) = self.position(number) {
            let pattern = self.pattern(number);
            let dirty = self.blocks[at].pages.range_mut(first..first + count).filter(|page| page.1.dirty);
            let pages = dirty.map(|(&page, slot)| (page, std::mem::take(&mut slot.dirty))).collect();
            out.leave_with(Action::WriteBack, pages, hint(number, pattern, None));
        }
        out
    }
}
