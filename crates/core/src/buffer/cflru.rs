//! CFLRU: page LRU that lets clean pages go before dirty ones, within a window at the end of the
//! list.
//!
//! **What it does.** One list of pages in the order of use. The last `window` share of the buffer
//! is the clean-first window: the clean page nearest the end leaves; only if all pages of the
//! window are dirty, the page at the end does, by a write.
//!
//! **When it wins**: where programs cost much more than reads and clean pages are about. **When it
//! loses**: read-heavy work, whose pages it gives away early.
//!
//! S. Park et al., "CFLRU: A replacement algorithm for flash memory", CASES 2006; built after its
//! description in the SUPA paper (2017).
//!
//! **Where that is silent.** The window's size: a quarter of the buffer (`window`), rounded to the
//! nearest page; 0 is page LRU. A page that a flush command cleans counts as clean in its place.
//!
//! Cost of a page access: O(log n) where a clean page is in the window, else O(1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocked::BlockOrder;
use super::kit::blocks::{Directory, ReadPolicy, require_share};
use super::kit::paged::{PageOrder, Paged, Victim};
use super::kit::pages::PageTable;
use super::kit::parallel::Ranked;
use super::kit::stamps::Stamps;
use super::kit::window::Window;
use super::lru::LEAST_RECENT;
use super::{Buffer, Outcome, Reason, Shape};
use crate::support::NONE;
use crate::support::bits::Bits;
use crate::support::heap::Heap;
use crate::support::ids::Lpn;
use crate::support::registry::{About, Choice, Cost, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "CFLRU",
    summary: "Page LRU that lets clean pages go first, within a window at the end of the list.",
    paper: "Park et al., CFLRU: A replacement algorithm for flash memory, CASES",
    year: Some(2006),
    described_in: "Kim, Park and Youn, SUPA",
    cost: Cost::Logarithmic,
    choices: &[Choice {
        option: "window",
        others: &["0.1", "0.5"],
        open: "the size of the clean-first window",
    }],
    examples: &[Example {
        source: "",
        shows: "The window is the last three pages of the list. Clean pages 2, 4 and 5 go, the \
            dirty ones used before them stay.",
        capacity: 4,
        pages_per_block: 4,
        options: r#"{"window": 0.75}"#,
        requests: "W 1, R 2, W 3, R 4, R 5, R 6, R 7",
    }],
    source: include_str!("cflru.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Share of the buffer that the clean-first window takes, 0 to 1.
    pub window: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { window: 0.25 }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, or a window that is no share.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_share("window", self.window)?;
        let order = |slots| Cflru::new(slots, self.window);
        Paged::build("cflru", shape, ReadPolicy::Allocate, order)
    }
}

const CLEAN_FIRST: Reason = "clean page nearest the end of the window";

/// Slots in the order of use, and the clean ones of its window.
#[derive(Debug)]
pub(super) struct Cflru {
    window: Window,
    /// When each slot was used.
    used: Stamps,
    /// Clean pages of the window, by use.
    clean: Heap<u64>,
    dirty: Bits,
}

impl Cflru {
    /// None of `slots`; the window takes this share of them.
    pub(super) fn new(slots: usize, window: f64) -> Self {
        Self {
            window: Window::new(slots, libm::round(window * slots as f64) as u32),
            used: Stamps::new(slots),
            clean: Heap::new(slots),
            dirty: Bits::new(slots),
        }
    }

    fn next(&self) -> Victim {
        match self.clean.first() {
            Some((_, slot)) => (slot, CLEAN_FIRST),
            None => (self.window.back(), LEAST_RECENT),
        }
    }

    /// Compares the window's clean pages with what is dirty.
    fn agrees(&self, dirty: impl Fn(u32) -> bool) -> Result<(), String> {
        self.window.check()?;
        let misplaced = |&slot: &u32| {
            self.clean.key(slot).is_some() != (self.window.contains(slot) && !dirty(slot))
        };
        match self.window.iter().find(misplaced) {
            Some(slot) => {
                Err(format!("slot {slot} is not among the window's clean pages, or should not be"))
            }
            None => Ok(()),
        }
    }

    fn state_bytes(&self) -> usize {
        self.window.bytes() + self.used.bytes() + self.dirty.bytes() + self.clean.bytes()
    }

    fn forget(&mut self, slot: u32) {
        self.dirty.clear(slot as usize);
        if self.window.contains(slot) {
            self.clean.set(slot, self.used.get(slot));
        }
    }

    fn unlink(&mut self, slot: u32) {
        if self.window.remove(slot) {
            self.clean.remove(slot);
        }
    }

    fn link(&mut self, slot: u32, write: bool) {
        if write {
            self.dirty.set(slot as usize);
        }
        self.used.stamp(slot);
        self.window.push(slot);
        while let Some(entered) = self.window.widen() {
            if !self.dirty.get(entered as usize) {
                self.clean.set(entered, self.used.get(entered));
            }
        }
    }
}

impl PageOrder for Cflru {
    fn hit(&mut self, slot: u32, write: bool, _pages: &PageTable) -> Option<Victim> {
        self.unlink(slot);
        self.link(slot, write);
        None
    }

    fn make_room(&mut self, _lpn: Lpn, _write: bool, pages: &PageTable) -> Option<Victim> {
        if !pages.is_full() {
            return None;
        }
        let victim = self.next();
        self.unlink(victim.0);
        Some(victim)
    }

    fn insert(&mut self, slot: u32, _lpn: Lpn, write: bool) {
        self.dirty.clear(slot as usize);
        self.link(slot, write);
    }

    fn remove(&mut self, slot: u32, _pages: &PageTable) {
        self.unlink(slot);
    }

    fn cleaned(&mut self, slot: u32) {
        self.forget(slot);
    }

    fn parts(&self) -> impl Iterator<Item = impl Iterator<Item = u32>> {
        std::iter::once(self.window.iter())
    }

    fn check(&self, pages: &PageTable) -> Result<(), String> {
        self.agrees(|slot| pages.get(slot).dirty)
    }

    fn bytes(&self) -> usize {
        self.state_bytes()
    }
}

/// The same over a directory of blocks, each of which is a single page.
impl BlockOrder for Cflru {
    fn raise(&mut self, node: u32, blocks: &Directory) {
        self.unlink(node);
        self.link(node, blocks.dirty(node) > 0);
    }

    fn touch(&mut self, node: u32, _lpn: Lpn, blocks: &Directory, _out: &mut Outcome) {
        self.raise(node, blocks);
    }

    fn insert(
        &mut self,
        node: u32,
        _lpn: Lpn,
        _fresh: bool,
        blocks: &Directory,
        _out: &mut Outcome,
    ) {
        self.dirty.clear(node as usize);
        self.link(node, blocks.dirty(node) > 0);
    }

    fn victim(&self, blocks: &Directory) -> Option<Victim> {
        (!blocks.is_empty()).then(|| self.next())
    }

    fn remove(&mut self, node: u32, _blocks: &Directory) {
        self.unlink(node);
    }

    fn shrink(&mut self, _node: u32, _blocks: &Directory) {}

    fn nodes(&self) -> impl Iterator<Item = u32> {
        self.window.iter()
    }

    fn check(&self, blocks: &Directory) -> Result<(), String> {
        self.agrees(|node| blocks.dirty(node) > 0)
    }

    fn bytes(&self) -> usize {
        self.state_bytes()
    }
}

impl Ranked for Cflru {
    fn before(&self, node: u32) -> u32 {
        if node == NONE { self.window.back() } else { self.window.before(node) }
    }

    fn cleaned(&mut self, node: u32) {
        self.forget(node);
    }
}
