//! Flash of page-level mappings: units of blocks, open blocks, collection. No reference of its own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;

use super::super::Counts;
use super::page_victims::Policy;
use super::page_wear::Wear;

/// What a flash page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// A logical page.
    Page(u32),
    /// A list of trimmed pages.
    Tombstone(u32),
    /// A part of a map that lies on flash.
    Map(u32),
}

/// Which open block a page goes to: by region, whether collection moves it, and whether it is a
/// part of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stream {
    pub region: usize,
    pub moved: bool,
    pub map: bool,
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
    /// The clock when it was opened.
    pub opened: u64,
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
    /// It is in line for collection, on account of these fresh pages.
    pub asks: Option<Stream>,
    /// Erases of each region, of late.
    pub erased_of_late: Vec<f64>,
}

/// What of `ftl.gc` and `ftl.victim` changes decisions.
#[derive(Debug, Clone)]
pub struct Rules {
    pub pages_per_block: usize,
    pub free_blocks: usize,
    /// Valid pages of a unit that takes fresh ones, at most.
    pub share: usize,
    pub regions: usize,
    pub region_pages: u64,
    /// Copies go to all units of the pool in turn.
    pub spread: bool,
    pub victim: Policy,
    /// Of random policies.
    pub seed: u64,
}

impl Rules {
    /// A unit may run ahead of the others of its pool by half of its spare pages.
    pub fn share(
        pages: usize,
        pool: usize,
        blocks: usize,
        free_blocks: usize,
        per_block: usize,
    ) -> usize {
        let even = pages.div_ceil(pool);
        let usable = (blocks - free_blocks - 1) * per_block - usize::from(pool > 1);
        (even + (blocks * per_block - even) / 2).min(usable).max(even)
    }
}

/// What a unit does of its collection before another has its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// So many copies, and the erase if those were the last ones.
    Copies(usize),
    /// A block.
    Block,
    /// As many blocks as it needs.
    Blocks,
}

pub struct Store {
    pub rules: Rules,
    pub units: Vec<Unit>,
    /// The pool of each unit, and of each logical page.
    pub pool_of_unit: Vec<usize>,
    pub pool_of_page: Vec<usize>,
    /// Where each valid page lies: unit, block, page.
    pub places: BTreeMap<Owner, (usize, usize, usize)>,
    /// Pages that the host has written, and tombstones that it has waited for.
    pub clock: u64,
    pub counts: Counts,
    draws: Pcg64Mcg,
    closings: u64,
    spread_turn: usize,
    /// Units in line for collection.
    line: VecDeque<usize>,
    /// Units take turns at it; else each goes on until it needs no more, and is not looked at
    /// again.
    pub turns: Option<Turn>,
    /// The victim that each unit is emptying.
    victims: Vec<Option<usize>>,
    /// Pages trimmed since the last tombstone.
    pub trimmed: BTreeSet<u32>,
    /// Pages that each tombstone lists and that were not written since.
    tombstones: BTreeMap<u32, BTreeSet<u32>>,
    next_tombstone: u32,
    pub wear: Option<Wear>,
}

impl Store {
    pub fn new(
        rules: Rules,
        blocks: usize,
        pool_of_unit: Vec<usize>,
        pool_of_page: Vec<usize>,
    ) -> Self {
        let unit = Unit {
            blocks: vec![Block::default(); blocks],
            erased: (0..blocks).collect(),
            erased_of_late: vec![0.0; rules.regions + 1],
            ..Unit::default()
        };
        let draws = Pcg64Mcg::seed_from_u64(rules.seed);
        Self {
            units: vec![unit; pool_of_unit.len()],
            rules,
            pool_of_unit,
            pool_of_page,
            places: BTreeMap::new(),
            clock: 0,
            counts: Counts::default(),
            draws,
            closings: 0,
            spread_turn: 0,
            line: VecDeque::new(),
            turns: None,
            victims: Vec::new(),
            trimmed: BTreeSet::new(),
            tombstones: BTreeMap::new(),
            next_tombstone: 0,
            wear: None,
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

    /// The stream of a fresh page: a region up if the block that it lies in was opened a short time
    /// ago.
    pub fn fresh(&self, owner: Owner) -> Stream {
        if matches!(owner, Owner::Map(_)) {
            return self.map_stream(false);
        }
        let region = self.places.get(&owner).map_or(0, |&(unit, block, _)| {
            let block = &self.units[unit].blocks[block];
            let soon = self.clock - block.opened <= self.rules.region_pages;
            (block.region + usize::from(soon)).min(self.rules.regions - 1)
        });
        Stream { region, moved: false, map: false }
    }

    /// The stream of parts of a map: a region of their own.
    pub fn map_stream(&self, moved: bool) -> Stream {
        Stream { region: self.rules.regions, moved, map: true }
    }

    /// The stream of what a victim holds: a region down if that block was opened a long time ago.
    fn leaving(&self, unit: usize, victim: usize) -> Stream {
        let block = &self.units[unit].blocks[victim];
        let long = self.clock - block.opened > self.rules.region_pages;
        Stream { region: block.region.saturating_sub(usize::from(long)), moved: true, map: false }
    }

    pub fn is_open(&self, unit: usize, stream: Stream) -> bool {
        self.units[unit].open.contains_key(&stream)
    }

    pub fn victim(&mut self, unit: usize) -> Option<usize> {
        if self.wear.is_some() {
            let seen = self.awake(unit);
            return self.rules.victim.choose(
                &seen,
                self.rules.pages_per_block,
                self.clock,
                &mut self.draws,
            );
        }
        let (rules, draws) = (&self.rules, &mut self.draws);
        rules.victim.choose(&self.units[unit], rules.pages_per_block, self.clock, draws)
    }

    /// Whether a closed block of a unit has pages that are not valid.
    fn gains(&self, unit: usize) -> bool {
        let gains =
            |block: &Block| block.closed.is_some() && block.valid() < self.rules.pages_per_block;
        self.units[unit].blocks.iter().any(gains)
    }

    /// Whether a fresh page finds room in this unit: one erased block stays.
    pub fn has_room(&self, unit: usize, stream: Stream) -> bool {
        self.is_open(unit, stream) || self.units[unit].erased.len() > 1
    }

    /// Whether a fresh page may go to this unit: it has room, and has not run ahead of the others.
    /// A unit that is asked in vain is put in line for collection.
    pub fn takes(&mut self, unit: usize, stream: Stream) -> bool {
        let takes = self.has_room(unit, stream) && self.valid(unit) <= self.rules.share;
        if !takes {
            self.ask(unit, stream);
        }
        takes
    }

    fn valid(&self, unit: usize) -> usize {
        self.units[unit].blocks.iter().map(Block::valid).sum()
    }

    /// Pages that can be written before anything is erased.
    pub fn free_pages(&self, unit: usize, stream: Stream) -> usize {
        let (unit, pages) = (&self.units[unit], self.rules.pages_per_block);
        let room =
            unit.open.get(&stream).map_or(0, |&block| pages - unit.blocks[block].pages.len());
        unit.erased.len() * pages + room
    }

    /// An open block that could take fresh pages in place of a new one.
    fn lendable(&self, unit: usize, stream: Stream) -> Option<Stream> {
        let open = &self.units[unit].open;
        let order = |s: &&Stream| (!s.moved, s.map, s.region);
        open.keys().min_by_key(order).copied().filter(|_| !open.contains_key(&stream))
    }

    /// Puts a unit in line for collection if it has few erased blocks and something can be done
    /// about that.
    pub fn ask(&mut self, unit: usize, stream: Stream) {
        if self.units[unit].asks.is_some() {
            self.units[unit].asks = Some(stream);
        } else if self.units[unit].erased.len() <= self.rules.free_blocks
            && (self.gains(unit)
                || self.lendable(unit, stream).is_some()
                || (self.filling(unit).is_some() && !self.is_open(unit, stream)))
        {
            self.units[unit].asks = Some(stream);
            self.line.push_back(unit);
        }
    }

    /// Opens an erased block; where what is moved finds none, another open block has to do.
    fn open_block(&mut self, unit: usize, stream: Stream) {
        if !self.units[unit].erased.is_empty() {
            let number = self.next_erased(unit);
            self.units[unit].open.insert(stream, number);
            let block = &mut self.units[unit].blocks[number];
            (block.region, block.opened) = (stream.region, self.clock);
            return;
        }
        let unit = &mut self.units[unit];
        let order = |s: &&Stream| (s.map, s.region, s.moved);
        let other = unit
            .open
            .keys()
            .min_by_key(order)
            .copied()
            .filter(|_| stream.moved)
            .expect("the reserve");
        let number = unit.open.remove(&other).expect("it is open");
        unit.open.insert(stream, number);
    }

    /// Programs a page.
    pub fn place(&mut self, unit: usize, stream: Stream, owner: Owner) {
        // What a swap has left of a block takes what collection moves, in place of a new one.
        if stream.moved
            && !self.is_open(unit, stream)
            && let Some(block) = self.take_filling(unit)
        {
            self.units[unit].open.insert(stream, block);
        }
        if !self.is_open(unit, stream) {
            self.open_block(unit, stream);
        }
        let number = self.units[unit].open[&stream];
        if self.program(unit, number, owner) {
            self.units[unit].open.remove(&stream);
            if !stream.moved {
                self.ask(unit, stream);
            }
        }
    }

    /// Programs the next page of a block; says whether that is full now.
    pub fn program(&mut self, unit: usize, number: usize, owner: Owner) -> bool {
        self.invalidate(owner);
        let block = &mut self.units[unit].blocks[number];
        block.pages.push(Some(owner));
        block.changed = self.clock;
        self.places.insert(owner, (unit, number, block.pages.len() - 1));
        self.counts.programs += 1;
        let full = block.pages.len() == self.rules.pages_per_block;
        if full {
            self.closings += 1;
            block.closed = Some(self.closings);
            let blocks = self.units[unit].blocks.len();
            if let Some(wear) = &mut self.wear {
                wear.rests[unit].filled(number, blocks);
            }
        }
        full
    }

    /// Writes a fresh page into this unit, which has room for it.
    pub fn write(&mut self, unit: usize, stream: Stream, owner: Owner) {
        if let Owner::Page(page) = owner {
            self.trimmed.remove(&page);
            self.outlive(page);
        }
        self.place(unit, stream, owner);
        self.clock += 1;
    }

    /// A tombstone is valid as long as one of its pages has not been written again.
    fn outlive(&mut self, page: u32) {
        let without = |(&tombstone, pages): (&u32, &mut BTreeSet<u32>)| {
            (pages.remove(&page) && pages.is_empty()).then_some(tombstone)
        };
        if let Some(tombstone) = self.tombstones.iter_mut().find_map(without) {
            self.tombstones.remove(&tombstone);
            self.invalidate(Owner::Tombstone(tombstone));
        }
    }

    /// The host gives a page up.
    pub fn trim(&mut self, page: u32) {
        if self.places.contains_key(&Owner::Page(page)) {
            self.invalidate(Owner::Page(page));
            self.trimmed.insert(page);
        }
    }

    /// Whether a pool has trimmed pages that no tombstone lists.
    pub fn has_trimmed(&self, pool: usize) -> bool {
        self.trimmed.iter().any(|&page| self.pool_of_page[page as usize] == pool)
    }

    /// A tombstone for what has been trimmed in a pool; `None` where that is nothing.
    pub fn tombstone(&mut self, pool: usize) -> Option<Owner> {
        let of_pool = |page: &u32| self.pool_of_page[*page as usize] == pool;
        let pages: BTreeSet<u32> = self.trimmed.iter().copied().filter(of_pool).collect();
        if pages.is_empty() {
            return None;
        }
        self.trimmed.retain(|page| !pages.contains(page));
        self.tombstones.insert(self.next_tombstone, pages);
        self.next_tombstone += 1;
        Some(Owner::Tombstone(self.next_tombstone - 1))
    }

    /// Collects the units that are in line, each until it has enough erased blocks or nothing is
    /// gained.
    pub fn collect(&mut self) {
        if let Some(turn) = self.turns {
            return self.collect_in_turns(turn);
        }
        while let Some(unit) = self.line.pop_front() {
            let mut rounds = 0;
            while self.units[unit].erased.len() <= self.rules.free_blocks {
                rounds += 1;
                assert!(rounds < 10_000, "collection ends");
                if let Some(victim) = self.victim(unit) {
                    self.empty(unit, victim);
                    self.level(unit);
                    continue;
                }
                self.lend(unit);
                break;
            }
            self.units[unit].asks = None;
        }
    }

    /// The same in turns. A unit that has had one is looked at again: copies from others may have
    /// come.
    fn collect_in_turns(&mut self, turn: Turn) {
        let pages = if let Turn::Copies(pages) = turn { pages } else { usize::MAX };
        self.victims.resize(self.units.len(), None);
        while let Some(unit) = self.line.pop_front() {
            if self.victims[unit].is_none() {
                let is_short = self.units[unit].erased.len() <= self.rules.free_blocks;
                let victim = if is_short { self.victim(unit) } else { None };
                let Some(victim) = victim else {
                    if is_short {
                        self.lend(unit);
                    }
                    self.units[unit].asks = None;
                    continue;
                };
                self.units[unit].blocks[victim].closed = None;
                self.victims[unit] = Some(victim);
            }
            let victim = self.victims[unit].expect("chosen");
            self.empty_some(unit, victim, pages);
            if self.units[unit].blocks[victim].valid() == 0 {
                self.free(unit, victim);
                self.victims[unit] = None;
            }
            if turn == Turn::Blocks && self.units[unit].erased.len() <= self.rules.free_blocks {
                self.line.push_front(unit);
            } else {
                self.line.push_back(unit);
            }
        }
    }

    /// All closed blocks are fully valid: fresh pages go on in whatever block is open.
    pub fn lend(&mut self, unit: usize) {
        let stream = self.units[unit].asks.expect("who asked");
        if let Some(from) = self.lendable(unit, stream) {
            let block = self.units[unit].open.remove(&from).expect("it is open");
            self.units[unit].open.insert(stream, block);
            self.lent(unit, block);
        } else if !self.is_open(unit, stream)
            && let Some(block) = self.take_filling(unit)
        {
            self.lent(unit, block);
            self.units[unit].open.insert(stream, block);
        }
    }

    /// A block that takes fresh pages in place of others does not rest.
    fn lent(&mut self, unit: usize, block: usize) {
        if let Some(wear) = &mut self.wear {
            wear.rests[unit].unplan(block);
        }
    }

    /// The next unit in line for collection.
    pub fn next_in_line(&mut self) -> Option<usize> {
        self.line.pop_front()
    }

    /// Moves what is valid in a block, and erases it.
    pub fn empty(&mut self, unit: usize, victim: usize) {
        self.empty_some(unit, victim, usize::MAX);
        self.free(unit, victim);
    }

    /// Moves so many of its valid pages.
    fn empty_some(&mut self, unit: usize, victim: usize, pages: usize) {
        let owners = self.units[unit].blocks[victim].pages.clone().into_iter().flatten();
        for owner in owners.take(pages) {
            let stream = self.leaving(unit, victim);
            let target = self.target(unit, stream);
            self.counts.reads += 1;
            self.place(target, stream, owner);
        }
    }

    /// Erases a block that holds nothing valid.
    fn free(&mut self, unit: usize, victim: usize) {
        // What is erased may hold the last version of trimmed pages, and older ones lie elsewhere.
        let stream = self.leaving(unit, victim);
        if let Some(tombstone) = self.tombstone(self.pool_of_unit[unit]) {
            self.place(unit, stream, tombstone);
        }
        self.erase(unit, victim);
    }

    /// The unit that a copy goes to.
    fn target(&mut self, from: usize, stream: Stream) -> usize {
        if !self.rules.spread {
            return from;
        }
        let pool: Vec<usize> = (0..self.units.len())
            .filter(|&u| self.pool_of_unit[u] == self.pool_of_unit[from])
            .collect();
        for _ in 0..pool.len() {
            let unit = pool[self.spread_turn % pool.len()];
            self.spread_turn = (self.spread_turn + 1) % pool.len();
            if unit == from || self.has_room_to_spare(unit, stream) {
                return unit;
            }
        }
        from
    }

    /// Whether a unit takes pages that are moved without need.
    pub fn has_room_to_spare(&self, unit: usize, stream: Stream) -> bool {
        let erased = self.units[unit].erased.len();
        let to_spare =
            erased > self.rules.free_blocks || (self.is_open(unit, stream) && erased > 0);
        to_spare && self.valid(unit) < self.rules.share
    }

    pub fn erase(&mut self, of: usize, number: usize) {
        let unit = &mut self.units[of];
        let share = 1.0 / unit.blocks.len() as f64;
        unit.erased_of_late.iter_mut().for_each(|rate| *rate *= 1.0 - share);
        let block = &mut unit.blocks[number];
        unit.erased_of_late[block.region] += 1.0;
        assert_eq!(block.valid(), 0);
        *block = Block { erases: block.erases + 1, ..Block::default() };
        unit.erased.push_back(number);
        self.counts.erases += 1;
        if let Some(wear) = &mut self.wear {
            wear.erased(of, number);
        }
    }

    pub fn erases(&self) -> Vec<u32> {
        self.units.iter().flat_map(|unit| unit.blocks.iter().map(|block| block.erases)).collect()
    }
}
