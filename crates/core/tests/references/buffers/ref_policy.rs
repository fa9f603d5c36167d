//! REF, recently evicted first (Seo and Shin 2008), known from its abstract and the scheme's page.

use std::collections::{BTreeMap, BTreeSet};

use eraseblock_core::buffer::{Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::kit::{draw_share, leaves, nearest_share, store, take, to_front};
use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference { scheme: "ref", from: "the paper's abstract, its page", least_capacity: 1, pair }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let (part, allocate) = (draw_share(random), random.random());
    let most = [1, 2, 3, 8][random.random_range(0..4)];
    let config = json!({
        "kind": "ref",
        "window": part,
        "victim_blocks": most,
        "reads": if allocate { "allocate" } else { "bypass" },
    });
    let reference = Ref {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        window: nearest_share(part, shape.capacity).max(1),
        most,
        allocate,
        list: Vec::new(),
        victims: Vec::new(),
        dirty: BTreeSet::new(),
    };
    (config, Box::new(reference))
}

struct Ref {
    capacity: usize,
    pages_per_block: u32,
    window: usize,
    most: usize,
    allocate: bool,
    list: Vec<u32>,
    /// Victim blocks, the latest in front.
    victims: Vec<u32>,
    dirty: BTreeSet<u32>,
}

impl Ref {
    fn block(&self, page: u32) -> u32 {
        page / self.pages_per_block
    }

    /// Takes the page that has to leave out of the list.
    fn evict(&mut self) -> u32 {
        let window: Vec<u32> = self.list.iter().rev().take(self.window).copied().collect();
        let of_victim =
            window.iter().copied().find(|&page| self.victims.contains(&self.block(page)));
        let page = of_victim.unwrap_or_else(|| {
            // The block with most pages in the window; among equals that whose last page was used
            // longest ago.
            let mut pages: BTreeMap<u32, usize> = BTreeMap::new();
            for &page in &window {
                *pages.entry(self.block(page)).or_default() += 1;
            }
            let most = pages.values().copied().max().expect("the window has a page");
            let last = window.iter().copied().find(|&page| pages[&self.block(page)] == most);
            let last = last.expect("one block has most");
            let block = self.block(last);
            self.victims.insert(0, block);
            self.victims.truncate(self.most);
            last
        });
        take(&mut self.list, page);
        page
    }
}

impl Buffer for Ref {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        for Lpn(page) in span.pages() {
            let held = self.list.contains(&page);
            out.hits.push(held);
            if !span.write && !self.allocate {
                continue;
            }
            if !held && self.list.len() == self.capacity {
                let victim = self.evict();
                leaves(&mut out, &mut self.dirty, victim);
            }
            to_front(&mut self.list, page);
            if span.write {
                self.dirty.insert(page);
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        take(&mut self.list, page);
        self.dirty.remove(&page);
    }

    fn flush(&mut self) -> Decisions {
        // Pages leave by the same rule until none is dirty; then they come back to their places.
        let before = self.list.clone();
        let mut out = Decisions::default();
        while !self.dirty.is_empty() {
            let page = self.evict();
            store(&mut out, &mut self.dirty, self.allocate, [page]);
        }
        if self.allocate {
            self.list = before;
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        for left in store(&mut out, &mut self.dirty, self.allocate, first..first + count) {
            self.trim(left);
        }
        out
    }
}
