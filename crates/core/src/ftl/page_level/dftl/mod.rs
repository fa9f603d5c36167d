//! DFTL: a page map that lies on flash, with the entries in use cached in RAM.
//!
//! **What it does.** The whole map lies in *translation pages* on flash, in blocks of their own; a
//! directory in RAM says where each of them is. A cached part of the map holds the entries of pages
//! in use, in segmented LRU order. To look a page up that is not cached costs a read of its
//! translation page; if the entry that makes room was changed since it came, its translation page
//! is read and written anew before that. A write changes the cached entry alone (*lazy copying*).
//! Collection does so too where the entry of a page that it moves is cached; the others are
//! gathered by translation page, and each of those is read and written once for all pages of the
//! victim (*batch update*).
//!
//! **When it wins**: little RAM, and a working set of pages whose entries fit there. **When it
//! loses**: random accesses to more pages than that, at up to two reads and a program each.
//!
//! Gupta, Kim, Urgaonkar: "DFTL: a flash translation layer employing demand-based selective caching
//! of page-level address mappings", ASPLOS 2009. Sizes and counts as in the authors' `FlashSim`:
//! 512 entries in 2 KiB, 8192 cached.
//!
//! The paper chooses victims by cost-benefit, its simulator by most invalid pages, which is the
//! default here: `ftl.victim = "cost-benefit"` sets the paper's choice.
//!
//! **Where the paper is silent.** How much of the cache is protected (`protected`); whether an
//! eviction cleans only its own entry, as the authors' simulator does, or, as the paper is said to
//! recommend, all cached entries of the translation page (`batch_evict`). What collection and trims
//! write has no part in that: changed entries that are cached stay so until an eviction writes
//! them. When collection begins is left to `ftl.gc`; their simulator waits until no block is left,
//! and goes on until three are. A translation page that was never written is not read. Trims change
//! entries like writes where they are cached; the others are gathered like those that collection
//! moves. Where there is no room for a translation page a write waits for collection; the lookup of
//! a read leaves the cache as it is. With a cache as large as the map, the map is loaded at the
//! start and never goes to flash; then no lookups are counted.
//!
//! **Lookups.** Each page that is read or written is looked up once, also one that was never
//! written; trims and collection look nothing up, and leave the order of the cache. A new entry is
//! on probation; one that is used again is protected; what the protected segment has no room for
//! becomes the entry on probation that was used last. Shares of entries are rounded down. The cache
//! is at the start as the fill of the drive leaves it.
//!
//! **When translation pages are written.** In each unit one open block takes those of evictions,
//! trims and batch updates, and another one those that collection moves. A batch update comes after
//! the last page of the victim, in the order in which its pages named the translation pages, and
//! before the erase. What trims and batch updates have no room for stays in RAM: it is tried again,
//! first come first, after each step of collection, before each page that the host writes, and with
//! the next trim. If an eviction writes such a page earlier, that does for both. A trim does not
//! begin collection; a read does after each block of which a page was not cached. Victim policies
//! that go by region take the blocks of translation pages as one more.
//!
//! **Time.** A host read begins when its entry has been read, and is answered after what made room
//! for the entry is stored. A write's program does not wait for its entry, only the answer of a
//! write through does. An entry counts as cached once its read is planned. A program unit of
//! several translation pages begins after the last of them was read.
//!
//! **Power cuts.** The map is rebuilt from the records beside the data; entries that the
//! translation pages on flash have wrong are dirty again.
//!
//! Cost of a page access: O(1), and what allocator and victim policy cost.

mod cache;
mod directory;
mod index;
#[cfg(test)]
mod tests;

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::page::Plain;
use super::store::table::Table;
use super::store::{Above, Store};
use super::{PageLevel, PageScheme};
use crate::ftl::context::Cx;
use crate::ftl::{Mapping, Shape};
use crate::nand::{Geometry, Media};
use crate::support::ids::{Lpn, PlaneId, Ppn};
use crate::support::registry::{About, Choice, Needs};
use cache::Cache;
use directory::{Directory, Truth};

/// What `list` says.
pub const ABOUT: About = About {
    title: "DFTL",
    summary: "Page mapping with the map on flash and the entries in use cached in RAM.",
    paper: "Gupta, Kim, Urgaonkar, DFTL: a flash translation layer employing demand-based \
        selective caching, ASPLOS 2009",
    year: Some(2009),
    described_in: "the authors' FlashSim, and summaries of the paper",
    choices: &[
        Choice {
            option: "replacement",
            others: &[r#""lru""#],
            open: "the authors' simulator ages entries in two segments of its own kind",
        },
        Choice {
            option: "protected",
            others: &["0.5"],
            open: "how much of the cache is protected",
        },
        Choice {
            option: "batch_evict",
            others: &["true"],
            open: "whether an eviction cleans all cached entries of its translation page, as the \
                paper is said to recommend",
        },
    ],
    composed: true,
    needs: &[Needs { option: "protected", beside: "replacement", values: &[r#""segmented-lru""#] }],
    source: include_str!("mod.rs"),
    ..About::PLAIN
};

/// Which cached entry goes when another one is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The one used longest ago among those used once, or no longer protected.
    #[default]
    SegmentedLru,
    /// The one used longest ago.
    Lru,
}

/// Options. Allocator, victim policy, wear leveller and collection are `ftl.allocator`,
/// `ftl.victim`, `ftl.wear` and `ftl.gc`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Entries of the map in RAM: their number, or below 1 their share of the logical pages.
    pub cache: f64,
    /// Which entry goes when another one is needed.
    pub replacement: Replacement,
    /// Share of the cache that is protected under segmented LRU, from 0 to below 1.
    pub protected: f64,
    /// Evicting a changed entry cleans all cached entries of its translation page, not that one
    /// alone.
    pub batch_evict: bool,
    /// Entries of a translation page. Default: as many of 4 bytes as a page holds.
    pub entries_per_page: Option<u32>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            cache: 8192.0,
            replacement: Replacement::SegmentedLru,
            protected: 0.8,
            batch_evict: false,
            entries_per_page: None,
        }
    }
}

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too little spare flash, or impossible options.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        let (pages, entries) = (shape.logical_pages, self.entries(shape.geometry)?);
        let cached = self.cached(pages)?;
        if cached < pages {
            return Ok(Box::new(self.assemble(shape, cached, entries)?));
        }
        let store = Store::compose(&shape, Above::titled(ABOUT.title))?;
        Ok(PageLevel::boxed(store, pages, Plain))
    }

    /// The mapping with `cached` entries in RAM, which are not all, and so many in each translation
    /// page.
    fn assemble(
        &self,
        shape: Shape<'_>,
        cached: u32,
        entries: u32,
    ) -> Result<PageLevel<Dftl>, String> {
        let pages = shape.logical_pages;
        let above =
            Above { pages: pages.div_ceil(entries), classes: 1, ..Above::titled(ABOUT.title) };
        let store = Store::compose(&shape, above)?;
        let protected = match self.replacement {
            Replacement::SegmentedLru => libm::floor(f64::from(cached) * self.protected) as u32,
            Replacement::Lru => 0,
        };
        let scheme = Dftl {
            cache: Cache::new(cached, protected, pages),
            directory: Directory::new(entries, pages, shape.geometry),
            batch_evict: self.batch_evict,
            fetched: Lpn::NONE,
        };
        Ok(PageLevel::new(store, pages, scheme))
    }

    /// Entries of a translation page; looks at the other options, too.
    fn entries(&self, geometry: &Geometry) -> Result<u32, String> {
        let most = (geometry.page_bytes / 4) as u32;
        let entries = self.entries_per_page.unwrap_or(most);
        if !(1..=most).contains(&entries) {
            return Err(format!(
                "ftl.mapping.entries_per_page: found {entries}, expected 1 to {most}: 4 bytes each \
                 in a page of {} bytes",
                geometry.page_bytes
            ));
        }
        if !(0.0..1.0).contains(&self.protected) {
            return Err(format!(
                "ftl.mapping.protected: found {}, expected a share from 0 to below 1",
                self.protected
            ));
        }
        Ok(entries)
    }

    /// Entries in RAM.
    fn cached(&self, pages: u32) -> Result<u32, String> {
        let share = self.cache < 1.0;
        let number =
            if share { libm::floor(self.cache * f64::from(pages)).max(1.0) } else { self.cache };
        if self.cache > 0.0 && number.fract() == 0.0 {
            return Ok(if number < f64::from(pages) { number as u32 } else { pages });
        }
        Err(format!(
            "ftl.mapping.cache: found {}, expected a whole number of entries of at least 1, or \
             below 1 a share of the logical pages",
            self.cache
        ))
    }
}

/// A map of which the entries in use are in RAM.
#[derive(Debug, Clone)]
struct Dftl {
    cache: Cache,
    directory: Directory,
    batch_evict: bool,
    /// The page whose entry was fetched for a write that then had no room, or [`Lpn::NONE`].
    fetched: Lpn,
}

crate::persist!(Dftl { cache, directory, batch_evict, fetched });

impl Dftl {
    /// Brings the entry of `lpn` into the cache; says whether it is there now. What has to be read
    /// for that is planned, and its join noted in `cx` where it is `wanted`.
    #[inline]
    fn fetch(
        &mut self,
        store: &mut Store,
        cx: &mut Cx<'_>,
        table: &Table,
        lpn: Lpn,
        wanted: bool,
    ) -> bool {
        if self.cache.touch(lpn) {
            cx.counters.map_lookups += 1;
            cx.counters.map_hits += 1;
            return true;
        }
        if !self.make_room(store, cx, table) {
            return false;
        }
        self.read(cx, table, lpn, wanted);
        self.cache.insert(lpn);
        true
    }

    /// Reads the entry of `lpn`.
    fn read(&mut self, cx: &mut Cx<'_>, table: &Table, lpn: Lpn, wanted: bool) {
        cx.counters.map_lookups += 1;
        let known = self.directory.read(cx, self.directory.page_of(lpn), wanted);
        cx.known = known;
        self.directory.check_read(cx, lpn, table.lookup(lpn));
    }

    /// Makes room for an entry; `false` while what has to go cannot be stored.
    fn make_room(&mut self, store: &mut Store, cx: &mut Cx<'_>, table: &Table) -> bool {
        if self.cache.room() > 0 {
            return true;
        }
        let Some(victim) = self.cache.victim() else { return false };
        if self.cache.is_dirty(victim) {
            let number = self.directory.page_of(victim);
            let cleaned =
                if self.batch_evict { self.directory.range(number) } else { victim..victim + 1 };
            let truth = Truth { table, cache: &self.cache };
            if !self.directory.write(store, cx, number, truth, cleaned.clone()) {
                return false;
            }
            self.cache.clean(&cleaned);
        }
        self.cache.remove(victim);
        true
    }
}

impl PageScheme for Dftl {
    fn written(&mut self, _store: &Store, _cx: &mut Cx<'_>, lpn: Lpn, _unit: PlaneId) {
        self.cache.set_dirty(lpn);
        self.fetched = Lpn::NONE;
    }

    fn on_trim(&mut self, table: &Table, pages: Range<Lpn>) {
        for lpn in Lpn::each(pages).filter(|&lpn| table.lookup(lpn).is_some()) {
            if self.cache.holds(lpn) {
                self.cache.set_dirty(lpn);
            } else {
                self.directory.changed(self.directory.page_of(lpn));
            }
        }
    }

    #[inline]
    fn on_move(&mut self, lpn: Lpn, unit: PlaneId) {
        if self.cache.holds(lpn) {
            self.cache.set_dirty(lpn);
        } else {
            self.directory.changed_by_victim(self.directory.page_of(lpn), unit);
        }
    }

    const MAP_IN_RAM: bool = false;

    fn knows(&self, lpn: Lpn) -> bool {
        self.cache.holds(lpn)
    }

    #[inline]
    fn needs_no_map(&self, lpn: Lpn) -> bool {
        let is_new = || !self.directory.is_stored(self.directory.page_of(lpn));
        self.cache.holds(lpn) || (self.cache.room() > 0 && is_new())
    }

    #[inline]
    fn writes_no_map(&self, lpn: Lpn) -> bool {
        let goes = || self.cache.victim().filter(|_| self.cache.room() == 0);
        !self.directory.has_due()
            && (self.cache.holds(lpn) || goes().is_none_or(|victim| !self.cache.is_dirty(victim)))
    }

    fn fetch(&self, pages: &[Lpn]) {
        self.cache.fetch(pages);
    }

    fn before_lookup(&mut self, store: &mut Store, cx: &mut Cx<'_>, table: &Table, lpn: Lpn) {
        if !self.fetch(store, cx, table, lpn, true) {
            self.read(cx, table, lpn, true);
        }
    }

    fn before_write(
        &mut self,
        store: &mut Store,
        cx: &mut Cx<'_>,
        table: &Table,
        lpn: Lpn,
    ) -> bool {
        let is_counted = self.fetched == lpn || cx.looked_up == lpn;
        if is_counted && self.cache.holds(lpn) {
            return true;
        }
        let counted = (cx.counters.map_lookups, cx.counters.map_hits);
        let fetched = self.fetch(store, cx, table, lpn, false);
        if is_counted {
            // Its entry has left the cache since, and is read once more for the same write.
            (cx.counters.map_lookups, cx.counters.map_hits) = counted;
        }
        self.fetched = if fetched { lpn } else { Lpn::NONE };
        fetched
    }

    fn has_looked_up(&self, lpn: Lpn) -> bool {
        self.fetched == lpn
    }

    fn on_emptied(&mut self, unit: PlaneId) {
        self.directory.batch_ends(unit);
    }

    #[inline]
    fn write_map(&mut self, store: &mut Store, cx: &mut Cx<'_>, table: &Table) -> bool {
        self.directory.write_due(store, cx, Truth { table, cache: &self.cache })
    }

    fn map_page_moved(&mut self, number: u32, ppn: Ppn) {
        self.directory.moved(number, ppn);
    }

    fn map_page_lies(&self, number: u32, ppn: Ppn) -> bool {
        self.directory.lies(number, ppn)
    }

    fn map_pages(&self) -> u32 {
        self.directory.stored()
    }

    fn find_map(&mut self, store: &mut Store, found: &Media) {
        self.directory.find(store, found);
    }

    fn recovered(&mut self, _store: &Store, table: &Table, found: &Media) {
        self.directory.compare(found, table, &mut self.cache);
    }

    fn check(&self) -> Result<(), String> {
        self.cache.check()
    }

    fn bytes(&self) -> usize {
        self.cache.bytes() + self.directory.bytes()
    }
}
