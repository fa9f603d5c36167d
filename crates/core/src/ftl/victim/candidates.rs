//! The blocks of a unit as a victim policy sees them.

use crate::support::ids::{BlockId, PlaneId};
use crate::support::minima::{ABSENT, Minima};

/// The closed blocks of a unit. A block's number counts from the unit's first one.
#[derive(Debug, Clone)]
pub struct Candidates<'a> {
    pub(crate) closed: &'a Minima,
    /// The unit's first block, and its number of blocks.
    pub(crate) first: BlockId,
    pub(crate) count: u32,
    /// Pages of a block that hold data, and pages of a program.
    pub(crate) pages: u32,
    pub(crate) program: u32,
    /// Erases of all blocks.
    pub(crate) erases: &'a [u32],
    /// Region of all blocks' pages, where there are several.
    pub(crate) regions: &'a [u8],
    /// What the policy asked to be kept of all blocks; empty where it did not.
    pub(crate) history: HistoryView<'a>,
}

/// What happened to blocks, as far as a policy looks at it.
#[derive(Debug, Clone, Copy, Default)]
pub struct HistoryView<'a> {
    /// Pages that the host has written so far.
    pub(crate) now: u64,
    /// How many those were when a page of each block was last written or became invalid.
    pub(crate) changed: &'a [u64],
    /// The order in which blocks were closed.
    pub(crate) closed: &'a [u64],
    /// The order in which blocks were erased last; 0 for those that never were.
    pub(crate) erased: &'a [u64],
}

#[cfg(test)]
impl Candidates<'_> {
    /// For tests of a policy by itself: a unit whose blocks were closed in the order of their
    /// numbers, with so many valid pages each and of these regions.
    pub(crate) fn alone<T>(
        blocks: &[(u16, u8)],
        pages: u32,
        f: impl FnOnce(&Candidates<'_>) -> T,
    ) -> T {
        let mut closed = Minima::new(blocks.len());
        for (block, &(valid, _)) in blocks.iter().enumerate() {
            closed.set(block, valid);
        }
        let order: Vec<u64> = (1..).take(blocks.len()).collect();
        let regions: Vec<u8> = blocks.iter().map(|&(_, region)| region).collect();
        let erases = vec![0; blocks.len()];
        f(&Candidates {
            closed: &closed,
            first: BlockId(0),
            count: blocks.len() as u32,
            pages,
            program: 1,
            erases: &erases,
            regions: &regions,
            history: HistoryView { closed: &order, ..HistoryView::default() },
        })
    }
}

impl Candidates<'_> {
    /// The unit's number.
    pub fn unit(&self) -> PlaneId {
        PlaneId(self.first.0 / self.count)
    }

    /// Where lists of all blocks have a block of the unit.
    #[inline]
    fn index(&self, block: u32) -> usize {
        (self.first + block).index()
    }

    /// Blocks of the unit, closed or not.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Pages of a block.
    pub fn pages_per_block(&self) -> u32 {
        self.pages
    }

    /// Whether collecting a block with so many valid pages gains room.
    #[inline]
    pub fn gains(&self, valid: u32) -> bool {
        valid + self.program <= self.pages
    }

    /// The blocks that collection gains from, the lowest first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.count).filter(|&block| self.closed(block).is_some_and(|valid| self.gains(valid)))
    }

    /// The valid pages of a closed block; `None` for one that is open or erased.
    #[inline]
    pub fn closed(&self, block: u32) -> Option<u32> {
        let valid = self.closed.get(block as usize);
        (valid != ABSENT).then_some(u32::from(valid))
    }

    /// The valid pages of a block of [`Self::iter`].
    #[inline]
    pub fn valid(&self, block: u32) -> u32 {
        u32::from(self.closed.get(block as usize))
    }

    /// The block with the fewest valid pages that collection gains from, the lowest among equals.
    /// O(log blocks).
    #[inline]
    pub fn emptiest(&self) -> Option<u32> {
        self.closed
            .min()
            .filter(|&(_, valid)| self.gains(u32::from(valid)))
            .map(|(block, _)| block as u32)
    }

    /// The same, the highest among equals. O(log blocks).
    pub fn emptiest_last(&self) -> Option<u32> {
        self.closed
            .min_last()
            .filter(|&(_, valid)| self.gains(u32::from(valid)))
            .map(|(block, _)| block as u32)
    }

    /// The region of the pages in a block; 0 where all lie together.
    #[inline]
    pub fn region(&self, block: u32) -> u8 {
        self.regions.get(self.index(block)).copied().unwrap_or(0)
    }

    /// How often a block was erased.
    #[inline]
    pub fn erases(&self, block: u32) -> u32 {
        self.erases[self.index(block)]
    }

    /// Fewest and most erases of the unit's blocks.
    pub fn erases_between(&self) -> (u32, u32) {
        let all = &self.erases[self.first.index()..(self.first + self.count).index()];
        all.iter().fold((u32::MAX, 0), |(fewest, most), &e| (fewest.min(e), most.max(e)))
    }

    /// Pages that the host has written since a page of the block was last written or became
    /// invalid; for policies that look at age.
    pub fn age(&self, block: u32) -> u64 {
        self.history.changed.get(self.index(block)).map_or(0, |at| self.history.now - at)
    }

    /// When the block was closed, in the order of closing; for policies that look at that order.
    pub fn closed_at(&self, block: u32) -> u64 {
        self.history.closed.get(self.index(block)).copied().unwrap_or(0)
    }

    /// When the block was last erased, in the order of erasing, 0 if it never was; for policies
    /// that look at that order.
    pub fn erased_at(&self, block: u32) -> u64 {
        self.history.erased.get(self.index(block)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::ftl::victim::VictimConfig;

    /// Blocks with so many valid pages of ten, closed in this order; which ones a policy chooses in
    /// a hundred tries.
    fn chosen(policy: Value, valid: &[u16]) -> Vec<u32> {
        chosen_of(policy, valid, &vec![0; valid.len()], &[])
    }

    /// The same of blocks that were erased so often, of which the `fresh` ones have just been
    /// written.
    fn chosen_of(policy: Value, valid: &[u16], erases: &[u32], fresh: &[u32]) -> Vec<u32> {
        let policy: VictimConfig = serde_json::from_value(policy).unwrap();
        let mut victim = policy.build(()).unwrap();
        let mut closed = Minima::new(valid.len());
        for (block, &valid) in valid.iter().enumerate() {
            closed.set(block, valid);
        }
        let order: Vec<u64> = (1..).take(valid.len()).collect();
        let mut changed = vec![0; valid.len()];
        for &block in fresh {
            changed[block as usize] = 100;
        }
        let kept = |wanted, of| if wanted { of } else { &[][..] };
        let looks = victim.looks_at();
        let history = HistoryView {
            now: 100,
            changed: kept(looks.age, &changed),
            closed: kept(looks.order, &order),
            erased: &[],
        };
        let blocks = Candidates {
            closed: &closed,
            first: BlockId(0),
            count: valid.len() as u32,
            pages: 10,
            program: 1,
            erases,
            regions: &[],
            history,
        };
        let mut found: Vec<u32> = (0..100).filter_map(|_| victim.choose(&blocks)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn the_window_holds_the_blocks_closed_longest_ago() {
        let windowed = |window: f64, valid: &[u16]| {
            chosen(json!({"kind": "windowed-greedy", "window": window}), valid)
        };
        assert_eq!(windowed(2.0, &[5, 4, 1, 0]), [1]);
        // A block from which nothing is gained keeps its place in the window.
        assert_eq!(windowed(2.0, &[10, 4, 1, 0]), [1]);
        assert_eq!(windowed(3.0, &[10, 4, 1, 0]), [2]);
        assert_eq!(windowed(4.0, &[10, 4, 1, 0]), [3]);
        // Nothing is gained inside the window: the oldest beyond it.
        assert_eq!(windowed(2.0, &[10, 10, 3, 0]), [2]);
        assert_eq!(windowed(2.0, &[10, 10, 10, 10]), [0; 0]);
    }

    #[test]
    fn age_and_wear_outweigh_valid_pages() {
        let policies = |valid: &[u16], erases: &[u32], fresh: &[u32]| {
            let of = |name: &str| chosen_of(json!(name), valid, erases, fresh);
            ["greedy", "cost-benefit", "cat", "leveling-degree"].map(of)
        };
        // Nothing but valid pages tells the blocks apart.
        assert_eq!(policies(&[5, 4], &[0, 0], &[]), [[1]; 4]);
        // The emptier block has just been written.
        assert_eq!(policies(&[5, 4], &[0, 0], &[1]), [[1], [0], [0], [1]]);
        // It was erased much more often.
        assert_eq!(policies(&[5, 4], &[1, 60], &[]), [[1], [1], [0], [0]]);
    }

    #[test]
    fn the_emptiest_of_many_draws_is_chosen() {
        let valid = [9, 8, 7, 6, 5, 4, 3, 2];
        assert_eq!(chosen(json!({"kind": "d-choices", "d": 200}), &valid), [7]);
        assert!(chosen(json!({"kind": "d-choices", "d": 1}), &valid).len() > 4);
    }

    #[test]
    fn a_share_of_invalid_pages_is_reached_by_whole_pages() {
        let random = |share: f64| {
            chosen(json!({"kind": "random", "least_invalid": share}), &[10, 9, 8, 7, 3])
        };
        assert_eq!(random(0.0), [1, 2, 3, 4]);
        assert_eq!(random(0.1), [1, 2, 3, 4]);
        // 1.5 of ten pages are two.
        assert_eq!(random(0.15), [2, 3, 4]);
        assert_eq!(random(0.3), [3, 4]);
        // 0.7 of ten pages are seven, though the product is a little more.
        assert_eq!(random(0.7), [4]);
    }
}
