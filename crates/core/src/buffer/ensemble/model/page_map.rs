//! Pages anywhere: written to the units in turn, the block with fewest pages that count is emptied,
//! into blocks of its own.

use super::Units;
use crate::support::NONE;
use crate::support::ids::Lpn;
use crate::support::minima::{ABSENT, Minima};

/// Whose pages a block is open for.
const FRESH: usize = 0;
const MOVED: usize = 1;

/// A unit's blocks.
#[derive(Debug)]
struct Unit {
    /// The blocks that are being written, of each kind, and their next pages.
    open: [u32; 2],
    next: [u32; 2],
    erased: Vec<u32>,
    /// Pages that count, of each block that is full.
    counts: Minima,
}

/// Where each page lies.
#[derive(Debug)]
pub struct PageMap {
    pages_per_block: u32,
    /// Blocks of a unit.
    blocks: u32,
    by_block: bool,
    /// Erased blocks of a unit at which collection begins.
    kept: usize,
    place: Vec<u32>,
    /// Page of each place, or [`NONE`].
    page: Vec<u32>,
    units: Vec<Unit>,
    /// The unit that is written next.
    turn: u32,
}

impl PageMap {
    /// A full drive with so many spare blocks.
    pub fn new(pages: u32, pages_per_block: u32, spare: u32, units: u32, by_block: bool) -> Self {
        // As page mapping does: where there are several, they should not run dry together.
        let kept = if units > 1 { 2 } else { 1 };
        let least = pages.div_ceil(units).div_ceil(pages_per_block) + kept + 3;
        let blocks = (pages.div_ceil(pages_per_block) + spare).div_ceil(units).max(least);
        let unit = |_| Unit {
            open: [NONE; 2],
            next: [pages_per_block; 2],
            erased: (0..blocks).rev().collect(),
            counts: Minima::new(blocks as usize),
        };
        let mut map = Self {
            pages_per_block,
            blocks,
            by_block,
            kept: kept as usize,
            place: vec![NONE; pages as usize],
            page: vec![NONE; (units * blocks * pages_per_block) as usize],
            units: (0..units).map(unit).collect(),
            turn: 0,
        };
        for lpn in 0..pages {
            let unit = map.next_unit(Lpn(lpn));
            map.put(unit, lpn, FRESH);
        }
        map
    }

    /// Whether the pages of a logical block go to one unit.
    pub fn by_block(&self) -> bool {
        self.by_block
    }

    fn next_unit(&mut self, lpn: Lpn) -> u32 {
        let units = self.units.len() as u32;
        if self.by_block {
            return lpn.block(self.pages_per_block).0 % units;
        }
        self.turn = if self.turn + 1 == units { 0 } else { self.turn + 1 };
        self.turn
    }

    fn block_of(&self, place: u32) -> (u32, usize) {
        let block = place / self.pages_per_block;
        (block / self.blocks, (block % self.blocks) as usize)
    }

    /// Writes a page, to the unit that is its home if it has one; when it is stored.
    pub fn write(&mut self, units: &mut Units, lpn: Lpn, home: Option<u32>) -> u64 {
        let ppb = self.pages_per_block;
        // One erased block of each is there to collect into.
        let room = |of: &Unit| of.next[FRESH] < ppb || of.erased.len() > 1;
        let mut unit = match home {
            Some(home) => home % self.units.len() as u32,
            None => self.next_unit(lpn),
        };
        for _ in 1..self.units.len() {
            if room(&self.units[unit as usize]) {
                break;
            }
            unit = (unit + 1) % self.units.len() as u32;
        }
        if !room(&self.units[unit as usize]) {
            // All that is there counts; a real drive has more.
            return units.program(unit, 1);
        }
        let old = self.place[lpn.index()];
        if old != NONE {
            self.page[old as usize] = NONE;
            let (of, block) = self.block_of(old);
            let counts = &mut self.units[of as usize].counts;
            if counts.get(block) != ABSENT {
                counts.set(block, counts.get(block) - 1);
            }
        }
        self.put(unit, lpn.0, FRESH);
        let end = units.program(unit, 1);
        while self.units[unit as usize].erased.len() <= self.kept && self.collect(units, unit) {}
        end
    }

    #[inline]
    fn put(&mut self, unit: u32, page: u32, kind: usize) {
        let first = unit * self.blocks;
        let of = &mut self.units[unit as usize];
        if of.next[kind] == self.pages_per_block {
            let full = of.open[kind];
            if full != NONE {
                let start = ((first + full) * self.pages_per_block) as usize;
                let pages = &self.page[start..start + self.pages_per_block as usize];
                let count = pages.iter().filter(|&&page| page != NONE).count();
                of.counts.set(full as usize, count as u16);
            }
            let Some(block) = of.erased.pop() else { unreachable!("one is kept erased") };
            (of.open[kind], of.next[kind]) = (block, 0);
        }
        let place = (first + of.open[kind]) * self.pages_per_block + of.next[kind];
        of.next[kind] += 1;
        self.place[page as usize] = place;
        self.page[place as usize] = page;
    }

    /// Empties a block; whether that makes room.
    fn collect(&mut self, units: &mut Units, unit: u32) -> bool {
        let Some((block, count)) = self.units[unit as usize].counts.min() else { return false };
        if u32::from(count) >= self.pages_per_block {
            return false;
        }
        self.units[unit as usize].counts.set(block, ABSENT);
        let start = (unit * self.blocks + block as u32) * self.pages_per_block;
        for place in start..start + self.pages_per_block {
            let page = std::mem::replace(&mut self.page[place as usize], NONE);
            if page != NONE {
                self.put(unit, page, MOVED);
                units.copy(unit, 1);
            }
        }
        units.erase(unit, 1);
        self.units[unit as usize].erased.push(block as u32);
        true
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        (self.place.len() + self.page.len()) * 4
            + self
                .units
                .iter()
                .map(|unit| unit.erased.capacity() * 4 + unit.counts.bytes())
                .sum::<usize>()
    }
}
