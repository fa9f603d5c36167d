//! Programs and erases that stop in the middle, so that a host read need not wait for them.

use super::Engine;
use super::array::{Phase, Suspended};
use crate::nand::chip::COMPANIONS;
use crate::nand::op::Kind;
use crate::support::NONE;
use crate::support::clocks::NEVER;
use crate::support::ids::DieId;

impl Engine {
    /// A host read waits on `die`: what is in the array stops, as soon as it is there, if it can
    /// and if that is any faster.
    pub(super) fn suspend(&mut self, die: DieId) {
        let Some(rules) = &self.chip.suspend else { return };
        let d = &mut self.array.dies[die.index()];
        let allowed = match self.ops[d.running as usize].op.kind {
            Kind::Program => rules.program,
            Kind::Erase => rules.erase,
            Kind::Read | Kind::Copy => false,
        };
        if !allowed || d.phase != Phase::First || d.suspensions >= rules.at_most {
            return;
        }
        let end = self.events.get(die.0);
        debug_assert!(end != NEVER && end >= self.now);
        let at = self.now.max(end - d.left);
        if end - at <= rules.latency.0 {
            return;
        }
        d.left = end - at;
        d.phase = Phase::Suspending;
        self.events.set(die.0, at + rules.latency.0);
    }

    /// The array has stopped.
    pub(super) fn suspended(&mut self, die: DieId) {
        self.path_leaves(die);
        let d = &mut self.array.dies[die.index()];
        d.suspensions += 1;
        let erase = self.ops[d.running as usize].op.kind == Kind::Erase;
        self.special.suspensions[usize::from(erase)] += 1;
        let companions = std::mem::replace(&mut d.companions, [NONE; COMPANIONS]);
        d.suspended = Some(Suspended {
            op: d.running,
            companions,
            step: d.step,
            left: d.left,
            suspensions: d.suspensions,
        });
        self.start_next(die);
    }

    /// No host read waits any more: the array goes on where it stopped.
    pub(super) fn resume(&mut self, die: DieId) {
        let d = &mut self.array.dies[die.index()];
        let (Some(s), Some(rules)) = (d.suspended.take(), &self.chip.suspend) else { return };
        (d.running, d.companions, d.step, d.left, d.suspensions) =
            (s.op, s.companions, s.step, s.left, s.suspensions);
        d.phase = Phase::First;
        self.events.set(die.0, self.now + rules.resume.0 + s.left);
    }
}
