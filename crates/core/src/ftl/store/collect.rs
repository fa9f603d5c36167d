//! Greedy garbage collection of one unit, a few pages a step.

use super::{DATA, Owners, Store};
use crate::ftl::Reclaim;
use crate::ftl::cx::{Cx, Move, PageOut, Place};
use crate::nand::Cause;
use crate::support::NONE;
use crate::support::minima::ABSENT;

impl Store {
    /// One step of collecting `unit`.
    pub fn collect(&mut self, cx: &mut Cx<'_>, unit: u32, owners: &mut impl Owners) -> Reclaim {
        let first_block = unit * self.geometry.blocks_per_unit;
        let u = &mut self.units[unit as usize];
        if u.victim == NONE {
            if self.pool.free(unit) > self.limits.gc_free_blocks {
                u.collecting = false;
                return Reclaim::Done;
            }
            match u.closed.min() {
                Some((leaf, valid))
                    if u32::from(valid) + self.geometry.program_pages <= self.geometry.pages_per_block =>
                {
                    u.closed.set(leaf, ABSENT);
                    (u.victim, u.scan) = (first_block + leaf as u32, 0);
                }
                _ => {
                    u.collecting = false;
                    if let Some((from, to)) = self.lendable(unit) {
                        // All closed blocks are fully valid: what is not lies in an open block.
                        self.open.swap(from, to);
                        return Reclaim::Done;
                    }
                    return Reclaim::Stuck;
                }
            }
        }
        let victim = self.units[unit as usize].victim;
        let before = self.valid_of[victim as usize];
        self.copy_some(cx, unit, owners);
        if before > 0 && self.valid_of[victim as usize] == before {
            return self.give_up(unit);
        }
        if self.valid_of[victim as usize] == 0 {
            if !owners.before_erase(self, cx, unit, victim) {
                return self.give_up(unit);
            }
            cx.erase(victim, Cause::Gc, NONE, NONE);
            self.pool.give(unit, victim);
            self.units[unit as usize].victim = NONE;
        }
        Reclaim::More
    }

    /// Copies the next valid pages of the victim. All of one step fit, by the reserve.
    fn copy_some(&mut self, cx: &mut Cx<'_>, unit: u32, owners: &mut impl Owners) {
        let (ppb, program_pages) = (self.ppb(), self.geometry.program_pages);
        let victim = self.units[unit as usize].victim;
        let class = self.class_of(victim);
        let base = (victim * ppb) as usize;
        // Whole program units: the rest of one is lost to fillers.
        let mut budget = (self.limits.gc_step_pages / program_pages).max(1) * program_pages;
        let mut moves = std::mem::take(&mut self.moves);
        while budget > 0 && self.valid_of[victim as usize] > 0 {
            // One run: as many pages as fit the budget and what is left of the open block.
            moves.clear();
            let (mut first, mut into) = (0, NONE);
            while budget > 0
                && self.valid_of[victim as usize] > 0
                && (into == NONE || (moves.len() as u32) + first < ppb)
            {
                let from = base + self.units[unit as usize].scan as usize;
                let Some(at) = self.valid.first_set(from, base + ppb as usize) else {
                    debug_assert!(false, "valid pages of the victim lie before the scan");
                    break;
                };
                let owner = self.reverse[at];
                let Some((block, page)) = self.place(cx, unit, class, true, owner) else { break };
                if into == NONE {
                    (into, first) = (block, page);
                }
                let out = owners.moved(owner, block * ppb + page);
                moves.push(Move { page: (at - base) as u32, out });
                self.invalidate(at as u32);
                self.units[unit as usize].scan = (at - base) as u32 + 1;
                budget -= 1;
            }
            if moves.is_empty() {
                break;
            }
            self.fill_unit(cx, (unit, class), &mut moves);
            let label = self.open[self.slot(unit, class, true)].label;
            for chunk in moves.chunks(if program_pages == 1 { moves.len() } else { program_pages as usize }) {
                cx.relocate(victim, chunk, Place { block: into, page: first, label }, Cause::Gc, NONE);
                first += chunk.len() as u32;
            }
            self.close_if_full(unit, class, true);
        }
        self.moves = moves;
    }

    /// Completes the program unit that `moves` end in with fillers.
    fn fill_unit(&mut self, cx: &mut Cx<'_>, (unit, class): (u32, u32), moves: &mut Vec<Move>) {
        while !(moves.len() as u32).is_multiple_of(self.geometry.program_pages) {
            if let Some((block, page)) = self.place(cx, unit, class, true, NONE) {
                self.invalidate(block * self.ppb() + page);
            }
            moves.push(Move { page: NONE, out: PageOut::filler() });
        }
    }

    /// Writes one page of `owner` among those that collection moves out of `victim`: it is stored before the erase.
    /// Blocks in `pins` are not erased before that either.
    pub fn append_moved(
        &mut self,
        cx: &mut Cx<'_>,
        (unit, class): (u32, u32),
        victim: u32,
        out: PageOut,
        owner: u32,
        pins: &[u32],
    ) -> Option<u32> {
        let (block, page) = self.place(cx, unit, class, true, owner)?;
        let mut moves = vec![Move { page: NONE, out }];
        self.fill_unit(cx, (unit, class), &mut moves);
        let label = self.open[self.slot(unit, class, true)].label;
        let mut pinned = Vec::new();
        for &block in pins.iter().filter(|&&block| block != NONE) {
            cx.pin(block, &mut pinned);
        }
        cx.relocate(victim, &moves, Place { block, page, label }, Cause::Mapping, NONE);
        cx.unpin(&mut pinned);
        self.close_if_full(unit, class, true);
        Some(block * self.ppb() + page)
    }

    /// There is no room to collect `unit` now; the victim goes back among the closed blocks.
    fn give_up(&mut self, unit: u32) -> Reclaim {
        let u = &mut self.units[unit as usize];
        let victim = std::mem::replace(&mut u.victim, NONE);
        u.collecting = false;
        self.close(unit, victim);
        Reclaim::Stuck
    }

    /// The class of the pages in a block.
    fn class_of(&self, block: u32) -> u32 {
        self.class_of.get(block as usize).map_or(DATA, |&class| u32::from(class))
    }
}
