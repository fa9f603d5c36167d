//! Runs one experiment: workload and drive in, a record out.

mod advice;
mod error;
mod laws;
mod record;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use eraseblock_core::device::{Device, Options};
use eraseblock_traces::{DriveShape, WorkloadConfig};
use serde_json::Value as Json;

use crate::experiment::Experiment;
pub use error::RunError;
pub use record::Record;

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What the run does now: `read`, `fill`, `replay` or `finish`.
    pub phase: &'static str,
    /// Steps done in this phase: pages where it fills, requests where it replays, else 0 or 1.
    pub done: u64,
    /// Steps in this phase, at most.
    pub total: u64,
}

/// Requests between two reports of progress.
const REPORT_EVERY: u64 = 4096;

/// Runs an experiment. Paths in its workload start from the folder `base`; with `verify`, every read is checked
/// against what was written.
///
/// `progress` is called some thousand pages or requests apart; when it breaks, the run ends with [`RunError::Cancelled`].
///
/// # Errors
/// Says what is wrong with the workload or the drive; [`RunError::is_input`] tells the user's errors from failures.
pub fn run(
    experiment: &Experiment,
    base: &Path,
    verify: bool,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Record, RunError> {
    let mut report = |phase, done, total| match progress(Progress { phase, done, total }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(RunError::Cancelled),
    };

    report("read", 0, 1)?;
    let mut device = Device::new(&experiment.device(), Options { verify })?;
    let workload = experiment.workload.prepare(base)?;
    let fitted = workload.fit(DriveShape {
        exported_bytes: device.exported_bytes(),
        page_bytes: device.page_bytes(),
        block_bytes: device.logical_block_bytes(),
    })?;

    report("fill", 0, 1)?;
    let start = Instant::now();
    let filled = device.precondition_with(&mut |done, total| report("fill", done, total).is_ok())?;
    if !filled {
        return Err(RunError::Cancelled);
    }
    let fill_s = start.elapsed().as_secs_f64();
    if device.needs_future() {
        report("foresee", 0, 1)?;
        device.foresee(fitted.requests())?;
    }

    let total = fitted.report().submitted;
    let start = Instant::now();
    let mut submitted = 0;
    for request in fitted.requests() {
        if submitted % REPORT_EVERY == 0 {
            report("replay", submitted, total)?;
        }
        device.submit(&request?)?;
        submitted += 1;
    }
    report("finish", 0, 1)?;
    let figures = device.finish()?;
    let wall_s = start.elapsed().as_secs_f64();
    report("finish", 1, 1)?;

    let figures = record::object(&figures);
    laws::check(workload.identity(), fitted.report(), submitted, &figures)?;
    Ok(Record::new(experiment, &workload, &fitted, figures, record::Engine::new(submitted, wall_s, fill_s)))
}

/// What a trace holds, as JSON; `format` names its format, or it is told from the content.
///
/// # Errors
/// The file cannot be read, or is not what the format promises.
pub fn trace_info(path: &Path, format: Option<&str>) -> Result<String, RunError> {
    let path = path.to_str().ok_or_else(|| RunError::Option(format!("{} is not UTF-8", path.display())))?;
    let mut workload = WorkloadConfig::trace(path);
    if let Some(name) = format {
        workload.format = name.parse().map_err(RunError::Option)?;
    }
    let workload = workload.prepare(Path::new(""))?;
    Ok(Json::Object(record::object(workload.summary())).to_string())
}
