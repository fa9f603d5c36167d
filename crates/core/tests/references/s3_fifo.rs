//! S3-FIFO: algorithm 1 of the paper.

use eraseblock_core::buffer::Shape;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::Pair;
use super::paged::{self, Order, share, slots};

struct S3Fifo {
    capacity: usize,
    small_size: usize,
    ghost_size: usize,
    move_to_main: u32,
    /// New pages may go to M until a page has left.
    fill_both: bool,
    /// Pages and hits, the oldest first.
    s: Vec<(u32, u32)>,
    m: Vec<(u32, u32)>,
    g: Vec<u32>,
}

impl S3Fifo {
    fn evict(&mut self) -> Option<u32> {
        if self.s.len() >= self.small_size { self.evict_s() } else { self.evict_m() }
    }

    fn evict_s(&mut self) -> Option<u32> {
        while !self.s.is_empty() {
            let (page, hits) = self.s.remove(0);
            if hits >= self.move_to_main {
                self.m.push((page, 0));
            } else {
                self.g.push(page);
                if self.g.len() > self.ghost_size {
                    self.g.remove(0);
                }
                return Some(page);
            }
        }
        None
    }

    fn evict_m(&mut self) -> Option<u32> {
        while !self.m.is_empty() {
            let (page, hits) = self.m.remove(0);
            if hits == 0 {
                return Some(page);
            }
            self.m.push((page, hits - 1));
        }
        None
    }
}

pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let (small, ghost) = (random.random_range(0.0..1.0), random.random_range(0.0..1.0));
    let (move_to_main, fill_both) = (random.random_range(1..4), random.random());
    let slow = S3Fifo {
        capacity: slots(shape),
        small_size: share(small, slots(shape)).max(1),
        ghost_size: share(ghost, slots(shape)),
        move_to_main,
        fill_both,
        s: Vec::new(),
        m: Vec::new(),
        g: Vec::new(),
    };
    let fill = if fill_both { "both" } else { "small" };
    let fast = json!({
        "kind": "s3-fifo", "small": small, "ghost": ghost, "move_to_main": move_to_main, "fill": fill,
    });
    paged::pair(fast, slow, random)
}

impl Order for S3Fifo {
    fn hit(&mut self, page: u32) {
        for (held, hits) in self.s.iter_mut().chain(&mut self.m) {
            if *held == page {
                *hits = (*hits + 1).min(3);
            }
        }
    }

    fn miss(&mut self, page: u32) -> Option<u32> {
        let remembered = self.g.contains(&page);
        self.g.retain(|&held| held != page);
        let mut victim = None;
        while self.s.len() + self.m.len() == self.capacity {
            self.fill_both = false;
            victim = self.evict();
        }
        if remembered || (self.fill_both && self.s.len() >= self.small_size) {
            self.m.push((page, 0));
        } else {
            self.s.push((page, 0));
        }
        victim
    }

    fn trim(&mut self, page: u32) {
        self.s.retain(|&(held, _)| held != page);
        self.m.retain(|&(held, _)| held != page);
    }

    fn held(&self) -> Vec<u32> {
        self.s.iter().chain(&self.m).map(|&(page, _)| page).collect()
    }
}
