//! BAST: log blocks that each belong to one logical block.

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::records::{Flash, Shape};
use super::super::{Counts, Drive, DriveReference};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "bast")],
        from: "its page; Kim and Ahn, BPLRU, section 2.3; Gong's thesis, section 2.2",
        pair,
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let limit = random.random_range(1..=4);
    let shape = Shape::draw(random, limit + 1);
    let is_eager = random.random();
    let is_fifo = random.random();
    let completes = random.random();
    let is_direct = random.random();
    let mut flash = Flash::new(&shape);
    let block = |number| shape.full.then(|| flash.take_full(number * shape.pages));
    let data = (0..shape.exported).map(block).collect();
    let mapping = json!({
        "kind": "bast", "log_blocks": limit,
        "merge_timing": if is_eager { "eager" } else { "lazy" },
        "victim": if is_fifo { "fifo" } else { "lru" },
        "partial_merge": completes,
        "first_write": if is_direct { "direct" } else { "log" },
    });
    let logs = Vec::new();
    let drive = Mapping {
        flash,
        data,
        logs,
        limit: limit as usize,
        is_eager,
        is_fifo,
        completes,
        is_direct,
        clock: 0,
    };
    (shape.config(mapping), Box::new(drive))
}

struct Log {
    block: u32,
    owner: u32,
    last_write: u64,
}

struct Mapping {
    flash: Flash,
    data: Vec<Option<u32>>,
    /// In the order in which they were attached.
    logs: Vec<Log>,
    limit: usize,
    is_eager: bool,
    is_fifo: bool,
    completes: bool,
    is_direct: bool,
    clock: u64,
}

impl Mapping {
    fn log_of(&self, number: u32) -> Option<usize> {
        self.logs.iter().position(|log| log.owner == number)
    }

    fn write_page(&mut self, page: u32) {
        let (number, slot) = (page / self.flash.pages, page % self.flash.pages);
        if self.is_direct {
            let data = *self.data[number as usize].get_or_insert_with(|| self.flash.take());
            if self.flash.is_open(data, slot) {
                return self.flash.store(page, data, slot);
            }
        }
        self.append(page, false);
    }

    /// The next page of the logical block's log.
    fn append(&mut self, page: u32, tombstone: bool) {
        let number = page / self.flash.pages;
        if self.log_of(number).is_some_and(|log| self.flash.is_full(self.logs[log].block)) {
            self.merge(number);
        }
        if self.log_of(number).is_none() {
            if self.logs.len() == self.limit {
                let oldest = if self.is_fifo {
                    self.logs.first()
                } else {
                    self.logs.iter().min_by_key(|log| log.last_write)
                };
                self.merge(oldest.unwrap().owner);
            }
            // What the merge has erased may have made the tombstone needless; the log is attached all the same.
            let block = self.flash.take();
            self.logs.push(Log { block, owner: number, last_write: 0 });
        }
        let log = self.log_of(number).unwrap();
        let block = self.logs[log].block;
        self.clock += 1;
        self.logs[log].last_write = self.clock;
        let slot = self.flash.top(block);
        if tombstone {
            self.flash.bury(page, block, slot);
        } else {
            self.flash.store(page, block, slot);
        }
        if self.is_eager && self.flash.is_full(block) {
            self.merge(number);
        }
    }

    /// Switch, partial or full: Gong's thesis, section 2.2.
    fn merge(&mut self, number: u32) {
        let log = self.logs.remove(self.log_of(number).unwrap()).block;
        let old = self.data[number as usize].take();
        let first = number * self.flash.pages;
        let valid = self.flash.valid(first..first + self.flash.pages);
        let mut rest = valid.clone();
        rest.retain(|&page| self.flash.find(page).unwrap().block != log);
        let slots = &self.flash.slots(log)[..self.flash.top(log) as usize];
        let in_place = slots.iter().zip(first..).all(|(&found, page)| found == Some(page));
        if in_place && (rest.is_empty() || self.completes) {
            if rest.is_empty() {
                self.flash.counts.switch_merges += 1;
            } else {
                self.flash.counts.partial_merges += 1;
            }
            rest.iter().for_each(|&page| self.flash.copy(page, log, page - first));
            self.data[number as usize] = Some(log);
        } else {
            self.flash.counts.full_merges += 1;
            if !valid.is_empty() {
                let fresh = self.flash.take();
                valid.iter().for_each(|&page| self.flash.copy(page, fresh, page - first));
                self.data[number as usize] = Some(fresh);
            }
            self.flash.erase(log);
        }
        if let Some(old) = old {
            self.flash.erase(old);
        }
    }
}

impl Drive for Mapping {
    fn write(&mut self, first: u32, count: u32) {
        (first..first + count).for_each(|page| self.write_page(page));
    }

    fn read(&mut self, first: u32, count: u32) {
        self.flash.read(first, count);
    }

    fn trim(&mut self, first: u32, count: u32) {
        self.flash.trim(first, count);
    }

    fn flush(&mut self) {
        for page in self.flash.owed() {
            // A merge for another tombstone may have erased what this one would bury.
            if self.flash.is_owed(page) {
                self.append(page, true);
            }
        }
    }

    fn counts(&self) -> Counts {
        self.flash.counts
    }
}
