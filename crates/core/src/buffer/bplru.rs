//! BPLRU: block padding LRU, a write buffer that hands whole blocks to a log-block FTL.
//!
//! **What it does.** Blocks in the order of their last write, the most recent first. Room is made
//! by writing the block at the end completely: the pages that it lacks are read from flash first
//! (*page padding*), so that the FTL gets one sequential block and can switch. A block that was
//! written from its first to its last page in order goes to the end at once (*LRU compensation*).
//! Reads are served from the buffer where it has the page, move nothing and allocate nothing.
//!
//! **When it wins**: random writes with block locality on BAST-like FTLs. **When it loses**:
//! scattered small writes, where padding reads and writes whole blocks for a page; FTLs that don't
//! need sequential blocks.
//!
//! H. Kim and S. Ahn, "BPLRU: A buffer management scheme for improving random writes in flash
//! storage", FAST 2008, sections 3.1 to 3.4.
//!
//! **Where the paper is silent.** Room is made before the written block moves to the front
//! (`evict_order`): Table 1's rows are possible only so. *Written sequentially* means: its next
//! write began where the last one of it ended, from page 0 to the last page, with all of them
//! buffered; a write at page 0 begins anew, any other breaks it off until then; a trim does not. A
//! page that was never written is not read for padding, but written all the same
//! (`pad_unwritten = false`: it is not, as there is nothing to write; the HBM thesis, section
//! 2.4.2, pads with pages "in the flash memory" and says that padding suffers where they "are not
//! in the flash memory either"). `padding` and `compensation` can be switched off one by one:
//! without both it is `block-lru` with `reads = "bypass"`.
//!
//! `buffer_paper_bytes` counts the two-level index of section 3.4, with 4 bytes for each field: a
//! pointer for each logical block, a node (two links, block, count) for each page and for each
//! buffered block, and in the latter a pointer for each page of the block. In the paper that second
//! table lies in a page of the buffer; here the buffer's size is data alone. Flush commands empty
//! the buffer block by block (section 4.2.4), and forced unit access sends its block.
//!
//! Cost of a page access: O(1); of an eviction O(pages of a block).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocked::{BlockOrder, Blocked, EVICT_ORDER, EvictOrder};
use super::kit::blocks::{Directory, ReadPolicy};
use super::kit::parallel::Ranked;
use super::{Action, Buffer, Outcome, Reason, Shape};
use crate::support::NONE;
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example, Needs};

/// What `list` says.
pub const ABOUT: About = About {
    title: "BPLRU",
    summary: "Write buffer of whole blocks in LRU order; pads a block before it writes it, sends \
        sequential ones first.",
    paper: "Kim and Ahn, BPLRU: A buffer management scheme for improving random writes in flash \
        storage, FAST",
    year: Some(2008),
    choices: &[
        EVICT_ORDER,
        Choice {
            option: "pad_unwritten",
            others: &["false"],
            open: "whether a block is padded with pages that were never written, too",
        },
    ],
    examples: &[
        Example {
            source: "the paper's figure 3",
            shows: "Page 15 is written again, and its block goes to the front; block 1 was written \
                longest ago and makes room for page 20. Without padding, to show the order alone.",
            capacity: 8,
            pages_per_block: 4,
            options: r#"{"padding": false}"#,
            requests: "W 5-6, W 12, W 15, W 0, W 8-10, W 15, W 20",
        },
        Example {
            source: "the paper's figure 4",
            shows: "The block of pages 12 and 15 leaves: pages 13 and 14 are read from flash, and \
                four pages are written in order.",
            capacity: 2,
            pages_per_block: 4,
            options: "",
            requests: "W 12, W 15, W 16",
        },
        Example {
            source: "the paper's figure 5",
            shows: "Block 2 is written from its first page to its last, so nobody expects it to be \
                written again soon: it goes to the end of the list, and leaves first.",
            capacity: 8,
            pages_per_block: 4,
            options: "",
            requests: "W 0, W 12, W 8-11, W 4-5, W 16",
        },
    ],
    needs: &[Needs { option: "pad_unwritten", beside: "padding", values: &["true"] }],
    source: include_str!("bplru.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Read what a block lacks and write it whole (section 3.2).
    pub padding: bool,
    /// Write the pages of the block that were never written, too: it reaches the flash whole.
    pub pad_unwritten: bool,
    /// Send a block that was written sequentially to the end of the list (section 3.3).
    pub compensation: bool,
    /// When room is made for a page whose block is already buffered.
    pub evict_order: EvictOrder,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            padding: true,
            pad_unwritten: true,
            compensation: true,
            evict_order: EvictOrder::EvictFirst,
        }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        let action = match (self.padding, self.pad_unwritten) {
            (true, true) => Action::EvictPadded,
            (true, false) => Action::EvictCompleted,
            (false, _) => Action::Evict,
        };
        let order = |nodes| Bplru::new(nodes, action, self.compensation);
        Ok(Box::new(Blocked::new("bplru", shape, ReadPolicy::Bypass, self.evict_order, order)?))
    }
}

const SEQUENTIAL: Reason = "block written sequentially";
const LEAST_RECENT: Reason = "least recently written block";

/// In `next_offset`: the sequence was broken off.
const BROKEN: u32 = NONE;

/// Blocks in the order of their last write, those written sequentially at the end.
#[derive(Debug)]
pub(super) struct Bplru {
    action: Action,
    compensation: bool,
    order: List,
    links: Links,
    /// Where the next write of each block has to begin for it to be sequential.
    next_offset: Vec<u32>,
}

impl Bplru {
    /// No nodes of `0..nodes`.
    pub(super) fn new(nodes: usize, action: Action, compensation: bool) -> Self {
        let (order, links) = (List::default(), Links::new(nodes));
        Self { action, compensation, order, links, next_offset: vec![0; nodes] }
    }

    /// Whether a block was written from its first to its last page in order, and not since.
    fn is_compensated(&self, node: u32, blocks: &Directory) -> bool {
        let ppb = blocks.pages_per_block();
        self.compensation && self.next_offset[node as usize] == ppb && blocks.pages(node) == ppb
    }

    /// Keeps track of sequential writing, and compensates when a block is complete.
    fn follow(&mut self, node: u32, lpn: Lpn, blocks: &Directory) {
        let offset = lpn.offset(blocks.pages_per_block());
        let next = &mut self.next_offset[node as usize];
        *next = if offset == 0 {
            1
        } else if *next == offset {
            offset + 1
        } else {
            BROKEN
        };
        if self.is_compensated(node, blocks) {
            self.order.remove(&mut self.links, node);
            self.order.push_back(&mut self.links, node);
        }
    }
}

impl BlockOrder for Bplru {
    fn action(&self) -> Action {
        self.action
    }

    fn raise(&mut self, node: u32, _blocks: &Directory) {
        self.order.touch(&mut self.links, node);
    }

    fn touch(&mut self, node: u32, lpn: Lpn, blocks: &Directory, _out: &mut Outcome) {
        self.raise(node, blocks);
        self.follow(node, lpn, blocks);
    }

    fn insert(&mut self, node: u32, lpn: Lpn, fresh: bool, blocks: &Directory, _out: &mut Outcome) {
        if fresh {
            self.order.push_front(&mut self.links, node);
            self.next_offset[node as usize] = BROKEN;
        } else {
            self.raise(node, blocks);
        }
        self.follow(node, lpn, blocks);
    }

    fn victim(&self, blocks: &Directory) -> Option<(u32, Reason)> {
        let node = self.order.back();
        let sequential = || self.is_compensated(node, blocks);
        (node != NONE).then(|| (node, if sequential() { SEQUENTIAL } else { LEAST_RECENT }))
    }

    fn remove(&mut self, node: u32, _blocks: &Directory) {
        self.order.remove(&mut self.links, node);
    }

    // A trim is no write: it neither moves a block nor breaks its sequence.
    fn shrink(&mut self, _node: u32, _blocks: &Directory) {}

    fn nodes(&self) -> impl Iterator<Item = u32> {
        self.order.iter(&self.links)
    }

    fn bytes(&self) -> usize {
        self.links.bytes() + self.next_offset.len() * 4
    }

    fn paper_bytes(&self, blocks: &Directory) -> Option<u64> {
        let (pages, buffered) = (u64::from(blocks.len()), blocks.blocks() as u64);
        let second_table = u64::from(blocks.pages_per_block()) * 4;
        Some(blocks.logical_blocks() as u64 * 4 + (pages + buffered) * 16 + buffered * second_table)
    }
}

impl Ranked for Bplru {
    fn before(&self, node: u32) -> u32 {
        if node == NONE { self.order.back() } else { self.order.before(&self.links, node) }
    }
}
