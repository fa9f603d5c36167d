//! Block mapping: every page at its own offset of one physical block.

use std::collections::BTreeSet;

use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::records::{Flash, Merge, Shape};
use super::super::{Counts, Drive, DriveReference};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "block")],
        from: "its page, and Kim and Ahn, BPLRU, section 2.2",
        pair,
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let shape = Shape::draw(random, 2);
    let mut flash = Flash::new(&shape);
    let block = |number| shape.full.then(|| flash.take_full(number * shape.pages));
    let blocks = (0..shape.exported).map(block).collect();
    (shape.config(&json!("block")), Box::new(Mapping { flash, blocks }))
}

struct Mapping {
    flash: Flash,
    blocks: Vec<Option<u32>>,
}

impl Mapping {
    fn pages_of(&self, number: u32) -> Vec<u32> {
        (number * self.flash.pages..(number + 1) * self.flash.pages).collect()
    }

    /// The pages that a logical block holds, and those that the host writes, go to an erased block.
    fn copy(&mut self, number: u32, written: &[u32]) {
        let fresh = self.flash.take();
        self.flash.gather(&self.pages_of(number), fresh, written);
        self.flash.erase(self.blocks[number as usize].replace(fresh).unwrap());
        self.flash.count(Merge::Full);
    }
}

impl Drive for Mapping {
    fn write(&mut self, first: u32, count: u32) {
        let size = self.flash.pages;
        for number in first / size..=(first + count - 1) / size {
            let pages: Vec<u32> =
                (first.max(number * size)..(first + count).min((number + 1) * size)).collect();
            let block = *self.blocks[number as usize].get_or_insert_with(|| self.flash.take());
            if pages.iter().all(|page| self.flash.is_open(block, page % size)) {
                for page in pages {
                    self.flash.store(page, block, page % size);
                }
            } else {
                self.copy(number, &pages);
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
        let numbers: BTreeSet<u32> =
            self.flash.owed().iter().map(|page| page / self.flash.pages).collect();
        for number in numbers {
            self.copy(number, &[]);
        }
    }

    fn counts(&self) -> Counts {
        self.flash.counts
    }
}
