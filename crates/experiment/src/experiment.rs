//! One experiment: everything that decides a run's result, spelled out.

use eraseblock_core::config::{
    BufferSection, DeviceConfig, FtlConfig, HostConfig, NandConfig, PreconditionConfig,
};
use eraseblock_core::device::{hopeless, spare_share};
use eraseblock_core::metrics::Metric;
use eraseblock_traces::WorkloadConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::error::ConfigError;

/// A drive, the way its host drives it, and the workload.
///
/// In a file, `preset` gives every value that the file leaves out, and a list in the place of a
/// value is an axis: one experiment is run for each of its values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "eraseblock experiment")]
pub struct Experiment {
    /// Name of the experiment in results; default: the file's name.
    pub name: String,
    /// Drive whose values hold where the file gives none.
    #[serde(default)]
    pub preset: Option<String>,
    /// Name of the case, where the file has cases: tables of settings that go together.
    #[serde(default)]
    pub case: Option<String>,
    /// What the host asks of the drive.
    pub workload: WorkloadConfig,
    /// Flash array: geometry, timing, rules, energy.
    pub nand: NandConfig,
    /// Flash translation layer.
    pub ftl: FtlConfig,
    /// Write buffer.
    pub buffer: BufferSection,
    /// How requests reach the drive.
    #[serde(default)]
    pub host: HostConfig,
    /// State of the drive before the first request.
    #[serde(default)]
    pub precondition: PreconditionConfig,
    /// Seed of everything random inside the drive.
    #[serde(default = "one")]
    pub seed: u64,
    /// Report what no buffer of this size could better on this workload: hit ratio, programs,
    /// erases.
    #[serde(default = "yes")]
    pub bounds: bool,
    /// Report what is done to blocks and pages: patterns, how often they change, hits on pages that
    /// were used the other way.
    #[serde(default)]
    pub patterns: bool,
    /// Report what each request would take on a drive that has nothing else to do, collection
    /// apart.
    #[serde(default)]
    pub service_times: bool,
    /// Report these metrics, too, beside those that every run has. The list is one value, and no
    /// axis.
    #[serde(default)]
    pub metrics: Vec<Metric>,
}

/// Keys whose value is a list; a list in the place of any other value is an axis.
pub(crate) const LISTS: [&str; 2] = ["experts", "metrics"];

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}

impl Experiment {
    /// The metrics that have a switch of their own, which bears their name.
    pub(crate) const SWITCHED: [Metric; 3] =
        [Metric::Bounds, Metric::Patterns, Metric::ServiceTimes];

    /// The metrics that it asks for, each once.
    pub(crate) fn asked_metrics(&self) -> impl Iterator<Item = Metric> {
        let on = [self.bounds, self.patterns, self.service_times];
        let switched = Self::SWITCHED.into_iter().zip(on);
        let mut asked: Vec<Metric> =
            switched.filter_map(|(metric, on)| on.then_some(metric)).collect();
        for &metric in &self.metrics {
            if !asked.contains(&metric) {
                asked.push(metric);
            }
        }
        asked.into_iter()
    }

    /// The drive alone.
    pub fn device(&self) -> DeviceConfig {
        DeviceConfig {
            nand: self.nand.clone(),
            ftl: self.ftl.clone(),
            buffer: self.buffer.clone(),
            host: self.host.clone(),
            precondition: self.precondition.clone(),
            seed: self.seed,
        }
    }

    /// Spare flash / what the host sees.
    ///
    /// # Errors
    /// A drive that cannot be built so.
    pub fn spare_share(&self) -> Result<f64, ConfigError> {
        spare_share(&self.device())
            .map_err(|error| ConfigError::new("experiment", None, error.to_string()))
    }

    /// Why its run would take very long and say nothing but that, if it would.
    pub fn hopeless(&self) -> Option<String> {
        hopeless::reason(&self.device())
    }

    /// All values, defaults included, as one line of JSON.
    pub fn to_json(&self) -> String {
        self.to_value().to_string()
    }

    /// Reads what [`Self::to_json`] wrote.
    ///
    /// # Errors
    /// Names the key that is wrong.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        let json: Json = serde_json::from_str(text)
            .map_err(|error| ConfigError::new("experiment", None, error.to_string()))?;
        Self::from_value(&json).map_err(|error| {
            let key = error.path().to_string();
            ConfigError::new("experiment", Some(&key), format!("`{key}`: {}", error.inner()))
        })
    }

    /// The same, of JSON that has been read: all of serde's code for an experiment is compiled once.
    pub(crate) fn from_value(
        json: &Json,
    ) -> Result<Self, serde_path_to_error::Error<serde_json::Error>> {
        serde_path_to_error::deserialize(json)
    }

    /// Hash of everything that can change the result: all but `name` and `preset`, which are
    /// labels.
    pub fn key(&self) -> String {
        hash(self.to_value())
    }

    /// The same, with the content of the trace, and the format that it was read in, in the place of
    /// its path; and that of the image with which the drive begins, if it does with one.
    pub(crate) fn key_with_content(
        &self,
        (format, trace_sha256): (&str, &str),
        image_sha256: Option<&str>,
    ) -> String {
        let mut value = self.to_value();
        value["workload"]["path"] = format!("{format}:{trace_sha256}").into();
        if let Some(sha256) = image_sha256 {
            value["precondition"]["image"] = sha256.into();
        }
        hash(value)
    }

    pub(crate) fn to_value(&self) -> Json {
        serde_json::to_value(self).expect("configurations have text keys and finite numbers")
    }
}

/// 128 bits of the SHA-256 of an experiment's canonical JSON: sorted keys, no labels.
fn hash(mut value: Json) -> String {
    if let Some(table) = value.as_object_mut() {
        table.remove("name");
        table.remove("preset");
    }
    value.sort_all_objects();
    let digest = Sha256::digest(value.to_string());
    let (half, _) = digest.split_first_chunk().expect("a digest has 32 bytes");
    format!("{:032x}", u128::from_be_bytes(*half))
}
