//! BLAS's write buffer: block LRU that empties several blocks at once, one for each channel.
//!
//! **What it does.** It takes in writes alone. Blocks are in the order of their last write, the
//! most recent first; reads are served where the buffer has the page, move nothing and allocate
//! nothing. When room is needed, blocks are *marked* from the end of the list: for each channel the
//! first one that is going there, asking the mapping where a block lies; a block that may go
//! anywhere takes the lowest channel that has none. The `keep` blocks at the front are not marked.
//! Pages leave the marked blocks in turn, one at a time (`release`), so that one request's room is
//! made on all channels at once, while the pages of a block still come to one place. A write to a
//! marked block unmarks it. When no marked block is left, marking begins anew.
//!
//! Each page goes with a hint: whether pages of its block were written sequentially (more than
//! `sequential` adjacent ones when it was marked), and which channel it was marked for.
//!
//! **When it wins**: mappings that keep a block in one channel, under requests that need room for
//! many pages. **When it loses**: pages that are read again; blocks that all lie on one channel,
//! where it is plain block LRU.
//!
//! D.-W. Chang, H.-H. Chen, D.-J. Yang and H.-P. Chang, "BLAS: block-level adaptive striping for
//! solid-state drives", ACM Trans. Design Autom. Electron. Syst. 19(2), 2014; as in a public
//! simulator of its authors' group.
//!
//! **Where the paper is silent**, as far as it could be read: whether a marked block leaves page by
//! page or whole (`release`); how far the list is searched for a block for each channel (`search`,
//! so that the cost stays bounded); whether room is made before the written block moves to the
//! front and is unmarked (`evict_order`). Where all blocks are among those to keep, the last one is
//! marked all the same. A block that the mapping knows a place for goes there even if all of it is
//! new; one that it would stripe may go anywhere. A flush command empties the buffer block by
//! block; forced unit access sends its block; neither names a channel.
//!
//! Cost of a page access: O(channels); of marking O(`search` + pages of the marked blocks).

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocked::{EVICT_ORDER, EvictOrder};
use super::kit::blocks::{Directory, require_room};
use super::{Action, Answer, Buffer, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span, View};
use crate::pattern::{Hint, Pattern, Route};
use crate::support::NONE;
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "BLAS buffer",
    summary: "Write buffer in block LRU order; marks one block for each channel and lets their \
        pages go in turn.",
    paper: "Chang et al., BLAS: block-level adaptive striping for solid-state drives, ACM TODAES \
        19(2)",
    year: Some(2014),
    reconstruction: true,
    choices: &[
        EVICT_ORDER,
        Choice {
            option: "release",
            others: &[r#""block""#],
            open: "whether marked blocks leave page by page or whole",
        },
    ],
    examples: &[Example {
        source: "",
        shows: "One channel. Block 0, written longest ago, is marked and loses page 0 to make room \
            for page 20. Then its page 1 is written, which unmarks it; for page 21 block 1 is \
            marked and loses page 4.",
        capacity: 8,
        pages_per_block: 4,
        options: "",
        requests: "W 0-1, W 4-5, W 12-13, W 16-17, W 20, W 1, W 21",
    }],
    source: include_str!("blas.rs"),
    ..About::PLAIN
};

/// How marked blocks leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Release {
    /// One page of each in turn.
    #[default]
    Page,
    /// Whole, one after the other.
    Block,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Blocks written most recently that are not marked.
    pub keep: u32,
    /// Blocks at the end of the list among which those to mark are looked for.
    pub search: u32,
    /// How marked blocks leave.
    pub release: Release,
    /// A block was written sequentially if more adjacent pages than this are buffered.
    pub sequential: u32,
    /// When room is made for a page whose block is already buffered.
    pub evict_order: EvictOrder,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            keep: 2,
            search: 64,
            release: Release::Page,
            sequential: 4,
            evict_order: EvictOrder::EvictFirst,
        }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, or impossible options.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_room(shape, 1)?;
        if self.search == 0 {
            return Err("buffer.scheme.search: found 0, expected at least 1 block".into());
        }
        let blocks = Directory::new(shape);
        Ok(Box::new(Blas {
            config: self.clone(),
            order: List::default(),
            links: Links::new(blocks.nodes()),
            marked: VecDeque::new(),
            blocks,
        }))
    }
}

const MARKED: Reason = "marked for a channel";

/// A marked block, and what its pages go with.
#[derive(Debug, Clone, Copy)]
struct Mark {
    node: u32,
    hint: Hint,
}

#[derive(Debug)]
struct Blas {
    config: Config,
    blocks: Directory,
    /// Blocks by their last write.
    order: List,
    links: Links,
    /// Marked blocks, the next one to lose a page first.
    marked: VecDeque<Mark>,
}

impl Blas {
    fn unmark(&mut self, node: u32) {
        self.marked.retain(|mark| mark.node != node);
    }

    /// A block is written.
    fn raise(&mut self, node: u32) {
        self.unmark(node);
        self.order.touch(&mut self.links, node);
    }

    /// A block is gone, or about to be.
    fn forget(&mut self, node: u32) {
        self.unmark(node);
        self.order.remove(&mut self.links, node);
    }

    /// How a block was written: by the most adjacent pages that are held of it.
    fn pattern(&self, node: u32) -> Pattern {
        Pattern::of_runs(self.blocks.longest_run(node), 0, self.config.sequential)
    }

    /// Marks a block for each channel, as far as there are any.
    fn mark(&mut self, view: &dyn View) {
        let mut taken = vec![false; view.channels() as usize];
        let most = (self.blocks.blocks() as u32).saturating_sub(self.config.keep).max(1);
        let mut node = self.order.back();
        for _ in 0..most.min(self.config.search) {
            let (block, pattern) = (self.blocks.lbn(node), self.pattern(node));
            let channel = match view.route(block, pattern) {
                Route::Channel(channel) | Route::Home(channel) => channel,
                Route::Anywhere | Route::Striped => {
                    let free = taken.iter().position(|taken| !taken);
                    free.unwrap_or_default() as u32
                }
            };
            if !std::mem::replace(&mut taken[channel as usize], true) {
                let hint = Hint { block, pattern, channel: Some(channel), again: false };
                self.marked.push_back(Mark { node, hint });
            }
            if taken.iter().all(|taken| *taken) {
                break;
            }
            node = self.order.before(&self.links, node);
        }
    }

    /// Makes room for at least a page.
    fn make_room(&mut self, view: &dyn View, out: &mut Outcome) {
        if self.marked.is_empty() {
            self.mark(view);
        }
        let Some(mark) = self.marked.pop_front() else {
            unreachable!("a full buffer holds a block")
        };
        if self.config.release == Release::Block {
            self.order.remove(&mut self.links, mark.node);
            self.blocks.evict(mark.node, Action::Evict, MARKED, out);
        } else {
            let Some(page) = self.blocks.iter(mark.node).next() else {
                unreachable!("no block is empty")
            };
            out.evict_page(page, MARKED);
            if self.blocks.remove(page.lpn).1 {
                self.order.remove(&mut self.links, mark.node);
            } else {
                self.marked.push_back(mark);
            }
        }
        out.with_hint(mark.hint);
    }

    fn evict(&mut self, node: u32, reason: Reason, out: &mut Outcome) {
        let (block, pattern) = (self.blocks.lbn(node), self.pattern(node));
        let hint = Hint { block, pattern, channel: None, again: false };
        self.forget(node);
        self.blocks.evict(node, Action::Evict, reason, out);
        out.with_hint(hint);
    }
}

impl Buffer for Blas {
    fn access(&mut self, span: &Span, view: &dyn View, out: &mut Outcome) {
        let lbn = self.blocks.block_of(span.first);
        for lpn in span.pages() {
            let held = self.blocks.holds(lpn);
            if held && span.write {
                self.raise(self.blocks.node(lbn));
            }
            let answer = match (held, span.write) {
                (true, _) => Answer::Hit,
                (false, false) => Answer::Bypass,
                (false, true) => {
                    let node = self.blocks.node(lbn);
                    if node != NONE && self.config.evict_order == EvictOrder::TouchFirst {
                        self.raise(node);
                    }
                    if self.blocks.is_full() {
                        self.make_room(view, out);
                    }
                    match self.blocks.insert(lpn, true) {
                        (node, true) => self.order.push_front(&mut self.links, node),
                        (node, false) => self.raise(node),
                    }
                    Answer::Insert
                }
            };
            out.answers.push(answer);
        }
    }

    fn trim(&mut self, first: Lpn, count: u32) {
        let mut pages = first..first + count;
        while let Some((_, node, gone)) = self.blocks.remove_next(&mut pages) {
            if gone {
                self.forget(node);
            }
        }
    }

    fn flush(&mut self, out: &mut Outcome) {
        while !self.order.is_empty() {
            self.evict(self.order.back(), FLUSH_COMMAND, out);
        }
    }

    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome) {
        if first.run(count).any(|lpn| self.blocks.holds(lpn)) {
            self.evict(self.blocks.node_of(first), FORCED, out);
        }
    }

    fn classifies_writes(&self) -> bool {
        true
    }

    fn len(&self) -> u32 {
        self.blocks.len()
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.blocks.holds(lpn)
    }

    fn check(&self) -> Result<(), String> {
        let stale = self.marked.iter().find(|mark| {
            self.blocks.pages(mark.node) == 0 || self.blocks.lbn(mark.node) != mark.hint.block
        });
        match stale {
            Some(mark) => Err(format!("blas: block {} is marked and not held", mark.hint.block)),
            None => self
                .blocks
                .check(self.order.iter(&self.links))
                .map_err(|problem| format!("blas: {problem}")),
        }
    }

    fn metadata_bytes(&self) -> usize {
        self.blocks.bytes() + self.links.bytes() + self.marked.capacity() * size_of::<Mark>()
    }

    fn dump(&self) -> Vec<Vec<Lpn>> {
        let pages = |node| self.blocks.iter(node).map(|page| page.lpn).collect();
        self.order.iter(&self.links).map(pages).collect()
    }
}
