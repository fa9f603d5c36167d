//! FAB: flash-aware buffer, the block with the most pages leaves.
//!
//! **What it does.** Blocks of pages; reading, writing or adding a page makes its block the most recent. The block that
//! holds most pages leaves, the least recently used among equals: its dirty pages are written upwards, its clean ones
//! dropped. Reads allocate.
//!
//! **When it wins**: long sequential writes, pure random writes. **When it loses**: popular pages in well-filled
//! blocks leave early; with one page a block it is page LRU.
//!
//! H. Jo, J.-U. Kang, S.-Y. Park, J.-S. Kim and J. Lee, "FAB: Flash-aware buffer management policy for portable media
//! players", IEEE Trans. Consumer Electronics 52(2), 2006; as described in Kim & Ahn 2008, section 2.4, and in the HBM
//! thesis, section 2.4.1.
//!
//! **Where the papers are silent.** Room is made before the accessed block becomes the most recent (`evict_order`), as
//! for BPLRU. A block that loses pages to a trim counts as used: no one says otherwise, and it keeps the order O(1).
//!
//! **Structure.** One list for each number of pages, the most recent first, and a bit for each list that is not empty.
//! Every access puts its block first in the list of its new number, so that each list is in the order of use.
//!
//! Cost of a page access: O(1) (the fullest list is found by a scan of one bit a page of a block).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::{Directory, Reads, require_room};
use super::bplru::EvictOrder;
use super::{Action, Answer, Buffer, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span, View};
use crate::support::NONE;
use crate::support::bits::Bits;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "FAB",
    summary: "Buffer of whole blocks; the one with the most pages leaves, the least recently used among equals.",
    paper: "Jo et al., FAB: Flash-aware buffer management policy for portable media players, IEEE TCE 52(2)",
    year: Some(2006),
    choices: &[
        Choice {
            option: "evict_order",
            others: &[r#""touch-first""#],
            open: "whether room is made before or after the used block moves to the front",
        },
        Choice {
            option: "reads",
            others: &[r#""bypass""#],
            open: "the papers that compare with it disagree on whether reads are kept",
        },
    ],
    examples: &[Example {
        source: "",
        shows: "Room for page 14 is made by block 0, which has most pages. Then two blocks have two pages each: the one used longer ago leaves.",
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
    pub reads: Reads,
    /// When room is made for a page whose block is already buffered.
    pub evict_order: EvictOrder,
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_room(shape, 1)?;
        let blocks = Directory::new(shape);
        let (nodes, counts) = (blocks.nodes(), shape.pages_per_block as usize + 1);
        Ok(Box::new(Fab {
            config: self.clone(),
            blocks,
            by_pages: vec![List::default(); counts],
            filled: Bits::new(counts),
            list_of: vec![0; nodes],
            links: Links::new(nodes),
        }))
    }
}

/// Why a block makes room.
const MOST_PAGES: Reason = "block with the most pages, least recently used among equals";

#[derive(Debug)]
struct Fab {
    config: Config,
    blocks: Directory,
    /// Blocks by number of pages.
    by_pages: Vec<List>,
    /// Which of the lists are not empty.
    filled: Bits,
    /// The list that each node is in.
    list_of: Vec<u32>,
    links: Links,
}

impl Fab {
    fn unlink(&mut self, node: u32) {
        let count = self.list_of[node as usize] as usize;
        self.by_pages[count].remove(&mut self.links, node);
        if self.by_pages[count].is_empty() {
            self.filled.clear(count);
        }
    }

    /// The most recent block among those with as many pages.
    fn link(&mut self, node: u32) {
        let count = self.blocks.pages(node);
        self.list_of[node as usize] = count;
        self.by_pages[count as usize].push_front(&mut self.links, node);
        self.filled.set(count as usize);
    }

    fn victim(&self) -> Option<u32> {
        self.filled.last_set(self.by_pages.len()).map(|count| self.by_pages[count].back())
    }

    fn leave(&mut self, node: u32, reason: Reason, out: &mut Outcome) {
        self.unlink(node);
        self.blocks.evict(node, Action::Flush, reason, out);
    }

    fn touch(&mut self, lbn: u32) {
        let node = self.blocks.node(lbn);
        if node != NONE {
            self.unlink(node);
            self.link(node);
        }
    }

    fn insert(&mut self, lpn: u32, dirty: bool, out: &mut Outcome) {
        if self.config.evict_order == EvictOrder::TouchFirst {
            self.touch(lpn / self.blocks.pages_per_block());
        }
        if self.blocks.is_full()
            && let Some(victim) = self.victim()
        {
            self.leave(victim, MOST_PAGES, out);
        }
        let (node, fresh) = self.blocks.insert(lpn, dirty);
        if !fresh {
            self.unlink(node);
        }
        self.link(node);
    }
}

impl Buffer for Fab {
    fn access(&mut self, span: &Span, _view: &dyn View, out: &mut Outcome) {
        let bypass = !span.write && self.config.reads == Reads::Bypass;
        for lpn in span.first..span.first + span.count {
            let answer = if self.blocks.holds(lpn) {
                if span.write {
                    self.blocks.mark_dirty(lpn);
                }
                if !bypass {
                    self.touch(lpn / self.blocks.pages_per_block());
                }
                Answer::Hit
            } else if bypass {
                Answer::Bypass
            } else {
                self.insert(lpn, span.write, out);
                if span.write { Answer::Insert } else { Answer::Fill }
            };
            out.answers.push(answer);
        }
    }

    fn trim(&mut self, first: u32, count: u32) {
        for lpn in first..first + count {
            if self.blocks.holds(lpn) {
                let node = self.blocks.node(lpn / self.blocks.pages_per_block());
                self.unlink(node);
                if !self.blocks.remove(lpn).1 {
                    self.link(node);
                }
            }
        }
    }

    fn flush(&mut self, out: &mut Outcome) {
        if self.config.reads == Reads::Bypass {
            while let Some(victim) = self.victim() {
                self.leave(victim, FLUSH_COMMAND, out);
            }
            return;
        }
        for count in (1..self.by_pages.len()).rev() {
            let mut node = self.by_pages[count].back();
            while node != NONE {
                self.blocks.write_back(node, FLUSH_COMMAND, out);
                node = self.by_pages[count].before(&self.links, node);
            }
        }
    }

    fn flush_pages(&mut self, first: u32, count: u32, out: &mut Outcome) {
        if (first..first + count).any(|lpn| self.blocks.holds(lpn)) {
            let node = self.blocks.node(first / self.blocks.pages_per_block());
            if self.config.reads == Reads::Bypass {
                self.leave(node, FORCED, out);
            } else {
                self.blocks.write_back(node, FORCED, out);
            }
        }
    }

    fn len(&self) -> u32 {
        self.blocks.len()
    }

    fn holds(&self, lpn: u32) -> bool {
        self.blocks.holds(lpn)
    }

    fn check(&self) -> Result<(), String> {
        for (count, list) in self.by_pages.iter().enumerate() {
            if list.is_empty() == self.filled.get(count) {
                return Err(format!("fab: the list of {count}-page blocks is not marked as it is"));
            }
            if let Some(node) = list.iter(&self.links).find(|&node| self.blocks.pages(node) as usize != count)
            {
                return Err(format!("fab: node {node} is in the list of {count}-page blocks"));
            }
        }
        self.blocks.check(self.by_pages.iter().flat_map(|list| list.iter(&self.links)))
    }

    fn metadata_bytes(&self) -> usize {
        self.blocks.bytes()
            + self.links.bytes()
            + self.list_of.len() * 4
            + self.by_pages.len() * size_of::<List>()
            + self.filled.bytes()
    }

    fn dump(&self) -> Vec<Vec<u32>> {
        let nodes = self.by_pages.iter().rev().flat_map(|list| list.iter(&self.links));
        nodes.map(|node| self.blocks.iter(node).map(|page| page.lpn).collect()).collect()
    }
}
