//! A file as numbered lines of text.

use memchr::memchr;

use super::ByteFile;
use crate::error::{Fault, TraceError, Unexpected};

/// Longest line that is read; a trace has lines of 30 to 200 bytes.
const MAX_LINE: usize = 64 << 10;

/// Lines of one file, in order.
pub(crate) struct TextFile {
    bytes: ByteFile,
    number: u64,
}

impl TextFile {
    pub fn new(bytes: ByteFile) -> Self {
        Self { bytes, number: 0 }
    }

    /// The next line without its end, or `None` after the last. A line that is no text can be
    /// passed over.
    pub fn next_line(&mut self) -> Result<Option<&str>, Fault> {
        let length = self.length()?;
        if length == 0 {
            return Ok(None);
        }
        self.number += 1;
        if length > MAX_LINE {
            self.pass_over_line()?;
            return Err(not_text(format!("a line of more than {MAX_LINE} bytes")));
        }
        let mut line = self.bytes.take(length);
        if let [start @ .., b'\n'] = line {
            line = start.strip_suffix(b"\r").unwrap_or(start);
        }
        if self.number == 1 {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if memchr(0, line).is_some() {
            return Err(not_text("a zero byte".to_owned()));
        }
        std::str::from_utf8(line).map(Some).map_err(|error| {
            not_text(format!("bytes that are not UTF-8 text (at byte {})", error.valid_up_to()))
        })
    }

    /// Bytes of the next line with its end, 0 at the end of the file; of a line that is too long,
    /// bytes of a part.
    #[inline]
    fn length(&mut self) -> Result<usize, TraceError> {
        let mut searched = 0;
        loop {
            let ahead = self.bytes.ahead();
            if let Some(at) = memchr(b'\n', &ahead[searched..]) {
                return Ok(searched + at + 1);
            }
            searched = ahead.len();
            if searched > MAX_LINE || self.more()? == 0 {
                return Ok(searched);
            }
        }
    }

    fn pass_over_line(&mut self) -> Result<(), TraceError> {
        loop {
            let ahead = self.bytes.ahead();
            let end = memchr(b'\n', ahead).map(|at| at + 1);
            let length = end.unwrap_or(ahead.len());
            self.bytes.take(length);
            if end.is_some() || self.more()? == 0 {
                return Ok(());
            }
        }
    }

    fn more(&mut self) -> Result<usize, TraceError> {
        let number = self.number;
        self.bytes.more(|| format!("after line {number}"))
    }

    /// The line read last.
    pub fn place(&self) -> String {
        format!("line {}", self.number)
    }

    /// Passes over all that follows; the number of bytes.
    pub fn skip_rest(&mut self) -> Result<u64, TraceError> {
        self.bytes.skip_rest()
    }

    /// An error about the line read last.
    pub fn bad_line(&self, unexpected: Unexpected) -> TraceError {
        TraceError::line(self.bytes.name(), self.number, unexpected)
    }

    pub fn bytes(&self) -> &ByteFile {
        &self.bytes
    }

    pub fn bytes_mut(&mut self) -> &mut ByteFile {
        &mut self.bytes
    }
}

fn not_text(found: String) -> Fault {
    Fault::Bad(Unexpected::new(found, "a text trace; is this a binary file?"))
}
