//! Merges: the run in the sequential log block, and the logical blocks of the oldest random one.

use super::{Entry, Fast, Random, Sequential};
use crate::ftl::block_level::blocks::{Blocks, Way};
use crate::ftl::context::{Cx, PageOut};
use crate::nand::{Cause, JoinId};
use crate::support::ids::{BlockId, LogicalBlock, Lpn};

impl Fast {
    fn way(&self, blocks: &Blocks, cx: &Cx<'_>, run: Sequential) -> Way {
        blocks.way(cx.flash, run.lbn, run.block, self.config.partial_merge)
    }

    /// Finishes the run in the sequential log block, which is then empty; `false` while there is no
    /// block to take.
    pub(super) fn finish(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, at_last: bool) -> bool {
        let Some(run) = self.sequential else { return true };
        let way = self.way(blocks, cx, run);
        let can = way != Way::Full || blocks.can_fold(cx, at_last);
        if can {
            self.merge(blocks, cx, run.lbn, way, (&[], JoinId::NONE));
        }
        can
    }

    /// A page that breaks the run is folded into a data block together with it; `false` while there
    /// is no block to take.
    pub(super) fn fold_in(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        run: Sequential,
        fresh: (&[PageOut], JoinId),
    ) -> bool {
        let (_, offset) = blocks.split(fresh.0[0].lpn);
        let way = match self.way(blocks, cx, run) {
            Way::Switch | Way::Partial if offset > run.next => Way::Partial,
            _ => Way::Full,
        };
        if way == Way::Full && !blocks.can_take(cx, 1) {
            return false;
        }
        self.merge(blocks, cx, run.lbn, way, fresh);
        true
    }

    /// Folds a logical block into one.
    fn merge(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        lbn: LogicalBlock,
        way: Way,
        fresh: (&[PageOut], JoinId),
    ) {
        let run = self.sequential.take_if(|run| run.lbn == lbn);
        let own = [blocks.data[lbn.index()], run.map_or(BlockId::NONE, |run| run.block)];
        blocks.merge(cx, lbn, &own, way, fresh);
    }

    /// The logical block of the next page in the oldest random log block that is the last word on
    /// something, `coming` left out; from entry `scanned` on.
    fn next_in_victim(
        &self,
        blocks: &Blocks,
        coming: Lpn,
        scanned: &mut usize,
    ) -> Option<LogicalBlock> {
        let log = self.random.front()?;
        let base = blocks.geometry.ppn(log.block, 0);
        let rest = log.entries.iter().enumerate().skip(*scanned);
        let found = rest.map(|(page, entry)| (page, base + page as u32, *entry)).find_map(
            |(page, ppn, entry)| match entry {
                Entry::Page(lpn) => {
                    (lpn != coming && blocks.is_last(lpn, ppn)).then(|| (page, blocks.split(lpn).0))
                }
                Entry::Tombstone(lbn) => blocks.speaks_of(lbn, ppn).then_some((page, lbn)),
            },
        );
        *scanned = found.map_or(log.entries.len(), |(page, _)| page);
        found.map(|(_, lbn)| lbn)
    }

    /// Empties and erases the oldest random log block, to make room for logical page `coming` (or
    /// for nothing, [`Lpn::NONE`]); `false` while there is no block to take, then it goes on from
    /// there the next time.
    pub(super) fn reclaim(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        coming: Lpn,
        at_last: bool,
    ) -> bool {
        let mut scanned = 0;
        while let Some(lbn) = self.next_in_victim(blocks, coming, &mut scanned) {
            if self.sequential.is_some_and(|run| run.lbn == lbn) {
                if !self.finish(blocks, cx, at_last) {
                    return false;
                }
            } else if blocks.can_fold(cx, at_last) {
                self.merge(blocks, cx, lbn, Way::Full, (&[], JoinId::NONE));
            } else {
                return false;
            }
        }
        let holds_coming = |log: &Random| !coming.is_none() && blocks.holder(coming) == log.block;
        let is_replaced = self.random.front().is_some_and(holds_coming);
        if is_replaced && !blocks.can_take(cx, 1) {
            // Nothing may come in between: until it is written, the victim holds the last word on
            // it. That may be a version that has been trimmed, which no tombstone says yet: without
            // it an older one would come back after a power cut.
            return false;
        }
        if let Some(log) = self.random.pop_front() {
            if is_replaced {
                self.leaving = log.block;
            } else {
                // Whatever took over its pages holds the erase back.
                blocks.erase(cx, log.block, Cause::Merge, JoinId::NONE);
            }
        }
        true
    }
}
