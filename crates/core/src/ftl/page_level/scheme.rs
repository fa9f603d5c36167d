//! What a page-level scheme decides itself, and the mapping that it becomes.

use std::ops::Range;

use crate::ftl::context::{Cx, PageOut};
use crate::ftl::page_level::store::table::{OWN, Table};
use crate::ftl::page_level::store::{Owners, Store};
use crate::ftl::{Advice, Mapping, Reclaim, Single, SinglePages};
use crate::metrics::Counters;
use crate::nand::{Cause, Flash, JoinId, Media};
use crate::pattern::{Hint, Pattern, Policy, Route};
use crate::support::ids::{BlockId, LogicalBlock, Lpn, PlaneId, Ppn};
use crate::support::persist::Persist;
use crate::upkeep::Upkeep;

/// What a scheme does otherwise than page mapping, which by default it is. It is told of each page
/// before and after it is written, looked up or moved; the page's place is kept in the table.
pub trait PageScheme: Clone + Persist + std::fmt::Debug + Send + Sync {
    // Where the host's pages go.

    /// It has no say in that, and need not be told: `class_of`, `pick`, `written`, `before_write`
    /// and `write_map` are those of page mapping.
    const PLACES_NOTHING: bool = false;

    /// The class of a page that is going to be written, whose present version lies at `old`. Each
    /// class lies in blocks of its own; they are numbered from 0, which tombstones have as well
    /// (`Above::data_classes` says how many there are; more than one goes with `ftl.gc.regions =
    /// 1`). Collection leaves a page in the class of its block. May be asked more than once for a
    /// write that finds no room: what counts writes does so in [`Self::written`]. By default the
    /// class that `ftl.gc.regions` makes of it.
    #[inline]
    fn class_of(&mut self, store: &Store, _lpn: Lpn, old: Option<Ppn>) -> u32 {
        store.class_of_write(old)
    }

    /// The unit that this page goes to, which takes pages of `class`; `None` while none does. May
    /// be asked more than once for a write. By default the allocator's choice.
    #[inline]
    fn pick(
        &mut self,
        store: &mut Store,
        cx: &mut Cx<'_>,
        (lpn, class): (Lpn, u32),
        old: Option<Ppn>,
    ) -> Option<PlaneId> {
        store.pick(cx, store.pools().of_page(lpn), class, old)
    }

    /// The page has been written to `unit`.
    #[inline]
    fn written(&mut self, _store: &Store, _cx: &mut Cx<'_>, _lpn: Lpn, _unit: PlaneId) {}

    /// These pages are going to be trimmed; some may hold nothing.
    fn on_trim(&mut self, _table: &Table, _pages: Range<Lpn>) {}

    /// A page is moved by the collection of `unit`.
    #[inline]
    fn on_move(&mut self, _lpn: Lpn, _unit: PlaneId) {}

    // What it tells, and is told.

    /// Whether all pages of a logical block go to one channel.
    fn keeps_blocks_together(&self) -> bool {
        false
    }

    /// Whether it asks how long dies have to work, as its allocator may do.
    fn needs_work_estimates(&self) -> bool {
        false
    }

    /// See [`Advice::route`].
    fn route(
        &self,
        _store: &Store,
        _logical_block: LogicalBlock,
        _pattern: Pattern,
    ) -> Option<Route> {
        None
    }

    /// See [`Advice::policy`].
    fn policy(&self, _logical_block: LogicalBlock) -> Option<Policy> {
        None
    }

    /// See [`Advice::has_looked_up`].
    fn has_looked_up(&self, _lpn: Lpn) -> bool {
        false
    }

    /// See [`Advice::on_hint`].
    fn on_hint(&mut self, _hint: Hint, _clean: bool, _counters: &mut Counters) {}

    /// See [`Advice::watches_reads`].
    fn watches_reads(&self) -> bool {
        false
    }

    /// See [`Advice::on_read`].
    fn on_read(&mut self, _logical_block: LogicalBlock, _pages: u32) {}

    /// See [`Advice::idle`]. What it moves goes by [`Store::transfer`].
    fn idle(&mut self, _store: &mut Store, _cx: &mut Cx<'_>, _table: &mut Table) -> bool {
        false
    }

    // A map that is not all in RAM. Its pages on flash are numbered from 0, and lie in a class of
    // their own (`Store::own_class`).

    /// All of the map is in RAM: to look a page up or to write it takes nothing of the flash.
    const MAP_IN_RAM: bool = true;

    /// Whether it can say where a page is without reading flash.
    #[inline]
    fn knows(&self, _lpn: Lpn) -> bool {
        true
    }

    /// Whether looking the page up takes nothing of the flash for the map now.
    #[inline]
    fn needs_no_map(&self, _lpn: Lpn) -> bool {
        true
    }

    /// Whether writing the page takes nothing of the flash for the map now, or no more than a read
    /// that its program need not come after.
    #[inline]
    fn writes_no_map(&self, _lpn: Lpn) -> bool {
        true
    }

    /// The host is going to use these pages: what is known of them is read from memory.
    fn fetch(&self, _pages: &[Lpn]) {}

    /// The host looks a page up: plans what it takes to read the map.
    #[inline]
    fn before_lookup(&mut self, _store: &mut Store, _cx: &mut Cx<'_>, _table: &Table, _lpn: Lpn) {}

    /// The host is going to write a page: plans what that takes of the map. `false` while there is
    /// no room for it.
    #[inline]
    fn before_write(
        &mut self,
        _store: &mut Store,
        _cx: &mut Cx<'_>,
        _table: &Table,
        _lpn: Lpn,
    ) -> bool {
        true
    }

    /// Nothing valid is left in the victim of `unit`, which is going to be erased.
    #[inline]
    fn on_emptied(&mut self, _unit: PlaneId) {}

    /// Writes the pages of the map that are due, as far as there is room; says whether there was
    /// enough. Called before each page of the host, after each step of collection, before an erase,
    /// and after trims.
    #[inline]
    fn write_map(&mut self, _store: &mut Store, _cx: &mut Cx<'_>, _table: &Table) -> bool {
        true
    }

    /// A page of the map has been moved to `ppn`.
    fn map_page_moved(&mut self, _number: u32, _ppn: Ppn) {}

    /// Whether a page of the map lies at `ppn`.
    fn map_page_lies(&self, _number: u32, _ppn: Ppn) -> bool {
        false
    }

    /// Pages of the map that lie on flash.
    fn map_pages(&self) -> u32 {
        0
    }

    /// Power is back: finds the pages of the map, and tells the store ([`Store::adopt`]).
    fn find_map(&mut self, _store: &mut Store, _found: &Media) {}

    // Itself.

    /// Power is back, and the table has been rebuilt: sets up what is known of the pages. The
    /// scheme is a new one, and all blocks count as of class 0 until they are collected.
    fn recovered(&mut self, _store: &Store, _table: &Table, _found: &Media) {}

    /// Compares redundant state.
    ///
    /// # Errors
    /// What does not agree.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Bytes held.
    fn bytes(&self) -> usize {
        0
    }
}

/// A page-level mapping.
#[derive(Debug, Clone)]
pub struct PageLevel<S> {
    store: Store,
    table: Table,
    scheme: S,
}

crate::persist!(PageLevel<S> { store, table, scheme });

/// Whose pages collection moves.
struct Moves<'a, S> {
    table: &'a mut Table,
    scheme: &'a mut S,
    /// The unit that is collected.
    unit: PlaneId,
}

impl<S: PageScheme> Owners for Moves<'_, S> {
    #[inline]
    fn entry(&self, owner: u32) -> u32 {
        self.table.entry(owner)
    }

    #[inline]
    fn moved(&mut self, owner: u32, ppn: Ppn) -> PageOut {
        if owner >= OWN {
            self.scheme.map_page_moved(owner - OWN, ppn);
            return PageOut::map(owner - OWN, Cause::Gc);
        }
        if Table::is_page(owner) {
            self.scheme.on_move(Lpn(owner), self.unit);
        }
        self.table.moved(owner, ppn)
    }

    fn before_erase(
        &mut self,
        store: &mut Store,
        cx: &mut Cx<'_>,
        unit: PlaneId,
        victim: BlockId,
    ) -> bool {
        if !self.table.before_erase(store, cx, unit, victim) {
            return false;
        }
        self.scheme.on_emptied(unit);
        // What finds no room now finds it after the erase.
        self.scheme.write_map(store, cx, self.table);
        true
    }
}

impl<S: PageScheme + 'static> PageLevel<S> {
    /// The mapping of an erased array.
    pub fn new(store: Store, logical_pages: u32, scheme: S) -> Self {
        let table = Table::new(logical_pages, store.pools().count());
        Self { store, table, scheme }
    }

    /// The same, as the registry takes it.
    pub fn boxed(store: Store, logical_pages: u32, scheme: S) -> Box<dyn Mapping> {
        Box::new(Self::new(store, logical_pages, scheme))
    }

    /// Writes a page.
    #[inline(always)]
    fn write_page(&mut self, cx: &mut Cx<'_>, page: PageOut, waits: JoinId) -> Single {
        let Self { store, table, scheme } = self;
        let lpn = page.lpn;
        if S::PLACES_NOTHING
            && S::MAP_IN_RAM
            && waits.is_none()
            && let Some(old) = table.lookup_simply(lpn)
            && let Some(ppn) = store.write_simply(cx, page, old)
        {
            table.set(lpn, ppn);
            return Single::Taken;
        }
        if cx.at_once && !S::MAP_IN_RAM {
            // A read of the map that begins now would be work that is seen where the page goes.
            let reads_unseen = || !store.needs_work_estimates() || scheme.needs_no_map(lpn);
            if !(scheme.writes_no_map(lpn) && reads_unseen()) {
                return Single::NotAlone;
            }
        }
        if !scheme.write_map(store, cx, table) || !scheme.before_write(store, cx, table, lpn) {
            return Single::NoRoom;
        }
        let old = table.lookup(lpn);
        let class = scheme.class_of(store, lpn, old);
        let Some(unit) = scheme.pick(store, cx, (lpn, class), old) else { return Single::NoRoom };
        if cx.at_once && store.ends_block(unit, class) {
            return Single::NotAlone;
        }
        let guard = table.forget(store, lpn);
        let Some(ppn) = store.append(cx, (unit, class), page, lpn.0, guard, waits) else {
            return Single::NoRoom;
        };
        table.set(lpn, ppn);
        scheme.written(store, cx, lpn, unit);
        Single::Taken
    }

    /// The scheme.
    #[cfg(test)]
    pub(in crate::ftl) fn scheme(&self) -> &S {
        &self.scheme
    }
}

impl<S: PageScheme + 'static> Mapping for PageLevel<S> {
    #[inline]
    fn translate(&mut self, cx: &mut Cx<'_>, lpn: Lpn) -> Option<Ppn> {
        self.scheme.before_lookup(&mut self.store, cx, &self.table, lpn);
        self.table.lookup(lpn)
    }

    #[inline]
    fn knows(&self, lpn: Lpn) -> bool {
        self.scheme.knows(lpn)
    }

    #[inline]
    fn finds_alone(&self, lpn: Lpn) -> bool {
        self.scheme.needs_no_map(lpn)
    }

    #[inline]
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.table.lookup(lpn)
    }

    fn single_pages(&self) -> SinglePages {
        if S::MAP_IN_RAM && self.store.takes_one_program() {
            SinglePages::AllWrites
        } else if self.store.geometry().program_pages == 1 {
            SinglePages::SomeWrites
        } else {
            SinglePages::Planned
        }
    }

    fn fetch(&self, pages: &[Lpn]) {
        self.scheme.fetch(pages);
        let valid = pages.iter().filter_map(|&lpn| self.table.lookup(lpn));
        // The second loop finds in the cache what the first has read.
        std::hint::black_box(pages.iter().fold(0, |all, &lpn| all ^ self.table.entry(lpn.0)));
        std::hint::black_box(valid.fold(false, |all, ppn| all ^ self.store.is_valid(ppn)));
    }

    fn write(&mut self, cx: &mut Cx<'_>, pages: &[PageOut], waits: JoinId) -> usize {
        let mut each = pages.iter();
        let taken = each.position(|&page| self.write_page(cx, page, waits) != Single::Taken);
        taken.unwrap_or(pages.len())
    }

    fn write_one(&mut self, cx: &mut Cx<'_>, page: PageOut) -> Single {
        match self.write_page(cx, page, JoinId::NONE) {
            Single::Taken if !S::MAP_IN_RAM && cx.told > 0 => Single::TakenWithRead,
            Single::NoRoom if !S::MAP_IN_RAM && cx.told > 0 => Single::NoRoomWithRead,
            Single::Taken if self.store.asks_for_collection() => Single::TakenAndAsks,
            other => other,
        }
    }

    fn trim(&mut self, cx: &mut Cx<'_>, first: Lpn, count: u32) {
        let Self { store, table, scheme } = self;
        scheme.on_trim(table, first..first + count);
        table.trim(store, first, count);
        scheme.write_map(store, cx, table);
    }

    fn make_durable(&mut self, cx: &mut Cx<'_>) -> bool {
        let all_told = self.table.write_tombstones(&mut self.store, cx);
        self.store.fill_up(cx);
        all_told
    }

    #[inline]
    fn asks_for_reclaim(&self) -> bool {
        self.store.asks_for_collection()
    }

    fn needs_reclaim(&mut self) -> Option<PlaneId> {
        self.store.needs_reclaim()
    }

    fn reclaim(&mut self, cx: &mut Cx<'_>, unit: PlaneId) -> Reclaim {
        let Self { store, table, scheme } = self;
        let step = store.collect(cx, unit, &mut Moves { table, scheme, unit });
        // Where collection gained nothing, asking again would only have it begin anew.
        if matches!(step, Reclaim::More | Reclaim::Together) {
            scheme.write_map(store, cx, table);
        }
        step
    }

    fn recover(&mut self, cx: &mut Cx<'_>, mut found: Media) {
        let Self { store, table, scheme } = self;
        store.before_recovery(cx.flash, &mut found);
        table.rebuild(store, &found);
        scheme.find_map(store, &found);
        store.reopen(cx, &found);
        scheme.recovered(store, table, &found);
    }

    fn check(&self, flash: &Flash) -> Result<(), String> {
        let valid = self.store.check(flash, |owner, ppn| match owner {
            OWN.. => self.scheme.map_page_lies(owner - OWN, ppn),
            _ => self.table.lies(owner, ppn),
        })?;
        self.scheme.check()?;
        self.table.check(valid - self.scheme.map_pages())
    }

    fn space(&self) -> String {
        self.store.space()
    }

    fn free_blocks(&self, unit: PlaneId) -> u32 {
        self.store.free_blocks(unit)
    }

    fn bytes(&self) -> usize {
        self.table.bytes() + self.store.bytes() + self.scheme.bytes()
    }

    fn advice(&self) -> Option<&dyn Advice> {
        Some(self)
    }

    fn advice_mut(&mut self) -> Option<&mut dyn Advice> {
        Some(self)
    }
}

impl<S: PageScheme + 'static> Advice for PageLevel<S> {
    fn home(&self, lpn: Lpn) -> Option<PlaneId> {
        self.store.home(lpn)
    }

    fn home_chip(&self, lpn: Lpn) -> Option<u32> {
        self.store.home_chip(lpn)
    }

    fn pool(&self, lpn: Lpn) -> Option<u32> {
        let pools = self.store.pools();
        (pools.count() > 1).then(|| pools.of_page(lpn))
    }

    fn places_pages(&self) -> bool {
        true
    }

    fn upkeep(&self) -> Upkeep {
        Upkeep::Pages { by_block: self.scheme.keeps_blocks_together() }
    }

    fn needs_work_estimates(&self) -> bool {
        self.store.needs_work_estimates() || self.scheme.needs_work_estimates()
    }

    fn route(&self, logical_block: LogicalBlock, pattern: Pattern) -> Option<Route> {
        self.scheme.route(&self.store, logical_block, pattern)
    }

    fn policy(&self, logical_block: LogicalBlock) -> Option<Policy> {
        self.scheme.policy(logical_block)
    }

    fn has_looked_up(&self, lpn: Lpn) -> bool {
        self.scheme.has_looked_up(lpn)
    }

    fn on_hint(&mut self, hint: Hint, clean: bool, counters: &mut Counters) {
        self.scheme.on_hint(hint, clean, counters);
    }

    fn watches_reads(&self) -> bool {
        self.scheme.watches_reads()
    }

    fn on_read(&mut self, logical_block: LogicalBlock, pages: u32) {
        self.scheme.on_read(logical_block, pages);
    }

    fn idle(&mut self, cx: &mut Cx<'_>) -> bool {
        self.scheme.idle(&mut self.store, cx, &mut self.table)
    }

    fn reclaims_when_idle(&mut self, unit: PlaneId) -> bool {
        self.store.collects_when_idle(unit)
    }

    fn pause(&mut self, unit: PlaneId) -> bool {
        self.store.pause(unit)
    }

    fn forget_wear(&mut self) {
        self.store.forget_wear();
    }
}
