//! Merges: all pages of a logical block brought together where its patterns say, and the room that
//! this wins.

use super::{InPlace, PatternFtl, Switches, Turn};
use crate::ftl::block_level::blocks::Blocks;
use crate::ftl::context::Cx;
use crate::nand::{Cause, Flash};
use crate::pattern::Policy;
use crate::support::NONE;
use crate::support::ids::{BlockId, LogicalBlock, Lpn};

impl PatternFtl {
    /// Whether `count` blocks can be taken; `at_last` if nothing that is interrupted will ever have
    /// to go on. A striped area's worth stays erased: recovery may need it.
    pub(super) fn can_take(&self, blocks: &Blocks, cx: &Cx<'_>, count: u32, at_last: bool) -> bool {
        if at_last {
            blocks.pool.total() >= count
        } else {
            blocks.can_take(cx, count + self.width - 1)
        }
    }

    /// Where a logical block goes when it is merged: to the policy that its last two patterns agree
    /// on, else to MULTI.
    fn lasting_policy(&self, lbn: LogicalBlock) -> Policy {
        let turn = &self.turns[lbn.index()];
        match (turn.policy, turn.recent) {
            (Some(Policy::Single), _) | (_, [Some(Policy::Single), Some(Policy::Single)]) => {
                Policy::Single
            }
            _ => Policy::Multi,
        }
    }

    /// A logical block whose last two patterns agree is no longer one whose pattern changes.
    fn leave_hybrid(&mut self, cx: &mut Cx<'_>, lbn: LogicalBlock) {
        let Turn { policy, recent, awaited } = &mut self.turns[lbn.index()];
        if *policy == Some(Policy::Hybrid)
            && let [Some(one), Some(other)] = recent
            && one == other
        {
            *policy = Some(*one);
            *awaited = false;
            // It has moved, whatever else is told of its stay in the buffer.
            let known = &mut self.before[lbn.index()];
            (known.policy, known.awaited) = (Some(*one), false);
            // Nothing has left the buffer.
            cx.counters.policy_switches += u64::from(self.config.switches == Switches::Moves);
        }
    }

    /// All pages of a logical block now lie in `area`. Its home until now is erased if that was its
    /// last resident.
    fn move_in(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        lbn: LogicalBlock,
        area: u32,
        cause: Cause,
    ) {
        let old = std::mem::replace(&mut self.home[lbn.index()], area);
        if old != area {
            self.areas.all[area as usize].residents.push(lbn);
            self.areas.rank(area, self.target);
            if old != NONE {
                self.areas.all[old as usize].residents.retain(|&resident| resident != lbn);
                self.areas.rank(old, self.target);
                self.drop_if_empty(blocks, cx, old, cause);
            }
        }
        self.leave_hybrid(cx, lbn);
    }

    fn drop_if_empty(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, area: u32, cause: Cause) {
        let found = &self.areas.all[area as usize];
        if found.residents.is_empty()
            && !found.is_log
            && area != self.target
            && !found.blocks.is_empty()
        {
            if area == self.emptying {
                self.emptying = NONE;
            }
            self.areas.erase(blocks, cx, area, cause);
        }
    }

    /// Brings all pages of a logical block to `area`, those that are not there. They fit.
    fn gather(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        lbn: LogicalBlock,
        area: u32,
        cause: Cause,
    ) {
        let ppb = blocks.ppb();
        let first = if area == self.target { (self.slots - 1) * ppb } else { 0 };
        let elsewhere = |blocks: &Blocks, lpn| {
            let holder = blocks.holder(lpn);
            holder != BlockId::NONE && self.areas.of(holder) != area
        };
        let mut buried = false;
        for offset in 0..ppb {
            let lpn = lbn.first(ppb) + offset;
            if !elsewhere(blocks, lpn) {
                continue;
            }
            let Some(at) = self.areas.next(cx.flash, area, first + offset) else {
                unreachable!("room for all")
            };
            if blocks.lookup(lpn).is_some() {
                blocks.move_page(cx, lpn, at, cause);
            } else if !buried {
                // One tombstone speaks of all trimmed pages.
                let dead = |&lpn: &Lpn| elsewhere(blocks, lpn) && blocks.lookup(lpn).is_none();
                let trimmed: Vec<Lpn> = Lpn::each(lpn..lbn.range(ppb).end).filter(dead).collect();
                blocks.write_tombstones(cx, at, &trimmed);
                buried = true;
            }
        }
    }

    /// Pages that `area` lacks of a logical block: those to be copied, and a tombstone for trimmed
    /// ones.
    fn lacks(&self, blocks: &Blocks, lbn: LogicalBlock, area: u32) -> u32 {
        let ppb = blocks.ppb();
        let (mut live, mut trimmed) = (0, false);
        for (block, dead) in blocks.words(lbn.range(ppb)) {
            if self.areas.of(block) != area {
                live += u32::from(!dead);
                trimmed |= dead;
            }
        }
        live + u32::from(trimmed)
    }

    /// Whether what `area` holds of a logical block can be its data block, or part of that, as it
    /// lies; what is missing then has room in its place where the area is one flash block.
    fn fits_in_place(&self, blocks: &Blocks, flash: &Flash, lbn: LogicalBlock, area: u32) -> bool {
        if self.config.in_place == InPlace::AnyOrder {
            return true;
        }
        let (ppb, columns) = (blocks.ppb(), &self.areas.all[area as usize].blocks);
        // The part of the area that it has, by where the first page lies.
        let mut part = None;
        (0..ppb).zip(lbn.first(ppb).onwards()).all(|(offset, lpn)| {
            let holder = blocks.holder(lpn);
            if holder.is_none() {
                return true;
            }
            if self.areas.of(holder) != area {
                return columns.iter().all(|&block| offset >= flash.write_ptr(block));
            }
            // Where a page lay that has been trimmed does not matter any more.
            let Some(ppn) = blocks.lookup(lpn) else { return true };
            let (block, row) = blocks.geometry.split(ppn);
            let column = columns.iter().position(|&other| other == block).unwrap_or(0);
            let place = row * columns.len() as u32 + column as u32;
            place >= offset
                && (place - offset).is_multiple_of(ppb)
                && *part.get_or_insert(place - offset) == place - offset
        })
    }

    /// Merges a logical block: into `log` where it can be completed there, else into an area of its
    /// policy; under SINGLE where that log or its data lie, or else in the `channel` asked for.
    /// `false` while there is no block to take.
    pub(super) fn merge(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        lbn: LogicalBlock,
        (log, channel): (u32, Option<u32>),
        (cause, at_last): (Cause, bool),
    ) -> bool {
        let lacks = if log == NONE { u32::MAX } else { self.lacks(blocks, lbn, log) };
        // A block whose pattern changes goes where it is wanted, though all of it lies in the log.
        let stays = self.width == 1
            || lacks > 0
            || self.areas.is_striped(log) == (self.lasting_policy(lbn) == Policy::Multi);
        let in_place = stays && log != NONE && self.fits_in_place(blocks, cx.flash, lbn, log);
        if lacks == 0 && in_place {
            cx.counters.switch_merges += 1;
            self.move_in(blocks, cx, lbn, log, cause);
            return true;
        }
        let single = self.lasting_policy(lbn) == Policy::Single;
        if single && in_place && !self.areas.is_striped(log) {
            let room = self.areas.all[log as usize]
                .blocks
                .iter()
                .map(|&b| blocks.ppb() - cx.flash.write_ptr(b));
            if lacks <= room.sum() {
                cx.counters.partial_merges += 1;
                self.gather(blocks, cx, lbn, log, cause);
                self.move_in(blocks, cx, lbn, log, cause);
                return true;
            }
        }
        let near = (log, channel);
        let mut area = self.target(blocks, cx, lbn, single, near, at_last);
        // Where there is no room for the one there may be for the other, until the next merge; but
        // erases that are under way make room for the one.
        if area.is_none() && (at_last || cx.erasing() == 0) {
            area = self.target(blocks, cx, lbn, !single, near, at_last);
        }
        let Some(area) = area else { return false };
        // Emptying a sparse area is collection, and no merge of a log.
        cx.counters.full_merges += u64::from(cause == Cause::Merge);
        self.gather(blocks, cx, lbn, area, cause);
        self.move_in(blocks, cx, lbn, area, cause);
        true
    }

    /// Where a logical block is copied to, under SINGLE or MULTI; none while there is no room.
    fn target(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        lbn: LogicalBlock,
        single: bool,
        near: (u32, Option<u32>),
        at_last: bool,
    ) -> Option<u32> {
        if single {
            self.single_target(blocks, cx, lbn, near, at_last)
        } else {
            self.striped_target(blocks, cx, at_last)
        }
    }

    fn single_target(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        lbn: LogicalBlock,
        near: (u32, Option<u32>),
        at_last: bool,
    ) -> Option<u32> {
        if !self.can_take(blocks, cx, 1, at_last) {
            return None;
        }
        let unit = self.single_unit(blocks, lbn, near, false);
        Some(self.areas.open(blocks, cx, std::iter::once(unit), false))
    }

    /// The striped area that takes the next merged block.
    fn striped_target(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        at_last: bool,
    ) -> Option<u32> {
        if self.target == NONE || self.slots == self.width {
            if !self.can_take(blocks, cx, self.width, at_last) {
                return None;
            }
            let old = std::mem::replace(&mut self.target, NONE);
            if old != NONE {
                self.areas.rank(old, NONE);
                self.drop_if_empty(blocks, cx, old, Cause::Merge);
            }
            self.target = self.areas.open_striped(blocks, cx, self.width, false);
            self.slots = 0;
        }
        self.slots += 1;
        Some(self.target)
    }

    /// Merges all logical blocks that have pages in a log, which then is none. `false` while there
    /// is no block to take, then it goes on from there the next time.
    pub(super) fn merge_log(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        log: u32,
        at_last: bool,
    ) -> bool {
        for &guest in &self.areas.all[log as usize].guests {
            for open in [
                &mut self.single_logs[guest.index()],
                &mut self.striped_logs[(guest.0 / self.width) as usize],
            ] {
                if *open == log {
                    *open = NONE;
                }
            }
        }
        self.merging = log;
        while let Some(&lbn) = self.areas.all[log as usize].guests.last() {
            let ppb = blocks.ppb();
            let has = blocks.words(lbn.range(ppb)).any(|(block, _)| self.areas.of(block) == log);
            if has && !self.merge(blocks, cx, lbn, (log, None), (Cause::Merge, at_last)) {
                return false;
            }
            self.areas.all[log as usize].guests.pop();
        }
        self.merging = NONE;
        self.areas.end_log(log);
        self.areas.rank(log, self.target);
        self.drop_if_empty(blocks, cx, log, Cause::Merge);
        true
    }

    /// After a power cut: what lies wholly in `area` stays there. The rest is merged later.
    pub(super) fn adopt(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, area: u32) {
        let guests = std::mem::take(&mut self.areas.all[area as usize].guests);
        let (stay, rest): (Vec<LogicalBlock>, Vec<_>) =
            guests.into_iter().partition(|&lbn| self.lacks(blocks, lbn, area) == 0);
        let is_home = rest.is_empty();
        self.areas.all[area as usize].guests = rest.into();
        for lbn in stay {
            self.move_in(blocks, cx, lbn, area, Cause::Merge);
        }
        if is_home {
            self.areas.end_log(area);
            self.areas.rank(area, self.target);
        }
    }

    /// Empties the striped area with fewest residents; `None` if all are full, `false` while there
    /// is no block to take.
    pub(super) fn clean(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        at_last: bool,
    ) -> Option<bool> {
        if self.emptying == NONE {
            self.emptying = self.areas.sparsest()?;
        }
        let area = self.emptying;
        while let Some(&lbn) = self.areas.all[area as usize].residents.last() {
            if !self.merge(blocks, cx, lbn, (NONE, None), (Cause::Gc, at_last)) {
                return Some(false);
            }
        }
        self.emptying = NONE;
        Some(true)
    }
}
