//! Page LRU: the page that was used longest ago leaves.
//!
//! **What it does.** One list of pages, the most recent first. A hit moves the page to the front; a miss puts it
//! there, a read's page clean and a write's dirty. The page at the end leaves: a dirty one is written, a clean one
//! dropped. The baseline of every paper.
//!
//! **Silent in the papers.** Whether reads allocate: they do, as in HBM's and SUPA's comparisons; `reads = "bypass"`
//! makes it the write buffer that BPLRU compares with, where a read neither allocates nor moves anything.
//!
//! Cost of a page access: O(1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::Reads;
use super::pages::PageTable;
use super::{Answer, Buffer, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span, View};
use crate::support::NONE;
use crate::support::list::{Links, List};
use crate::support::registry::About;

/// What `list` says.
pub const ABOUT: About = About {
    title: "page LRU",
    summary: "Pages in the order of use; the least recently used one leaves alone.",
    paper: "",
    year: None,
    reconstruction: false,
};

/// Options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What reads do.
    pub reads: Reads,
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        super::blocks::require_room(shape, 1)?;
        let pages = PageTable::new(shape);
        let links = Links::new(pages.slots());
        Ok(Box::new(Lru { reads: self.reads, pages, links, order: List::default() }))
    }
}

/// Why a page makes room.
const LEAST_RECENT: Reason = "least recently used page";

#[derive(Debug)]
struct Lru {
    reads: Reads,
    pages: PageTable,
    links: Links,
    order: List,
}

impl Lru {
    #[inline]
    fn leave(&mut self, slot: u32, reason: Reason, out: &mut Outcome) {
        self.order.remove(&mut self.links, slot);
        let page = self.pages.remove(slot);
        out.evict_page(page, reason);
    }

    /// Writes a page if it is dirty. A buffer that serves reads keeps it.
    fn write_back(&mut self, slot: u32, reason: Reason, out: &mut Outcome) {
        if self.reads == Reads::Bypass {
            self.leave(slot, reason, out);
        } else {
            self.pages.write_back(slot, reason, out);
        }
    }

    #[inline]
    fn insert(&mut self, lpn: u32, dirty: bool, out: &mut Outcome) {
        if self.pages.is_full() {
            self.leave(self.order.back(), LEAST_RECENT, out);
        }
        let slot = self.pages.insert(lpn, dirty);
        self.order.push_front(&mut self.links, slot);
    }
}

impl Buffer for Lru {
    fn access(&mut self, span: &Span, _view: &dyn View, out: &mut Outcome) {
        let bypass = !span.write && self.reads == Reads::Bypass;
        for lpn in span.first..span.first + span.count {
            let answer = match self.pages.find(lpn) {
                Some(slot) => {
                    if span.write {
                        self.pages.set_dirty(slot, true);
                    }
                    if !bypass {
                        self.order.touch(&mut self.links, slot);
                    }
                    Answer::Hit
                }
                None if bypass => Answer::Bypass,
                None => {
                    self.insert(lpn, span.write, out);
                    if span.write { Answer::Insert } else { Answer::Fill }
                }
            };
            out.answers.push(answer);
        }
    }

    fn trim(&mut self, first: u32, count: u32) {
        for lpn in first..first + count {
            if let Some(slot) = self.pages.find(lpn) {
                self.order.remove(&mut self.links, slot);
                self.pages.remove(slot);
            }
        }
    }

    fn flush(&mut self, out: &mut Outcome) {
        let mut at = self.order.back();
        while at != NONE {
            let before = self.order.before(&self.links, at);
            self.write_back(at, FLUSH_COMMAND, out);
            at = before;
        }
    }

    fn flush_pages(&mut self, first: u32, count: u32, out: &mut Outcome) {
        for lpn in first..first + count {
            if let Some(slot) = self.pages.find(lpn) {
                self.write_back(slot, FORCED, out);
            }
        }
    }

    fn len(&self) -> u32 {
        self.pages.len()
    }

    fn holds(&self, lpn: u32) -> bool {
        self.pages.find(lpn).is_some()
    }

    fn check(&self) -> Result<(), String> {
        self.pages.check(self.order.iter(&self.links)).map_err(|problem| format!("lru: {problem}"))
    }

    fn metadata_bytes(&self) -> usize {
        self.pages.bytes() + self.links.bytes()
    }

    fn dump(&self) -> Vec<Vec<u32>> {
        self.order.iter(&self.links).map(|slot| vec![self.pages.get(slot).lpn]).collect()
    }
}
