//! Synthetic workloads: the same seed gives the same requests on any machine.

mod config;
mod scatter;
mod zipf;

use eraseblock_core::host::{Op, Request};
use rand::distr::{Distribution, Uniform};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use sha2::{Digest, Sha256};

pub use config::{Arrivals, GenerateConfig, Pattern};
use scatter::Scatter;
use zipf::Zipf;

/// The default exponent of Zipf's law.
const DEFAULT_THETA: f64 = 0.99;

/// The requests of a [`GenerateConfig`] that has been checked.
#[derive(Debug, Clone)]
pub(crate) struct Generator {
    remaining: u64,
    len: u64,
    places: Places,
    kinds: Kinds,
    clock: Clock,
}

impl Generator {
    pub fn new(config: &GenerateConfig) -> Self {
        Self {
            remaining: config.requests,
            len: config.size.0,
            places: Places::new(config),
            kinds: Kinds::new(config),
            clock: Clock::new(config),
        }
    }
}

impl Iterator for Generator {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        self.remaining = self.remaining.checked_sub(1)?;
        Some(Request {
            arrival_ns: self.clock.next_ns(),
            offset: self.places.next_byte(),
            len: self.len,
            volume: 0,
            op: self.kinds.next_op(),
            fua: false,
        })
    }
}

/// A generator of random numbers of its own for each purpose: seeds that share a state would be correlated.
fn random(config: &GenerateConfig, purpose: &str) -> Pcg64 {
    let digest = Sha256::new().chain_update(config.seed.to_le_bytes()).chain_update(purpose).finalize();
    Pcg64::from_seed(digest.into())
}

/// A number in [0, 1), all 53 bits of it random.
#[inline]
fn unit(random: &mut Pcg64) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Where requests start.
#[derive(Debug, Clone)]
enum Places {
    Uniform { random: Pcg64, slots: Uniform<u64>, align: u64 },
    Sequential { next: u64, len: u64, last: u64 },
    Zipf { random: Pcg64, ranks: Zipf, scatter: Scatter, align: u64 },
}

impl Places {
    fn new(config: &GenerateConfig) -> Self {
        let align = config.align.unwrap_or(config.size).0;
        let random = random(config, "offset");
        let slots = config.slots();
        match config.kind {
            Pattern::Uniform => {
                let slots = Uniform::new(0, slots).expect("a checked configuration has a slot");
                Self::Uniform { random, slots, align }
            }
            Pattern::Sequential => {
                Self::Sequential { next: 0, len: config.size.0, last: config.footprint.0 - config.size.0 }
            }
            Pattern::Zipf => {
                let ranks = Zipf::new(slots, config.theta.unwrap_or(DEFAULT_THETA));
                Self::Zipf { random, ranks, scatter: Scatter::new(slots), align }
            }
        }
    }

    #[inline]
    fn next_byte(&mut self) -> u64 {
        match self {
            Self::Uniform { random, slots, align } => slots.sample(random) * *align,
            Self::Sequential { next, len, last } => {
                let byte = *next;
                *next = if byte + *len > *last { 0 } else { byte + *len };
                byte
            }
            Self::Zipf { random, ranks, scatter, align } => {
                let rank = ranks.draw(|| unit(random));
                scatter.place(rank - 1) * *align
            }
        }
    }
}

/// Reads and writes.
#[derive(Debug, Clone)]
enum Kinds {
    Always(Op),
    Mixed {
        random: Pcg64,
        /// Numbers below this are reads.
        threshold: u64,
    },
}

impl Kinds {
    fn new(config: &GenerateConfig) -> Self {
        if config.read_share <= 0.0 {
            Self::Always(Op::Write)
        } else if config.read_share >= 1.0 {
            Self::Always(Op::Read)
        } else {
            // Exact: a product with a power of two, below 2^64.
            let threshold = (config.read_share * 2.0_f64.powi(64)) as u64;
            Self::Mixed { random: random(config, "operation"), threshold }
        }
    }

    #[inline]
    fn next_op(&mut self) -> Op {
        match self {
            Self::Always(op) => *op,
            Self::Mixed { random, threshold } => {
                if random.next_u64() < *threshold {
                    Op::Read
                } else {
                    Op::Write
                }
            }
        }
    }
}

/// Arrival times; the first is 0.
#[derive(Debug, Clone)]
struct Clock {
    next_ns: u64,
    interval_ns: u64,
    /// Present for a Poisson process.
    random: Option<Pcg64>,
}

impl Clock {
    fn new(config: &GenerateConfig) -> Self {
        let poisson = config.arrivals == Arrivals::Exponential && config.interval.0 > 0;
        Self { next_ns: 0, interval_ns: config.interval.0, random: poisson.then(|| random(config, "time")) }
    }

    #[inline]
    fn next_ns(&mut self) -> u64 {
        let now = self.next_ns;
        let gap = match &mut self.random {
            None => self.interval_ns,
            Some(random) => libm::round(-libm::log(1.0 - unit(random)) * self.interval_ns as f64) as u64,
        };
        self.next_ns = now.saturating_add(gap);
        now
    }
}

#[cfg(test)]
mod tests {
    use eraseblock_core::config::{Bytes, Nanos};

    use super::*;

    fn config(kind: Pattern, requests: u64, footprint: u64) -> GenerateConfig {
        GenerateConfig::new(kind, requests, Bytes(footprint))
    }

    fn offsets(config: &GenerateConfig) -> Vec<u64> {
        Generator::new(config).map(|request| request.offset).collect()
    }

    /// Pearson's statistic over its degrees of freedom: near 1 where `counts` follow `expected`.
    fn chi_square(counts: &[u64], expected: impl Iterator<Item = f64>) -> f64 {
        let sum: f64 =
            counts.iter().zip(expected).map(|(&count, mean)| (count as f64 - mean).powi(2) / mean).sum();
        sum / (counts.len() - 1) as f64
    }

    #[test]
    fn uniform_is_uniform_and_aligned() {
        let config = config(Pattern::Uniform, 1_000_000, 1000 * 4096 + 100);
        let mut counts = vec![0; 1000];
        for offset in offsets(&config) {
            assert_eq!(offset % 4096, 0);
            counts[(offset / 4096) as usize] += 1;
        }
        let chi = chi_square(&counts, std::iter::repeat(1000.0));
        assert!((0.8..1.2).contains(&chi), "{chi}");
    }

    #[test]
    fn alignment_may_be_finer_than_the_size() {
        let config = GenerateConfig { align: Some(Bytes(512)), ..config(Pattern::Uniform, 10_000, 8192) };
        let mut seen = offsets(&config);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, (0..=8).map(|slot| slot * 512).collect::<Vec<_>>());
    }

    #[test]
    fn sequential_goes_round() {
        assert_eq!(offsets(&config(Pattern::Sequential, 5, 3 * 4096 + 1)), [0, 4096, 8192, 0, 4096]);
        assert_eq!(offsets(&config(Pattern::Sequential, 3, 4096)), [0, 0, 0]);
    }

    #[test]
    fn zipf_follows_its_law() {
        for theta in [0.5, 0.99, 1.0, 1.5] {
            let slots = 500;
            let config =
                GenerateConfig { theta: Some(theta), ..config(Pattern::Zipf, 1_000_000, slots * 4096) };
            let mut counts = vec![0_u64; slots as usize];
            for offset in offsets(&config) {
                counts[(offset / 4096) as usize] += 1;
            }
            let scatter = Scatter::new(slots);
            let by_rank: Vec<u64> = (0..slots).map(|rank| counts[scatter.place(rank) as usize]).collect();
            let weights: Vec<f64> = (1..=slots).map(|rank| (rank as f64).powf(-theta)).collect();
            let total: f64 = weights.iter().sum();
            let chi = chi_square(&by_rank, weights.iter().map(|weight| weight / total * 1e6));
            assert!((0.8..1.25).contains(&chi), "theta {theta}: {chi}");
        }
    }

    #[test]
    fn reads_come_in_their_share() {
        let reads = |share| {
            let config = GenerateConfig { read_share: share, ..config(Pattern::Uniform, 100_000, 1 << 20) };
            Generator::new(&config).filter(|request| request.op == Op::Read).count() as f64 / 100_000.0
        };
        assert!((reads(0.3) - 0.3).abs() < 0.005);
        assert!((reads(0.0), reads(1.0)) == (0.0, 1.0));
    }

    #[test]
    fn times_have_the_mean_asked_for() {
        let times = |arrivals| {
            let config = GenerateConfig {
                interval: Nanos(50_000),
                arrivals,
                ..config(Pattern::Uniform, 200_000, 1 << 20)
            };
            Generator::new(&config).map(|request| request.arrival_ns).collect::<Vec<_>>()
        };
        let constant = times(Arrivals::Constant);
        assert_eq!((constant[0], constant[1], constant[199_999]), (0, 50_000, 199_999 * 50_000));
        let poisson = times(Arrivals::Exponential);
        assert!(poisson.is_sorted() && poisson[0] == 0);
        let gaps: Vec<f64> = poisson.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 50_000.0 - 1.0).abs() < 0.01, "{mean}");
        assert!((variance.sqrt() / 50_000.0 - 1.0).abs() < 0.01, "{variance}");
    }

    #[test]
    fn seeds_decide_everything_and_streams_stand_apart() {
        let base = config(Pattern::Uniform, 1000, 1 << 30);
        assert_eq!(offsets(&base), offsets(&base));
        assert_ne!(offsets(&base), offsets(&GenerateConfig { seed: 2, ..base.clone() }));
        let mixed = GenerateConfig {
            read_share: 0.5,
            interval: Nanos(100),
            arrivals: Arrivals::Exponential,
            ..base.clone()
        };
        assert_eq!(offsets(&base), offsets(&mixed));
    }

    /// These figures must never change: published results name a seed.
    #[test]
    fn requests_are_pinned() {
        let mixed = |kind| GenerateConfig {
            read_share: 0.5,
            interval: Nanos(1000),
            arrivals: Arrivals::Exponential,
            ..config(kind, 4, 1 << 30)
        };
        let digest = |kind| {
            Generator::new(&mixed(kind))
                .map(|request| (request.offset / 4096, request.op == Op::Read, request.arrival_ns))
                .collect::<Vec<_>>()
        };
        assert_eq!(digest(Pattern::Uniform), PINNED_UNIFORM);
        assert_eq!(digest(Pattern::Zipf), PINNED_ZIPF);
    }

    const PINNED_UNIFORM: [(u64, bool, u64); 4] =
        [(239_475, false, 0), (188_866, false, 928), (63_831, true, 3118), (111_082, true, 5427)];
    const PINNED_ZIPF: [(u64, bool, u64); 4] =
        [(37_172, false, 0), (43_094, false, 928), (59_786, true, 3118), (158_246, true, 5427)];
}
