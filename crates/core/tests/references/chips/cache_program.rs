//! Cache program: the next page's data cross the bus while the last one is programmed.

use super::{Chips, Event, Phase, Run};

impl Chips<'_> {
    /// Whether it stands before the array, with cache programs.
    pub fn needs_array(run: &Run) -> bool {
        run.next == 0 && run.is_read || matches!(run.phases.get(run.next), Some(Phase::Array(_)))
    }

    /// The data have come from the cache register to the data register, which frees the bus's side
    /// of the die.
    pub fn passed(&mut self, die: usize) {
        let run = self.dies[die].front.take().unwrap();
        let Phase::Array(ns) = run.phases[run.next] else { unreachable!() };
        self.dies[die].back = Some(run);
        self.at(self.now + ns, Event::BackDone(die));
        self.wake(die);
    }

    /// The array has programmed them.
    pub fn back_done(&mut self, die: usize) {
        let run = self.dies[die].back.take().unwrap();
        self.end(&run);
        if self.dies[die].front.as_ref().is_some_and(Self::needs_array) {
            self.go_on_at_front(die);
        } else {
            self.wake(die);
        }
    }
}
