//! Issue and end of operations, and the hazards in between: what each must come after.

use super::{Block, Engine, OpState, PageProgram, counts_for_flush};
use crate::nand::op::{FlashOp, JoinId, Kind, Plan};
use crate::support::NONE;
use crate::support::ids::{BlockId, DieId};

impl Engine {
    /// The operation under way that programs page `page` of `block`, if there is one. O(programs of
    /// it under way).
    pub fn programming(&self, block: BlockId, page: u32) -> Option<u32> {
        let (mut id, mut newest) = (self.blocks[block.index()].tail, u64::MAX);
        while id != NONE {
            let state = &self.ops[id as usize];
            if !state.live
                || state.op.block != block
                || state.seq >= newest
                || state.op.kind == Kind::Erase
            {
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

    /// Whether page `page` of `block` is being programmed from the controller's RAM, where it can
    /// still be read.
    #[inline]
    pub fn in_ram(&self, block: BlockId, page: u32) -> bool {
        self.blocks[block.index()].tail != NONE
            && self.programming(block, page).is_some_and(|id| {
                let state = &self.ops[id as usize];
                // One that still waits for the reads which bring its data has nothing to serve.
                state.op.kind == Kind::Program && (state.ready || state.op.waits.is_none())
            })
    }

    /// Whether something is under way on `block` that changes it.
    #[inline]
    pub fn is_changing(&self, block: BlockId) -> bool {
        self.blocks[block.index()].tail != NONE
    }

    /// Starts or queues the operations of a plan, in order.
    pub fn issue(&mut self, plan: &Plan) {
        if self.stored.is_some() || !plan.is_plain() {
            let joined = plan.has_only_joins() && self.stored.is_none();
            return if joined { self.issue_joined(plan) } else { self.issue_in_order(plan) };
        }
        for op in &plan.ops {
            match PageProgram::of(op) {
                Some(page) if self.rules.program_pages == 1 => self.program_page(page),
                _ => self.issue_one(op),
            }
        }
    }

    /// A join of the engine, held, for each of a plan's own. To be put back, empty.
    #[inline(always)]
    fn open_joins(&mut self, plan: &Plan) -> Vec<JoinId> {
        let mut locals = std::mem::take(&mut self.waiting.locals);
        for _ in 0..plan.joins {
            let join = self.join(NONE);
            self.hold(join);
            locals.push(join);
        }
        locals
    }

    /// The same of a plan of which operations wait for one another by joins, and for nothing else.
    fn issue_joined(&mut self, plan: &Plan) {
        let mut locals = self.open_joins(plan);
        let global = |id: JoinId| if id.is_of_plan() { locals[id.index()] } else { id };
        for op in &plan.ops {
            let joins = (global(op.waits), global(op.signals));
            let (id, die, waits) = self.accept(op, joins, NONE);
            if !waits {
                self.queue_up(id, die, op, false);
            }
        }
        for join in locals.drain(..) {
            self.release(join);
        }
        self.waiting.locals = locals;
    }

    /// The same of an operation of any kind.
    pub fn issue_any(&mut self, op: &FlashOp) {
        self.issue_one(op);
    }

    /// The same of an operation that is all of a plan, where no medium is kept.
    #[inline(always)]
    pub(super) fn issue_one(&mut self, op: &FlashOp) {
        let (id, die, waits) = self.accept(op, (op.waits, op.signals), NONE);
        if !waits {
            self.queue_up(id, die, op, false);
        }
    }

    /// The same of a plan with joins, pins or a group, or where the medium is kept.
    fn issue_in_order(&mut self, plan: &Plan) {
        let mut locals = self.open_joins(plan);
        let global = |id: JoinId| if id.is_of_plan() { locals[id.index()] } else { id };
        let mut pins = plan.pins.iter().peekable();
        let mut unpins = plan.unpins.iter().peekable();
        for (index, op) in plan.ops.iter().enumerate() {
            while let Some(&(_, block, token)) =
                pins.next_if(|(before, ..)| *before <= index as u32)
            {
                let life = self.pin(block);
                self.pinned.tokens.insert(token, (block, life));
            }
            let op = FlashOp { waits: global(op.waits), signals: global(op.signals), ..*op };
            let leader = if plan.together { self.last_of_group(&op) } else { NONE };
            let (id, _, waits) = self.accept_any(&op, leader);
            if self.stored.is_some() {
                let slot = &mut self.payloads[id as usize];
                slot.clear();
                if op.payload != NONE {
                    let pages = if op.kind == Kind::Copy
                        || op.kind == Kind::Program
                        || op.kind == Kind::Read
                    {
                        op.count
                    } else {
                        0
                    };
                    slot.extend_from_slice(
                        &plan.oob[op.payload as usize..(op.payload + pages) as usize],
                    );
                }
            }
            while let Some((_, token)) = unpins.next_if(|(of, _)| *of == index as u32) {
                if self.pinned.unpins.len() <= id as usize {
                    self.pinned.unpins.resize(id as usize + 1, Vec::new());
                }
                self.pinned.unpins[id as usize].push(*token);
            }
            if plan.together {
                self.join_group(id);
            }
            if self.rules.stores_at_issue {
                self.apply_whole(id);
            }
            if !waits {
                self.enqueue(id);
            }
        }
        for &(_, block, token) in pins {
            let life = self.pin(block);
            self.pinned.tokens.insert(token, (block, life));
        }
        for &(local, join) in &plan.links {
            self.link(locals[local.index()], join);
            self.release(join);
        }
        for join in locals.drain(..).chain(plan.held.iter().copied()) {
            self.release(join);
        }
        self.waiting.locals = locals;
    }

    /// Gives an operation a slot and finds what it waits for, `leader` among it: what comes before
    /// it in its group. The joins that it `awaits` and `signals` are the engine's. Its number, its
    /// die, and whether there is anything.
    #[inline(always)]
    fn accept(
        &mut self,
        op: &FlashOp,
        (awaits, signals): (JoinId, JoinId),
        leader: u32,
    ) -> (u32, DieId, bool) {
        self.work_issued(op);
        let id = self.free_slot();
        let (block, changes) = (op.block.index(), op.kind != Kind::Read);
        // What looks for those of its own block finds them behind itself.
        let looks = match op.kind {
            Kind::Program => op.ordered,
            Kind::Copy => op.guard == op.block,
            Kind::Read | Kind::Erase => false,
        };
        let die = self.die_of(op.block);
        let of_block = &mut self.blocks[block];
        let before = if changes { of_block.tail } else { NONE };
        if changes && !looks && !op.instant {
            of_block.tail = id;
        }
        let life = match op.kind {
            Kind::Read => self.pin(op.block),
            Kind::Copy => self.pin(op.guard),
            Kind::Program if op.guard != BlockId::NONE => self.pin(op.guard),
            Kind::Program | Kind::Erase => 0,
        };
        let steps = self.steps_of(op);
        let state = self.write_down(id, op, steps, (before, life), false);
        (state.op.waits, state.op.signals) = (awaits, signals);
        state.follows = leader != NONE;
        self.path_issued(id);
        for join in [signals, op.waiter] {
            self.hold(join);
        }
        if op.instant {
            self.accept_free(id);
            return (id, die, false);
        }
        let mut waits = leader != NONE;
        if leader != NONE {
            self.after(id, leader);
        }
        if !awaits.is_none() && self.waiting.joins[awaits.index()].count > 0 {
            let edge = self.edge(id, self.waiting.joins[awaits.index()].waiters);
            self.waiting.joins[awaits.index()].waiters = edge;
            self.ops[id as usize].deps += 1;
            waits = true;
        }
        match op.kind {
            Kind::Read => {
                self.counts.reading += 1;
                waits |= self.after_programs(id, op.block, op.page, op.count);
            }
            // The payload's pages may lie anywhere in the source; what is being programmed there
            // must end first.
            Kind::Copy => waits |= self.after_programs(id, op.guard, 0, u32::MAX),
            Kind::Program => {
                if looks && op.guard != BlockId::NONE {
                    waits |= self.after_programs(id, op.guard, 0, u32::MAX);
                }
            }
            Kind::Erase => {
                self.counts.erasing += 1;
                let state = &mut self.blocks[block];
                let erase = &mut self.ops[id as usize];
                erase.life = state.life;
                state.life += 1;
                if state.pins > 0 {
                    waits = true;
                    erase.deps += 1;
                    erase.pins = std::mem::take(&mut state.pins);
                    erase.erase_before = std::mem::replace(&mut state.erase, id);
                }
            }
        }
        if changes {
            // What is in its die's queue comes first there; but what follows in a group goes past
            // the queue.
            if before != NONE && (leader != NONE || !self.ops[before as usize].ready) {
                self.after(id, before);
                waits = true;
            }
            if looks {
                self.blocks[block].tail = id;
            }
        }
        (id, die, waits)
    }

    /// The same of one that is in a plan with others of all kinds.
    fn accept_any(&mut self, op: &FlashOp, leader: u32) -> (u32, DieId, bool) {
        self.accept(op, (op.waits, op.signals), leader)
    }

    /// Operation `id` takes the first free slot. It has so many steps, comes after the operation
    /// `before` on its block, and pins a `life` of one; it is `ready` or may have to wait.
    #[inline(always)]
    pub(super) fn write_down(
        &mut self,
        id: u32,
        op: &FlashOp,
        steps: u32,
        (before, life): (u32, u32),
        ready: bool,
    ) -> &mut OpState {
        let (seq, epoch) = (self.seq, self.waiting.epoch);
        self.seq += 1;
        self.counts.under_way += 1;
        self.waiting.programs += u32::from(counts_for_flush(op));
        let state = &mut self.ops[id as usize];
        self.free_op = state.next;
        *state = OpState {
            op: *op,
            seq,
            deps: 0,
            ready,
            follows: false,
            live: true,
            next: NONE,
            before,
            waiters: NONE,
            steps,
            steps_done: 0,
            epoch,
            life,
            pins: 0,
            erase_before: NONE,
        };
        state
    }

    /// A slot for an operation, the first of the free ones.
    #[inline]
    pub(super) fn free_slot(&mut self) -> u32 {
        if self.free_op == NONE { self.another_slot() } else { self.free_op }
    }

    #[cold]
    fn another_slot(&mut self) -> u32 {
        self.free_op = self.ops.len() as u32;
        self.ops.push(OpState::free());
        if self.stored.is_some() {
            self.payloads.resize(self.ops.len(), Vec::new());
        }
        self.free_op
    }

    /// The same of one that takes no time: it waits for nothing. It is over before anything else is
    /// issued, so that nothing that is looks for it; what was under way on a block that it erases
    /// is of no interest any more.
    #[cold]
    fn accept_free(&mut self, id: u32) {
        let op = &self.ops[id as usize].op;
        match op.kind {
            Kind::Read => self.counts.reading += 1,
            Kind::Copy | Kind::Program => {}
            Kind::Erase => {
                self.counts.erasing += 1;
                let block = &mut self.blocks[op.block.index()];
                (block.life, block.pins, block.tail) = (block.life + 1, 0, NONE);
            }
        }
    }

    /// All of an operation counts as stored.
    fn apply_whole(&mut self, id: u32) {
        let op = &self.ops[id as usize].op;
        if let Some(stored) = self.stored.as_deref_mut() {
            stored.apply(op, 0, op.count, &self.payloads[id as usize]);
        }
    }

    /// Equal steps that an operation takes.
    #[inline]
    pub(super) fn steps_of(&self, op: &FlashOp) -> u32 {
        match op.kind {
            Kind::Read if self.rules.single_reads => op.count,
            Kind::Copy | Kind::Program if self.rules.program_pages == 1 => op.count,
            Kind::Erase | Kind::Read | Kind::Copy => 1,
            Kind::Program => op.count / self.rules.program_pages,
        }
    }

    /// Makes `id` wait for the programs under way on pages `page..page + count` of `block`; whether
    /// there are any.
    #[inline(always)]
    fn after_programs(&mut self, id: u32, block: BlockId, page: u32, count: u32) -> bool {
        let tail = self.blocks[block.index()].tail;
        tail != NONE && self.after_those_from(tail, id, block, (page, count))
    }

    #[inline(never)]
    fn after_those_from(
        &mut self,
        tail: u32,
        id: u32,
        block: BlockId,
        (page, count): (u32, u32),
    ) -> bool {
        let (mut at, mut newest, mut any) = (tail, self.ops[id as usize].seq, false);
        let end = page.saturating_add(count);
        while at != NONE {
            let state = &self.ops[at as usize];
            if !state.live
                || state.op.block != block
                || state.seq >= newest
                || state.op.kind == Kind::Erase
            {
                break;
            }
            let (seq, before) = (state.seq, state.before);
            if state.op.page < end && page < state.op.page + state.op.count {
                self.after(id, at);
                any = true;
            }
            (newest, at) = (seq, before);
        }
        any
    }

    /// Makes `id` wait for `other` to end.
    pub(super) fn after(&mut self, id: u32, other: u32) {
        let edge = self.edge(id, self.ops[other as usize].waiters);
        self.ops[other as usize].waiters = edge;
        self.ops[id as usize].deps += 1;
    }

    /// An operation has ended: its hazards go, those who waited go on.
    pub(super) fn complete(&mut self, id: u32) {
        let watched = self.paths.is_some();
        if watched {
            self.path_ends(id);
        }
        if self.work.is_some() {
            let op = self.ops[id as usize].op;
            self.work_done(&op);
        }
        self.end(id);
        if watched {
            self.path_over();
        }
    }

    /// The same where nobody follows how it came about.
    #[inline(always)]
    pub(super) fn end(&mut self, id: u32) {
        let state = &mut self.ops[id as usize];
        let OpState { waiters, epoch, life, .. } = *state;
        let FlashOp { kind, block, guard, slots, signals, waiter, .. } = state.op;
        let counts = counts_for_flush(&state.op);
        state.live = false;
        state.next = self.free_op;
        self.free_op = id;
        if counts {
            self.end_program_of(epoch);
        }
        self.counts.under_way -= 1;
        self.counts.freed_slots += u64::from(slots);
        if kind == Kind::Read {
            self.counts.reading -= 1;
            self.unpin(block, life);
        } else {
            let tail = &mut self.blocks[block.index()].tail;
            if *tail == id {
                *tail = NONE;
            }
            if kind == Kind::Erase {
                self.counts.erasing -= 1;
                self.counts.erased += 1;
            } else if guard != BlockId::NONE {
                self.unpin(guard, life);
            }
        }
        if !self.pinned.unpins.is_empty() {
            self.release_pins(id);
        }
        if waiters != NONE {
            self.wake(waiters);
        }
        if !signals.is_none() {
            self.release(signals);
        }
        match waiter.tag() {
            Some(tag) => self.tell(tag),
            None if waiter.is_none() => {}
            None => {
                self.release(waiter);
            }
        }
    }

    /// The pages of an operation on several have left their open program unit: what they replace is
    /// needed no more.
    #[inline(never)]
    fn release_pins(&mut self, id: u32) {
        let Some(list) = self.pinned.unpins.get_mut(id as usize).filter(|list| !list.is_empty())
        else {
            return;
        };
        for token in std::mem::take(list) {
            if let Some((block, life)) = self.pinned.tokens.remove(&token) {
                self.unpin(block, life);
            }
        }
    }

    /// What is in `block` is needed; returns which of its lives.
    #[inline]
    pub(super) fn pin(&mut self, block: BlockId) -> u32 {
        let state = &mut self.blocks[block.index()];
        state.pins += 1;
        state.life
    }

    /// Whether a page in a program unit that is not full yet needs what is in `block`. O(pages in
    /// such units).
    pub fn has_open_pin(&self, block: BlockId) -> bool {
        let Block { life, pins, .. } = self.blocks[block.index()];
        pins > 0 && self.pinned.tokens.values().any(|&pinned| pinned == (block, life))
    }

    /// Whether an erase waits for a page in a program unit that is not full yet. O(pages in such
    /// units).
    pub fn has_held_erase(&self) -> bool {
        self.pinned.tokens.values().any(|&(block, life)| self.blocks[block.index()].life != life)
    }

    /// What was in `block` during `life` is needed once less.
    #[inline(always)]
    pub(super) fn unpin(&mut self, block: BlockId, life: u32) {
        let state = &mut self.blocks[block.index()];
        if state.life == life {
            state.pins -= 1;
        } else {
            self.unpin_erased(block, life);
        }
    }

    /// The same of a life that has ended by now.
    #[inline(never)]
    fn unpin_erased(&mut self, block: BlockId, life: u32) {
        // The erase that ends that life waits for this, unless it took no time.
        let (mut after, mut id) = (NONE, self.blocks[block.index()].erase);
        while id != NONE && self.ops[id as usize].life != life {
            after = id;
            id = self.ops[id as usize].erase_before;
        }
        if id == NONE {
            return;
        }
        self.ops[id as usize].pins -= 1;
        if self.ops[id as usize].pins == 0 {
            let before = self.ops[id as usize].erase_before;
            if after == NONE {
                self.blocks[block.index()].erase = before;
            } else {
                self.ops[after as usize].erase_before = before;
            }
            self.dependency_met(id);
        }
    }
}
