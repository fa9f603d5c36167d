//! Characterises a workload in one pass: what it asks for, when, where, and how an LRU buffer of
//! any size would fare.
//!
//! `docs/trace-info.md` defines each figure. Memory grows with the pages touched, up to a limit
//! from which on a sample of them is followed.

mod arrivals;
mod curve;
mod distribution;
mod footprint;
mod hot;
mod pages;
mod sizes;
mod stack;
mod streams;
mod volumes;
mod windows;

use std::path::Path;

use eraseblock_core::host::{Op, Request};
use serde::Serialize;

use crate::config::WorkloadConfig;
use crate::error::TraceError;
use crate::watch::{Pace, Watch};
use crate::workload::Workload;
use arrivals::ArrivalCounts;
pub use arrivals::{Arrivals, BusiestSecond, Dispersion, Flushes};
pub use curve::{Accesses, MissRatio, MissRatioPoint, Reuse};
pub use distribution::Distribution;
pub use footprint::Footprint;
pub use hot::Concentration;
use pages::{PageOptions, Pages};
use sizes::SizeCounts;
pub use sizes::{Alignment, ByKind, Mix, Part};
use streams::Streams;
pub use streams::{STREAMS, Sequentiality};
use windows::Windows;
pub use windows::{OverTime, Window};

/// How a workload is characterised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CharacteriseOptions {
    /// Size of the pages in which footprint, re-use and the miss-ratio curve are counted: a power
    /// of two from 512 on.
    pub page_bytes: u64,
    /// Share of the pages to follow, rounded down to a power of two; 1: all, whatever memory it
    /// takes. Without it, all pages are followed up to `max_pages`.
    pub sample: Option<f64>,
    /// Without `sample`: with more pages than this, every second one is given up, as often as
    /// needed.
    pub max_pages: usize,
}

impl Default for CharacteriseOptions {
    /// Pages of 4 KiB, and at most 16 Mi of them: a footprint of 64 GiB, in about 1.6 GB of memory.
    fn default() -> Self {
        Self { page_bytes: 4096, sample: None, max_pages: 1 << 24 }
    }
}

/// The smallest share of the pages that can be followed, as a power of a half.
const SMALLEST_SHARE: u32 = 32;

impl CharacteriseOptions {
    fn pages(&self) -> Result<PageOptions, TraceError> {
        let page_bytes = self.page_bytes;
        if !page_bytes.is_power_of_two() || !(512..=1 << 30).contains(&page_bytes) {
            return Err(TraceError::fit(format!(
                "page size: found {page_bytes} B, expected a power of two from 512 B to 1 GiB"
            )));
        }
        let Some(share) = self.sample else {
            return Ok(PageOptions {
                page_bytes,
                shift: 0,
                limit: self.max_pages.clamp(1, NO_LIMIT),
            });
        };
        let shift = (0..=SMALLEST_SHARE).find(|&shift| 1.0 / (1u64 << shift) as f64 <= share);
        match shift {
            Some(shift) if share <= 1.0 => Ok(PageOptions { page_bytes, shift, limit: NO_LIMIT }),
            _ => Err(TraceError::fit(format!(
                "sample: found {share}, expected a share of the pages above 0 and up to 1, as in \
                 0.01"
            ))),
        }
    }
}

/// Pages are numbered with 32 bits, and slots of time with four for each page.
const NO_LIMIT: usize = 1 << 29;

/// What a workload is like. `docs/trace-info.md` defines each figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profile {
    /// Requests characterised.
    pub requests: u64,
    /// Requests by kind.
    pub mix: Mix,
    /// Bytes in a request; those of no bytes are left out.
    pub size_bytes: ByKind<Distribution>,
    /// Shares of aligned requests.
    pub alignment: ByKind<Alignment>,
    /// Sequentiality of reads.
    pub sequential_reads: Sequentiality,
    /// Sequentiality of writes.
    pub sequential_writes: Sequentiality,
    /// When requests arrive.
    pub arrivals: Arrivals,
    /// Flushes, and what is written between them.
    pub flushes: Flushes,
    /// Pages touched.
    pub footprint: Footprint,
    /// How unevenly accesses are spread over pages.
    pub hot_spots: ByKind<Concentration>,
    /// The workload in windows of time.
    pub over_time: OverTime,
    /// Re-use of pages by all accesses, reads and writes: by an access of this kind, after one of
    /// any kind.
    pub reuse: ByKind<Reuse>,
    /// Re-use of written pages, reads left out.
    pub reuse_write_only: Reuse,
    /// The miss-ratio curve of LRU.
    pub miss_ratio: MissRatio,
}

/// Takes one request after the other.
struct Characteriser {
    requests: u64,
    sizes: SizeCounts,
    reads: Streams,
    writes: Streams,
    arrivals: ArrivalCounts,
    windows: Windows,
    pages: Pages,
}

impl Characteriser {
    fn new(options: CharacteriseOptions) -> Result<Self, TraceError> {
        Ok(Self {
            requests: 0,
            sizes: SizeCounts::default(),
            reads: Streams::default(),
            writes: Streams::default(),
            arrivals: ArrivalCounts::default(),
            windows: Windows::default(),
            pages: Pages::new(options.pages()?),
        })
    }

    fn add(&mut self, request: &Request, pace: &mut Pace<'_>) -> Result<(), TraceError> {
        self.requests += 1;
        self.sizes.add(request);
        self.arrivals.add(request);
        self.windows.request(request.arrival_ns);
        match request.op {
            Op::Read => self.reads.add(request.volume, request.offset, request.len),
            Op::Write => self.writes.add(request.volume, request.offset, request.len),
            Op::Trim => {}
            Op::Flush => return Ok(()),
        }
        if request.op != Op::Trim {
            self.windows.bytes(request.len, request.op == Op::Write);
        }
        self.pages.add(request, &mut self.windows, pace)
    }

    fn finish(mut self) -> Profile {
        let (mix, size_bytes, alignment) = self.sizes.finish();
        let (arrivals, flushes) = self.arrivals.finish();
        let pages = footprint::finish(self.pages, &mut self.windows);
        Profile {
            requests: self.requests,
            mix,
            size_bytes,
            alignment,
            sequential_reads: self.reads.finish(),
            sequential_writes: self.writes.finish(),
            arrivals,
            flushes,
            footprint: pages.footprint,
            hot_spots: pages.hot_spots,
            over_time: self.windows.finish(),
            reuse: pages.reuse,
            reuse_write_only: pages.reuse_write_only,
            miss_ratio: pages.miss_ratio,
        }
    }
}

impl WorkloadConfig {
    /// Prepares the workload, and in the same pass characterises the part of it that is replayed,
    /// as it is before it is laid onto a drive. The caller may end it.
    ///
    /// # Errors
    ///
    /// As [`WorkloadConfig::prepare_watched`]; an option that cannot be; an address too high for
    /// the page size.
    pub fn characterise(
        &self,
        base: &Path,
        options: CharacteriseOptions,
        watch: Watch<'_>,
    ) -> Result<(Workload, Profile), TraceError> {
        let mut characteriser = Characteriser::new(options)?;
        let mut pace = Pace::new(watch);
        let workload = self.prepare_seen(base, &mut |replayed| {
            let Some(requests) = replayed else { return pace.step() };
            requests.iter().try_for_each(|request| {
                pace.step()?;
                characteriser.add(request, &mut pace)
            })
        })?;
        Ok((workload, characteriser.finish()))
    }
}
