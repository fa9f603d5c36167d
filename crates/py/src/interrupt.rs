//! Carries progress to Python and Ctrl-C back, about ten times a second.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

const INTERVAL: Duration = Duration::from_millis(100);

/// Calls Python between two steps of a run and keeps what it raised.
pub struct Reporter {
    callback: Option<Py<PyAny>>,
    next: Instant,
    raised: Option<PyErr>,
}

impl Reporter {
    /// A reporter whose first call goes out at once.
    pub fn new(callback: Option<Py<PyAny>>) -> Self {
        Self { callback, next: Instant::now(), raised: None }
    }

    /// True while the run should go on.
    pub fn keep_going(&mut self, phase: &str, done: u64, total: u64) -> bool {
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
    pub fn result(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}
