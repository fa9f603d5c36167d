//! W-TinyLFU: LRU lists, and counters in plain arrays; only the hash functions are the scheme's own.

use eraseblock_core::buffer::Shape;
use eraseblock_core::support::sketch::{Bloom, Sketch, Update};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::Pair;
use super::paged::{self, Order, share, slots};

struct WTinyLfu {
    window_size: usize,
    main_size: usize,
    protected_size: usize,
    /// The page used last at the end.
    window: Vec<u32>,
    probation: Vec<u32>,
    protected: Vec<u32>,
    uses: Uses,
}

struct Uses {
    /// Say where a page's counters and bits are.
    sketch: Sketch,
    bloom: Bloom,
    counters: Vec<u32>,
    door: Vec<usize>,
    doorkeeper: bool,
    smallest: bool,
    sample: usize,
    seen: usize,
}

impl Uses {
    fn new(capacity: usize, sample: usize, smallest: bool, doorkeeper: bool) -> Self {
        let sketch = Sketch::new(capacity, Update::All);
        Self {
            counters: vec![0; sketch.counters()],
            sketch,
            bloom: Bloom::new(sample * capacity),
            door: Vec::new(),
            doorkeeper,
            smallest,
            sample: sample * capacity,
            seen: 0,
        }
    }

    fn at_the_door(&self, page: u32) -> bool {
        self.doorkeeper && self.bloom.places(page).iter().all(|bit| self.door.contains(bit))
    }

    fn counted(&self, page: u32) -> u32 {
        self.sketch.places(page).iter().map(|&place| self.counters[place]).min().unwrap()
    }

    fn add(&mut self, page: u32) {
        if self.doorkeeper && !self.at_the_door(page) {
            self.door.extend(self.bloom.places(page));
        } else {
            let least = self.counted(page);
            for place in self.sketch.places(page) {
                let counter = &mut self.counters[place];
                if !self.smallest || *counter == least {
                    *counter = (*counter + 1).min(15);
                }
            }
        }
        self.seen += 1;
        if self.seen == self.sample {
            self.seen /= 2;
            self.counters.iter_mut().for_each(|counter| *counter /= 2);
            self.door.clear();
        }
    }

    fn estimate(&self, page: u32) -> u32 {
        self.counted(page) + u32::from(self.at_the_door(page))
    }
}

impl WTinyLfu {
    fn duel(&mut self, candidate: u32) -> Option<u32> {
        if self.probation.len() + self.protected.len() < self.main_size {
            self.probation.push(candidate);
            return None;
        }
        let list = if self.probation.is_empty() { &mut self.protected } else { &mut self.probation };
        match list.first().copied() {
            Some(victim) if self.uses.estimate(candidate) > self.uses.estimate(victim) => {
                list.remove(0);
                self.probation.push(candidate);
                Some(victim)
            }
            _ => Some(candidate),
        }
    }
}

pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let (window, protected) = (random.random_range(0.0..0.6), random.random_range(0.0..1.0));
    let (sample, smallest, doorkeeper) = (random.random_range(1..12), random.random(), random.random());
    let window_size = share(window, slots(shape)).max(1);
    let main_size = slots(shape) - window_size;
    let slow = WTinyLfu {
        window_size,
        main_size,
        protected_size: share(protected, main_size),
        window: Vec::new(),
        probation: Vec::new(),
        protected: Vec::new(),
        uses: Uses::new(slots(shape), sample, smallest, doorkeeper),
    };
    let fast = json!({
        "kind": "w-tinylfu", "window": window, "protected": protected, "sample": sample,
        "update": if smallest { "smallest" } else { "all" }, "doorkeeper": doorkeeper,
    });
    paged::pair(fast, slow, random)
}

impl Order for WTinyLfu {
    fn hit(&mut self, page: u32) {
        self.uses.add(page);
        if self.window.contains(&page) {
            self.window.retain(|&held| held != page);
            self.window.push(page);
            return;
        }
        self.probation.retain(|&held| held != page);
        self.protected.retain(|&held| held != page);
        self.protected.push(page);
        if self.protected.len() > self.protected_size {
            let last = self.protected.remove(0);
            self.probation.push(last);
        }
    }

    fn miss(&mut self, page: u32) -> Option<u32> {
        self.uses.add(page);
        let victim = if self.window.len() == self.window_size {
            let candidate = self.window.remove(0);
            self.duel(candidate)
        } else {
            None
        };
        self.window.push(page);
        victim
    }

    fn trim(&mut self, page: u32) {
        for list in [&mut self.window, &mut self.probation, &mut self.protected] {
            list.retain(|&held| held != page);
        }
    }

    fn held(&self) -> Vec<u32> {
        [&self.window, &self.probation, &self.protected].into_iter().flatten().copied().collect()
    }
}
