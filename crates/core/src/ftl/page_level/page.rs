//! Page mapping: every logical page may lie in any flash page.
//!
//! **What it does.** A map of one entry a logical page, kept in RAM whole and for nothing. Where a
//! page goes is the allocator's to say (`ftl.allocator`), which block is collected the victim
//! policy's (`ftl.victim`), how wear is evened out the leveller's (`ftl.wear`); `ftl.gc` says when
//! collection begins and what it costs. By default pages go to the units in turn, and the block
//! with the fewest valid pages is collected inside each unit.
//!
//! **When it wins**: random writes, which cost no merges. **When it loses**: RAM, a few bytes for
//! every page.
//!
//! **Trims** are kept across power cuts by tombstones: pages that list what was trimmed, one for
//! each pool of the allocator, written with the next flush. Collection writes what there is of
//! them, among the pages that it moves, before it erases a block: that may hold the last version of
//! what was trimmed. A tombstone is valid as long as one of its pages has not been written again,
//! and is copied like data.
//!
//! Ban, US Patent 5,404,485 (1995); survey in Kim and Ahn 2008, section 2.2.
//!
//! Cost of a page write: O(1), and what allocator and victim policy cost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::{Above, Store};
use super::{PageLevel, PageScheme};
use crate::ftl::{Mapping, Shape};
use crate::support::registry::About;

/// What `list` says.
pub const ABOUT: About = About {
    title: "page mapping",
    summary: "Any logical page in any flash page; units in turn, greedy garbage collection inside \
        each unit.",
    paper: "Ban, US Patent 5,404,485 (1995)",
    year: Some(1995),
    composed: true,
    source: include_str!("page.rs"),
    ..About::PLAIN
};

/// It has no options of its own: allocator, victim policy, wear leveller and collection are
/// `ftl.allocator`, `ftl.victim`, `ftl.wear` and `ftl.gc`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too little spare flash, or impossible options.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        let store = Store::compose(&shape, Above::titled(ABOUT.title))?;
        Ok(PageLevel::boxed(store, shape.logical_pages, Plain))
    }
}

/// A map that is kept in RAM whole, over whatever store.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Plain;

impl PageScheme for Plain {
    const PLACES_NOTHING: bool = true;
}
