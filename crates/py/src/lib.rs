//! Python bindings: the extension module `eraseblock._core`. Conversion only: text, or columns of
//! requests, goes in and JSON comes out; and what stands between the engine and a buffer scheme in
//! Python.

mod device;
mod errors;
mod interrupt;
#[cfg(unix)]
mod last_resort;
mod requests;
mod runner;
mod scheme;
#[cfg(unix)]
mod serve;
mod traces;

use std::path::Path;

use eraseblock_experiment::{self as experiment, Cache, How};
use pyo3::prelude::*;

use errors::{ConfigError, EraseblockError, InputError, SimulationError, guard};
use interrupt::{Watch, watched};
use requests::Requests;
use runner::RUNNER;

#[global_allocator]
static MEMORY: experiment::LargePages = experiment::LargePages;

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

/// A resolved experiment, and the requests that it has the hash of.
fn read(json: &str, given: Option<&Requests>) -> PyResult<experiment::Experiment> {
    let mut one = experiment::Experiment::from_json(json).map_err(errors::config)?;
    if let Some(given) = given {
        given.give(&mut one);
    }
    Ok(one)
}

/// Says which record a resolved experiment will give, as JSON: its key, and what the trace is
/// called.
///
/// Reads the trace, unless this process has done so; `progress` is that of `run`.
#[pyfunction]
#[pyo3(signature = (experiment_json, base, progress=None, given=None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn identify(
    py: Python<'_>,
    experiment_json: String,
    base: String,
    progress: Option<Py<PyAny>>,
    given: Option<PyRef<'_, Requests>>,
) -> PyResult<String> {
    let one = read(&experiment_json, given.as_deref())?;
    let identity = watched(py, progress, |watch| RUNNER.identify(&one, Path::new(&base), watch))?;
    Ok(identity.to_json())
}

/// Why the run of a resolved experiment would take very long and say nothing but that; None where
/// it would not.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
#[pyo3(signature = (experiment_json, scheme=None))]
fn hopeless(experiment_json: String, scheme: Option<Py<PyAny>>) -> PyResult<Option<String>> {
    let mut one = read(&experiment_json, None)?;
    scheme::bring(&mut one, scheme);
    Ok(one.hopeless())
}

/// Spare flash / what the host sees of the drive of a resolved experiment.
#[pyfunction]
fn spare_share(experiment_json: &str) -> PyResult<f64> {
    read(experiment_json, None)?.spare_share().map_err(errors::config)
}

/// Forgets the filled drives that runs with `share` have kept for others.
#[pyfunction]
fn forget_filled(py: Python<'_>) {
    py.detach(|| RUNNER.forget_filled());
}

/// The volumes of which a resolved experiment wants a run each, in the order of the runs; empty
/// where it wants none. Reads the trace once for all of them; `progress` is that of `run`.
#[pyfunction]
#[pyo3(signature = (experiment_json, base, progress=None, given=None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
fn volumes(
    py: Python<'_>,
    experiment_json: String,
    base: String,
    progress: Option<Py<PyAny>>,
    given: Option<PyRef<'_, Requests>>,
) -> PyResult<Vec<u32>> {
    let one = read(&experiment_json, given.as_deref())?;
    watched(py, progress, |watch| RUNNER.volumes(&one, Path::new(&base), watch))
}

/// Forgets the traces whose volumes are kept apart.
#[pyfunction]
fn forget_volumes(py: Python<'_>) {
    py.detach(|| RUNNER.forget_volumes());
}

/// Runs one resolved experiment and returns its record as JSON; every decision of the buffer goes
/// to the file `events`. With `share` other runs of this process can start from the same filled
/// drive, which is kept for them; with `cache` other commands can, where filling it took long.
/// `alone`: no other run is going to read the workload, so that one without time may serve it while
/// it is read for the first time.
/// `given` are the requests of a workload that a program holds, `scheme` makes a buffer scheme that
/// it has written.
///
/// `progress(phase, done, total)` is called about ten times a second; what it raises ends the run.
#[pyfunction]
#[pyo3(signature = (experiment_json, base, verify=false, progress=None, events=None, share=false, cache=true, given=None, scheme=None, alone=false))]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted from Python objects")]
#[expect(clippy::fn_params_excessive_bools, reason = "Python gives them by name")]
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
    given: Option<PyRef<'_, Requests>>,
    scheme: Option<Py<PyAny>>,
    alone: bool,
) -> PyResult<String> {
    let mut one = read(&experiment_json, given.as_deref())?;
    let faults = scheme::bring(&mut one, scheme);
    let kept = if cache { Cache::of_user().map_err(errors::run)? } else { None };
    let events = events.as_deref().map(Path::new);
    let how = How { verify, events, share, alone, cache: kept.as_ref() };
    let run = |watch: Watch<'_>| RUNNER.run(&one, Path::new(&base), how, watch);
    Ok(faults.watched(py, progress, run)?.to_json())
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
    module.add_function(wrap_pyfunction!(spare_share, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(forget_filled, module)?)?;
    module.add_function(wrap_pyfunction!(volumes, module)?)?;
    module.add_function(wrap_pyfunction!(forget_volumes, module)?)?;
    #[cfg(unix)]
    last_resort::register(module)?;
    device::register(module)?;
    scheme::register(module)?;
    #[cfg(unix)]
    serve::register(module)?;
    traces::register(module)
}
