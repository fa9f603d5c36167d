//! FAST: block mapping with log blocks that all logical blocks share.
//!
//! **What it does.** The first write to a page goes straight to its slot in the data block. Other
//! writes go to log blocks: one *sequential* log block (SW), which belongs to one logical block at
//! a time and holds a run of its pages from offset 0 on, each in place, and a list of *random* log
//! blocks (RW), in which pages of any logical block lie in the order of arrival.
//!
//! 1. A page at offset 0 begins a run: the run before it is finished, and an erased block becomes
//!    SW. Finishing makes SW the data block, as it is when it is full (*switch*), else after the
//!    rest has been copied into it (*partial*).
//! 2. A page of the logical block that owns SW goes there if it is the next of the run. If not, the
//!    run is broken, and folded into a data block together with the page: into SW itself where the
//!    page comes after the run (partial), into an erased block where the run has it already
//!    (*full*). SW is then empty.
//! 3. Every other page goes to the newest RW block; the version of it that lies in one is out of
//!    date from then on. When all are full, the oldest is the victim: each logical block with a
//!    page in it that is still the newest is folded into an erased block, from wherever its newest
//!    pages are, and the victim is erased. If that logical block owns SW, its run is finished
//!    instead. The page for which there is to be room does not count: it is about to be replaced,
//!    and the victim is erased when it has been. (It counts while its tombstone lies there.)
//!
//! **When it wins**: small random writes with locality: log blocks are filled before they go, and
//! pages written again meanwhile cost nothing. **When it loses**: random writes over a large range:
//! a victim may hold pages of as many logical blocks as it has pages, and each costs a full merge.
//!
//! S.-W. Lee, D.-J. Park, T.-S. Chung, D.-H. Lee, S. Park and H.-J. Song, "A log buffer-based flash
//! translation layer using fully-associative sector translation", ACM Trans. Embedded Computing
//! Systems 6(3), 2007. The paper itself could not be read; the rules are those of the FAST in
//! Pennsylvania State University's `FlashSim`.
//!
//! **Where the paper is silent.** Whether a page that breaks a run is folded in (as in that
//! simulator) or goes to RW after the run has been finished (`broken_run = "log"`). Whether what is
//! not a switch may be completed in place (`partial_merge`; without it, the other public
//! simulator's full copy). Whether full log blocks wait for the next write that needs room
//! (`merge_timing`). Whether a request waits for the erases of the merges that it causes
//! (`merge_erase`: it does not). Merges that find no erased block go on when an erase has ended, or
//! under `merge_timing = "eager"` before the next write, and a page that waits for one goes to RW
//! though it may have got a free slot in its data block meanwhile: where pages lie does not depend
//! on how long erases take. A victim that holds the last word on the page which needs room, be
//! it trimmed or not, stays until that is written: where no erased block can be taken yet, the
//! write waits for an erase. RW blocks are taken from the units in turn. On chips that program
//! upwards only, a slot below the data block's last page counts as taken. A run with nothing to
//! copy finishes as a switch, and one with a trimmed page whose tombstone lies elsewhere as a full
//! merge.
//!
//! **Trims.** A trim costs nothing at once. So that trimmed pages do not come back after a power
//! cut, one page, a *tombstone*, speaks of all those of a logical block. A flush writes it to RW,
//! for one program, where pages have been trimmed and not buried yet. A victim with a trimmed page
//! or a tombstone that still counts folds its logical block, and what is folded has one tombstone
//! in the place of the first trimmed page, until they are written again.
//!
//! Cost of a page write: O(1), but for merges, which visit each page of a block once; a victim
//! takes as many as it holds logical blocks.

mod merge;

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::{
    BlockScheme, Blocks, Folded, MERGE_ERASE, MergeErase, MergeTiming, Placement, log_blocks,
    require,
};
use crate::ftl::context::{Cx, Label, PageOut, Place};
use crate::ftl::{Mapping, Shape};
use crate::nand::{Cause, JoinId, Role};
use crate::support::ids::{BlockId, LogicalBlock, Lpn, PlaneId};
use crate::support::registry::{About, Choice};
use crate::support::roomy::Roomy;
use crate::upkeep::Upkeep;

/// What `list` says.
pub const ABOUT: About = About {
    title: "FAST",
    summary: "Block mapping with log blocks that all logical blocks share, and one for a \
        sequential run.",
    paper: "Lee et al., A log buffer-based flash translation layer using fully-associative sector \
        translation, ACM TECS 6(3)",
    year: Some(2007),
    described_in: "Pennsylvania State University's FlashSim",
    choices: &[
        Choice {
            option: "broken_run",
            others: &[r#""log""#],
            open: "where a page goes that breaks the run in the sequential log block",
        },
        Choice {
            option: "partial_merge",
            others: &["false"],
            open: "whether an unfinished run is completed in place or copied to a new block",
        },
        Choice {
            option: "merge_timing",
            others: &[r#""eager""#],
            open: "whether full log blocks are merged at once or when the next write comes",
        },
        MERGE_ERASE,
    ],
    source: include_str!("mod.rs"),
    ..About::PLAIN
};

/// Where a page goes that breaks the run in the sequential log block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BrokenRun {
    /// Into the data block that the run is folded into.
    #[default]
    Fold,
    /// To the random log blocks, after the run has been folded.
    Log,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Random log blocks, beside the sequential one: their number, or below 1 their share of the
    /// exported blocks.
    pub log_blocks: f64,
    /// Where a page goes that breaks the run in the sequential log block.
    pub broken_run: BrokenRun,
    /// The sequential log block is completed in place; without this, what is not a switch is a full
    /// merge.
    pub partial_merge: bool,
    /// When a full sequential log block, or the oldest of the random ones when all are full, is
    /// merged.
    pub merge_timing: MergeTiming,
    /// When the erases that a request causes come: after the host's write, or before it, so that
    /// the request waits for them.
    pub merge_erase: MergeErase,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            log_blocks: 0.03,
            broken_run: BrokenRun::Fold,
            partial_merge: true,
            merge_timing: MergeTiming::Lazy,
            merge_erase: MergeErase::After,
        }
    }
}

/// Blocks beyond data and log blocks: one to merge into, and one that stays erased, in case power
/// fails before a merge's erases have ended.
const SPARE: u32 = 2;

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too few blocks, a chip that it cannot work with, or impossible options.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        let most = log_blocks(self.log_blocks, shape)?;
        let what = format!("{most} + 1 log blocks, {SPARE} to merge into");
        require(Fast::NAME, shape, true, (most.saturating_add(1 + SPARE), &what))?;
        let fast = Fast {
            config: self.clone(),
            most,
            random: VecDeque::new(),
            leaving: BlockId::NONE,
            turn: PlaneId(0),
            sequential: None,
            bound: Lpn::NONE,
            untidy: false,
        };
        Ok(Folded::boxed(shape, Placement::Fixed, self.merge_erase, fast))
    }
}

/// The sequential log block.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Sequential {
    block: BlockId,
    lbn: LogicalBlock,
    /// Offset that goes on with the run.
    next: u32,
    label: Label,
}

/// What a page of a random log block was written as.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Entry {
    /// This logical page.
    Page(Lpn),
    /// A tombstone for pages of this logical block.
    Tombstone(LogicalBlock),
}

/// A random log block.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Random {
    block: BlockId,
    label: Label,
    entries: Roomy<Entry>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Fast {
    config: Config,
    /// Random log blocks at most.
    most: u32,
    /// The oldest first.
    random: VecDeque<Random>,
    /// One that is erased when the page for which it makes room is written: nothing else in it is
    /// the newest. Or [`BlockId::NONE`].
    leaving: BlockId,
    /// Unit that the next random log block is taken from.
    turn: PlaneId,
    sequential: Option<Sequential>,
    /// Page that goes to the random log blocks once there is room, or [`Lpn::NONE`]: what is merged
    /// meanwhile may give it a slot in its data block.
    bound: Lpn,
    /// Something full is to be merged at once, and there was no block to take.
    untidy: bool,
}

impl Fast {
    /// Pages of the batch, from the first on, that follow one another in one logical block and are
    /// not the first in their slots.
    fn run(blocks: &Blocks, cx: &Cx<'_>, pages: &[PageOut]) -> usize {
        let ppb = blocks.ppb();
        let (_, offset) = blocks.split(pages[0].lpn);
        let next = pages.iter().zip(pages[0].lpn.onwards()).take((ppb - offset) as usize);
        next.take_while(|(out, lpn)| out.lpn == *lpn && blocks.direct(cx.flash, *lpn, 1) == 0)
            .count()
    }

    /// Offset 0: begins a run.
    fn begin(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        pages: &[PageOut],
        waits: JoinId,
    ) -> usize {
        if !self.finish(blocks, cx, false) || !blocks.can_take(cx, 1) {
            return 0;
        }
        let (lbn, _) = blocks.split(pages[0].lpn);
        let block = blocks.take(blocks.home(lbn));
        let label = cx.label(Role::Log, lbn);
        self.sequential = Some(Sequential { block, lbn, next: 0, label });
        self.go_on(blocks, cx, pages, waits)
    }

    /// Goes on with the run.
    fn go_on(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        pages: &[PageOut],
        waits: JoinId,
    ) -> usize {
        let count = Self::run(blocks, cx, pages);
        let Some(run) = &mut self.sequential else { return 0 };
        blocks.program(
            cx,
            Place { block: run.block, page: run.next, label: run.label },
            &pages[..count],
            waits,
        );
        run.next += count as u32;
        count
    }

    /// The random log block that takes the next page, if there is one or can be; it is logical page
    /// `coming`, or [`Lpn::NONE`].
    fn open(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, coming: Lpn) -> Option<&mut Random> {
        let ppb = blocks.ppb() as usize;
        if self.random.back().is_none_or(|log| log.entries.len() == ppb) {
            if self.random.len() as u32 == self.most && !self.reclaim(blocks, cx, coming, false) {
                return None;
            }
            if !blocks.can_take(cx, 1) {
                return None;
            }
            let block = blocks.take(self.turn);
            self.turn = blocks.geometry.unit_in_turn(self.turn.0 + 1);
            let label = cx.label(Role::Log, LogicalBlock::NONE);
            self.random.push_back(Random { block, label, entries: Roomy::with_capacity(ppb) });
        }
        self.random.back_mut()
    }

    /// Merges what is full; `false` while there is no block to take, then it goes on from there the
    /// next time.
    fn tidy(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>) -> bool {
        let is_run_full = self.sequential.is_some_and(|run| run.next == blocks.ppb());
        if is_run_full && !self.finish(blocks, cx, false) {
            return false;
        }
        let full = self.random.back().is_some_and(|log| log.entries.len() == blocks.ppb() as usize);
        !full
            || (self.random.len() as u32) < self.most
            || self.reclaim(blocks, cx, Lpn::NONE, false)
    }

    /// What was written may have made something full.
    fn has_written(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>) {
        self.untidy = self.config.merge_timing == MergeTiming::Eager && !self.tidy(blocks, cx);
    }

    /// Goes on with what was to be merged at once; `false` while erases that are under way will
    /// make room for it.
    fn catches_up(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>) -> bool {
        self.untidy = self.untidy && !self.tidy(blocks, cx);
        !self.untidy || cx.erasing() == 0
    }

    /// Appends pages to the random log blocks.
    fn append(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        pages: &[PageOut],
        waits: JoinId,
    ) -> usize {
        let ppb = blocks.ppb() as usize;
        let sequential_block = self.sequential.map_or(LogicalBlock::NONE, |run| run.lbn);
        let Some(log) = self.open(blocks, cx, pages[0].lpn) else {
            self.bound = pages[0].lpn;
            return 0;
        };
        // What was merged for room may have emptied the sequential log block; that changes nothing
        // for these pages.
        let is_random = |out: &&PageOut| {
            let (lbn, offset) = blocks.split(out.lpn);
            offset != 0 && lbn != sequential_block && blocks.direct(cx.flash, out.lpn, 1) == 0
        };
        let more =
            pages[1..].iter().take(ppb - log.entries.len() - 1).take_while(is_random).count();
        let written = &pages[..=more];
        let at = Place { block: log.block, page: log.entries.len() as u32, label: log.label };
        log.entries.extend(written.iter().map(|out| Entry::Page(out.lpn)));
        blocks.program(cx, at, written, waits);
        if self.leaving != BlockId::NONE {
            // The page's new version holds the erase back.
            blocks.erase(
                cx,
                std::mem::replace(&mut self.leaving, BlockId::NONE),
                Cause::Merge,
                JoinId::NONE,
            );
        }
        written.len()
    }
}

impl BlockScheme for Fast {
    fn upkeep(&self, _blocks: &Blocks) -> Upkeep {
        Upkeep::SharedLogs { logs: self.most }
    }

    /// A log block of which half is copied at once is merged for less than a full merge.
    fn padding_pays(&self, blocks: &Blocks, pages: u32) -> bool {
        2 * pages >= blocks.ppb()
    }

    const NAME: &'static str = "fast";

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
        let is_bound = std::mem::replace(&mut self.bound, Lpn::NONE) == pages[0].lpn;
        if !is_bound && let Some(count) = blocks.write_direct(cx, pages, waits) {
            return count;
        }
        let (lbn, offset) = blocks.split(pages[0].lpn);
        let run = self.sequential.filter(|run| run.lbn == lbn);
        let count = match run {
            _ if is_bound => self.append(blocks, cx, pages, waits),
            _ if offset == 0 => self.begin(blocks, cx, pages, waits),
            Some(run) if run.next == offset => self.go_on(blocks, cx, pages, waits),
            Some(run) if self.config.broken_run == BrokenRun::Fold => {
                usize::from(self.fold_in(blocks, cx, run, (&pages[..1], waits)))
            }
            Some(_) if !self.finish(blocks, cx, false) => 0,
            _ => self.append(blocks, cx, pages, waits),
        };
        if count > 0 {
            self.has_written(blocks, cx);
        }
        count
    }

    const WRITES_ALONE: bool = true;

    /// To the random log block that is open, if it has room.
    fn write_alone(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, page: PageOut) -> bool {
        let (lbn, offset) = blocks.split(page.lpn);
        let is_random = offset != 0
            && self.sequential.is_none_or(|run| run.lbn != lbn)
            && self.config.merge_timing == MergeTiming::Lazy
            && self.leaving.is_none()
            && blocks.direct(cx.flash, page.lpn, 1) == 0;
        let Some(log) = self.random.back_mut().filter(|_| is_random) else { return false };
        if log.entries.len() as u32 == blocks.ppb() {
            return false;
        }
        let at = Place { block: log.block, page: log.entries.len() as u32, label: log.label };
        log.entries.push(Entry::Page(page.lpn));
        blocks.program_alone(cx, at, page);
        true
    }

    fn write_tombstones(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, pages: &[Lpn]) -> bool {
        if !self.catches_up(blocks, cx) {
            return false;
        }
        let (lbn, _) = blocks.split(pages[0]);
        let Some(log) = self.open(blocks, cx, Lpn::NONE) else { return false };
        let at = Place { block: log.block, page: log.entries.len() as u32, label: log.label };
        log.entries.push(Entry::Tombstone(lbn));
        blocks.write_tombstones(cx, at, pages);
        self.has_written(blocks, cx);
        true
    }

    fn merge_all(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>) -> bool {
        while !self.random.is_empty() && self.reclaim(blocks, cx, Lpn::NONE, true) {}
        self.finish(blocks, cx, true) && self.random.is_empty()
    }

    fn others(&self) -> Vec<BlockId> {
        let random = self.random.iter().map(|log| log.block);
        random.chain(self.sequential.map(|run| run.block)).collect()
    }

    fn describe(&self) -> String {
        format!("{} of {} random log blocks are in use, ", self.random.len(), self.most)
    }

    fn bytes(&self) -> usize {
        self.random.iter().map(|log| log.entries.capacity() * size_of::<Entry>()).sum()
    }
}
