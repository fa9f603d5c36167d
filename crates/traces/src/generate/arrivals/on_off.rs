//! Bursts with silence between them.

use eraseblock_core::config::Nanos;
use eraseblock_core::support::registry::About;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::states::States;
use super::{Clock, Gaps, Timing};

pub(super) const ABOUT: About = About {
    title: "on-off",
    summary: "A Poisson process while it is on, nothing while it is off; both last exponentially \
        long.",
    ..About::PLAIN
};

/// Lengths of the two states. They should be long beside `interval`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Mean length of a burst.
    pub on: Nanos,
    /// Mean length of the silence between two bursts.
    pub off: Nanos,
}

impl Default for Config {
    fn default() -> Self {
        Self { on: Nanos(1_000_000_000), off: Nanos(9_000_000_000) }
    }
}

impl Config {
    pub(super) fn build(&self, timing: &Timing) -> Result<Clock, String> {
        if self.on.0 == 0 {
            return Err("on: found 0 ns, expected at least 1 ns".to_owned());
        }
        let mean = timing.mean();
        let states = States::new(
            timing.random.clone(),
            self.on.0 as f64,
            self.off.0 as f64,
            f64::INFINITY,
            mean,
        );
        Ok(Clock::gaps(Gaps::States(states)))
    }
}
