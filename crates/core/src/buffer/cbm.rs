//! CBM: cooperative buffer management, a write buffer of non-volatile memory with HBM's regions
//! beside a read cache.
//!
//! **What it does.** Dirty pages are in the *write buffer*, a page region in the order of use and a
//! block region: when enough pages of a block are in the page region, all of them move to the block
//! region, from which the least popular and fullest block leaves. It works as HBM does, without
//! clean pages. The *read cache* has clean pages in the order of use; a page of it that is written
//! moves to the write buffer. The two cooperate when a block leaves: what the read cache has of it
//! is written along, in order, so that the FTL gets longer runs without reading flash.
//!
//! **When it wins**: reads and writes of the same blocks, on log-block FTLs. **When it loses**:
//! FTLs that map pages, which gain nothing from clean pages that are written once more.
//!
//! Q. Wei, C. Chen and J. Yang, "CBM: A cooperative buffer management for SSD", MSST 2014. A
//! reconstruction: of that paper the abstract was at hand, and what SUPA (2017) says of it; the
//! write buffer follows Gong's thesis on HBM (2010).
//!
//! **Where these are silent.** How the memory is divided: `read_share`, a half, rounded to pages.
//! Pages of the read cache that are written along leave with the block (`fill_holes = false`: they
//! stay, and are not written); those that the present request writes are not written along, as they
//! are on their way to the write buffer, where each is a hit. All of HBM's rules apply to the write
//! buffer, with its alpha and beta by the size of that part. A read hit in the write buffer counts
//! as use there. Pages that a flush command cleans stay in the write buffer; a block that holds
//! only such pages is dropped. Non-volatile memory need not be flushed at all: that is
//! `buffer.battery`.
//!
//! Cost of a page access: O(1), O(log n) in the blocks of the block region where a block's rank
//! changes; of an eviction O(pages of a block).

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kit::blocks::{Directory, ReadPolicy, require_room, require_share};

use super::kit::paged::Paged;
use super::kit::regions::rules::{Room, Rules, Threshold, Tie};
use super::kit::regions::{Regions, Visit};
use super::lru::Lru;
use super::{
    Action, Answer, Buffer, Evicted, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span, View,
};
use crate::support::ids::Lpn;
use crate::support::registry::{About, Choice, Cost, Example, Needs};

/// What `list` says.
pub const ABOUT: About = About {
    title: "CBM",
    summary: "HBM's regions for dirty pages beside an LRU cache of clean ones, which fills the \
        holes of blocks that leave.",
    paper: "Wei, Chen and Yang, CBM: A cooperative buffer management for SSD, MSST",
    year: Some(2014),
    reconstruction: true,
    cost: Cost::Logarithmic,
    choices: &[
        Choice {
            option: "read_share",
            others: &["0.25", "0.75"],
            open: "how the memory is divided between write buffer and read cache",
        },
        Choice {
            option: "fill_holes",
            others: &["false"],
            open: "which pages of the read cache are written with a block",
        },
        Choice {
            option: "tie",
            others: &[r#""lowest-block""#],
            open: "which block leaves where popularity and pages are equal",
        },
        Choice {
            option: "room",
            others: &[r#""page""#],
            open: "whether room is made for a request's part in a block at once or for each of its \
                pages",
        },
        Choice {
            option: "exchange_counts",
            others: &["true"],
            open: "whether the block region's size is changed where as many pages come as leave \
                for them",
        },
    ],
    examples: &[Example {
        source: "",
        shows: "The write buffer has pages 0, 1 and 3 of block 0, the read cache has page 2. Page \
            4 makes the block leave: four pages are written in order.",
        capacity: 6,
        pages_per_block: 4,
        options: "",
        requests: "W 0-1, W 3, R 2, W 4",
    }],
    needs: &[
        Needs { option: "alpha", beside: "threshold", values: &[r#""dynamic""#] },
        Needs { option: "beta", beside: "threshold", values: &[r#""dynamic""#] },
        Needs { option: "settle", beside: "threshold", values: &[r#""dynamic""#] },
        Needs { option: "exchange_counts", beside: "threshold", values: &[r#""dynamic""#] },
        Needs { option: "seed", beside: "tie", values: &[r#""random""#] },
    ],
    source: include_str!("cbm.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Share of the buffer for the read cache, 0 to 1; each part has at least one page.
    pub read_share: f64,
    /// Pages of the read cache are written with the block that leaves, and leave with it.
    pub fill_holes: bool,
    /// Pages of a block in the page region that make it move: `"dynamic"` or a number.
    pub threshold: Threshold,
    /// Smallest share of the block region in the write buffer; null: as HBM has it.
    pub alpha: Option<f64>,
    /// Largest share of the block region in the write buffer; null: as HBM has it.
    pub beta: Option<f64>,
    /// Requests between two changes of the threshold.
    pub settle: u64,
    /// Pages that leave the block region for as many that come change its size, so that the
    /// threshold may move.
    pub exchange_counts: bool,
    /// Which of blocks that are equal in popularity and pages leaves.
    pub tie: Tie,
    /// When room is made for the pages that a request brings to a block.
    pub room: Room,
    /// Seed of the random choice.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        let Rules { threshold, alpha, beta, settle, exchange_counts, tie, room, seed, .. } =
            Rules::default();
        Self {
            read_share: 0.5,
            fill_holes: true,
            threshold,
            alpha,
            beta,
            settle,
            exchange_counts,
            tie,
            room,
            seed,
        }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for two pages, or a threshold or share that cannot be.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_room(shape, 2)?;
        require_share("read_share", self.read_share)?;
        let clean = libm::round(self.read_share * f64::from(shape.capacity)) as u32;
        let clean = clean.clamp(1, shape.capacity - 1);
        let rules = Rules {
            threshold: self.threshold,
            alpha: self.alpha,
            beta: self.beta,
            settle: self.settle,
            exchange_counts: self.exchange_counts,
            tie: self.tie,
            room: self.room,
            seed: self.seed,
            ..Rules::default()
        };
        Ok(Box::new(Cbm {
            fill_holes: self.fill_holes,
            writes: Regions::new(&rules, Shape { capacity: shape.capacity - clean, ..shape })?,
            reads: ReadCache {
                pages: Paged::new(
                    "cbm",
                    Shape { capacity: clean, ..shape },
                    ReadPolicy::Allocate,
                    Lru::new,
                )?,
                of_block: vec![0; shape.logical_pages.div_ceil(shape.pages_per_block) as usize],
                pages_per_block: shape.pages_per_block,
            },
        }))
    }
}

#[derive(Debug)]
struct Cbm {
    fill_holes: bool,
    writes: Regions,
    reads: ReadCache,
}

/// Clean pages in the order of use.
#[derive(Debug)]
struct ReadCache {
    pages: Paged<Lru>,
    /// How many of them each logical block has: most blocks that leave the write buffer have none.
    of_block: Vec<u32>,
    pages_per_block: u32,
}

impl ReadCache {
    fn count(&mut self, lpn: Lpn) -> &mut u32 {
        &mut self.of_block[lpn.block(self.pages_per_block).index()]
    }

    /// The host reads a page that is not in the write buffer.
    fn read(&mut self, page: &Span, view: &dyn View, out: &mut Outcome) {
        let start = out.pages.len();
        self.pages.access(page, view, out);
        for left in &out.pages[start..] {
            *self.count(left.lpn) -= 1;
        }
        if out.answers.last() == Some(&Answer::Fill) {
            *self.count(page.first) += 1;
        }
    }

    /// Takes a page out; whether it was in.
    fn take(&mut self, lpn: Lpn) -> bool {
        let held = self.pages.holds(lpn);
        if held {
            self.pages.trim(lpn, 1);
            *self.count(lpn) -= 1;
        }
        held
    }

    /// Takes all pages of the block out that begins with page `first`, but for those `coming` to
    /// the write buffer.
    fn take_block(&mut self, first: Lpn, coming: &Range<Lpn>, taken: &mut Vec<Evicted>) {
        let mut left = *self.count(first);
        let mut lpn = first;
        while left > 0 {
            if self.pages.holds(lpn) {
                left -= 1;
                if !coming.contains(&lpn) {
                    self.take(lpn);
                    taken.push(Evicted { lpn, dirty: false });
                }
            }
            lpn += 1;
        }
    }

    fn check(&self) -> Result<(), String> {
        self.pages.check()?;
        let mut counts = vec![0; self.of_block.len()];
        for lpn in self.pages.dump().concat() {
            counts[lpn.block(self.pages_per_block).index()] += 1;
        }
        match counts.iter().zip(&self.of_block).position(|(found, counted)| found != counted) {
            Some(lbn) => {
                Err(format!("cbm: the read cache counts the pages of block {lbn} wrongly"))
            }
            None => Ok(()),
        }
    }
}

impl Cbm {
    /// A page is written, or read from the write buffer.
    fn serve_dirty(
        &mut self,
        lpn: Lpn,
        span: &Span,
        visit: &mut Visit,
        out: &mut Outcome,
    ) -> Answer {
        if self.writes.blocks().holds(lpn) {
            self.writes.hit(lpn, span.write, visit, out);
            return Answer::Hit;
        }
        let was_clean = self.reads.take(lpn);
        if self.writes.blocks().is_full() {
            self.replace(span, out);
        }
        self.writes.insert(lpn, true, visit, out);
        if was_clean { Answer::Hit } else { Answer::Insert }
    }

    /// A block leaves the write buffer for a page of this span, with what the read cache has of it.
    fn replace(&mut self, span: &Span, out: &mut Outcome) {
        let holes = (&mut self.reads, self.fill_holes.then(|| coming(span)));
        self.writes
            .replace(out, |blocks, node, reason, out| evict(holes, blocks, node, reason, out));
    }
}

/// Pages that a span writes.
fn coming(span: &Span) -> Range<Lpn> {
    span.first..span.first + span.count
}

/// A block leaves the write buffer: written, with what the read cache has of it, or dropped if all
/// of it is clean.
fn evict(
    (reads, fills): (&mut ReadCache, Option<Range<Lpn>>),
    blocks: &mut Directory,
    node: u32,
    reason: Reason,
    out: &mut Outcome,
) {
    let start = out.pages.len();
    if blocks.dirty(node) == 0 {
        return blocks.evict_whole(node, Action::Drop, reason, out);
    }
    out.pages.extend(blocks.iter(node));
    if let Some(coming) = fills {
        reads.take_block(blocks.lbn(node).first(blocks.pages_per_block()), &coming, &mut out.pages);
    }
    out.pages[start..].sort_unstable_by_key(|page| page.lpn);
    out.evict(start, Action::Evict, reason);
    blocks.forget(node);
}

impl Buffer for Cbm {
    fn access(&mut self, span: &Span, view: &dyn View, out: &mut Outcome) {
        if span.write {
            let (reads, fill_holes) = (&mut self.reads, self.fill_holes);
            self.writes.make_room(span, out, |blocks, node, reason, out| {
                evict((&mut *reads, fill_holes.then(|| coming(span))), blocks, node, reason, out);
            });
        }
        let mut visit = Visit::default();
        for first in span.pages() {
            if span.write || self.writes.blocks().holds(first) {
                let answer = self.serve_dirty(first, span, &mut visit, out);
                out.answers.push(answer);
            } else {
                self.reads.read(&Span { first, count: 1, ..*span }, view, out);
            }
        }
        self.writes.end(span.request, out);
    }

    fn trim(&mut self, first: Lpn, count: u32) {
        for lpn in first.run(count) {
            self.reads.take(lpn);
            if self.writes.blocks().holds(lpn) {
                self.writes.remove(lpn);
            }
        }
    }

    fn flush(&mut self, out: &mut Outcome) {
        self.writes.write_back(FLUSH_COMMAND, out);
    }

    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome) {
        self.writes.write_back_pages(first, count, FORCED, out);
    }

    fn len(&self) -> u32 {
        self.writes.blocks().len() + self.reads.pages.len()
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.writes.blocks().holds(lpn) || self.reads.pages.holds(lpn)
    }

    fn check(&self) -> Result<(), String> {
        self.reads.check()?;
        self.writes.check().map_err(|problem| format!("cbm: {problem}"))?;
        let both = self
            .reads
            .pages
            .dump()
            .concat()
            .into_iter()
            .find(|&lpn| self.writes.blocks().holds(lpn));
        both.map_or(Ok(()), |lpn| Err(format!("cbm: page {lpn} is in both parts")))
    }

    fn metadata_bytes(&self) -> usize {
        self.writes.bytes() + self.reads.pages.metadata_bytes() + self.reads.of_block.len() * 4
    }

    /// The write buffer, then the read cache.
    fn dump(&self) -> Vec<Vec<Lpn>> {
        let mut all = self.writes.dump();
        all.extend(self.reads.pages.dump());
        all
    }
}
