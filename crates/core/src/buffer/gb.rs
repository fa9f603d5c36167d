//! GB: one write buffer for all channels that sends pages where the least work waits.
//!
//! **What it does.** Pages in the order of their last write. When there is no room, one page
//! leaves: of the `window` pages at the end of the list, the one whose channel has the fewest
//! operations to do; of several, the one nearest the end. A channel without an erased block comes
//! after all others. A channel that collects garbage has work to do, too, and so the host's writes
//! go to the others meanwhile. What a request has sent to a channel counts as work for the pages of
//! the same block that leave after it; for its next block the drive itself shows that work.
//!
//! **When it wins**: when some channels collect and others don't. **When it loses**: when all
//! channels are as busy as each other: then it is page LRU. Where the FTL chooses the channel when
//! it writes, nothing is left to choose for the buffer.
//!
//! L.-P. Chang, Y.-H. Huang and C.-Y. Wen, "On the management of multichannel architectures of
//! solid-state disks", IEEE Symposium on Embedded Systems for Real-Time Multimedia 2011, a write
//! buffer with two policies for managing channels; known from its abstract. A reconstruction.
//!
//! **Where the paper is silent.** What the two policies are; this is the one that concerns the
//! buffer. That collection begins in all channels when it does in one is not part of it: when to
//! collect is the FTL's. The channel of a page is where static placement will put it, else where it
//! lies now; a page that was never written goes to the channel with least work. `window` is 8 pages
//! for each channel. `modules` deals pages out by number, whatever the FTL does, and takes all
//! channels for idle, as a run without time does; a page goes to, and asks for erased blocks, the
//! channel of its module's number modulo the channels. FTLs that tell access patterns apart
//! (`pattern`, `sftl`, `blas` with `sequential`) hear that every page was written at random,
//! however it was: the abstract says nothing of patterns.
//!
//! Cost of a page access: O(1); of a page that leaves O(window), and O(units of the drive) for each
//! request that needs room.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::block_lru::BlockLru;
use super::kit::blocks::{Directory, ReadPolicy};
use super::kit::modules::{Destination, Modules, Per};
use super::kit::parallel::{Kept, Parallel, Pick, RANDOM, Ranked, Victim, from_end};
use super::lru::LEAST_RECENT;
use super::{Buffer, Reason, Shape, View};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "GB, a buffer for all channels",
    summary: "Page LRU for all channels that lets pages go first whose channel has the least to do.",
    paper: "Chang, Huang and Wen, On the management of multichannel architectures of solid-state \
        disks, ESTIMedia",
    year: Some(2011),
    also: &["global-buffer"],
    reconstruction: true,
    choices: &[Choice {
        option: "window",
        others: &["2"],
        open: "how far from the end victims are looked for",
    }],
    examples: &[Example {
        source: "",
        shows: "Even pages go to channel 0, odd ones to channel 1. Two pages need room at once: \
            page 0 leaves first, then page 1 and not page 2, as channel 0 has got page 0.",
        capacity: 4,
        pages_per_block: 8,
        options: r#"{"modules": 2}"#,
        requests: "W 0, W 2, W 1, W 3, W 4-5",
    }],
    source: include_str!("gb.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Pages at the end of the list among which the victim is looked for. Default: 8 for each
    /// channel.
    pub window: Option<u32>,
    /// Channels, to which pages are dealt out by number modulo theirs. Default: those of the drive,
    /// as the FTL places pages.
    pub modules: Option<u32>,
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, or an impossible window or number of channels.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        let modules =
            Modules::new(Per::Channels, shape.pages_per_block, true, self.modules, self.window)?;
        let pick = Gb { modules, work: Vec::new() };
        let parts = |nodes| (BlockLru::new(nodes, LEAST_RECENT), pick);
        Parallel::build("gb", shape, Kept::Pages, ReadPolicy::Bypass, parts)
    }
}

const LEAST_WORK: Reason = "page whose channel has the least to do";

#[derive(Debug)]
struct Gb {
    modules: Modules,
    /// Of each channel: whether it has no erased block, and what it has to do with what this
    /// request has sent it.
    work: Vec<(bool, u32)>,
}

impl Pick for Gb {
    fn begin(&mut self) {
        self.work.clear();
    }

    fn round<O: Ranked>(
        &mut self,
        order: &O,
        blocks: &Directory,
        view: &dyn View,
        into: &mut Vec<Victim>,
    ) {
        if self.work.is_empty() {
            let full = |module| !view.channel_ready(Modules::channel(module, view));
            let channels = 0..self.modules.count(view);
            self.work
                .extend(channels.map(|module| (full(module), self.modules.work(module, view))));
        }
        let idlest =
            (0..self.work.len() as u32).min_by_key(|&module| (self.work[module as usize], module));
        let nodes =
            from_end(order, blocks, self.modules.window(view)).filter_map(|node| {
                match self.modules.place(blocks.lbn(node), RANDOM, view) {
                    Destination::Module(module) => Some((node, module)),
                    Destination::Anywhere | Destination::Everywhere => Some((node, idlest?)),
                }
            });
        // Of equals the first, which is the one nearest the end.
        let Some((node, module)) = nodes.min_by_key(|&(_, module)| self.work[module as usize])
        else {
            return;
        };
        self.work[module as usize].1 += 1;
        let channel = Some(Modules::channel(module, view));
        into.push(Victim { node, channel, reason: LEAST_WORK });
    }

    fn bytes(&self) -> usize {
        self.modules.bytes() + self.work.capacity() * size_of::<(bool, u32)>()
    }
}
