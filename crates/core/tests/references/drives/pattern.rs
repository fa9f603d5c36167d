//! SUPA's FTL: blocks striped over the channels (MULTI), kept in one (SINGLE), or partly here,
//! partly there (HYBRID). Kim, Park and Youn, section 5.4, table 2, figure 11. `hints_agree.rs` has
//! it with a buffer that tells of patterns.

use std::collections::{BTreeMap, BTreeSet};

use eraseblock_core::pattern::{Access, Hint, Pattern};
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
    let (over, drive) = draw(random);
    (over, Box::new(drive))
}

pub fn draw(random: &mut Pcg64Mcg) -> (Value, Supa) {
    let (channels, chips) = (random.random_range(1..=3u32), random.random_range(1..=2u32));
    let block = if random.random() { 4 } else { 6 };
    let policy = random.random_range(0..4);
    let handler = random.random_range(0..3) > 0;
    let striping = random.random::<bool>().then(|| random.random_range(1..=channels));
    let log_blocks = random.random_range(1..=8u32);
    let threshold = random.random_range(0..=block - 1);
    let any_order = random.random_range(0..3) == 0;
    let full = random.random::<bool>();
    let mixed = if random.random() { "single" } else { "multi" };
    let width = striping.unwrap_or(channels);
    // At least one striped area; three to merge into and for a new log, and what two may waste.
    let most_logs = log_blocks.max(width);
    let needed = most_logs + 3 * width + 2 * (width - 1);
    let (blocks, a_plane) = if random.random() {
        (random.random_range(4..=9), 64)
    } else {
        let a_plane = (needed + random.random_range(3..=9u32)).div_ceil(channels * chips);
        let spare = random.random_range(0..=2);
        (channels * chips * a_plane - needed - spare, a_plane)
    };
    let merge_erase = if random.random() { "after" } else { "before" };
    let order = if random.random() { "ascending" } else { "any" };
    let name = ["by-pattern", "by-pattern", "multi", "single"][policy];
    let over = json!({
        "nand": {
            "channels": channels, "chips_per_channel": chips, "pages_per_block": block, "blocks_per_plane": a_plane,
            "program_order": order,
        },
        "ftl": {
            "exported": format!("{} KiB", blocks * block * 4),
            "mapping": {
                "kind": "pattern", "policy": name,
                "handler": handler, "striping": striping, "log_blocks": log_blocks, "threshold": threshold,
                "in_place": if any_order { "any-order" } else { "in-order" },
                "mixed_writes": mixed, "merge_erase": merge_erase,
            },
        },
        "precondition": {"state": if full { "full" } else { "empty" }},
    });
    let mut drive = Supa {
        block,
        width,
        log_blocks: most_logs,
        erased: channels * chips * a_plane,
        named: None,
        is_whole: false,
        emptied: 0,
        threshold,
        any_order,
        handler,
        mixed: if mixed == "single" { Policy::Single } else { Policy::Multi },
        only: [None, None, Some(Policy::Multi), Some(Policy::Single)][policy],
        areas: BTreeMap::new(),
        sparse: Vec::new(),
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
    (over, drive)
}

/// Table 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    Multi,
    Single,
    Hybrid,
}

/// On which channel an area of one flash block lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lies {
    On(u32),
    /// On any one, as this area.
    As(u32),
}

/// Where a block would be written, as a buffer asks: section 5.3.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Striped,
    /// To its log, or where its log or its data lie unless all of it is written.
    Log(Lies),
    Home(Lies),
    Anywhere,
}

/// A flash block, or a striped area of several.
#[derive(Default)]
struct Area {
    lies: Option<Lies>,
    /// How many pages of each flash block are programmed.
    rows: Vec<u32>,
    /// Logical blocks whose data lie here, in the order in which they came.
    data: Vec<u32>,
    /// How many blocks were copied into it.
    parts: u32,
    /// It is the log of this block, or of this group of blocks under MULTI, until it is full; and
    /// still one while it is merged.
    log: Option<(Policy, u32)>,
    /// Logical blocks of which it took something as a log, in the order in which they came.
    guests: Vec<u32>,
    /// When it was written last.
    used: u64,
}

/// Where the newest record of a page lies: the page, or what is left of it when it was trimmed, or
/// a tombstone.
#[derive(Clone, Copy)]
struct Record {
    area: u32,
    column: u32,
    row: u32,
    is_trimmed: bool,
}

#[derive(Default)]
struct Block {
    kept: Kept,
    /// How it was kept before the pattern of this stay in the buffer was told.
    before: Option<Kept>,
    data: Option<u32>,
}

/// How the pattern handler keeps a block.
#[derive(Default, Clone, Debug)]
struct Kept {
    policy: Option<Policy>,
    /// What its patterns since it became pattern-changed wanted, the last one last (the PCBL).
    /// Random writes to a block that is read in sequence want both.
    wanted: Vec<Option<Policy>>,
    /// It turned read-intensive under SINGLE, and has not been written since (section 5.4.2, LPNs 8
    /// and 9).
    waits: bool,
}

pub struct Supa {
    pub block: u32,
    pub width: u32,
    log_blocks: u32,
    /// Erased blocks.
    pub erased: u32,
    /// The channel that the buffer names for what is being written, and whether that is the whole
    /// of a block.
    named: Option<u32>,
    is_whole: bool,
    /// Sparse areas that were emptied.
    pub emptied: u64,
    threshold: u32,
    any_order: bool,
    handler: bool,
    /// Where random writes go to a block that is read in sequence.
    mixed: Policy,
    only: Option<Policy>,
    areas: BTreeMap<u32, Area>,
    /// Striped areas, no logs, that blocks have left or never came to, with how many are in each;
    /// the one that came to have so few last is the last.
    sparse: Vec<(u32, usize)>,
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
            self.blocks[number as usize].kept.policy = Some(policy);
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

    fn new_area(&mut self, policy: Policy, lies: Option<Lies>) -> u32 {
        let width = if policy == Policy::Multi { self.width } else { 1 };
        self.next += 1;
        self.erased = self.erased.checked_sub(width).expect("erased blocks");
        let lies = lies.or(Some(Lies::As(self.next))).filter(|_| width == 1);
        let rows = vec![0; width as usize];
        self.areas.insert(self.next, Area { lies, rows, ..Area::default() });
        self.next
    }

    fn own_log(&self, number: u32) -> Option<u32> {
        self.logs().find(|(_, area)| area.log == Some((Policy::Single, number))).map(|(id, _)| id)
    }

    /// The channel on which a block lies: that of the log which is being merged, or its other one,
    /// or of its data.
    fn lies(&self, number: u32, log: Option<u32>) -> Option<Lies> {
        let areas = [log, self.own_log(number), self.blocks[number as usize].data];
        areas.into_iter().flatten().find_map(|id| self.areas[&id].lies)
    }

    /// An area that nothing is left in is erased: those of its flash blocks that were written to.
    fn settle_area(&mut self, id: u32) {
        let area = &self.areas[&id];
        let (width, count) = (area.rows.len(), area.data.len());
        let is_sparse =
            width > 1 && area.log.is_none() && self.open != Some(id) && (1..width).contains(&count);
        if !is_sparse || !self.sparse.contains(&(id, count)) {
            self.sparse.retain(|other| other.0 != id);
            self.sparse.extend(is_sparse.then_some((id, count)));
        }
        if area.data.is_empty() && area.log.is_none() && self.open != Some(id) {
            self.counts.erases += area.rows.iter().filter(|&&rows| rows > 0).count() as u64;
            self.erased += width as u32;
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

    /// One page more, or a tombstone of one, in the log of a block under MULTI or SINGLE. As under
    /// MNK, page p lies on flash block p modulo their number.
    fn append(&mut self, number: u32, policy: Policy, pages: &[u32], is_trimmed: bool) {
        let page = pages[0];
        let key = (policy, if policy == Policy::Multi { number / self.width } else { number });
        let width = if policy == Policy::Multi { self.width } else { 1 };
        let mine = self.logs().find(|(_, area)| area.log == Some(key)).map(|(id, _)| id);
        let is_full = |id: &u32| self.areas[id].rows[(page % width) as usize] == self.block;
        let full = mine.filter(is_full);
        if let Some(full) = full {
            self.make_room(0);
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

    /// When erased blocks run short, the striped area with fewest blocks left in it is emptied:
    /// three areas' worth stay erased beside what is going to be taken.
    fn make_room(&mut self, taken: u32) {
        while self.erased < taken + 3 * self.width {
            let sparsest = self.sparse.iter().rev().min_by_key(|area| area.1);
            let Some(&(id, _)) = sparsest else { return };
            self.emptied += 1;
            let merges = self.counts.full_merges;
            while let Some(number) = self.areas.get(&id).and_then(|area| area.data.last().copied())
            {
                self.merge_block(number, None, None);
            }
            // That is collection, and no merge of a log.
            self.counts.full_merges = merges;
        }
    }

    /// If all are in use, the one written longest ago goes.
    fn new_log(&mut self, key: (Policy, u32), width: u32) -> u32 {
        let in_use =
            |drive: &Self| drive.logs().map(|(_, area)| area.rows.len() as u32).sum::<u32>();
        while in_use(self) + width > self.log_blocks {
            let oldest = self.logs().min_by_key(|(_, area)| area.used).unwrap().0;
            self.make_room(0);
            self.merge(oldest);
        }
        self.make_room(width);
        // To where it lies, so that no page changes its channel; if all of it is written, to any
        // channel.
        let named = self.named.map(Lies::On);
        let number = key.1;
        let lies = (key.0 == Policy::Single)
            .then(|| named.filter(|_| self.is_whole).or(self.lies(number, None)).or(named));
        let id = self.new_area(key.0, lies.flatten());
        self.areas.get_mut(&id).unwrap().log = Some(key);
        id
    }

    /// A log is merged, block by block, the one that came last first.
    fn merge(&mut self, log: u32) {
        for number in self.areas[&log].guests.clone().into_iter().rev() {
            let holds = |page: u32| self.at[page as usize].is_some_and(|record| record.area == log);
            if self.pages(number).any(holds) {
                self.merge_block(number, Some(log), None);
            }
        }
        self.areas.get_mut(&log).unwrap().log = None;
        self.settle_area(log);
    }

    /// Section 5.4.2, "in the GC process": where a block goes.
    fn target(&self, number: u32) -> Policy {
        let kept = &self.blocks[number as usize].kept;
        match (self.only, kept.policy) {
            (Some(only), _) => only,
            (_, Some(Policy::Hybrid)) => kept.agreed().unwrap_or(Policy::Multi),
            (_, settled) => settled.unwrap(),
        }
    }

    fn merge_block(&mut self, number: u32, log: Option<u32>, named: Option<u32>) {
        let target = self.target(number);
        if !log.is_some_and(|log| self.stays(number, target, log)) {
            // Where there is no room for the one there may be for the other, until the next merge.
            let has_open = self.open.is_some_and(|id| self.areas[&id].parts < self.width);
            let takes_striped = has_open || self.erased >= 2 * self.width;
            let takes_single = self.erased > self.width;
            assert!(takes_striped || takes_single, "room to merge");
            let is_striped = if target == Policy::Multi { takes_striped } else { !takes_single };
            let (id, first) = if is_striped {
                let id = self.open_area();
                (id, (self.areas[&id].parts - 1) * self.block)
            } else {
                (self.new_area(Policy::Single, self.lies(number, log).or(named.map(Lies::On))), 0)
            };
            self.counts.full_merges += 1;
            self.gather(number, id, first);
        }
        let Block { kept, before, .. } = &mut self.blocks[number as usize];
        if kept.policy == Some(Policy::Hybrid) && kept.agreed().is_some() {
            *kept = Kept { policy: Some(target), ..Kept::default() };
            // It has moved, whatever else is told of its stay in the buffer.
            *before = Some(kept.clone());
        }
    }

    /// Pages of a block whose newest record is not in this area: those that are valid, and those
    /// that were trimmed.
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

    /// Everything of a block that lies elsewhere is copied to an area, with one tombstone for what
    /// was trimmed. That is where its data lie from now on.
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
        let before = self.blocks[number as usize].data.replace(id);
        if before != Some(id) {
            self.areas.get_mut(&id).unwrap().data.push(number);
            self.settle_area(id);
        }
        if let Some(before) = before.filter(|&before| before != id) {
            self.areas.get_mut(&before).unwrap().data.retain(|&other| other != number);
            self.settle_area(before);
        }
    }

    /// The striped area that takes the next block that is copied: as many of them as it has flash
    /// blocks.
    fn open_area(&mut self) -> u32 {
        if let Some(open) = self.open.filter(|id| self.areas[id].parts == self.width) {
            self.open = None;
            self.settle_area(open);
        }
        let id = self.open.unwrap_or_else(|| self.new_area(Policy::Multi, None));
        self.open = Some(id);
        self.areas.get_mut(&id).unwrap().parts += 1;
        id
    }

    /// Where the pages of a block with this pattern go, and what becomes of its policy. None is
    /// written of a clean one.
    fn decide(&mut self, number: u32, pattern: Pattern, again: bool, is_clean: bool) -> Policy {
        if let Some(only) = self.only {
            return only;
        }
        let block = &mut self.blocks[number as usize];
        if !self.handler {
            // What has only been read stays. RW-SR follows its writes.
            let follows =
                if pattern.write == Access::Sequential { Policy::Multi } else { Policy::Single };
            if is_clean {
                return follows;
            }
            let before = block.kept.policy.replace(follows);
            let is_valid =
                |page: u32| self.at[page as usize].is_some_and(|record| !record.is_trimmed);
            // Rewritten there at once, what there is of it.
            if before.is_some_and(|before| before != follows) && self.pages(number).any(is_valid) {
                self.make_room(0);
                self.merge_block(number, None, self.named);
            }
            return follows;
        }
        // One pattern for each stay: what was told before in the same one does not count.
        if again {
            block.kept = block.before.clone().expect("told before");
        } else {
            block.before = Some(block.kept.clone());
        }
        block.kept.follow(pattern, self.mixed)
    }

    /// Pages leave the buffer, with what it knows of their block; of a clean one none is written.
    pub fn evict(&mut self, pages: &[u32], hint: Option<&Hint>) {
        self.named = hint.and_then(|hint| hint.channel);
        self.is_whole = pages.len() as u32 == self.block;
        if let Some(hint) = hint {
            let policy = self.decide(hint.block.0, hint.pattern, hint.again, pages.is_empty());
            for &page in pages {
                self.append(hint.block.0, policy, &[page], false);
            }
            return;
        }
        let size = self.block;
        for pages in pages.chunk_by(|a, b| a / size == b / size) {
            let longest = pages.chunk_by(|a, b| a + 1 == *b).map(<[u32]>::len).max().unwrap();
            let sequential = longest as u32 > self.threshold;
            let write = if sequential { Access::Sequential } else { Access::Random };
            let number = pages[0] / self.block;
            let policy = self.decide(number, Pattern::new(write, Access::Never), false, false);
            for &page in pages {
                self.append(number, policy, &[page], false);
            }
        }
    }

    /// Logical blocks.
    pub fn size(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// On which channel the flash block of a page lies, if it is one that no others are striped
    /// with.
    pub fn channel(&self, page: u32) -> Option<Lies> {
        self.at[page as usize]
            .filter(|record| !record.is_trimmed)
            .and_then(|record| self.areas[&record.area].lies)
    }

    /// Where a block would be written now that was written so and read so.
    pub fn way(&self, number: u32, pattern: Pattern) -> Way {
        let mut kept = self.blocks[number as usize].kept.clone();
        let follows =
            if pattern.write == Access::Sequential { Policy::Multi } else { Policy::Single };
        let by_pattern = if self.handler { kept.follow(pattern, self.mixed) } else { follows };
        if self.only.unwrap_or(by_pattern) == Policy::Multi {
            return Way::Striped;
        }
        let lies = self.lies(number, None);
        match self.own_log(number) {
            Some(log) if self.areas[&log].rows[0] < self.block => Way::Log(lies.unwrap()),
            _ => lies.map_or(Way::Anywhere, Way::Home),
        }
    }

    /// The policy that a block is kept under, if there are several.
    pub fn policy(&self, number: u32) -> Option<&'static str> {
        self.blocks[number as usize].kept.policy.filter(|_| self.only.is_none()).map(|policy| {
            match policy {
                Policy::Multi => "multi",
                Policy::Single => "single",
                Policy::Hybrid => "hybrid",
            }
        })
    }

    /// Where a page lies that is valid: area, flash block of it, page of that.
    pub fn place(&self, page: u32) -> Option<(u32, u32, u32)> {
        let found = self.at[page as usize].filter(|record| !record.is_trimmed);
        found.map(|record| (record.area, record.column, record.row))
    }
}

/// The policy that a pattern wants: none for RR, which says nothing, and for RW-SR, whose reads
/// want another than its writes.
fn wants(pattern: Pattern) -> Option<Policy> {
    match (pattern.write, pattern.read) {
        (Access::Sequential, _) | (Access::Never, Access::Sequential) => Some(Policy::Multi),
        (Access::Random, Access::Never | Access::Random) => Some(Policy::Single),
        (Access::Random, Access::Sequential) | (Access::Never, _) => None,
    }
}

impl Kept {
    /// The policy of the last two patterns, if it is the same.
    fn agreed(&self) -> Option<Policy> {
        match self.wanted[..] {
            [.., earlier, later] if earlier == later => later,
            _ => None,
        }
    }

    /// Table 2. Where the pages go, if any are written.
    fn follow(&mut self, pattern: Pattern, mixed: Policy) -> Policy {
        let (wants, is_only_read) = (wants(pattern), pattern.write == Access::Never);
        let is_new = self.policy.is_none();
        // A block that was never written and has only been read stays so; random reads alone say
        // nothing.
        if is_only_read && (is_new || wants.is_none()) {
            return mixed;
        }
        let was_single = self.policy == Some(Policy::Single);
        match (self.policy, wants) {
            (None, Some(wants)) => self.policy = Some(wants),
            (Some(Policy::Multi | Policy::Single), _) if wants == self.policy => {}
            _ => {
                self.policy = Some(Policy::Hybrid);
                self.wanted.push(wants);
            }
        }
        if is_only_read {
            self.waits |= was_single;
            return mixed;
        }
        let waited = std::mem::take(&mut self.waits);
        if waited && pattern.read != Access::Never { Policy::Multi } else { wants.unwrap_or(mixed) }
    }
}

impl Drive for Supa {
    fn write(&mut self, first: u32, count: u32) {
        self.evict(&(first..first + count).collect::<Vec<_>>(), None);
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

    /// A tombstone for each block of which pages were trimmed; those of pattern-changed blocks are
    /// no pattern, and go to SINGLE.
    fn flush(&mut self) {
        let told = std::mem::take(&mut self.untold);
        (self.named, self.is_whole) = (None, false);
        for number in 0..self.blocks.len() as u32 {
            let pages: Vec<u32> = told.range(self.pages(number)).copied().collect();
            if pages.is_empty() {
                continue;
            }
            let settled = self.blocks[number as usize].kept.policy;
            let policy = self.only.or(settled).filter(|&policy| policy != Policy::Hybrid);
            self.append(number, policy.unwrap_or(Policy::Single), &pages, true);
        }
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}
