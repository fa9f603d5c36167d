//! The pipeline: what a request does to the buffer, and what leaves the buffer on its way to the
//! FTL.
//!
//! Its state is known here and in this folder's files alone. What they do to the drive as a whole
//! they do as parts of [`Device`](super::Device): a request's answer, the plan and time have other
//! owners.

mod absorbed;
mod battery;
mod evictions;
mod filling;
mod fills;
mod leave;
mod parked;
mod past;
mod plain;
mod serve;
mod space;

pub(super) use battery::{Kept, Ram};

use crate::buffer::{Buffer, Outcome};
use crate::ftl::PageOut;
use crate::pattern::Hint;
use crate::support::ids::Lpn;

/// The buffer, and what is on its way through it.
#[derive(Debug)]
pub(super) struct Pipeline {
    buffer: Box<dyn Buffer>,
    /// All pages bypass it.
    takes_nothing: bool,
    /// Pages that it may hold.
    capacity: u32,
    /// Its decisions on the span being served; taken out meanwhile.
    out: Option<Box<Outcome>>,
    /// Most pages that it has held.
    peak_pages: u32,
    /// It has had to make room.
    made_room: bool,
    /// Evictions written so far.
    evictions: u64,
    /// Pages on their way to the FTL.
    batch: Vec<PageOut>,
    /// Flash reads of requests, and the pages that these fill.
    fills: fills::Fills,
    /// Writes of the buffer that are under way.
    under_way: evictions::Evictions,
    /// Writes that wait for room.
    parked: parked::Parked,
    /// Of the request being served.
    current: Current,
}

/// What is known of the request being served.
#[derive(Debug, Default)]
struct Current {
    /// It is a write that asks for forced unit access.
    forced: bool,
    /// It has made the mapping read its map.
    read_map: bool,
    /// Its number, and the pages that it writes.
    write: Option<(u64, u32)>,
    /// Number of the next parked write when it came.
    parked_before: u64,
    /// A hint that comes with the next parked write.
    late_hint: Option<Hint>,
}

impl Pipeline {
    /// Nothing has come yet.
    pub fn new(buffer: Box<dyn Buffer>, capacity: u32) -> Self {
        Self {
            takes_nothing: buffer.takes_nothing(),
            buffer,
            capacity,
            out: Some(Box::default()),
            peak_pages: 0,
            made_room: false,
            evictions: 0,
            batch: Vec::new(),
            fills: fills::Fills::default(),
            under_way: evictions::Evictions::default(),
            parked: parked::Parked::default(),
            current: Current::default(),
        }
    }

    /// No request is being served any more: what leaves now comes after everything that is parked.
    pub fn ends_run(&mut self) {
        (self.current.parked_before, self.current.write) = (0, None);
    }

    /// Evictions numbered so far.
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    /// The drive has been filled in so many.
    pub fn start_from(&mut self, evictions: u64) {
        self.evictions = evictions;
    }

    /// Numbers the next pages that leave the buffer together, apart from those of requests.
    #[inline]
    fn next_eviction(&mut self) -> u64 {
        self.evictions += 1;
        (self.evictions << 1) | 1
    }

    /// The buffer, to look at.
    #[inline]
    pub fn buffer(&self) -> &dyn Buffer {
        &*self.buffer
    }

    /// The buffer, to be told the future.
    pub fn buffer_mut(&mut self) -> &mut dyn Buffer {
        &mut *self.buffer
    }

    /// Pages that the buffer may hold.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Most pages that the buffer has held, if it never had to make room. One that divides its RAM
    /// may have to in one part while there is some in another.
    pub fn never_filled(&self) -> Option<u32> {
        let peak = self.peak_pages;
        (peak > 0 && peak < self.capacity && !self.made_room).then_some(peak)
    }

    /// Whether some pages are being filled: what is written of them may have to wait.
    #[inline]
    pub fn awaits_fills(&self) -> bool {
        !self.fills.is_empty()
    }

    /// Whether writes wait for room.
    #[inline]
    pub fn has_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    /// Whether something of a page is parked. O(1).
    #[inline]
    pub fn is_parked(&self, lpn: Lpn) -> bool {
        self.parked.newest(lpn).is_some()
    }

    /// Writes that have had to wait for room.
    pub fn parked_writes(&self) -> u64 {
        self.parked.next()
    }

    /// Pages of the write requests with these numbers of which something is parked.
    pub fn parked_pages(&self, wanted: impl Fn(u64) -> bool) -> u64 {
        self.parked.requested_pages(wanted)
    }
}
