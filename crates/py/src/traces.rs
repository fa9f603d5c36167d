//! Traces without a drive.

use std::path::Path;

use eraseblock_experiment as experiment;
use pyo3::prelude::*;

use crate::errors;
use crate::interrupt::watched;

/// What the workload of a resolved experiment is like, as JSON.
///
/// `progress(phase, done, total)` is called about ten times a second with the requests read; what it raises ends the
/// reading.
#[pyfunction]
#[pyo3(signature = (experiment_json, base, page_size=None, sample=None, progress=None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn trace_info(
    py: Python<'_>,
    experiment_json: String,
    base: String,
    page_size: Option<String>,
    sample: Option<f64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let one = experiment::Experiment::from_json(&experiment_json).map_err(errors::config)?;
    let options = experiment::InfoOptions { page_size, sample };
    watched(py, progress, |watch| experiment::trace_info(&one, Path::new(&base), &options, watch))
}

/// Adds the functions of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_info, module)?)
}
