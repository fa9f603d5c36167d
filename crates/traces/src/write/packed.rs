//! The file that is written: packed as its name says, hashed, and there only when it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::packing::{PackedWriter, Packing};
use super::place::Place;
use crate::error::TraceError;
use crate::input::hex;

/// A file under way, beside its final name.
pub(super) struct OutFile {
    /// None where what is written goes to a device or pipe.
    part: Option<Part>,
    sink: Option<PackedWriter>,
    digest: Sha256,
    content_bytes: u64,
}

/// What a finished file is.
pub(super) struct Finished {
    pub file_bytes: u64,
    pub content_bytes: u64,
    pub sha256: String,
}

impl OutFile {
    pub fn create(path: &Path, packing: Packing, overwrite: bool) -> Result<Self, TraceError> {
        let (part, file) = if check(path, overwrite)? == Place::Stream {
            let failed =
                |error| TraceError::io(&path.display().to_string(), "cannot be written", error);
            (None, Place::open_stream(path).map_err(failed)?)
        } else {
            let (part, file) = Part::create(path, overwrite)?;
            (Some(part), file)
        };
        let sink = PackedWriter::new(file, packing);
        Ok(Self { part, sink: Some(sink), digest: Sha256::new(), content_bytes: 0 })
    }

    /// Writes what is left and gives the file its name.
    pub fn finish(mut self) -> io::Result<Finished> {
        let file = match self.sink.take() {
            Some(sink) => sink.finish()?,
            None => return Err(io::Error::other("written to after its end")),
        };
        let mut file_bytes = file.metadata()?.len();
        match &mut self.part {
            Some(part) => {
                file.sync_all()?;
                drop(file);
                part.rename()?;
            }
            // A pipe does not count what went through it.
            None => file_bytes = self.content_bytes,
        }
        Ok(Finished {
            file_bytes,
            content_bytes: self.content_bytes,
            sha256: hex(&self.digest.finalize()),
        })
    }
}

impl Write for OutFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(sink) = &mut self.sink else {
            return Err(io::Error::other("written to after its end"));
        };
        sink.write_all(bytes)?;
        self.digest.update(bytes);
        self.content_bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What stands at `target`, where it can be written to.
pub(super) fn check(target: &Path, overwrite: bool) -> Result<Place, TraceError> {
    let refused = |problem: String| TraceError::file(&target.display().to_string(), problem);
    match Place::of(target).map_err(refused)? {
        Place::File if !overwrite => Err(refused(exists().to_owned())),
        Place::Stream if overwrite => Err(refused(
            "is a device or a pipe, which --force does not replace; without --force it is written \
             to as it is"
                .to_owned(),
        )),
        place => Ok(place),
    }
}

/// A file that is removed unless it gets its final name.
struct Part {
    path: PathBuf,
    target: PathBuf,
    overwrite: bool,
    renamed: bool,
}

impl Part {
    fn create(target: &Path, overwrite: bool) -> Result<(Self, File), TraceError> {
        let name = target.display().to_string();
        let file_name = target.file_name().unwrap_or_default();
        let mut part_name = std::ffi::OsString::from(".");
        part_name.push(file_name);
        part_name.push(format!(".{}.part", std::process::id()));
        let path = target.with_file_name(part_name);
        let file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(
            |error| match error.kind() {
                io::ErrorKind::NotFound => {
                    TraceError::file(&name, "cannot be written: there is no such folder")
                }
                io::ErrorKind::AlreadyExists => TraceError::file(
                    &name,
                    format!(
                        "is being written already, or was when a process was killed: {} is there",
                        path.display()
                    ),
                ),
                _ => TraceError::io(&name, "cannot be written", error),
            },
        )?;
        Ok((Self { path, target: target.to_owned(), overwrite, renamed: false }, file))
    }

    fn rename(&mut self) -> io::Result<()> {
        // Somebody may have put something there since.
        check(&self.target, self.overwrite).map_err(io::Error::other)?;
        fs::rename(&self.path, &self.target)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.renamed {
            // Best effort: the error that led here is the one to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn exists() -> &'static str {
    "exists already; choose another name, or let it be replaced (--force)"
}
