//! Issue and end of operations, and the hazards in between: what each must come after.

use super::{Block, Engine, OpState, counts_for_flush};
use crate::nand::op::{FlashOp, JoinId, Kind, Plan};
use crate::support::NONE;
use crate::support::ids::BlockId;

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
        if !plan.is_plain() || self.stored.is_some() {
            return self.issue_in_order(plan);
        }
        for op in &plan.ops {
            self.issue_one(op);
        }
    }

    /// The same of an operation that is all of a plan, where no medium is kept.
    pub fn issue_one(&mut self, op: &FlashOp) {
        let id = self.accept(op, NONE);
        if self.ops[id as usize].deps == 0 {
            self.enqueue(id);
        }
    }

    /// The same of a plan with joins, pins or a group, or where the medium is kept.
    fn issue_in_order(&mut self, plan: &Plan) {
        let mut locals = std::mem::take(&mut self.waiting.locals);
        for _ in 0..plan.joins {
            let join = self.join(NONE);
            self.hold(join);
            locals.push(join);
        }
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
            let id =
                self.accept_any(&op, if plan.together { self.last_of_group(&op) } else { NONE });
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
            if self.ops[id as usize].deps == 0 {
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
    /// it in its group.
    #[inline(always)]
    fn accept(&mut self, op: &FlashOp, leader: u32) -> u32 {
        self.work_issued(op);
        let id = self.free_slot();
        let block = op.block.index();
        let changes = op.kind != Kind::Read;
        let before = if changes { self.blocks[block].tail } else { NONE };
        let steps = self.steps_of(op);
        let state = &mut self.ops[id as usize];
        self.free_op = state.next;
        *state = OpState {
            op: *op,
            seq: self.seq,
            deps: 0,
            ready: false,
            follows: leader != NONE,
            live: true,
            next: NONE,
            before,
            waiters: NONE,
            steps,
            steps_done: 0,
            epoch: self.waiting.epoch,
            life: 0,
            pins: 0,
            erase_before: NONE,
        };
        self.seq += 1;
        self.counts.under_way += 1;
        self.waiting.programs += u32::from(counts_for_flush(op));
        self.path_issued(id);
        for join in [op.signals, op.waiter] {
            self.hold(join);
        }
        if op.instant {
            self.accept_free(id);
            return id;
        }
        if leader != NONE {
            self.after(id, leader);
        }
        if !op.waits.is_none() && self.waiting.joins[op.waits.index()].count > 0 {
            let edge = self.edge(id, self.waiting.joins[op.waits.index()].waiters);
            self.waiting.joins[op.waits.index()].waiters = edge;
            self.ops[id as usize].deps += 1;
        }
        match op.kind {
            Kind::Read => {
                self.counts.reading += 1;
                self.after_programs(id, op.block, op.page, op.count);
                self.ops[id as usize].life = self.pin(op.block);
            }
            Kind::Copy => {
                // The payload's pages may lie anywhere in the source; what is being programmed
                // there must end first.
                self.after_programs(id, op.guard, 0, u32::MAX);
                self.ops[id as usize].life = self.pin(op.guard);
            }
            Kind::Program => {
                if op.guard != BlockId::NONE {
                    self.ops[id as usize].life = self.pin(op.guard);
                    if op.ordered {
                        self.after_programs(id, op.guard, 0, u32::MAX);
                    }
                }
            }
            Kind::Erase => {
                self.counts.erasing += 1;
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
            // What is in its die's queue comes first there; but what follows in a group goes past
            // the queue.
            if before != NONE && (leader != NONE || !self.ops[before as usize].ready) {
                self.after(id, before);
            }
            self.blocks[block].tail = id;
        }
        id
    }

    /// The same of one that is in a plan with others of all kinds.
    fn accept_any(&mut self, op: &FlashOp, leader: u32) -> u32 {
        self.accept(op, leader)
    }

    /// A slot for an operation, the first of the free ones.
    #[inline]
    fn free_slot(&mut self) -> u32 {
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
        let op = self.ops[id as usize].op;
        match op.kind {
            Kind::Read => {
                self.counts.reading += 1;
                self.ops[id as usize].life = self.pin(op.block);
            }
            Kind::Copy => self.ops[id as usize].life = self.pin(op.guard),
            Kind::Program if op.guard != BlockId::NONE => {
                self.ops[id as usize].life = self.pin(op.guard);
            }
            Kind::Program => {}
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

    /// Makes `id` wait for the programs under way on pages `page..page + count` of `block`.
    pub(super) fn after_programs(&mut self, id: u32, block: BlockId, page: u32, count: u32) {
        let (mut at, mut newest) = (self.blocks[block.index()].tail, self.ops[id as usize].seq);
        let end = page.saturating_add(count);
        while at != NONE {
            let state = &self.ops[at as usize];
            if !state.live
                || state.op.block != block
                || state.seq >= newest
                || state.op.kind == Kind::Erase
            {
                return;
            }
            let (seq, before) = (state.seq, state.before);
            if state.op.page < end && page < state.op.page + state.op.count {
                self.after(id, at);
            }
            (newest, at) = (seq, before);
        }
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
        self.end(id);
        if watched {
            self.path_over();
        }
    }

    #[inline(always)]
    fn end(&mut self, id: u32) {
        let OpState { op, waiters, epoch, life, .. } = self.ops[id as usize];
        if counts_for_flush(&op) {
            self.end_program_of(epoch);
        }
        self.work_done(&op);
        self.counts.under_way -= 1;
        if op.kind != Kind::Read && self.blocks[op.block.index()].tail == id {
            self.blocks[op.block.index()].tail = NONE;
        }
        self.counts.freed_slots += u64::from(op.slots);
        let state = &mut self.ops[id as usize];
        state.live = false;
        state.next = self.free_op;
        self.free_op = id;
        match op.kind {
            Kind::Read => {
                self.counts.reading -= 1;
                self.unpin(op.block, life);
            }
            Kind::Copy => self.unpin(op.guard, life),
            Kind::Program if op.guard != BlockId::NONE => self.unpin(op.guard, life),
            Kind::Erase => {
                self.counts.erasing -= 1;
                self.counts.erased += 1;
            }
            Kind::Program => {}
        }
        if let Some(list) = self.pinned.unpins.get_mut(id as usize)
            && !list.is_empty()
        {
            for token in std::mem::take(list) {
                if let Some((block, life)) = self.pinned.tokens.remove(&token) {
                    self.unpin(block, life);
                }
            }
        }
        if waiters != NONE {
            self.wake(waiters);
        }
        if !op.signals.is_none() {
            self.release(op.signals);
        }
        match op.waiter.tag() {
            Some(tag) => self.tell(tag),
            None if op.waiter.is_none() => {}
            None => {
                self.release(op.waiter);
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
    #[inline]
    pub(super) fn unpin(&mut self, block: BlockId, life: u32) {
        let state = &mut self.blocks[block.index()];
        if state.life == life {
            state.pins -= 1;
            return;
        }
        // The erase that ends that life waits for this, unless it took no time.
        let (mut after, mut id) = (NONE, state.erase);
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
