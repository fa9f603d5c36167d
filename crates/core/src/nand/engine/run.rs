//! Events one after the other, until somebody has to be told of one.

use super::Engine;
use super::array::Phase;
use crate::support::NONE;
use crate::support::clocks::NEVER;
use crate::support::ids::DieId;

impl Engine {
    /// Lets everything happen up to `time`, until somebody is told of an end or so many slots have
    /// been freed in all.
    #[inline(always)]
    pub fn run(&mut self, time: u64, freed: u64) {
        let simple = self.is_simple();
        while self.waiting.finished.is_empty() && self.counts.freed_slots < freed {
            let (clock, next) = self.events.first();
            if next > time || next == NEVER {
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
                Phase::Across => {
                    state.steps_done += 1;
                    return self.second(die);
                }
                Phase::First | Phase::Second if state.steps_done + 1 == state.steps => {}
                _ => return self.go_on(die),
            }
        }
        self.end(id);
        let d = &mut self.array.dies[die.index()];
        d.load -= 1;
        self.array.channels[d.channel as usize].active -= 1;
        if d.urgent.head == NONE && d.normal.head == NONE {
            d.running = NONE;
            self.events.end(die.0);
        } else {
            self.take_up(die);
        }
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
