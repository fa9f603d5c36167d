//! Ends the process soon after Ctrl-C or SIGTERM, even while Python waits for a library that never
//! looks up.

use std::io::{Read, Write};
use std::os::fd::IntoRawFd;
use std::time::Duration;
use std::{io, thread};

use pyo3::prelude::*;

/// Makes a pipe for `signal.set_wakeup_fd`, which gets the number of each signal, and returns its
/// writing end.
///
/// `grace_s` seconds after one of `signals`, the process ends with a line on stderr and the code of
/// a process that this signal ended, unless it has ended.
#[pyfunction]
fn end_after_signal(signals: Vec<u8>, grace_s: f64, last_words: String) -> PyResult<i32> {
    let (mut reader, writer) = io::pipe()?;
    thread::Builder::new().name("last-resort".to_owned()).spawn(move || {
        let mut number = [0];
        while reader.read_exact(&mut number).is_ok() {
            if signals.contains(&number[0]) {
                thread::sleep(Duration::from_secs_f64(grace_s));
                // Nobody is left to be told that stderr is closed.
                drop(writeln!(io::stderr(), "{last_words}"));
                signal_hook::low_level::exit(128 + i32::from(number[0]));
            }
        }
    })?;
    Ok(writer.into_raw_fd())
}

/// Adds the function of this file to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(end_after_signal, module)?)
}
