//! The seam for whatever looks at a run and changes nothing in it: metrics, the log of events,
//! checks.
//!
//! The device tells an [`Observer`] what happens, in the order of events, by the methods that it
//! has. A method that is left out says that its events are of no interest, once; after that they
//! cost the run nothing.

use super::{Counters, Figures, Latency};
use crate::buffer::{Buffer, Evicted, Eviction, Outcome};
use crate::host::Op;
use crate::nand::{Engine, Path, Plan};
use crate::support::ids::Lpn;

/// Whether an observer wants to hear of events of this kind again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hears {
    /// It does.
    Yes,
    /// Of the next one that comes when so many requests have been submitted; of
    /// [`Observer::on_serve`] alone.
    From(u64),
    /// It has no use for them. The device does not tell it of another one.
    No,
}

/// Why an observer ends the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It cannot go on, such as a log that cannot be written.
    Observer(String),
    /// What it saw is wrong: verification has failed.
    Wrong(String),
}

/// What the buffer was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occasion {
    /// The host reads or writes pages of one logical block. A request over several blocks asks
    /// several times.
    Access {
        /// First logical page.
        first: Lpn,
        /// Pages.
        count: u32,
        /// It writes them; else it reads them.
        write: bool,
        /// They have to be stored at once: [`Occasion::Force`] follows.
        forced: bool,
    },
    /// Pages that were just written have to be stored: forced unit access.
    Force {
        /// First logical page.
        first: Lpn,
        /// Pages.
        count: u32,
    },
    /// The host no longer needs pages.
    Trim {
        /// First logical page.
        first: Lpn,
        /// Pages.
        count: u32,
        /// Those of them that the buffer held, where an observer [`reads
        /// details`](Observer::reads_details).
        dropped: Vec<Lpn>,
    },
    /// The host wants everything stored.
    Flush {
        /// A battery holds the buffer up, so that it is not asked.
        battery: bool,
    },
    /// The run ends; the buffer is emptied if the configuration says so.
    End,
}

/// One call of the buffer, and what it decided.
#[derive(Debug)]
pub struct Decision<'a> {
    /// Number of the request, from 0 in the order of the workload; none at the end.
    pub request: Option<u64>,
    /// What it was asked.
    pub occasion: Occasion,
    /// What it decided.
    pub outcome: &'a Outcome,
}

/// Pages leave the buffer together.
#[derive(Debug, Clone, Copy)]
pub struct Leaving<'a> {
    /// What the buffer says of it: the action, which may add pages to complete the block, the hint,
    /// the reason.
    pub eviction: &'a Eviction,
    /// The pages, each once, in the order in which they leave, before padding; they may be of
    /// several logical blocks.
    pub pages: &'a [Evicted],
    /// They are clean, and nothing is written.
    pub clean: bool,
}

/// A write to the FTL, which may have to wait for room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Pages of the host.
    pub pages: usize,
    /// The same and those that completed the block.
    pub with_padding: usize,
    /// They bypassed the buffer.
    pub bypassed: bool,
}

/// A request is admitted; times in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// When it came.
    pub arrival: u64,
    /// When it was admitted: now.
    pub now: u64,
    /// Requests that are admitted and not answered, this one among them.
    pub under_way: u32,
}

/// What a request waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// That all of it is issued.
    Issue,
    /// Pages that are read from flash, for it or for another one.
    Reads,
    /// Programs: of its own pages or of those that leave the buffer for it; of a flush command,
    /// all programs before it.
    Writes,
    /// Room in the buffer.
    Slots,
}

/// One of the things that a request waits for has come; times in ns.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Number of the request.
    pub number: u64,
    /// Now.
    pub now: u64,
    /// What has come.
    pub awaited: Awaited,
    /// How that came about in the flash, where the engine keeps it.
    pub path: Option<&'a Path>,
}

/// A request is answered; times in ns, 0 in an untimed run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered {
    /// Its number in the workload, from 0.
    pub number: u64,
    /// A read (0), a write (1) or another request (2).
    pub kind: u8,
    /// When it came.
    pub arrival: u64,
    /// When it was admitted.
    pub admitted: u64,
    /// When it was answered: now.
    pub now: u64,
    /// Written pages of it bypassed the buffer.
    pub bypassed: bool,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// Time, in ns.
    pub now: u64,
    /// What has been counted.
    pub counters: &'a Counters,
    /// What had been counted at the end of the warm-up.
    pub before: &'a Counters,
    /// Response times so far: reads, writes through the buffer, others, writes of which pages
    /// bypassed it. Those of the warm-up are left out.
    pub responses: &'a [Latency],
    /// Those among them of writes of which pages bypassed the buffer.
    pub bypassed: &'a Latency,
    /// The drive has reached the end of its life, so that not all is done that was asked for.
    pub worn_out: bool,
}

impl Moment<'_> {
    /// One of the counts, that of the warm-up taken off.
    #[inline]
    pub fn count(&self, of: impl Fn(&Counters) -> u64) -> u64 {
        of(self.counters) - of(self.before)
    }
}

/// How the mapping writes a logical block over that the host has written in full, and never
/// trimmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folding {
    /// Nothing is said of it.
    Unknown,
    /// With each batch of pages the block is written anew, for an erase at least.
    Anew,
    /// In a log block of its own, of which there are so many, or anew; a log block that is given up
    /// costs an erase at least, and a block has one at most.
    Logs {
        /// Log blocks.
        count: u32,
        /// A log block that is written in order, from the first page of its block on, costs one
        /// erase when it is given up, and none if it is not; where all are taken, the one written
        /// longest ago is given up.
        in_order: bool,
    },
}

impl Folding {
    /// How many log blocks there are, if any.
    pub fn logs(self) -> Option<u32> {
        match self {
            Self::Logs { count, .. } => Some(count),
            Self::Unknown | Self::Anew => None,
        }
    }
}

/// What an observer may know of the drive before the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing to do with one another")]
pub struct Drive {
    /// Pages of the buffer.
    pub capacity: u32,
    /// Pages that the host sees: whole logical blocks.
    pub logical_pages: u32,
    /// Pages of an erase block, and of a logical block.
    pub pages_per_block: u32,
    /// Planes of the array.
    pub units: u32,
    /// Mapped pages that one program writes.
    pub program_pages: u32,
    /// Pages of flash that can be programmed before a block has to be erased.
    pub free_pages: u64,
    /// Time that a page takes to or from the buffer's RAM, in ns.
    pub ram_ns: u64,
    /// The run takes time.
    pub timed: bool,
    /// Dirty pages are stored after the last request.
    pub flushed_at_end: bool,
    /// The buffer's hints say how blocks were written and read.
    pub reports_patterns: bool,
    /// The buffer's hints say how blocks were written.
    pub classifies_writes: bool,
    /// How blocks are written over; unknown, too, where not all were written before the run.
    pub folding: Folding,
}

#[cfg(test)]
impl Drive {
    /// A small drive, for tests of metrics.
    pub(crate) const EXAMPLE: Self = Self {
        capacity: 8,
        logical_pages: 64,
        pages_per_block: 4,
        units: 2,
        program_pages: 1,
        free_pages: 80,
        ram_ns: 1,
        timed: true,
        flushed_at_end: true,
        reports_patterns: false,
        classifies_writes: false,
        folding: Folding::Anew,
    };
}

/// Looks at a run. Every method may be left out.
#[expect(unused_variables, reason = "what is not looked at")]
pub trait Observer: std::fmt::Debug + Send {
    /// From here on the flash works for this request, or for none: collection in idle time.
    fn on_begin(&mut self, request: Option<Op>) -> Hears {
        Hears::No
    }

    /// A request of a timed run is admitted.
    fn on_admit(&mut self, admission: &Admission) -> Hears {
        Hears::No
    }

    /// The buffer has decided, and nothing of it is carried out yet; `buffer` is already as it will
    /// be, but for trims, which it has not done yet. Filling the drive goes past the buffer.
    ///
    /// # Errors
    /// The run has to end.
    fn on_access(&mut self, decision: &Decision<'_>, buffer: &dyn Buffer) -> Result<Hears, Fault> {
        Ok(Hears::No)
    }

    /// Pages leave the buffer, or are written back and stay. The FTL has not got them yet.
    fn on_evict(&mut self, leaving: &Leaving<'_>) -> Hears {
        Hears::No
    }

    /// The FTL was given pages that the buffer wrote together, padding included, or that a request
    /// wrote past it.
    fn on_write(&mut self, written: &Written) -> Hears {
        Hears::No
    }

    /// Whether it may hear in one word of many requests that were admitted, when they have been
    /// served: as of one that came when the first of them did, waited for as long as any, and was
    /// one of as many; and of their writes by [`Self::on_writes`].
    fn sums_up(&self) -> bool {
        false
    }

    /// The same as [`Self::on_write`], so often.
    fn on_writes(&mut self, written: &Written, times: u64) -> Hears {
        Hears::No
    }

    /// Operations go to the flash. Each of them says what it is done for ([`crate::nand::Cause`]).
    fn on_issue(&mut self, plan: &Plan, engine: &Engine) -> Hears {
        Hears::No
    }

    /// All of a write of the buffer is stored at `now`; the request that it made room for came at
    /// `arrival`. Timed runs only, and not where no request was the reason.
    fn on_store(&mut self, arrival: u64, now: u64) -> Hears {
        Hears::No
    }

    /// One of the things that a request of a timed run waits for has come. Copies in RAM follow the
    /// last of them.
    fn on_progress(&mut self, progress: &Progress<'_>) -> Hears {
        Hears::No
    }

    /// A request is answered.
    fn on_answer(&mut self, answered: &Answered) -> Hears {
        Hears::No
    }

    /// All that a request does at once is done: it is served, and need not be answered yet.
    fn on_serve(&mut self, moment: &Moment<'_>) -> Hears {
        Hears::No
    }

    /// All requests are answered; the last answer came at `moment`. What the configuration asks for
    /// after that comes now.
    fn on_end(&mut self, moment: &Moment<'_>) -> Hears {
        Hears::No
    }

    /// The warm-up is over: what it has counted does not count. Says whether it has forgotten that,
    /// and goes on with what it knows of the drive; else another one begins in its place.
    fn measures_from_here(&mut self, drive: &Drive) -> bool {
        false
    }

    /// Writes down its figures, when all is done.
    fn report(&self, moment: &Moment<'_>, figures: &mut Figures) {}

    /// A law that must hold when all is done.
    ///
    /// # Errors
    /// What does not hold.
    fn check(&self, moment: &Moment<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Whether it reads how things came about in the flash ([`Progress::path`]).
    fn reads_paths(&self) -> bool {
        false
    }

    /// Whether it reads the buffer's notes, and which pages a trim takes out of the buffer.
    fn reads_details(&self) -> bool {
        false
    }
}

/// What the file of a metric says of it: `list`, the documentation and the record's nulls are made
/// of this.
#[derive(Debug)]
pub struct About {
    /// Name in prose.
    pub title: &'static str,
    /// What it is good for, in a sentence.
    pub summary: &'static str,
    /// Every run has it; else it is kept where somebody asks.
    pub always: bool,
    /// A run without time has none.
    pub needs_time: bool,
    /// Records of runs that do not keep it leave it out; else it is null there.
    pub left_out: bool,
    /// What it adds to the record.
    pub figures: &'static [Figure],
}

/// Figures of a record.
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// Path in the record, such as `co_hit.read`; null where the metric is not kept.
    pub key: &'static str,
    /// What lies below it, such as `.{read,write}.mean`; empty where the key says all.
    pub below: &'static str,
    /// What it says, in a sentence.
    pub what: &'static str,
}
