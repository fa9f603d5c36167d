//! Two LRU lists, one of what is clean and one of what is dirty.

use eraseblock_core::buffer::{Shape, Span};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::{Block, Decisions, Pair, Reference, held};

/// The scheme with random options, and by the book.
pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let (share, pages): (f64, bool) = (random.random(), random.random());
    let slots = if pages { shape.capacity.min(shape.logical_pages) } else { shape.capacity } as usize;
    let dirty = ((share * slots as f64).round() as usize).clamp(1, slots - 1);
    let slow = SplitLru {
        capacity: [slots - dirty, dirty],
        unit: if pages { 1 } else { shape.pages_per_block },
        parts: [Vec::new(), Vec::new()],
    };
    let unit = if pages { "page" } else { "block" };
    (json!({"kind": "split-lru", "dirty_share": share, "unit": unit}), Box::new(slow))
}

struct SplitLru {
    /// Of the clean part and of the dirty part.
    capacity: [usize; 2],
    /// Pages of a unit, as the lists have them.
    unit: u32,
    /// The most recently used unit first.
    parts: [Vec<Block>; 2],
}

impl SplitLru {
    fn has(&self, part: usize, page: u32) -> bool {
        self.parts[part].iter().any(|block| block.has(page))
    }
}

impl Reference for SplitLru {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        for page in span.first..span.first + span.count {
            done.hits.push(self.has(0, page) || self.has(1, page));
            let part = usize::from(span.write || self.has(1, page));
            if span.write && self.has(0, page) {
                self.trim(page);
            }
            let full = held(&self.parts[part]) == self.capacity[part];
            if full && !self.has(part, page) {
                self.parts[part].pop().unwrap().leave(&mut done);
            }
            let number = page / self.unit;
            let list = &mut self.parts[part];
            if list.iter().all(|block| block.number != number) {
                list.push(Block { number, pages: Vec::new() });
            }
            list.sort_by_key(|block| block.number != number);
            list[0].serve(page, span.write);
        }
        done
    }

    fn trim(&mut self, page: u32) {
        for list in &mut self.parts {
            for block in list.iter_mut() {
                block.drop(page);
            }
            list.retain(|block| !block.pages.is_empty());
        }
    }

    fn flush(&mut self) -> Decisions {
        let mut done = Decisions::default();
        for block in self.parts[1].iter_mut().rev() {
            done.left.extend(block.write_back());
        }
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut done = Decisions::default();
        for number in first / self.unit..=(first + count - 1) / self.unit {
            if let Some(block) = self.parts[1].iter_mut().find(|block| block.number == number) {
                done.left.extend(block.write_back_some(first, count));
            }
        }
        done
    }
}
