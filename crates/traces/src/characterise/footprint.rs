//! The pages that a workload touches, and what follows from how each is used.

use serde::Serialize;

use super::curve::{Followed, MissRatio, Reuse};
use super::hot::Concentration;
use super::pages::{Page, Pages};
use super::sizes::ByKind;
use super::windows::Windows;

/// The pages that a workload touches. Where a sample of pages is followed, numbers of pages are
/// estimates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Footprint {
    /// Size of a page.
    pub page_bytes: u64,
    /// Different pages read or written, in whole or in part.
    pub pages: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Different pages read.
    pub read_pages: u64,
    /// Different pages written.
    pub written_pages: u64,
    /// Different pages both read and written.
    pub both_pages: u64,
    /// Share of the pages that are both read and written.
    pub both_share: Option<f64>,
    /// Written pages that were read before they were written for the first time.
    pub read_before_written_pages: u64,
    /// Pages read, each page of each request once.
    pub page_reads: u64,
    /// Pages written, each page of each request once.
    pub page_writes: u64,
    /// Pages written / different pages written: how often each is written in the mean.
    pub overwrite_ratio: Option<f64>,
}

/// Everything that is known about pages.
pub(super) struct PageFigures {
    pub footprint: Footprint,
    pub hot_spots: ByKind<Concentration>,
    pub reuse: ByKind<Reuse>,
    pub reuse_write_only: Reuse,
    pub miss_ratio: MissRatio,
}

/// The figures of all pages.
pub(super) fn finish(mut pages: Pages, windows: &mut Windows) -> PageFigures {
    pages.catch_up(windows);
    let weight = pages.weight();
    let page_bytes = pages.page_bytes();
    let (mut read, mut written, mut both) = (0, 0, 0);
    for page in pages.followed() {
        read += u64::from(page.reads > 0);
        written += u64::from(page.writes > 0);
        both += u64::from(page.reads > 0 && page.writes > 0);
    }
    let followed = pages.followed().len() as u64;
    let share = |part: u64, all: u64| (all > 0).then(|| part as f64 / all as f64);
    let (page_reads, page_writes) = (pages.distances.read_accesses, pages.distances.write_accesses);
    let footprint = Footprint {
        page_bytes,
        pages: followed * weight,
        bytes: followed * weight * page_bytes,
        read_pages: read * weight,
        written_pages: written * weight,
        both_pages: both * weight,
        both_share: share(both, followed),
        read_before_written_pages: pages.read_before_written,
        page_reads,
        page_writes,
        overwrite_ratio: share(page_writes, written * weight),
    };
    let uses = |uses: fn(&Page) -> u32| Concentration::of(pages.followed().iter().map(uses));
    let hot_spots = ByKind {
        all: uses(|page| page.reads.saturating_add(page.writes)),
        read: uses(|page| page.reads),
        write: uses(|page| page.writes),
    };
    let mut all_times = pages.read_times.clone();
    all_times.merge(&pages.write_times);
    let times = [&all_times, &pages.read_times, &pages.write_times]
        .map(super::distribution::Spread::finish);
    let shift = weight.ilog2();
    let [all, read, write, reuse_write_only] = pages.distances.reuse(shift, times);
    // Only the error of a sample asks for the uses of each page.
    let each = |page: &Page| u64::from(page.reads) + u64::from(page.writes);
    let sample = if shift == 0 { &[] } else { pages.followed() };
    let uses = sample.iter().map(each).collect();
    let followed =
        Followed { page_bytes, shift, footprint_pages: footprint.pages, pages: followed, uses };
    PageFigures {
        footprint,
        hot_spots,
        reuse: ByKind { all, read, write },
        reuse_write_only,
        miss_ratio: pages.distances.miss_ratio(followed),
    }
}
