//! Block mapping: every page at its own offset of one physical block.

use std::collections::BTreeSet;

use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::records::{Flash, Shape};
use super::super::{Counts, Drive, DriveReference};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "block")],
        from: "its page, and Kim and Ahn, BPLRU, section 2.2",
        pair,
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let shape = Shape::draw(random, 1);
    let mut flash = Flash::new(&shape);
    let block = |number| shape.full.then(|| flash.take_full(number * shape.pages));
    let blocks = (0..shape.exported).map(block).collect();
    (shape.config(json!("block")), Box::new(Mapping { flash, blocks }))
}

struct Mapping {
    flash: Flash,
    blocks: Vec<Option<u32>>,
}

impl Mapping {
    /// The pages that a logical block holds, those that the host writes, and tombstones for others go to an erased block.
    fn copy(&mut self, number: u32, written: &BTreeSet<u32>, buried: &BTreeSet<u32>) {
        let fresh = self.flash.take();
        for slot in 0..self.flash.pages {
            let page = number * self.flash.pages + slot;
            if written.contains(&page) {
                self.flash.store(page, fresh, slot);
            } else if buried.contains(&page) {
                self.flash.bury(page, fresh, slot);
            } else if self.flash.find(page).is_some() {
                self.flash.copy(page, fresh, slot);
            }
        }
        self.flash.erase(self.blocks[number as usize].replace(fresh).unwrap());
        self.flash.counts.full_merges += 1;
    }
}

impl Drive for Mapping {
    fn write(&mut self, first: u32, count: u32) {
        let size = self.flash.pages;
        for number in first / size..=(first + count - 1) / size {
            let pages: BTreeSet<u32> =
                (first.max(number * size)..(first + count).min((number + 1) * size)).collect();
            let block = *self.blocks[number as usize].get_or_insert_with(|| self.flash.take());
            if pages.iter().all(|page| self.flash.is_open(block, page % size)) {
                pages.iter().for_each(|&page| self.flash.store(page, block, page % size));
            } else {
                self.copy(number, &pages, &BTreeSet::new());
            }
        }
    }

    fn read(&mut self, first: u32, count: u32) {
        self.flash.read(first, count);
    }

    fn trim(&mut self, first: u32, count: u32) {
        self.flash.trim(first, count);
    }

    fn flush(&mut self) {
        for number in 0..self.blocks.len() as u32 {
            let owed = self.flash.owed().into_iter().filter(|page| page / self.flash.pages == number);
            let owed: BTreeSet<u32> = owed.collect();
            if !owed.is_empty() {
                self.copy(number, &BTreeSet::new(), &owed);
            }
        }
    }

    fn counts(&self) -> Counts {
        self.flash.counts
    }
}
