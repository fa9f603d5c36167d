//! Operations of one die in different planes that share a step: two-plane commands.
//!
//! A die that could begin waits until everything of this moment has happened: pages of one request
//! are issued one after the other at the same time, and so are requests that arrive together, and
//! the first would go alone otherwise.

use super::Engine;
use super::array::{Phase, Queue};
use crate::nand::chip::COMPANIONS;
use crate::nand::op::{FlashOp, Kind};
use crate::support::NONE;
use crate::support::clocks::NEVER;
use crate::support::ids::DieId;

impl Engine {
    /// A die that has nothing to do begins at the end of this moment, when all that is issued in it
    /// waits.
    pub(super) fn start_together(&mut self, die: DieId) {
        let phase = &mut self.array.dies[die.index()].phase;
        if *phase != Phase::Gathering {
            *phase = Phase::Gathering;
            if self.array.gathering.is_empty() {
                self.events.set(self.array.dies.len() as u32, self.now);
            }
            self.array.gathering.push(die);
        }
    }

    /// Nothing else happens in this moment: the dies begin, in the order in which they could have.
    pub(super) fn end_gathering(&mut self) {
        self.events.set(self.array.dies.len() as u32, NEVER);
        let mut dies =
            std::mem::replace(&mut self.array.gathering, std::mem::take(&mut self.array.starting));
        for die in dies.drain(..) {
            self.array.dies[die.index()].phase = Phase::First;
            self.take_up(die);
        }
        self.array.starting = dies;
    }

    /// Whether all that is left to happen up to `time` is that dies begin: what else comes at
    /// `time` comes before.
    #[inline]
    pub fn only_starts_at(&self, time: u64) -> bool {
        self.chip.gathers() && self.events.first() == (self.array.dies.len() as u32, time)
    }

    /// Settles the next step of what runs on `die`, with those that go along. `false` if the array
    /// is not free for it.
    pub(super) fn prepare(&mut self, die: DieId) -> bool {
        let id = self.array.dies[die.index()].running;
        let state = &self.ops[id as usize];
        let (kind, op) = (state.op.kind, state.op);
        if self.array.dies[die.index()].back != NONE && kind != Kind::Program {
            self.array.dies[die.index()].phase = Phase::Held;
            return false;
        }
        let mut step = self
            .chip
            .step(&op, state.steps_done + u32::from(self.array.dies[die.index()].back == id));
        if self.chip.two_plane.is_some() {
            let companions = self.gather(die, id);
            if companions > 0 {
                self.special.multi_plane[match kind {
                    Kind::Read => 0,
                    Kind::Program | Kind::Copy => 1,
                    Kind::Erase => 2,
                }] += 1;
                for index in 0..companions {
                    let other = &self.ops[self.array.dies[die.index()].companions[index] as usize];
                    let theirs = self.chip.step(&other.op, other.steps_done);
                    step = self.chip.together(kind, step, theirs);
                }
            }
        }
        let cached = self.is_cached(die);
        let d = &mut self.array.dies[die.index()];
        (d.left, d.suspensions) = (step[1], 0);
        if cached {
            // The array's part comes later, at the back of the die.
            step[1] = 0;
        }
        d.step = step;
        true
    }

    /// Takes out of the queue what can go along with the next step of `id`; says how many. Each
    /// plane keeps its order: only the operation that comes first in its plane can, because the
    /// programs and erases of a block rely on that.
    fn gather(&mut self, die: DieId, id: u32) -> usize {
        let Some(rules) = &self.chip.two_plane else { return 0 };
        let lead = &self.ops[id as usize];
        let allowed = match lead.op.kind {
            Kind::Read => rules.read,
            Kind::Program => rules.program,
            Kind::Copy => rules.program && lead.op.copy_back,
            Kind::Erase => rules.erase,
        };
        if !allowed {
            return 0;
        }
        let urgent = self.is_urgent(&lead.op);
        let (mut found, mut passed) = (0, 1u64 << (self.plane(&lead.op) % 64));
        let (lookahead, most) = (rules.lookahead, self.chip.group as usize - 1);
        let (mut before, mut at) = (NONE, self.queue(die, urgent).head);
        for _ in 0..lookahead {
            if at == NONE || found == most {
                break;
            }
            let next = self.ops[at as usize].next;
            let plane = self.plane(&self.ops[at as usize].op);
            let first = passed & 1 << (plane % 64) == 0;
            passed |= 1 << (plane % 64);
            if !first || !self.go_together(id, at) {
                (before, at) = (at, next);
                continue;
            }
            self.unlink(die, urgent, before, at);
            self.array.dies[die.index()].companions[found] = at;
            found += 1;
            at = next;
        }
        found
    }

    /// Whether the chip lets the next steps of two operations in different planes go together.
    fn go_together(&self, lead: u32, other: u32) -> bool {
        let Some(rules) = &self.chip.two_plane else { return false };
        let (a, b) = (&self.ops[lead as usize], &self.ops[other as usize]);
        // What a chip compares are flash pages; several mapped pages may share one.
        let next = |state: &super::OpState| {
            self.chip
                .flash_page_of(state.op.page + state.steps_done * self.pages_of_step(&state.op))
        };
        let block = |op: &FlashOp| op.block.0 % self.rules.blocks_per_unit;
        let group = self.chip.group;
        a.op.kind == b.op.kind
            && a.op.copy_back == b.op.copy_back
            && self.plane(&a.op) / group == self.plane(&b.op) / group
            && (!rules.same_page || a.op.kind == Kind::Erase || next(a) == next(b))
            && (!rules.same_block || block(&a.op) == block(&b.op))
    }

    /// The plane of a die that an operation works in.
    fn plane(&self, op: &FlashOp) -> u32 {
        op.block.0 / self.rules.blocks_per_unit / self.array.dies.len() as u32
    }

    fn pages_of_step(&self, op: &FlashOp) -> u32 {
        if op.kind == Kind::Read { 1 } else { self.rules.program_pages }
    }

    fn queue(&mut self, die: DieId, urgent: bool) -> &mut Queue {
        let d = &mut self.array.dies[die.index()];
        if urgent { &mut d.urgent } else { &mut d.normal }
    }

    /// Takes an operation out of a queue, given the one before it.
    fn unlink(&mut self, die: DieId, urgent: bool, before: u32, id: u32) {
        let next = self.ops[id as usize].next;
        if before == NONE {
            self.queue(die, urgent).head = next;
        } else {
            self.ops[before as usize].next = next;
        }
        if next == NONE {
            self.queue(die, urgent).tail = before;
        }
    }

    /// Those that went along have made a step: they have ended, or wait at the head of the queue
    /// for the next.
    pub(super) fn end_companions(&mut self, die: DieId) {
        let companions =
            std::mem::replace(&mut self.array.dies[die.index()].companions, [NONE; COMPANIONS]);
        for id in companions.into_iter().filter(|&id| id != NONE) {
            self.ops[id as usize].steps_done += 1;
            if self.stored.is_some() {
                self.apply_step(id);
            }
        }
        for id in companions.into_iter().rev().filter(|&id| id != NONE) {
            let state = &self.ops[id as usize];
            if state.steps_done < state.steps {
                self.put_back(die, id);
            }
        }
        for id in companions.into_iter().filter(|&id| id != NONE) {
            let state = &self.ops[id as usize];
            if state.steps_done == state.steps {
                self.complete(id);
                self.array.dies[die.index()].load -= 1;
            }
        }
    }
}
