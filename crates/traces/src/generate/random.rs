//! Random numbers that are the same on any machine.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use sha2::{Digest, Sha256};

/// Where the random numbers of a generator come from: its seed, and its place among the parts of a
/// mixture.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seed {
    number: u64,
    /// Names of the mixture's parts that lead to this generator; empty for one that stands alone.
    path: Vec<String>,
}

impl Seed {
    /// The seed of the part `name` of this mixture.
    pub fn of_part(&self, name: &str) -> Self {
        let mut path = self.path.clone();
        path.push(format!("{}/{name}", self.number));
        Self { number: 0, path }
    }

    /// This place with the seed that the generator's configuration gives.
    pub fn with_number(&self, number: u64) -> Self {
        Self { number, path: self.path.clone() }
    }

    /// A generator of random numbers of its own for each purpose: seeds that share a state would be
    /// correlated.
    pub fn random(&self, purpose: &str) -> Pcg64 {
        let mut digest = Sha256::new().chain_update(self.number.to_le_bytes());
        for part in &self.path {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        Pcg64::from_seed(digest.chain_update(purpose).finalize().into())
    }
}

/// A number in [0, 1), all 53 bits of it random.
#[inline]
pub(crate) fn unit(random: &mut Pcg64) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A number of the exponential distribution of mean 1.
#[inline]
pub(crate) fn exponential(random: &mut Pcg64) -> f64 {
    -libm::log(1.0 - unit(random))
}

/// A number of the normal distribution of mean 0 and deviation 1, by Box and Muller's method.
#[inline]
pub(crate) fn normal(random: &mut Pcg64) -> f64 {
    let radius = libm::sqrt(2.0 * exponential(random));
    radius * libm::cos(2.0 * std::f64::consts::PI * unit(random))
}

/// The sum of so many numbers of the exponential distribution of mean 1, by Marsaglia and Tsang's
/// method.
pub(crate) fn gamma(random: &mut Pcg64, count: f64) -> f64 {
    if count < 1.0 {
        return 0.0;
    }
    let d = count - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = normal(random);
        let v = libm::pow(1.0 + c * x, 3.0);
        if v > 0.0 && exponential(random) > d * (v - 1.0 - libm::log(v)) - x * x / 2.0 {
            return d * v;
        }
    }
}

/// A whole number below `n`, which is not 0; all are equally likely up to a part in 2^64 / n.
#[inline]
pub(crate) fn below(random: &mut Pcg64, n: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(n)) >> 64) as u64
}

/// Draws from a fixed number of marked balls without putting them back: when all are drawn, each
/// mark has come as often as was asked for, whatever the seed.
#[derive(Debug, Clone)]
pub(crate) struct Urn {
    left: Vec<u64>,
    total: u64,
}

impl Urn {
    /// An urn with so many balls of each mark.
    pub fn new(counts: Vec<u64>) -> Self {
        let total = counts.iter().sum();
        Self { left: counts, total }
    }

    /// An urn of `total` balls, divided among the marks by `weights` as evenly as whole numbers
    /// allow.
    pub fn divided(total: u64, weights: &[f64]) -> Self {
        Self::new(divide(total, weights))
    }

    /// Balls of this mark that are left.
    pub fn left(&self, mark: usize) -> u64 {
        self.left[mark]
    }

    /// The mark of the next ball; `None` once the urn is empty.
    #[inline]
    pub fn draw(&mut self, random: &mut Pcg64) -> Option<usize> {
        if self.total == 0 {
            return None;
        }
        let mut ball = below(random, self.total);
        let mark = self.left.iter().position(|&left| {
            let here = ball < left;
            ball = ball.wrapping_sub(left);
            here
        })?;
        self.take(mark);
        Some(mark)
    }

    /// Takes a ball of this mark; false if none is left.
    #[inline]
    pub fn take(&mut self, mark: usize) -> bool {
        let taken = self.left[mark] > 0;
        self.left[mark] -= u64::from(taken);
        self.total -= u64::from(taken);
        taken
    }

    /// Puts a ball of this mark back.
    #[inline]
    pub fn put_back(&mut self, mark: usize) {
        self.left[mark] += 1;
        self.total += 1;
    }
}

/// `total` in whole parts that are proportional to `weights`, by the method of the largest
/// remainders.
pub(crate) fn divide(total: u64, weights: &[f64]) -> Vec<u64> {
    let sum: f64 = weights.iter().sum();
    if sum <= 0.0 {
        return vec![0; weights.len()];
    }
    let exact: Vec<f64> = weights.iter().map(|weight| weight / sum * total as f64).collect();
    let mut parts: Vec<u64> = exact.iter().map(|part| *part as u64).collect();
    let mut by_remainder: Vec<usize> =
        (0..weights.len()).filter(|&index| weights[index] > 0.0).collect();
    by_remainder.sort_by(|&a, &b| (exact[b].fract()).total_cmp(&exact[a].fract()).then(a.cmp(&b)));
    let missing = total.saturating_sub(parts.iter().sum());
    for &index in by_remainder.iter().cycle().take(missing as usize) {
        parts[index] += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_urn_gives_exactly_what_is_in_it() {
        let mut random = Seed::default().random("urn");
        let mut urn = Urn::divided(1000, &[0.125, 0.0, 0.8751, 1e-9]);
        let mut seen = [0; 4];
        while let Some(mark) = urn.draw(&mut random) {
            seen[mark] += 1;
        }
        assert_eq!(seen, [125, 0, 875, 0]);
        assert!(!urn.take(0));
        urn.put_back(2);
        assert_eq!(urn.draw(&mut random), Some(2));
    }

    #[test]
    fn parts_add_up() {
        assert_eq!(divide(10, &[1.0, 1.0, 1.0]), [4, 3, 3]);
        assert_eq!(divide(0, &[1.0]), [0]);
        assert_eq!(divide(5, &[0.0, 0.0]), [0, 0]);
        for total in [1, 7, 1_000_003] {
            assert_eq!(divide(total, &[0.1, 0.2, 0.3, 0.4]).iter().sum::<u64>(), total);
        }
    }

    #[test]
    fn distributions_have_their_moments() {
        let mut random = Seed::default().with_number(3).random("moments");
        let moments = |draw: &mut dyn FnMut() -> f64| {
            let numbers: Vec<f64> = (0..200_000).map(|_| draw()).collect();
            let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
            let variance =
                numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / numbers.len() as f64;
            (mean, variance)
        };
        let (mean, variance) = moments(&mut || normal(&mut random));
        assert!(mean.abs() < 0.01 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
        let (mean, variance) = moments(&mut || exponential(&mut random));
        assert!((mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
        for count in [1.0, 3.0, 1000.0] {
            let (mean, variance) = moments(&mut || gamma(&mut random, count));
            assert!(
                (mean / count - 1.0).abs() < 0.01 && (variance / count - 1.0).abs() < 0.03,
                "{mean} {variance}"
            );
        }
        assert!(gamma(&mut random, 0.0) == 0.0);
        let (mean, _) = moments(&mut || below(&mut random, 7) as f64);
        assert!((mean - 3.0).abs() < 0.03, "{mean}");
    }

    #[test]
    fn places_in_a_mixture_draw_apart() {
        let whole = Seed::default().with_number(1);
        let first = |seed: &Seed| seed.random("x").next_u64();
        let parts = [whole.of_part("a"), whole.of_part("b"), whole.with_number(2).of_part("a")];
        let mut numbers: Vec<u64> = parts.iter().chain([&whole]).map(first).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 4);
    }
}
