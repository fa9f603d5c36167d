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
use super::{Action, Answer, Buffer, Evicted, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span, View};
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
        Ok(Box::new(Lru::new(shape, self.reads)))
    }
}

/// Why a page makes room.
const LEAST_RECENT: Reason = "least recently used page";

/// Dirty flag in a slot's page number; page numbers stay below it.
const DIRTY: u32 = 1 << 31;

#[derive(Debug)]
struct Lru {
    reads: Reads,
    capacity: u32,
    len: u32,
    /// Slot of each logical page + 1, or 0. Memory is touched only where pages have been.
    slot_of: Vec<u32>,
    /// Page of each slot, and whether it is dirty.
    pages: Vec<u32>,
    links: Links,
    order: List,
    free: Vec<u32>,
}

impl Lru {
    fn new(shape: Shape, reads: Reads) -> Self {
        let capacity = shape.capacity.min(shape.logical_pages);
        Self {
            reads,
            capacity,
            len: 0,
            slot_of: vec![0; shape.logical_pages as usize],
            pages: vec![0; capacity as usize],
            links: Links::new(capacity as usize),
            order: List::default(),
            free: (0..capacity).rev().collect(),
        }
    }

    #[inline]
    fn find(&self, lpn: u32) -> Option<u32> {
        self.slot_of[lpn as usize].checked_sub(1)
    }

    /// Takes a slot out of the buffer; its page, and whether that was dirty.
    #[inline]
    fn remove(&mut self, slot: u32) -> Evicted {
        let page = self.pages[slot as usize];
        let lpn = page & !DIRTY;
        self.slot_of[lpn as usize] = 0;
        self.order.remove(&mut self.links, slot);
        self.free.push(slot);
        self.len -= 1;
        Evicted { lpn, dirty: page & DIRTY != 0 }
    }

    #[inline]
    fn leave(&mut self, slot: u32, reason: Reason, out: &mut Outcome) {
        let page = self.remove(slot);
        let start = out.pages.len();
        out.pages.push(page);
        out.evict(start, if page.dirty { Action::Flush } else { Action::Drop }, reason);
    }

    /// Writes a page if it is dirty. A buffer that serves reads keeps it.
    fn write_back(&mut self, slot: u32, reason: Reason, out: &mut Outcome) {
        if self.reads == Reads::Bypass {
            return self.leave(slot, reason, out);
        }
        let page = self.pages[slot as usize];
        if page & DIRTY != 0 {
            self.pages[slot as usize] = page & !DIRTY;
            let start = out.pages.len();
            out.pages.push(Evicted { lpn: page & !DIRTY, dirty: true });
            out.evict(start, Action::WriteBack, reason);
        }
    }

    #[inline]
    fn insert(&mut self, page: u32, out: &mut Outcome) {
        if self.len == self.capacity {
            self.leave(self.order.back(), LEAST_RECENT, out);
        }
        // The slot freed last is the one that lies in the cache.
        let Some(slot) = self.free.pop() else { unreachable!("room was made") };
        self.pages[slot as usize] = page;
        self.slot_of[(page & !DIRTY) as usize] = slot + 1;
        self.order.push_front(&mut self.links, slot);
        self.len += 1;
    }
}

impl Buffer for Lru {
    fn access(&mut self, span: &Span, _view: &dyn View, out: &mut Outcome) {
        let dirty = if span.write { DIRTY } else { 0 };
        let bypass = !span.write && self.reads == Reads::Bypass;
        for lpn in span.first..span.first + span.count {
            let answer = match self.find(lpn) {
                Some(slot) => {
                    self.pages[slot as usize] |= dirty;
                    if !bypass {
                        self.order.touch(&mut self.links, slot);
                    }
                    Answer::Hit
                }
                None if bypass => Answer::Bypass,
                None => {
                    self.insert(lpn | dirty, out);
                    if span.write { Answer::Insert } else { Answer::Fill }
                }
            };
            out.answers.push(answer);
        }
    }

    fn trim(&mut self, first: u32, count: u32) {
        for lpn in first..first + count {
            if let Some(slot) = self.find(lpn) {
                self.remove(slot);
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
            if let Some(slot) = self.find(lpn) {
                self.write_back(slot, FORCED, out);
            }
        }
    }

    fn len(&self) -> u32 {
        self.len
    }

    fn holds(&self, lpn: u32) -> bool {
        self.find(lpn).is_some()
    }

    fn check(&self) -> Result<(), String> {
        let listed = self.order.iter(&self.links).count();
        if listed != self.len as usize || listed + self.free.len() != self.capacity as usize {
            return Err(format!(
                "lru: {listed} pages in the list, {} counted, {} slots free",
                self.len,
                self.free.len()
            ));
        }
        match self
            .order
            .iter(&self.links)
            .find(|&slot| self.find(self.pages[slot as usize] & !DIRTY) != Some(slot))
        {
            Some(slot) => Err(format!("lru: slot {slot} is not where the index says")),
            None => Ok(()),
        }
    }

    fn metadata_bytes(&self) -> usize {
        (self.slot_of.len() + self.pages.len()) * 4 + self.links.bytes() + self.free.capacity() * 4
    }

    fn dump(&self) -> Vec<Vec<u32>> {
        self.order.iter(&self.links).map(|slot| vec![self.pages[slot as usize] & !DIRTY]).collect()
    }
}
