//! The stand-ins: one TOML file for each publication.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::statistic::Statistic;

/// The files, in the order of the documentation.
const FILES: &[(&str, &str)] = &[
    ("hbm-2010", include_str!("../../../stand-ins/hbm-2010.toml")),
    ("hbm-zipf", include_str!("../../../stand-ins/hbm-zipf.toml")),
    ("multibank-2009", include_str!("../../../stand-ins/multibank-2009.toml")),
    ("supa-2017", include_str!("../../../stand-ins/supa-2017.toml")),
    ("bplru-2008", include_str!("../../../stand-ins/bplru-2008.toml")),
    ("umass", include_str!("../../../stand-ins/umass.toml")),
    ("jesd219", include_str!("../../../stand-ins/jesd219.toml")),
];

/// What one publication tells of its workloads.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Where the statistics were published.
    source: String,
    /// Year of that.
    year: u16,
    /// What is true of all its workloads and cannot be known.
    #[serde(default)]
    unknown: Vec<String>,
    #[serde(rename = "stand-in")]
    stand_ins: Vec<StandIn>,
}

/// A generator that stands in for a workload.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StandIn {
    /// Name in configurations.
    pub name: String,
    /// What the workload is.
    pub title: String,
    /// Where its statistics were published.
    #[serde(default)]
    pub source: String,
    /// Year of that.
    #[serde(default)]
    pub year: u16,
    /// How it is modelled, beyond what the statistics say, and why.
    pub choices: Vec<String>,
    /// What it cannot know.
    #[serde(default)]
    pub unknown: Vec<String>,
    /// The generator, as a `generate` table.
    pub generate: Map<String, Value>,
    /// What was published.
    #[serde(rename = "statistic")]
    pub statistics: Vec<Statistic>,
    /// Other readings of what was published, by name.
    #[serde(default)]
    pub variants: BTreeMap<String, Variant>,
}

/// Another reading of what was published.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// What is read otherwise.
    pub about: String,
    /// Keys of the generator that change.
    pub set: Map<String, Value>,
    /// Statistics that take the place of those of the same measure.
    #[serde(default, rename = "statistic")]
    pub statistics: Vec<Statistic>,
}

/// Every stand-in, in the order of the documentation.
pub fn stand_ins() -> &'static [StandIn] {
    static ALL: LazyLock<Vec<StandIn>> = LazyLock::new(|| {
        let mut all = Vec::new();
        for (name, text) in FILES {
            let file: File = toml::from_str(text)
                .unwrap_or_else(|error| panic!("stand-ins/{name}.toml: {error}"));
            let File { source, year, unknown, stand_ins } = file;
            all.extend(stand_ins.into_iter().map(|stand_in| StandIn {
                source: source.clone(),
                year,
                unknown: stand_in.unknown.iter().chain(&unknown).cloned().collect(),
                ..stand_in
            }));
        }
        all
    });
    &ALL
}
