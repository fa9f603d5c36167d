//! FAST: one log block for a sequential run, and log blocks that all logical blocks share.

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::records::{Flash, Merge, Shape};
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
    let shape = Shape::draw(random, limit + 3);
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
        is_eager,
        folds_broken,
        completes,
    };
    (shape.config(&mapping), Box::new(drive))
}

/// A random log block, and the logical block that each of its pages is about.
struct Random {
    block: u32,
    numbers: Vec<u32>,
}

struct Mapping {
    flash: Flash,
    data: Vec<Option<u32>>,
    /// The sequential log block, SW: its logical block, and itself.
    run: Option<(u32, u32)>,
    /// The random ones, RW, oldest first.
    random: Vec<Random>,
    limit: usize,
    is_eager: bool,
    folds_broken: bool,
    completes: bool,
}

impl Mapping {
    fn pages_of(&self, number: u32) -> Vec<u32> {
        (number * self.flash.pages..(number + 1) * self.flash.pages).collect()
    }

    fn write_page(&mut self, page: u32) {
        let (number, slot) = (page / self.flash.pages, page % self.flash.pages);
        // The first write goes straight to the data block.
        let data = *self.data[number as usize].get_or_insert_with(|| self.flash.take());
        if !self.flash.is_live(page) && self.flash.is_open(data, slot) {
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
                let way = self.flash.way(&self.pages_of(number), block, self.completes);
                let can = way != Merge::Full && slot > next && self.completes;
                self.merge(number, if can { Merge::Partial } else { Merge::Full }, &[page]);
                return;
            }
            self.finish();
        }
        // 3. Everything else.
        let block = self.open(number, Some(page));
        self.flash.store(page, block, self.flash.top(block));
        self.tidy();
    }

    fn append_to_run(&mut self, page: u32) {
        self.flash.store(page, self.run.unwrap().1, page % self.flash.pages);
        self.tidy();
    }

    /// The block of RW that takes a page of a logical block; the old version of a page that is
    /// `coming` is out of date.
    fn open(&mut self, number: u32, coming: Option<u32>) -> u32 {
        if self.random.last().is_none_or(|log| self.flash.is_full(log.block)) {
            if self.random.len() == self.limit {
                self.reclaim(coming);
            }
            let block = self.flash.take();
            self.random.push(Random { block, numbers: Vec::new() });
        }
        let newest = self.random.last_mut().unwrap();
        newest.numbers.push(number);
        newest.block
    }

    /// What is full is merged at once, if that is wanted.
    fn tidy(&mut self) {
        if self.is_eager && self.run.is_some_and(|(_, block)| self.flash.is_full(block)) {
            self.finish();
        }
        let all_are_full = self.random.len() == self.limit
            && self.random.last().is_some_and(|log| self.flash.is_full(log.block));
        if self.is_eager && all_are_full {
            self.reclaim(None);
        }
    }

    /// The oldest block of RW goes.
    fn reclaim(&mut self, coming: Option<u32>) {
        let block = self.random[0].block;
        for number in self.random[0].numbers.clone() {
            // A tombstone counts even for the page that is coming.
            let counts = |&page: &u32| {
                let word = self.flash.word(page).filter(|word| word.block == block);
                word.is_some_and(|word| word.tombstone || Some(page) != coming)
            };
            if self.pages_of(number).iter().any(counts) {
                self.fold(number);
            }
        }
        self.random.remove(0);
        if let Some(page) = coming.filter(|&page| self.flash.is_in(page, block)) {
            self.flash.forget(page, block);
        }
        self.flash.erase(block);
    }

    fn fold(&mut self, number: u32) {
        if self.run.is_some_and(|(owner, _)| owner == number) {
            self.finish();
        } else {
            self.merge(number, Merge::Full, &[]);
        }
    }

    /// The run becomes the data block.
    fn finish(&mut self) {
        if let Some((owner, block)) = self.run {
            let way = self.flash.way(&self.pages_of(owner), block, self.completes);
            self.merge(owner, way, &[]);
        }
    }

    /// The newest pages of a logical block go to one block, from wherever they are: its run, or an
    /// erased block.
    fn merge(&mut self, number: u32, way: Merge, written: &[u32]) {
        let run = self.run.take_if(|(owner, _)| *owner == number).map(|(_, block)| block);
        let old = self.data[number as usize].take();
        self.flash.count(way);
        let block = if way == Merge::Full { self.flash.take() } else { run.unwrap() };
        self.flash.gather(&self.pages_of(number), block, written);
        self.data[number as usize] = Some(block);
        for other in [old, run.filter(|&run| run != block)].into_iter().flatten() {
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
            let block = self.open(pages[0] / size, None);
            self.flash.bury(pages, block, self.flash.top(block));
            self.tidy();
        }
    }

    fn counts(&self) -> Counts {
        self.flash.counts
    }
}
