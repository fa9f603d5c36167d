//! CBM: HBM's regions for dirty pages beside an LRU cache of clean ones.

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};
use super::hbm::{Regions, Rules};

inventory::submit! {
    BufferReference {
        scheme: "cbm",
        from: "its page, for the write buffer Gong's thesis (2010), chapter 3",
        least_capacity: 2,
        pair,
    }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let read_share = f64::from(random.random_range(0..=8)) / 8.0;
    let fill_holes = random.random();
    // Each part has at least one page.
    let cache =
        ((f64::from(shape.capacity) * read_share).round() as u32).clamp(1, shape.capacity - 1);
    let mut fast = json!({"kind": "cbm", "read_share": read_share, "fill_holes": fill_holes});
    let rules = Rules::draw(shape.capacity - cache, shape.pages_per_block, random, &mut fast);
    let slow = Cbm {
        write_buffer: Regions::new(rules),
        pages_per_block: shape.pages_per_block,
        cache_capacity: cache as usize,
        cache: Vec::new(),
        fill_holes,
    };
    (fast, Box::new(slow))
}

struct Cbm {
    write_buffer: Regions,
    pages_per_block: u32,
    cache_capacity: usize,
    /// The read cache: clean pages, the most recently used first.
    cache: Vec<u32>,
    fill_holes: bool,
}

impl Cbm {
    /// A block leaves, and if it is written what the read cache has of it fills the holes; but not
    /// what this span writes.
    fn leave(&mut self, mut pages: Vec<(u32, bool)>, span: &Span, out: &mut Decisions) {
        if pages.iter().all(|&(_, dirty)| !dirty) {
            out.leave(Action::Drop, pages);
            return;
        }
        if self.fill_holes {
            let block = pages[0].0 / self.pages_per_block;
            let coming = span.first.0..span.first.0 + span.count;
            let fits = |page: &u32| page / self.pages_per_block == block && !coming.contains(page);
            pages.extend(self.cache.iter().filter(|page| fits(page)).map(|&page| (page, false)));
            pages.sort_unstable();
            self.cache.retain(|page| !fits(page));
        }
        out.leave(Action::Evict, pages);
    }

    fn write(&mut self, span: &Span, out: &mut Decisions) {
        for left in self.write_buffer.begin(span.first.0, span.count) {
            self.leave(left, span, out);
        }
        let mut counted = false;
        for Lpn(page) in span.pages() {
            // A page of the read cache moves: it is out of there before it needs room.
            let clean = self.cache.contains(&page);
            self.cache.retain(|&cached| cached != page);
            if self.write_buffer.needs_room(page) {
                let left = self.write_buffer.evict();
                self.leave(left, span, out);
            }
            out.hits.push(clean || self.write_buffer.holds(page));
            self.write_buffer.serve(page, true, &mut counted);
        }
    }

    fn read(&mut self, span: &Span, out: &mut Decisions) {
        let mut counted = false;
        for Lpn(page) in span.pages() {
            if self.write_buffer.holds(page) {
                out.hits.push(true);
                self.write_buffer.serve(page, false, &mut counted);
                continue;
            }
            let cached = self.cache.iter().position(|&clean| clean == page);
            out.hits.push(cached.is_some());
            if let Some(at) = cached {
                self.cache.remove(at);
            } else if self.cache.len() == self.cache_capacity {
                let last = self.cache.pop().unwrap();
                out.leave(Action::Drop, vec![(last, false)]);
            }
            self.cache.insert(0, page);
        }
    }
}

impl Buffer for Cbm {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        if span.write {
            self.write(span, &mut out);
        } else {
            self.read(span, &mut out);
        }
        self.write_buffer.adjust(span.request);
        out
    }

    fn trim(&mut self, page: u32) {
        self.write_buffer.trim(page);
        self.cache.retain(|&clean| clean != page);
    }

    fn flush(&mut self) -> Decisions {
        self.write_buffer.flush()
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        self.write_buffer.force(first, count)
    }
}
