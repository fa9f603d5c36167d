//! MNK: hybrid mapping with three numbers: how far blocks are striped, and how many data and log
//! blocks belong together.
//!
//! **What it does.** `striping` adjacent logical blocks (M) make a *clustered block*: page `p` of
//! it lies on its flash block `p mod M`, and these come from different units. `group_blocks`
//! adjacent clustered blocks (N) make a group, which has up to `group_logs` clustered log blocks
//! (K), striped in the same way; in each of its flash blocks pages lie in the order of arrival. All
//! groups together have up to `log_blocks` of them. When the flash block of the newest log that
//! should take a page is full,
//!
//! 1. a group that has K log blocks merges its oldest one;
//! 2. if all log blocks are in use, a victim is merged first, whosever it is;
//! 3. then the group gets an erased one.
//!
//! Merging a log block of a group with one clustered block (N = 1) folds that block and all its
//! logs into one: the newest log becomes the data block where it can (*switch*, or *partial* after
//! the rest has been copied into it), else all is copied (*full*). With N above 1 logs are shared
//! and merges are full: each clustered block with a page in the victim that is still the newest is
//! copied to erased blocks. With A of them a merge costs `A * M * pages of a block` reads and
//! programs and `(A + 1) * M` erases, less what was never written, on M units at once.
//!
//! *Recycling*: a log block, but for the newest of its group, whose pages have all been written
//! again is erased without a merge. *Load balancing* (`balance`): while the mean erases per block
//! of two units differ by more than that, new blocks come from the unit worn least.
//!
//! With M = N = K = 1 this is BAST; with M = 1, one group of all blocks and K the number of log
//! blocks it is the random area of FAST, but for the page for which a log is merged: it is copied,
//! too.
//!
//! **When it wins**: large requests, which are read and written on M units at once, and one choice
//! of N and K for each kind of workload. **When it loses**: small random writes: with a large M
//! each merge copies M blocks for them.
//!
//! G. Shim, S. K. Park and K. H. Park, "MNK: configurable hybrid flash translation layer for
//! multi-channel SSD", IEEE CSE 2012; the mapping under CAVE and under both policies of SUPA.
//!
//! **Where the paper is silent**, as far as it could be read: which log block is merged (`victim`),
//! whether an incomplete log in order is completed in place (`partial_merge`), what recycling does
//! exactly (`recycling`), when load is balanced (`balance`), and whether a request waits for the
//! erases of the merges that it causes (`merge_erase`: it does not). By default the blocks are
//! striped over the channels, a group has one data block and two log blocks, and log blocks make 5
//! % of the exported ones, as in Kim, Park and Youn 2017 (SUPA). The last clustered block is
//! narrower where M does not divide the logical blocks. With N = 1 all flash blocks of a clustered
//! block are merged in the same way: in full where one of them needs that, else completed where one
//! lacks something. Whether a log can be completed, and for how much, is told as in BAST. A flash
//! block that was never written takes no part, and a log's that was never programmed is not erased.
//! Merges are counted for each flash block.
//!
//! **Trims.** A trim costs nothing at once. So that trimmed pages do not come back after a power
//! cut, one page, a *tombstone*, speaks of all those of a flash block of data. A flush writes it to
//! the log, for one program, where pages have been trimmed and not buried yet; it is no write of
//! the host's, and does not make the log one written lately, unless it begins it. A log holds a
//! trimmed page, or a tombstone, until the page is written again or buried elsewhere, and is not
//! recycled before. Merges leave one tombstone for each flash block with trimmed pages, in the
//! place of the first.
//!
//! Cost of a page write: O(1), but for merges, which visit each page of a clustered block once; a
//! shared log takes as many as it holds clustered blocks.

mod logs;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::{
    BlockScheme, Blocks, Columns, Folded, MERGE_ERASE, MergeErase, Placement, Way, log_blocks,
    require, striping,
};
use crate::ftl::context::{Cx, PageOut, Place};
use crate::ftl::{Mapping, Shape};
use crate::nand::{Cause, JoinId};
use crate::pattern::{Pattern, Route};
use crate::support::ids::{BlockId, LogicalBlock, Lpn, PlaneId};
use crate::support::registry::{About, Choice};
use crate::upkeep::Upkeep;
use logs::{Entry, Log, Logs};

/// What `list` says.
pub const ABOUT: About = About {
    title: "MNK",
    summary: "Blocks striped over M units, N of them with K log blocks; BAST, FAST's random area \
        and more by three numbers.",
    paper: "Shim et al., MNK: configurable hybrid flash translation layer for multi-channel SSD, \
        IEEE CSE",
    year: Some(2012),
    described_in: "Kim, Park and Youn, SUPA, section 3.2",
    reconstruction: true,
    choices: &[
        Choice {
            option: "striping",
            others: &["1"],
            open: "over how many units a block is striped",
        },
        Choice {
            option: "group_blocks",
            others: &["2", "8"],
            open: "how many data blocks share their log blocks",
        },
        Choice {
            option: "group_logs",
            others: &["1"],
            open: "how many log blocks a group may have",
        },
        Choice {
            option: "victim",
            others: &[r#""fifo""#],
            open: "which log goes when all are in use",
        },
        Choice {
            option: "partial_merge",
            others: &["false"],
            open: "whether a log in order is completed in place",
        },
        Choice {
            option: "recycling",
            others: &["false"],
            open: "whether a log that holds nothing any more is erased at once",
        },
        MERGE_ERASE,
    ],
    source: include_str!("mod.rs"),
    ..About::PLAIN
};

/// Which log goes when all are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogVictim {
    /// The one written longest ago.
    #[default]
    Lru,
    /// The one attached longest ago.
    Fifo,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// M: flash blocks that a clustered block is striped over; by default as many as there are
    /// channels.
    pub striping: Option<u32>,
    /// N: clustered data blocks of a group.
    pub group_blocks: u32,
    /// K: clustered log blocks of a group at most.
    pub group_logs: u32,
    /// Log blocks of all groups: the number of clustered ones, or below 1 their share of the
    /// exported blocks.
    pub log_blocks: f64,
    /// Which log goes when all are in use.
    pub victim: LogVictim,
    /// A log in order is completed in place; without this, what is not a switch is a full merge.
    pub partial_merge: bool,
    /// When the erases that a request causes come: after the host's write, or before it, so that
    /// the request waits for them.
    pub merge_erase: MergeErase,
    /// A log block, but for the newest of its group, that holds nothing any more is erased at once.
    pub recycling: bool,
    /// New blocks come from the unit worn least while mean erases per block of two units differ by
    /// more than this.
    pub balance: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            striping: None,
            group_blocks: 1,
            group_logs: 2,
            log_blocks: 0.05,
            victim: LogVictim::Lru,
            partial_merge: true,
            merge_erase: MergeErase::After,
            recycling: true,
            balance: None,
        }
    }
}

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too few blocks, a chip that it cannot work with, or impossible options.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        let g = shape.geometry;
        let width = striping(self.striping, g)?;
        for (option, found) in
            [("group_blocks", self.group_blocks), ("group_logs", self.group_logs)]
        {
            if found == 0 {
                return Err(format!("ftl.mapping.{option}: found 0, expected at least 1"));
            }
        }
        let asked = log_blocks(self.log_blocks, shape)?;
        let most = if self.log_blocks < 1.0 { (asked / width).max(1) } else { asked };
        // One clustered block to merge into, one for the new log meanwhile, and a block that stays
        // erased, in case power fails before the merge's erases have ended.
        let (logs, spare) = (most.saturating_mul(width), 2 * width + 1);
        let what = format!("{most} log blocks of {width} each, {spare} to merge into");
        require(Mnk::NAME, shape, true, (logs.saturating_add(spare), &what))?;
        let data = shape.logical_pages.div_ceil(g.pages_per_block);
        let mut blocks = Blocks::new(g, data, Placement::Fixed, width);
        blocks.balance_wear(self.balance);
        let groups = data.div_ceil(width).div_ceil(self.group_blocks);
        let logs = Logs::new(groups, most, g.blocks());
        let mnk = Mnk { config: self.clone(), width, logs, scratch: Scratch::default() };
        Ok(Folded::on(blocks, self.merge_erase, mnk))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Mnk {
    config: Config,
    /// M.
    width: u32,
    logs: Logs,
    #[serde(skip)]
    scratch: Scratch,
}

/// What is put together for one write or merge, kept for its memory.
#[derive(Debug, Clone, Default)]
struct Scratch {
    columns: Columns,
    /// Logs that are merged, and the blocks of one column.
    merged: Vec<Log>,
    own: Vec<BlockId>,
}

impl Mnk {
    fn group_of(&self, lbn: LogicalBlock) -> u32 {
        lbn.0 / self.width / self.config.group_blocks
    }

    /// Whether the logs of a group hold pages of several clustered blocks.
    fn shares(&self) -> bool {
        self.config.group_blocks > 1
    }

    /// The log that takes the next page of `lbn`, or `None` while there are too few blocks.
    fn open(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, lbn: LogicalBlock) -> Option<u32> {
        let (group, column) = (self.group_of(lbn), lbn.0 % self.width);
        let newest = self.logs.newest(group);
        if let Some(log) = newest
            && self.logs.room(log, column, blocks.ppb()) > 0
        {
            return Some(log);
        }
        let own = self.logs.of(group).len() as u32 == self.config.group_logs;
        let victim = if own { self.logs.of(group).front().copied() } else { self.logs.victim() };
        if let Some(victim) = victim
            && !self.merge(blocks, cx, victim, self.width)
        {
            return None;
        }
        // What has been merged for this group may have left its newest log with room.
        if !blocks.can_take(cx, self.width) {
            return None;
        }
        // The first clustered block of a group is as wide as any.
        let first = LogicalBlock(group * self.config.group_blocks * self.width);
        let (first, width) = blocks.striping.cluster(first);
        let shared = self.shares();
        let columns =
            first.run(width).map(|lbn| (lbn, if shared { LogicalBlock::NONE } else { lbn }));
        Some(self.logs.attach(blocks, cx, group, columns))
    }

    /// Merges a log, with `more` blocks to be taken afterwards; `false` while there are too few.
    fn merge(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, log: u32, more: u32) -> bool {
        if self.shares() {
            return self.empty(blocks, cx, log, false);
        }
        let can = blocks.can_take(cx, self.width + more);
        if can {
            self.fold_own(blocks, cx, log);
        }
        can
    }

    /// Folds the clustered block that a log belongs to, with all its logs, into one.
    fn fold_own(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, log: u32) {
        let group = self.logs.group(log);
        let mut merged = std::mem::take(&mut self.scratch.merged);
        let mut own = std::mem::take(&mut self.scratch.own);
        let logs = &mut merged;
        self.logs.release_all(group, logs);
        let (first, width) = blocks.striping.cluster(LogicalBlock(group * self.width));
        let newest =
            |column: u32| logs.last().map_or(BlockId::NONE, |log| log.blocks[column as usize]);
        let partial = self.config.partial_merge;
        let way = (0..width).map(|j| blocks.way(cx.flash, first + j, newest(j), partial));
        let way = way.fold(Way::Switch, |all, one| match (all, one) {
            (Way::Full, _) | (_, Way::Full) => Way::Full,
            (Way::Switch, Way::Switch) => Way::Switch,
            _ => Way::Partial,
        });
        for column in 0..width {
            let data = blocks.data[(first + column).index()];
            let taken = logs.iter().map(|log| log.blocks[column as usize]);
            let is_blank = |block| cx.flash.write_ptr(block) == 0;
            let blank = data.is_none() && taken.clone().all(is_blank);
            own.clear();
            own.push(data);
            for (at, block) in taken.enumerate() {
                let becomes_data = !blank && way != Way::Full && at + 1 == logs.len();
                if becomes_data || cx.flash.write_ptr(block) > 0 {
                    own.push(block);
                } else {
                    blocks.give_back(block);
                }
            }
            if !blank {
                blocks.merge(cx, first + column, &own, way, (&[], JoinId::NONE));
            }
        }
        self.logs.put_back(&mut merged);
        (self.scratch.merged, self.scratch.own) = (merged, own);
    }

    /// Empties and erases a log that clustered blocks share; `false` while there are too few
    /// blocks, then it goes on from there the next time.
    fn empty(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, log: u32, at_last: bool) -> bool {
        while let Some(lbn) = self.logs.next_in(blocks, log) {
            let (first, width) = blocks.striping.cluster(lbn);
            let can =
                if at_last { blocks.pool.total() >= width } else { blocks.can_take(cx, width) };
            if !can {
                return false;
            }
            for lbn in first.run(width) {
                let pages = lbn.range(blocks.ppb());
                if blocks.words(pages.clone()).next().is_none() {
                    continue;
                }
                self.logs.forget(blocks, pages);
                blocks.merge(cx, lbn, &[blocks.data[lbn.index()]], Way::Full, (&[], JoinId::NONE));
            }
        }
        // Whatever took over its pages holds the erase back.
        self.logs.release(blocks, cx, log);
        self.recycle(blocks, cx);
        true
    }

    /// Erases what holds nothing any more.
    fn recycle(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>) {
        while let Some(log) = self.logs.stale(self.config.recycling) {
            self.logs.release(blocks, cx, log);
        }
    }
}

impl BlockScheme for Mnk {
    fn upkeep(&self, _blocks: &Blocks) -> Upkeep {
        let each = self.config.group_logs;
        let logs = self.logs.most() * self.width;
        Upkeep::OwnLogs { logs, each, width: self.width, whole: u32::MAX }
    }

    /// A log block of which half is copied at once is merged for less than a full merge.
    fn padding_pays(&self, blocks: &Blocks, pages: u32) -> bool {
        2 * pages >= blocks.ppb()
    }

    const NAME: &'static str = "mnk";

    fn write(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        pages: &[PageOut],
        waits: JoinId,
    ) -> usize {
        let ppb = blocks.ppb();
        let (lbn, _) = blocks.split(pages[0].lpn);
        let Some(log) = self.open(blocks, cx, lbn) else { return 0 };
        let group = self.group_of(lbn);
        let mut columns = std::mem::take(&mut self.scratch.columns);
        columns.begin(self.width);
        let mut count = 0;
        for out in pages {
            let lbn = blocks.split(out.lpn).0;
            let column = columns.of(lbn.0 % self.width);
            if self.group_of(lbn) != group
                || column.len() as u32 == self.logs.room(log, lbn.0 % self.width, ppb)
            {
                break;
            }
            column.push(*out);
            count += 1;
        }
        for (column, pages) in columns.written() {
            for out in pages {
                self.logs.forget(blocks, out.lpn..out.lpn + 1);
            }
            let at = self.logs.append(log, column, pages.iter().map(|out| Entry::Page(out.lpn)));
            blocks.program(cx, at, pages, waits);
            self.logs.holds(log, pages.len() as u32);
        }
        self.scratch.columns = columns;
        if self.config.victim == LogVictim::Lru {
            self.logs.touch(log);
        }
        self.recycle(blocks, cx);
        count
    }

    fn unit_of_block(&self, blocks: &Blocks, block: LogicalBlock) -> Option<PlaneId> {
        (self.width == 1).then(|| blocks.home(block))
    }

    fn route(&self, blocks: &Blocks, _block: LogicalBlock, _pattern: Pattern) -> Option<Route> {
        (self.width > 1 && self.width >= blocks.geometry.channels).then_some(Route::Striped)
    }

    fn write_tombstones(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, pages: &[Lpn]) -> bool {
        let (lbn, _) = blocks.split(pages[0]);
        let Some(log) = self.open(blocks, cx, lbn) else { return false };
        for &page in pages {
            self.logs.forget(blocks, page..page + 1);
        }
        let at: Place = self.logs.append(log, lbn.0 % self.width, [Entry::Tombstone(lbn)]);
        blocks.write_tombstones(cx, at, pages);
        self.logs.holds(log, pages.len() as u32);
        self.recycle(blocks, cx);
        true
    }

    fn merge_all(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>) -> bool {
        while let Some(log) = self.logs.last() {
            if self.shares() {
                if !self.empty(blocks, cx, log, true) {
                    return false;
                }
            } else if blocks.pool.total() >= self.width {
                self.fold_own(blocks, cx, log);
            } else {
                return false;
            }
        }
        true
    }

    fn others(&self) -> Vec<BlockId> {
        self.logs.blocks()
    }

    fn describe(&self) -> String {
        self.logs.describe()
    }

    fn bytes(&self) -> usize {
        self.logs.bytes()
    }
}

/// What erases of logs are counted as.
const CAUSE: Cause = Cause::Merge;
