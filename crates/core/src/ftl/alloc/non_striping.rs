//! No striping: all pages of a request go to one unit, those of the next request to another.
//!
//! **What it does.** The first page of a request goes to the unit that will be free first, as under
//! dynamic striping, and all others follow it, as long as the unit has room. Pages that leave the
//! buffer together count as one request.
//!
//! **When it wins**: pages of one request lie in one block and become invalid together, so that
//! collection copies less; under heavy load the units are all busy anyway. **When it loses**: under
//! light load a request takes as long as its pages one after another, and one huge request fills
//! one unit.
//!
//! Multi-bank thesis (Li 2009), section 3.2.
//!
//! **Where the paper is silent.** The request that follows goes to whatever unit will be free
//! first, "another bank" where others are as free: equals take turns (`tie`).
//!
//! Cost of a page write: O(1), and O(units) for the first page of a request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dynamic::{Dynamic, TIE, Tie};
use super::{Built, Chooser, Pools, Shape};
use crate::support::registry::About;

/// What `list` says.
pub const ABOUT: About = About {
    title: "no striping",
    summary: "All pages of a request go to the one unit that will be free first.",
    paper: "Li, Analysis of data allocation on multi-bank flash storage system, thesis, section \
        3.2",
    year: Some(2009),
    choices: &[TIE],
    source: include_str!("non_striping.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Which of the units goes that will be free first.
    pub tie: Tie,
}

impl Config {
    /// Builds the allocator.
    ///
    /// # Errors
    /// None.
    pub fn build(&self, shape: Shape<'_>) -> Result<Built, String> {
        let pools = Pools::one(shape.geometry.units);
        let program = shape.geometry.program_pages;
        let dynamic = Dynamic::new(pools.clone(), program, u32::MAX, self.tie);
        Ok((Chooser::other(dynamic), pools))
    }
}
