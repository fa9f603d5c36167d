//! Response times: exact count, sum and maximum, quantiles from an HDR histogram with three digits.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Response times of one kind of request, in ns.
#[derive(Debug, Clone)]
pub struct Latency {
    histogram: Histogram<u64>,
    sum: u128,
    max: u64,
    count: u64,
}

/// What is reported of them, in ns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LatencySummary {
    /// Requests.
    pub count: u64,
    /// Mean, from the exact sum.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Largest.
    pub max: u64,
}

/// Times from here on share the last bucket of the histogram; the sum and the maximum stay exact.
const HIGHEST: u64 = 1 << 52;

impl Default for Latency {
    fn default() -> Self {
        // The bounds are constants that the library accepts.
        let histogram = Histogram::new_with_bounds(1, HIGHEST, 3).unwrap_or_else(|e| unreachable!("{e}"));
        Self { histogram, sum: 0, max: 0, count: 0 }
    }
}

impl Latency {
    /// Notes one response time.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.count += 1;
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
        self.histogram.saturating_record(ns);
    }

    /// Adds what another has noted.
    pub fn add(&mut self, other: &Self) {
        // Same bounds, so that adding cannot fail.
        let _ = self.histogram.add(&other.histogram);
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Sum of all, in ns.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// What is reported; `None` where nothing was noted.
    pub fn summary(&self) -> Option<LatencySummary> {
        let at = |q| self.histogram.value_at_quantile(q).min(self.max);
        (self.count > 0).then(|| LatencySummary {
            count: self.count,
            mean: self.sum as f64 / self.count as f64,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: self.max,
        })
    }
}
