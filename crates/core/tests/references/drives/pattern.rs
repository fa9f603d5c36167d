//! SUPA's FTL without a buffer: blocks striped over the channels (MULTI), kept in one (SINGLE), or partly here, partly there
//! (HYBRID). Kim, Park and Youn, section 5.4, table 2, figure 11.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Counts, Drive, DriveReference};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "pattern")],
        from: "Kim, Park and Youn, sections 3 to 5, table 2 and figure 11, and its page",
        pair,
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let (channels, chips) = (random.random_range(1..=3u32), random.random_range(1..=2u32));
    let block = if random.random() { 4 } else { 6 };
    let blocks = random.random_range(4..=9u32);
    let policy = random.random_range(0..4);
    let handler = random.random_range(0..3) > 0;
    let striping = random.random::<bool>().then(|| random.random_range(1..=channels));
    let log_blocks = random.random_range(1..=8u32);
    let threshold = random.random_range(0..=block - 1);
    let any_order = random.random_range(0..3) == 0;
    let full = random.random::<bool>();
    let mixed = if random.random() { "single" } else { "multi" };
    let name = ["by-pattern", "by-pattern", "multi", "single"][policy];
    let over = json!({
        "nand": {
            "channels": channels, "chips_per_channel": chips, "pages_per_block": block, "blocks_per_plane": 64,
        },
        "ftl": {
            "exported": format!("{} KiB", blocks * block * 4),
            "mapping": {
                "kind": "pattern", "policy": name,
                "handler": handler, "striping": striping, "log_blocks": log_blocks, "threshold": threshold,
                "in_place": if any_order { "any-order" } else { "in-order" },
                "mixed_writes": mixed,
            },
        },
        "precondition": {"state": if full { "full" } else { "empty" }},
    });
    let width = striping.unwrap_or(channels);
    let mut drive = Supa {
        block,
        width,
        // At least one striped area.
        log_blocks: log_blocks.max(width),
        threshold,
        any_order,
        handler,
        only: [None, None, Some(Policy::Multi), Some(Policy::Single)][policy],
        areas: BTreeMap::new(),
        next: 0,
        at: vec![None; (blocks * block) as usize],
        blocks: (0..blocks).map(|_| Block::default()).collect(),
        open: None,
        untold: BTreeSet::new(),
        clock: 0,
        counts: Counts::default(),
    };
    if full {
        drive.fill();
    }
    (over, Box::new(drive))
}

/// Table 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    Multi,
    Single,
    Hybrid,
}

/// A flash block, or a striped area of several.
#[derive(Default)]
struct Area {
    /// How many pages of each flash block are programmed.
    rows: Vec<u32>,
    /// Logical blocks whose data lie here.
    data: BTreeSet<u32>,
    /// How many blocks were copied into it.
    parts: u32,
    /// It is the log of this block, or of this group of blocks under MULTI, until it is full; and still one while it is merged.
    log: Option<(Policy, u32)>,
    /// Logical blocks of which it took something as a log, in the order in which they came.
    guests: Vec<u32>,
    /// When it was written last.
    used: u64,
}

/// Where the newest record of a page lies: the page, or what is left of it when it was trimmed, or a tombstone.
#[derive(Clone, Copy)]
struct Record {
    area: u32,
    column: u32,
    row: u32,
    is_trimmed: bool,
}

#[derive(Default)]
struct Block {
    policy: Option<Policy>,
    /// What its patterns since it became pattern-changed wanted, the last one last (the PCBL).
    wanted: Vec<Policy>,
    data: Option<u32>,
}

struct Supa {
    block: u32,
    width: u32,
    log_blocks: u32,
    threshold: u32,
    any_order: bool,
    handler: bool,
    only: Option<Policy>,
    areas: BTreeMap<u32, Area>,
    next: u32,
    at: Vec<Option<Record>>,
    blocks: Vec<Block>,
    /// The striped area that takes the blocks that are copied next.
    open: Option<u32>,
    /// Trimmed pages of which nothing durable says so yet.
    untold: BTreeSet<u32>,
    clock: u64,
    counts: Counts,
}

impl Supa {
    /// Every block was written whole, in order; no log is left.
    fn fill(&mut self) {
        let wants = if self.block > self.threshold { Policy::Multi } else { Policy::Single };
        let policy = self.only.unwrap_or(wants);
        for number in 0..self.blocks.len() as u32 {
            self.blocks[number as usize].policy = Some(policy);
            for page in self.pages(number) {
                self.append(number, policy, &[page], false);
            }
            let logs: Vec<u32> = self.logs().map(|(id, _)| id).collect();
            if policy == Policy::Single || (number + 1) % self.width == 0 {
                for log in logs {
                    self.merge(log);
                }
            }
        }
        let logs: Vec<u32> = self.logs().map(|(id, _)| id).collect();
        for log in logs {
            self.merge(log);
        }
        self.counts = Counts::default();
    }

    fn pages(&self, number: u32) -> std::ops::Range<u32> {
        number * self.block..(number + 1) * self.block
    }

    fn logs(&self) -> impl Iterator<Item = (u32, &Area)> {
        self.areas.iter().filter(|(_, area)| area.log.is_some()).map(|(&id, area)| (id, area))
    }

    fn new_area(&mut self, policy: Policy) -> u32 {
        let width = if policy == Policy::Multi { self.width } else { 1 };
        self.next += 1;
        self.areas.insert(self.next, Area { rows: vec![0; width as usize], ..Area::default() });
        self.next
    }

    /// An area that nothing is left in is erased: those of its flash blocks that were written to.
    fn erase_if_empty(&mut self, id: u32) {
        let area = &self.areas[&id];
        if area.data.is_empty() && area.log.is_none() && self.open != Some(id) {
            self.counts.erases += area.rows.iter().filter(|&&rows| rows > 0).count() as u64;
            self.areas.remove(&id);
        }
    }

    /// Programs a page, or a tombstone for trimmed ones, in the next row of a column.
    fn program(&mut self, id: u32, column: u32, pages: &[u32], is_trimmed: bool) {
        let area = self.areas.get_mut(&id).unwrap();
        let column = column % area.rows.len() as u32;
        let row = area.rows[column as usize];
        assert!(row < self.block, "room");
        area.rows[column as usize] += 1;
        self.counts.programs += 1;
        for &page in pages {
            self.at[page as usize] = Some(Record { area: id, column, row, is_trimmed });
            self.untold.remove(&page);
        }
    }

    /// One page more, or a tombstone of one, in the log of a block under MULTI or SINGLE. As under MNK, page p lies on flash
    /// block p modulo their number.
    fn append(&mut self, number: u32, policy: Policy, pages: &[u32], is_trimmed: bool) {
        let page = pages[0];
        let key = (policy, if policy == Policy::Multi { number / self.width } else { number });
        let width = if policy == Policy::Multi { self.width } else { 1 };
        let mine = self.logs().find(|(_, area)| area.log == Some(key)).map(|(id, _)| id);
        let is_full = |id: &u32| self.areas[id].rows[(page % width) as usize] == self.block;
        let full = mine.filter(is_full);
        if let Some(full) = full {
            self.merge(full);
        }
        let id = mine.filter(|_| full.is_none()).unwrap_or_else(|| self.new_log(key, width));
        self.clock += 1;
        let area = self.areas.get_mut(&id).unwrap();
        // A tombstone is no write of the host.
        if !is_trimmed || area.used == 0 {
            area.used = self.clock;
        }
        if !area.guests.contains(&number) {
            area.guests.push(number);
        }
        self.program(id, page, pages, is_trimmed);
    }

    /// If all are in use, the one written longest ago goes.
    fn new_log(&mut self, key: (Policy, u32), width: u32) -> u32 {
        let in_use =
            |drive: &Self| drive.logs().map(|(_, area)| area.rows.len() as u32).sum::<u32>();
        while in_use(self) + width > self.log_blocks {
            let oldest = self.logs().min_by_key(|(_, area)| area.used).unwrap().0;
            self.merge(oldest);
        }
        let id = self.new_area(key.0);
        self.areas.get_mut(&id).unwrap().log = Some(key);
        id
    }

    /// A log is merged, block by block, the one that came last first.
    fn merge(&mut self, log: u32) {
        for number in self.areas[&log].guests.clone().into_iter().rev() {
            let holds = |page: u32| self.at[page as usize].is_some_and(|record| record.area == log);
            if self.pages(number).any(holds) {
                self.merge_block(number, Some(log));
            }
        }
        self.areas.get_mut(&log).unwrap().log = None;
        self.erase_if_empty(log);
    }

    /// Section 5.4.2, "in the GC process": where a block goes.
    fn target(&self, number: u32) -> Policy {
        let block = &self.blocks[number as usize];
        match (self.only, block.policy, &block.wanted[..]) {
            (Some(only), ..) => only,
            (_, Some(Policy::Hybrid), [.., earlier, later]) if earlier == later => *later,
            (_, Some(Policy::Hybrid), _) => Policy::Multi,
            (_, settled, _) => settled.unwrap(),
        }
    }

    fn merge_block(&mut self, number: u32, log: Option<u32>) {
        let target = self.target(number);
        if !log.is_some_and(|log| self.stays(number, target, log)) {
            let (id, first) = if target == Policy::Multi {
                let id = self.open_area();
                (id, (self.areas[&id].parts - 1) * self.block)
            } else {
                (self.new_area(target), 0)
            };
            self.counts.full_merges += 1;
            self.gather(number, id, first);
        }
        let block = &mut self.blocks[number as usize];
        if let (Some(Policy::Hybrid), [.., earlier, later]) = (block.policy, &block.wanted[..])
            && earlier == later
        {
            block.policy = Some(target);
            block.wanted.clear();
        }
    }

    /// Pages of a block whose newest record is not in this area: those that are valid, and those that were trimmed.
    fn elsewhere(&self, number: u32, id: u32) -> (Vec<u32>, Vec<u32>) {
        let found = |trimmed: bool| {
            let is_there = |record: Record| record.area != id && record.is_trimmed == trimmed;
            self.pages(number)
                .filter(move |&page| self.at[page as usize].is_some_and(is_there))
                .collect()
        };
        (found(false), found(true))
    }

    /// Switch and partial merges: the log becomes the data block.
    fn stays(&mut self, number: u32, target: Policy, log: u32) -> bool {
        let offset = |page: u32| page % self.block;
        let area = &self.areas[&log];
        let width = area.rows.len() as u32;
        let (valid, trimmed) = self.elsewhere(number, log);
        // One tombstone speaks of all trimmed pages.
        let needed = valid.len() as u32 + u32::from(!trimmed.is_empty());
        let is_striped = width > 1;
        if self.width > 1 && is_striped != (target == Policy::Multi) {
            return false;
        }
        let inside: Vec<(u32, u32)> = self
            .pages(number)
            .filter_map(|page| Some((page, self.at[page as usize]?)))
            .filter(|(_, record)| record.area == log && !record.is_trimmed)
            .map(|(page, record)| (offset(page), record.row * width + record.column))
            .collect();
        let in_order = (0..width)
            .any(|part| inside.iter().all(|&(offset, slot)| slot == part * self.block + offset));
        let end = *area.rows.iter().max().unwrap();
        let has_room = valid.iter().chain(&trimmed).all(|&page| offset(page) >= end);
        let fits = self.any_order || (in_order && has_room);
        if !fits {
            return false;
        }
        if needed == 0 {
            self.counts.switch_merges += 1;
        } else if target == Policy::Single && !is_striped && end + needed <= self.block {
            self.counts.partial_merges += 1;
        } else {
            return false;
        }
        self.gather(number, log, 0);
        true
    }

    /// Everything of a block that lies elsewhere is copied to an area, with one tombstone for what was trimmed. That is where
    /// its data lie from now on.
    fn gather(&mut self, number: u32, id: u32, first: u32) {
        let (valid, trimmed) = self.elsewhere(number, id);
        for page in self.pages(number) {
            if valid.contains(&page) {
                self.counts.reads += 1;
                self.program(id, first + page % self.block, &[page], false);
            } else if trimmed.first() == Some(&page) {
                self.program(id, first + page % self.block, &trimmed, true);
            }
        }
        self.areas.get_mut(&id).unwrap().data.insert(number);
        let before = self.blocks[number as usize].data.replace(id);
        if let Some(before) = before.filter(|&before| before != id) {
            self.areas.get_mut(&before).unwrap().data.remove(&number);
            self.erase_if_empty(before);
        }
    }

    /// The striped area that takes the next block that is copied: as many of them as it has flash blocks.
    fn open_area(&mut self) -> u32 {
        if let Some(open) = self.open.filter(|id| self.areas[id].parts == self.width) {
            self.open = None;
            self.erase_if_empty(open);
        }
        let id = self.open.unwrap_or_else(|| self.new_area(Policy::Multi));
        self.open = Some(id);
        self.areas.get_mut(&id).unwrap().parts += 1;
        id
    }

    /// Table 2: where the pages of a write go, and what becomes of the block's policy.
    fn decide(&mut self, number: u32, wants: Policy) -> Policy {
        let block = &mut self.blocks[number as usize];
        if let Some(only) = self.only {
            return only;
        }
        match block.policy {
            None => block.policy = Some(wants),
            Some(Policy::Hybrid) => block.wanted.push(wants),
            Some(current) if current != wants => {
                block.policy = Some(if self.handler { Policy::Hybrid } else { wants });
                if self.handler {
                    block.wanted.push(wants);
                } else {
                    // Without the handler: rewritten there at once, what there is of it.
                    let is_valid =
                        |page: u32| self.at[page as usize].is_some_and(|record| !record.is_trimmed);
                    if self.pages(number).any(is_valid) {
                        self.merge_block(number, None);
                    }
                }
            }
            Some(_) => {}
        }
        wants
    }
}

impl Drive for Supa {
    fn write(&mut self, first: u32, count: u32) {
        for number in first / self.block..=(first + count - 1) / self.block {
            let start = number * self.block;
            let pages = first.max(start)..(first + count).min(start + self.block);
            let sequential = pages.end - pages.start > self.threshold;
            let policy =
                self.decide(number, if sequential { Policy::Multi } else { Policy::Single });
            for page in pages {
                self.append(number, policy, &[page], false);
            }
        }
    }

    fn read(&mut self, first: u32, count: u32) {
        let is_valid =
            |page: &u32| self.at[*page as usize].is_some_and(|record| !record.is_trimmed);
        self.counts.reads += (first..first + count).filter(is_valid).count() as u64;
    }

    fn trim(&mut self, first: u32, count: u32) {
        for page in first..first + count {
            if let Some(record) =
                self.at[page as usize].as_mut().filter(|record| !record.is_trimmed)
            {
                record.is_trimmed = true;
                self.untold.insert(page);
            }
        }
    }

    /// A tombstone for each block of which pages were trimmed; those of pattern-changed blocks are no pattern, and go to SINGLE.
    fn flush(&mut self) {
        let told = std::mem::take(&mut self.untold);
        for number in 0..self.blocks.len() as u32 {
            let pages: Vec<u32> = told.range(self.pages(number)).copied().collect();
            if pages.is_empty() {
                continue;
            }
            let settled = self.blocks[number as usize].policy;
            let policy = self.only.or(settled).filter(|&policy| policy != Policy::Hybrid);
            self.append(number, policy.unwrap_or(Policy::Single), &pages, true);
        }
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}
