//! Pages that move from one block to another: copies where both lie on one die, else reads and
//! programs.

use serde::{Deserialize, Serialize};

use super::{Cx, Label, PageOut, Place};
use crate::nand::{Cause, FlashOp, JoinId, Kind, Oob};
use crate::support::NONE;
use crate::support::ids::{BlockId, Lpn};

/// A page to be moved: its place in the source block, and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// Page in the source block, or [`NONE`] to write a filler.
    pub page: u32,
    /// What is there.
    pub out: PageOut,
}

/// Logical pages at equal distances: `first`, `first + step`, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The first one.
    pub first: Lpn,
    /// From one to the next.
    pub step: u32,
    /// How many.
    pub count: u32,
}

/// Pages that follow one another in a block, and are copied to pages that do so in another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The block that they come from, and the first in it.
    pub source: (BlockId, u32),
    /// The first page where they go.
    pub page: u32,
    /// How many.
    pub count: u32,
    /// The first logical page.
    pub lpn: Lpn,
}

impl Cx<'_> {
    /// Moves pages of `source` to another block; they signal `signals`. One copy where both lie on
    /// one die, else a read and a program.
    pub fn relocate(
        &mut self,
        source: BlockId,
        moves: &[Move],
        at: Place,
        cause: Cause,
        signals: JoinId,
    ) {
        let Place { block, page, label } = at;
        let typed = self.engine.chip().is_typed();
        if typed && self.flash.geometry.program_pages == 1 && moves.len() > 1 {
            // Each page takes its own time.
            for (i, m) in moves.iter().enumerate() {
                let at = Place { page: page + i as u32, ..at };
                self.relocate(source, std::slice::from_ref(m), at, cause, signals);
            }
            return;
        }
        let count = moves.len() as u32;
        let g = &self.flash.geometry;
        let (from, to) = (g.unit_of(source), g.unit_of(block));
        let one_die = g.die_of(from) == g.die_of(to);
        let (mut array_reads, mut array_ns) = (0, 0);
        let mut last = NONE;
        for m in moves.iter().filter(|m| m.page != NONE) {
            let flash_page = m.page / g.read_pages;
            if flash_page != last {
                array_reads += 1;
                if typed {
                    array_ns += self.engine.chip().read_ns(m.page);
                }
            }
            last = flash_page;
        }
        for m in moves {
            let on = if m.page == NONE { m.out.cause } else { cause };
            self.counters.programs[on as usize] += 1;
            if m.page != NONE {
                self.flash.read(source, m.page, 1);
                self.counters.reads[cause as usize] += 1;
            }
        }
        self.counters.array_reads += u64::from(array_reads);
        self.counters.programmed += u64::from(count);
        self.counters.program_ops += u64::from(count / self.flash.geometry.program_pages);
        self.flash.program(block, page, count);
        let joined = if one_die { JoinId::NONE } else { self.join() };
        if !one_die {
            for m in moves.iter().filter(|m| m.page != NONE) {
                // The copy's own record is checked when it is stored; the read is timing only.
                self.note_read_run(source, m, cause, joined);
            }
        }
        let mut op = self.moved(source, at, count, cause);
        (op.signals, op.waits) = (signals, joined);
        if one_die {
            (op.array_reads, op.own_ns) = (array_reads, array_ns);
        }
        op.payload = self.note_sources(source, moves, label);
        self.note(op);
    }

    /// Moves consecutive pages of `source`, from page `from` on, which hold these logical pages, as
    /// [`Self::relocate`] does. For chips that program single mapped pages. O(1), but for the bits
    /// and records of the pages.
    pub fn copy(
        &mut self,
        (source, from): (BlockId, u32),
        at: Place,
        pages: Run,
        cause: Cause,
        signals: JoinId,
    ) {
        let Run { first, step, count } = pages;
        let typed = self.engine.chip().is_typed();
        if typed && count > 1 {
            // Each page takes its own time.
            for i in 0..count {
                let at = Place { page: at.page + i, ..at };
                self.copy(
                    (source, from + i),
                    at,
                    Run { first: first + i * step, step, count: 1 },
                    cause,
                    signals,
                );
            }
            return;
        }
        self.flash.read(source, from, count);
        self.flash.program(at.block, at.page, count);
        let array_reads = self.count_copy(from, count, cause);
        let mut op = self.moved(source, at, count, cause);
        op.signals = signals;
        if op.kind == Kind::Copy {
            op.array_reads = array_reads;
            op.own_ns = if typed { self.engine.chip().read_ns(from) } else { 0 };
        } else {
            op.waits = self.join();
            if self.timed {
                let read = FlashOp::new(Kind::Read, cause, source, from, count);
                self.plan.ops.push(FlashOp {
                    signals: op.waits,
                    array_reads,
                    instant: self.instant,
                    ..read
                });
            }
        }
        if self.keeps_media() {
            op.payload = self.plan.oob.len() as u32;
            let base = self.flash.geometry.ppn(source, from);
            for i in 0..count {
                let oob = self.record(PageOut::data(first + i * step, cause), at.label, None);
                self.plan.oob.push(Oob { from: base + i, ..oob });
            }
        }
        self.note(op);
    }

    /// Copies pieces to the block `at`, in order, as [`Self::copy`] does each; logical pages are
    /// `step` apart.
    pub fn copy_pieces(
        &mut self,
        pieces: &[Piece],
        step: u32,
        at: Place,
        cause: Cause,
        signals: JoinId,
    ) {
        let g = &self.flash.geometry;
        let to = g.unit_of(at.block);
        let (mut last, mut copy_back) = (BlockId::NONE, false);
        for piece in pieces {
            let Piece { source: (source, from), page, count, lpn } = *piece;
            if source != last {
                let g = &self.flash.geometry;
                let unit = g.unit_of(source);
                let simply = g.die_of(unit) == g.die_of(to) && !self.engine.chip().is_typed();
                (last, copy_back) = (source, self.copy_back && unit == to);
                if !simply || self.keeps_media() {
                    last = BlockId::NONE;
                }
            }
            if last.is_none() {
                let run = Run { first: lpn, step, count };
                self.copy((source, from), Place { page, ..at }, run, cause, signals);
                continue;
            }
            self.flash.read(source, from, count);
            self.flash.program(at.block, page, count);
            let array_reads = self.count_copy(from, count, cause);
            self.note(FlashOp {
                copy_back,
                array_reads,
                guard: source,
                waiter: self.waiter_for(cause),
                signals,
                ..FlashOp::new(Kind::Copy, cause, at.block, page, count)
            });
        }
    }

    /// Counts the copy of `count` pages from page `from` of a block on; array reads that it takes.
    #[inline]
    fn count_copy(&mut self, from: u32, count: u32, cause: Cause) -> u32 {
        let g = &self.flash.geometry;
        let (programs, array_reads) = (g.programs(count), g.array_reads(from, count));
        let pages = u64::from(count);
        self.counters.reads[cause as usize] += pages;
        self.counters.programs[cause as usize] += pages;
        self.counters.array_reads += u64::from(array_reads);
        self.counters.programmed += pages;
        self.counters.program_ops += u64::from(programs);
        array_reads
    }

    /// What writes `count` pages of `source` to `at`: a copy where both lie on one die, else a
    /// program.
    fn moved(&mut self, source: BlockId, at: Place, count: u32, cause: Cause) -> FlashOp {
        let g = &self.flash.geometry;
        let (from, to) = (g.unit_of(source), g.unit_of(at.block));
        let mut op = FlashOp::new(Kind::Program, cause, at.block, at.page, count);
        (op.guard, op.waiter) = (source, self.waiter_for(cause));
        if g.die_of(from) == g.die_of(to) {
            op.kind = Kind::Copy;
            op.copy_back = self.copy_back && from == to;
            self.flash.check_copy(source, at.block, op.copy_back);
        }
        op
    }

    /// A read of one page of a copy, joined to the one before it where they follow one another.
    fn note_read_run(&mut self, source: BlockId, m: &Move, cause: Cause, signals: JoinId) {
        if !self.timed {
            return;
        }
        let read_pages = self.flash.geometry.read_pages;
        if let Some(last) = self.plan.ops.last_mut()
            && last.kind == Kind::Read
            && last.signals == signals
            && last.page + last.count == m.page
            && (read_pages == 1 || last.page / read_pages == m.page / read_pages)
        {
            last.count += 1;
            last.array_reads += u32::from(read_pages == 1);
        } else {
            let read = FlashOp {
                signals,
                array_reads: 1,
                instant: self.instant,
                ..FlashOp::new(Kind::Read, cause, source, m.page, 1)
            };
            self.plan.ops.push(read);
        }
    }

    /// Notes where the pages of a copy come from.
    fn note_sources(&mut self, source: BlockId, moves: &[Move], label: Label) -> u32 {
        if !self.keeps_media() {
            return NONE;
        }
        let first = self.plan.oob.len() as u32;
        let base = self.flash.geometry.ppn(source, 0);
        for m in moves {
            let mut oob = self.record(m.out, label, None);
            if m.page != NONE {
                oob.from = base + m.page;
            }
            self.plan.oob.push(oob);
        }
        first
    }
}
