//! CAVE, as its page tells it: of a host policy's order one block (or page) for each module leaves
//! at once.

use std::collections::BTreeMap;

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::pattern::{Pattern, Route};
use eraseblock_core::support::ids::{LogicalBlock, Lpn};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Buffer, BufferReference, Decisions};
use super::channels::{free_of, hint, part_of, written};

inventory::submit! {
    BufferReference {
        scheme: "cave",
        from: "SUPA (2017), sections 3.1, 3.3 and 6, Kim and Ahn 2008 for its order, and its page: \
            a reconstruction",
        least_capacity: 1,
        pair,
    }
}

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let order = [Order::Bplru, Order::Cflru, Order::Lru][random.random_range(0..3)];
    let chips = random.random();
    let window = random.random_bool(0.6).then(|| random.random_range(1..8));
    let modules = random.random_bool(0.5).then(|| random.random_range(1..6));
    let sequential_above = random.random_bool(0.4).then(|| random.random_range(0..6));
    let (padding, compensation) = (random.random(), random.random());
    let clean_first = [0.0, 0.25, 0.5, 0.8, 1.0][random.random_range(0..5)];
    let mut config = json!({"kind": "cave", "victims": if chips { "chips" } else { "channels" }});
    if let Some(window) = window {
        config["window"] = json!(window);
    }
    if let Some(modules) = modules {
        config["modules"] = json!(modules);
    }
    match order {
        Order::Bplru => {
            config["order"] = json!("bplru");
            config["padding"] = json!(padding);
            config["compensation"] = json!(compensation);
        }
        Order::Cflru => {
            config["order"] = json!("cflru");
            config["clean_first"] = json!(clean_first);
        }
        Order::Lru => config["order"] = json!("lru"),
    }
    // A page that leaves by itself is one dirty page.
    if let Some(above) = sequential_above.filter(|&above| above > 0 || order == Order::Bplru) {
        config["sequential_above"] = json!(above);
    }
    let window_of_clean =
        if order == Order::Cflru { clean_first * f64::from(shape.capacity) } else { 0.0 };
    let cave = Cave {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        order,
        padding,
        compensation,
        clean_first: window_of_clean.round() as usize,
        chips,
        sequential_above,
        window,
        modules,
        list: Vec::new(),
        next: BTreeMap::new(),
    };
    (config, Box::new(cave))
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Bplru,
    Cflru,
    Lru,
}

/// What leaves as one: a block or a page.
struct Item {
    /// Its number.
    key: u32,
    /// Its pages, and which are dirty.
    pages: BTreeMap<u32, bool>,
}

/// Where an item goes.
#[derive(Clone, Copy)]
enum Goes {
    /// Over all channels: alone.
    Striped,
    To(u32),
    Anywhere,
}

struct Cave {
    capacity: usize,
    pages_per_block: u32,
    order: Order,
    padding: bool,
    compensation: bool,
    /// Pages at the end of which clean ones leave first.
    clean_first: usize,
    chips: bool,
    sequential_above: Option<usize>,
    window: Option<usize>,
    modules: Option<u32>,
    /// The most recent first.
    list: Vec<Item>,
    /// The page at which a block's next write goes on in sequence.
    next: BTreeMap<u32, u32>,
}

impl Cave {
    fn by_block(&self) -> bool {
        self.order == Order::Bplru
    }

    fn takes_reads(&self) -> bool {
        self.order == Order::Cflru
    }

    fn key(&self, page: u32) -> u32 {
        if self.by_block() { page / self.pages_per_block } else { page }
    }

    fn block(&self, key: u32) -> u32 {
        if self.by_block() { key } else { key / self.pages_per_block }
    }

    fn len(&self) -> usize {
        self.list.iter().map(|item| item.pages.len()).sum()
    }

    fn get(&mut self, page: u32) -> Option<&mut bool> {
        self.list.iter_mut().find_map(|item| item.pages.get_mut(&page))
    }

    /// p-CAVE: a block with more dirty pages is sequential.
    fn pattern(&self, item: &Item) -> Pattern {
        let dirty = item.pages.values().filter(|dirty| **dirty).count();
        written(self.by_block() && self.sequential_above.is_some_and(|above| dirty > above))
    }

    fn modules(&self, view: &dyn View) -> u32 {
        self.modules.unwrap_or(if self.chips { view.chips() } else { view.channels() })
    }

    fn goes(&self, item: &Item, view: &dyn View) -> Goes {
        let modules = self.modules(view);
        if self.modules.is_some() {
            return Goes::To(item.key % modules);
        }
        if self.by_block() {
            match view.route(LogicalBlock(item.key), self.pattern(item)) {
                Route::Striped => return Goes::Striped,
                Route::Anywhere => return Goes::Anywhere,
                Route::Channel(channel) | Route::Home(channel) if modules == view.channels() => {
                    return Goes::To(channel);
                }
                _ => {}
            }
        }
        // Where its first page lies.
        let first = if self.by_block() { item.key * self.pages_per_block } else { item.key };
        let home = if self.chips {
            view.home_chip(Lpn(first))
        } else {
            view.home(Lpn(first)).map(|unit| part_of(view, unit.0, modules))
        };
        let lies = || view.unit_of(Lpn(first)).map(|unit| part_of(view, unit.0, modules));
        home.or_else(lies).map_or(Goes::Anywhere, Goes::To)
    }

    fn send(&mut self, key: u32, pattern: Pattern, channel: Option<u32>, out: &mut Decisions) {
        let at = self.list.iter().position(|item| item.key == key).unwrap();
        let pages: Vec<(u32, bool)> = self.list.remove(at).pages.into_iter().collect();
        let hint = hint(self.block(key), pattern, channel);
        if !pages[0].1 {
            out.leave(Action::Drop, pages);
        } else if self.by_block() && self.padding {
            out.leave_with(Action::EvictPadded, pages, hint);
        } else {
            out.leave_with(Action::Evict, pages, hint);
        }
    }

    fn evict(&mut self, view: &dyn View, out: &mut Decisions) {
        // CFLRU: the clean page nearest the end of the window leaves alone; plain LRU: the page at
        // the end.
        let is_clean = |item: &&Item| item.pages.values().all(|dirty| !dirty);
        let clean = self.list.iter().rev().take(self.clean_first.max(1)).find(is_clean);
        if let Some(key) = clean.map(|item| item.key) {
            return self.send(key, written(false), None, out);
        }
        let modules = self.modules(view);
        let mut free: Vec<u32> = (0..modules).collect();
        let mut leaving = Vec::new();
        for item in self.list.iter().rev().take(self.window.unwrap_or(8 * modules as usize)) {
            if free.is_empty() {
                break;
            }
            if is_clean(&item) {
                continue;
            }
            let pattern = self.pattern(item);
            let roomiest = || {
                let room = |&module: &u32| match self.modules {
                    Some(_) => (0, std::cmp::Reverse(module)),
                    None => (free_of(view, module, modules), std::cmp::Reverse(module)),
                };
                free.iter().copied().max_by_key(room)
            };
            let module = match self.goes(item, view) {
                Goes::Striped if leaving.is_empty() => {
                    leaving.push((item.key, pattern, None));
                    break;
                }
                Goes::Striped => continue,
                Goes::To(module) => Some(module).filter(|module| free.contains(module)),
                Goes::Anywhere => roomiest(),
            };
            if let Some(module) = module {
                free.retain(|&other| other != module);
                leaving.push((item.key, pattern, Some(module % view.channels())));
            }
        }
        for (key, pattern, channel) in leaving {
            self.send(key, pattern, channel, out);
        }
    }

    /// BPLRU, section 3.3: a block written from its first to its last page goes to the end.
    fn compensate(&mut self, page: u32) {
        let (block, offset) = (page / self.pages_per_block, page % self.pages_per_block);
        if offset == 0 || self.next.get(&block) == Some(&page) {
            self.next.insert(block, page + 1);
        } else {
            self.next.remove(&block);
        }
        let at_its_end = self.next.get(&block) == Some(&((block + 1) * self.pages_per_block));
        if at_its_end && self.list[0].pages.len() == self.pages_per_block as usize {
            let item = self.list.remove(0);
            self.list.push(item);
        }
    }
}

impl Buffer for Cave {
    fn access(&mut self, span: &Span, view: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        for Lpn(page) in span.pages() {
            let hit = self.get(page).is_some();
            out.hits.push(hit);
            if !span.write && !self.takes_reads() {
                continue;
            }
            if !hit && self.len() == self.capacity {
                self.evict(view, &mut out);
            }
            let key = self.key(page);
            let mut item = match self.list.iter().position(|item| item.key == key) {
                Some(at) => self.list.remove(at),
                None => Item { key, pages: BTreeMap::new() },
            };
            *item.pages.entry(page).or_default() |= span.write;
            self.list.insert(0, item);
            if self.by_block() && self.compensation {
                self.compensate(page);
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        for item in &mut self.list {
            item.pages.remove(&page);
        }
        self.list.retain(|item| !item.pages.is_empty());
    }

    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        let keys: Vec<u32> = self.list.iter().rev().map(|item| item.key).collect();
        for key in keys {
            let at = self.list.iter().position(|item| item.key == key).unwrap();
            let pattern = self.pattern(&self.list[at]);
            if !self.takes_reads() {
                self.send(key, pattern, None, &mut out);
            } else if std::mem::take(self.get(key).unwrap()) {
                out.leave_with(
                    Action::WriteBack,
                    vec![(key, true)],
                    hint(self.block(key), pattern, None),
                );
            }
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        for page in first..first + count {
            if self.get(page).is_none() {
                continue;
            }
            let key = self.key(page);
            let at = self.list.iter().position(|item| item.key == key).unwrap();
            let pattern = self.pattern(&self.list[at]);
            if !self.takes_reads() {
                self.send(key, pattern, None, &mut out);
            } else if std::mem::take(self.get(page).unwrap()) {
                out.leave_with(
                    Action::WriteBack,
                    vec![(page, true)],
                    hint(self.block(key), pattern, None),
                );
            }
        }
        out
    }
}
