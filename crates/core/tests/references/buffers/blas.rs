//! BLAS's write buffer, as its page tells it: blocks in the order of their last write, one marked
//! for each channel.

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::pattern::{Pattern, Route};
use eraseblock_core::support::ids::{LogicalBlock, Lpn};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};
use super::channels::{Blocks, dirty, hint, longest_run, written};

inventory::submit! {
    BufferReference {
        scheme: "blas",
        from: "SUPA (2017), section 3.3, and its page: a reconstruction",
        least_capacity: 1,
        pair,
    }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let keep = random.random_range(0..5);
    let search = if random.random() { 64 } else { random.random_range(1..6) };
    let (whole, touch_first) = (random.random(), random.random());
    let sequential = random.random_range(0..6);
    let config = json!({
        "kind": "blas", "keep": keep, "search": search, "sequential": sequential,
        "release": if whole { "block" } else { "page" },
        "evict_order": if touch_first { "touch-first" } else { "evict-first" },
    });
    let blas = Blas {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        keep,
        search,
        whole,
        sequential,
        touch_first,
        blocks: Blocks::default(),
        marked: Vec::new(),
    };
    (config, Box::new(blas))
}

struct Marked {
    block: u32,
    pattern: Pattern,
    channel: u32,
}

struct Blas {
    capacity: usize,
    pages_per_block: u32,
    keep: usize,
    search: usize,
    whole: bool,
    sequential: u32,
    touch_first: bool,
    blocks: Blocks,
    /// The next one to lose a page first.
    marked: Vec<Marked>,
}

impl Blas {
    fn pattern(&self, pages: &std::collections::BTreeSet<u32>) -> Pattern {
        written(longest_run(pages) > self.sequential)
    }

    /// From the end of the list: for each channel the first block that is going there.
    fn mark(&mut self, view: &dyn View) {
        let blocks = &self.blocks.0;
        // Where all blocks are among those to keep, the last one is marked all the same.
        let keep = self.keep.min(blocks.len() - 1);
        for (block, pages) in blocks[keep..].iter().rev().take(self.search) {
            let pattern = self.pattern(pages);
            let free = |channel: &u32| self.marked.iter().all(|marked| marked.channel != *channel);
            let mut anywhere = (0..view.channels()).filter(free);
            let channel = match view.route(LogicalBlock(*block), pattern) {
                // Where it lies, even if all of it is new.
                Route::Channel(channel) | Route::Home(channel) => Some(channel).filter(free),
                _ => anywhere.next(),
            };
            if let Some(channel) = channel {
                self.marked.push(Marked { block: *block, pattern, channel });
            }
        }
    }

    fn evict(&mut self, view: &dyn View, out: &mut Decisions) {
        if self.marked.is_empty() {
            self.mark(view);
        }
        let next = self.marked.remove(0);
        let hint = hint(next.block, next.pattern, Some(next.channel));
        if self.whole {
            out.leave_with(Action::Evict, dirty(&self.blocks.take(next.block)), hint);
            return;
        }
        let (_, pages) = self.blocks.0.iter().find(|(block, _)| *block == next.block).unwrap();
        let page = *pages.first().unwrap();
        self.blocks.forget(page);
        out.leave_with(Action::Evict, vec![(page, true)], hint);
        if self.blocks.has(next.block) {
            self.marked.push(next);
        }
    }

    fn touch(&mut self, block: u32) {
        self.marked.retain(|marked| marked.block != block);
        self.blocks.touch(block);
    }

    /// A block leaves that nobody has marked a channel for.
    fn send(&mut self, block: u32, out: &mut Decisions) {
        let pages = self.blocks.take(block);
        let pattern = self.pattern(&pages);
        self.marked.retain(|marked| marked.block != block);
        out.leave_with(Action::Evict, dirty(&pages), hint(block, pattern, None));
    }
}

impl Buffer for Blas {
    fn access(&mut self, span: &Span, view: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        let block = span.first.0 / self.pages_per_block;
        for Lpn(page) in span.pages() {
            let hit = self.blocks.holds(page);
            out.hits.push(hit);
            if !span.write {
                continue;
            }
            if self.touch_first && self.blocks.has(block) {
                self.touch(block);
            }
            if !hit && self.blocks.len() == self.capacity {
                self.evict(view, &mut out);
            }
            self.touch(block);
            self.blocks.insert(page);
        }
        out
    }

    fn trim(&mut self, page: u32) {
        self.blocks.forget(page);
        let blocks = &self.blocks;
        self.marked.retain(|marked| blocks.has(marked.block));
    }

    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        while let Some(&(block, _)) = self.blocks.0.last() {
            self.send(block, &mut out);
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        if (first..first + count).any(|page| self.blocks.holds(page)) {
            self.send(first / self.pages_per_block, &mut out);
        }
        out
    }
}
