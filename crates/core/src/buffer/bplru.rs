//! BPLRU: block padding LRU, a write buffer that hands whole blocks to a log-block FTL.
//!
//! **What it does.** Blocks in the order of their last write, the most recent first. Room is made by writing the block
//! at the end completely: the pages that it lacks are read from flash first (*page padding*), so that the FTL gets one
//! sequential block and can switch. A block that was written from its first to its last page in order goes to the end
//! at once (*LRU compensation*). Reads are served from the buffer where it has the page, move nothing and allocate
//! nothing.
//!
//! **When it wins**: random writes with block locality on BAST-like FTLs. **When it loses**: scattered small writes,
//! where padding reads and writes whole blocks for a page; FTLs that don't need sequential blocks.
//!
//! H. Kim and S. Ahn, "BPLRU: A buffer management scheme for improving random writes in flash storage", FAST 2008,
//! sections 3.1 to 3.4.
//!
//! **Where the paper is silent.** Room is made before the written block moves to the front (`evict_order`): Table 1's
//! rows are possible only so. *Written sequentially* means: its next write began where the last one of it ended, from
//! page 0 to the last page, with all of them buffered; a write at page 0 begins anew, any other breaks it off until
//! then. A page that was never written is not read for padding, but written all the same. `padding` and
//! `compensation` can be switched off one by one: without both it is block-level LRU.
//!
//! Cost of a page access: O(1); of an eviction O(pages of a block).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::{Directory, require_room};
use super::{Action, Answer, Buffer, Evicted, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span, View};
use crate::support::NONE;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "BPLRU",
    summary: "Write buffer of whole blocks in LRU order; pads a block before it writes it, sends sequential ones first.",
    paper: "Kim and Ahn, BPLRU: A buffer management scheme for improving random writes in flash storage, FAST",
    year: Some(2008),
    choices: &[Choice {
        option: "evict_order",
        others: &[r#""touch-first""#],
        open: "whether room is made before or after the written block moves to the front",
    }],
    examples: &[
        Example {
            source: "the paper's figure 3",
            shows: "Page 15 is written again, and its block goes to the front; block 1 was written longest ago and makes room for page 20. Without padding, to show the order alone.",
            capacity: 8,
            pages_per_block: 4,
            options: r#"{"padding": false}"#,
            requests: "W 5-6, W 12, W 15, W 0, W 8-10, W 15, W 20",
        },
        Example {
            source: "the paper's figure 4",
            shows: "The block of pages 12 and 15 leaves: pages 13 and 14 are read from flash, and four pages are written in order.",
            capacity: 2,
            pages_per_block: 4,
            options: "",
            requests: "W 12, W 15, W 16",
        },
        Example {
            source: "the paper's figure 5",
            shows: "Block 2 is written from its first page to its last, so nobody expects it to be written again soon: it goes to the end of the list, and leaves first.",
            capacity: 8,
            pages_per_block: 4,
            options: "",
            requests: "W 0, W 12, W 8-11, W 4-5, W 16",
        },
    ],
    source: include_str!("bplru.rs"),
    ..About::PLAIN
};

/// When room is made for a page whose block is already buffered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvictOrder {
    /// Before that block moves to the front; it may be the one that leaves.
    #[default]
    EvictFirst,
    /// After it has moved to the front.
    TouchFirst,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Read what a block lacks and write it whole (section 3.2).
    pub padding: bool,
    /// Send a block that was written sequentially to the end of the list (section 3.3).
    pub compensation: bool,
    /// When room is made for a page whose block is already buffered.
    pub evict_order: EvictOrder,
}

impl Default for Config {
    fn default() -> Self {
        Self { padding: true, compensation: true, evict_order: EvictOrder::EvictFirst }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_room(shape, 1)?;
        let blocks = Directory::new(shape);
        let nodes = blocks.nodes();
        Ok(Box::new(Bplru {
            config: self.clone(),
            blocks,
            order: List::default(),
            links: Links::new(nodes),
            next_offset: vec![0; nodes],
        }))
    }
}

/// In `next_offset`: the sequence was broken off.
const BROKEN: u32 = NONE;

#[derive(Debug)]
struct Bplru {
    config: Config,
    blocks: Directory,
    order: List,
    links: Links,
    /// Where the next write of each block has to begin for it to be sequential.
    next_offset: Vec<u32>,
}

impl Bplru {
    fn reason(&self, victim: u32) -> Reason {
        if self.is_compensated(victim) {
            "block written sequentially"
        } else {
            "least recently written block"
        }
    }

    /// Whether a block was written from its first to its last page in order, and not since.
    fn is_compensated(&self, node: u32) -> bool {
        let ppb = self.blocks.pages_per_block();
        self.config.compensation && self.next_offset[node as usize] == ppb && self.blocks.pages(node) == ppb
    }

    fn leave(&mut self, node: u32, reason: Reason, out: &mut Outcome) {
        self.order.remove(&mut self.links, node);
        let action = if self.config.padding { Action::FlushPadded } else { Action::Flush };
        self.blocks.evict(node, action, reason, out);
    }

    fn write(&mut self, lpn: u32, out: &mut Outcome) -> Answer {
        let ppb = self.blocks.pages_per_block();
        let hit = self.blocks.holds(lpn);
        if hit {
            self.blocks.mark_dirty(lpn);
            let node = self.blocks.node(lpn / ppb);
            self.order.touch(&mut self.links, node);
        } else {
            let node = self.blocks.node(lpn / ppb);
            if node != NONE && self.config.evict_order == EvictOrder::TouchFirst {
                self.order.touch(&mut self.links, node);
            }
            if self.blocks.is_full() {
                let victim = self.order.back();
                self.leave(victim, self.reason(victim), out);
            }
            let (node, fresh) = self.blocks.insert(lpn, true);
            if fresh {
                self.order.push_front(&mut self.links, node);
                self.next_offset[node as usize] = BROKEN;
            } else {
                self.order.touch(&mut self.links, node);
            }
        }
        self.follow(self.blocks.node(lpn / ppb), lpn % ppb);
        if hit { Answer::Hit } else { Answer::Insert }
    }

    /// Keeps track of sequential writing, and compensates when a block is complete.
    fn follow(&mut self, node: u32, offset: u32) {
        let next = &mut self.next_offset[node as usize];
        *next = if offset == 0 {
            1
        } else if *next == offset {
            offset + 1
        } else {
            BROKEN
        };
        if self.is_compensated(node) {
            self.order.remove(&mut self.links, node);
            self.order.push_back(&mut self.links, node);
        }
    }
}

impl Buffer for Bplru {
    fn access(&mut self, span: &Span, _view: &dyn View, out: &mut Outcome) {
        for lpn in span.first..span.first + span.count {
            let answer = if span.write {
                self.write(lpn, out)
            } else if self.blocks.holds(lpn) {
                Answer::Hit
            } else {
                Answer::Bypass
            };
            out.answers.push(answer);
        }
    }

    fn trim(&mut self, first: u32, count: u32) {
        for lpn in first..first + count {
            if self.blocks.holds(lpn) {
                let node = self.blocks.node(lpn / self.blocks.pages_per_block());
                self.next_offset[node as usize] = BROKEN;
                if self.blocks.remove(lpn).1 {
                    self.order.remove(&mut self.links, node);
                }
            }
        }
    }

    fn flush(&mut self, out: &mut Outcome) {
        while !self.order.is_empty() {
            self.leave(self.order.back(), FLUSH_COMMAND, out);
        }
    }

    fn flush_pages(&mut self, first: u32, count: u32, out: &mut Outcome) {
        if (first..first + count).any(|lpn| self.blocks.holds(lpn)) {
            self.leave(self.blocks.node(first / self.blocks.pages_per_block()), FORCED, out);
        }
    }

    fn len(&self) -> u32 {
        self.blocks.len()
    }

    fn holds(&self, lpn: u32) -> bool {
        self.blocks.holds(lpn)
    }

    fn check(&self) -> Result<(), String> {
        self.blocks.check(self.order.iter(&self.links))
    }

    fn metadata_bytes(&self) -> usize {
        self.blocks.bytes() + self.links.bytes() + self.next_offset.len() * 4
    }

    fn dump(&self) -> Vec<Vec<u32>> {
        let pages = |node| self.blocks.iter(node).map(|Evicted { lpn, .. }| lpn).collect();
        self.order.iter(&self.links).map(pages).collect()
    }
}
