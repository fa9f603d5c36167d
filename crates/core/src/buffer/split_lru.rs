//! Two page LRU lists side by side, one for clean pages and one for dirty ones, each with its own part of the RAM.
//!
//! **What it does.** A read miss takes its page into the clean part and makes the clean page used longest ago go; a write takes its page
//! into the dirty part and makes the dirty page written longest ago go. A page of the clean part that is written moves over.
//! The *separate* buffer that SUPA compares with one for dirty pages alone (`lru` with `reads = "bypass"`) and one for
//! both (`lru`).
//!
//! **Where the paper is silent** (Kim, Park and Youn 2017, figure 2a): how the RAM is split (`dirty_share`, a half). A read hit on a dirty
//! page counts as use in the dirty part. A page that a flush command cleans stays in the dirty part until it leaves.
//!
//! Cost of a page access: O(1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::{Reads, require_room, require_share};
use super::paged::{PageOrder, Paged, Victim};
use super::pages::PageTable;
use super::{Buffer, Reason, Shape};
use crate::support::bits::Bits;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "separate LRU",
    summary: "One LRU list of clean pages, one of dirty pages, each with its own part of the RAM.",
    paper: "Kim, Park and Youn, SUPA, figure 2a",
    year: Some(2017),
    choices: &[Choice {
        option: "dirty_share",
        others: &["0.25", "0.75"],
        open: "how the RAM is divided between clean and dirty pages",
    }],
    examples: &[Example {
        source: "",
        shows: "Two pages for each part. The third write makes a dirty page go, the third read a clean one; page 5 is written, moves over, and page 2 goes.",
        capacity: 4,
        pages_per_block: 4,
        options: r#"{"dirty_share": 0.5}"#,
        requests: "W 1, W 2, R 3, W 4, R 5, R 6, W 5",
    }],
    source: include_str!("split_lru.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Share of the buffer for dirty pages; each part has at least one page.
    pub dirty_share: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { dirty_share: 0.5 }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for two pages, or a share that is none.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_room(shape, 2)?;
        require_share("dirty_share", self.dirty_share)?;
        let order = |slots: usize| {
            let most = slots.saturating_sub(1).max(1) as u32;
            let dirty = (libm::round(self.dirty_share * slots as f64) as u32).clamp(1, most);
            Split {
                links: Links::new(slots),
                written: Bits::new(slots),
                parts: [Part::new(slots as u32 - dirty), Part::new(dirty)],
            }
        };
        Paged::build("split-lru", shape, Reads::Allocate, order)
    }
}

const LEAST_RECENT_CLEAN: Reason = "least recently used page of the clean part";
const LEAST_RECENT_DIRTY: Reason = "least recently used page of the dirty part";

#[derive(Debug)]
struct Part {
    order: List,
    len: u32,
    capacity: u32,
}

impl Part {
    fn new(capacity: u32) -> Self {
        Self { order: List::default(), len: 0, capacity }
    }
}

#[derive(Debug)]
struct Split {
    links: Links,
    /// Which slots are in the dirty part.
    written: Bits,
    /// Clean, dirty.
    parts: [Part; 2],
}

impl Split {
    fn put(&mut self, slot: u32, dirty: bool) {
        if dirty {
            self.written.set(slot as usize);
        }
        let part = &mut self.parts[usize::from(dirty)];
        part.order.push_front(&mut self.links, slot);
        part.len += 1;
    }

    fn take(&mut self, slot: u32) {
        let part = &mut self.parts[usize::from(self.written.clear(slot as usize))];
        part.order.remove(&mut self.links, slot);
        part.len -= 1;
    }

    /// Makes room in a part if it is full.
    fn relieve(&mut self, dirty: bool) -> Option<Victim> {
        let part = &self.parts[usize::from(dirty)];
        if part.len < part.capacity {
            return None;
        }
        let slot = part.order.back();
        self.take(slot);
        Some((slot, if dirty { LEAST_RECENT_DIRTY } else { LEAST_RECENT_CLEAN }))
    }
}

impl PageOrder for Split {
    fn hit(&mut self, slot: u32, write: bool, _pages: &PageTable) -> Option<Victim> {
        let dirty = self.written.get(slot as usize);
        self.take(slot);
        let victim = if write && !dirty { self.relieve(true) } else { None };
        self.put(slot, write || dirty);
        victim
    }

    fn make_room(&mut self, _lpn: u32, write: bool, _pages: &PageTable) -> Option<Victim> {
        self.relieve(write)
    }

    fn insert(&mut self, slot: u32, _lpn: u32, write: bool) {
        self.put(slot, write);
    }

    fn remove(&mut self, slot: u32, _pages: &PageTable) {
        self.take(slot);
    }

    fn slots(&self) -> Vec<u32> {
        self.parts.iter().rev().flat_map(|part| part.order.iter(&self.links)).collect()
    }

    fn check(&self, pages: &PageTable) -> Result<(), String> {
        for (part, dirty) in self.parts.iter().zip([false, true]) {
            let listed = part.order.iter(&self.links).count() as u32;
            if listed != part.len || part.len > part.capacity {
                return Err(format!(
                    "{listed} pages in a part of {} that counts {}",
                    part.capacity, part.len
                ));
            }
            if !dirty && part.order.iter(&self.links).any(|slot| pages.get(slot).dirty) {
                return Err("a dirty page is in the clean part".into());
            }
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + self.written.bytes()
    }
}
