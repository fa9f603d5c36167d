//! S-FTL: two FTLs in one, chained blocks for what is written sequentially and log blocks for the
//! rest.
//!
//! **What it does.** Each write belongs to one of two classes. A buffer that knows the class says
//! so with each eviction (`sftl` does); else more than `threshold` pages of a block that are
//! written together, upwards, are sequential. Every logical block lies in one channel, page by page
//! in its place, and adjacent logical blocks lie on adjacent channels: as many as there are
//! channels make a *chained block*, whose parts are read, written and erased at the same time.
//!
//! - *Sequential* pages go straight to their places in the data block. Where these are written
//!   already, the block is written anew: the pages of the request, and copies of those that it
//!   lacks, go to an erased block, and the old one is erased.
//! - *Random* pages go to log blocks of one logical block each, as under BAST.
//!
//! A block that turns from random to sequential has its log merged into its data block before the
//! new write; one that turns the other way has no log yet.
//!
//! **When it wins**: long requests, which go to all channels without merges, beside short ones.
//! **When it loses**: long requests that overlap blocks only in part, each of which copies the
//! rest; random writes over more blocks than there are log blocks.
//!
//! S.-H. Park et al., "A pattern adaptive NAND flash memory storage structure", IEEE Trans.
//! Computers 61(1), 2012; as told by Kim, Park and Youn 2017 (SUPA), section 3.3.
//!
//! **Where the paper is silent**, as far as it could be read: what is sequential (`threshold`,
//! SUPA's 4 pages), how sequential pages replace older ones (the block is written anew; with
//! `replace = "log"` they go to a log block of their own, which becomes the data block as it is, or
//! once it has been completed, where it was written in order), which log block is merged (`victim`,
//! as under `bast`), and whether a request waits for the erases that it causes (`merge_erase`: it
//! does not). Log blocks make 5 % of the exported ones, as in SUPA. A
//! flush makes trims durable with a tombstone in the log, or in the sequential block, which is
//! written anew for it at once; so does whatever else writes a block with trimmed pages anew or
//! merges it. A block written anew counts as a full merge. After a power cut all blocks are random,
//! without logs.
//!
//! Cost of a page write: O(1), but for merges, which visit each page of a block once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bast::{self, Bast, LogVictim, SPARE};
use super::block::{group, rewrite};
use super::blocks::{
    BlockScheme, Blocks, Folded, MERGE_ERASE, MergeErase, Placement, log_blocks, require,
};
use crate::ftl::context::{Cx, PageOut};
use crate::ftl::{Mapping, Shape};
use crate::metrics::Counters;
use crate::metrics::observer::Folding;
use crate::nand::JoinId;
use crate::pattern::{Access, Hint};
use crate::support::bits::Bits;
use crate::support::ids::{BlockId, LogicalBlock, Lpn};
use crate::support::registry::{About, Choice, Needs};
use crate::upkeep::Upkeep;

/// What `list` says.
pub const ABOUT: About = About {
    title: "S-FTL",
    summary: "Long writes go to chained blocks over all channels, short ones to log blocks in a \
        single channel.",
    paper: "Park et al., A pattern adaptive NAND flash memory storage structure, IEEE TC 61(1)",
    year: Some(2012),
    described_in: "Kim, Park and Youn, SUPA, section 3.3",
    reconstruction: true,
    choices: &[
        Choice {
            option: "threshold",
            others: &["1"],
            open: "how many pages are written together without being sequential",
        },
        Choice {
            option: "replace",
            others: &[r#""log""#],
            open: "how sequential pages replace older ones: a block written anew for each request \
                cannot be within an eighth of SUPA under movie files, as section 6.4.2 has it",
        },
        Choice {
            option: "victim",
            others: &[r#""fifo""#],
            open: "which log block goes when all are in use",
        },
        MERGE_ERASE,
    ],
    needs: &[Needs { option: "seed", beside: "victim", values: &[r#""random""#] }],
    source: include_str!("sftl.rs"),
    ..About::PLAIN
};

/// How sequential pages replace older ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Replace {
    /// The block is written anew, with copies of the pages that the request lacks.
    #[default]
    Rewrite,
    /// They go to a log block, so that only those are copied that no later request has written.
    Log,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// More pages of a block than this written together are sequential, where the buffer does not
    /// say what they are.
    pub threshold: u32,
    /// How sequential pages replace older ones.
    pub replace: Replace,
    /// Log blocks of the random blocks: their number, or below 1 their share of the exported
    /// blocks.
    pub log_blocks: f64,
    /// Which log block goes when all are in use.
    pub victim: LogVictim,
    /// When the erases that a request causes come: after the host's write, or before it, so that
    /// the request waits for them.
    pub merge_erase: MergeErase,
    /// Seed of the draws of random victims.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            threshold: 4,
            replace: Replace::Rewrite,
            log_blocks: 0.05,
            victim: LogVictim::Lru,
            merge_erase: MergeErase::After,
            seed: 1,
        }
    }
}

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too few blocks, a chip that it cannot work with, or impossible options.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        let logs = log_blocks(self.log_blocks, shape)?;
        let what = format!("{logs} log blocks, {SPARE} to merge into");
        require(Sftl::NAME, shape, true, (logs.saturating_add(SPARE), &what))?;
        let data = shape.logical_pages.div_ceil(shape.geometry.pages_per_block);
        let of_logs =
            bast::Config { victim: self.victim, seed: self.seed, ..bast::Config::default() };
        let sftl = Sftl {
            threshold: self.threshold as usize,
            replace: self.replace,
            random: Bast::new(&of_logs, logs, data),
            sequential: Bits::new(data as usize),
            heard: None,
            now: Now { group: u64::MAX, lbn: LogicalBlock::NONE, sequential: false },
        };
        Ok(Folded::boxed(shape, Placement::Fixed, self.merge_erase, sftl))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Sftl {
    threshold: usize,
    replace: Replace,
    /// The log blocks, of random blocks alone unless sequential pages go to some, too.
    random: Bast,
    /// Logical blocks that were written sequentially.
    sequential: Bits,
    /// What came last of what a buffer says, and has not been used.
    heard: Option<Hint>,
    now: Now,
}

/// The pages that are being written together.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Now {
    group: u64,
    lbn: LogicalBlock,
    sequential: bool,
}

impl Sftl {
    /// Whether the next `count` pages of `lbn`, of those written together, belong to the sequential
    /// class.
    fn is_sequential(&mut self, group: u64, lbn: LogicalBlock, count: usize) -> bool {
        let heard = self.heard.take().filter(|hint| hint.block == lbn);
        if let Some(hint) = heard {
            self.now = Now { group, lbn, sequential: hint.pattern.write == Access::Sequential };
        } else if (self.now.group, self.now.lbn) != (group, lbn) {
            self.now = Now { group, lbn, sequential: count > self.threshold };
        }
        self.now.sequential
    }
}

impl BlockScheme for Sftl {
    fn upkeep(&self, blocks: &Blocks) -> Upkeep {
        let Upkeep::OwnLogs { logs, .. } = self.random.upkeep(blocks) else {
            return Upkeep::Unknown;
        };
        let whole = match self.replace {
            Replace::Rewrite => self.threshold as u32 + 1,
            Replace::Log => u32::MAX,
        };
        Upkeep::OwnLogs { logs, each: 1, width: 1, whole }
    }

    /// A log block of which half is copied at once is merged for less than a full merge.
    fn padding_pays(&self, blocks: &Blocks, pages: u32) -> bool {
        2 * pages >= blocks.ppb()
    }

    const NAME: &'static str = "sftl";

    fn write(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        pages: &[PageOut],
        waits: JoinId,
    ) -> usize {
        let (lbn, _) = blocks.split(pages[0].lpn);
        let together = group(blocks, pages);
        let now = self.is_sequential(cx.group, lbn, together.len());
        let before = self.sequential.get(lbn.index());
        // A log has pages of one class.
        if now != before && !self.random.fold_log(blocks, cx, lbn) {
            return 0;
        }
        if !now {
            self.sequential.clear(lbn.index());
            return self.random.write(blocks, cx, pages, waits);
        }
        self.sequential.set(lbn.index());
        if !self.random.has_log(lbn)
            && together.iter().all(|out| blocks.direct(cx.flash, out.lpn, 1) == 1)
        {
            return blocks.write_direct(cx, together, waits).unwrap_or(0);
        }
        if self.replace == Replace::Log {
            return self.random.write(blocks, cx, together, waits);
        }
        if rewrite(blocks, cx, lbn, (together, waits)) { together.len() } else { 0 }
    }

    fn on_hint(&mut self, hint: Hint, clean: bool, _counters: &mut Counters) {
        self.heard = Some(hint).filter(|hint| !clean && hint.pattern.write != Access::Never);
    }

    fn folding(&self) -> Folding {
        self.random.folding()
    }

    fn write_tombstones(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, pages: &[Lpn]) -> bool {
        let (lbn, _) = blocks.split(pages[0]);
        if self.replace == Replace::Rewrite && self.sequential.get(lbn.index()) {
            return rewrite(blocks, cx, lbn, (&[], JoinId::NONE));
        }
        self.random.write_tombstones(blocks, cx, pages)
    }

    fn merge_all(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>) -> bool {
        self.random.merge_all(blocks, cx)
    }

    fn others(&self) -> Vec<BlockId> {
        self.random.others()
    }

    fn describe(&self) -> String {
        self.random.describe()
    }

    fn bytes(&self) -> usize {
        self.random.bytes() + self.sequential.bytes()
    }
}
