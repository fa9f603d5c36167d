//! FAB: flash-aware buffer, the block with the most pages leaves.
//!
//! **What it does.** Blocks of pages; reading, writing or adding a page makes its block the most
//! recent. The block that holds most pages leaves, the least recently used among equals: its dirty
//! pages are written upwards, its clean ones dropped. Reads allocate.
//!
//! **When it wins**: long sequential writes, pure random writes. **When it loses**: popular pages
//! in well-filled blocks leave early; with one page a block it is page LRU.
//!
//! H. Jo, J.-U. Kang, S.-Y. Park, J.-S. Kim and J. Lee, "FAB: Flash-aware buffer management policy
//! for portable media players", IEEE Trans. Consumer Electronics 52(2), 2006; as described in Kim &
//! Ahn 2008, section 2.4, and in the HBM thesis, section 2.4.1.
//!
//! **Where the papers are silent.** Room is made before the accessed block becomes the most recent
//! (`evict_order`), as for BPLRU. A block that loses pages to a trim counts as used: no one says
//! otherwise, and it keeps the order O(1).
//!
//! **Structure.** One list for each number of pages, the most recent first, and a bit for each list
//! that is not empty. Every access puts its block first in the list of its new number, so that each
//! list is in the order of use.
//!
//! Cost of a page access: O(1) (the fullest list is found by a scan of one bit a page of a block).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocked::{BlockOrder, Blocked, EVICT_ORDER, EvictOrder};
use super::kit::blocks::{Directory, ReadPolicy};
use super::kit::by_size::BySize;
use super::{Buffer, Outcome, Reason, Shape};
use crate::support::NONE;
use crate::support::ids::Lpn;
use crate::support::list::Links;
use crate::support::registry::{About, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "FAB",
    summary: "Buffer of whole blocks; the one with the most pages leaves, the least recently used \
        among equals.",
    paper: "Jo et al., FAB: Flash-aware buffer management policy for portable media players, IEEE \
        TCE 52(2)",
    year: Some(2006),
    described_in: "Kim and Ahn, section 2.4, and Gong's thesis, section 2.4.1",
    choices: &[EVICT_ORDER],
    examples: &[Example {
        source: "",
        shows: "Room for page 14 is made by block 0, which has most pages. Then two blocks have \
            two pages each: the one used longer ago leaves.",
        capacity: 8,
        pages_per_block: 4,
        options: "",
        requests: "W 0-3, W 5, W 9, W 11, W 14, W 7, W 3, W 12, W 16-17, W 20",
    }],
    source: include_str!("fab.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What reads do.
    pub reads: ReadPolicy,
    /// When room is made for a page whose block is already buffered.
    pub evict_order: EvictOrder,
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        let order = |nodes| Fab {
            by_size: BySize::new(nodes, shape.pages_per_block),
            links: Links::new(nodes),
        };
        Ok(Box::new(Blocked::new("fab", shape, self.reads, self.evict_order, order)?))
    }
}

/// Why a block makes room.
const MOST_PAGES: Reason = "block with the most pages, least recently used among equals";

#[derive(Debug)]
struct Fab {
    by_size: BySize,
    links: Links,
}

impl BlockOrder for Fab {
    fn raise(&mut self, node: u32, blocks: &Directory) {
        self.by_size.put(&mut self.links, node, blocks.pages(node));
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
        self.raise(node, blocks);
    }

    fn victim(&self, _blocks: &Directory) -> Option<(u32, Reason)> {
        let fullest = self.by_size.fullest();
        (fullest != NONE).then_some((fullest, MOST_PAGES))
    }

    fn remove(&mut self, node: u32, _blocks: &Directory) {
        self.by_size.remove(&mut self.links, node);
    }

    fn shrink(&mut self, node: u32, blocks: &Directory) {
        self.raise(node, blocks);
    }

    fn nodes(&self) -> impl Iterator<Item = u32> {
        self.by_size.iter(&self.links)
    }

    /// Each list is in the order of use; those that have blocks with dirty pages are followed until
    /// as many are found as they have.
    fn leaving(&self, blocks: &Directory) -> Vec<u32> {
        let mut sizes: Vec<u32> =
            blocks.dirty_nodes().iter().map(|node| blocks.pages(node)).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let mut leaving = Vec::with_capacity(sizes.len());
        for equal in sizes.chunk_by(|a, b| a == b) {
            let start = leaving.len();
            let dirty =
                self.by_size.of_size(&self.links, equal[0]).filter(|&node| blocks.dirty(node) > 0);
            leaving.extend(dirty.take(equal.len()));
            leaving[start..].reverse();
        }
        leaving
    }

    fn check(&self, blocks: &Directory) -> Result<(), String> {
        self.by_size.check(&self.links, |node| blocks.pages(node))
    }

    fn bytes(&self) -> usize {
        self.by_size.bytes() + self.links.bytes()
    }
}
