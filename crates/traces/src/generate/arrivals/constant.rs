//! Requests in equal steps of time.

use eraseblock_core::support::registry::About;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Clock, Timing};

pub(super) const ABOUT: About = About {
    title: "constant",
    summary: "One request after another in equal steps of time.",
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
        Ok(Clock::Constant { next_ns: 0, step_ns: timing.interval_ns })
    }
}
