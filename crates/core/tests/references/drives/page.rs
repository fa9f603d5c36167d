//! Page mapping on one unit and on several: a map, blocks that are filled in turn, and collection.

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Counts, Drive, DriveReference};
use super::page_allocators::{Allocator, Kind, Tie};
use super::page_store::{Owner, Rules, Store, Stream};
use super::page_victims::Policy;
use super::page_wear::Wear;

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
            ("victim", "random"),
            ("victim", "d-choices"),
            ("victim", "rga"),
            ("allocator", "round-robin"),
            ("allocator", "static"),
            ("allocator", "dynamic"),
            ("allocator", "non-striping"),
        ],
        from: "their pages, the multi-bank thesis, sections 4.1 and 5.1, and what ftl.gc says in \
            the reference",
        pair,
    }
}

/// A victim policy with options drawn at random.
pub fn draw_victim(random: &mut Pcg64Mcg, seed: u64) -> (Value, Policy) {
    match random.random_range(0..10) {
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
            (
                json!({"kind": "cat", "age": if steps { "steps" } else { "plain" }}),
                Policy::Cat { steps },
            )
        }
        5 => {
            let steepness = [0.5, 1.0, 4.0, 16.0][random.random_range(0..4)];
            (
                json!({"kind": "leveling-degree", "steepness": steepness}),
                Policy::LevelingDegree(steepness),
            )
        }
        6 => (json!("locality-gathering"), Policy::LocalityGathering),
        7 => {
            let percent = random.random_range(0..=20) * 5;
            let share = percent as f64 / 100.0;
            (
                json!({"kind": "random", "least_invalid": share, "seed": seed}),
                Policy::Random(percent),
            )
        }
        8 => {
            let d = random.random_range(1..=6);
            (json!({"kind": "d-choices", "d": d, "seed": seed}), Policy::DChoices(Some(d)))
        }
        _ => (json!({"kind": "rga", "seed": seed}), Policy::DChoices(None)),
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let seed = random.random_range(1..=3);
    let (victim, policy) = draw_victim(random, seed);
    let shape = if random.random() { [1; 4] } else { draw_shape(random) };
    let (allocator, chooses) = draw_allocator(random, shape);
    let units = chooses.units();
    let pages_per_block = random.random_range(1..=8);
    let exported = units * random.random_range(2..=if units > 1 { 4 } else { 8 });
    let regions = if random.random_range(0..3) == 0 { random.random_range(2..=3) } else { 1 };
    let free_blocks = random.random_range(1..=3);
    let pool = chooses.pool_of_unit(0).len();
    let most = (0..units)
        .map(|unit| chooses.pages_of(unit, exported * pages_per_block))
        .max()
        .unwrap_or(0);
    // Blocks that hold data, one for each unit that may be given more than the others, the reserve;
    // and more.
    let data = most.div_ceil(pages_per_block * pool) + usize::from(pool > 1);
    let blocks = data + free_blocks + 1 + random.random_range(0..=4);
    let region_pages = random.random_range(1..=2 * exported * pages_per_block);
    let full: bool = random.random();
    let spread = pool > 1 && random.random();
    let [channels, chips, dies, planes] = chooses.shape;
    let mut over = json!({
        "nand": {
            "channels": channels, "chips_per_channel": chips, "dies_per_chip": dies, "planes_per_die": planes,
            "blocks_per_plane": blocks, "pages_per_block": pages_per_block,
        },
        "ftl": {
            "exported": format!("{} KiB", exported * pages_per_block * 4),
            "mapping": "page",
            "allocator": allocator,
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
    if random.random_range(0..4) == 0 {
        over["ftl"]["wear"] = json!("none");
    }
    let rules = Rules {
        pages_per_block,
        free_blocks,
        share: Rules::share(most, pool, blocks, free_blocks, pages_per_block),
        regions,
        region_pages: region_pages as u64,
        spread,
        victim: policy,
        seed,
    };
    (over, Box::new(Mapping::new(rules, chooses, blocks, exported * pages_per_block, full)))
}

/// Channels, chips a channel, dies a chip, planes a die: one unit to sixteen.
pub fn draw_shape(random: &mut Pcg64Mcg) -> [u32; 4] {
    std::array::from_fn(|_| random.random_range(1..=2))
}

/// An allocator with options drawn at random, over one unit or several.
pub fn draw_allocator(random: &mut Pcg64Mcg, shape: [u32; 4]) -> (Value, Allocator) {
    let stripe = random.random_range(1..=5);
    let (tie, named) =
        [(Tie::Turn, "turn"), (Tie::FreePages, "free-pages"), (Tie::Lowest, "lowest")]
            [random.random_range(0..3)];
    match random.random_range(0..4) {
        0 => (
            json!({"kind": "round-robin", "striping_unit": stripe}),
            Allocator::new(Kind::RoundRobin, stripe, shape),
        ),
        1 => {
            let mut letters = vec!['C', 'W', 'D', 'P'];
            let order: String =
                (0..4).map(|_| letters.remove(random.random_range(0..letters.len()))).collect();
            (
                json!({"kind": "static", "order": order, "striping_unit": stripe}),
                Allocator::new(Kind::Static(order), stripe, shape),
            )
        }
        2 => {
            let (pool, kept) = [("ssd", ""), ("channel", "C"), ("chip", "CW"), ("plane", "CWDP")]
                [random.random_range(0..4)];
            (
                json!({"kind": "dynamic", "pool": pool, "striping_unit": stripe, "tie": named}),
                Allocator::new(Kind::Dynamic(kept, tie), stripe, shape),
            )
        }
        _ => (
            json!({"kind": "non-striping", "tie": named}),
            Allocator::new(Kind::NonStriping(tie), 1, shape),
        ),
    }
}

/// A page map over a store.
pub struct Mapping {
    store: Store,
    allocator: Allocator,
}

impl Mapping {
    pub fn new(
        rules: Rules,
        allocator: Allocator,
        blocks: usize,
        pages: usize,
        full: bool,
    ) -> Self {
        Self::levelled(rules, allocator, None, blocks, pages, full)
    }

    /// The same, with a wear leveller.
    pub fn levelled(
        rules: Rules,
        allocator: Allocator,
        wear: Option<Wear>,
        blocks: usize,
        pages: usize,
        full: bool,
    ) -> Self {
        let per_block = rules.pages_per_block as u32;
        // A pool is known by its first unit.
        let pool_of_page: Vec<usize> =
            (0..pages as u32).map(|page| allocator.pool(page)[0]).collect();
        let pool_of_unit =
            (0..allocator.units()).map(|unit| allocator.pool_of_unit(unit)[0]).collect();
        let mut store = Store::new(rules, blocks, pool_of_unit, pool_of_page);
        store.wear = wear;
        let mut mapping = Self { store, allocator };
        if full {
            for first in (0..pages as u32).step_by(per_block as usize) {
                mapping.write(first, per_block);
            }
            mapping.store.counts = Counts::default();
        }
        mapping
    }

    pub fn pages(&self) -> u32 {
        self.store.pool_of_page.len() as u32
    }

    /// Swaps of the wear leveller, and those from one unit to another.
    pub fn swaps(&self) -> (u64, u64) {
        self.store.wear.as_ref().map_or((0, 0), |wear| (wear.swaps, wear.crossings))
    }

    /// The unit for a fresh page of a pool, after collection where there is no room.
    fn pick(&mut self, pool: usize, owner: Owner) -> Option<(usize, Stream)> {
        let stream = self.store.fresh(owner);
        let unit = self.allocator.pick(&mut self.store, pool, stream);
        if unit.is_none() {
            self.store.collect();
        }
        unit.map(|unit| (unit, stream))
    }

    fn put(&mut self, pool: usize, (unit, stream): (usize, Stream), owner: Owner) {
        self.store.write(unit, stream, owner);
        self.allocator.placed(pool, unit);
    }
}

impl Drive for Mapping {
    fn write(&mut self, first: u32, count: u32) {
        let per_block = self.store.rules.pages_per_block as u32;
        self.allocator.begin();
        for number in first / per_block..=(first + count - 1) / per_block {
            for page in first.max(number * per_block)..(first + count).min((number + 1) * per_block)
            {
                let (pool, owner) = (self.store.pool_of_page[page as usize], Owner::Page(page));
                let place = std::iter::repeat_with(|| self.pick(pool, owner))
                    .take(100)
                    .find_map(|place| place);
                self.put(pool, place.expect("collection makes room"), owner);
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

    fn flush(&mut self) {
        for pool in 0..self.store.units.len() {
            // What is collected meanwhile may have them written ahead of an erase.
            while self.store.has_trimmed(pool) {
                let Some(place) = self.pick(pool, Owner::Tombstone(u32::MAX)) else { continue };
                let tombstone = self.store.tombstone(pool).expect("trimmed pages");
                self.put(pool, place, tombstone);
            }
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
