//! LB-CLOCK: blocks on a clock; of those not written since the hand passed, the fullest leaves.
//!
//! **What it does.** A write buffer of blocks in a ring, each with a reference bit that any write
//! to the block sets. To make room, the hand clears set bits until it meets one that is clear. The
//! victim is not the block it stops at but, of all blocks whose bit was clear before, the one with
//! most pages; all of it is written, in order. A new block is put in where the hand was before,
//! with its bit set. When the last page of a block is written, the block is not expected back soon:
//! if all its pages are there, or more than the last victim had, its bit is cleared at once.
//! Reads are served from the buffer where it has the page, and allocate nothing.
//!
//! **When it wins**: write streams where recency matters more than full blocks. **When it loses**:
//! where reads and writes share pages.
//!
//! B. Debnath, S. Subramanya, D. Du and D. Lilja, "Large block CLOCK (LB-CLOCK): A write caching
//! algorithm for solid state disks", MASCOTS 2009; built after the description in Gong's thesis
//! (2010), section 2.4.3 and figure 2.4.
//!
//! **Where that is silent or contradicts itself.** It says once that the hand stops at a set bit;
//! its example stops at a clear one, as here. With all bits set, one round of the hand clears all,
//! and the fullest block leaves. Among equally full blocks the one that the hand would meet first
//! leaves (`tie`). Before the first eviction there is no last victim to have more pages than. A
//! block written in order from its first page on is a candidate, too; it is full when its last page
//! is written. Read hits don't set the bit (`read_hits_count`). `heuristics` switches the clearing
//! at the last page off.
//!
//! A flush command empties the buffer, as BPLRU's paper has it for write buffers (section 4.2.4):
//! what is clean need not be kept where reads allocate nothing. Forced unit access sends its block.
//! Neither counts as a victim that the heuristics compare with. Where the block under the hand
//! leaves, the hand moves on before a new block is put in. A battery (`buffer.battery`) spares it
//! flush commands.
//!
//! Cost of a page access: O(1), O(log n) where a clear bit is set or a bit cleared; the hand's
//! steps are paid for by the writes that set the bits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocks::{Directory, require_room};
use super::{Action, Answer, Buffer, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span, View};
use crate::support::NONE;
use crate::support::heap::Heap;
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Cost, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "LB-CLOCK",
    summary: "Write buffer of blocks on a clock; of those not written since the hand passed, the \
        fullest leaves.",
    paper: "Debnath et al., Large block CLOCK (LB-CLOCK): A write caching algorithm for solid \
        state disks, MASCOTS",
    year: Some(2009),
    described_in: "Gong's thesis, section 2.4.3",
    cost: Cost::Logarithmic,
    choices: &[
        Choice {
            option: "read_hits_count",
            others: &["true"],
            open: "whether a read of a buffered page sets the reference bit",
        },
        Choice {
            option: "tie",
            others: &[r#""last-met""#],
            open: "which of equally full candidates leaves",
        },
        Choice {
            option: "heuristics",
            others: &["false"],
            open: "what becomes of a block that is a candidate by its last page is told in a \
                sentence",
        },
    ],
    examples: &[
        Example {
            source: "HBM thesis, figure 2.4",
            shows: "Page 48 needs room. The hand clears the bit of block 0 and stops at block 5; \
                blocks 5 and 7 have not been written since it passed, and block 7 has more pages. \
                Without the heuristics.",
            capacity: 10,
            pages_per_block: 4,
            options: r#"{"heuristics": false}"#,
            requests: "W 0, W 20, W 12, W 28-30, W 60-63, W 1, W 13, W 4-5, W 48",
        },
        Example {
            source: "",
            shows: "The last page of block 1 was written after the others: the block is not \
                expected to be written again and leaves, although it was the last one written.",
            capacity: 6,
            pages_per_block: 4,
            options: "",
            requests: "W 0, W 8, W 4-7, W 12",
        },
    ],
    source: include_str!("lb_clock.rs"),
    ..About::PLAIN
};

/// Which of equally full candidates leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tie {
    /// The one that the hand would meet first.
    #[default]
    FirstMet,
    /// The one that the hand would meet last.
    LastMet,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// A block whose last page is written becomes a candidate at once if it is full or fuller than
    /// the last victim.
    pub heuristics: bool,
    /// Read hits set the reference bit, too.
    pub read_hits_count: bool,
    /// Which of equally full candidates leaves.
    pub tie: Tie,
}

impl Default for Config {
    fn default() -> Self {
        Self { heuristics: true, read_hits_count: false, tie: Tie::FirstMet }
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
        Ok(Box::new(LbClock {
            config: self.clone(),
            blocks,
            ring: List::default(),
            links: Links::new(nodes),
            candidates: Heap::new(nodes),
            met: vec![0; nodes],
            turn: 0,
            swept: NONE,
            last_victim: None,
        }))
    }
}

const FULLEST: Reason = "fullest block not written since the hand passed";

#[derive(Debug)]
struct LbClock {
    config: Config,
    blocks: Directory,
    /// The ring, from the block that the hand points to; a block that it passes goes to the end.
    ring: List,
    links: Links,
    /// Blocks whose bit is clear: pages that they lack, and when the hand meets them, or how long
    /// before the end of time.
    candidates: Heap<(u32, u64)>,
    /// Grows along the ring.
    met: Vec<u64>,
    turn: u64,
    /// The first block that the hand passed in the present selection: a new block goes before it.
    swept: u32,
    last_victim: Option<u32>,
}

impl LbClock {
    fn is_referenced(&self, node: u32) -> bool {
        self.candidates.key(node).is_none()
    }

    fn clear_reference(&mut self, node: u32) {
        self.candidates.set(node, self.rank(node));
    }

    /// The candidate with the smallest rank leaves first.
    fn rank(&self, node: u32) -> (u32, u64) {
        let met = self.met[node as usize];
        let lacks = self.blocks.pages_per_block() - self.blocks.pages(node);
        (lacks, if self.config.tie == Tie::FirstMet { met } else { u64::MAX - met })
    }

    fn go_last(&mut self, node: u32) {
        self.turn += 1;
        self.met[node as usize] = self.turn;
        self.ring.push_back(&mut self.links, node);
    }

    fn make_room(&mut self, out: &mut Outcome) {
        let victim = self.select();
        self.last_victim = Some(self.blocks.pages(victim));
        self.evict(victim, FULLEST, out);
    }

    /// The block that leaves next; the hand moves.
    fn select(&mut self) -> u32 {
        // A place before the blocks that the hand is going to pass.
        self.turn += 1;
        if let Some((_, victim)) = self.candidates.first() {
            while self.is_referenced(self.ring.front()) {
                let passed = self.ring.front();
                self.ring.remove(&mut self.links, passed);
                self.go_last(passed);
                self.clear_reference(passed);
                if self.swept == NONE {
                    self.swept = passed;
                }
            }
            victim
        } else {
            // The hand goes round once and ends where it began.
            let mut fullest = (u32::MAX, u64::MAX, NONE);
            for node in self.ring.iter(&self.links) {
                let (lacks, met) = self.rank(node);
                self.candidates.set(node, (lacks, met));
                fullest = fullest.min((lacks, met, node));
            }
            fullest.2
        }
    }

    fn evict(&mut self, node: u32, reason: Reason, out: &mut Outcome) {
        self.forget(node);
        self.blocks.evict_whole(node, Action::Evict, reason, out);
    }

    fn forget(&mut self, node: u32) {
        self.candidates.remove(node);
        if self.swept == node {
            // Its successor, if there is one, was passed after it.
            self.swept = self.ring.after(&self.links, node);
        }
        self.ring.remove(&mut self.links, node);
    }

    fn write(&mut self, lpn: Lpn, out: &mut Outcome) -> Answer {
        let ppb = self.blocks.pages_per_block();
        let hit = self.blocks.holds(lpn);
        let node = if hit {
            self.blocks.mark_dirty(lpn);
            self.blocks.node_of(lpn)
        } else {
            self.swept = NONE;
            if self.blocks.is_full() {
                self.make_room(out);
            }
            let (node, fresh) = self.blocks.insert(lpn, true);
            if fresh {
                self.enter(node);
            }
            node
        };
        self.candidates.remove(node);
        if self.config.heuristics && lpn.offset(ppb) == ppb - 1 {
            let pages = self.blocks.pages(node);
            if pages == ppb || self.last_victim.is_some_and(|last| pages > last) {
                self.clear_reference(node);
                out.note("last page written: candidate", Some(i64::from(pages)), [lpn]);
            }
        }
        if hit { Answer::Hit } else { Answer::Insert }
    }

    /// Puts a new block where the hand was before it moved.
    fn enter(&mut self, node: u32) {
        // Where the hand has gone all the way round, that place is just behind it.
        if self.swept == NONE || self.swept == self.ring.front() {
            self.go_last(node);
        } else {
            self.met[node as usize] = self.met[self.swept as usize] - 1;
            self.ring.insert_before(&mut self.links, node, self.swept);
        }
    }
}

impl Buffer for LbClock {
    fn access(&mut self, span: &Span, _view: &dyn View, out: &mut Outcome) {
        for lpn in span.pages() {
            let answer = if span.write {
                self.write(lpn, out)
            } else if self.blocks.holds(lpn) {
                if self.config.read_hits_count {
                    self.candidates.remove(self.blocks.node_of(lpn));
                }
                Answer::Hit
            } else {
                Answer::Bypass
            };
            out.answers.push(answer);
        }
    }

    fn trim(&mut self, first: Lpn, count: u32) {
        let mut pages = first..first + count;
        while let Some((_, node, gone)) = self.blocks.remove_next(&mut pages) {
            if gone {
                self.forget(node);
            } else if !self.is_referenced(node) {
                self.clear_reference(node);
            }
        }
    }

    fn flush(&mut self, out: &mut Outcome) {
        while !self.ring.is_empty() {
            let node = self.select();
            self.evict(node, FLUSH_COMMAND, out);
        }
    }

    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome) {
        if first.run(count).any(|lpn| self.blocks.holds(lpn)) {
            self.evict(self.blocks.node_of(first), FORCED, out);
        }
    }

    fn len(&self) -> u32 {
        self.blocks.len()
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.blocks.holds(lpn)
    }

    fn check(&self) -> Result<(), String> {
        let mut before = 0;
        for node in self.ring.iter(&self.links) {
            let met = self.met[node as usize];
            if met <= before {
                return Err(format!("lb-clock: block node {node} is met at {met}, after {before}"));
            }
            before = met;
            if self.candidates.key(node).is_some_and(|key| key != self.rank(node)) {
                return Err(format!("lb-clock: block node {node} has a stale rank"));
            }
        }
        self.blocks.check(self.ring.iter(&self.links))
    }

    fn metadata_bytes(&self) -> usize {
        self.blocks.bytes() + self.links.bytes() + self.candidates.bytes() + self.met.len() * 8
    }

    fn dump(&self) -> Vec<Vec<Lpn>> {
        let pages = |node| self.blocks.iter(node).map(|page| page.lpn).collect();
        self.ring.iter(&self.links).map(pages).collect()
    }
}
