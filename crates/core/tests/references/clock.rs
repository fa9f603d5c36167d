//! CLOCK: a ring of pages with counters.

use eraseblock_core::buffer::Shape;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::Pair;
use super::paged::{self, Order, slots};

struct Clock {
    capacity: usize,
    /// What a counter holds at most, and what it begins with.
    most: u32,
    at_first: u32,
    /// Pages and counters from the hand on.
    ring: Vec<(u32, u32)>,
}

pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let (bits, enters_used) = (random.random_range(1..4), random.random::<bool>());
    let slow = Clock {
        capacity: slots(shape),
        most: (1 << bits) - 1,
        at_first: u32::from(enters_used),
        ring: Vec::new(),
    };
    paged::pair(json!({"kind": "clock", "bits": bits, "enters_used": enters_used}), slow, random)
}

impl Order for Clock {
    fn hit(&mut self, page: u32) {
        let at = self.ring.iter().position(|&(held, _)| held == page).unwrap();
        self.ring[at].1 = (self.ring[at].1 + 1).min(self.most);
    }

    fn miss(&mut self, page: u32) -> Option<u32> {
        let victim = (self.ring.len() == self.capacity).then(|| {
            while self.ring[0].1 > 0 {
                self.ring[0].1 -= 1;
                self.ring.rotate_left(1);
            }
            self.ring.remove(0).0
        });
        self.ring.push((page, self.at_first));
        victim
    }

    fn trim(&mut self, page: u32) {
        self.ring.retain(|&(held, _)| held != page);
    }

    fn held(&self) -> Vec<u32> {
        self.ring.iter().map(|&(page, _)| page).collect()
    }
}
