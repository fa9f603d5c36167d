//! How long what a request asks of the flash would take on a drive that has nothing else to do: the
//! operations in the order of issue, each as soon as its die, its channel and what it depends on
//! let it. What planes do together, cache programs and suspension are left out of account, and so
//! is what was issued apart: a program that waits for the reads that fill the rest of its page
//! begins with them.

use super::Engine;
use crate::nand::op::{Cause, FlashOp, Plan};
use crate::support::ids::DieId;

/// Operations of a request on an idle drive, once with and once without those of collection.
#[derive(Debug, Clone, Default)]
pub struct IdleDrive {
    all: Lane,
    /// What the host's pages need: no collection, no merges, no wear levelling, no placement.
    io: Lane,
}

/// When dies, channels and joins are free again, in ns from the beginning of the request.
#[derive(Debug, Clone, Default)]
struct Lane {
    dies: Vec<u64>,
    channels: Vec<u64>,
    joins: Vec<u64>,
    /// Dies and channels that are not free at 0, so that forgetting costs no more than was done.
    used: Vec<(DieId, u32)>,
    end: u64,
}

impl Lane {
    fn forget(&mut self) {
        for (die, channel) in self.used.drain(..) {
            self.dies[die.index()] = 0;
            self.channels[channel as usize] = 0;
        }
        self.end = 0;
    }

    /// When everything has ended that an operation of the plan waits for.
    fn ready(&self, plan: &Plan, op: &FlashOp) -> u64 {
        if op.waits.is_of_plan() {
            return self.joins.get(op.waits.index()).copied().unwrap_or(0);
        }
        let linked = plan.links.iter().filter(|(_, join)| *join == op.waits);
        linked.map(|&(local, _)| self.joins[local.index()]).max().unwrap_or(0)
    }

    fn work(&mut self, engine: &Engine, plan: &Plan, op: &FlashOp) {
        let mut now = self.ready(plan, op);
        if !op.instant {
            let die = engine.die_of(op.block);
            let channel = engine.array.dies[die.index()].channel as usize;
            self.used.push((die, channel as u32));
            now = now.max(self.dies[die.index()]);
            for done in 0..engine.steps_of(op) {
                for (phase, ns) in
                    engine.chip.step(op, done).into_iter().enumerate().filter(|(_, ns)| *ns > 0)
                {
                    let is_bus = phase % 2 == 0;
                    now = if is_bus { now.max(self.channels[channel]) } else { now } + ns;
                    if is_bus {
                        self.channels[channel] = now;
                    }
                }
            }
            self.dies[die.index()] = now;
        }
        self.end = self.end.max(now);
        if !op.signals.is_none() {
            let join = &mut self.joins[op.signals.index()];
            *join = (*join).max(now);
        }
    }
}

impl IdleDrive {
    /// A new request.
    pub fn begin(&mut self) {
        self.all.forget();
        self.io.forget();
    }

    /// What has been planned takes so many ns, and so many more with collection.
    pub fn times(&self) -> (u64, u64) {
        (self.io.end, self.all.end.saturating_sub(self.io.end))
    }
}

impl Engine {
    /// Lets an idle drive do what is planned.
    pub fn do_alone(&self, plan: &Plan, drive: &mut IdleDrive) {
        for (lane, collects) in [(&mut drive.all, true), (&mut drive.io, false)] {
            lane.dies.resize(self.array.dies.len(), 0);
            lane.channels.resize(self.array.channels.len(), 0);
            lane.joins.clear();
            lane.joins.resize(plan.joins as usize, 0);
            for op in &plan.ops {
                let is_collection =
                    matches!(op.cause, Cause::Gc | Cause::Merge | Cause::Wear | Cause::Placement);
                if collects || !is_collection {
                    lane.work(self, plan, op);
                }
            }
        }
    }
}
