//! Runs one experiment: workload and drive in, a record out.

mod advice;
mod bounds;
mod cache;
mod error;
mod events;
mod filled;
mod given;
mod images;
mod info;
mod laws;
mod once;
mod record;
mod session;
mod splits;
mod stamp;
mod waiting;
mod workloads;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use eraseblock_core::config::{Precondition, Replay};
use eraseblock_core::device::idle::{Idle, warning};
use eraseblock_core::device::{AHEAD, Device, DeviceError, Options, nothing_measured};
use eraseblock_core::metrics::Metric;
use eraseblock_core::metrics::report::Report;
use eraseblock_traces::{DriveShape, FittedWorkload, Given, Volumes, Workload};
use serde::Serialize;
use serde_json::Value as Json;

use crate::experiment::Experiment;
use bounds::FoundBounds;
pub use cache::Cache;
pub use error::RunError;
use events::EventLog;
pub(crate) use events::push_line;
use filled::FilledDrives;
pub use images::{Flash, Images};
pub use info::{InfoOptions, trace_info};
pub use record::Record;
pub use session::{Answers, Response, Session};
use stamp::{Stamp, changed};
use workloads::Workloads;

/// Version of the engine, and a hash of the source that decides its results: two builds with the
/// same one give the same records.
pub const ENGINE: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("ERASEBLOCK_SOURCE"));

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What the run does now: `read`, `fill`, `foresee`, `replay` or `finish`.
    pub phase: &'static str,
    /// Steps done in this phase: pages where it fills, requests where it reads, foresees or
    /// replays, else 0 or 1.
    pub done: u64,
    /// Steps in this phase, at most; 0 where nobody knows.
    pub total: u64,
}

/// What a run does beside simulating.
#[derive(Debug, Clone, Copy, Default)]
pub struct How<'a> {
    /// Every read is checked against what was written.
    pub verify: bool,
    /// File for every decision of the buffer, as docs/events.md describes it.
    pub events: Option<&'a Path>,
    /// Other runs of this runner may start from the same filled drive: keep it for them.
    pub share: bool,
    /// No other run is going to read the workload: one without time may serve it while it is read
    /// for the first time.
    pub alone: bool,
    /// Where filled drives are kept for other commands.
    pub cache: Option<&'a Cache>,
}

/// What a record calls the format of a workload that no file holds.
const GENERATED: &str = "generated";

/// Requests between two reports of progress, a multiple of [`AHEAD`].
const REPORT_EVERY: u64 = 4096;

/// What decides a run's record, known before it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Identity {
    /// The record's `key`: a hash of the configuration and the content of the trace.
    pub key: String,
    /// Entries of the record's `trace` that depend on where the trace lies and what it is called,
    /// and not on the key.
    pub trace: BTreeMap<&'static str, String>,
}

impl Identity {
    /// The identity as one line of JSON.
    pub fn to_json(&self) -> String {
        Json::Object(record::object(self)).to_string()
    }
}

/// Runs experiments, many at a time if need be. Reads each workload once for all of them, fills
/// drives once that are the same below the buffer, and finds bounds once for all buffers of a size.
#[derive(Debug, Default)]
pub struct Runner {
    workloads: Workloads,
    filled: FilledDrives,
    bounds: FoundBounds,
    images: Option<Arc<dyn Images>>,
}

impl Runner {
    /// One whose drives may begin with what is in an image.
    pub fn with_images(images: Arc<dyn Images>) -> Self {
        Self { images: Some(images), ..Self::default() }
    }

    /// Which record [`Self::run`] will give. Reads the trace, unless this runner has read it
    /// already.
    ///
    /// # Errors
    /// Says what is wrong with the workload.
    pub fn identify(
        &self,
        experiment: &Experiment,
        base: &Path,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Identity, RunError> {
        let image = images::begins_with(experiment, base, self.images.as_ref())?;
        let image = image.as_ref().map(|found| found.sha256.as_str());
        if let Some(sha256) = experiment.workload.generated_sha256() {
            let key = experiment.key_with_content((GENERATED, &sha256), image);
            return Ok(Identity { key, trace: BTreeMap::new() });
        }
        let mut read = |passed| progress(reading(passed)).is_continue();
        let (workload, _) = self.workloads.get(&experiment.workload, base, &mut read)?;
        let identity = workload.identity();
        let trace = [("name", identity.name.clone()), ("evidence", identity.evidence.clone())];
        let key = experiment.key_with_content((identity.format, &identity.sha256), image);
        Ok(Identity { key, trace: BTreeMap::from(trace) })
    }

    /// The volumes of the experiment's trace of which it wants a run each, in the order of the
    /// runs; none where it does not. The trace is read once for all of them, and its volumes stay
    /// apart until [`Self::forget_volumes`].
    ///
    /// # Errors
    /// Says what is wrong with the workload, and which volume that it names is not there.
    pub fn volumes(
        &self,
        experiment: &Experiment,
        base: &Path,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Vec<u32>, RunError> {
        let workload = &experiment.workload;
        if !matches!(workload.volumes, Volumes::Each(_)) {
            return Ok(Vec::new());
        }
        let mut read = |passed| progress(reading(passed)).is_continue();
        Ok(self.workloads.split(workload, base, &mut read)?.volumes(workload)?)
    }

    /// Forgets the traces whose volumes are kept apart.
    pub fn forget_volumes(&self) {
        self.workloads.forget_splits();
    }

    /// Forgets what was made of requests that a program gave, and holds no longer.
    pub fn forget_given(&self, given: &Given) {
        self.workloads.forget(given);
    }

    /// Forgets the filled drives that were kept for other runs.
    pub fn forget_filled(&self) {
        self.filled.forget();
    }

    /// Runs an experiment. Paths in its workload start from the folder `base`.
    ///
    /// `progress` is called some thousand pages or requests apart; when it breaks, the run ends
    /// with [`RunError::Cancelled`].
    ///
    /// # Errors
    /// Says what is wrong with the workload or the drive; [`RunError::is_input`] tells the user's
    /// errors from failures.
    pub fn run(
        &self,
        experiment: &Experiment,
        base: &Path,
        how: How<'_>,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Record, RunError> {
        // An event log follows the requests on their way, for the bounds, too.
        let followed = how.events.is_some();
        let mut report = |phase, done, total| match progress(Progress { phase, done, total }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(RunError::Cancelled),
        };

        let (config, options) = (experiment.device(), Options { verify: how.verify });
        let image = images::begins_with(experiment, base, self.images.as_ref())?;
        let ready = match &image {
            Some(found) => Some(images::resumed(&config, options, found)?),
            None if how.share => self.filled.find(&config, options)?,
            None => None,
        };
        let is_filled = ready.is_some();
        let mut device = ready.map_or_else(|| Device::new(&config, options), Ok)?;
        let begun = image.as_ref().map(|found| found.sha256.as_str());
        let device_idle = device.idle_settings();
        if how.alone && !followed && !is_filled && once::suits(experiment, how, &device) {
            let served = once::serve(experiment, base, device, how.cache, &mut report)?;
            if let Some(once::Served { workload, fitted, figures, engine }) = served {
                return closed(
                    experiment,
                    (&workload, None),
                    &fitted,
                    &figures,
                    device_idle,
                    engine,
                );
            }
            // Something is not as it mostly is, or wrong: found out step by step.
            device = Device::new(&config, options)?;
        }
        let mut read = |passed| report("read", passed, 0).is_ok();
        let (workload, file) = self.workloads.get(&experiment.workload, base, &mut read)?;
        let shape = DriveShape {
            exported_bytes: device.exported_bytes(),
            page_bytes: device.page_bytes(),
            block_bytes: device.logical_block_bytes(),
        };
        let fitted = workload.fit_watched(shape, &mut read)?;
        let (total, warm_up) = (fitted.report().submitted, experiment.host.warm_up);
        if warm_up > 0 && total <= warm_up {
            return Err(DeviceError::Config(nothing_measured(warm_up, total)).into());
        }

        let mut log = how.events.map(EventLog::create).transpose()?;
        if let Some(log) = &mut log {
            let shape = device.buffer_shape();
            log.start(experiment, (&workload, begun), shape, device.page_bytes())?;
        }

        report("fill", 0, 1)?;
        let start = Instant::now();
        let mut filling = |done, total| report("fill", done, total).is_ok();
        if how.share && !is_filled {
            self.filled.fill(&mut device, (&config, options), how.cache, &mut filling)?;
        } else if !is_filled {
            filled::fill(&mut device, (&config, options), how.cache, &mut filling)?;
        }
        let pass = || fitted.requests().map(|request| request.map_err(RunError::from));
        let used = match experiment.precondition.state {
            Precondition::Workload => device.overwrite_with(pass, &mut filling)?,
            Precondition::Trace => device.store_with(pass(), &mut filling)?,
            Precondition::Empty
            | Precondition::Full
            | Precondition::Steady
            | Precondition::Image => true,
        };
        if !used {
            return Err(RunError::Cancelled);
        }
        if let Some(log) = log {
            device.observe(Box::new(log));
        }
        let fill_s = start.elapsed().as_secs_f64();
        if device.needs_future() {
            let mut told = 0;
            device.foresee(fitted.requests().map(|request| {
                if told % REPORT_EVERY == 0 {
                    report("foresee", told, total)?;
                }
                told += 1;
                request.map_err(RunError::from)
            }))?;
        }

        for metric in experiment.asked_metrics() {
            if metric == Metric::Bounds && !followed {
                let mut watch = |passed| report("foresee", passed, total).is_ok();
                let requests = (&workload, &fitted, shape);
                let question = device.question_of_bounds();
                let totals = self.bounds.get(requests, question, &mut watch)?;
                device.keep_bounds(Arc::new(OnceLock::from(totals)));
            }
            device.keep(metric);
        }
        let start = Instant::now();
        let mut submitted = 0;
        let (mut requests, mut next) = (fitted.requests(), Vec::with_capacity(AHEAD));
        loop {
            next.clear();
            // Those before a fault of the trace are served.
            let mut fault = None;
            for request in requests.by_ref().take(AHEAD) {
                match request {
                    Ok(request) => next.push(request),
                    Err(error) => {
                        fault = Some(error);
                        break;
                    }
                }
            }
            if submitted % REPORT_EVERY == 0 {
                report("replay", submitted, total)?;
            }
            let (taken, served) = device.submit_all(&next);
            submitted += taken as u64;
            match served {
                // The drive wore out: what it did until then is the result.
                Err(DeviceError::EndOfLife { .. }) => break,
                served => served?,
            }
            if let Some(error) = fault {
                return Err(error.into());
            }
            if next.len() < AHEAD {
                break;
            }
        }
        report("finish", 0, 1)?;
        let figures = device.finish()?;
        let wall_s = start.elapsed().as_secs_f64();
        report("finish", 1, 1)?;
        if Stamp::of(&experiment.workload, base) != file {
            return Err(changed(&experiment.workload));
        }

        let engine =
            record::Engine { requests: submitted, flash_ops: device.flash_ops(), wall_s, fill_s };
        closed(experiment, (&workload, begun), &fitted, &figures, device_idle, engine)
    }
}

/// The record of a drive that has ended its run: its figures, checked against the workload.
fn closed(
    experiment: &Experiment,
    (workload, image): (&Workload, Option<&str>),
    fitted: &FittedWorkload,
    figures: &Report,
    device_idle: Vec<Idle>,
    engine: record::Engine,
) -> Result<Record, RunError> {
    let mut figures = record::object(figures);
    if let Some(warning) = idle_settings(experiment, device_idle)
        && let Some(Json::Array(warnings)) = figures.get_mut("warnings")
    {
        warnings.push(warning.into());
    }
    laws::check(workload.identity(), fitted.report(), engine.requests, &figures)?;
    Ok(Record::new(experiment, (workload, image), fitted, figures, engine))
}

/// Runs one experiment, as [`Runner::run`] does; with `verify`, every read is checked against what
/// was written.
///
/// # Errors
/// As [`Runner::run`].
pub fn run(
    experiment: &Experiment,
    base: &Path,
    verify: bool,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Record, RunError> {
    Runner::default().run(experiment, base, How { verify, ..How::default() }, progress)
}

/// A sentence about settings that somebody gave and that do nothing beside the others.
fn idle_settings(experiment: &Experiment, mut idle: Vec<Idle>) -> Option<String> {
    idle.extend(
        experiment.workload.idle_settings().into_iter().map(|(key, why)| Idle::new(key, why)),
    );
    if experiment.host.replay != Replay::Open {
        idle.push(Idle::new("workload.time_scale", "host.replay takes no arrival times"));
    }
    if experiment.host.replay == Replay::Untimed {
        let untimed = "host.replay = \"untimed\" knows no time";
        idle.push(Idle::new("service_times", untimed));
        if experiment.metrics.iter().any(|metric| metric.about().needs_time) {
            idle.push(Idle::new("metrics", untimed));
        }
    }
    if idle.is_empty() {
        return None;
    }
    let given = given::settings(experiment);
    warning(&idle, |key| {
        given.iter().any(|path| {
            path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    })
}

fn reading(passed: u64) -> Progress {
    Progress { phase: "read", done: passed, total: 0 }
}
