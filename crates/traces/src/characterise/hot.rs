//! Hot spots: how unevenly accesses are spread over the pages.

use serde::Serialize;

/// How unevenly accesses of one kind are spread over the pages that have any. Null where there are
/// none.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Concentration {
    /// Share of the accesses that go to the 1 % of pages used most.
    pub top_1_percent_share: Option<f64>,
    /// Share of the accesses that go to the 10 % of pages used most.
    pub top_10_percent_share: Option<f64>,
    /// Share of the accesses that go to the 20 % of pages used most.
    pub top_20_percent_share: Option<f64>,
    /// Gini coefficient: 0 where all pages are used alike, towards 1 where a few have it all.
    pub gini: Option<f64>,
    /// `[share of the pages, share of the accesses]`, the pages used most first.
    pub curve: Vec<(f64, f64)>,
}

/// Shares of the pages, in thousandths, at which the curve is given.
const CURVE: [u64; 13] = [1, 2, 5, 10, 20, 50, 100, 200, 300, 400, 600, 800, 1000];

impl Concentration {
    /// Of the accesses of each page; pages without any do not count.
    pub(super) fn of(accesses: impl Iterator<Item = u32>) -> Self {
        let mut accesses: Vec<_> = accesses.filter(|&count| count > 0).collect();
        if accesses.is_empty() {
            return Self::default();
        }
        accesses.sort_unstable_by(|a, b| b.cmp(a));
        let pages = accesses.len() as u64;
        let total: u64 = accesses.iter().map(|&count| u64::from(count)).sum();
        let mut sums = vec![0u64; CURVE.len()];
        let ends = CURVE.map(|thousandths| (pages * thousandths).div_ceil(1000));
        let (mut sum, mut next, mut weighted) = (0, 0, 0u128);
        for (rank, &count) in (1..=pages).zip(&accesses) {
            sum += u64::from(count);
            weighted += u128::from(pages + 1 - rank) * u128::from(count);
            while next < CURVE.len() && ends[next] == rank {
                sums[next] = sum;
                next += 1;
            }
        }
        let share = |index: usize| sums[index] as f64 / total as f64;
        // With ranks from the least used page on: G = 2 * sum(rank * count) / (n * total) - (n + 1)
        // / n.
        let pages = pages as f64;
        let gini = 2.0 * weighted as f64 / (pages * total as f64) - (pages + 1.0) / pages;
        Self {
            top_1_percent_share: Some(share(3)),
            top_10_percent_share: Some(share(6)),
            top_20_percent_share: Some(share(7)),
            gini: Some(gini.max(0.0)),
            curve: (0..CURVE.len())
                .map(|index| (CURVE[index] as f64 / 1000.0, share(index)))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_use_is_not_concentrated() {
        let even = Concentration::of([0, 7].into_iter().cycle().take(2000));
        assert_eq!((even.top_1_percent_share, even.top_20_percent_share), (Some(0.01), Some(0.2)));
        assert_eq!(even.gini, Some(0.0));
        assert_eq!(even.curve.last(), Some(&(1.0, 1.0)));
    }

    #[test]
    fn one_page_can_have_almost_everything() {
        let hot = Concentration::of((0..100).map(|page| if page == 50 { 901 } else { 1 }));
        assert_eq!((hot.top_1_percent_share, hot.top_10_percent_share), (Some(0.901), Some(0.91)));
        // Mean absolute difference: 2 * 99 * 900 / 100^2; over twice the mean of 10.
        assert!((hot.gini.unwrap() - 0.891).abs() < 1e-12, "{:?}", hot.gini);
        assert_eq!(Concentration::of([0].into_iter()), Concentration::default());
    }
}
