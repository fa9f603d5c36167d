//! Superblocks: adjacent logical blocks share physical ones, with pages anywhere in them.

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::records::{Flash, Shape};
use super::super::{Counts, Drive, DriveReference};

inventory::submit! {
    DriveReference { covers: &[("mapping", "superblock")], from: "its page, steps 1 to 3", pair }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let shape = Shape::draw(random, 3);
    let width = random.random_range(1..=4);
    let extra = random.random_range(1..=4);
    let mut flash = Flash::new(&shape);
    let group = |number: u32| {
        let numbers = number * width..((number + 1) * width).min(shape.exported);
        let data = numbers.len();
        let mut fill = |logical| {
            let block = flash.take_of(number);
            flash.fill(block, logical * shape.pages);
            block
        };
        let blocks = numbers.filter(|_| shape.full).map(&mut fill).collect();
        Group { data, blocks, last_write: 0 }
    };
    let groups: Vec<Group> = (0..shape.exported.div_ceil(width)).map(group).collect();
    let mapping = json!({"kind": "superblock", "blocks": width, "update_blocks": extra});
    (
        shape.config(&mapping),
        Box::new(Mapping { flash, groups, width, extra: extra as usize, clock: 0 }),
    )
}

/// A superblock.
struct Group {
    /// Data blocks that it is due.
    data: usize,
    /// All that it has, in the order in which it got them. The last one is open.
    blocks: Vec<u32>,
    last_write: u64,
}

struct Mapping {
    flash: Flash,
    groups: Vec<Group>,
    width: u32,
    extra: usize,
    clock: u64,
}

impl Mapping {
    fn group_of(&self, page: u32) -> usize {
        (page / self.flash.pages / self.width) as usize
    }

    fn pages_of(&self, number: usize) -> Vec<u32> {
        let first = number as u32 * self.width * self.flash.pages;
        (first..first + self.groups[number].data as u32 * self.flash.pages).collect()
    }

    /// The open block, with room for a page.
    fn open(&mut self, number: usize) -> u32 {
        loop {
            let group = &self.groups[number];
            let is_whole = group.blocks.len() == group.data + self.extra;
            if let Some(open) = self.room(number) {
                return open;
            } else if is_whole {
                // 2. Garbage is collected in the superblock itself.
                self.collect(number);
            } else if self.flash.erased() > 2 {
                // 1. An erased block; one is kept to collect into, and one in case power fails.
                self.append_block(number);
            } else {
                // 3. The superblock written longest ago, of those with update blocks, is to give
                //    one up.
                let with_updates =
                    |&number: &usize| self.groups[number].blocks.len() > self.groups[number].data;
                let oldest = (0..self.groups.len()).filter(with_updates);
                let oldest = oldest.min_by_key(|&number| self.groups[number].last_write).unwrap();
                self.collect(oldest);
            }
        }
    }

    /// The open block, if it is not full.
    fn room(&self, number: usize) -> Option<u32> {
        self.groups[number].blocks.last().copied().filter(|&open| !self.flash.is_full(open))
    }

    fn append_block(&mut self, number: usize) {
        let block = self.flash.take_of(number as u32);
        self.groups[number].blocks.push(block);
    }

    fn written(&mut self, number: usize) {
        self.clock += 1;
        self.groups[number].last_write = self.clock;
    }

    /// Pages that have to leave a block before it can be erased: one tombstone speaks of all that
    /// have been trimmed.
    fn needed(&self, number: usize, block: u32) -> usize {
        let mut pages = self.pages_of(number);
        pages.retain(|&page| self.flash.is_in(page, block));
        let live = pages.iter().filter(|&&page| self.flash.is_live(page)).count();
        live + usize::from(live < pages.len())
    }

    /// The block with fewest pages still needed is emptied into the rest of the open block, and an
    /// erased one.
    fn collect(&mut self, number: usize) {
        let open = self.room(number);
        let mut closed = self.groups[number].blocks.clone();
        closed.retain(|&block| Some(block) != open);
        let victim =
            closed.into_iter().min_by_key(|&block| (self.needed(number, block), block)).unwrap();
        let pages = self.pages_of(number);
        for &page in &pages {
            if !self.flash.is_in(page, victim) {
                continue;
            }
            if self.room(number).is_none() {
                self.append_block(number);
            }
            let open = self.room(number).unwrap();
            let slot = self.flash.top(open);
            if self.flash.is_live(page) {
                self.flash.copy(page, open, slot);
            } else {
                let mut dead = pages.clone();
                dead.retain(|&page| self.flash.is_in(page, victim) && self.flash.is_dead(page));
                self.flash.bury(&dead, open, slot);
            }
        }
        self.groups[number].blocks.retain(|&block| block != victim);
        self.flash.erase(victim);
    }
}

impl Drive for Mapping {
    fn write(&mut self, first: u32, count: u32) {
        for page in first..first + count {
            let number = self.group_of(page);
            let open = self.open(number);
            self.flash.store(page, open, self.flash.top(open));
            self.written(number);
        }
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
            let number = self.group_of(pages[0]);
            let open = self.open(number);
            self.flash.bury(pages, open, self.flash.top(open));
            self.written(number);
        }
    }

    fn counts(&self) -> Counts {
        self.flash.counts
    }
}
