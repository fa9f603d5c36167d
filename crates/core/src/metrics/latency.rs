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
    /// `(t, requests)`: so many took at most t, and longer than the t of the pair before; eight steps an octave, those
    /// without requests left out.
    pub histogram: Vec<(u64, u64)>,
}

/// Times from here on share the last bucket of the histogram; the sum and the maximum stay exact.
const HIGHEST: u64 = 1 << 52;

impl Default for Latency {
    fn default() -> Self {
        // It grows with the largest time; three digits are a constant that the library accepts.
        let histogram = Histogram::new(3).unwrap_or_else(|e| unreachable!("{e}"));
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
        // It fails only above what it can grow to.
        let _ = self.histogram.record(ns.min(HIGHEST));
    }

    /// Adds what another has noted.
    pub fn add(&mut self, other: &Self) {
        // Both grow as needed, so that adding cannot fail.
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
            histogram: self.coarse(),
        })
    }

    /// The histogram in steps that are coarse enough to be written down.
    fn coarse(&self) -> Vec<(u64, u64)> {
        let mut steps: Vec<(u64, u64)> = Vec::new();
        for step in self.histogram.iter_recorded() {
            let (upper, count) = (octave_step(step.value_iterated_to()), step.count_at_value());
            match steps.last_mut() {
                Some(last) if last.0 == upper => last.1 += count,
                _ => steps.push((upper, count)),
            }
        }
        steps
    }
}

/// The end of the eighth of an octave that `value` lies in; the histogram's own steps lie wholly in one.
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
