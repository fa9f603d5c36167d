//! Page mapping on one unit and on several: a map, blocks that are filled in turn, and collection.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Counts, Drive, DriveReference};
use super::page_allocators::{Allocator, Kind};
use super::page_store::{Owner, Rules, Store};
use super::page_victims::Policy;

inventory::submit! {
    DriveReference {
        covers: &[
            ("mapping", "page"),
            ("leveller", "none"),
            ("victim", "greedy"),
            ("victim", "fifo"),
            ("victim", "windowed-greedy"),
            ("victim", "cost-benefit"),
            ("victim", "cat"),
            ("victim", "leveling-degree"),
            ("victim", "locality-gathering"),
        ],
        from: "their pages, the multi-bank thesis, sections 4.1 and 5.1, and what ftl.gc says in the reference",
        pair: one_unit,
    }
}

/// A victim policy with options drawn at random.
pub fn draw_victim(random: &mut Pcg64Mcg) -> (Value, Policy) {
    match random.random_range(0..7) {
        0 => (json!("greedy"), Policy::Greedy),
        1 => (json!("fifo"), Policy::Fifo),
        2 => {
            let window = [0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 100.0][random.random_range(0..7)];
            (json!({"kind": "windowed-greedy", "window": window}), Policy::Windowed(window))
        }
        3 => {
            let lfs = random.random();
            let formula = if lfs { "lfs" } else { "flash" };
            (json!({"kind": "cost-benefit", "formula": formula}), Policy::CostBenefit { lfs })
        }
        4 => {
            let steps = random.random();
            (json!({"kind": "cat", "age": if steps { "steps" } else { "plain" }}), Policy::Cat { steps })
        }
        5 => {
            let steepness = [0.5, 1.0, 4.0, 16.0][random.random_range(0..4)];
            (json!({"kind": "leveling-degree", "steepness": steepness}), Policy::LevelingDegree(steepness))
        }
        _ => (json!("locality-gathering"), Policy::LocalityGathering),
    }
}

fn one_unit(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let (victim, policy) = draw_victim(random);
    let pages_per_block = random.random_range(1..=8);
    let exported = random.random_range(2..=8);
    let regions = if random.random_range(0..3) == 0 { random.random_range(2..=3) } else { 1 };
    let free_blocks = random.random_range(1..=3);
    // Open blocks of each region, fresh and moved, and the reserve.
    let blocks = exported + 2 * regions + free_blocks + random.random_range(0..=4);
    let region_pages = random.random_range(1..=2 * exported * pages_per_block);
    let full: bool = random.random();
    let over = json!({
        "nand": {"blocks_per_plane": blocks, "pages_per_block": pages_per_block},
        "ftl": {
            "exported": exported * pages_per_block * 4096,
            "mapping": "page",
            "victim": victim,
            "gc": {
                "free_blocks": free_blocks,
                "step_pages": random.random_range(1..=8),
                "grain": (["steps", "victim", "all"][random.random_range(0..3)]),
                "regions": regions,
                "region_pages": region_pages,
            },
        },
        "precondition": {"state": if full { "full" } else { "empty" }},
    });
    let rules = Rules {
        pages_per_block,
        free_blocks,
        regions,
        region_pages: region_pages as u64,
        spread: false,
        victim: policy,
    };
    let allocator = Allocator::new(Kind::RoundRobin, 1, [1; 4]);
    (over, Box::new(Mapping::new(rules, allocator, blocks, exported * pages_per_block, full)))
}

/// A page map over a store.
pub struct Mapping {
    store: Store,
    allocator: Allocator,
    pages: u32,
    /// Pages trimmed since the last flush.
    trimmed: BTreeSet<u32>,
    /// Pages that each tombstone lists and that were not written since.
    tombstones: BTreeMap<u32, BTreeSet<u32>>,
    next_tombstone: u32,
}

impl Mapping {
    pub fn new(rules: Rules, allocator: Allocator, blocks: usize, pages: usize, full: bool) -> Self {
        let units = allocator.units();
        let per_block = rules.pages_per_block as u32;
        let pools = (0..units).map(|_| (0..units).collect()).collect();
        let mut mapping = Self {
            store: Store::new(rules, units, blocks, pools),
            allocator,
            pages: pages as u32,
            trimmed: BTreeSet::new(),
            tombstones: BTreeMap::new(),
            next_tombstone: 0,
        };
        if full {
            for first in (0..mapping.pages).step_by(per_block as usize) {
                mapping.write(first, per_block.min(mapping.pages - first));
            }
            mapping.store.counts = Counts::default();
        }
        mapping
    }

    fn put(&mut self, page: u32, owner: Owner) {
        let unit = self.allocator.pick(&self.store, page);
        self.store.write(unit, owner);
        self.allocator.planned(unit);
    }
}

impl Drive for Mapping {
    fn write(&mut self, first: u32, count: u32) {
        let per_block = self.store.rules.pages_per_block as u32;
        for number in first / per_block..=(first + count - 1) / per_block {
            self.allocator.begin();
            for page in first.max(number * per_block)..(first + count).min((number + 1) * per_block) {
                self.store.touch(Owner::Page(page));
                self.put(page, Owner::Page(page));
                self.trimmed.remove(&page);
                // A tombstone is valid as long as one of its pages has not been written again.
                let emptied = self.tombstones.iter_mut().find_map(|(&tombstone, pages)| {
                    (pages.remove(&page) && pages.is_empty()).then_some(tombstone)
                });
                if let Some(tombstone) = emptied {
                    self.tombstones.remove(&tombstone);
                    self.store.invalidate(Owner::Tombstone(tombstone));
                }
            }
            self.store.collect();
        }
    }

    fn read(&mut self, first: u32, count: u32) {
        let stored = |page: &u32| self.store.places.contains_key(&Owner::Page(*page));
        self.store.counts.reads += (first..first + count).filter(stored).count() as u64;
    }

    fn trim(&mut self, first: u32, count: u32) {
        for page in first..first + count {
            if self.store.places.contains_key(&Owner::Page(page)) {
                self.store.invalidate(Owner::Page(page));
                self.trimmed.insert(page);
            }
        }
    }

    fn flush(&mut self) {
        let pages = std::mem::take(&mut self.trimmed);
        let Some(&first) = pages.first() else { return };
        let tombstone = self.next_tombstone;
        self.next_tombstone += 1;
        self.tombstones.insert(tombstone, pages);
        self.allocator.begin();
        self.put(first, Owner::Tombstone(tombstone));
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
        Some((0..self.pages).map(unit).collect())
    }
}
