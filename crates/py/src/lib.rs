//! Python bindings: the extension module `eraseblock._core`. Conversion only; text goes in and JSON
//! comes out.

mod errors;
mod interrupt;
#[cfg(unix)]
mod last_resort;
#[cfg(unix)]
mod serve;
mod traces;

use std::path::Path;
use std::sync::LazyLock;

use eraseblock_experiment::{self as experiment, Cache, How, Runner};
use pyo3::prelude::*;

use errors::{ConfigError, EraseblockError, InputError, SimulationError, guard};
use interrupt::watched;

/// Version of the engine.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Version and source hash of the engine: builds with the same one give the same records.
#[pyfunction]
fn engine() -> &'static str {
    experiment::ENGINE
}

/// Everything that has a name (buffers, FTLs, devices, formats), as JSON.
#[pyfunction]
fn registry(py: Python<'_>) -> PyResult<String> {
    py.detach(|| guard(experiment::registry_json))
}

/// The examples of a buffer scheme, played step by step, as JSON; null where there is no such
/// scheme.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn examples(py: Python<'_>, name: String) -> PyResult<String> {
    py.detach(|| guard(|| experiment::examples_json(&name)))
}

/// JSON Schema of an experiment file.
#[pyfunction]
fn schema(py: Python<'_>) -> PyResult<String> {
    py.detach(|| guard(experiment::schema_json))
}

/// Reads an experiment and expands its axes; each run comes back as JSON with every key explicit.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn resolve(
    py: Python<'_>,
    toml_text: Option<String>,
    file_name: String,
    sets: Vec<String>,
) -> PyResult<Vec<String>> {
    let resolved =
        py.detach(|| guard(|| experiment::resolve(toml_text.as_deref(), &file_name, &sets)))?;
    Ok(resolved.map_err(errors::config)?.iter().map(experiment::Experiment::to_json).collect())
}

/// Reads each workload once for all runs of this process.
static RUNNER: LazyLock<Runner> = LazyLock::new(Runner::default);

/// Says which record a resolved experiment will give, as JSON: its key, and what the trace is
/// called.
///
/// Reads the trace, unless this process has done so; `progress` is that of `run`.
#[pyfunction]
#[pyo3(signature = (experiment_json, base, progress=None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn identify(
    py: Python<'_>,
    experiment_json: String,
    base: String,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let one = experiment::Experiment::from_json(&experiment_json).map_err(errors::config)?;
    let identity = watched(py, progress, |watch| RUNNER.identify(&one, Path::new(&base), watch))?;
    Ok(identity.to_json())
}

/// Why the run of a resolved experiment would take very long and say nothing but that; None where
/// it would not.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn hopeless(experiment_json: String) -> PyResult<Option<String>> {
    let one = experiment::Experiment::from_json(&experiment_json).map_err(errors::config)?;
    Ok(one.hopeless())
}

/// Forgets the filled drives that runs with `share` have kept for others.
#[pyfunction]
fn forget_filled(py: Python<'_>) {
    py.detach(|| RUNNER.forget_filled());
}

/// Runs one resolved experiment and returns its record as JSON; every decision of the buffer goes
/// to the file `events`. With `share` other runs of this process can start from the same filled
/// drive, which is kept for them; with `cache` other commands can, where filling it took long.
///
/// `progress(phase, done, total)` is called about ten times a second; what it raises ends the run.
#[pyfunction]
#[pyo3(signature = (experiment_json, base, verify=false, progress=None, events=None, share=false, cache=true))]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
#[expect(clippy::too_many_arguments, reason = "Python gives them by name")]
fn run(
    py: Python<'_>,
    experiment_json: String,
    base: String,
    verify: bool,
    progress: Option<Py<PyAny>>,
    events: Option<String>,
    share: bool,
    cache: bool,
) -> PyResult<String> {
    let one = experiment::Experiment::from_json(&experiment_json).map_err(errors::config)?;
    let kept = if cache { Cache::of_user().map_err(errors::run)? } else { None };
    let events = events.as_deref().map(Path::new);
    let how = How { verify, events, share, cache: kept.as_ref() };
    let record = watched(py, progress, |watch| RUNNER.run(&one, Path::new(&base), how, watch))?;
    Ok(record.to_json())
}

/// The module that Python imports as `eraseblock._core`.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    errors::silence_panics();
    module.add("EraseblockError", py.get_type::<EraseblockError>())?;
    module.add("ConfigError", py.get_type::<ConfigError>())?;
    errors::declare_parts(py)?;
    module.add("InputError", py.get_type::<InputError>())?;
    module.add("SimulationError", py.get_type::<SimulationError>())?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(engine, module)?)?;
    module.add_function(wrap_pyfunction!(registry, module)?)?;
    module.add_function(wrap_pyfunction!(examples, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(resolve, module)?)?;
    module.add_function(wrap_pyfunction!(identify, module)?)?;
    module.add_function(wrap_pyfunction!(hopeless, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(forget_filled, module)?)?;
    #[cfg(unix)]
    last_resort::register(module)?;
    #[cfg(unix)]
    serve::register(module)?;
    traces::register(module)
}
