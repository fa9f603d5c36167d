//! FAP-LRU, as its page tells it: block LRU, of which a block leaves for every channel that has
//! nothing to do.

use std::collections::BTreeMap;

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::pattern::Route;
use eraseblock_core::support::ids::{LogicalBlock, Lpn};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};
use super::channels::{free_of, hint, work_of, written};

inventory::submit! {
    BufferReference { scheme: "fap-lru", from: "its abstract and its page: a reconstruction", least_capacity: 1, pair }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let mut config = json!({"kind": "fap-lru"});
    let window = random.random_bool(0.6).then(|| random.random_range(1..6));
    let modules = random.random_bool(0.5).then(|| random.random_range(1..6));
    let allocate = random.random();
    if let Some(window) = window {
        config["window"] = json!(window);
    }
    if let Some(modules) = modules {
        config["modules"] = json!(modules);
    }
    config["reads"] = json!(if allocate { "allocate" } else { "bypass" });
    let fap = FapLru {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        window,
        modules,
        allocate,
        blocks: Vec::new(),
    };
    (config, Box::new(fap))
}

struct Block {
    number: u32,
    /// Its pages, and which are dirty.
    pages: BTreeMap<u32, bool>,
}

impl Block {
    fn is_clean(&self) -> bool {
        self.pages.values().all(|dirty| !dirty)
    }
}

struct FapLru {
    capacity: usize,
    pages_per_block: u32,
    window: Option<usize>,
    modules: Option<u32>,
    allocate: bool,
    /// The most recent first.
    blocks: Vec<Block>,
}

impl FapLru {
    fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.pages.len()).sum()
    }

    fn get(&mut self, page: u32) -> Option<&mut bool> {
        self.blocks.iter_mut().find_map(|block| block.pages.get_mut(&page))
    }

    fn send(&mut self, number: u32, channel: Option<u32>, out: &mut Decisions) {
        let at = self.blocks.iter().position(|block| block.number == number).unwrap();
        let pages = self.blocks.remove(at).pages;
        let part = |dirty: bool| {
            pages.iter().map(|(&page, &is)| (page, is)).filter(|page| page.1 == dirty).collect()
        };
        out.leave_with(Action::Evict, part(true), hint(number, written(false), channel));
        out.leave(Action::Drop, part(false));
    }

    fn evict(&mut self, view: &dyn View, out: &mut Decisions) {
        let oldest = self.blocks.last().unwrap();
        if oldest.is_clean() {
            let number = oldest.number;
            return self.send(number, None, out);
        }
        let channels = self.modules.unwrap_or(view.channels());
        let is_idle =
            |channel: &u32| self.modules.is_some() || work_of(view, *channel, channels) == 0;
        let mut idle: Vec<u32> = (0..channels).filter(is_idle).collect();
        // Some channel, or none if it may go to any.
        let channel_of = |block: &Block| match self.modules {
            Some(modules) => Some(block.number % modules),
            None => match view.route(LogicalBlock(block.number), written(false)) {
                Route::Channel(channel) | Route::Home(channel) => Some(channel),
                _ => None,
            },
        };
        let mut leaving = Vec::new();
        for block in self.blocks.iter().rev().take(self.window.unwrap_or(8 * channels as usize)) {
            if block.is_clean() {
                continue;
            }
            let roomiest = || {
                idle.iter().copied().max_by_key(|&channel| {
                    (free_of(view, channel, channels), std::cmp::Reverse(channel))
                })
            };
            let channel = channel_of(block).or_else(roomiest);
            if let Some(channel) = channel
                && idle.contains(&channel)
            {
                idle.retain(|&other| other != channel);
                leaving.push((block.number, Some(channel % view.channels())));
            }
        }
        if leaving.is_empty() {
            leaving.push((self.blocks.last().unwrap().number, None));
        }
        for (number, channel) in leaving {
            self.send(number, channel, out);
        }
    }
}

impl Buffer for FapLru {
    fn access(&mut self, span: &Span, view: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        let number = span.first.0 / self.pages_per_block;
        for Lpn(page) in span.pages() {
            let hit = self.get(page).is_some();
            out.hits.push(hit);
            if !span.write && !self.allocate {
                continue;
            }
            if !hit && self.len() == self.capacity {
                self.evict(view, &mut out);
            }
            let at = self.blocks.iter().position(|block| block.number == number);
            let mut block = match at {
                Some(at) => self.blocks.remove(at),
                None => Block { number, pages: BTreeMap::new() },
            };
            *block.pages.entry(page).or_default() |= span.write;
            self.blocks.insert(0, block);
        }
        out
    }

    fn trim(&mut self, page: u32) {
        for block in &mut self.blocks {
            block.pages.remove(&page);
        }
        self.blocks.retain(|block| !block.pages.is_empty());
    }

    /// A buffer that serves reads keeps the pages; a write buffer is emptied.
    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        let numbers: Vec<u32> = self.blocks.iter().rev().map(|block| block.number).collect();
        for number in numbers {
            if self.allocate {
                let block = self.blocks.iter_mut().find(|block| block.number == number).unwrap();
                let dirty = block.pages.iter_mut().filter(|page| *page.1);
                let pages = dirty.map(|(&page, dirty)| (page, std::mem::take(dirty))).collect();
                out.leave_with(Action::WriteBack, pages, hint(number, written(false), None));
            } else {
                self.send(number, None, &mut out);
            }
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        let number = first / self.pages_per_block;
        let held: Vec<u32> =
            (first..first + count).filter(|&page| self.get(page).is_some()).collect();
        if self.allocate {
            let mut pages: Vec<(u32, bool)> = Vec::new();
            for page in held {
                let dirty = self.get(page).unwrap();
                if std::mem::take(dirty) {
                    pages.push((page, true));
                }
            }
            out.leave_with(Action::WriteBack, pages, hint(number, written(false), None));
        } else if !held.is_empty() {
            self.send(number, None, &mut out);
        }
        out
    }
}
