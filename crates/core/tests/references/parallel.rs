//! Buffers that send several blocks or pages at once, by the book: a list of blocks, and rounds that scan it.

use std::collections::BTreeMap;
use std::ops::Range;

use eraseblock_core::buffer::{Action, Idle, Shape, Span};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::{Block, Decisions, Pair, Reference, held};

/// CAVE with random options, and by the book.
pub fn cave(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let order = ["bplru", "cflru", "lru"][random.random_range(0..3)];
    let (padding, compensation, channels) = (random.random(), random.random(), random.random::<bool>());
    let clean_first = [0.0, 0.25, 0.5, 1.0][random.random_range(0..4)];
    let mut fast = json!({
        "kind": "cave", "order": order, "padding": padding, "compensation": compensation, "clean_first": clean_first,
        "victims": if channels { "channels" } else { "chips" },
    });
    let mut slow = options(shape, random, &mut fast);
    slow.sequential_above = random.random::<bool>().then(|| random.random_range(1..5));
    fast["sequential_above"] = json!(slow.sequential_above);
    (slow.padding, slow.compensation) = (order == "bplru" && padding, order == "bplru" && compensation);
    slow.bypass = order != "cflru";
    if order != "bplru" {
        (slow.size, slow.kept) = (1, Kept::Pages);
    }
    if order == "cflru" {
        slow.clean_first = libm::round(clean_first * shape.capacity.min(shape.logical_pages) as f64) as usize;
    }
    (fast, Box::new(slow))
}

/// FAP-LRU with random options, and by the book: all channels are idle.
pub fn fap_lru(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let bypass = random.random::<bool>();
    let mut fast = json!({"kind": "fap-lru", "reads": if bypass { "bypass" } else { "allocate" }});
    let mut slow = options(shape, random, &mut fast);
    slow.bypass = bypass;
    (fast, Box::new(slow))
}

/// MCA with random options, and by the book: all chips are idle.
pub fn mca(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let mut fast = json!({"kind": "mca"});
    let mut slow = options(shape, random, &mut fast);
    (slow.size, slow.kept, slow.rule) = (1, Kept::Pages, Rule::CompleteFirst);
    (fast, Box::new(slow))
}

/// GB with random options, and by the book: no channel has anything to do but what a span gives it.
pub fn gb(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let mut fast = json!({"kind": "gb"});
    let mut slow = options(shape, random, &mut fast);
    (slow.size, slow.kept, slow.rule) = (1, Kept::Pages, Rule::LeastWork);
    (fast, Box::new(slow))
}

/// What all of them let one choose.
fn options(shape: Shape, random: &mut Pcg64Mcg, fast: &mut Value) -> Parallel {
    let window = random.random::<bool>().then(|| random.random_range(1..8));
    let modules = random.random::<bool>().then(|| random.random_range(1..7));
    fast["window"] = json!(window);
    fast["modules"] = json!(modules);
    Parallel {
        capacity: shape.capacity as usize,
        size: shape.pages_per_block,
        kept: Kept::Blocks,
        bypass: true,
        padding: false,
        compensation: false,
        clean_first: 0,
        sequential_above: None,
        dealt: modules,
        window: window.unwrap_or(modules.unwrap_or(Idle::CHIPS) * 8) as usize,
        rule: Rule::ForEachModule,
        covered: BTreeMap::new(),
        parts: BTreeMap::new(),
        work: Vec::new(),
        blocks: Vec::new(),
    }
}

/// What leaves.
#[derive(Clone, Copy, PartialEq)]
enum Kept {
    Blocks,
    Pages,
}

/// Who leaves.
#[derive(Clone, Copy, PartialEq)]
enum Rule {
    /// One for each module.
    ForEachModule,
    /// One for each module, a complete page if there is one.
    CompleteFirst,
    /// One whose module has the least to do.
    LeastWork,
}

struct Parallel {
    capacity: usize,
    /// Pages of a block; 1 where pages leave.
    size: u32,
    kept: Kept,
    bypass: bool,
    padding: bool,
    compensation: bool,
    /// The last blocks among which clean ones leave first.
    clean_first: usize,
    sequential_above: Option<usize>,
    /// So many modules, to which blocks and pages go by their numbers.
    dealt: Option<u32>,
    window: usize,
    rule: Rule,
    /// Bytes of held pages that the host has written, where these are not all.
    covered: BTreeMap<u32, Range<u32>>,
    /// What the next write covers of pages that it writes in part, and how many bytes these have.
    parts: BTreeMap<u32, (Range<u32>, u32)>,
    /// What each module has to do.
    work: Vec<u32>,
    /// The most recently used block first, each with the offsets written since its last write at offset 0.
    blocks: Vec<(Block, Vec<u32>)>,
}

impl Parallel {
    fn pages(&self) -> usize {
        self.blocks.iter().map(|(block, _)| held(std::slice::from_ref(block))).sum()
    }

    fn modules(&self) -> u32 {
        self.dealt.unwrap_or(Idle::CHIPS)
    }

    /// The modules that a block needs, out of those that are `open`: nothing if it has to wait.
    fn needs(&self, block: &Block, open: &[u32]) -> Option<Vec<u32>> {
        let all: Vec<u32> = (0..self.modules()).collect();
        let sequential = self.sequential_above.is_some_and(|pages| block.dirty().len() > pages);
        // What a drive with nothing to do says: pages in turn, every third block never written, sequential ones striped.
        let wanted = if let Some(modules) = self.dealt {
            vec![block.number % modules]
        } else if self.kept == Kept::Pages {
            vec![block.number % Idle::CHIPS]
        } else if sequential {
            all
        } else if block.number.is_multiple_of(3) {
            vec![*open.first()?]
        } else {
            vec![block.number % Idle::CHIPS]
        };
        wanted.iter().all(|module| open.contains(module)).then_some(wanted)
    }

    /// The blocks that leave together.
    fn round(&mut self) -> Vec<u32> {
        let last = self.blocks.len() - 1;
        let clean = |at: &usize| self.blocks[*at].0.dirty().is_empty();
        let window = self.blocks.len().saturating_sub(self.clean_first)..self.blocks.len();
        if let Some(at) = window.rev().find(clean) {
            return vec![self.blocks[at].0.number];
        }
        let near = (0..self.blocks.len()).rev().take(self.window).filter(|at| !clean(at));
        let mut near: Vec<&Block> = near.map(|at| &self.blocks[at].0).collect();
        let mut open: Vec<u32> = (0..self.modules()).collect();
        if self.rule == Rule::LeastWork {
            let module = |block: &Block| self.needs(block, &open).unwrap()[0];
            let least = near.iter().map(|block| self.work[module(block) as usize]).min().unwrap();
            let block = near.iter().find(|block| self.work[module(block) as usize] == least).unwrap();
            let (number, module) = (block.number, module(block));
            self.work[module as usize] += 1;
            return vec![number];
        }
        if self.rule == Rule::CompleteFirst {
            near.sort_by_key(|block| self.covered.contains_key(&block.number));
        }
        let mut chosen = Vec::new();
        for block in near {
            if let Some(taken) = self.needs(block, &open) {
                open.retain(|module| !taken.contains(module));
                chosen.push(block.number);
            }
        }
        if clean(&last) || chosen.is_empty() { vec![self.blocks[last].0.number] } else { chosen }
    }

    /// The host has written a page, which was `held` or not.
    fn cover(&mut self, page: u32, held: bool) {
        let before = self.covered.remove(&page);
        let Some((part, of)) = self.parts.get(&page) else { return };
        if held && before.is_none() {
            return;
        }
        let all = match before.filter(|_| held) {
            Some(old) if old.start <= part.end && part.start <= old.end => {
                old.start.min(part.start)..old.end.max(part.end)
            }
            Some(old) if old.len() >= part.len() => old,
            None | Some(_) => part.clone(),
        };
        if all.len() < *of as usize {
            self.covered.insert(page, all);
        }
    }

    fn leave(&mut self, number: u32, done: &mut Decisions) {
        let at = self.blocks.iter().position(|(block, _)| block.number == number).unwrap();
        let (block, _) = self.blocks.remove(at);
        let action = if self.padding { Action::FlushPadded } else { Action::Flush };
        done.leave(action, block.dirty());
        done.leave(Action::Drop, block.clean());
    }

    fn touch(&mut self, number: u32) {
        self.blocks.sort_by_key(|(block, _)| block.number != number);
    }

    fn compensate(&mut self, page: u32) {
        let (size, offset) = (self.size, page % self.size);
        let (block, offsets) = &mut self.blocks[0];
        if offset == 0 {
            offsets.clear();
        }
        offsets.push(offset);
        if self.compensation && offsets.iter().copied().eq(0..size) && block.pages.len() as u32 == size {
            self.blocks.rotate_left(1);
        }
    }
}

impl Reference for Parallel {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        self.work = vec![0; self.modules() as usize];
        for page in span.first..span.first + span.count {
            let number = page / self.size;
            let hit = self.blocks.iter().any(|(block, _)| block.has(page));
            done.hits.push(hit);
            if self.bypass && !span.write {
                continue;
            }
            if !hit && self.pages() == self.capacity {
                for number in self.round() {
                    self.leave(number, &mut done);
                }
            }
            if self.blocks.iter().all(|(block, _)| block.number != number) {
                self.blocks.push((Block { number, pages: Vec::new() }, Vec::new()));
            }
            self.touch(number);
            self.blocks[0].0.serve(page, span.write);
            self.compensate(page);
            if span.write {
                self.cover(page, hit);
            }
        }
        self.parts.clear();
        done
    }

    fn part(&mut self, page: u32, bytes: Range<u32>, of: u32) {
        self.parts.insert(page, (bytes, of));
    }

    fn trim(&mut self, page: u32) {
        if let Some((block, offsets)) = self.blocks.iter_mut().find(|(block, _)| block.has(page)) {
            block.drop(page);
            // No longer written in order, until its next write at offset 0.
            offsets.extend([0, 0]);
        }
        self.blocks.retain(|(block, _)| !block.pages.is_empty());
    }

    fn flush(&mut self) -> Decisions {
        let mut done = Decisions::default();
        if self.bypass {
            while !self.blocks.is_empty() {
                let last = self.blocks[self.blocks.len() - 1].0.number;
                self.leave(last, &mut done);
            }
        } else {
            done.left.extend(self.blocks.iter_mut().rev().filter_map(|(block, _)| block.write_back()));
        }
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut done = Decisions::default();
        for page in first..first + count {
            let Some(at) = self.blocks.iter().position(|(block, _)| block.has(page)) else { continue };
            if self.bypass {
                let number = self.blocks[at].0.number;
                self.leave(number, &mut done);
            } else {
                let block = &mut self.blocks[at].0;
                let wanted = if self.size == 1 { (page, 1) } else { (first, count) };
                done.left.extend(block.write_back_some(wanted.0, wanted.1));
            }
        }
        done
    }
}
