//! Sets of logical blocks as runs of neighbours: memory grows with the number of gaps, not with
//! addresses.

use std::collections::BTreeMap;

/// The blocks `from`, `from` + 1, ... (`len` of them) and where they go: `to`, `to` + 1, ...
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub from: u64,
    pub len: u64,
    pub to: u64,
}

/// Blocks that are in use.
#[derive(Debug, Clone, Default)]
pub(super) struct BlockSet {
    /// First block of each run and the block after its last; runs neither overlap nor touch.
    runs: BTreeMap<u64, u64>,
    /// The run changed last.
    recent: (u64, u64),
}

impl BlockSet {
    /// Adds the blocks from `first` to `last`, both included.
    pub fn insert(&mut self, first: u64, last: u64) {
        let (mut start, mut end) = (first, last + 1);
        if self.recent.0 <= start && end <= self.recent.1 {
            return;
        }
        if let Some((&before, &its_end)) = self.runs.range(..=start).next_back()
            && its_end >= start
        {
            start = before;
            end = end.max(its_end);
        }
        while let Some((&next, &its_end)) = self.runs.range(start..).next()
            && next <= end
        {
            end = end.max(its_end);
            self.runs.remove(&next);
        }
        self.runs.insert(start, end);
        self.recent = (start, end);
    }

    /// Number of blocks.
    pub fn len(&self) -> u64 {
        self.runs.iter().map(|(start, end)| end - start).sum()
    }

    /// All runs moved together, in ascending order, from block 0 on.
    pub fn compacted(&self) -> Vec<Run> {
        let mut to = 0;
        let compact = |(&from, &end): (&u64, &u64)| {
            let run = Run { from, len: end - from, to };
            to += run.len;
            run
        };
        self.runs.iter().map(compact).collect()
    }

    /// Blocks below `limit` stay, the others take the free places below it in ascending order;
    /// `None` where these are too few.
    pub fn moved_below(&self, limit: u64) -> Option<Vec<Run>> {
        let mut free = self.gaps_below(limit).into_iter();
        let (mut to, mut room) = (0, 0);
        let mut moves = Vec::new();
        for (&start, &end) in &self.runs {
            if start < limit {
                moves.push(Run { from: start, len: end.min(limit) - start, to: start });
            }
            let mut from = start.max(limit);
            while from < end {
                if room == 0 {
                    (to, room) = free.next()?;
                }
                let len = room.min(end - from);
                moves.push(Run { from, len, to });
                (from, to, room) = (from + len, to + len, room - len);
            }
        }
        Some(moves)
    }

    /// Runs of blocks below `limit` that are not in the set, as (first, length).
    fn gaps_below(&self, limit: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut next = 0;
        for (&start, &end) in self.runs.range(..limit) {
            if start > next {
                gaps.push((next, start - next));
            }
            next = end;
        }
        if next < limit {
            gaps.push((next, limit - next));
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn set(runs: &[(u64, u64)]) -> BlockSet {
        let mut set = BlockSet::default();
        for &(first, last) in runs {
            set.insert(first, last);
        }
        set
    }

    #[test]
    fn runs_grow_together() {
        let set = set(&[(5, 6), (1, 1), (9, 9), (2, 4), (8, 8)]);
        assert_eq!(set.runs, BTreeMap::from([(1, 7), (8, 10)]));
        assert_eq!(set.len(), 8);
        assert_eq!(
            set.compacted(),
            [Run { from: 1, len: 6, to: 0 }, Run { from: 8, len: 2, to: 6 }]
        );
    }

    #[test]
    fn blocks_beyond_the_limit_take_free_places() {
        let set = set(&[(1, 2), (4, 4), (7, 9), (20, 21)]);
        let run = |from, len, to| Run { from, len, to };
        assert_eq!(
            set.moved_below(8).unwrap(),
            [run(1, 2, 1), run(4, 1, 4), run(7, 1, 7), run(8, 1, 0), run(9, 1, 3), run(20, 2, 5)]
        );
        assert_eq!(set.moved_below(7), None);
    }

    proptest! {
        /// Against a plain set of numbers.
        #[test]
        fn agrees_with_a_plain_set(spans in prop::collection::vec((0_u64..60, 0_u64..8), 0..40), limit in 1_u64..80) {
            let mut plain = BTreeSet::new();
            let mut set = BlockSet::default();
            for (first, more) in spans {
                set.insert(first, first + more);
                plain.extend(first..=first + more);
            }
            prop_assert_eq!(set.len(), plain.len() as u64);
            let each = |runs: &[Run]| -> Vec<(u64, u64)> {
                runs.iter().flat_map(|run| (0..run.len).map(|i| (run.from + i, run.to + i))).collect()
            };
            let compact: Vec<_> = plain.iter().copied().zip(0..).collect();
            prop_assert_eq!(each(&set.compacted()), compact);
            match set.moved_below(limit) {
                None => prop_assert!(plain.len() as u64 > limit),
                Some(moves) => {
                    let moves = each(&moves);
                    prop_assert!(moves.iter().map(|pair| pair.0).eq(plain.iter().copied()));
                    prop_assert!(moves.iter().all(|&(from, to)| to < limit && (from >= limit || from == to)));
                    let places: BTreeSet<_> = moves.iter().map(|pair| pair.1).collect();
                    prop_assert_eq!(places.len(), moves.len());
                }
            }
        }
    }
}
