//! BLAS: page mapping in which each logical block is written to one unit, collection, and
//! scattering in idle moments. Runs without time have none: `blas_idle.rs` compares those that do.

use std::cmp::Reverse;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Counts, Drive, DriveReference};
use super::page::draw_victim;
use super::page_store::{Owner, Rules, Store, Stream, Turn};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "blas")],
        from: "Kim, Park and Youn, SUPA, sections 3.3 and 4.2, its page, and what ftl.gc says in \
            the reference",
        pair,
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let (over, drive) = draw(random, false);
    (over, Box::new(drive))
}

/// A drive with options drawn at random. With time, collection takes none, so that the order is
/// known.
pub fn draw(random: &mut Pcg64Mcg, timed: bool) -> (Value, Gathered) {
    let (channels, chips) = (random.random_range(1..=4usize), random.random_range(1..=2usize));
    let units = channels * chips;
    let size = [2, 4, 8][random.random_range(0..3)];
    let exported =
        random.random_range(1 + usize::from(timed)..=9).max(units * random.random_range(1..=3));
    let is_kept: bool = random.random();
    let full: bool = random.random();
    let seed = random.random_range(1..=3);
    let (victim, policy) = draw_victim(random, seed);
    let regions =
        if !timed && random.random_range(0..4) == 0 { random.random_range(2..=3) } else { 1 };
    let region_pages = random.random_range(1..=2 * exported * size);
    let free_blocks = random.random_range(1..=3);
    let spread = units > 1 && random.random_range(0..3) == 0;
    // Blocks that hold data, one for each unit that may be given more than the others, the reserve;
    // and more.
    let data = exported.div_ceil(units) + usize::from(units > 1);
    let blocks = data + free_blocks + 1 + random.random_range(0..=4);
    let (threshold, long_read) = (random.random_range(1..=3), random.random_range(1..=2));
    let all_reads = random.random();
    let sequential = (timed && random.random()).then(|| random.random_range(1..=4));
    let step_pages = random.random_range(1..=8);
    let (grain, turn) =
        [("steps", Turn::Copies(step_pages)), ("victim", Turn::Block), ("all", Turn::Blocks)]
            [random.random_range(0..3)];
    let mut over = json!({
        "nand": {
            "channels": channels, "chips_per_channel": chips, "pages_per_block": size, "blocks_per_plane": blocks,
        },
        "ftl": {
            "exported": format!("{} KiB", exported * size * 4),
            "mapping": {
                "kind": "blas", "placement": if is_kept { "kept" } else { "turn" },
                "threshold": threshold, "long_read": long_read,
                "score": if all_reads { "reads" } else { "long-reads" }, "sequential": sequential,
            },
            "victim": victim,
            "gc": {
                "free_blocks": free_blocks,
                "step_pages": step_pages,
                "grain": grain,
                "cost": if !timed && random.random() { "full" } else { "free" },
                "copies": if spread { "spread" } else { "unit" },
                "regions": regions,
                "region_pages": region_pages,
            },
        },
        "precondition": {"state": if full { "full" } else { "empty" }},
    });
    if timed {
        over["host"] = json!({"replay": "open"});
    }
    let pages = exported * size;
    let rules = Rules {
        pages_per_block: size,
        free_blocks,
        share: Rules::share(pages, units, blocks, free_blocks, size),
        regions,
        region_pages: region_pages as u64,
        spread,
        victim: policy,
        seed,
    };
    let mut drive = Gathered {
        size: size as u32,
        channels,
        is_kept,
        threshold,
        // A read of one page is longer than none.
        long_read: if all_reads { 0 } else { long_read },
        sequential,
        scores: vec![0; exported],
        striped: vec![false; exported],
        scattered: 0,
        next: 0,
        next_of_tombstones: 0,
        of_block: vec![None; exported],
        store: Store::new(rules, blocks, vec![0; units], vec![0; pages]),
    };
    drive.store.turns = timed.then_some(turn);
    if full {
        drive.write(0, pages as u32);
        drive.store.counts = Counts::default();
        drive.scores.fill(0);
    }
    (over, drive)
}

pub struct Gathered {
    /// Pages of a block.
    pub size: u32,
    channels: usize,
    is_kept: bool,
    threshold: u32,
    long_read: usize,
    sequential: Option<u32>,
    scores: Vec<u32>,
    /// Blocks that have been scattered since they were written.
    striped: Vec<bool>,
    /// Pages that scattering has moved.
    pub scattered: u64,
    /// The unit whose turn it is.
    next: usize,
    next_of_tombstones: usize,
    /// Where pages of each block were written last.
    of_block: Vec<Option<usize>>,
    store: Store,
}

impl Gathered {
    /// The first unit that takes a page, from this one on.
    fn in_turn(&mut self, first: usize, stream: Stream) -> Option<usize> {
        let units = self.store.units.len();
        (first..first + units).map(|unit| unit % units).find(|&unit| self.store.takes(unit, stream))
    }

    /// A page of a block goes to the block's unit, and where that has no room, to the next in turn
    /// that has.
    fn try_unit(&mut self, unit: Option<usize>, stream: Stream) -> Option<usize> {
        if let Some(unit) = unit.filter(|&unit| self.store.takes(unit, stream)) {
            return Some(unit);
        }
        let found = self.in_turn(self.next, stream)?;
        self.next = (found + 1) % self.store.units.len();
        Some(found)
    }

    /// The channel that a page lies on; it is the fastest digit of a unit's number.
    fn channel(&self, page: u32) -> Option<usize> {
        self.store.places.get(&Owner::Page(page)).map(|place| place.0 % self.channels)
    }

    /// Nothing is under way: all that waits is scattered, the highest score first.
    pub fn idle(&mut self) {
        let waits = |drive: &Self| {
            let numbers =
                (0..drive.scores.len()).filter(|&number| drive.scores[number] >= drive.threshold);
            numbers.min_by_key(|&number| (Reverse(drive.scores[number]), number))
        };
        while let Some(number) = waits(self).filter(|_| self.channels > 1) {
            self.scores[number] = 0;
            self.scatter(number as u32 * self.size);
            self.striped[number] = true;
        }
    }

    /// Of each run of adjacent pages on one channel the first stays, the second moves one channel
    /// on, and so forth.
    fn scatter(&mut self, start: u32) {
        let (mut page, end) = (start, start + self.size);
        while page < end {
            let Some(channel) = self.channel(page) else {
                page += 1;
                continue;
            };
            let on_it = |page: &u32| self.channel(*page) == Some(channel);
            let run = (page..end).take(self.channels).take_while(on_it).count();
            for step in 1..run {
                self.shift(page + step as u32, (channel + step) % self.channels);
            }
            page += run as u32;
        }
    }

    /// Moves a page to the unit of a channel that has most room, if one has room to spare.
    fn shift(&mut self, page: u32, channel: usize) {
        let stream = Stream { region: 0, moved: true, map: false };
        let units = (channel..self.store.units.len()).step_by(self.channels);
        let able = units.filter(|&unit| self.store.has_room_to_spare(unit, stream));
        let room = |unit: &usize| (Reverse(self.store.units[*unit].erased.len()), *unit);
        if let Some(unit) = able.min_by_key(room) {
            self.store.counts.reads += 1;
            self.store.place(unit, stream, Owner::Page(page));
            self.scattered += 1;
        }
    }
}

impl Drive for Gathered {
    fn write(&mut self, first: u32, count: u32) {
        for number in first / self.size..=(first + count - 1) / self.size {
            let start = number * self.size;
            let mut unit = self.of_block[number as usize].filter(|_| self.is_kept);
            let pages = first.max(start)..(first + count).min(start + self.size);
            let is_long =
                self.sequential.is_some_and(|threshold| pages.end - pages.start > threshold);
            self.scores[number as usize] = if is_long { self.threshold } else { 0 };
            self.striped[number as usize] = false;
            for page in pages {
                let owner = Owner::Page(page);
                let mut tries = 0;
                let found = loop {
                    let stream = self.store.fresh(owner);
                    if let Some(found) = self.try_unit(unit, stream) {
                        self.store.write(found, stream, owner);
                        break found;
                    }
                    tries += 1;
                    assert!(tries < 100, "collection makes room");
                    self.store.collect();
                };
                unit = Some(found);
                self.of_block[number as usize] = unit;
            }
            self.store.collect();
        }
    }

    fn read(&mut self, first: u32, count: u32) {
        let stored = |page: &u32| self.store.places.contains_key(&Owner::Page(*page));
        let reads: Vec<u32> = (first..first + count).filter(stored).collect();
        self.store.counts.reads += reads.len() as u64;
        for of_block in reads.chunk_by(|one, next| one / self.size == next / self.size) {
            let number = (of_block[0] / self.size) as usize;
            if of_block.len() > self.long_read && !self.striped[number] {
                self.scores[number] += 1;
            }
        }
    }

    fn trim(&mut self, first: u32, count: u32) {
        (first..first + count).for_each(|page| self.store.trim(page));
    }

    /// One tombstone lists all that was trimmed.
    fn flush(&mut self) {
        // What is collected meanwhile may have them written ahead of an erase.
        while self.store.has_trimmed(0) {
            let stream = self.store.fresh(Owner::Tombstone(u32::MAX));
            let Some(unit) = self.in_turn(self.next_of_tombstones, stream) else {
                self.store.collect();
                continue;
            };
            self.next_of_tombstones = (unit + 1) % self.store.units.len();
            let tombstone = self.store.tombstone(0).expect("trimmed pages");
            self.store.write(unit, stream, tombstone);
        }
        self.store.collect();
    }

    fn counts(&self) -> Counts {
        self.store.counts
    }

    fn erases(&self) -> Option<Vec<u32>> {
        Some(self.store.erases())
    }

    fn units(&self) -> Option<Vec<Option<u32>>> {
        let unit = |page| self.store.places.get(&Owner::Page(page)).map(|place| place.0 as u32);
        Some((0..self.store.pool_of_page.len() as u32).map(unit).collect())
    }
}
