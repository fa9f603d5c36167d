//! S-FTL: data blocks of which long writes fill the places directly, and BAST's log blocks for short writes.

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Counts, Drive, DriveReference};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "sftl")],
        from: "Kim, Park and Youn, SUPA, section 3.3, and its page",
        pair,
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let channels = random.random_range(1..=3u32);
    let size = if random.random() { 4 } else { 8 };
    let blocks = random.random_range(3..=9u32);
    let log_blocks = random.random_range(1..=4u32);
    let threshold = random.random_range(0..=size);
    let is_lru: bool = random.random();
    let full: bool = random.random();
    let over = json!({
        "nand": {"channels": channels, "pages_per_block": size, "blocks_per_plane": 32},
        "ftl": {
            "exported": format!("{} KiB", blocks * size * 4),
            "mapping": {
                "kind": "sftl", "threshold": threshold, "log_blocks": log_blocks,
                "victim": if is_lru { "lru" } else { "fifo" },
            },
        },
        "precondition": {"state": if full { "full" } else { "empty" }},
    });
    let block = || Block {
        data: (0..size).map(|_| full).collect(),
        programmed: if full { Some(size) } else { None },
        log: None,
        is_sequential: full && size > threshold,
        trimmed: false,
    };
    let blocks = (0..blocks).map(|_| block()).collect();
    let drive =
        Chained { size, log_blocks, threshold, is_lru, blocks, clock: 0, counts: Counts::default() };
    (over, Box::new(drive))
}

struct Block {
    /// Offsets of which the newest page lies in the data block.
    data: Vec<bool>,
    /// The data block, and how far it is programmed.
    programmed: Option<u32>,
    log: Option<Log>,
    /// It was written sequentially last.
    is_sequential: bool,
    /// Pages were trimmed, and nothing durable says so yet.
    trimmed: bool,
}

struct Log {
    /// Offsets in the order in which they were written, `None` for what is older by now, and for tombstones.
    pages: Vec<Option<u32>>,
    attached: u64,
    used: u64,
}

struct Chained {
    size: u32,
    log_blocks: u32,
    threshold: u32,
    is_lru: bool,
    blocks: Vec<Block>,
    clock: u64,
    counts: Counts,
}

impl Chained {
    /// Pages of a long write go to their places in the data block.
    fn write_sequentially(&mut self, number: usize, pages: std::ops::Range<u32>) {
        if self.blocks[number].log.is_some() {
            self.merge(number);
        }
        let block = &mut self.blocks[number];
        block.is_sequential = true;
        if block.programmed.is_some_and(|end| pages.start < end) {
            let lacks = |at: &u32| block.data[*at as usize] && !pages.contains(at);
            let copied = (0..self.size).filter(lacks).count() as u64;
            self.counts.reads += copied;
            self.counts.programs += copied;
            self.counts.erases += 1;
            self.counts.full_merges += 1;
            block.programmed = None;
            block.trimmed = false;
        }
        self.counts.programs += u64::from(pages.end - pages.start);
        pages.for_each(|at| block.data[at as usize] = true);
        let end = block.data.iter().rposition(|&valid| valid).unwrap() as u32 + 1;
        block.programmed = Some(end.max(block.programmed.unwrap_or(0)));
    }

    /// A page of a short write, or a tombstone, goes to the block's log.
    fn append(&mut self, number: usize, page: Option<u32>) {
        if self.blocks[number].log.as_ref().is_some_and(|log| log.pages.len() == self.size as usize) {
            self.merge(number);
        }
        self.clock += 1;
        if self.blocks[number].log.is_none() {
            let logs =
                || self.blocks.iter().enumerate().filter_map(|(n, block)| Some((n, block.log.as_ref()?)));
            if logs().count() == self.log_blocks as usize {
                let key = |log: &Log| if self.is_lru { log.used } else { log.attached };
                let victim = logs().min_by_key(|(_, log)| key(log)).unwrap().0;
                self.merge(victim);
            }
            self.blocks[number].log = Some(Log { pages: Vec::new(), attached: self.clock, used: 0 });
        }
        let block = &mut self.blocks[number];
        let log = block.log.as_mut().unwrap();
        if let Some(page) = page {
            log.pages.iter_mut().filter(|old| **old == Some(page)).for_each(|old| *old = None);
            block.data[page as usize] = false;
        }
        log.pages.push(page);
        log.used = self.clock;
        self.counts.programs += 1;
    }

    /// As BAST merges: switch, partial, or full.
    fn merge(&mut self, number: usize) {
        let block = &mut self.blocks[number];
        let log = block.log.take().unwrap();
        block.trimmed = false;
        let missing: Vec<u32> = (0..self.size).filter(|&at| block.data[at as usize]).collect();
        let in_place = (0..).zip(&log.pages).all(|(at, page)| page.is_none_or(|page| page == at));
        let inside = log.pages.iter().flatten().count();
        let had_data = block.programmed.is_some();
        let end = log.pages.len() as u32;
        if in_place && inside > 0 && missing.iter().all(|&at| at >= end) {
            if missing.is_empty() {
                self.counts.switch_merges += 1;
            } else {
                self.counts.partial_merges += 1;
            }
            self.counts.reads += missing.len() as u64;
            self.counts.programs += missing.len() as u64;
            self.counts.erases += u64::from(had_data);
            log.pages.iter().flatten().for_each(|&at| block.data[at as usize] = true);
            block.programmed = Some(missing.last().map_or(end, |&last| last + 1));
            return;
        }
        let copied = (inside + missing.len()) as u64;
        self.counts.reads += copied;
        self.counts.programs += copied;
        self.counts.erases += 1 + u64::from(had_data);
        self.counts.full_merges += 1;
        log.pages.iter().flatten().for_each(|&at| block.data[at as usize] = true);
        block.programmed = block.data.iter().rposition(|&valid| valid).map(|last| last as u32 + 1);
    }
}

impl Drive for Chained {
    fn write(&mut self, first: u32, count: u32) {
        for number in first / self.size..=(first + count - 1) / self.size {
            let start = number * self.size;
            let pages = first.max(start) - start..(first + count).min(start + self.size) - start;
            if pages.end - pages.start > self.threshold {
                self.write_sequentially(number as usize, pages);
            } else {
                self.blocks[number as usize].is_sequential = false;
                pages.for_each(|page| self.append(number as usize, Some(page)));
            }
        }
    }

    fn read(&mut self, first: u32, count: u32) {
        for page in first..first + count {
            let block = &self.blocks[(page / self.size) as usize];
            let at = page % self.size;
            let in_log = block.log.as_ref().is_some_and(|log| log.pages.contains(&Some(at)));
            self.counts.reads += u64::from(in_log || block.data[at as usize]);
        }
    }

    fn trim(&mut self, first: u32, count: u32) {
        for page in first..first + count {
            let block = &mut self.blocks[(page / self.size) as usize];
            let at = page % self.size;
            block.trimmed |= std::mem::take(&mut block.data[at as usize]);
            for old in block.log.iter_mut().flat_map(|log| &mut log.pages) {
                block.trimmed |= *old == Some(at);
                *old = old.filter(|&old| old != at);
            }
        }
    }

    fn flush(&mut self) {
        for number in 0..self.blocks.len() {
            let block = &mut self.blocks[number];
            if !std::mem::take(&mut block.trimmed) {
                continue;
            }
            if !block.is_sequential {
                self.append(number, None);
                continue;
            }
            // The sequential block is written anew.
            let valid = block.data.iter().filter(|&&valid| valid).count() as u64;
            block.programmed = block.data.iter().rposition(|&valid| valid).map(|last| last as u32 + 1);
            self.counts.reads += valid;
            self.counts.programs += valid;
            self.counts.erases += 1;
            self.counts.full_merges += 1;
        }
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}
