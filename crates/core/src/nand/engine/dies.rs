//! Dies and channels at work: queues, steps, the bus, and runs of steps that are one event.

use super::array::{Channel, Die, Phase};
use super::{Engine, OpState};
use crate::nand::op::{Cause, FlashOp, Kind};
use crate::support::NONE;
use crate::support::clocks::NEVER;
use crate::support::ids::DieId;

/// What a die has begun.
pub(super) enum Begun {
    /// There was nothing.
    Nothing,
    /// Something, whose first event comes at that time; its clock is not set.
    Until(u64),
    /// Something, and its clock is set.
    ClockIsSet,
}

/// Whether a step in its second use of the bus and the first array phase of the next one are one
/// event, where chips and steps allow that: another step follows, others use the channel (with the
/// channel to itself, the next step begins a run), and no host read waits.
#[inline(always)]
pub(super) fn crosses(die: &Die, op: &OpState, channel: &Channel) -> bool {
    op.steps_done + 1 < op.steps && channel.active > 1 && die.urgent.head == NONE
}

impl Engine {
    /// A ready operation goes to its die.
    pub(super) fn enqueue(&mut self, id: u32) {
        let OpState { op, follows, .. } = self.ops[id as usize];
        let die = self.die_of(op.block);
        self.queue_up(id, die, &op, follows);
    }

    /// The same of one that is known: `op`, which `follows` one of its group or not, and its die.
    #[inline(always)]
    pub(super) fn queue_up(&mut self, id: u32, die: DieId, op: &FlashOp, follows: bool) {
        self.path_ready(id);
        let state = &mut self.ops[id as usize];
        (state.ready, state.next) = (true, NONE);
        let (steps, done) = (state.steps, state.steps_done);
        if op.instant {
            return self.happen(id);
        }
        let d = &mut self.array.dies[die.index()];
        d.load += 1;
        let idle = d.running == NONE;
        if idle && !self.chip.gathers() {
            let step = self.step_of(op);
            if let Some(end) = self.start_op(die, id, step, (steps, done)) {
                self.events.begin(die.0, end);
            }
            return;
        }
        let urgent = self.is_urgent(op);
        if follows && !urgent {
            self.put_back(die, id);
            if idle {
                self.start_together(die);
            }
            return;
        }
        let d = &mut self.array.dies[die.index()];
        let queue = if urgent { &mut d.urgent } else { &mut d.normal };
        let last = std::mem::replace(&mut queue.tail, id);
        if queue.head == NONE {
            queue.head = id;
        } else {
            self.ops[last as usize].next = id;
        }
        if idle {
            return self.start_together(die);
        }
        if urgent {
            self.interrupt(die);
        }
    }

    /// A host read that goes before everything waits on a die that is at work.
    fn interrupt(&mut self, die: DieId) {
        match self.array.dies[die.index()].phase {
            Phase::Run => self.cut_run(die),
            Phase::Across => self.cut_across(die),
            _ => {}
        }
        if self.chip.suspend.is_some() {
            self.suspend(die);
        }
    }

    /// An operation that takes no time happens at once.
    #[cold]
    fn happen(&mut self, id: u32) {
        let state = &mut self.ops[id as usize];
        state.steps_done = state.steps;
        self.complete(id);
    }

    /// What a step of an operation takes, if all take the same.
    #[inline(always)]
    fn step_of(&self, op: &FlashOp) -> [u64; 4] {
        if self.rules.same_steps && op.own_ns == 0 && !op.copy_back {
            return self.rules.step[op.kind as usize];
        }
        if self.rules.plain { self.chip.step(op, 0) } else { [0; 4] }
    }

    /// A die takes up an operation of which is known what a `step` takes if all take the same, the
    /// steps in all and those that it has done. The time that its clock has to be set to, if that
    /// has not been done.
    #[inline(always)]
    fn start_op(
        &mut self,
        die: DieId,
        id: u32,
        step: [u64; 4],
        (steps, done): (u32, u32),
    ) -> Option<u64> {
        let now = self.now;
        let d = &mut self.array.dies[die.index()];
        (d.running, d.since, d.steps_before) = (id, now, done);
        if self.rules.plain && steps - done == 1 && step[2] | step[3] == 0 {
            d.phase = Phase::Last;
            let channel = d.channel;
            return Some(self.begin_last(channel, step[0], step[1]));
        }
        let channel = &mut self.array.channels[d.channel as usize];
        channel.active += 1;
        let run = channel.run;
        if !self.rules.plain {
            if run != DieId::NONE {
                self.cut_run(run);
            }
            self.start_step(die);
            return None;
        }
        d.step = step;
        if steps - done > 1 || run != DieId::NONE {
            if run != DieId::NONE {
                self.cut_run(run);
            }
            self.start_step(die);
            return None;
        }
        // One step with two more phases: a read or a copy.
        d.phase = Phase::First;
        let [bus, array, ..] = step;
        let begins = if bus == 0 {
            now
        } else {
            channel.busy_until = channel.busy_until.max(now) + bus;
            channel.busy_until
        };
        Some(begins + array)
    }

    /// Begins the next step, or all that are left where nothing can come between them.
    #[inline]
    pub(super) fn start_step(&mut self, die: DieId) {
        if !self.rules.plain && !self.prepare(die) {
            return;
        }
        let d = &mut self.array.dies[die.index()];
        let state = &self.ops[d.running as usize];
        let left = state.steps - state.steps_done;
        if left > 1 && self.rules.plain && self.stored.is_none() && d.urgent.head == NONE {
            let uses_bus = d.step[0] + d.step[2] > 0;
            let channel = &mut self.array.channels[d.channel as usize];
            let period: u64 = d.step.iter().sum();
            if period > 0 && (!uses_bus || channel.active == 1) {
                d.phase = Phase::Run;
                d.run_start = self.now;
                if uses_bus {
                    channel.run = die;
                }
                let end = self.now + period * u64::from(left);
                return self.events.set(die.0, end);
            }
        }
        d.phase = Phase::First;
        let [bus, array, ..] = d.step;
        if d.back != NONE {
            // Only a program begins while the array works. Its data cross the bus when that is
            // free, which may be too late.
            let begins = self.array.channels[d.channel as usize].busy_until.max(self.now);
            let ends = self.events.get(self.array_clock(die));
            self.special.cache_programs += u64::from(bus == 0 || begins < ends);
        }
        if bus == 0 {
            self.events.set(die.0, self.now + array);
        } else {
            self.ask_bus(die, bus, array);
        }
    }

    /// Takes the channel when it is free: after those that have asked before, who hold it for as
    /// long as they said.
    #[inline]
    pub(super) fn ask_bus(&mut self, die: DieId, bus: u64, array: u64) {
        let channel = &mut self.array.channels[self.array.dies[die.index()].channel as usize];
        channel.busy_until = channel.busy_until.max(self.now) + bus;
        let end = channel.busy_until + array;
        self.events.set(die.0, end);
    }

    /// Begins the second phases of a step, and goes on to the next use of the bus where nothing can
    /// come in between. The die's clock has just gone off.
    #[inline(always)]
    pub(super) fn second(&mut self, die: DieId) {
        let d = &mut self.array.dies[die.index()];
        d.phase = Phase::Second;
        let [command, first, bus, array] = d.step;
        if bus == 0 {
            return self.events.set_first(die.0, self.now + array);
        }
        let state = &self.ops[d.running as usize];
        let goes_on = command == 0 && first > 0 && self.rules.plain && self.stored.is_none();
        let channel = &mut self.array.channels[d.channel as usize];
        channel.busy_until = channel.busy_until.max(self.now) + bus;
        let mut end = channel.busy_until + array;
        if goes_on && crosses(d, state, channel) {
            d.phase = Phase::Across;
            end += first;
        }
        self.events.set_first(die.0, end);
    }

    /// A host read waits: the end of the step gets its own event again, or has been.
    fn cut_across(&mut self, die: DieId) {
        let d = &mut self.array.dies[die.index()];
        let end = self.events.get(die.0) - d.step[1];
        // As in a run: at equal times the lower clock is served first.
        if end > self.now || (end == self.now && self.serving < die.0) {
            d.phase = Phase::Second;
            self.events.set(die.0, end);
        } else {
            d.phase = Phase::First;
            self.ops[d.running as usize].steps_done += 1;
        }
    }

    /// Turns a run of steps that is one event back into single steps, as if each had had its own.
    pub(super) fn cut_run(&mut self, die: DieId) {
        let serving = self.serving;
        let d = &mut self.array.dies[die.index()];
        let [bus, array, bus2, array2] = d.step;
        let (period, elapsed) = (d.step.iter().sum::<u64>(), self.now - d.run_start);
        let (mut done, mut within) = (elapsed / period, elapsed % period);
        // At equal times the lower clock is served first: this die's own event of this moment may
        // still be to come.
        let to_come = serving < die.0;
        if within == 0 && done > 0 && to_come {
            (done, within) = (done - 1, period);
        }
        self.ops[d.running as usize].steps_done += done as u32;
        let start = d.run_start + done * period;
        let channel = &mut self.array.channels[d.channel as usize];
        if channel.run == die {
            channel.run = DieId::NONE;
        }
        let middle = bus + array;
        if bus2 + array2 == 0 || within < middle || (within == middle && to_come) {
            d.phase = Phase::First;
            channel.busy_until = channel.busy_until.max(start + bus);
            self.events.set(die.0, start + middle);
        } else {
            d.phase = Phase::Second;
            channel.busy_until = channel.busy_until.max(start + middle + bus2);
            self.events.set(die.0, start + period);
        }
    }

    /// Serves the next event.
    #[inline]
    pub fn step(&mut self) {
        let (clock, time) = self.events.first();
        debug_assert!(time != NEVER && time >= self.now);
        self.now = time;
        self.serving = clock;
        let dies = self.array.dies.len() as u32;
        if clock >= dies && self.chip.gathers() {
            self.end_gathering();
        } else if clock >= dies {
            self.serve_array(DieId(clock - dies));
        } else {
            self.serve_die(DieId(clock));
            // The die's clock still shows this event, unless it has been set for the next one.
            if self.events.get(clock) == time && self.is_idle(DieId(clock)) {
                self.events.set(clock, NEVER);
            }
        }
    }

    /// Whether nothing will happen on `die` by its own clock.
    pub(super) fn is_idle(&self, die: DieId) -> bool {
        let d = &self.array.dies[die.index()];
        d.running == NONE || d.phase == Phase::Held
    }

    #[inline]
    pub(super) fn serve_die(&mut self, die: DieId) {
        let cached = self.is_cached(die);
        let d = &mut self.array.dies[die.index()];
        match d.phase {
            Phase::First if d.step[2] + d.step[3] > 0 => return self.second(die),
            Phase::Across => {
                self.ops[d.running as usize].steps_done += 1;
                return self.second(die);
            }
            Phase::First if cached => return self.hand_over(die),
            Phase::First | Phase::Second | Phase::Last => {
                let id = d.running;
                self.ops[id as usize].steps_done += 1;
                if self.stored.is_some() {
                    self.apply_step(id);
                }
                if !self.rules.plain {
                    self.end_companions(die);
                }
            }
            Phase::Suspending => return self.suspended(die),
            Phase::Handover => return self.handed_over(die),
            // They have no clock of their own.
            Phase::Held | Phase::Gathering => return,
            Phase::Run => {
                d.phase = Phase::Second;
                let state = &mut self.ops[d.running as usize];
                state.steps_done = state.steps;
                let channel = &mut self.array.channels[d.channel as usize];
                if channel.run == die {
                    channel.run = DieId::NONE;
                    channel.busy_until = channel.busy_until.max(self.now - d.step[3]);
                }
            }
        }
        self.end_step(die);
    }

    /// After a step: on with the operation, or a host read first, or the operation has ended.
    #[inline(always)]
    fn end_step(&mut self, die: DieId) {
        let d = &self.array.dies[die.index()];
        let id = d.running;
        let state = &self.ops[id as usize];
        if state.steps_done < state.steps {
            let urgent = state.op.kind == Kind::Read && state.op.cause == Cause::Host;
            if d.urgent.head == NONE || urgent {
                return self.start_step(die);
            }
            self.path_leaves(die);
            self.put_back(die, id);
        } else {
            self.path_leaves(die);
            self.complete(id);
            self.array.dies[die.index()].load -= 1;
        }
        let channel = self.array.dies[die.index()].channel as usize;
        self.array.channels[channel].active -= 1;
        self.start_next(die);
    }

    /// Whether an operation goes before all that is not.
    #[inline]
    pub(super) fn is_urgent(&self, op: &FlashOp) -> bool {
        self.chip.read_first && op.kind == Kind::Read && op.cause == Cause::Host
    }

    /// An operation goes back to the head of its die's queue.
    pub(super) fn put_back(&mut self, die: DieId, id: u32) {
        let urgent = self.is_urgent(&self.ops[id as usize].op);
        let d = &mut self.array.dies[die.index()];
        let queue = if urgent { &mut d.urgent } else { &mut d.normal };
        let head = std::mem::replace(&mut queue.head, id);
        if head == NONE {
            queue.tail = id;
        }
        self.ops[id as usize].next = head;
    }

    /// A die takes the next operation from its queues.
    #[inline]
    pub(super) fn start_next(&mut self, die: DieId) {
        let d = &mut self.array.dies[die.index()];
        d.running = NONE;
        if d.urgent.head == NONE && d.suspended.is_some() {
            return self.resume(die);
        }
        if d.urgent.head == NONE && d.normal.head == NONE {
            return;
        }
        if self.chip.gathers() {
            return self.start_together(die);
        }
        self.take_up(die);
    }

    /// A die that has nothing to do begins what comes first in its queues.
    #[inline(never)]
    pub(super) fn take_up(&mut self, die: DieId) {
        if let Begun::Until(end) = self.begin_next(die) {
            self.events.set(die.0, end);
        }
    }

    /// The same, without a call, but for setting its clock.
    #[inline(always)]
    pub(super) fn begin_next(&mut self, die: DieId) -> Begun {
        let d = &mut self.array.dies[die.index()];
        let queue = if d.urgent.head == NONE { &mut d.normal } else { &mut d.urgent };
        let id = queue.head;
        if id == NONE {
            return Begun::Nothing;
        }
        let OpState { op, next, steps, steps_done, .. } = &self.ops[id as usize];
        let (next, steps, done) = (*next, *steps, *steps_done);
        queue.head = next;
        let step = self.step_of(op);
        let end = self.start_op(die, id, step, (steps, done));
        // With thousands under way the next one is not in the cache: it comes meanwhile.
        if let Some(next) = self.ops.get(next as usize) {
            std::hint::black_box(next.seq);
        }
        end.map_or(Begun::ClockIsSet, Begun::Until)
    }
}
