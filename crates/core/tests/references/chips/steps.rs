//! The steps of a read and of a program: command, transfer and the array's time, on one plane or
//! several.

use super::array::Array;
use super::{Chips, Event, Job, Phase};

impl Array {
    /// A command for each plane; then the planes' data come one after the other, and the reads have
    /// ended when all have come.
    pub fn phases_of_reads(&self, parts: &[Job]) -> Vec<Phase> {
        let transfers = parts.iter().map(|job| job.pages * self.transfer).sum();
        vec![Phase::Bus(self.command * parts.len() as u64), longest(parts), Phase::Bus(transfers)]
    }

    /// Command and data of one plane after the other.
    pub fn phases_of_programs(&self, parts: &[Job]) -> Vec<Phase> {
        // tDBSY, between the data of one plane and the next: programs alone wait for the page
        // register.
        let between = self.together.map_or(0, |t| t.delay * (parts.len() as u64 - 1));
        let transfers =
            parts.iter().map(|job| self.command + job.pages * self.transfer).sum::<u64>();
        vec![Phase::Bus(transfers + between), longest(parts)]
    }
}

/// The planes' arrays work at the same time.
fn longest(parts: &[Job]) -> Phase {
    Phase::Array(parts.iter().map(|job| job.array).max().expect("a part at least"))
}

impl Chips<'_> {
    /// The bus has carried what a die asked for.
    pub fn bus_done(&mut self, die: usize) {
        let bus = self.dies[die].bus;
        self.buses[bus].remove(0);
        if let Some(&(next, ns)) = self.buses[bus].first() {
            self.at(self.now + ns, Event::BusDone(next));
        }
        self.go_on(die);
    }

    /// A phase of what is at the front has ended.
    pub fn go_on(&mut self, die: usize) {
        self.dies[die].front.as_mut().unwrap().next += 1;
        self.go_on_at_front(die);
    }

    pub fn go_on_at_front(&mut self, die: usize) {
        let run = self.dies[die].front.clone().unwrap();
        if self.array.cache.is_some() && self.dies[die].back.is_some() && Self::needs_array(&run) {
            return;
        }
        match run.phases.get(run.next) {
            Some(Phase::Bus(0)) => self.go_on(die),
            Some(&Phase::Bus(ns)) => {
                let bus = self.dies[die].bus;
                self.note_asking(bus);
                self.buses[bus].push((die, ns));
                if self.buses[bus].len() == 1 {
                    self.at(self.now + ns, Event::BusDone(die));
                }
            }
            Some(&Phase::Array(ns)) => match self.array.cache {
                Some(cache) if !run.is_read => _ = self.at(self.now + cache, Event::Passed(die)),
                _ => self.array_for(die, ns),
            },
            None => {
                self.dies[die].front = None;
                self.end(&run);
                self.wake(die);
            }
        }
    }

    /// Whether two dies ask for a bus in one moment, other than for what was issued just then:
    /// nothing says who is first. Nor does anything where a request comes in the moment in which
    /// another die goes on.
    pub fn note_asking(&mut self, bus: usize) {
        let before = self.asked[bus].replace((self.now, self.is_issuing));
        self.is_ambiguous |=
            before.is_some_and(|(at, issuing)| at == self.now && !(issuing && self.is_issuing));
    }

    pub fn array_for(&mut self, die: usize, ns: u64) {
        let end = self.now + ns;
        let number = self.at(end, Event::ArrayDone(die));
        self.dies[die].ends = Some((end, number));
        self.give_way(die);
    }
}
