//! GB, as its page tells it: page LRU, of whose end the page leaves whose channel has the least to
//! do.

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::support::ids::Lpn;
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};
use super::channels::{hint, part_of, work_of, written};

inventory::submit! {
    BufferReference { scheme: "gb", from: "its abstract and its page: a reconstruction", least_capacity: 1, pair }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let mut config = json!({"kind": "gb"});
    let window = random.random_bool(0.6).then(|| random.random_range(1..8));
    let modules = random.random_bool(0.5).then(|| random.random_range(1..6));
    if let Some(window) = window {
        config["window"] = json!(window);
    }
    if let Some(modules) = modules {
        config["modules"] = json!(modules);
    }
    let (capacity, pages_per_block) = (shape.capacity as usize, shape.pages_per_block);
    (config, Box::new(Gb { capacity, pages_per_block, window, modules, pages: Vec::new() }))
}

struct Gb {
    capacity: usize,
    pages_per_block: u32,
    window: Option<usize>,
    modules: Option<u32>,
    /// The most recently written first.
    pages: Vec<u32>,
}

impl Gb {
    /// `sent` counts what this request has sent to each channel.
    fn evict(&mut self, view: &dyn View, sent: &mut [u32], out: &mut Decisions) {
        let channels = sent.len() as u32;
        // A channel without an erased block comes after all others.
        let work = |channel: u32| match self.modules {
            Some(_) => (!view.channel_ready(channel % view.channels()), sent[channel as usize]),
            None => (
                !view.channel_ready(channel),
                work_of(view, channel, channels) + sent[channel as usize],
            ),
        };
        let idlest = (0..channels).min_by_key(|&channel| work(channel)).unwrap();
        let channel_of = |page: u32| {
            if let Some(modules) = self.modules {
                return page % modules;
            }
            let unit = view.home(Lpn(page)).or_else(|| view.unit_of(Lpn(page)));
            unit.map_or(idlest, |unit| part_of(view, unit.0, channels))
        };
        let window = self.window.unwrap_or(8 * channels as usize);
        let end = self.pages.iter().rev().take(window);
        let page = *end.min_by_key(|&&page| work(channel_of(page))).unwrap();
        let channel = channel_of(page);
        sent[channel as usize] += 1;
        self.trim(page);
        let hint =
            hint(page / self.pages_per_block, written(false), Some(channel % view.channels()));
        out.leave_with(Action::Evict, vec![(page, true)], hint);
    }
}

impl Buffer for Gb {
    fn access(&mut self, span: &Span, view: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        let mut sent = vec![0; self.modules.unwrap_or(view.channels()) as usize];
        for Lpn(page) in span.pages() {
            let hit = self.pages.contains(&page);
            out.hits.push(hit);
            if span.write {
                if !hit && self.pages.len() == self.capacity {
                    self.evict(view, &mut sent, &mut out);
                }
                self.trim(page);
                self.pages.insert(0, page);
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        self.pages.retain(|&held| held != page);
    }

    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        while let Some(page) = self.pages.pop() {
            let hint = hint(page / self.pages_per_block, written(false), None);
            out.leave_with(Action::Evict, vec![(page, true)], hint);
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        for page in first..first + count {
            if self.pages.contains(&page) {
                self.trim(page);
                let hint = hint(page / self.pages_per_block, written(false), None);
                out.leave_with(Action::Evict, vec![(page, true)], hint);
            }
        }
        out
    }
}
