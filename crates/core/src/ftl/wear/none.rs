//! No wear levelling.
//!
//! **What it does.** Nothing: blocks are erased as collection finds them. Erased blocks are used in
//! the order in which they were erased, so that those that take part in collection wear evenly;
//! blocks of data that is never rewritten take no part.
//!
//! **When it wins**: it copies nothing. **When it loses**: cold data on a drive that is to live
//! long.
//!
//! Cost of a page write: O(1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Built, Shape};
use crate::support::registry::About;

/// What `list` says.
pub const ABOUT: About = About {
    title: "no wear levelling",
    summary: "Blocks wear as collection erases them.",
    source: include_str!("none.rs"),
    ..About::PLAIN
};

/// It has no options.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Config {
    /// Builds nothing.
    ///
    /// # Errors
    /// None.
    pub fn build(&self, _shape: Shape<'_>) -> Result<Built, String> {
        Ok(None)
    }
}
