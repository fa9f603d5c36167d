//! A file as numbered binary records.

use super::ByteFile;
use crate::error::{Fault, TraceError, Unexpected};

/// Bytes of one binary file, taken record by record. What a record is, and how long, its parser says.
pub(crate) struct RecordFile {
    bytes: ByteFile,
    /// Records begun; 0 while the file's header is read.
    number: u64,
    /// Where the present record, or the header, begins.
    start: u64,
}

impl RecordFile {
    pub fn new(bytes: ByteFile) -> Self {
        Self { bytes, number: 0, start: 0 }
    }

    /// Begins a record at the next byte; false at the end of the file.
    #[inline]
    pub fn begin(&mut self) -> Result<bool, TraceError> {
        if !self.reach(1)? {
            return Ok(false);
        }
        self.number += 1;
        self.start = self.bytes.offset();
        Ok(true)
    }

    /// The next `N` bytes, which are `what`.
    #[inline]
    pub fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Fault> {
        if !self.reach(N)? {
            let found = self.bytes.ahead().len() as u64;
            return Err(cut_off(self.bytes.offset(), found, N as u64, what));
        }
        let mut array = [0; N];
        array.copy_from_slice(self.bytes.take(N));
        Ok(array)
    }

    #[inline]
    fn reach(&mut self, count: usize) -> Result<bool, TraceError> {
        let offset = self.bytes.offset();
        self.bytes.reach(count, || format!("after byte {offset}"))
    }

    /// An error about the record begun last.
    pub fn bad_record(&self, unexpected: Unexpected) -> TraceError {
        TraceError::record(self.bytes.name(), self.number, self.start, unexpected)
    }

    pub fn bytes(&self) -> &ByteFile {
        &self.bytes
    }
}

/// The file ends inside a record: there is nothing after it either.
#[cold]
fn cut_off(from: u64, found: u64, expected: u64, what: &str) -> Fault {
    Fault::Lost(Unexpected::new(
        format!("{found} bytes from byte {from} to the end of the file"),
        format!("{expected} bytes: {what}; the file is cut off"),
    ))
}
