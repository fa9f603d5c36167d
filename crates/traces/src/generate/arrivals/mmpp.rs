//! A Markov-modulated Poisson process of two states.

use eraseblock_core::config::Nanos;
use eraseblock_core::support::registry::About;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::states::States;
use super::{Clock, Gaps, Timing};

pub(super) const ABOUT: About = About {
    title: "Markov-modulated Poisson process",
    summary: "A Poisson process whose rate switches between a busy and a calm value.",
    paper: "Fischer and Meier-Hellstern, The Markov-modulated Poisson process (MMPP) cookbook, \
        Performance Evaluation 18 (1993)",
    year: Some(1993),
    ..About::PLAIN
};

/// Lengths of the two states and how their rates compare.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Mean length of a busy state.
    pub busy: Nanos,
    /// Mean length of a calm state.
    pub calm: Nanos,
    /// Rate of arrivals while it is busy over that while it is calm; 1 or more.
    pub ratio: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { busy: Nanos(1_000_000_000), calm: Nanos(9_000_000_000), ratio: 20.0 }
    }
}

impl Config {
    pub(super) fn build(&self, timing: &Timing) -> Result<Clock, String> {
        for (key, stay) in [("busy", self.busy), ("calm", self.calm)] {
            if stay.0 == 0 {
                return Err(format!("{key}: found 0 ns, expected at least 1 ns"));
            }
        }
        if !(self.ratio >= 1.0 && self.ratio <= 1e9) {
            return Err(format!("ratio: found {}, expected 1 to 1e9", self.ratio));
        }
        let mean = timing.mean();
        let states = States::new(
            timing.random.clone(),
            self.busy.0 as f64,
            self.calm.0 as f64,
            self.ratio,
            mean,
        );
        Ok(Clock::gaps(Gaps::States(states)))
    }
}
