//! Packs what is written to a file, as the file's name says.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// How a written file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// As it is.
    Plain,
    /// `.gz`
    Gzip,
    /// `.zst`
    Zstd,
}

impl Packing {
    /// What the end of a file's name says, and the name without it.
    ///
    /// # Errors
    /// It names a packing that is read and not written.
    pub fn of_name(path: &Path) -> Result<(Self, String), String> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (extension, packing) in [(".gz", Self::Gzip), (".zst", Self::Zstd)] {
            if let Some(stem) = name.strip_suffix(extension) {
                return Ok((packing, stem.to_owned()));
            }
        }
        match [".xz", ".bz2", ".zip", ".lz4"].iter().find(|extension| name.ends_with(*extension)) {
            Some(extension) => Err(format!(
                "{extension} is not written; end the name in .gz or .zst to pack the file"
            )),
            None => Ok((Self::Plain, name)),
        }
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// Content of a zstd frame; a file has as many frames as it needs, so that memory stays bounded.
const FRAME: usize = 8 << 20;

/// A file that is packed while it is written. It is whole once it has been finished.
pub struct PackedWriter(Sink);

enum Sink {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    Zstd { file: BufWriter<File>, frame: Vec<u8> },
}

impl PackedWriter {
    /// Writes to `file` from where it stands.
    pub fn new(file: File, packing: Packing) -> Self {
        let file = BufWriter::with_capacity(1 << 16, file);
        Self(match packing {
            Packing::Plain => Sink::Plain(file),
            Packing::Gzip => Sink::Gzip(GzEncoder::new(file, Compression::default())),
            Packing::Zstd => Sink::Zstd { file, frame: Vec::new() },
        })
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self) -> io::Result<File> {
        let file = match self.0 {
            Sink::Plain(file) => file,
            Sink::Gzip(encoder) => encoder.finish()?,
            Sink::Zstd { mut file, frame } => {
                if !frame.is_empty() {
                    file.write_all(&compress_to_vec(&frame[..], CompressionLevel::Fastest))?;
                }
                file
            }
        };
        file.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

impl Write for PackedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Sink::Plain(file) => file.write(bytes),
            Sink::Gzip(encoder) => encoder.write(bytes),
            Sink::Zstd { file, frame } => {
                frame.extend_from_slice(bytes);
                if frame.len() >= FRAME {
                    file.write_all(&compress_to_vec(&frame[..], CompressionLevel::Fastest))?;
                    frame.clear();
                }
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
