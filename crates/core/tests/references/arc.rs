//! ARC: figure 4 of the paper, case by case.

use eraseblock_core::buffer::Shape;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::Pair;
use super::paged::{self, Order, slots};

struct Arc {
    /// The paper's c and p.
    c: usize,
    p: f64,
    whole: bool,
    /// The page used last at the end.
    t1: Vec<u32>,
    t2: Vec<u32>,
    b1: Vec<u32>,
    b2: Vec<u32>,
}

impl Arc {
    fn replace(&mut self, in_b2: bool) -> u32 {
        let t1 = self.t1.len() as f64;
        // Trims can leave T2 empty, which the paper has no rule for.
        if !self.t1.is_empty() && (t1 > self.p || (in_b2 && t1 >= self.p)) || self.t2.is_empty() {
            let page = self.t1.remove(0);
            self.b1.push(page);
            page
        } else {
            let page = self.t2.remove(0);
            self.b2.push(page);
            page
        }
    }

    fn ratio(&self, more: usize, less: usize) -> f64 {
        let ratio = more as f64 / less as f64;
        (if self.whole { ratio.floor() } else { ratio }).max(1.0)
    }
}

pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let whole = random.random();
    let slow = Arc {
        c: slots(shape),
        p: 0.0,
        whole,
        t1: Vec::new(),
        t2: Vec::new(),
        b1: Vec::new(),
        b2: Vec::new(),
    };
    paged::pair(json!({"kind": "arc", "target": if whole { "whole" } else { "real" }}), slow, random)
}

impl Order for Arc {
    fn hit(&mut self, page: u32) {
        self.t1.retain(|&held| held != page);
        self.t2.retain(|&held| held != page);
        self.t2.push(page);
    }

    fn miss(&mut self, page: u32) -> Option<u32> {
        let full = self.t1.len() + self.t2.len() == self.c;
        let (in_b1, in_b2) = (self.b1.contains(&page), self.b2.contains(&page));
        if in_b1 || in_b2 {
            self.p = if in_b1 {
                (self.p + self.ratio(self.b2.len(), self.b1.len())).min(self.c as f64)
            } else {
                (self.p - self.ratio(self.b1.len(), self.b2.len())).max(0.0)
            };
            let victim = full.then(|| self.replace(in_b2));
            self.b1.retain(|&held| held != page);
            self.b2.retain(|&held| held != page);
            self.t2.push(page);
            return victim;
        }
        let l1 = self.t1.len() + self.b1.len();
        let victim = if l1 == self.c {
            if self.t1.len() < self.c {
                self.b1.remove(0);
                full.then(|| self.replace(false))
            } else {
                Some(self.t1.remove(0))
            }
        } else {
            if l1 + self.t2.len() + self.b2.len() == 2 * self.c {
                self.b2.remove(0);
            }
            full.then(|| self.replace(false))
        };
        self.t1.push(page);
        victim
    }

    fn trim(&mut self, page: u32) {
        self.t1.retain(|&held| held != page);
        self.t2.retain(|&held| held != page);
    }

    fn held(&self) -> Vec<u32> {
        self.t1.iter().chain(&self.t2).copied().collect()
    }
}
