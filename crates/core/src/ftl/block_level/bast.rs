//! BAST: block mapping with log blocks, each owned by one logical block.
//!
//! **What it does.** A logical block has a data block, in which each page lies at its own offset,
//! and at most one log block, which takes its writes in the order of arrival. A full log block is
//! *merged* when the next write needs room (or at once: `merge_timing`); when all log blocks are in
//! use and another logical block needs one, a victim is merged first. A log block that holds all
//! offsets in place becomes the data block (*switch*); one that holds a prefix in place is
//! completed from the data block and becomes it (*partial*, optional); else the newest pages of
//! both go to a new block (*full*).
//!
//! **When it wins**: sequential writes, little RAM. **When it loses**: random writes over more
//! blocks than there are logs.
//!
//! Kim, Kim, Noh, Min, Cho: "A space-efficient flash translation layer for `CompactFlash` systems",
//! IEEE Trans. Consumer Electronics 48(2), 2002. Costs of the merges as in Kim & Ahn 2008, section
//! 2.3, and the HBM thesis, 2.2.
//!
//! **Where the papers are silent.** The first write to an erased slot of the data block goes to a
//! log block, as BPLRU says of all writes (`first_write = "direct"` for the other reading). The
//! victim is the log block written longest ago (`victim = "fifo"`: attached longest ago;
//! `"random"`: one drawn). Updating the block map costs nothing, as in the papers. A merge that
//! finds nothing to copy is a switch. What lies in place is told from the newest versions alone: a
//! log block can be completed if those in it are in place, and the slots of all others are still
//! erased in it. Pages never written are neither read nor programmed. A new block is taken from the
//! plane of the old one where there is one. With `"direct"`, each page of a request goes its own
//! way. The erases of a merge come after the host's write, which does not wait for them
//! (`merge_erase = "before"`: it does, as where all that a request causes is added up to its
//! response time). Three erased blocks are needed beside data and log blocks: to merge into, for
//! the new log, and one that stays erased in case power fails. Under `merge_timing = "eager"` a merge
//! that finds no erased block comes before the next write; a switch needs none.
//!
//! **Random victims.** Log blocks have places 0, 1 and so on. One that is attached takes the place
//! that was left last, and as long as none has been left the lowest. The victim is the log block at
//! a place drawn among all, as all are taken: by `Pcg64Mcg` of the crate `rand_pcg`, made by
//! `seed_from_u64`, whose `random_range` (crate `rand`) goes over the places as `u32`. Nothing else
//! is drawn. The writes that fill a drive before the run draw as well; then the log blocks that are
//! left are merged, the one attached first goes first.
//!
//! **Trims.** A trim costs nothing at once. So that trimmed pages do not come back after a power
//! cut, one page, a *tombstone*, speaks of all those of a logical block. A flush writes one to the
//! log block, for one program, of those trimmed and not buried yet when it begins: it takes a page
//! of the log, and one where there is none, but is no write of the host's: it does not make the log
//! one written lately, unless it begins it. To merges, trimmed pages and tombstones outside the log
//! block are something to copy: one tombstone in the place of the first, for one program, until
//! they are written again.
//!
//! Cost of a page write: O(1), but for merges, which visit each page of a block once.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::{
    BlockScheme, Blocks, Folded, MERGE_ERASE, MergeErase, MergeTiming, Placement, Way, log_blocks,
    require,
};
use crate::ftl::context::{Cx, Label, PageOut, Place};
use crate::ftl::{Mapping, Shape};
use crate::metrics::observer::Folding;
use crate::nand::{JoinId, Role};
use crate::support::NONE;
use crate::support::ids::{BlockId, LogicalBlock, Lpn};
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice, Needs};
use crate::upkeep::Upkeep;

/// What `list` says.
pub const ABOUT: About = About {
    title: "BAST",
    summary: "Block mapping with log blocks of one logical block each; switch, partial and full \
        merges.",
    paper: "Kim et al., A space-efficient flash translation layer for CompactFlash systems, IEEE \
        TCE 48(2)",
    year: Some(2002),
    described_in: "Kim and Ahn, section 2.3, and Gong's thesis, section 2.2",
    choices: &[
        Choice {
            option: "victim",
            others: &[r#""fifo""#, r#""random""#],
            open: "which log block goes when all are in use",
        },
        Choice {
            option: "merge_timing",
            others: &[r#""eager""#],
            open: "whether a full log block is merged at once or when the next write comes",
        },
        Choice {
            option: "first_write",
            others: &[r#""direct""#],
            open: "whether the first write to an erased page of a data block needs a log block",
        },
        Choice {
            option: "partial_merge",
            others: &["false"],
            open: "the BPLRU paper knows no partial merges",
        },
        MERGE_ERASE,
    ],
    needs: &[Needs { option: "seed", beside: "victim", values: &[r#""random""#] }],
    source: include_str!("bast.rs"),
    ..About::PLAIN
};

/// Which log block goes when all are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogVictim {
    /// The one written longest ago.
    #[default]
    Lru,
    /// The one attached longest ago.
    Fifo,
    /// Any of them.
    Random,
}

/// Where the first write to a page goes whose slot in the data block is still erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FirstWrite {
    /// To the log block, like every other.
    #[default]
    Log,
    /// Straight to its slot.
    Direct,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Log blocks: their number, or below 1 their share of the exported blocks.
    pub log_blocks: f64,
    /// When a full log block is merged.
    pub merge_timing: MergeTiming,
    /// Which log block goes when all are in use.
    pub victim: LogVictim,
    /// Partial merges are done; without them, what is not a switch is a full merge (BPLRU knows
    /// only those two).
    pub partial_merge: bool,
    /// Where the first write to a page goes whose slot in the data block is still erased.
    pub first_write: FirstWrite,
    /// When the erases that a request causes come: after the host's write, or before it, so that
    /// the request waits for them.
    pub merge_erase: MergeErase,
    /// Seed of the draws of random victims.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            log_blocks: 0.03,
            merge_timing: MergeTiming::Lazy,
            victim: LogVictim::Lru,
            partial_merge: true,
            first_write: FirstWrite::Log,
            merge_erase: MergeErase::After,
            seed: 1,
        }
    }
}

/// Blocks beyond data and log blocks: one to merge into, one for the new log meanwhile, and one
/// that stays erased, in case power fails before the merge's erases have ended.
pub(super) const SPARE: u32 = 3;

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too few blocks, a chip that it cannot work with, or impossible options.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        let logs = log_blocks(self.log_blocks, shape)?;
        let what = format!("{logs} log blocks, {SPARE} to merge into");
        require(Bast::NAME, shape, true, (logs.saturating_add(SPARE), &what))?;
        let data = shape.logical_pages.div_ceil(shape.geometry.pages_per_block);
        Ok(Folded::boxed(shape, Placement::Fixed, self.merge_erase, Bast::new(self, logs, data)))
    }
}

/// A log block.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Log {
    block: BlockId,
    lbn: LogicalBlock,
    /// Next page.
    next: u32,
    label: Label,
}

/// The log blocks, and whose they are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Bast {
    config: Config,
    /// Log of each logical block, as an index into `logs`.
    log_of: Vec<u32>,
    logs: Vec<Log>,
    /// Indices of unused logs.
    unused: Vec<u32>,
    /// Logs in use, the next victim last.
    order: List,
    links: Links,
    /// A full log that is to be merged at once, for which there was no block to take; or [`NONE`].
    /// On a drive that is nearly worn out a later one takes its place, and it waits for its turn.
    due: u32,
    draws: Pcg64Mcg,
}

impl Bast {
    /// So many unused log blocks for so many logical blocks.
    pub(super) fn new(config: &Config, logs: u32, data: u32) -> Self {
        let log =
            Log { block: BlockId::NONE, lbn: LogicalBlock::NONE, next: 0, label: Label::default() };
        Self {
            config: config.clone(),
            log_of: vec![NONE; data as usize],
            logs: vec![log; logs as usize],
            unused: (0..logs).rev().collect(),
            order: List::default(),
            links: Links::new(logs as usize),
            due: NONE,
            draws: Pcg64Mcg::seed_from_u64(config.seed),
        }
    }

    /// Whether `lbn` has a log.
    pub(super) fn has_log(&self, lbn: LogicalBlock) -> bool {
        self.log_of[lbn.index()] != NONE
    }

    /// Merges the log of `lbn`, if it has one; `false` while there is no block to merge into.
    pub(super) fn fold_log(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        lbn: LogicalBlock,
    ) -> bool {
        let index = self.log_of[lbn.index()];
        if index != NONE {
            if !blocks.can_take(cx, 1) {
                return false;
            }
            self.merge(blocks, cx, index);
        }
        true
    }

    /// Blocks that the next write to the log of `lbn` takes at most.
    fn takes(&self, blocks: &Blocks, lbn: LogicalBlock) -> u32 {
        match self.log_of[lbn.index()] {
            NONE if self.unused.is_empty() => 2,
            NONE => 1,
            index if self.logs[index as usize].next < blocks.ppb() => 0,
            _ => 2,
        }
    }

    /// The log of `lbn` with room for a page, or `None` while there is no block to take.
    fn open_log(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, lbn: LogicalBlock) -> Option<u32> {
        let takes = self.takes(blocks, lbn);
        if takes > 0 && !blocks.can_take(cx, takes) {
            return None;
        }
        let index = self.log_of[lbn.index()];
        if index != NONE {
            if self.logs[index as usize].next < blocks.ppb() {
                return Some(index);
            }
            self.merge(blocks, cx, index);
        }
        Some(self.attach(blocks, cx, lbn))
    }

    /// A log for `lbn`; merges another if all are in use.
    fn attach(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, lbn: LogicalBlock) -> u32 {
        if self.unused.is_empty() {
            let victim = match self.config.victim {
                LogVictim::Lru | LogVictim::Fifo => self.order.back(),
                LogVictim::Random => self.draws.random_range(0..self.logs.len() as u32),
            };
            self.merge(blocks, cx, victim);
        }
        let Some(index) = self.unused.pop() else { unreachable!("a merge frees a log") };
        let block = blocks.take(blocks.home(lbn));
        self.logs[index as usize] = Log { block, lbn, next: 0, label: cx.label(Role::Log, lbn) };
        self.log_of[lbn.index()] = index;
        self.order.push_front(&mut self.links, index);
        index
    }

    /// A log block has got so many pages, of the host or a tombstone.
    fn written(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        index: u32,
        pages: u32,
        by_host: bool,
    ) {
        let next = &mut self.logs[index as usize].next;
        *next += pages;
        let full = *next == blocks.ppb();
        if by_host && self.config.victim == LogVictim::Lru {
            self.order.touch(&mut self.links, index);
        }
        if full && self.config.merge_timing == MergeTiming::Eager {
            self.due = index;
            self.catches_up(blocks, cx);
        }
    }

    /// Goes on with what was to be merged at once; `false` while erases that are under way will
    /// make room for it.
    fn catches_up(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>) -> bool {
        if self.due == NONE {
            return true;
        }
        if blocks.can_take(cx, 1) || self.way(blocks, cx, self.due) != Way::Full {
            self.merge(blocks, cx, self.due);
            return true;
        }
        cx.erasing() == 0
    }

    fn way(&self, blocks: &Blocks, cx: &Cx<'_>, index: u32) -> Way {
        let Log { block, lbn, .. } = self.logs[index as usize];
        blocks.way(cx.flash, lbn, block, self.config.partial_merge)
    }

    /// Folds a log block and its data block into one.
    fn merge(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, index: u32) {
        let Log { block, lbn, .. } = self.logs[index as usize];
        let way = self.way(blocks, cx, index);
        if index == self.due {
            self.due = NONE;
        }
        blocks.merge(cx, lbn, &[blocks.data[lbn.index()], block], way, (&[], JoinId::NONE));
        self.log_of[lbn.index()] = NONE;
        self.order.remove(&mut self.links, index);
        self.unused.push(index);
    }
}

impl BlockScheme for Bast {
    fn upkeep(&self, _blocks: &Blocks) -> Upkeep {
        let logs = self.logs.len() as u32;
        Upkeep::OwnLogs { logs, each: 1, width: 1, whole: u32::MAX }
    }

    /// A log block of which half is copied at once is merged for less than a full merge.
    fn padding_pays(&self, blocks: &Blocks, pages: u32) -> bool {
        2 * pages >= blocks.ppb()
    }

    const NAME: &'static str = "bast";

    fn write(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        pages: &[PageOut],
        waits: JoinId,
    ) -> usize {
        if !self.catches_up(blocks, cx) {
            return 0;
        }
        if self.config.first_write == FirstWrite::Direct
            && let Some(count) = blocks.write_direct(cx, pages, waits)
        {
            return count;
        }
        let (lbn, _) = blocks.split(pages[0].lpn);
        let Some(index) = self.open_log(blocks, cx, lbn) else { return 0 };
        let log = &self.logs[index as usize];
        let room = (blocks.ppb() - log.next) as usize;
        let is_next = |out: &&PageOut| {
            let is_direct = self.config.first_write == FirstWrite::Direct
                && blocks.direct(cx.flash, out.lpn, 1) == 1;
            blocks.split(out.lpn).0 == lbn && !is_direct
        };
        // A merge for room may have given the first one a slot in the data block. It stays with its
        // kind.
        let count = 1 + pages[1..].iter().take(room - 1).take_while(is_next).count();
        let at = Place { block: log.block, page: log.next, label: log.label };
        blocks.program(cx, at, &pages[..count], waits);
        self.written(blocks, cx, index, count as u32, true);
        count
    }

    const WRITES_ALONE: bool = true;

    fn write_alone(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, page: PageOut) -> bool {
        let (lbn, _) = blocks.split(page.lpn);
        let index = self.log_of[lbn.index()];
        let Some(log) = self.logs.get_mut(index as usize) else { return false };
        let fills = log.next + 1 == blocks.ppb() && self.config.merge_timing == MergeTiming::Eager;
        let waits = fills || self.due != NONE;
        if log.next >= blocks.ppb() || waits || self.config.first_write == FirstWrite::Direct {
            return false;
        }
        blocks.program_alone(
            cx,
            Place { block: log.block, page: log.next, label: log.label },
            page,
        );
        log.next += 1;
        if self.config.victim == LogVictim::Lru {
            self.order.touch(&mut self.links, index);
        }
        true
    }

    fn folding(&self) -> Folding {
        let Config { merge_timing, victim, partial_merge, .. } = self.config;
        Folding::Logs {
            count: self.logs.len() as u32,
            in_order: merge_timing == MergeTiming::Lazy
                && victim == LogVictim::Lru
                && partial_merge,
        }
    }

    fn write_tombstones(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, pages: &[Lpn]) -> bool {
        if !self.catches_up(blocks, cx) {
            return false;
        }
        let (lbn, _) = blocks.split(pages[0]);
        let Some(index) = self.open_log(blocks, cx, lbn) else { return false };
        let log = &self.logs[index as usize];
        blocks.write_tombstones(
            cx,
            Place { block: log.block, page: log.next, label: log.label },
            pages,
        );
        self.written(blocks, cx, index, 1, false);
        true
    }

    fn merge_all(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>) -> bool {
        while !self.order.is_empty() && blocks.can_fold(cx, true) {
            self.merge(blocks, cx, self.order.back());
        }
        self.order.is_empty()
    }

    fn others(&self) -> Vec<BlockId> {
        self.order.iter(&self.links).map(|index| self.logs[index as usize].block).collect()
    }

    fn describe(&self) -> String {
        format!(
            "{} of {} log blocks are in use, ",
            self.logs.len() - self.unused.len(),
            self.logs.len()
        )
    }

    fn bytes(&self) -> usize {
        self.log_of.len() * 4 + self.logs.len() * size_of::<Log>() + self.links.bytes()
    }
}
