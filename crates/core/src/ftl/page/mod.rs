//! Page mapping: every logical page may lie in any flash page.
//!
//! **What it does.** A map of one entry a logical page, a reverse map, a valid bit a flash page. Host pages go to the
//! units in turn, a program unit each; a unit whose share of valid pages has run ahead, or which has only its reserve
//! of erased blocks left, is passed over, so that no unit fills up while others have room.
//! A unit that has filled its open block and has no more than `gc_free_blocks` erased ones is collected: the closed
//! block with the fewest valid pages (lowest number among equals) is emptied into the unit's own collection block, a
//! few pages a step, and erased.
//!
//! **Reserve.** One erased block of each unit is never given to the host. A victim has at least one invalid page, so
//! what is valid always fits into what is left of the collection block and the reserve: collection cannot run dry.
//! If all closed blocks are fully valid, the host goes on in the collection block.
//!
//! **Trims** are kept across power cuts by tombstones: pages that list what was trimmed, written with the next flush.
//! A tombstone is valid as long as one of its pages has not been written again. Each stands for at least one
//! unmapped logical page, so that they never need more room than the data did.
//!
//! Ban 1995; survey in Kim & Ahn 2008, section 2.2. Greedy collection as in the multi-bank thesis, section 4.2.
//! Papers are silent on the order of units: round robin here.
//!
//! Cost of a page write: O(1), and O(log blocks of a unit) at worst to keep the order of victims.

mod collect;
mod recovery;
mod trims;

use std::collections::{BTreeMap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cx::{After, Cx, Label, Move, PageOut, Place};
use super::pool::Pool;
use super::{Mapping, Reclaim, Shape};
use crate::nand::{Engine, Flash, Geometry, Ppn, Role};
use crate::support::NONE;
use crate::support::bits::Bits;
use crate::support::minima::{ABSENT, Minima};
use crate::support::registry::{About, Choice};

/// What `list` says.
pub const ABOUT: About = About {
    title: "page mapping",
    summary: "Any logical page in any flash page; units in turn, greedy garbage collection inside each unit.",
    paper: "Ban, US Patent 5,404,485 (1995)",
    year: Some(1995),
    choices: &[
        Choice {
            option: "gc_free_blocks",
            others: &["1", "4"],
            open: "how many erased blocks a unit has left when its collection begins",
        },
        Choice {
            option: "gc_step_pages",
            others: &["1", "64"],
            open: "how many pages collection copies before host requests come in between",
        },
    ],
    source: include_str!("mod.rs"),
    ..About::PLAIN
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// A unit that has filled a block is collected while it has this many erased blocks or fewer (at least 1). Default:
    /// 1 for a single unit, which loses the least spare flash; 2 for several, where there is room, so that the units do
    /// not run dry together.
    pub gc_free_blocks: Option<u32>,
    /// Pages that one step of garbage collection copies at most; host requests come in between.
    pub gc_step_pages: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { gc_free_blocks: None, gc_step_pages: 8 }
    }
}

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too little spare flash, or impossible options.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        let g = shape.geometry;
        if self.gc_free_blocks == Some(0) || self.gc_step_pages == 0 {
            return Err("ftl.mapping: gc_free_blocks and gc_step_pages must be at least 1".into());
        }
        if g.pages() >= TOMB {
            return Err("ftl.mapping: page mapping takes arrays of up to 2147483647 pages".into());
        }
        let fits =
            |free_blocks: u32| room(g, free_blocks) * u64::from(g.units) >= u64::from(shape.logical_pages);
        let gc_free_blocks = self.gc_free_blocks.unwrap_or(if g.units > 1 && fits(2) { 2 } else { 1 });
        if !fits(gc_free_blocks) {
            return Err(format!(
                "ftl: page mapping keeps {} blocks of each of the {} units out of use, which leaves room for {} pages, \
                 but {} are exported; export less, or add blocks (nand.blocks_per_plane, now {})",
                gc_free_blocks + 1,
                g.units,
                room(g, gc_free_blocks) * u64::from(g.units),
                shape.logical_pages,
                g.blocks_per_unit
            ));
        }
        let limits = Limits { gc_free_blocks, gc_step_pages: self.gc_step_pages };
        Ok(Box::new(PageMap::new(limits, g.clone(), shape.logical_pages)))
    }
}

/// Pages that a unit can hold so that collection always gains something. It keeps its reserve and one block's worth of
/// pages that are not valid. Collection writes whole program units, and gains nothing from a block with fewer invalid
/// pages than that. Where there are several units, the new version of a page may be counted in one before the old one
/// is forgotten in another.
fn room(g: &Geometry, gc_free_blocks: u32) -> u64 {
    let useful = u64::from(g.pages_per_block - (g.program_pages - 1));
    let blocks = u64::from(g.blocks_per_unit).saturating_sub(u64::from(gc_free_blocks) + 1);
    (blocks * useful).saturating_sub(u64::from(g.units > 1))
}

/// The options, settled for one array.
#[derive(Debug, Clone, Copy)]
struct Limits {
    gc_free_blocks: u32,
    gc_step_pages: u32,
}

/// Marks map entries that are trimmed, and reverse entries that hold tombstones.
const TOMB: u32 = 1 << 31;

/// A block that is being written.
#[derive(Debug, Clone, Default)]
struct Open {
    /// The block, or [`NONE`].
    block: u32,
    /// Next page.
    page: u32,
    label: Label,
    /// Pages of the program unit that is not full yet.
    pending: Vec<PageOut>,
    /// Pins of the blocks that hold the versions which they replace.
    pinned: Vec<u32>,
}

#[derive(Debug, Clone)]
struct Unit {
    host: Open,
    gc: Open,
    /// Pages of it that are valid.
    valid: u32,
    /// It waits for, or is under, collection.
    collecting: bool,
    /// Block being emptied, or [`NONE`].
    victim: u32,
    /// Page of the victim at which the next step goes on.
    scan: u32,
    /// Closed blocks by valid pages.
    closed: Minima,
}

/// A page that says what was trimmed.
#[derive(Debug, Clone)]
struct Tombstone {
    ppn: Ppn,
    /// Trimmed pages that have not been written since.
    live: u32,
    /// Its list in the image, while one is kept.
    list: u32,
}

#[derive(Debug)]
struct PageMap {
    config: Limits,
    geometry: Geometry,
    map: Vec<u32>,
    reverse: Vec<u32>,
    valid: Bits,
    valid_of: Vec<u16>,
    units: Vec<Unit>,
    pool: Pool,
    /// Unit that the next program unit goes to.
    turn: u32,
    /// No unit takes host pages while it has more valid ones than this.
    share: u32,
    /// Units that wait for collection.
    waiting: VecDeque<u32>,
    moves: Vec<Move>,
    tombs: Vec<Tombstone>,
    free_tombs: Vec<u32>,
    /// Pages trimmed since the last tombstone, and the block that holds the version before.
    trimmed: BTreeMap<u32, u32>,
}

impl PageMap {
    fn new(config: Limits, geometry: Geometry, logical_pages: u32) -> Self {
        let open = || Open { block: NONE, ..Open::default() };
        let unit = |_| Unit {
            host: open(),
            gc: open(),
            valid: 0,
            collecting: false,
            victim: NONE,
            scan: 0,
            closed: Minima::new(geometry.blocks_per_unit as usize),
        };
        // A unit may run ahead of the others by half of the spare pages.
        let physical = geometry.blocks_per_unit * geometry.pages_per_block;
        let even = logical_pages.div_ceil(geometry.units);
        let most = room(&geometry, config.gc_free_blocks) as u32;
        let share = (even + (physical - even) / 2).min(most).max(even);
        Self {
            map: vec![NONE; logical_pages as usize],
            reverse: vec![NONE; geometry.pages() as usize],
            valid: Bits::new(geometry.pages() as usize),
            valid_of: vec![0; geometry.blocks() as usize],
            units: (0..geometry.units).map(unit).collect(),
            pool: Pool::full(&geometry),
            turn: 0,
            share,
            waiting: VecDeque::with_capacity(geometry.units as usize),
            moves: Vec::with_capacity(config.gc_step_pages as usize),
            tombs: Vec::new(),
            free_tombs: Vec::new(),
            trimmed: BTreeMap::new(),
            config,
            geometry,
        }
    }

    /// Pages of a block.
    fn ppb(&self) -> u32 {
        self.geometry.pages_per_block
    }

    /// Whether the host may write to `unit`. What stays in reserve must really be erased: if power fails, it is the
    /// only room there is.
    #[inline]
    fn takes(&self, engine: &Engine, unit: u32) -> bool {
        let u = &self.units[unit as usize];
        let opened = u.host.block != NONE
            || self.pool.second(unit).is_some_and(|reserve| !engine.is_changing(reserve));
        opened && u.valid <= self.share
    }

    /// The next unit that takes host pages.
    #[inline]
    fn pick_unit(&mut self, engine: &Engine) -> Option<u32> {
        let units = self.geometry.units;
        for _ in 0..units {
            let unit = self.turn;
            if self.takes(engine, unit) {
                return Some(unit);
            }
            self.ask_for_space(unit);
            self.turn = if unit + 1 == units { 0 } else { unit + 1 };
        }
        None
    }

    /// Puts `unit` in line for collection where it is short of erased blocks.
    #[inline]
    fn ask_for_space(&mut self, unit: u32) {
        let u = &mut self.units[unit as usize];
        if u.collecting || self.pool.free(unit) > self.config.gc_free_blocks {
            return;
        }
        let gain = u.closed.min().is_some_and(|(_, valid)| u32::from(valid) < self.geometry.pages_per_block);
        if gain || (u.host.block == NONE && u.gc.block != NONE) {
            u.collecting = true;
            self.waiting.push_back(unit);
        }
    }

    /// The page of `ppn` is out of date.
    #[inline]
    fn invalidate(&mut self, ppn: Ppn) -> u32 {
        let (block, _) = self.geometry.split(ppn);
        let unit = self.geometry.unit_of(block);
        self.valid.clear(ppn as usize);
        self.valid_of[block as usize] -= 1;
        let u = &mut self.units[unit as usize];
        u.valid -= 1;
        let leaf = (block - unit * self.geometry.blocks_per_unit) as usize;
        if u.closed.get(leaf) != ABSENT {
            u.closed.set(leaf, self.valid_of[block as usize]);
        }
        block
    }

    /// Forgets where `lpn` was; returns the block of its old version, or [`NONE`].
    #[inline]
    fn forget(&mut self, lpn: u32) -> u32 {
        let old = std::mem::replace(&mut self.map[lpn as usize], NONE);
        if old == NONE {
            // Trimmed, and no tombstone yet: what was there before may be the last durable version.
            if self.trimmed.is_empty() { NONE } else { self.trimmed.remove(&lpn).unwrap_or(NONE) }
        } else if old & TOMB == 0 {
            self.invalidate(old)
        } else {
            // Until the new version is stored, the tombstone keeps older ones from coming back.
            let tomb = &mut self.tombs[(old & !TOMB) as usize];
            tomb.live -= 1;
            let ppn = tomb.ppn;
            if tomb.live == 0 {
                self.free_tombs.push(old & !TOMB);
                self.invalidate(ppn);
            }
            ppn / self.ppb()
        }
    }

    /// The next free page of `unit`'s open host or collection block, which becomes `owner`'s.
    #[inline]
    fn place(&mut self, cx: &mut Cx<'_>, unit: u32, gc: bool, owner: u32) -> Option<(u32, u32)> {
        let u = &mut self.units[unit as usize];
        let open = if gc { &mut u.gc } else { &mut u.host };
        if open.block == NONE && gc && self.pool.free(unit) == 0 && u.host.pending.is_empty() {
            // Only after power cuts, which waste pages: the host's open block has to do.
            std::mem::swap(&mut u.host, &mut u.gc);
        }
        let open = if gc { &mut u.gc } else { &mut u.host };
        if open.block == NONE {
            open.block = self.pool.take(unit)?;
            open.page = 0;
            open.label = cx.label(Role::Data, NONE);
        }
        let (block, page) = (open.block, open.page);
        open.page += 1;
        u.valid += 1;
        let ppn = block * self.geometry.pages_per_block + page;
        self.valid.set(ppn as usize);
        self.valid_of[block as usize] += 1;
        self.reverse[ppn as usize] = owner;
        Some((block, page))
    }

    /// Closes the open block if it is full.
    #[inline]
    fn close_if_full(&mut self, unit: u32, gc: bool) {
        let ppb = self.geometry.pages_per_block;
        let u = &mut self.units[unit as usize];
        let open = if gc { &mut u.gc } else { &mut u.host };
        if open.page == ppb {
            let block = std::mem::replace(&mut open.block, NONE);
            u.closed
                .set((block - unit * self.geometry.blocks_per_unit) as usize, self.valid_of[block as usize]);
            if !gc {
                self.ask_for_space(unit);
            }
        }
    }

    /// Puts one page into the open host block of `unit`, and programs the unit when it is full.
    #[inline]
    fn append(
        &mut self,
        cx: &mut Cx<'_>,
        unit: u32,
        out: PageOut,
        owner: u32,
        guard: u32,
        waits: u32,
    ) -> Option<Ppn> {
        let (block, page) = self.place(cx, unit, false, owner)?;
        let program_pages = self.geometry.program_pages;
        let open = &mut self.units[unit as usize].host;
        if program_pages == 1 {
            let at = Place { block, page, label: open.label };
            cx.program(at, &[out], After { guard, ..After::join(waits) });
            if !open.pinned.is_empty() {
                cx.unpin(&mut open.pinned);
            }
        } else {
            open.pending.push(out);
            if guard != NONE {
                cx.pin(guard, &mut open.pinned);
            }
            if open.pending.len() as u32 == program_pages {
                let first = page + 1 - program_pages;
                let at = Place { block, page: first, label: open.label };
                cx.program(at, &open.pending, After::join(waits));
                open.pending.clear();
                cx.unpin(&mut open.pinned);
            }
        }
        self.close_if_full(unit, false);
        Some(block * self.geometry.pages_per_block + page)
    }

    /// Completes `unit`'s open program unit with fillers.
    fn fill_up(&mut self, cx: &mut Cx<'_>, unit: u32) {
        while !self.units[unit as usize].host.pending.is_empty() {
            if let Some(ppn) = self.append(cx, unit, PageOut::filler(), NONE, NONE, NONE) {
                self.invalidate(ppn);
            }
        }
    }

    /// On to the next unit when a program unit of this one is complete.
    #[inline]
    fn next_turn(&mut self, unit: u32) {
        if self.units[unit as usize].host.pending.is_empty() {
            self.turn = if unit + 1 == self.geometry.units { 0 } else { unit + 1 };
        }
    }
}

impl Mapping for PageMap {
    #[inline]
    fn translate(&mut self, _cx: &mut Cx<'_>, lpn: u32) -> Option<Ppn> {
        self.lookup(lpn)
    }

    #[inline]
    fn lookup(&self, lpn: u32) -> Option<Ppn> {
        let ppn = self.map[lpn as usize];
        (ppn & TOMB == 0).then_some(ppn)
    }

    #[inline]
    fn touch(&self, lpn: u32) {
        std::hint::black_box(self.map[lpn as usize]);
    }

    fn write(&mut self, cx: &mut Cx<'_>, pages: &[PageOut], waits: u32) -> usize {
        for (i, out) in pages.iter().enumerate() {
            let Some(unit) = self.pick_unit(cx.engine) else { return i };
            let guard = self.forget(out.lpn);
            let Some(ppn) = self.append(cx, unit, *out, out.lpn, guard, waits) else { return i };
            self.map[out.lpn as usize] = ppn;
            self.next_turn(unit);
        }
        pages.len()
    }

    fn trim(&mut self, _cx: &mut Cx<'_>, first: u32, count: u32) {
        for lpn in first..first + count {
            if self.map[lpn as usize] & TOMB == 0 {
                let block = self.forget(lpn);
                self.trimmed.insert(lpn, block);
            }
        }
    }

    fn flush(&mut self, cx: &mut Cx<'_>) -> bool {
        let buried = self.bury(cx);
        if self.geometry.program_pages > 1 {
            for unit in 0..self.geometry.units {
                self.fill_up(cx, unit);
            }
        }
        buried
    }

    fn needs_reclaim(&mut self) -> Option<u32> {
        self.waiting.pop_front()
    }

    fn reclaim(&mut self, cx: &mut Cx<'_>, unit: u32) -> Reclaim {
        self.collect(cx, unit)
    }

    fn recover(&mut self, cx: &mut Cx<'_>) {
        self.rebuild(cx);
    }

    fn check(&self, flash: &Flash) -> Result<(), String> {
        let mut valid_of = vec![0u16; self.valid_of.len()];
        for ppn in 0..self.geometry.pages() {
            if !self.valid.get(ppn as usize) {
                continue;
            }
            let (block, page) = (ppn / self.ppb(), ppn % self.ppb());
            valid_of[block as usize] += 1;
            let owner = self.reverse[ppn as usize];
            let agrees = if owner & TOMB == 0 {
                self.map[owner as usize] == ppn
            } else {
                owner != NONE && self.tombs[(owner & !TOMB) as usize].ppn == ppn
            };
            if !agrees {
                return Err(format!(
                    "page map: physical page {ppn} is valid, but its owner {owner} lies elsewhere"
                ));
            }
            let pending = self
                .units
                .iter()
                .any(|u| u.host.block == block && page + u.host.pending.len() as u32 >= u.host.page);
            if !flash.is_written(block, page) && !pending {
                return Err(format!("page map: physical page {ppn} is valid but erased"));
            }
        }
        let mapped = self.map.iter().filter(|&&e| e & TOMB == 0).count();
        let tombs = self.tombs.iter().filter(|t| t.live > 0).count();
        let valid: usize = valid_of.iter().map(|&v| usize::from(v)).sum();
        if mapped + tombs != valid || valid_of != self.valid_of {
            return Err(format!(
                "page map: {mapped} pages mapped and {tombs} tombstones, but {valid} pages valid"
            ));
        }
        let mut free = 0;
        for block in self.pool.iter() {
            free += 1;
            if flash.write_ptr(block) != 0 {
                return Err(format!("page map: block {block} is in the pool but not erased"));
            }
        }
        let per_unit: u32 = (0..self.geometry.units).map(|u| self.pool.free(u)).sum();
        if free != per_unit || free != self.pool.total() {
            return Err(format!("page map: the pool counts {} blocks and holds {free}", self.pool.total()));
        }
        Ok(())
    }

    fn space(&self) -> String {
        let valid: u64 = self.units.iter().map(|u| u64::from(u.valid)).sum();
        let starved = (0..self.geometry.units)
            .filter(|&u| self.units[u as usize].host.block == NONE && self.pool.free(u) < 2)
            .count();
        format!(
            "{valid} of {} flash pages hold valid data, {} of {} blocks are erased, {starved} of {} units can take no host page",
            self.geometry.pages(),
            self.pool.total(),
            self.geometry.blocks(),
            self.geometry.units
        )
    }

    fn free_blocks(&self, unit: u32) -> u32 {
        self.pool.free(unit)
    }

    fn bytes(&self) -> usize {
        let trees: usize = self.units.iter().map(|u| u.closed.bytes()).sum();
        (self.map.len() + self.reverse.len()) * 4
            + self.valid.bytes()
            + self.valid_of.len() * 2
            + trees
            + self.pool.bytes()
    }
}
