//! Carries progress to Python and Ctrl-C back, about ten times a second.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use eraseblock_experiment::{Progress, RunError};
use pyo3::prelude::*;

use crate::errors::{self, guard};

const INTERVAL: Duration = Duration::from_millis(100);

/// Is told how a run gets on, and may end it.
pub type Watch<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Does long work without Python's lock; `callback(phase, done, total)` and Ctrl-C can end it.
pub fn watched<T: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(Watch<'_>) -> Result<T, RunError> + Send,
) -> PyResult<T> {
    let mut reporter = Reporter::new(callback);
    let outcome = py.detach(|| guard(|| work(&mut |at| reporter.next_step(at))))?;
    reporter.result()?;
    outcome.map_err(errors::run)
}

/// The same for work that calls Python at every turn: it keeps Python's lock, which it would
/// otherwise take and give back each time, and lets go of it between steps.
pub fn watched_inside<T>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(Watch<'_>) -> Result<T, RunError>,
) -> PyResult<T> {
    let mut reporter = Reporter::new(callback);
    let outcome = guard(|| {
        work(&mut |at| {
            // Whoever waits for the lock takes it here.
            py.detach(|| ());
            reporter.next_step(at)
        })
    })?;
    reporter.result()?;
    outcome.map_err(errors::run)
}

/// Calls Python between two steps of a run and keeps what it raised.
struct Reporter {
    callback: Option<Py<PyAny>>,
    next: Instant,
    raised: Option<PyErr>,
}

impl Reporter {
    /// A reporter whose first call goes out at once.
    fn new(callback: Option<Py<PyAny>>) -> Self {
        Self { callback, next: Instant::now(), raised: None }
    }

    fn next_step(&mut self, at: Progress) -> ControlFlow<()> {
        if self.keep_going(at.phase, at.done, at.total) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    /// True while the run should go on.
    fn keep_going(&mut self, phase: &str, done: u64, total: u64) -> bool {
        let now = Instant::now();
        let finished = total > 0 && done >= total;
        if now < self.next && !finished {
            return true;
        }
        self.next = now + INTERVAL;
        let answer = Python::attach(|py| {
            py.check_signals()?;
            match &self.callback {
                Some(callback) => callback.call1(py, (phase, done, total)).map(drop),
                None => Ok(()),
            }
        });
        self.raised = answer.err();
        self.raised.is_none()
    }

    /// The exception that ended the run, if one did.
    fn result(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}
