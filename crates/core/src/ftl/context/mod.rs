//! What a mapping may touch: the flash by issue, and the plan.
//!
//! Each call checks the physics, counts, and notes the operation. Pages that follow one another in
//! a block become one operation.

mod moves;

use serde::{Deserialize, Serialize};

pub use moves::{Move, Piece, Run};

use crate::metrics::Counters;
use crate::nand::media::Content;
use crate::nand::op::JoinId;
use crate::nand::{Cause, Engine, Flash, FlashOp, Kind, Media, Oob, PageProgram, Plan, Role};
use crate::support::NONE;
use crate::support::ids::{BlockId, LogicalBlock, Lpn, Ppn};

/// A page on its way to flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageOut {
    /// Logical page; of a tombstone, the number of its list; of a translation page, its number.
    pub lpn: Lpn,
    /// On whose account.
    pub cause: Cause,
    /// What it holds.
    pub content: Content,
    /// It holds a slot of the buffer until it is stored.
    pub slot: bool,
}

impl PageOut {
    /// A page with data on account of `cause`.
    #[inline]
    pub fn data(lpn: Lpn, cause: Cause) -> Self {
        Self { lpn, cause, content: Content::Host, slot: false }
    }

    /// A page of the host that bypasses the buffer.
    #[inline]
    pub fn host(lpn: Lpn) -> Self {
        Self::data(lpn, Cause::Host)
    }

    /// A tombstone with list `list`.
    pub fn tombstone(list: u32, cause: Cause) -> Self {
        Self { lpn: Lpn(list), cause, content: Content::Tombstone, slot: false }
    }

    /// Translation page `number`.
    pub fn map(number: u32, cause: Cause) -> Self {
        Self { lpn: Lpn(number), cause, content: Content::Map, slot: false }
    }

    /// A page that holds nothing.
    pub fn filler() -> Self {
        Self { lpn: Lpn::NONE, cause: Cause::Filler, content: Content::Filler, slot: false }
    }
}

/// What a block serves as, recorded with each of its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Label {
    /// Role of the block.
    pub role: Role,
    /// Logical block that owns it, or [`LogicalBlock::NONE`].
    pub logical_block: LogicalBlock,
    /// When it was opened; kept while power can fail.
    pub opened: u64,
}

/// Where pages go: from page `page` of a block on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Erase block.
    pub block: BlockId,
    /// First page.
    pub page: u32,
    /// What the block serves as.
    pub label: Label,
}

/// What a program comes after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct After {
    /// A block that holds versions which the program replaces, and may not be erased before it; or
    /// [`BlockId::NONE`].
    pub guard: BlockId,
    /// The program also begins only after what is under way on that block.
    pub ordered: bool,
    /// Join that it comes after.
    pub waits: JoinId,
}

impl After {
    /// Nothing but join `waits`.
    #[inline]
    pub fn join(waits: JoinId) -> Self {
        Self { guard: BlockId::NONE, ordered: false, waits }
    }
}

/// Who waits for the operations of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Waiter {
    /// Nobody.
    Nobody,
    /// This join, for the pages of the host and of its padding, and for what makes them durable.
    Writes(JoinId),
    /// This join, for everything.
    All(JoinId),
}

/// What is recorded of a page when it enters an open program unit: version and place in the order
/// of writes.
pub type Stamp = (u32, u64);

/// The flash and the plan, lent to a mapping for one step.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing to do with one another")]
pub struct Cx<'a> {
    /// The array by issue.
    pub flash: &'a mut Flash,
    /// The engine; nothing is ever under way in an untimed run.
    pub engine: &'a mut Engine,
    /// What the step has to do.
    pub plan: &'a mut Plan,
    /// What has been done so far, by cause.
    pub counters: &'a mut Counters,
    /// Times are wanted.
    pub timed: bool,
    /// Copies inside a plane stay off the bus.
    pub copy_back: bool,
    /// What is planned takes no time.
    pub instant: bool,
    /// What is planned waits for nothing else of a plan: it begins at once.
    pub at_once: bool,
    /// Reads of the map begun at once, of the end of each of which a tag is told.
    pub told: u32,
    /// Who waits.
    pub own: Waiter,
    /// What the pages are written together with: those of one request, or of one eviction, have the
    /// same number.
    pub group: u64,
    /// Reads come after this join of the plan: only then is it known where the page lies.
    pub known: JoinId,
    /// The page to be written that was looked up before there was no room for it, or [`Lpn::NONE`].
    pub looked_up: Lpn,
}

#[cfg(test)]
impl<'a> Cx<'a> {
    /// For tests of a mapping by itself: nothing takes time, and nobody waits.
    pub(crate) fn alone(
        flash: &'a mut Flash,
        engine: &'a mut Engine,
        plan: &'a mut Plan,
        counters: &'a mut Counters,
    ) -> Self {
        let own = Waiter::Nobody;
        Self {
            flash,
            engine,
            plan,
            counters,
            timed: false,
            copy_back: false,
            instant: false,
            at_once: false,
            told: 0,
            own,
            group: 0,
            known: JoinId::NONE,
            looked_up: Lpn::NONE,
        }
    }
}

impl Cx<'_> {
    /// Whether what the flash holds is kept.
    #[inline]
    pub fn keeps_media(&self) -> bool {
        self.engine.stored().is_some()
    }

    /// Nobody will see an operation but the counters: there is neither time nor a medium.
    #[inline]
    fn leaves_no_trace(&self) -> bool {
        !self.timed && !self.keeps_media()
    }

    /// A label for a block that is opened now.
    pub fn label(&mut self, role: Role, logical_block: LogicalBlock) -> Label {
        let opened = self.engine.media_mut().map_or(0, Media::next_seq);
        Label { role, logical_block, opened }
    }

    /// Writes down which ranges of pages, `(first, count)`, a tombstone is going to say have been
    /// trimmed. Returns the number of the list for the tombstone, or [`NONE`] where no medium is
    /// kept.
    pub fn write_down_trims(&mut self, ranges: impl Iterator<Item = (Lpn, u32)>) -> u32 {
        self.engine.media_mut().map_or(NONE, |media| media.write_down_trims(ranges.collect()))
    }

    /// Erases that have been planned and have not ended.
    #[inline]
    pub fn erasing(&self) -> u32 {
        self.engine.erasing() + self.plan.erases
    }

    /// A join for operations of this plan.
    pub fn join(&mut self) -> JoinId {
        if self.timed { self.plan.join() } else { JoinId::NONE }
    }

    #[inline]
    fn waiter_for(&self, cause: Cause) -> JoinId {
        match self.own {
            Waiter::All(join) => join,
            Waiter::Writes(join)
                if matches!(cause, Cause::Host | Cause::Padding | Cause::Mapping) =>
            {
                join
            }
            _ => JoinId::NONE,
        }
    }

    /// Notes an operation: for the engine, or to happen at once where there is no time.
    #[inline(always)]
    fn note(&mut self, mut op: FlashOp) {
        op.instant = self.instant;
        if op.kind != Kind::Read {
            self.plan.last_read = None;
        }
        if self.at_once {
            self.told += u32::from(op.waiter.tag().is_some());
            self.engine.issue_any(&op);
        } else if self.timed {
            self.engine.foresee(&op);
            self.plan.erases += u32::from(op.kind == Kind::Erase);
            self.plan.ops.push(op);
        } else if self.keeps_media() {
            let first = op.payload as usize;
            if let Some(stored) = self.engine.stored_mut() {
                stored.apply(&op, 0, op.count, self.plan.oob.get(first..).unwrap_or(&[]));
            }
            self.plan.oob.clear();
        }
    }

    /// Reads logical page `lpn` from page `page` of `block`; it signals `signals` and `waiter`.
    #[inline(always)]
    pub fn read(
        &mut self,
        block: BlockId,
        page: u32,
        lpn: Lpn,
        cause: Cause,
        signals: JoinId,
        waiter: JoinId,
    ) {
        self.flash.read(block, page, 1);
        self.counters.reads[cause as usize] += 1;
        let waits = self.known;
        let g = &self.flash.geometry;
        let same_flash_page = |last: &FlashOp| last.page / g.read_pages == page / g.read_pages;
        if self.timed
            && let Some(last) = self.plan.ops.last_mut()
            && last.kind == Kind::Read
            && (last.block, last.page + last.count) == (block, page)
            && (last.cause, last.signals, last.waiter, last.waits)
                == (cause, signals, waiter, waits)
            && (g.read_pages == 1 || same_flash_page(last))
        {
            last.count += 1;
            if g.read_pages == 1 {
                last.array_reads += 1;
                self.counters.array_reads += 1;
            }
            if let Some(stored) = self.engine.stored() {
                let version = stored.version_of(Content::Host, lpn.0);
                self.plan.oob.push(Oob { lpn, version, ..Oob::default() });
            }
            return;
        }
        // Without a plan to look back on, the page read last tells whether this one lies in the
        // same flash page.
        let fetched = !self.timed
            && !page.is_multiple_of(self.flash.geometry.read_pages)
            && self.plan.last_read == Some((block, page));
        self.counters.array_reads += u64::from(!fetched);
        self.plan.last_read = Some((block, page + 1));
        if self.leaves_no_trace() {
            return;
        }
        let mut op = FlashOp {
            signals,
            waiter,
            waits,
            array_reads: 1,
            ..FlashOp::new(Kind::Read, cause, block, page, 1)
        };
        if let Some(stored) = self.engine.stored() {
            op.payload = self.plan.oob.len() as u32;
            let version = stored.version_of(Content::Host, lpn.0);
            self.plan.oob.push(Oob { lpn, version, ..Oob::default() });
        }
        self.note(op);
    }

    /// Reads a page for the host, at once, where that takes time and no medium is kept; the end is
    /// told to `waiter`.
    #[inline(always)]
    pub fn read_at_once(&mut self, block: BlockId, page: u32, waiter: JoinId) {
        self.flash.read(block, page, 1);
        self.counters.reads[Cause::Host as usize] += 1;
        self.counters.array_reads += 1;
        self.engine.read_page(block, page, waiter);
    }

    /// Reads translation page `number` from page `page` of `block`; it signals `signals`, and who
    /// waits for the map.
    pub fn read_map(&mut self, block: BlockId, page: u32, number: u32, signals: JoinId) {
        self.flash.read(block, page, 1);
        self.counters.reads[Cause::Mapping as usize] += 1;
        self.counters.array_reads += 1;
        self.plan.last_read = None;
        if self.leaves_no_trace() {
            return;
        }
        let waiter = self.waiter_for(Cause::Mapping);
        let mut op = FlashOp {
            signals,
            waiter,
            array_reads: 1,
            ..FlashOp::new(Kind::Read, Cause::Mapping, block, page, 1)
        };
        if let Some(stored) = self.engine.stored() {
            op.payload = self.plan.oob.len() as u32;
            let version = stored.version_of(Content::Map, number);
            self.plan.oob.push(Oob {
                lpn: Lpn(number),
                version,
                content: Content::Map,
                ..Oob::default()
            });
        }
        self.note(op);
    }

    /// Whether a page is still in the controller's RAM: in an open program unit, or being
    /// programmed from there.
    #[inline(always)]
    pub fn is_in_ram(&self, block: BlockId, page: u32) -> bool {
        (self.flash.geometry.program_pages > 1 && page >= self.flash.write_ptr(block))
            || (self.timed && self.engine.in_ram(block, page))
    }

    /// Programs `pages` in one block.
    #[inline]
    pub fn program(&mut self, at: Place, pages: &[PageOut], after: After) {
        self.program_held(at, pages, &[], after);
    }

    /// Programs `pages` that have waited in an open program unit, with the stamps that they got
    /// then.
    #[inline]
    pub fn program_held(&mut self, at: Place, pages: &[PageOut], stamps: &[Stamp], after: After) {
        let count = pages.len() as u32;
        self.flash.program(at.block, at.page, count);
        self.counters.programmed += u64::from(count);
        self.counters.program_ops += u64::from(self.flash.geometry.programs(count));
        let (mut slots, mut host) = (0, false);
        for out in pages {
            self.counters.programs[out.cause as usize] += 1;
            slots += u32::from(out.slot);
            host |= out.cause == Cause::Host;
        }
        let cause = if host { Cause::Host } else { pages[0].cause };
        self.note_program((at, pages, stamps), after, cause, slots);
    }

    /// Programs one page, where a program takes no more.
    #[inline(always)]
    pub fn program_one(&mut self, at: Place, out: PageOut, after: After) {
        self.flash.program(at.block, at.page, 1);
        self.counters.programmed += 1;
        self.counters.program_ops += 1;
        self.counters.programs[out.cause as usize] += 1;
        if self.at_once {
            let slots = u32::from(out.slot);
            self.counters.slots_taken += u64::from(slots);
            let After { guard, ordered, waits } = after;
            let Place { block, page, .. } = at;
            let waiter = self.waiter_for(out.cause);
            let program = PageProgram { cause: out.cause, block, page, guard, waiter, slots };
            if ordered || !waits.is_none() {
                return self.engine.issue_any(&FlashOp { ordered, waits, ..program.as_op() });
            }
            return self.engine.program_page(program);
        }
        let pages = std::slice::from_ref(&out);
        self.note_program((at, pages, &[]), after, out.cause, u32::from(out.slot));
    }

    /// Notes the program of pages that have been counted, on account of `cause`.
    #[inline(always)]
    fn note_program(
        &mut self,
        (at, pages, stamps): (Place, &[PageOut], &[Stamp]),
        after: After,
        cause: Cause,
        slots: u32,
    ) {
        if self.leaves_no_trace() {
            self.plan.last_read = None;
            return;
        }
        let (Place { block, page, label }, After { guard, ordered, waits }) = (at, after);
        let mut op = FlashOp {
            guard,
            ordered,
            waits,
            waiter: self.waiter_for(cause),
            ..FlashOp::new(Kind::Program, cause, block, page, pages.len() as u32)
        };
        if self.timed {
            op.slots = slots;
            self.counters.slots_taken += u64::from(slots);
        }
        if self.keeps_media() {
            op.payload = self.plan.oob.len() as u32;
            for (i, out) in pages.iter().enumerate() {
                let oob = self.record(*out, label, stamps.get(i).copied());
                self.plan.oob.push(oob);
            }
        }
        self.note(op);
        if (!self.timed || self.engine.stores_at_issue()) && !stamps.is_empty() {
            for (out, &(version, _)) in
                pages.iter().zip(stamps).filter(|(out, _)| out.content == Content::Host)
            {
                if let Some(shadow) = self.engine.shadow_mut() {
                    shadow.drop_copy(out.lpn, version);
                }
            }
        }
    }

    /// Programs one page of which only `bytes` cross the bus.
    pub fn program_little(&mut self, at: Place, page: PageOut, bytes: u64) {
        let before = self.plan.ops.len();
        self.program(at, &[page], After::join(JoinId::NONE));
        if let Some(op) = self.plan.ops.get_mut(before) {
            op.own_ns = self.engine.chip().saved_ns(self.flash.geometry.page_bytes, bytes);
        }
    }

    /// A page enters an open program unit: its stamp, where what the flash holds is kept. Without
    /// time there is no power cut that could take it from RAM again, and where collection takes
    /// none, what is in open program units outlasts one.
    #[inline]
    pub fn hold(&mut self, out: PageOut, stamps: &mut Vec<Stamp>) {
        let kept = !self.timed || self.engine.stores_at_issue();
        if let Some(stored) = self.engine.stored_mut() {
            let host = out.content == Content::Host;
            let version = stored.version_of(out.content, out.lpn.0);
            stamps.push((version, stored.media.next_seq()));
            if let Some(shadow) = stored.shadow.as_mut().filter(|_| kept && host) {
                shadow.add_copy(out.lpn, version);
            }
        }
    }

    /// A page enters an open program unit: who waits for it waits for the unit to be programmed, by
    /// way of `unit`, a join for all of them. Nobody waits for a page of the map, which can be made
    /// again from the data.
    pub fn wait_for_unit(&mut self, out: PageOut, unit: &mut Option<JoinId>) {
        let own = self.waiter_for(out.cause);
        let waits =
            self.timed && matches!(self.own, Waiter::Writes(_)) && out.content != Content::Map;
        if own.is_none() || !waits {
            return;
        }
        let join = *unit.get_or_insert_with(|| {
            let join = self.engine.join(NONE);
            self.engine.hold(join);
            join
        });
        self.engine.link(join, own);
    }

    /// A page enters an open program unit, whose data come after join `waits`, of the plan or the
    /// engine: the unit's program waits for all of those, by way of `unit`. The plan that has them
    /// may be issued long before that program is planned.
    pub fn feed_unit(&mut self, waits: JoinId, unit: &mut Option<JoinId>) {
        if waits.is_none() {
            return;
        }
        let join = *unit.get_or_insert_with(|| {
            let join = self.engine.join(NONE);
            self.engine.hold(join);
            join
        });
        if waits.is_of_plan() {
            self.engine.hold(join);
            self.plan.links.push((waits, join));
        } else {
            self.engine.link(waits, join);
        }
    }

    /// The unit is full: what its program waits for.
    pub fn unit_is_fed(&mut self, unit: Option<JoinId>) -> JoinId {
        let Some(join) = unit else { return JoinId::NONE };
        self.plan.held.push(join);
        join
    }

    /// The program just planned is the one that those who joined `unit` wait for.
    pub fn ends_waiting(&mut self, unit: Option<JoinId>) {
        let (Some(join), Some(program)) = (unit, self.plan.ops.last_mut()) else { return };
        let own = std::mem::replace(&mut program.waiter, join);
        if !own.is_none() {
            self.engine.link(join, own);
        }
        self.plan.held.push(join);
    }

    /// The out-of-band record of a page written now.
    fn record(&mut self, out: PageOut, label: Label, stamp: Option<Stamp>) -> Oob {
        let Some(stored) = self.engine.stored_mut() else { return Oob::default() };
        let mut now = || (stored.version_of(out.content, out.lpn.0), stored.media.next_seq());
        let (version, seq) = stamp.unwrap_or_else(&mut now);
        Oob {
            lpn: out.lpn,
            version,
            seq,
            opened: label.opened,
            content: out.content,
            role: label.role,
            logical_block: label.logical_block,
            from: Ppn::NONE,
        }
    }

    /// Erases `block` after join `waits`, and signals `signals`.
    pub fn erase(&mut self, block: BlockId, cause: Cause, waits: JoinId, signals: JoinId) {
        self.erase_for(self.waiter_for(cause), block, cause, waits, signals);
    }

    /// The same; who waits for the host's pages waits for it, too.
    pub fn erase_awaited(&mut self, block: BlockId, cause: Cause, waits: JoinId, signals: JoinId) {
        self.erase_for(self.waiter_for(Cause::Host), block, cause, waits, signals);
    }

    fn erase_for(
        &mut self,
        waiter: JoinId,
        block: BlockId,
        cause: Cause,
        waits: JoinId,
        signals: JoinId,
    ) {
        self.flash.erase(block);
        self.counters.erases[cause as usize] += 1;
        self.note(FlashOp {
            waits,
            signals,
            waiter,
            ..FlashOp::new(Kind::Erase, cause, block, 0, 0)
        });
    }

    /// An open program unit holds the newest version of a page whose old one lies in `block`. The
    /// name of the pin goes to `pinned`.
    #[inline]
    pub fn pin(&mut self, block: BlockId, pinned: &mut Vec<u32>) {
        if self.timed {
            let token = self.engine.token();
            self.plan.pins.push((self.plan.ops.len() as u32, block, token));
            pinned.push(token);
        }
    }

    /// The program just planned releases those pins.
    pub fn unpin(&mut self, pinned: &mut Vec<u32>) {
        if self.timed {
            let op = self.plan.ops.len() as u32 - 1;
            self.plan.unpins.extend(pinned.iter().map(|&token| (op, token)));
        }
        pinned.clear();
    }
}
