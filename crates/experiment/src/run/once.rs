//! A run without time that goes with the first pass over its trace: to read the trace twice may
//! take longer than to serve it.
//!
//! Mostly the requests lie on the drive as the trace has them. Where the end of the pass shows that
//! they do not, or where anything is wrong, nothing comes of this way, and the run begins anew in
//! the way of all others: there errors come in the order in which they can be mended.

use std::path::Path;
use std::time::Instant;

use eraseblock_core::config::{Precondition, Replay};
use eraseblock_core::device::{AHEAD, Device, DeviceError, Options};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Metric;
use eraseblock_core::metrics::report::Report;
use eraseblock_traces::{DriveShape, FitMode, FittedWorkload, TraceError, Volumes, Workload};

use super::bounds::Beside;
use super::cache::Cache;
use super::stamp::{Stamp, changed};
use super::{How, REPORT_EVERY, RunError, filled, record};
use crate::experiment::Experiment;

/// A run that has been served whole.
pub(super) struct Served {
    pub workload: Workload,
    pub fitted: FittedWorkload,
    pub figures: Report,
    pub engine: record::Engine,
}

/// Whether nothing that has to be known before the first request takes a pass over the workload.
pub(super) fn suits(experiment: &Experiment, how: How<'_>, device: &Device) -> bool {
    let workload = &experiment.workload;
    let filled_by_itself = matches!(
        experiment.precondition.state,
        Precondition::Empty | Precondition::Full | Precondition::Steady
    );
    experiment.host.replay == Replay::Untimed
        && experiment.host.warm_up == 0
        && how.events.is_none()
        && filled_by_itself
        && !device.needs_future()
        && workload.given.is_none()
        && workload.fit != FitMode::Compact
        && !matches!(workload.volumes, Volumes::Each(_))
}

/// Serves the run; none where it cannot be done so. `report` is told of phase, steps done and steps
/// in all.
pub(super) fn serve(
    experiment: &Experiment,
    base: &Path,
    device: Device,
    cache: Option<&Cache>,
    report: &mut dyn FnMut(&'static str, u64, u64) -> Result<(), RunError>,
) -> Result<Option<Served>, RunError> {
    let file = Stamp::of(&experiment.workload, base);
    let mut run = Run { experiment, device, cache, report, state: State::default() };
    let read = experiment.workload.prepare_served(base, &mut |requests| run.take(requests));
    let workload = match read.map_err(RunError::from) {
        Ok(workload) if run.serve_rest().is_ok() => workload,
        // The user wants an end.
        _ if run.state.cancelled => return Err(RunError::Cancelled),
        _ => return Ok(None),
    };
    let Run { mut device, report, mut state, .. } = run;
    let shape = DriveShape {
        exported_bytes: device.exported_bytes(),
        page_bytes: device.page_bytes(),
        block_bytes: device.logical_block_bytes(),
    };
    let fitted = match workload.fit(shape) {
        Ok(fitted) if fitted.is_as_recorded() => fitted,
        _ => return Ok(None),
    };
    report("finish", 0, 1)?;
    if let Some(bounds) = state.bounds.take()
        && !bounds.finish()
    {
        return Ok(None);
    }
    let Ok(figures) = device.finish() else { return Ok(None) };
    report("finish", 1, 1)?;
    if Stamp::of(&experiment.workload, base) != file {
        return Err(changed(&experiment.workload));
    }
    let engine = record::Engine {
        requests: state.submitted,
        flash_ops: device.flash_ops(),
        wall_s: state.start.map_or(0.0, |start| start.elapsed().as_secs_f64()),
        fill_s: state.fill_s,
    };
    Ok(Some(Served { workload, fitted, figures, engine }))
}

/// A run under way.
struct Run<'a> {
    experiment: &'a Experiment,
    device: Device,
    cache: Option<&'a Cache>,
    report: &'a mut dyn FnMut(&'static str, u64, u64) -> Result<(), RunError>,
    state: State,
}

/// How far it is.
#[derive(Default)]
struct State {
    /// Requests that are too few to be served together with what comes next.
    next: Vec<Request>,
    submitted: u64,
    /// The volume of the requests so far; those of several do not lie as the trace has them.
    volume: Option<u32>,
    /// When the first request was served.
    start: Option<Instant>,
    fill_s: f64,
    /// Who finds the bounds meanwhile.
    bounds: Option<Beside>,
    /// The drive wore out: what it did until then is the result.
    worn_out: bool,
    cancelled: bool,
}

impl Run<'_> {
    /// The next requests of the trace; an error ends the pass.
    fn take(&mut self, requests: &[Request]) -> Result<(), TraceError> {
        let mut rest = requests;
        while !rest.is_empty() {
            let waiting = self.state.next.len();
            let (some, others) = rest.split_at(rest.len().min(AHEAD - waiting));
            rest = others;
            let served = if some.len() == AHEAD {
                self.serve_block(some)
            } else {
                self.state.next.extend_from_slice(some);
                if waiting + some.len() < AHEAD {
                    break;
                }
                self.serve_rest()
            };
            served.map_err(|_| TraceError::cancelled())?;
        }
        Ok(())
    }

    /// Serves the requests that have come and were too few to be served.
    fn serve_rest(&mut self) -> Result<(), RunError> {
        let mut next = std::mem::take(&mut self.state.next);
        let served = self.serve_block(&next);
        next.clear();
        self.state.next = next;
        served
    }

    /// Serves the requests that come next; an error where nothing comes of this run.
    fn serve_block(&mut self, next: &[Request]) -> Result<(), RunError> {
        // Before the drive is filled, which would be in vain.
        for request in next.iter().filter(|request| request.op != Op::Flush) {
            if *self.state.volume.get_or_insert(request.volume) != request.volume {
                return Err(RunError::Cancelled);
            }
        }
        if self.state.start.is_none() {
            self.fill()?;
            self.state.start = Some(Instant::now());
        }
        if self.state.submitted.is_multiple_of(REPORT_EVERY) {
            let told = (self.report)("replay", self.state.submitted, 0);
            self.note(told)?;
        }
        if let Some(bounds) = &mut self.state.bounds {
            bounds.add(next);
        }
        if !self.state.worn_out {
            let (taken, served) = self.device.submit_all(next);
            self.state.submitted += taken as u64;
            match served {
                Err(DeviceError::EndOfLife { .. }) => self.state.worn_out = true,
                served => served?,
            }
        }
        Ok(())
    }

    /// Fills the drive when the first requests have come: a trace that cannot be read is told of
    /// before.
    fn fill(&mut self) -> Result<(), RunError> {
        let start = Instant::now();
        let (config, report) = (self.experiment.device(), &mut self.report);
        let mut filling = |done, total| report("fill", done, total).is_ok();
        let options = Options { verify: self.device.engine().stored().is_some() };
        let filled = filled::fill(&mut self.device, (&config, options), self.cache, &mut filling);
        self.note(filled)?;
        for metric in self.experiment.asked_metrics() {
            if metric == Metric::Bounds {
                self.state.bounds = Some(Beside::start(&mut self.device));
            }
            self.device.keep(metric);
        }
        self.state.fill_s = start.elapsed().as_secs_f64();
        Ok(())
    }

    /// Remembers whether it was the user who ended it.
    fn note(&mut self, told: Result<(), RunError>) -> Result<(), RunError> {
        self.state.cancelled |= matches!(told, Err(RunError::Cancelled));
        told
    }
}
