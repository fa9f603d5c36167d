//! Flash of page-level mappings: units of blocks, open blocks, collection. No reference of its own.

use std::collections::{BTreeMap, VecDeque};

use super::super::Counts;
use super::page_victims::Policy;

/// What a flash page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// A logical page.
    Page(u32),
    /// A list of trimmed pages.
    Tombstone(u32),
    /// A page of the map (DFTL).
    Translation(u32),
}

/// Which open block a page goes to: by class, region, and whether collection moves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stream {
    pub is_map: bool,
    pub region: usize,
    pub moved: bool,
}

#[derive(Debug, Default, Clone)]
pub struct Block {
    /// What was programmed, in order; `None` where it is invalid.
    pub pages: Vec<Option<Owner>>,
    pub erases: u32,
    /// The clock when a page of it was last written or became invalid.
    pub changed: u64,
    /// When it was filled.
    pub closed: Option<u64>,
    pub region: usize,
    pub is_map: bool,
}

impl Block {
    pub fn valid(&self) -> usize {
        self.pages.iter().flatten().count()
    }
}

#[derive(Debug, Default, Clone)]
pub struct Unit {
    pub blocks: Vec<Block>,
    /// Erased blocks, the one erased longest ago first.
    pub erased: VecDeque<usize>,
    pub open: BTreeMap<Stream, usize>,
    /// A block was filled since collection last looked.
    pub filled: bool,
    /// Erases of each region, of late.
    pub erased_of_late: Vec<f64>,
}

/// What of `ftl.gc` and `ftl.victim` changes decisions.
#[derive(Debug, Clone)]
pub struct Rules {
    pub pages_per_block: usize,
    pub free_blocks: usize,
    pub regions: usize,
    pub region_pages: u64,
    /// Copies go to all units of the pool in turn.
    pub spread: bool,
    pub victim: Policy,
}

pub struct Store {
    pub rules: Rules,
    pub units: Vec<Unit>,
    /// Units that each unit's copies may go to.
    pub pools: Vec<Vec<usize>>,
    /// Where each valid page lies: unit, block, page.
    pub places: BTreeMap<Owner, (usize, usize, usize)>,
    /// Pages that the host has written.
    pub clock: u64,
    /// When the host wrote a page last, and its region.
    pub heat: BTreeMap<Owner, (u64, usize)>,
    pub counts: Counts,
    closings: u64,
    spread_turn: usize,
    /// Pages that collection has moved since this list was last emptied.
    pub moved: Vec<Owner>,
}

impl Store {
    pub fn new(rules: Rules, units: usize, blocks: usize, pools: Vec<Vec<usize>>) -> Self {
        let unit = Unit {
            blocks: vec![Block::default(); blocks],
            erased: (0..blocks).collect(),
            erased_of_late: vec![0.0; rules.regions],
            ..Unit::default()
        };
        Self {
            rules,
            units: vec![unit; units],
            pools,
            places: BTreeMap::new(),
            clock: 0,
            heat: BTreeMap::new(),
            counts: Counts::default(),
            closings: 0,
            spread_turn: 0,
            moved: Vec::new(),
        }
    }

    /// A page is given up.
    pub fn invalidate(&mut self, owner: Owner) {
        if let Some((unit, block, page)) = self.places.remove(&owner) {
            let block = &mut self.units[unit].blocks[block];
            block.pages[page] = None;
            block.changed = self.clock;
        }
    }

    /// The host writes this page: a region up if that happened a short time ago.
    pub fn touch(&mut self, owner: Owner) {
        self.clock += 1;
        let (clock, rules) = (self.clock, &self.rules);
        let heat = self.heat.entry(owner).or_insert((u64::MAX, 0));
        if heat.0 != u64::MAX && clock - heat.0 <= rules.region_pages {
            heat.1 = (heat.1 + 1).min(rules.regions - 1);
        }
        heat.0 = clock;
    }

    fn stream(&self, owner: Owner, moved: bool) -> Stream {
        let is_map = matches!(owner, Owner::Translation(_));
        Stream { is_map, region: self.heat.get(&owner).map_or(0, |heat| heat.1), moved }
    }

    fn has_room(&self, unit: usize, stream: Stream) -> bool {
        let unit = &self.units[unit];
        unit.open.get(&stream).is_some_and(|&b| unit.blocks[b].closed.is_none())
    }

    fn victim(&self, unit: usize) -> Option<usize> {
        self.rules.victim.choose(&self.units[unit], self.rules.pages_per_block, self.clock)
    }

    /// The stream whose block a fresh page goes to in this unit, if it has room without its reserve.
    pub fn room(&self, unit: usize, owner: Owner) -> Option<Stream> {
        let own = self.stream(owner, false);
        if self.has_room(unit, own) || self.units[unit].erased.len() > 1 {
            return Some(own);
        }
        // All closed blocks are fully valid: whatever open block has room.
        let open: Vec<Stream> = self.units[unit].open.keys().copied().collect();
        let other = open.into_iter().find(|&s| s.is_map == own.is_map && self.has_room(unit, s));
        other.filter(|_| self.victim(unit).is_none())
    }

    /// Programs a page.
    fn place(&mut self, unit: usize, stream: Stream, owner: Owner) {
        if !self.has_room(unit, stream) {
            let block = self.units[unit].erased.pop_front().expect("the reserve");
            self.units[unit].open.insert(stream, block);
            let block = &mut self.units[unit].blocks[block];
            (block.region, block.is_map) = (stream.region, stream.is_map);
        }
        self.invalidate(owner);
        let number = self.units[unit].open[&stream];
        let block = &mut self.units[unit].blocks[number];
        block.pages.push(Some(owner));
        block.changed = self.clock;
        self.places.insert(owner, (unit, number, block.pages.len() - 1));
        self.counts.programs += 1;
        if block.pages.len() == self.rules.pages_per_block {
            self.closings += 1;
            block.closed = Some(self.closings);
            self.units[unit].filled = true;
        }
    }

    /// Writes a fresh page into this unit, collecting first where there is no room.
    pub fn write(&mut self, unit: usize, owner: Owner) {
        let stream = loop {
            if let Some(stream) = self.room(unit, owner) {
                break stream;
            }
            let victim = self.victim(unit).expect("room, or something to collect");
            self.empty(unit, victim);
        };
        self.place(unit, stream, owner);
    }

    /// Collects every unit that has filled a block and has few erased ones.
    pub fn collect(&mut self) {
        for unit in 0..self.units.len() {
            if std::mem::take(&mut self.units[unit].filled) {
                while self.units[unit].erased.len() <= self.rules.free_blocks {
                    let Some(victim) = self.victim(unit) else { break };
                    self.empty(unit, victim);
                }
            }
        }
    }

    /// Moves what is valid in a block, and erases it.
    pub fn empty(&mut self, unit: usize, victim: usize) {
        for owner in self.units[unit].blocks[victim].pages.clone().into_iter().flatten() {
            let (clock, long) = (self.clock, self.rules.region_pages);
            if let Some((last, region)) = self.heat.get_mut(&owner)
                && clock - *last > long
            {
                *region = region.saturating_sub(1);
            }
            let stream = self.stream(owner, true);
            let target = self.target(unit, stream);
            self.counts.reads += 1;
            self.place(target, stream, owner);
            self.moved.push(owner);
        }
        self.erase(unit, victim);
    }

    /// The unit that a copy goes to.
    fn target(&mut self, from: usize, stream: Stream) -> usize {
        if !self.rules.spread {
            return from;
        }
        let pool = self.pools[from].clone();
        for step in 0..pool.len() {
            let unit = pool[(self.spread_turn + step) % pool.len()];
            if self.has_room(unit, stream) || self.units[unit].erased.len() > 1 {
                self.spread_turn = (self.spread_turn + step + 1) % pool.len();
                return unit;
            }
        }
        from
    }

    fn erase(&mut self, unit: usize, number: usize) {
        let unit = &mut self.units[unit];
        let share = 1.0 / unit.blocks.len() as f64;
        unit.erased_of_late.iter_mut().for_each(|rate| *rate *= 1.0 - share);
        let block = &mut unit.blocks[number];
        unit.erased_of_late[block.region] += 1.0;
        assert_eq!(block.valid(), 0);
        *block = Block { erases: block.erases + 1, ..Block::default() };
        unit.erased.push_back(number);
        self.counts.erases += 1;
    }

    pub fn erases(&self) -> Vec<u32> {
        self.units.iter().flat_map(|unit| unit.blocks.iter().map(|block| block.erases)).collect()
    }
}
