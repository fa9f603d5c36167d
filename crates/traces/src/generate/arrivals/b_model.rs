//! The b-model: bursts within bursts, from a biased cascade.
//!
//! M. Wang, T. Madhyastha, N. H. Chan, S. Papadimitriou and C. Faloutsos, "Data mining meets
//! performance evaluation: fast algorithms for modeling bursty traffic", ICDE 2002. The whole time
//! is halved again and again; of the requests of each part, the share `bias` goes to one half,
//! which of the two being a toss. A part with one request places it evenly. The walk goes down the
//! tree from the left, so that it gives times in order and holds one node a level.

use eraseblock_core::support::registry::About;
use rand::Rng;
use rand_pcg::Pcg64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Clock, Timing};
use crate::generate::random::unit;

pub(super) const ABOUT: About = About {
    title: "b-model",
    summary: "Bursts within bursts: the share `bias` of each span's requests falls into one half \
        of it.",
    paper: "Wang et al., Data mining meets performance evaluation: fast algorithms for modeling \
        bursty traffic, ICDE (2002)",
    year: Some(2002),
    ..About::PLAIN
};

/// How bursty it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Share of a span's requests that fall into one half of it: 0.5 (even) to 0.99. Disk traffic
    /// has 0.6 to 0.8.
    pub bias: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { bias: 0.7 }
    }
}

impl Config {
    pub(super) fn build(&self, timing: &Timing) -> Result<Clock, String> {
        if !(self.bias >= 0.5 && self.bias <= 0.99) {
            return Err(format!("bias: found {}, expected 0.5 to 0.99", self.bias));
        }
        Ok(Clock::Cascade(Cascade::new(timing, self.bias)))
    }
}

/// Part of the whole time.
#[derive(Debug)]
struct Span {
    start: u64,
    length: u64,
    requests: u64,
}

/// The cascade of one workload.
#[derive(Debug)]
pub struct Cascade {
    random: Pcg64,
    bias: f64,
    /// Spans that still hold requests, the earliest on top.
    spans: Vec<Span>,
    /// Where the requests that are left over arrive, in ns.
    end: u64,
    begun: bool,
}

impl Cascade {
    fn new(timing: &Timing, bias: f64) -> Self {
        // The first request arrives at 0; the cascade places the others.
        let others = timing.requests.saturating_sub(1);
        let end = timing.interval_ns.saturating_mul(others);
        let spans = vec![Span { start: 0, length: end, requests: others }];
        Self { random: timing.random.clone(), bias, spans, end, begun: false }
    }

    #[inline]
    pub fn next_ns(&mut self) -> u64 {
        if !self.begun {
            self.begun = true;
            return 0;
        }
        while let Some(Span { start, length, requests }) = self.spans.pop() {
            if requests == 1 && self.spans.is_empty() {
                // The last request ends the whole time, so that the mean interval is exact.
                return self.end;
            }
            if requests == 1 {
                return start + (unit(&mut self.random) * length as f64) as u64;
            }
            if length < 2 {
                if requests > 1 {
                    self.spans.push(Span { start, length, requests: requests - 1 });
                }
                if requests > 0 {
                    return start;
                }
                continue;
            }
            let exact = requests as f64 * self.bias;
            let mut larger = (exact + unit(&mut self.random)) as u64;
            larger = larger.min(requests);
            let left = if self.random.next_u64() & 1 == 0 { larger } else { requests - larger };
            let half = length / 2;
            if requests > left {
                self.spans.push(Span {
                    start: start + half,
                    length: length - half,
                    requests: requests - left,
                });
            }
            if left > 0 {
                self.spans.push(Span { start, length: half, requests: left });
            }
        }
        self.end
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::times;

    #[test]
    fn the_whole_lasts_exactly_as_long_as_asked_for() {
        for requests in [1, 2, 3, 1000] {
            for seed in 1..20 {
                let times = times(json!({"kind": "b-model", "bias": 0.8}), 1000, requests, seed);
                assert_eq!(times[times.len() - 1], 1000 * (requests - 1), "{requests} {seed}");
            }
        }
    }

    #[test]
    fn spans_too_short_to_halve_are_no_trouble() {
        assert_eq!(times(json!({"kind": "b-model", "bias": 0.99}), 1, 5000, 1).len(), 5000);
    }
}
