//! Synthetic workloads as trace files, and stand-ins beside what was published.

use std::ops::ControlFlow;
use std::path::Path;

use eraseblock_traces::{GenerateConfig, Statistic, WriteOptions, measure_stand_in, stand_ins};
use serde_json::json;

use crate::run::{Progress, RunError};

/// How a generated trace is written.
#[derive(Debug, Clone, Copy, Default)]
pub struct Output<'a> {
    /// Name of the format; where none is given, the file's extension says it.
    pub format: Option<&'a str>,
    /// Replace a file of this name.
    pub overwrite: bool,
    /// Leave out what the format cannot hold, and count it.
    pub lossy: bool,
}

/// Writes the requests of a generator to the file at `path`, and tells in JSON what was written.
///
/// # Errors
///
/// The format is unknown or cannot hold the requests, the file cannot be written, or `progress`
/// ends it.
pub fn generate_trace(
    generate: &GenerateConfig,
    path: &Path,
    output: Output<'_>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<String, RunError> {
    let total = generate.generator()?.requests();
    let options = WriteOptions {
        format: output.format.map(str::parse).transpose().map_err(RunError::Option)?,
        provenance: vec![
            ("made-by".to_owned(), format!("eraseblock {}", env!("CARGO_PKG_VERSION"))),
            (
                "generator".to_owned(),
                serde_json::to_string(generate).expect("parameters have text keys"),
            ),
        ],
        lossy: output.lossy,
        overwrite: output.overwrite,
    };
    let mut watch = |done| progress(Progress { phase: "generate", done, total }).is_continue();
    let report = generate.write(path, &options, &mut watch)?;
    Ok(serde_json::to_string(&report).expect("a report is JSON"))
}

/// What a stand-in matches, how it is made and what it cannot know, as JSON.
///
/// # Errors
///
/// There is no such stand-in.
pub fn stand_in_json(name: &str) -> Result<String, RunError> {
    let all = stand_ins();
    let found = all.iter().find(|stand_in| stand_in.name == name).ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|stand_in| stand_in.name.as_str()).collect();
        RunError::Option(format!("there is no stand-in `{name}` (known: {})", known.join(", ")))
    })?;
    let titles: Vec<_> = found.statistics.iter().map(Statistic::title).collect();
    let mut json = json!(found);
    for (statistic, title) in json["statistic"].as_array_mut().into_iter().flatten().zip(titles) {
        statistic["title"] = title.into();
    }
    Ok(json.to_string())
}

/// The published statistics of a stand-in beside those of its requests, as JSON.
///
/// # Errors
///
/// It is not a stand-in, its configuration is wrong, or `progress` ends it.
pub fn measure_json(
    generate: &GenerateConfig,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<String, RunError> {
    let GenerateConfig::StandIn(config) = generate else {
        let message =
            format!("`{}` is not a stand-in; there is nothing to compare it with", generate.name());
        return Err(RunError::Option(message));
    };
    let total = generate.generator()?.requests();
    let mut watch = |done| progress(Progress { phase: "measure", done, total }).is_continue();
    let measured = measure_stand_in(config, &mut watch)?;
    Ok(serde_json::to_string(&measured).expect("statistics are JSON"))
}
