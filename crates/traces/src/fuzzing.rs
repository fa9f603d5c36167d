//! Files in memory through the stages of reading, and what has to hold for any bytes; the fuzz
//! targets run this.

use std::io::Cursor;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::config::WorkloadConfig;
use crate::error::TraceError;
use crate::input::ByteFile;
use crate::readers::{Format, NamedFormat, detect_in};
use crate::trace::{TraceFile, TraceReader};
use crate::workload::Tally;

/// Addresses end at or below this: 1 EiB.
const MAX_END: u64 = 1 << 60;

/// Reads all requests of a file in one format, whatever `config` says of it; their number.
///
/// # Errors
///
/// As [`WorkloadConfig::prepare`] would.
///
/// # Panics
///
/// A request is not what a replay relies on: the reader is wrong.
pub fn read(format: &NamedFormat, file: &[u8], config: &WorkloadConfig) -> Result<u64, TraceError> {
    let how = TraceFile {
        path: PathBuf::new(),
        format: format.clone(),
        out_of_order: config.out_of_order,
        skip_bad_lines: config.skip_bad_lines,
        limits: config.limits(),
    };
    let mut reader = TraceReader::over(open(file)?, &how);
    let mut tally = Tally::default();
    let (mut requests, mut last_ns) = (0, 0);
    while let Some(request) = reader.next_request()? {
        assert!(request.arrival_ns >= last_ns, "{request:?} after {last_ns} ns");
        assert!(i64::try_from(request.arrival_ns).is_ok(), "{request:?}");
        assert!(
            request.offset.checked_add(request.len).is_some_and(|end| end <= MAX_END),
            "{request:?}"
        );
        if !tally.add(&request) {
            return Err(reader.bad_request(0, "too many volumes".to_owned(), "fewer"));
        }
        (requests, last_ns) = (requests + 1, request.arrival_ns);
    }
    assert_eq!(tally.finish().requests, requests);
    assert!(requests > 0, "a file without requests was taken for a trace");
    let (reading, sha256) = reader.finish();
    assert!(sha256.len() == 64 && (config.skip_bad_lines || reading.bad_lines.count == 0));
    Ok(requests)
}

/// A format with each combination of those of its options that are names.
pub fn ways_to_read(format: &'static Format) -> Vec<NamedFormat> {
    let schema = format.option_schema().map(schemars::Schema::to_value).unwrap_or_default();
    let mut tables = vec![Map::new()];
    for (key, option) in schema["properties"].as_object().into_iter().flatten() {
        let target = option["$ref"]
            .as_str()
            .and_then(|target| schema.pointer(target.trim_start_matches('#')));
        let names = target.and_then(|target| target["oneOf"].as_array()).into_iter().flatten();
        let names: Vec<&Value> = names.filter_map(|name| name.get("const")).collect();
        if !names.is_empty() {
            let with = |table: &Map<String, Value>, name: &Value| {
                let mut table = table.clone();
                table.insert(key.clone(), name.clone());
                table
            };
            tables = tables
                .iter()
                .flat_map(|table| names.iter().map(|name| with(table, name)))
                .collect();
        }
    }
    let named = |table| NamedFormat::with(format, table).expect("names that the schema lists");
    tables.into_iter().map(named).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::formats;

    #[test]
    fn each_option_that_is_a_name_takes_all_of_them() {
        let ways = |name: &str| {
            let format = formats().find(|format| format.name == name).unwrap();
            ways_to_read(format).len()
        };
        assert_eq!(
            (ways("spc"), ways("blkparse"), ways("fio"), ways("oracle-general")),
            (1, 3, 6, 2)
        );
    }
}
