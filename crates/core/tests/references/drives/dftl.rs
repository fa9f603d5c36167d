//! DFTL on one unit: translation pages on flash, and a cache of entries in the order of segmented LRU.

use std::collections::BTreeSet;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::super::{Counts, Drive, DriveReference};
use super::page_store::{Owner, Rules, Store, Stream};
use super::page_victims::Policy;

inventory::submit! {
    DriveReference {
        covers: &[("mapping", "dftl")],
        from: "its page, and what is known of the paper and of the authors' simulator",
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
    let cache = match share {
        true => [0.1, 0.25, 0.5, 0.75][random.random_range(0..4)],
        false => f64::from(random.random_range(1..=pages as u32 + 2)),
    };
    let lru = random.random_range(0..3) == 0;
    let protected = [0.0, 0.2, 0.5, 0.8, 0.9][random.random_range(0..5)];
    let batch: bool = random.random();
    let full: bool = random.random();
    let free_blocks = random.random_range(1..=3);
    let ample: bool = random.random();
    let data = exported + map_pages.div_ceil(pages_per_block);
    let more = if ample { 3_000 / pages_per_block } else { random.random_range(0..=6) };
    let blocks = data + free_blocks + 4 + more;
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
            "victim": "greedy",
            "gc": {"free_blocks": free_blocks, "step_pages": random.random_range(1..=8)},
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
        victim: Policy::Greedy,
        seed: 1,
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
        in_ram: entries >= pages,
        cache,
        lookups: 0,
        hits: 0,
    };
    if full {
        for first in (0..pages).step_by(pages_per_block) {
            mapping.write(first as u32, pages_per_block as u32);
        }
        mapping.store.counts = Counts::default();
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

/// The cached part of the map: what was used once and what was used again, each from the entry used longest ago on.
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

    /// An entry is used again: it is protected now, and what that leaves no room for is so no longer.
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
    /// The whole map is cached from the start.
    in_ram: bool,
    cache: Cache,
    lookups: u64,
    hits: u64,
}

/// Reads a translation page, if it was ever written, and writes it anew.
fn rewrite(store: &mut Store, number: u32, stream: Stream) {
    store.counts.reads += u64::from(store.places.contains_key(&Owner::Map(number)));
    store.place(0, stream, Owner::Map(number));
}

impl Mapping {
    fn collect(&mut self) {
        let (cache, per_page, in_ram) = (&mut self.cache, self.per_page, self.in_ram);
        self.store.collect_and(&mut |store, moved| {
            // Lazy copying where the entry is cached, batch update of the others.
            let mut others = BTreeSet::new();
            for owner in moved {
                let &Owner::Page(page) = owner else { continue };
                match cache.get(page) {
                    _ if in_ram => {}
                    Some(entry) => entry.dirty = true,
                    None => _ = others.insert(page / per_page),
                }
            }
            for number in others {
                rewrite(store, number, Stream { region: 0, moved: true, map: true });
            }
        });
    }

    /// The stream of a fresh page, once there is room for it.
    fn wait_for_room(&mut self, owner: Owner) -> Stream {
        let stream = self.store.fresh(owner);
        while !self.store.takes(0, stream) {
            self.collect();
        }
        stream
    }

    /// Whether there is room for another entry without a write.
    fn room_is_free(&self) -> bool {
        !self.cache.is_full() || self.cache.probationary.first().is_some_and(|entry| !entry.dirty)
    }

    /// Makes room for an entry.
    fn evict(&mut self) {
        if !self.cache.is_full() {
            return;
        }
        let victim = self.cache.probationary.remove(0);
        if victim.dirty {
            let number = victim.page / self.per_page;
            let stream = self.store.fresh(Owner::Map(number));
            rewrite(&mut self.store, number, stream);
            if self.batch {
                let per_page = self.per_page;
                self.cache.all().filter(|e| e.page / per_page == number).for_each(|e| e.dirty = false);
            }
        }
    }

    /// Looks a page up; a read does not wait for room.
    fn look_up(&mut self, page: u32, write: bool) {
        // A map that is in RAM whole has no cache to ask.
        if self.in_ram {
            return;
        }
        self.lookups += 1;
        if self.cache.get(page).is_some() {
            self.hits += 1;
            self.cache.touch(page);
        } else {
            let number = page / self.per_page;
            if write && !self.room_is_free() {
                self.wait_for_room(Owner::Map(number));
            }
            let stream = self.store.fresh(Owner::Map(number));
            let keeps = self.room_is_free() || self.store.takes(0, stream);
            if keeps {
                self.evict();
            }
            self.store.counts.reads += u64::from(self.store.places.contains_key(&Owner::Map(number)));
            if keeps {
                self.cache.probationary.push(Entry { page, dirty: false });
            }
        }
        if write {
            self.cache.get(page).expect("it was looked up").dirty = true;
        }
    }
}

impl Drive for Mapping {
    fn write(&mut self, first: u32, count: u32) {
        let per_block = self.store.rules.pages_per_block as u32;
        for number in first / per_block..=(first + count - 1) / per_block {
            for page in first.max(number * per_block)..(first + count).min((number + 1) * per_block) {
                self.look_up(page, true);
                let stream = self.wait_for_room(Owner::Page(page));
                self.store.write(0, stream, Owner::Page(page));
            }
            self.collect();
        }
    }

    fn read(&mut self, first: u32, count: u32) {
        for page in first..first + count {
            self.look_up(page, false);
            self.store.counts.reads += u64::from(self.store.places.contains_key(&Owner::Page(page)));
        }
        self.collect();
    }

    fn trim(&mut self, first: u32, count: u32) {
        let mut others = BTreeSet::new();
        for page in first..first + count {
            if !self.store.places.contains_key(&Owner::Page(page)) {
                continue;
            }
            self.store.trim(page);
            match self.cache.get(page) {
                _ if self.in_ram => {}
                Some(entry) => entry.dirty = true,
                None => _ = others.insert(page / self.per_page),
            }
        }
        for number in others {
            let stream = self.wait_for_room(Owner::Map(number));
            rewrite(&mut self.store, number, stream);
        }
    }

    fn flush(&mut self) {
        while self.store.has_trimmed(0) {
            let stream = self.wait_for_room(Owner::Tombstone(u32::MAX));
            // What was collected meanwhile may have had them written ahead of an erase.
            if let Some(tombstone) = self.store.tombstone(0) {
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
