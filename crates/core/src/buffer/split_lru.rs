//! Two LRU lists side by side, one for clean pages and one for dirty ones, each with its own part
//! of the RAM.
//!
//! **What it does.** A read miss takes its page into the clean part and makes the block of it used
//! longest ago go; a write takes its page into the dirty part and makes the block of it written
//! longest ago go. A page of the clean part that is written moves over. The *separated* buffer that
//! SUPA compares with one for dirty blocks alone (`block-lru` with `reads = "bypass"`) and one for
//! both (`block-lru`). With `unit = "page"` the lists are of single pages (`lru` is its
//! counterpart).
//!
//! **When it wins**: reads that would push dirty pages out, or writes that would push out clean
//! ones. **When it loses**: reads and writes of the same pages, and any other division of the RAM
//! that the workload would prefer.
//!
//! D. Kim, K. H. Park and C.-H. Youn, "SUPA: A single unified read-write buffer and
//! pattern-change-aware FTL for the high performance of multi-channel SSD", ACM Trans. Storage
//! 13(4), 2017, sections 4.1 and 6.4.1, figure 2(a).
//!
//! **Where the paper is silent.** How the RAM is split (`dirty_share`, a half; rounded to the
//! nearest page). Whether a block with clean and dirty pages is in both lists: it is, each page in
//! the list that it belongs to. A read hit on a dirty page counts as use in the dirty part. A page
//! that a flush command cleans stays in the dirty part until it leaves. Room is made before the
//! used block moves to the front.
//!
//! Cost of a page access: O(1); of an eviction O(pages of a block).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::block_lru::BlockLru;
use super::kit::blocked::{Blocked, EvictOrder};
use super::kit::blocks::{ReadPolicy, require_room, require_share};
use super::kit::paged::{PageOrder, Paged, Victim};
use super::kit::pages::PageTable;
use super::{Answer, Buffer, Outcome, Reason, Shape, Span, View};
use crate::support::bits::Bits;
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "separate LRU",
    summary: "One LRU list of clean blocks, one of dirty blocks, each with its own part of the RAM.",
    paper: "Kim, Park and Youn, SUPA, figure 2a",
    year: Some(2017),
    choices: &[
        Choice {
            option: "dirty_share",
            others: &["0.25", "0.75"],
            open: "how the RAM is divided between clean and dirty pages",
        },
        Choice {
            option: "unit",
            others: &[r#""page""#],
            open: "the figure draws lists of blocks; the unified buffer that it is compared with \
                has pages",
        },
    ],
    examples: &[
        Example {
            source: "",
            shows: "Four pages for each part. Block 0 has pages 0 and 1 in the clean part; page 1 \
                is written and moves over. Then page 12 makes the block of the dirty part leave \
                that was written longest ago, and page 16 the rest of block 0.",
            capacity: 8,
            pages_per_block: 4,
            options: "",
            requests: "W 4-5, R 0-1, W 1, W 8, R 13, W 12, R 9, R 16-17",
        },
        Example {
            source: "",
            shows: "Two pages for each part. The third write makes a dirty page go, the third read \
                a clean one; page 5 is written, moves over, and page 2 goes.",
            capacity: 4,
            pages_per_block: 4,
            options: r#"{"unit": "page"}"#,
            requests: "W 1, W 2, R 3, W 4, R 5, R 6, W 5",
        },
    ],
    source: include_str!("split_lru.rs"),
    ..About::PLAIN
};

/// What the lists are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Single pages, each of which leaves alone.
    Page,
    /// Logical blocks, which leave with all pages that they have in that part.
    #[default]
    Block,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Share of the buffer for dirty pages; each part has at least one page.
    pub dirty_share: f64,
    /// What the lists are of.
    pub unit: Unit,
}

impl Default for Config {
    fn default() -> Self {
        Self { dirty_share: 0.5, unit: Unit::Block }
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
        let split = |slots: u32| {
            let dirty = libm::round(self.dirty_share * f64::from(slots)) as u32;
            let dirty = dirty.clamp(1, slots.saturating_sub(1).max(1));
            [slots - dirty, dirty]
        };
        if self.unit == Unit::Block {
            let part = |capacity, reason| {
                let order = |nodes| BlockLru::new(nodes, reason);
                let shape = Shape { capacity, ..shape };
                Blocked::new(
                    "split-lru",
                    shape,
                    ReadPolicy::Allocate,
                    EvictOrder::EvictFirst,
                    order,
                )
            };
            let [clean, dirty] = split(shape.capacity);
            let (clean, dirty) =
                (part(clean, LEAST_RECENT_CLEAN)?, part(dirty, LEAST_RECENT_DIRTY)?);
            return Ok(Box::new(SplitBlocks { clean, dirty }));
        }
        let order = |slots: usize| Split {
            links: Links::new(slots),
            written: Bits::new(slots),
            parts: split(shape.capacity).map(Part::new),
        };
        Paged::build("split-lru", shape, ReadPolicy::Allocate, order)
    }
}

const LEAST_RECENT_CLEAN: Reason = "used longest ago in the clean part";
const LEAST_RECENT_DIRTY: Reason = "used longest ago in the dirty part";

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

    fn make_room(&mut self, _lpn: Lpn, write: bool, _pages: &PageTable) -> Option<Victim> {
        self.relieve(write)
    }

    fn insert(&mut self, slot: u32, _lpn: Lpn, write: bool) {
        self.put(slot, write);
    }

    fn remove(&mut self, slot: u32, _pages: &PageTable) {
        self.take(slot);
    }

    #[inline]
    fn entry(&self, slot: u32) -> u32 {
        self.links.entry(slot)
    }

    fn parts(&self) -> impl Iterator<Item = impl Iterator<Item = u32>> {
        self.parts.iter().rev().map(|part| part.order.iter(&self.links))
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

/// Two lists of blocks.
#[derive(Debug)]
struct SplitBlocks {
    clean: Blocked<BlockLru>,
    dirty: Blocked<BlockLru>,
}

impl Buffer for SplitBlocks {
    fn access(&mut self, span: &Span, view: &dyn View, out: &mut Outcome) {
        for first in span.pages() {
            let page = Span { first, count: 1, ..*span };
            if !span.write && !self.dirty.holds(first) {
                self.clean.access(&page, view, out);
                continue;
            }
            let moves = self.clean.holds(first);
            if moves {
                self.clean.trim(first, 1);
            }
            self.dirty.access(&page, view, out);
            if moves && let Some(answer) = out.answers.last_mut() {
                *answer = Answer::Hit;
            }
        }
    }

    fn trim(&mut self, first: Lpn, count: u32) {
        self.clean.trim(first, count);
        self.dirty.trim(first, count);
    }

    fn flush(&mut self, out: &mut Outcome) {
        self.dirty.flush(out);
    }

    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome) {
        self.dirty.flush_pages(first, count, out);
    }

    fn len(&self) -> u32 {
        self.clean.len() + self.dirty.len()
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.clean.holds(lpn) || self.dirty.holds(lpn)
    }

    fn check(&self) -> Result<(), String> {
        self.clean.check()?;
        self.dirty.check()?;
        let both = self.clean.dump().concat().into_iter().find(|&lpn| self.dirty.holds(lpn));
        both.map_or(Ok(()), |lpn| Err(format!("split-lru: page {lpn} is in both parts")))
    }

    fn metadata_bytes(&self) -> usize {
        self.clean.metadata_bytes() + self.dirty.metadata_bytes()
    }

    /// The dirty part, then the clean one.
    fn dump(&self) -> Vec<Vec<Lpn>> {
        let mut all = self.dirty.dump();
        all.extend(self.clean.dump());
        all
    }
}
