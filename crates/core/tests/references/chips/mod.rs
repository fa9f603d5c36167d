//! NAND commands a second time: when requests are answered on small arrays, from the table of
//! commands alone.
//!
//! Written from docs/reference.md (`nand`, `host`), the options' own texts, docs/ftls/page.md,
//! docs/allocators/static.md, and the table of commands of Samsung's and Micron's chips (multi-bank
//! thesis, section 2): a read is a command on the bus, the array's time, and a transfer; a program
//! a transfer and the array's time. A die holds its operation until it ends, a bus serves its dies
//! in the order in which they ask.
//!
//! Pages are placed by static striping, and there is so much spare flash that nothing is collected:
//! so the host's pages are all that the flash does. Reads and writes keep to different halves of
//! the drive, so that no read finds its page on the way. Copies and erases are not among them;
//! `one_die.rs` has these.
//!
//! Where two dies ask for a bus at the same moment, and not for pages of one request that has just
//! come, nothing says which one goes first: such runs are left out.

/// Random requests against the product.
mod agree;
mod array;
mod cache_program;
mod issue;
mod steps;
mod suspension;
mod two_plane;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use array::Array;
use eraseblock_core::host::Request;

/// An operation of a die that is waiting or under way.
#[derive(Debug, Clone, Copy)]
struct Job {
    is_read: bool,
    plane: u32,
    block: u32,
    page: u32,
    /// Pages that cross the bus.
    pages: u64,
    array: u64,
    request: usize,
    /// Adjacent pages of a block that a request reads are one operation, of a step for each.
    operation: usize,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Bus(u64),
    Array(u64),
}

/// Jobs that a die does together.
#[derive(Debug, Clone)]
struct Run {
    jobs: Vec<usize>,
    is_read: bool,
    phases: Vec<Phase>,
    next: usize,
    suspensions: u32,
}

#[derive(Debug, Default)]
struct Die {
    bus: usize,
    waiting: Vec<usize>,
    /// What takes commands and data.
    front: Option<Run>,
    /// Cache program: what is in the array while the next page's data come.
    back: Option<Run>,
    /// Stopped for a read, with what is left of its array time.
    stopped: Option<(Run, u64)>,
    /// When the array time of what can be stopped ends, and the number of its end among the events.
    ends: Option<(u64, u64)>,
    /// Gives way now, or goes on now: cannot take anything.
    between: bool,
    /// Begins at the end of this moment, and whether for what is issued in it.
    begins: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival(usize),
    BusDone(usize),
    ArrayDone(usize),
    /// From cache register to data register.
    Passed(usize),
    BackDone(usize),
    Stopped(usize),
    Resumed(usize),
    Begin(usize),
}

struct Chips<'a> {
    array: &'a Array,
    now: u64,
    number: u64,
    events: BinaryHeap<Reverse<(u64, bool, u64, Event)>>,
    dies: Vec<Die>,
    /// Dies that have asked for each bus, the one that has it first.
    buses: Vec<Vec<(usize, u64)>>,
    jobs: Vec<Job>,
    /// Request, unit and end of the page that was issued last.
    last: Option<(usize, usize, u32)>,
    /// Pages written to each unit so far.
    written: Vec<u32>,
    open: Vec<u32>,
    /// Programs that have not ended, and those that each flush waits for.
    unstored: BTreeSet<usize>,
    flushes: Vec<(usize, BTreeSet<usize>)>,
    /// When each bus was asked for last, and whether for what was issued just then.
    asked: Vec<Option<(u64, bool)>>,
    is_issuing: bool,
    is_ambiguous: bool,
    answers: Vec<(usize, u64)>,
}

impl<'a> Chips<'a> {
    fn new(array: &'a Array) -> Self {
        let each = array.exported() / array.units();
        let dies = (array.channels * array.chips * array.dies) as usize;
        let bus = |die: u32| {
            let package = die / array.dies;
            if array.shared_bus { package / array.chips } else { package }
        };
        Self {
            array,
            now: 0,
            number: 0,
            events: BinaryHeap::new(),
            dies: (0..dies)
                .map(|die| Die { bus: bus(die as u32) as usize, ..Die::default() })
                .collect(),
            buses: vec![Vec::new(); dies],
            jobs: Vec::new(),
            last: None,
            written: vec![each; array.units() as usize],
            open: Vec::new(),
            unstored: BTreeSet::new(),
            flushes: Vec::new(),
            asked: vec![None; dies],
            is_issuing: false,
            is_ambiguous: false,
            answers: Vec::new(),
        }
    }

    fn at(&mut self, time: u64, event: Event) -> u64 {
        self.number += 1;
        let last = matches!(event, Event::Begin(_));
        self.events.push(Reverse((time, last, self.number, event)));
        self.number
    }

    /// The answers in order: number of the request, and when.
    fn run(mut self, requests: &[Request]) -> Option<Vec<(usize, u64)>> {
        for (n, request) in requests.iter().enumerate() {
            self.at(request.arrival_ns, Event::Arrival(n));
        }
        self.open = vec![0; requests.len()];
        while let Some(Reverse((time, _, number, event))) = self.events.pop() {
            self.now = time;
            match event {
                Event::Arrival(n) => {
                    self.is_issuing = true;
                    self.issue(n, &requests[n]);
                    self.is_issuing = false;
                }
                Event::BusDone(die) => self.bus_done(die),
                Event::ArrayDone(die) => {
                    if self.dies[die].ends.is_some_and(|(_, current)| current == number) {
                        self.dies[die].ends = None;
                        self.go_on(die);
                    }
                }
                Event::Passed(die) => self.passed(die),
                Event::BackDone(die) => self.back_done(die),
                Event::Stopped(die) => self.stopped(die),
                Event::Resumed(die) => self.resumed(die),
                Event::Begin(die) => {
                    self.is_issuing = self.dies[die].begins.take().unwrap();
                    self.begin(die);
                    self.is_issuing = false;
                }
            }
        }
        assert!(self.open.iter().all(|&open| open == 0), "requests without an answer");
        (!self.is_ambiguous).then_some(self.answers)
    }

    /// Something has changed: the die may begin, or what runs may give way.
    fn wake(&mut self, die: usize) {
        self.give_way(die);
        if self.array.together.is_none() {
            self.begin(die);
        } else if self.dies[die].begins.is_none() {
            self.dies[die].begins = Some(self.is_issuing);
            self.at(self.now, Event::Begin(die));
        }
    }

    fn begin(&mut self, die: usize) {
        let a = self.array;
        if self.dies[die].front.is_some() || self.dies[die].between {
            return;
        }
        let read = self.dies[die].waiting.iter().position(|&job| self.jobs[job].is_read);
        let first = if a.read_first { read.or(Some(0)) } else { Some(0) };
        let Some(first) = first.filter(|&at| at < self.dies[die].waiting.len()) else {
            self.resume(die);
            return;
        };
        if self.dies[die].stopped.is_some() && read.is_none() {
            self.resume(die);
            return;
        }
        let leader = self.dies[die].waiting.remove(first);
        let jobs = self.with_partners(die, leader);
        let parts: Vec<Job> = jobs.iter().map(|&job| self.jobs[job]).collect();
        let is_read = parts[0].is_read;
        let phases = if is_read { a.phases_of_reads(&parts) } else { a.phases_of_programs(&parts) };
        self.dies[die].front = Some(Run { jobs, is_read, phases, next: 0, suspensions: 0 });
        self.go_on_at_front(die);
    }
}
