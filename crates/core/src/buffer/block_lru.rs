//! Block LRU: the block that was used longest ago leaves with all its pages.
//!
//! **What it does.** One list of blocks, the most recent first. Reading, writing or adding a page
//! moves its block to the front. The block at the end leaves as a whole: its dirty pages are
//! written upwards, its clean ones dropped. The *block-level LRU* of the HBM thesis (table 1.1) and
//! the BPLRU paper (table 1), and the block lists that SUPA draws.
//!
//! **When it wins**: writes that fill blocks piece by piece, on log-block FTLs. **When it loses**:
//! a few popular pages keep all of their blocks' pages in the buffer.
//!
//! **Where the papers are silent.** Whether reads allocate: they do, which makes it SUPA's
//! *unified* buffer (figure 2b) with blocks in place of pages; `reads = "bypass"` makes it the
//! *dirty-only* one, where a read neither allocates nor moves anything. Room is made before the
//! used block moves to the front (`evict_order`): BPLRU's table 1 is possible only so.
//!
//! Cost of a page access: O(1); of an eviction O(pages of a block).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocked::{BlockOrder, Blocked, EVICT_ORDER, EvictOrder};
use super::kit::blocks::{Directory, ReadPolicy};
use super::kit::parallel::Ranked;
use super::{Buffer, Outcome, Reason, Shape};
use crate::support::NONE;
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "block LRU",
    summary: "Blocks in the order of use; the least recently used one leaves with all its pages.",
    choices: &[
        EVICT_ORDER,
        Choice {
            option: "reads",
            others: &[r#""bypass""#],
            open: "whether pages that are read are taken in",
        },
    ],
    examples: &[Example {
        source: "HBM thesis, table 1.1",
        shows: "Two hits. Block 0 leaves first, in one piece; its pages 3, 2 and 1 come back one \
            by one. Page 10 makes block 1 leave, and with page 5 goes page 7, which is asked for \
            next.",
        capacity: 8,
        pages_per_block: 4,
        options: "",
        requests: "W 0-3, W 5, W 9, W 11, W 14, W 7, W 3, W 11, W 2, W 14, W 1, W 10, W 7",
    }],
    source: include_str!("block_lru.rs"),
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
        let order = |nodes| BlockLru::new(nodes, LEAST_RECENT);
        Ok(Box::new(Blocked::new("block-lru", shape, self.reads, self.evict_order, order)?))
    }
}

pub(super) const LEAST_RECENT: Reason = "least recently used block";

/// Blocks in the order of use.
#[derive(Debug)]
pub(super) struct BlockLru {
    order: List,
    links: Links,
    reason: Reason,
}

impl BlockLru {
    /// No nodes of `0..nodes`; blocks leave for this reason.
    pub(super) fn new(nodes: usize, reason: Reason) -> Self {
        Self { order: List::default(), links: Links::new(nodes), reason }
    }
}

impl BlockOrder for BlockLru {
    fn raise(&mut self, node: u32, _blocks: &Directory) {
        self.order.touch(&mut self.links, node);
    }

    fn touch(&mut self, node: u32, _lpn: Lpn, blocks: &Directory, _out: &mut Outcome) {
        self.raise(node, blocks);
    }

    fn insert(
        &mut self,
        node: u32,
        _lpn: Lpn,
        fresh: bool,
        blocks: &Directory,
        _out: &mut Outcome,
    ) {
        if fresh {
            self.order.push_front(&mut self.links, node);
        } else {
            self.raise(node, blocks);
        }
    }

    fn victim(&self, _blocks: &Directory) -> Option<(u32, Reason)> {
        let node = self.order.back();
        (node != NONE).then_some((node, self.reason))
    }

    fn remove(&mut self, node: u32, _blocks: &Directory) {
        self.order.remove(&mut self.links, node);
    }

    fn shrink(&mut self, _node: u32, _blocks: &Directory) {}

    fn nodes(&self) -> impl Iterator<Item = u32> {
        self.order.iter(&self.links)
    }

    fn bytes(&self) -> usize {
        self.links.bytes()
    }
}

impl Ranked for BlockLru {
    fn before(&self, node: u32) -> u32 {
        if node == NONE { self.order.back() } else { self.order.before(&self.links, node) }
    }
}
