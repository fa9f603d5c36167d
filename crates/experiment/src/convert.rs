//! Reads a workload and writes what is selected of it as a trace file.

use std::ops::ControlFlow;
use std::path::Path;

use eraseblock_core::config::Bytes;
use eraseblock_core::host::Request;
use eraseblock_traces::{
    DriveShape, FitMode, FitReport, TraceError, TraceIdentity, Workload, WorkloadConfig,
    WriteOptions, WriteReport, write_trace,
};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::run::{Progress, RunError};

/// How a workload is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConvertOptions {
    /// Name of the format; where none is named, the file's extension says it.
    pub to: Option<String>,
    /// Capacity of a drive that addresses are laid onto, as `fit` of the workload says; without one
    /// they stay as they are, and so do volumes.
    pub capacity: Option<Bytes>,
    /// Size of a page of that drive.
    pub page_size: Bytes,
    /// Size of a logical block of that drive.
    pub block_size: Bytes,
    /// What the format cannot hold is left out and counted; else it is an error.
    pub lossy: bool,
    /// A file of this name is replaced; else it is an error.
    pub overwrite: bool,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        let (page_size, block_size) = (Bytes(4 << 10), Bytes(256 << 10));
        Self { to: None, capacity: None, page_size, block_size, lossy: false, overwrite: false }
    }
}

impl ConvertOptions {
    /// Options as JSON, such as `{"to": "spc", "capacity": "32 GiB"}`.
    ///
    /// # Errors
    /// Names the option that is wrong.
    pub fn from_json(text: &str) -> Result<Self, RunError> {
        let mut reader = serde_json::Deserializer::from_str(text);
        serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let option = error.path().to_string().replace('_', "-");
            RunError::Option(format!("--{option}: {}", error.inner()))
        })
    }

    fn shape(&self) -> Option<DriveShape> {
        let (page_bytes, block_bytes) = (self.page_size.0, self.block_size.0);
        self.capacity.map(|capacity| DriveShape {
            // A drive has whole blocks; what is smaller than one is refused as it was said.
            exported_bytes: if capacity.0 < block_bytes {
                capacity.0
            } else {
                capacity.0 - capacity.0 % block_bytes.max(1)
            },
            page_bytes,
            block_bytes,
        })
    }
}

/// What became of a workload that was converted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Converted {
    /// What was read, and what was left out of it.
    pub read: TraceIdentity,
    /// What laying it onto a drive did; null where it was not.
    pub fit: Option<FitReport>,
    /// What was written.
    pub written: WriteReport,
}

impl Converted {
    /// All of it as one line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("reports are structs of numbers and texts")
    }
}

/// Requests between two reports of progress.
const REPORT_EVERY: u64 = 1 << 14;

/// Writes the requests of `config` to the file `out`. A relative path of a trace starts at `base`;
/// `progress` may end it, and then no file is left.
///
/// # Errors
/// The workload or the options are wrong, or the file cannot be written.
pub fn convert(
    config: &WorkloadConfig,
    base: &Path,
    out: &Path,
    options: &ConvertOptions,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Converted, RunError> {
    let shape = options.shape();
    if shape.is_none() && config.fit != FitMode::Refuse {
        return Err(RunError::Option(format!(
            "fit = \"{}\" lays a trace onto a drive; say how large that is (--capacity)",
            config.fit.name()
        )));
    }
    let mut write = WriteOptions {
        lossy: options.lossy,
        overwrite: options.overwrite,
        ..WriteOptions::default()
    };
    if let Some(name) = &options.to {
        write.format = Some(name.parse().map_err(RunError::Option)?);
    }
    write.check(out)?;
    let mut read =
        |passed| progress(Progress { phase: "read", done: passed, total: 0 }).is_continue();
    let workload = config.prepare_watched(base, &mut read)?;
    write.provenance = provenance(config, &workload, shape);

    let fitted = shape.map(|shape| workload.fit_watched(shape, &mut read)).transpose()?;
    let expected =
        fitted.as_ref().map_or(workload.identity().requests, |fitted| fitted.report().submitted);
    let mut passed = 0;
    let mut step = || {
        let ask = passed % REPORT_EVERY == 0;
        passed += 1;
        let at = Progress { phase: "write", done: passed - 1, total: expected };
        if ask && progress(at).is_break() { Err(TraceError::cancelled()) } else { Ok(()) }
    };
    let written = if let Some(fitted) = &fitted {
        // The volumes have become one.
        let requests = fitted.requests().map(|request| {
            step()?;
            request.map(|request| Request { volume: 0, ..request })
        });
        write_trace(requests, out, &write)?
    } else {
        let requests = workload.requests().map(|request| {
            step()?;
            request
        });
        write_trace(requests, out, &write)?
    };
    let accounted = written.requests + written.losses.dropped();
    if accounted != expected {
        return Err(RunError::Law(format!(
            "requests to write = written + left out: {expected} and {accounted}"
        )));
    }
    let fit = fitted.map(|fitted| fitted.report().clone());
    Ok(Converted { read: workload.identity().clone(), fit, written })
}

/// Where the requests come from and what was done to them, for the file's header.
fn provenance(
    config: &WorkloadConfig,
    workload: &Workload,
    shape: Option<DriveShape>,
) -> Vec<(String, String)> {
    let identity = workload.identity();
    let mut table = serde_json::to_value(config).unwrap_or_default();
    if let Json::Object(table) = &mut table {
        table.remove("path");
    }
    let mut pairs = vec![
        ("source", identity.name.clone()),
        ("source_format", identity.format.to_owned()),
        ("source_sha256", identity.sha256.clone()),
        ("source_requests", identity.requests_in_trace.to_string()),
        ("workload", table.to_string()),
    ];
    if let Some(DriveShape { exported_bytes, page_bytes, block_bytes }) = shape {
        let drive =
            format!("{exported_bytes} B in pages of {page_bytes} B and blocks of {block_bytes} B");
        pairs.push(("fitted_to", drive));
    }
    pairs.push(("written_by", format!("eraseblock {}", env!("CARGO_PKG_VERSION"))));
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use eraseblock_traces::GenerateConfig;

    use super::*;

    fn workload() -> WorkloadConfig {
        let mut config =
            WorkloadConfig::generated(GenerateConfig::sequential(100_000, Bytes(1 << 20)));
        config.first = Some(50_000);
        config
    }

    fn go(
        config: &WorkloadConfig,
        out: &Path,
        options: &ConvertOptions,
    ) -> Result<(Converted, Vec<Progress>), String> {
        let mut seen = Vec::new();
        let mut progress = |at| {
            seen.push(at);
            ControlFlow::Continue(())
        };
        let converted =
            convert(config, Path::new("."), out, options, &mut progress).map_err(|error| {
                assert!(error.is_input(), "{error}");
                error.to_string()
            })?;
        Ok((converted, seen))
    }

    #[test]
    fn every_request_is_written_or_counted() {
        let folder = tempfile::tempdir().unwrap();
        let (converted, seen) =
            go(&workload(), &folder.path().join("a.ebt"), &ConvertOptions::default()).unwrap();
        assert_eq!(
            (converted.read.requests_in_trace, converted.read.left_out.after_first),
            (100_000, 50_000)
        );
        assert_eq!((converted.written.requests, converted.fit), (50_000, None));
        assert!(
            seen.contains(&Progress { phase: "write", done: 3 << 14, total: 50_000 }),
            "{seen:?}"
        );
    }

    #[test]
    fn a_drive_takes_what_the_fit_makes_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("a.spc");
        let mut config = workload();
        config.fit = FitMode::Scale;
        let error = go(&config, &out, &ConvertOptions::default()).unwrap_err();
        assert!(error.contains("(--capacity)"), "{error}");
        let options =
            ConvertOptions::from_json(r#"{"capacity": "520 KiB", "block_size": "64 KiB"}"#)
                .unwrap();
        let (converted, _) = go(&config, &out, &options).unwrap();
        let fit = converted.fit.unwrap();
        assert_eq!(
            (fit.workload_bytes, fit.drive_bytes, fit.submitted),
            (1 << 20, 1 << 19, 50_000)
        );
        assert!(fit.moved > 40_000);
        config.fit = FitMode::Refuse;
        assert!(
            go(&config, &folder.path().join("b.spc"), &options)
                .unwrap_err()
                .contains("reaches up to 1.00 MiB")
        );
    }

    #[test]
    fn what_cannot_be_written_is_said_before_anything_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let missing = WorkloadConfig::trace("none.spc");
        let wrong = ConvertOptions { to: Some("spd".to_owned()), ..ConvertOptions::default() };
        assert!(
            go(&missing, &folder.path().join("a.spc"), &wrong)
                .unwrap_err()
                .contains("did you mean `spc`?")
        );
        let error = ConvertOptions::from_json(r#"{"page_size": "4096"}"#).unwrap_err();
        assert!(error.is_input() && error.to_string().starts_with("--page-size: "), "{error}");
        std::fs::write(folder.path().join("a.spc"), "").unwrap();
        let error =
            go(&missing, &folder.path().join("a.spc"), &ConvertOptions::default()).unwrap_err();
        assert!(error.contains("exists already"), "{error}");
    }

    #[test]
    fn ending_it_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut progress = |at: Progress| {
            if at.phase == "write" && at.done > 0 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let out = folder.path().join("a.ebt");
        let ended =
            convert(&workload(), Path::new("."), &out, &ConvertOptions::default(), &mut progress);
        assert!(matches!(ended, Err(RunError::Cancelled)), "{ended:?}");
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
