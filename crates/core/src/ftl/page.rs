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

use std::collections::{BTreeMap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cx::{After, Cx, Label, Move, PageOut, Place};
use super::pool::Pool;
use super::{Mapping, Reclaim, Shape};
use crate::nand::image::{Content, PageState};
use crate::nand::{Cause, Engine, Flash, Geometry, Ppn, Role};
use crate::support::NONE;
use crate::support::bits::Bits;
use crate::support::minima::{ABSENT, Minima};
use crate::support::registry::About;

/// What `list` says.
pub const ABOUT: About = About {
    title: "page mapping",
    summary: "Any logical page in any flash page; units in turn, greedy garbage collection inside each unit.",
    paper: "Ban, US Patent 5,404,485 (1995)",
    year: Some(1995),
    reconstruction: false,
};

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// A unit that has filled a block is collected while it has this many erased blocks or fewer (at least 1).
    pub gc_free_blocks: u32,
    /// Pages that one step of garbage collection copies at most; host requests come in between.
    pub gc_step_pages: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { gc_free_blocks: 1, gc_step_pages: 8 }
    }
}

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too little spare flash, or impossible options.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        let g = shape.geometry;
        if self.gc_free_blocks == 0 || self.gc_step_pages == 0 {
            return Err("ftl.mapping: gc_free_blocks and gc_step_pages must be at least 1".into());
        }
        if g.pages() >= TOMB {
            return Err("ftl.mapping: page mapping takes arrays of up to 2147483647 pages".into());
        }
        // Each unit keeps its reserve and one block's worth of pages that are not valid. Where there are several
        // units, the new version of a page may be counted in one before the old one is forgotten in another.
        let least = self.gc_free_blocks + 1;
        let spread = u64::from(g.units > 1);
        // Collection writes whole program units: it gains nothing from a block with fewer invalid pages than that.
        let useful = u64::from(g.pages_per_block - (g.program_pages - 1));
        let per_unit = (u64::from(g.blocks_per_unit.saturating_sub(least)) * useful).saturating_sub(spread);
        let room = per_unit * u64::from(g.units);
        if room < u64::from(shape.logical_pages) {
            return Err(format!(
                "ftl: page mapping keeps {least} blocks of each of the {} units out of use, which leaves room for {room} pages, \
                 but {} are exported; export less, or add blocks (nand.blocks_per_plane, now {})",
                g.units, shape.logical_pages, g.blocks_per_unit
            ));
        }
        Ok(Box::new(PageMap::new(self.clone(), g.clone(), shape.logical_pages)))
    }
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
    config: Config,
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
    fn new(config: Config, geometry: Geometry, logical_pages: u32) -> Self {
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
        let useful = geometry.pages_per_block - (geometry.program_pages - 1);
        let most = (geometry.blocks_per_unit.saturating_sub(config.gc_free_blocks + 1) * useful)
            .saturating_sub(u32::from(geometry.units > 1));
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

    /// Copies the next valid pages of the victim. All of one step fit, by the reserve.
    fn copy_some(&mut self, cx: &mut Cx<'_>, unit: u32) {
        let (ppb, program_pages) = (self.ppb(), self.geometry.program_pages);
        let victim = self.units[unit as usize].victim;
        let base = (victim * ppb) as usize;
        // Whole program units: the rest of one is lost to fillers.
        let mut budget = (self.config.gc_step_pages / program_pages).max(1) * program_pages;
        let mut moves = std::mem::take(&mut self.moves);
        while budget > 0 && self.valid_of[victim as usize] > 0 {
            // One run: as many pages as fit the budget and what is left of the open block.
            moves.clear();
            let (mut first, mut into) = (0, NONE);
            while budget > 0
                && self.valid_of[victim as usize] > 0
                && (into == NONE || (moves.len() as u32) + first < ppb)
            {
                let from = base + self.units[unit as usize].scan as usize;
                let Some(at) = self.valid.first_set(from, base + ppb as usize) else {
                    debug_assert!(false, "valid pages of the victim lie before the scan");
                    break;
                };
                let owner = self.reverse[at];
                let Some((block, page)) = self.place(cx, unit, true, owner) else { break };
                if into == NONE {
                    (into, first) = (block, page);
                }
                let ppn = block * ppb + page;
                let out = if owner & TOMB == 0 {
                    self.map[owner as usize] = ppn;
                    PageOut::data(owner, Cause::Gc)
                } else {
                    let tomb = &mut self.tombs[(owner & !TOMB) as usize];
                    tomb.ppn = ppn;
                    PageOut::tombstone(tomb.list, Cause::Gc)
                };
                moves.push(Move { page: (at - base) as u32, out });
                self.invalidate(at as u32);
                self.units[unit as usize].scan = (at - base) as u32 + 1;
                budget -= 1;
            }
            if moves.is_empty() {
                break;
            }
            while !(moves.len() as u32).is_multiple_of(program_pages) {
                if let Some((block, page)) = self.place(cx, unit, true, NONE) {
                    self.invalidate(block * ppb + page);
                }
                moves.push(Move { page: NONE, out: PageOut::filler() });
            }
            let label = self.units[unit as usize].gc.label;
            for chunk in moves.chunks(if program_pages == 1 { moves.len() } else { program_pages as usize }) {
                cx.relocate(victim, chunk, Place { block: into, page: first, label }, Cause::Gc, NONE);
                first += chunk.len() as u32;
            }
            self.close_if_full(unit, true);
        }
        self.moves = moves;
    }

    /// There is no room to collect `unit` now; the victim goes back among the closed blocks.
    fn give_up(&mut self, unit: u32) -> Reclaim {
        let u = &mut self.units[unit as usize];
        let victim = std::mem::replace(&mut u.victim, NONE);
        let leaf = (victim - unit * self.geometry.blocks_per_unit) as usize;
        u.closed.set(leaf, self.valid_of[victim as usize]);
        u.collecting = false;
        Reclaim::Stuck
    }

    /// Takes ranges trimmed since the last tombstone and not written again, in order, as many as a tombstone holds; and
    /// the blocks that hold the versions before, which must stay until the tombstone is stored.
    fn take_trimmed(&mut self) -> (Vec<(u32, u32)>, Vec<u32>) {
        let most = (self.geometry.page_bytes / 8) as usize;
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        let mut blocks = Vec::new();
        while let Some(entry) = self.trimmed.first_entry() {
            let lpn = *entry.key();
            let full = ranges.len() == most;
            match ranges.last_mut() {
                Some((start, len)) if *start + *len == lpn => *len += 1,
                _ if full => break,
                _ => ranges.push((lpn, 1)),
            }
            blocks.push(entry.remove());
        }
        blocks.sort_unstable();
        blocks.dedup();
        (ranges, blocks)
    }

    /// A tombstone for these ranges: its number and the page to write.
    fn tombstone(&mut self, cx: &mut Cx<'_>, ranges: &[(u32, u32)]) -> (u32, PageOut) {
        let tomb = self.free_tombs.pop().unwrap_or_else(|| {
            self.tombs.push(Tombstone { ppn: NONE, live: 0, list: NONE });
            self.tombs.len() as u32 - 1
        });
        let mut live = 0;
        for &(first, count) in ranges {
            self.map[first as usize..(first + count) as usize].fill(TOMB | tomb);
            live += count;
        }
        let list = cx.engine.shadow_mut().map_or(NONE, |shadow| {
            shadow.image.trims.push(ranges.to_vec());
            shadow.image.trims.len() as u32 - 1
        });
        self.tombs[tomb as usize] = Tombstone { ppn: NONE, live, list };
        (tomb, PageOut::tombstone(list, Cause::Mapping))
    }

    /// Plans the tombstones for what has been trimmed and not written since, among the host's pages.
    fn bury(&mut self, cx: &mut Cx<'_>) -> bool {
        while !self.trimmed.is_empty() {
            let Some(unit) = self.pick_unit(cx.engine) else { return false };
            let (ranges, blocks) = self.take_trimmed();
            let (tomb, out) = self.tombstone(cx, &ranges);
            self.hold_back(cx, unit, &blocks);
            let Some(ppn) = self.append(cx, unit, out, TOMB | tomb, NONE, NONE) else { return false };
            self.tombs[tomb as usize].ppn = ppn;
            self.next_turn(unit);
        }
        true
    }

    /// The next program of `unit`'s host block comes before erases of `blocks`.
    fn hold_back(&mut self, cx: &mut Cx<'_>, unit: u32, blocks: &[u32]) {
        for &block in blocks.iter().filter(|&&block| block != NONE) {
            cx.pin(block, &mut self.units[unit as usize].host.pinned);
        }
    }

    /// Before the victim goes: what it holds of pages trimmed meanwhile is their last durable version, and older ones
    /// may lie elsewhere. Plans the tombstones in the collection block, ahead of the erase.
    fn bury_before_erase(&mut self, cx: &mut Cx<'_>, unit: u32) -> bool {
        let victim = self.units[unit as usize].victim;
        while !self.trimmed.is_empty() {
            let Some((block, page)) = self.place(cx, unit, true, NONE) else { return false };
            let ppn = block * self.ppb() + page;
            let (ranges, blocks) = self.take_trimmed();
            let (tomb, out) = self.tombstone(cx, &ranges);
            self.reverse[ppn as usize] = TOMB | tomb;
            self.tombs[tomb as usize].ppn = ppn;
            let mut moves = vec![Move { page: NONE, out }];
            while !(moves.len() as u32).is_multiple_of(self.geometry.program_pages) {
                if let Some((block, page)) = self.place(cx, unit, true, NONE) {
                    self.invalidate(block * self.ppb() + page);
                }
                moves.push(Move { page: NONE, out: PageOut::filler() });
            }
            let label = self.units[unit as usize].gc.label;
            let mut pins = Vec::new();
            for &block in blocks.iter().filter(|&&block| block != NONE) {
                cx.pin(block, &mut pins);
            }
            cx.relocate(victim, &moves, Place { block, page, label }, Cause::Mapping, NONE);
            cx.unpin(&mut pins);
            self.close_if_full(unit, true);
        }
        true
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
        let first_block = unit * self.geometry.blocks_per_unit;
        let u = &mut self.units[unit as usize];
        if u.victim == NONE {
            if self.pool.free(unit) > self.config.gc_free_blocks {
                u.collecting = false;
                return Reclaim::Done;
            }
            match u.closed.min() {
                Some((leaf, valid))
                    if u32::from(valid) + self.geometry.program_pages <= self.geometry.pages_per_block =>
                {
                    u.closed.set(leaf, ABSENT);
                    (u.victim, u.scan) = (first_block + leaf as u32, 0);
                }
                _ => {
                    u.collecting = false;
                    if u.host.block == NONE && u.gc.block != NONE {
                        // All closed blocks are fully valid: what is not lies in the collection block itself.
                        std::mem::swap(&mut u.host, &mut u.gc);
                        return Reclaim::Done;
                    }
                    return Reclaim::Stuck;
                }
            }
        }
        let victim = self.units[unit as usize].victim;
        let before = self.valid_of[victim as usize];
        self.copy_some(cx, unit);
        if before > 0 && self.valid_of[victim as usize] == before {
            return self.give_up(unit);
        }
        if self.valid_of[victim as usize] == 0 {
            if !self.trimmed.is_empty() && !self.bury_before_erase(cx, unit) {
                return self.give_up(unit);
            }
            cx.erase(victim, Cause::Gc, NONE, NONE);
            self.pool.give(unit, victim);
            self.units[unit as usize].victim = NONE;
        }
        Reclaim::More
    }

    fn recover(&mut self, cx: &mut Cx<'_>) {
        let Some(image) = cx.engine.shadow().map(|s| s.image.clone()) else { return };
        self.pool = Pool::empty(&self.geometry);
        self.reverse.fill(NONE);
        // The newest record of each logical page wins. A copy has the record of its source; the one in the block that
        // was opened later wins, so that a collection which was cut short does not begin anew.
        let mut newest = vec![((0u64, 0u64), NONE); self.map.len()];
        let mut dead = vec![0u64; self.map.len()];
        for ppn in 0..self.geometry.pages() {
            let Some(oob) = image.oob(ppn) else { continue };
            match oob.content {
                Content::Host if (oob.seq, oob.opened) > newest[oob.lpn as usize].0 => {
                    newest[oob.lpn as usize] = ((oob.seq, oob.opened), ppn);
                }
                Content::Tombstone => {
                    for &(first, count) in &image.trims[oob.lpn as usize] {
                        for seq in &mut dead[first as usize..(first + count) as usize] {
                            *seq = (*seq).max(oob.seq);
                        }
                    }
                }
                _ => {}
            }
        }
        for (lpn, &((seq, _), ppn)) in newest.iter().enumerate() {
            if ppn != NONE && seq > dead[lpn] {
                self.map[lpn] = ppn;
                self.reverse[ppn as usize] = lpn as u32;
                self.valid.set(ppn as usize);
                let block = ppn / self.ppb();
                self.valid_of[block as usize] += 1;
                self.units[self.geometry.unit_of(block) as usize].valid += 1;
            }
        }
        // A tombstone is kept while it is the last word on one of its pages.
        for ppn in 0..self.geometry.pages() {
            let Some(oob) = image.oob(ppn).filter(|oob| oob.content == Content::Tombstone) else { continue };
            let tomb = self.tombs.len() as u32;
            let mut live = 0;
            for &(first, count) in &image.trims[oob.lpn as usize] {
                for lpn in first..first + count {
                    if self.map[lpn as usize] == NONE && dead[lpn as usize] == oob.seq {
                        self.map[lpn as usize] = TOMB | tomb;
                        live += 1;
                    }
                }
            }
            if live > 0 {
                self.tombs.push(Tombstone { ppn, live, list: oob.lpn });
                self.reverse[ppn as usize] = TOMB | tomb;
                self.valid.set(ppn as usize);
                let block = ppn / self.ppb();
                self.valid_of[block as usize] += 1;
                self.units[self.geometry.unit_of(block) as usize].valid += 1;
            }
        }
        // What holds nothing valid is erased. In each unit the two blocks with most room go on being written: the
        // collection that power cut short may need it.
        for block in 0..self.geometry.blocks() {
            let unit = self.geometry.unit_of(block);
            let touched = image.block(block).iter().any(|page| *page != PageState::Erased);
            if self.valid_of[block as usize] > 0 {
                let room = self.ppb() - cx.flash.write_ptr(block);
                let u = &mut self.units[unit as usize];
                let gc_room = if u.gc.block == NONE { 0 } else { self.geometry.pages_per_block - u.gc.page };
                if room > gc_room {
                    let opened = image.block(block).iter().find_map(|p| match p {
                        PageState::Done(oob) => Some(oob.opened),
                        _ => None,
                    });
                    let label = Label { role: Role::Data, owner: NONE, opened: opened.unwrap_or(0) };
                    let former = std::mem::replace(
                        &mut u.gc,
                        Open { block, page: self.geometry.pages_per_block - room, label, ..Open::default() },
                    );
                    if u.host.block != NONE {
                        let leaf = (u.host.block - unit * self.geometry.blocks_per_unit) as usize;
                        u.closed.set(leaf, self.valid_of[u.host.block as usize]);
                    }
                    u.host = former;
                    continue;
                }
                let leaf = (block - unit * self.geometry.blocks_per_unit) as usize;
                self.units[unit as usize].closed.set(leaf, self.valid_of[block as usize]);
            } else {
                if touched {
                    cx.erase(block, Cause::Mapping, NONE, NONE);
                }
                self.pool.give(unit, block);
            }
        }
        for unit in 0..self.geometry.units {
            self.ask_for_space(unit);
        }
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
