//! Hybrid mapping: one physical block for each logical block, pages in it in the order of writing.

use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::records::{Flash, Shape};
use super::super::{Counts, Drive, DriveReference};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "hybrid")],
        from: "its page, and Kim and Ahn, BPLRU, section 2.2: a sector's position is not fixed inside the block",
        pair,
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let shape = Shape::draw(random, 1);
    let mut flash = Flash::new(&shape);
    let block = |number| shape.full.then(|| flash.take_full(number * shape.pages));
    let blocks = (0..shape.exported).map(block).collect();
    (shape.config(json!("hybrid")), Box::new(Mapping { flash, blocks }))
}

struct Mapping {
    flash: Flash,
    blocks: Vec<Option<u32>>,
}

impl Mapping {
    /// Pages of one logical block are written, or buried: one after the other while there is room; a full block is written
    /// anew, with those that are left.
    fn add(&mut self, pages: &[u32], are_written: bool) {
        let size = self.flash.pages;
        let Some(number) = pages.first().map(|page| page / size) else { return };
        let block = *self.blocks[number as usize].get_or_insert_with(|| self.flash.take());
        for (done, &page) in pages.iter().enumerate() {
            if self.flash.is_full(block) {
                return self.write_anew(number, &pages[done..], are_written);
            }
            let slot = self.flash.top(block);
            if are_written {
                self.flash.store(page, block, slot);
            } else {
                self.flash.bury(page, block, slot);
            }
        }
    }

    /// In the order of offsets.
    fn write_anew(&mut self, number: u32, pages: &[u32], are_written: bool) {
        let fresh = self.flash.take();
        for page in number * self.flash.pages..(number + 1) * self.flash.pages {
            let slot = self.flash.top(fresh);
            if pages.contains(&page) && are_written {
                self.flash.store(page, fresh, slot);
            } else if pages.contains(&page) {
                self.flash.bury(page, fresh, slot);
            } else if self.flash.find(page).is_some() {
                self.flash.copy(page, fresh, slot);
            }
        }
        self.flash.erase(self.blocks[number as usize].replace(fresh).unwrap());
        self.flash.counts.full_merges += 1;
    }

    fn add_by_block(&mut self, pages: &[u32], are_written: bool) {
        let size = self.flash.pages;
        pages.chunk_by(|a, b| a / size == b / size).for_each(|pages| self.add(pages, are_written));
    }
}

impl Drive for Mapping {
    fn write(&mut self, first: u32, count: u32) {
        self.add_by_block(&(first..first + count).collect::<Vec<_>>(), true);
    }

    fn read(&mut self, first: u32, count: u32) {
        self.flash.read(first, count);
    }

    fn trim(&mut self, first: u32, count: u32) {
        self.flash.trim(first, count);
    }

    fn flush(&mut self) {
        self.add_by_block(&self.flash.owed(), false);
    }

    fn counts(&self) -> Counts {
        self.flash.counts
    }
}
