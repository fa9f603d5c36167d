//! Two-level wear levelling: new data to the least worn erased block, and cold data to worn blocks.
//!
//! **What it does.** First level: a block that is opened is the erased one with the fewest erases.
//! Second level: when the most and the fewest erases of a cluster's blocks lie more than
//! `threshold` apart, the pages of the least worn block move into the most worn erased one, as
//! under hot-cold swapping, so that the block that they leave can take changing data.
//!
//! **When it wins**: as hot-cold swapping, with fewer swaps. **When it loses**: the block taken may
//! be one whose erase has only just been issued.
//!
//! `STMicroelectronics`: "Wear leveling in single level cell NAND flash memories", application note
//! AN1822, 2006; the multi-bank thesis (Li 2009), section 5.1.
//!
//! **Where the paper is silent.** The threshold: 16. Where the cold data go: to the block with the
//! most erases, as the thesis says. Of erased blocks with as few erases the one that was erased
//! longest ago is opened; so it is with those that collection opens. All else is as under hot-cold
//! swapping.
//!
//! Cost of a page write: O(1); of opening a block O(erased blocks of the unit), of an erase
//! O(blocks of the cluster) while wear is uneven.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hot_cold::Swapping;
use super::{Built, Options, REST, Shape};
use crate::support::registry::{About, Choice};

/// What `list` says.
pub const ABOUT: About = About {
    title: "two-level wear levelling",
    summary: "New data to the least worn erased block; cold data to worn blocks when erase counts \
        lie too far apart.",
    paper: "STMicroelectronics, Wear leveling in single level cell NAND flash memories, AN1822",
    year: Some(2006),
    choices: &[
        Choice {
            option: "threshold",
            others: &["4", "64"],
            open: "how far apart erase counts may lie",
        },
        REST,
    ],
    source: include_str!("two_level.rs"),
    ..About::PLAIN
};

/// Options: those of all levellers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Config(Options);

impl Config {
    /// Builds the leveller.
    ///
    /// # Errors
    /// An impossible option.
    pub fn build(&self, shape: Shape<'_>) -> Result<Built, String> {
        let cluster = shape.cluster(self.0.cluster)?;
        let leveller = Swapping::new(self.0.threshold()?, cluster, shape.geometry.blocks(), true);
        Ok(Some((Box::new(leveller), cluster, self.0.rest)))
    }
}
