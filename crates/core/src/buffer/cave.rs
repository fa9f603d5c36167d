//! CAVE: channel-aware victims, a buffer that sends as many victims at once as the drive has flash
//! memories.
//!
//! **What it does.** The order is a host policy's (`order`): blocks as in BPLRU, or pages as in
//! CFLRU or in plain LRU. When there is no room, the list is followed from its end, and the first
//! block (or page) for each module leaves, until there is one for every module or `window` of them
//! have been looked at. A second one for the same module is passed over and stays. All leave at the
//! same moment, so that every module has something to do; the slots that are not needed now are
//! there for the next writes. Parallel work comes from the buffer, and the FTL may keep each block
//! in one place. A block that was never written may go anywhere, and takes the module that has the
//! most erased blocks of those left over.
//!
//! `sequential_above = 4` makes it the *pattern-based CAVE* (p-CAVE) of the SUPA paper: a block
//! with more dirty pages is sequential, and the FTL hears so. Where the FTL stripes such blocks
//! over all channels, one leaves alone; the others leave together as before. That paper puts it on
//! MNK, set up twice: striped for sequential blocks, not striped for the others. The FTL `pattern`
//! with `handler = false` has both. On `mnk` itself all blocks are alike: with `striping = 1` each
//! is in one place, else all leave one by one.
//!
//! **When it wins**: small random writes on drives with several channels whose FTL keeps a block in
//! one of them. **When it loses**: with FTLs that stripe pages themselves; with small buffers,
//! where the victims taken early are missed as hits.
//!
//! S. K. Park, Y. Park, G. Shim and K. H. Park, "CAVE: Channel-aware buffer management scheme for
//! solid state disk", SAC 2011; known from its abstract and from SUPA (2017), sections 3.1 and 3.3.
//! A reconstruction.
//!
//! **Where the paper is silent.** Its abstract counts *NAND memories*, which are chips; SUPA says
//! it takes as many victims as there are channels (`victims`). Victims of modules that appear
//! nowhere in the window are not replaced by others. The module of a block is where the FTL would
//! write it, and where the FTL says a channel alone, the chip where its first page lies; one that
//! lies somewhere stays there even if all of it is new. Orders of blocks and plain LRU are write
//! buffers: reads are served, move nothing and take nothing in; CFLRU's takes in what is read.
//! There a clean page leaves alone, as it costs the flash nothing, and is passed over where dirty
//! ones leave; `clean_first` is rounded to a page. `window` is 8 for each module. `modules` deals
//! blocks (pages) out by number, whatever the FTL does. FTLs that tell access patterns apart
//! (`pattern`, `sftl`, `blas` with `sequential`) hear that every block was written at random,
//! however it was; with `sequential_above` they hear which ones are sequential. Whether p-CAVE pads
//! its blocks is not said; it does with `padding = true`, as BPLRU.
//!
//! Cost of a page access: O(log n) in CFLRU's order, else O(1); of a round O(window), O(units of
//! the drive) for each block that was never written, and O(pages) that leave.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::block_lru::BlockLru;
use super::bplru::Bplru;
use super::cflru::Cflru;
use super::kit::blocks::{Directory, ReadPolicy, require_share};
use super::kit::modules::{Modules, Per};
use super::kit::parallel::{Kept, Parallel, Pick, RANDOM, Ranked, SEQUENTIAL, Victim, from_end};
use super::lru::LEAST_RECENT;
use super::{Action, Buffer, Reason, Shape, View};
use crate::pattern::Pattern;
use crate::support::registry::{About, Choice, Cost, Example, Needs};

/// What `list` says.
pub const ABOUT: About = About {
    title: "CAVE",
    summary: "Lets as many blocks (or pages) of a host policy's order leave at once as there are \
        chips or channels, one for each.",
    paper: "Park, Park, Shim and Park, CAVE: Channel-aware buffer management scheme for solid \
        state disk, SAC",
    year: Some(2011),
    also: &["p-cave", "pattern-based-cave"],
    reconstruction: true,
    cost: Cost::Logarithmic,
    choices: &[
        Choice {
            option: "order",
            others: &[r#""cflru""#, r#""lru""#],
            open: "the host policy whose order it is",
        },
        Choice {
            option: "padding",
            others: &["false"],
            open: "whether blocks are padded, as by BPLRU",
        },
        Choice {
            option: "window",
            others: &["4"],
            open: "how far from the end victims are looked for",
        },
    ],
    examples: &[
        Example {
            source: "",
            shows: "Four blocks on modules 0, 1, 2 and 3: when block 4 needs room, all four leave \
                at once.",
            capacity: 4,
            pages_per_block: 4,
            options: r#"{"modules": 4, "padding": false}"#,
            requests: "W 0, W 4, W 8, W 12, W 16",
        },
        Example {
            source: "",
            shows: "Blocks 0, 4, 1, 2 and 3 on modules 0, 0, 1, 2 and 3. The second one is passed \
                over, and stays.",
            capacity: 5,
            pages_per_block: 4,
            options: r#"{"modules": 4, "padding": false}"#,
            requests: "W 0, W 16, W 4, W 8, W 12, W 20",
        },
        Example {
            source: "",
            shows: "The same in CFLRU's order, where single pages leave: the clean page 1 in the \
                window goes alone first, then one page for each module.",
            capacity: 4,
            pages_per_block: 4,
            options: r#"{"modules": 2, "order": "cflru", "clean_first": 0.5}"#,
            requests: "W 0, R 1, W 2, W 3, W 5, W 6",
        },
    ],
    needs: &[
        Needs { option: "padding", beside: "order", values: &[r#""bplru""#] },
        Needs { option: "compensation", beside: "order", values: &[r#""bplru""#] },
        Needs { option: "clean_first", beside: "order", values: &[r#""cflru""#] },
    ],
    source: include_str!("cave.rs"),
    ..About::PLAIN
};

/// The policy whose order it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HostPolicy {
    /// Blocks in the order of their last write; a write buffer.
    #[default]
    Bplru,
    /// Pages in the order of use, clean ones first within a window; takes in what is read.
    Cflru,
    /// Pages in the order of their last write; a write buffer.
    Lru,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The policy whose order it is.
    pub order: HostPolicy,
    /// Read what a block lacks and write it whole, as BPLRU does; with `order = "bplru"`.
    pub padding: bool,
    /// Send a block that was written sequentially to the end of the list, as BPLRU does; with
    /// `order = "bplru"`.
    pub compensation: bool,
    /// Share of the buffer in which clean pages leave first, 0 to 1; with `order = "cflru"`.
    pub clean_first: f64,
    /// What one victim leaves for.
    pub victims: Per,
    /// Dirty pages above which a block counts as sequential (p-CAVE: 4). Default: none does.
    pub sequential_above: Option<u32>,
    /// Blocks or pages at the end of the list among which victims are looked for. Default: 8 for
    /// each module.
    pub window: Option<u32>,
    /// Modules, to which blocks or pages are dealt out by number modulo theirs. Default: those of
    /// the drive, as the FTL places blocks and pages.
    pub modules: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            order: HostPolicy::Bplru,
            padding: true,
            compensation: true,
            clean_first: 0.25,
            victims: Per::Chips,
            sequential_above: None,
            window: None,
            modules: None,
        }
    }
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, or an impossible window or number of modules.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        require_share("clean_first", self.clean_first)?;
        let single = self.order != HostPolicy::Bplru;
        let modules =
            Modules::new(self.victims, shape.pages_per_block, single, self.modules, self.window)?;
        let pick = Cave { modules, sequential_above: self.sequential_above };
        match self.order {
            HostPolicy::Bplru => {
                let action = if self.padding { Action::EvictPadded } else { Action::Evict };
                let parts = |nodes| (Bplru::new(nodes, action, self.compensation), pick);
                Parallel::build("cave", shape, Kept::Blocks, ReadPolicy::Bypass, parts)
            }
            HostPolicy::Cflru => {
                let parts = |nodes| (Cflru::new(nodes, self.clean_first), pick);
                Parallel::build("cave", shape, Kept::Pages, ReadPolicy::Allocate, parts)
            }
            HostPolicy::Lru => {
                let parts = |nodes| (BlockLru::new(nodes, LEAST_RECENT), pick);
                Parallel::build("cave", shape, Kept::Pages, ReadPolicy::Bypass, parts)
            }
        }
    }
}

const FOR_ITS_MODULE: Reason = "nearest the end of those for its module";

#[derive(Debug)]
struct Cave {
    modules: Modules,
    sequential_above: Option<u32>,
}

impl Pick for Cave {
    fn classifies(&self) -> bool {
        self.sequential_above.is_some()
    }

    fn pattern(&self, node: u32, blocks: &Directory) -> Pattern {
        let sequential = self.sequential_above.is_some_and(|pages| blocks.dirty(node) > pages);
        if sequential { SEQUENTIAL } else { RANDOM }
    }

    fn round<O: Ranked>(
        &mut self,
        order: &O,
        blocks: &Directory,
        view: &dyn View,
        into: &mut Vec<Victim>,
    ) {
        self.modules.open_all(view);
        for node in from_end(order, blocks, self.modules.window(view)) {
            let place = self.modules.place(blocks.lbn(node), self.pattern(node, blocks), view);
            if let Some(channel) = self.modules.take(place, view) {
                into.push(Victim { node, channel, reason: FOR_ITS_MODULE });
            }
            if self.modules.are_closed() {
                break;
            }
        }
    }

    fn bytes(&self) -> usize {
        self.modules.bytes()
    }
}
