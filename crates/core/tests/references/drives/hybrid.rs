//! Hybrid mapping: one physical block for each logical block, pages in it in the order of writing.

use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::records::{Flash, Merge, Shape};
use super::super::{Counts, Drive, DriveReference};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "hybrid")],
        from: "its page, and Kim and Ahn, BPLRU, section 2.2: a sector's position is not fixed \
            inside the block",
        pair,
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let shape = Shape::draw(random, 2);
    let mut flash = Flash::new(&shape);
    let block = |number| shape.full.then(|| flash.take_full(number * shape.pages));
    let blocks = (0..shape.exported).map(block).collect();
    (shape.config(&json!("hybrid")), Box::new(Mapping { flash, blocks }))
}

struct Mapping {
    flash: Flash,
    blocks: Vec<Option<u32>>,
}

impl Mapping {
    /// Pages of one logical block are written one after the other while there is room; a full block
    /// is written anew, with those that are left.
    fn write_block(&mut self, pages: &[u32]) {
        let number = pages[0] / self.flash.pages;
        let block = *self.blocks[number as usize].get_or_insert_with(|| self.flash.take());
        for (done, &page) in pages.iter().enumerate() {
            if self.flash.is_full(block) {
                return self.write_anew(number, &pages[done..]);
            }
            self.flash.store(page, block, self.flash.top(block));
        }
    }

    /// In the order of offsets.
    fn write_anew(&mut self, number: u32, written: &[u32]) {
        let pages: Vec<u32> =
            (number * self.flash.pages..(number + 1) * self.flash.pages).collect();
        let fresh = self.flash.take();
        self.flash.gather_densely(&pages, fresh, written);
        self.flash.erase(self.blocks[number as usize].replace(fresh).unwrap());
        self.flash.count(Merge::Full);
    }
}

impl Drive for Mapping {
    fn write(&mut self, first: u32, count: u32) {
        let (size, pages) = (self.flash.pages, (first..first + count).collect::<Vec<u32>>());
        pages.chunk_by(|a, b| a / size == b / size).for_each(|pages| self.write_block(pages));
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
            let number = pages[0] / size;
            let block = self.blocks[number as usize].unwrap();
            if self.flash.is_full(block) {
                self.write_anew(number, &[]);
            } else {
                self.flash.bury(pages, block, self.flash.top(block));
            }
        }
    }

    fn counts(&self) -> Counts {
        self.flash.counts
    }
}
