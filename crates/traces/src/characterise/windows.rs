//! The workload over time: requests, bytes, and the pages in use in each window.
//!
//! How long the workload lasts is known at its end only. So the windows are a power of two of
//! microseconds wide, and as soon as there are too many of them, neighbours are joined. Pages in
//! use can be joined as well, because each first use in a window is kept by the narrowest window
//! width for which it would not be a first use any more.

use serde::Serialize;

/// What happened in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Begin, in ns since the first request of the workload.
    pub start_ns: u64,
    /// Requests of all kinds.
    pub requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Different pages read or written: the working set.
    pub pages: u64,
}

/// The workload in windows of equal width.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverTime {
    /// Width of a window, in ns.
    pub window_ns: u64,
    /// Mean number of different pages in a window.
    pub pages_mean: f64,
    /// Largest number of different pages in a window.
    pub pages_max: u64,
    /// All windows from the first request on.
    pub windows: Vec<Window>,
}

/// Most windows.
const WINDOWS: usize = 256;
const UNIT_NS: u64 = 1000;

#[derive(Debug)]
struct Sums {
    requests: u64,
    read_bytes: u64,
    write_bytes: u64,
    /// First uses: by the logarithm of the narrowest width at which the use before would fall into
    /// the same window; 64 where there was none.
    first_uses: [u64; 65],
}

impl Default for Sums {
    fn default() -> Self {
        Self { requests: 0, read_bytes: 0, write_bytes: 0, first_uses: [0; 65] }
    }
}

impl Sums {
    fn join(&mut self, other: &Self) {
        self.requests += other.requests;
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.write_bytes = self.write_bytes.saturating_add(other.write_bytes);
        for (all, more) in self.first_uses.iter_mut().zip(other.first_uses) {
            *all += more;
        }
    }
}

/// Collects them.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// Logarithm of the width in units.
    width: u32,
    sums: Vec<Sums>,
    /// Window of the latest request.
    at: usize,
}

impl Windows {
    /// A request arrives.
    pub fn request(&mut self, arrival_ns: u64) {
        let now = arrival_ns / UNIT_NS;
        while now >> self.width >= WINDOWS as u64 {
            self.widen();
        }
        self.at = (now >> self.width) as usize;
        if self.at >= self.sums.len() {
            self.sums.resize_with(self.at + 1, Sums::default);
        }
        self.sums[self.at].requests += 1;
    }

    /// The latest request moves so many bytes.
    pub fn bytes(&mut self, len: u64, write: bool) {
        let sums = &mut self.sums[self.at];
        let bytes = if write { &mut sums.write_bytes } else { &mut sums.read_bytes };
        *bytes = bytes.saturating_add(len);
    }

    /// A request that arrived uses a page, that stands for `weight` ones, and was used before at
    /// `last_ns`.
    #[inline]
    pub fn page(&mut self, arrival_ns: u64, last_ns: Option<u64>, weight: u64) {
        let now = arrival_ns / UNIT_NS;
        let apart = match last_ns {
            Some(last_ns) => 64 - (now ^ (last_ns / UNIT_NS)).leading_zeros(),
            None => 64,
        };
        if apart > self.width {
            self.sums[(now >> self.width) as usize].first_uses[apart as usize] += weight;
        }
    }

    fn widen(&mut self) {
        self.width += 1;
        let old = std::mem::take(&mut self.sums);
        for (index, sums) in old.into_iter().enumerate() {
            if index % 2 == 0 {
                self.sums.push(sums);
            } else {
                self.sums[index / 2].join(&sums);
            }
        }
    }

    pub fn finish(self) -> OverTime {
        let window_ns = UNIT_NS << self.width;
        let first = self.width as usize + 1;
        let windows: Vec<_> = (0..)
            .zip(&self.sums)
            .map(|(index, sums)| Window {
                start_ns: index * window_ns,
                requests: sums.requests,
                read_bytes: sums.read_bytes,
                write_bytes: sums.write_bytes,
                pages: sums.first_uses[first..].iter().sum(),
            })
            .collect();
        let pages = windows.iter().map(|window| window.pages);
        OverTime {
            window_ns,
            pages_mean: pages.clone().sum::<u64>() as f64 / windows.len().max(1) as f64,
            pages_max: pages.max().unwrap_or(0),
            windows,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn pages_in_use_are_counted_once_in_each_window_however_often_windows_are_joined() {
        let mut windows = Windows::default();
        let mut last = BTreeMap::new();
        let mut uses = Vec::new();
        let mut state = 7u64;
        let mut now_ns = 0;
        for step in 0..20_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Long pauses at times, so that widths change in jumps.
            now_ns += if step % 5000 == 4999 { 400_000_000 } else { state >> 47 };
            let page = (state >> 33) % 97;
            windows.request(now_ns);
            windows.bytes(512, page.is_multiple_of(2));
            windows.page(now_ns, last.insert(page, now_ns), 3);
            uses.push((now_ns, page));
        }
        let found = windows.finish();
        assert!(found.windows.len() > WINDOWS / 2 && found.windows.len() <= WINDOWS);
        let mut expected: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for (now_ns, page) in uses {
            expected.entry(now_ns / found.window_ns).or_default().insert(page);
        }
        for (index, window) in (0..).zip(&found.windows) {
            let pages = expected.get(&index).map_or(0, BTreeSet::len) as u64;
            assert_eq!(window.pages, 3 * pages, "window {index}");
        }
        assert_eq!(found.windows.iter().map(|window| window.requests).sum::<u64>(), 20_000);
        assert_eq!(
            found.windows.iter().map(|w| w.read_bytes + w.write_bytes).sum::<u64>(),
            20_000 * 512
        );
        assert_eq!(found.pages_max, found.windows.iter().map(|window| window.pages).max().unwrap());
    }

    #[test]
    fn a_workload_without_time_is_one_window() {
        let mut windows = Windows::default();
        windows.request(0);
        windows.page(0, None, 1);
        let found = windows.finish();
        assert_eq!((found.window_ns, found.windows.len(), found.pages_max), (1000, 1, 1));
    }
}
