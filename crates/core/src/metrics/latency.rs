//! Response times: exact count, sum and maximum, quantiles from a histogram with three digits.
//!
//! Each request is noted in one, so its steps are counted here in a few instructions: those of the
//! HDR histogram, with which tests compare them.

use serde::{Deserialize, Serialize};

/// Response times of one kind of request, in ns.
#[derive(Debug, Clone, Default)]
pub struct Latency {
    /// The first ones as they are, until there are [`FEW`]: a histogram is large.
    few: Vec<u64>,
    /// How many lie in each step; long enough for the largest.
    steps: Vec<u64>,
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

/// The step that a time lies in: three digits are kept, which takes eleven bits.
#[inline]
pub(super) fn step_of(ns: u64) -> usize {
    let ns = ns.min(HIGHEST);
    let shift = ns.max(1 << 10).ilog2() - 10;
    (u64::from(shift << 10) + (ns >> shift)) as usize
}

/// The largest time in a step.
fn end_of_step(step: usize) -> u64 {
    let shift = (step >> 10).max(1) - 1;
    (((step - (shift << 10)) as u64 + 1) << shift) - 1
}

impl Latency {
    /// Notes one response time.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.count += 1;
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
        match self.steps.get_mut(step_of(ns)) {
            Some(step) => *step += 1,
            None => self.keep(ns),
        }
    }

    /// Notes so many that took no time.
    pub fn record_none(&mut self, count: u64) {
        self.spread();
        self.count += count;
        self.count_in(0, count);
    }

    #[cold]
    fn keep(&mut self, ns: u64) {
        if !self.steps.is_empty() {
            self.count_in(step_of(ns), 1);
            return;
        }
        self.few.push(ns);
        if self.few.len() == FEW {
            self.spread();
        }
    }

    /// From now on there is a histogram.
    fn spread(&mut self) {
        for ns in std::mem::take(&mut self.few) {
            self.count_in(step_of(ns), 1);
        }
    }

    fn count_in(&mut self, step: usize, count: u64) {
        if step >= self.steps.len() {
            // The octave as a whole.
            self.steps.resize((step / 1024 + 1) * 1024, 0);
        }
        self.steps[step] += count;
    }

    /// Adds what another has noted.
    pub fn add(&mut self, other: &Self) {
        if !other.steps.is_empty() {
            self.spread();
        }
        for (step, &count) in other.steps.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.count_in(step, count);
        }
        for &ns in &other.few {
            self.keep(ns);
        }
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

    /// Times in ascending order, each the largest of a step of the histogram, and how many there
    /// are.
    fn steps(&self) -> Vec<(u64, u64)> {
        if self.few.is_empty() {
            let taken = self.steps.iter().enumerate().filter(|(_, count)| **count > 0);
            return taken.map(|(step, &count)| (end_of_step(step), count)).collect();
        }
        let mut few: Vec<u64> = self.few.iter().map(|&ns| end_of_step(step_of(ns))).collect();
        few.sort_unstable();
        few.chunk_by(|a, b| a == b).map(|equal| (equal[0], equal.len() as u64)).collect()
    }

    /// What is reported; `None` where nothing was noted.
    pub fn summary(&self) -> Option<LatencySummary> {
        if self.count == 0 {
            return None;
        }
        let steps = self.steps();
        let at = |quantile: f64| {
            let rank = (quantile * self.count as f64).ceil() as u64;
            let mut below = 0;
            let reached = steps.iter().find(|(_, count)| {
                below += count;
                below >= rank
            });
            reached.map_or(self.max, |(ns, _)| (*ns).min(self.max))
        };
        Some(LatencySummary {
            count: self.count,
            mean: self.sum as f64 / self.count as f64,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: self.max,
            histogram: coarse(&steps),
        })
    }
}

/// Steps that are coarse enough to be written down.
fn coarse(fine: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut steps: Vec<(u64, u64)> = Vec::new();
    for &(ns, count) in fine {
        let upper = octave_step(ns);
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

    fn histogram_of(times: &[u64]) -> hdrhistogram::Histogram<u64> {
        let mut histogram = hdrhistogram::Histogram::new(3).unwrap();
        for &ns in times {
            histogram.record(ns).unwrap();
        }
        histogram
    }

    /// Few times, which are summed up as they are, and many are reported as the histogram of the
    /// library reports them.
    #[test]
    fn times_are_reported_as_a_histogram_of_them_is() {
        for count in (1..FEW as u64 + 40).chain([5_000]) {
            let mut latency = Latency::default();
            let times: Vec<u64> = (1..=count)
                .map(|i| if i % 2 == 0 { i * i * 7919 } else { (i * 7919).pow(2) * 2 })
                .collect();
            for &ns in &times {
                latency.record(ns);
            }
            let (summary, histogram) = (latency.summary().unwrap(), histogram_of(&times));
            assert_eq!(histogram.len(), count);
            let at = |quantile| histogram.value_at_quantile(quantile).min(summary.max);
            assert_eq!(
                [summary.p50, summary.p90, summary.p99, summary.p999],
                [0.5, 0.9, 0.99, 0.999].map(at)
            );
            let mut many = latency.clone();
            many.spread();
            assert_eq!(many.summary().unwrap(), summary);
        }
    }

    #[test]
    fn what_took_no_time_counts() {
        let mut latency = Latency::default();
        (0..30).for_each(|_| latency.record(5_000));
        latency.record_none(70);
        let summary = latency.summary().unwrap();
        assert_eq!((summary.count, summary.p50, summary.p90), (100, 0, 5_000));
        assert!((summary.mean - 1_500.0).abs() < f64::EPSILON);
    }

    /// Few and many, added to one another, are all of them.
    #[test]
    fn what_is_added_is_reported_as_if_it_had_been_noted() {
        let noted = |times: std::ops::Range<u64>| {
            let mut latency = Latency::default();
            times.for_each(|i| latency.record(i * i * 1009));
            latency
        };
        for (few, all) in [(3, 7), (100, 127), (100, 128), (100, 300), (200, 210), (200, 500)] {
            let mut sum = noted(0..few);
            sum.add(&noted(few..all));
            assert_eq!(sum.summary(), noted(0..all).summary());
        }
    }

    #[test]
    fn steps_keep_three_digits() {
        let histogram = histogram_of(&[]);
        let end = |ns| end_of_step(step_of(ns));
        for bit in 0..52 {
            for ns in [1 << bit, (1 << bit) + 1, (1 << bit) * 3 / 2, (2 << bit) - 1] {
                assert_eq!(end(ns), histogram.highest_equivalent(ns), "{ns}");
            }
        }
        assert_eq!(end(0), histogram.highest_equivalent(0));
        assert_eq!(step_of(u64::MAX), step_of(HIGHEST));
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
