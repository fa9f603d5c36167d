//! Greedy: the block with the fewest valid pages.
//!
//! **What it does.** Collects the closed block with the fewest valid pages, the one with the lowest
//! number among equals.
//!
//! **When it wins**: writes that are spread evenly; no policy copies less there. **When it loses**:
//! some pages are written much more often than others: blocks of cold pages with a few invalid ones
//! are kept for long, and those of hot pages collected before the rest of them has become invalid.
//!
//! Wu and Zwaenepoel: "eNVy: a non-volatile, main memory storage system", ASPLOS 1994; the
//! multi-bank thesis (Li 2009), section 4.1.
//!
//! **Where the paper is silent.** Ties: the lowest number.
//!
//! Cost of a page write: O(log blocks of a unit) at worst, mostly O(1), to keep the blocks in
//! order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidates, VictimPolicy};
use crate::support::registry::{About, Cost};

/// What `list` says.
pub const ABOUT: About = About {
    title: "greedy",
    summary: "The block with the fewest valid pages.",
    paper: "Wu and Zwaenepoel, eNVy: a non-volatile, main memory storage system, ASPLOS",
    year: Some(1994),
    cost: Cost::Logarithmic,
    source: include_str!("greedy.rs"),
    ..About::PLAIN
};

/// It has no options.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Config {
    /// Builds the policy.
    ///
    /// # Errors
    /// None.
    pub fn build(&self, (): ()) -> Result<Box<dyn VictimPolicy>, String> {
        Ok(Box::new(Greedy))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Greedy;

impl VictimPolicy for Greedy {
    #[inline]
    fn choose(&mut self, blocks: &Candidates<'_>) -> Option<u32> {
        blocks.emptiest()
    }
}
