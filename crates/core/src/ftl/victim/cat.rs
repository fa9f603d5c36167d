//! CAT, cost age times: cheap to copy, long unchanged, and seldom erased.
//!
//! **What it does.** With `u` the valid share of a block, its age since a page of it was last
//! written or became invalid, and the times it has been erased, collects the block with the least u
//! / (1 - u) x 1 / age x times: cost-benefit with wear in it, so that blocks are erased about
//! equally often.
//!
//! **When it wins**: hot and cold data, and wear matters. **When it loses**: evenly spread writes;
//! it copies more than greedy.
//!
//! Chiang, Lee and Chang: "Managing flash memory in personal communication devices", ISCE 1997; the
//! multi-bank thesis (Li 2009), section 5.1.
//!
//! **Where the paper is silent.** This is a reconstruction. Age goes through a function of steps
//! which is not printed: here as it is (`age = "steps"`: its binary logarithm rounded down, plus
//! 1). Age counts pages that the host has written since, that one included, and tombstones of a
//! flush; at least 1. A block never erased counts as erased once. The separate blocks for hot and
//! cold pages that go with it are `ftl.gc.regions`.
//!
//! Cost of a page write: O(1); of a victim O(blocks of the unit), once for each erase.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidates, Looks, VictimPolicy, least};
use crate::support::registry::{About, Choice};

/// What `list` says.
pub const ABOUT: About = About {
    title: "CAT",
    summary: "The block with the least cost of copying x times erased / age.",
    paper: "Chiang, Lee and Chang, Managing flash memory in personal communication devices, ISCE",
    year: Some(1997),
    reconstruction: true,
    choices: &[Choice { option: "age", others: &[r#""steps""#], open: "by which steps age grows" }],
    source: include_str!("cat.rs"),
    ..About::PLAIN
};

/// How age grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Age {
    /// One by one.
    #[default]
    Plain,
    /// In steps: its binary logarithm.
    Steps,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How age grows.
    pub age: Age,
}

impl Config {
    /// Builds the policy.
    ///
    /// # Errors
    /// None.
    pub fn build(&self, (): ()) -> Result<Box<dyn VictimPolicy>, String> {
        Ok(Box::new(Cat { age: self.age }))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Cat {
    age: Age,
}

impl Age {
    /// Cost x times / age of a block with `valid` of `pages` pages.
    fn score(self, valid: u32, pages: u32, age: u64, erases: u32) -> f64 {
        let age = match self {
            Self::Plain => age.max(1),
            Self::Steps => u64::from(age.max(1).ilog2()) + 1,
        };
        f64::from(valid) / f64::from(pages - valid) / age as f64 * f64::from(erases.max(1))
    }
}

impl VictimPolicy for Cat {
    fn choose(&mut self, blocks: &Candidates<'_>) -> Option<u32> {
        let pages = blocks.pages_per_block();
        least(blocks, |block| {
            self.age.score(blocks.valid(block), pages, blocks.age(block), blocks.erases(block))
        })
    }

    fn looks_at(&self) -> Looks {
        Looks { age: true, ..Looks::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equal_blocks_the_one_seldom_erased_wins() {
        let score = |erases| Age::Plain.score(32, 64, 10, erases);
        assert!((score(4) - 0.4).abs() < 1e-12 && (score(1) - 0.1).abs() < 1e-12);
        assert!(Age::Steps.score(32, 64, 1 << 20, 1) > Age::Plain.score(32, 64, 1 << 20, 1));
    }
}
