//! Traces without a drive.

use std::path::Path;

use eraseblock_experiment as experiment;
use pyo3::prelude::*;

use crate::interrupt::watched;

/// What a trace holds (requests, bytes, times, spans), as JSON. Ctrl-C ends it.
#[pyfunction]
#[pyo3(signature = (path, format=None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn trace_info(py: Python<'_>, path: String, format: Option<String>) -> PyResult<String> {
    watched(py, None, |watch| experiment::trace_info(Path::new(&path), format.as_deref(), watch))
}

/// Adds the functions of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_info, module)?)
}
