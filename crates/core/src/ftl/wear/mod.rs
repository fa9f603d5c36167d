//! Evening out erases: the wear levellers of page-level mappings, by name.
//!
//! Blocks that hold data which is never rewritten are never erased, and the others wear out for
//! them. After an erase a leveller may ask for a *swap*: the valid pages of one block move into
//! another one, and the first is erased. It looks at one *cluster* of blocks, those of some units;
//! only inside a cluster is wear levelled, and only there do pages move. Where no swap is due in a
//! cluster, the leveller is asked again for the unit of the erased block alone.
//!
//! The papers do not say how a swap is carried out where the pages do not fill the block that gets
//! them, nor what becomes of that block where they are not cold. Here the rest of it takes the
//! pages of the next swap, or those that collection moves next; and then the block rests (`rest`).
//! Closed part-filled, collection would gain most from it, and erase it again and again: on uniform
//! random writes the most worn of 1,024 blocks came to three times the erases that it has without a
//! leveller. So there is at most one part-filled block in a unit. A swap fills it first, whatever
//! block the leveller named; only what does not fit goes to that one, which stays as it is if all
//! fits. Collection takes it where it would open a new block for what it moves, and fresh pages
//! where no closed block gains anything. A block that rests is left alone by levellers as well.

pub mod dual_pool;
pub mod hot_cold;
pub mod none;
pub mod two_level;

use dyn_clone::DynClone;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ftl::alloc::Pools;
use crate::nand::Geometry;
use crate::support::ids::BlockId;
use crate::support::persist::Persist;
use crate::support::registry::Choice;

/// The valid pages of `from` move into `into`, and `from` is erased. What is valid in `into` before
/// that moves where collection puts it, and `into` is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swap {
    /// Block with the pages.
    pub from: BlockId,
    /// Block that gets them.
    pub into: BlockId,
}

/// What a block is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing: it is erased.
    Erased,
    /// It is full and has so many valid pages.
    Closed(u32),
    /// It is being written, or collected.
    Busy,
    /// It is worn out.
    Retired,
}

/// The blocks of a cluster, as they stand.
pub trait Blocks {
    /// Their numbers.
    fn range(&self) -> Range<BlockId>;
    /// How often a block was erased.
    fn erases(&self, block: BlockId) -> u32;
    /// What a block is used for.
    fn state(&self, block: BlockId) -> State;
    /// Whether data may move between two blocks. From unit to unit it may as long as the one that
    /// gets it is no fuller than the other and has room for it, and not where units take turns: a
    /// unit that is full of cold data copies more, and wears the faster for it unless the host's
    /// pages go elsewhere.
    fn may_move(&self, from: BlockId, into: BlockId) -> bool;
    /// The same as far as it depends on the unit of `from`: if not, no block of that may.
    fn may_give(&self, from: BlockId, into: BlockId) -> bool;
}

/// Levels wear.
pub trait Leveller: DynClone + Persist + std::fmt::Debug + Send + Sync {
    /// Collection has erased `block`, one of the cluster `blocks`: the swap that is due now, if one
    /// is. It is not carried out while there is no room for it; then it is asked for again after
    /// the next erase.
    fn erased(&mut self, block: BlockId, blocks: &dyn Blocks) -> Option<Swap>;

    /// A block has been erased, for whatever reason: how often it has been by now.
    fn counted(&mut self, _block: BlockId, _erases: u32) {}

    /// A block is worn out.
    fn retired(&mut self, _block: BlockId) {}

    /// A swap has been carried out.
    fn swapped(&mut self, _swap: Swap, _blocks: &dyn Blocks) {}

    /// All blocks count as never erased from now on: the drive was filled, and its run begins.
    fn forget(&mut self);

    /// Whether new data goes to the erased block with the fewest erases; else to the one erased
    /// longest ago.
    fn takes_least_worn(&self) -> bool {
        false
    }
}

dyn_clone::clone_trait_object!(Leveller);
crate::persist_objects!(Leveller);

/// What a leveller is built for.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// The array.
    pub geometry: &'a Geometry,
    /// Between which units pages may move.
    pub pools: &'a Pools,
}

/// A leveller, the blocks of a cluster, and how many rounds a block rests that a swap has filled.
pub type Built = Option<(Box<dyn Leveller>, u32, u32)>;

impl Shape<'_> {
    /// The blocks of a cluster of so many units; by default of one.
    ///
    /// # Errors
    /// Pages cannot move between those units.
    fn cluster(&self, units: Option<u32>) -> Result<u32, String> {
        let most = if self.pools.count() == 1 { self.geometry.units } else { 1 };
        let units = units.unwrap_or(1);
        if units == 0 {
            return Err("ftl.wear.cluster: found 0, expected at least 1 unit".into());
        }
        if units > most && most == 1 && self.geometry.units > 1 {
            return Err(format!(
                "ftl.wear.cluster: found {units} units, but ftl.allocator keeps pages on their \
                 units, so that wear can only be levelled inside each; use 1, or another \
                 ftl.allocator"
            ));
        }
        if units > self.geometry.units {
            return Err(format!(
                "ftl.wear.cluster: found {units} units, but the array has {}; use that, or less",
                self.geometry.units
            ));
        }
        Ok(units * self.geometry.blocks_per_unit)
    }
}

/// What the papers of all levellers leave open.
const REST: Choice = Choice {
    option: "rest",
    others: &["0", "4"],
    open: "whether a worn block that got data which is not cold is collected as any other",
};

/// What can be set for every leveller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct Options {
    /// Erases that the blocks that are compared may lie apart: the most and the least worn one of a
    /// cluster; under `dual-pool` the most worn hot and the least worn cold one.
    threshold: u32,
    /// Units, in the order of their numbers, among which wear is levelled; several only where the
    /// allocator may put any page on any unit. What is left of the units is a cluster, too.
    /// Default: each unit by itself.
    cluster: Option<u32>,
    /// How long collection passes over a worn block that a swap has filled: until its unit has
    /// erased as many blocks as it has so many times. Less for the first of them where more than an
    /// eighth of the unit's blocks would rest, and for all where collection gains nothing from the
    /// others. 0: such a block is collected as any other.
    rest: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { threshold: 16, cluster: None, rest: 2 }
    }
}

impl Options {
    fn threshold(&self) -> Result<u32, String> {
        if self.threshold == 0 {
            return Err("ftl.wear.threshold: found 0, expected at least 1 erase".into());
        }
        Ok(self.threshold)
    }
}

crate::registry! {
    /// How wear is levelled: a name, or a table with `kind` and the leveller's options.
    "wear leveller" WearConfig builds Built, from Shape<'_>;
    "none" => None in none,
    "hot-cold" => HotCold in hot_cold,
    "two-level" => TwoLevel in two_level,
    "dual-pool" => DualPool in dual_pool,
}

impl Default for WearConfig {
    fn default() -> Self {
        Self::None(none::Config::default())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Blocks given as `(erases, state)`.
    #[derive(Debug, Clone)]
    pub struct Given(pub Vec<(u32, State)>);

    impl Blocks for Given {
        fn range(&self) -> Range<BlockId> {
            BlockId(0)..BlockId(self.0.len() as u32)
        }
        fn erases(&self, block: BlockId) -> u32 {
            self.0[block.index()].0
        }
        fn state(&self, block: BlockId) -> State {
            self.0[block.index()].1
        }
        fn may_move(&self, _from: BlockId, _into: BlockId) -> bool {
            true
        }
        fn may_give(&self, _from: BlockId, _into: BlockId) -> bool {
            true
        }
    }
}
