//! d-choices: the block with the fewest valid pages among a few drawn at random.
//!
//! **What it does.** Draws `d` closed blocks of the unit at random, with replacement, and collects
//! the one with the fewest valid pages, the first drawn among equals. While none of them gains
//! anything, it draws on.
//!
//! **When it wins**: nearly as few copies as greedy from d = 10 on, and no order of blocks to keep.
//! **When it loses**: with small d it copies more; d = 1 is a random choice.
//!
//! Van Houdt: "A mean field model for a class of garbage collection algorithms in flash-based solid
//! state drives", SIGMETRICS 2013; Li, Lee and Lui: "Stochastic modeling of large-scale solid-state
//! storage systems", SIGMETRICS 2013.
//!
//! **Where the paper is silent.** There a block that is fully valid is copied for nothing if all
//! that are drawn are. Here another one is drawn instead, which the paper's model allows for; and
//! after a thousand draws in vain the emptiest block is taken. Draws come from `Pcg64Mcg` of the
//! crate `rand_pcg`, among all blocks of the unit; one that is not closed is drawn anew.
//!
//! Cost of a page write: O(1); of a victim O(d).

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidates, VictimPolicy};
use crate::support::registry::About;

/// What `list` says.
pub const ABOUT: About = About {
    title: "d-choices",
    summary: "The block with the fewest valid pages among d drawn at random.",
    paper: "Van Houdt, A mean field model for a class of garbage collection algorithms in \
        flash-based SSDs, SIGMETRICS",
    year: Some(2013),
    source: include_str!("d_choices.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Blocks that are drawn.
    pub d: u32,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { d: 3, seed: 1 }
    }
}

impl Config {
    /// Builds the policy.
    ///
    /// # Errors
    /// An impossible option.
    pub fn build(&self, (): ()) -> Result<Box<dyn VictimPolicy>, String> {
        if !(1..=MOST).contains(&self.d) {
            return Err(format!("ftl.victim.d: found {}, expected 1 to {MOST}", self.d));
        }
        Ok(Box::new(DChoices { d: Some(self.d), random: Pcg64Mcg::seed_from_u64(self.seed) }))
    }
}

/// Draws at most: with more, choosing a block would take longer than looking at all of them.
const MOST: u32 = 1000;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct DChoices {
    /// Blocks that are drawn; the binary logarithm of a unit's blocks where not given.
    pub(super) d: Option<u32>,
    pub(super) random: Pcg64Mcg,
}

/// Draws without success after which it is given up: hardly any block gains anything.
const DRAWS: u32 = 1000;

impl VictimPolicy for DChoices {
    fn choose(&mut self, blocks: &Candidates<'_>) -> Option<u32> {
        let emptiest = blocks.emptiest()?;
        let all = blocks.count();
        let d = self.d.unwrap_or_else(|| all.ilog2().max(1));
        let (mut drawn, mut best) = (0, None);
        for _ in 0..DRAWS.max(d) {
            let block = self.random.random_range(0..all);
            let Some(valid) = blocks.closed(block) else { continue };
            if best.is_none_or(|(least, _)| valid < least) {
                best = Some((valid, block));
            }
            drawn += 1;
            if drawn >= d
                && let Some((_, block)) = best.filter(|&(valid, _)| blocks.gains(valid))
            {
                return Some(block);
            }
        }
        Some(emptiest)
    }
}
