//! The best that any buffer of a size could have made of a workload: most hits, fewest pages
//! programmed, fewest blocks erased.
//!
//! Holding a page from one use to the next makes a hit and takes a slot for that time; holding what
//! the host wrote until it is written again or trimmed saves a program and takes a slot. So both
//! ask how many of many intervals fit into so many slots. Asked in the order of their ends, an
//! interval goes into the slot that has been free for the shortest time, or nowhere: no choice of
//! intervals is larger. That needs no future and O(1) for each page. `docs/bounds.md` has the
//! proofs.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::observer::{About, Decision, Drive, Fault, Figure, Hears, Moment, Observer, Occasion};
use super::{Figures, share};
use crate::buffer::Buffer;
use crate::host::{Op, Request, split};
use crate::support::bits::Bits;
use crate::support::divide::Divisor;
use crate::support::ids::Lpn;
use crate::support::marks::Marks;

/// What the file says of the metric.
pub const ABOUT: About = About {
    title: "Bounds",
    summary: "what no buffer of this size could better",
    always: false,
    needs_time: false,
    left_out: false,
    figures: &[Figure {
        key: "bound",
        below: ".{hit_ratio,flash_programs,waf,erases}",
        what: "what no buffer of this size could better on this workload and drive, each for \
               itself; null with `bounds = false`, and where the drive has reached the end of its \
               life: what it leaves undone would count as done",
    }],
};

/// Slots of a buffer, and when each became free: an interval starts at an access to a page and ends
/// at another.
#[derive(Debug, Clone)]
struct Slots {
    /// Slots that no interval has taken.
    fresh: u32,
    /// Ends of the last interval of each other slot.
    ends: Marks,
}

impl Slots {
    /// Whether an interval fits, which ends no earlier than any before; it is then in.
    fn take(&mut self, start: u64, end: u64) -> bool {
        if let Some(free) = self.ends.last_up_to(start) {
            self.ends.clear(free);
        } else if self.fresh > 0 {
            self.fresh -= 1;
        } else {
            return false;
        }
        self.ends.set(end);
        true
    }
}

/// The drive, as far as the bounds depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Pages of the buffer.
    pub capacity: u32,
    /// Pages that the host sees.
    pub logical_pages: u32,
    /// Pages of an erase block.
    pub pages_per_block: u32,
    /// Pages of flash that can be programmed before a block has to be erased.
    pub free_pages: u64,
    /// Dirty pages are stored after the last request.
    pub flushed_at_end: bool,
    /// Host pages that may wait in program units for company after the last request.
    pub unprogrammed: u64,
}

/// What no buffer could better.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Most pages found in the buffer / pages requested; null where none were.
    pub hit_ratio: Option<f64>,
    /// Fewest pages programmed.
    pub flash_programs: u64,
    /// The same / pages written by the host; null where it wrote none.
    pub waf: Option<f64>,
    /// Fewest blocks erased.
    pub erases: u64,
}

/// What the host's requests come to, whatever the drive below the buffer: the same for all runs of
/// a workload on buffers of a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Pages asked for, and those among them that can be hits.
    asked: u64,
    hit: u64,
    /// Pages written, and those among them that need never be stored.
    written: u64,
    saved: u64,
}

impl Limits {
    /// Of a drive as it is now.
    fn of(drive: &Drive) -> Self {
        let waiting = u64::from(drive.units) * u64::from(drive.program_pages - 1);
        Self {
            capacity: drive.capacity,
            logical_pages: drive.logical_pages,
            pages_per_block: drive.pages_per_block,
            free_pages: drive.free_pages,
            flushed_at_end: drive.flushed_at_end,
            unprogrammed: if drive.flushed_at_end { 0 } else { waiting },
        }
    }

    fn bound(&self, totals: &Totals) -> Bound {
        let programs = (totals.written - totals.saved).saturating_sub(self.unprogrammed);
        Bound {
            hit_ratio: share(totals.hit, totals.asked),
            flash_programs: programs,
            waf: share(programs, totals.written),
            erases: programs
                .saturating_sub(self.free_pages)
                .div_ceil(u64::from(self.pages_per_block)),
        }
    }
}

/// What the totals depend on beside the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// Pages of the buffer.
    pub capacity: u32,
    /// Pages that the host sees.
    pub logical_pages: u32,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// A battery holds the buffer up: flush commands and forced writes cost nothing.
    pub battery: bool,
    /// Dirty pages are stored after the last request.
    pub flushed_at_end: bool,
    /// Requests that are not measured: the first ones.
    pub warm_up: u64,
}

/// Finds the totals from requests alone, without a drive that serves them.
#[derive(Debug)]
pub struct Tally {
    question: Question,
    page: Divisor,
    bounds: Bounds,
    seen: u64,
}

impl Tally {
    /// No request has come.
    pub fn new(question: Question) -> Self {
        let Question { capacity, logical_pages, flushed_at_end, .. } = question;
        let (pages_per_block, free_pages, unprogrammed) = (1, 0, 0);
        let limits = Limits {
            capacity,
            logical_pages,
            pages_per_block,
            free_pages,
            flushed_at_end,
            unprogrammed,
        };
        let page = Divisor::new(question.page_bytes);
        Self { question, page, bounds: Bounds::within(limits), seen: 0 }
    }

    /// The next request. One that the drive refuses ends the run, and is of no interest here.
    pub fn add(&mut self, request: &Request) {
        if self.question.warm_up > 0 && self.seen == self.question.warm_up {
            self.bounds.forget();
        }
        self.seen += 1;
        let (battery, pages) = (self.question.battery, split::pages(request, self.page));
        match (request.op, pages) {
            (Op::Flush, _) if !battery => self.bounds.flush(),
            (_, None) | (Op::Flush, _) => {}
            (_, Some(pages)) if !self.has(pages) => {}
            (Op::Trim, Some(pages)) => self.bounds.trim(pages.first, pages.count),
            (op, Some(pages)) => {
                let write = op == Op::Write;
                let forced = request.fua && write && !battery;
                self.bounds.access(pages.first, pages.count, write, forced);
            }
        }
    }

    fn has(&self, pages: split::Pages) -> bool {
        let end = u64::from(pages.first.0) + u64::from(pages.count);
        end <= u64::from(self.question.logical_pages)
    }

    /// What all of them come to.
    pub fn totals(&self) -> Totals {
        self.bounds.totals()
    }
}

/// The bounds of a run whose requests somebody else follows: it hears of none.
#[derive(Debug, Clone)]
pub struct Known {
    limits: Limits,
    /// To be there when the run ends.
    totals: Arc<OnceLock<Totals>>,
}

impl Known {
    /// On a drive that no request has reached.
    pub fn new(drive: &Drive, totals: Arc<OnceLock<Totals>>) -> Self {
        Self { limits: Limits::of(drive), totals }
    }
}

impl Observer for Known {
    fn measures_from_here(&mut self, drive: &Drive) -> bool {
        self.limits.free_pages = drive.free_pages;
        true
    }

    fn report(&self, moment: &Moment<'_>, figures: &mut Figures) {
        let totals = self.totals.get().filter(|_| !moment.worn_out);
        figures.set("bound", totals.map(|totals| self.limits.bound(totals)));
    }
}

/// Follows the host's requests.
#[derive(Debug, Clone)]
pub struct Bounds {
    limits: Limits,
    /// For each logical page the number of its last use, and of the write whose data need not have
    /// been stored yet; 0: none.
    last: Vec<[u64; 2]>,
    /// Pages that were ever written: the table is large, and mostly never touched.
    touched: Bits,
    /// Accesses and trimmed pages so far.
    now: u64,
    /// Number of the last flush command: what was written up to it is stored.
    flushed: u64,
    hits: Slots,
    writes: Slots,
    asked: u64,
    hit: u64,
    written: u64,
    /// Written pages that need never be stored.
    saved: u64,
}

impl Bounds {
    /// Bounds for a drive that no request has reached.
    pub fn new(drive: &Drive) -> Self {
        Self::within(Limits::of(drive))
    }

    /// The same, where nothing else is known of the drive.
    pub fn within(limits: Limits) -> Self {
        let slots = Slots { fresh: limits.capacity, ends: Marks::default() };
        Self {
            last: vec![[0; 2]; limits.logical_pages as usize],
            touched: Bits::new(limits.logical_pages as usize),
            limits,
            now: 0,
            flushed: 0,
            hits: slots.clone(),
            writes: slots,
            asked: 0,
            hit: 0,
            written: 0,
            saved: 0,
        }
    }

    /// The host reads or writes pages; `forced`: they are stored at once.
    pub fn access(&mut self, first: Lpn, count: u32, write: bool, forced: bool) {
        self.asked += u64::from(count);
        self.written += if write { u64::from(count) } else { 0 };
        for page in first.index()..(first + count).index() {
            self.now += 1;
            let [used, _] = self.last[page];
            self.last[page][0] = self.now;
            self.hit += u64::from(used > 0 && self.hits.take(used, self.now));
            if write {
                self.replace(page);
                self.touched.set(page);
                self.last[page][1] = if forced { 0 } else { self.now };
            }
        }
    }

    /// The host no longer needs pages.
    pub fn trim(&mut self, first: Lpn, count: u32) {
        for page in first.index()..(first + count).index() {
            self.now += 1;
            self.replace(page);
            self.last[page] = [0; 2];
        }
    }

    /// The host wants everything stored.
    pub fn flush(&mut self) {
        self.flushed = self.now;
    }

    /// What was written to a page is of no use any more.
    fn replace(&mut self, page: usize) {
        let [_, written] = self.last[page];
        self.saved += u64::from(written > self.flushed && self.writes.take(written, self.now));
    }

    /// Numbers of the writes whose data may still be in RAM alone.
    fn kept(&self) -> impl Iterator<Item = u64> {
        let pages = self.last.len();
        let after = move |page: usize| self.touched.first_set(page, pages);
        std::iter::successors(after(0), move |page| after(page + 1))
            .map(|page| self.last[page][1])
            .filter(|&written| written > self.flushed)
    }

    /// What the requests so far come to, the last one among them.
    fn totals(&self) -> Totals {
        let mut saved = self.saved;
        if !self.limits.flushed_at_end {
            let mut slots = self.writes.clone();
            // All of these end now, each in a slot of its own.
            saved +=
                self.kept().zip(self.now + 1..).filter(|&(at, end)| slots.take(at, end)).count()
                    as u64;
        }
        Totals { asked: self.asked, hit: self.hit, written: self.written, saved }
    }

    /// The bounds after the last request.
    pub fn bound(&self) -> Bound {
        self.limits.bound(&self.totals())
    }

    /// What has come so far does not count. A buffer may hold pages of it, and hit them. It may also
    /// have stored all that was written, which then costs nothing.
    fn forget(&mut self) {
        let slots = Slots { fresh: self.limits.capacity, ends: Marks::default() };
        (self.hits, self.writes) = (slots.clone(), slots);
        (self.asked, self.hit, self.written, self.saved) = (0, 0, 0, 0);
        self.flush();
    }
}

impl Observer for Bounds {
    fn on_access(&mut self, decision: &Decision<'_>, _: &dyn Buffer) -> Result<Hears, Fault> {
        match decision.occasion {
            Occasion::Access { first, count, write, forced } => {
                self.access(first, count, write, forced);
            }
            Occasion::Trim { first, count, .. } => self.trim(first, count),
            Occasion::Flush { battery: false } => self.flush(),
            Occasion::Flush { battery: true } | Occasion::Force { .. } | Occasion::End => {}
        }
        Ok(Hears::Yes)
    }

    fn measures_from_here(&mut self, drive: &Drive) -> bool {
        self.forget();
        self.limits.free_pages = drive.free_pages;
        true
    }

    fn report(&self, moment: &Moment<'_>, figures: &mut Figures) {
        figures.set("bound", (!moment.worn_out).then(|| self.bound()));
    }
}
