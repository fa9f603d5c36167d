//! Garbage collection of one unit, in steps or in one go; and the swaps of a wear leveller, which
//! go the same way.

use serde::{Deserialize, Serialize};

use super::table::TOMB;
use super::{Discipline, Open, Owners, Store};
use crate::ftl::Reclaim;
use crate::ftl::context::{Cx, Move, PageOut, Place};
use crate::ftl::gc::Grain;
use crate::ftl::victim::Candidates;
use crate::ftl::wear::Swap;
use crate::metrics::Counters;
use crate::nand::{Cause, Engine, JoinId, Kind};
use crate::support::NONE;
use crate::support::ids::{BlockId, PlaneId, Ppn};
use crate::support::minima::ABSENT;

/// What a victim is emptied for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Job {
    /// Its unit needs erased blocks.
    Collect,
    /// The same; then it gets the pages of a swap.
    Clean(Swap),
    /// It is the block that is going to get the pages of a swap.
    Clear(Swap),
    /// Its pages move into the swap's other block.
    Swap(Swap),
}

impl Job {
    /// On whose account it is: a victim that then takes cold data would have been collected without
    /// them, too.
    fn cause(self) -> Cause {
        match self {
            Self::Collect | Self::Clean(_) => Cause::Gc,
            Self::Clear(_) | Self::Swap(_) => Cause::Wear,
        }
    }
}

/// Pages of a victim whose owners are looked up together.
const AHEAD: u32 = 128;

/// Where a run of a victim's pages goes.
#[derive(Debug, Clone, Copy)]
struct Target {
    to: PlaneId,
    class: u32,
    /// Write point that takes the pages of a swap.
    swap: Option<usize>,
}

impl Store {
    /// Collects `unit` as far as one plan goes. What has to go on without anything in between says
    /// so.
    pub fn collect(&mut self, cx: &mut Cx<'_>, unit: PlaneId, owners: &mut impl Owners) -> Reclaim {
        if let Some(alloc) = &mut self.alloc {
            alloc.has_changed(unit);
        }
        let grain = self.limits.grain;
        cx.plan.together |= grain != Grain::Steps;
        let erases = Counters::total(&cx.counters.erases);
        let step = self.collect_some(cx, unit, owners);
        let goes_on = match grain {
            Grain::Steps => false,
            Grain::Victim => Counters::total(&cx.counters.erases) == erases,
            Grain::All => !self.ends(unit) && !Self::waits_for_host(cx),
        };
        if step == Reclaim::More && goes_on { Reclaim::Together } else { step }
    }

    /// Whether the erase that was planned last comes after pages of a program unit which only the
    /// host's next writes fill. Where more was planned behind it, reads of what that moves would
    /// wait for those writes, too.
    fn waits_for_host(cx: &Cx<'_>) -> bool {
        let last = cx.plan.ops.last().filter(|op| op.kind == Kind::Erase);
        last.is_some_and(|erase| cx.engine.has_open_pin(erase.block))
    }

    /// Whether all that `unit` needs now has been planned. What is written while that goes on does
    /// not prolong a cleaning.
    fn ends(&mut self, unit: PlaneId) -> bool {
        // A swap needs a reserve that is really erased: it begins when the rest has ended.
        let is_over = self.wear.is_due(unit) || self.has_enough(unit);
        let ends = self.units[unit.index()].victim.is_none() && is_over;
        if ends {
            self.ask_discipline(|discipline, _| discipline.ended(unit));
        }
        ends
    }

    /// Whether `unit`, which has no victim, need not be collected any further.
    fn has_enough(&self, unit: PlaneId) -> bool {
        let u = &self.units[unit.index()];
        if let Some(discipline) = self.discipline.as_ref().filter(|_| u.cleaned) {
            return !discipline.goes_on(self, unit);
        }
        let idle = if u.idle { self.limits.idle_free_blocks } else { 0 };
        self.erased(unit) > idle.max(self.limits.gc_free_blocks)
    }

    /// One step of collecting `unit`.
    fn collect_some(
        &mut self,
        cx: &mut Cx<'_>,
        unit: PlaneId,
        owners: &mut impl Owners,
    ) -> Reclaim {
        if self.units[unit.index()].victim.is_none() && !self.begin_swap(cx, unit) {
            if self.has_enough(unit) {
                self.units[unit.index()].collecting = false;
                return Reclaim::Done;
            }
            let Some(victim) = self.choose_victim(cx, unit) else {
                return self.nothing_to_collect(unit);
            };
            match self.victim.cold().filter(|_| self.can_open(cx.engine, unit)) {
                Some(cold) => {
                    let from = self.geometry.first_block(unit) + cold;
                    self.unlist(from);
                    self.empty(unit, victim, Job::Clean(Swap { from, into: victim }));
                }
                None => self.empty(unit, victim, Job::Collect),
            }
        }
        let (victim, job) = (self.units[unit.index()].victim, self.units[unit.index()].job);
        let before = self.valid_of[victim.index()];
        self.copy_some(cx, unit, owners);
        if let Job::Swap(swap) = job
            && self.valid_of[victim.index()] > 0
            && self.is_full(swap)
        {
            self.continue_swap(cx, unit, swap);
            return Reclaim::More;
        }
        if before > 0 && self.valid_of[victim.index()] == before {
            return self.give_up(cx, unit);
        }
        if self.valid_of[victim.index()] == 0 {
            if !owners.before_erase(self, cx, unit, victim) {
                return self.give_up(cx, unit);
            }
            cx.erase(victim, job.cause(), JoinId::NONE, JoinId::NONE);
            self.history.erase(victim);
            self.wear.count(victim, cx.flash.erases()[victim.index()]);
            self.rested(self.geometry.unit_of(victim));
            self.units[unit.index()].victim = BlockId::NONE;
            match job {
                Job::Collect => {
                    self.units[unit.index()].cleaned = true;
                    self.give(cx, victim);
                    self.level(cx, unit, victim);
                }
                Job::Clean(swap) => {
                    self.units[unit.index()].cleaned = true;
                    self.cleared(cx, unit, swap);
                }
                Job::Clear(swap) => self.cleared(cx, unit, swap),
                Job::Swap(swap) => {
                    self.give(cx, victim);
                    self.end_swap(cx, unit, swap);
                }
            }
        }
        Reclaim::More
    }

    /// The block that the policy names.
    fn choose_victim(&mut self, cx: &Cx<'_>, unit: PlaneId) -> Option<BlockId> {
        if self.limits.pools_as_one {
            let begins = !self.units[unit.index()].cleaned;
            let pick = |discipline: &mut dyn Discipline, store: &mut Self| {
                discipline.picks_victim(store, cx, unit, begins)
            };
            return self.ask_discipline(pick).flatten();
        }
        if self.pool.free(unit) == 0 {
            self.wake_all(unit);
        }
        let chosen = self.choose_awake(cx, unit);
        if chosen.is_none() && self.wake_all(unit) { self.choose_awake(cx, unit) } else { chosen }
    }

    /// The same, those left out that rest.
    fn choose_awake(&mut self, cx: &Cx<'_>, unit: PlaneId) -> Option<BlockId> {
        let first = self.geometry.first_block(unit);
        let blocks = Candidates {
            closed: &self.units[unit.index()].closed,
            first,
            count: self.geometry.blocks_per_unit,
            pages: self.data_pages(),
            program: self.geometry.program_pages,
            erases: cx.flash.erases(),
            regions: &self.class_of,
            history: self.history.view(),
        };
        // Without a reserve, which only power cuts and wear take away, what is valid has to fit
        // into what is open.
        let chosen = if self.pool.free(unit) == 0 {
            blocks.emptiest()?
        } else {
            self.victim.choose(&blocks)?
        };
        debug_assert!(
            blocks.closed(chosen).is_some_and(|valid| blocks.gains(valid)),
            "{chosen} gains nothing"
        );
        Some(first + chosen)
    }

    /// Begins to empty a closed block on account of `unit`.
    pub(super) fn empty(&mut self, unit: PlaneId, victim: BlockId, job: Job) {
        self.unlist(victim);
        let u = &mut self.units[unit.index()];
        (u.victim, u.scan, u.fetched, u.job) = (victim, 0, 0, job);
    }

    /// A block is no longer among the closed ones.
    pub(super) fn unlist(&mut self, block: BlockId) {
        let unit = self.geometry.unit_of(block);
        let leaf = (block - self.geometry.first_block(unit)) as usize;
        self.units[unit.index()].closed.set(leaf, ABSENT);
    }

    /// No closed block gains anything.
    fn nothing_to_collect(&mut self, unit: PlaneId) -> Reclaim {
        self.units[unit.index()].collecting = false;
        let wants = self.units[unit.index()].wants;
        let Some((from, to)) = self.lendable(unit, wants) else { return Reclaim::Stuck };
        // All closed blocks are fully valid: what is not lies in an open block. Fresh pages are not
        // cold: what of them gets out of date is room that collection lacks already.
        self.rest.give_up(self.open[from].block);
        self.open.swap(from, to);
        Reclaim::Done
    }

    /// A block whose erase has been planned can be written again, unless it is worn out.
    pub(super) fn give(&mut self, cx: &Cx<'_>, block: BlockId) {
        if cx.flash.is_worn_out(block) {
            self.wear.retire(block);
        } else {
            self.pool.give(self.geometry.unit_of(block), block);
        }
    }

    /// Copies the next valid pages of the victim. All of one step fit, by the reserve.
    fn copy_some(&mut self, cx: &mut Cx<'_>, unit: PlaneId, owners: &mut impl Owners) {
        let program_pages = self.geometry.program_pages;
        let (victim, job) = (self.units[unit.index()].victim, self.units[unit.index()].job);
        // Whole program units: the rest of one is lost to fillers.
        let mut budget = (self.limits.gc_step_pages / program_pages).max(1) * program_pages;
        let mut moves = std::mem::take(&mut self.moves);
        while budget > 0 && self.valid_of[victim.index()] > 0 {
            let Some(class) = self.class_of_next(unit, victim) else { break };
            // One run: as many pages of one class as fit the budget and what is left of the open
            // block, or a program.
            let to = if self.limits.spread && job == Job::Collect {
                self.spread_to(cx.engine, unit, class)
            } else {
                self.moves_to(unit)
            };
            let run = if self.limits.spread { program_pages.min(budget) } else { budget };
            let swap = match job {
                Job::Swap(swap) if self.is_full(swap) => break,
                Job::Swap(swap) => Some(self.swap_point(self.geometry.unit_of(swap.into))),
                _ => None,
            };
            moves.clear();
            let target = Target { to, class, swap };
            let Some((into, mut first)) =
                self.move_run(cx, (unit, victim, job), target, run, &mut moves, owners)
            else {
                break;
            };
            budget -= moves.len() as u32;
            let write_point = swap.unwrap_or_else(|| self.write_point(to, class, true));
            self.fill_unit(write_point, &mut moves);
            let label = self.open[write_point].label;
            for chunk in
                moves.chunks(if program_pages == 1 { moves.len() } else { program_pages as usize })
            {
                cx.relocate(
                    victim,
                    chunk,
                    Place { block: into, page: first, label },
                    job.cause(),
                    JoinId::NONE,
                );
                first += chunk.len() as u32;
            }
            if swap.is_none() {
                self.close_if_full(cx, to, class, true);
            }
        }
        self.moves = moves;
    }

    /// Moves the victim's next valid pages of a class, at most `most`, to where there is room for
    /// them in one block; what moves goes to `moves`. Returns the place of the first, if any can.
    fn move_run(
        &mut self,
        cx: &mut Cx<'_>,
        (unit, victim, job): (PlaneId, BlockId, Job),
        Target { to, class, swap }: Target,
        most: u32,
        moves: &mut Vec<Move>,
        owners: &mut impl Owners,
    ) -> Option<(BlockId, u32)> {
        let ppb = self.ppb();
        let base = victim.page(0, ppb).index();
        let mut from = base + self.units[unit.index()].scan as usize;
        let write_point = swap.unwrap_or_else(|| self.write_point(to, class, true));
        // A swap takes pages of any class; and mostly all pages of a victim are of one.
        let of = if swap.is_some() || self.keeps_class() { None } else { Some(class) };
        if self.units[unit.index()].fetched <= self.units[unit.index()].scan {
            self.fetch(unit, victim, owners);
        }
        let mut left = most.min(self.valid_of[victim.index()].into());
        while left > 0 {
            let Some(at) = self.next_valid(victim, from, of) else { break };
            if moves.is_empty() {
                if self.costs_reserve(cx, (unit, class), job) {
                    break;
                }
                if self.open[write_point].block.is_none() {
                    self.open_block(cx, (to, class), true, write_point)?;
                }
                left = left.min(self.data_pages() - self.open[write_point].page);
            } else if matches!(job, Job::Clear(_)) && self.costs_reserve(cx, (unit, class), job) {
                break;
            }
            let Open { block, page, .. } = self.open[write_point];
            let ppn = block.page(page + moves.len() as u32, ppb);
            let owner = self.reverse[at];
            self.reverse[ppn.index()] = owner;
            moves.push(Move { page: (at - base) as u32, out: owners.moved(owner, ppn) });
            self.valid.clear(at);
            (from, left) = (at + 1, left - 1);
        }
        let count = moves.len() as u32;
        if count == 0 {
            return None;
        }
        self.lose(victim, count);
        Some(self.take_pages(write_point, count))
    }

    /// Reads ahead what is known of the owners of the victim's next valid pages: those lie anywhere
    /// in the map, and would be waited for one after the other.
    fn fetch(&mut self, unit: PlaneId, victim: BlockId, owners: &impl Owners) {
        let ppb = self.ppb();
        let u = &mut self.units[unit.index()];
        let (scan, end) = (u.scan, ppb.min(u.scan + AHEAD));
        u.fetched = end;
        let (mut from, end) = (victim.page(scan, ppb).index(), victim.page(end, ppb).index());
        let mut all = 0;
        while let Some(at) = self.valid.first_set(from, end) {
            all ^= owners.entry(self.reverse[at]);
            from = at + 1;
        }
        std::hint::black_box(all);
    }

    /// Whether the next page that has to make way for those of another unit would take the last
    /// erased block: the block that it leaves does not become free again, and without a reserve
    /// collection could run dry.
    fn costs_reserve(&self, cx: &Cx<'_>, (unit, class): (PlaneId, u32), job: Job) -> bool {
        let Job::Clear(swap) = job else { return false };
        let open = &self.open[self.write_point(unit, class, true)];
        self.geometry.unit_of(swap.into) == unit
            && self.geometry.unit_of(swap.from) != unit
            && open.block.is_none()
            && !self.can_open(cx.engine, unit)
    }

    /// Goes to the victim's next valid page; says which class it moves to.
    fn class_of_next(&mut self, unit: PlaneId, victim: BlockId) -> Option<u32> {
        let base = self.geometry.ppn(victim, 0).index();
        let scan = base + self.units[unit.index()].scan as usize;
        let at = self.valid.first_set(scan, base + self.ppb() as usize);
        debug_assert!(at.is_some(), "valid pages of the victim lie before the scan");
        self.units[unit.index()].scan = (at? - base) as u32;
        Some(self.class_of_moved(victim, self.reverse[at?]))
    }

    /// The victim's next valid page, from flash page `from` on, that moves to the class, or to any.
    /// Others are passed over, for a later run: a block holds pages of two classes only if one had
    /// to do with the other's.
    fn next_valid(&self, victim: BlockId, mut from: usize, class: Option<u32>) -> Option<usize> {
        let end = self.geometry.ppn(victim + 1, 0).index();
        loop {
            let at = self.valid.first_set(from, end)?;
            if class.is_none_or(|class| self.class_of_moved(victim, self.reverse[at]) == class) {
                return Some(at);
            }
            from = at + 1;
        }
    }

    /// The next unit of the pool that has room to spare for copies from `unit`, or that one itself.
    fn spread_to(&mut self, engine: &Engine, unit: PlaneId, class: u32) -> PlaneId {
        let pool = self.pools.of_unit(unit);
        let each = self.pools.units_each();
        for _ in 0..each {
            let to = self.pools.nth(pool, self.spread_turn);
            self.spread_turn = (self.spread_turn + 1) % each;
            if to == unit || self.takes_copies(engine, to, class) {
                return to;
            }
        }
        unit
    }

    /// Completes the program unit that `moves` end in with fillers.
    pub(super) fn fill_unit(&mut self, write_point: usize, moves: &mut Vec<Move>) {
        while !(moves.len() as u32).is_multiple_of(self.geometry.program_pages) {
            let (block, page) = self.next_page(write_point, NONE);
            self.invalidate(self.geometry.ppn(block, page));
            moves.push(Move { page: NONE, out: PageOut::filler() });
        }
    }

    /// Whether there is room for a tombstone by [`Self::append_moved`].
    pub(super) fn has_room_beside(&self, unit: PlaneId, victim: BlockId) -> bool {
        self.has_moved_room(self.moves_to(unit), self.class_of_moved(victim, TOMB))
    }

    /// Writes one page of `owner` among those that collection moves out of `victim`: it is stored
    /// before the erase. Blocks in `pins` are not erased before that either.
    pub fn append_moved(
        &mut self,
        cx: &mut Cx<'_>,
        unit: PlaneId,
        victim: BlockId,
        out: PageOut,
        owner: u32,
        pins: &[BlockId],
    ) -> Option<Ppn> {
        let class = self.class_of_moved(victim, owner);
        let unit = self.moves_to(unit);
        let (block, page) = self.place(cx, (unit, class), true, owner)?;
        let write_point = self.write_point(unit, class, true);
        let mut moves = vec![Move { page: NONE, out }];
        self.fill_unit(write_point, &mut moves);
        let label = self.open[write_point].label;
        let mut pinned = Vec::new();
        for &block in pins.iter().filter(|&&block| block != BlockId::NONE) {
            cx.pin(block, &mut pinned);
        }
        cx.relocate(victim, &moves, Place { block, page, label }, Cause::Mapping, JoinId::NONE);
        cx.unpin(&mut pinned);
        self.close_if_full(cx, unit, class, true);
        Some(self.geometry.ppn(block, page))
    }

    /// There is no room to collect `unit` now, or for a swap; the victim goes back among the closed
    /// blocks.
    fn give_up(&mut self, cx: &mut Cx<'_>, unit: PlaneId) -> Reclaim {
        let victim = std::mem::replace(&mut self.units[unit.index()].victim, BlockId::NONE);
        self.list(self.geometry.unit_of(victim), victim);
        match self.units[unit.index()].job {
            Job::Collect => {
                self.units[unit.index()].collecting = false;
                return Reclaim::Stuck;
            }
            Job::Clean(swap) => {
                self.list(self.geometry.unit_of(swap.from), swap.from);
                self.units[unit.index()].collecting = false;
                return Reclaim::Stuck;
            }
            Job::Clear(swap) => {
                self.expect_no_more(unit, swap.into);
                self.list(self.geometry.unit_of(swap.from), swap.from);
            }
            Job::Swap(swap) => self.close_swap(cx, unit, swap),
        }
        // Collection goes on without the swap.
        Reclaim::More
    }
}
