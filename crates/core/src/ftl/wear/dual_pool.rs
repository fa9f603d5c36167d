//! Dual pool: worn blocks get cold data and are then left alone.
//!
//! **What it does.** Each block of a cluster belongs to the hot or to the cold pool, half of them to each at first. Besides its erases
//! each has those since it last changed its pool by a swap, its *effective* erases. After an erase, with a `threshold`:
//!
//! 1. If the most erases in the hot pool exceed the fewest in the cold pool by more than it, the least worn cold block's data move into that most
//!    worn hot block, which is emptied before if need be. The two change their pools, and their effective erases are 0.
//! 2. If the most effective erases in the cold pool exceed the fewest in the hot pool by more than it, that cold block becomes hot: it turned out to be.
//! 3. If erases in the hot pool lie more than twice the threshold apart, the least worn of it becomes cold.
//!
//! **When it wins**: a block that has been given cold data is protected, since it is now compared by its erases since then.
//! **When it loses**: as hot-cold swapping.
//!
//! Chang: "On efficient wear leveling for large-scale flash-memory storage systems", SAC 2007.
//!
//! **Where the paper is silent.** This is a reconstruction from descriptions. The threshold: 16. Which blocks are hot at first: those with the
//! lower numbers. If the least worn cold block holds nothing, the two just change their pools; if one of them is
//! being written, is being collected or rests, no data move until the next erase. Rules 2 and 3 apply
//! all the same, to one block each; only a swap that is due puts them off. A swap's pages first fill up
//! what an earlier one has left of a block; if all of them find room there, the hot block has got
//! nothing, and the two do not change their pools yet. Ties: the lowest number. The pools lie in RAM: after a power cut they are halves again. What the drive was filled with
//! leaves blocks in the pools that they had come to.
//!
//! Uniform random writes are levelled less than by hot-cold swapping, as a cold block turns hot only
//! after erases of its own: with blocks of 16 pages, 128 of them, at a threshold of 16 they lie 51
//! erases apart (70 without a leveller, 17 under `hot-cold`), and at a threshold of 4 the drive has
//! 89 % of its ideal life (87 %, 97 %). A longer `rest` levels more, for more copies.
//!
//! Cost of a page write: O(1); of an erase O(blocks of the cluster).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Blocks, Built, Leveller, Options, REST, Shape, State, Swap};
use crate::support::bits::Bits;
use crate::support::registry::{About, Choice};

/// What `list` says.
pub const ABOUT: About = About {
    title: "dual pool",
    summary: "A hot and a cold pool of blocks; worn hot blocks get the coldest data and change pools.",
    paper: "Chang, On efficient wear leveling for large-scale flash-memory storage systems, SAC",
    year: Some(2007),
    reconstruction: true,
    choices: &[
        Choice { option: "threshold", others: &["4", "64"], open: "how far apart erase counts may lie" },
        REST,
    ],
    source: include_str!("dual_pool.rs"),
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
        let (cluster, blocks) = (shape.cluster(self.0.cluster)?, shape.geometry.blocks());
        let mut hot = Bits::new(blocks as usize);
        for first in (0..blocks).step_by(cluster as usize) {
            let size = cluster.min(blocks - first);
            hot.set_range(first as usize, (first + size / 2) as usize);
        }
        let leveller = DualPool { threshold: self.0.threshold()?, hot, since: vec![0; blocks as usize] };
        Ok(Some((Box::new(leveller), cluster, self.0.rest)))
    }
}

#[derive(Debug)]
struct DualPool {
    threshold: u32,
    hot: Bits,
    /// Erases of each block when it last changed its pool by a swap.
    since: Vec<u32>,
}

impl DualPool {
    /// Blocks of a pool that are not worn out.
    fn pool<'a>(&'a self, hot: bool, blocks: &'a dyn Blocks) -> impl Iterator<Item = u32> + 'a {
        blocks.range().filter(move |&b| self.hot.get(b as usize) == hot && blocks.state(b) != State::Retired)
    }

    fn effective(&self, block: u32, blocks: &dyn Blocks) -> u32 {
        blocks.erases(block).saturating_sub(self.since[block as usize])
    }

    fn change_pools(&mut self, swap: Swap, blocks: &dyn Blocks) {
        self.hot.set(swap.from as usize);
        self.hot.clear(swap.into as usize);
        for block in [swap.from, swap.into] {
            self.since[block as usize] = blocks.erases(block);
        }
    }
}

impl Leveller for DualPool {
    fn erased(&mut self, _block: u32, blocks: &dyn Blocks) -> Option<Swap> {
        let key = |block: u32| (blocks.erases(block), block);
        let apart = |high: u32, low: u32| blocks.erases(high).saturating_sub(blocks.erases(low));
        let worn = self.pool(true, blocks).max_by_key(|&b| (blocks.erases(b), std::cmp::Reverse(b)));
        if let Some(into) = worn
            && let Some(from) =
                self.pool(false, blocks).filter(|&b| blocks.may_move(b, into)).min_by_key(|&b| key(b))
            && apart(into, from) > self.threshold
        {
            let swap = Swap { from, into };
            match (blocks.state(from), blocks.state(into)) {
                (State::Closed(1..), State::Erased | State::Closed(_)) => return Some(swap),
                (State::Closed(0) | State::Erased, State::Erased | State::Closed(_)) => {
                    self.change_pools(swap, blocks);
                }
                _ => {}
            }
        }
        let busiest =
            self.pool(false, blocks).max_by_key(|&b| (self.effective(b, blocks), std::cmp::Reverse(b)));
        let idlest = self.pool(true, blocks).map(|b| self.effective(b, blocks)).min();
        if let (Some(block), Some(fewest)) = (busiest, idlest)
            && self.effective(block, blocks).saturating_sub(fewest) > self.threshold
        {
            self.hot.set(block as usize);
        }
        let least = |hot| self.pool(hot, blocks).min_by_key(|&b| key(b));
        let most = |hot| self.pool(hot, blocks).max_by_key(|&b| key(b));
        if let (Some(high), Some(low)) = (most(true), least(true))
            && apart(high, low) > 2 * self.threshold
        {
            self.hot.clear(low as usize);
        }
        None
    }

    fn forget(&mut self) {
        self.since.fill(0);
    }

    fn swapped(&mut self, swap: Swap, blocks: &dyn Blocks) {
        self.change_pools(swap, blocks);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Given;
    use super::*;

    fn pools(hot: &[usize], blocks: usize) -> DualPool {
        let mut bits = Bits::new(blocks);
        for &block in hot {
            bits.set(block);
        }
        DualPool { threshold: 16, hot: bits, since: vec![0; blocks] }
    }

    #[test]
    fn the_coldest_data_move_into_the_most_worn_hot_block() {
        // Hot: a with 20 erases, b with 5; cold: c with 2 and three valid pages, d with 4.
        let (a, b, c, d) = (0, 1, 2, 3);
        let closed = State::Closed;
        let mut blocks = Given(vec![(20, State::Erased), (5, closed(4)), (2, closed(3)), (4, closed(4))]);
        let mut leveller = pools(&[0, 1], 4);
        let swap = leveller.erased(a, &blocks).unwrap();
        assert_eq!(swap, Swap { from: c, into: a });
        // c is erased once for it.
        blocks.0[c as usize] = (3, State::Erased);
        blocks.0[a as usize].1 = closed(3);
        leveller.swapped(swap, &blocks);
        let hot: Vec<u32> = (0..4).filter(|&block| leveller.hot.get(block as usize)).collect();
        assert_eq!(hot, [b, c]);
        assert!([a, c].into_iter().all(|block| leveller.effective(block, &blocks) == 0));
        assert_eq!(leveller.erased(c, &blocks), None, "{d} has 4 erases, the most worn hot block 5");
    }

    #[test]
    fn erases_before_the_run_are_forgotten() {
        let mut leveller = pools(&[0], 2);
        leveller.since.fill(50);
        leveller.forget();
        let run = Given(vec![(20, State::Erased), (3, State::Closed(4))]);
        assert_eq!((leveller.effective(0, &run), leveller.effective(1, &run)), (20, 3));
    }

    #[test]
    fn pools_are_resized() {
        // A cold block that is erased again and again becomes hot.
        let blocks = Given(vec![(3, State::Busy), (3, State::Busy), (20, State::Busy), (4, State::Busy)]);
        let mut leveller = pools(&[0, 1], 4);
        assert_eq!(leveller.erased(2, &blocks), None);
        assert!(leveller.hot.get(2));
        // A hot block that is erased much less often than others becomes cold.
        let blocks = Given(vec![(40, State::Busy), (7, State::Busy), (39, State::Busy), (39, State::Busy)]);
        let mut leveller = pools(&[0, 1], 4);
        leveller.since = vec![40, 7, 39, 39];
        assert_eq!(leveller.erased(0, &blocks), None);
        assert!(!leveller.hot.get(1));
    }
}
