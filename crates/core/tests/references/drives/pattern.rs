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
    let over = json!({
        "nand": {
            "channels": channels, "chips_per_channel": chips, "pages_per_block": block, "blocks_per_plane": 64,
        },
        "ftl": {
            "exported": format!("{} KiB", blocks * block * 4),
            "mapping": {
                "kind": "pattern", "policy": ["by-pattern", "by-pattern", "multi", "single"][policy],
                "handler": handler, "striping": striping, "log_blocks": log_blocks, "threshold": threshold,
                "in_place": if any_order { "any-order" } else { "in-order" },
                "mixed_writes": if random.random() { "single" } else { "multi" },
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
        places: BTreeMap::new(),
        next: 0,
        at: vec![None; (blocks * block) as usize],
        blocks: (0..blocks).map(|_| Block::default()).collect(),
        open: None,
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

/// A flash block, or a striped area of several. Slot `n` of an area is row `n / width` of its flash block `n % width`.
struct Place {
    width: u32,
    /// The pages programmed so far, in the order of the slots; `None` is a tombstone.
    written: Vec<Option<u32>>,
    /// Logical blocks whose data lie here.
    data: BTreeSet<u32>,
    /// How many blocks were copied into it.
    parts: u32,
    /// It is the log of this block, or of this group of blocks under MULTI.
    log: Option<(Policy, u32)>,
    /// When it was written last.
    used: u64,
}

#[derive(Default)]
struct Block {
    policy: Option<Policy>,
    /// What its patterns since it became pattern-changed wanted, the last one last (the PCBL).
    wanted: Vec<Policy>,
    data: Option<u32>,
    /// Pages were trimmed, and nothing durable says so yet.
    trimmed: bool,
}

struct Supa {
    block: u32,
    width: u32,
    log_blocks: u32,
    threshold: u32,
    any_order: bool,
    handler: bool,
    only: Option<Policy>,
    places: BTreeMap<u32, Place>,
    next: u32,
    /// Place and slot of each page.
    at: Vec<Option<(u32, u32)>>,
    blocks: Vec<Block>,
    /// The striped area that takes what is merged next.
    open: Option<u32>,
    clock: u64,
    counts: Counts,
}

impl Supa {
    /// Every block was written whole, in order.
    fn fill(&mut self) {
        for number in 0..self.blocks.len() as u32 {
            let policy = self.only.unwrap_or(if self.block > self.threshold {
                Policy::Multi
            } else {
                Policy::Single
            });
            let pages: Vec<u32> = (number * self.block..(number + 1) * self.block).collect();
            self.copy_together(number, policy, &pages);
            self.blocks[number as usize].policy = Some(policy);
        }
        self.counts = Counts::default();
    }

    fn new_place(&mut self, width: u32) -> u32 {
        self.next += 1;
        let written = Vec::new();
        let place = Place { width, written, data: BTreeSet::new(), parts: 0, log: None, used: 0 };
        self.places.insert(self.next, place);
        self.next
    }

    fn erase(&mut self, id: u32) {
        let gone = self.places.remove(&id).unwrap();
        self.counts.erases += u64::from(gone.width);
        if self.open == Some(id) {
            self.open = None;
        }
    }

    /// Valid pages of a block, wherever they lie.
    fn valid_pages(&self, number: u32) -> Vec<u32> {
        let pages = number * self.block..(number + 1) * self.block;
        pages.filter(|&page| self.at[page as usize].is_some()).collect()
    }

    fn lies_in(&self, page: u32, id: u32) -> Option<u32> {
        self.at[page as usize].filter(|&(place, _)| place == id).map(|(_, slot)| slot)
    }

    fn log_of(&self, key: (Policy, u32)) -> Option<u32> {
        self.places.iter().find(|(_, place)| place.log == Some(key)).map(|(&id, _)| id)
    }

    /// One page more, or a tombstone, in the log of a block under MULTI or SINGLE.
    fn append(&mut self, number: u32, policy: Policy, page: Option<u32>) {
        let key = (policy, if policy == Policy::Multi { number / self.width } else { number });
        let width = if policy == Policy::Multi { self.width } else { 1 };
        let capacity = (width * self.block) as usize;
        if let Some(full) = self.log_of(key).filter(|id| self.places[id].written.len() == capacity) {
            self.merge(full);
        }
        let id = self.log_of(key).unwrap_or_else(|| self.new_log(key, width));
        self.clock += 1;
        let place = self.places.get_mut(&id).unwrap();
        place.used = self.clock;
        place.written.push(page);
        self.counts.programs += 1;
        if let Some(page) = page {
            self.at[page as usize] = Some((id, place.written.len() as u32 - 1));
        }
    }

    /// If all are in use, the one written longest ago goes.
    fn new_log(&mut self, key: (Policy, u32), width: u32) -> u32 {
        loop {
            let logs = || self.places.iter().filter(|(_, place)| place.log.is_some());
            if logs().map(|(_, place)| place.width).sum::<u32>() + width <= self.log_blocks {
                break;
            }
            let oldest = *logs().min_by_key(|(_, place)| place.used).unwrap().0;
            self.merge(oldest);
        }
        let id = self.new_place(width);
        self.places.get_mut(&id).unwrap().log = Some(key);
        id
    }

    /// A log is merged, block by block.
    fn merge(&mut self, log: u32) {
        for number in 0..self.blocks.len() as u32 {
            if self.valid_pages(number).iter().any(|&page| self.lies_in(page, log).is_some()) {
                self.merge_block(number, Some(log));
            }
        }
        let place = self.places.get_mut(&log).unwrap();
        place.log = None;
        if place.data.is_empty() {
            self.erase(log);
        }
    }

    /// Section 5.4.2, "in the GC process": where a block goes.
    fn target(&mut self, number: u32) -> Policy {
        if let Some(only) = self.only {
            return only;
        }
        let block = &mut self.blocks[number as usize];
        if block.policy != Some(Policy::Hybrid) {
            return block.policy.unwrap();
        }
        if let [.., earlier, later] = block.wanted[..] && earlier == later {
            block.policy = Some(later);
            block.wanted.clear();
            return later;
        }
        Policy::Multi
    }

    fn merge_block(&mut self, number: u32, log: Option<u32>) {
        let target = self.target(number);
        let pages = self.valid_pages(number);
        let kept = log.is_some_and(|log| self.stays(number, target, &pages, log));
        if !kept {
            self.copy_together(number, target, &pages);
            self.counts.full_merges += 1;
        }
        self.blocks[number as usize].trimmed = false;
        // A log of the block alone that holds nothing any more.
        if let Some(own) = self.log_of((Policy::Single, number)).filter(|own| Some(*own) != log) {
            self.erase(own);
        }
    }

    /// Switch and partial merges: the log becomes the data block.
    fn stays(&mut self, number: u32, target: Policy, pages: &[u32], log: u32) -> bool {
        let (key, _) = self.places[&log].log.unwrap();
        if key != target {
            return false;
        }
        let offset = |page: u32| page % self.block;
        let inside: Vec<(u32, u32)> =
            pages.iter().filter_map(|&page| Some((page, self.lies_in(page, log)?))).collect();
        let missing: Vec<u32> =
            pages.iter().copied().filter(|&page| self.lies_in(page, log).is_none()).collect();
        let parts = if target == Policy::Multi { self.width } else { 1 };
        let in_order = (0..parts)
            .any(|part| inside.iter().all(|&(page, slot)| slot == part * self.block + offset(page)));
        if !in_order && !self.any_order {
            return false;
        }
        let written = self.places[&log].written.len() as u32;
        if missing.is_empty() {
            self.counts.switch_merges += 1;
        } else {
            let has_room = if self.any_order {
                written + missing.len() as u32 <= self.block
            } else {
                missing.iter().all(|&page| offset(page) >= written)
            };
            if target == Policy::Multi || !has_room {
                return false;
            }
            self.counts.reads += missing.len() as u64;
            self.counts.programs += missing.len() as u64;
            self.counts.partial_merges += 1;
        }
        for &page in pages {
            let slot = page % self.block;
            self.at[page as usize] = Some((log, self.lies_in(page, log).unwrap_or(slot)));
        }
        self.settle(number, Some(log));
        true
    }

    /// All pages of a block are copied together: under SINGLE into a flash block, under MULTI next to others.
    fn copy_together(&mut self, number: u32, target: Policy, pages: &[u32]) {
        if pages.is_empty() {
            self.settle(number, None);
            return;
        }
        let id = if target == Policy::Multi {
            self.open.unwrap_or_else(|| self.new_place(self.width))
        } else {
            self.new_place(1)
        };
        let place = self.places.get_mut(&id).unwrap();
        place.parts += 1;
        if target == Policy::Multi {
            self.open = (place.parts < self.width).then_some(id);
        }
        self.counts.reads += pages.len() as u64;
        self.counts.programs += pages.len() as u64;
        for &page in pages {
            self.at[page as usize] = Some((id, 0));
        }
        self.settle(number, Some(id));
    }

    /// The data of a block lie here from now on; what lay before is erased, if nobody else's is there.
    fn settle(&mut self, number: u32, id: Option<u32>) {
        let before = std::mem::replace(&mut self.blocks[number as usize].data, id);
        if let Some(id) = id {
            self.places.get_mut(&id).unwrap().data.insert(number);
        }
        if let Some(before) = before.filter(|&before| Some(before) != id) {
            let place = self.places.get_mut(&before).unwrap();
            place.data.remove(&number);
            if place.data.is_empty() && place.log.is_none() {
                self.erase(before);
            }
        }
    }

    /// Table 2: where the pages of a write go, and what becomes of the block's policy.
    fn decide(&mut self, number: u32, wants: Policy) -> Policy {
        if let Some(only) = self.only {
            return only;
        }
        let block = &mut self.blocks[number as usize];
        match block.policy {
            None => block.policy = Some(wants),
            Some(Policy::Hybrid) => block.wanted.push(wants),
            Some(current) if current != wants => {
                block.policy = Some(if self.handler { Policy::Hybrid } else { wants });
                if self.handler {
                    block.wanted.push(wants);
                } else {
                    // Without the handler: rewritten there at once.
                    self.merge_block(number, None);
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
            let policy = self.decide(number, if sequential { Policy::Multi } else { Policy::Single });
            for page in pages {
                self.append(number, policy, Some(page));
            }
        }
    }

    fn read(&mut self, first: u32, count: u32) {
        self.counts.reads +=
            (first..first + count).filter(|&page| self.at[page as usize].is_some()).count() as u64;
    }

    fn trim(&mut self, first: u32, count: u32) {
        for page in first..first + count {
            if self.at[page as usize].take().is_some() {
                self.blocks[(page / self.block) as usize].trimmed = true;
            }
        }
    }

    fn flush(&mut self) {
        for number in 0..self.blocks.len() as u32 {
            if std::mem::take(&mut self.blocks[number as usize].trimmed) {
                let block = &self.blocks[number as usize];
                let policy = self.only.unwrap_or(match block.policy.unwrap() {
                    Policy::Hybrid => *block.wanted.last().unwrap(),
                    settled => settled,
                });
                self.append(number, policy, None);
            }
        }
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}
