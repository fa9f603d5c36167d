//! Every page of the workload: how often it is used, when it was used last, and how deep it lies in an LRU order.
//!
//! Where the footprint is too large, or where the user asks, only a sample of the pages is followed (SHARDS): those whose
//! hashed address falls into the chosen share, all accesses of each. Whatever is counted then stands for as many pages as one
//! of the sample does, and distances are scaled alike. See [`super::curve`] for the error.

use eraseblock_core::host::{Op, Request};
use hashbrown::HashTable;

use super::curve::Distances;
use super::distribution::Spread;
use super::stack::Stack;
use super::volumes::PerVolume;
use super::windows::Windows;
use crate::error::{TraceError, size};
use crate::watch::Pace;

/// Bits of a page's number within its volume; the rest of a key is the volume.
const PAGE_BITS: u32 = 48;

#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    key: u64,
    last_ns: u64,
    pub reads: u32,
    pub writes: u32,
}

/// What the user chose about pages.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageOptions {
    pub page_bytes: u64,
    /// One page in `1 << shift` is followed from the beginning.
    pub shift: u32,
    /// With more pages than this, every second one is given up.
    pub limit: usize,
}

/// Follows pages through the workload.
#[derive(Debug)]
pub(super) struct Pages {
    options: PageOptions,
    volumes: PerVolume<()>,
    table: HashTable<u32>,
    followed: Vec<Page>,
    /// All accesses, and writes alone.
    stack: Stack,
    write_stack: Stack,
    pub distances: Distances,
    pub read_times: Spread,
    pub write_times: Spread,
    /// Pages written for the first time after they were read.
    pub read_before_written: u64,
}

impl Pages {
    pub fn new(options: PageOptions) -> Self {
        Self {
            options,
            volumes: PerVolume::default(),
            table: HashTable::new(),
            followed: Vec::new(),
            stack: Stack::default(),
            write_stack: Stack::default(),
            distances: Distances::default(),
            read_times: Spread::default(),
            write_times: Spread::default(),
            read_before_written: 0,
        }
    }

    /// Pages that one followed page stands for.
    pub fn weight(&self) -> u64 {
        1 << self.options.shift
    }

    pub fn page_bytes(&self) -> u64 {
        self.options.page_bytes
    }

    /// The pages that are followed.
    pub fn followed(&self) -> &[Page] {
        &self.followed
    }

    /// Takes note of a read, write or trim; asks within a long one whether to go on.
    pub fn add(
        &mut self,
        request: &Request,
        windows: &mut Windows,
        pace: &mut Pace<'_>,
    ) -> Result<(), TraceError> {
        let page_bytes = self.options.page_bytes;
        let end = request.offset + request.len;
        let (first, last) = if request.op == Op::Trim {
            (request.offset.div_ceil(page_bytes), end / page_bytes)
        } else {
            (request.offset / page_bytes, end.div_ceil(page_bytes))
        };
        if first >= last {
            return Ok(());
        }
        if last > 1 << PAGE_BITS {
            return Err(TraceError::fit(format!(
                "a request of volume {} ends at byte {end}, beyond the {} that pages of {page_bytes} B can be numbered in; \
                 take larger pages",
                request.volume,
                size(page_bytes << PAGE_BITS)
            )));
        }
        let base = (self.volumes.place(request.volume) as u64) << PAGE_BITS;
        if request.op == Op::Trim {
            return self.trim(base + first, base + last, pace);
        }
        let write = request.op == Op::Write;
        self.distances.count(write, last - first);
        for key in base + first..base + last {
            if key % REST == 0 && last - first > REST {
                pace.rest()?;
            }
            self.access(key, request.arrival_ns, write, windows);
        }
        Ok(())
    }

    #[inline]
    fn access(&mut self, key: u64, now_ns: u64, write: bool, windows: &mut Windows) {
        let hash = mix(key);
        if !self.is_followed(hash) {
            return;
        }
        let pages = &mut self.followed;
        let found = self.table.find(table_hash(hash), |&id| pages[id as usize].key == key);
        let id = if let Some(&id) = found {
            id
        } else {
            let id = pages.len() as u32;
            pages.push(Page { key, last_ns: 0, reads: 0, writes: 0 });
            self.table.insert_unique(table_hash(hash), id, |&id| table_hash(mix(pages[id as usize].key)));
            id
        };
        let weight = 1 << self.options.shift;
        let page = &mut pages[id as usize];
        let last_ns = (page.reads | page.writes > 0).then_some(page.last_ns);
        page.last_ns = now_ns;
        windows.page(last_ns, weight);
        let depth = self.stack.access(id);
        self.distances.mixed(write, depth, weight);
        if let (Some(last_ns), Some(_)) = (last_ns, depth) {
            let times = if write { &mut self.write_times } else { &mut self.read_times };
            times.add_many(now_ns - last_ns, weight);
        }
        if write {
            if page.writes == 0 && page.reads > 0 {
                self.read_before_written += weight;
            }
            page.writes = page.writes.saturating_add(1);
            let depth = self.write_stack.access(id);
            self.distances.write_only(depth, weight);
        } else {
            page.reads = page.reads.saturating_add(1);
        }
        if self.followed.len() > self.options.limit {
            self.thin();
        }
    }

    fn trim(&mut self, first: u64, last: u64, pace: &mut Pace<'_>) -> Result<(), TraceError> {
        if last - first > self.followed.len() as u64 {
            for (id, page) in (0..).zip(&self.followed) {
                if (first..last).contains(&page.key) {
                    self.stack.trim(id);
                    self.write_stack.trim(id);
                }
            }
            return pace.rest();
        }
        for key in first..last {
            let hash = mix(key);
            if self.is_followed(hash)
                && let Some(&id) =
                    self.table.find(table_hash(hash), |&id| self.followed[id as usize].key == key)
            {
                self.stack.trim(id);
                self.write_stack.trim(id);
            }
        }
        Ok(())
    }

    #[inline]
    fn is_followed(&self, hash: u64) -> bool {
        hash.leading_zeros() >= self.options.shift
    }

    /// Gives up every second page, by its hash, as if it had never been followed.
    #[cold]
    fn thin(&mut self) {
        self.options.shift += 1;
        let mut numbers = Vec::with_capacity(self.followed.len());
        let mut kept = 0;
        let stays = |page: &Page| mix(page.key).leading_zeros() >= self.options.shift;
        for page in &self.followed {
            numbers.push(stays(page).then_some(kept));
            kept += u32::from(stays(page));
        }
        self.followed.retain(stays);
        self.table.clear();
        let pages = &self.followed;
        for (id, page) in (0..).zip(pages) {
            let rehash = |&id: &u32| table_hash(mix(pages[id as usize].key));
            self.table.insert_unique(table_hash(mix(page.key)), id, rehash);
        }
        self.stack.thin(|page| numbers[page as usize]);
        self.write_stack.thin(|page| numbers[page as usize]);
        self.distances.thin();
    }
}

/// Pages of one request between two looks at whether the user still waits.
const REST: u64 = 1 << 16;

/// A page's place in the sample: spreads neighbours evenly, the same on every machine.
#[inline]
fn mix(key: u64) -> u64 {
    let mut hash = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Its place in the table: the pages of a sample share the first bits of `mix`.
#[inline]
fn table_hash(hash: u64) -> u64 {
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
