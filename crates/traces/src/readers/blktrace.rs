//! What blktrace records of the Linux block layer, before blkparse makes text of it.

use eraseblock_core::host::{Op, Request};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::block_layer::Action;
use super::fields::{binary_time_ns, extent};
use super::numbers::{ByteOrder, Numbers};
use super::{
    Disorder, Family, Format, FormatOptions, Guess, Line, Parser, Reads, RecordParser, Sample,
};
use crate::error::{Fault, Unexpected};
use crate::input::RecordFile;

pub(super) static FAMILY: Family = Family {
    formats: &[Format {
        name: "blktrace",
        title: "Binary recording of blktrace",
        columns: "48 bytes: magic u32, sequence u32, time u64, sector u64, bytes u32, action u32, \
            pid u32, device u32, cpu u32, error u16, payload length u16; then the payload, which \
            is passed over",
        units: "time in ns, sector in 512-byte sectors, length in bytes; of either byte order; \
            requests are the events that the option action names; volume = device number (major x \
            1048576 + minor)",
        recognised_by: "the magic number 0x656174 of the first record, in either byte order",
        reference: "Linux, include/uapi/linux/blktrace_api.h, version 7",
        extensions: &["blktrace"],
        disorder: Disorder::Sorted,
        reads: Reads::by::<Options>(),
        sample,
    }],
    recognise,
};

/// Options of blktrace's recordings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Options {
    /// Which event of a request's life is taken as the request: `queue` (Q, as the file system
    /// asked), `issue` (D, as the drive was asked) or `complete` (C, as the drive answered).
    action: Action,
}

impl FormatOptions for Options {
    fn parser(&self) -> Parser {
        Parser::Records(Box::new(Blktrace { action: self.action }))
    }
}

/// The magic number in the upper three bytes of the first field; the version is in the lowest.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

/// Bits of the category, the upper half of an action.
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const PASSED_THROUGH: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;
const FUA: u32 = 1 << 15;

/// Bit of the lower half: a cgroup's id begins the payload.
const CGROUP: u32 = 1 << 8;

/// The lower halves of actions, by number, as blkparse's letters count them.
const EVENTS: [&str; 18] = [
    "events without a name",
    "Q events",
    "M events",
    "F events",
    "G events",
    "S events",
    "R events",
    "D events",
    "C events",
    "P events",
    "U events",
    "UT events",
    "I events",
    "X events",
    "B events",
    "A events",
    "aborts",
    "driver data",
];

/// Those of notices.
const NOTICES: [&str; 3] = ["names of processes", "clock times", "messages"];

struct Blktrace {
    action: Action,
}

impl RecordParser for Blktrace {
    fn record(&mut self, file: &mut RecordFile) -> Result<Option<Line>, Fault> {
        if !file.begin()? {
            return Ok(None);
        }
        let bytes: [u8; 48] = file.array("a record")?;
        let order = byte_order(&bytes).ok_or_else(|| {
            let start = Numbers::little(&bytes).u32(0);
            let expected =
                "0x65617407 in one byte order or the other, the magic number of a record";
            Fault::Lost(Unexpected::new(format!("0x{start:08x}"), expected))
        })?;
        let record = Numbers::new(&bytes, order);
        let version = record.u32(0) & 0xff;
        if version != VERSION {
            let found = format!("version {version} of blktrace's records");
            return Err(Fault::Lost(Unexpected::new(
                found,
                "version 7, which kernels since 2.6.17 write",
            )));
        }
        file.skip(u64::from(record.u16(46)), "the payload of a record")?;
        Ok(Some(self.line(record)?))
    }

    fn missing(&self) -> &'static str {
        match self.action {
            Action::Queue => "events of action Q, which action = \"queue\" asks for",
            Action::Issue => {
                "events of action D, which action = \"issue\" asks for; a device made of others \
                 has Q and C alone"
            }
            Action::Complete => "events of action C, which action = \"complete\" asks for",
        }
    }
}

fn byte_order(bytes: &[u8]) -> Option<ByteOrder> {
    let orders = [ByteOrder::Little, ByteOrder::Big];
    orders.into_iter().find(|order| Numbers::new(bytes, *order).u32(0) & !0xff == MAGIC)
}

impl Blktrace {
    fn line(&self, record: Numbers) -> Result<Line, Unexpected> {
        let action = record.u32(28);
        let (event, category) = (action & 0xffff & !CGROUP, action >> 16);
        let name = if category & NOTIFY == 0 {
            EVENTS.get(event as usize)
        } else {
            NOTICES.get(event as usize)
        };
        let Some(name) = name else {
            // Kernels add events to the end of the list, such as those of zones.
            return Ok(Line::Other("events of newer kernels"));
        };
        let wanted = match self.action {
            Action::Queue => 1,
            Action::Issue => 7,
            Action::Complete => 8,
        };
        if category & NOTIFY != 0 || event != wanted {
            return Ok(Line::Other(name));
        }
        if category & PASSED_THROUGH != 0 {
            return Ok(Line::Other("requests without data"));
        }
        let arrival_ns = binary_time_ns(record.u64(8), 1, "ns")?;
        let volume = record.u32(36);
        let flush = Request { arrival_ns, offset: 0, len: 0, volume, op: Op::Flush, fua: false };
        let len = record.u32(24);
        if len == 0 {
            let flushes = category & FLUSH != 0;
            return Ok(if flushes {
                Line::Request(flush)
            } else {
                Line::Other("requests without data")
            });
        }
        let (offset, len) = extent(record.u64(16), 512, u64::from(len), 1)?;
        let op = if category & DISCARD != 0 {
            Op::Trim
        } else if category & WRITE != 0 {
            Op::Write
        } else {
            Op::Read
        };
        let fua = op == Op::Write && category & FUA != 0;
        let request = Request { arrival_ns, offset, len, volume, op, fua };
        Ok(if category & FLUSH != 0 { Line::FlushThen(request) } else { Line::Request(request) })
    }
}

fn sample(requests: &[Request]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(48 * requests.len());
    for (sequence, request) in requests.iter().enumerate() {
        let category = if request.op == Op::Read { 1 } else { WRITE };
        for number in [MAGIC | VERSION, sequence as u32] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [request.arrival_ns, request.offset / 512] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [request.len as u32, category << 16 | 7, 4021, 0, 1, 0] {
            bytes.extend(number.to_le_bytes());
        }
    }
    bytes
}

fn recognise(sample: &Sample) -> Option<Guess> {
    let order = match byte_order(sample.bytes().first_chunk::<4>()?)? {
        ByteOrder::Little => "little",
        ByteOrder::Big => "big",
    };
    Some(Guess::Settled {
        format: "blktrace",
        evidence: format!("it begins with the magic number of a blktrace record, {order}-endian"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::read_with;
    use super::*;

    const DEVICE: u32 = 8 << 20 | 16;

    /// A record with an action of this category and event.
    fn record(order: ByteOrder, category: u32, event: u32, len: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |number: u64, width: usize| match order {
            ByteOrder::Little => bytes.extend_from_slice(&number.to_le_bytes()[..width]),
            ByteOrder::Big => bytes.extend_from_slice(&number.to_be_bytes()[8 - width..]),
        };
        for (number, width) in [
            (0x6561_7407, 4),
            (3, 4),
            (5_000_000_017, 8),
            (2048, 8),
            (u64::from(len), 4),
            (u64::from(category << 16 | event), 4),
            (4021, 4),
            (u64::from(DEVICE), 4),
            (1, 4),
            (0, 2),
            (payload.len() as u64, 2),
        ] {
            put(number, width);
        }
        bytes.extend_from_slice(payload);
        bytes
    }

    fn read(action: Action, bytes: &[u8]) -> (Vec<Line>, Option<String>) {
        read_with(bytes, &Options { action })
    }

    fn request(op: Op, len: u64, fua: bool) -> Request {
        let offset = if len == 0 { 0 } else { 2048 * 512 };
        Request { arrival_ns: 5_000_000_017, offset, len, volume: DEVICE, op, fua }
    }

    #[test]
    fn both_byte_orders_are_read() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let bytes = [
                record(order, NOTIFY, 0, 0, b"java\0"),
                record(order, 1 | 1 << 6, 7, 4096, b""),
                record(order, WRITE | 1 << 3, 7 | CGROUP, 8192, b"12345678"),
            ]
            .concat();
            let (lines, error) = read(Action::Issue, &bytes);
            let expected = [
                Line::Other("names of processes"),
                Line::Request(request(Op::Read, 4096, false)),
                Line::Request(request(Op::Write, 8192, false)),
            ];
            assert_eq!((lines.as_slice(), error), (&expected[..], None), "{order:?}");
        }
    }

    #[test]
    fn categories_say_what_is_done() {
        for (category, len, expected) in [
            (1, 512, Line::Request(request(Op::Read, 512, false))),
            (1 | FUA, 512, Line::Request(request(Op::Read, 512, false))),
            (WRITE, 512, Line::Request(request(Op::Write, 512, false))),
            (WRITE | FUA, 512, Line::Request(request(Op::Write, 512, true))),
            (WRITE | DISCARD, 1 << 20, Line::Request(request(Op::Trim, 1 << 20, false))),
            (WRITE | FLUSH, 512, Line::FlushThen(request(Op::Write, 512, false))),
            (WRITE | FLUSH | FUA, 512, Line::FlushThen(request(Op::Write, 512, true))),
            (WRITE | FLUSH, 0, Line::Request(request(Op::Flush, 0, false))),
            (1, 0, Line::Other("requests without data")),
            (1 | PASSED_THROUGH, 36, Line::Other("requests without data")),
        ] {
            let (lines, _) = read(Action::Issue, &record(ByteOrder::Little, category, 7, len, b""));
            assert_eq!(lines, [expected], "{category:#x}");
        }
    }

    #[test]
    fn one_event_of_each_request_counts() {
        let bytes: Vec<u8> = [1, 7, 8, 2, 900]
            .iter()
            .flat_map(|&event| record(ByteOrder::Little, WRITE, event, 512, b"x"))
            .collect();
        for (action, place) in [(Action::Queue, 0), (Action::Issue, 1), (Action::Complete, 2)] {
            let (lines, error) = read(action, &bytes);
            assert_eq!(error, None);
            for (index, line) in lines.iter().enumerate() {
                assert_eq!(matches!(line, Line::Request(_)), index == place);
            }
            assert_eq!(lines[3], Line::Other("M events"));
            assert_eq!(lines[4], Line::Other("events of newer kernels"));
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let good = record(ByteOrder::Little, WRITE, 7, 512, b"payload");
        let mut newer = good.clone();
        newer[0] = 8;
        let mut high = good.clone();
        high[16..24].fill(0xff);
        let mut late = good.clone();
        late[8..16].fill(0xff);
        for (bad, part) in [
            (
                b"nonsense".repeat(6),
                "record 2 at byte 55: found 0x736e6f6e, expected 0x65617407 in one byte order",
            ),
            (
                newer,
                "record 2 at byte 55: found version 8 of blktrace's records, expected version 7",
            ),
            (high, "found sector 18446744073709551615 with length 512"),
            (late, "found time 18446744073709551615 ns, expected a time below 2^63 ns"),
            (
                good[..47].to_vec(),
                "found 47 bytes from byte 55 to the end of the file, expected 48 bytes: a record",
            ),
            (
                good[..50].to_vec(),
                "found 2 bytes from byte 103 to the end of the file, expected 7 bytes: the payload \
                 of a record",
            ),
        ] {
            let (lines, error) = read(Action::Issue, &[good.clone(), bad].concat());
            assert_eq!(lines.len(), 1);
            let error = error.unwrap();
            assert!(error.contains(part), "{error}");
        }
    }
}
