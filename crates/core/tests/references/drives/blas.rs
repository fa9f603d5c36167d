//! BLAS without time, so without idle moments: page mapping in which each logical block is written to one unit.

use std::collections::BTreeSet;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Counts, Drive, DriveReference};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "blas")],
        from: "Kim, Park and Youn, SUPA, sections 3.3 and 4.2, and its page",
        pair,
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let (channels, chips) = (random.random_range(1..=4u32), random.random_range(1..=2u32));
    let size = [2, 4, 8][random.random_range(0..3)];
    let blocks = random.random_range(1..=9u32);
    let is_kept: bool = random.random();
    let full: bool = random.random();
    let over = json!({
        // So much that nothing is ever collected.
        "nand": {
            "channels": channels, "chips_per_channel": chips, "pages_per_block": size, "blocks_per_plane": 1500 / size,
        },
        "ftl": {
            "exported": format!("{} KiB", blocks * size * 4),
            "mapping": {
                "kind": "blas", "placement": if is_kept { "kept" } else { "turn" },
                "threshold": random.random_range(1..=2), "long_read": random.random_range(1..=2),
                "score": if random.random() { "reads" } else { "long-reads" },
            },
        },
        "precondition": {"state": if full { "full" } else { "empty" }},
    });
    let mut drive = Gathered {
        size,
        units: channels * chips,
        is_kept,
        next: 0,
        of_block: vec![None; blocks as usize],
        of_page: vec![None; (blocks * size) as usize],
        untold: BTreeSet::new(),
        counts: Counts::default(),
    };
    if full {
        drive.write(0, blocks * size);
        drive.counts = Counts::default();
    }
    (over, Box::new(drive))
}

struct Gathered {
    size: u32,
    units: u32,
    is_kept: bool,
    /// The unit whose turn it is.
    next: u32,
    /// Where pages of each block were written last.
    of_block: Vec<Option<u32>>,
    of_page: Vec<Option<u32>>,
    /// Trimmed pages that no tombstone speaks of.
    untold: BTreeSet<u32>,
    counts: Counts,
}

impl Drive for Gathered {
    fn write(&mut self, first: u32, count: u32) {
        for number in first / self.size..=(first + count - 1) / self.size {
            let start = number * self.size;
            let kept = self.of_block[number as usize].filter(|_| self.is_kept);
            let unit = kept.unwrap_or_else(|| {
                self.next += 1;
                (self.next - 1) % self.units
            });
            self.of_block[number as usize] = Some(unit);
            for page in first.max(start)..(first + count).min(start + self.size) {
                self.of_page[page as usize] = Some(unit);
                self.untold.remove(&page);
                self.counts.programs += 1;
            }
        }
    }

    fn read(&mut self, first: u32, count: u32) {
        let found = &self.of_page[first as usize..(first + count) as usize];
        self.counts.reads += found.iter().flatten().count() as u64;
    }

    fn trim(&mut self, first: u32, count: u32) {
        for page in first..first + count {
            if self.of_page[page as usize].take().is_some() {
                self.untold.insert(page);
            }
        }
    }

    /// One tombstone lists all that was trimmed.
    fn flush(&mut self) {
        self.counts.programs += u64::from(!std::mem::take(&mut self.untold).is_empty());
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn units(&self) -> Option<Vec<Option<u32>>> {
        Some(self.of_page.clone())
    }
}
