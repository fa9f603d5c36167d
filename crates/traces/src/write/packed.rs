//! The file that is written: packed as its name says, hashed, and there only when it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use sha2::{Digest, Sha256};

use crate::error::TraceError;
use crate::input::hex;

/// How a written file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// What the end of a file's name says, and the name without it.
    pub fn of_name(path: &Path) -> Result<(Self, String), String> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (extension, packing) in [(".gz", Self::Gzip), (".zst", Self::Zstd)] {
            if let Some(stem) = name.strip_suffix(extension) {
                return Ok((packing, stem.to_owned()));
            }
        }
        match [".xz", ".bz2", ".zip", ".lz4"].iter().find(|extension| name.ends_with(*extension)) {
            Some(extension) => {
                Err(format!("{extension} is not written; end the name in .gz or .zst to pack the file"))
            }
            None => Ok((Self::Plain, name)),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// A file under way, beside its final name.
pub(super) struct OutFile {
    part: Part,
    sink: Option<Sink>,
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
        let (part, file) = Part::create(path, overwrite)?;
        let file = BufWriter::with_capacity(1 << 16, file);
        let sink = match packing {
            Packing::Plain => Sink::Plain(file),
            Packing::Gzip => Sink::Gzip(GzEncoder::new(file, Compression::default())),
            Packing::Zstd => Sink::Zstd { file, frame: Vec::new() },
        };
        Ok(Self { part, sink: Some(sink), digest: Sha256::new(), content_bytes: 0 })
    }

    /// Writes what is left and gives the file its name.
    pub fn finish(mut self) -> io::Result<Finished> {
        let file = match self.sink.take() {
            Some(sink) => sink.finish()?,
            None => return Err(io::Error::other("written to after its end")),
        };
        file.sync_all()?;
        let file_bytes = file.metadata()?.len();
        drop(file);
        self.part.rename()?;
        Ok(Finished { file_bytes, content_bytes: self.content_bytes, sha256: hex(&self.digest.finalize()) })
    }
}

impl Write for OutFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(sink) = &mut self.sink else { return Err(io::Error::other("written to after its end")) };
        sink.write_all(bytes)?;
        self.digest.update(bytes);
        self.content_bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Content of a zstd frame; a file has as many frames as it needs, so that memory stays bounded.
const FRAME: usize = 8 << 20;

enum Sink {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd { file: BufWriter<File>, frame: Vec<u8> },
}

impl Sink {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all(bytes),
            Self::Gzip(encoder) => encoder.write_all(bytes),
            Self::Zstd { file, frame } => {
                frame.extend_from_slice(bytes);
                if frame.len() < FRAME {
                    return Ok(());
                }
                file.write_all(&compress_to_vec(&frame[..], CompressionLevel::Fastest))?;
                frame.clear();
                Ok(())
            }
        }
    }

    fn finish(self) -> io::Result<File> {
        let file = match self {
            Self::Plain(file) => file,
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd { mut file, frame } => {
                if !frame.is_empty() {
                    file.write_all(&compress_to_vec(&frame[..], CompressionLevel::Fastest))?;
                }
                file
            }
        };
        file.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

/// Whether a file can be written at `target`, as far as its name shows.
pub(super) fn check(target: &Path, overwrite: bool) -> Result<(), TraceError> {
    let name = target.display().to_string();
    if target.is_dir() || target.file_name().is_none() {
        return Err(TraceError::file(&name, "is a folder, not a file to write"));
    }
    if !overwrite && target.exists() {
        return Err(TraceError::file(&name, exists()));
    }
    Ok(())
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
        check(target, overwrite)?;
        let name = target.display().to_string();
        let file_name = target.file_name().unwrap_or_default();
        let mut part_name = std::ffi::OsString::from(".");
        part_name.push(file_name);
        part_name.push(format!(".{}.part", std::process::id()));
        let path = target.with_file_name(part_name);
        let file =
            OpenOptions::new().write(true).create_new(true).open(&path).map_err(|error| {
                match error.kind() {
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
                }
            })?;
        Ok((Self { path, target: target.to_owned(), overwrite, renamed: false }, file))
    }

    fn rename(&mut self) -> io::Result<()> {
        if !self.overwrite && self.target.exists() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, exists()));
        }
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
