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
    let shape = Shape::draw(random, 2);
    let width = random.random_range(1..=4);
    let extra = random.random_range(1..=4);
    let mut flash = Flash::new(&shape);
    let group = |number: u32| {
        let numbers = number * width..((number + 1) * width).min(shape.exported);
        let data = numbers.len();
        let blocks = numbers.filter(|_| shape.full).map(|block| flash.take_full(block * shape.pages)).collect();
        Group { data, blocks, last_write: u64::from(number) }
    };
    let groups: Vec<Group> = (0..shape.exported.div_ceil(width)).map(group).collect();
    let clock = groups.len() as u64;
    let mapping = json!({"kind": "superblock", "blocks": width, "update_blocks": extra});
    (shape.config(mapping), Box::new(Mapping { flash, groups, width, extra: extra as usize, clock }))
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
    /// Pages are written to the open block, in the order of arrival.
    fn append(&mut self, page: u32, tombstone: bool) {
        let number = (page / self.flash.pages / self.width) as usize;
        while self.groups[number].blocks.last().is_none_or(|&open| self.flash.is_full(open)) {
            self.make_room(number);
        }
        let open = *self.groups[number].blocks.last().unwrap();
        let slot = self.flash.top(open);
        if tombstone {
            self.flash.bury(page, open, slot);
        } else {
            self.flash.store(page, open, slot);
        }
        self.clock += 1;
        self.groups[number].last_write = self.clock;
    }

    fn make_room(&mut self, number: usize) {
        let group = &self.groups[number];
        // 2. Garbage is collected in the superblock itself.
        if group.blocks.len() == group.data + self.extra {
            return self.collect(number);
        }
        // 3. The superblock written longest ago, of those with update blocks, gives one up. One erased block is kept.
        while self.flash.erased() < 2 {
            let with_updates = |&number: &usize| self.groups[number].blocks.len() > self.groups[number].data;
            let oldest = (0..self.groups.len()).filter(with_updates);
            let oldest = oldest.min_by_key(|&number| self.groups[number].last_write).unwrap();
            self.collect(oldest);
            if oldest == number && !self.flash.is_full(*self.groups[number].blocks.last().unwrap()) {
                return;
            }
        }
        // 1. An erased block.
        let block = self.flash.take();
        self.groups[number].blocks.push(block);
    }

    /// Pages in a block that are still needed.
    fn needed(&self, block: u32) -> Vec<u32> {
        let slots = self.flash.slots(block).iter().enumerate();
        let newest = slots.filter_map(|(slot, page)| {
            let page = (*page)?;
            let newest = self.flash.newest(page)?;
            let counts = newest.tombstone || self.flash.find(page).is_some();
            (counts && newest.block == block && newest.slot == slot as u32).then_some(page)
        });
        newest.collect()
    }

    /// The block with fewest pages still needed is emptied into what is open, and an erased block.
    fn collect(&mut self, number: usize) {
        let blocks = &self.groups[number].blocks;
        let full = (0..blocks.len()).filter(|&place| self.flash.is_full(blocks[place]));
        let place = full.min_by_key(|&place| self.needed(blocks[place]).len()).unwrap();
        let victim = self.groups[number].blocks.remove(place);
        let mut open = self.groups[number].blocks.last().copied().filter(|&open| !self.flash.is_full(open));
        for page in self.needed(victim) {
            let is_buried = self.flash.newest(page).unwrap().tombstone;
            let into = *open.filter(|&open| !self.flash.is_full(open)).get_or_insert_with(|| {
                let block = self.flash.take();
                self.groups[number].blocks.push(block);
                block
            });
            open = Some(into);
            let slot = self.flash.top(into);
            if is_buried {
                self.flash.counts.reads += 1;
                self.flash.bury(page, into, slot);
            } else {
                self.flash.copy(page, into, slot);
            }
        }
        self.flash.erase(victim);
    }
}

impl Drive for Mapping {
    fn write(&mut self, first: u32, count: u32) {
        (first..first + count).for_each(|page| self.append(page, false));
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
