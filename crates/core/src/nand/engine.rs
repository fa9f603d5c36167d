//! When flash operations happen: a discrete-event model of dies and channels in integer nanoseconds.
//!
//! An operation is a number of equal *steps*, each bus, array, bus, array (any of them may be empty):
//!
//! | operation | bus | array | bus | array |
//! |---|---|---|---|---|
//! | read | command | tR | transfer | |
//! | program | command + transfer | tPROG | | |
//! | erase | command | tBERS | | |
//! | copy | command | tR | command + 2 transfers | tPROG |
//! | copy-back | command | tR | command | tPROG |
//!
//! A die works on one operation at a time and holds it through its bus phases; a channel serves its dies in the order
//! of asking. Operations enter their die's queue when they become *ready*, so that one that waits never blocks
//! others and waiting cannot go round in a circle. Hazards between operations are kept per block:
//!
//! - a read or copy waits for the program of its page,
//! - a program or erase comes after earlier programs and erases of its block,
//! - an erase waits for reads and copies from its block, and for programs that replace pages of it (`guard`),
//! - an `ordered` program comes after the programs under way on the block that it guards.
//!
//! Under read-first a host read goes before everything else that waits, and between the steps of what runs.
//! A run of steps costs one event as long as nothing can come between them; when something does, the run is cut back
//! to single steps at that moment, so that the times are the same as with an event for each step.

use std::collections::VecDeque;

use hashbrown::HashMap;

use super::flash::Flash;
use super::geometry::Geometry;
use super::op::{Cause, ENGINE_JOIN, FlashOp, Kind, Plan};
use super::shadow::Shadow;
use crate::config::{NandConfig, Scheduling, TimingConfig};
use crate::support::NONE;
use crate::support::tournament::{NEVER, Tournament};

/// An operation under way.
#[derive(Debug, Clone, Copy)]
struct OpState {
    op: FlashOp,
    /// Order of issue.
    seq: u64,
    /// Things it still waits for.
    deps: u32,
    /// In its die's queue, or running.
    ready: bool,
    live: bool,
    /// Next in the die's queue, or in the list of free slots.
    next: u32,
    /// The operation that programmed or erased its block before it, if that was still under way.
    before: u32,
    /// Edges to operations that wait for this one.
    waiters: u32,
    steps: u32,
    steps_done: u32,
    /// Number of the barrier that it comes before.
    epoch: u32,
    /// Life of the block that it pins; of an erase, the life that it ends.
    life: u32,
    /// Erase: pins that it still waits for, and the erase before it that waits too.
    pins: u32,
    erase_before: u32,
}

/// An operation that waits, or a join marked with [`ENGINE_JOIN`]; edges of one source form a list.
#[derive(Debug, Clone, Copy)]
struct Edge {
    op: u32,
    next: u32,
}

/// Operations that end together, as far as those who wait can tell.
#[derive(Debug, Clone, Copy)]
struct Join {
    count: u32,
    /// Edges to operations that wait; in a free join, the next free one.
    waiters: u32,
    /// What the device knows it by, reported when it ends; or [`NONE`].
    tag: u32,
}

/// What is under way on a block.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// Operations under way that need what is in it, since its last erase was issued.
    pins: u32,
    /// The last program, copy or erase of it under way.
    tail: u32,
    /// The last issued of the erases that wait for pins from before them.
    erase: u32,
    /// Erases issued: what is pinned is a block in one of its lives.
    life: u32,
}

/// Where a die is in the current step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Before or in the first bus and array phase.
    First,
    /// Before or in the second ones.
    Second,
    /// Several steps at once.
    Run,
}

#[derive(Debug, Clone, Copy, Default)]
struct Queue {
    head: u32,
    tail: u32,
}

#[derive(Debug, Clone, Copy)]
struct Die {
    running: u32,
    phase: Phase,
    channel: u32,
    /// Bus, array, bus, array of one step.
    step: [u64; 4],
    run_start: u64,
    /// It waits for the channel, and the next die that does.
    waiting: bool,
    next: u32,
    urgent: Queue,
    normal: Queue,
    /// Operations queued or running.
    load: u32,
}

#[derive(Debug, Clone, Copy)]
struct Channel {
    busy_until: u64,
    /// Dies that wait for it, in order.
    head: u32,
    tail: u32,
    /// Dies on it with an operation running.
    active: u32,
    /// A die that runs several steps with bus phases as one event.
    run: u32,
}

/// The clock, the dies and the channels.
#[derive(Debug)]
pub struct Engine {
    now: u64,
    timing: TimingConfig,
    read_first: bool,
    program_pages: u32,
    single_reads: bool,
    /// Apply each step when it ends.
    shadow: Option<Box<Shadow>>,
    /// Plan records of the operations under way, while there is a shadow.
    payloads: Vec<Vec<super::image::Oob>>,
    /// Tokens of the pins that each operation on several pages releases.
    unpins: Vec<Vec<u32>>,
    /// Pinned block and its life by token, for pages that wait in open program units.
    tokens: HashMap<u32, (u32, u32)>,
    next_token: u32,
    /// Joins of the plan being issued.
    locals: Vec<u32>,
    die_of_block: Vec<u16>,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    blocks: Vec<Block>,
    ops: Vec<OpState>,
    free_op: u32,
    edges: Vec<Edge>,
    free_edge: u32,
    joins: Vec<Join>,
    free_join: u32,
    events: Tournament,
    /// The clock served last; past all of them once everything up to now has happened.
    serving: u32,
    seq: u64,
    under_way: u32,
    finished: Vec<u32>,
    /// Programs under way between barriers, the oldest first, and who waits for each barrier.
    epochs: VecDeque<(u32, u32)>,
    first_epoch: u32,
    freed_slots: u64,
    completed: u64,
    /// Erases that have not ended, and those that have.
    erasing: u32,
    erased: u64,
}

impl Engine {
    /// An idle array.
    pub fn new(config: &NandConfig, geometry: &Geometry) -> Self {
        let die = |d: u32| Die {
            running: NONE,
            phase: Phase::First,
            channel: geometry.channel_of(d),
            step: [0; 4],
            run_start: 0,
            waiting: false,
            next: NONE,
            urgent: Queue { head: NONE, tail: NONE },
            normal: Queue { head: NONE, tail: NONE },
            load: 0,
        };
        let channel = Channel { busy_until: 0, head: NONE, tail: NONE, active: 0, run: NONE };
        Self {
            now: 0,
            timing: config.timing.clone(),
            read_first: config.scheduling == Scheduling::ReadFirst,
            program_pages: geometry.program_pages,
            single_reads: geometry.read_pages == 1,
            shadow: None,
            payloads: Vec::new(),
            unpins: Vec::new(),
            tokens: HashMap::new(),
            next_token: 0,
            locals: Vec::new(),
            die_of_block: (0..geometry.blocks())
                .map(|b| geometry.die_of(geometry.unit_of(b)) as u16)
                .collect(),
            dies: (0..geometry.dies).map(die).collect(),
            channels: vec![channel; geometry.channels as usize],
            blocks: vec![Block { pins: 0, tail: NONE, erase: NONE, life: 0 }; geometry.blocks() as usize],
            ops: Vec::new(),
            free_op: NONE,
            edges: Vec::new(),
            free_edge: NONE,
            joins: Vec::new(),
            free_join: NONE,
            events: Tournament::new((geometry.dies + geometry.channels) as usize),
            serving: NONE,
            seq: 0,
            under_way: 0,
            finished: Vec::new(),
            epochs: VecDeque::from([(0, NONE)]),
            first_epoch: 0,
            freed_slots: 0,
            completed: 0,
            erasing: 0,
            erased: 0,
        }
    }

    /// Keeps what the flash holds from now on, and checks it.
    pub fn attach(&mut self, shadow: Box<Shadow>) {
        self.shadow = Some(shadow);
    }

    /// What the flash holds, if that is kept.
    pub fn shadow(&self) -> Option<&Shadow> {
        self.shadow.as_deref()
    }

    /// The same, to be changed.
    pub fn shadow_mut(&mut self) -> Option<&mut Shadow> {
        self.shadow.as_deref_mut()
    }

    /// The time, in ns.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// When the next thing happens; [`NEVER`] if nothing is under way.
    pub fn next_event(&self) -> u64 {
        self.events.first().1
    }

    /// Everything up to `time` has happened.
    pub fn advance_to(&mut self, time: u64) {
        if time >= self.now {
            debug_assert!(time < self.next_event());
            self.now = time;
            self.serving = NONE;
        }
    }

    /// Operations that have not ended.
    pub fn under_way(&self) -> u32 {
        self.under_way
    }

    /// Operations that have ended.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// Erases that have been issued and have not ended.
    pub fn erasing(&self) -> u32 {
        self.erasing
    }

    /// Erases that have ended.
    pub fn erased(&self) -> u64 {
        self.erased
    }

    /// Operations queued or running on `die`.
    #[inline]
    pub fn load(&self, die: u32) -> u32 {
        self.dies[die as usize].load
    }

    /// Tags of the joins that have ended since the last call go to `into`.
    pub fn take_finished(&mut self, into: &mut Vec<u32>) {
        into.append(&mut self.finished);
    }

    /// Whether a tagged join has ended since they were last taken.
    pub fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// Buffer slots freed so far.
    pub fn freed_slots(&self) -> u64 {
        self.freed_slots
    }

    /// A new name for a pin.
    pub fn token(&mut self) -> u32 {
        self.next_token = self.next_token.wrapping_add(1);
        self.next_token
    }

    /// A new join that `count` signals end.
    pub fn join(&mut self, tag: u32) -> u32 {
        let join = Join { count: 0, waiters: NONE, tag };
        if self.free_join == NONE {
            self.joins.push(join);
            return self.joins.len() as u32 - 1;
        }
        let id = self.free_join;
        self.free_join = self.joins[id as usize].waiters;
        self.joins[id as usize] = join;
        id
    }

    /// Makes join `to` wait for join `from`, which has not ended.
    pub fn link(&mut self, from: u32, to: u32) {
        self.hold(to);
        let edge = self.edge(to | ENGINE_JOIN, self.joins[from as usize].waiters);
        self.joins[from as usize].waiters = edge;
    }

    /// Adds a signal that the join waits for.
    pub fn hold(&mut self, join: u32) {
        self.joins[join as usize].count += 1;
    }

    /// Gives back what [`Self::hold`] added. A join that has had all its signals ends: those who wait for it go on,
    /// its tag is reported, and its number is used again.
    pub fn release(&mut self, join: u32) {
        let state = &mut self.joins[join as usize];
        state.count -= 1;
        if state.count == 0 {
            let Join { waiters, tag, .. } = *state;
            self.joins[join as usize].waiters = self.free_join;
            self.free_join = join;
            if tag != NONE {
                self.finished.push(tag);
            }
            self.wake(waiters);
        }
    }

    /// Reports `tag` when every program issued so far has ended.
    pub fn barrier(&mut self, tag: u32) {
        if let Some((_, waits)) = self.epochs.back_mut() {
            *waits = tag;
        }
        self.epochs.push_back((0, NONE));
        self.pass_barriers();
    }

    fn pass_barriers(&mut self) {
        while self.epochs.len() > 1 && self.epochs[0].0 == 0 {
            if let Some((_, tag)) = self.epochs.pop_front() {
                self.finished.push(tag);
            }
            self.first_epoch += 1;
        }
    }

    /// Gives up a join that only its maker holds: nobody is told.
    pub fn forget(&mut self, join: u32) {
        self.joins[join as usize].tag = NONE;
        self.release(join);
    }

    /// The operation under way that programs page `page` of `block`, if there is one. O(programs of it under way).
    pub fn programming(&self, block: u32, page: u32) -> Option<u32> {
        let (mut id, mut newest) = (self.blocks[block as usize].tail, u64::MAX);
        while id != NONE {
            let state = &self.ops[id as usize];
            if !state.live || state.op.block != block || state.seq >= newest || state.op.kind == Kind::Erase {
                return None;
            }
            if (state.op.page..state.op.page + state.op.count).contains(&page) {
                return Some(id);
            }
            newest = state.seq;
            id = state.before;
        }
        None
    }

    /// Whether page `page` of `block` is being programmed from the controller's RAM, where it can still be read.
    #[inline]
    pub fn in_ram(&self, block: u32, page: u32) -> bool {
        self.blocks[block as usize].tail != NONE
            && self.programming(block, page).is_some_and(|id| self.ops[id as usize].op.kind == Kind::Program)
    }

    /// Whether something is under way on `block` that changes it.
    #[inline]
    pub fn is_changing(&self, block: u32) -> bool {
        self.blocks[block as usize].tail != NONE
    }

    /// Starts or queues the operations of a plan, in order.
    pub fn issue(&mut self, plan: &Plan) {
        let mut locals = std::mem::take(&mut self.locals);
        for _ in 0..plan.joins {
            let join = self.join(NONE);
            self.hold(join);
            locals.push(join);
        }
        let global = |id: u32| match id {
            NONE => NONE,
            id if id & ENGINE_JOIN != 0 => id & !ENGINE_JOIN,
            id => locals[id as usize],
        };
        let mut pins = plan.pins.iter().peekable();
        let mut unpins = plan.unpins.iter().peekable();
        for (index, op) in plan.ops.iter().enumerate() {
            while let Some(&(_, block, token)) = pins.next_if(|(before, ..)| *before <= index as u32) {
                let life = self.pin(block);
                self.tokens.insert(token, (block, life));
            }
            let id = self.accept(FlashOp { waits: global(op.waits), signals: global(op.signals), ..*op });
            if self.shadow.is_some() {
                let slot = &mut self.payloads[id as usize];
                slot.clear();
                if op.payload != NONE {
                    let pages = if op.kind == Kind::Copy || op.kind == Kind::Program || op.kind == Kind::Read
                    {
                        op.count
                    } else {
                        0
                    };
                    slot.extend_from_slice(&plan.oob[op.payload as usize..(op.payload + pages) as usize]);
                }
            }
            while let Some((_, token)) = unpins.next_if(|(of, _)| *of == index as u32) {
                if self.unpins.len() <= id as usize {
                    self.unpins.resize(id as usize + 1, Vec::new());
                }
                self.unpins[id as usize].push(*token);
            }
            if self.ops[id as usize].deps == 0 {
                self.enqueue(id);
            }
        }
        for &(_, block, token) in pins {
            let life = self.pin(block);
            self.tokens.insert(token, (block, life));
        }
        for join in locals.drain(..) {
            self.release(join);
        }
        self.locals = locals;
    }

    /// Gives an operation a slot and finds what it waits for.
    fn accept(&mut self, op: FlashOp) -> u32 {
        let steps = match op.kind {
            Kind::Erase => 1,
            Kind::Read => {
                if self.single_reads {
                    op.count
                } else {
                    1
                }
            }
            Kind::Copy => {
                if self.program_pages == 1 {
                    op.count
                } else {
                    1
                }
            }
            Kind::Program => op.count / self.program_pages,
        };
        let block = op.block as usize;
        let changes = op.kind != Kind::Read;
        let before = if changes { self.blocks[block].tail } else { NONE };
        let state = OpState {
            op,
            seq: self.seq,
            deps: 0,
            ready: false,
            live: true,
            next: NONE,
            before,
            waiters: NONE,
            steps,
            steps_done: 0,
            epoch: self.first_epoch + self.epochs.len() as u32 - 1,
            life: 0,
            pins: 0,
            erase_before: NONE,
        };
        self.seq += 1;
        self.under_way += 1;
        if counts_for_flush(&op)
            && let Some((programs, _)) = self.epochs.back_mut()
        {
            *programs += 1;
        }
        let id = if self.free_op == NONE {
            self.ops.push(state);
            if self.shadow.is_some() {
                self.payloads.resize(self.ops.len(), Vec::new());
            }
            self.ops.len() as u32 - 1
        } else {
            let id = self.free_op;
            self.free_op = self.ops[id as usize].next;
            self.ops[id as usize] = state;
            id
        };
        for join in [op.signals, op.owner] {
            if join != NONE {
                self.hold(join);
            }
        }
        if op.waits != NONE && self.joins[op.waits as usize].count > 0 {
            let edge = self.edge(id, self.joins[op.waits as usize].waiters);
            self.joins[op.waits as usize].waiters = edge;
            self.ops[id as usize].deps += 1;
        }
        match op.kind {
            Kind::Read => {
                self.after_programs(id, op.block, op.page, op.count);
                self.ops[id as usize].life = self.pin(op.block);
            }
            Kind::Copy => {
                // The payload's pages may lie anywhere in the source; what is being programmed there must end first.
                self.after_programs(id, op.guard, 0, u32::MAX);
                self.ops[id as usize].life = self.pin(op.guard);
            }
            Kind::Program => {
                if op.guard != NONE {
                    self.ops[id as usize].life = self.pin(op.guard);
                    if op.ordered {
                        self.after_programs(id, op.guard, 0, u32::MAX);
                    }
                }
            }
            Kind::Erase => {
                self.erasing += 1;
                let state = &mut self.blocks[block];
                let erase = &mut self.ops[id as usize];
                erase.life = state.life;
                state.life += 1;
                if state.pins > 0 {
                    erase.deps += 1;
                    erase.pins = std::mem::take(&mut state.pins);
                    erase.erase_before = std::mem::replace(&mut state.erase, id);
                }
            }
        }
        if changes {
            if before != NONE && !self.ops[before as usize].ready {
                self.after(id, before);
            }
            self.blocks[block].tail = id;
        }
        id
    }

    /// Makes `id` wait for the programs under way on pages `page..page + count` of `block`.
    fn after_programs(&mut self, id: u32, block: u32, page: u32, count: u32) {
        let (mut at, mut newest) = (self.blocks[block as usize].tail, self.ops[id as usize].seq);
        let end = page.saturating_add(count);
        while at != NONE {
            let state = self.ops[at as usize];
            if !state.live || state.op.block != block || state.seq >= newest || state.op.kind == Kind::Erase {
                return;
            }
            if state.op.page < end && page < state.op.page + state.op.count {
                self.after(id, at);
            }
            newest = state.seq;
            at = state.before;
        }
    }

    /// Makes `id` wait for `other` to end.
    fn after(&mut self, id: u32, other: u32) {
        let edge = self.edge(id, self.ops[other as usize].waiters);
        self.ops[other as usize].waiters = edge;
        self.ops[id as usize].deps += 1;
    }

    fn edge(&mut self, op: u32, next: u32) -> u32 {
        if self.free_edge == NONE {
            self.edges.push(Edge { op, next });
            return self.edges.len() as u32 - 1;
        }
        let id = self.free_edge;
        self.free_edge = self.edges[id as usize].next;
        self.edges[id as usize] = Edge { op, next };
        id
    }

    /// Serves the operations on a list of edges, oldest first, and frees the list.
    fn wake(&mut self, edges: u32) {
        // The list is newest first; turn it round.
        let (mut forward, mut at) = (NONE, edges);
        while at != NONE {
            let next = std::mem::replace(&mut self.edges[at as usize].next, forward);
            forward = at;
            at = next;
        }
        while forward != NONE {
            let Edge { op, next } = self.edges[forward as usize];
            self.edges[forward as usize].next = self.free_edge;
            self.free_edge = forward;
            if op & ENGINE_JOIN == 0 {
                self.settle(op);
            } else {
                self.release(op & !ENGINE_JOIN);
            }
            forward = next;
        }
    }

    /// One thing that `id` waited for has happened.
    fn settle(&mut self, id: u32) {
        let state = &mut self.ops[id as usize];
        state.deps -= 1;
        if state.deps == 0 {
            self.enqueue(id);
        }
    }

    /// A ready operation goes to its die.
    #[inline]
    fn enqueue(&mut self, id: u32) {
        let state = &mut self.ops[id as usize];
        state.ready = true;
        state.next = NONE;
        let die = u32::from(self.die_of_block[state.op.block as usize]);
        let urgent = self.read_first && state.op.kind == Kind::Read && state.op.cause == Cause::Host;
        let d = &mut self.dies[die as usize];
        d.load += 1;
        if d.running == NONE {
            return self.start(die, id);
        }
        let queue = if urgent { &mut d.urgent } else { &mut d.normal };
        if queue.head == NONE {
            queue.head = id;
        } else {
            self.ops[queue.tail as usize].next = id;
        }
        queue.tail = id;
        if urgent && d.phase == Phase::Run {
            self.cut_run(die);
        }
    }

    /// A free die takes up an operation.
    #[inline]
    fn start(&mut self, die: u32, id: u32) {
        let state = &self.ops[id as usize];
        let (op, t) = (&state.op, &self.timing);
        let step = match op.kind {
            Kind::Read => {
                let (reads, pages) = if self.single_reads { (1, 1) } else { (op.array_reads, op.count) };
                [t.command.0, t.read.0 * u64::from(reads), t.transfer.0 * u64::from(pages), 0]
            }
            Kind::Program => [t.command.0 + t.transfer.0 * u64::from(self.program_pages), t.program.0, 0, 0],
            Kind::Erase => [t.command.0, t.erase.0, 0, 0],
            Kind::Copy if op.copy_back && t.command.0 == 0 => [0, t.read.0 + t.program.0, 0, 0],
            Kind::Copy => {
                let single = self.program_pages == 1;
                let reads = if single { 1 } else { u64::from(op.array_reads) };
                let out = if single { 1 } else { u64::from(op.count) };
                let transfers = if op.copy_back { 0 } else { out + u64::from(self.program_pages) };
                [t.command.0, t.read.0 * reads, t.command.0 + t.transfer.0 * transfers, t.program.0]
            }
        };
        let d = &mut self.dies[die as usize];
        d.running = id;
        d.step = step;
        let channel = d.channel as usize;
        self.channels[channel].active += 1;
        if self.channels[channel].run != NONE {
            self.cut_run(self.channels[channel].run);
        }
        self.start_step(die);
    }

    /// Begins the next step, or all that are left where nothing can come between them.
    #[inline]
    fn start_step(&mut self, die: u32) {
        let d = &mut self.dies[die as usize];
        let state = &self.ops[d.running as usize];
        let left = state.steps - state.steps_done;
        if left > 1 && self.shadow.is_none() && d.urgent.head == NONE {
            let uses_bus = d.step[0] + d.step[2] > 0;
            let channel = &mut self.channels[d.channel as usize];
            if !uses_bus || channel.active == 1 {
                d.phase = Phase::Run;
                d.run_start = self.now;
                if uses_bus {
                    channel.run = die;
                }
                let end = self.now + d.step.iter().sum::<u64>() * u64::from(left);
                return self.events.set(die, end);
            }
        }
        d.phase = Phase::First;
        let [bus, array, ..] = d.step;
        if bus == 0 {
            self.events.set(die, self.now + array);
        } else {
            self.ask_bus(die, bus, array);
        }
    }

    /// Takes the channel now, or gets in line for it.
    #[inline]
    fn ask_bus(&mut self, die: u32, bus: u64, array: u64) {
        let index = self.dies[die as usize].channel;
        let channel = &mut self.channels[index as usize];
        if channel.busy_until <= self.now && channel.head == NONE {
            channel.busy_until = self.now + bus;
            return self.events.set(die, self.now + bus + array);
        }
        self.dies[die as usize].next = NONE;
        self.dies[die as usize].waiting = true;
        if channel.head == NONE {
            channel.head = die;
            self.events.set(self.dies.len() as u32 + index, channel.busy_until);
        } else {
            self.dies[channel.tail as usize].next = die;
        }
        channel.tail = die;
    }

    /// The channel is free for the die that has waited longest.
    fn serve_channel(&mut self, index: u32) {
        let clock = self.dies.len() as u32 + index;
        let channel = &mut self.channels[index as usize];
        let die = channel.head;
        let d = &mut self.dies[die as usize];
        d.waiting = false;
        let (bus, array) =
            if d.phase == Phase::First { (d.step[0], d.step[1]) } else { (d.step[2], d.step[3]) };
        channel.busy_until = self.now + bus;
        channel.head = d.next;
        let next = if channel.head == NONE { NEVER } else { channel.busy_until };
        self.events.set(clock, next);
        self.events.set(die, self.now + bus + array);
    }

    /// Turns a run of steps that is one event back into single steps, as if each had had its own.
    fn cut_run(&mut self, die: u32) {
        let serving = self.serving;
        let d = &mut self.dies[die as usize];
        let [bus, array, bus2, array2] = d.step;
        let (period, elapsed) = (d.step.iter().sum::<u64>(), self.now - d.run_start);
        let (mut done, mut within) = (elapsed / period, elapsed % period);
        // At equal times the lower clock is served first: this die's own event of this moment may still be to come.
        let to_come = serving < die;
        if within == 0 && done > 0 && to_come {
            (done, within) = (done - 1, period);
        }
        self.ops[d.running as usize].steps_done += done as u32;
        let start = d.run_start + done * period;
        let channel = &mut self.channels[d.channel as usize];
        if channel.run == die {
            channel.run = NONE;
        }
        let middle = bus + array;
        if bus2 + array2 == 0 || within < middle || (within == middle && to_come) {
            d.phase = Phase::First;
            channel.busy_until = channel.busy_until.max(start + bus);
            self.events.set(die, start + middle);
        } else {
            d.phase = Phase::Second;
            channel.busy_until = channel.busy_until.max(start + middle + bus2);
            self.events.set(die, start + period);
        }
    }

    /// Serves the next event.
    #[inline]
    pub fn step(&mut self) {
        let (clock, time) = self.events.first();
        debug_assert!(time != NEVER && time >= self.now);
        self.now = time;
        self.serving = clock;
        if clock >= self.dies.len() as u32 {
            self.serve_channel(clock - self.dies.len() as u32);
        } else {
            self.serve_die(clock);
            // The die's clock still shows this event, unless it has been set for the next one.
            if self.events.get(clock) == time && self.is_idle(clock) {
                self.events.set(clock, NEVER);
            }
        }
    }

    /// Whether nothing will happen on `die` by its own clock: it has nothing to do, or waits for its channel.
    fn is_idle(&self, die: u32) -> bool {
        let d = &self.dies[die as usize];
        d.running == NONE || d.waiting
    }

    #[inline]
    fn serve_die(&mut self, die: u32) {
        let d = &mut self.dies[die as usize];
        match d.phase {
            Phase::First if d.step[2] + d.step[3] > 0 => {
                d.phase = Phase::Second;
                let [.., bus, array] = d.step;
                if bus == 0 {
                    self.events.set(die, self.now + array);
                } else {
                    self.ask_bus(die, bus, array);
                }
            }
            Phase::First | Phase::Second => {
                let id = d.running;
                self.ops[id as usize].steps_done += 1;
                if self.shadow.is_some() {
                    self.apply_step(id);
                }
                self.end_step(die);
            }
            Phase::Run => {
                d.phase = Phase::Second;
                let state = &mut self.ops[d.running as usize];
                state.steps_done = state.steps;
                let channel = &mut self.channels[d.channel as usize];
                if channel.run == die {
                    channel.run = NONE;
                    channel.busy_until = channel.busy_until.max(self.now - d.step[3]);
                }
                self.end_step(die);
            }
        }
    }

    /// After a step: on with the operation, or a host read first, or the operation has ended.
    fn end_step(&mut self, die: u32) {
        let d = &self.dies[die as usize];
        let id = d.running;
        let state = &self.ops[id as usize];
        if state.steps_done < state.steps {
            let urgent = state.op.kind == Kind::Read && state.op.cause == Cause::Host;
            if d.urgent.head == NONE || urgent {
                return self.start_step(die);
            }
            // Back to the head of the queue.
            let head = d.normal.head;
            self.ops[id as usize].next = head;
            let d = &mut self.dies[die as usize];
            d.normal.head = id;
            if head == NONE {
                d.normal.tail = id;
            }
            self.channels[self.dies[die as usize].channel as usize].active -= 1;
            return self.start_next(die);
        }
        self.complete(id);
        let d = &mut self.dies[die as usize];
        d.load -= 1;
        let channel = d.channel as usize;
        self.channels[channel].active -= 1;
        self.start_next(die);
    }

    /// A die takes the next operation from its queues.
    fn start_next(&mut self, die: u32) {
        let d = &mut self.dies[die as usize];
        d.running = NONE;
        let queue = if d.urgent.head == NONE { &mut d.normal } else { &mut d.urgent };
        let id = queue.head;
        if id != NONE {
            queue.head = self.ops[id as usize].next;
            self.start(die, id);
        }
    }

    /// An operation has ended: its hazards go, those who waited go on.
    fn complete(&mut self, id: u32) {
        let OpState { op, waiters, epoch, life, .. } = self.ops[id as usize];
        if counts_for_flush(&op) {
            self.epochs[(epoch - self.first_epoch) as usize].0 -= 1;
            if self.epochs.len() > 1 {
                self.pass_barriers();
            }
        }
        self.completed += 1;
        self.under_way -= 1;
        if op.kind != Kind::Read && self.blocks[op.block as usize].tail == id {
            self.blocks[op.block as usize].tail = NONE;
        }
        self.freed_slots += u64::from(op.slots);
        let state = &mut self.ops[id as usize];
        state.live = false;
        state.next = self.free_op;
        self.free_op = id;
        match op.kind {
            Kind::Read => self.unpin(op.block, life),
            Kind::Copy => self.unpin(op.guard, life),
            Kind::Program if op.guard != NONE => self.unpin(op.guard, life),
            Kind::Erase => {
                self.erasing -= 1;
                self.erased += 1;
            }
            Kind::Program => {}
        }
        if let Some(list) = self.unpins.get_mut(id as usize)
            && !list.is_empty()
        {
            for token in std::mem::take(list) {
                if let Some((block, life)) = self.tokens.remove(&token) {
                    self.unpin(block, life);
                }
            }
        }
        if waiters != NONE {
            self.wake(waiters);
        }
        for join in [op.signals, op.owner] {
            if join != NONE {
                self.release(join);
            }
        }
    }

    /// What is in `block` is needed; returns which of its lives.
    #[inline]
    fn pin(&mut self, block: u32) -> u32 {
        let state = &mut self.blocks[block as usize];
        state.pins += 1;
        state.life
    }

    /// What was in `block` during `life` is needed once less.
    #[inline]
    fn unpin(&mut self, block: u32, life: u32) {
        let state = &mut self.blocks[block as usize];
        if state.life == life {
            state.pins -= 1;
            return;
        }
        // The erase that ends that life waits for this.
        let (mut after, mut id) = (NONE, state.erase);
        while self.ops[id as usize].life != life {
            after = id;
            id = self.ops[id as usize].erase_before;
        }
        self.ops[id as usize].pins -= 1;
        if self.ops[id as usize].pins == 0 {
            let before = self.ops[id as usize].erase_before;
            if after == NONE {
                self.blocks[block as usize].erase = before;
            } else {
                self.ops[after as usize].erase_before = before;
            }
            self.settle(id);
        }
    }

    /// What a step has changed in, or read from, the stored pages.
    fn apply_step(&mut self, id: u32) {
        let Some(shadow) = self.shadow.as_deref_mut() else { return };
        let state = &self.ops[id as usize];
        let per_step = state.op.count.div_ceil(state.steps.max(1));
        let first = (state.steps_done - 1) * per_step;
        let last = (first + per_step).min(state.op.count);
        shadow.apply(&state.op, first, last, &self.payloads[id as usize]);
    }

    /// Power fails: every operation under way is lost, done or torn as `fate` decides for each of its pages that was
    /// being written; the stored pages are all that is left.
    pub fn cut(mut self, mut fate: impl FnMut(&FlashOp) -> Fate) -> Option<Box<Shadow>> {
        let mut shadow = self.shadow.take()?;
        for die in &self.dies {
            if die.running == NONE {
                continue;
            }
            let state = &self.ops[die.running as usize];
            if state.op.kind == Kind::Read {
                continue;
            }
            let per_step = state.op.count.div_ceil(state.steps.max(1));
            let first = state.steps_done * per_step;
            let last = (first + per_step).min(state.op.count);
            match fate(&state.op) {
                Fate::Absent => {}
                Fate::Torn => shadow.tear(&state.op, first, last),
                Fate::Done => shadow.apply(&state.op, first, last, &self.payloads[die.running as usize]),
            }
        }
        Some(shadow)
    }

    /// The first few operations under way, for an error.
    pub fn describe(&self) -> String {
        let live = self.ops.iter().enumerate().filter(|(_, state)| state.live).take(12);
        let lines = live.map(|(id, s)| {
            let ready = if s.ready { "ready".to_owned() } else { format!("waits for {} things", s.deps) };
            let OpState { op: FlashOp { kind, block, page, count, guard, waits, .. }, seq, before, .. } = *s;
            format!("\n  {id}: no. {seq} {kind:?} block {block} page {page} x {count}, guard {guard}, join {waits}, after {before}, {ready}")
        });
        lines.collect()
    }

    /// Checks what must hold when nothing is under way.
    ///
    /// # Errors
    /// What does not hold.
    pub fn check_idle(&self, flash: &Flash) -> Result<(), String> {
        if self.under_way > 0 {
            return Err(format!("{} flash operations never ended", self.under_way));
        }
        for (number, block) in self.blocks.iter().enumerate() {
            // Pages in an open program unit keep pins until the unit is programmed.
            let open = flash.geometry.program_pages > 1;
            if block.tail != NONE || block.erase != NONE || (block.pins != 0 && !open) {
                return Err(format!("block {number} is still marked as in use: {block:?}"));
            }
        }
        Ok(())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.blocks.len() * size_of::<Block>()
            + self.die_of_block.len() * 2
            + self.ops.capacity() * size_of::<OpState>()
            + self.dies.len() * size_of::<Die>()
    }
}

/// Whether a flush waits for the operation: it stores something for the first time. Tombstones may be written in the
/// course of a collection; all other copies are of what is stored already.
fn counts_for_flush(op: &FlashOp) -> bool {
    op.kind == Kind::Program || (op.kind == Kind::Copy && op.cause == Cause::Mapping)
}

/// What a power cut makes of the page or block that an operation was changing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// As if it had never begun.
    Absent,
    /// Unreadable.
    Torn,
    /// As if it had ended.
    Done,
}
