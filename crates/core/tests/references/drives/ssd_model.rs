//! The Microsoft SSD model: the page map of Agrawal et al.'s add-on for `DiskSim`.
//!
//! Facts of the add-on as its page and the description of its sources give them: "OSR page map",
//! "allocation pool logic", the two paths of cleaning, and cleaning that looks at wear. What is
//! left to chance there is not compared: blocks are passed over always or never, as those whose
//! life is one erase are.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Counts, Drive, DriveReference};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "ssd-model")],
        from: "its page, and a description of the add-on's public sources",
        pair,
    }
}

/// What is drawn.
#[derive(Debug, Clone)]
struct Plan {
    elements: u32,
    dies: usize,
    /// Planes of an element.
    planes: usize,
    blocks: usize,
    pages: usize,
    stride: u32,
    by_plane: bool,
    own_plane: bool,
    low: usize,
    wear: Option<Wear>,
}

/// Cleaning that looks at wear.
#[derive(Debug, Clone)]
struct Wear {
    lifetime: u32,
    migrate_below: f64,
    ration_below: f64,
}

impl Wear {
    /// Shares of the life are random draws, so only a life of one erase is rationed.
    fn draw(random: &mut Pcg64Mcg) -> Self {
        let lifetime = random.random_range(1..=30);
        let is_rationed = lifetime == 1 || random.random_range(0..4) == 0;
        Self {
            lifetime: if is_rationed { 1 } else { lifetime },
            migrate_below: if is_rationed {
                0.0
            } else {
                [0.5, 0.85, 1.0][random.random_range(0..3)]
            },
            ration_below: if is_rationed { [0.8, 1.0][random.random_range(0..2)] } else { 0.0 },
        }
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let (channels, chips) = (random.random_range(1..=2), random.random_range(1..=2));
    let (dies, planes_per_die) = (random.random_range(1..=2), random.random_range(1..=2));
    let blocks: usize = random.random_range(8..=16);
    let pages: usize = random.random_range(2..=6);
    let by_plane: bool = random.random();
    let planes = dies * planes_per_die;
    let min_free = [0.05, 0.1, 0.2][random.random_range(0..3)];
    let watched = if by_plane { blocks } else { blocks * planes };
    let plan = Plan {
        elements: channels * chips,
        dies,
        planes,
        blocks,
        pages,
        stride: random.random_range(1..=3),
        by_plane,
        own_plane: random.random(),
        low: ((min_free * watched as f64).floor() as usize).max(1),
        wear: random.random::<bool>().then(|| Wear::draw(random)),
    };
    let block_mapping = ["concatenated", "pair-stripe", "full-stripe"][random.random_range(0..3)];
    let reserve = [0.21, 0.3, 0.4][random.random_range(0..3)];
    // What is left beside the reserve and the summaries, or less; but whole logical blocks.
    let hidden = (reserve * blocks as f64).floor() as usize;
    // Besides, the watermark and two blocks are kept of each plane, or of each element; the fullest
    // element counts.
    let kept = if by_plane {
        planes * hidden.max(plan.low + 2)
    } else {
        (planes * hidden).max(plan.low + 2)
    };
    let stripe = plan.stride as usize;
    // A page of each element is kept for what is written again after a trim.
    let most =
        ((planes * blocks - kept) * (pages - 1) - 1) / stripe * stripe * plan.elements as usize;
    // Of several planes none comes near the share of the pages that it may hold.
    let share = if by_plane && planes > 1 { 2..=4 } else { 5..=8 };
    let exported = (most * random.random_range(share) / 8 / pages).max(1) * pages;
    let full: bool = random.random();
    let mut mapping = json!({
        "kind": "ssd-model", "stride": plan.stride, "reserve": reserve, "min_free": min_free,
        "active": if by_plane { "plane" } else { "element" },
        "pool": if plan.own_plane { "plane" } else { "element" },
        "block_mapping": block_mapping,
    });
    if let Some(wear) = &plan.wear {
        mapping["cleaning"] = json!("wear-aware");
        mapping["lifetime"] = json!(wear.lifetime);
        mapping["migrate_below"] = json!(wear.migrate_below);
        mapping["ration_below"] = json!(wear.ration_below);
    }
    let over = json!({
        "nand": {"channels": channels, "chips_per_channel": chips, "dies_per_chip": dies,
            "planes_per_die": planes_per_die, "blocks_per_plane": blocks, "pages_per_block": pages},
        "ftl": {
            "mapping": mapping,
            "exported": format!("{} KiB", 4 * exported),
        },
        "precondition": {"state": if full { "full" } else { "empty" }},
    });
    let mut model = Model::new(plan);
    if full {
        for first in (0..exported as u32).step_by(pages) {
            model.write(first, pages as u32);
        }
        model.counts = Counts::default();
        for block in
            model.elements.iter_mut().flat_map(|e| &mut e.rooms).flat_map(|room| &mut room.blocks)
        {
            block.erases = 0;
        }
    }
    (over, Box::new(model))
}

/// Whose page it is: a logical page, or trims that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Page(u32),
    Trims(u32),
}

#[derive(Debug, Clone, Default)]
struct Block {
    /// Data pages so far; those out of date hold nothing.
    data: Vec<Option<Owner>>,
    is_sealed: bool,
    is_open: bool,
    /// Blocks that the element had opened before.
    sequence: u64,
    erases: u32,
    /// Erases of the whole drive before it was erased last; 0 if it never was.
    erased_at: u64,
}

impl Block {
    fn valid(&self) -> usize {
        self.data.iter().flatten().count()
    }

    fn is_erased(&self) -> bool {
        !self.is_sealed && !self.is_open
    }
}

/// Blocks with one active block: those of a plane, or of an element.
#[derive(Debug)]
struct Room {
    blocks: Vec<Block>,
    active: Option<usize>,
    taken_last: Option<usize>,
}

impl Room {
    fn erased(&self) -> usize {
        self.blocks.iter().filter(|block| block.is_erased()).count()
    }

    fn free_pages(&self, pages: usize) -> usize {
        let open = self.active.map_or(0, |block| pages - 1 - self.blocks[block].data.len());
        self.erased() * (pages - 1) + open
    }
}

#[derive(Debug)]
struct Element {
    rooms: Vec<Room>,
    written_last: usize,
    opened: u64,
    /// Of each die, the plane whose turn it is.
    turns: Vec<usize>,
}

#[derive(Debug)]
struct Model {
    plan: Plan,
    elements: Vec<Element>,
    /// Element, room, block, page in it.
    places: BTreeMap<Owner, (usize, usize, usize, usize)>,
    /// Element and die of what is in line to be cleaned, in the order in which it was asked for,
    /// and which plane it is; 0 for an element with one active block.
    asked: Vec<((usize, usize), usize)>,
    /// Trimmed since the last flush.
    trimmed: BTreeSet<u32>,
    /// What each kept list of trims still stands for.
    lists: BTreeMap<u32, BTreeSet<u32>>,
    next_list: u32,
    counts: Counts,
    /// Erases so far, those before the run too.
    clock: u64,
}

impl Model {
    fn new(plan: Plan) -> Self {
        let (rooms, blocks) =
            if plan.by_plane { (plan.planes, plan.blocks) } else { (1, plan.planes * plan.blocks) };
        let element = || Element {
            rooms: (0..rooms)
                .map(|_| Room {
                    blocks: vec![Block::default(); blocks],
                    active: None,
                    taken_last: None,
                })
                .collect(),
            written_last: rooms - 1,
            opened: 0,
            turns: vec![0; plan.dies],
        };
        Self {
            elements: (0..plan.elements).map(|_| element()).collect(),
            plan,
            places: BTreeMap::new(),
            asked: Vec::new(),
            trimmed: BTreeSet::new(),
            lists: BTreeMap::new(),
            next_list: 0,
            counts: Counts::default(),
            clock: 0,
        }
    }

    /// "Striping": element = (page div stride) mod elements.
    fn element_of(&self, page: u32) -> usize {
        (page / self.plan.stride % self.plan.elements) as usize
    }

    fn invalidate(&mut self, owner: Owner) {
        if let Some((e, r, b, p)) = self.places.remove(&owner) {
            self.elements[e].rooms[r].blocks[b].data[p] = None;
        }
    }

    /// The page is newer than all that lists of trims say of it.
    fn is_written(&mut self, page: u32) {
        self.trimmed.remove(&page);
        let lists: Vec<u32> = self
            .lists
            .iter()
            .filter(|(_, pages)| pages.contains(&page))
            .map(|(&list, _)| list)
            .collect();
        for list in lists {
            let pages = self.lists.get_mut(&list).unwrap();
            pages.remove(&page);
            if pages.is_empty() {
                self.lists.remove(&list);
                self.invalidate(Owner::Trims(list));
            }
        }
    }

    /// "Allocation pool logic".
    fn choose_room(&mut self, e: usize, owner: Owner) -> Option<usize> {
        let has_room = |room: &Room| room.active.is_some() || room.erased() > 1;
        let home = self.places.get(&owner).map(|place| place.1).filter(|_| self.plan.own_plane);
        let looked_at = |r: usize| home.is_none_or(|home| home == r);
        let rooms = self.elements[e].rooms.iter().enumerate();
        if rooms.clone().any(|(r, room)| looked_at(r) && !has_room(room)) {
            self.ask(e);
        }
        let element = &self.elements[e];
        let old = self.places.get(&owner).filter(|place| place.0 == e);
        // The last erased block is kept for cleaning.
        let takes = |r: usize| element.rooms[r].active.is_some() || element.rooms[r].erased() > 1;
        if let (true, Some(old)) = (self.plan.own_plane, old) {
            return Some(old.1).filter(|&r| takes(r));
        }
        let rooms = element.rooms.len();
        let is_newer = |r: usize| {
            let room = &element.rooms[r];
            old.is_none_or(|&(_, or, ob, op)| {
                let copy = (element.rooms[or].blocks[ob].sequence, op);
                // A block that is yet to be opened is the newest.
                room.active
                    .is_none_or(|b| (room.blocks[b].sequence, room.blocks[b].data.len()) > copy)
            })
        };
        let mut best: Option<usize> = None;
        for r in (1..=rooms)
            .map(|n| (element.written_last + n) % rooms)
            .filter(|&r| is_newer(r) && takes(r))
        {
            let free = |r: usize| element.rooms[r].free_pages(self.plan.pages);
            if best.is_none_or(|best| free(r) > free(best)) {
                best = Some(r);
            }
        }
        best
    }

    /// Appends to the active block; its last data page brings the summary.
    fn append(&mut self, e: usize, r: usize, owner: Owner) {
        let element = &mut self.elements[e];
        let room = &mut element.rooms[r];
        let active = room.active.unwrap_or_else(|| {
            let count = room.blocks.len();
            let start = room.taken_last.map_or(0, |last| last + 1);
            let next = (0..count)
                .map(|n| (start + n) % count)
                .find(|&b| room.blocks[b].is_erased())
                .expect("room");
            element.opened += 1;
            (room.blocks[next].sequence, room.blocks[next].is_open) = (element.opened, true);
            (room.active, room.taken_last) = (Some(next), Some(next));
            next
        });
        let block = &mut room.blocks[active];
        block.data.push(Some(owner));
        let place = (e, r, active, block.data.len() - 1);
        self.counts.programs += 1;
        if block.data.len() == self.plan.pages - 1 {
            self.counts.programs += 1;
            (block.is_sealed, block.is_open, room.active) = (true, false, None);
        }
        self.invalidate(owner);
        self.places.insert(owner, place);
    }

    fn write_one(&mut self, e: usize, owner: Owner) {
        let mut room = self.choose_room(e, owner);
        for _ in 0..4 {
            if room.is_some() {
                break;
            }
            // What is in line is cleaned first where no plane has room.
            self.clean_what_asked();
            room = self.choose_room(e, owner);
        }
        let room = room.expect("room after cleaning");
        self.append(e, room, owner);
        if let Owner::Page(page) = owner {
            self.is_written(page);
        }
        self.elements[e].written_last = room;
        self.ask(e);
    }

    /// A page has been written: each die gets one plane that is short in line to be cleaned, if
    /// none is; they take turns.
    fn ask(&mut self, e: usize) {
        if !self.plan.by_plane {
            let is_asked = self.asked.iter().any(|&(of, _)| of == (e, 0));
            if self.elements[e].rooms[0].erased() <= self.plan.low && !is_asked {
                self.asked.push(((e, 0), 0));
            }
            return;
        }
        let each = self.plan.planes / self.plan.dies;
        for die in 0..self.plan.dies {
            let turn = self.elements[e].turns[die];
            let short = |&plane: &usize| {
                let room = &self.elements[e].rooms[plane * self.plan.dies + die];
                let gains =
                    room.blocks.iter().any(|b| b.is_sealed && b.valid() < self.plan.pages - 1);
                room.erased() <= self.plan.low && gains
            };
            let next = (1..=each).map(|n| (turn + n) % each).find(short);
            if let (Some(plane), false) = (next, self.asked.iter().any(|&(of, _)| of == (e, die))) {
                self.elements[e].turns[die] = plane;
                self.asked.push(((e, die), plane * self.plan.dies + die));
            }
        }
    }

    /// Cleans what is in line: after the pages of one logical block that a request writes.
    fn clean_what_asked(&mut self) {
        for ((e, _), room) in std::mem::take(&mut self.asked) {
            if self.plan.by_plane { self.clean_plane(e, room) } else { self.clean_element(e) }
        }
    }

    fn erase(&mut self, e: usize, r: usize, b: usize) {
        let block = &mut self.elements[e].rooms[r].blocks[b];
        assert!(block.valid() == 0, "erased with data");
        self.clock += 1;
        *block = Block { erases: block.erases + 1, erased_at: self.clock, ..Block::default() };
        self.counts.erases += 1;
    }

    /// What is valid in a block moves to the active block of its room, and it is erased.
    fn clean(&mut self, e: usize, r: usize, b: usize) {
        let owners: Vec<Owner> =
            self.elements[e].rooms[r].blocks[b].data.iter().flatten().copied().collect();
        for owner in owners {
            self.counts.reads += 1;
            self.append(e, r, owner);
        }
        // Before anything is erased it is kept what the host has trimmed: an older version may lie
        // elsewhere.
        if let Some(list) = self.take_trims(e) {
            self.append(e, r, list);
        }
        self.erase(e, r, b);
    }

    /// What was trimmed of an element since the last list, as a new one.
    fn take_trims(&mut self, e: usize) -> Option<Owner> {
        let pages: BTreeSet<u32> =
            self.trimmed.iter().copied().filter(|&page| self.element_of(page) == e).collect();
        if pages.is_empty() {
            return None;
        }
        self.trimmed.retain(|page| !pages.contains(page));
        self.lists.insert(self.next_list, pages);
        self.next_list += 1;
        Some(Owner::Trims(self.next_list - 1))
    }

    /// Copy-back path: one block of one plane.
    fn clean_plane(&mut self, e: usize, r: usize) {
        let room = &self.elements[e].rooms[r];
        // The upward scan takes what is no worse than the best so far, and puts it first.
        let mut list: Vec<usize> = Vec::new();
        for (b, block) in room.blocks.iter().enumerate().filter(|(_, block)| block.is_sealed) {
            if list.first().is_none_or(|&best| block.valid() <= room.blocks[best].valid()) {
                list.insert(0, b);
            }
        }
        let Some(&best) = list.first() else { return };
        if room.blocks[best].valid() == self.plan.pages - 1 {
            return;
        }
        let Some(wear) = self.plan.wear.clone() else { return self.clean(e, r, best) };
        let life = |b: usize| f64::from(wear.lifetime.saturating_sub(room.blocks[b].erases));
        let average = (0..room.blocks.len()).map(life).sum::<f64>() / room.blocks.len() as f64;
        let last = *list.last().unwrap();
        for b in list {
            if b == last {
                // "The last in the list is always accepted."
            } else if life(b) < wear.migrate_below * average && room.erased() > 1 {
                return self.migrate(e, r, b);
            } else if life(b) < wear.ration_below * average {
                assert!(life(b) == 0.0, "no draws");
                continue;
            }
            // A block whose pages are all valid gives way to the one with the fewest.
            let is_full = room.blocks[b].valid() == self.plan.pages - 1;
            return self.clean(e, r, if is_full { best } else { b });
        }
    }

    /// "Migrate cold data": the worn block is cleaned and takes what is valid in the block that was
    /// erased longest ago, which is erased in its place.
    fn migrate(&mut self, e: usize, r: usize, worn: usize) {
        let sealed = self.elements[e].rooms[r]
            .blocks
            .iter()
            .enumerate()
            .filter(|(_, block)| block.is_sealed);
        // Data are what the sources look for: a block without any is not cold.
        let others = sealed.filter(|&(b, block)| b != worn && block.valid() > 0);
        let cold = others.min_by_key(|(_, block)| block.erased_at);
        let cold = cold.map(|(b, _)| b);
        self.clean(e, r, worn);
        let Some(cold) = cold else { return };
        let blocks = &mut self.elements[e].rooms[r].blocks;
        (blocks[worn].sequence, blocks[worn].is_sealed) = (blocks[cold].sequence, true);
        let owners: Vec<Owner> = blocks[cold].data.iter().flatten().copied().collect();
        for owner in owners {
            self.counts.reads += 1;
            self.counts.programs += 1;
            self.invalidate(owner);
            let data = &mut self.elements[e].rooms[r].blocks[worn].data;
            data.push(Some(owner));
            self.places.insert(owner, (e, r, worn, data.len() - 1));
        }
        self.erase(e, r, cold);
    }

    /// The other path: blocks in the order of what they held at the start, until there are two more
    /// than the low mark.
    fn clean_element(&mut self, e: usize) {
        let room = &self.elements[e].rooms[0];
        if room.erased() > self.plan.low {
            return;
        }
        let mut order: Vec<(usize, usize)> = room
            .blocks
            .iter()
            .enumerate()
            .filter(|(_, block)| block.is_sealed && block.valid() < self.plan.pages - 1)
            .map(|(b, block)| (block.valid(), b))
            .collect();
        order.sort_unstable();
        // "Here wear-aware only rate-limits": by the average of the beginning. Its page: "the last
        // in order is cleaned".
        let lives: Option<(f64, u32)> = self.plan.wear.as_ref().map(|wear| {
            let life = |block: &Block| f64::from(wear.lifetime.saturating_sub(block.erases));
            let average = room.blocks.iter().map(life).sum::<f64>() / room.blocks.len() as f64;
            (wear.ration_below * average, wear.lifetime)
        });
        let last = order.last().map(|&(_, b)| b);
        for (_, b) in order {
            let room = &self.elements[e].rooms[0];
            if room.erased() >= self.plan.low + 2 {
                break;
            }
            let life = |lifetime: u32| f64::from(lifetime.saturating_sub(room.blocks[b].erases));
            if lives.is_some_and(|(least, lifetime)| life(lifetime) < least) && last != Some(b) {
                continue;
            }
            self.clean(e, 0, b);
        }
    }
}

impl Drive for Model {
    fn write(&mut self, first: u32, count: u32) {
        for page in first..first + count {
            if page.is_multiple_of(self.plan.pages as u32) {
                self.clean_what_asked();
            }
            self.write_one(self.element_of(page), Owner::Page(page));
        }
        self.clean_what_asked();
    }

    fn read(&mut self, first: u32, count: u32) {
        let is_there = |page: &u32| self.places.contains_key(&Owner::Page(*page));
        self.counts.reads += (first..first + count).filter(is_there).count() as u64;
    }

    fn trim(&mut self, first: u32, count: u32) {
        for page in first..first + count {
            if self.places.contains_key(&Owner::Page(page)) {
                self.invalidate(Owner::Page(page));
                self.trimmed.insert(page);
            }
        }
    }

    fn flush(&mut self) {
        for e in 0..self.elements.len() {
            let is_due = self.trimmed.iter().any(|&page| self.element_of(page) == e);
            if is_due && self.choose_room(e, Owner::Trims(self.next_list)).is_none() {
                // The cleaning that makes room stores the trims itself.
                self.clean_what_asked();
            }
            if let Some(list) = self.take_trims(e) {
                self.write_one(e, list);
                self.clean_what_asked();
            }
        }
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn erases(&self) -> Option<Vec<u32>> {
        let blocks = self.elements.iter().flat_map(|e| &e.rooms).flat_map(|room| &room.blocks);
        Some(blocks.map(|block| block.erases).collect())
    }
}
