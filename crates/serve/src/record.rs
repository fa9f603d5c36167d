//! What is put to a drive, as a trace.

use std::path::{Path, PathBuf};

use eraseblock_core::host::Request;
use eraseblock_traces::{Packing, TraceWriter, WriteFormat, WriteOptions};

use crate::error::Error;

/// The format that holds all that a request is: flushes, forced writes, times in ns.
const FORMAT: &str = "ebt";

/// Writes requests down as the drive takes them.
pub struct Recorder {
    path: PathBuf,
    /// Nothing, once the file could not be written.
    writer: Option<TraceWriter>,
    failed: Option<String>,
    requests: u64,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Recorder {
    /// Begins a trace, of which `provenance` says where it comes from. The file appears when it is
    /// whole.
    ///
    /// # Errors
    /// It cannot be written, is there already, or its name says another format.
    pub fn create(path: &Path, provenance: Vec<(String, String)>) -> Result<Self, Error> {
        let format: &WriteFormat = FORMAT.parse().unwrap_or_else(|_| unreachable!("registered"));
        let stem = Packing::of_name(path).map(|(_, stem)| stem);
        if !stem.is_ok_and(|stem| Path::new(&stem).extension().is_some_and(|end| end == FORMAT)) {
            return Err(Error::Record(format!(
                "{}: a recording holds flushes and forced writes, which only .ebt does (.ebt.gz and \
                 .ebt.zst are packed); `trace convert` makes other formats of it",
                path.display()
            )));
        }
        if path.symlink_metadata().is_ok() {
            return Err(Error::file(path, rustix::io::Errno::EXIST.into()));
        }
        let options = WriteOptions { format: Some(format), provenance, ..WriteOptions::default() };
        let writer =
            TraceWriter::create(path, &options).map_err(|e| Error::Record(e.to_string()))?;
        Ok(Self { path: path.to_owned(), writer: Some(writer), failed: None, requests: 0 })
    }

    /// The drive takes a request.
    #[inline]
    pub fn note(&mut self, request: Request) {
        let Some(writer) = &mut self.writer else { return };
        match writer.push(request) {
            Ok(()) => self.requests += 1,
            Err(why) => {
                // What is missing makes all that follows worthless.
                self.failed = Some(why.to_string());
                self.writer = None;
            }
        }
    }

    /// Requests written down.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Why nothing more is written down, if that is so.
    pub fn failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// The trace is whole.
    ///
    /// # Errors
    /// It could not be written.
    pub fn finish(self) -> Result<(), Error> {
        if let Some(why) = self.failed {
            return Err(Error::Record(why));
        }
        let finished = self.writer.map(TraceWriter::finish).transpose();
        finished.map(drop).map_err(|e| Error::Record(e.to_string()))
    }
}
