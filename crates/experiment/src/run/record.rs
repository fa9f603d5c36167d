//! The record of one run: its configuration, its workload, the figures, and how fast the engine
//! was.

use eraseblock_traces::{FittedWorkload, Workload};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::advice;
use crate::experiment::Experiment;

/// One run's result, a JSON object. All of it but `engine` is the same for every run of the same
/// experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Record(Map<String, Json>);

/// How fast the run was, in wall-clock time.
#[derive(Clone, Copy)]
pub(super) struct Engine {
    /// Requests replayed, and flash operations that it took, in `wall_s`.
    pub requests: u64,
    pub flash_ops: u64,
    pub wall_s: f64,
    /// Before that the drive was filled, in so long.
    pub fill_s: f64,
}

impl Engine {
    /// Rates per second; null where the clock did not move.
    fn to_json(self) -> Json {
        let rate = |count: u64| (self.wall_s > 0.0).then(|| count as f64 / self.wall_s);
        json!({
            "wall_s": self.wall_s,
            "fill_s": self.fill_s,
            "requests_per_s": rate(self.requests),
            "flash_ops_per_s": rate(self.flash_ops),
        })
    }
}

impl Record {
    /// Joins what the run was and what came of it.
    pub(super) fn new(
        experiment: &Experiment,
        (workload, image): (&Workload, Option<&str>),
        fitted: &FittedWorkload,
        mut figures: Map<String, Json>,
        engine: Engine,
    ) -> Self {
        let warnings = figures.entry("warnings").or_insert_with(|| json!([]));
        if let Json::Array(warnings) = warnings {
            let buffer = advice::of_buffer(&experiment.device().buffer, fitted.report());
            let workload = advice::warnings(workload.identity(), fitted.report());
            warnings.extend(buffer.into_iter().chain(workload).map(Json::from));
        }
        let identity = workload.identity();
        let mut trace = object(identity);
        trace.insert("fit".to_owned(), Json::Object(object(fitted.report())));

        let content = (identity.format, identity.sha256.as_str());
        let key = experiment.key_with_content(content, image);
        let mut record = Map::new();
        for (key, value) in [
            ("key", json!(key)),
            ("name", json!(experiment.name)),
            ("version", json!(env!("CARGO_PKG_VERSION"))),
            ("config", experiment.to_value()),
            ("trace", Json::Object(trace)),
        ] {
            record.insert(key.to_owned(), value);
        }
        for (key, value) in figures {
            let before = record.insert(key.clone(), value);
            assert!(before.is_none(), "the drive reports `{key}`, which the record says already");
        }
        record.insert("engine".to_owned(), engine.to_json());
        Self(record)
    }

    /// The record as a JSON object.
    pub fn value(&self) -> &Map<String, Json> {
        &self.0
    }

    /// The record as one line of JSON.
    pub fn to_json(&self) -> String {
        Json::Object(self.0.clone()).to_string()
    }
}

/// A struct as a JSON object.
pub(super) fn object<T: Serialize>(value: &T) -> Map<String, Json> {
    match serde_json::to_value(value) {
        Ok(Json::Object(table)) => table,
        other => panic!("reports are structs of numbers and texts, not {other:?}"),
    }
}
