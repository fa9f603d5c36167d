//! BAST: log blocks that each belong to one logical block.

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::records::{Flash, Merge, Places, Shape};
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
    let shape = Shape::draw(random, limit + 3);
    let is_eager = random.random();
    let victim = ["lru", "fifo", "random"][random.random_range(0..3)];
    let seed = random.random_range(0..100);
    let completes = random.random();
    let is_direct = random.random();
    let flash = Flash::new(&shape);
    let data = vec![None; shape.exported as usize];
    let mapping = json!({
        "kind": "bast", "log_blocks": limit,
        "merge_timing": if is_eager { "eager" } else { "lazy" },
        "victim": victim, "seed": if victim == "random" { seed } else { 1 },
        "partial_merge": completes,
        "first_write": if is_direct { "direct" } else { "log" },
    });
    let logs = Vec::new();
    let mut drive = Mapping {
        flash,
        data,
        logs,
        places: Places::new(limit, seed),
        limit: limit as usize,
        is_eager,
        victim,
        completes,
        is_direct,
        clock: 0,
    };
    if shape.full {
        // Every page was written once, in order; no log is left.
        drive.write(0, shape.exported * shape.pages);
        while let Some(log) = drive.logs.first() {
            drive.merge(log.owner);
        }
        drive.flash.counts = Counts::default();
    }
    (shape.config(&mapping), Box::new(drive))
}

struct Log {
    block: u32,
    owner: u32,
    last_write: u64,
    place: u32,
}

struct Mapping {
    flash: Flash,
    data: Vec<Option<u32>>,
    /// In the order in which they were attached.
    logs: Vec<Log>,
    places: Places,
    limit: usize,
    is_eager: bool,
    victim: &'static str,
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
            if !self.flash.is_live(page) && self.flash.is_open(data, slot) {
                return self.flash.store(page, data, slot);
            }
        }
        let log = self.open_log(number);
        let block = self.logs[log].block;
        self.flash.store(page, block, self.flash.top(block));
        self.written(log);
    }

    /// The log of a logical block with room for a page.
    fn open_log(&mut self, number: u32) -> usize {
        if self.log_of(number).is_some_and(|log| self.flash.is_full(self.logs[log].block)) {
            self.merge(number);
        }
        if self.log_of(number).is_none() {
            if self.logs.len() == self.limit {
                let drawn = (self.victim == "random").then(|| self.places.draw());
                let victim = match self.victim {
                    "lru" => self.logs.iter().min_by_key(|log| log.last_write),
                    "fifo" => self.logs.first(),
                    _ => self.logs.iter().find(|log| Some(log.place) == drawn),
                };
                self.merge(victim.unwrap().owner);
            }
            let block = self.flash.take();
            self.clock += 1;
            let place = self.places.take();
            self.logs.push(Log { block, owner: number, last_write: self.clock, place });
        }
        self.log_of(number).unwrap()
    }

    /// A log has been written.
    fn written(&mut self, log: usize) {
        self.clock += 1;
        self.logs[log].last_write = self.clock;
        self.tidy(log);
    }

    /// A full log is merged at once, if that is wanted.
    fn tidy(&mut self, log: usize) {
        if self.is_eager && self.flash.is_full(self.logs[log].block) {
            self.merge(self.logs[log].owner);
        }
    }

    /// Switch, partial or full.
    fn merge(&mut self, number: u32) {
        let Log { block: log, place, .. } = self.logs.remove(self.log_of(number).unwrap());
        self.places.leave(place);
        let old = self.data[number as usize].take();
        let pages: Vec<u32> =
            (number * self.flash.pages..(number + 1) * self.flash.pages).collect();
        let way = self.flash.way(&pages, log, self.completes);
        self.flash.count(way);
        let block = if way == Merge::Full { self.flash.take() } else { log };
        self.flash.gather(&pages, block, &[]);
        self.data[number as usize] = Some(block);
        for other in [old, Some(log).filter(|&log| log != block)].into_iter().flatten() {
            self.flash.erase(other);
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
        let (size, owed) = (self.flash.pages, self.flash.owed());
        for pages in owed.chunk_by(|a, b| a / size == b / size) {
            let log = self.open_log(pages[0] / size);
            let block = self.logs[log].block;
            self.flash.bury(pages, block, self.flash.top(block));
            self.tidy(log);
        }
    }

    fn counts(&self) -> Counts {
        self.flash.counts
    }
}
