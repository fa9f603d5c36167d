//! Programs and reads of single pages that wait for nothing but their die: most of what a drive does
//! for a host.
//!
//! Such an operation is one step; a program is one event, too. Where chips do one thing at a time and
//! nobody follows what they do, little of it has to be asked. What is kept of it is the same as of
//! any other, so that whoever comes after it finds it.

use super::Engine;
use super::array::Phase;
use crate::nand::op::{Cause, FlashOp, JoinId, Kind};
use crate::support::NONE;
use crate::support::ids::{BlockId, DieId};

/// A page that is going to be programmed.
#[derive(Debug, Clone, Copy)]
pub struct PageProgram {
    /// On whose account.
    pub cause: Cause,
    /// Where it goes.
    pub block: BlockId,
    /// Page of the block.
    pub page: u32,
    /// As [`FlashOp::guard`]; it does not wait for what is under way there.
    pub guard: BlockId,
    /// As [`FlashOp::waiter`].
    pub waiter: JoinId,
    /// As [`FlashOp::slots`].
    pub slots: u32,
}

impl PageProgram {
    /// An operation, if it is one.
    #[inline(always)]
    pub(super) fn of(op: &FlashOp) -> Option<Self> {
        let FlashOp { kind, cause, block, page, count, guard, waiter, slots, .. } = *op;
        if kind != Kind::Program {
            return None;
        }
        let waits = op.instant || op.ordered || !op.waits.is_none() || !op.signals.is_none();
        let is_page = count == 1 && op.own_ns == 0;
        (is_page && !waits).then_some(Self { cause, block, page, guard, waiter, slots })
    }

    /// The operation.
    #[inline(always)]
    pub fn as_op(self) -> FlashOp {
        let Self { cause, block, page, guard, waiter, slots } = self;
        FlashOp { guard, waiter, slots, ..FlashOp::new(Kind::Program, cause, block, page, 1) }
    }
}

impl Engine {
    /// Whether chips do one thing at a time, and nobody follows what they do.
    #[inline(always)]
    pub(super) fn is_simple(&self) -> bool {
        self.rules.plain && self.stored.is_none() && self.paths.is_none() && self.work.is_none()
    }

    /// The same as [`Self::issue_one`] of [`PageProgram::as_op`], in fewer steps where chips are
    /// plain and nobody follows them. Only where a program takes one page and no medium is kept.
    #[inline(always)]
    pub fn program_page(&mut self, program: PageProgram) {
        let id = self.free_slot();
        let tail = self.blocks[program.block.index()].tail;
        // In its die's queue it comes after what is there; what is not there yet has to be waited
        // for.
        let waits = tail != NONE && !self.ops[tail as usize].ready;
        if waits || !self.is_simple() {
            let PageProgram { cause, block, page, guard, waiter, slots } = program;
            return self.program_otherwise((cause, slots), block, page, guard, waiter);
        }
        self.blocks[program.block.index()].tail = id;
        let life = if program.guard == BlockId::NONE { 0 } else { self.pin(program.guard) };
        self.write_down(id, &program.as_op(), 1, (tail, life), true);
        self.hold(program.waiter);
        let die = self.die_of(program.block);
        let d = &mut self.array.dies[die.index()];
        d.load += 1;
        if d.running != NONE {
            let last = std::mem::replace(&mut d.normal.tail, id);
            if d.normal.head == NONE {
                d.normal.head = id;
            } else {
                self.ops[last as usize].next = id;
            }
            return;
        }
        (d.running, d.phase) = (id, Phase::Last);
        let (channel, [bus, array, ..]) = (d.channel, self.rules.step[Kind::Program as usize]);
        let end = self.begin_last(channel, bus, array);
        self.events.begin(die.0, end);
    }

    /// The same as any operation. Its parts are passed one by one, in registers, so that the common
    /// way need not put them into memory.
    #[inline(never)]
    fn program_otherwise(
        &mut self,
        (cause, slots): (Cause, u32),
        block: BlockId,
        page: u32,
        guard: BlockId,
        waiter: JoinId,
    ) {
        self.issue_one(&PageProgram { cause, block, page, guard, waiter, slots }.as_op());
    }

    /// Reads a page for the host; its end is told to `waiter`. In fewer steps where chips are plain,
    /// nobody follows them, and nothing that changes the block is under way: then it waits for
    /// nothing but its die. Only where no medium is kept.
    #[inline]
    pub fn read_page(&mut self, block: BlockId, page: u32, waiter: JoinId) {
        if self.is_changing(block) || !self.is_simple() {
            return self.read_otherwise(block, page, waiter);
        }
        let (id, life) = (self.free_slot(), self.pin(block));
        self.counts.reading += 1;
        let op = &Self::page_read(block, page, waiter);
        self.write_down(id, op, 1, (NONE, life), true);
        self.hold(waiter);
        self.queue_up(id, self.die_of(block), op, false);
    }

    /// The same as any operation.
    #[inline(never)]
    fn read_otherwise(&mut self, block: BlockId, page: u32, waiter: JoinId) {
        self.issue_one(&Self::page_read(block, page, waiter));
    }

    #[inline(always)]
    fn page_read(block: BlockId, page: u32, waiter: JoinId) -> FlashOp {
        let read = FlashOp::new(Kind::Read, Cause::Host, block, page, 1);
        FlashOp { array_reads: 1, waiter, ..read }
    }

    /// A die of a channel begins the last step of an operation, which has one bus and one array
    /// phase. When it ends.
    #[inline(always)]
    pub(super) fn begin_last(&mut self, number: u32, bus: u64, array: u64) -> u64 {
        let mut channel = &mut self.array.channels[number as usize];
        if channel.run != DieId::NONE {
            let run = channel.run;
            self.cut_run(run);
            channel = &mut self.array.channels[number as usize];
        }
        channel.active += 1;
        let mut begins = self.now;
        if bus > 0 {
            channel.busy_until = channel.busy_until.max(begins) + bus;
            begins = channel.busy_until;
        }
        begins + array
    }
}
