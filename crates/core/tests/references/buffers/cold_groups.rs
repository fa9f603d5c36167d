//! The buffer of our own: what has not been used for longest is cold, and leaves in rounds, the
//! largest group of each channel.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use eraseblock_core::buffer::{Action, Shape, Span, View};
use eraseblock_core::pattern::Route;
use eraseblock_core::support::ids::{LogicalBlock, Lpn, PlaneId};
use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::kit::draw_share;
use super::super::{Buffer, BufferReference, Decisions};
use super::channels::{hint, written};

inventory::submit! {
    BufferReference {
        scheme: "cold-groups",
        from: "docs/own.md, section Rules",
        least_capacity: 1,
        pair,
    }
}

/// Pages of a trial at least, and writes for each of them until hits count for half.
const TRIED: usize = 256;
const HALVED: usize = 64;
/// The work just fits while, of the writes that find a trial full, less than one in so many misses.
const FITS: usize = 8;

fn pair(shape: Shape, random: &mut Pcg64Mcg) -> (Value, Box<dyn Buffer>) {
    let (allocate, padding) = (random.random(), random.random());
    let cold = random.random_bool(0.6).then(|| draw_share(random));
    let reserve = random.random_bool(0.6).then(|| draw_share(random));
    let below = ["asked", "pages", "blocks"][random.random_range(0..3)];
    let modules = random.random_bool(0.4).then(|| random.random_range(1..7));
    let hot = [None, Some("all"), Some("returning"), Some("tried")][random.random_range(0..4)];
    let ghosts = [0.0, 0.5, 1.0, 3.0][random.random_range(0..4)];
    let mut config = json!({
        "kind": "cold-groups",
        "reads": if allocate { "allocate" } else { "bypass" },
        "below": below,
        "padding": padding,
        "ghosts": ghosts,
    });
    if let Some(hot) = hot {
        config["hot"] = json!(hot);
    }
    if let Some(cold) = cold {
        config["cold"] = json!(cold);
    }
    if let Some(reserve) = reserve {
        config["reserve"] = json!(reserve);
    }
    if let Some(modules) = modules {
        config["modules"] = json!(modules);
    }
    let slow = ColdGroups {
        capacity: shape.capacity as usize,
        pages_per_block: shape.pages_per_block,
        logical_pages: shape.logical_pages,
        allocate,
        cold,
        reserve,
        maps_pages: match below {
            "pages" => Some(true),
            "blocks" => Some(false),
            _ => None,
        },
        padding,
        modules,
        hot,
        ghosts,
        gone: Memory::default(),
        begun: false,
        trials: None,
        writes_tried: 0,
        order: Vec::new(),
        clean: Vec::new(),
        changes: 0,
        changed: BTreeMap::new(),
    };
    (config, Box::new(slow))
}

/// Pages that have left, the last one at the end.
#[derive(Default)]
struct Memory {
    pages: Vec<u32>,
    most: usize,
}

impl Memory {
    fn remember(&mut self, page: u32) {
        if self.most > 0 {
            if self.pages.len() == self.most {
                self.pages.remove(0);
            }
            self.pages.push(page);
        }
    }

    /// Whether it was remembered.
    fn forget(&mut self, page: u32) -> bool {
        let before = self.pages.len();
        self.pages.retain(|&other| other != page);
        self.pages.len() < before
    }
}

/// One way to let pages in, tried in a buffer of its own.
struct Trial {
    /// The most recent first; from `hot` on they are cold.
    order: Vec<u32>,
    hot: usize,
    size: usize,
    cold: usize,
    /// If only those are hot that come back.
    gone: Option<Memory>,
    hits: u32,
    /// It is full with so many pages: small drives do not have `size` of them.
    full: usize,
    /// Writes that found it full, and those of them whose page it did not hold: only the first
    /// trial is asked for them.
    writes_full: usize,
    misses_full: usize,
}

impl Trial {
    /// Of `size` pages, on a drive of which it sees `there`.
    fn new(size: usize, there: usize, share: f64, gone: Option<Memory>) -> Self {
        Self {
            order: Vec::new(),
            hot: 0,
            size,
            cold: ((share * size as f64).ceil() as usize).max(1),
            gone,
            hits: 0,
            full: size.min(there),
            writes_full: 0,
            misses_full: 0,
        }
    }

    fn take(&mut self, page: u32) -> bool {
        let Some(at) = self.order.iter().position(|&other| other == page) else { return false };
        self.order.remove(at);
        self.hot -= usize::from(at < self.hot);
        true
    }

    fn cool(&mut self) {
        self.hot = self.hot.min(self.order.len().saturating_sub(self.cold));
    }

    fn access(&mut self, page: u32, write: bool) {
        // Before the page is taken out: without it the trial is not full any more.
        let full = self.order.len() >= self.full;
        let hit = self.take(page);
        if write && full {
            self.writes_full += 1;
            self.misses_full += usize::from(!hit);
        }
        let returns = !hit && self.gone.as_mut().is_none_or(|gone| gone.forget(page));
        if hit && write {
            self.hits += 1;
        }
        if !hit && self.order.len() == self.size {
            let last = self.order.pop().unwrap();
            self.hot = self.hot.min(self.order.len());
            if let Some(gone) = &mut self.gone {
                gone.remember(last);
            }
        }
        if hit || write && returns {
            self.order.insert(0, page);
            self.hot += 1;
        } else {
            self.order.insert(self.hot, page);
        }
        self.cool();
    }

    fn trim(&mut self, page: u32) {
        if self.take(page) {
            self.cool();
        } else if let Some(gone) = &mut self.gone {
            gone.forget(page);
        }
    }
}

/// A page that is held.
#[derive(Clone, Copy)]
struct Page {
    number: u32,
    dirty: bool,
    cold: bool,
}

/// Where a block would go.
enum Place {
    Striped,
    One(u32),
}

struct ColdGroups {
    capacity: usize,
    pages_per_block: u32,
    logical_pages: u32,
    /// Reads take pages in; else they go past the buffer.
    allocate: bool,
    /// Share of the buffer that is cold, if the option says.
    cold: Option<f64>,
    /// Share of the buffer that is left free unless the work just fits, if the option says.
    reserve: Option<f64>,
    /// What the option says of the FTL, or what the FTL said when it was asked.
    maps_pages: Option<bool>,
    padding: bool,
    modules: Option<u32>,
    /// Which written pages are hot, if the option says.
    hot: Option<&'static str>,
    /// Pages that are remembered, in buffers.
    ghosts: f64,
    gone: Memory,
    /// The first page has come.
    begun: bool,
    /// If it is tried: all hot, and only those that come back; one of how many pages is tried.
    trials: Option<(u32, [Trial; 2])>,
    /// Writes of the trials since hits were halved.
    writes_tried: usize,
    /// All pages held, the most recent first: hot ones, then cold ones.
    order: Vec<Page>,
    /// Pages that are cold and clean; the first has been so for longest.
    clean: Vec<u32>,
    /// Changes of numbers of cold dirty pages so far.
    changes: u64,
    /// Which of them was the last one of each block.
    changed: BTreeMap<u32, u64>,
}

impl ColdGroups {
    fn begin(&mut self) {
        let remembers = |size: usize, ghosts: f64| Memory {
            pages: Vec::new(),
            most: (ghosts * size as f64).floor() as usize,
        };
        let hot = self.hot.unwrap_or(if self.maps_pages() { "tried" } else { "all" });
        let gone = remembers(self.capacity, self.ghosts);
        if hot == "all" || gone.most == 0 {
            return;
        }
        self.gone = gone;
        if hot == "tried" {
            let mut every = 1;
            while self.capacity / (2 * every) >= TRIED {
                every *= 2;
            }
            let (size, share) = (self.capacity / every, self.cold_share());
            let there = (self.logical_pages as usize).div_ceil(every);
            let memory = remembers(size, self.ghosts);
            let returning = Some(memory).filter(|memory| memory.most > 0);
            let all = Trial::new(size, there, share, None);
            let some = Trial::new(size, there, share, returning);
            self.trials = Some((every as u32, [all, some]));
        }
    }

    /// The number that a page has in the trials, if it is drawn of those beside it.
    fn tried(&self, page: u32) -> Option<u32> {
        let every = self.trials.as_ref()?.0;
        let group = page / every;
        let drawn = (u64::from(group) + 1) * 0x9e37_79b1 % (1 << 32) / 128 % u64::from(every);
        (u64::from(page % every) == drawn).then_some(group)
    }

    /// The trials are told of a page.
    fn try_both(&mut self, page: u32, write: bool) {
        let Some(page) = self.tried(page) else { return };
        let Some((_, trials)) = &mut self.trials else { return };
        for trial in &mut *trials {
            trial.access(page, write);
        }
        self.writes_tried += usize::from(write);
        if self.writes_tried == HALVED * trials[0].size {
            self.writes_tried = 0;
            for trial in trials {
                trial.hits /= 2;
                trial.writes_full /= 2;
                trial.misses_full /= 2;
            }
        }
    }

    /// Whether all written pages are hot now.
    fn all_are_hot(&self) -> bool {
        self.gone.most == 0
            || self.trials.as_ref().is_some_and(|(_, [all, some])| some.hits <= all.hits)
    }

    /// Whether the work just fits now; where nothing is tried it never does.
    fn just_fits(&self) -> bool {
        let Some((_, [all, _])) = &self.trials else { return false };
        all.writes_full > FITS * all.misses_full
    }

    fn block(&self, page: u32) -> u32 {
        page / self.pages_per_block
    }

    fn held(&self, number: u32) -> Option<usize> {
        self.order.iter().position(|page| page.number == number)
    }

    /// Pages that are hot: the first cold one stands there.
    fn hot(&self) -> usize {
        self.order.iter().filter(|page| !page.cold).count()
    }

    fn maps_pages(&self) -> bool {
        self.maps_pages.expect("asked before the first page")
    }

    fn cold_share(&self) -> f64 {
        self.cold.unwrap_or(if self.maps_pages() { 0.1 } else { 0.8 })
    }

    fn cold_size(&self) -> usize {
        let share = self.cold_share();
        ((share * self.capacity as f64).ceil() as usize).max(1)
    }

    /// So many pages are held before room is made.
    fn most(&self) -> usize {
        if self.just_fits() {
            return self.capacity;
        }
        let share = self.reserve.unwrap_or(if self.maps_pages() { 0.0625 } else { 0.0 });
        let free = (share * self.capacity as f64).floor() as usize;
        (self.capacity - free).max(1)
    }

    /// The number of cold dirty pages of this page's block is another one now.
    fn count_changes(&mut self, number: u32) {
        self.changes += 1;
        self.changed.insert(self.block(number), self.changes);
    }

    /// Takes a page out of the order, if it is held.
    fn take(&mut self, number: u32) -> Option<Page> {
        let page = self.order.remove(self.held(number)?);
        self.clean.retain(|&other| other != number);
        if page.cold && page.dirty {
            self.count_changes(number);
        }
        Some(page)
    }

    fn cool(&mut self) {
        if self.order.is_empty() {
            return;
        }
        while self.order.len() - self.hot() < self.cold_size().min(self.order.len()) {
            let last = self.hot() - 1;
            self.order[last].cold = true;
            let Page { number, dirty, .. } = self.order[last];
            if dirty {
                self.count_changes(number);
            } else {
                self.clean.push(number);
            }
        }
    }

    fn put_in_front(&mut self, number: u32, dirty: bool) {
        self.order.insert(0, Page { number, dirty, cold: false });
        self.cool();
    }

    /// The dirty pages of a block, upwards.
    fn dirty(&self, block: u32) -> Vec<Page> {
        let mut pages: Vec<Page> = self.order.clone();
        pages.retain(|page| page.dirty && self.block(page.number) == block);
        pages.sort_by_key(|page| page.number);
        pages
    }

    /// The cold ones of them.
    fn cold_dirty(&self, block: u32) -> Vec<Page> {
        let mut pages = self.dirty(block);
        pages.retain(|page| page.cold);
        pages
    }

    fn make_room(&mut self, view: &dyn View, out: &mut Decisions) {
        if let Some(&oldest) = self.clean.first() {
            self.take(oldest);
            self.gone.remember(oldest);
            out.leave(Action::Drop, vec![(oldest, false)]);
        } else {
            for (block, channel) in self.choose(view) {
                self.send(block, channel, view, out);
            }
        }
        self.cool();
    }

    /// The blocks that leave in a round, each with its channel.
    fn choose(&self, view: &dyn View) -> Vec<(u32, Option<u32>)> {
        let cold_dirty = self.order.iter().filter(|page| page.cold && page.dirty);
        let blocks: BTreeSet<u32> = cold_dirty.map(|page| self.block(page.number)).collect();
        let mut blocks: Vec<u32> = blocks.into_iter().collect();
        blocks.sort_by_key(|block| (Reverse(self.cold_dirty(*block).len()), self.changed[block]));
        let places = self.modules.unwrap_or(view.channels());
        blocks.truncate(8 * places as usize);

        let mut free: Vec<u32> = (0..places).collect();
        let mut chosen = Vec::new();
        for block in blocks {
            if free.is_empty() {
                break;
            }
            match self.place(block, &free, view) {
                Place::Striped => {
                    if chosen.is_empty() {
                        return vec![(block, None)];
                    }
                }
                Place::One(place) => {
                    if free.contains(&place) {
                        free.retain(|&other| other != place);
                        chosen.push((block, Some(place % view.channels())));
                    }
                }
            }
        }
        chosen
    }

    /// Where a block goes while nothing leaves for the free places.
    fn place(&self, block: u32, free: &[u32], view: &dyn View) -> Place {
        if let Some(modules) = self.modules {
            return Place::One(block % modules);
        }
        match view.route(LogicalBlock(block), written(false)) {
            Route::Striped => Place::Striped,
            Route::Channel(channel) | Route::Home(channel) => Place::One(channel),
            Route::Anywhere => {
                let mut roomiest = free[0];
                for &channel in free {
                    if erased_of(view, channel) > erased_of(view, roomiest) {
                        roomiest = channel;
                    }
                }
                Place::One(roomiest)
            }
        }
    }

    /// A block leaves.
    fn send(&mut self, block: u32, channel: Option<u32>, view: &dyn View, out: &mut Decisions) {
        let (dirty, cold) = (self.dirty(block), self.cold_dirty(block));
        let all = !self.maps_pages();
        let pads = all && self.padding && view.padding_pays(dirty.len() as u32);
        let action = if pads { Action::EvictCompleted } else { Action::Evict };
        let mut pages = Vec::new();
        for page in if all { dirty } else { cold } {
            self.take(page.number);
            self.gone.remember(page.number);
            pages.push((page.number, true));
        }
        out.leave_with(action, pages, hint(block, written(false), channel));
    }

    /// These pages, all dirty, are written and stay where they are.
    fn write_back(&mut self, pages: &[Page], out: &mut Decisions) {
        for &Page { number, cold, .. } in pages {
            let at = self.held(number).expect("it stays until it is written");
            self.order[at].dirty = false;
            if cold {
                self.count_changes(number);
                self.clean.push(number);
            }
        }
        out.leave(Action::WriteBack, pages.iter().map(|page| (page.number, true)).collect());
    }
}

/// Erased blocks of the units of a channel.
fn erased_of(view: &dyn View, channel: u32) -> u32 {
    let mut erased = 0;
    let mut unit = channel;
    while unit < view.units() {
        erased += view.free_blocks(PlaneId(unit));
        unit += view.channels();
    }
    erased
}

impl Buffer for ColdGroups {
    fn access(&mut self, span: &Span, view: &dyn View) -> Decisions {
        let mut out = Decisions::default();
        if self.maps_pages.is_none() {
            self.maps_pages = Some(view.maps_pages());
        }
        if !self.begun {
            self.begun = true;
            self.begin();
        }
        for Lpn(number) in span.pages() {
            let held = self.held(number).is_some();
            out.hits.push(held);
            if !span.write && !self.allocate {
                continue;
            }
            self.try_both(number, span.write);
            if held {
                let page = self.take(number).expect("it is held");
                self.put_in_front(number, page.dirty || span.write);
                continue;
            }
            // More may be held from when the work just fitted; room is made once all the same.
            if self.order.len() >= self.most() {
                self.make_room(view, &mut out);
            }
            let returns = self.gone.forget(number);
            if span.write && (returns || self.all_are_hot()) {
                self.put_in_front(number, true);
            } else {
                let (hot, dirty) = (self.hot(), span.write);
                self.order.insert(hot, Page { number, dirty, cold: true });
                if dirty {
                    self.count_changes(number);
                } else {
                    self.clean.push(number);
                }
            }
        }
        out
    }

    fn trim(&mut self, page: u32) {
        self.take(page);
        self.gone.forget(page);
        if let Some(page) = self.tried(page)
            && let Some((_, trials)) = &mut self.trials
        {
            for trial in trials {
                trial.trim(page);
            }
        }
    }

    fn trimmed(&mut self) {
        self.cool();
    }

    fn flush(&mut self) -> Decisions {
        let mut out = Decisions::default();
        let before: Vec<u32> = self.order.iter().rev().map(|page| page.number).collect();
        for number in before {
            let at = self.held(number).expect("a flush command makes no room");
            if self.order[at].dirty {
                self.write_back(&self.dirty(self.block(number)), &mut out);
            }
        }
        out
    }

    fn force(&mut self, first: u32, count: u32) -> Decisions {
        let mut out = Decisions::default();
        let mut pages = self.dirty(self.block(first));
        pages.retain(|page| (first..first + count).contains(&page.number));
        self.write_back(&pages, &mut out);
        out
    }
}
