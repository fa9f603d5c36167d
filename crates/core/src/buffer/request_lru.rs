//! LRU of whole requests: the write request that came longest ago leaves, with all of its pages
//! that are still held.
//!
//! **What it does.** One list of written pages, the most recent first, each with the request that
//! wrote it last. Room is made by the pages at the end that one request wrote: they go to flash
//! together, in the order in which they were written. Reads are served from the buffer where
//! it has the page; they move nothing and take nothing in.
//!
//! **When it wins**: it is what EPO is compared with; a request of several pages keeps as many
//! chips busy as it has pages. **When it loses**: requests of one page leave one at a time, each
//! for a request that waits.
//!
//! T. Xie and J. Koshia, "Boosting random write performance for enterprise flash storage systems",
//! MSST 2011, section IV.A: it "maintains the age of each buffered write request and evicts the
//! least recently used write request first"; only EPO divides requests (section IV.C).
//!
//! **Where the paper is silent.** What becomes of a request of which a later one writes some pages
//! again: these pages belong to the later one, the others keep their age. A request larger than the
//! buffer drives out what it has written itself. What is forced leaves together, and not the rest
//! of its request.
//!
//! Cost of a page access: O(1); of an eviction O(pages of the request).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::batched::{BatchOrder, Batched};
use super::{Buffer, Reason, Shape, View};
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "LRU of requests",
    summary: "Write buffer of pages; the least recent write request leaves with all of its pages.",
    examples: &[Example {
        source: "",
        shows: "Page 1 is written again, and belongs to the second request now; pages 0 and 2 of \
            the first one leave together.",
        capacity: 4,
        pages_per_block: 4,
        options: "",
        requests: "W 0-2, W 1, W 5, W 6, W 7",
    }],
    source: include_str!("request_lru.rs"),
    ..About::PLAIN
};

/// No options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        let order = |slots| RequestLru {
            links: Links::new(slots),
            order: List::default(),
            request_of: vec![0; slots],
        };
        Batched::build("request-lru", shape, order)
    }
}

#[derive(Debug)]
struct RequestLru {
    links: Links,
    /// Pages in the order of writing: those of one request are neighbours.
    order: List,
    /// The request that wrote the page of each slot last.
    request_of: Vec<u64>,
}

impl BatchOrder for RequestLru {
    const REASON: Reason = "least recent write request";
    const SPLITS: bool = false;

    fn hit(&mut self, slot: u32, request: u64) {
        self.order.touch(&mut self.links, slot);
        self.request_of[slot as usize] = request;
    }

    fn insert(&mut self, slot: u32, _lpn: Lpn, request: u64, _view: &dyn View) {
        self.order.push_front(&mut self.links, slot);
        self.request_of[slot as usize] = request;
    }

    fn batch(&mut self, into: &mut Vec<u32>) {
        let Some(oldest) = self.order.pop_back(&mut self.links) else { return };
        into.push(oldest);
        let request = self.request_of[oldest as usize];
        while !self.order.is_empty() && self.request_of[self.order.back() as usize] == request {
            into.extend(self.order.pop_back(&mut self.links));
        }
    }

    fn remove(&mut self, slot: u32) {
        self.order.remove(&mut self.links, slot);
    }

    fn groups(&self) -> Vec<Vec<u32>> {
        let slots: Vec<u32> = self.order.iter(&self.links).collect();
        let one = |a: &u32, b: &u32| self.request_of[*a as usize] == self.request_of[*b as usize];
        slots.chunk_by(one).map(<[u32]>::to_vec).collect()
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + self.request_of.len() * 8
    }
}
