//! A Poisson process.

use eraseblock_core::support::registry::About;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Clock, Gaps, Timing};

pub(super) const ABOUT: About = About {
    title: "exponential",
    summary: "Gaps are exponential: arrivals are a Poisson process.",
    ..About::PLAIN
};

/// It has no options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl Config {
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "other processes have options, which can be wrong"
    )]
    pub(super) fn build(&self, timing: &Timing) -> Result<Clock, String> {
        let mean = timing.mean();
        Ok(Clock::gaps(Gaps::Exponential { random: timing.random.clone(), mean }))
    }
}
