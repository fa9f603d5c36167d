//! Traces of the vSCSI layer: SCSI commands of a virtual disk, in binary records of fixed length.

use eraseblock_core::host::{Op, Request};

use super::fields::{binary_time_ns, extent};
use super::numbers::Numbers;
use super::{Disorder, Family, Format, Guess, Line, Reads, RecordParser, Sample, scsi};
use crate::error::{Fault, Unexpected};
use crate::input::RecordFile;

pub(super) static FAMILY: Family = Family {
    formats: &[
        Format {
            name: "vscsi",
            title: "VMware vscsiStats trace, version 1",
            columns: "32 bytes: serial u32, length u32, segments u32, command u16, version u16, \
                block u64, time u64; little-endian",
            units: "length in bytes, block in 512-byte sectors, time in us, command a SCSI \
                operation code",
            recognised_by: "32-byte records whose version is 1 and whose command is a SCSI \
                operation code",
            reference: "libCacheSim, vscsi.h",
            extensions: &["vscsi", "vscsi1"],
            disorder: Disorder::None,
            reads: Reads::Records(|| Box::new(Vscsi(Layout::V1))),
            sample: |requests| sample(Layout::V1, requests),
        },
        Format {
            name: "vscsi-v2",
            title: "VMware vscsiStats trace, version 2",
            columns: "40 bytes: command u16, version u16, serial u32, length u32, segments u32, \
                block u64, time u64, response time u64; little-endian",
            units: "length in bytes, block in 512-byte sectors, time in us, command a SCSI \
                operation code",
            recognised_by: "40-byte records whose version is 2 and whose command is a SCSI \
                operation code",
            reference: "libCacheSim, vscsi.h",
            extensions: &["vscsi2"],
            disorder: Disorder::None,
            reads: Reads::Records(|| Box::new(Vscsi(Layout::V2))),
            sample: |requests| sample(Layout::V2, requests),
        },
    ],
    recognise,
};

/// Order of the fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    V1,
    V2,
}

impl Layout {
    fn version(self) -> u16 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }

    fn bytes(self) -> usize {
        match self {
            Self::V1 => 32,
            Self::V2 => 40,
        }
    }
}

/// One record, whatever its layout.
struct Record {
    command: u16,
    version: u16,
    len: u32,
    block: u64,
    time_us: u64,
}

impl Record {
    fn v1(bytes: [u8; 32]) -> Self {
        let record = Numbers::little(&bytes);
        Self {
            command: record.u16(12),
            version: record.u16(14),
            len: record.u32(4),
            block: record.u64(16),
            time_us: record.u64(24),
        }
    }

    fn v2(bytes: [u8; 40]) -> Self {
        let record = Numbers::little(&bytes);
        Self {
            command: record.u16(0),
            version: record.u16(2),
            len: record.u32(8),
            block: record.u64(16),
            time_us: record.u64(24),
        }
    }
}

struct Vscsi(Layout);

impl RecordParser for Vscsi {
    fn record(&mut self, file: &mut RecordFile) -> Result<Option<Line>, Fault> {
        if !file.begin()? {
            return Ok(None);
        }
        let record = match self.0 {
            Layout::V1 => Record::v1(file.array("a record of version 1")?),
            Layout::V2 => Record::v2(file.array("a record of version 2")?),
        };
        Ok(Some(request(self.0, &record)?))
    }
}

fn request(layout: Layout, record: &Record) -> Result<Line, Unexpected> {
    let version = layout.version();
    if record.version >> 8 != version {
        return Err(Unexpected::new(
            format!("version 0x{:04x}", record.version),
            format!("0x{version:02x}00 in each record of version {version}"),
        ));
    }
    let Ok(command) = u8::try_from(record.command) else {
        let expected = "a SCSI operation code below 0x100, such as 0x28 (read) or 0x2a (write)";
        return Err(Unexpected::new(format!("command 0x{:04x}", record.command), expected));
    };
    let arrival_ns = binary_time_ns(record.time_us, 1000, "us")?;
    let Some(op) = scsi::operation(command) else { return Ok(Line::Other("other SCSI commands")) };
    let (mut offset, mut len) = (0, 0);
    if op != Op::Flush {
        (offset, len) = extent(record.block, 512, u64::from(record.len), 1)?;
    }
    Ok(Line::Request(Request { arrival_ns, offset, len, volume: 0, op, fua: false }))
}

fn sample(layout: Layout, requests: &[Request]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(requests.len() * layout.bytes());
    for (serial, request) in requests.iter().enumerate() {
        let serial = (serial as u32).to_le_bytes();
        let len = (request.len as u32).to_le_bytes();
        let segments = 1_u32.to_le_bytes();
        let command = if request.op == Op::Read { 0x28_u16 } else { 0x2a }.to_le_bytes();
        let version = (layout.version() << 8).to_le_bytes();
        let block = (request.offset / 512).to_le_bytes();
        let time = (request.arrival_ns / 1000).to_le_bytes();
        let response = 1000_u64.to_le_bytes();
        let fields: &[&[u8]] = match layout {
            Layout::V1 => &[&serial, &len, &segments, &command, &version, &block, &time],
            Layout::V2 => &[&command, &version, &serial, &len, &segments, &block, &time, &response],
        };
        bytes.extend(fields.iter().copied().flatten());
    }
    bytes
}

fn recognise(sample: &Sample) -> Option<Guess> {
    let layouts = [("vscsi", Layout::V1), ("vscsi-v2", Layout::V2)];
    layouts.into_iter().find_map(|(format, layout)| {
        let (mut good, mut all) = (0, 0);
        for bytes in sample.bytes().chunks_exact(layout.bytes()).take(64) {
            let record = match layout {
                Layout::V1 => Record::v1(bytes.try_into().ok()?),
                Layout::V2 => Record::v2(bytes.try_into().ok()?),
            };
            all += 1;
            good += usize::from(request(layout, &record).is_ok());
        }
        (good > 0 && 2 * good >= all).then(|| Guess::Settled {
            format,
            evidence: format!(
                "{good} of the first {all} records of {} bytes give version {} and a SCSI \
                 operation code",
                layout.bytes(),
                layout.version()
            ),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{read, requests};
    use super::*;

    fn v1(len: u32, command: u16, version: u16, block: u64, time_us: u64) -> Vec<u8> {
        let mut bytes = [7_u32.to_le_bytes(), len.to_le_bytes(), 3_u32.to_le_bytes()].concat();
        bytes.extend([command.to_le_bytes(), version.to_le_bytes()].concat());
        bytes.extend([block.to_le_bytes(), time_us.to_le_bytes()].concat());
        bytes
    }

    fn v2(command: u16, len: u32, block: u64, time_us: u64) -> Vec<u8> {
        let mut bytes = [command.to_le_bytes(), 0x0207_u16.to_le_bytes()].concat();
        bytes.extend([9_u32.to_le_bytes(), len.to_le_bytes(), 1_u32.to_le_bytes()].concat());
        bytes.extend([block.to_le_bytes(), time_us.to_le_bytes(), 250_u64.to_le_bytes()].concat());
        bytes
    }

    fn request(arrival_ns: u64, offset: u64, len: u64, op: Op) -> Request {
        Request { arrival_ns, offset, len, volume: 0, op, fua: false }
    }

    #[test]
    fn reads_both_versions() {
        let bytes =
            [v1(8192, 0x2a, 0x0100, 35, 5_000_001), v1(512, 0x88, 0x0100, 3, 5_000_002)].concat();
        assert_eq!(bytes.len(), 64);
        let expected = [
            request(5_000_001_000, 35 * 512, 8192, Op::Write),
            request(5_000_002_000, 3 * 512, 512, Op::Read),
        ];
        assert_eq!(requests("vscsi", &bytes), expected);
        let bytes = [v2(0x2a, 8192, 35, 5_000_001), v2(0x88, 512, 3, 5_000_002)].concat();
        assert_eq!(bytes.len(), 80);
        assert_eq!(requests("vscsi-v2", &bytes), expected);
    }

    #[test]
    fn other_commands_are_counted_and_flushes_kept() {
        let commands = [0x12, 0x42, 0x93, 0x35].map(|code| v1(0, code, 0x0100, 99, 1)).concat();
        let (lines, end) = read("vscsi", &commands);
        assert_eq!(
            lines,
            [
                Line::Other("other SCSI commands"),
                Line::Other("other SCSI commands"),
                Line::Other("other SCSI commands"),
                Line::Request(request(1000, 0, 0, Op::Flush)),
            ]
        );
        assert_eq!(end, None);
    }

    #[test]
    fn says_what_is_wrong() {
        let good = v1(512, 0x28, 0x0100, 0, 0);
        for (bad, part) in [
            (
                v1(512, 0x28, 0x0200, 0, 0),
                "record 2 at byte 32: found version 0x0200, expected 0x0100",
            ),
            (v1(512, 0x128, 0x0100, 0, 0), "record 2 at byte 32: found command 0x0128"),
            (
                v1(512, 0x28, 0x0100, u64::MAX, 0),
                "found sector 18446744073709551615 with length 512",
            ),
            (v1(512, 0x28, 0x0100, 0, u64::MAX), "found time 18446744073709551615 us"),
            (
                vec![0; 7],
                "record 2 at byte 32: found 7 bytes from byte 32 to the end of the file, expected \
                 32 bytes: a record",
            ),
        ] {
            let (lines, end) = read("vscsi", &[good.clone(), bad].concat());
            assert_eq!(lines.len(), 1);
            let error = end.unwrap();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn versions_are_told_apart() {
        let evidence = |bytes: &[u8]| match recognise(&Sample::new(bytes)) {
            Some(Guess::Settled { format, evidence }) => Some((format, evidence)),
            _ => None,
        };
        let (format, why) = evidence(&v1(8192, 0x2a, 0x0100, 35, 5).repeat(3)).unwrap();
        assert_eq!(format, "vscsi");
        assert!(why.starts_with("3 of the first 3 records of 32 bytes"), "{why}");
        assert_eq!(evidence(&v2(0x2a, 8192, 35, 5).repeat(100)).unwrap().0, "vscsi-v2");
        assert!(evidence(&[0; 320]).is_none());
        assert!(evidence(b"0,303567,3584,w,0.000000\n0,303567,3584,w,0.000000\n").is_none());
        assert!(evidence(&[]).is_none());
    }
}
