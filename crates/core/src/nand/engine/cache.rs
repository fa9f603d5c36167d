//! Cache program: while the array programs one page, the next one crosses the bus into the cache
//! register.
//!
//! A die then has two ends. Its front takes commands and data; at its back one page is in the
//! array. A page passes from the front to the back when the array is free, which takes the time
//! from register to register. Anything but a program needs the whole die, and waits at the front
//! until the back is empty.

use super::Engine;
use super::array::Phase;
use crate::nand::op::Kind;
use crate::support::NONE;
use crate::support::clocks::NEVER;
use crate::support::ids::DieId;

impl Engine {
    /// Whether what runs on `die` is a program that goes through the cache register.
    pub(super) fn is_cached(&self, die: DieId) -> bool {
        self.chip.cache_program.is_some()
            && self.ops[self.array.dies[die.index()].running as usize].op.kind == Kind::Program
    }

    /// A page is in the cache register: on to the data register, when that is free.
    pub(super) fn hand_over(&mut self, die: DieId) {
        let Some(time) = self.chip.cache_program else { return };
        let d = &mut self.array.dies[die.index()];
        if d.back == NONE {
            d.phase = Phase::Handover;
            self.events.set(die.0, self.now + time);
        } else {
            d.phase = Phase::Held;
        }
    }

    /// A page is in the data register: the array programs it, the front is free.
    pub(super) fn handed_over(&mut self, die: DieId) {
        self.path_leaves(die);
        let d = &mut self.array.dies[die.index()];
        let id = d.running;
        let array = d.left;
        d.back = id;
        self.events.set(self.array_clock(die), self.now + array);
        let state = &self.ops[id as usize];
        if state.steps_done + 1 < state.steps && self.array.dies[die.index()].urgent.head == NONE {
            return self.start_step(die);
        }
        if state.steps_done + 1 < state.steps {
            self.put_back(die, id);
        }
        let d = &mut self.array.dies[die.index()];
        let channel = d.channel as usize;
        self.array.channels[channel].active -= 1;
        self.start_next(die);
    }

    /// The array has programmed its page.
    pub(super) fn serve_array(&mut self, die: DieId) {
        self.events.set(self.array_clock(die), NEVER);
        let id = std::mem::replace(&mut self.array.dies[die.index()].back, NONE);
        let state = &mut self.ops[id as usize];
        state.steps_done += 1;
        let ended = state.steps_done == state.steps;
        if self.stored.is_some() {
            self.apply_step(id);
        }
        // The front goes on before those who waited for the operation ask for the die.
        let d = &self.array.dies[die.index()];
        if d.running != NONE && d.phase == Phase::Held {
            if self.is_cached(die) {
                self.hand_over(die);
            } else {
                self.start_step(die);
            }
        }
        if ended {
            self.array.dies[die.index()].load -= 1;
            self.complete(id);
        }
    }

    pub(super) fn array_clock(&self, die: DieId) -> u32 {
        self.array.dies.len() as u32 + die.0
    }
}
