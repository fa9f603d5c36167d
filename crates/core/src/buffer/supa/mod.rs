//! SUPA: one buffer for reads and writes that classifies blocks as they leave and writes several at
//! once.
//!
//! **What it does.** One list of blocks, clean and dirty, in the order of use: reading or writing a
//! page moves its block to the front. Each page has a read and a write flag, which last until its
//! block leaves. The longest run of written pages tells how a block was written, the longest run of
//! read pages how it was read: more than `threshold` pages are sequential, so many or fewer random.
//! A run goes on into the blocks before and after if they are buffered. The two together make one
//! of eight patterns, which goes with the block to the FTL.
//!
//! Room for pages that are *read* comes from clean blocks, the least recently used first, so that a
//! read waits for no program. Where there are none, of the oldest dirty blocks those leave whose
//! pages fit best. Room for pages that are *written* comes from the oldest blocks: clean ones, and
//! dirty ones that can be written in parallel. A striped block takes a place of `striped_victims`;
//! any other takes a channel where no other victim goes and that has an erased block, its own one
//! if it has been written before and not all of it is new. If there are too few such blocks, the
//! oldest leave whatever they wait for. Then more dirty blocks leave as long as they can be written
//! at the same time, but only from the *search window*: the end of the list outside of which 90 %
//! of the hits fall, measured anew every 10,000 requests.
//!
//! **When it wins**: reads and writes of the same pages, several channels, and an FTL that treats
//! patterns differently (`pattern`). **When it loses**: reads that never come back, which take room
//! from dirty blocks; one channel.
//!
//! D. Kim, K. H. Park and C.-H. Youn, "SUPA: a single unified read-write buffer and
//! pattern-change-aware FTL for the high performance of multi-channel SSD", ACM Trans. Storage
//! 13(4), 2017.
//!
//! **Where the paper is silent.** How many striped blocks are written at once (`striped_victims`:
//! two, as in its figure 9). How near the end a dirty block must be that makes room for a read
//! (`fit_blocks`), and that the smallest that is large enough fits best. How far the list is
//! searched for blocks that can be written in parallel (`reach`, which keeps the cost of a step
//! flat). Blocks that may go anywhere take the channels in turn. The window counts the pages hit in
//! the last 10,000 requests only, by the place of their block in the list, and there is none
//! before; after requests that hit nothing it is the whole list; `search_window` fixes it. Room is
//! made once for all pages of a request in one block, after that block has moved to the front; the
//! block itself leaves last. A new block is not in the list yet, for the search window either. A
//! request for more pages than the buffer holds is served as many at a time. Blocks that leave
//! whatever they wait for are sent to no channel. A run goes on into the neighbours alone, not
//! beyond them. A block is clean that has nothing to write, whatever its flags say. A flush command
//! writes dirty pages and keeps them, with their flags; as patterns are those of blocks that leave,
//! what the FTL hears then is put right when the block leaves, and counts once.
//!
//! Cost of a page access: O(log n) for the place in the order of use; of an eviction O(`reach` x
//! the runs in a block); every `window_requests` requests O(blocks that can be held); of a trim
//! that leaves an old block clean, the dirty blocks between it and the next clean one.

mod flags;
mod hits;
mod select;

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocks::{Directory, require_room, require_share};
use super::{Action, Answer, Buffer, FLUSH_COMMAND, FORCED, Outcome, Shape, Span, View};
use crate::support::NONE;
use crate::support::bits::Bits;
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Cost, Example, Needs};
use flags::Flags;
use hits::Hits;
use select::Victim;

/// What `list` says.
pub const ABOUT: About = About {
    title: "SUPA",
    summary: "One list of clean and dirty blocks; blocks leave with their pattern, clean ones for \
        reads, several in parallel for writes.",
    paper: "Kim, Park and Youn, SUPA: a single unified read-write buffer and pattern-change-aware \
        FTL, ACM TOS 13(4)",
    year: Some(2017),
    cost: Cost::Logarithmic,
    choices: &[
        Choice {
            option: "striped_victims",
            others: &["1", "4"],
            open: "how many blocks of the multi-channel policy are written at once",
        },
        Choice {
            option: "fit_blocks",
            others: &["1"],
            open: "how near the end of the list a dirty block must be that makes room for a read",
        },
        Choice {
            option: "search_window",
            others: &["0.0", "0.5"],
            open: "the search window before hits have been measured",
        },
    ],
    examples: &[
        Example {
            source: "figure 8",
            shows: "Blocks 0, 1 and 2 are dirty and older than block 3, which is clean and leaves \
                for the two pages of block 5 that are read.",
            capacity: 11,
            pages_per_block: 4,
            options: "",
            requests: "W 0-2, W 4-5, W 8-10, R 12-13, W 16, R 20-21",
        },
        Example {
            source: "",
            shows: "Block 0 makes room for what is written; blocks 1 and 3 lie on other channels \
                and are written with it, block 2 is clean and stays.",
            capacity: 8,
            pages_per_block: 4,
            options: r#"{"search_window": 1.0}"#,
            requests: "W 0-1, W 4-5, R 8-9, W 13-14, W 16-17",
        },
    ],
    needs: &[
        Needs { option: "hits_outside", beside: "search_window", values: &["null"] },
        Needs { option: "window_requests", beside: "search_window", values: &["null"] },
    ],
    source: include_str!("mod.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// A run of more pages than this is sequential.
    pub threshold: u32,
    /// Share of the hits that fall outside of the search window.
    pub hits_outside: f64,
    /// Requests after which the search window is measured anew.
    pub window_requests: u32,
    /// The search window as a share of the blocks, in place of what is measured.
    pub search_window: Option<f64>,
    /// Blocks of the multi-channel policy that are written at once.
    pub striped_victims: u32,
    /// Oldest dirty blocks among which the one is looked for that makes room for a read.
    pub fit_blocks: u32,
    /// Oldest blocks among which those are looked for that can be written in parallel.
    pub reach: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            threshold: 4,
            hits_outside: 0.9,
            window_requests: 10_000,
            search_window: None,
            striped_victims: 2,
            fit_blocks: 16,
            reach: 128,
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
        require_share("hits_outside", self.hits_outside)?;
        require_share("search_window", self.search_window.unwrap_or(0.0))?;
        let numbers = [
            ("window_requests", self.window_requests),
            ("fit_blocks", self.fit_blocks),
            ("reach", self.reach),
        ];
        if let Some((option, _)) = numbers.into_iter().find(|&(_, found)| found == 0) {
            return Err(format!("buffer.scheme.{option}: found 0, expected at least 1"));
        }
        let blocks = Directory::new(shape);
        let nodes = blocks.nodes();
        Ok(Box::new(Supa {
            config: self.clone(),
            flags: Flags::new(nodes, shape.pages_per_block),
            order: List::default(),
            links: Links::new(nodes),
            clean: List::default(),
            clean_links: Links::new(nodes),
            is_clean: Bits::new(nodes),
            told: Bits::new(nodes),
            chosen: Bits::new(nodes),
            hits: Hits::new(nodes),
            kept: None,
            requests: 0,
            last_request: None,
            turn: 0,
            blocks,
        }))
    }
}

#[derive(Debug)]
struct Supa {
    config: Config,
    blocks: Directory,
    flags: Flags,
    /// Blocks in the order of use.
    order: List,
    links: Links,
    /// Those of them with nothing to write, in the same order.
    clean: List,
    clean_links: Links,
    is_clean: Bits,
    /// Blocks whose patterns have gone to the FTL with pages that a flush command wrote.
    told: Bits,
    /// Scratch: blocks that are going to leave.
    chosen: Bits,
    hits: Hits,
    /// The most recent blocks, which are outside of the search window; once it has been measured.
    kept: Option<u32>,
    requests: u32,
    last_request: Option<u64>,
    /// The channel that is tried first for a block that may go anywhere.
    turn: u32,
}

impl Supa {
    /// Blocks in the search window.
    fn window(&self) -> u32 {
        let blocks = self.blocks.blocks() as u32;
        match (self.config.search_window, self.kept) {
            (Some(share), _) => libm::floor(share * f64::from(blocks)) as u32,
            (None, Some(kept)) => blocks.saturating_sub(kept),
            (None, None) => 0,
        }
    }

    fn count_request(&mut self, request: u64, out: &mut Outcome) {
        if self.last_request.replace(request) == Some(request) {
            return;
        }
        if self.requests == self.config.window_requests {
            self.requests = 0;
            self.kept = Some(self.hits.take_share(self.config.hits_outside));
            out.note("search window measured", Some(i64::from(self.window())), []);
        }
        self.requests += 1;
    }

    fn touch(&mut self, node: u32) {
        self.order.touch(&mut self.links, node);
        if self.is_clean.get(node as usize) {
            self.clean.touch(&mut self.clean_links, node);
        }
        self.hits.touch(node);
    }

    /// Brings the list of clean blocks up to date for a block that is held.
    fn sort_clean(&mut self, node: u32) {
        let was = self.is_clean.get(node as usize);
        if self.blocks.dirty(node) > 0 {
            if was {
                self.is_clean.clear(node as usize);
                self.clean.remove(&mut self.clean_links, node);
            }
        } else if !was {
            // Mostly it is the block in use, which is the most recent one.
            let mut older = self.clean.front();
            if self.order.front() != node {
                older = self.order.after(&self.links, node);
                while older != NONE && !self.is_clean.get(older as usize) {
                    older = self.order.after(&self.links, older);
                }
            }
            if older == NONE {
                self.clean.push_back(&mut self.clean_links, node);
            } else {
                self.clean.insert_before(&mut self.clean_links, node, older);
            }
            self.is_clean.set(node as usize);
        }
    }

    /// A block is gone, or about to be.
    fn forget(&mut self, node: u32) {
        self.order.remove(&mut self.links, node);
        if self.is_clean.clear(node as usize) {
            self.clean.remove(&mut self.clean_links, node);
        }
        self.hits.remove(node);
        self.flags.clear_all(node);
        self.told.clear(node as usize);
    }

    fn evict(&mut self, victim: &Victim, out: &mut Outcome) {
        let first = out.evictions.len();
        self.blocks.evict(victim.node, Action::Evict, victim.reason, out);
        out.evictions[first].hint = Some(victim.hint);
        self.forget(victim.node);
    }

    /// Makes room for those of these pages that are not held.
    fn make_room(&mut self, pages: Range<Lpn>, write: bool, view: &dyn View, out: &mut Outcome) {
        loop {
            let missing =
                Lpn::each(pages.clone()).filter(|&lpn| !self.blocks.holds(lpn)).count() as u32;
            let need = missing.saturating_sub(self.blocks.capacity() - self.blocks.len());
            if need == 0 {
                return;
            }
            let own = self.blocks.node_of(pages.start);
            let mut victims = if write {
                self.select_for_write(need, own, view)
            } else {
                self.select_for_read(need, own)
            };
            if victims.is_empty() {
                victims.push(Victim { node: own, hint: self.hint(own, None), reason: select::OWN });
            }
            for victim in &victims {
                self.evict(victim, out);
            }
        }
    }

    fn serve(&mut self, lpn: Lpn, write: bool) -> Answer {
        let hit = self.blocks.holds(lpn);
        let node = if hit {
            if write {
                self.blocks.mark_dirty(lpn);
            }
            self.blocks.node_of(lpn)
        } else {
            let (node, fresh) = self.blocks.insert(lpn, write);
            if fresh {
                self.order.push_front(&mut self.links, node);
                self.hits.touch(node);
            }
            node
        };
        self.flags.set(node, lpn, write);
        self.sort_clean(node);
        match (hit, write) {
            (true, _) => Answer::Hit,
            (false, true) => Answer::Insert,
            (false, false) => Answer::Fill,
        }
    }

    /// The evictions pushed since `first` are of this block, which stays.
    fn tag(&mut self, node: u32, out: &mut Outcome, first: usize) {
        if out.evictions.len() > first {
            let hint = self.hint(node, None);
            out.evictions[first..].iter_mut().for_each(|eviction| eviction.hint = Some(hint));
            self.told.set(node as usize);
        }
    }
}

impl Buffer for Supa {
    fn access(&mut self, span: &Span, view: &dyn View, out: &mut Outcome) {
        self.count_request(span.request, out);
        let node = self.blocks.node_of(span.first);
        let end = span.first + span.count;
        if node != NONE {
            let held = span.pages().filter(|&lpn| self.blocks.holds(lpn)).count() as u32;
            self.hits.hit(self.hits.distance(node), held);
            self.touch(node);
        }
        let mut first = span.first;
        while first < end {
            let upto = end.min(first + self.blocks.capacity());
            self.make_room(first..upto, span.write, view, out);
            for lpn in Lpn::each(first..upto) {
                let answer = self.serve(lpn, span.write);
                out.answers.push(answer);
            }
            first = upto;
        }
    }

    fn trim(&mut self, first: Lpn, count: u32) {
        let mut pages = first..first + count;
        while let Some((lpn, node, gone)) = self.blocks.remove_next(&mut pages) {
            self.flags.clear(node, lpn);
            if gone {
                self.forget(node);
            } else {
                self.sort_clean(node);
            }
        }
    }

    fn reports_patterns(&self) -> bool {
        true
    }

    fn flush(&mut self, out: &mut Outcome) {
        // From the front until all dirty blocks are found: O(1) for each block used since the last
        // flush.
        let dirty = self.order.iter(&self.links).filter(|&node| self.blocks.dirty(node) > 0);
        let nodes: Vec<u32> = dirty.take(self.blocks.dirty_nodes().len()).collect();
        for node in nodes.into_iter().rev() {
            let first = out.evictions.len();
            self.blocks.write_back(node, FLUSH_COMMAND, out);
            self.tag(node, out, first);
            self.sort_clean(node);
        }
    }

    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome) {
        let node = self.blocks.node_of(first);
        if node != NONE {
            let from = out.evictions.len();
            self.blocks.write_back_pages(first, count, FORCED, out);
            self.tag(node, out, from);
            self.sort_clean(node);
        }
    }

    fn len(&self) -> u32 {
        self.blocks.len()
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.blocks.holds(lpn)
    }

    fn check(&self) -> Result<(), String> {
        let clean = self.order.iter(&self.links).filter(|&node| self.blocks.dirty(node) == 0);
        if !clean.eq(self.clean.iter(&self.clean_links)) {
            return Err(
                "supa: the list of clean blocks is not that of the blocks without dirty pages"
                    .to_owned(),
            );
        }
        for (distance, node) in (0..).zip(self.order.iter(&self.links)) {
            let flagged = self.blocks.iter(node).all(|page| self.flags.any(node, page.lpn));
            if !flagged || self.flags.count(node) != self.blocks.pages(node) {
                return Err(format!(
                    "supa: block {} has flags of other pages than it holds",
                    self.blocks.lbn(node)
                ));
            }
            if self.hits.distance(node) != distance {
                return Err(format!(
                    "supa: block {} is at {distance} in the order, counted at {}",
                    self.blocks.lbn(node),
                    self.hits.distance(node)
                ));
            }
        }
        self.blocks
            .check(self.order.iter(&self.links))
            .map_err(|problem| format!("supa: {problem}"))
    }

    fn metadata_bytes(&self) -> usize {
        self.blocks.bytes()
            + self.flags.bytes()
            + self.links.bytes()
            + self.clean_links.bytes()
            + self.is_clean.bytes()
            + self.told.bytes()
            + self.chosen.bytes()
            + self.hits.bytes()
    }

    fn dump(&self) -> Vec<Vec<Lpn>> {
        let pages = |node| self.blocks.iter(node).map(|page| page.lpn).collect();
        self.order.iter(&self.links).map(pages).collect()
    }
}
