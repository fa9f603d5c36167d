//! Flash pages that may hold anything: what page-level mappings write into, whatever they keep
//! their map in.
//!
//! **Owners.** Each valid flash page has an *owner*, a number that only the mapping above
//! understands: a logical page, a tombstone ([`table`]), a page of the map itself. The store tells
//! the mapping when it copies an owner's page ([`Owners`]).
//!
//! **Streams.** Pages come in *classes* that lie in blocks of their own (one class: the data; DFTL
//! adds its translation pages). In each unit a class has one open block for fresh pages, and one
//! for those that collection moves.
//!
//! **Collection.** A unit that has filled an open block and has no more than so many erased ones is
//! collected: a closed block that the victim policy names is emptied into the open block for moved
//! pages of its class, a few pages a step, and erased.
//!
//! **Reserve.** One erased block of each unit is never given to fresh pages. A victim has at least
//! one invalid page and goes to one open block, so that what is valid always fits into what is left
//! there and the reserve, and the erase gives back what that took: collection cannot run dry. If
//! all closed blocks are fully valid, fresh pages go on in whatever open block has room.
//!
//! **Other rules.** A mapping whose blocks are opened, ended or collected in another way brings a
//! [`Discipline`], which is asked in place of the rules above.

mod check;
mod collect;
mod compose;
mod discipline;
mod history;
mod levelling;
mod recovery;
mod rest;
mod simple;
mod space;
pub mod table;
#[cfg(test)]
mod tests;
mod together;
mod transfer;
mod units;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

pub use compose::Above;
pub use discipline::Discipline;
pub use units::View;

use collect::Job;
use history::History;
use levelling::Wear;
use rest::Rest;
use table::OWN;

use crate::ftl::alloc::{Chooser, Fresh, Pools};
use crate::ftl::context::{After, Cx, Label, Move, PageOut, Place, Stamp};
use crate::ftl::gc::Grain;
use crate::ftl::pool::Pool;
use crate::ftl::victim::VictimPolicy;
use crate::nand::{Geometry, JoinId, Role};
use crate::support::NONE;
use crate::support::bits::Bits;
use crate::support::ids::{BlockId, LogicalBlock, PlaneId, Ppn};
use crate::support::minima::Minima;

/// The class of the host's pages.
pub const DATA: u32 = 0;

/// The options, settled for one array.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(in crate::ftl) struct Limits {
    /// A unit with so many erased blocks, or fewer, is collected.
    pub gc_free_blocks: u32,
    /// The same while nothing else is to do; 0 where nothing happens then.
    pub idle_free_blocks: u32,
    /// What is collected before anything else goes on.
    pub grain: Grain,
    /// Pages that one step of collection copies at most.
    pub gc_step_pages: u32,
    /// Classes of the host's pages: the first ones. Those of the mapping above come after.
    pub regions: u32,
    /// A page that is written again within so many pages is hot.
    pub region_pages: u64,
    /// Kinds of pages that lie in blocks of their own.
    pub classes: u32,
    /// Copies go to all units of the pool.
    pub spread: bool,
    /// Pages of a block that hold data: the first ones.
    pub data_pages: u32,
    /// What collection moves goes to the open block of fresh pages, and a block that got the pages
    /// of a swap is closed as it is.
    pub one_open: bool,
    /// All units of a pool share one open block and are collected as one.
    pub pools_as_one: bool,
    /// No unit takes fresh pages while it has more valid ones than this.
    pub share: u32,
}

/// What a store is composed of.
#[derive(Debug, Clone)]
pub(in crate::ftl) struct Parts {
    pub alloc: Chooser,
    pub pools: Pools,
    pub victim: Box<dyn VictimPolicy>,
    pub leveller: crate::ftl::wear::Built,
    /// None: the store's own rules.
    pub discipline: Option<Box<dyn Discipline>>,
}

/// The mapping above a store, as far as collection needs it.
pub trait Owners {
    /// What is known of an owner: read ahead of [`Self::moved`], so that it is in the cache.
    fn entry(&self, _owner: u32) -> u32 {
        NONE
    }

    /// `owner`'s page is being copied to `ppn`, and valid there from now on. Returns what is
    /// written.
    fn moved(&mut self, owner: u32, ppn: Ppn) -> PageOut;

    /// Nothing valid is left in `victim`, which is going to be erased. Plans what has to be stored
    /// before that; `false` when there is no room for it.
    fn before_erase(
        &mut self,
        store: &mut Store,
        cx: &mut Cx<'_>,
        unit: PlaneId,
        victim: BlockId,
    ) -> bool;
}

/// A block that is being written.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Open {
    /// The block, or [`BlockId::NONE`].
    block: BlockId,
    /// Next page.
    page: u32,
    label: Label,
    /// The program unit that is not full yet: apart, since it is large, and mostly nothing is in it.
    part: Box<PartFilled>,
}

/// A program unit that is not full yet.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct PartFilled {
    /// Its pages.
    pending: Vec<PageOut>,
    /// What is recorded of them, while anything is.
    stamps: Vec<Stamp>,
    /// Pins of the blocks that hold the versions which they replace.
    pinned: Vec<u32>,
    /// Those who wait for them to be stored.
    waiting: Option<JoinId>,
    /// The reads that bring their data.
    fed_by: Option<JoinId>,
}

impl Open {
    /// Page `page` joins the program unit that is being filled, which is programmed once it has
    /// `full` pages.
    fn hold(
        &mut self,
        cx: &mut Cx<'_>,
        (page, out): (u32, PageOut),
        guard: BlockId,
        waits: JoinId,
        full: u32,
    ) {
        let Self { block, label, part, .. } = self;
        cx.hold(out, &mut part.stamps);
        cx.wait_for_unit(out, &mut part.waiting);
        cx.feed_unit(waits, &mut part.fed_by);
        part.pending.push(out);
        if guard != BlockId::NONE {
            cx.pin(guard, &mut part.pinned);
        }
        if part.pending.len() as u32 == full {
            let at = Place { block: *block, page: page + 1 - full, label: *label };
            let waits = cx.unit_is_fed(part.fed_by.take());
            cx.program_held(at, &part.pending, &part.stamps, After::join(waits));
            cx.ends_waiting(part.waiting.take());
            part.pending.clear();
            part.stamps.clear();
            cx.unpin(&mut part.pinned);
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Unit {
    /// Pages of it that are valid.
    valid: u32,
    /// Pages that swaps are going to bring from other units.
    coming: u32,
    /// Those among them of the swap that goes on on account of this unit, to whichever they go.
    brings: u32,
    /// It waits for, or is under, collection.
    collecting: bool,
    /// Block being emptied, or [`BlockId::NONE`].
    victim: BlockId,
    /// Page of the victim at which the next step goes on.
    scan: u32,
    /// Page of the victim up to which the map has been read ahead.
    fetched: u32,
    /// What it is emptied for.
    job: Job,
    /// Class of the fresh pages that it is collected for.
    wants: u32,
    /// It is collected only because nothing else is to do.
    idle: bool,
    /// Its collection has erased a block.
    cleaned: bool,
    /// Closed blocks by valid pages.
    closed: Minima,
}

/// The flash as a page-level mapping uses it.
#[derive(Debug, Clone)]
pub struct Store {
    limits: Limits,
    /// Fresh pages are simple ([`simple`]).
    simple: bool,
    geometry: Geometry,
    /// Owner of each flash page that is valid. Of others it says nothing: what has never been
    /// written takes no memory.
    reverse: Vec<u32>,
    valid: Bits,
    valid_of: Vec<u16>,
    /// Class of each block's pages, where there are several.
    class_of: Vec<u8>,
    units: Vec<Unit>,
    /// Open blocks: for each unit and class the one for fresh pages, then the one for moved pages;
    /// and for each unit one that takes the pages of a swap.
    open: Vec<Open>,
    pool: Pool,
    /// Where the host's pages go; taken out while it is asked. None where the mapping says so
    /// itself.
    alloc: Option<Chooser>,
    pools: Pools,
    /// Which block is collected next.
    victim: Box<dyn VictimPolicy>,
    history: History,
    wear: Wear,
    rest: Rest,
    /// Unit of its pool, counted from 0, that the next program unit of the mapping's own pages goes
    /// to; without an allocator, the next tombstone.
    turn: u32,
    /// Rules of the mapping above in place of the store's own; taken out while it is asked.
    discipline: Option<Box<dyn Discipline>>,
    /// Units that wait for collection.
    waiting: VecDeque<PlaneId>,
    /// Unit of the next copies that are spread.
    spread_turn: u32,
    moves: Vec<Move>,
}

crate::persist!(Store {
    limits, simple, geometry, valid, valid_of, class_of, units, open, pool, pools, history, wear,
    rest, turn, waiting, spread_turn, moves,
} long { reverse } objects { alloc, victim, discipline });

impl Store {
    /// An erased store.
    pub(in crate::ftl) fn new(limits: Limits, geometry: Geometry, parts: Parts) -> Self {
        let Parts { alloc, pools, victim, leveller, discipline } = parts;
        let unit = |_| Unit {
            valid: 0,
            coming: 0,
            brings: 0,
            collecting: false,
            victim: BlockId::NONE,
            scan: 0,
            fetched: 0,
            job: Job::Collect,
            wants: DATA,
            idle: false,
            cleaned: false,
            closed: Minima::new(geometry.blocks_per_unit as usize),
        };
        let open = Open { block: BlockId::NONE, ..Open::default() };
        Self {
            simple: simple::is_simple(&limits, &geometry, discipline.is_some()),
            reverse: vec![0; geometry.pages() as usize],
            valid: Bits::new(geometry.pages() as usize),
            valid_of: vec![0; geometry.blocks() as usize],
            class_of: vec![0; if limits.classes > 1 { geometry.blocks() as usize } else { 0 }],
            units: geometry.all_units().map(unit).collect(),
            open: vec![open; (geometry.units * (limits.classes * 2 + 1)) as usize],
            pool: Pool::full(&geometry),
            alloc: Some(alloc),
            history: History::new(
                victim.looks_at(),
                limits.regions > 1,
                discipline.is_some(),
                geometry.blocks(),
            ),
            rest: Rest::new(
                leveller.as_ref().map_or(0, |built| built.2),
                geometry.units,
                geometry.blocks(),
            ),
            wear: Wear::new(leveller, geometry.units, geometry.blocks()),
            victim,
            pools,
            turn: 0,
            spread_turn: 0,
            discipline,
            waiting: VecDeque::with_capacity(geometry.units as usize),
            moves: Vec::with_capacity(limits.gc_step_pages as usize),
            limits,
            geometry,
        }
    }

    /// The array's numbers.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Whether each page is a program by itself, and no other comes with it.
    pub fn takes_one_program(&self) -> bool {
        self.geometry.program_pages == 1 && self.discipline.is_none()
    }

    /// Whether the next fresh page of a unit is the last of its block, and what ends the block
    /// comes with it.
    #[inline]
    pub fn ends_block(&self, unit: PlaneId, class: u32) -> bool {
        self.discipline.is_some() && {
            let open = &self.open[self.write_point(unit, class, false)];
            let next = if open.block.is_none() { 0 } else { open.page };
            next + 1 == self.data_pages()
        }
    }

    /// Pages of a block.
    fn ppb(&self) -> u32 {
        self.geometry.pages_per_block
    }

    /// Pages of a block that hold data.
    #[inline]
    pub(in crate::ftl) fn data_pages(&self) -> u32 {
        self.limits.data_pages
    }

    /// Number of an open block.
    #[inline]
    fn write_point(&self, unit: PlaneId, class: u32, moved: bool) -> usize {
        let apart = moved && !self.limits.one_open;
        (unit.0 * (self.limits.classes * 2 + 1) + class * 2) as usize + usize::from(apart)
    }

    /// The open blocks of a unit's classes.
    fn write_points(&self, unit: PlaneId) -> std::ops::Range<usize> {
        self.write_point(unit, 0, false)..self.write_point(unit, self.limits.classes, false)
    }

    /// The class of fresh pages that the mapping above numbers from 0 among its own.
    pub fn own_class(&self, number: u32) -> u32 {
        self.limits.regions + number
    }

    /// The class of a host page whose present version lies at `old`: the region that it is in, or
    /// one up if it was written not long ago.
    #[inline]
    pub fn class_of_write(&self, old: Option<Ppn>) -> u32 {
        if self.limits.regions == 1 {
            return DATA;
        }
        let Some(old) = old else { return DATA };
        let (block, _) = self.geometry.split(old);
        let hot = self.history.since_opened(block) <= self.limits.region_pages;
        (self.class_of(block) + u32::from(hot)).min(self.limits.regions - 1)
    }

    /// The class that the pages of a victim move to: its own, or the region below if they lay there
    /// for long.
    fn class_of_move(&self, victim: BlockId) -> u32 {
        let class = self.class_of(victim);
        let cold = class < self.limits.regions
            && self.history.since_opened(victim) > self.limits.region_pages;
        class - u32::from(cold && class > 0)
    }

    /// The class that `owner`'s page moves to. What had to do with a block of another class leaves
    /// that here: were data to stay among the pages of a map, each move of those would have the map
    /// written again, without end on a full drive. Where a program takes several pages they stay:
    /// to separate them would leave two program units to fillers, and gain nothing.
    #[inline]
    fn class_of_moved(&self, victim: BlockId, owner: u32) -> u32 {
        let class = self.class_of_move(victim);
        match (owner >= OWN, class < self.limits.regions) {
            _ if self.keeps_class() => class,
            (true, _) => self.own_class(0),
            (false, true) => class,
            (false, false) => DATA,
        }
    }

    /// Whether all pages of a victim move to one class, whoever owns them.
    #[inline]
    fn keeps_class(&self) -> bool {
        self.limits.classes == self.limits.regions || self.geometry.program_pages > 1
    }

    /// The class of the pages in a block.
    #[inline]
    fn class_of(&self, block: BlockId) -> u32 {
        self.class_of.get(block.index()).map_or(DATA, |&class| u32::from(class))
    }

    /// Whether a flash page is valid.
    #[inline]
    pub(in crate::ftl) fn is_valid(&self, ppn: Ppn) -> bool {
        self.valid.get(ppn.index())
    }

    /// The page of `ppn` is out of date. Returns its block.
    pub fn invalidate(&mut self, ppn: Ppn) -> BlockId {
        self.invalidate_page(ppn)
    }

    #[inline(always)]
    fn invalidate_page(&mut self, ppn: Ppn) -> BlockId {
        let (block, _) = self.geometry.split(ppn);
        let (unit, place) = self.geometry.place_of(block);
        self.valid.clear(ppn.index());
        let valid = &mut self.valid_of[block.index()];
        *valid -= 1;
        let u = &mut self.units[unit.index()];
        u.valid -= 1;
        u.closed.update(place as usize, *valid);
        self.history.change(block);
        block
    }

    /// The next free page of an open block of `unit`, which becomes `owner`'s.
    fn place(
        &mut self,
        cx: &mut Cx<'_>,
        (unit, class): (PlaneId, u32),
        moved: bool,
        owner: u32,
    ) -> Option<(BlockId, u32)> {
        let write_point = self.write_point(unit, class, moved);
        if self.open[write_point].block.is_none() {
            self.open_block(cx, (unit, class), moved, write_point)?;
        }
        Some(self.next_page(write_point, owner))
    }

    /// Gives a write point of `unit` that has no open block one.
    #[inline(never)]
    fn open_block(
        &mut self,
        cx: &mut Cx<'_>,
        (unit, class): (PlaneId, u32),
        moved: bool,
        write_point: usize,
    ) -> Option<()> {
        if moved && (class == DATA || self.pool.free(unit) == 0) && self.has_part_filled(unit) {
            // What collection moves is rather cold, too.
            let part_filled = self.swap_point(unit);
            if class >= self.limits.regions {
                self.rest.give_up(self.open[part_filled].block);
            }
            self.open.swap(write_point, part_filled);
        } else if moved && self.pool.free(unit) == 0 {
            // Only where blocks are lost, by power cuts or wear: another open block has to do.
            let has_room = |&s: &usize| {
                self.open[s].block != BlockId::NONE && self.open[s].part.pending.is_empty()
            };
            let other = self.write_points(unit).find(has_room)?;
            if class >= self.limits.regions {
                self.rest.give_up(self.open[other].block);
            }
            self.open.swap(write_point, other);
        } else {
            let block = self.take_block(cx, unit)?;
            if let Some(of) = self.class_of.get_mut(block.index()) {
                *of = class as u8;
            }
            self.start(cx, write_point, block);
        }
        Some(())
    }

    /// An erased block of `unit`.
    fn take_block(&mut self, cx: &Cx<'_>, unit: PlaneId) -> Option<BlockId> {
        if self.wear.takes_least_worn() {
            let erases = cx.flash.erases();
            // One whose erase has not ended is left for later: that may wait for what is written
            // here.
            let least = |&block: &BlockId| (cx.engine.is_changing(block), erases[block.index()]);
            let least = self.pool.of(unit).min_by_key(least)?;
            self.pool.take_this(unit, least);
            return Some(least);
        }
        let ruled = self.ask_discipline(|discipline, store| discipline.opens(store, unit));
        ruled.unwrap_or_else(|| self.pool.take(unit))
    }

    /// An erased block is written from now on.
    fn start(&mut self, cx: &mut Cx<'_>, write_point: usize, block: BlockId) {
        self.history.open(block);
        self.wear.open(block);
        let label = cx.label(Role::Data, LogicalBlock::NONE);
        let open = &mut self.open[write_point];
        (open.block, open.page, open.label) = (block, 0, label);
    }

    /// The next page of an open block, which becomes `owner`'s.
    #[inline]
    fn next_page(&mut self, write_point: usize, owner: u32) -> (BlockId, u32) {
        let block = self.open[write_point].block;
        let page = self.next_page_of(self.geometry.unit_of(block), write_point, owner);
        (block, page)
    }

    /// The same of a block of `unit`.
    #[inline(always)]
    fn next_page_of(&mut self, unit: PlaneId, write_point: usize, owner: u32) -> u32 {
        let open = &mut self.open[write_point];
        let (block, page) = (open.block, open.page);
        debug_assert_eq!(unit, self.geometry.unit_of(block), "an open block of another unit");
        open.page += 1;
        self.units[unit.index()].valid += 1;
        self.belongs_to(block, page, owner);
        page
    }

    /// A page of a block is `owner`'s, and valid.
    #[inline(always)]
    fn belongs_to(&mut self, block: BlockId, page: u32, owner: u32) {
        let ppn = self.geometry.ppn(block, page);
        self.valid.set(ppn.index());
        self.valid_of[block.index()] += 1;
        self.reverse[ppn.index()] = owner;
        self.history.change(block);
    }

    /// The next `count` pages of an open block are valid from now on; their owners are known.
    /// Returns the first.
    #[inline]
    fn take_pages(&mut self, write_point: usize, count: u32) -> (BlockId, u32) {
        let open = &mut self.open[write_point];
        let (block, page) = (open.block, open.page);
        open.page += count;
        self.units[self.geometry.unit_of(block).index()].valid += count;
        let first = self.geometry.ppn(block, page).index();
        self.valid.set_range(first, first + count as usize);
        self.valid_of[block.index()] += count as u16;
        self.history.change(block);
        (block, page)
    }

    /// So many pages of a block that is being emptied have been moved, and are valid elsewhere.
    fn lose(&mut self, victim: BlockId, count: u32) {
        self.units[self.geometry.unit_of(victim).index()].valid -= count;
        self.valid_of[victim.index()] -= count as u16;
        self.history.change(victim);
    }

    /// Whether collection can place a page of `class` in `unit`.
    fn has_moved_room(&self, unit: PlaneId, class: u32) -> bool {
        self.open[self.write_point(unit, class, true)].block != BlockId::NONE
            || self.pool.free(unit) > 0
            || self.has_part_filled(unit)
            || self.open[self.write_points(unit)]
                .iter()
                .any(|open| open.block != BlockId::NONE && open.part.pending.is_empty())
    }

    /// Closes an open block if it is full.
    #[inline]
    fn close_if_full(&mut self, cx: &mut Cx<'_>, unit: PlaneId, class: u32, moved: bool) {
        let write_point = self.write_point(unit, class, moved);
        if self.open[write_point].page == self.data_pages() {
            self.close_point(cx, (unit, class), moved, write_point);
        }
    }

    #[inline(never)]
    fn close_point(
        &mut self,
        cx: &mut Cx<'_>,
        (unit, class): (PlaneId, u32),
        moved: bool,
        write_point: usize,
    ) {
        if let Some(discipline) = &self.discipline {
            let Open { block, page, label, .. } = self.open[write_point];
            discipline.ends_block(cx, Place { block, page, label });
        }
        let block = std::mem::replace(&mut self.open[write_point].block, BlockId::NONE);
        self.close(unit, block);
        if !moved && self.discipline.is_none() {
            self.ask_for_space(unit, class);
        }
    }

    /// A block of `unit` may be collected from now on.
    fn close(&mut self, unit: PlaneId, block: BlockId) {
        self.history.close(block);
        self.wear.close(block);
        if self.rest.begins(block) {
            self.rest(unit, block);
        } else {
            self.list(unit, block);
        }
    }

    /// A block is among the closed ones.
    #[inline]
    fn list(&mut self, unit: PlaneId, block: BlockId) {
        let leaf = (block - self.geometry.first_block(unit)) as usize;
        self.units[unit.index()].closed.set(leaf, self.valid_of[block.index()]);
    }

    /// Puts a fresh page of `owner` into `unit`, which takes it, and programs the program unit when
    /// that is full. The block `guard` holds the version that it replaces, if there is one.
    #[inline]
    pub fn append(
        &mut self,
        cx: &mut Cx<'_>,
        (unit, class): (PlaneId, u32),
        out: PageOut,
        owner: u32,
        guard: BlockId,
        waits: JoinId,
    ) -> Option<Ppn> {
        let ppn = self.put(cx, (unit, class), out, owner, guard, waits)?;
        if class < self.limits.regions {
            self.history.now += 1;
            let has_placed = self.alloc.as_mut().is_none_or(|alloc| alloc.has_placed(unit));
            if let Some(mut alloc) = self.alloc.take_if(|_| !has_placed) {
                alloc.placed(unit, &mut View { store: self, engine: cx.engine, class });
                self.alloc = Some(alloc);
            }
            self.ask_discipline(|discipline, store| discipline.asks_for_room(store, unit));
        } else {
            if let Some(alloc) = &mut self.alloc {
                alloc.has_changed(unit);
            }
            if !self.has_pending(unit, class) {
                self.turn = (self.turn + 1) % self.pools.units_each();
            }
        }
        Some(ppn)
    }

    #[inline(always)]
    fn put(
        &mut self,
        cx: &mut Cx<'_>,
        (unit, class): (PlaneId, u32),
        out: PageOut,
        owner: u32,
        guard: BlockId,
        waits: JoinId,
    ) -> Option<Ppn> {
        let write_point = self.write_point(unit, class, false);
        if self.open[write_point].block.is_none() {
            self.open_block(cx, (unit, class), false, write_point)?;
        }
        // Of this unit: fresh pages lie where they were sent.
        let page = self.next_page_of(unit, write_point, owner);
        let (data_pages, unit_pages) = (self.limits.data_pages, self.geometry.program_pages);
        let open = &mut self.open[write_point];
        let (block, is_full) = (open.block, open.page == data_pages);
        if unit_pages == 1 {
            let at = Place { block, page, label: open.label };
            cx.program_one(at, out, After { guard, ..After::join(waits) });
            if !open.part.pinned.is_empty() {
                cx.unpin(&mut open.part.pinned);
            }
        } else {
            open.hold(cx, (page, out), guard, waits, unit_pages);
        }
        if is_full {
            self.close_point(cx, (unit, class), false, write_point);
        }
        Some(self.geometry.ppn(block, page))
    }

    /// The next program of `unit`'s fresh pages of `class` comes before erases of `blocks`.
    pub fn hold_back(
        &mut self,
        cx: &mut Cx<'_>,
        (unit, class): (PlaneId, u32),
        blocks: &[BlockId],
    ) {
        let write_point = self.write_point(unit, class, false);
        for &block in blocks.iter().filter(|&&block| block != BlockId::NONE) {
            cx.pin(block, &mut self.open[write_point].part.pinned);
        }
    }

    /// Completes all open program units with fillers.
    pub fn fill_up(&mut self, cx: &mut Cx<'_>) {
        if self.geometry.program_pages == 1 {
            return;
        }
        for unit in self.geometry.all_units() {
            for class in 0..self.limits.classes {
                while !self.open[self.write_point(unit, class, false)].part.pending.is_empty() {
                    if let Some(ppn) = self.put(
                        cx,
                        (unit, class),
                        PageOut::filler(),
                        NONE,
                        BlockId::NONE,
                        JoinId::NONE,
                    ) {
                        self.invalidate(ppn);
                    }
                }
            }
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let trees: usize = self.units.iter().map(|u| u.closed.bytes()).sum();
        self.reverse.len() * 4
            + self.valid.bytes()
            + self.valid_of.len() * 2
            + self.class_of.len()
            + self.history.bytes()
            + trees
            + self.pool.bytes()
    }
}
