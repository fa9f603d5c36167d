//! S-FTL's two write buffers, as SUPA (2017), section 3.3, and the scheme's page tell them.

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};
use super::channels::{Blocks, dirty, hint, written};

inventory::submit! {
    BufferReference {
        scheme: "sftl",
        from: "SUPA (2017), section 3.3, and its page: a reconstruction",
        least_capacity: 2,
        pair,
    }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let threshold = random.random_range(0..6);
    let share = [0.0, 0.25, 0.3, 0.5, 0.75, 1.0][random.random_range(0..6)];
    let chain = random.random();
    let config = json!({
        "kind": "sftl", "threshold": threshold, "sequential_share": share,
        "together": if chain { "chain" } else { "block" },
    });
    // A class always has room for a page.
    let sequential = ((f64::from(shape.capacity) * share).round() as usize)
        .clamp(1, shape.capacity as usize - 1);
    let sftl = Sftl {
        pages_per_block: shape.pages_per_block,
        room: [shape.capacity as usize - sequential, sequential],
        threshold,
        chain,
        channels: 1,
        announced: None,
        classes: [Blocks::default(), Blocks::default()],
    };
    (config, Box::new(sftl))
}

const RANDOM: usize = 0;
const SEQUENTIAL: usize = 1;

struct Sftl {
    pages_per_block: u32,
    room: [usize; 2],
    threshold: u32,
    chain: bool,
    /// Of the drive, as seen last.
    channels: u32,
    /// A request, and how many pages it writes.
    announced: Option<(u64, u32)>,
    /// Random and sequential.
    classes: [Blocks; 2],
}

impl Sftl {
    fn send(&mut self, class: usize, block: u32, out: &mut Decisions) {
        let pages = self.classes[class].take(block);
        let hint = hint(block, written(class == SEQUENTIAL), None);
        out.leave_with(Action::Evict, dirty(&pages), hint);
    }

    /// The block written longest ago leaves; of the sequential class, all of its chain.
    fn evict(&mut self, class: usize, out: &mut Decisions) {
        let (oldest, _) = *self.classes[class].0.last().unwrap();
        let mut leaving = vec![oldest];
        if class == SEQUENTIAL && self.chain {
            let chain = oldest / self.channels;
            // Upwards.
            leaving = (chain * self.channels..(chain + 1) * self.channels).collect();
            leaving.retain(|&block| self.classes[class].has(block));
        }
        for block in leaving {
            self.send(class, block, out);
        }
    }
}

impl Buffer for Sftl {
    fn writes(&mut self, request: u64, pages: u32) {
        self.announced = Some((request, pages));
    }

    fn access(&mut self, span: &Span, view: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        self.channels = view.channels();
        let block = span.first.0 / self.pages_per_block;
        let request = match self.announced {
            Some((request, pages)) if request == span.request => pages,
            _ => span.count,
        };
        let class = if request > self.threshold { SEQUENTIAL } else { RANDOM };
        let other = 1 - class;
        if span.write && self.classes[other].has(block) {
            // The block changes its class, with the pages that are held of it; then room is made
            // for them.
            let pages = self.classes[other].take(block);
            self.classes[class].0.insert(0, (block, pages));
            while self.classes[class].len() > self.room[class] {
                self.evict(class, &mut out);
            }
        }
        for Lpn(page) in span.pages() {
            let hit = self.classes.iter().any(|class| class.holds(page));
            out.hits.push(hit);
            if span.write {
                while !hit && self.classes[class].len() >= self.room[class] {
                    self.evict(class, &mut out);
                }
                self.classes[class].touch(block);
                self.classes[class].insert(page);
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        self.classes.iter_mut().for_each(|class| class.forget(page));
    }

    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        for class in [SEQUENTIAL, RANDOM] {
            while self.classes[class].len() > 0 {
                self.evict(class, &mut out);
            }
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        for class in [SEQUENTIAL, RANDOM] {
            if (first..first + count).any(|page| self.classes[class].holds(page)) {
                self.send(class, first / self.pages_per_block, &mut out);
            }
        }
        out
    }
}
