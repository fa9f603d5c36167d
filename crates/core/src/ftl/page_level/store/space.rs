//! Which units have room for fresh pages, which one a page goes to, and which have to be collected.

use super::{DATA, Fresh, Pools, Store, View};
use crate::ftl::alloc::Chooser;
use crate::ftl::context::Cx;
use crate::nand::Engine;
use crate::support::ids::{BlockId, Lpn, PlaneId, Ppn};

impl Store {
    /// Whether fresh pages of `class` may go to `unit`. What stays in reserve must really be
    /// erased: if power fails, it is the only room there is.
    #[inline(always)]
    pub(super) fn takes(&self, engine: &Engine, unit: PlaneId, class: u32) -> bool {
        self.has_place(engine, unit, class) && self.has_share(unit)
    }

    /// Whether a unit has no more valid pages than its share.
    #[inline(always)]
    pub(super) fn has_share(&self, unit: PlaneId) -> bool {
        let u = &self.units[unit.index()];
        u.valid + u.coming <= self.limits.share
    }

    /// Whether units ask to be collected.
    #[inline]
    pub fn asks_for_collection(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether a page of `class` that replaces one of `unit` may go there.
    #[inline(always)]
    pub(super) fn has_place(&self, engine: &Engine, unit: PlaneId, class: u32) -> bool {
        if self.limits.one_open {
            // What collection moves goes to the same block: the reserve is all that it can count
            // on.
            let opens = self.open[self.write_point(unit, class, false)].block.is_none();
            return self.really_erased(engine, unit) > usize::from(opens);
        }
        self.open[self.write_point(unit, class, false)].block != BlockId::NONE
            || self.can_open(engine, unit)
    }

    /// Whether a block of `unit` can be opened so that one stays which is really erased.
    #[inline]
    pub(super) fn can_open(&self, engine: &Engine, unit: PlaneId) -> bool {
        if self.wear.takes_least_worn() || self.limits.one_open {
            return self.really_erased(engine, unit) > 1;
        }
        self.pool.second(unit).is_some_and(|reserve| !engine.is_changing(reserve))
    }

    /// Whether the allocator asks how long dies have to work.
    pub fn needs_work_estimates(&self) -> bool {
        self.alloc.as_ref().is_some_and(Chooser::needs_work_estimates)
    }

    /// How the units are divided into pools.
    #[inline]
    pub fn pools(&self) -> &Pools {
        &self.pools
    }

    /// The mapping says itself where the host's pages go: there is no allocator. Tombstones go to
    /// the units in turn, however many pages come in between.
    #[must_use]
    pub fn without_allocator(self) -> Self {
        Self { alloc: None, ..self }
    }

    /// The only unit that the allocator can pick for a logical page, if its number says which.
    pub fn home(&self, lpn: Lpn) -> Option<PlaneId> {
        self.alloc.as_ref().and_then(|_| self.pools.home(lpn))
    }

    /// The same of chips.
    pub fn home_chip(&self, lpn: Lpn) -> Option<u32> {
        self.alloc.as_ref().and_then(|_| self.pools.home_chip(lpn, self.geometry.chips()))
    }

    /// The unit that the host's next page of `class` goes to, one of `pool`, where its version
    /// before lies at `old`; `None` while none takes it.
    #[inline(always)]
    pub fn pick(
        &mut self,
        cx: &Cx<'_>,
        pool: u32,
        class: u32,
        old: Option<Ppn>,
    ) -> Option<PlaneId> {
        // Mostly it is told without looking at all units, for which it would have to be taken out.
        if let Some(alloc) = &self.alloc
            && let Some(unit) = alloc.first_choice(|| pool)
            && self.takes(cx.engine, unit, class)
        {
            return Some(unit);
        }
        let Some(mut alloc) = self.alloc.take() else {
            let unit = self.pick_in_turn(cx.engine, pool, class)?;
            self.turn = (self.turn + 1) % self.pools.units_each();
            return Some(unit);
        };
        let page = Fresh { pool, group: cx.group, old };
        let unit = alloc.pick(page, &mut View { store: self, engine: cx.engine, class });
        self.alloc = Some(alloc);
        unit
    }

    /// The units as an allocator sees them.
    pub fn units<'a>(&'a mut self, engine: &'a Engine, class: u32) -> View<'a> {
        View { store: self, engine, class }
    }

    /// The unit of `pool` that the mapping's own next page of `class` goes to: the first in turn
    /// that takes it.
    pub fn pick_in_turn(&mut self, engine: &Engine, pool: u32, class: u32) -> Option<PlaneId> {
        let each = self.pools.units_each();
        for _ in 0..each {
            let unit = self.pools.nth(pool, self.turn);
            if self.takes(engine, unit, class) {
                return Some(unit);
            }
            self.ask_for_space(unit, class);
            self.turn = (self.turn + 1) % each;
        }
        None
    }

    /// Puts `unit` in line for collection where it is short of erased blocks for fresh pages of
    /// `class`.
    #[inline]
    pub(in crate::ftl) fn ask_for_space(&mut self, unit: PlaneId, class: u32) {
        let unit = self.lead(unit);
        if self.units[unit.index()].collecting {
            // Who asks last is who waits now.
            self.units[unit.index()].wants = class;
            return;
        }
        if self.erased(unit) > self.limits.gc_free_blocks {
            return;
        }
        let u = &self.units[unit.index()];
        if u.victim != BlockId::NONE || self.gains(unit) || self.lendable(unit, class).is_some() {
            let u = &mut self.units[unit.index()];
            (u.collecting, u.idle, u.wants, u.cleaned) = (true, false, class, false);
            self.waiting.push_back(unit);
        }
    }

    /// A fresh page of `class` finds no room in `unit`, which is put in line for collection where
    /// that helps.
    #[inline]
    pub(super) fn ask_for_room(&mut self, unit: PlaneId, class: u32) {
        let asked = self.ask_discipline(|discipline, store| discipline.asks_for_room(store, unit));
        if asked.is_none() {
            self.ask_for_space(unit, class);
        }
    }

    /// Whether a closed block of `unit` has pages that are not valid.
    #[inline]
    pub(in crate::ftl) fn gains(&self, unit: PlaneId) -> bool {
        self.together(unit).any(|unit| {
            let least = self.units[unit.index()].closed.least();
            least.is_some_and(|valid| u32::from(valid) < self.data_pages()) || self.rest_gains(unit)
        })
    }

    /// Whether `unit` is worth collecting while nothing else is to do. Then it is under collection.
    pub fn collects_when_idle(&mut self, unit: PlaneId) -> bool {
        let u = &self.units[unit.index()];
        let short = self.pool.free(unit) <= self.limits.idle_free_blocks;
        let worth = !u.collecting && short && (u.victim != BlockId::NONE || self.gains(unit));
        if worth {
            let u = &mut self.units[unit.index()];
            (u.collecting, u.idle, u.cleaned) = (true, true, false);
        }
        worth
    }

    /// Ends the collection of `unit` before its next step if it is not needed now; says whether it
    /// did. What has been begun goes on the next time.
    pub fn pause(&mut self, unit: PlaneId) -> bool {
        let enough = self.pool.free(unit) > self.limits.gc_free_blocks;
        let u = &mut self.units[unit.index()];
        let pauses = u.idle && enough;
        u.collecting &= !pauses;
        if pauses && self.wear.is_due(unit) {
            // The leveller asks again after the next erase; until then nobody would carry the swap
            // out.
            self.wear.drop_due(unit);
        }
        pauses
    }

    /// An open block of `unit` that could take the fresh pages of `class`, which has none: its
    /// number, and that of the one for those pages.
    pub(super) fn lendable(&self, unit: PlaneId, class: u32) -> Option<(usize, usize)> {
        let to = self.write_point(unit, class, false);
        if self.open[to].block != BlockId::NONE {
            return None;
        }
        let write_points = self.write_points(unit);
        let is_open = |&write_point: &usize| self.open[write_point].block != BlockId::NONE;
        let moved = write_points.clone().skip(1).step_by(2).find(is_open);
        let part_filled = self.has_part_filled(unit).then(|| self.swap_point(unit));
        Some((moved.or(part_filled).or_else(|| write_points.step_by(2).find(is_open))?, to))
    }

    /// Whether a program unit of `class` has been begun in `unit` and is not full yet.
    #[inline]
    pub(super) fn has_pending(&self, unit: PlaneId, class: u32) -> bool {
        self.geometry.program_pages > 1
            && !self.open[self.write_point(unit, class, false)].part.pending.is_empty()
    }

    /// Pages of `class` that `unit` takes before anything is erased.
    #[inline]
    pub(in crate::ftl) fn free_pages(&self, unit: PlaneId, class: u32) -> u32 {
        let open = &self.open[self.write_point(unit, class, false)];
        let room = if open.block.is_none() { 0 } else { self.data_pages() - open.page };
        self.pool.free(unit) * self.data_pages() + room
    }

    /// A unit that waits for collection.
    pub fn needs_reclaim(&mut self) -> Option<PlaneId> {
        self.waiting.pop_front()
    }

    /// Erased blocks in `unit`.
    #[inline]
    pub fn free_blocks(&self, unit: PlaneId) -> u32 {
        self.pool.free(unit)
    }

    /// One sentence with the numbers that tell why there is no room.
    pub fn space(&self) -> String {
        let valid: u64 = self.units.iter().map(|u| u64::from(u.valid)).sum();
        let starved = self
            .geometry
            .all_units()
            .filter(|&u| {
                self.open[self.write_point(u, DATA, false)].block.is_none() && self.pool.free(u) < 2
            })
            .count();
        let worn = match self.wear.retired() {
            0 => String::new(),
            n => format!("{n} blocks are worn out, "),
        };
        format!(
            "{worn}{valid} of {} flash pages hold valid data, {} of {} blocks are erased, \
             {starved} of {} units can take no host page",
            self.geometry.pages(),
            self.pool.total(),
            self.geometry.blocks(),
            self.geometry.units
        )
    }
}
