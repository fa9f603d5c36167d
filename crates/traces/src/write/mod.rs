//! Writes requests to trace files: the compact format, and the formats that other simulators and
//! replayers read.

mod formats;
mod losses;
mod packed;
mod packing;
mod place;
mod text;

use std::io::{self, Write};
use std::path::Path;

use eraseblock_core::host::Request;
use serde::Serialize;

use crate::compact::CompactWriter;
use crate::error::TraceError;
use formats::Encoding;
pub use formats::{HeldVolumes, Holds, WriteFormat, write_formats};
pub use losses::Losses;
use losses::Narrowing;
use packed::OutFile;
pub use packing::{PackedWriter, Packing};
pub use place::Place;
use text::LineWriter;

/// How a trace is written.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// The format; where none is named, the file's extension (before `.gz` or `.zst`) says it.
    pub format: Option<&'static WriteFormat>,
    /// What the file says about where its requests come from, as keys and values, if its format
    /// can.
    pub provenance: Vec<(String, String)>,
    /// What the format cannot hold is left out and counted; else it is an error.
    pub lossy: bool,
    /// A regular file of this name is replaced; else it is an error. Nothing but regular files is
    /// replaced.
    pub overwrite: bool,
}

impl WriteOptions {
    /// Checks, before there is anything to write, that `path` can be written.
    ///
    /// # Errors
    ///
    /// The format or the packing cannot be told from the name, or a file is there that may not be
    /// replaced.
    pub fn check(&self, path: &Path) -> Result<(), TraceError> {
        target(path, self)?;
        packed::check(path, self.overwrite).map(drop)
    }
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WriteReport {
    /// The file.
    pub path: String,
    /// Name of its format.
    pub format: &'static str,
    /// How it is packed: `plain`, `gzip` or `zstd`.
    pub packing: &'static str,
    /// Requests in it.
    pub requests: u64,
    /// Size of the file.
    pub file_bytes: u64,
    /// Size of its unpacked content.
    pub content_bytes: u64,
    /// Of the unpacked content.
    pub sha256: String,
    /// What the format could not hold.
    pub losses: Losses,
    /// What the generator was asked for and could not meet, a sentence each; absent where there is
    /// nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<String>,
}

/// Writes `requests`, which come in order of time, to the file at `path`; the file appears when it
/// is whole.
///
/// # Errors
///
/// An item of `requests` is one, the format or the packing cannot be told from the name, the format
/// cannot hold a request (and `lossy` is not set), the file exists already (and `overwrite` is not
/// set), or it cannot be written.
pub fn write_trace(
    requests: impl Iterator<Item = Result<Request, TraceError>>,
    path: &Path,
    options: &WriteOptions,
) -> Result<WriteReport, TraceError> {
    let mut writer = TraceWriter::create(path, options)?;
    for request in requests {
        writer.push(request?)?;
    }
    writer.finish()
}

/// A trace that is written request by request; the file appears when it is whole.
pub struct TraceWriter {
    name: String,
    packing: Packing,
    format: &'static WriteFormat,
    out: OutFile,
    narrowing: Narrowing,
    encoder: Encoder,
    written: u64,
}

impl TraceWriter {
    /// Begins a trace at `path`.
    ///
    /// # Errors
    /// The format or the packing cannot be told from the name, the file exists already (and
    /// `overwrite` is not set), or it cannot be written.
    pub fn create(path: &Path, options: &WriteOptions) -> Result<Self, TraceError> {
        let name = path.display().to_string();
        let (packing, format) = target(path, options)?;
        let mut out = OutFile::create(path, packing, options.overwrite)?;
        let narrowing = Narrowing::new(format, options.lossy);
        let mut encoder = Encoder::new(format, &options.provenance);
        let begun = encoder.begin(&mut out, &options.provenance);
        begun.map_err(|error| TraceError::io(&name, "cannot be written", error))?;
        Ok(Self { name, packing, format, out, narrowing, encoder, written: 0 })
    }

    /// Adds a request, which must not arrive before the one added last.
    ///
    /// # Errors
    /// The format cannot hold it (and `lossy` is not set), or the file cannot be written.
    pub fn push(&mut self, request: Request) -> Result<(), TraceError> {
        let kept = self.narrowing.narrow(request);
        if let Some(request) = kept.map_err(|problem| TraceError::file(&self.name, problem))? {
            let pushed = self.encoder.request(&mut self.out, &request);
            pushed.map_err(|error| TraceError::io(&self.name, "cannot be written", error))?;
            self.written += 1;
        }
        Ok(())
    }

    /// Writes what is left, and gives the file its name.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> Result<WriteReport, TraceError> {
        let failed = |error: io::Error| TraceError::io(&self.name, "cannot be written", error);
        self.encoder.end(&mut self.out).map_err(failed)?;
        let finished = self.out.finish().map_err(failed)?;
        Ok(WriteReport {
            path: self.name,
            format: self.format.name,
            packing: self.packing.name(),
            requests: self.written,
            file_bytes: finished.file_bytes,
            content_bytes: finished.content_bytes,
            sha256: finished.sha256,
            losses: self.narrowing.losses(),
            missed: Vec::new(),
        })
    }
}

/// The bytes of a file in the format of this name, which holds all of `requests`.
pub(crate) fn in_memory(format: &str, requests: &[Request]) -> Vec<u8> {
    let format: &WriteFormat = format.parse().expect("a format that can be written");
    let mut encoder = Encoder::new(format, &[]);
    let mut bytes = Vec::new();
    let mut write = || -> io::Result<()> {
        encoder.begin(&mut bytes, &[])?;
        for request in requests {
            encoder.request(&mut bytes, request)?;
        }
        Ok(())
    };
    write().and_then(|()| encoder.end(&mut bytes)).expect("memory takes everything");
    bytes
}

/// Packing and format of the file at `path`.
fn target(
    path: &Path,
    options: &WriteOptions,
) -> Result<(Packing, &'static WriteFormat), TraceError> {
    let name = path.display().to_string();
    let (packing, stem) =
        Packing::of_name(path).map_err(|problem| TraceError::file(&name, problem))?;
    let by_name = || {
        let (_, extension) = stem.rsplit_once('.')?;
        write_formats().find(|format| format.extension.eq_ignore_ascii_case(extension))
    };
    if let Some(format) = options.format.or_else(by_name) {
        return Ok((packing, format));
    }
    let known: Vec<_> =
        write_formats().map(|format| format!(".{} ({})", format.extension, format.name)).collect();
    Err(TraceError::file(
        &name,
        format!(
            "its name does not say which format to write; name the format (--to), or end the name \
             in {}, with .gz or .zst behind it to pack it",
            known.join(", ")
        ),
    ))
}

/// Turns requests into the bytes of one format.
enum Encoder {
    Compact(CompactWriter),
    Lines { writer: Box<dyn LineWriter>, line: Vec<u8> },
}

impl Encoder {
    fn new(format: &WriteFormat, provenance: &[(String, String)]) -> Self {
        match format.encoding {
            Encoding::Compact => Self::Compact(CompactWriter::new(provenance)),
            Encoding::Lines(writer) => Self::Lines { writer: writer(), line: Vec::new() },
        }
    }

    fn begin(&mut self, out: &mut dyn Write, provenance: &[(String, String)]) -> io::Result<()> {
        match self {
            Self::Compact(writer) => writer.begin(out),
            Self::Lines { writer, line } => {
                writer.header(provenance, line);
                out.write_all(line)
            }
        }
    }

    fn request(&mut self, out: &mut dyn Write, request: &Request) -> io::Result<()> {
        match self {
            Self::Compact(writer) => writer.push(request, out),
            Self::Lines { writer, line } => {
                line.clear();
                writer.line(request, line);
                out.write_all(line)
            }
        }
    }

    fn end(self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Compact(writer) => writer.finish(out),
            Self::Lines { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
