//! A drive that a Python program drives, request by request.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use eraseblock_experiment::{Answers, Cache, Experiment, Op, Request, Response, RunError, Session};
use pyo3::prelude::*;

use crate::errors::{self, ConfigError, guard};
use crate::interrupt::Watch;
use crate::requests::Requests;
use crate::scheme::{Faults, bring};

/// A drive, and what went wrong inside a buffer scheme of the program's own.
#[pyclass(frozen, module = "eraseblock._core")]
pub(crate) struct Device {
    session: Mutex<Session>,
    faults: Faults,
}

/// The drive, unless somebody is using it.
fn lock(session: &Mutex<Session>) -> Result<MutexGuard<'_, Session>, RunError> {
    session.try_lock().map_err(|_| {
        RunError::Option(
            "the device is at work for another thread; let one thread at a time use it".to_owned(),
        )
    })
}

impl Device {
    /// Does short work.
    fn with<T>(&self, work: impl FnOnce(&mut Session) -> Result<T, RunError>) -> PyResult<T> {
        let done = guard(|| work(&mut *lock(&self.session)?));
        self.faults.or(done.and_then(|done| done.map_err(errors::run)))
    }
}

#[pymethods]
impl Device {
    /// The drive of a resolved experiment, filled.
    #[new]
    #[pyo3(signature = (experiment_json, verify=false, cache=true, progress=None, scheme=None))]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments are extracted from Python objects"
    )]
    fn new(
        py: Python<'_>,
        experiment_json: String,
        verify: bool,
        cache: bool,
        progress: Option<Py<PyAny>>,
        scheme: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let mut one = Experiment::from_json(&experiment_json).map_err(errors::config)?;
        let faults = bring(&mut one, scheme);
        let kept = if cache { Cache::of_user().map_err(errors::run)? } else { None };
        let make = |watch: Watch<'_>| Session::new(one, verify, kept.as_ref(), watch);
        let session = Mutex::new(faults.watched(py, progress, make)?);
        Ok(Self { session, faults })
    }

    /// The host's time, in ns.
    #[getter]
    fn clock(&self) -> PyResult<u64> {
        self.with(|session| Ok(session.clock()))
    }

    /// Bytes that the host sees.
    #[getter]
    fn exported_bytes(&self) -> PyResult<u64> {
        self.with(|session| Ok(session.bytes().0))
    }

    /// Bytes of a page.
    #[getter]
    fn page_bytes(&self) -> PyResult<u64> {
        self.with(|session| Ok(session.bytes().1))
    }

    /// Puts a request to the drive, at a time of the host's clock in ns or now.
    fn put(
        &self,
        op: &str,
        at: Option<u64>,
        offset: u64,
        len: u64,
        fua: bool,
    ) -> PyResult<Waiting> {
        let op = match op {
            "read" => Op::Read,
            "write" => Op::Write,
            "trim" => Op::Trim,
            "flush" => Op::Flush,
            other => return Err(ConfigError::new_err(format!("op: unknown name `{other}`"))),
        };
        let request = Request { arrival_ns: 0, offset, len, volume: 0, op, fua };
        self.with(|session| {
            let number = session.put(at, request, true)?;
            let answers = session.answers().clone();
            Ok(Waiting { number, at: session.clock(), answers })
        })
    }

    /// Puts all requests of the workload of a resolved experiment; says how many.
    #[pyo3(signature = (experiment_json, base, given=None, progress=None))]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments are extracted from Python objects"
    )]
    fn run(
        &self,
        py: Python<'_>,
        experiment_json: String,
        base: String,
        given: Option<PyRef<'_, Requests>>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<u64> {
        let mut one = Experiment::from_json(&experiment_json).map_err(errors::config)?;
        if let Some(given) = given {
            given.give(&mut one);
        }
        self.faults.watched(py, progress, |watch: Watch<'_>| {
            lock(&self.session)?.run(&one.workload, Path::new(&base), watch)
        })
    }

    /// The host's clock goes on to a time, in ns.
    fn advance(&self, py: Python<'_>, until: u64) -> PyResult<()> {
        self.faults.watched(py, None, |_: Watch<'_>| lock(&self.session)?.advance(until))
    }

    /// The host waits for all answers.
    fn drain(&self, py: Python<'_>) -> PyResult<()> {
        self.faults.watched(py, None, |watch: Watch<'_>| lock(&self.session)?.drain(watch))
    }

    /// What has been counted, as JSON.
    fn stats(&self) -> PyResult<String> {
        self.with(|session| Ok(session.stats().to_string()))
    }

    /// Ends the run; its record, as JSON.
    fn record(&self, py: Python<'_>) -> PyResult<String> {
        self.faults.watched(py, None, |watch: Watch<'_>| {
            lock(&self.session)?.record(watch).map(eraseblock_experiment::Record::to_json)
        })
    }
}

/// A request that was put to a device.
#[pyclass(frozen, name = "Request", module = "eraseblock._core")]
pub(crate) struct Waiting {
    number: u64,
    at: u64,
    answers: Arc<Answers>,
}

#[pymethods]
impl Waiting {
    /// Its number, from 0.
    #[getter]
    fn number(&self) -> u64 {
        self.number
    }

    /// When it came by the host's clock, in ns.
    #[getter]
    fn at(&self) -> u64 {
        self.at
    }

    /// Whether the host knows that it was answered.
    #[getter]
    fn done(&self) -> bool {
        self.answers.of(self.number) != Response::UnderWay
    }

    /// How long that took, in ns.
    #[getter]
    fn response(&self) -> Option<u64> {
        match self.answers.of(self.number) {
            Response::UnderWay => None,
            Response::After(response) => response,
        }
    }

    fn __repr__(&self) -> String {
        let Self { number, at, .. } = self;
        match self.answers.of(*number) {
            Response::UnderWay => format!("<request {number} at {at} ns, under way>"),
            Response::After(None) => format!("<request {number}, answered>"),
            Response::After(Some(response)) => {
                format!("<request {number} at {at} ns, answered after {response} ns>")
            }
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.answers.forget(self.number);
    }
}

/// Adds the classes of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Device>()?;
    module.add_class::<Waiting>()?;
    module.add_class::<Requests>()
}
