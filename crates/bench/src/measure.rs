//! One measurement: the best of several runs, and what they simulated.

use std::time::Instant;

use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{AHEAD, Device, DeviceError, Options};
use eraseblock_core::metrics::Report;
use sha2::{Digest as _, Sha256};

use crate::load::Uniform;

/// What one run took and did.
#[derive(Debug, Clone)]
pub struct Run {
    /// Building the drive, in s.
    pub build_s: f64,
    /// Filling it, and telling a buffer the future that needs it, in s.
    pub fill_s: f64,
    /// The workload to the end of the run, in s.
    pub serve_s: f64,
    /// What was simulated.
    pub report: Report,
}

impl Run {
    /// First digits of the SHA-256 of everything counted and timed in the simulation; the memory
    /// that it took is left out.
    pub fn hash(&self) -> String {
        let mut report = self.report.clone();
        (report.bytes_per_page, report.map_bytes, report.buffer_metadata_bytes) = (0.0, 0, 0);
        let text = serde_json::to_string(&report)
            .unwrap_or_else(|e| unreachable!("reports are plain: {e}"));
        let digest = Sha256::digest(text);
        let first = digest.iter().take(6).fold(0u64, |number, &byte| number << 8 | u64::from(byte));
        format!("{first:012x}")
    }
}

/// Builds, fills and drives a drive with `requests` requests.
///
/// # Errors
/// As the drive's.
pub fn run(config: &DeviceConfig, mut load: Uniform, requests: u64) -> Result<Run, DeviceError> {
    let start = Instant::now();
    let mut device = Device::new(config, Options::default())?;
    let built = Instant::now();
    device.precondition()?;
    if device.needs_future() {
        let mut told = load.clone();
        device.foresee((0..requests).map(|_| Ok::<_, DeviceError>(told.request())))?;
    }
    let filled = Instant::now();
    let mut next = Vec::with_capacity(AHEAD);
    let mut left = requests;
    while left > 0 {
        next.clear();
        next.extend((0..left.min(AHEAD as u64)).map(|_| load.request()));
        left -= next.len() as u64;
        device.submit_all(&next).1?;
    }
    let report = device.finish()?;
    let served = Instant::now();
    let seconds = |from: Instant, to: Instant| (to - from).as_secs_f64();
    Ok(Run {
        build_s: seconds(start, built),
        fill_s: seconds(built, filled),
        serve_s: seconds(filled, served),
        report,
    })
}

/// The run with the shortest time by `key`, out of `runs`. All of them must have simulated the
/// same.
///
/// # Errors
/// As the drive's, or two runs differ.
pub fn best(
    runs: u32,
    mut once: impl FnMut() -> Result<Run, DeviceError>,
    key: impl Fn(&Run) -> f64,
) -> Result<Run, String> {
    let mut best = once().map_err(|e| e.to_string())?;
    let hash = best.hash();
    for _ in 1..runs {
        let run = once().map_err(|e| e.to_string())?;
        if run.hash() != hash {
            return Err(format!("the same run simulated two things: {hash} and {}", run.hash()));
        }
        if key(&run) < key(&best) {
            best = run;
        }
    }
    Ok(best)
}
