//! W-TinyLFU: Einziger, Friedman and Manes (ACM TOS 13(4), 2017), sections 3 (the sketch, its reset, the doorkeeper)
//! and 4 (the window before a segmented LRU).

use std::collections::BTreeSet;

use eraseblock_core::buffer::{Shape, Span, View};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::kit::{draw_share, leaves, share, take, write_back};
use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference {
        scheme: "w-tinylfu",
        from: "sections 3 and 4 of the paper, its page",
        least_capacity: 2,
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

/// How often each page was used of late: a count-min sketch.
#[derive(Default)]
struct Sketch {
    smallest: bool,
    doorkeeper: Option<BTreeSet<u32>>,
    rows: Vec<Vec<u8>>,
    sample: u32,
    added: u32,
}

impl Sketch {
    const ROWS: usize = 4;

    fn new(capacity: u32, sample: u32, smallest: bool, doorkeeper: bool) -> Self {
        let width = (4 * capacity).next_power_of_two() as usize;
        Self {
            smallest,
            doorkeeper: doorkeeper.then(BTreeSet::new),
            rows: vec![vec![0; width]; Self::ROWS],
            sample: sample * capacity,
            added: 0,
        }
    }

    /// The counter of a page in each row. The page of the scheme does not say how pages are hashed: here they are not.
    fn slots(&self, page: u32) -> Vec<usize> {
        self.rows.iter().map(|row| page as usize % row.len()).collect()
    }

    fn counts(&self, page: u32) -> Vec<u8> {
        self.slots(page).iter().zip(&self.rows).map(|(&slot, row)| row[slot]).collect()
    }

    fn estimate(&self, page: u32) -> u32 {
        let least = self.counts(page).into_iter().min().expect("four rows");
        let at_the_door = self.doorkeeper.as_ref().is_some_and(|door| door.contains(&page));
        u32::from(least) + u32::from(at_the_door)
    }

    fn add(&mut self, page: u32) {
        let first = self.doorkeeper.as_mut().is_some_and(|door| door.insert(page));
        if !first {
            let counts = self.counts(page);
            let least = *counts.iter().min().expect("four rows");
            for (row, slot) in self.slots(page).into_iter().enumerate() {
                if !self.smallest || counts[row] == least {
                    self.rows[row][slot] = (counts[row] + 1).min(15);
                }
            }
        }
        // Section 3.3: after a sample all counters are divided by two, that of additions too.
        self.added += 1;
        if self.added == self.sample {
            self.added /= 2;
            self.rows.iter_mut().flatten().for_each(|counter| *counter /= 2);
            if let Some(door) = &mut self.doorkeeper {
                door.clear();
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
    /// The page that drops out of the window wants to enter the main part. Returns the one that leaves the buffer.
    fn admit(&mut self, candidate: u32) -> Option<u32> {
        if self.probation.len() + self.protected.len() < self.main_size {
            self.probation.insert(0, candidate);
            return None;
        }
        let from = if self.probation.is_empty() { &mut self.protected } else { &mut self.probation };
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
        for page in span.first..span.first + span.count {
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
        // The order in which candidates and victims would go, were room made until nothing is left.
        let before = (self.window.clone(), self.probation.clone(), self.protected.clone());
        let mut order = Vec::new();
        while let Some(candidate) = self.window.pop() {
            order.extend(self.admit(candidate));
        }
        order.extend(self.probation.iter().rev());
        order.extend(self.protected.iter().rev());
        (self.window, self.probation, self.protected) = before;
        write_back(&mut self.dirty, order)
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        write_back(&mut self.dirty, first..first + count)
    }
}
