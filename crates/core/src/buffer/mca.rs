//! MCA: a write buffer of pages that keeps the chips busy and does not send pages that were written
//! only in part.
//!
//! **What it does.** Pages in the order of their last write. When there is no room, one page leaves
//! for every chip that has nothing to do: of the `window` pages at the end of the list, the last
//! one for that chip that the host has written completely, or, where there is none, the last one
//! for it. They leave at the same moment. If no page of the window is for an idle chip, the last
//! complete one of it leaves, or else the last page. A page is complete when the host's writes have
//! covered all of its bytes.
//!
//! **When it wins**: small writes that fill a page piece by piece, on drives with several chips.
//! **When it loses**: when requests come one at a time and all chips are idle: then each round
//! takes a page for every chip, and hits are lost.
//!
//! J. Seol, H. Shim, J. Kim and S. Maeng, "A buffer replacement algorithm exploiting multi-chip
//! parallelism in solid state disks", CASES 2009; known from its abstract. A reconstruction.
//!
//! **Where the paper is silent.** The rounds and the window are our reading. In the paper a partial
//! page costs a read of the flash when it leaves. Here the drive reads the rest of a page when its
//! first part comes (`host.partial_page`), so that what is kept for longer saves rewrites, not
//! reads. Two parts of a page that leave a hole between them count as the longer one. The chip of a
//! page is where static placement will put it, else where it lies now. `window` is 8 pages for each
//! chip. `modules` deals pages out by number, whatever the FTL does, and takes all chips for idle,
//! as a run without time does. Of a round the complete pages leave first, then the others, each
//! from the end of the list. Where no page is for an idle chip, the one that leaves is sent to no
//! channel. FTLs that tell access patterns apart (`pattern`, `sftl`, `blas` with `sequential`) hear
//! that every page was written at random, however it was: the abstract says nothing of patterns.
//!
//! Cost of a page access: O(1); of a round O(window), and O(units of the drive) for each page that
//! was never written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::block_lru::BlockLru;
use super::kit::blocks::{Directory, ReadPolicy};
use super::kit::modules::{Modules, Per};
use super::kit::parallel::{Kept, Parallel, Pick, RANDOM, Ranked, Victim, from_end};
use super::lru::LEAST_RECENT;
use super::{Buffer, Part, Reason, Shape, View};
use crate::support::registry::{About, Choice, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "MCA",
    summary: "Page LRU that lets a page leave for every idle chip, those first that the host has \
        written completely.",
    paper: "Seol et al., A buffer replacement algorithm exploiting multi-chip parallelism in solid \
        state disks, CASES",
    year: Some(2009),
    reconstruction: true,
    choices: &[Choice {
        option: "window",
        others: &["4"],
        open: "how far from the end victims are looked for",
    }],
    examples: &[Example {
        source: "",
        shows: "Pages 0, 2 and 1 belong to chips 0, 0 and 1. Pages 0 and 1 leave together when \
            page 3 needs room.",
        capacity: 3,
        pages_per_block: 4,
        options: r#"{"modules": 2}"#,
        requests: "W 0, W 2, W 1, W 3",
    }],
    source: include_str!("mca.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Pages at the end of the list among which victims are looked for. Default: 8 for each chip.
    pub window: Option<u32>,
    /// Chips, to which pages are dealt out by number modulo theirs. Default: those of the drive, as
    /// the FTL places pages.
    pub modules: Option<u32>,
}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// No room for a page, or an impossible window or number of chips.
    pub fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        let modules =
            Modules::new(Per::Chips, shape.pages_per_block, true, self.modules, self.window)?;
        let parts = |nodes| {
            (BlockLru::new(nodes, LEAST_RECENT), Mca { modules, missing: vec![None; nodes] })
        };
        Parallel::build("mca", shape, Kept::Pages, ReadPolicy::Bypass, parts)
    }
}

const COMPLETE: Reason = "complete page nearest the end for its chip";
const PARTIAL: Reason = "partial page, the only one for its chip";
const LAST_COMPLETE: Reason = "complete page nearest the end, no chip of the window is idle";

#[derive(Debug)]
struct Mca {
    modules: Modules,
    /// What the host has written of each page that is not complete.
    missing: Vec<Option<Part>>,
}

impl Mca {
    fn is_complete(&self, node: u32) -> bool {
        self.missing[node as usize].is_none()
    }
}

/// What two parts of a page cover together: the longer one where there is a hole between them.
fn together(one: Part, other: Part) -> Part {
    if one.from <= other.to && other.from <= one.to {
        Part { from: one.from.min(other.from), to: one.to.max(other.to), ..one }
    } else if other.to - other.from > one.to - one.from {
        other
    } else {
        one
    }
}

impl Pick for Mca {
    fn written(&mut self, node: u32, fresh: bool, part: Option<Part>) {
        let before = self.missing[node as usize];
        self.missing[node as usize] = match (part, before) {
            (Some(part), _) if fresh => Some(part),
            (Some(part), Some(before)) => Some(together(before, part)),
            // All of it, or a part of a page that is complete.
            _ => None,
        }
        .filter(|part| part.to - part.from < part.of);
    }

    fn round<O: Ranked>(
        &mut self,
        order: &O,
        blocks: &Directory,
        view: &dyn View,
        into: &mut Vec<Victim>,
    ) {
        let window = self.modules.window(view);
        self.modules.open_idle(view);
        for (complete, reason) in [(true, COMPLETE), (false, PARTIAL)] {
            for node in from_end(order, blocks, window) {
                if self.modules.are_closed() {
                    break;
                }
                if self.is_complete(node) != complete {
                    continue;
                }
                let place = self.modules.place(blocks.lbn(node), RANDOM, view);
                if let Some(channel) = self.modules.take(place, view) {
                    into.push(Victim { node, channel, reason });
                }
            }
        }
        if into.is_empty() {
            let last = from_end(order, blocks, window).find(|&node| self.is_complete(node));
            into.extend(last.map(|node| Victim { node, channel: None, reason: LAST_COMPLETE }));
        }
    }

    fn bytes(&self) -> usize {
        self.modules.bytes() + self.missing.len() * size_of::<Option<Part>>()
    }
}
