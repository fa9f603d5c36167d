//! Every page of the workload: how often it is used, when it was used last, and how deep it lies in
//! an LRU order.
//!
//! Where the footprint is too large, or where the user asks, only a sample of the pages is followed
//! (SHARDS): those whose hashed address falls into the chosen share, all accesses of each. Whatever
//! is counted then stands for as many pages as one of the sample does, and distances are scaled
//! alike. See [`super::curve`] for the error.

use eraseblock_core::host::{Op, Request};
use hashbrown::HashTable;

use super::curve::Distances;
use super::distribution::Spread;
use super::stack::{NOWHERE, SlotOf, Stack};
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
    /// In the order of all accesses, and in that of writes.
    slots: [u32; 2],
}

/// The slots in one of the two orders.
struct Slots<'a, const ORDER: usize>(&'a mut [Page]);

impl<const ORDER: usize> SlotOf for Slots<'_, ORDER> {
    #[inline]
    fn slot_of(&mut self, page: u32) -> &mut u32 {
        &mut self.0[page as usize].slots[ORDER]
    }
}

/// An access that waits for its turn.
#[derive(Debug, Clone, Copy)]
struct Access {
    key: u64,
    now_ns: u64,
    page: u32,
    write: bool,
}

/// Accesses that are looked up together: the looks into memory then overlap, which makes up most of
/// the time.
const BATCH: usize = 64;

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
    waiting: Vec<Access>,
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
            waiting: Vec::with_capacity(BATCH),
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
                "a request of volume {} ends at byte {end}, beyond the {} that pages of \
                 {page_bytes} B can be numbered in; take larger pages",
                request.volume,
                size(page_bytes << PAGE_BITS)
            )));
        }
        let base = (self.volumes.place(request.volume) as u64) << PAGE_BITS;
        if request.op == Op::Trim {
            self.catch_up(windows);
            return self.trim(base + first, base + last, pace);
        }
        let write = request.op == Op::Write;
        self.distances.count(write, last - first);
        for key in base + first..base + last {
            if key % REST == 0 && last - first > REST {
                pace.rest()?;
            }
            if self.is_followed(mix(key)) {
                self.waiting.push(Access { key, now_ns: request.arrival_ns, page: 0, write });
                if self.waiting.len() == BATCH {
                    self.catch_up(windows);
                }
            }
        }
        Ok(())
    }

    /// Gives the accesses that wait their turn.
    pub fn catch_up(&mut self, windows: &mut Windows) {
        let mut waiting = std::mem::take(&mut self.waiting);
        for access in &mut waiting {
            access.page = self.find(access.key);
        }
        for access in waiting.drain(..) {
            self.access(access, windows);
        }
        self.waiting = waiting;
        while self.followed.len() > self.options.limit {
            self.thin();
        }
    }

    /// The number of a page, which may be new.
    #[inline]
    fn find(&mut self, key: u64) -> u32 {
        let hash = table_hash(mix(key));
        let pages = &mut self.followed;
        if let Some(&page) = self.table.find(hash, |&page| pages[page as usize].key == key) {
            return page;
        }
        let page = pages.len() as u32;
        pages.push(Page { key, last_ns: 0, reads: 0, writes: 0, slots: [NOWHERE; 2] });
        self.table.insert_unique(hash, page, |&page| table_hash(mix(pages[page as usize].key)));
        page
    }

    #[inline]
    fn access(&mut self, access: Access, windows: &mut Windows) {
        let Access { now_ns, page: number, write, .. } = access;
        let weight = 1 << self.options.shift;
        let page = &mut self.followed[number as usize];
        let last_ns = (page.reads | page.writes > 0).then_some(page.last_ns);
        page.last_ns = now_ns;
        if write {
            if page.writes == 0 && page.reads > 0 {
                self.read_before_written += weight;
            }
            page.writes = page.writes.saturating_add(1);
        } else {
            page.reads = page.reads.saturating_add(1);
        }
        windows.page(now_ns, last_ns, weight);
        let depth = self.stack.access(number, &mut Slots::<0>(&mut self.followed));
        self.distances.mixed(write, depth, weight);
        if let (Some(last_ns), Some(_)) = (last_ns, depth) {
            let times = if write { &mut self.write_times } else { &mut self.read_times };
            times.add_many(now_ns - last_ns, weight);
        }
        if write {
            let depth = self.write_stack.access(number, &mut Slots::<1>(&mut self.followed));
            self.distances.write_only(depth, weight);
        }
    }

    fn trim(&mut self, first: u64, last: u64, pace: &mut Pace<'_>) -> Result<(), TraceError> {
        if last - first > self.followed.len() as u64 {
            for page in 0..self.followed.len() as u32 {
                if (first..last).contains(&self.followed[page as usize].key) {
                    self.forget(page);
                }
            }
            return pace.rest();
        }
        for key in first..last {
            let hash = mix(key);
            if self.is_followed(hash)
                && let Some(&page) = self
                    .table
                    .find(table_hash(hash), |&page| self.followed[page as usize].key == key)
            {
                self.forget(page);
            }
        }
        Ok(())
    }

    /// A page is trimmed.
    fn forget(&mut self, page: u32) {
        self.stack.trim(page, &mut Slots::<0>(&mut self.followed));
        self.write_stack.trim(page, &mut Slots::<1>(&mut self.followed));
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
        let number = |page: u32| numbers[page as usize];
        self.stack.thin(number, &mut Slots::<0>(&mut self.followed));
        self.write_stack.thin(number, &mut Slots::<1>(&mut self.followed));
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
