//! FIFO: the page that came first leaves first, however often it was used since.
//!
//! **What it does.** One list of pages in the order of their arrival. A hit moves nothing. A dirty
//! page that leaves is written, a clean one dropped. The least that a scheme can do: what another
//! gains over it, it gains by looking at use.
//!
//! Reads allocate; `reads = "bypass"` makes it a write buffer. Flush commands and forced
//! writes store pages one by one; a write buffer lets them go.
//!
//! Cost of a page access: O(1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocks::ReadPolicy;
use super::kit::paged::{PageOrder, Paged, Victim};
use super::kit::pages::PageTable;
use super::kit::written::Written;
use super::{Buffer, Reason, Shape};
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "FIFO",
    summary: "Pages in the order of arrival; the oldest one leaves alone.",
    examples: &[Example {
        source: "",
        shows: "Page 0 leaves first although it was just read: a hit changes nothing in the order.",
        capacity: 4,
        pages_per_block: 4,
        options: "",
        requests: "W 0-3, R 0, W 4, R 0, W 5",
    }],
    source: include_str!("fifo.rs"),
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
        let order = |slots| Fifo {
            links: Links::new(slots),
            order: List::default(),
            written: Written::new(slots),
        };
        Paged::build("fifo", shape, self.reads, order)
    }
}

const OLDEST: Reason = "oldest page";

#[derive(Debug)]
struct Fifo {
    links: Links,
    order: List,
    written: Written,
}

impl PageOrder for Fifo {
    #[inline]
    fn hit(&mut self, slot: u32, write: bool, _pages: &PageTable) -> Option<Victim> {
        self.written.used(slot, write);
        None
    }

    #[inline]
    fn make_room(&mut self, _lpn: Lpn, _write: bool, pages: &PageTable) -> Option<Victim> {
        let full = pages.is_full();
        let slot = full.then(|| self.order.pop_back(&mut self.links)).flatten()?;
        self.written.cleaned(slot);
        Some((slot, OLDEST))
    }

    #[inline]
    fn insert(&mut self, slot: u32, _lpn: Lpn, write: bool) {
        self.written.place(slot);
        self.written.used(slot, write);
        self.order.push_front(&mut self.links, slot);
    }

    fn remove(&mut self, slot: u32, _pages: &PageTable) {
        self.written.cleaned(slot);
        self.order.remove(&mut self.links, slot);
    }

    #[inline]
    fn next_to_leave(&self) -> impl Iterator<Item = u32> {
        self.order.iter_back(&self.links)
    }

    fn parts(&self) -> impl Iterator<Item = impl Iterator<Item = u32>> {
        std::iter::once(self.order.iter(&self.links))
    }

    fn cleaned(&mut self, slot: u32) {
        self.written.cleaned(slot);
    }

    fn leaving(&mut self, _pages: &PageTable) -> Vec<u32> {
        self.written.leaving(|_| false)
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + self.written.bytes()
    }
}
