//! Sizes of the writes that reach the FTL together.

use serde::{Deserialize, Serialize};

use super::Figures;
use super::observer::{About, Drive, Figure, Hears, Moment, Observer, Written};

/// What the file says of the metric.
pub const ABOUT: About = About {
    title: "Flush sizes",
    summary: "how many pages the FTL is given together",
    always: true,
    needs_time: false,
    left_out: false,
    figures: &[Figure {
        key: "flush_pages",
        below: ".{before_padding,after_padding}",
        what: "pages per flush: mean, p50, p90, and distributions as `[pages, share]`",
    }],
};

/// Sizes of the writes that reach the FTL together, in pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sizes {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// `(size, share of writes of at most that size)`.
    pub cdf_by_write: Vec<(u64, f64)>,
    /// `(size, share of pages in writes of at most that size)`.
    pub cdf_by_page: Vec<(u64, f64)>,
}

impl Sizes {
    /// From the number of writes of each size (index = size); `None` where there were none.
    pub fn new(counts: &[u64]) -> Option<Self> {
        let writes: u64 = counts.iter().sum();
        let pages: u64 = counts.iter().enumerate().map(|(size, n)| size as u64 * n).sum();
        if writes == 0 {
            return None;
        }
        let (mut by_write, mut by_page) = (Vec::new(), Vec::new());
        let (mut seen, mut seen_pages) = (0, 0);
        for (size, &n) in counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            seen += n;
            seen_pages += size as u64 * n;
            by_write.push((size as u64, seen as f64 / writes as f64));
            by_page.push((size as u64, seen_pages as f64 / pages as f64));
        }
        let at = |share: f64| {
            by_write.iter().find(|(_, cdf)| *cdf >= share).map_or(0, |(size, _)| *size)
        };
        Some(Self {
            mean: pages as f64 / writes as f64,
            p50: at(0.5),
            p90: at(0.9),
            cdf_by_write: by_write,
            cdf_by_page: by_page,
        })
    }
}

/// Sizes of the writes to the FTL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlushPages {
    /// As they left the buffer.
    pub before_padding: Option<Sizes>,
    /// As they reached the FTL.
    pub after_padding: Option<Sizes>,
}

/// Counts writes to the FTL by their size.
#[derive(Debug, Default)]
pub struct FlushSizes {
    before_padding: Vec<u64>,
    after_padding: Vec<u64>,
}

impl FlushSizes {
    /// Of a run that begins.
    pub fn new(_: &Drive) -> Self {
        Self::default()
    }
}

impl Observer for FlushSizes {
    fn on_write(&mut self, written: &Written) -> Hears {
        self.on_writes(written, 1)
    }

    fn sums_up(&self) -> bool {
        true
    }

    #[inline]
    fn on_writes(&mut self, written: &Written, times: u64) -> Hears {
        count(&mut self.before_padding, written.pages, times);
        count(&mut self.after_padding, written.with_padding, times);
        Hears::Yes
    }

    fn report(&self, _: &Moment<'_>, figures: &mut Figures) {
        figures.set(
            "flush_pages",
            FlushPages {
                before_padding: Sizes::new(&self.before_padding),
                after_padding: Sizes::new(&self.after_padding),
            },
        );
    }
}

/// Counts so many more of a size.
#[inline]
fn count(sizes: &mut Vec<u64>, size: usize, times: u64) {
    match sizes.get_mut(size) {
        Some(of_size) => *of_size += times,
        None => count_first(sizes, size, times),
    }
}

#[cold]
fn count_first(sizes: &mut Vec<u64>, size: usize, times: u64) {
    sizes.resize(size + 1, 0);
    sizes[size] = times;
}
