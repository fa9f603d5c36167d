//! Wear levellers of page-level mappings on one unit, from their pages. No reference of its own.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::page_store::{Block, Owner, Store, Stream, Unit};

#[derive(Debug, Clone)]
pub enum Kind {
    HotCold,
    TwoLevel,
    /// Which blocks are in the hot pool, and the effective erases of each.
    DualPool {
        hot: Vec<bool>,
        effective: Vec<u32>,
    },
}

#[derive(Debug, Clone)]
pub struct Wear {
    pub kind: Kind,
    pub threshold: u32,
    /// Rounds of as many erases as there are blocks.
    pub rest: usize,
    /// A block that swaps have filled in part.
    pub filling: Option<usize>,
    /// Blocks that are going to rest once they are full.
    planned: BTreeSet<usize>,
    /// Blocks that rest, the first to rest first, and at which erase of the unit that ends.
    resting: Vec<(usize, usize)>,
    erases: usize,
    /// Swaps so far.
    pub swaps: u64,
}

/// The first of the blocks with the fewest, or the most.
fn fewest(among: impl Iterator<Item = usize>, value: impl Fn(usize) -> u32) -> Option<usize> {
    among.min_by_key(|&b| (value(b), b))
}
fn most(among: impl Iterator<Item = usize>, value: impl Fn(usize) -> u32) -> Option<usize> {
    among.min_by_key(|&b| (Reverse(value(b)), b))
}

impl Wear {
    pub fn new(kind: Kind, threshold: u32, rest: usize) -> Self {
        let (planned, resting) = (BTreeSet::new(), Vec::new());
        Self { kind, threshold, rest, filling: None, planned, resting, erases: 0, swaps: 0 }
    }

    /// A block is full: it rests if it has pages of a swap, unless too many do.
    pub fn filled(&mut self, block: usize, blocks: usize) {
        if self.planned.remove(&block) && self.rest > 0 {
            self.resting.push((block, self.erases + self.rest * blocks));
            if self.resting.len() > blocks / 8 {
                self.resting.remove(0);
            }
        }
    }

    /// Fresh pages fill it up: it does not rest once it is full.
    pub fn lent(&mut self, block: usize) {
        self.planned.remove(&block);
    }

    pub fn rests(&self, block: usize) -> bool {
        self.resting.iter().any(|&(resting, _)| resting == block)
    }

    /// Collection gains nothing from the others: none rests.
    pub fn wake(&mut self) {
        self.resting.clear();
    }

    /// A block of the unit was erased.
    pub fn erased(&mut self, block: usize) {
        self.erases += 1;
        self.resting.retain(|&(_, until)| self.erases < until);
        if let Kind::DualPool { effective, .. } = &mut self.kind {
            effective[block] += 1;
        }
    }

    /// Which block's pages are to move where, after collection has erased a block.
    fn due(&mut self, unit: &Unit) -> Option<(usize, usize)> {
        let blocks = &unit.blocks;
        // A block that rests is left alone.
        let asleep: BTreeSet<usize> = self.resting.iter().map(|&(block, _)| block).collect();
        let (all, threshold) = (0..blocks.len(), self.threshold);
        let erases = |b: usize| blocks[b].erases;
        let closed = |b: &usize| blocks[*b].closed.is_some() && !asleep.contains(b);
        let Kind::DualPool { hot, effective } = &mut self.kind else {
            let apart = all.clone().map(erases).max()? - all.clone().map(erases).min()?;
            let from = fewest(all.filter(closed).filter(|&b| blocks[b].valid() > 0), erases)?;
            let into = most(unit.erased.iter().copied(), erases)?;
            return (apart > threshold && erases(into) > erases(from) + threshold)
                .then_some((from, into));
        };
        let pool = |hot: &[bool], which| {
            all.clone().filter(|&b| hot[b] == which).collect::<Vec<_>>().into_iter()
        };
        // 1. Cold data moves to the most worn hot block.
        if let Some((from, into)) =
            fewest(pool(hot, false), erases).zip(most(pool(hot, true), erases))
            && erases(into) > erases(from) + threshold
        {
            let (erased, busy) =
                (|b| unit.erased.contains(&b), |b| !closed(&b) && !unit.erased.contains(&b));
            if !busy(into) && !busy(from) {
                if !erased(from) && blocks[from].valid() > 0 {
                    return Some((from, into));
                }
                (hot[from], hot[into]) = (true, false);
                (effective[from], effective[into]) = (0, 0);
            }
        }
        // 2. A cold block that turned out to be hot.
        let value = |b: usize| effective[b];
        if let Some((worn, least)) =
            most(pool(hot, false), value).zip(fewest(pool(hot, true), value))
            && value(worn) > value(least) + threshold
        {
            hot[worn] = true;
        }
        // 3. A hot block that turned out to be cold.
        if let Some((worn, least)) =
            most(pool(hot, true), erases).zip(fewest(pool(hot, true), erases))
            && erases(worn) > erases(least) + 2 * threshold
        {
            hot[least] = false;
        }
        None
    }

    /// A swap has been carried out.
    fn swapped(&mut self, from: usize, into: usize) {
        if let Kind::DualPool { hot, effective } = &mut self.kind {
            (hot[from], hot[into]) = (true, false);
            (effective[from], effective[into]) = (0, 0);
        }
    }
}

impl Store {
    /// The erased block that is opened next.
    pub fn next_erased(&mut self, unit: usize) -> usize {
        let unit = &mut self.units[unit];
        let least = matches!(&self.wear, Some(wear) if matches!(wear.kind, Kind::TwoLevel));
        let place = if least {
            let wear = |&place: &usize| (unit.blocks[unit.erased[place]].erases, place);
            (0..unit.erased.len()).min_by_key(wear)
        } else {
            Some(0)
        };
        place.and_then(|place| unit.erased.remove(place)).expect("the reserve")
    }

    /// Collection has erased a block: the swap that is due is carried out, if an erased block stays.
    pub fn level(&mut self, unit: usize) {
        let Some(wear) = &mut self.wear else { return };
        let Some((from, into)) = wear.due(&self.units[unit]) else { return };
        let mut owners: Vec<Owner> =
            self.units[unit].blocks[from].pages.clone().into_iter().flatten().collect();
        let pages = self.rules.pages_per_block;
        // A block that an earlier swap has filled in part comes first.
        let mut filling = self.wear.as_mut().and_then(|wear| wear.filling.take());
        if let Some(block) = filling {
            // It rests from the end of this swap.
            self.wear.as_mut().expect("a leveller").planned.remove(&block);
            let room = pages - self.units[unit].blocks[block].pages.len();
            let rest = owners.split_off(room.min(owners.len()));
            self.move_all(unit, block, &owners);
            owners = rest;
            if !owners.is_empty() {
                self.end(unit, block);
                filling = None;
            }
        }
        if filling.is_none() {
            if self.units[unit].erased.len() < 2 {
                return;
            }
            if !self.units[unit].erased.contains(&into) {
                self.empty(unit, into);
            }
            self.units[unit].erased.retain(|&block| block != into);
            self.move_all(unit, into, &owners);
        }
        if let Some(tombstone) = self.tombstone(self.pool_of_unit[unit]) {
            self.place(unit, Stream { region: 0, moved: true, map: false }, tombstone);
        }
        self.erase(unit, from);
        self.end(unit, filling.unwrap_or(into));
        self.wear.as_mut().expect("a leveller").swaps += 1;
        // Where another block has taken all the pages, this one has got nothing.
        if filling.is_none() {
            self.wear.as_mut().expect("a leveller").swapped(from, into);
        }
    }

    fn move_all(&mut self, unit: usize, block: usize, owners: &[Owner]) {
        for &owner in owners {
            self.counts.reads += 1;
            self.program(unit, block, owner);
        }
    }

    /// A swap has filled this block, perhaps in part. It rests once it is full.
    fn end(&mut self, unit: usize, block: usize) {
        let full = self.units[unit].blocks[block].pages.len() == self.rules.pages_per_block;
        let blocks = self.units[unit].blocks.len();
        let wear = self.wear.as_mut().expect("a leveller");
        wear.planned.insert(block);
        if full {
            wear.filled(block, blocks);
        } else {
            wear.filling = Some(block);
        }
    }

    pub fn filling(&self) -> Option<usize> {
        self.wear.as_ref().and_then(|wear| wear.filling)
    }

    /// The unit as its victim policy sees it: what rests is not there, unless the others gain nothing.
    pub fn awake(&mut self, unit: usize) -> Unit {
        let mut seen = self.units[unit].clone();
        let Some(wear) = &mut self.wear else { return seen };
        let pages = self.rules.pages_per_block;
        let gains = |block: &Block| block.closed.is_some() && block.valid() < pages;
        let others = (0..seen.blocks.len()).any(|b| gains(&seen.blocks[b]) && !wear.rests(b));
        if !others || seen.erased.is_empty() {
            wear.wake();
        }
        (0..seen.blocks.len())
            .filter(|&b| wear.rests(b))
            .for_each(|b| seen.blocks[b].closed = None);
        seen
    }
}
