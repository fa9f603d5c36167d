//! Stand-ins for workloads that cannot be had: generators set up to meet what was published of
//! them.

mod buffer;
mod catalogue;
mod measure;
mod statistic;
#[cfg(test)]
mod tests;

use eraseblock_core::support::registry::About;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use catalogue::{StandIn, Variant, stand_ins};
pub use measure::{MeasuredStatistic, measure_stand_in};
pub use statistic::Statistic;

use super::patterns::below;
use super::{GenerateConfig, Generator, Given};
use crate::error::nearest;

pub(crate) const ABOUT: About = About {
    title: "stand-in",
    summary: "Stands in for a published workload that cannot be had: meets every statistic that \
        was published of it.",
    ..About::PLAIN
};

/// Which workload is stood in for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Name of the stand-in; `eraseblock list stand-ins` shows all.
    pub name: String,
    /// Gives only so many requests, or more: shares, sizes and rate stay what they are; the space
    /// touched grows in proportion. Default: as many as the workload has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Another reading of what was published, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Keys of the model that get other values, as in `{ recent_share = 0.9 }`; published
    /// statistics may then be missed.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub set: Map<String, Value>,
    /// Seed: the same one gives the same requests on any machine.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { name: String::new(), requests: None, variant: None, set: Map::new(), seed: 1 }
    }
}

impl Config {
    pub(crate) fn build(&self, given: &Given) -> Result<Generator, String> {
        if self.requests == Some(0) {
            return Err("requests: found 0, expected at least 1".to_owned());
        }
        let requests = given.requests.or(self.requests);
        let given = Given { seed: given.seed.clone(), requests };
        match self.model()?.build(&given) {
            Ok(model) => Ok(model.at_key("set")),
            Err(problem) => Err(below("set", &problem)),
        }
    }

    /// The generator that stands in, with every key explicit.
    pub(crate) fn model(&self) -> Result<GenerateConfig, String> {
        let stand_in = self.entry()?;
        let mut table = stand_in.generate.clone();
        if let Some(variant) = self.variant(stand_in)? {
            table.extend(variant.set.clone());
        }
        if self.set.contains_key("kind") || self.set.contains_key("seed") {
            return Err(
                "set: `kind` and `seed` are not keys of the model; write a generator of your own"
                    .to_owned(),
            );
        }
        table.extend(self.set.clone());
        table.insert("seed".to_owned(), self.seed.into());
        serde_json::from_value(Value::Object(table))
            .map_err(|error| below("set", &error.to_string()))
    }

    fn entry(&self) -> Result<&'static StandIn, String> {
        let all = stand_ins();
        all.iter().find(|stand_in| stand_in.name == self.name).ok_or_else(|| {
            let names = all.iter().map(|stand_in| stand_in.name.as_str());
            let hint = match nearest(&self.name, names.clone()) {
                Some(near) => format!("; did you mean `{near}`?"),
                None => String::new(),
            };
            let known: Vec<_> = names.collect();
            format!(
                "name: there is no stand-in `{}`{hint} (known: {})",
                self.name,
                known.join(", ")
            )
        })
    }

    fn variant(&self, stand_in: &'static StandIn) -> Result<Option<&'static Variant>, String> {
        let Some(name) = &self.variant else { return Ok(None) };
        stand_in.variants.get(name).map(Some).ok_or_else(|| {
            let known: Vec<_> = stand_in.variants.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            format!("variant: `{}` has no variant `{name}` (known: {known})", self.name)
        })
    }
}
