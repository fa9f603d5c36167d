//! Windowed greedy: the block with the fewest valid pages among those closed longest ago.
//!
//! **What it does.** Looks at the `window` blocks of the unit that were closed longest ago and
//! collects the one with the fewest valid pages, the oldest among equals. A window of one block is
//! FIFO, one of all blocks greedy.
//!
//! **When it wins**: young blocks, whose pages are about to become invalid, are left alone, at
//! little cost. **When it loses**: a small window copies cold pages as FIFO does.
//!
//! Hu, Eleftheriou, Haas, Iliadis and Pletka: "Write amplification analysis in flash-based solid
//! state drives", SYSTOR 2009.
//!
//! **Where the paper is silent.** Ties: the oldest. Where nothing is gained from any block of the
//! window: the oldest one beyond it from which something is. The size of the window is the paper's
//! variable; here a share of the unit's blocks.
//!
//! Cost of a page write: O(1); of a victim O(blocks of the unit), once for each erase.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidates, Looks, VictimPolicy};
use crate::support::registry::{About, Choice};

/// What `list` says.
pub const ABOUT: About = About {
    title: "windowed greedy",
    summary: "The block with the fewest valid pages among a window of those filled longest ago.",
    paper: "Hu et al., Write amplification analysis in flash-based solid state drives, SYSTOR",
    year: Some(2009),
    choices: &[Choice {
        option: "window",
        others: &["0.1", "0.5"],
        open: "the size of the window",
    }],
    source: include_str!("windowed_greedy.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Blocks in the window: their number, or below 1 their share of the unit's blocks.
    pub window: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { window: 0.25 }
    }
}

impl Config {
    /// Builds the policy.
    ///
    /// # Errors
    /// An impossible option.
    pub fn build(&self, (): ()) -> Result<Box<dyn VictimPolicy>, String> {
        if !(self.window > 0.0 && self.window.is_finite())
            || (self.window >= 1.0 && self.window.fract() != 0.0)
        {
            return Err(format!(
                "ftl.victim.window: found {}, expected a whole number of blocks, or below 1 a \
                 share of the unit's blocks",
                self.window
            ));
        }
        Ok(Box::new(WindowedGreedy { window: self.window, oldest: Vec::new() }))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct WindowedGreedy {
    window: f64,
    /// Closed blocks by the time they were closed; kept for its memory.
    oldest: Vec<(u64, u32)>,
}

impl VictimPolicy for WindowedGreedy {
    fn choose(&mut self, blocks: &Candidates<'_>) -> Option<u32> {
        let size =
            if self.window < 1.0 { self.window * f64::from(blocks.count()) } else { self.window };
        let size = (size as usize).max(1);
        let closed = (0..blocks.count()).filter(|&block| blocks.closed(block).is_some());
        self.oldest.clear();
        self.oldest.extend(closed.map(|block| (blocks.closed_at(block), block)));
        if self.oldest.len() > size {
            self.oldest.select_nth_unstable(size - 1);
        }
        let (window, beyond) = self.oldest.split_at(size.min(self.oldest.len()));
        let gains = |&&(_, block): &&(u64, u32)| blocks.gains(blocks.valid(block));
        let emptiest =
            window.iter().filter(gains).min_by_key(|&&(at, block)| (blocks.valid(block), at));
        emptiest.or_else(|| beyond.iter().filter(gains).min()).map(|&(_, block)| block)
    }

    fn looks_at(&self) -> Looks {
        Looks { order: true, ..Looks::default() }
    }
}
