//! When flash operations happen: a discrete-event model of dies and channels in integer
//! nanoseconds.
//!
//! An operation is a number of equal *steps*, each bus, array, bus, array (any of them may be
//! empty):
//!
//! | operation | bus | array | bus | array |
//! |---|---|---|---|---|
//! | read | command | tR | transfer | |
//! | program | command + transfer | tPROG | | |
//! | erase | command | tBERS | | |
//! | copy | command | tR | command + 2 transfers | tPROG |
//! | copy-back | command | tR | command | tPROG |
//!
//! A die works on one operation at a time and holds it through its bus phases; a channel serves its
//! dies in the order of asking, and at the same time the lowest first. Operations enter their die's
//! queue when they become *ready*, so that one that waits never blocks others and waiting cannot go
//! round in a circle. Hazards between operations are kept per block:
//!
//! - a read or copy waits for the program of its page,
//! - a program or erase comes after earlier programs and erases of its block,
//! - an erase waits for reads and copies from its block, and for programs that replace pages of it
//!   (`guard`),
//! - an `ordered` program comes after the programs under way on the block that it guards.
//!
//! What takes no time (`free`) happens when it is issued: it waits for nothing, and nothing waits
//! for it.
//!
//! Under read-first a host read goes before everything else that waits, and between the steps of
//! what runs. A run of steps costs one event as long as nothing can come between them; when
//! something does, the run is cut back to single steps at that moment, so that the times are the
//! same as with an event for each step. Where dies share the bus, what a step does without it after
//! using it goes together with what the next one does before: an event for each use of it.

mod array;
mod cache;
mod dies;
mod group;
mod hazards;
mod idle;
mod joins;
mod paths;
mod planes;
mod run;
mod single;
mod suspend;
mod work;

pub use idle::IdleDrive;
pub use paths::{ByPart, PARTS, Part, Path, Stretch};
pub use single::PageProgram;

use array::{Array, Die, Phase};
use hashbrown::HashMap;
use joins::Waiting;
use serde::{Deserialize, Serialize};

use super::chip::{COMPANIONS, Chip};
use super::flash::Flash;
use super::geometry::Geometry;
use super::media::{Media, Oob};
use super::op::{Cause, FlashOp, Kind};
use super::shadow::Shadow;
use super::stored::Stored;
use crate::support::NONE;
use crate::support::clocks::Clocks;
use crate::support::ids::{BlockId, DieId};

/// An operation under way.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct OpState {
    op: FlashOp,
    /// Order of issue.
    seq: u64,
    /// Things it still waits for.
    deps: u32,
    steps_done: u32,
    /// Erase: pins that it still waits for, and the erase before it that waits too.
    pins: u32,
    erase_before: u32,
    /// Next in the die's queue, or in the list of free slots.
    next: u32,
    /// Edges to operations that wait for this one.
    waiters: u32,
    /// In its die's queue, or running.
    ready: bool,
    /// It comes after another operation of its group, and before what waits on its die.
    follows: bool,
    live: bool,
    /// The operation that programmed or erased its block before it, if that was still under way.
    before: u32,
    steps: u32,
    /// Number of the barrier that it comes before.
    epoch: u32,
    /// Life of the block that it pins; of an erase, the life that it ends.
    life: u32,
}

impl OpState {
    /// A slot that no operation has yet.
    fn free() -> Self {
        Self {
            op: FlashOp::new(Kind::Read, Cause::Host, BlockId::NONE, 0, 0),
            seq: 0,
            deps: 0,
            ready: false,
            follows: false,
            live: false,
            next: NONE,
            before: NONE,
            waiters: NONE,
            steps: 0,
            steps_done: 0,
            epoch: 0,
            life: 0,
            pins: 0,
            erase_before: NONE,
        }
    }
}

/// What is under way on a block.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
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

/// What the chips can do, as far as it is asked for often.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing to do with one another")]
struct Rules {
    /// The chips do one thing at a time, and every step of an operation takes the same.
    plain: bool,
    /// What a step of one page takes, by the kind's number, unless the operation has times of its
    /// own or copies back.
    step: [[u64; 4]; 4],
    /// Pages are read and programmed one by one, so that this holds for all steps of an operation.
    same_steps: bool,
    program_pages: u32,
    single_reads: bool,
    blocks_per_unit: u32,
    /// Some operations take no time: what is issued counts as stored.
    stores_at_issue: bool,
}

/// Pins of pages that wait in open program units.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Pinned {
    /// Tokens of the pins that each operation on several pages releases.
    unpins: Vec<Vec<u32>>,
    /// Pinned block and its life by token.
    tokens: HashMap<u32, (BlockId, u32)>,
    next_token: u32,
}

/// Operations under way, and what has ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Counts {
    under_way: u32,
    /// Reads that have not ended.
    reading: u32,
    /// Erases that have not ended, and those that have.
    erasing: u32,
    erased: u64,
    freed_slots: u64,
}

/// The clock, the dies and the channels.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Engine {
    now: u64,
    chip: Chip,
    rules: Rules,
    special: Special,
    /// How much the dies have to do, where somebody asks.
    work: Option<work::Work>,
    /// Where the time of operations goes, where somebody asks.
    #[serde(skip)]
    paths: Option<Box<paths::Paths>>,
    /// The medium, to which each step is applied when it ends, where one is kept.
    #[serde(skip)]
    stored: Option<Box<Stored>>,
    /// Plan records of the operations under way, while the medium is kept.
    payloads: Vec<Vec<Oob>>,
    array: Array,
    blocks: Vec<Block>,
    pinned: Pinned,
    ops: Vec<OpState>,
    free_op: u32,
    waiting: Waiting,
    events: Clocks,
    /// The clock served last; past all of them once everything up to now has happened.
    serving: u32,
    seq: u64,
    counts: Counts,
}

impl Engine {
    /// An idle array.
    pub fn new(chip: Chip, geometry: &Geometry) -> Self {
        // Cache program keeps a second clock for each die: its array's. Where planes go together
        // there is one for all dies that start; the highest number, so that it goes off last of all
        // at its time.
        let others = if chip.cache_program.is_some() {
            geometry.dies
        } else {
            u32::from(chip.two_plane.is_some())
        };
        let clocks = geometry.dies + others;
        let mut step = [[0; 4]; Kind::ALL.len()];
        for kind in Kind::ALL {
            let op = FlashOp::new(kind, Cause::Host, BlockId(0), 0, 1);
            step[kind as usize] = chip.step(&op, 0);
        }
        let single = geometry.program_pages == 1 && geometry.read_pages == 1;
        Self {
            now: 0,
            rules: Rules {
                plain: chip.is_plain(),
                step,
                same_steps: chip.is_plain() && single,
                program_pages: geometry.program_pages,
                single_reads: geometry.read_pages == 1,
                blocks_per_unit: geometry.blocks_per_unit,
                stores_at_issue: false,
            },
            chip,
            special: Special::default(),
            work: None,
            paths: None,
            stored: None,
            payloads: Vec::new(),
            array: Array::new(geometry),
            blocks: vec![
                Block { pins: 0, tail: NONE, erase: NONE, life: 0 };
                geometry.blocks() as usize
            ],
            pinned: Pinned::default(),
            ops: Vec::new(),
            free_op: NONE,
            waiting: Waiting::new(),
            events: Clocks::new(clocks as usize),
            serving: NONE,
            seq: 0,
            counts: Counts::default(),
        }
    }

    /// Keeps what the flash holds from now on, in `stored`.
    pub fn keep(&mut self, stored: Stored) {
        self.stored = Some(Box::new(stored));
    }

    /// Some operations will take no time. They happen before what was issued earlier, so that the
    /// order of issue is the only one in which what the flash holds makes sense: everything counts
    /// as stored when it is issued.
    pub fn store_at_issue(&mut self) {
        self.rules.stores_at_issue = true;
    }

    /// Whether everything counts as stored when it is issued.
    pub fn stores_at_issue(&self) -> bool {
        self.rules.stores_at_issue
    }

    /// The medium and who compares it, where it is kept.
    #[inline]
    pub fn stored(&self) -> Option<&Stored> {
        self.stored.as_deref()
    }

    /// The same, to be changed.
    #[inline]
    pub fn stored_mut(&mut self) -> Option<&mut Stored> {
        self.stored.as_deref_mut()
    }

    /// What the flash holds, where that is kept.
    pub fn media(&self) -> Option<&Media> {
        self.stored().map(|stored| &stored.media)
    }

    /// The same, to be changed.
    pub fn media_mut(&mut self) -> Option<&mut Media> {
        self.stored_mut().map(|stored| &mut stored.media)
    }

    /// What the host wrote, where that is compared with what the flash holds.
    pub fn shadow(&self) -> Option<&Shadow> {
        self.stored()?.shadow.as_ref()
    }

    /// The same, to be told of more.
    pub fn shadow_mut(&mut self) -> Option<&mut Shadow> {
        self.stored_mut()?.shadow.as_mut()
    }

    /// The time, in ns.
    #[inline]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// When the next thing happens; [`NEVER`](crate::support::clocks::NEVER) if nothing is
    /// under way.
    #[inline]
    pub fn next_event(&self) -> u64 {
        self.events.first().1
    }

    /// Everything up to `time` has happened.
    pub fn advance_to(&mut self, time: u64) {
        if time >= self.now {
            debug_assert!(time < self.next_event() || self.only_starts_at(time));
            self.now = time;
            self.serving = NONE;
        }
    }

    /// Operations that have not ended.
    #[inline]
    pub fn under_way(&self) -> u32 {
        self.counts.under_way
    }

    /// Reads that have been issued and have not ended.
    pub fn reading(&self) -> u32 {
        self.counts.reading
    }

    /// Erases that have been issued and have not ended.
    #[inline]
    pub fn erasing(&self) -> u32 {
        self.counts.erasing
    }

    /// Erases that have ended.
    pub fn erased(&self) -> u64 {
        self.counts.erased
    }

    /// What the chips can do.
    #[inline]
    pub fn chip(&self) -> &Chip {
        &self.chip
    }

    /// What the chips did beside one command at a time.
    pub fn special(&self) -> Special {
        self.special
    }

    /// The die that `block` lies on.
    #[inline]
    fn die_of(&self, block: BlockId) -> DieId {
        DieId(self.array.die_of_block[block.index()].into())
    }

    /// Operations queued or running on `die`.
    #[inline]
    pub fn load(&self, die: DieId) -> u32 {
        self.array.dies[die.index()].load
    }

    /// Tags of the joins that have ended since the last call go to `into`.
    #[inline]
    pub fn take_finished(&mut self, into: &mut Vec<u32>) {
        if into.is_empty() {
            std::mem::swap(into, &mut self.waiting.finished);
        } else {
            into.append(&mut self.waiting.finished);
        }
    }

    /// The tag of such a join, if it is the only one. Paths are not kept.
    #[inline]
    pub fn take_only_finished(&mut self) -> Option<u32> {
        if self.waiting.finished.len() == 1 { self.waiting.finished.pop() } else { None }
    }

    /// Whether a tagged join has ended since they were last taken.
    #[inline]
    pub fn has_finished(&self) -> bool {
        !self.waiting.finished.is_empty()
    }

    /// Buffer slots freed so far.
    #[inline]
    pub fn freed_slots(&self) -> u64 {
        self.counts.freed_slots
    }

    /// What a step has changed in, or read from, the stored pages.
    fn apply_step(&mut self, id: u32) {
        if self.rules.stores_at_issue {
            return;
        }
        let Some(stored) = self.stored.as_deref_mut() else { return };
        let state = &self.ops[id as usize];
        let per_step = state.op.count.div_ceil(state.steps.max(1));
        let first = (state.steps_done - 1) * per_step;
        let last = (first + per_step).min(state.op.count);
        stored.apply(&state.op, first, last, &self.payloads[id as usize]);
    }

    /// Records of the pages that are in RAM until a program has stored them; only while the medium
    /// is kept.
    pub fn programs_under_way(&self) -> impl Iterator<Item = &Oob> {
        let programs = self
            .ops
            .iter()
            .zip(&self.payloads)
            .filter(|(s, _)| s.live && s.op.kind == Kind::Program);
        programs.flat_map(|(_, payload)| payload).filter(|oob| oob.from.is_none())
    }

    /// Power fails: every operation under way is lost, done or torn as `fate` decides for each of
    /// its pages that was being written; the stored pages are all that is left.
    pub fn cut(&self, mut fate: impl FnMut(&FlashOp) -> Fate) -> Option<Stored> {
        let mut stored = self.stored().cloned()?;
        for die in self.array.dies.iter().filter(|_| !self.rules.stores_at_issue) {
            let suspended =
                die.suspended.iter().flat_map(|s| [s.op].into_iter().chain(s.companions));
            let cached =
                (die.back != NONE || die.phase == Phase::Held) && self.chip.cache_program.is_some();
            // What is only in the cache register is lost.
            let front = if cached { NONE } else { die.running };
            let busy = [die.back, front].into_iter().chain(die.companions).chain(suspended);
            for id in busy.filter(|&id| id != NONE) {
                let state = &self.ops[id as usize];
                if state.op.kind == Kind::Read {
                    continue;
                }
                let per_step = state.op.count.div_ceil(state.steps.max(1));
                let first = state.steps_done * per_step;
                let last = (first + per_step).min(state.op.count);
                match fate(&state.op) {
                    Fate::Absent => {}
                    Fate::Torn => stored.tear(&state.op, first, last),
                    Fate::Done => stored.apply(&state.op, first, last, &self.payloads[id as usize]),
                }
            }
        }
        Some(stored)
    }

    /// The first few operations under way, for an error.
    pub fn describe(&self) -> String {
        let live = self.ops.iter().enumerate().filter(|(_, state)| state.live).take(12);
        let lines = live.map(|(id, s)| {
            let ready =
                if s.ready { "ready".to_owned() } else { format!("waits for {} things", s.deps) };
            let OpState {
                op: FlashOp { kind, block, page, count, guard, waits, .. },
                seq,
                before,
                ..
            } = *s;
            format!(
                "\n  {id}: no. {seq} {kind:?} block {block} page {page} x {count}, guard \
                {guard}, join {waits}, after {before}, {ready}"
            )
        });
        lines.collect()
    }

    /// Checks what must hold when nothing is under way.
    ///
    /// # Errors
    /// What does not hold.
    pub fn check_idle(&self, flash: &Flash) -> Result<(), String> {
        if self.counts.under_way > 0 {
            return Err(format!("{} flash operations never ended", self.counts.under_way));
        }
        // Pages in an open program unit keep pins and joins until the unit is programmed.
        let open = flash.geometry.program_pages > 1;
        if self.held() > 0 && !open {
            return Err(format!("{} joins of flash operations never ended", self.held()));
        }
        for (number, block) in self.blocks.iter().enumerate() {
            if block.tail != NONE || block.erase != NONE || (block.pins != 0 && !open) {
                return Err(format!("block {number} is still marked as in use: {block:?}"));
            }
        }
        Ok(())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.blocks.len() * size_of::<Block>()
            + self.array.die_of_block.len() * 2
            + self.ops.capacity() * size_of::<OpState>()
            + self.array.dies.len() * size_of::<Die>()
    }
}

/// Whether a flush waits for the operation: it stores something for the first time. Tombstones may
/// be written in the course of a collection; all other copies are of what is stored already.
#[inline]
fn counts_for_flush(op: &FlashOp) -> bool {
    op.kind == Kind::Program || (op.kind == Kind::Copy && op.cause == Cause::Mapping)
}

/// What chips did beside one command at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Special {
    /// Array operations that several planes did together: reads, programs and copies, erases.
    pub multi_plane: [u64; 3],
    /// Programs whose data began to cross the bus while the array was programming the page before.
    pub cache_programs: u64,
    /// How often programs and erases were suspended.
    pub suspensions: [u64; 2],
}

impl Special {
    /// What they did since it stood at `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let at = |at: usize| self.multi_plane[at] - before.multi_plane[at];
        let kind = |kind: usize| self.suspensions[kind] - before.suspensions[kind];
        Self {
            multi_plane: std::array::from_fn(at),
            cache_programs: self.cache_programs - before.cache_programs,
            suspensions: std::array::from_fn(kind),
        }
    }
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
