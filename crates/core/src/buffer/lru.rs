//! Page LRU: the page that was used longest ago leaves.
//!
//! **What it does.** One list of pages, the most recent first. A hit moves the page to the front; a
//! miss puts it there, a read's page clean and a write's dirty. The page at the end leaves: a dirty
//! one is written, a clean one dropped. The baseline of every paper.
//!
//! **Silent in the papers.** Whether reads allocate: they do, as in HBM's and SUPA's comparisons,
//! where this is the *unified* buffer; `reads = "bypass"` makes it the write buffer that BPLRU
//! compares with, SUPA's *dirty-only* one, where a read neither allocates nor moves anything. Flush
//! commands and forced writes store pages one by one; a write buffer lets them go.
//!
//! Cost of a page access: O(1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocks::ReadPolicy;
use super::kit::paged::{PageOrder, Paged, Victim};
use super::kit::pages::PageTable;
use super::{Buffer, Reason, Shape};
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "page LRU",
    summary: "Pages in the order of use; the least recently used one leaves alone.",
    examples: &[
        Example {
            source: "HBM thesis, table 1.1",
            shows: "Six hits; pages 0 and 5 leave, each by itself, although their blocks hold more.",
            capacity: 8,
            pages_per_block: 4,
            options: "",
            requests: "W 0-3, W 5, W 9, W 11, W 14, W 7, W 3, W 11, W 2, W 14, W 1, W 10, W 7",
        },
        Example {
            source: "",
            shows: "What the host forces: page 1 is stored at once and stays, a trim forgets page \
                2 although it is dirty, and a flush command stores what is dirty still, the least \
                recently used page first, and keeps it.",
            capacity: 4,
            pages_per_block: 4,
            options: "",
            requests: "W 0, W 1 fua, W 2-3, T 2, R 8, F, R 9",
        },
    ],
    choices: &[Choice {
        option: "reads",
        others: &[r#""bypass""#],
        open: "whether pages that are read are taken in",
    }],
    source: include_str!("lru.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What reads do.
    pub reads: ReadPolicy,
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        Paged::build("lru", shape, self.reads, Lru::new)
    }
}

/// Why a page makes room.
pub(super) const LEAST_RECENT: Reason = "least recently used page";

/// Slots in the order of use.
#[derive(Debug)]
pub(super) struct Lru {
    links: Links,
    order: List,
}

impl Lru {
    /// None of `slots`.
    pub(super) fn new(slots: usize) -> Self {
        Self { links: Links::new(slots), order: List::default() }
    }
}

impl PageOrder for Lru {
    #[inline]
    fn hit(&mut self, slot: u32, _write: bool, _pages: &PageTable) -> Option<Victim> {
        self.order.touch(&mut self.links, slot);
        None
    }

    #[inline]
    fn make_room(&mut self, _lpn: Lpn, _write: bool, pages: &PageTable) -> Option<Victim> {
        let full = pages.is_full();
        full.then(|| self.order.pop_back(&mut self.links))
            .flatten()
            .map(|slot| (slot, LEAST_RECENT))
    }

    #[inline]
    fn insert(&mut self, slot: u32, _lpn: Lpn, _write: bool) {
        self.order.push_front(&mut self.links, slot);
    }

    fn remove(&mut self, slot: u32, _pages: &PageTable) {
        self.order.remove(&mut self.links, slot);
    }

    #[inline]
    fn entry(&self, slot: u32) -> u32 {
        self.links.entry(slot)
    }

    #[inline]
    fn next_to_leave(&self) -> impl Iterator<Item = u32> {
        self.order.iter_back(&self.links)
    }

    fn parts(&self) -> impl Iterator<Item = impl Iterator<Item = u32>> {
        std::iter::once(self.order.iter(&self.links))
    }

    fn bytes(&self) -> usize {
        self.links.bytes()
    }
}
