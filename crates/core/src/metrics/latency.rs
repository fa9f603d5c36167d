//! Response times: exact count, sum and maximum, quantiles from an HDR histogram with three digits.

use std::borrow::Cow;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Response times of one kind of request, in ns.
#[derive(Debug, Clone, Default)]
pub struct Latency {
    /// The first ones as they are, until there are [`FEW`]: a histogram is large.
    few: Vec<u64>,
    histogram: Option<Box<Histogram<u64>>>,
    sum: u128,
    max: u64,
    count: u64,
}

/// What is reported of them, in ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// `(t, requests)`: so many took at most t, and longer than the t of the pair before; eight
    /// steps an octave, those without requests left out.
    pub histogram: Vec<(u64, u64)>,
}

/// Times from here on share the last bucket of the histogram; the sum and the maximum stay exact.
const HIGHEST: u64 = 1 << 52;

/// So many are kept one by one before there is a histogram.
const FEW: usize = 128;

/// A histogram of these, which grows with the largest time.
fn histogram_of(times: &[u64]) -> Histogram<u64> {
    // Three digits are a constant that the library accepts.
    let mut histogram = Histogram::new(3).unwrap_or_else(|e| unreachable!("{e}"));
    for &ns in times {
        // It fails only above what it can grow to.
        let _ = histogram.record(ns);
    }
    histogram
}

impl Latency {
    /// Notes one response time.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.count += 1;
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
        let ns = ns.min(HIGHEST);
        if let Some(histogram) = &mut self.histogram {
            // It fails only above what it can grow to.
            let _ = histogram.record(ns);
        } else {
            self.keep(ns);
        }
    }

    #[cold]
    fn keep(&mut self, ns: u64) {
        self.few.push(ns);
        if self.few.len() == FEW {
            self.histogram = Some(Box::new(histogram_of(&self.few)));
            self.few = Vec::new();
        }
    }

    /// All of them.
    fn histogram(&self) -> Cow<'_, Histogram<u64>> {
        match &self.histogram {
            Some(histogram) => Cow::Borrowed(histogram),
            None => Cow::Owned(histogram_of(&self.few)),
        }
    }

    /// Adds what another has noted.
    pub fn add(&mut self, other: &Self) {
        let mut all = self.histogram().into_owned();
        // It grows as needed, so that adding cannot fail.
        let _ = all.add(&*other.histogram());
        self.histogram = Some(Box::new(all));
        self.few = Vec::new();
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Sum of all, in ns.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// How many were noted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What is reported; `None` where nothing was noted.
    pub fn summary(&self) -> Option<LatencySummary> {
        let histogram = self.histogram();
        let at = |q| histogram.value_at_quantile(q).min(self.max);
        (self.count > 0).then(|| LatencySummary {
            count: self.count,
            mean: self.sum as f64 / self.count as f64,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: self.max,
            histogram: coarse(&histogram),
        })
    }
}

/// A histogram in steps that are coarse enough to be written down.
fn coarse(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
    let mut steps: Vec<(u64, u64)> = Vec::new();
    for step in histogram.iter_recorded() {
        let (upper, count) = (octave_step(step.value_iterated_to()), step.count_at_value());
        match steps.last_mut() {
            Some(last) if last.0 == upper => last.1 += count,
            _ => steps.push((upper, count)),
        }
    }
    steps
}

/// The end of the eighth of an octave that `value` lies in; the histogram's own steps lie wholly in
/// one.
fn octave_step(value: u64) -> u64 {
    let shift = value.max(8).ilog2() - 3;
    (((value >> shift) + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_written_histogram_has_every_request_in_its_step() {
        let mut latency = Latency::default();
        let values: Vec<u64> = (0..5000u64).map(|i| i * i * 37).collect();
        for &ns in &values {
            latency.record(ns);
        }
        let histogram = latency.summary().unwrap().histogram;
        let mut below = 0;
        for &(upper, count) in &histogram {
            let expected = values.iter().filter(|&&ns| ns >= below && ns <= upper).count() as u64;
            assert_eq!(count, expected, "{below}..={upper}");
            below = upper + 1;
        }
        assert_eq!(histogram.iter().map(|step| step.1).sum::<u64>(), 5000);
        assert!(histogram.len() < 8 * 30);
    }

    #[test]
    fn steps_are_eighths_of_octaves() {
        assert_eq!(
            [0, 1, 7, 8, 15, 16, 17, 18, 1000, 1023].map(octave_step),
            [0, 1, 7, 8, 15, 17, 17, 19, 1023, 1023]
        );
        assert_eq!(octave_step(1024), 1151);
    }
}
