//! Draws lengths.

use rand_pcg::Pcg64;

use super::Sizes;
use crate::generate::random::{Urn, exponential, normal, unit};

/// Draws lengths of a checked [`Sizes`].
#[derive(Debug, Clone)]
pub(crate) struct SizeDraw {
    random: Pcg64,
    from: From,
}

#[derive(Debug, Clone)]
enum From {
    Fixed(u64),
    /// Lengths and the sums of their weights up to and with them, the last sum being 1.
    List(Vec<(u64, f64)>),
    /// Each length exactly as often as its weight asks for.
    Urn {
        sizes: Vec<u64>,
        urn: Urn,
    },
    Lognormal {
        median: f64,
        sigma: f64,
        bounds: Bounds,
    },
    Exponential {
        mean: f64,
        bounds: Bounds,
    },
    Uniform {
        min: u64,
        step: u64,
        steps: u64,
    },
}

#[derive(Debug, Clone, Copy)]
struct Bounds {
    min: u64,
    max: u64,
    step: u64,
}

impl Bounds {
    #[inline]
    fn keep(self, length: f64) -> u64 {
        // A cast from a float saturates.
        (libm::ceil(length) as u64).clamp(self.min, self.max).next_multiple_of(self.step)
    }
}

impl SizeDraw {
    /// Each length is drawn by itself.
    pub fn new(sizes: &Sizes, random: Pcg64) -> Self {
        let from = match sizes {
            Sizes::Fixed(size) => From::Fixed(size.0),
            Sizes::List(list) => {
                let mut fitted = list.fitted();
                let total: f64 = fitted.iter().map(|(_, weight)| weight).sum();
                let mut sum = 0.0;
                for (_, weight) in &mut fitted {
                    sum += *weight;
                    *weight = sum / total;
                }
                fitted.dedup_by_key(|(_, sum)| *sum);
                if let Some((_, last)) = fitted.last_mut() {
                    *last = 1.0;
                }
                From::List(fitted)
            }
            Sizes::Lognormal(of) => From::Lognormal {
                median: of.median.0 as f64,
                sigma: of.sigma,
                bounds: Bounds { min: of.min.0, max: of.max.0, step: of.step.0 },
            },
            Sizes::Exponential(of) => From::Exponential {
                mean: of.mean.0 as f64,
                bounds: Bounds { min: of.min.0, max: of.max.0, step: of.step.0 },
            },
            Sizes::Uniform(of) => From::Uniform {
                min: of.min.0,
                step: of.step.0,
                steps: (of.max.0 - of.min.0) / of.step.0 + 1,
            },
        };
        Self { random, from }
    }

    /// Of `count` lengths from a list, each comes exactly as often as its weight asks for; other
    /// sizes are drawn one by one.
    pub fn exact(sizes: &Sizes, count: u64, random: Pcg64) -> Self {
        let Sizes::List(list) = sizes else { return Self::new(sizes, random) };
        let (sizes, weights): (Vec<u64>, Vec<f64>) = list.fitted().into_iter().unzip();
        Self { random, from: From::Urn { urn: Urn::divided(count, &weights), sizes } }
    }

    /// The next length; an urn that is empty goes on with its first length.
    #[inline]
    pub fn next_len(&mut self) -> u64 {
        let random = &mut self.random;
        match &mut self.from {
            From::Fixed(size) => *size,
            From::List(list) => {
                let at = unit(random);
                list.iter().find(|(_, sum)| at < *sum).map_or(0, |(size, _)| *size)
            }
            From::Urn { sizes, urn } => sizes[urn.draw(random).unwrap_or(0)],
            From::Lognormal { median, sigma, bounds } => {
                bounds.keep(*median * libm::exp(*sigma * normal(random)))
            }
            From::Exponential { mean, bounds } => bounds.keep(*mean * exponential(random)),
            From::Uniform { min, step, steps } => {
                *min + crate::generate::random::below(random, *steps) * *step
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use eraseblock_core::config::Bytes;
    use serde_json::json;

    use super::*;
    use crate::generate::random::Seed;

    fn draw(sizes: serde_json::Value, count: usize) -> Vec<u64> {
        let sizes: Sizes = serde_json::from_value(sizes).unwrap();
        sizes.check().unwrap();
        let mut draw = SizeDraw::new(&sizes, Seed::default().random("size"));
        let drawn: Vec<u64> = (0..count).map(|_| draw.next_len()).collect();
        assert!(drawn.iter().all(|&size| size > 0 && size <= sizes.max()));
        drawn
    }

    fn mean(sizes: &[u64]) -> f64 {
        sizes.iter().sum::<u64>() as f64 / sizes.len() as f64
    }

    #[test]
    fn lengths_follow_their_distribution() {
        let list = draw(json!({"4 KiB": 75, "8 KiB": 0, "16 KiB": 25}), 100_000);
        assert!(list.iter().all(|&size| size != 8192));
        assert!((mean(&list) / 7168.0 - 1.0).abs() < 0.01);
        let exponential =
            draw(json!({"kind": "exponential", "mean": "64 KiB", "max": "4 MiB"}), 100_000);
        assert!(exponential.iter().all(|size| size % 512 == 0));
        assert!(
            (mean(&exponential) / (65536.0 + 256.0) - 1.0).abs() < 0.01,
            "{}",
            mean(&exponential)
        );
        let mut lognormal =
            draw(json!({"kind": "lognormal", "median": "8 KiB", "sigma": 1.0}), 100_001);
        lognormal.sort_unstable();
        assert_eq!(lognormal[50_000].div_ceil(512), 16);
        let uniform = draw(
            json!({"kind": "uniform", "min": "1 KiB", "max": "16 KiB", "step": "1 KiB"}),
            100_000,
        );
        assert!((mean(&uniform) / 8704.0 - 1.0).abs() < 0.01);
        assert!(draw(json!("512 B"), 10).iter().all(|&size| size == 512));
    }

    #[test]
    fn cuts_hold() {
        let cut = draw(
            json!({"kind": "lognormal", "median": "8 KiB", "sigma": 9.0, "max": "16 KiB"}),
            10_000,
        );
        assert_eq!((cut.iter().min(), cut.iter().max()), (Some(&512), Some(&16384)));
    }

    #[test]
    fn exact_lists_are_exact() {
        let sizes: Sizes = serde_json::from_value(json!({"4 KiB": 2, "8 KiB": 1})).unwrap();
        let mut draw = SizeDraw::exact(&sizes, 300, Seed::default().random("size"));
        let drawn: Vec<u64> = (0..300).map(|_| draw.next_len()).collect();
        assert_eq!(drawn.iter().filter(|&&size| size == 8192).count(), 100);
        let fixed = Sizes::Fixed(Bytes(512));
        assert_eq!(SizeDraw::exact(&fixed, 1, Seed::default().random("size")).next_len(), 512);
    }
}
