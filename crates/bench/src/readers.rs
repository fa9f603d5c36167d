//! How fast each registered trace format is read, from a file, on the way that a run takes.

use std::path::Path;
use std::time::Instant;

use eraseblock_traces::{Format, Workload, WorkloadConfig, formats};
use serde::Serialize;

use crate::drive::Scale;

/// Rate of one format.
#[derive(Debug, Clone, Serialize)]
pub struct ReadRate {
    /// The format.
    pub name: &'static str,
    /// Requests a second, in millions: reading for replay.
    pub rate: f64,
    /// Megabytes (10^6) of the file a second.
    pub megabytes: f64,
    /// Requests a second, in millions: the first pass of a run, which hashes the file and counts
    /// what it holds.
    pub first_pass_rate: f64,
    /// First digits of the file's SHA-256.
    pub hash: String,
}

/// All registered formats.
///
/// # Errors
/// A file cannot be written, or is not read back.
pub fn rates(scale: Scale) -> Result<Vec<ReadRate>, String> {
    formats().map(|format| rate(format, scale)).collect()
}

/// One format: the best of several runs over a file of made-up requests.
///
/// # Errors
/// The file cannot be written, or is not read back.
pub fn rate(format: &'static Format, scale: Scale) -> Result<ReadRate, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", format.name);
    let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
    let sample = format.sample(scale.requests);
    std::fs::write(folder.path().join("sample"), &sample).map_err(|error| failed(&error))?;
    let bytes = sample.len() as f64;
    drop(sample);
    let (mut replay_s, mut first_pass_s, mut hash) = (f64::INFINITY, f64::INFINITY, String::new());
    for _ in 0..scale.runs {
        let (workload, seconds) =
            first_pass(format, folder.path()).map_err(|error| failed(&error))?;
        first_pass_s = seconds.min(first_pass_s);
        replay_s = replay(&workload).map_err(|error| failed(&error))?.min(replay_s);
        workload.identity().sha256[..12].clone_into(&mut hash);
    }
    let millions = scale.requests as f64 / 1e6;
    Ok(ReadRate {
        name: format.name,
        rate: millions / replay_s,
        megabytes: bytes / 1e6 / replay_s,
        first_pass_rate: millions / first_pass_s,
        hash,
    })
}

fn first_pass(format: &'static Format, folder: &Path) -> Result<(Workload, f64), String> {
    let config = WorkloadConfig { format: format.name.parse()?, ..WorkloadConfig::trace("sample") };
    let start = Instant::now();
    let workload = config.prepare(folder).map_err(|error| error.to_string())?;
    Ok((workload, start.elapsed().as_secs_f64()))
}

/// Seconds to read all requests once more.
fn replay(workload: &Workload) -> Result<f64, String> {
    let start = Instant::now();
    let (mut count, mut bytes) = (0, 0);
    for request in workload.requests() {
        let request = request.map_err(|error| error.to_string())?;
        count += 1;
        bytes += request.len;
    }
    let seconds = start.elapsed().as_secs_f64();
    let figures = workload.selected();
    if (count, bytes) != (figures.requests, figures.read_bytes + figures.write_bytes) {
        return Err(format!(
            "the first pass counted {} requests, the second {count}",
            figures.requests
        ));
    }
    Ok(seconds)
}
