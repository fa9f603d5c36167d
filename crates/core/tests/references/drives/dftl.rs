//! DFTL on one unit: translation pages on flash, and a cache of entries in the order of segmented
//! LRU.

use std::collections::{BTreeSet, VecDeque};

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Counts, Drive, DriveReference};
use super::page::draw_victim;
use super::page_store::{Owner, Rules, Store, Stream};

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "dftl")],
        from: "its page, and what is known of the paper and of the authors' simulator; what of the \
            map is written when, after the scheme's code, which its page has been made to say since",
        pair,
    }
}

fn pair(random: &mut Pcg64Mcg) -> (Value, Box<dyn Drive>) {
    let pages_per_block: usize = random.random_range(2..=8);
    let exported: usize = random.random_range(2..=8);
    let pages = exported * pages_per_block;
    let per_page: usize = random.random_range(1..=8);
    let map_pages = pages.div_ceil(per_page);
    // Some caches hold more entries than there are pages.
    let share = random.random_range(0..3) == 0;
    let cache = if share {
        [0.1, 0.25, 0.5, 0.75][random.random_range(0..4)]
    } else {
        f64::from(random.random_range(1..=pages as u32 + 2))
    };
    let lru = random.random_range(0..3) == 0;
    let protected = [0.0, 0.2, 0.5, 0.8, 0.9][random.random_range(0..5)];
    let batch: bool = random.random();
    let full: bool = random.random();
    let free_blocks = random.random_range(1..=3);
    let seed = random.random_range(1..=3);
    let (victim, policy) = draw_victim(random, seed);
    let step_pages: usize = random.random_range(1..=8);
    let ample = random.random_range(0..4) == 0;
    // Blocks that hold data and map, the reserve, one that is left part empty for the map's pages;
    // and more.
    let data = (pages + map_pages).div_ceil(pages_per_block);
    let more = if ample { 3_000 / pages_per_block } else { random.random_range(0..=6) };
    let blocks = data + free_blocks + 2 + more;
    let over = json!({
        "nand": {"blocks_per_plane": blocks, "pages_per_block": pages_per_block},
        "ftl": {
            "exported": format!("{} KiB", pages * 4),
            "mapping": {
                "kind": "dftl",
                "cache": cache,
                "replacement": if lru { "lru" } else { "segmented-lru" },
                "protected": protected,
                "batch_evict": batch,
                "entries_per_page": per_page,
            },
            "victim": victim,
            "gc": {
                "free_blocks": free_blocks,
                "step_pages": step_pages,
                "grain": (["steps", "victim", "all"][random.random_range(0..3)]),
                "cost": if random.random() { "full" } else { "free" },
            },
        },
        "precondition": {"state": if full { "full" } else { "empty" }},
    });
    let rules = Rules {
        pages_per_block,
        free_blocks,
        share: usize::MAX,
        regions: 1,
        region_pages: u64::MAX,
        spread: false,
        victim: policy,
        seed,
    };
    let entries = if share { ((cache * pages as f64) as usize).max(1) } else { cache as usize };
    let cache = Cache {
        entries,
        most_protected: if lru { 0 } else { (protected * entries as f64) as usize },
        probationary: Vec::new(),
        protected: Vec::new(),
    };
    let mut mapping = Mapping {
        store: Store::new(rules, blocks, vec![0], vec![0; pages]),
        per_page: per_page as u32,
        batch,
        step_pages,
        stale: BTreeSet::new(),
        listed: BTreeSet::new(),
        due: VecDeque::new(),
        in_ram: entries >= pages,
        cache,
        lookups: 0,
        hits: 0,
    };
    if full {
        for first in (0..pages).step_by(pages_per_block) {
            mapping.write(first as u32, pages_per_block as u32);
        }
        // What the fill costs, and wears, is not counted.
        mapping.store.counts = Counts::default();
        mapping.store.units[0].blocks.iter_mut().for_each(|block| block.erases = 0);
        (mapping.lookups, mapping.hits) = (0, 0);
    }
    (over, Box::new(mapping))
}

/// A cached entry of the map.
#[derive(Clone, Copy)]
struct Entry {
    page: u32,
    /// It was changed since it came.
    dirty: bool,
}

/// The cached part of the map: what was used once and what was used again, each from the entry used
/// longest ago on.
struct Cache {
    entries: usize,
    most_protected: usize,
    probationary: Vec<Entry>,
    protected: Vec<Entry>,
}

impl Cache {
    fn all(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.probationary.iter_mut().chain(&mut self.protected)
    }

    fn get(&mut self, page: u32) -> Option<&mut Entry> {
        self.all().find(|entry| entry.page == page)
    }

    fn is_full(&self) -> bool {
        self.probationary.len() + self.protected.len() >= self.entries
    }

    /// An entry is used again: it is protected now, and what that leaves no room for is so no
    /// longer.
    fn touch(&mut self, page: u32) {
        let list = if self.probationary.iter().any(|entry| entry.page == page) {
            &mut self.probationary
        } else {
            &mut self.protected
        };
        let at = list.iter().position(|entry| entry.page == page).expect("it is cached");
        let entry = list.remove(at);
        self.protected.push(entry);
        if self.protected.len() > self.most_protected {
            let demoted = self.protected.remove(0);
            self.probationary.push(demoted);
        }
    }
}

/// A map on flash over a store.
struct Mapping {
    store: Store,
    /// Entries of a translation page.
    per_page: u32,
    batch: bool,
    /// Pages that collection copies in a step.
    step_pages: usize,
    /// Translation pages with entries that changed while they were not cached.
    stale: BTreeSet<u32>,
    /// Those that are listed to be written, and those whose turn has come.
    listed: BTreeSet<u32>,
    due: VecDeque<u32>,
    /// The whole map is cached from the start.
    in_ram: bool,
    cache: Cache,
    lookups: u64,
    hits: u64,
}

impl Mapping {
    /// The pages of a request by block: first and last.
    fn spans(&self, first: u32, count: u32) -> Vec<(u32, u32)> {
        let (per_block, end) = (self.store.rules.pages_per_block as u32, first + count);
        let span = |number| (first.max(number * per_block), end.min((number + 1) * per_block) - 1);
        (first / per_block..=(end - 1) / per_block).map(span).collect()
    }

    /// Collects until there are enough erased blocks, or nothing is gained.
    fn collect(&mut self) {
        while self.store.next_in_line().is_some() {
            while self.store.units[0].erased.len() <= self.store.rules.free_blocks {
                let Some(victim) = self.store.victim(0) else {
                    self.store.lend(0);
                    break;
                };
                self.empty(victim);
            }
            self.store.units[0].asks = None;
        }
    }

    /// Moves what is valid in a block, a few pages a step, has the map changed, and erases the
    /// block.
    fn empty(&mut self, victim: usize) {
        // It cannot be chosen again.
        self.store.units[0].blocks[victim].closed = None;
        let mut batch = Vec::new();
        loop {
            let mut budget = self.step_pages;
            while budget > 0 && self.store.units[0].blocks[victim].valid() > 0 {
                budget -= self.move_run(victim, budget, &mut batch);
            }
            if self.store.units[0].blocks[victim].valid() == 0 {
                break;
            }
            self.settle();
        }
        if let Some(tombstone) = self.store.tombstone(0) {
            self.store.place(0, Stream { region: 0, moved: true, map: false }, tombstone);
        }
        // Batch update: each translation page once for all pages of the victim.
        self.due.extend(batch);
        self.settle();
        self.store.erase(0, victim);
        self.settle();
    }

    /// Moves up to `most` pages of one kind, the first one's, to one block; says how many.
    fn move_run(&mut self, victim: usize, most: usize, batch: &mut Vec<u32>) -> usize {
        let is_map = |owner: &Owner| matches!(owner, Owner::Map(_));
        let pages = self.store.units[0].blocks[victim].pages.clone();
        let map = pages.iter().flatten().next().is_some_and(is_map);
        let data = Stream { region: 0, moved: true, map: false };
        let stream = if map { self.store.map_stream(true) } else { data };
        let mut moved = 0;
        for owner in pages.into_iter().flatten().filter(|owner| is_map(owner) == map).take(most) {
            self.store.counts.reads += 1;
            self.store.place(0, stream, owner);
            moved += 1;
            if let Owner::Page(page) = owner {
                self.changed(page, batch);
            }
            if !self.store.is_open(0, stream) {
                break;
            }
        }
        moved
    }

    /// A page has moved or is no more: lazy copying where its entry is cached; others are listed by
    /// translation page.
    fn changed(&mut self, page: u32, list: &mut Vec<u32>) {
        let number = page / self.per_page;
        if self.in_ram {
            return;
        }
        if let Some(entry) = self.cache.get(page) {
            entry.dirty = true;
            return;
        }
        self.stale.insert(number);
        if self.listed.insert(number) {
            list.push(number);
        }
    }

    /// Writes the translation pages that are due; `false` while there is no room.
    fn settle(&mut self) -> bool {
        while let Some(&number) = self.due.front() {
            // An eviction may have written it meanwhile.
            if self.stale.contains(&number) && !self.rewrite(number) {
                return false;
            }
            self.due.pop_front();
            self.listed.remove(&number);
        }
        true
    }

    /// Reads a translation page, if it was ever written, and writes it anew; `false` while there is
    /// no room.
    fn rewrite(&mut self, number: u32) -> bool {
        let stream = self.store.fresh(Owner::Map(number));
        if !self.store.takes(0, stream) {
            return false;
        }
        self.read_map(number);
        self.store.place(0, stream, Owner::Map(number));
        self.stale.remove(&number);
        true
    }

    fn read_map(&mut self, number: u32) {
        self.store.counts.reads += u64::from(self.store.places.contains_key(&Owner::Map(number)));
    }

    /// Makes room for an entry; `false` while what has to go cannot be stored.
    fn evict(&mut self) -> bool {
        if !self.cache.is_full() {
            return true;
        }
        let victim = self.cache.probationary[0];
        if victim.dirty {
            let number = victim.page / self.per_page;
            if !self.rewrite(number) {
                return false;
            }
            if self.batch {
                let per_page = self.per_page;
                self.cache
                    .all()
                    .filter(|e| e.page / per_page == number)
                    .for_each(|e| e.dirty = false);
            }
        }
        self.cache.probationary.remove(0);
        true
    }

    /// Looks a page up and caches its entry; `false`, and nothing done, where there is no room for
    /// it.
    fn fetch(&mut self, page: u32) -> bool {
        if self.cache.get(page).is_some() {
            self.cache.touch(page);
            self.hits += 1;
        } else {
            if !self.evict() {
                return false;
            }
            self.read_map(page / self.per_page);
            self.cache.probationary.push(Entry { page, dirty: false });
        }
        self.lookups += 1;
        true
    }

    /// Writes a page as far as there is room: its entry is looked up once.
    fn try_write(&mut self, page: u32, fetched: &mut bool) -> bool {
        if !self.in_ram {
            *fetched = self.settle() && (*fetched || self.fetch(page));
        }
        let owner = Owner::Page(page);
        let stream = self.store.fresh(owner);
        if !(self.in_ram || *fetched) || !self.store.takes(0, stream) {
            return false;
        }
        self.store.write(0, stream, owner);
        if let Some(entry) = self.cache.get(page) {
            entry.dirty = true;
        }
        true
    }
}

impl Drive for Mapping {
    fn write(&mut self, first: u32, count: u32) {
        for (first, last) in self.spans(first, count) {
            for page in first..=last {
                let mut fetched = false;
                while !self.try_write(page, &mut fetched) {
                    self.collect();
                }
            }
            self.collect();
        }
    }

    fn read(&mut self, first: u32, count: u32) {
        for (first, last) in self.spans(first, count) {
            let mut missed = false;
            for page in first..=last {
                if !self.in_ram {
                    missed |= self.cache.get(page).is_none();
                    // Where there is no room for what has to go, the cache stays as it is.
                    if !self.fetch(page) {
                        self.lookups += 1;
                        self.read_map(page / self.per_page);
                    }
                }
                self.store.counts.reads +=
                    u64::from(self.store.places.contains_key(&Owner::Page(page)));
            }
            if missed {
                self.collect();
            }
        }
    }

    fn trim(&mut self, first: u32, count: u32) {
        let mut list = Vec::new();
        for page in first..first + count {
            if self.store.places.contains_key(&Owner::Page(page)) {
                self.changed(page, &mut list);
                self.store.trim(page);
            }
        }
        self.due.extend(list);
        self.settle();
    }

    fn flush(&mut self) {
        while self.store.has_trimmed(0) {
            let stream = self.store.fresh(Owner::Tombstone(u32::MAX));
            if !self.store.takes(0, stream) {
                // That may have them written ahead of an erase.
                self.collect();
            } else if let Some(tombstone) = self.store.tombstone(0) {
                self.store.write(0, stream, tombstone);
            }
        }
        self.collect();
    }

    fn counts(&self) -> Counts {
        Counts { map_lookups: self.lookups, map_hits: self.hits, ..self.store.counts }
    }

    fn erases(&self) -> Option<Vec<u32>> {
        Some(self.store.erases())
    }
}
