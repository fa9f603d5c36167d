//! W-TinyLFU: Einziger, Friedman and Manes (ACM TOS 13(4), 2017), sections 3 (the sketch, its
//! reset, the doorkeeper) and 4 (the window before a segmented LRU).

use std::collections::{BTreeMap, BTreeSet};

use eraseblock_core::buffer::{Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::kit::{draw_share, leaves, share, store, take};
use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference {
        scheme: "w-tinylfu",
        from: "sections 3 and 4 of the paper, its page",
        least_capacity: 1,
        pair,
    }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let (allocate, smallest, doorkeeper): (bool, bool, bool) =
        (random.random(), random.random(), random.random());
    let (window, protected) = (draw_share(random), draw_share(random));
    let sample = random.random_range(1..=12);
    let config = json!({
        "kind": "w-tinylfu",
        "reads": if allocate { "allocate" } else { "bypass" },
        "window": window,
        "protected": protected,
        "sample": sample,
        "update": if smallest { "smallest" } else { "all" },
        "doorkeeper": doorkeeper,
    });
    let window = share(window, shape.capacity).max(1);
    let main = shape.capacity as usize - window;
    let reference = WTinyLfu {
        allocate,
        window_size: window,
        main_size: main,
        protected_size: share(protected, main as u32),
        sketch: Sketch::new(shape.capacity, sample, smallest, doorkeeper),
        ..WTinyLfu::default()
    };
    (config, Box::new(reference))
}

/// The finaliser of `SplitMix64`.
fn spread(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A Bloom filter of so many bits.
struct Door {
    bits: u64,
    set: BTreeSet<u64>,
}

impl Door {
    fn places(&self, page: u32) -> [u64; 3] {
        let hash = spread(u64::from(page) + (1 << 32));
        let (a, b) = (hash % (1 << 32), (hash >> 32) | 1);
        [0, 1, 2].map(|n| (a + n * b) % self.bits)
    }

    fn has(&self, page: u32) -> bool {
        self.places(page).iter().all(|place| self.set.contains(place))
    }
}

/// How often each page was used of late: a count-min sketch.
#[derive(Default)]
struct Sketch {
    smallest: bool,
    doorkeeper: Option<Door>,
    /// Counters by block, row and place in the row.
    counters: BTreeMap<(u64, usize, u64), u8>,
    blocks: u64,
    sample: u32,
    added: u32,
}

impl Sketch {
    const ROWS: usize = 4;
    const ROW_OF_A_BLOCK: u64 = 32;

    fn new(capacity: u32, sample: u32, smallest: bool, doorkeeper: bool) -> Self {
        let sample = sample * capacity;
        let bits = 64 * u64::from(sample.div_ceil(16).next_power_of_two());
        Self {
            smallest,
            doorkeeper: doorkeeper.then(|| Door { bits, set: BTreeSet::new() }),
            counters: BTreeMap::new(),
            blocks: u64::from(capacity.div_ceil(8).next_power_of_two()),
            sample,
            added: 0,
        }
    }

    /// The counter of a page in each row.
    fn slots(&self, page: u32) -> [(u64, usize, u64); Self::ROWS] {
        let hash = spread(u64::from(page));
        let block = (hash >> 32) % self.blocks;
        std::array::from_fn(|row| {
            (block, row, u64::from(hash.to_le_bytes()[row]) % Self::ROW_OF_A_BLOCK)
        })
    }

    fn counts(&self, page: u32) -> [u8; Self::ROWS] {
        self.slots(page).map(|slot| self.counters.get(&slot).copied().unwrap_or(0))
    }

    fn estimate(&self, page: u32) -> u32 {
        let least = self.counts(page).into_iter().min().expect("four rows");
        let at_the_door = self.doorkeeper.as_ref().is_some_and(|door| door.has(page));
        u32::from(least) + u32::from(at_the_door)
    }

    fn add(&mut self, page: u32) {
        let first = self.doorkeeper.as_ref().is_some_and(|door| !door.has(page));
        if first {
            let door = self.doorkeeper.as_mut().expect("it was asked");
            door.set.extend(door.places(page));
        } else {
            let counts = self.counts(page);
            let least = *counts.iter().min().expect("four rows");
            for (slot, count) in self.slots(page).into_iter().zip(counts) {
                if !self.smallest || count == least {
                    self.counters.insert(slot, (count + 1).min(15));
                }
            }
        }
        // Section 3.3: after a sample all counters are divided by two, that of additions too.
        self.added += 1;
        if self.added == self.sample {
            self.added /= 2;
            self.counters.values_mut().for_each(|counter| *counter /= 2);
            if let Some(door) = &mut self.doorkeeper {
                door.set.clear();
            }
        }
    }
}

#[derive(Default)]
struct WTinyLfu {
    allocate: bool,
    window_size: usize,
    main_size: usize,
    protected_size: usize,
    window: Vec<u32>,
    probation: Vec<u32>,
    protected: Vec<u32>,
    sketch: Sketch,
    dirty: BTreeSet<u32>,
}

impl WTinyLfu {
    /// The host wants these stored; a write buffer lets them go, and remembers none of them.
    fn store(&mut self, pages: impl IntoIterator<Item = u32>) -> Decisions {
        let mut out = Decisions::default();
        for left in store(&mut out, &mut self.dirty, self.allocate, pages) {
            self.trim(left);
        }
        out
    }

    /// The page that drops out of the window wants to enter the main part. Returns the one that
    /// leaves the buffer.
    fn admit(&mut self, candidate: u32) -> Option<u32> {
        if self.probation.len() + self.protected.len() < self.main_size {
            self.probation.insert(0, candidate);
            return None;
        }
        let from =
            if self.probation.is_empty() { &mut self.protected } else { &mut self.probation };
        match from.last() {
            Some(&victim) if self.sketch.estimate(candidate) > self.sketch.estimate(victim) => {
                from.pop();
                self.probation.insert(0, candidate);
                Some(victim)
            }
            _ => Some(candidate),
        }
    }

    fn hit(&mut self, page: u32) {
        if take(&mut self.window, page) {
            self.window.insert(0, page);
            return;
        }
        take(&mut self.probation, page);
        take(&mut self.protected, page);
        self.protected.insert(0, page);
        if self.protected.len() > self.protected_size {
            let last = self.protected.pop().expect("it has one more than its size");
            self.probation.insert(0, last);
        }
    }

    fn holds(&self, page: u32) -> bool {
        [&self.window, &self.probation, &self.protected].iter().any(|list| list.contains(&page))
    }
}

impl Buffer for WTinyLfu {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        for Lpn(page) in span.pages() {
            let held = self.holds(page);
            out.hits.push(held);
            if !span.write && !self.allocate {
                continue;
            }
            self.sketch.add(page);
            if held {
                self.hit(page);
            } else {
                if self.window.len() == self.window_size {
                    let candidate = self.window.pop().expect("the window has at least a page");
                    if let Some(left) = self.admit(candidate) {
                        leaves(&mut out, &mut self.dirty, left);
                    }
                }
                self.window.insert(0, page);
            }
            if span.write {
                self.dirty.insert(page);
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        for list in [&mut self.window, &mut self.probation, &mut self.protected] {
            take(list, page);
        }
        self.dirty.remove(&page);
    }

    fn flush(&mut self) -> Decisions {
        let lists = [&self.window, &self.probation, &self.protected];
        let order: Vec<u32> = lists.iter().flat_map(|list| list.iter().rev()).copied().collect();
        self.store(order)
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        self.store(first..first + count)
    }
}
