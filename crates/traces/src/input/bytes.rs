//! The unpacked bytes of a file, read ahead in one buffer: constant memory, whatever its length.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::digest::Digest;
use super::unpack::{self, Packing};
use crate::error::TraceError;

/// Bytes that the buffer holds at first; it grows only for a piece that does not fit.
const BUFFER: usize = 256 << 10;

/// Bytes of one file, in order.
pub(crate) struct ByteFile {
    name: String,
    packing: Packing,
    source: Box<dyn Read + Send>,
    digest: Option<Digest>,
    buffer: Vec<u8>,
    /// What was read and not yet taken: `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Place of `buffer[start]` in the unpacked content.
    offset: u64,
    ended: bool,
}

impl ByteFile {
    /// Opens `path`; with `hash`, the sha256 of the unpacked content is known at the end.
    pub fn open(path: &Path, hash: bool) -> Result<Self, TraceError> {
        let name = path.display().to_string();
        // Before it is opened: opening a named pipe waits until somebody writes to it.
        let meta = path.metadata().map_err(|error| TraceError::open(path, &error))?;
        if meta.is_dir() {
            return Err(TraceError::file(&name, "is a folder, not a trace file"));
        }
        if !meta.is_file() {
            return Err(TraceError::file(
                &name,
                "is not a regular file; a trace is read more than once, so save it to a file first",
            ));
        }
        let file = File::open(path).map_err(|error| TraceError::open(path, &error))?;
        Self::over(name, Box::new(file), hash)
    }

    /// Reads `packed`, which messages call `name`.
    pub fn over(
        name: String,
        packed: Box<dyn Read + Send>,
        hash: bool,
    ) -> Result<Self, TraceError> {
        let (packing, source) = unpack::open(packed, &name)?;
        let digest = hash.then(Digest::new);
        Ok(Self {
            name,
            packing,
            source,
            digest,
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            offset: 0,
            ended: false,
        })
    }

    /// Path as the user wrote it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What has been read ahead.
    #[inline]
    pub fn ahead(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Place of the next byte in the unpacked content.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Takes `count` bytes of those read ahead.
    #[inline]
    pub fn take(&mut self, count: usize) -> &[u8] {
        let taken = &self.buffer[self.start..self.end][..count];
        self.start += count;
        self.offset += count as u64;
        taken
    }

    /// Reads further ahead; the number of bytes that came, 0 at the end of the file. `place` tells
    /// how far the reader has got, for the message about damage.
    pub fn more(&mut self, place: impl FnOnce() -> String) -> Result<usize, TraceError> {
        // A reader may ask again for each request that it still holds.
        if self.ended {
            return Ok(0);
        }
        if self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if self.end == self.buffer.len() {
                self.buffer.resize(2 * self.end, 0);
            }
        }
        let count = loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.unreadable(&place(), error)),
                Ok(count) => break count,
            }
        };
        if let Some(digest) = &mut self.digest {
            digest.update(&self.buffer[self.end..self.end + count]);
        }
        self.end += count;
        self.ended = count == 0;
        Ok(count)
    }

    /// Reads ahead until `count` bytes are there or the file ends; true if they are there.
    #[inline]
    pub fn reach(&mut self, count: usize, place: impl Fn() -> String) -> Result<bool, TraceError> {
        while self.end - self.start < count {
            if self.more(&place)? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Passes over all that is left, so that the hash covers it; the number of bytes.
    pub fn skip_rest(&mut self) -> Result<u64, TraceError> {
        let from = self.offset;
        loop {
            self.take(self.end - self.start);
            let offset = self.offset;
            if self.more(|| format!("after byte {offset}"))? == 0 {
                return Ok(self.offset - from);
            }
        }
    }

    fn unreadable(&self, place: &str, error: io::Error) -> TraceError {
        match self.packing {
            Packing::Plain => TraceError::io(&self.name, format!("cannot be read {place}"), error),
            packed => {
                let problem = if error.kind() == io::ErrorKind::UnexpectedEof {
                    "the file ends in the middle of them".to_owned()
                } else {
                    error.to_string()
                };
                let problem =
                    format!("its {packed} data are damaged or cut off {place}: {problem}");
                TraceError::file(&self.name, problem)
            }
        }
    }

    /// The sha256 of the unpacked content, in hexadecimal; meaningful once `more` has answered 0.
    pub fn sha256(&mut self) -> String {
        self.digest.take().map(Digest::finish).unwrap_or_default()
    }
}
