//! EPO: a queue of pages for each element; the tails of all queues leave together.

use eraseblock_core::buffer::{Action, Idle, Shape, Span};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::paged::slots;
use super::{Decisions, Pair, Reference};

/// The scheme with random options, and by the book.
pub fn pair(shape: Shape, random: &mut Pcg64Mcg) -> Pair {
    let again = random.random::<bool>();
    let mut fast = json!({"kind": "epo", "empty": if again { "again" } else { "pass" }});
    let mut elements = Idle::CHIPS;
    if random.random() {
        elements = random.random_range(1..10);
        fast["elements"] = json!(elements);
    }
    let slow = Epo { capacity: slots(shape), again, queues: vec![Vec::new(); elements as usize] };
    (fast, Box::new(slow))
}

pub struct Epo {
    capacity: usize,
    /// Step 24 of figure 3: as many slots become free as there are elements, if so many pages are held.
    again: bool,
    /// The pages of each element, the head first.
    queues: Vec<Vec<u32>>,
}

impl Epo {
    fn held(&self) -> usize {
        self.queues.iter().map(Vec::len).sum()
    }

    /// Steps 18 to 21.
    fn evict(&mut self) -> Vec<(u32, bool)> {
        let mut batch = Vec::new();
        loop {
            for queue in &mut self.queues {
                if let Some(tail) = queue.pop() {
                    batch.push((tail, true));
                }
            }
            if !self.again || batch.len() >= self.queues.len() || self.held() == 0 {
                break;
            }
        }
        // The round that passes the number of elements stops in the middle: the rest goes back.
        while batch.len() > self.queues.len() {
            let (page, _) = batch.pop().unwrap();
            let element = page as usize % self.queues.len();
            self.queues[element].push(page);
        }
        batch
    }
}

impl Reference for Epo {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        for page in span.first..span.first + span.count {
            let element = page as usize % self.queues.len();
            let place = self.queues[element].iter().position(|&held| held == page);
            done.hits.push(place.is_some());
            if !span.write {
                continue;
            }
            if let Some(place) = place {
                self.queues[element].remove(place);
            } else if self.held() == self.capacity {
                let batch = self.evict();
                done.leave(Action::Flush, batch);
            }
            self.queues[element].insert(0, page);
        }
        done
    }

    fn trim(&mut self, page: u32) {
        self.queues.iter_mut().for_each(|queue| queue.retain(|&held| held != page));
    }

    fn flush(&mut self) -> Decisions {
        let mut done = Decisions::default();
        while self.held() > 0 {
            let batch = self.evict();
            done.leave(Action::Flush, batch);
        }
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let held = |page: &u32| self.queues.iter().any(|queue| queue.contains(page));
        let forced: Vec<_> = (first..first + count).filter(held).collect();
        for &page in &forced {
            self.trim(page);
        }
        let mut done = Decisions::default();
        done.leave(Action::Flush, forced.into_iter().map(|page| (page, true)).collect());
        done
    }
}
