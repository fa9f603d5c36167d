//! BPLRU: Kim and Ahn, "BPLRU: A buffer management scheme for improving random writes in flash
//! storage", FAST 2008.

use std::collections::BTreeSet;

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference {
        scheme: "bplru",
        from: "Kim and Ahn (2008), sections 3.1 to 3.4 and 4.2.4, and its page",
        least_capacity: 1,
        pair,
    }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let (padding, compensation, touch_first) = (random.random(), random.random(), random.random());
    let slow = Bplru {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        padding,
        compensation,
        touch_first,
        list: Vec::new(),
    };
    let evict_order = if touch_first { "touch-first" } else { "evict-first" };
    let fast = json!({"kind": "bplru", "padding": padding, "compensation": compensation, "evict_order": evict_order});
    (fast, Box::new(slow))
}

struct Header {
    block: u32,
    sectors: BTreeSet<u32>,
    /// Where the next write of the block must begin to have it written in order; none: it no longer
    /// is.
    next: Option<u32>,
}

struct Bplru {
    capacity: usize,
    pages_per_block: u32,
    /// Section 3.2.
    padding: bool,
    /// Section 3.3.
    compensation: bool,
    /// A used block moves to the head before room is made.
    touch_first: bool,
    /// The head, the most recently written block, first.
    list: Vec<Header>,
}

impl Bplru {
    /// To the head of the list, if it is in it (section 3.1).
    fn put_at_head(&mut self, block: u32) {
        if let Some(at) = self.list.iter().position(|header| header.block == block) {
            let header = self.list.remove(at);
            self.list.insert(0, header);
        }
    }

    /// All of the block is written, what it lacks with it if there is padding (section 3.2).
    fn send(&self, header: &Header, out: &mut Decisions) {
        let action = if self.padding { Action::EvictPadded } else { Action::Evict };
        out.leave(action, header.sectors.iter().map(|&sector| (sector, true)).collect());
    }

    fn write(&mut self, sector: u32, out: &mut Decisions) {
        let (block, offset) = (sector / self.pages_per_block, sector % self.pages_per_block);
        let hit = self.list.iter().any(|header| header.sectors.contains(&sector));
        out.hits.push(hit);
        if self.touch_first {
            self.put_at_head(block);
        }
        let held: usize = self.list.iter().map(|header| header.sectors.len()).sum();
        if !hit && held == self.capacity {
            let victim = self.list.pop().unwrap();
            self.send(&victim, out);
        }
        self.put_at_head(block);
        if self.list.first().is_none_or(|header| header.block != block) {
            self.list.insert(0, Header { block, sectors: BTreeSet::new(), next: None });
        }
        let header = &mut self.list[0];
        header.sectors.insert(sector);
        header.next =
            if offset == 0 || header.next == Some(offset) { Some(offset + 1) } else { None };
        // Section 3.3: a block that was written from its first to its last page goes to the tail.
        let all = self.pages_per_block;
        if self.compensation && header.next == Some(all) && header.sectors.len() == all as usize {
            let header = self.list.remove(0);
            self.list.push(header);
        }
    }
}

impl Buffer for Bplru {
    fn access(&mut self, span: &Span, _: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        for Lpn(sector) in span.pages() {
            if span.write {
                self.write(sector, &mut out);
            } else {
                out.hits.push(self.list.iter().any(|header| header.sectors.contains(&sector)));
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        for header in &mut self.list {
            header.sectors.remove(&page);
        }
        self.list.retain(|header| !header.sectors.is_empty());
    }

    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        while let Some(header) = self.list.pop() {
            self.send(&header, &mut out);
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        let holds = |header: &Header| header.sectors.range(first..first + count).next().is_some();
        if let Some(at) = self.list.iter().position(holds) {
            let header = self.list.remove(at);
            self.send(&header, &mut out);
        }
        out
    }
}
