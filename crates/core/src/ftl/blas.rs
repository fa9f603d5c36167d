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

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::alloc::Units as _;
use super::config::FtlConfig;
use super::cx::{Cx, PageOut};
use super::store::table::Table;
use super::store::{Above, Store};
use super::{Advice, Mapping, Reclaim, Shape};
use crate::metrics::Counters;
use crate::nand::{Flash, Media, Ppn};
use crate::pattern::{Access, Hint, Pattern, Policy, Route};
use crate::support::NONE;
use crate::support::bits::Bits;
use crate::support::registry::{About, Choice, Cost, Needs};

/// What `list` says.
pub const ABOUT: About = About {
    title: "BLAS",
    summary: "Page mapping; a logical block lies in one channel until it is read a lot, then is scattered while all is idle.",
    paper: "Chang et al., BLAS: block-level adaptive striping for solid-state drives, ACM TODAES 19(2)",
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
        let store = Store::compose(&shape, Above { title: "BLAS", pages: 0, classes: 0 })?
            .without_allocator();
        let blocks = shape.logical_pages.div_ceil(shape.geometry.pages_per_block) as usize;
        Ok(Box::new(Blas {
            config: self.clone(),
            table: Table::new(shape.logical_pages, store.pools().count()),
            store,
            logical_pages: shape.logical_pages,
            home: vec![NONE; blocks],
            scores: vec![0; blocks],
            striped: Bits::new(blocks),
            ready: BTreeSet::new(),
            scattering: None,
            turn: 0,
            stream: Stream { group: u64::MAX, block: NONE, unit: NONE, next: NONE, run: 0 },
            hint: None,
        }))
    }
}

/// The pages of a block that are being written together.
#[derive(Debug, Clone, Copy)]
struct Stream {
    group: u64,
    block: u32,
    unit: u32,
    /// The page that would go on with the run, and how long that is.
    next: u32,
    run: u32,
}

#[derive(Debug)]
struct Blas {
    config: Config,
    store: Store,
    table: Table,
    logical_pages: u32,
    /// Unit to which pages of each logical block were written last, or [`NONE`].
    home: Vec<u32>,
    scores: Vec<u32>,
    /// Blocks that have been scattered since they were written.
    striped: Bits,
    /// Blocks that wait to be scattered.
    ready: BTreeSet<(Reverse<u32>, u32)>,
    /// The block that is being scattered, and the page at which that goes on.
    scattering: Option<(u32, u32)>,
    /// The unit whose turn it is.
    turn: u32,
    stream: Stream,
    hint: Option<Hint>,
}

impl Blas {
    fn ppb(&self) -> u32 {
        self.store.geometry().pages_per_block
    }

    fn channel_of(&self, unit: u32) -> u32 {
        let g = self.store.geometry();
        g.channel_of(g.die_of(unit))
    }

    /// A block has been written: it is no longer read-intensive.
    fn on_written(&mut self, block: u32) {
        self.forget_score(block);
        self.striped.clear(block as usize);
        self.scattering = self.scattering.filter(|&(scattering, _)| scattering != block);
    }

    fn forget_score(&mut self, block: u32) {
        let score = std::mem::take(&mut self.scores[block as usize]);
        if score >= self.config.threshold {
            self.ready.remove(&(Reverse(score), block));
        }
    }

    fn set_score(&mut self, block: u32, score: u32) {
        self.forget_score(block);
        self.scores[block as usize] = score;
        if score >= self.config.threshold {
            self.ready.insert((Reverse(score), block));
        }
    }

    /// The unit that the next page of `block` goes to; `None` while none takes it.
    fn pick(&mut self, cx: &Cx<'_>, block: u32, class: u32) -> Option<u32> {
        let (stream, home) = (self.stream, self.home[block as usize]);
        let together = stream.group == cx.group && stream.block == block;
        let mut units = self.store.units(cx.engine, class);
        let kept = if together {
            stream.unit
        } else if self.config.placement == Placement::Kept {
            home
        } else {
            NONE
        };
        if kept != NONE && units.takes(kept) {
            return Some(kept);
        }
        let asked = self.hint.filter(|hint| hint.block == block).and_then(|hint| hint.channel);
        let there = asked.and_then(|channel| self.choose(cx, class, Some(channel)));
        let chosen = there.or_else(|| self.choose(cx, class, None))?;
        self.turn = (chosen + 1) % self.store.geometry().units;
        Some(chosen)
    }

    /// A unit that takes a page, of `channel` if one is given: the next one in turn, or the one
    /// that will be free first.
    fn choose(&mut self, cx: &Cx<'_>, class: u32, channel: Option<u32>) -> Option<u32> {
        let g = self.store.geometry();
        let (count, channels) = (g.units, g.channels);
        let turn = self.turn;
        let mut units = self.store.units(cx.engine, class);
        let mut best: Option<(u64, u32)> = None;
        for unit in (0..count).map(|i| (turn + i) % count) {
            let is_there = channel.is_none_or(|channel| unit % channels == channel);
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

    /// A page of `block` has been written to `unit`.
    fn placed(&mut self, cx: &Cx<'_>, block: u32, unit: u32, lpn: u32) {
        let group = cx.group;
        let goes_on =
            (self.stream.group, self.stream.block, self.stream.next) == (group, block, lpn);
        let run = if goes_on { self.stream.run + 1 } else { 1 };
        self.stream = Stream { group, block, unit, next: lpn + 1, run };
        self.home[block as usize] = unit;
        self.on_written(block);
        if let Some(threshold) = self.config.sequential.filter(|_| cx.timed) {
            let hint = self.hint.filter(|hint| hint.block == block);
            if hint.map_or(run > threshold, |hint| hint.pattern.write == Access::Sequential) {
                self.set_score(block, self.config.threshold);
            }
        }
    }

    /// Where a page can be read on flash.
    fn stored(&self, flash: &Flash, lpn: u32) -> Option<(u32, u32)> {
        let (block, page) = self.store.geometry().split(self.table.lookup(lpn)?);
        flash.is_written(block, page).then_some((block, page))
    }

    /// The next run of adjacent pages on one channel, no longer than one stripe over all channels:
    /// the first page, how many, and the channel.
    fn next_run(&self, flash: &Flash, pages: std::ops::Range<u32>) -> Option<(u32, u32, u32)> {
        let g = self.store.geometry();
        let channel =
            |lpn| self.stored(flash, lpn).map(|(block, _)| self.channel_of(g.unit_of(block)));
        let most = g.channels * g.program_pages;
        let mut first = pages.start;
        while first < pages.end {
            let Some(here) = channel(first) else {
                first += 1;
                continue;
            };
            let run =
                (first..pages.end.min(first + most)).take_while(|&lpn| channel(lpn) == Some(here));
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
    fn scatter_run(&mut self, cx: &mut Cx<'_>, (first, count, channel): (u32, u32, u32)) -> bool {
        let (channels, step) =
            (self.store.geometry().channels, self.store.geometry().program_pages);
        let mut moved = false;
        for (number, at) in (1..).zip((first + step..first + count).step_by(step as usize)) {
            let to = (channel + number) % channels;
            let places =
                (at..(at + step).min(first + count)).filter_map(|lpn| self.stored(cx.flash, lpn));
            let places: Vec<(u32, u32)> = places.collect();
            for together in places.chunk_by(|one, next| one.0 == next.0) {
                let pages: Vec<u32> = together.iter().map(|place| place.1).collect();
                if let Some(unit) = self.store.roomiest(cx.engine, to, together[0].0) {
                    moved |=
                        self.store.transfer(cx, (together[0].0, &pages), unit, &mut self.table);
                }
            }
        }
        moved
    }
}

impl Mapping for Blas {
    #[inline]
    fn translate(&mut self, _cx: &mut Cx<'_>, lpn: u32) -> Option<Ppn> {
        self.table.lookup(lpn)
    }

    #[inline]
    fn lookup(&self, lpn: u32) -> Option<Ppn> {
        self.table.lookup(lpn)
    }

    fn write(&mut self, cx: &mut Cx<'_>, pages: &[PageOut], waits: u32) -> usize {
        let ppb = self.ppb();
        for (i, out) in pages.iter().enumerate() {
            let block = out.lpn / ppb;
            let class = self.store.class_of_write(self.table.lookup(out.lpn));
            let Some(unit) = self.pick(cx, block, class) else { return i };
            let guard = self.table.forget(&mut self.store, out.lpn);
            let placed = self.store.append(cx, (unit, class), *out, out.lpn, guard, waits);
            let Some(ppn) = placed else { return i };
            self.table.set(out.lpn, ppn);
            self.placed(cx, block, unit, out.lpn);
        }
        pages.len()
    }

    fn trim(&mut self, _cx: &mut Cx<'_>, first: u32, count: u32) {
        self.table.trim(&mut self.store, first, count);
    }

    fn make_durable(&mut self, cx: &mut Cx<'_>) -> bool {
        let buried = self.table.write_tombstones(&mut self.store, cx);
        self.store.fill_up(cx);
        buried
    }

    fn needs_reclaim(&mut self) -> Option<u32> {
        self.store.needs_reclaim()
    }

    fn reclaim(&mut self, cx: &mut Cx<'_>, unit: u32) -> Reclaim {
        self.store.collect(cx, unit, &mut self.table)
    }

    fn recover(&mut self, cx: &mut Cx<'_>, found: Media) {
        self.table.rebuild(&mut self.store, &found);
        self.store.reopen(cx, &found);
        let (ppb, g) = (self.ppb(), self.store.geometry());
        for (block, home) in (0..).zip(&mut self.home) {
            let pages = block * ppb..((block + 1) * ppb).min(self.logical_pages);
            let first = pages.into_iter().find_map(|lpn| self.table.lookup(lpn));
            *home = first.map_or(NONE, |ppn| g.unit_of(g.split(ppn).0));
        }
    }

    fn check(&self, flash: &Flash) -> Result<(), String> {
        let valid = self.store.check(flash, |owner, ppn| self.table.lies(owner, ppn))?;
        let waiting = (0..).zip(&self.scores).filter(|&(_, &score)| score >= self.config.threshold);
        if !waiting
            .map(|(block, &score)| (Reverse(score), block))
            .collect::<BTreeSet<_>>()
            .eq(&self.ready)
        {
            return Err(format!(
                "blas: {} blocks wait to be scattered, the scores say others",
                self.ready.len()
            ));
        }
        self.table.check(valid)
    }

    fn space(&self) -> String {
        self.store.space()
    }

    fn free_blocks(&self, unit: u32) -> u32 {
        self.store.free_blocks(unit)
    }

    fn bytes(&self) -> usize {
        self.table.bytes()
            + self.store.bytes()
            + (self.home.len() + self.scores.len()) * 4
            + self.striped.bytes()
            + self.ready.len() * 16
    }
    fn advice(&self) -> Option<&dyn Advice> {
        Some(self)
    }

    fn advice_mut(&mut self) -> Option<&mut dyn Advice> {
        Some(self)
    }
}

impl Advice for Blas {
    fn needs_work_estimates(&self) -> bool {
        self.config.placement == Placement::LeastBusy
    }

    fn watches_reads(&self) -> bool {
        true
    }

    fn on_hint(&mut self, hint: Hint, clean: bool, _counters: &mut Counters) {
        self.hint = (!clean).then_some(hint);
    }

    fn route(&self, block: u32, _pattern: Pattern) -> Option<Route> {
        let kept = self.config.placement == Placement::Kept && self.home[block as usize] != NONE;
        Some(if kept {
            Route::Channel(self.channel_of(self.home[block as usize]))
        } else {
            Route::Anywhere
        })
    }

    fn policy(&self, block: u32) -> Option<Policy> {
        let written = self.home[block as usize] != NONE;
        written
            .then(|| if self.striped.get(block as usize) { Policy::Multi } else { Policy::Single })
    }

    fn on_read(&mut self, block: u32, pages: u32) {
        let counts = self.config.score == Score::Reads || pages > self.config.long_read;
        let under_way = self.scattering.is_some_and(|(scattering, _)| scattering == block);
        if counts && !under_way && !self.striped.get(block as usize) {
            self.set_score(block, self.scores[block as usize].saturating_add(1));
        }
    }

    fn idle(&mut self, cx: &mut Cx<'_>) -> bool {
        if self.store.geometry().channels == 1 {
            return false;
        }
        loop {
            let Some((block, from)) = self.scattering else {
                let Some((_, block)) = self.ready.pop_first() else { return false };
                self.scores[block as usize] = 0;
                self.scattering = Some((block, block * self.ppb()));
                continue;
            };
            let end = ((block + 1) * self.ppb()).min(self.logical_pages);
            let Some(run) = self.next_run(cx.flash, from..end) else {
                self.striped.set(block as usize);
                self.scattering = None;
                continue;
            };
            self.scattering = Some((block, run.0 + run.1));
            if self.scatter_run(cx, run) {
                return true;
            }
        }
    }

    fn reclaims_when_idle(&mut self, unit: u32) -> bool {
        self.store.collects_when_idle(unit)
    }

    fn pause(&mut self, unit: u32) -> bool {
        self.store.pause(unit)
    }

    fn forget_wear(&mut self) {
        self.store.forget_wear();
    }
}
