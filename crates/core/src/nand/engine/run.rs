//! Events one after the other, until somebody has to be told of one.

use super::Engine;
use super::array::Phase;
use super::dies::{Begun, crosses};
use crate::support::NONE;
use crate::support::clocks::NEVER;
use crate::support::ids::DieId;

impl Engine {
    /// Lets everything happen up to `time`, until somebody is told of an end or so many slots have
    /// been freed in all.
    #[inline(always)]
    pub fn run(&mut self, time: u64, freed: u64) {
        let simple = self.is_simple();
        // A clock that is not set comes after all times.
        let time = time.min(NEVER - 1);
        while self.waiting.finished.is_empty() && self.counts.freed_slots < freed {
            let (clock, next) = self.events.first();
            if next > time {
                return;
            }
            if simple {
                (self.now, self.serving) = (next, clock);
                self.serve_simply(DieId(clock));
            } else {
                self.step();
            }
        }
    }

    /// What the next event of a die brings where chips do one thing at a time and nobody follows
    /// what they do.
    #[inline(always)]
    fn serve_simply(&mut self, die: DieId) {
        let d = &self.array.dies[die.index()];
        let id = d.running;
        if d.phase != Phase::Last {
            let state = &mut self.ops[id as usize];
            match d.phase {
                Phase::First if d.step[2] | d.step[3] != 0 => return self.second(die),
                Phase::Across => return self.go_across(die),
                Phase::First | Phase::Second if state.steps_done + 1 == state.steps => {}
                _ => return self.go_on(die),
            }
        }
        self.end(id);
        let d = &mut self.array.dies[die.index()];
        d.load -= 1;
        self.array.channels[d.channel as usize].active -= 1;
        match self.begin_next(die) {
            Begun::Until(end) => self.events.set_first(die.0, end),
            Begun::ClockIsSet => {}
            Begun::Nothing => {
                self.array.dies[die.index()].running = NONE;
                self.events.end(die.0);
            }
        }
    }

    /// One step ends, and the next one comes to its second use of the bus: as in [`Self::second`],
    /// of which nothing is left to be asked but whether it goes on so.
    #[inline(always)]
    fn go_across(&mut self, die: DieId) {
        let d = &self.array.dies[die.index()];
        let state = &mut self.ops[d.running as usize];
        state.steps_done += 1;
        let channel = &mut self.array.channels[d.channel as usize];
        if crosses(d, state, channel) {
            let [_, first, bus, array] = d.step;
            channel.busy_until = channel.busy_until.max(self.now) + bus;
            return self.events.set_first(die.0, channel.busy_until + array + first);
        }
        self.ends_across(die);
    }

    /// The step is the last one, or something is not as it was. Apart, so that what happens most is
    /// short.
    #[inline(never)]
    fn ends_across(&mut self, die: DieId) {
        self.second(die);
    }

    /// The next step of an operation begins, or several have been one event.
    #[inline(never)]
    fn go_on(&mut self, die: DieId) {
        let time = self.now;
        self.serve_die(die);
        if self.events.get(die.0) == time && self.is_idle(die) {
            self.events.set(die.0, NEVER);
        }
    }
}
