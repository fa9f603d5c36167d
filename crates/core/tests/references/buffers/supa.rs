//! SUPA's single unified read-write buffer: Kim, Park and Youn 2017, sections 5.2 and 5.3.

use std::collections::BTreeMap;

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::pattern::{Hint, Pattern, Route};
use eraseblock_core::support::ids::LogicalBlock;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};
use super::channels::hint;

inventory::submit! {
    BufferReference {
        scheme: "supa",
        from: "Kim, Park and Youn 2017, sections 5.2 and 5.3; its page on what they leave open",
        least_capacity: 1,
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
    /// The FTL has been told of it, when its pages were written and stayed.
    told: bool,
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

/// Where a block is written together with others: one channel, or all.
struct Place(Option<u32>);

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

    /// Section 5.3.1: the longest run of flags in a block (L), which goes on from the block before
    /// (LP) and to the next (LN).
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
        let Block { pages, told, .. } = self.blocks.remove(at);
        let part = |dirty: bool| -> Vec<(u32, bool)> {
            pages
                .iter()
                .filter(|page| page.1.dirty == dirty)
                .map(|(&page, _)| (page, dirty))
                .collect()
        };
        let (dirty, clean) = (part(true), part(false));
        if dirty.is_empty() {
            out.leave_with(Action::Drop, clean, told_again(hint(number, pattern, channel), told));
        } else {
            out.leave_with(Action::Evict, dirty, told_again(hint(number, pattern, channel), told));
            out.leave(Action::Drop, clean);
        }
    }

    /// Dirty pages among these are written, and stay with their flags; the FTL hears of their
    /// block.
    fn write_back(&mut self, at: usize, pages: std::ops::Range<u32>, out: &mut Decisions) {
        let number = self.blocks[at].number;
        let hint = hint(number, self.pattern(number), None);
        let block = &mut self.blocks[at];
        let dirty = block.pages.range_mut(pages).filter(|page| page.1.dirty);
        let pages: Vec<_> =
            dirty.map(|(&page, slot)| (page, std::mem::take(&mut slot.dirty))).collect();
        if !pages.is_empty() {
            out.leave_with(Action::WriteBack, pages, told_again(hint, block.told));
            block.told = true;
        }
    }

    /// Section 5.3.2. `own` is the block that is being read, which leaves last.
    fn room_for_read(&mut self, own: u32, need: usize, out: &mut Decisions) {
        let patterns: BTreeMap<u32, Pattern> = self
            .blocks
            .iter()
            .filter(|block| block.number != own)
            .map(|b| (b.number, self.pattern(b.number)))
            .collect();
        let target = self.len().saturating_sub(need);
        while self.len() > target {
            let clean =
                self.blocks.iter().rev().find(|block| block.number != own && block.is_clean());
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
            let Some(&(number, _)) = fits.or_else(largest) else { break };
            self.send(number, patterns[&number], None, out);
        }
    }

    /// The channel for a dirty block, if it can be written in parallel with the other victims: none
    /// if it is striped.
    fn place(
        &mut self,
        block: usize,
        pattern: Pattern,
        given: &mut Given,
        view: &dyn View,
    ) -> Option<Place> {
        let block = &self.blocks[block];
        let new = block.pages.values().filter(|page| page.dirty).count();
        let takes =
            |channel: &u32| view.channel_ready(*channel) && !given.channels.contains(channel);
        let channel = match view.route(LogicalBlock(block.number), pattern) {
            Route::Striped => {
                given.striped += 1;
                return (given.striped <= self.striped_victims).then_some(Place(None));
            }
            Route::Channel(channel) => Some(channel).filter(takes),
            Route::Home(channel) if new < self.pages_per_block as usize => {
                Some(channel).filter(takes)
            }
            _ => {
                let all = view.channels();
                let next = (0..all).map(|step| (self.turn + step) % all).find(takes);
                self.turn = next.map_or(self.turn, |channel| (channel + 1) % all);
                next
            }
        };
        given.channels.extend(channel);
        channel.map(|channel| Place(Some(channel)))
    }

    /// Section 5.3.3.
    fn room_for_write(&mut self, own: u32, need: usize, view: &dyn View, out: &mut Decisions) {
        let patterns: BTreeMap<u32, Pattern> = self
            .blocks
            .iter()
            .filter(|block| block.number != own)
            .map(|b| (b.number, self.pattern(b.number)))
            .collect();
        let mut given = Given { striped: 0, channels: Vec::new() };
        let mut victims: Vec<(u32, Option<u32>)> = Vec::new();
        let mut freed = 0;
        let places: Vec<usize> =
            (0..self.blocks.len()).rev().filter(|&at| self.blocks[at].number != own).collect();
        // First step: from the LRU position, until there are enough pages.
        for &at in places.iter().take(self.reach) {
            if freed >= need {
                break;
            }
            let (number, pages) = (self.blocks[at].number, self.blocks[at].pages.len());
            if self.blocks[at].is_clean() {
                victims.push((number, None));
                freed += pages;
            } else if let Some(Place(channel)) = self.place(at, patterns[&number], &mut given, view)
            {
                victims.push((number, channel));
                freed += pages;
            }
        }
        // Too few can be written in parallel: the oldest leave whatever they wait for.
        for &at in &places {
            let (number, pages) = (self.blocks[at].number, self.blocks[at].pages.len());
            if freed < need && victims.iter().all(|victim| victim.0 != number) {
                victims.push((number, None));
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
            if let Some(Place(channel)) = self.place(at, patterns[&number], &mut given, view) {
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
        let end = self.hits.iter().max().map_or(0, |place| place + 1);
        self.window_from = (0..=end).find(|&from| outside(from) >= wanted).unwrap();
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
        let own = span.first.0 / self.pages_per_block;
        let pages = || span.pages().map(|lpn| lpn.0);
        // A block that is held moves to the MRU position; a new one comes there with its first
        // page.
        if let Some(at) = self.position(own) {
            let hits = pages().filter(|&page| self.page(page).is_some()).count();
            self.hits.extend(std::iter::repeat_n(at, hits));
            let block = self.blocks.remove(at);
            self.blocks.insert(0, block);
        }
        // As many pages at a time as the buffer holds.
        for some in pages().collect::<Vec<_>>().chunks(self.capacity) {
            loop {
                let missing = some.iter().filter(|&&page| self.page(page).is_none()).count();
                let need = (self.len() + missing).saturating_sub(self.capacity);
                if need == 0 {
                    break;
                }
                if self.blocks.iter().all(|block| block.number == own) {
                    // The block itself leaves last.
                    let pattern = self.pattern(own);
                    self.send(own, pattern, None, &mut out);
                } else if span.write {
                    self.room_for_write(own, need, view, &mut out);
                } else {
                    self.room_for_read(own, need, &mut out);
                }
            }
            for &page in some {
                out.hits.push(self.page(page).is_some());
                if self.position(own).is_none() {
                    self.blocks
                        .insert(0, Block { number: own, pages: BTreeMap::new(), told: false });
                }
                let slot = self.blocks[0].pages.entry(page).or_default();
                if span.write {
                    slot.dirty = true;
                    slot.write_flag = true;
                } else {
                    slot.read_flag = true;
                }
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
            self.write_back(at, 0..u32::MAX, &mut out);
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        if let Some(at) = self.position(first / self.pages_per_block) {
            self.write_back(at, first..first + count, &mut out);
        }
        out
    }
}

/// The same hint, of a block that the FTL may have heard of.
fn told_again(hint: Option<Hint>, again: bool) -> Option<Hint> {
    hint.map(|hint| Hint { again, ..hint })
}
