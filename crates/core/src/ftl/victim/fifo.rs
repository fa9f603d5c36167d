//! FIFO: the block that was closed longest ago.
//!
//! **What it does.** Collects the closed blocks of a unit in the order in which they were filled,
//! as a log that is cleaned at its tail. A block from which nothing is gained is passed over and
//! keeps its place.
//!
//! **When it wins**: wear is even, since all blocks take turns. **When it loses**: cold pages are
//! copied on every round.
//!
//! Robinson: "Analysis of steady-state segment storage utilizations in a log-structured file system
//! with least-utilized segment cleaning", 1996; Desnoyers: "Analytic modeling of SSD write
//! performance", SYSTOR 2012, which calls it LRU.
//!
//! **Where the paper is silent.** Blocks that hold nothing but valid pages: passed over.
//!
//! Cost of a page write: O(1); of a victim O(blocks of the unit), once for each erase.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidates, Looks, VictimPolicy, least};
use crate::support::registry::About;

/// What `list` says.
pub const ABOUT: About = About {
    title: "FIFO",
    summary: "The block that was filled longest ago.",
    paper: "Desnoyers, Analytic modeling of SSD write performance, SYSTOR",
    year: Some(2012),
    source: include_str!("fifo.rs"),
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
        Ok(Box::new(Fifo))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Fifo;

impl VictimPolicy for Fifo {
    fn choose(&mut self, blocks: &Candidates<'_>) -> Option<u32> {
        least(blocks, |block| blocks.closed_at(block))
    }

    fn looks_at(&self) -> Looks {
        Looks { order: true, ..Looks::default() }
    }
}
