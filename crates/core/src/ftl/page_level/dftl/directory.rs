//! The translation pages: where each lies, which are out of date, and writing them.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::cache::Cache;
use crate::ftl::context::{Cx, PageOut};
use crate::ftl::page_level::store::Store;
use crate::ftl::page_level::store::table::{OWN, Table};
use crate::nand::media::Content;
use crate::nand::{Cause, Geometry, JoinId, Media};
use crate::support::bits::Bits;
use crate::support::ids::{BlockId, Lpn, PlaneId, Ppn};
use crate::support::roomy::{Roomy, RoomyQueue};

/// The global translation directory, which lies in RAM, and what is due of the pages that it names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Directory {
    /// Entries of a translation page.
    entries: u32,
    logical_pages: u32,
    /// Where each translation page lies, or [`Ppn::NONE`] where no entry of it was ever stored.
    place: Vec<Ppn>,
    /// How many lie on flash.
    stored: u32,
    /// Translation pages with entries that changed while they were not cached: RAM keeps those
    /// until they are written.
    stale: Bits,
    /// Stale ones that are in a list below.
    listed: Bits,
    /// By unit, those that its present victim has made stale: they are written together, when it is
    /// empty.
    batch: Vec<Roomy<u32>>,
    /// Those to be written as soon as there is room.
    due: RoomyQueue<u32>,
}

/// What a translation page is written from.
#[derive(Debug, Clone, Copy)]
pub struct Truth<'a> {
    pub table: &'a Table,
    pub cache: &'a Cache,
}

impl Directory {
    /// A directory of pages of which none was ever written.
    pub fn new(entries: u32, logical_pages: u32, geometry: &Geometry) -> Self {
        let pages = logical_pages.div_ceil(entries) as usize;
        let batch = |_| Roomy::with_capacity(pages.min(geometry.pages_per_block as usize));
        Self {
            entries,
            logical_pages,
            place: vec![Ppn::NONE; pages],
            stored: 0,
            stale: Bits::new(pages),
            listed: Bits::new(pages),
            batch: geometry.all_units().map(batch).collect(),
            due: RoomyQueue::with_capacity(pages),
        }
    }

    /// The translation page that has the entry of `lpn`.
    #[inline]
    pub fn page_of(&self, lpn: Lpn) -> u32 {
        lpn.0 / self.entries
    }

    /// The logical pages whose entries are in a translation page.
    pub fn range(&self, number: u32) -> Range<Lpn> {
        Lpn(number * self.entries)..Lpn(((number + 1) * self.entries).min(self.logical_pages))
    }

    /// Whether translation page `number` lies at `ppn`.
    pub fn lies(&self, number: u32, ppn: Ppn) -> bool {
        self.place.get(number as usize) == Some(&ppn)
    }

    /// A translation page has been copied to `ppn`.
    pub fn moved(&mut self, number: u32, ppn: Ppn) {
        self.place[number as usize] = ppn;
    }

    /// Whether a translation page lies on flash.
    #[inline]
    pub fn is_stored(&self, number: u32) -> bool {
        !self.place[number as usize].is_none()
    }

    /// Whether translation pages wait to be written.
    #[inline]
    pub fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Translation pages on flash.
    pub fn stored(&self) -> u32 {
        self.stored
    }

    /// The entry of a page that is not cached has changed, on account of the victim of `unit`.
    pub fn changed_by_victim(&mut self, number: u32, unit: PlaneId) {
        self.stale.set(number as usize);
        if self.listed.set(number as usize) {
            self.batch[unit.index()].push(number);
        }
    }

    /// The entry of a page that is not cached has changed.
    pub fn changed(&mut self, number: u32) {
        self.stale.set(number as usize);
        if self.listed.set(number as usize) {
            self.due.push_back(number);
        }
    }

    /// The victim of `unit` is empty: what it has made stale is due.
    pub fn batch_ends(&mut self, unit: PlaneId) {
        self.due.extend(self.batch[unit.index()].drain(..));
    }

    /// Writes what is due; `false` while there is no room for it. O(1) where nothing is.
    #[inline]
    pub fn write_due(&mut self, store: &mut Store, cx: &mut Cx<'_>, truth: Truth<'_>) -> bool {
        while let Some(&number) = self.due.front() {
            // An eviction may have written it meanwhile.
            if self.stale.get(number as usize)
                && !self.write(store, cx, number, truth, Lpn(0)..Lpn(0))
            {
                return false;
            }
            self.due.pop_front();
            self.listed.clear(number as usize);
        }
        true
    }

    /// Reads a translation page, unless it was never written or is still in RAM. Returns the join
    /// of the read where it is `wanted`, and there is one.
    pub fn read(&self, cx: &mut Cx<'_>, number: u32, wanted: bool) -> JoinId {
        let place = self.place[number as usize];
        if place.is_none() {
            return JoinId::NONE;
        }
        let (block, page) = cx.flash.geometry.split(place);
        if cx.is_in_ram(block, page) {
            return JoinId::NONE;
        }
        let join = if wanted { cx.join() } else { JoinId::NONE };
        cx.read_map(block, page, number, join);
        join
    }

    /// Reads a translation page and writes it anew, with the present entries but those that are
    /// dirty in RAM and not among `cleaned`. `false` while there is no room.
    pub fn write(
        &mut self,
        store: &mut Store,
        cx: &mut Cx<'_>,
        number: u32,
        truth: Truth<'_>,
        cleaned: Range<Lpn>,
    ) -> bool {
        let (pool, class) = (number % store.pools().count(), store.own_class(0));
        let Some(unit) = store.pick_in_turn(cx.engine, pool, class) else { return false };
        let join = self.read(cx, number, true);
        let old = self.place[number as usize];
        let guard = if old.is_none() { BlockId::NONE } else { store.invalidate(old) };
        let range = self.range(number);
        if let Some(media) = cx.engine.media_mut() {
            let maps = &mut media.maps;
            let before = maps.entries(number);
            let entry = |lpn: Lpn| {
                if truth.cache.is_dirty(lpn) && !cleaned.contains(&lpn) {
                    let said = before.and_then(|said| said.get((lpn - range.start) as usize));
                    said.copied().unwrap_or(Ppn::NONE)
                } else {
                    truth.table.lookup(lpn).unwrap_or(Ppn::NONE)
                }
            };
            let entries = Lpn::each(range.clone()).map(entry).collect();
            maps.write(number, entries);
        }
        let out = PageOut::map(number, Cause::Mapping);
        let placed = store.append(cx, (unit, class), out, OWN + number, guard, join);
        let Some(ppn) = placed else { unreachable!("the unit takes the page") };
        self.stored += u32::from(old.is_none());
        self.place[number as usize] = ppn;
        self.stale.clear(number as usize);
        true
    }

    /// What a translation page says of `lpn` must be true, where nothing in RAM says otherwise.
    pub fn check_read(&self, cx: &mut Cx<'_>, lpn: Lpn, truth: Option<Ppn>) {
        let number = self.page_of(lpn);
        if self.place[number as usize].is_none() || self.stale.get(number as usize) {
            return;
        }
        if let Some(stored) = cx.engine.stored_mut() {
            let offset = (lpn - self.range(number).start) as usize;
            let said = stored.media.maps.entries(number).and_then(|said| said.get(offset).copied());
            if said != Some(truth.unwrap_or(Ppn::NONE)) {
                stored.report(|| {
                    format!(
                        "translation page {number} says {said:?} of logical page {lpn}, which \
                        lies at {truth:?}"
                    )
                });
            }
        }
    }

    /// Finds the translation pages that a power cut has left, and tells the store.
    pub fn find(&mut self, store: &mut Store, media: &Media) {
        // Of copies of one version, the one in the block that was opened later counts, as with
        // data.
        let mut newest = vec![((0, 0), Ppn::NONE); self.place.len()];
        for (ppn, oob) in media.records().filter(|(_, oob)| oob.content == Content::Map) {
            // A page that no such directory has written is passed over.
            let Some(best) = newest.get_mut(oob.lpn.index()) else { continue };
            if (oob.version, oob.opened) > best.0 {
                *best = ((oob.version, oob.opened), ppn);
            }
        }
        for (number, &(_, ppn)) in
            newest.iter().enumerate().filter(|(_, (_, ppn))| *ppn != Ppn::NONE)
        {
            self.place[number] = ppn;
            self.stored += 1;
            store.adopt(ppn, OWN + number as u32);
        }
    }

    /// What the translation pages on flash say and is no longer true goes into the cache, where
    /// there is room, or is due.
    pub fn compare(&mut self, media: &Media, table: &Table, cache: &mut Cache) {
        for number in 0..self.place.len() as u32 {
            let said = if self.place[number as usize].is_none() {
                None
            } else {
                media.maps.entries(number)
            };
            let differs = |lpn: &Lpn, first: Lpn| {
                let said = said.and_then(|entries| entries.get((*lpn - first) as usize).copied());
                said.unwrap_or(Ppn::NONE) != table.lookup(*lpn).unwrap_or(Ppn::NONE)
            };
            let range = self.range(number);
            let wrong = Lpn::each(range.clone()).filter(|lpn| differs(lpn, range.start));
            let count = wrong.clone().count();
            if count > cache.room() {
                self.changed(number);
                continue;
            }
            for lpn in wrong {
                cache.insert(lpn);
                cache.set_dirty(lpn);
            }
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let batches: usize = self.batch.iter().map(|batch| batch.capacity()).sum();
        (self.place.len() + self.due.capacity() + batches) * 4
            + self.stale.bytes()
            + self.listed.bytes()
    }
}
