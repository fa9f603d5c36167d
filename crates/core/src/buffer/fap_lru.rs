//! FAP-LRU: LRU under an FTL that keeps each block in one channel; the buffer sees to it that all
//! channels work.
//!
//! **What it does.** Blocks in the order of their last write. When there is no room, the list is
//! followed from its end, and for every channel that has nothing to do the first block that goes
//! there leaves; they leave at the same moment. Blocks for busy channels are passed over. If all
//! channels are busy, or nothing within `window` blocks of the end is for an idle one, the block at
//! the end leaves. So a log-block FTL never has pages of a block alive in several channels, and
//! need not care for parallel work.
//!
//! **When it wins**: bursts of random writes on a drive with several channels and a log-block FTL.
//! **When it loses**: when requests come one at a time and all channels are idle: then each round
//! takes a block for every channel, and hits are lost.
//!
//! J.-H. Wang, H.-H. Chen, W.-J. Su and D.-W. Chang, "Cross-layer optimizations in solid-state
//! drives", IEEE Embedded Systems Letters 3(4), 2011; known from its abstract. A reconstruction.
//!
//! **Where the paper is silent.** The abstract says only who is responsible for what; the rounds
//! are our reading. Whether the buffer serves reads, too (`reads`): with `"allocate"` they move
//! blocks to the front as writes do, a clean block at the end leaves alone, and clean blocks are no
//! victims of a round. The channel of a block is where the FTL would write it; a block that was
//! never written takes the idle channel with the most erased blocks. `window` is 8 blocks for each
//! channel. `modules` deals blocks out by number, whatever the FTL does, and takes them all for
//! idle, as a run without time does. The block at the end that leaves as none is for an idle
//! channel is sent to no channel. Room is made before the used block moves to the front. FTLs that
//! tell access patterns apart (`pattern`, `sftl`, `blas` with `sequential`) hear that every block
//! was written at random, however it was: the abstract says nothing of patterns.
//!
//! Cost of a page access: O(1); of a round O(window), O(units of the drive) for each block that was
//! never written, and O(pages) that leave.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::block_lru::{BlockLru, LEAST_RECENT};
use super::kit::blocks::{Directory, ReadPolicy};
use super::kit::modules::{Modules, Per};
use super::kit::parallel::{Kept, Parallel, Pick, RANDOM, Ranked, Victim, from_end};
use super::{Buffer, Reason, Shape, View};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "FAP-LRU",
    summary: "Block LRU that lets a block leave for every channel that has nothing to do.",
    paper: "Wang, Chen, Su and Chang, Cross-layer optimizations in solid-state drives, IEEE ESL \
        3(4)",
    year: Some(2011),
    reconstruction: true,
    choices: &[
        Choice {
            option: "reads",
            others: &[r#""allocate""#],
            open: "whether pages that are read are taken in",
        },
        Choice {
            option: "window",
            others: &["4"],
            open: "how far from the end victims are looked for",
        },
    ],
    examples: &[Example {
        source: "",
        shows: "Blocks 0, 2 and 1 on channels 0, 0 and 1, both idle: blocks 0 and 1 leave together \
            when block 3 needs room. Block 2 stays, as its channel has got block 0.",
        capacity: 3,
        pages_per_block: 4,
        options: r#"{"modules": 2}"#,
        requests: "W 0, W 8, W 4, W 12",
    }],
    source: include_str!("fap_lru.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What reads do.
    pub reads: ReadPolicy,
    /// Blocks at the end of the list among which victims are looked for. Default: 8 for each
    /// channel.
    pub window: Option<u32>,
    /// Channels, to which blocks are dealt out by number modulo theirs. Default: those of the
    /// drive, as the FTL places blocks.
    pub modules: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self { reads: ReadPolicy::Bypass, window: None, modules: None }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, or an impossible window or number of modules.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        let modules =
            Modules::new(Per::Channels, shape.pages_per_block, false, self.modules, self.window)?;
        let parts = |nodes| (BlockLru::new(nodes, LEAST_RECENT), FapLru { modules });
        Parallel::build("fap-lru", shape, Kept::Blocks, self.reads, parts)
    }
}

const FOR_IDLE_CHANNEL: Reason = "nearest the end of those for an idle channel";

#[derive(Debug)]
struct FapLru {
    modules: Modules,
}

impl Pick for FapLru {
    fn round<O: Ranked>(
        &mut self,
        order: &O,
        blocks: &Directory,
        view: &dyn View,
        into: &mut Vec<Victim>,
    ) {
        self.modules.open_idle(view);
        let mut nodes = from_end(order, blocks, self.modules.window(view));
        while !self.modules.are_closed()
            && let Some(node) = nodes.next()
        {
            let place = self.modules.place(blocks.lbn(node), RANDOM, view);
            if let Some(channel) = self.modules.take(place, view) {
                into.push(Victim { node, channel, reason: FOR_IDLE_CHANNEL });
            }
        }
    }

    fn bytes(&self) -> usize {
        self.modules.bytes()
    }
}
