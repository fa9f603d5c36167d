//! Drives with real bytes: images, and the server.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use eraseblock_experiment::Experiment;
use eraseblock_serve::{self as serve, Address, Drive, Http, Options, Ready, Tls};
use pyo3::prelude::*;

use crate::errors::{self, InputError, SimulationError, guard};

/// An image or server that cannot be.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
fn failed(error: serve::Error) -> PyErr {
    let sentence = error.to_string();
    if error.is_input() {
        InputError::new_err(sentence)
    } else {
        SimulationError::new_err(sentence)
    }
}

/// Makes an image of the drive of a resolved experiment.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn image_create(py: Python<'_>, path: PathBuf, experiment_json: String) -> PyResult<()> {
    let one = Experiment::from_json(&experiment_json).map_err(errors::config)?;
    py.detach(|| guard(|| Drive::create(&path, &one.device())))?.map_err(failed)
}

/// Refuses an image that holds another drive than that of a resolved experiment.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn image_is(py: Python<'_>, path: PathBuf, experiment_json: String) -> PyResult<()> {
    let one = Experiment::from_json(&experiment_json).map_err(errors::config)?;
    py.detach(|| guard(|| Drive::check_is(&path, &one.device())))?.map_err(failed)
}

/// What is in an image, as JSON.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn image_info(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| guard(|| Drive::info(&path).map(|info| info.to_json())))?.map_err(failed)
}

/// What a comparison of everything in an image has found, as JSON.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn image_check(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| guard(|| Drive::check(&path).map(|checked| checked.to_json())))?.map_err(failed)
}

/// Mends what can be mended in an image, and gives up what cannot; what was done, as JSON.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn image_scrub(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| guard(|| Drive::scrub(&path).map(|done| done.to_json())))?.map_err(failed)
}

/// Writes what the host sees of an image to a new file.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn image_export(py: Python<'_>, path: PathBuf, to: PathBuf) -> PyResult<()> {
    py.detach(|| guard(|| Drive::export(&path, &to)))?.map_err(failed)
}

/// How an image is served; `ServeOptions` in Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "choices that have nothing to do with one another"
)]
struct Served {
    socket: Option<PathBuf>,
    host: Option<String>,
    port: u16,
    tls: Option<(PathBuf, bool)>,
    insecure: bool,
    sync: bool,
    pace: bool,
    real_time: bool,
    record: Option<PathBuf>,
    control: Option<PathBuf>,
    http: Option<(u16, String)>,
}

/// Serves an image at a Unix socket or a port until SIGTERM or SIGINT comes.
/// `prepare()` is called when nobody else can listen there, before the image is opened, and
/// `ready(json)` when clients can come; both may raise. What the server has done comes back as JSON.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn image_serve(
    py: Python<'_>,
    path: PathBuf,
    options: Served,
    prepare: Py<PyAny>,
    ready: Py<PyAny>,
) -> PyResult<Option<String>> {
    let Served { socket, host, port, tls, insecure, sync, pace, real_time, record, control, http } =
        options;
    let address = match (socket, host) {
        (Some(socket), _) => Address::Unix(socket),
        (None, Some(host)) => Address::Tcp(host, port),
        (None, None) => Address::loopback(port),
    };
    let tls = tls.map(|(folder, verify_peer)| Tls { folder, verify_peer });
    let http = http.map(|(port, page)| Http { port, page });
    let options = Options { address, tls, insecure, sync, pace, real_time, record, control, http };
    let raised = Mutex::new(None);
    let call = |callback: &Py<PyAny>, text: Option<String>| {
        let called = Python::attach(|py| match text {
            Some(text) => callback.call1(py, (text,)),
            None => callback.call0(py),
        });
        let went_well = called.is_ok();
        *raised.lock().unwrap_or_else(PoisonError::into_inner) = called.err();
        went_well
    };
    let served = py.detach(|| {
        guard(|| {
            let tell = |at: &Ready| call(&ready, Some(at.to_json()));
            serve::serve(&path, &options, || call(&prepare, None), tell)
        })
    })?;
    raised.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)?;
    served.map(|ended| ended.map(|ended| ended.to_json())).map_err(failed)
}

/// Adds all of this.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(image_create, module)?)?;
    module.add_function(wrap_pyfunction!(image_is, module)?)?;
    module.add_function(wrap_pyfunction!(image_info, module)?)?;
    module.add_function(wrap_pyfunction!(image_check, module)?)?;
    module.add_function(wrap_pyfunction!(image_scrub, module)?)?;
    module.add_function(wrap_pyfunction!(image_export, module)?)?;
    module.add_function(wrap_pyfunction!(image_serve, module)?)
}
