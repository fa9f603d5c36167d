//! Replacement blocks: a chain of physical blocks for each logical block, every page at its own offset in each.

use std::collections::BTreeSet;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::records::{Flash, Shape};
use super::super::{Counts, Drive, DriveReference};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "replacement")],
        from: "its page, and Kim and Ahn, BPLRU, section 2.2: several physical blocks for a logical one, in the order of their making",
        pair,
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let shape = Shape::draw(random, 2);
    let limit = random.random::<bool>().then(|| random.random_range(2..=4));
    let mut flash = Flash::new(&shape);
    let chain = |number| if shape.full { vec![flash.take_full(number * shape.pages)] } else { Vec::new() };
    let chains = (0..shape.exported).map(chain).collect();
    let mapping = limit.map_or(json!("replacement"), |limit| {
        json!({"kind": "replacement", "chain_limit": limit})
    });
    (shape.config(mapping), Box::new(Mapping { flash, chains, limit }))
}

struct Mapping {
    flash: Flash,
    /// Oldest block first.
    chains: Vec<Vec<u32>>,
    limit: Option<u32>,
}

impl Mapping {
    fn write_page(&mut self, page: u32) {
        let (number, slot) = ((page / self.flash.pages) as usize, page % self.flash.pages);
        loop {
            if let Some(&block) = self.chains[number].iter().find(|&&block| self.flash.is_open(block, slot)) {
                return self.flash.store(page, block, slot);
            }
            if self.limit.is_some_and(|limit| self.chains[number].len() == limit as usize) {
                self.fold(number);
            } else if self.flash.erased() > 1 {
                // One is kept for a fold.
                let block = self.flash.take();
                self.chains[number].push(block);
            } else {
                let longest = self.chains.iter().map(Vec::len).max().unwrap();
                let victim = self.chains.iter().position(|chain| chain.len() == longest).unwrap();
                self.fold(victim);
            }
        }
    }

    fn pages_of(&self, number: usize) -> std::ops::Range<u32> {
        number as u32 * self.flash.pages..(number as u32 + 1) * self.flash.pages
    }

    /// Into the last block of the chain, where its slots are erased, else into an erased block.
    fn fold(&mut self, number: usize) {
        let last = *self.chains[number].last().unwrap();
        let mut lacking = self.flash.valid(self.pages_of(number));
        lacking.retain(|&page| self.flash.find(page).unwrap().block != last);
        if !lacking.iter().all(|&page| self.flash.is_open(last, page % self.flash.pages)) {
            return self.fold_anew(number, &BTreeSet::new());
        }
        for &page in &lacking {
            self.flash.copy(page, last, page % self.flash.pages);
        }
        self.replace(number, last);
        if lacking.is_empty() {
            self.flash.counts.switch_merges += 1;
        } else {
            self.flash.counts.partial_merges += 1;
        }
    }

    fn fold_anew(&mut self, number: usize, buried: &BTreeSet<u32>) {
        let fresh = self.flash.take();
        for page in self.pages_of(number) {
            if buried.contains(&page) {
                self.flash.bury(page, fresh, page % self.flash.pages);
            } else if self.flash.find(page).is_some() {
                self.flash.copy(page, fresh, page % self.flash.pages);
            }
        }
        self.replace(number, fresh);
        self.flash.counts.full_merges += 1;
    }

    fn replace(&mut self, number: usize, by: u32) {
        for block in std::mem::replace(&mut self.chains[number], vec![by]) {
            if block != by {
                self.flash.erase(block);
            }
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
        for number in 0..self.chains.len() {
            let owed = self.flash.owed().into_iter().filter(|page| self.pages_of(number).contains(page));
            let owed: BTreeSet<u32> = owed.collect();
            if !owed.is_empty() {
                self.fold_anew(number, &owed);
            }
        }
    }

    fn counts(&self) -> Counts {
        self.flash.counts
    }
}
