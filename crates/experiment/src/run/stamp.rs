//! Notices that the file of a workload is another one than a moment ago.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use eraseblock_traces::WorkloadConfig;

use super::RunError;

/// What changes when somebody writes to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
    /// Inode, and the time of its last change in ns.
    inode: (u64, i128),
}

impl Stamp {
    /// The state of a workload's file now; none for a generator, or where there is no such file.
    pub fn of(config: &WorkloadConfig, base: &Path) -> Option<Self> {
        let meta = fs::metadata(base.join(config.path.as_deref()?)).ok()?;
        Some(Self { bytes: meta.len(), modified: meta.modified().ok(), inode: inode(&meta) })
    }
}

#[cfg(unix)]
fn inode(meta: &fs::Metadata) -> (u64, i128) {
    use std::os::unix::fs::MetadataExt;
    (meta.ino(), i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec()))
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> (u64, i128) {
    (0, 0)
}

/// The file is another one than a moment ago.
pub(super) fn changed(config: &WorkloadConfig) -> RunError {
    RunError::Changed(config.path.clone().unwrap_or_default())
}
