//! Where each logical page lies, and tombstones: pages that say what the host has trimmed, so that
//! older versions do not come back after a power cut.
//!
//! A tombstone lists what was trimmed and is written with the next flush. It is valid as long as
//! one of its pages has not been written again. Each stands for at least one unmapped logical page,
//! so that they never need more room than the data did.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{DATA, Owners, Store};
use crate::ftl::context::{Cx, PageOut};
use crate::nand::{Cause, JoinId};
use crate::support::NONE;
use crate::support::ids::{BlockId, Lpn, PlaneId, Ppn};

/// Marks entries that are trimmed, and owners that are tombstones.
pub(super) const TOMB: u32 = 1 << 31;

/// Owners from here on are neither logical pages nor tombstones, but the mapping's own.
pub const OWN: u32 = 3 << 30;

/// A page that says what was trimmed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Tombstone {
    pub(super) ppn: Ppn,
    /// Trimmed pages that have not been written since.
    pub(super) live: u32,
    /// Its list in the medium, while that is kept.
    pub(super) list: u32,
}

/// What the map says of each page: [`NONE`] at first, kept as zero, so that what has never been
/// written takes no memory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Entries {
    #[serde(with = "crate::support::bulk")]
    turned: Vec<u32>,
}

impl Entries {
    fn new(len: usize) -> Self {
        Self { turned: vec![0; len] }
    }

    pub(super) fn len(&self) -> usize {
        self.turned.len()
    }

    #[inline]
    pub(super) fn get(&self, page: usize) -> u32 {
        !self.turned[page]
    }

    #[inline]
    pub(super) fn set(&mut self, page: usize, entry: u32) {
        self.turned[page] = !entry;
    }
}

/// The map of logical pages.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Table {
    pub(super) map: Entries,
    pub(super) tombs: Vec<Tombstone>,
    free_tombs: Vec<u32>,
    /// Pages trimmed since the last tombstone, and the block that holds the version before, by
    /// pool: a tombstone lies where the pages did, so that it takes no more room there than they.
    trimmed: Vec<BTreeMap<Lpn, BlockId>>,
    /// How many they are.
    unwritten_trims: usize,
}

impl Table {
    /// Most pages, logical or physical, that it can number.
    pub const MOST: u32 = TOMB - 1;

    /// A map of pages that were never written.
    pub fn new(logical_pages: u32, pools: u32) -> Self {
        Self {
            map: Entries::new(logical_pages as usize),
            tombs: Vec::new(),
            free_tombs: Vec::new(),
            trimmed: vec![BTreeMap::new(); pools as usize],
            unwritten_trims: 0,
        }
    }

    /// Whether an owner is a logical page.
    #[inline]
    pub fn is_page(owner: u32) -> bool {
        owner & TOMB == 0
    }

    /// Where a logical page lies.
    #[inline]
    pub fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let entry = self.map.get(lpn.index());
        (entry & TOMB == 0).then_some(Ppn(entry))
    }

    /// Where a logical page lies, or [`Ppn::NONE`]; `None` where tombstones have to be asked.
    #[inline]
    pub fn lookup_simply(&self, lpn: Lpn) -> Option<Ppn> {
        let entry = self.map.get(lpn.index());
        let is_told = entry & TOMB == 0 || (entry == NONE && self.unwritten_trims == 0);
        is_told.then_some(Ppn(entry))
    }

    /// What the map says of an owner that is a logical page; read to have it in the cache.
    #[inline]
    pub(in crate::ftl) fn entry(&self, owner: u32) -> u32 {
        self.map.turned.get(owner as usize).map_or(NONE, |turned| !turned)
    }

    /// `lpn` lies at `ppn`.
    #[inline]
    pub fn set(&mut self, lpn: Lpn, ppn: Ppn) {
        self.map.set(lpn.index(), ppn.0);
    }

    /// Forgets where `lpn` was; returns the block of its old version, or [`BlockId::NONE`].
    #[inline(always)]
    pub fn forget(&mut self, store: &mut Store, lpn: Lpn) -> BlockId {
        let old = !std::mem::take(&mut self.map.turned[lpn.index()]);
        if old == NONE {
            // Trimmed, and no tombstone yet: what was there before may be the last durable version.
            if self.unwritten_trims == 0 {
                return BlockId::NONE;
            }
            let block = self.trimmed[store.pools.of_page(lpn) as usize].remove(&lpn);
            self.unwritten_trims -= usize::from(block.is_some());
            block.unwrap_or(BlockId::NONE)
        } else if old & TOMB == 0 {
            store.invalidate(Ppn(old))
        } else {
            // Until the new version is stored, the tombstone keeps older ones from coming back.
            let tomb = &mut self.tombs[(old & !TOMB) as usize];
            tomb.live -= 1;
            let ppn = tomb.ppn;
            if tomb.live == 0 {
                self.free_tombs.push(old & !TOMB);
                store.invalidate(ppn);
            }
            store.geometry.split(ppn).0
        }
    }

    /// The host no longer needs these pages.
    pub fn trim(&mut self, store: &mut Store, first: Lpn, count: u32) {
        for lpn in first.run(count) {
            if self.map.get(lpn.index()) & TOMB == 0 {
                let block = self.forget(store, lpn);
                let new =
                    self.trimmed[store.pools.of_page(lpn) as usize].insert(lpn, block).is_none();
                self.unwritten_trims += usize::from(new);
            }
        }
    }

    /// Plans the tombstones for what has been trimmed and not written since, among the host's
    /// pages. `false` when there is no room.
    pub fn write_tombstones(&mut self, store: &mut Store, cx: &mut Cx<'_>) -> bool {
        for pool in 0..self.trimmed.len() as u32 {
            if self.unwritten_trims == 0 {
                break;
            }
            while !self.trimmed[pool as usize].is_empty() {
                let Some(unit) = store.pick(cx, pool, DATA, None) else { return false };
                let (ranges, blocks) = self.take_trimmed(pool, store.geometry.page_bytes);
                let (tomb, out) = self.tombstone(cx, &ranges);
                store.hold_back(cx, (unit, DATA), &blocks);
                let placed =
                    store.append(cx, (unit, DATA), out, TOMB | tomb, BlockId::NONE, JoinId::NONE);
                let Some(ppn) = placed else { return false };
                self.tombs[tomb as usize].ppn = ppn;
            }
        }
        true
    }

    /// Takes ranges trimmed since the last tombstone and not written again, in order, as many as a
    /// tombstone holds; and the blocks that hold the versions before, which must stay until the
    /// tombstone is stored.
    fn take_trimmed(&mut self, pool: u32, page_bytes: u64) -> (Vec<(Lpn, u32)>, Vec<BlockId>) {
        let most = (page_bytes / 8) as usize;
        let mut ranges: Vec<(Lpn, u32)> = Vec::new();
        let mut blocks = Vec::new();
        while let Some(entry) = self.trimmed[pool as usize].first_entry() {
            let lpn = *entry.key();
            let full = ranges.len() == most;
            match ranges.last_mut() {
                Some((start, len)) if *start + *len == lpn => *len += 1,
                _ if full => break,
                _ => ranges.push((lpn, 1)),
            }
            blocks.push(entry.remove());
            self.unwritten_trims -= 1;
        }
        blocks.sort_unstable();
        blocks.dedup();
        (ranges, blocks)
    }

    /// A tombstone for these ranges: its number and the page to write.
    fn tombstone(&mut self, cx: &mut Cx<'_>, ranges: &[(Lpn, u32)]) -> (u32, PageOut) {
        let tomb = self.free_tombs.pop().unwrap_or_else(|| {
            self.tombs.push(Tombstone { ppn: Ppn::NONE, live: 0, list: NONE });
            self.tombs.len() as u32 - 1
        });
        let mut live = 0;
        for &(first, count) in ranges {
            self.map.turned[first.index()..(first + count).index()].fill(!(TOMB | tomb));
            live += count;
        }
        let list = cx.write_down_trims(ranges.iter().copied());
        self.tombs[tomb as usize] = Tombstone { ppn: Ppn::NONE, live, list };
        (tomb, PageOut::tombstone(list, Cause::Mapping))
    }

    /// Whether an owner's page is at `ppn`.
    pub fn lies(&self, owner: u32, ppn: Ppn) -> bool {
        if owner & TOMB == 0 {
            self.map.get(owner as usize) == ppn.0
        } else {
            self.tombs[(owner & !TOMB) as usize].ppn == ppn
        }
    }

    /// Compares the number of pages that it knows of with that of the store, less the `others` of
    /// the mapping's own.
    ///
    /// # Errors
    /// Both numbers.
    pub fn check(&self, valid: u32) -> Result<(), String> {
        let mapped = self.map.turned.iter().filter(|&&turned| !turned & TOMB == 0).count();
        let tombs = self.tombs.iter().filter(|t| t.live > 0).count();
        if mapped + tombs == valid as usize {
            return Ok(());
        }
        Err(format!(
            "page map: {mapped} pages mapped and {tombs} tombstones, but {valid} pages valid"
        ))
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.map.len() * 4
    }
}

impl Owners for Table {
    #[inline]
    fn moved(&mut self, owner: u32, ppn: Ppn) -> PageOut {
        if owner & TOMB == 0 {
            self.map.set(owner as usize, ppn.0);
            return PageOut::data(Lpn(owner), Cause::Gc);
        }
        let tomb = &mut self.tombs[(owner & !TOMB) as usize];
        tomb.ppn = ppn;
        PageOut::tombstone(tomb.list, Cause::Gc)
    }

    /// What the victim holds of pages trimmed meanwhile is their last durable version, and older
    /// ones may lie elsewhere: the tombstones go ahead of the erase.
    fn before_erase(
        &mut self,
        store: &mut Store,
        cx: &mut Cx<'_>,
        unit: PlaneId,
        victim: BlockId,
    ) -> bool {
        let pool = store.pools.of_unit(unit);
        while !self.trimmed[pool as usize].is_empty() {
            if !store.has_room_beside(unit, victim) {
                return false;
            }
            let (ranges, blocks) = self.take_trimmed(pool, store.geometry.page_bytes);
            let (tomb, out) = self.tombstone(cx, &ranges);
            let placed = store.append_moved(cx, unit, victim, out, TOMB | tomb, &blocks);
            let Some(ppn) = placed else { unreachable!("there was room for a tombstone") };
            self.tombs[tomb as usize].ppn = ppn;
        }
        true
    }
}
