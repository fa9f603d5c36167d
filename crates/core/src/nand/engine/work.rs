//! How long each die has still to work on what has been planned for it: the sum of its operations'
//! times, less what has passed since the one that runs was taken up. Waiting for the bus is not
//! foreseen, nor what planes do together, and an operation that was laid aside for a read counts
//! whole. Kept only where an allocator asks.

use serde::{Deserialize, Serialize};

use super::Engine;
use crate::nand::op::{FlashOp, Kind};
use crate::support::NONE;
use crate::support::ids::DieId;

/// Times in ns, by die.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Work {
    /// Of operations issued and not ended.
    issued: Vec<u64>,
    /// Of operations planned and not issued.
    planned: Vec<u64>,
}

impl Engine {
    /// Keeps account of the dies' work from now on.
    pub fn watch_work(&mut self) {
        let none = vec![0; self.array.dies.len()];
        self.work = Some(Work { issued: none.clone(), planned: none });
    }

    /// How long `die` has still to work on what is planned for it, in ns.
    pub fn busy_ns(&self, die: DieId) -> u64 {
        let Some(work) = &self.work else { return 0 };
        let d = &self.array.dies[die.index()];
        let done = if d.running == NONE {
            0
        } else {
            let op = &self.ops[d.running as usize].op;
            let before: u64 = (0..d.steps_before).map(|done| self.chip.step_ns(op, done)).sum();
            (before + self.now - d.since).min(self.work_of(op).1)
        };
        work.planned[die.index()] + work.issued[die.index()] - done
    }

    /// An operation is in a plan.
    #[inline]
    pub fn foresee(&mut self, op: &FlashOp) {
        if self.work.is_some() && op.kind != Kind::Read {
            let (die, ns) = self.work_of(op);
            if let Some(work) = &mut self.work {
                work.planned[die] += ns;
            }
        }
    }

    /// An operation of a plan is issued. Reads grow while they are planned, and count only now.
    #[inline(always)]
    pub(super) fn work_issued(&mut self, op: &FlashOp) {
        if self.work.is_some() {
            self.add_work(op);
        }
    }

    #[inline(never)]
    fn add_work(&mut self, op: &FlashOp) {
        let (die, ns) = self.work_of(op);
        let Some(work) = &mut self.work else { return };
        if op.kind != Kind::Read {
            work.planned[die] = work.planned[die].saturating_sub(ns);
        }
        work.issued[die] += ns;
    }

    /// An operation has ended.
    #[inline]
    pub(super) fn work_done(&mut self, op: &FlashOp) {
        if self.work.is_some() {
            let (die, ns) = self.work_of(op);
            if let Some(work) = &mut self.work {
                work.issued[die] -= ns;
            }
        }
    }

    fn work_of(&self, op: &FlashOp) -> (usize, u64) {
        let die = self.die_of(op.block).index();
        if op.instant {
            return (die, 0);
        }
        (die, (0..self.steps_of(op)).map(|done| self.chip.step_ns(op, done)).sum())
    }
}
