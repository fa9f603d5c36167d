//! Files in memory through the stages of reading, and what has to hold for any bytes; the fuzz targets run this.

use std::io::Cursor;
use std::path::PathBuf;

use crate::config::WorkloadConfig;
use crate::error::TraceError;
use crate::input::ByteFile;
use crate::limits::Limits;
use crate::readers::{Format, ReadOptions, detect_in};
use crate::summary::Tally;
use crate::trace::{TraceFile, TraceReader};

/// Addresses end at or below this: 1 EiB.
const MAX_END: u64 = 1 << 60;

/// Reads all requests of a file in one format; their number.
///
/// # Errors
///
/// As [`WorkloadConfig::prepare`] would.
///
/// # Panics
///
/// A request is not what a replay relies on: the reader is wrong.
pub fn read(format: &'static Format, file: &[u8], config: &WorkloadConfig) -> Result<u64, TraceError> {
    let how = TraceFile {
        path: PathBuf::new(),
        format,
        options: ReadOptions::of(config),
        out_of_order: config.out_of_order,
        skip_bad_lines: config.skip_bad_lines,
        limits: Limits::of(config),
    };
    let mut reader = TraceReader::over(open(file)?, &how);
    let mut tally = Tally::default();
    let (mut requests, mut last_ns) = (0, 0);
    while let Some(request) = reader.next_request()? {
        assert!(request.arrival_ns >= last_ns, "{request:?} after {last_ns} ns");
        assert!(i64::try_from(request.arrival_ns).is_ok(), "{request:?}");
        assert!(request.offset.checked_add(request.len).is_some_and(|end| end <= MAX_END), "{request:?}");
        if !tally.add(&request) {
            return Err(reader.bad_request("too many volumes".to_owned(), "fewer"));
        }
        (requests, last_ns) = (requests + 1, request.arrival_ns);
    }
    assert_eq!(tally.finish().requests, requests);
    assert!(requests > 0, "a file without requests was taken for a trace");
    let (reading, sha256) = reader.finish();
    assert!(sha256.len() == 64 && (config.skip_bad_lines || reading.bad_lines.count == 0));
    Ok(requests)
}

/// Tells the format of a file; its name.
///
/// # Errors
///
/// No format fits, or several do.
///
/// # Panics
///
/// No reason is given: detection is wrong.
pub fn detect(file: &[u8]) -> Result<&'static str, TraceError> {
    let detected = detect_in(&mut open(file)?, None)?;
    assert!(!detected.evidence.is_empty());
    Ok(detected.format.name)
}

/// Unpacks a file as far as `limit` bytes; the number of bytes.
///
/// # Errors
///
/// The packing is damaged, or one that is not read.
pub fn unpack(file: &[u8], limit: u64) -> Result<u64, TraceError> {
    let mut bytes = open(file)?;
    while bytes.offset() < limit && bytes.more(|| "in memory".to_owned())? > 0 {
        bytes.take(bytes.ahead().len());
    }
    Ok(bytes.offset())
}

fn open(file: &[u8]) -> Result<ByteFile, TraceError> {
    ByteFile::over("memory".to_owned(), Box::new(Cursor::new(file.to_vec())), true)
}
