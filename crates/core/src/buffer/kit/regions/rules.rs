//! By which rules blocks move between the regions, and leave them: the thesis's, and what it leaves
//! open.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many pages of a block make it move to the block region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Threshold {
    /// It starts at 1 and follows the share of the block region (Algorithm 3.4).
    Dynamic,
    /// This many, 1 to one more than a block has; 1 keeps everything in the block region, the
    /// largest in the page region.
    #[serde(untagged)]
    Static(u32),
}

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let value = serde_json::Value::deserialize(deserializer)?;
        if value == "dynamic" {
            return Ok(Self::Dynamic);
        }
        let pages = value.as_u64().and_then(|pages| u32::try_from(pages).ok());
        pages.map(Self::Static).ok_or_else(|| {
            D::Error::custom(format!(
                "found {value}, expected \"dynamic\" or a number of pages, at most one more than a \
                 block has"
            ))
        })
    }
}

/// The order of the page region (section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageOrder {
    /// The least recently used page leaves.
    #[default]
    Lru,
    /// The least often used one, least recently among equals.
    Lfu,
}

/// Which of equally popular blocks leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SizeTie {
    /// That with most pages (Algorithm 3.3).
    #[default]
    MostPages,
    /// That with fewest (section 3.5.2).
    FewestPages,
}

/// Which of blocks that are equal in popularity and pages leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tie {
    /// Any.
    #[default]
    Random,
    /// That with the lowest number.
    LowestBlock,
}

/// When room is made for the pages that a request brings to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Room {
    /// For all of them, before the first is taken in.
    #[default]
    Request,
    /// For each of them when it comes; a block that is being written may leave in favour of the
    /// rest of itself.
    Page,
}

/// Options of HBM, which CBM shares a part of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Config")]
#[expect(clippy::struct_excessive_bools, reason = "the scheme's own yes-or-no options")]
pub struct Rules {
    /// Pages of a block in the page region that make it move: `"dynamic"` or a number.
    pub threshold: Threshold,
    /// Order of the page region.
    pub page_order: PageOrder,
    /// Which of equally popular blocks leaves.
    pub size_tie: SizeTie,
    /// Which of blocks that are equal in that, too.
    pub tie: Tie,
    /// When room is made for the pages that a request brings to a block.
    pub room: Room,
    /// A victim from the page region takes the other pages of its block along.
    pub compensation: bool,
    /// Read hits make a block more popular.
    pub read_hits_count: bool,
    /// A block collects popularity while its pages are in the page region.
    pub page_region_counts: bool,
    /// Smallest share of the block region; null: two blocks (Table 3.1).
    pub alpha: Option<f64>,
    /// Largest share of the block region; null: 0.1, or 0.2 from 8192 pages on, or twice alpha
    /// (four blocks) where alpha would be above it (Table 3.1).
    pub beta: Option<f64>,
    /// Requests between two changes of the threshold.
    pub settle: u64,
    /// Pages that leave the block region for as many that come change its size, so that the
    /// threshold may move.
    pub exchange_counts: bool,
    /// Seed of the random choice.
    pub seed: u64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            threshold: Threshold::Dynamic,
            page_order: PageOrder::Lru,
            size_tie: SizeTie::MostPages,
            tie: Tie::Random,
            room: Room::Request,
            compensation: true,
            read_hits_count: true,
            page_region_counts: true,
            alpha: None,
            beta: None,
            settle: 100,
            exchange_counts: false,
            seed: 1,
        }
    }
}
