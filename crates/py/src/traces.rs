//! Traces without a drive.

use std::path::{Path, PathBuf};

use eraseblock_experiment::{self as experiment, ConvertOptions, Output};
use pyo3::prelude::*;

use crate::errors;
use crate::interrupt::watched;
use crate::requests::Requests;

/// What the workload of a resolved experiment is like, as JSON.
///
/// `progress(phase, done, total)` is called about ten times a second with the requests read; what
/// it raises ends the reading.
#[pyfunction]
#[pyo3(signature = (experiment_json, base, page_size=None, sample=None, progress=None, given=None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn trace_info(
    py: Python<'_>,
    experiment_json: String,
    base: String,
    page_size: Option<String>,
    sample: Option<f64>,
    progress: Option<Py<PyAny>>,
    given: Option<PyRef<'_, Requests>>,
) -> PyResult<String> {
    let mut one = experiment::Experiment::from_json(&experiment_json).map_err(errors::config)?;
    if let Some(given) = given {
        given.give(&mut one);
    }
    let options = experiment::InfoOptions { page_size, sample };
    watched(py, progress, |watch| experiment::trace_info(&one, Path::new(&base), &options, watch))
}

/// Writes the workload of a resolved experiment to the trace file `out`; what became of it, as
/// JSON.
///
/// `options_json` says how: `to`, `capacity`, `page_size`, `block_size`, `lossy`, `overwrite`.
/// `progress` is called as that of `run`; what it raises ends the work, and no file is left.
#[pyfunction]
#[pyo3(signature = (experiment_json, base, out, options_json, progress=None, given=None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn trace_convert(
    py: Python<'_>,
    experiment_json: String,
    base: String,
    out: String,
    options_json: String,
    progress: Option<Py<PyAny>>,
    given: Option<PyRef<'_, Requests>>,
) -> PyResult<String> {
    let mut one = experiment::Experiment::from_json(&experiment_json).map_err(errors::config)?;
    if let Some(given) = given {
        given.give(&mut one);
    }
    watched(py, progress, |watch| {
        let options = ConvertOptions::from_json(&options_json)?;
        let converted =
            experiment::convert(&one.workload, Path::new(&base), Path::new(&out), &options, watch)?;
        Ok(converted.to_json())
    })
}

/// Writes the trace of a generator; what was written comes back as JSON. `progress` is called as in
/// a run.
#[pyfunction]
#[pyo3(signature = (generator, output, format=None, overwrite=false, lossy=false, progress=None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn generate_trace(
    py: Python<'_>,
    generator: GeneratorSpec,
    output: String,
    format: Option<String>,
    overwrite: bool,
    lossy: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let generate = generator.resolve()?;
    let how = Output { format: format.as_deref(), overwrite, lossy };
    watched(py, progress, |watch| {
        experiment::generate_trace(&generate, Path::new(&output), how, watch)
    })
}

/// What a stand-in matches, how it is made and what it cannot know, as JSON.
#[pyfunction]
fn stand_in(name: &str) -> PyResult<String> {
    experiment::stand_in_json(name).map_err(errors::run)
}

/// The published statistics of a stand-in beside those of its requests, as JSON.
#[pyfunction]
#[pyo3(signature = (generator, progress=None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn measure_stand_in(
    py: Python<'_>,
    generator: GeneratorSpec,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let generate = generator.resolve()?;
    watched(py, progress, |watch| experiment::measure_json(&generate, watch))
}

/// A generator as Python gives it: `(name, (text, file name), sets)`.
#[derive(FromPyObject)]
struct GeneratorSpec(Option<String>, Option<(String, String)>, Vec<String>);

impl GeneratorSpec {
    fn resolve(&self) -> PyResult<experiment::GenerateConfig> {
        let Self(name, file, sets) = self;
        let file = file.as_ref().map(|(text, name)| (text.as_str(), name.as_str()));
        experiment::resolve_generator(name.as_deref(), file, sets).map_err(errors::config)
    }
}

/// Whether a file can be put at `path`: nothing is there, or a regular file. Says what else is.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn check_replaceable(path: PathBuf) -> PyResult<()> {
    experiment::check_replaceable(&path).map_err(errors::run)
}

/// Adds the functions of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(trace_info, module)?)?;
    module.add_function(wrap_pyfunction!(trace_convert, module)?)?;
    module.add_function(wrap_pyfunction!(generate_trace, module)?)?;
    module.add_function(wrap_pyfunction!(check_replaceable, module)?)?;
    module.add_function(wrap_pyfunction!(stand_in, module)?)?;
    module.add_function(wrap_pyfunction!(measure_stand_in, module)?)
}
