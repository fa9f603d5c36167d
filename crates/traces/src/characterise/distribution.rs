//! How values spread: mean, percentiles, and a histogram by powers of two.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;

/// How values spread. Its unit is that of the field that it stands in.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// Values.
    pub count: u64,
    /// Mean, from the exact sum; null where there are no values, as all that follow.
    pub mean: Option<f64>,
    /// Standard deviation / mean.
    pub cv: Option<f64>,
    /// Smallest.
    pub min: Option<u64>,
    /// 10th percentile: the smallest value that at least a tenth of all do not exceed.
    pub p10: Option<u64>,
    /// First quartile.
    pub p25: Option<u64>,
    /// Median.
    pub p50: Option<u64>,
    /// Third quartile.
    pub p75: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// Largest.
    pub max: Option<u64>,
    /// `[from, count]`: values from this one to below twice it; 0 stands alone. Without empty ones.
    pub histogram: Vec<(u64, u64)>,
}

/// Adds up values, each exactly: sums and moments.
#[derive(Debug, Clone, Default)]
struct Moments {
    count: u64,
    sum: u128,
    squares: u128,
    min: Option<u64>,
    max: Option<u64>,
    powers: BTreeMap<u64, u64>,
}

impl Moments {
    fn add(&mut self, value: u64, count: u64) {
        self.count += count;
        let wide = u128::from(value);
        self.sum = self.sum.saturating_add(wide.saturating_mul(count.into()));
        self.squares = self.squares.saturating_add((wide * wide).saturating_mul(count.into()));
        self.min = Some(self.min.map_or(value, |min| min.min(value)));
        self.max = Some(self.max.map_or(value, |max| max.max(value)));
        *self.powers.entry(power_below(value)).or_default() += count;
    }

    fn finish(self, at: impl Fn(f64) -> u64) -> Distribution {
        let count = (self.count > 0).then_some(self.count as f64);
        let mean = count.map(|count| self.sum as f64 / count);
        let quantile = |q| count.map(|_| at(q));
        Distribution {
            count: self.count,
            mean,
            cv: variation(self.count, self.sum, self.squares),
            min: self.min,
            p10: quantile(0.1),
            p25: quantile(0.25),
            p50: quantile(0.5),
            p75: quantile(0.75),
            p90: quantile(0.9),
            p99: quantile(0.99),
            max: self.max,
            histogram: self.powers.into_iter().collect(),
        }
    }
}

/// The largest power of two up to `value`; 0 for 0.
fn power_below(value: u64) -> u64 {
    if value == 0 { 0 } else { 1 << value.ilog2() }
}

/// Standard deviation / mean of values whose count, sum and sum of squares are known; `None` where
/// the mean is 0.
pub(super) fn variation(count: u64, sum: u128, squares: u128) -> Option<f64> {
    if sum == 0 {
        return None;
    }
    // n * squares - sum^2, exactly where it can be had.
    let spread = match (squares.checked_mul(count.into()), sum.checked_mul(sum)) {
        (Some(left), Some(right)) => left.saturating_sub(right) as f64,
        _ => (squares as f64 * count as f64 - sum as f64 * sum as f64).max(0.0),
    };
    Some(spread.sqrt() / sum as f64)
}

impl Distribution {
    /// Of values that are counted one by one; percentiles are exact.
    pub(super) fn exact(values: &(impl Iterator<Item = (u64, u64)> + Clone)) -> Self {
        let mut moments = Moments::default();
        for (value, count) in values.clone() {
            moments.add(value, count);
        }
        let total = moments.count as f64;
        moments.finish(|quantile| {
            let mut below = 0;
            let found = values.clone().find(|&(_, count)| {
                below += count;
                below as f64 >= quantile * total
            });
            found.map_or(0, |(value, _)| value)
        })
    }
}

/// Collects values of a wide range in constant memory: percentiles to three digits, everything else
/// exactly.
#[derive(Debug, Clone)]
pub(super) struct Spread {
    histogram: Histogram<u64>,
    powers: [u64; 65],
    sum: u128,
    squares: u128,
    min: u64,
    max: u64,
}

/// Values from here on share the last bucket of the percentiles.
const HIGHEST: u64 = 1 << 62;

impl Default for Spread {
    fn default() -> Self {
        // The bounds are constants that the library accepts.
        let histogram =
            Histogram::new_with_bounds(1, HIGHEST, 3).unwrap_or_else(|e| unreachable!("{e}"));
        Self { histogram, powers: [0; 65], sum: 0, squares: 0, min: u64::MAX, max: 0 }
    }
}

impl Spread {
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.add_many(value, 1);
    }

    #[inline]
    pub fn add_many(&mut self, value: u64, count: u64) {
        self.histogram.saturating_record_n(value, count);
        self.powers[64 - value.leading_zeros() as usize] += count;
        let wide = u128::from(value);
        self.sum = self.sum.saturating_add(wide * u128::from(count));
        self.squares = self.squares.saturating_add((wide * wide).saturating_mul(count.into()));
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds what another has collected.
    pub fn merge(&mut self, other: &Self) {
        // Same bounds, so that adding cannot fail.
        let _ = self.histogram.add(&other.histogram);
        for (power, more) in self.powers.iter_mut().zip(other.powers) {
            *power += more;
        }
        self.sum = self.sum.saturating_add(other.sum);
        self.squares = self.squares.saturating_add(other.squares);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    pub fn finish(&self) -> Distribution {
        let count = self.histogram.len();
        let powers = self.powers.iter().enumerate().filter(|&(_, &count)| count > 0);
        let moments = Moments {
            count,
            sum: self.sum,
            squares: self.squares,
            min: (count > 0).then_some(self.min),
            max: (count > 0).then_some(self.max),
            powers: powers
                .map(|(bits, &count)| (if bits == 0 { 0 } else { 1 << (bits - 1) }, count))
                .collect(),
        };
        moments.finish(|q| self.histogram.value_at_quantile(q).clamp(self.min, self.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_counted_one_by_one_have_exact_percentiles() {
        let values = BTreeMap::from([(512, 5), (4096, 4), (8192, 1)]);
        let found = Distribution::exact(&values.iter().map(|(&value, &count)| (value, count)));
        assert_eq!(
            (found.p10, found.p50, found.p75, found.p90),
            (Some(512), Some(512), Some(4096), Some(4096))
        );
        assert_eq!((found.p99, found.max, found.mean), (Some(8192), Some(8192), Some(2713.6)));
        assert_eq!(found.histogram, [(512, 5), (4096, 4), (8192, 1)]);
        let deviation = f64::sqrt(
            (5.0 * 2201.6f64.powi(2) + 4.0 * 1382.4f64.powi(2) + 5478.4f64.powi(2)) / 10.0,
        );
        assert!((found.cv.unwrap() - deviation / 2713.6).abs() < 1e-12);
    }

    #[test]
    fn no_values_have_no_figures() {
        let nothing = Distribution::exact(&[].into_iter());
        assert_eq!(nothing, Distribution::default());
        assert_eq!(Spread::default().finish(), nothing);
    }

    #[test]
    fn a_wide_range_keeps_three_digits() {
        let (mut low, mut high) = (Spread::default(), Spread::default());
        for value in 0..=1_000_000u64 {
            let half = if value % 2 == 0 { &mut low } else { &mut high };
            half.add(value);
        }
        low.merge(&high);
        let found = low.finish();
        assert_eq!((found.count, found.min, found.max), (1_000_001, Some(0), Some(1_000_000)));
        assert_eq!(found.mean, Some(500_000.0));
        for (q, value) in [(0.1, found.p10), (0.5, found.p50), (0.99, found.p99)] {
            assert!((value.unwrap() as f64 / (q * 1e6) - 1.0).abs() < 0.001, "{q}: {value:?}");
        }
        assert_eq!(found.histogram[..4], [(0, 1), (1, 1), (2, 2), (4, 4)]);
    }

    #[test]
    fn equal_values_do_not_vary() {
        let mut spread = Spread::default();
        spread.add_many(u64::from(u32::MAX), 1_000_000);
        assert_eq!(spread.finish().cv, Some(0.0));
    }
}
