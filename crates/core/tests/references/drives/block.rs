//! Block mapping: every page at its own offset of one physical block.

use std::collections::BTreeSet;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Counts, Drive, DriveReference};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "block")],
        from: "its page, and Kim and Ahn, BPLRU, section 2.2",
        pair,
    }
}

const PAGES: u32 = 4;
const BLOCKS: u32 = 8;

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let full: bool = random.random();
    let block =
        || Block { written: if full { PAGES } else { 0 }, valid: (0..PAGES).filter(|_| full).collect() };
    let over = json!({
        "ftl": {"mapping": "block"},
        "precondition": {"state": if full { "full" } else { "empty" }},
    });
    (over, Box::new(Mapping { blocks: (0..BLOCKS).map(|_| block()).collect(), counts: Counts::default() }))
}

/// A physical block with pages below `written` programmed, or passed over.
struct Block {
    written: u32,
    valid: BTreeSet<u32>,
}

struct Mapping {
    blocks: Vec<Block>,
    counts: Counts,
}

impl Drive for Mapping {
    fn write(&mut self, first: u32, count: u32) {
        for number in first / PAGES..=(first + count - 1) / PAGES {
            let start = number * PAGES;
            let pages: BTreeSet<u32> =
                (first.max(start)..(first + count).min(start + PAGES)).map(|page| page - start).collect();
            let block = &mut self.blocks[number as usize];
            let in_place = *pages.first().unwrap() >= block.written;
            if !in_place {
                let copied = block.valid.difference(&pages).count() as u64;
                self.counts.reads += copied;
                self.counts.programs += copied;
                self.counts.erases += 1;
                self.counts.full_merges += 1;
                block.written = 0;
            }
            self.counts.programs += pages.len() as u64;
            block.valid.extend(&pages);
            block.written = block.written.max(block.valid.last().unwrap() + 1);
        }
    }

    fn read(&mut self, first: u32, count: u32) {
        let is_valid = |page: &u32| self.blocks[(page / PAGES) as usize].valid.contains(&(page % PAGES));
        self.counts.reads += (first..first + count).filter(is_valid).count() as u64;
    }

    fn trim(&mut self, first: u32, count: u32) {
        for page in first..first + count {
            self.blocks[(page / PAGES) as usize].valid.remove(&(page % PAGES));
        }
    }

    fn flush(&mut self) {}

    fn counts(&self) -> Counts {
        self.counts
    }
}
