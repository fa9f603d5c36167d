//! What lies on the flash of a drive whose mapping is about whole blocks: each programmed page says which logical page it
//! holds, or that it buries one (a tombstone). The newest record of a page counts.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt as _;
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

    /// The configuration of this drive with a mapping.
    pub fn config(&self, mapping: Value) -> Value {
        json!({
            "nand": {
                "channels": self.channels, "planes_per_die": self.planes,
                "blocks_per_plane": self.blocks / (self.channels * self.planes),
                "pages_per_block": self.pages,
                "program_order": if self.upward { "ascending" } else { "any" },
            },
            "ftl": {"exported": format!("{} KiB", 4 * self.pages * self.exported), "mapping": mapping},
            "precondition": {"state": if self.full { "full" } else { "empty" }},
        })
    }
}

/// Where something is said about a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    pub block: u32,
    pub slot: u32,
    /// The page is gone, in place of its data.
    pub tombstone: bool,
}

pub struct Flash {
    pub counts: Counts,
    /// Pages a block.
    pub pages: u32,
    upward: bool,
    all: u32,
    next: u32,
    /// Blocks in use, with the page that each slot is about: `None` is erased.
    used: BTreeMap<u32, Vec<Option<u32>>>,
    /// What the flash says of each page, oldest first.
    records: BTreeMap<u32, Vec<Record>>,
    /// Pages that the host gave up and has not written since. This is in RAM.
    trimmed: BTreeSet<u32>,
}

impl Flash {
    pub fn new(shape: &Shape) -> Self {
        Self {
            counts: Counts::default(),
            pages: shape.pages,
            upward: shape.upward,
            all: shape.blocks,
            next: 0,
            used: BTreeMap::new(),
            records: BTreeMap::new(),
            trimmed: BTreeSet::new(),
        }
    }

    /// Blocks that are erased and nobody's.
    pub fn erased(&self) -> u32 {
        self.all - self.used.len() as u32
    }

    pub fn take(&mut self) -> u32 {
        assert!(self.erased() > 0, "the reference has no erased block left");
        self.next += 1;
        self.used.insert(self.next, vec![None; self.pages as usize]);
        self.next
    }

    /// A block filled with consecutive pages, as before the first request.
    pub fn take_full(&mut self, first: u32) -> u32 {
        let block = self.take();
        (0..self.pages).for_each(|slot| self.store(first + slot, block, slot));
        self.counts = Counts::default();
        block
    }

    /// The lowest slot above all that are programmed.
    pub fn top(&self, block: u32) -> u32 {
        self.used[&block].iter().rposition(Option::is_some).map_or(0, |last| last as u32 + 1)
    }

    pub fn is_full(&self, block: u32) -> bool {
        self.top(block) == self.pages
    }

    /// Whether a slot can still be programmed.
    pub fn is_open(&self, block: u32, slot: u32) -> bool {
        if self.upward { slot >= self.top(block) } else { self.used[&block][slot as usize].is_none() }
    }

    /// What each programmed slot, from 0 on, is about.
    pub fn slots(&self, block: u32) -> &[Option<u32>] {
        &self.used[&block]
    }

    fn program(&mut self, page: u32, record: Record) {
        assert!(self.is_open(record.block, record.slot), "programmed twice, or downwards");
        self.used.get_mut(&record.block).unwrap()[record.slot as usize] = Some(page);
        self.records.entry(page).or_default().push(record);
        self.counts.programs += 1;
    }

    /// The host's data.
    pub fn store(&mut self, page: u32, block: u32, slot: u32) {
        self.trimmed.remove(&page);
        self.program(page, Record { block, slot, tombstone: false });
    }

    pub fn bury(&mut self, page: u32, block: u32, slot: u32) {
        self.program(page, Record { block, slot, tombstone: true });
    }

    /// The newest data of a page are copied.
    pub fn copy(&mut self, page: u32, block: u32, slot: u32) {
        assert!(self.find(page).is_some(), "nothing to copy");
        self.counts.reads += 1;
        self.program(page, Record { block, slot, tombstone: false });
    }

    /// A block of nothing but erased pages needs no erase.
    pub fn erase(&mut self, block: u32) {
        let slots = self.used.remove(&block).expect("a block in use");
        self.counts.erases += u64::from(slots.iter().any(Option::is_some));
        for page in slots.into_iter().flatten() {
            self.records.get_mut(&page).unwrap().retain(|record| record.block != block);
        }
    }

    /// The newest record of a page, of whatever kind.
    pub fn newest(&self, page: u32) -> Option<Record> {
        self.records.get(&page)?.last().copied()
    }

    /// Where a page lies that the host can read.
    pub fn find(&self, page: u32) -> Option<Record> {
        self.newest(page).filter(|record| !record.tombstone && !self.trimmed.contains(&page))
    }

    /// The pages among these that can be read.
    pub fn valid(&self, pages: impl IntoIterator<Item = u32>) -> Vec<u32> {
        pages.into_iter().filter(|&page| self.find(page).is_some()).collect()
    }

    pub fn read(&mut self, first: u32, count: u32) {
        self.counts.reads += self.valid(first..first + count).len() as u64;
    }

    pub fn trim(&mut self, first: u32, count: u32) {
        self.trimmed.extend(first..first + count);
    }

    /// Whether a trim is known in RAM only: the flash by itself would bring the page back.
    pub fn is_owed(&self, page: u32) -> bool {
        self.trimmed.contains(&page) && self.newest(page).is_some_and(|record| !record.tombstone)
    }

    /// All such pages, in order.
    pub fn owed(&self) -> Vec<u32> {
        self.trimmed.iter().copied().filter(|&page| self.is_owed(page)).collect()
    }
}
