//! Hot-cold swapping: cold data moves to worn blocks.
//!
//! **What it does.** When the most and the fewest erases of a cluster's blocks lie more than
//! `threshold` apart, the valid pages of the block with the fewest erases move into the erased
//! block with the most, and the former is erased: it holds cold data, or it would have been erased
//! more often. One swap at most for each block that collection erases. From unit to unit data move
//! only into one that is no fuller than the other, and not under an allocator that gives all units
//! the same.
//!
//! **When it wins**: much of the data is never rewritten. **When it loses**: all data is rewritten
//! about equally often; then its copies are for nothing.
//!
//! Chang and Kuo: "Efficient management for large-scale flash-memory storage systems with resource
//! conservation", ACM TOS 1(4), 2005; the multi-bank thesis (Li 2009), sections 2.3.3 and 5.1.
//!
//! **Where the paper is silent.** The threshold is a parameter there: 16 here. Few blocks are
//! erased at a time, and the most worn one may not be among them: the block that takes the pages
//! has to be more worn than the one that they leave by more than the threshold, too. The block that
//! is left is the least worn one that is closed, does not rest and holds valid pages: the fewest
//! erases of all only say whether a swap is due. Pages first fill up what an earlier swap has left
//! of a block, and the named one gets the rest, if any. In a cluster of several units the erased
//! block is the most worn one of all, and the least worn is looked for among those whose pages may
//! move into it: a unit that gets some has no more valid pages than the other, and keeps an erased
//! block and a block's worth of pages that are not valid. If no such swap is due, one inside the
//! unit that collection erased a block of may be. Ties: the lowest number. What is left of the
//! block is filled up, and it then rests, as under all levellers: `rest = 0` collects it as any
//! other, and uniform random writes wear it on.
//!
//! Cost of a page write: O(1); of an erase O(blocks of the cluster) while wear is uneven.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Blocks, Built, Leveller, Options, REST, Shape, State, Swap};
use crate::support::ids::BlockId;
use crate::support::registry::{About, Choice};

/// What `list` says.
pub const ABOUT: About = About {
    title: "hot-cold swapping",
    summary: "When erase counts lie too far apart, the least worn block's data moves to a worn \
        block.",
    paper: "Chang and Kuo, Efficient management for large-scale flash-memory storage systems, ACM \
        TOS 1(4)",
    year: Some(2005),
    choices: &[
        Choice {
            option: "threshold",
            others: &["4", "64"],
            open: "how far apart erase counts may lie",
        },
        REST,
    ],
    source: include_str!("hot_cold.rs"),
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
        let leveller = Swapping::new(self.0.threshold()?, cluster, shape.geometry.blocks(), false);
        Ok(Some((Box::new(leveller), cluster, self.0.rest)))
    }
}

/// Swaps cold data into worn blocks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Swapping {
    threshold: u32,
    /// Blocks of a cluster.
    cluster: u32,
    /// Of each cluster the most erases of a block, and at least how many every block has.
    bounds: Vec<(u32, u32)>,
    least_worn_first: bool,
}

impl Swapping {
    pub(super) fn new(threshold: u32, cluster: u32, blocks: u32, least_worn_first: bool) -> Self {
        let bounds = vec![(0, 0); blocks.div_ceil(cluster) as usize];
        Self { threshold, cluster, bounds, least_worn_first }
    }
}

impl Leveller for Swapping {
    fn erased(&mut self, block: BlockId, blocks: &dyn Blocks) -> Option<Swap> {
        let bounds = &mut self.bounds[(block.0 / self.cluster) as usize];
        let (most, least) = bounds;
        *most = (*most).max(blocks.erases(block));
        if *most - (*least).min(*most) <= self.threshold {
            return None;
        }
        // The bounds may be old: all blocks are looked at, and what is found is kept.
        let all = || BlockId::each(blocks.range());
        let alive = || all().filter(|&b| blocks.state(b) != State::Retired);
        let erases = |&b: &BlockId| blocks.erases(b);
        let (most, least) =
            (alive().map(|b| erases(&b)).max()?, alive().map(|b| erases(&b)).min()?);
        if all().len() as u32 == self.cluster {
            *bounds = (most, least);
        }
        if most - least <= self.threshold {
            return None;
        }
        let is_erased = |&b: &BlockId| blocks.state(b) == State::Erased;
        let into = all().filter(is_erased).max_by_key(|b| (erases(b), std::cmp::Reverse(*b)))?;
        let holds_data = |b| matches!(blocks.state(b), State::Closed(valid) if valid > 0);
        let movable = all().filter(|&b| holds_data(b) && blocks.may_move(b, into));
        let from = movable.min_by_key(erases)?;
        (erases(&into).saturating_sub(erases(&from)) > self.threshold)
            .then_some(Swap { from, into })
    }

    fn forget(&mut self) {
        self.bounds.fill((0, 0));
    }

    fn takes_least_worn(&self) -> bool {
        self.least_worn_first
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Given;
    use super::*;

    #[test]
    fn erases_before_the_run_are_forgotten() {
        // When the filling ends, all blocks have been erased about as often.
        let worn = State::Closed(4);
        let filled = Given(vec![(117, worn), (105, worn), (106, worn), (107, worn)]);
        let mut leveller = Swapping::new(16, 4, 4, false);
        assert_eq!(leveller.erased(BlockId(0), &filled), None);
        leveller.forget();
        let run = Given(vec![(20, State::Erased), (3, worn), (10, worn), (9, worn)]);
        assert_eq!(
            leveller.erased(BlockId(0), &run),
            Some(Swap { from: BlockId(1), into: BlockId(0) })
        );
    }

    #[test]
    fn cold_data_moves_into_the_most_worn_erased_block() {
        let closed = State::Closed;
        let mut blocks =
            Given(vec![(20, State::Erased), (3, closed(4)), (10, State::Erased), (9, closed(2))]);
        let mut leveller = Swapping::new(16, 4, 4, false);
        assert_eq!(
            leveller.erased(BlockId(0), &blocks),
            Some(Swap { from: BlockId(1), into: BlockId(0) })
        );
        // At the threshold nothing happens yet.
        blocks.0[0].0 = 19;
        assert_eq!(Swapping::new(16, 4, 4, false).erased(BlockId(0), &blocks), None);
        // The least worn block holds nothing: no data is as cold.
        blocks.0[0].0 = 20;
        blocks.0[1].1 = State::Erased;
        assert_eq!(Swapping::new(16, 4, 4, false).erased(BlockId(0), &blocks), None);
        // A worn-out block no longer counts.
        let blocks = Given(vec![(50, State::Retired), (3, closed(4)), (10, State::Erased)]);
        assert_eq!(Swapping::new(16, 3, 3, false).erased(BlockId(2), &blocks), None);
    }
}
