//! Random: any block from which enough is gained.
//!
//! **What it does.** Collects a closed block of the unit drawn at random among those with at least
//! a share `least_invalid` of invalid pages; where there are none, among all from which something
//! is gained.
//!
//! **When it wins**: it needs to know nothing, and wears blocks evenly. **When it loses**: always
//! copies more than greedy.
//!
//! `MQSim` calls it `RANDOM_P`, and with a share `RANDOM_PP`; a baseline in Van Houdt, SIGMETRICS
//! 2013.
//!
//! **Where the paper is silent.** What happens where no block has enough invalid pages: any that
//! gains. Draws come from `Pcg64Mcg` of the crate `rand_pcg`, one for each victim, among the blocks
//! in question by their numbers.
//!
//! Cost of a page write: O(1); of a victim O(blocks of the unit), once for each erase.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidates, VictimPolicy};
use crate::support::registry::About;

/// What `list` says.
pub const ABOUT: About = About {
    title: "random",
    summary: "A random block with a share of invalid pages.",
    source: include_str!("random.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Share of a block's pages that have to be invalid, from 0 to 1.
    pub least_invalid: f64,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { least_invalid: 0.0, seed: 1 }
    }
}

impl Config {
    /// Builds the policy.
    ///
    /// # Errors
    /// An impossible option.
    pub fn build(&self, (): ()) -> Result<Box<dyn VictimPolicy>, String> {
        if !(0.0..=1.0).contains(&self.least_invalid) {
            return Err(format!(
                "ftl.victim.least_invalid: found {}, expected a share from 0 to 1",
                self.least_invalid
            ));
        }
        let draws = Pcg64Mcg::seed_from_u64(self.seed);
        Ok(Box::new(Random { least_invalid: self.least_invalid, draws, drawn_from: Vec::new() }))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Random {
    least_invalid: f64,
    draws: Pcg64Mcg,
    /// The blocks to draw from; kept for its memory.
    drawn_from: Vec<u32>,
}

impl VictimPolicy for Random {
    fn choose(&mut self, blocks: &Candidates<'_>) -> Option<u32> {
        let pages = blocks.pages_per_block();
        // A share of pages that do not divide evenly is reached by the next whole page; what
        // multiplying rounds up is not one more.
        let enough =
            libm::ceil(self.least_invalid * f64::from(pages) * (1.0 - f64::EPSILON)) as u32;
        self.drawn_from.clear();
        self.drawn_from
            .extend(blocks.iter().filter(|&block| pages - blocks.valid(block) >= enough));
        if self.drawn_from.is_empty() {
            self.drawn_from.extend(blocks.iter());
        }
        if self.drawn_from.is_empty() {
            return None;
        }
        Some(self.drawn_from[self.draws.random_range(0..self.drawn_from.len())])
    }
}
