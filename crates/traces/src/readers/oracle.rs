//! libCacheSim's oracle traces: accesses to numbered objects, each with the place of the next
//! access to its object.

use eraseblock_core::config::Bytes;
use eraseblock_core::host::{Op, Request};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::MAX_END;
use super::numbers::Numbers;
use super::{
    Disorder, Family, Format, FormatOptions, Guess, Line, Parser, Reads, RecordParser, Sample,
};
use crate::error::{Fault, Unexpected};
use crate::input::RecordFile;

const REFERENCE: &str = "libCacheSim, oracleGeneralBin.h";

pub(super) static FAMILY: Family = Family {
    formats: &[
        Format {
            name: "oracle-general",
            title: "libCacheSim oracleGeneral",
            columns: "24 bytes: time u32, object u64, size u32, next access i64; little-endian",
            units: "time in s (whole seconds: many requests arrive together), size in bytes; an \
                object lies at its number times the option block; no operations: all are reads, \
                unless the option op says otherwise",
            recognised_by: "24-byte records with times in order, whose next accesses are later \
                ones to the same object",
            reference: REFERENCE,
            extensions: &["oracleGeneral"],
            disorder: Disorder::None,
            reads: Reads::by::<Options>(),
            sample: |requests| GENERAL.sample(requests),
        },
        Format {
            name: "oracle-general-opns",
            title: "libCacheSim oracleGeneralOpNS",
            columns: "27 bytes: time u32, object u64, size u32, operation u8, namespace u16, next \
                access i64; little-endian",
            units: "as oracle-general; operations that store are writes, a deletion is a trim; \
                namespace = volume",
            recognised_by: "as oracle-general, in records of 27 bytes with a known operation",
            reference: REFERENCE,
            extensions: &["oracleGeneralOpNS"],
            disorder: Disorder::None,
            reads: Reads::by::<OpnsOptions>(),
            sample: |requests| WITH_OPERATIONS.sample(requests),
        },
    ],
    recognise,
};

/// Options of records without operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Options {
    /// What all requests are, as the file records no operations.
    op: AllAre,
    /// An object lies at its number times this.
    block: Bytes,
}

impl Default for Options {
    fn default() -> Self {
        Self { op: AllAre::default(), block: Bytes(BLOCK) }
    }
}

impl FormatOptions for Options {
    fn check(&self) -> Result<(), String> {
        check_block(self.block)
    }

    fn parser(&self) -> Parser {
        Parser::Records(Box::new(Oracle { layout: &GENERAL, op: self.op, block: self.block }))
    }
}

/// Options of records with operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct OpnsOptions {
    /// An object lies at its number times this.
    block: Bytes,
}

impl Default for OpnsOptions {
    fn default() -> Self {
        Self { block: Bytes(BLOCK) }
    }
}

impl FormatOptions for OpnsOptions {
    fn check(&self) -> Result<(), String> {
        check_block(self.block)
    }

    fn parser(&self) -> Parser {
        let op = AllAre::default();
        Parser::Records(Box::new(Oracle { layout: &WITH_OPERATIONS, op, block: self.block }))
    }
}

fn check_block(block: Bytes) -> Result<(), String> {
    if block == Bytes(0) {
        return Err("block: found 0 B, expected the size of a block, such as \"512 B\"".to_owned());
    }
    Ok(())
}

/// What the requests of a trace are that records no operations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum AllAre {
    /// All are reads.
    #[default]
    Read,
    /// All are writes.
    Write,
}

/// Where a record holds what.
struct Layout {
    format: &'static str,
    bytes: usize,
    /// Places of operation and namespace.
    operation: Option<(usize, usize)>,
    next: usize,
}

const GENERAL: Layout = Layout { format: "oracle-general", bytes: 24, operation: None, next: 16 };
const WITH_OPERATIONS: Layout =
    Layout { format: "oracle-general-opns", bytes: 27, operation: Some((16, 17)), next: 19 };

/// One record, whatever its layout.
struct Record {
    time_s: u32,
    object: u64,
    size: u32,
    /// Operation and namespace.
    operation: Option<(u8, u16)>,
    /// The number of the next record with this object; -1 or the greatest number where there is
    /// none.
    next: i64,
}

impl Layout {
    #[inline(always)]
    fn record(&self, bytes: &[u8]) -> Record {
        let numbers = Numbers::little(bytes);
        Record {
            time_s: numbers.u32(0),
            object: numbers.u64(4),
            size: numbers.u32(12),
            operation: self
                .operation
                .map(|(code, namespace)| (bytes[code], numbers.u16(namespace))),
            next: numbers.u64(self.next) as i64,
        }
    }

    fn sample(&self, requests: &[Request]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(requests.len() * self.bytes);
        for request in requests {
            bytes.extend(((request.arrival_ns / 1_000_000_000) as u32).to_le_bytes());
            bytes.extend((request.offset / BLOCK).to_le_bytes());
            bytes.extend((request.len as u32).to_le_bytes());
            if self.operation.is_some() {
                bytes.extend([if request.op == Op::Read { 12 } else { 13 }, 0, 0]);
            }
            bytes.extend((-1_i64).to_le_bytes());
        }
        bytes
    }
}

/// Bytes of an object's number, unless the user says otherwise.
const BLOCK: u64 = 512;

struct Oracle {
    layout: &'static Layout,
    op: AllAre,
    block: Bytes,
}

impl RecordParser for Oracle {
    fn record(&mut self, file: &mut RecordFile) -> Result<Option<Line>, Fault> {
        if !file.begin()? {
            return Ok(None);
        }
        let mut bytes = [0; 27];
        let bytes = &mut bytes[..self.layout.bytes];
        file.fill(bytes, "a record")?;
        Ok(Some(self.line(&self.layout.record(bytes))?))
    }

    fn records(&mut self, file: &mut RecordFile, into: &mut Vec<Request>) {
        /// What they take stays in a cache.
        const MOST: usize = 256;
        let each = self.layout.bytes;
        let (before, ahead) = (into.len(), file.ahead(each, MOST));
        // A layout that is known here costs a third of one that is looked up for each field.
        match self.layout.operation {
            None => {
                let op = self.op_of_all();
                self.good_ones(&GENERAL, |_| Some((op, 0)), ahead, into);
            }
            Some(_) => self.good_ones(&WITH_OPERATIONS, Record::asked, ahead, into),
        }
        file.take_together(each, into.len() - before);
    }

    fn assumes(&self) -> Option<String> {
        let block = self.block;
        let blocks = format!("object numbers are taken as blocks of {block} (option block)");
        Some(match (self.layout.operation, self.op) {
            (Some(_), _) => blocks,
            (None, AllAre::Read) => {
                format!("no operations: all taken as reads (option op); {blocks}")
            }
            (None, AllAre::Write) => {
                format!("no operations: all taken as writes (option op); {blocks}")
            }
        })
    }
}

impl Oracle {
    /// The requests of the first records, up to one that is wrong; `asked` says what a record asks
    /// for, and of which volume.
    #[inline(always)]
    fn good_ones(
        &self,
        layout: &Layout,
        asked: impl Fn(&Record) -> Option<(Op, u32)>,
        ahead: &[u8],
        into: &mut Vec<Request>,
    ) {
        let records = ahead.chunks_exact(layout.bytes);
        into.reserve(records.len());
        for bytes in records {
            let record = layout.record(bytes);
            let (Some((op, volume)), Some(offset)) = (asked(&record), self.offset(&record)) else {
                return;
            };
            let (arrival_ns, len) = (record.arrival_ns(), u64::from(record.size));
            into.push(Request { arrival_ns, offset, len, volume, op, fua: false });
        }
    }

    fn line(&self, record: &Record) -> Result<Line, Unexpected> {
        let (op, volume) = match record.operation {
            None => (self.op_of_all(), 0),
            Some((code, _)) => record.asked().ok_or_else(|| {
                let expected = "0 to 14, such as 12 (read) or 13 (write)";
                Unexpected::new(format!("operation {code}"), expected)
            })?,
        };
        let offset = self.offset(record).ok_or_else(|| {
            Unexpected::new(
                format!("object {} in blocks of {}", record.object, self.block),
                "numbers of blocks below 1 EiB; hashes and keys have no place on a drive",
            )
        })?;
        let (arrival_ns, len) = (record.arrival_ns(), u64::from(record.size));
        Ok(Line::Request(Request { arrival_ns, offset, len, volume, op, fua: false }))
    }

    /// What all requests are, where records have no operations.
    #[inline]
    fn op_of_all(&self) -> Op {
        if self.op == AllAre::Read { Op::Read } else { Op::Write }
    }

    /// Where a record's object lies, if that is a place on a drive.
    #[inline]
    fn offset(&self, record: &Record) -> Option<u64> {
        let offset = record.object.checked_mul(self.block.0)?;
        (offset <= MAX_END - u64::from(record.size)).then_some(offset)
    }
}

impl Record {
    /// Its time in ns: seconds of 32 bits are below 2^63 ns.
    #[inline]
    fn arrival_ns(&self) -> u64 {
        u64::from(self.time_s) * 1_000_000_000
    }

    /// What it asks for, and of which volume, if it names an operation that is known.
    #[inline]
    fn asked(&self) -> Option<(Op, u32)> {
        let (code, namespace) = self.operation?;
        Some((operation(code)?, u32::from(namespace)))
    }
}

/// What libCacheSim's operations ask of a drive.
fn operation(code: u8) -> Option<Op> {
    match code {
        // NOP, GET, GETS, READ.
        0..=2 | 12 => Some(Op::Read),
        // SET, ADD, CAS, REPLACE, APPEND, PREPEND, INCR, DECR, WRITE, UPDATE.
        3..=8 | 10 | 11 | 13 | 14 => Some(Op::Write),
        // DELETE.
        9 => Some(Op::Trim),
        _ => None,
    }
}

fn recognise(sample: &Sample) -> Option<Guess> {
    [&GENERAL, &WITH_OPERATIONS].into_iter().find_map(|layout| {
        let chunks = sample.bytes().chunks_exact(layout.bytes);
        let whole = sample.goes_on() || chunks.remainder().is_empty();
        let records: Vec<_> = chunks.map(|bytes| layout.record(bytes)).collect();
        let shown = match next_accesses(&records)? {
            // Too little to say where a last record is cut off.
            0 if !whole => return None,
            0 => "none has a next access among them".to_owned(),
            same => format!("{same} of them name a later record of the same object as their next"),
        };
        Some(Guess::Settled {
            format: layout.format,
            evidence: format!(
                "{} records of {} bytes have times in order and next accesses after them; {shown}",
                records.len(),
                layout.bytes
            ),
        })
    })
}

/// How many of the records name a later one of the same object as the next; `None` where they are
/// no oracle trace. Records are counted from 0 or from 1.
fn next_accesses(records: &[Record]) -> Option<u64> {
    /// More requests than any trace has.
    const MAX_REQUESTS: i64 = 1 << 44;
    let ordered = records.windows(2).all(|pair| pair[0].time_s <= pair[1].time_s);
    let known =
        |record: &Record| record.operation.is_none_or(|(code, _)| operation(code).is_some());
    let none = |next: i64| next == -1 || next == i64::MAX;
    let sound = |(index, record): (usize, &Record)| {
        known(record)
            && (none(record.next) || (index as i64 + 1..MAX_REQUESTS).contains(&record.next))
    };
    if records.is_empty() || !ordered || !records.iter().enumerate().all(sound) {
        return None;
    }
    let (mut same, mut other) = (0, 0);
    for (index, record) in records.iter().enumerate().filter(|(_, record)| !none(record.next)) {
        let at = |number: usize| {
            number > index && records.get(number).is_some_and(|next| next.object == record.object)
        };
        let number = record.next as usize;
        if at(number) || at(number - 1) {
            same += 1;
        } else if number < records.len() {
            other += 1;
        }
    }
    (other == 0).then_some(same)
}

#[cfg(test)]
mod tests {
    use eraseblock_core::config::Bytes;

    use super::super::testing::{read, read_with};
    use super::*;

    fn general(time: u32, object: u64, size: u32, next: i64) -> Vec<u8> {
        let mut bytes = time.to_le_bytes().to_vec();
        bytes.extend(object.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(next.to_le_bytes());
        bytes
    }

    fn with_operation(object: u64, code: u8, namespace: u16) -> Vec<u8> {
        let mut bytes = general(7, object, 4096, -1);
        bytes.splice(16..16, [code, namespace.to_le_bytes()[0], namespace.to_le_bytes()[1]]);
        bytes
    }

    fn request(offset: u64, volume: u32, op: Op) -> Line {
        Line::Request(Request {
            arrival_ns: 7_000_000_000,
            offset,
            len: 4096,
            volume,
            op,
            fua: false,
        })
    }

    #[test]
    fn the_user_says_what_the_file_does_not() {
        let bytes = general(7, 30, 4096, -1);
        assert_eq!(read("oracle-general", &bytes).0, [request(30 * 512, 0, Op::Read)]);
        let options = Options { op: AllAre::Write, block: Bytes(4096) };
        assert_eq!(read_with(&bytes, &options).0, [request(30 * 4096, 0, Op::Write)]);
        let oracle = Oracle { layout: &GENERAL, op: options.op, block: options.block };
        let assumed = oracle.assumes().unwrap();
        assert!(assumed.contains("all taken as writes") && assumed.contains("4 KiB"), "{assumed}");
    }

    #[test]
    fn operations_are_reads_writes_and_trims() {
        for (code, op) in [
            (0, Op::Read),
            (1, Op::Read),
            (3, Op::Write),
            (9, Op::Trim),
            (12, Op::Read),
            (13, Op::Write),
        ] {
            let lines = read("oracle-general-opns", &with_operation(8, code, 300)).0;
            assert_eq!(lines, [request(8 * 512, 300, op)], "{code}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let good = general(7, 30, 4096, -1);
        for (bad, part) in [
            (
                general(7, u64::MAX, 4096, -1),
                "record 2 at byte 24: found object 18446744073709551615 in blocks of 512 B, \
                 expected numbers of blocks",
            ),
            (general(7, 1 << 51, 4096, -1), "found object 2251799813685248 in blocks"),
            (
                good[..23].to_vec(),
                "found 23 bytes from byte 24 to the end of the file, expected 24 bytes: a record",
            ),
        ] {
            let (lines, error) = read("oracle-general", &[good.clone(), bad].concat());
            assert_eq!(lines.len(), 1);
            let error = error.unwrap();
            assert!(error.contains(part), "{error}");
        }
        let error = read("oracle-general-opns", &with_operation(8, 15, 0)).1.unwrap();
        assert!(error.contains("found operation 15, expected 0 to 14"), "{error}");
    }

    fn guess(records: &[Vec<u8>]) -> Option<(&'static str, String)> {
        match recognise(&Sample::new(&records.concat())) {
            Some(Guess::Settled { format, evidence }) => Some((format, evidence)),
            _ => None,
        }
    }

    #[test]
    fn next_accesses_tell_the_format() {
        let (format, why) =
            guess(&[general(1, 5, 512, 2), general(1, 6, 512, i64::MAX), general(2, 5, 512, 900)])
                .unwrap();
        assert_eq!(format, "oracle-general");
        assert!(why.contains("1 of them name a later record of the same object"), "{why}");
        // Counted from 1.
        assert!(
            guess(&[general(1, 5, 512, 3), general(1, 6, 512, -1), general(2, 5, 512, -1)])
                .is_some()
        );
        let (format, _) = guess(&[with_operation(5, 12, 0), with_operation(6, 13, 0)]).unwrap();
        assert_eq!(format, "oracle-general-opns");
        for wrong in [
            vec![],
            vec![vec![0; 240]],
            vec![general(2, 5, 512, -1), general(1, 5, 512, -1)],
            vec![general(1, 5, 512, 1), general(1, 6, 512, -1)],
            vec![general(1, 5, 512, -1), general(1, 5, 512, -1), general(1, 5, 512, 1)],
            vec![b"0,303567,3584,w,0.000000\n".repeat(4)],
        ] {
            assert_eq!(guess(&wrong), None);
        }
    }
}
