//! Cost-benefit: the block whose collection gains most for its cost, where a gain that will last
//! counts more.
//!
//! **What it does.** With `u` the valid share of a block and its age since a page of it was last
//! written or became invalid, collects the block with the greatest benefit / cost: age x (1 - u) /
//! (1 + u), as in the log-structured file system, which reads a whole segment; or age x (1 - u) /
//! 2u for flash, where only the valid pages are read and written.
//!
//! **When it wins**: hot and cold pages in different blocks: cold blocks are collected although
//! they have few invalid pages, hot ones are given time to lose more. **When it loses**: evenly
//! spread writes, where age says nothing.
//!
//! Rosenblum and Ousterhout: "The design and implementation of a log-structured file system", ACM
//! TOCS 10(1), 1992. Kawaguchi, Nishioka and Motoda: "A flash-memory based file system", USENIX
//! 1995.
//!
//! **Where the paper is silent.** The unit of age: pages that the host has written since, that one
//! included, and tombstones of a flush. Under `formula = "flash"` a block with nothing valid is
//! worth more than any other. Ties, as far as 53 bits tell: the lowest number.
//!
//! Cost of a page write: O(1); of a victim O(blocks of the unit), once for each erase.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidates, Looks, VictimPolicy, least};
use crate::support::registry::{About, Choice};

/// What `list` says.
pub const ABOUT: About = About {
    title: "cost-benefit",
    summary: "The block with the greatest age x free share / cost of copying.",
    paper: "Kawaguchi, Nishioka and Motoda, A flash-memory based file system, USENIX",
    year: Some(1995),
    choices: &[Choice {
        option: "formula",
        others: &[r#""lfs""#],
        open: "whether the whole block or only its valid pages are read",
    }],
    source: include_str!("cost_benefit.rs"),
    ..About::PLAIN
};

/// What copying costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Formula {
    /// 2u: the valid pages are read and written.
    #[default]
    Flash,
    /// 1 + u: the whole block is read, the valid pages are written.
    Lfs,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What copying costs.
    pub formula: Formula,
}

impl Config {
    /// Builds the policy.
    ///
    /// # Errors
    /// None.
    pub fn build(&self, (): ()) -> Result<Box<dyn VictimPolicy>, String> {
        Ok(Box::new(CostBenefit { formula: self.formula }))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct CostBenefit {
    formula: Formula,
}

impl Formula {
    /// Benefit / cost of a block with `valid` of `pages` pages.
    fn score(self, valid: u32, pages: u32, age: u64) -> f64 {
        let u = f64::from(valid) / f64::from(pages);
        let cost = match self {
            Self::Flash => 2.0 * u,
            Self::Lfs => 1.0 + u,
        };
        // With nothing to copy there is no cost, whatever the age.
        if valid == 0 && self == Self::Flash {
            f64::INFINITY
        } else {
            age as f64 * (1.0 - u) / cost
        }
    }
}

impl VictimPolicy for CostBenefit {
    fn choose(&mut self, blocks: &Candidates<'_>) -> Option<u32> {
        let pages = blocks.pages_per_block();
        least(blocks, |block| -self.formula.score(blocks.valid(block), pages, blocks.age(block)))
    }

    fn looks_at(&self) -> Looks {
        Looks { age: true, ..Looks::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_those_of_both_formulas() {
        let near = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 0.05, "{found} {expected}");
        };
        near(Formula::Lfs.score(25, 100, 100), 60.0);
        near(Formula::Lfs.score(50, 100, 1000), 333.3);
        near(Formula::Flash.score(25, 100, 100), 150.0);
        near(Formula::Flash.score(50, 100, 1000), 500.0);
        near(Formula::Flash.score(90, 100, 100_000), 5555.6);
        assert!(Formula::Flash.score(0, 100, 1).is_infinite());
    }
}
