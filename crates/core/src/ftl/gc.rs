//! How page-level mappings collect garbage: when it begins, what it costs, where copies go.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::support::registry::Choice;

/// What the papers of page-level mappings leave open of it.
pub const CHOICES: &[Choice] = &[
    Choice {
        option: "free_blocks",
        others: &["1.0", "4.0"],
        open: "how many erased blocks a unit has left when its collection begins",
    },
    Choice {
        option: "step_pages",
        others: &["1", "64"],
        open: "how many pages collection copies before host requests come in between",
    },
    Choice {
        option: "grain",
        others: &[r#""victim""#, r#""all""#],
        open: "how much of a collection is done before host requests come in between",
    },
];

/// Options of garbage collection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GcConfig {
    /// A unit that has filled a block is collected while it has this many erased blocks or fewer:
    /// their number (at least 1), or below 1 their share of the unit's blocks (0.05 is 5 %).
    /// Default: 1 for a single unit, which loses the least spare flash; 2 for several, where there
    /// is room, so that the units do not run dry together. Erased blocks are counted when a block
    /// of fresh pages is filled, and when a fresh page finds no room (one erased block of each unit
    /// is kept for collection). What is written of one logical block at once is written whole
    /// before collection begins; it goes on until the unit has more. Where no closed block gains
    /// anything, fresh pages go on in the open block of those that collection moves.
    pub free_blocks: Option<f64>,
    /// How much of a collection is done before host requests of its die come in between. Units that
    /// are collected at the same moment for no time (`cost = "free"`) take turns, so much each; one
    /// that has enough is looked at again after the others.
    pub grain: Grain,
    /// With `grain = "steps"`: pages that one step of collection copies at most.
    pub step_pages: u32,
    /// What collection costs.
    pub cost: GcCost,
    /// While no request is under way, units are collected until they have more erased blocks than
    /// this: their number, or below 1 their share. A request that comes ends it after the present
    /// step; for no time (`cost = "free"`) all of it is done. Default: collection never runs ahead
    /// of need.
    pub idle_free_blocks: Option<f64>,
    /// Where the valid pages of a victim go.
    pub copies: Copies,
    /// Regions of pages by how often they are written, each in blocks of its own (1 to 8). A page
    /// that is written again within `region_pages` goes up a region; one that is collected after
    /// more than that goes down. What was written last is told by when the block was opened in
    /// which a page lies, so that one that collection has just moved counts as new. 1 keeps all
    /// pages together, and apart only those that collection moves.
    pub regions: u32,
    /// What counts as soon, in pages that the host writes. Default: all that it sees.
    pub region_pages: Option<u64>,
}

impl Default for GcConfig {
    fn default() -> Self {
        Self {
            free_blocks: None,
            grain: Grain::Steps,
            step_pages: 8,
            cost: GcCost::Full,
            idle_free_blocks: None,
            copies: Copies::Unit,
            regions: 1,
            region_pages: None,
        }
    }
}

/// How much of a collection is done before host requests of its die come in between. Only host
/// reads that go before everything (`nand.scheduling = "read-first"`) do so at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Grain {
    /// `step_pages` copies, and the erase behind the last one of a block: requests that came in the
    /// meantime go first.
    #[default]
    Steps,
    /// A block: its copies and its erase.
    Victim,
    /// All of it: as many blocks as have to be erased until the unit has enough.
    All,
}

/// What collection costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GcCost {
    /// The time of its reads, programs and erases.
    #[default]
    Full,
    /// No time: pages move and blocks are erased at once, and are counted. So that an erase need
    /// not wait until the pages are stored that replace what it takes away, a power cut loses
    /// nothing that has left the buffer.
    Free,
}

/// Where the valid pages of a victim go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Copies {
    /// To a block of the same unit, by copy-back where `nand.copy_back` says so.
    #[default]
    Unit,
    /// To the units of the pool in turn, as far as they have erased blocks to spare, so that they
    /// are programmed in parallel.
    Spread,
}

impl GcConfig {
    /// A number of a unit's `blocks`, given as such or as a share.
    ///
    /// # Errors
    /// It is neither.
    pub(crate) fn blocks(key: &str, given: f64, blocks: u32) -> Result<u32, String> {
        let number =
            if given < 1.0 { libm::floor(given * f64::from(blocks)).max(1.0) } else { given };
        if given > 0.0 && number.fract() == 0.0 && number < f64::from(u32::MAX) {
            return Ok(number as u32);
        }
        Err(format!(
            "ftl.gc.{key}: found {given}, expected a whole number of blocks of at least 1, or \
             below 1 a share of a unit's blocks"
        ))
    }
}
