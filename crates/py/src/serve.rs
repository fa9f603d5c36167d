//! Drives with real bytes: images, and the server.

use std::path::PathBuf;

use eraseblock_experiment::Experiment;
use eraseblock_serve::{self as serve, Address, Drive, Options, Ready};
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

/// Serves an image at a Unix socket, or at a port of this machine, until SIGTERM or SIGINT comes;
/// `ready(json)` is called when clients can come, and may raise.
#[pyfunction]
#[pyo3(signature = (path, socket, port, sync, ready))]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn image_serve(
    py: Python<'_>,
    path: PathBuf,
    socket: Option<PathBuf>,
    port: u16,
    sync: bool,
    ready: Py<PyAny>,
) -> PyResult<()> {
    let address = socket.map_or(Address::Loopback(port), Address::Unix);
    let options = Options { address, sync };
    let mut raised = None;
    let tell = |at: &Ready| {
        let told = Python::attach(|py| ready.call1(py, (at.to_json(),)).map(drop));
        raised = told.err();
        raised.is_none()
    };
    let served = py.detach(|| guard(|| serve::serve(&path, &options, tell)))?;
    raised.map_or(Ok(()), Err)?;
    served.map_err(failed)
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
