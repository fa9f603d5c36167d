//! Merges: folding a log block and its data block into one.

use super::Bast;
use crate::ftl::cx::{Cx, Label, Move, PageOut, Place};
use crate::nand::{Cause, Role};
use crate::support::NONE;
use crate::support::bits::Bits;

impl Bast {
    /// Marks the offsets that a log holds as live in its block, which becomes the data block.
    pub(super) fn adopt(&mut self, index: u32, lbn: u32) {
        let log = &self.logs[index as usize];
        let base = log.block * self.geometry.pages_per_block;
        for (offset, &position) in log.position.iter().enumerate() {
            if position != 0 {
                self.live.set((base + offset as u32) as usize);
            }
        }
        self.data[lbn as usize] = log.block;
    }

    /// Folds a log block and its data block into one.
    pub(super) fn merge(&mut self, cx: &mut Cx<'_>, index: u32) {
        let ppb = self.ppb();
        let log = &self.logs[index as usize];
        let (lbn, next, log_block, trims) = (log.lbn, log.next, log.block, log.trims);
        let data = self.data[lbn as usize];
        let data_base = if data == NONE { 0 } else { (data * ppb) as usize };
        if log.in_order {
            let rest = if data == NONE {
                None
            } else {
                self.live.first_set(data_base + next as usize, data_base + ppb as usize)
            };
            if rest.is_none() || self.config.partial_merge {
                let label = log.label;
                self.adopt(index, lbn);
                let join = cx.join();
                if rest.is_some() {
                    cx.counters.partial_merges += 1;
                    self.copy_rest(cx, data, Place { block: log_block, page: next, label }, join);
                } else {
                    cx.counters.switch_merges += 1;
                }
                if data != NONE {
                    self.drop_block(cx, data, join, NONE);
                }
                return self.detach(index);
            }
        }
        cx.counters.full_merges += 1;
        let target = self.full_merge(cx, index, data);
        let (target, join) = target;
        self.data[lbn as usize] = target;
        let data_gone = if trims && data != NONE { cx.join() } else { NONE };
        if data != NONE {
            self.drop_block(cx, data, join, data_gone);
        }
        self.drop_block(cx, log_block, if data_gone == NONE { join } else { data_gone }, NONE);
        self.detach(index);
    }

    /// Copies the live pages of `source` from an offset on to the same offsets of the block at `to`.
    pub(super) fn copy_rest(&mut self, cx: &mut Cx<'_>, source: u32, to: Place, join: u32) {
        let (base, end) = ((source * self.ppb()) as usize, ((source + 1) * self.ppb()) as usize);
        let mut at = base + to.page as usize;
        while let Some(first) = self.live.first_set(at, end) {
            at = self.live.first_clear(first, end).unwrap_or(end);
            let page = (first - base) as u32;
            self.copy_run(cx, (source, page), Place { page, ..to }, (at - first) as u32, join);
        }
    }

    /// Copies `count` pages, which lie one after the other in both blocks, to their own offsets.
    pub(super) fn copy_run(
        &mut self,
        cx: &mut Cx<'_>,
        (source, from): (u32, u32),
        to: Place,
        count: u32,
        join: u32,
    ) {
        let ppb = self.ppb();
        let first = to.label.owner * ppb + to.page;
        self.moves.clear();
        self.moves
            .extend((0..count).map(|i| Move { page: from + i, out: PageOut::data(first + i, Cause::Merge) }));
        cx.relocate(source, &self.moves, to, Cause::Merge, join);
        let base = (to.block * ppb + to.page) as usize;
        self.live.set_range(base, base + count as usize);
    }

    /// Copies the newest pages of a log and its data block to a new block: that block, or [`NONE`] if there are none,
    /// and the join that its copies signal.
    pub(super) fn full_merge(&mut self, cx: &mut Cx<'_>, index: u32, data: u32) -> (u32, u32) {
        let ppb = self.ppb();
        let (lbn, log_block) = (self.logs[index as usize].lbn, self.logs[index as usize].block);
        let data_base = data.wrapping_mul(ppb);
        let join = cx.join();
        let (mut target, mut label) = (NONE, Label::default());
        let mut offset = 0;
        while offset < ppb {
            // The source of this offset, and how far the run goes on in both blocks.
            let position = u32::from(self.logs[index as usize].position[offset as usize]);
            let in_data = |live: &Bits, o: u32| data != NONE && live.get((data_base + o) as usize);
            let mut end = offset + 1;
            let (source, from) = if position != 0 {
                let positions = &self.logs[index as usize].position;
                while end < ppb && u32::from(positions[end as usize]) == position + (end - offset) {
                    end += 1;
                }
                (log_block, position - 1)
            } else if in_data(&self.live, offset) {
                let positions = &self.logs[index as usize].position;
                while end < ppb && positions[end as usize] == 0 && in_data(&self.live, end) {
                    end += 1;
                }
                (data, offset)
            } else {
                offset += 1;
                continue;
            };
            if target == NONE {
                let unit =
                    if data == NONE { self.geometry.unit_of(log_block) } else { self.geometry.unit_of(data) };
                target = self.take_block(unit);
                label = cx.label(Role::Data, lbn);
            }
            let to = Place { block: target, page: offset, label };
            self.copy_run(cx, (source, from), to, end - offset, join);
            offset = end;
        }
        (target, join)
    }
}
