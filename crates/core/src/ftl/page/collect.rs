//! Greedy garbage collection of one unit, a few pages a step.

use super::{PageMap, TOMB};
use crate::ftl::Reclaim;
use crate::ftl::cx::{Cx, Move, PageOut, Place};
use crate::nand::Cause;
use crate::support::NONE;
use crate::support::minima::ABSENT;

impl PageMap {
    /// One step of collecting `unit`.
    pub(super) fn collect(&mut self, cx: &mut Cx<'_>, unit: u32) -> Reclaim {
        let first_block = unit * self.geometry.blocks_per_unit;
        let u = &mut self.units[unit as usize];
        if u.victim == NONE {
            if self.pool.free(unit) > self.config.gc_free_blocks {
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
                    if u.host.block == NONE && u.gc.block != NONE {
                        // All closed blocks are fully valid: what is not lies in the collection block itself.
                        std::mem::swap(&mut u.host, &mut u.gc);
                        return Reclaim::Done;
                    }
                    return Reclaim::Stuck;
                }
            }
        }
        let victim = self.units[unit as usize].victim;
        let before = self.valid_of[victim as usize];
        self.copy_some(cx, unit);
        if before > 0 && self.valid_of[victim as usize] == before {
            return self.give_up(unit);
        }
        if self.valid_of[victim as usize] == 0 {
            if !self.trimmed.is_empty() && !self.bury_before_erase(cx, unit) {
                return self.give_up(unit);
            }
            cx.erase(victim, Cause::Gc, NONE, NONE);
            self.pool.give(unit, victim);
            self.units[unit as usize].victim = NONE;
        }
        Reclaim::More
    }

    /// Copies the next valid pages of the victim. All of one step fit, by the reserve.
    pub(super) fn copy_some(&mut self, cx: &mut Cx<'_>, unit: u32) {
        let (ppb, program_pages) = (self.ppb(), self.geometry.program_pages);
        let victim = self.units[unit as usize].victim;
        let base = (victim * ppb) as usize;
        // Whole program units: the rest of one is lost to fillers.
        let mut budget = (self.config.gc_step_pages / program_pages).max(1) * program_pages;
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
                let Some((block, page)) = self.place(cx, unit, true, owner) else { break };
                if into == NONE {
                    (into, first) = (block, page);
                }
                let ppn = block * ppb + page;
                let out = if owner & TOMB == 0 {
                    self.map[owner as usize] = ppn;
                    PageOut::data(owner, Cause::Gc)
                } else {
                    let tomb = &mut self.tombs[(owner & !TOMB) as usize];
                    tomb.ppn = ppn;
                    PageOut::tombstone(tomb.list, Cause::Gc)
                };
                moves.push(Move { page: (at - base) as u32, out });
                self.invalidate(at as u32);
                self.units[unit as usize].scan = (at - base) as u32 + 1;
                budget -= 1;
            }
            if moves.is_empty() {
                break;
            }
            while !(moves.len() as u32).is_multiple_of(program_pages) {
                if let Some((block, page)) = self.place(cx, unit, true, NONE) {
                    self.invalidate(block * ppb + page);
                }
                moves.push(Move { page: NONE, out: PageOut::filler() });
            }
            let label = self.units[unit as usize].gc.label;
            for chunk in moves.chunks(if program_pages == 1 { moves.len() } else { program_pages as usize }) {
                cx.relocate(victim, chunk, Place { block: into, page: first, label }, Cause::Gc, NONE);
                first += chunk.len() as u32;
            }
            self.close_if_full(unit, true);
        }
        self.moves = moves;
    }

    /// There is no room to collect `unit` now; the victim goes back among the closed blocks.
    pub(super) fn give_up(&mut self, unit: u32) -> Reclaim {
        let u = &mut self.units[unit as usize];
        let victim = std::mem::replace(&mut u.victim, NONE);
        let leaf = (victim - unit * self.geometry.blocks_per_unit) as usize;
        u.closed.set(leaf, self.valid_of[victim as usize]);
        u.collecting = false;
        Reclaim::Stuck
    }
}
