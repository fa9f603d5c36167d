//! Response times: exact count, sum and maximum, quantiles from an HDR histogram with three digits.

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

    /// Adds what another has noted.
    pub fn add(&mut self, other: &Self) {
        if let Some(histogram) = &other.histogram {
            let few = std::mem::take(&mut self.few);
            let all = self.histogram.get_or_insert_with(|| Box::new(histogram_of(&few)));
            // It grows as needed, so that adding cannot fail.
            let _ = all.add(&**histogram);
        } else {
            for &ns in &other.few {
                match &mut self.histogram {
                    Some(histogram) => _ = histogram.record(ns),
                    None => self.keep(ns),
                }
            }
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
        if let Some(histogram) = &self.histogram {
            let recorded = histogram.iter_recorded();
            return recorded
                .map(|step| (step.value_iterated_to(), step.count_at_value()))
                .collect();
        }
        let mut few: Vec<u64> = self.few.iter().map(|&ns| end_of_step(ns)).collect();
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

/// The largest time in the step of the histogram that `ns` lies in: three digits are kept, which
/// takes eleven bits.
fn end_of_step(ns: u64) -> u64 {
    let shift = ns.max(1 << 10).ilog2() - 10;
    (((ns >> shift) + 1) << shift) - 1
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

    /// Few times, which are summed up as they are, are reported as the histogram reports them.
    #[test]
    fn few_times_are_reported_as_a_histogram_of_them_is() {
        for count in 1..FEW as u64 {
            let mut latency = Latency::default();
            let times: Vec<u64> =
                (1..=count).map(|i| (i * i * 7919).pow(1 + i as u32 % 2)).collect();
            for &ns in &times {
                latency.record(ns);
            }
            let (summary, histogram) = (latency.summary().unwrap(), histogram_of(&latency.few));
            assert_eq!(histogram.len(), count);
            let at = |quantile| histogram.value_at_quantile(quantile).min(summary.max);
            assert_eq!(
                [summary.p50, summary.p90, summary.p99, summary.p999],
                [0.5, 0.9, 0.99, 0.999].map(at)
            );
            let many = Latency { few: Vec::new(), histogram: Some(Box::new(histogram)), ..latency };
            assert_eq!(many.summary().unwrap(), summary);
        }
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
        for bit in 0..52 {
            for ns in [1 << bit, (1 << bit) + 1, (1 << bit) * 3 / 2, (2 << bit) - 1] {
                assert_eq!(end_of_step(ns), histogram.highest_equivalent(ns), "{ns}");
            }
        }
        assert_eq!(end_of_step(0), histogram.highest_equivalent(0));
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
