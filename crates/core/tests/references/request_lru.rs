//! LRU of write requests: each holds the pages that no later one wrote.

use eraseblock_core::buffer::{Action, Shape, Span};
use rand_pcg::Pcg64Mcg;
use serde_json::json;

use super::paged::slots;
use super::{Decisions, Pair, Reference};

/// The scheme, and by the book.
pub fn pair(shape: Shape, _random: &mut Pcg64Mcg) -> Pair {
    (json!("request-lru"), Box::new(RequestLru { capacity: slots(shape), requests: Vec::new() }))
}

pub struct RequestLru {
    capacity: usize,
    /// Number and pages of each request, in the order of writing.
    requests: Vec<(u64, Vec<u32>)>,
}

impl RequestLru {
    fn holds(&self, page: u32) -> bool {
        self.requests.iter().any(|(_, pages)| pages.contains(&page))
    }

    fn evict(&mut self, done: &mut Decisions) {
        let (_, pages) = self.requests.remove(0);
        done.leave(Action::Flush, pages.into_iter().map(|page| (page, true)).collect());
    }
}

impl Reference for RequestLru {
    fn access(&mut self, span: &Span) -> Decisions {
        let mut done = Decisions::default();
        for page in span.first..span.first + span.count {
            done.hits.push(self.holds(page));
            if !span.write {
                continue;
            }
            if self.holds(page) {
                self.trim(page);
            } else if self.requests.iter().map(|(_, pages)| pages.len()).sum::<usize>() == self.capacity {
                self.evict(&mut done);
            }
            match self.requests.last_mut() {
                Some((request, pages)) if *request == span.request => pages.push(page),
                _ => self.requests.push((span.request, vec![page])),
            }
        }
        done
    }

    fn trim(&mut self, page: u32) {
        self.requests.iter_mut().for_each(|(_, pages)| pages.retain(|&held| held != page));
        self.requests.retain(|(_, pages)| !pages.is_empty());
    }

    fn flush(&mut self) -> Decisions {
        let mut done = Decisions::default();
        while !self.requests.is_empty() {
            self.evict(&mut done);
        }
        done
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let forced: Vec<_> = (first..first + count).filter(|&page| self.holds(page)).collect();
        for &page in &forced {
            self.trim(page);
        }
        let mut done = Decisions::default();
        done.leave(Action::Flush, forced.into_iter().map(|page| (page, true)).collect());
        done
    }
}
