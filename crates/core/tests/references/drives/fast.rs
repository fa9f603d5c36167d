//! FAST: one log block for a sequential run, and log blocks that all logical blocks share.

use std::collections::BTreeSet;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::records::{Flash, Shape};
use super::super::{Counts, Drive, DriveReference};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "fast")],
        from: "its page, with the rules of Pennsylvania State University's FlashSim",
        pair,
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let limit = random.random_range(1..=4);
    let shape = Shape::draw(random, limit + 2);
    let is_eager = random.random();
    let folds_broken = random.random();
    let completes = random.random();
    let mut flash = Flash::new(&shape);
    let block = |number| shape.full.then(|| flash.take_full(number * shape.pages));
    let data = (0..shape.exported).map(block).collect();
    let mapping = json!({
        "kind": "fast", "log_blocks": limit,
        "merge_timing": if is_eager { "eager" } else { "lazy" },
        "broken_run": if folds_broken { "fold" } else { "log" },
        "partial_merge": completes,
    });
    let drive = Mapping {
        flash,
        data,
        run: None,
        random: Vec::new(),
        limit: limit as usize,
        buried: BTreeSet::new(),
        is_eager,
        folds_broken,
        completes,
    };
    (shape.config(mapping), Box::new(drive))
}

struct Mapping {
    flash: Flash,
    data: Vec<Option<u32>>,
    /// The sequential log block, SW: its logical block, and itself.
    run: Option<(u32, u32)>,
    /// The random ones, RW, oldest first.
    random: Vec<u32>,
    limit: usize,
    /// Pages with a tombstone in RW that still counts.
    buried: BTreeSet<u32>,
    is_eager: bool,
    folds_broken: bool,
    completes: bool,
}

impl Mapping {
    fn pages_of(&self, number: u32) -> std::ops::Range<u32> {
        number * self.flash.pages..(number + 1) * self.flash.pages
    }

    fn write_page(&mut self, page: u32) {
        let (number, slot) = (page / self.flash.pages, page % self.flash.pages);
        // The first write goes straight to the data block.
        let data = *self.data[number as usize].get_or_insert_with(|| self.flash.take());
        if self.flash.is_open(data, slot) {
            self.buried.remove(&page);
            return self.flash.store(page, data, slot);
        }
        // 1. A run begins.
        if slot == 0 {
            self.finish();
            let block = self.flash.take();
            self.run = Some((number, block));
            return self.append_to_run(page);
        }
        // 2. A run goes on, or is broken.
        if let Some((owner, block)) = self.run
            && owner == number
        {
            let next = self.flash.top(block);
            if slot == next {
                return self.append_to_run(page);
            }
            if self.folds_broken {
                if slot > next && self.completes {
                    self.complete(Some(page));
                } else {
                    self.fold(number, Some(page));
                }
                return;
            }
            self.finish();
        }
        // 3. Everything else.
        self.append(page, false);
    }

    fn append_to_run(&mut self, page: u32) {
        let block = self.run.unwrap().1;
        self.buried.remove(&page);
        self.flash.store(page, block, page % self.flash.pages);
        if self.is_eager && self.flash.is_full(block) {
            self.finish();
        }
    }

    /// The newest block of RW takes a page.
    fn append(&mut self, page: u32, tombstone: bool) {
        if self.random.last().is_none_or(|&block| self.flash.is_full(block)) {
            if self.random.len() == self.limit {
                self.reclaim(Some(page));
            }
            let block = self.flash.take();
            self.random.push(block);
        }
        let block = *self.random.last().unwrap();
        let slot = self.flash.top(block);
        if tombstone {
            self.buried.insert(page);
            self.flash.bury(page, block, slot);
        } else {
            self.buried.remove(&page);
            self.flash.store(page, block, slot);
        }
        if self.is_eager && self.random.len() == self.limit && self.flash.is_full(block) {
            self.reclaim(None);
        }
    }

    /// The oldest block of RW goes. The page that is about to be written is no longer needed there.
    fn reclaim(&mut self, but: Option<u32>) {
        let victim = self.random[0];
        for slot in 0..self.flash.pages {
            let page = self.flash.slots(victim)[slot as usize].unwrap();
            let is_here = self
                .flash
                .newest(page)
                .is_some_and(|record| record.block == victim && record.slot == slot);
            let counts = self.flash.find(page).is_some() || self.buried.contains(&page);
            if is_here && counts && but != Some(page) {
                let number = page / self.flash.pages;
                if self.run.is_some_and(|(owner, _)| owner == number) {
                    self.finish();
                } else {
                    self.fold(number, None);
                }
            }
        }
        self.random.remove(0);
        self.flash.erase(victim);
    }

    /// The run becomes the data block.
    fn finish(&mut self) {
        let Some((owner, block)) = self.run else { return };
        if self.flash.is_full(block) {
            self.run = None;
            self.flash.counts.switch_merges += 1;
            self.replace(owner, block);
        } else if self.completes {
            self.complete(None);
        } else {
            self.fold(owner, None);
        }
    }

    /// The run is completed in place, with a page of the host among the rest.
    fn complete(&mut self, written: Option<u32>) {
        let (owner, block) = self.run.take().unwrap();
        for page in self.pages_of(owner).skip(self.flash.top(block) as usize) {
            self.put(page, block, written);
        }
        self.flash.counts.partial_merges += 1;
        self.replace(owner, block);
    }

    /// The newest pages of a logical block go to an erased block, from wherever they are.
    fn fold(&mut self, number: u32, written: Option<u32>) {
        let fresh = self.flash.take();
        for page in self.pages_of(number) {
            self.put(page, fresh, written);
        }
        if let Some((_, block)) = self.run.take_if(|(owner, _)| *owner == number) {
            self.flash.erase(block);
        }
        self.flash.counts.full_merges += 1;
        self.replace(number, fresh);
    }

    fn put(&mut self, page: u32, block: u32, written: Option<u32>) {
        if written == Some(page) {
            self.flash.store(page, block, page % self.flash.pages);
        } else if self.flash.find(page).is_some() {
            self.flash.copy(page, block, page % self.flash.pages);
        }
    }

    /// No record of the logical block counts any more but those in its new data block.
    fn replace(&mut self, number: u32, by: u32) {
        if let Some(old) = self.data[number as usize].replace(by) {
            self.flash.erase(old);
        }
        let pages = self.pages_of(number);
        self.buried.retain(|page| !pages.contains(page));
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
            if self.flash.is_owed(page) {
                self.append(page, true);
            }
        }
    }

    fn counts(&self) -> Counts {
        self.flash.counts
    }
}
