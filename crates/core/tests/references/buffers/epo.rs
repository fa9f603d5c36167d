//! EPO, figure 3 of Xie and Koshia 2011: a queue of single-page writes for each element.

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};

inventory::submit! {
    BufferReference {
        scheme: "epo",
        from: "Xie and Koshia 2011, figures 2 and 3; its page on empty queues, elements and flush \
            commands",
        least_capacity: 1,
        pair,
    }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let mut config = json!({"kind": "epo"});
    let elements = random.random_bool(0.6).then(|| random.random_range(1..7));
    if let Some(elements) = elements {
        config["elements"] = json!(elements);
    }
    let again = random.random_bool(0.5);
    if again || random.random() {
        config["empty"] = json!(if again { "again" } else { "pass" });
    }
    let capacity = shape.capacity as usize;
    (config, Box::new(Epo { capacity, elements, again, queues: Vec::new() }))
}

struct Epo {
    capacity: usize,
    elements: Option<u32>,
    again: bool,
    /// `Q_1` to `Q_e`, the head first.
    queues: Vec<Vec<u32>>,
}

impl Epo {
    fn held(&self) -> usize {
        self.queues.iter().map(Vec::len).sum()
    }

    fn element(&self, page: u32, view: &dyn View) -> usize {
        let element = match self.elements {
            Some(elements) => page % elements,
            None => view.home_chip(Lpn(page)).unwrap_or(page % view.chips()),
        };
        element as usize
    }

    /// Steps 18 to 21: the tail of every queue. Empty ones are passed over, or the queues are gone
    /// through again.
    fn batch(&mut self) -> Vec<(u32, bool)> {
        let (elements, mut batch) = (self.queues.len(), Vec::new());
        loop {
            for queue in &mut self.queues {
                if batch.len() < elements {
                    batch.extend(queue.pop().map(|page| (page, true)));
                }
            }
            if !self.again || self.held() == 0 || batch.len() == elements {
                return batch;
            }
        }
    }
}

impl Buffer for Epo {
    fn access(&mut self, span: &Span, view: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        if self.queues.is_empty() {
            self.queues = vec![Vec::new(); self.elements.unwrap_or(view.chips()) as usize];
        }
        for Lpn(page) in span.pages() {
            let element = self.element(page, view);
            let found = self.queues[element].iter().position(|&held| held == page);
            out.hits.push(found.is_some());
            if !span.write {
                continue;
            }
            if let Some(at) = found {
                self.queues[element].remove(at);
            } else if self.held() == self.capacity {
                let batch = self.batch();
                out.leave(Action::Evict, batch);
            }
            self.queues[element].insert(0, page);
        }
        out
    }

    fn trim(&mut self, page: u32) {
        self.queues.iter_mut().for_each(|queue| queue.retain(|&held| held != page));
    }

    /// What is held leaves in batches, too.
    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        while self.held() > 0 {
            let batch = self.batch();
            out.leave(Action::Evict, batch);
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        // At once: together.
        let held: Vec<u32> = (first..first + count)
            .filter(|&page| self.queues.iter().flatten().any(|&held| held == page))
            .collect();
        for &page in &held {
            self.trim(page);
        }
        out.leave(Action::Evict, held.into_iter().map(|page| (page, true)).collect());
        out
    }
}
