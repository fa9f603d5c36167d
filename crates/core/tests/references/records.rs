//! What lies on the flash of a drive whose mapping is about whole blocks.
//!
//! The last word on a page is its newest version, even once it has been trimmed, or the tombstone
//! that says so. A block is erased only when all the last words in it have gone elsewhere, those on
//! trimmed pages too: as a tombstone. So nothing comes back after a power cut.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::Counts;

/// A small drive drawn at random.
pub struct Shape {
    pub channels: u32,
    planes: u32,
    /// Physical blocks, and logical ones.
    pub blocks: u32,
    pub exported: u32,
    /// Pages a block.
    pub pages: u32,
    /// Pages of a block are programmed upwards only.
    pub upward: bool,
    /// Every page has been written once, in order.
    pub full: bool,
}

impl Shape {
    /// At least so many blocks to spare, rarely many more.
    pub fn draw(random: &mut Pcg64Mcg, spare: u32) -> Self {
        let channels = random.random_range(1..=2);
        Self::with_channels(random, channels, spare)
    }

    pub fn with_channels(random: &mut Pcg64Mcg, channels: u32, spare: u32) -> Self {
        let planes = random.random_range(1..=2);
        let most = random.random_range(0..=8);
        let spare = spare + random.random_range(0..=most);
        let exported = random.random_range(2..=10);
        let blocks = (exported + spare).next_multiple_of(channels * planes);
        Self {
            channels,
            planes,
            blocks,
            exported: blocks - spare,
            pages: *[2, 3, 4, 4, 4, 8].get(random.random_range(0..6)).unwrap(),
            upward: random.random(),
            full: random.random(),
        }
    }

    pub fn units(&self) -> u32 {
        self.channels * self.planes
    }

    /// The configuration of this drive with a mapping.
    pub fn config(&self, mapping: &Value) -> Value {
        json!({
            "nand": {
                "channels": self.channels, "planes_per_die": self.planes,
                "blocks_per_plane": self.blocks / self.units(),
                "pages_per_block": self.pages,
                "program_order": if self.upward { "ascending" } else { "any" },
            },
            "ftl": {"exported": format!("{} KiB", 4 * self.pages * self.exported), "mapping": mapping},
            "precondition": {"state": if self.full { "full" } else { "empty" }},
        })
    }
}

/// The last word on a page: what the flash says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    pub block: u32,
    pub slot: u32,
    /// That it is gone, in place of its data.
    pub tombstone: bool,
}

/// How blocks become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// The last one stays as it is.
    Switch,
    /// It stays after the rest has been copied into it.
    Partial,
    /// All goes to an erased block.
    Full,
}

pub struct Flash {
    pub counts: Counts,
    /// Pages a block.
    pub pages: u32,
    upward: bool,
    per_unit: u32,
    /// Erased blocks of each unit, in the order in which they are taken.
    erased: Vec<VecDeque<u32>>,
    /// Which slots of each block are programmed.
    used: BTreeMap<u32, Vec<bool>>,
    /// The last word on each page that has one.
    words: BTreeMap<u32, Word>,
    /// Pages that the host gave up and has not written since. This is in RAM.
    trimmed: BTreeSet<u32>,
}

impl Flash {
    pub fn new(shape: &Shape) -> Self {
        let per_unit = shape.blocks / shape.units();
        Self {
            counts: Counts::default(),
            pages: shape.pages,
            upward: shape.upward,
            per_unit,
            erased: (0..shape.units())
                .map(|unit| (unit * per_unit..(unit + 1) * per_unit).collect())
                .collect(),
            used: BTreeMap::new(),
            words: BTreeMap::new(),
            trimmed: BTreeSet::new(),
        }
    }

    /// Blocks that are erased and nobody's.
    pub fn erased(&self) -> usize {
        self.erased.iter().map(VecDeque::len).sum()
    }

    pub fn take(&mut self) -> u32 {
        self.take_of(0)
    }

    /// A block of a unit, the one erased longest ago, or else of the unit that has most.
    pub fn take_of(&mut self, unit: u32) -> u32 {
        let most = self.erased.iter().map(VecDeque::len).max().unwrap();
        let fullest = self.erased.iter().position(|blocks| blocks.len() == most).unwrap();
        let mine = unit as usize % self.erased.len();
        let unit = if self.erased[mine].is_empty() { fullest } else { mine };
        let block = self.erased[unit].pop_front().expect("the reference has no erased block left");
        self.used.insert(block, vec![false; self.pages as usize]);
        block
    }

    /// A block filled with consecutive pages, as before the first request.
    pub fn take_full(&mut self, first: u32) -> u32 {
        let block = self.take();
        self.fill(block, first);
        block
    }

    pub fn fill(&mut self, block: u32, first: u32) {
        (0..self.pages).for_each(|slot| self.store(first + slot, block, slot));
        self.counts = Counts::default();
    }

    /// The lowest slot above all that are programmed.
    pub fn top(&self, block: u32) -> u32 {
        self.used[&block]
            .iter()
            .rposition(|programmed| *programmed)
            .map_or(0, |last| last as u32 + 1)
    }

    pub fn is_full(&self, block: u32) -> bool {
        self.top(block) == self.pages
    }

    /// Whether a slot can still be programmed.
    pub fn is_open(&self, block: u32, slot: u32) -> bool {
        if self.upward { slot >= self.top(block) } else { !self.used[&block][slot as usize] }
    }

    fn program(&mut self, block: u32, slot: u32) {
        assert!(self.is_open(block, slot), "programmed twice, or downwards");
        self.used.get_mut(&block).unwrap()[slot as usize] = true;
        self.counts.programs += 1;
    }

    /// The host's data.
    pub fn store(&mut self, page: u32, block: u32, slot: u32) {
        self.program(block, slot);
        self.trimmed.remove(&page);
        self.words.insert(page, Word { block, slot, tombstone: false });
    }

    /// One page of the flash that says of all these that they are gone.
    pub fn bury(&mut self, pages: &[u32], block: u32, slot: u32) {
        self.program(block, slot);
        let word = Word { block, slot, tombstone: true };
        self.words.extend(pages.iter().map(|&page| (page, word)));
    }

    /// The data of a page are copied.
    pub fn copy(&mut self, page: u32, block: u32, slot: u32) {
        assert!(self.is_live(page), "nothing to copy");
        self.counts.reads += 1;
        self.program(block, slot);
        self.words.insert(page, Word { block, slot, tombstone: false });
    }

    /// What is known of a page is out of date if it lies in this block: the page is being written.
    pub fn forget(&mut self, page: u32, block: u32) {
        if self.is_in(page, block) {
            self.words.remove(&page);
        }
    }

    pub fn erase(&mut self, block: u32) {
        assert!(self.words.values().all(|word| word.block != block), "a last word would be lost");
        self.used.remove(&block).expect("a block in use");
        self.erased[(block / self.per_unit) as usize].push_back(block);
        self.counts.erases += 1;
    }

    /// A block that was never programmed needs no erase.
    pub fn release(&mut self, block: u32) {
        self.erase(block);
        self.counts.erases -= 1;
    }

    pub fn word(&self, page: u32) -> Option<Word> {
        self.words.get(&page).copied()
    }

    /// Whether the last word on a page lies in this block.
    pub fn is_in(&self, page: u32, block: u32) -> bool {
        self.word(page).is_some_and(|word| word.block == block)
    }

    /// Whether the host can read a page.
    pub fn is_live(&self, page: u32) -> bool {
        self.word(page).is_some_and(|word| !word.tombstone) && !self.trimmed.contains(&page)
    }

    /// Whether a page has been trimmed, with or without a tombstone.
    pub fn is_dead(&self, page: u32) -> bool {
        self.word(page).is_some() && !self.is_live(page)
    }

    pub fn read(&mut self, first: u32, count: u32) {
        self.counts.reads +=
            (first..first + count).filter(|&page| self.is_live(page)).count() as u64;
    }

    pub fn trim(&mut self, first: u32, count: u32) {
        self.trimmed.extend(first..first + count);
    }

    /// Pages whose trim is known in RAM only.
    pub fn owed(&self) -> Vec<u32> {
        let in_ram = |page: &u32| self.word(*page).is_some_and(|word| !word.tombstone);
        self.trimmed.iter().copied().filter(in_ram).collect()
    }

    /// How the blocks of a logical block, whose `pages` in the order of their offsets these are,
    /// become one (Gong's thesis, section 2.2): whether `last` can still become the data block, and
    /// what it lacks.
    pub fn way(&self, pages: &[u32], last: u32, completes: bool) -> Merge {
        let lacks = |page: &u32| self.word(*page).is_some_and(|word| word.block != last);
        let can = (0..).zip(pages).all(|(slot, page)| {
            if lacks(page) {
                self.is_open(last, slot)
            } else {
                !self.is_live(*page) || self.words[page].slot == slot
            }
        });
        match (can, pages.iter().any(lacks)) {
            (true, false) => Merge::Switch,
            (true, true) if completes => Merge::Partial,
            _ => Merge::Full,
        }
    }

    pub fn count(&mut self, merge: Merge) {
        match merge {
            Merge::Switch => self.counts.switch_merges += 1,
            Merge::Partial => self.counts.partial_merges += 1,
            Merge::Full => self.counts.full_merges += 1,
        }
    }

    /// What the last words say that lie elsewhere goes to `block`, each page at its own offset, and
    /// `written` pages of the host with them. One tombstone, in the place of the first trimmed
    /// page, speaks of all of them.
    pub fn gather(&mut self, pages: &[u32], block: u32, written: &[u32]) {
        for (slot, &page) in (0..).zip(pages) {
            self.gather_one(pages, page, (block, slot), written);
        }
    }

    /// The same, one after the other from the next slot on.
    pub fn gather_densely(&mut self, pages: &[u32], block: u32, written: &[u32]) {
        for &page in pages {
            self.gather_one(pages, page, (block, self.top(block)), written);
        }
    }

    fn gather_one(&mut self, pages: &[u32], page: u32, (block, slot): (u32, u32), written: &[u32]) {
        let lies_elsewhere =
            |flash: &Self, page| flash.word(page).is_some_and(|word| word.block != block);
        if written.contains(&page) {
            self.store(page, block, slot);
        } else if lies_elsewhere(self, page) && self.is_live(page) {
            self.copy(page, block, slot);
        } else if lies_elsewhere(self, page) {
            let mut dead = pages.to_vec();
            dead.retain(|page| {
                self.is_dead(*page) && lies_elsewhere(self, *page) && !written.contains(page)
            });
            self.bury(&dead, block, slot);
        }
    }
}

/// Places of log blocks of which one is drawn when all are taken: the page of BAST, "random
/// victims".
pub struct Places {
    /// Those that are free, the one left last at the end.
    free: Vec<u32>,
    count: u32,
    draws: Pcg64Mcg,
}

impl Places {
    pub fn new(count: u32, seed: u64) -> Self {
        Self { free: (0..count).rev().collect(), count, draws: Pcg64Mcg::seed_from_u64(seed) }
    }

    pub fn take(&mut self) -> u32 {
        self.free.pop().expect("a log block that is not in use")
    }

    pub fn leave(&mut self, place: u32) {
        self.free.push(place);
    }

    pub fn draw(&mut self) -> u32 {
        self.draws.random_range(0..self.count)
    }
}
