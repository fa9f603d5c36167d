//! A file as numbered binary records.

use memchr::memchr;

use super::ByteFile;
use crate::error::{Fault, TraceError, Unexpected};

/// Bytes of one binary file, taken record by record. What a record is, and how long, its parser
/// says.
pub(crate) struct RecordFile {
    bytes: ByteFile,
    /// Records begun; 0 while the file's header is read.
    number: u64,
    /// Where the present record, or the header, begins.
    start: u64,
    /// Bytes of each of the records taken together, the present one the last of them; 0 where it
    /// was taken by itself.
    each: u64,
}

impl RecordFile {
    pub fn new(bytes: ByteFile) -> Self {
        Self { bytes, number: 0, start: 0, each: 0 }
    }

    /// Begins a record at the next byte; false at the end of the file.
    #[inline]
    pub fn begin(&mut self) -> Result<bool, TraceError> {
        if !self.reach(1)? {
            return Ok(false);
        }
        self.number += 1;
        self.start = self.bytes.offset();
        self.each = 0;
        Ok(true)
    }

    /// The next records of `each` bytes, at most `most`, that have been read ahead whole.
    #[inline]
    pub fn ahead(&self, each: usize, most: usize) -> &[u8] {
        let ahead = self.bytes.ahead();
        &ahead[..ahead.len() / each * each][..each * most.min(ahead.len() / each)]
    }

    /// Takes `count` of these: each is begun, and ended.
    pub fn take_together(&mut self, each: usize, count: usize) {
        if count > 0 {
            self.bytes.take(each * count);
            self.number += count as u64;
            self.each = each as u64;
            self.start = self.bytes.offset() - self.each;
        }
    }

    /// The next `N` bytes, which are `what`.
    #[inline]
    pub fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Fault> {
        let mut array = [0; N];
        self.fill(&mut array, what)?;
        Ok(array)
    }

    /// Fills `into` with the next bytes, which are `what`.
    #[inline]
    pub fn fill(&mut self, into: &mut [u8], what: &str) -> Result<(), Fault> {
        into.copy_from_slice(self.bytes_of(what, into.len())?);
        Ok(())
    }

    /// Passes over `count` bytes, which are `what`.
    #[inline]
    pub fn skip(&mut self, count: u64, what: &str) -> Result<(), Fault> {
        let from = self.bytes.offset();
        let mut skipped = 0;
        while skipped < count {
            if !self.reach(1)? {
                return Err(cut_off(from, skipped, count, what));
            }
            let step = (self.bytes.ahead().len() as u64).min(count - skipped);
            self.bytes.take(step as usize);
            skipped += step;
        }
        Ok(())
    }

    /// The next bytes, at most `count`, without taking them; fewer only where the file ends.
    pub fn peek(&mut self, count: usize) -> Result<&[u8], TraceError> {
        self.reach(count)?;
        let ahead = self.bytes.ahead();
        Ok(&ahead[..count.min(ahead.len())])
    }

    /// The bytes up to and with the next `end`, at most `limit`, which are `what`.
    pub fn until(&mut self, end: u8, limit: usize, what: &str) -> Result<&[u8], Fault> {
        let mut searched = 0;
        loop {
            let ahead = &self.bytes.ahead()[searched..];
            if let Some(at) = memchr(end, ahead) {
                return Ok(self.bytes.take(searched + at + 1));
            }
            searched += ahead.len();
            let more = searched < limit && self.reach(searched + 1)?;
            if !more {
                let found = if searched < limit {
                    format!("the end of the file after {searched} bytes")
                } else {
                    format!("no end within {limit} bytes")
                };
                return Err(Fault::Lost(Unexpected::new(found, what)));
            }
        }
    }

    /// The next `count` bytes, which are `what`; they are held in memory.
    #[inline]
    pub fn bytes_of(&mut self, what: &str, count: usize) -> Result<&[u8], Fault> {
        if !self.reach(count)? {
            let found = self.bytes.ahead().len() as u64;
            return Err(cut_off(self.bytes.offset(), found, count as u64, what));
        }
        Ok(self.bytes.take(count))
    }

    #[inline]
    fn reach(&mut self, count: usize) -> Result<bool, TraceError> {
        let offset = self.bytes.offset();
        self.bytes.reach(count, || format!("after byte {offset}"))
    }

    /// The record begun last, or of those taken together the one with so many behind it.
    pub fn place(&self, behind: usize) -> String {
        let behind = if self.each == 0 { 0 } else { behind as u64 };
        let (number, start) = (self.number - behind, self.start - behind * self.each);
        format!("{} at byte {start}", record_name(number))
    }

    /// Passes over all that follows; the number of bytes.
    pub fn skip_rest(&mut self) -> Result<u64, TraceError> {
        self.bytes.skip_rest()
    }

    /// An error about that record.
    pub fn bad_record(&self, behind: usize, unexpected: Unexpected) -> TraceError {
        TraceError::record(self.bytes.name(), &self.place(behind), unexpected)
    }

    pub fn bytes(&self) -> &ByteFile {
        &self.bytes
    }

    pub fn bytes_mut(&mut self) -> &mut ByteFile {
        &mut self.bytes
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

fn record_name(record: u64) -> String {
    if record == 0 { "header".to_owned() } else { format!("record {record}") }
}
