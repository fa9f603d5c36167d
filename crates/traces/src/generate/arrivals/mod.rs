//! When requests arrive: processes that all have the mean interval asked for.

mod b_model;
mod constant;
mod exponential;
mod mmpp;
mod on_off;
mod states;

use rand_pcg::Pcg64;

use super::random::Seed;

/// What an arrival process is built from.
#[derive(Debug, Clone)]
pub struct Timing {
    /// Mean time from one request to the next, in ns.
    pub interval_ns: u64,
    /// Requests in all.
    pub requests: u64,
    random: Pcg64,
}

impl Timing {
    pub(crate) fn new(interval_ns: u64, requests: u64, seed: &Seed) -> Self {
        Self { interval_ns, requests, random: seed.random("time") }
    }

    fn mean(&self) -> f64 {
        self.interval_ns as f64
    }
}

/// Gives the arrival of one request after another.
#[derive(Debug)]
pub enum Clock {
    /// Equal steps; the time of the next request and the step, in ns.
    Constant { next_ns: u64, step_ns: u64 },
    /// Gaps that are drawn one by one.
    Gaps { next_ns: u64, gaps: Gaps },
    /// Times that are drawn in their order.
    Cascade(b_model::Cascade),
}

/// Random gaps.
#[derive(Debug)]
pub enum Gaps {
    /// Exponential with this mean, in ns.
    Exponential { random: Pcg64, mean: f64 },
    /// Of a process whose rate changes.
    States(states::States),
}

impl Clock {
    fn gaps(gaps: Gaps) -> Self {
        Self::Gaps { next_ns: 0, gaps }
    }

    /// Arrival of the next request, in ns; the first is 0, and none lies before the one before.
    #[inline]
    pub fn next_ns(&mut self) -> u64 {
        match self {
            Self::Constant { next_ns, step_ns } => {
                let now = *next_ns;
                *next_ns = now.saturating_add(*step_ns);
                now
            }
            Self::Gaps { next_ns, gaps } => {
                let now = *next_ns;
                let gap = match gaps {
                    Gaps::Exponential { random, mean } => {
                        super::random::exponential(random) * *mean
                    }
                    Gaps::States(states) => states.next_gap(),
                };
                *next_ns = now.saturating_add(libm::round(gap) as u64);
                now
            }
            Self::Cascade(cascade) => cascade.next_ns(),
        }
    }
}

eraseblock_core::registry! {
    /// How the times between requests vary: a name, or a table with `kind` and the options of that
    /// kind.
    "arrival process" Arrivals builds Clock, from &Timing;
    "constant" => Constant in constant,
    "exponential" => Exponential in exponential,
    "on-off" => OnOff in on_off,
    "mmpp" => Mmpp in mmpp,
    "b-model" => BModel in b_model,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self::Constant(constant::Config::default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    pub(super) fn times(arrivals: Value, interval_ns: u64, requests: u64, seed: u64) -> Vec<u64> {
        let arrivals: Arrivals = serde_json::from_value(arrivals).unwrap();
        let timing = Timing::new(interval_ns, requests, &Seed::default().with_number(seed));
        let mut clock = arrivals.build(&timing).unwrap();
        let times: Vec<u64> = (0..requests).map(|_| clock.next_ns()).collect();
        assert!(times.is_sorted() && times[0] == 0, "{arrivals:?}: {:?}", &times[..3]);
        times
    }

    /// Variance of the number of requests in windows of 100 mean intervals, over its mean: 1 for a
    /// Poisson process.
    fn dispersion(times: &[u64], interval_ns: u64) -> f64 {
        let window = 100 * interval_ns;
        let mut counts = vec![0.0; (times[times.len() - 1] / window + 1) as usize];
        for time in times {
            counts[(time / window) as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64 / mean
    }

    #[test]
    fn every_process_keeps_the_mean_and_bursts_as_it_should() {
        let count = 500_000;
        for (arrivals, dispersed) in [
            (json!("constant"), 0.0..0.02),
            (json!("exponential"), 0.9..1.1),
            (json!({"kind": "on-off", "on": "5 ms", "off": "15 ms"}), 50.0..500.0),
            (json!({"kind": "mmpp", "busy": "5 ms", "calm": "20 ms", "ratio": 10}), 30.0..300.0),
            (json!({"kind": "mmpp", "busy": "5 ms", "calm": "20 ms", "ratio": 1}), 0.9..1.1),
            (json!({"kind": "b-model", "bias": 0.7}), 20.0..5000.0),
            (json!({"kind": "b-model", "bias": 0.5}), 0.0..0.02),
        ] {
            let times = times(arrivals.clone(), 100_000, count, 1);
            let mean = times[times.len() - 1] as f64 / (count - 1) as f64;
            assert!((mean / 100_000.0 - 1.0).abs() < 0.02, "{arrivals}: {mean}");
            let found = dispersion(&times, 100_000);
            assert!(dispersed.contains(&found), "{arrivals}: {found}");
        }
    }

    /// States that change all the time are as one of the mean rate, and take no longer to draw than
    /// others do.
    #[test]
    fn short_states_are_passed_over_whole() {
        for arrivals in [
            json!({"kind": "on-off", "on": "1 ns", "off": "9 ns"}),
            json!({"kind": "mmpp", "busy": "1 ns", "calm": "1 ns", "ratio": 1000}),
            json!({"kind": "mmpp", "busy": "50 us", "calm": "50 us", "ratio": 10}),
            json!({"kind": "on-off", "on": "20 us", "off": "70 us"}),
        ] {
            // A second from one to the next: cycle by cycle it would take 10^8 times as long.
            let count = 200_000;
            let times = times(arrivals.clone(), 1_000_000_000, count, 1);
            let mean = times[times.len() - 1] as f64 / (count - 1) as f64;
            assert!((mean / 1e9 - 1.0).abs() < 0.01, "{arrivals}: {mean}");
            let found = dispersion(&times, 1_000_000_000);
            assert!((0.9..1.1).contains(&found), "{arrivals}: {found}");
        }
    }

    /// Near the number of cycles from which they are skipped both ways give the same times.
    #[test]
    fn skipped_and_followed_cycles_agree() {
        let moments = |interval_ns: u64| {
            let arrivals = json!({"kind": "mmpp", "busy": "300 ns", "calm": "700 ns", "ratio": 50});
            let times = times(arrivals, interval_ns, 20_000, 1);
            let gaps: Vec<f64> = times
                .windows(2)
                .map(|pair| (pair[1] - pair[0]) as f64 / interval_ns as f64)
                .collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            (mean, gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64)
        };
        let ((followed, spread), (skipped, spread_skipped)) =
            (moments(999_000), moments(1_001_000));
        assert!((followed - skipped).abs() < 0.03, "{followed} {skipped}");
        assert!((spread - spread_skipped).abs() < 0.1, "{spread} {spread_skipped}");
    }

    #[test]
    fn wrong_options_are_named() {
        for (arrivals, part) in [
            (json!({"kind": "b-model", "bias": 1.0}), "bias: found 1, expected 0.5 to 0.99"),
            (json!({"kind": "mmpp", "ratio": 0.5}), "ratio: found 0.5"),
            (json!({"kind": "mmpp", "calm": "0 ms"}), "calm: found 0 ns"),
            (json!({"kind": "on-off", "on": "0 ms"}), "on: found 0 ns"),
        ] {
            let parsed: Arrivals = serde_json::from_value(arrivals.clone()).unwrap();
            let problem = parsed.build(&Timing::new(1, 1, &Seed::default())).unwrap_err();
            assert!(problem.contains(part), "{arrivals}: {problem}");
        }
        let unknown = serde_json::from_value::<Arrivals>(json!("poisson")).unwrap_err().to_string();
        assert!(unknown.contains("unknown variant `poisson`"), "{unknown}");
    }

    #[test]
    fn no_interval_means_all_at_once() {
        for arrivals in Arrivals::NAMES {
            assert_eq!(times(json!(arrivals), 0, 100, 1), [0; 100], "{arrivals}");
        }
    }
}
