//! NAND commands a second time: when requests are answered on small arrays, from the table of commands alone.
//!
//! Written from docs/reference.md (`nand`, `host`), the options' own texts, docs/ftls/page.md, docs/allocators/static.md,
//! and the table of commands of Samsung's and Micron's chips (multi-bank thesis, section 2): a read is a command on the bus,
//! the array's time, and a transfer; a program a transfer and the array's time. A die holds its operation until it ends, a
//! bus serves its dies in the order in which they ask.
//!
//! Pages are placed by static striping, and there is so much spare flash that nothing is collected: so the host's pages
//! are all that the flash does. Reads and writes keep to different halves of the drive, so that no read finds its page on
//! the way. Copies and erases are not among them; `one_die.rs` has these.
//!
//! Where two dies ask for a bus at the same moment, and not for pages of one request that has just come, nothing says which one
//! goes first: such runs are left out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use eraseblock_core::host::{Op, Request};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use crate::references::{is_chosen, seeds};
use crate::support;

/// What is drawn for an array, in pages and ns.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a chip, each for itself")]
pub struct Array {
    channels: u32,
    chips: u32,
    dies: u32,
    planes: u32,
    pages_per_block: u32,
    pages_per_program: u32,
    /// Mapped pages of a flash page.
    mapped: u32,
    multi_plane: bool,
    shared_bus: bool,
    read_first: bool,
    shadow: bool,
    /// A time for each type of page.
    read: Vec<u64>,
    program: Vec<u64>,
    transfer: u64,
    command: u64,
    cache: Option<u64>,
    suspend: Option<Suspend>,
    together: Option<Together>,
    order: &'static str,
}

#[derive(Debug, Clone, Copy)]
struct Suspend {
    program: bool,
    latency: u64,
    resume: u64,
    at_most: u32,
}

/// Two-plane commands.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "switches of a chip, each for itself")]
struct Together {
    read: bool,
    program: bool,
    all: bool,
    same_page: bool,
    same_block: bool,
    lookahead: usize,
    /// tDBSY, in ns.
    delay: u64,
}

impl Array {
    fn draw(random: &mut Pcg64Mcg) -> Self {
        let special = random.random_range(0..5);
        let together = (special == 2).then(|| Together {
            read: random.random_range(0..3) > 0,
            program: random.random_range(0..3) > 0,
            all: random.random(),
            same_page: random.random(),
            same_block: random.random(),
            lookahead: [1, 2, 3, 64][random.random_range(0..4)],
            delay: [0, 503][random.random_range(0..2)],
        });
        let suspend = (special == 1).then(|| Suspend {
            program: random.random_range(0..4) > 0,
            latency: [0, 20_011][random.random_range(0..2)],
            resume: [0, 5_003][random.random_range(0..2)],
            at_most: random.random_range(1..4),
        });
        let types = random.random_range(1..=3);
        let multi_plane = together.is_none() && random.random_range(0..3) == 0;
        let pages_per_program =
            if together.is_none() && types == 1 { random.random_range(1..=3) } else { 1 };
        Self {
            channels: random.random_range(1..=2),
            // Two-plane commands are compared with a bus for each die: what else goes over it in between the papers leave open.
            chips: random.random_range(1..=2),
            dies: if together.is_some() { 1 } else { random.random_range(1..=2) },
            planes: if together.is_some() {
                2 << random.random_range(0..2)
            } else {
                random.random_range(1..=2)
            },
            pages_per_block: 12,
            pages_per_program,
            mapped: if multi_plane { 1 } else { random.random_range(1..=2) },
            multi_plane,
            shared_bus: together.is_none() && random.random(),
            read_first: suspend.is_some() || random.random(),
            shadow: types > 1 && random.random(),
            read: [25_013, 47_017, 66_029][..types].to_vec(),
            program: [200_003, 410_009, 633_013][..types].to_vec(),
            transfer: 100_019,
            command: [0, 307][random.random_range(0..2)],
            cache: (special == 0).then_some(3_001),
            suspend,
            together,
            order: ["CWDP", "PDWC", "WPCD"][random.random_range(0..3)],
        }
    }

    fn over(&self) -> Value {
        let times =
            |all: &[u64]| all.iter().map(|t| format!("{t} ns")).collect::<Vec<_>>().join(" / ");
        let mut nand = json!({
            "channels": self.channels, "chips_per_channel": self.chips, "dies_per_chip": self.dies,
            "planes_per_die": self.planes, "blocks_per_plane": 64, "pages_per_block": self.pages_per_block,
            "pages_per_program": self.pages_per_program, "multi_plane": self.multi_plane,
            "shared_bus": self.shared_bus, "scheduling": if self.read_first { "read-first" } else { "fifo" },
            "page_types": if self.shadow { "shadow" } else { "cycle" },
            "timing": {
                "read": times(&self.read), "program": times(&self.program), "erase": "1500 us",
                "transfer": times(&[self.transfer]), "command": times(&[self.command]),
            },
        });
        if self.mapped > 1 {
            nand["page_size"] = format!("{} KiB", 4 * self.mapped).into();
            nand["mapping_unit"] = "4 KiB".into();
        }
        if let Some(cache) = self.cache {
            nand["cache_program"] = times(&[cache]).into();
        }
        if let Some(s) = self.suspend {
            nand["suspend"] = json!({"program": s.program, "latency": times(&[s.latency]), "resume": times(&[s.resume]),
                "at_most": s.at_most});
        }
        if let Some(t) = self.together {
            nand["two_plane"] = json!({"read": t.read, "program": t.program, "planes": if t.all { "all" } else { "pairs" },
                "same_page": t.same_page, "same_block": t.same_block, "delay": times(&[t.delay]), "lookahead": t.lookahead});
        }
        json!({
            "nand": nand,
            "ftl": {"mapping": "page", "allocator": {"kind": "static", "order": self.order},
                "exported": format!("{} KiB", 4 * self.exported())},
            "buffer": {"size": "4 MiB"},
            "host": {"replay": "open", "max_outstanding": 1000},
        })
    }

    /// Pages that one program writes.
    fn program_pages(&self) -> u32 {
        self.pages_per_program * self.mapped * if self.multi_plane { self.planes } else { 1 }
    }

    /// Planes with blocks of their own, on each die.
    fn unit_planes(&self) -> u32 {
        if self.multi_plane { 1 } else { self.planes }
    }

    fn units(&self) -> u32 {
        self.channels * self.chips * self.dies * self.unit_planes()
    }

    /// Eight blocks of each plane hold data, of 64.
    fn exported(&self) -> u32 {
        self.channels
            * self.chips
            * self.dies
            * self.planes
            * self.pages_per_block
            * self.mapped
            * 8
    }

    /// Channel, chip, die and plane of the n-th stripe.
    fn place(&self, stripe: u32) -> [u32; 4] {
        let (mut rest, mut place) = (stripe, [0; 4]);
        for letter in self.order.chars() {
            let (level, size) = match letter {
                'C' => (0, self.channels),
                'W' => (1, self.chips),
                'D' => (2, self.dies),
                _ => (3, self.unit_planes()),
            };
            (place[level], rest) = (rest % size, rest / size);
        }
        place
    }

    /// Type of a page by its number in its block.
    fn page_type(&self, page: u32) -> usize {
        let types = self.read.len() as u32;
        if !self.shadow {
            return (page % types) as usize;
        }
        // Wordline by wordline, type t of a wordline as much later as t more wordlines have begun.
        let wordlines = self.pages_per_block / types;
        let diagonals = 0..wordlines + types;
        let all = diagonals.flat_map(|d| (0..types).filter(move |&t| d >= t && d - t < wordlines));
        all.collect::<Vec<_>>()[page as usize] as usize
    }
}

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
    begins: bool,
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
    /// Pages written to each unit so far.
    written: Vec<u32>,
    open: Vec<u32>,
    asked: Vec<Option<u64>>,
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
            written: vec![each; array.units() as usize],
            open: Vec::new(),
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
                Event::BusDone(die) => {
                    let bus = self.dies[die].bus;
                    self.buses[bus].remove(0);
                    if let Some(&(next, ns)) = self.buses[bus].first() {
                        self.at(time + ns, Event::BusDone(next));
                    }
                    self.go_on(die);
                }
                Event::ArrayDone(die) => {
                    if self.dies[die].ends.is_some_and(|(_, current)| current == number) {
                        self.dies[die].ends = None;
                        self.go_on(die);
                    }
                }
                Event::Passed(die) => {
                    let run = self.dies[die].front.take().unwrap();
                    let Phase::Array(ns) = run.phases[run.next] else { unreachable!() };
                    self.dies[die].back = Some(run);
                    self.at(time + ns, Event::BackDone(die));
                    self.wake(die);
                }
                Event::BackDone(die) => {
                    let run = self.dies[die].back.take().unwrap();
                    self.end(&run);
                    if self.dies[die].front.as_ref().is_some_and(Self::needs_array) {
                        self.go_on_at_front(die);
                    } else {
                        self.wake(die);
                    }
                }
                Event::Stopped(die) => {
                    self.dies[die].between = false;
                    self.begin(die);
                }
                Event::Resumed(die) => {
                    self.dies[die].between = false;
                    let (run, left) = self.dies[die].stopped.take().unwrap();
                    self.dies[die].front = Some(run);
                    self.array_for(die, left);
                }
                Event::Begin(die) => {
                    self.dies[die].begins = false;
                    self.begin(die);
                }
            }
        }
        assert!(self.open.iter().all(|&open| open == 0), "requests without an answer");
        (!self.is_ambiguous).then_some(self.answers)
    }

    fn issue(&mut self, n: usize, request: &Request) {
        let a = self.array;
        let (first, count) = ((request.offset / 4096) as u32, (request.len / 4096) as u32);
        let across = a.mapped * if a.multi_plane { a.planes } else { 1 };
        let unit_pages = a.pages_per_block * across;
        let (is_read, step) = match request.op {
            Op::Read => (true, 1),
            _ => (false, a.program_pages()),
        };
        let end = first + count;
        let mut next = first;
        while next < end {
            let lpn = next;
            // One read fetches what the request wants of a flash page.
            let step = if is_read { (a.mapped - lpn % a.mapped).min(end - lpn) } else { step };
            next += step;
            let stripe = lpn / a.program_pages();
            let [channel, chip, die, plane] = a.place(stripe % a.units());
            let unit = (stripe % a.units()) as usize;
            let position = if is_read {
                stripe / a.units() * a.program_pages() + lpn % a.program_pages()
            } else {
                self.written[unit] += step;
                self.written[unit] - step
            };
            let page = position % unit_pages / across;
            let times = if is_read { &a.read } else { &a.program };
            let die = ((channel * a.chips + chip) * a.dies + die) as usize;
            self.jobs.push(Job {
                is_read,
                plane,
                block: position / unit_pages,
                page,
                pages: step.into(),
                array: times[a.page_type(page)],
                request: n,
            });
            self.open[n] += 1;
            self.dies[die].waiting.push(self.jobs.len() - 1);
            self.wake(die);
        }
    }

    /// Something has changed: the die may begin, or what runs may give way.
    fn wake(&mut self, die: usize) {
        self.give_way(die);
        if self.array.together.is_none() {
            self.begin(die);
        } else if !self.dies[die].begins {
            self.dies[die].begins = true;
            self.at(self.now, Event::Begin(die));
        }
    }

    /// Suspension: the array stops where a read waits.
    fn give_way(&mut self, die: usize) {
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
        let array = parts.iter().map(|job| job.array).max().unwrap();
        // tDBSY, between the data of one plane and the next: of programs alone, which wait for the page register.
        let between = a.together.map_or(0, |t| t.delay * (parts.len() as u64 - 1));
        let phases = if parts[0].is_read {
            // The planes' data come one after the other; the command has ended when all have come.
            let transfers = parts.iter().map(|job| job.pages * a.transfer).sum();
            vec![
                Phase::Bus(a.command * parts.len() as u64),
                Phase::Array(array),
                Phase::Bus(transfers),
            ]
        } else {
            let transfers =
                parts.iter().map(|job| a.command + job.pages * a.transfer).sum::<u64>() + between;
            vec![Phase::Bus(transfers), Phase::Array(array)]
        };
        self.dies[die].front =
            Some(Run { jobs, is_read: parts[0].is_read, phases, next: 0, suspensions: 0 });
        self.go_on_at_front(die);
    }

    fn resume(&mut self, die: usize) {
        let Some(s) = self.array.suspend else { return };
        if self.dies[die].stopped.is_some() {
            self.dies[die].between = true;
            self.at(self.now + s.resume, Event::Resumed(die));
        }
    }

    /// Two-plane commands: who goes together with the job that was waiting at `place`.
    fn with_partners(&mut self, die: usize, leader: usize) -> Vec<usize> {
        let mut jobs = vec![leader];
        let Some(t) = self.array.together else { return jobs };
        let l = self.jobs[leader];
        if !(if l.is_read { t.read } else { t.program }) {
            return jobs;
        }
        let mut planes = vec![l.plane];
        // In the order in which the die would take them.
        let mut waiting = self.dies[die].waiting.clone();
        if self.array.read_first {
            waiting.sort_by_key(|&job| !self.jobs[job].is_read);
        }
        for other in waiting.into_iter().take(t.lookahead) {
            let o = self.jobs[other];
            // Each plane keeps its order: only what waits first for it can go along.
            if planes.contains(&o.plane) {
                continue;
            }
            planes.push(o.plane);
            let goes = o.is_read == l.is_read
                && (t.all || o.plane / 2 == l.plane / 2)
                && (!t.same_page || o.page == l.page)
                && (!t.same_block || o.block == l.block);
            if goes {
                jobs.push(other);
            }
        }
        self.dies[die].waiting.retain(|job| !jobs.contains(job));
        jobs
    }

    /// Whether it stands before the array, with cache programs.
    fn needs_array(run: &Run) -> bool {
        run.next == 0 && run.is_read || matches!(run.phases.get(run.next), Some(Phase::Array(_)))
    }

    /// A phase of what is at the front has ended.
    fn go_on(&mut self, die: usize) {
        self.dies[die].front.as_mut().unwrap().next += 1;
        self.go_on_at_front(die);
    }

    fn go_on_at_front(&mut self, die: usize) {
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

    /// Whether two dies ask for a bus in one moment, other than for what was issued just then: nothing says who is first.
    fn note_asking(&mut self, bus: usize) {
        if !self.is_issuing {
            self.is_ambiguous |= self.asked[bus] == Some(self.now);
            self.asked[bus] = Some(self.now);
        }
    }

    fn array_for(&mut self, die: usize, ns: u64) {
        let end = self.now + ns;
        let number = self.at(end, Event::ArrayDone(die));
        self.dies[die].ends = Some((end, number));
        self.give_way(die);
    }

    fn end(&mut self, run: &Run) {
        run.jobs.iter().for_each(|&job| self.end_job(job));
    }

    fn end_job(&mut self, job: usize) {
        let request = self.jobs[job].request;
        self.open[request] -= 1;
        if self.open[request] == 0 {
            self.answers.push((request, self.now));
        }
    }
}

/// Requests that are spread over some time, so that some find an idle drive and some a long queue.
fn requests(array: &Array, random: &mut Pcg64Mcg) -> Vec<Request> {
    let half = array.exported() / 2;
    let step = array.program_pages();
    let gap = [1_000, 100_000, 1_000_000][random.random_range(0..3)];
    let mut now = 1;
    // Several planes of a die go together for pages of one request, or of requests that come at the same moment.
    let same = u64::from(array.together.is_none());
    let longest = if array.together.is_some() { 1 } else { 6 };
    (0..random.random_range(1..40))
        .map(|_| {
            now += if random.random_range(0..3) > 0 { random.random_range(1..gap) } else { same };
            if random.random() {
                let first = random.random_range(0..half - 8);
                Request {
                    arrival_ns: now,
                    ..support::request(Op::Read, first.into(), random.random_range(1..=longest))
                }
            } else {
                let first = (half / step + random.random_range(1..half / step - 4)) * step;
                let count = u64::from(step * random.random_range(1..=longest.min(3) as u32));
                Request { arrival_ns: now, ..support::request(Op::Write, first.into(), count) }
            }
        })
        .collect()
}

/// `false` where it cannot be compared.
fn compare(seed: u64) -> bool {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let array = Array::draw(&mut random);
    let requests = requests(&array, &mut random);
    let Some(answers) = Chips::new(&array).run(&requests) else { return false };
    let mut quick = support::device(&array.over());
    quick.note_answers();
    for request in &requests {
        quick.submit(request).unwrap_or_else(|error| panic!("seed {seed}: {error}: {array:?}"));
    }
    let report = quick.finish().unwrap_or_else(|error| panic!("seed {seed}: {error}: {array:?}"));
    let at = || {
        let list = requests.iter().map(|r| (r.arrival_ns, r.op, r.offset / 4096, r.len / 4096));
        format!("seed {seed}: {array:?}, {:?}, expected {answers:?}", list.collect::<Vec<_>>())
    };
    for (found, op) in [(report.response_ns.read, Op::Read), (report.response_ns.write, Op::Write)]
    {
        let of = |&&(n, _): &&(usize, u64)| requests[n].op == op;
        let times: Vec<u64> =
            answers.iter().filter(of).map(|&(n, end)| end - requests[n].arrival_ns).collect();
        let (sum, most) = (times.iter().sum::<u64>(), times.iter().copied().max());
        let found = found.map(|f| ((f.mean * f.count as f64).round() as u64, f.max));
        assert_eq!(
            found,
            most.map(|most| (sum, most)),
            "{op:?}: sum and longest of response times, {}",
            at()
        );
    }
    // Answers of one moment have no order.
    let ends: BTreeMap<u64, u64> = answers.iter().map(|&(n, end)| (n as u64, end)).collect();
    assert!(quick.answers().is_sorted_by_key(|n| ends[n]), "order of the answers, {}", at());
    true
}

#[test]
fn random_requests_take_as_long() {
    if is_chosen("chips") {
        let all = seeds(1_000);
        let compared = (0..all).filter(|&seed| compare(seed)).count() as u64;
        assert!(compared > all * 4 / 5, "{compared} of {all} could be compared");
    }
}
