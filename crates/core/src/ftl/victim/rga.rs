//! RGA: greedy among as many random blocks as the binary logarithm of their number.
//!
//! **What it does.** d-choices with d = the binary logarithm of the blocks of a unit, rounded down:
//! 11 of 2048 blocks.
//!
//! **When it wins** and **when it loses**: as d-choices with such a d, which is nearly greedy.
//!
//! Li, Lee and Lui: "Stochastic modeling of large-scale solid-state storage systems", SIGMETRICS
//! 2013, where it is the randomised greedy algorithm; the number of blocks drawn as in `MQSim`.
//!
//! **Where the paper is silent.** As for d-choices.
//!
//! Cost of a page write: O(1); of a victim O(log blocks of the unit).

use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::VictimPolicy;
use super::d_choices::DChoices;
use crate::support::registry::About;

/// What `list` says.
pub const ABOUT: About = About {
    title: "RGA",
    summary: "The block with the fewest valid pages among log2(blocks) drawn at random.",
    paper: "Li, Lee and Lui, Stochastic modeling of large-scale solid-state storage systems, \
        SIGMETRICS",
    year: Some(2013),
    source: include_str!("rga.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { seed: 1 }
    }
}

impl Config {
    /// Builds the policy.
    ///
    /// # Errors
    /// None.
    pub fn build(&self, (): ()) -> Result<Box<dyn VictimPolicy>, String> {
        Ok(Box::new(DChoices { d: None, random: Pcg64Mcg::seed_from_u64(self.seed) }))
    }
}
