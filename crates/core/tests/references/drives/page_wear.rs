//! Wear levellers of page-level mappings, from their pages: clusters of one unit and of several. No
//! reference of its own.

use std::cmp::Reverse;

use super::page_rest::Rest;
use super::page_store::{Block, Owner, Store, Stream, Unit};

/// Unit, and block of it: in this order the first is the lowest number.
type Place = (usize, usize);

#[derive(Debug, Clone)]
pub enum Kind {
    HotCold,
    TwoLevel,
    /// Which blocks of each unit are in the hot pool, and the effective erases of each.
    DualPool {
        hot: Vec<Vec<bool>>,
        effective: Vec<Vec<u32>>,
    },
}

#[derive(Debug, Clone)]
pub struct Wear {
    pub kind: Kind,
    threshold: u32,
    room: Room,
    /// The units of each unit's cluster.
    clusters: Vec<Vec<usize>>,
    /// Of each unit.
    pub rests: Vec<Rest>,
    /// Swaps so far, and those from one unit to another.
    pub swaps: u64,
    pub crossings: u64,
}

/// The first of the blocks with the fewest, or the most.
fn fewest(among: impl Iterator<Item = Place>, value: impl Fn(Place) -> u32) -> Option<Place> {
    among.min_by_key(|&b| (value(b), b))
}
fn most(among: impl Iterator<Item = Place>, value: impl Fn(Place) -> u32) -> Option<Place> {
    among.min_by_key(|&b| (Reverse(value(b)), b))
}

/// When data may move from unit to unit.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Not under an allocator that gives all units the same.
    pub moves: bool,
    /// Pages that a unit can hold beside its reserve and a block's worth that are not valid.
    pub most: usize,
}

impl Room {
    /// Into a unit that is no fuller than the other, and has room for it.
    fn lets(&self, units: &[Unit], from: Place, into: Place) -> bool {
        let valid = |unit: usize| units[unit].blocks.iter().map(Block::valid).sum::<usize>();
        let pages = units[from.0].blocks[from.1].valid();
        from.0 == into.0
            || self.moves && valid(into.0) <= valid(from.0) && valid(into.0) + pages <= self.most
    }
}

impl Wear {
    /// A leveller over units of so many blocks each.
    pub fn new(
        name: &str,
        threshold: u32,
        rest: usize,
        room: Room,
        clusters: Vec<Vec<usize>>,
        blocks: usize,
    ) -> Self {
        let units = clusters.len();
        let kind = match name {
            "hot-cold" => Kind::HotCold,
            "two-level" => Kind::TwoLevel,
            _ => {
                // Half of a cluster's blocks, those with the lower numbers.
                let half = |unit: usize| {
                    let all: Vec<Place> = clusters[unit]
                        .iter()
                        .flat_map(|&u| (0..blocks).map(move |b| (u, b)))
                        .collect();
                    (0..blocks)
                        .map(|b| {
                            all.iter().position(|&place| place == (unit, b)) < Some(all.len() / 2)
                        })
                        .collect()
                };
                Kind::DualPool {
                    hot: (0..units).map(half).collect(),
                    effective: vec![vec![0; blocks]; units],
                }
            }
        };
        Self {
            kind,
            threshold,
            room,
            clusters,
            rests: vec![Rest::new(rest); units],
            swaps: 0,
            crossings: 0,
        }
    }

    /// A block was erased.
    pub fn erased(&mut self, unit: usize, block: usize) {
        self.rests[unit].erased();
        if let Kind::DualPool { effective, .. } = &mut self.kind {
            effective[unit][block] += 1;
        }
    }

    /// Which block's pages are to move where, after collection has erased a block of this unit:
    /// inside its cluster, and where nothing is due there, inside the unit.
    fn due(&mut self, unit: usize, units: &[Unit], room: &Room) -> Option<(Place, Place)> {
        let cluster = self.clusters[unit].clone();
        let swap = self.due_among(&cluster, units, room);
        if cluster.len() > 1 { swap.or_else(|| self.due_among(&[unit], units, room)) } else { swap }
    }

    fn due_among(
        &mut self,
        cluster: &[usize],
        units: &[Unit],
        room: &Room,
    ) -> Option<(Place, Place)> {
        let (threshold, rests) = (self.threshold, &self.rests);
        let block = |(unit, block): Place| &units[unit].blocks[block];
        let all: Vec<Place> =
            cluster.iter().flat_map(|&u| (0..units[u].blocks.len()).map(move |b| (u, b))).collect();
        let erases = |b: Place| block(b).erases;
        // A block that rests is left alone.
        let closed = |b: Place| block(b).closed.is_some() && !rests[b.0].rests(b.1);
        let erased = |b: Place| units[b.0].erased.contains(&b.1);
        let among = |which: &dyn Fn(Place) -> bool| {
            all.iter().copied().filter(|&b| which(b)).collect::<Vec<_>>().into_iter()
        };
        let may_move = |from: Place, into: Place| room.lets(units, from, into);
        let Kind::DualPool { hot, effective } = &mut self.kind else {
            let apart =
                all.iter().map(|&b| erases(b)).max()? - all.iter().map(|&b| erases(b)).min()?;
            let into = most(among(&erased), erases)?;
            let from =
                fewest(among(&|b| closed(b) && block(b).valid() > 0 && may_move(b, into)), erases)?;
            return (apart > threshold && erases(into) > erases(from) + threshold)
                .then_some((from, into));
        };
        let pool = |hot: &[Vec<bool>], which| among(&|(u, b)| hot[u][b] == which);
        // 1. Cold data moves to the most worn hot block.
        let worn = most(pool(hot, true), erases);
        let may = |b: &Place| worn.is_some_and(|into| may_move(*b, into));
        if let Some((from, into)) = fewest(pool(hot, false).filter(may), erases).zip(worn)
            && erases(into) > erases(from) + threshold
        {
            let busy = |b| !closed(b) && !erased(b);
            if !busy(into) && !busy(from) {
                if !erased(from) && block(from).valid() > 0 {
                    return Some((from, into));
                }
                (hot[from.0][from.1], hot[into.0][into.1]) = (true, false);
                (effective[from.0][from.1], effective[into.0][into.1]) = (0, 0);
            }
        }
        // 2. A cold block that turned out to be hot.
        let value = |(u, b): Place| effective[u][b];
        if let Some((worn, least)) =
            most(pool(hot, false), value).zip(fewest(pool(hot, true), value))
            && value(worn) > value(least) + threshold
        {
            hot[worn.0][worn.1] = true;
        }
        // 3. A hot block that turned out to be cold.
        if let Some((worn, least)) =
            most(pool(hot, true), erases).zip(fewest(pool(hot, true), erases))
            && erases(worn) > erases(least) + 2 * threshold
        {
            hot[least.0][least.1] = false;
        }
        None
    }

    /// A swap has been carried out.
    fn swapped(&mut self, from: Place, into: Place) {
        if let Kind::DualPool { hot, effective } = &mut self.kind {
            (hot[from.0][from.1], hot[into.0][into.1]) = (true, false);
            (effective[from.0][from.1], effective[into.0][into.1]) = (0, 0);
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

    /// Collection has erased a block of this unit: the swap that is due is carried out, if there is
    /// room for it.
    pub fn level(&mut self, unit: usize) {
        let Some(wear) = &mut self.wear else { return };
        let room = wear.room;
        let Some((from, into)) = wear.due(unit, &self.units, &room) else { return };
        let target = into.0;
        // A block that an earlier swap has filled in part comes first.
        if let Some(block) = self.take_filling(target) {
            // It rests from the end of this swap.
            self.wear.as_mut().expect("a leveller").rests[target].unplan(block);
            self.move_pages(from, (target, block));
            if self.units[from.0].blocks[from.1].valid() == 0 {
                // The named block has got nothing.
                self.end_swap(unit, from, into);
                self.end(target, block);
                return;
            }
            self.end(target, block);
            // What is left may no longer move.
            if !room.lets(&self.units, from, into) {
                return;
            }
        }
        if self.units[target].erased.contains(&into.1) {
            if self.units[target].erased.len() < 2 {
                return;
            }
        } else if !self.clear(unit, from, into) {
            return;
        }
        self.units[target].erased.retain(|&block| block != into.1);
        self.move_pages(from, into);
        self.end_swap(unit, from, into);
        self.end(target, into.1);
        self.wear.as_mut().expect("a leveller").swapped(from, into);
    }

    /// Empties the block that gets the pages. Its own stay in their unit, or come to the one that
    /// loses as many; never does this take the last erased block.
    fn clear(&mut self, unit: usize, from: Place, into: Place) -> bool {
        let valid = |b: Place| self.units[b.0].blocks[b.1].valid();
        let is_exchanged = unit == from.0 && valid(into) <= valid(from);
        if unit != into.0 && !is_exchanged || self.units[unit].erased.len() < 2 {
            return false;
        }
        let stream = Stream { region: 0, moved: true, map: false };
        for owner in self.units[into.0].blocks[into.1].pages.clone().into_iter().flatten() {
            // What another unit loses frees no block of this one.
            let crosses = unit == into.0 && unit != from.0;
            if crosses && !self.is_open(unit, stream) && self.units[unit].erased.len() < 2 {
                return false;
            }
            self.counts.reads += 1;
            self.place(unit, stream, owner);
        }
        self.write_trimmed(unit);
        self.erase(into.0, into.1);
        true
    }

    /// All pages have moved.
    fn end_swap(&mut self, unit: usize, from: Place, into: Place) {
        self.write_trimmed(unit);
        self.erase(from.0, from.1);
        let wear = self.wear.as_mut().expect("a leveller");
        wear.swaps += 1;
        wear.crossings += u64::from(from.0 != into.0);
    }

    /// Before an erase: what has been trimmed is listed in the unit whose collection it is.
    fn write_trimmed(&mut self, unit: usize) {
        if let Some(tombstone) = self.tombstone(self.pool_of_unit[unit]) {
            self.place(unit, Stream { region: 0, moved: true, map: false }, tombstone);
        }
    }

    /// Moves as many pages of a block as the other has room for.
    fn move_pages(&mut self, from: Place, into: Place) {
        let owners: Vec<Owner> =
            self.units[from.0].blocks[from.1].pages.clone().into_iter().flatten().collect();
        let room = self.rules.pages_per_block - self.units[into.0].blocks[into.1].pages.len();
        for owner in owners.into_iter().take(room) {
            self.counts.reads += 1;
            self.program(into.0, into.1, owner);
        }
    }
    /// A swap has filled this block, perhaps in part. It rests once it is full.
    fn end(&mut self, unit: usize, block: usize) {
        let full = self.units[unit].blocks[block].pages.len() == self.rules.pages_per_block;
        let blocks = self.units[unit].blocks.len();
        let rest = &mut self.wear.as_mut().expect("a leveller").rests[unit];
        rest.plan(block);
        if full {
            rest.filled(block, blocks);
        } else {
            rest.filling = Some(block);
        }
    }
}
