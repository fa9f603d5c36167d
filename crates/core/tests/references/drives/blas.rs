//! BLAS without time, so without idle moments: page mapping in which each logical block is written to one unit, and collection.

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Counts, Drive, DriveReference};
use super::page::draw_victim;
use super::page_store::{Owner, Rules, Store, Stream};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "blas")],
        from: "Kim, Park and Youn, SUPA, sections 3.3 and 4.2, its page, and what ftl.gc says in the reference",
        pair,
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let (channels, chips) = (random.random_range(1..=4usize), random.random_range(1..=2usize));
    let units = channels * chips;
    let size = [2, 4, 8][random.random_range(0..3)];
    let exported = random.random_range(1..=9usize).max(units * random.random_range(1..=3));
    let is_kept: bool = random.random();
    let full: bool = random.random();
    let seed = random.random_range(1..=3);
    let (victim, policy) = draw_victim(random, seed);
    let regions = if random.random_range(0..4) == 0 { random.random_range(2..=3) } else { 1 };
    let region_pages = random.random_range(1..=2 * exported * size);
    let free_blocks = random.random_range(1..=3);
    let spread = units > 1 && random.random_range(0..3) == 0;
    // Blocks that hold data, one for each unit that may be given more than the others, the reserve; and more.
    let data = exported.div_ceil(units) + usize::from(units > 1);
    let blocks = data + free_blocks + 1 + random.random_range(0..=4);
    let over = json!({
        "nand": {
            "channels": channels, "chips_per_channel": chips, "pages_per_block": size, "blocks_per_plane": blocks,
        },
        "ftl": {
            "exported": format!("{} KiB", exported * size * 4),
            "mapping": {
                "kind": "blas", "placement": if is_kept { "kept" } else { "turn" },
                "threshold": random.random_range(1..=2), "long_read": random.random_range(1..=2),
                "score": if random.random() { "reads" } else { "long-reads" },
            },
            "victim": victim,
            "gc": {
                "free_blocks": free_blocks,
                "step_pages": random.random_range(1..=8),
                "grain": (["steps", "victim", "all"][random.random_range(0..3)]),
                "cost": if random.random() { "full" } else { "free" },
                "copies": if spread { "spread" } else { "unit" },
                "regions": regions,
                "region_pages": region_pages,
            },
        },
        "precondition": {"state": if full { "full" } else { "empty" }},
    });
    let pages = exported * size;
    // A unit may run ahead of the others by half of its spare pages.
    let even = pages.div_ceil(units);
    let usable = (blocks - free_blocks - 1) * size - usize::from(units > 1);
    let rules = Rules {
        pages_per_block: size,
        free_blocks,
        share: (even + (blocks * size - even) / 2).min(usable).max(even),
        regions,
        region_pages: region_pages as u64,
        spread,
        victim: policy,
        seed,
    };
    let mut drive = Gathered {
        size: size as u32,
        is_kept,
        next: 0,
        next_of_tombstones: 0,
        of_block: vec![None; exported],
        store: Store::new(rules, blocks, vec![0; units], vec![0; pages]),
    };
    if full {
        drive.write(0, pages as u32);
        drive.store.counts = Counts::default();
    }
    (over, Box::new(drive))
}

struct Gathered {
    size: u32,
    is_kept: bool,
    /// The unit whose turn it is.
    next: usize,
    next_of_tombstones: usize,
    /// Where pages of each block were written last.
    of_block: Vec<Option<usize>>,
    store: Store,
}

impl Gathered {
    /// The first unit that takes a page, from this one on.
    fn in_turn(&mut self, first: usize, stream: Stream) -> Option<usize> {
        let units = self.store.units.len();
        (first..first + units).map(|unit| unit % units).find(|&unit| self.store.takes(unit, stream))
    }

    /// A page of a block goes to the block's unit, and where that has no room, to the next in turn that has.
    fn try_unit(&mut self, unit: Option<usize>, stream: Stream) -> Option<usize> {
        if let Some(unit) = unit.filter(|&unit| self.store.takes(unit, stream)) {
            return Some(unit);
        }
        let found = self.in_turn(self.next, stream)?;
        self.next = (found + 1) % self.store.units.len();
        Some(found)
    }
}

impl Drive for Gathered {
    fn write(&mut self, first: u32, count: u32) {
        for number in first / self.size..=(first + count - 1) / self.size {
            let start = number * self.size;
            let mut unit = self.of_block[number as usize].filter(|_| self.is_kept);
            for page in first.max(start)..(first + count).min(start + self.size) {
                let owner = Owner::Page(page);
                let mut tries = 0;
                let found = loop {
                    let stream = self.store.fresh(owner);
                    if let Some(found) = self.try_unit(unit, stream) {
                        self.store.write(found, stream, owner);
                        break found;
                    }
                    tries += 1;
                    assert!(tries < 100, "collection makes room");
                    self.store.collect();
                };
                unit = Some(found);
                self.of_block[number as usize] = unit;
            }
            self.store.collect();
        }
    }

    fn read(&mut self, first: u32, count: u32) {
        let stored = |page: &u32| self.store.places.contains_key(&Owner::Page(*page));
        self.store.counts.reads += (first..first + count).filter(stored).count() as u64;
    }

    fn trim(&mut self, first: u32, count: u32) {
        (first..first + count).for_each(|page| self.store.trim(page));
    }

    /// One tombstone lists all that was trimmed.
    fn flush(&mut self) {
        // What is collected meanwhile may have them written ahead of an erase.
        while self.store.has_trimmed(0) {
            let stream = self.store.fresh(Owner::Tombstone(u32::MAX));
            let Some(unit) = self.in_turn(self.next_of_tombstones, stream) else {
                self.store.collect();
                continue;
            };
            self.next_of_tombstones = (unit + 1) % self.store.units.len();
            let tombstone = self.store.tombstone(0).expect("trimmed pages");
            self.store.write(unit, stream, tombstone);
        }
        self.store.collect();
    }

    fn counts(&self) -> Counts {
        self.store.counts
    }

    fn erases(&self) -> Option<Vec<u32>> {
        Some(self.store.erases())
    }

    fn units(&self) -> Option<Vec<Option<u32>>> {
        let unit = |page| self.store.places.get(&Owner::Page(page)).map(|place| place.0 as u32);
        Some((0..self.store.pool_of_page.len() as u32).map(unit).collect())
    }
}
