//! LIRS-WSR (Jung et al. 2007): LIRS (Jiang and Zhang, SIGMETRICS 2002, section 3.3) with a second
//! chance for dirty pages, as the scheme's page tells it; and LRU-WSR, the same on one list.

use std::collections::BTreeSet;

use eraseblock_core::buffer::{Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::kit::{draw_share, leaves, nearest_share, store, take, to_front};
use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference {
        scheme: "lirs-wsr",
        from: "section 3.3 of the LIRS paper, its page (the paper itself was not at hand)",
        least_capacity: 1,
        pair,
    }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let capacity = shape.capacity as usize;
    if random.random_range(0..4) == 0 {
        return (
            json!({"kind": "lirs-wsr", "base": "lru"}),
            Box::new(LruWsr { capacity, ..LruWsr::default() }),
        );
    }
    let (hir, ghosts) = (draw_share(random), 4.0 * draw_share(random));
    let hir_size = nearest_share(hir, shape.capacity).max(1);
    let reference = LirsWsr {
        capacity,
        lir_size: capacity - hir_size,
        remembers: nearest_share(ghosts, shape.capacity),
        ..LirsWsr::default()
    };
    (json!({"kind": "lirs-wsr", "hir_share": hir, "ghosts": ghosts}), Box::new(reference))
}

#[derive(Default)]
struct LirsWsr {
    capacity: usize,
    lir_size: usize,
    remembers: usize,
    /// LIR pages, HIR pages and pages that have left, in the order of use.
    stack: Vec<u32>,
    /// The buffered HIR pages.
    queue: Vec<u32>,
    lir: BTreeSet<u32>,
    /// Pages on the stack that have left, the one that left last in front.
    ghosts: Vec<u32>,
    dirty: BTreeSet<u32>,
    cold: BTreeSet<u32>,
}

impl LirsWsr {
    /// Stack pruning: it ends with a LIR page.
    fn prune(&mut self) {
        while let Some(last) = self.stack.last().copied()
            && !self.lir.contains(&last)
        {
            self.stack.pop();
            take(&mut self.ghosts, last);
        }
    }

    /// Whether a page may stay this once: it is dirty, and now marked cold.
    fn second_chance(&mut self, page: u32) -> bool {
        self.dirty.contains(&page) && self.cold.insert(page)
    }

    /// A HIR page leaves the queue and the buffer; its number stays where it is on the stack.
    fn evict(&mut self) -> u32 {
        loop {
            let page = self.queue.pop().expect("the last HIR page");
            if self.second_chance(page) {
                self.queue.insert(0, page);
                continue;
            }
            if self.stack.contains(&page) {
                self.ghosts.insert(0, page);
                while self.ghosts.len() > self.remembers {
                    let first = self.ghosts.pop().expect("one too many");
                    take(&mut self.stack, first);
                }
            }
            self.cold.remove(&page);
            return page;
        }
    }

    /// The last LIR page of the stack becomes a HIR page, at the front of the queue.
    fn demote(&mut self) {
        loop {
            self.prune();
            let page = self.stack.pop().expect("there is a LIR page");
            if self.second_chance(page) {
                self.stack.insert(0, page);
                continue;
            }
            self.lir.remove(&page);
            self.queue.insert(0, page);
            self.prune();
            return;
        }
    }

    /// A page that is no LIR page yet becomes one.
    fn becomes_lir(&mut self, page: u32) {
        if self.lir.len() >= self.lir_size && !self.lir.is_empty() {
            self.demote();
        }
        take(&mut self.queue, page);
        self.lir.insert(page);
        to_front(&mut self.stack, page);
    }

    fn use_page(&mut self, page: u32, out: &mut Decisions) -> bool {
        let on_stack = self.stack.contains(&page);
        let held = self.lir.contains(&page) || self.queue.contains(&page);
        if held {
            self.cold.remove(&page);
            if self.lir.contains(&page) {
                to_front(&mut self.stack, page);
            } else if on_stack && self.lir_size > 0 {
                self.becomes_lir(page);
            } else {
                to_front(&mut self.stack, page);
                to_front(&mut self.queue, page);
            }
        } else {
            take(&mut self.ghosts, page);
            if self.lir.len() + self.queue.len() == self.capacity {
                let left = self.evict();
                leaves(out, &mut self.dirty, left);
            }
            if self.lir.len() < self.lir_size || (on_stack && self.lir_size > 0) {
                self.becomes_lir(page);
            } else {
                to_front(&mut self.stack, page);
                to_front(&mut self.queue, page);
            }
        }
        self.prune();
        held
    }
}

impl Buffer for LirsWsr {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        for Lpn(page) in span.pages() {
            let held = self.use_page(page, &mut out);
            out.hits.push(held);
            if span.write {
                self.dirty.insert(page);
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        if self.lir.remove(&page) || take(&mut self.queue, page) {
            take(&mut self.stack, page);
        }
        self.dirty.remove(&page);
        self.cold.remove(&page);
        self.prune();
    }

    fn flush(&mut self) -> Decisions {
        let lirs = self.stack.iter().rev().filter(|page| self.lir.contains(page));
        let order: Vec<u32> = self.queue.iter().rev().chain(lirs).copied().collect();
        let mut out = Decisions::default();
        store(&mut out, &mut self.dirty, true, order);
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        store(&mut out, &mut self.dirty, true, first..first + count);
        out
    }
}

#[derive(Default)]
struct LruWsr {
    capacity: usize,
    list: Vec<u32>,
    dirty: BTreeSet<u32>,
    cold: BTreeSet<u32>,
}

impl LruWsr {
    fn evict(&mut self) -> u32 {
        loop {
            let page = self.list.pop().expect("it holds a page");
            if self.dirty.contains(&page) && self.cold.insert(page) {
                self.list.insert(0, page);
                continue;
            }
            self.cold.remove(&page);
            return page;
        }
    }
}

impl Buffer for LruWsr {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        for Lpn(page) in span.pages() {
            let held = self.list.contains(&page);
            out.hits.push(held);
            if !held && self.list.len() == self.capacity {
                let left = self.evict();
                leaves(&mut out, &mut self.dirty, left);
            }
            self.cold.remove(&page);
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
        self.cold.remove(&page);
    }

    fn flush(&mut self) -> Decisions {
        let order: Vec<u32> = self.list.iter().rev().copied().collect();
        let mut out = Decisions::default();
        store(&mut out, &mut self.dirty, true, order);
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        store(&mut out, &mut self.dirty, true, first..first + count);
        out
    }
}
