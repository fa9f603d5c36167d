//! Leveling degree: few valid pages or few erases, whichever matters more at the moment.
//!
//! **What it does.** Collects the block with the least (1 - l) x u + l x e / (E + 1): `u` its valid
//! share, `e` its erases, `E` the most of any block in the unit. The leveling degree l = 2 / (1 +
//! exp(k / d)), and 0 where d = 0, grows with the difference d between the most and the fewest
//! erases: as long as wear is even, victims are greedy ones; the more uneven it gets, the more
//! seldom erased blocks are preferred.
//!
//! **When it wins**: wear has to be kept within bounds without copying for it alone. **When it
//! loses**: cold data in blocks that are fully valid: those are never victims, and stay behind.
//!
//! Kim and Lee: "A new flash memory management for flash storage system", COMPSAC 1999; the
//! multi-bank thesis (Li 2009), section 5.1.
//!
//! **Where the paper is silent.** This is a reconstruction from descriptions of the scheme. The
//! constant k: 4.
//!
//! Cost of a page write: O(1); of a victim O(blocks of the unit), once for each erase.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidates, VictimPolicy, least};
use crate::support::registry::{About, Choice};

/// What `list` says.
pub const ABOUT: About = About {
    title: "leveling degree",
    summary: "The block with fewest valid pages while wear is even, with fewest erases the more \
        uneven it gets.",
    paper: "Kim and Lee, A new flash memory management for flash storage system, COMPSAC",
    year: Some(1999),
    reconstruction: true,
    choices: &[Choice {
        option: "steepness",
        others: &["1.0", "16.0"],
        open: "how fast the leveling degree grows with the difference between erase counts",
    }],
    source: include_str!("leveling_degree.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// k: the greater, the larger the difference between erase counts has to be before it counts.
    pub steepness: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { steepness: 4.0 }
    }
}

impl Config {
    /// Builds the policy.
    ///
    /// # Errors
    /// An impossible option.
    pub fn build(&self, (): ()) -> Result<Box<dyn VictimPolicy>, String> {
        if !(self.steepness > 0.0 && self.steepness.is_finite()) {
            return Err(format!(
                "ftl.victim.steepness: found {}, expected a number above 0",
                self.steepness
            ));
        }
        Ok(Box::new(LevelingDegree { steepness: self.steepness }))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct LevelingDegree {
    steepness: f64,
}

/// How much wear counts, from 0 to 1, where erase counts are `difference` apart.
fn degree(steepness: f64, difference: u32) -> f64 {
    if difference == 0 { 0.0 } else { 2.0 / (1.0 + libm::exp(steepness / f64::from(difference))) }
}

impl VictimPolicy for LevelingDegree {
    fn choose(&mut self, blocks: &Candidates<'_>) -> Option<u32> {
        let (fewest, most) = blocks.erases_between();
        let l = degree(self.steepness, most - fewest);
        let pages = f64::from(blocks.pages_per_block());
        least(blocks, |block| {
            let (u, e) = (f64::from(blocks.valid(block)) / pages, f64::from(blocks.erases(block)));
            (1.0 - l) * u + l * e / (f64::from(most) + 1.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_degree_grows_from_nothing_to_all() {
        assert!(degree(4.0, 0) == 0.0 && degree(4.0, 1) < 0.04 && degree(4.0, 1000) > 0.99);
        assert!((1..100).all(|d| degree(4.0, d) < degree(4.0, d + 1)));
        assert!((degree(4.0, 4) - 2.0 / (1.0 + std::f64::consts::E)).abs() < 1e-12);
    }
}
