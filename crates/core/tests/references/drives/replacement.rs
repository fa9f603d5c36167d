//! Replacement blocks: a chain of physical blocks for each logical block, every page at its own
//! offset in each.

use std::collections::BTreeSet;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::records::{Flash, Merge, Shape};
use super::super::{Counts, Drive, DriveReference};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "replacement")],
        from: "its page, and Kim and Ahn, BPLRU, section 2.2: several physical blocks for a \
            logical one, in the order of their making",
        pair,
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let shape = Shape::draw(random, 3);
    let limit = random.random::<bool>().then(|| random.random_range(2..=4));
    let mut flash = Flash::new(&shape);
    let chain =
        |number| if shape.full { vec![flash.take_full(number * shape.pages)] } else { Vec::new() };
    let chains = (0..shape.exported).map(chain).collect();
    let mapping = limit
        .map_or(json!("replacement"), |limit| json!({"kind": "replacement", "chain_limit": limit}));
    (shape.config(&mapping), Box::new(Mapping { flash, chains, limit }))
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
            if let Some(&block) =
                self.chains[number].iter().find(|&&block| self.flash.is_open(block, slot))
            {
                return self.flash.store(page, block, slot);
            }
            if self.limit.is_some_and(|limit| self.chains[number].len() == limit as usize) {
                self.fold(number);
            } else if self.flash.erased() > 2 {
                // Two are kept: one to fold into, and one in case power fails.
                let block = self.flash.take();
                self.chains[number].push(block);
            } else {
                let longest = self.chains.iter().map(Vec::len).max().unwrap();
                let victim = self.chains.iter().position(|chain| chain.len() == longest).unwrap();
                self.fold(victim);
            }
        }
    }

    /// Into the last block of the chain, where its slots are erased, else into an erased block.
    fn fold(&mut self, number: usize) {
        let last = *self.chains[number].last().unwrap();
        match self.flash.way(&self.pages_of(number), last, true) {
            Merge::Full => self.fold_into(number, None, Merge::Full),
            way => self.fold_into(number, Some(last), way),
        }
    }

    fn pages_of(&self, number: usize) -> Vec<u32> {
        (number as u32 * self.flash.pages..(number as u32 + 1) * self.flash.pages).collect()
    }

    fn fold_into(&mut self, number: usize, block: Option<u32>, way: Merge) {
        let block = block.unwrap_or_else(|| self.flash.take());
        self.flash.count(way);
        self.flash.gather(&self.pages_of(number), block, &[]);
        for other in std::mem::replace(&mut self.chains[number], vec![block]) {
            if other != block {
                self.flash.erase(other);
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
        let numbers: BTreeSet<u32> =
            self.flash.owed().iter().map(|page| page / self.flash.pages).collect();
        for number in numbers {
            self.fold_into(number as usize, None, Merge::Full);
        }
    }

    fn counts(&self) -> Counts {
        self.flash.counts
    }
}
