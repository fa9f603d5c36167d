//! What the workload of an experiment is like, without simulating anything.

use std::ops::ControlFlow;
use std::path::Path;

use eraseblock_core::config::Bytes;
use eraseblock_traces::CharacteriseOptions;
use serde_json::{Value as Json, json};

use super::error::RunError;
use super::record::object;
use super::{Progress, reading};
use crate::experiment::Experiment;

/// How a workload is characterised.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InfoOptions {
    /// Size of a page, as people write it; default: 4 KiB.
    pub page_size: Option<String>,
    /// Share of the pages to follow; default: all, up to a limit.
    pub sample: Option<f64>,
}

/// What the whole trace of an experiment holds, which part of it is replayed, and what that part is
/// like, as JSON. Paths start from the folder `base`; `progress` may end it, as in [`super::run`].
///
/// # Errors
/// The file cannot be read, or is not what the format promises; an option that cannot be.
pub fn trace_info(
    experiment: &Experiment,
    base: &Path,
    options: &InfoOptions,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<String, RunError> {
    let mut characterise =
        CharacteriseOptions { sample: options.sample, ..CharacteriseOptions::default() };
    if let Some(text) = &options.page_size {
        let size: Bytes =
            text.parse().map_err(|problem| RunError::Option(format!("page size: {problem}")))?;
        characterise.page_bytes = size.0;
    }
    let mut read = |passed| progress(reading(passed)).is_continue();
    let (workload, profile) = experiment.workload.characterise(base, characterise, &mut read)?;
    let identity = workload.identity();
    let mut info = object(workload.summary());
    let selected = json!({
        "requests": identity.requests,
        "left_out": identity.left_out,
        "workload": experiment.workload,
    });
    info.insert("selected".to_owned(), selected);
    info.insert("profile".to_owned(), Json::Object(object(&profile)));
    Ok(Json::Object(info).to_string())
}
