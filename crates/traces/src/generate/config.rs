//! The `generate` table: the parameters of a synthetic workload.

use eraseblock_core::config::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::TraceError;

/// A synthetic workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GenerateConfig {
    /// Where requests go.
    pub kind: Pattern,
    /// How many there are.
    pub requests: u64,
    /// They lie in the drive's first bytes, as many as this.
    pub footprint: Bytes,
    /// Length of each request.
    #[serde(default = "four_kib")]
    pub size: Bytes,
    /// Random patterns: offsets are multiples of this. Default: `size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
    /// Share of reads, 0 to 1; the others are writes.
    #[serde(default)]
    pub read_share: f64,
    /// Mean time from one request to the next; 0 lets all of them arrive at once.
    #[serde(default)]
    pub interval: Nanos,
    /// How the times between requests vary.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Zipf: the exponent, above 0; rank r is drawn with a probability proportional to 1 / r^theta. Default: 0.99.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theta: Option<f64>,
    /// Seed: the same one gives the same requests on any machine. Offsets, operations and times draw apart from one
    /// another, so that changing one leaves the others as they were.
    #[serde(default = "one")]
    pub seed: u64,
}

fn four_kib() -> Bytes {
    Bytes(4096)
}

fn one() -> u64 {
    1
}

/// Where the requests of a synthetic workload go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Anywhere, with equal probability.
    Uniform,
    /// Each right behind the one before, from address 0, and again from there when the footprint ends.
    Sequential,
    /// By Zipf's law over the footprint's slots; the ranks are scattered over it by a fixed permutation.
    Zipf,
}

impl Pattern {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Sequential => "sequential",
            Self::Zipf => "zipf",
        }
    }
}

/// How the times between the requests of a synthetic workload vary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// They are all equal.
    #[default]
    Constant,
    /// Exponentially: arrivals are a Poisson process.
    Exponential,
}

/// More slots than this would not be drawn evenly by 53-bit arithmetic.
const MAX_SLOTS: u64 = 1 << 48;

impl GenerateConfig {
    /// A workload of `requests` writes of 4 KiB, all arriving at once.
    #[must_use]
    pub fn new(kind: Pattern, requests: u64, footprint: Bytes) -> Self {
        Self {
            kind,
            requests,
            footprint,
            size: four_kib(),
            align: None,
            read_share: 0.0,
            interval: Nanos(0),
            arrivals: Arrivals::Constant,
            theta: None,
            seed: one(),
        }
    }

    /// Places where a request may start.
    pub(crate) fn slots(&self) -> u64 {
        (self.footprint.0 - self.size.0) / self.align.unwrap_or(self.size).0 + 1
    }

    pub(crate) fn check(&self) -> Result<(), TraceError> {
        let fail = |key: &str, problem: String| Err(TraceError::key(&format!("generate.{key}"), problem));
        if self.requests == 0 {
            return fail("requests", "found 0, expected at least 1".to_owned());
        }
        if self.size.0 == 0 {
            return fail("size", "found 0 B, expected at least 1 B".to_owned());
        }
        if self.footprint < self.size {
            return fail(
                "footprint",
                format!("found {}, expected at least one request of {}", self.footprint, self.size),
            );
        }
        if self.align == Some(Bytes(0)) {
            return fail("align", "found 0 B, expected at least 1 B".to_owned());
        }
        if self.align.is_some() && self.kind == Pattern::Sequential {
            return fail(
                "align",
                "belongs to `uniform` and `zipf`; sequential requests follow one another".to_owned(),
            );
        }
        if self.footprint.0 > 1 << 60 || self.slots() > MAX_SLOTS {
            return fail(
                "footprint",
                format!("found {}, expected at most 2^48 places for a request", self.footprint),
            );
        }
        if !(0.0..=1.0).contains(&self.read_share) {
            return fail("read_share", format!("found {}, expected 0 to 1", self.read_share));
        }
        if u128::from(self.requests) * u128::from(self.interval.0) > i64::MAX as u128 / 4 {
            return fail(
                "interval",
                format!("{} requests {} apart last over 70 years", self.requests, self.interval),
            );
        }
        match (self.kind, self.theta) {
            (Pattern::Zipf, Some(theta)) if !(theta > 0.0 && theta <= 10.0) => {
                fail("theta", format!("found {theta}, expected above 0 and at most 10"))
            }
            (Pattern::Uniform | Pattern::Sequential, Some(_)) => {
                fail("theta", format!("belongs to kind = \"zipf\"; this is \"{}\"", self.kind.name()))
            }
            _ => Ok(()),
        }
    }
}
