//! The exceptions that Python sees, and the promise that a panic becomes one of them.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use eraseblock_experiment::RunError;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    eraseblock,
    EraseblockError,
    PyException,
    "Base of everything that eraseblock raises."
);
create_exception!(
    eraseblock,
    ConfigError,
    EraseblockError,
    "A wrong key or value in an experiment."
);
create_exception!(
    eraseblock,
    InputError,
    EraseblockError,
    "A trace or a combination that cannot be run."
);
create_exception!(eraseblock, SimulationError, EraseblockError, "A run that failed on the way.");

thread_local! {
    /// Where the last panic of this thread came from.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A wrong configuration: a line for a person, and its parts.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub fn config(error: eraseblock_experiment::ConfigError) -> PyErr {
    let line = ConfigError::new_err(error.to_string());
    Python::attach(|py| {
        let value = line.value(py);
        let told = value
            .setattr("place", &error.place)
            .and_then(|()| value.setattr("key", error.key.as_deref()))
            .and_then(|()| value.setattr("message", &error.message))
            .and_then(|()| value.setattr("meant", error.meant.as_deref()));
        told.map_or_else(|failure| failure, |()| line.clone_ref(py))
    })
}

/// The parts of a `ConfigError` that nobody gave any.
pub fn declare_parts(py: Python<'_>) -> PyResult<()> {
    ["place", "key", "message", "meant"]
        .iter()
        .try_for_each(|part| py.get_type::<ConfigError>().setattr(part, py.None()))
}

/// A run that ended early: the user's input or the engine.
#[expect(clippy::needless_pass_by_value, reason = "made for map_err")]
pub fn run(error: RunError) -> PyErr {
    let sentence = error.to_string();
    if error.is_input() {
        InputError::new_err(sentence)
    } else {
        SimulationError::new_err(sentence)
    }
}

/// Keeps panics off the terminal; `guard` reports them.
pub fn silence_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place =
            info.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
        let payload = info.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        PANIC.with(|last| *last.borrow_mut() = Some(format!("{text}{place}")));
    }));
}

/// Runs `work`; a panic becomes a `SimulationError` that says where.
pub fn guard<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        let what = PANIC.with(|last| last.borrow_mut().take()).unwrap_or_default();
        SimulationError::new_err(format!(
            "a broken invariant inside the engine, please report it: {what}"
        ))
    })
}
