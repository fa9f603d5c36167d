//! S-FTL: data blocks of which long writes fill the places directly, and BAST's log blocks for
//! short writes.

use std::collections::BTreeSet;
use std::ops::Range;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::records::Places;
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
    let victim = ["lru", "fifo", "random"][random.random_range(0..3)];
    let seed = random.random_range(0..100);
    let in_logs: bool = random.random();
    let full: bool = random.random();
    let over = json!({
        "nand": {"channels": channels, "pages_per_block": size, "blocks_per_plane": 32},
        "ftl": {
            "exported": format!("{} KiB", blocks * size * 4),
            "mapping": {
                "kind": "sftl", "threshold": threshold, "log_blocks": log_blocks,
                "replace": if in_logs { "log" } else { "rewrite" }, "victim": victim, "seed": if victim == "random" { seed } else { 1 },
            },
        },
        "precondition": {"state": if full { "full" } else { "empty" }},
    });
    let block = || Block {
        newest: vec![None; size as usize],
        programmed: None,
        log: None,
        is_sequential: false,
    };
    let number = blocks;
    let blocks = (0..number).map(|_| block()).collect();
    let (clock, counts) = (0, Counts::default());
    let untold = BTreeSet::new();
    let places = Places::new(log_blocks, seed);
    let mut drive = Chained {
        size,
        log_blocks,
        threshold,
        in_logs,
        victim,
        places,
        blocks,
        untold,
        clock,
        counts,
    };
    if full {
        // Every block was written once, in order; no log is left.
        drive.write(0, number * size);
        let first_log = |drive: &Chained| {
            let logs = drive.blocks.iter().enumerate().filter(|(_, block)| block.log.is_some());
            logs.min_by_key(|(_, block)| block.log.as_ref().unwrap().attached)
                .map(|(number, _)| number)
        };
        while let Some(number) = first_log(&drive) {
            drive.merge(number);
        }
        drive.counts = Counts::default();
    }
    (over, Box::new(drive))
}

/// Where the newest record of a page lies: the page, or what is left of it when it was trimmed, or
/// a tombstone.
#[derive(Clone, Copy)]
struct Record {
    in_log: bool,
    slot: u32,
    is_trimmed: bool,
}

struct Block {
    newest: Vec<Option<Record>>,
    /// The data block, and how far it is programmed.
    programmed: Option<u32>,
    log: Option<Log>,
    /// It was written sequentially last.
    is_sequential: bool,
}

struct Log {
    written: u32,
    attached: u64,
    used: u64,
    place: u32,
}

struct Chained {
    size: u32,
    log_blocks: u32,
    threshold: u32,
    /// Sequential pages that replace older ones go to logs.
    in_logs: bool,
    victim: &'static str,
    places: Places,
    blocks: Vec<Block>,
    /// Trimmed pages of which nothing durable says so yet.
    untold: BTreeSet<u32>,
    clock: u64,
    counts: Counts,
}

impl Chained {
    fn record(&mut self, number: usize, offset: u32, record: Record) {
        self.blocks[number].newest[offset as usize] = Some(record);
        self.untold.remove(&(number as u32 * self.size + offset));
    }

    /// Pages of a long write go to their places in the data block. If these are written already,
    /// the block is written anew, or they go to a log that has sequential pages alone.
    fn write_sequentially(&mut self, number: usize, pages: Range<u32>) {
        let goes_on = self.in_logs && self.blocks[number].is_sequential;
        if self.blocks[number].log.is_some() && !goes_on {
            self.merge(number);
        }
        self.blocks[number].is_sequential = true;
        if self.blocks[number].log.is_some() {
            pages.for_each(|page| self.append(number, &[page], false));
            return;
        }
        if self.in_logs && self.blocks[number].programmed.is_some_and(|end| pages.start < end) {
            pages.for_each(|page| self.append(number, &[page], false));
            return;
        }
        if self.blocks[number].programmed.is_some_and(|end| pages.start < end) {
            self.rewrite(number, pages);
            return;
        }
        self.counts.programs += u64::from(pages.end - pages.start);
        self.blocks[number].programmed = Some(pages.end);
        for slot in pages {
            self.record(number, slot, Record { in_log: false, slot, is_trimmed: false });
        }
    }

    fn rewrite(&mut self, number: usize, pages: Range<u32>) {
        self.counts.programs += u64::from(pages.end - pages.start);
        for slot in pages.clone() {
            self.record(number, slot, Record { in_log: false, slot, is_trimmed: false });
        }
        self.counts.erases += 1;
        self.counts.full_merges += 1;
        self.blocks[number].programmed = Some(pages.end);
        let lacks: Vec<u32> = (0..self.size).filter(|slot| !pages.contains(slot)).collect();
        self.bring(number, &lacks);
    }

    /// These pages are copied to their places in what is the data block from now on, where they
    /// have not been; one tombstone, in the place of the first trimmed one, speaks of all that were
    /// trimmed.
    fn bring(&mut self, number: usize, lacks: &[u32]) {
        let mut tombstone = None;
        for &offset in lacks {
            let Some(record) = self.blocks[number].newest[offset as usize] else { continue };
            let slot = if record.is_trimmed { *tombstone.get_or_insert(offset) } else { offset };
            if !record.is_trimmed {
                self.counts.reads += 1;
            }
            if slot == offset {
                self.counts.programs += 1;
                let end = self.blocks[number].programmed.unwrap_or(0);
                self.blocks[number].programmed = Some(end.max(slot + 1));
            }
            self.record(number, offset, Record { in_log: false, slot, ..record });
        }
    }

    /// Pages of a short write, or a tombstone, in the block's log.
    fn append(&mut self, number: usize, pages: &[u32], is_trimmed: bool) {
        if self.blocks[number].log.as_ref().is_some_and(|log| log.written == self.size) {
            self.merge(number);
        }
        self.clock += 1;
        let clock = self.clock;
        if self.blocks[number].log.is_none() {
            let logs = || {
                self.blocks
                    .iter()
                    .enumerate()
                    .filter_map(|(n, block)| Some((n, block.log.as_ref()?)))
            };
            if logs().count() == self.log_blocks as usize {
                let drawn = (self.victim == "random").then(|| self.places.draw());
                let victim = match self.victim {
                    "lru" => logs().min_by_key(|(_, log)| log.used),
                    "fifo" => logs().min_by_key(|(_, log)| log.attached),
                    _ => logs().find(|(_, log)| Some(log.place) == drawn),
                };
                let (victim, _) = victim.unwrap();
                self.merge(victim);
            }
            let place = self.places.take();
            self.blocks[number].log = Some(Log { written: 0, attached: clock, used: clock, place });
        }
        let log = self.blocks[number].log.as_mut().unwrap();
        let slot = log.written;
        log.written += 1;
        // A tombstone is no write of the host.
        if !is_trimmed {
            log.used = clock;
        }
        self.counts.programs += 1;
        for &page in pages {
            self.record(number, page, Record { in_log: true, slot, is_trimmed });
        }
    }

    /// As BAST merges: switch, partial, or full.
    fn merge(&mut self, number: usize) {
        let block = &mut self.blocks[number];
        let Log { written, place, .. } = block.log.take().unwrap();
        self.places.leave(place);
        let in_log = |record: &Option<Record>| record.is_none_or(|record| record.in_log);
        let lacks: Vec<u32> =
            (0..).zip(&block.newest).filter(|(_, r)| !in_log(r)).map(|(o, _)| o).collect();
        let in_place = (0..).zip(&block.newest).all(|(offset, record)| match record {
            Some(Record { in_log: true, slot, is_trimmed }) => *is_trimmed || *slot == offset,
            Some(_) => offset >= written,
            None => true,
        });
        self.counts.erases += u64::from(block.programmed.is_some());
        if in_place {
            block.programmed = Some(written);
            if lacks.is_empty() {
                self.counts.switch_merges += 1;
            } else {
                self.counts.partial_merges += 1;
            }
            for record in self.blocks[number].newest.iter_mut().flatten() {
                record.in_log = false;
            }
            self.bring(number, &lacks);
        } else {
            block.programmed = None;
            self.counts.full_merges += 1;
            self.counts.erases += 1;
            self.bring(number, &(0..self.size).collect::<Vec<_>>());
        }
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
                let block = &mut self.blocks[number as usize];
                if std::mem::take(&mut block.is_sequential) && block.log.is_some() {
                    self.merge(number as usize);
                }
                pages.for_each(|page| self.append(number as usize, &[page], false));
            }
        }
    }

    fn read(&mut self, first: u32, count: u32) {
        let newest = |page: u32| {
            self.blocks[(page / self.size) as usize].newest[(page % self.size) as usize]
        };
        let is_valid = |page: &u32| newest(*page).is_some_and(|record| !record.is_trimmed);
        self.counts.reads += (first..first + count).filter(is_valid).count() as u64;
    }

    fn trim(&mut self, first: u32, count: u32) {
        for page in first..first + count {
            let block = &mut self.blocks[(page / self.size) as usize];
            let newest = block.newest[(page % self.size) as usize].as_mut();
            if let Some(record) = newest.filter(|record| !record.is_trimmed) {
                record.is_trimmed = true;
                self.untold.insert(page);
            }
        }
    }

    /// A tombstone in the log, or in the sequential block, which is written anew.
    fn flush(&mut self) {
        let told = std::mem::take(&mut self.untold);
        for number in 0..self.blocks.len() {
            let start = number as u32 * self.size;
            let pages: Vec<u32> =
                told.range(start..start + self.size).map(|page| page - start).collect();
            if pages.is_empty() {
                continue;
            }
            if self.blocks[number].is_sequential && !self.in_logs {
                self.rewrite(number, 0..0);
            } else {
                self.append(number, &pages, true);
            }
        }
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}
