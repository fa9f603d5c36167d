//! Suspension: programs give way to reads.

use super::{Chips, Event, Run};

impl Chips<'_> {
    /// The array stops where a read waits.
    pub fn give_way(&mut self, die: usize) {
        let Some(s) = self.array.suspend else { return };
        let (now, jobs) = (self.now, &self.jobs);
        let d = &mut self.dies[die];
        let read_waits = d.waiting.iter().any(|&job| jobs[job].is_read);
        let may = |run: &Run| !run.is_read && s.program && run.suspensions < s.at_most;
        let Some((end, _)) = d.ends else { return };
        // What ends sooner than it could give way is left to end.
        if read_waits && end > now + s.latency && d.front.as_ref().is_some_and(may) {
            let mut run = d.front.take().unwrap();
            run.suspensions += 1;
            d.stopped = Some((run, end - now));
            d.ends = None;
            d.between = true;
            self.at(now + s.latency, Event::Stopped(die));
        }
    }

    /// The die is free for the read.
    pub fn stopped(&mut self, die: usize) {
        self.dies[die].between = false;
        // Where that takes no time, others that are to begin in this moment may come first: nothing
        // says.
        let bus = self.dies[die].bus;
        self.is_ambiguous |=
            self.dies.iter().any(|other| other.bus == bus && other.begins.is_some());
        self.begin(die);
    }

    /// No read waits: what was stopped goes on after a while.
    pub fn resume(&mut self, die: usize) {
        let Some(s) = self.array.suspend else { return };
        if self.dies[die].stopped.is_some() {
            self.dies[die].between = true;
            self.at(self.now + s.resume, Event::Resumed(die));
        }
    }

    /// The array works again.
    pub fn resumed(&mut self, die: usize) {
        self.dies[die].between = false;
        let (run, left) = self.dies[die].stopped.take().unwrap();
        self.dies[die].front = Some(run);
        self.array_for(die, left);
    }
}
