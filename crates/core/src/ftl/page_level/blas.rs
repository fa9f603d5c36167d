//! BLAS: page mapping that keeps a logical block in one channel until it is read a lot, and then
//! scatters it over all of them.
//!
//! **What it does.** Pages lie anywhere, as under `page`; where they go is decided for each logical
//! block, which is kept under one of two policies. Under *locality*, where every block begins, its
//! pages are written to one unit of one channel. Reads that reach the flash raise the block's
//! score. A block whose score has come to `threshold` waits for a moment in which nothing at all is
//! under way; then it is *scattered* in the background, the highest score first, until its pages
//! lie in *stripes*. Of each run of adjacent pages on one channel, as long as there are channels or
//! shorter, the first page stays; the second moves one channel on, the third two, and so on. The
//! block is gone through once, from its first page on: where the end of a run comes to the channel
//! of the page behind it, both stay there. A run is begun only when all chips are idle, and is
//! finished when a request comes in between. Every write to a block brings its score back to 0 and
//! puts it under locality again: it is written a lot, and what is written next goes to one channel.
//!
//! Garbage is collected and wear evened out as under `page`: `ftl.victim`, `ftl.gc` and `ftl.wear`
//! say how. `ftl.allocator` has no effect. A block whose unit has no room goes on in the next unit
//! in turn that has; tombstones go to the units in turn, by themselves, however many pages are
//! written in between.
//!
//! **When it wins**: blocks that are written once and read often, in long requests, with idle time
//! in between. **When it loses**: each scattered page is written twice; large writes go to one
//! channel first; a drive that is never idle never scatters anything.
//!
//! D.-W. Chang, H.-H. Chen, D.-J. Yang and H.-P. Chang, "BLAS: block-level adaptive striping for
//! solid-state drives", ACM Trans. Design Autom. Electron. Syst. 19(2), 2014; as told by Kim, Park
//! and Youn 2017 (SUPA), sections 3.3, 4.2 and 6.4, and a public simulator of its authors' group.
//!
//! **Where the paper is silent**, as far as it could be read: which unit takes a block
//! (`placement`: where its pages lie already, new blocks go to the units in turn); which reads
//! count (`score`: all, as SUPA speaks of "the number of continuous read requests between two write
//! requests for a block", whatever their length; with `"long-reads"`, the simulator's rule, only
//! those of more than `long_read` pages of the block, which alone gain from several channels: where
//! each read is of one page, nothing is ever scattered then); how often it has to be read
//! (`threshold`, 2 in SUPA's account); whether blocks written sequentially are scattered as well,
//! as SUPA says and the simulator does not (`sequential`). Equal scores go by the block's number. A
//! page is moved to the unit of its new channel that has most room, and stays if none has room to
//! spare. Where a program writes several mapped pages, as many stay together. What scattering reads
//! and programs is counted as `placement`. Runs without time, and the filling of the drive, know no
//! idle moments and give no scores. The scores are lost with the power.
//!
//! Cost of a page write: that of page mapping. Cost of a page read: O(log(blocks that wait)); of
//! scattering a block O(pages of it).

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::table::Table;
use super::store::{Above, Store};
use super::{PageLevel, PageScheme};
use crate::ftl::alloc::Units as _;
use crate::ftl::config::FtlConfig;
use crate::ftl::context::Cx;
use crate::ftl::{Mapping, Shape};
use crate::metrics::Counters;
use crate::nand::{Flash, Media};
use crate::pattern::{Access, Hint, Pattern, Policy, Route};
use crate::support::bits::Bits;
use crate::support::ids::{BlockId, LogicalBlock, Lpn, PlaneId, Ppn};
use crate::support::registry::{About, Choice, Cost, Needs};

/// What `list` says.
pub const ABOUT: About = About {
    title: "BLAS",
    summary: "Page mapping; a logical block lies in one channel until it is read a lot, then is \
        scattered while all is idle.",
    paper: "Chang et al., BLAS: block-level adaptive striping for solid-state drives, ACM TODAES \
        19(2)",
    year: Some(2014),
    described_in: "Kim, Park and Youn, SUPA, section 3.3",
    reconstruction: true,
    composed: true,
    choices: &[
        Choice {
            option: "placement",
            others: &[r#""turn""#, r#""least-busy""#],
            open: "which unit takes the pages of a block that are written together",
        },
        Choice {
            option: "score",
            others: &[r#""long-reads""#],
            open: "which reads make a block read-intensive",
        },
        Choice {
            option: "sequential",
            others: &["4"],
            open: "whether blocks that were written sequentially are scattered, too",
        },
    ],
    cost: Cost::Logarithmic,
    needs: &[Needs { option: "long_read", beside: "score", values: &[r#""long-reads""#] }],
    source: include_str!("blas.rs"),
    ..About::PLAIN
};

/// Which unit takes the pages of a block that are written together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The one where pages of the block were written last; those of new blocks go to the units in
    /// turn.
    #[default]
    Kept,
    /// The next one in turn.
    Turn,
    /// The one that will be free first.
    LeastBusy,
}

/// Which reads raise the score of a block, by 1 for each request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Score {
    /// All.
    #[default]
    Reads,
    /// Those of more than `long_read` pages of it.
    LongReads,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Score from which on a block is scattered.
    pub threshold: u32,
    /// Which reads raise the score of a block, by 1 for each request.
    pub score: Score,
    /// A read of more pages of a block than this is long; with `score = "long-reads"`.
    pub long_read: u32,
    /// Blocks of which more adjacent pages than this are written together are scattered as well.
    /// Default: only those that are read.
    pub sequential: Option<u32>,
    /// Which unit takes the pages of a block that are written together.
    pub placement: Placement,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            threshold: 2,
            score: Score::default(),
            long_read: 1,
            sequential: None,
            placement: Placement::Kept,
        }
    }
}

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too little spare flash, or impossible options.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        if self.threshold == 0 {
            return Err("ftl.mapping.threshold: found 0, expected at least 1 read".into());
        }
        let parts = FtlConfig { allocator: None, ..shape.parts.clone() };
        let shape = Shape { parts: &parts, ..shape };
        let store = Store::compose(&shape, Above::titled(ABOUT.title))?.without_allocator();
        let blocks = shape.logical_pages.div_ceil(shape.geometry.pages_per_block) as usize;
        let scheme = Blas {
            config: self.clone(),
            logical_pages: shape.logical_pages,
            home: vec![PlaneId::NONE; blocks],
            scores: vec![0; blocks],
            striped: Bits::new(blocks),
            ready: BTreeSet::new(),
            scattering: None,
            turn: 0,
            stream: Stream {
                group: u64::MAX,
                lbn: LogicalBlock::NONE,
                unit: PlaneId::NONE,
                next: Lpn::NONE,
                run: 0,
            },
            hint: None,
        };
        Ok(PageLevel::boxed(store, shape.logical_pages, scheme))
    }
}

/// The pages of a logical block that are being written together.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Stream {
    group: u64,
    /// The logical block.
    lbn: LogicalBlock,
    unit: PlaneId,
    /// The page that would go on with the run, and how long that is.
    next: Lpn,
    run: u32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Blas {
    config: Config,
    logical_pages: u32,
    /// Unit to which pages of each logical block were written last, or [`PlaneId::NONE`].
    home: Vec<PlaneId>,
    scores: Vec<u32>,
    /// Logical blocks that have been scattered since they were written.
    striped: Bits,
    /// Those that wait to be scattered.
    ready: BTreeSet<(Reverse<u32>, LogicalBlock)>,
    /// The one that is being scattered, and the page at which that goes on.
    scattering: Option<(LogicalBlock, Lpn)>,
    /// The unit whose turn it is.
    turn: u32,
    stream: Stream,
    hint: Option<Hint>,
}

impl Blas {
    /// A logical block has been written: it is no longer read-intensive.
    fn on_written(&mut self, lbn: LogicalBlock) {
        self.forget_score(lbn);
        self.striped.clear(lbn.index());
        self.scattering = self.scattering.filter(|&(scattering, _)| scattering != lbn);
    }

    fn forget_score(&mut self, lbn: LogicalBlock) {
        let score = std::mem::take(&mut self.scores[lbn.index()]);
        if score >= self.config.threshold {
            self.ready.remove(&(Reverse(score), lbn));
        }
    }

    fn set_score(&mut self, lbn: LogicalBlock, score: u32) {
        self.forget_score(lbn);
        self.scores[lbn.index()] = score;
        if score >= self.config.threshold {
            self.ready.insert((Reverse(score), lbn));
        }
    }

    /// The unit that the next page of `lbn` goes to; `None` while none takes it.
    fn unit_for(
        &mut self,
        store: &mut Store,
        cx: &Cx<'_>,
        lbn: LogicalBlock,
        class: u32,
    ) -> Option<PlaneId> {
        let (stream, home) = (self.stream, self.home[lbn.index()]);
        let together = stream.group == cx.group && stream.lbn == lbn;
        let mut units = store.units(cx.engine, class);
        let kept = if together {
            stream.unit
        } else if self.config.placement == Placement::Kept {
            home
        } else {
            PlaneId::NONE
        };
        if kept != PlaneId::NONE && units.takes(kept) {
            return Some(kept);
        }
        let asked = self.hint.filter(|hint| hint.block == lbn).and_then(|hint| hint.channel);
        let there = asked.and_then(|channel| self.choose(store, cx, class, Some(channel)));
        let chosen = there.or_else(|| self.choose(store, cx, class, None))?;
        self.turn = (chosen.0 + 1) % store.geometry().units;
        Some(chosen)
    }

    /// A unit that takes a page, of `channel` if one is given: the next one in turn, or the one
    /// that will be free first.
    fn choose(
        &self,
        store: &mut Store,
        cx: &Cx<'_>,
        class: u32,
        channel: Option<u32>,
    ) -> Option<PlaneId> {
        let g = store.geometry();
        let (count, channels) = (g.units, g.channels);
        let turn = self.turn;
        let mut units = store.units(cx.engine, class);
        let mut best: Option<(u64, PlaneId)> = None;
        for unit in (0..count).map(|i| PlaneId((turn + i) % count)) {
            let is_there = channel.is_none_or(|channel| unit.0 % channels == channel);
            if !is_there || !units.takes(unit) {
                continue;
            }
            if self.config.placement != Placement::LeastBusy {
                return Some(unit);
            }
            let busy = units.busy_ns(unit);
            if best.is_none_or(|(least, _)| busy < least) {
                best = Some((busy, unit));
            }
        }
        best.map(|(_, unit)| unit)
    }

    /// The next run of adjacent pages on one channel, no longer than one stripe over all channels:
    /// the first page, how many, and the channel.
    fn next_run(
        store: &Store,
        table: &Table,
        flash: &Flash,
        pages: Range<Lpn>,
    ) -> Option<(Lpn, u32, u32)> {
        let g = store.geometry();
        let channel = |lpn| {
            stored(store, table, flash, lpn).map(|(block, _)| channel_of(store, g.unit_of(block)))
        };
        let most = g.channels * g.program_pages;
        let mut first = pages.start;
        while first < pages.end {
            let Some(here) = channel(first) else {
                first += 1;
                continue;
            };
            let run = Lpn::each(first..pages.end.min(first + most))
                .take_while(|&lpn| channel(lpn) == Some(here));
            let count = run.count() as u32;
            if count > g.program_pages {
                return Some((first, count, here));
            }
            first += count;
        }
        None
    }

    /// Moves all of a run but what its first program wrote to the next channels; whether anything
    /// moved.
    fn scatter_run(
        store: &mut Store,
        cx: &mut Cx<'_>,
        table: &mut Table,
        (first, count, channel): (Lpn, u32, u32),
    ) -> bool {
        let (channels, step) = (store.geometry().channels, store.geometry().program_pages);
        let mut moved = false;
        for (number, at) in (1..).zip(Lpn::each(first + step..first + count).step_by(step as usize))
        {
            let to = (channel + number) % channels;
            let places = Lpn::each(at..(at + step).min(first + count))
                .filter_map(|lpn| stored(store, table, cx.flash, lpn));
            let places: Vec<(BlockId, u32)> = places.collect();
            for together in places.chunk_by(|one, next| one.0 == next.0) {
                let pages: Vec<u32> = together.iter().map(|place| place.1).collect();
                if let Some(unit) = store.roomiest(cx.engine, to, together[0].0) {
                    moved |= store.transfer(cx, (together[0].0, &pages), unit, table);
                }
            }
        }
        moved
    }
}

/// The channel of a unit.
fn channel_of(store: &Store, unit: PlaneId) -> u32 {
    let g = store.geometry();
    g.channel_of(g.die_of(unit))
}

/// Where a page can be read on flash.
fn stored(store: &Store, table: &Table, flash: &Flash, lpn: Lpn) -> Option<(BlockId, u32)> {
    let (block, page) = store.geometry().split(table.lookup(lpn)?);
    flash.is_written(block, page).then_some((block, page))
}

impl PageScheme for Blas {
    fn keeps_blocks_together(&self) -> bool {
        true
    }

    fn pick(
        &mut self,
        store: &mut Store,
        cx: &mut Cx<'_>,
        (lpn, class): (Lpn, u32),
        _old: Option<Ppn>,
    ) -> Option<PlaneId> {
        self.unit_for(store, cx, lpn.block(store.geometry().pages_per_block), class)
    }

    fn written(&mut self, store: &Store, cx: &mut Cx<'_>, lpn: Lpn, unit: PlaneId) {
        let lbn = lpn.block(store.geometry().pages_per_block);
        let group = cx.group;
        let goes_on = (self.stream.group, self.stream.lbn, self.stream.next) == (group, lbn, lpn);
        let run = if goes_on { self.stream.run + 1 } else { 1 };
        self.stream = Stream { group, lbn, unit, next: lpn + 1, run };
        self.home[lbn.index()] = unit;
        self.on_written(lbn);
        if let Some(threshold) = self.config.sequential.filter(|_| cx.timed) {
            let hint = self.hint.filter(|hint| hint.block == lbn);
            if hint.map_or(run > threshold, |hint| hint.pattern.write == Access::Sequential) {
                self.set_score(lbn, self.config.threshold);
            }
        }
    }

    fn needs_work_estimates(&self) -> bool {
        self.config.placement == Placement::LeastBusy
    }

    fn route(&self, store: &Store, lbn: LogicalBlock, _pattern: Pattern) -> Option<Route> {
        let home = self.home[lbn.index()];
        let kept = self.config.placement == Placement::Kept && home != PlaneId::NONE;
        Some(if kept { Route::Channel(channel_of(store, home)) } else { Route::Anywhere })
    }

    fn policy(&self, lbn: LogicalBlock) -> Option<Policy> {
        let written = self.home[lbn.index()] != PlaneId::NONE;
        written.then(|| if self.striped.get(lbn.index()) { Policy::Multi } else { Policy::Single })
    }

    fn on_hint(&mut self, hint: Hint, clean: bool, _counters: &mut Counters) {
        self.hint = (!clean).then_some(hint);
    }

    fn watches_reads(&self) -> bool {
        true
    }

    fn on_read(&mut self, lbn: LogicalBlock, pages: u32) {
        let counts = self.config.score == Score::Reads || pages > self.config.long_read;
        let under_way = self.scattering.is_some_and(|(scattering, _)| scattering == lbn);
        if counts && !under_way && !self.striped.get(lbn.index()) {
            self.set_score(lbn, self.scores[lbn.index()].saturating_add(1));
        }
    }

    fn idle(&mut self, store: &mut Store, cx: &mut Cx<'_>, table: &mut Table) -> bool {
        if store.geometry().channels == 1 {
            return false;
        }
        let ppb = store.geometry().pages_per_block;
        loop {
            let Some((lbn, from)) = self.scattering else {
                let Some((_, lbn)) = self.ready.pop_first() else { return false };
                self.scores[lbn.index()] = 0;
                self.scattering = Some((lbn, lbn.first(ppb)));
                continue;
            };
            let end = lbn.range(ppb).end.min(Lpn(self.logical_pages));
            let Some(run) = Self::next_run(store, table, cx.flash, from..end) else {
                self.striped.set(lbn.index());
                self.scattering = None;
                continue;
            };
            self.scattering = Some((lbn, run.0 + run.1));
            if Self::scatter_run(store, cx, table, run) {
                return true;
            }
        }
    }

    fn recovered(&mut self, store: &Store, table: &Table, _found: &Media) {
        let g = store.geometry();
        let ppb = g.pages_per_block;
        for (lbn, home) in LogicalBlock(0).onwards().zip(&mut self.home) {
            let Range { start, end } = lbn.range(ppb);
            let pages = Lpn::each(start..end.min(Lpn(self.logical_pages)));
            let first = pages.clone().find_map(|lpn| table.lookup(lpn));
            *home = first.map_or(PlaneId::NONE, |ppn| g.unit_of_page(ppn));
        }
    }

    fn check(&self) -> Result<(), String> {
        let waiting = LogicalBlock(0)
            .onwards()
            .zip(&self.scores)
            .filter(|&(_, &score)| score >= self.config.threshold);
        let waiting: BTreeSet<_> = waiting.map(|(lbn, &score)| (Reverse(score), lbn)).collect();
        if waiting == self.ready {
            return Ok(());
        }
        Err(format!(
            "blas: {} blocks wait to be scattered, the scores say others",
            self.ready.len()
        ))
    }

    fn bytes(&self) -> usize {
        (self.home.len() + self.scores.len()) * 4 + self.striped.bytes() + self.ready.len() * 16
    }
}
