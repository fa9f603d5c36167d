//! MCA, as its page tells it: a page for every idle chip, those first that are written completely.

use std::ops::Range;

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};
use super::channels::{free_of, hint, part_of, work_of, written};

inventory::submit! {
    BufferReference { scheme: "mca", from: "its abstract and its page: a reconstruction", least_capacity: 1, pair }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let mut config = json!({"kind": "mca"});
    let window = random.random_bool(0.6).then(|| random.random_range(1..8));
    let modules = random.random_bool(0.5).then(|| random.random_range(1..6));
    if let Some(window) = window {
        config["window"] = json!(window);
    }
    if let Some(modules) = modules {
        config["modules"] = json!(modules);
    }
    let mca = Mca {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        window,
        modules,
        pages: Vec::new(),
        parts: Vec::new(),
    };
    (config, Box::new(mca))
}

struct Page {
    number: u32,
    /// What the host's writes have covered, if not all of it.
    part: Option<Range<u32>>,
}

struct Mca {
    capacity: usize,
    pages_per_block: u32,
    window: Option<usize>,
    modules: Option<u32>,
    /// The most recently written first.
    pages: Vec<Page>,
    /// Of the next write.
    parts: Vec<(u32, Range<u32>, u32)>,
}

/// Two parts together: where a hole is between them, the longer one.
fn together(old: Range<u32>, new: Range<u32>) -> Range<u32> {
    if new.start <= old.end && old.start <= new.end {
        old.start.min(new.start)..old.end.max(new.end)
    } else if new.len() > old.len() {
        new
    } else {
        old
    }
}

impl Mca {
    fn send(&mut self, page: u32, channel: Option<u32>, out: &mut Decisions) {
        self.trim(page);
        let hint = hint(page / self.pages_per_block, written(false), channel);
        out.leave_with(Action::Evict, vec![(page, true)], hint);
    }

    fn evict(&mut self, view: &dyn View, out: &mut Decisions) {
        let chips = self.modules.unwrap_or(view.chips());
        let idle = |chip: u32| self.modules.is_some() || work_of(view, chip, chips) == 0;
        let window: Vec<&Page> =
            self.pages.iter().rev().take(self.window.unwrap_or(8 * chips as usize)).collect();
        // A page that was never written goes to the idle chip with the most erased blocks.
        let roomiest = (0..chips).filter(|&chip| idle(chip)).max_by_key(|&chip| {
            (
                self.modules.map_or_else(|| free_of(view, chip, chips), |_| 0),
                std::cmp::Reverse(chip),
            )
        });
        let chip_of = |page: u32| {
            if let Some(modules) = self.modules {
                return Some(page % modules);
            }
            let lies = view.unit_of(Lpn(page)).map(|unit| part_of(view, unit.0, chips));
            view.home_chip(Lpn(page)).or(lies).or(roomiest)
        };
        let channel_of = |chip: u32| chip % view.channels();
        // First the complete pages, then the others, from the end each time.
        let (mut leaving, mut served) = (Vec::new(), Vec::new());
        for complete in [true, false] {
            for page in window.iter().filter(|page| page.part.is_none() == complete) {
                if let Some(chip) = chip_of(page.number)
                    && idle(chip)
                    && !served.contains(&chip)
                {
                    served.push(chip);
                    leaving.push((page.number, Some(channel_of(chip))));
                }
            }
        }
        if leaving.is_empty() {
            let page = window.iter().find(|page| page.part.is_none()).unwrap_or(&window[0]).number;
            leaving.push((page, None));
        }
        for (page, channel) in leaving {
            self.send(page, channel, out);
        }
    }
}

impl Buffer for Mca {
    fn part(&mut self, page: u32, bytes: Range<u32>, of: u32) {
        self.parts.push((page, bytes, of));
    }

    fn access(&mut self, span: &Span, view: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        let parts = std::mem::take(&mut self.parts);
        for Lpn(page) in span.pages() {
            let hit = self.pages.iter().any(|held| held.number == page);
            out.hits.push(hit);
            if !span.write {
                continue;
            }
            if !hit && self.pages.len() == self.capacity {
                self.evict(view, &mut out);
            }
            let mut part = None;
            if let Some((_, bytes, of)) = parts.iter().find(|part| part.0 == page) {
                let before = self
                    .pages
                    .iter()
                    .find(|held| held.number == page)
                    .map(|held| held.part.clone());
                part = match before {
                    None => Some(bytes.clone()),
                    Some(None) => None,
                    Some(Some(before)) => Some(together(before, bytes.clone())),
                };
                part = part.filter(|part| *part != (0..*of));
            }
            self.trim(page);
            self.pages.insert(0, Page { number: page, part });
        }
        out
    }

    fn trim(&mut self, page: u32) {
        self.pages.retain(|held| held.number != page);
    }

    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        while let Some(page) = self.pages.last() {
            self.send(page.number, None, &mut out);
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        for page in first..first + count {
            if self.pages.iter().any(|held| held.number == page) {
                self.send(page, None, &mut out);
            }
        }
        out
    }
}
