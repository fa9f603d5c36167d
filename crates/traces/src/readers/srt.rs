//! SRT traces of HP Labs: requests to the disks of HP-UX systems of the 1990s.

use std::collections::BTreeMap;

use eraseblock_core::host::{Op, Request};

use super::fields::{binary_time_ns, extent};
use super::numbers::{ByteOrder, Numbers};
use super::{Disorder, Family, Format, Guess, Line, Reads, RecordParser, Sample};
use crate::error::{Fault, Unexpected};
use crate::input::RecordFile;

pub(super) static FAMILY: Family = Family {
    formats: &[Format {
        name: "srt",
        title: "HP Labs SRT trace (hplajw, snake, cello)",
        columns: "a text header up to a form feed, then big-endian 32-bit numbers: record size, \
            version and type, s, us, start, stop, length, sector, device, driver, cylinder, flags, \
            info[, queue length]",
        units: "time in s and us since the start, length in bytes, sector of the size that the \
            header gives for the disk (sectorsize; 512 bytes where it gives none), flags with bit \
            0 set for a read; disk = volume",
        recognised_by: "the first line, which begins with $$TR_IOREC",
        reference: "Ruemmler and Wilkes, UNIX disk access patterns, USENIX 1993; DiskSim 4.0, HPL \
            traces",
        extensions: &["srt"],
        disorder: Disorder::None,
        reads: Reads::Records(|| Box::new(Srt::default())),
        sample,
    }],
    recognise,
};

const MAGIC: &[u8] = b"$$TR_IOREC";
/// Ends the header.
const FORM_FEED: u8 = 0x0c;
const MAX_HEADER: usize = 1 << 20;

/// Numbers that records of every version have, and bytes of the longest record.
const NUMBERS: u32 = 13;
const MAX_RECORD: u32 = 256;

/// Types of records: a request, and one that the recorder marked as doubtful.
const REQUEST: u32 = 1;
const SUSPECT: u32 = 4;

#[derive(Default)]
struct Srt {
    /// Bytes of a sector of each disk that the header describes.
    sectors: BTreeMap<u32, u64>,
}

impl RecordParser for Srt {
    fn header(&mut self, file: &mut RecordFile) -> Result<(), Fault> {
        if file.peek(MAGIC.len())? != MAGIC {
            let found = "other first bytes";
            return Err(Fault::Lost(Unexpected::new(
                found,
                "a header that begins with $$TR_IOREC",
            )));
        }
        let header =
            file.until(FORM_FEED, MAX_HEADER, "a header that a form feed (byte 0x0c) ends")?;
        self.sectors = sector_sizes(&String::from_utf8_lossy(header));
        Ok(())
    }

    fn record(&mut self, file: &mut RecordFile) -> Result<Option<Line>, Fault> {
        if !file.begin()? {
            return Ok(None);
        }
        let bytes: [u8; 4 * NUMBERS as usize] = file.array("a record")?;
        let record = Numbers::new(&bytes, ByteOrder::Big);
        let (size, id) = (record.u32(0), record.u32(4));
        if !(4 * NUMBERS..=MAX_RECORD).contains(&size) {
            let expected = format!("{} to {MAX_RECORD} bytes, mostly 56", 4 * NUMBERS);
            return Err(Fault::Lost(Unexpected::new(
                format!("a record of {size} bytes"),
                expected,
            )));
        }
        file.skip(u64::from(size - 4 * NUMBERS), "the end of a record")?;
        match id & 0xffff {
            REQUEST => Ok(Some(Line::Request(self.request(record)?))),
            SUSPECT => Ok(Some(Line::Other("requests marked as suspect"))),
            kind => {
                let expected = "1 (a request) or 4 (a suspect one)";
                Err(Unexpected::new(format!("a record of type {kind}"), expected).into())
            }
        }
    }

    fn assumes(&self) -> Option<String> {
        self.sectors
            .is_empty()
            .then(|| "the header gives no size of sectors: taken as 512 bytes".to_owned())
    }
}

impl Srt {
    fn request(&self, record: Numbers) -> Result<Request, Unexpected> {
        let micros = u64::from(record.u32(8)) * 1_000_000 + u64::from(record.u32(12));
        let arrival_ns = binary_time_ns(micros, 1000, "us")?;
        let volume = record.u32(32) >> 8 & 0xff;
        let sector = self.sector_bytes(volume)?;
        let (offset, len) =
            extent(u64::from(record.u32(28)), sector, u64::from(record.u32(24)), 1)?;
        let op = if record.u32(44) & 1 == 1 { Op::Read } else { Op::Write };
        Ok(Request { arrival_ns, offset, len, volume, op, fua: false })
    }

    fn sector_bytes(&self, disk: u32) -> Result<u64, Unexpected> {
        if let Some(bytes) = self.sectors.get(&disk) {
            return Ok(*bytes);
        }
        let mut sizes = self.sectors.values();
        match sizes.next() {
            None => Ok(512),
            Some(size) if sizes.all(|other| other == size) => Ok(*size),
            Some(_) => Err(Unexpected::new(
                format!("disk {disk}"),
                "a disk that the header describes, as disks have sectors of different sizes",
            )),
        }
    }
}

/// The `sectorsize` of each disk in the header's table `disks = { 0 -> { ... }, 1 -> { ... } };`.
fn sector_sizes(header: &str) -> BTreeMap<u32, u64> {
    let mut sizes = BTreeMap::new();
    let Some((_, table)) = header.split_once("disks") else { return sizes };
    let (mut depth, mut disk) = (0, None);
    for line in table.lines() {
        let line = line.trim();
        if depth == 1
            && let Some((number, _)) = line.split_once("->")
        {
            disk = number.trim().parse().ok();
        }
        if depth == 2
            && let Some(disk) = disk
            && let Some(value) = line.strip_prefix("sectorsize")
            && let Ok(bytes) = value.trim_matches([' ', '\t', '=', ',', ';']).parse::<u64>()
            && bytes.is_power_of_two()
            && bytes <= 1 << 16
        {
            sizes.insert(disk, bytes);
        }
        for byte in line.bytes() {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ => {}
            }
        }
        if depth <= 0 && line.contains('}') {
            break;
        }
    }
    sizes
}

fn sample(requests: &[Request]) -> Vec<u8> {
    let mut bytes =
        b"$$TR_IOREC-1.3\nversion = 1.3;\ndisks = {\n0 -> {\nsectorsize = 512,\n},\n};\n\x0c"
            .to_vec();
    for request in requests {
        let (second, micro) =
            (request.arrival_ns / 1_000_000_000, request.arrival_ns / 1000 % 1_000_000);
        let (len, sector) = (request.len as u32, (request.offset / 512) as u32);
        let read = u32::from(request.op == Op::Read);
        let numbers = [
            56,
            4 << 16 | 1,
            second as u32,
            micro as u32,
            0,
            900,
            len,
            sector,
            8 << 24,
            4,
            0,
            read,
            0,
            1,
        ];
        bytes.extend(numbers.iter().flat_map(|number: &u32| number.to_be_bytes()));
    }
    bytes
}

fn recognise(sample: &Sample) -> Option<Guess> {
    sample.bytes().starts_with(MAGIC).then(|| Guess::Settled {
        format: "srt",
        evidence: "its first line begins with $$TR_IOREC".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{read, requests};
    use super::*;

    /// A header whose disks have sectors of these sizes.
    fn header(sectors: &[(u32, &str)]) -> Vec<u8> {
        let disk = |(number, size): &(u32, &str)| {
            format!(
                "\t{number} -> {{\n\tadaptor = 1 -> {{ scsi, 5 }},\n\tsectorsize  = \
                 {size},\n\tsections = {{\n\t8 -> {{ \"/\", size = (1 2) }},\n\t\t}}\n\t}},\n"
            )
        };
        let disks: String = sectors.iter().map(disk).collect();
        format!("$$TR_IOREC-1.3 (made)\0\nversion = 1.3;\ndisks = {{\n{disks}\t}};\n\x0c")
            .into_bytes()
    }

    fn record(
        version: u32,
        kind: u32,
        time: (u32, u32),
        sector: u32,
        device: u32,
        flags: u32,
    ) -> Vec<u8> {
        let mut numbers = vec![
            0,
            version << 16 | kind,
            time.0,
            time.1,
            1,
            2,
            2048,
            sector,
            device,
            4,
            0,
            flags,
            0,
        ];
        if version == 4 {
            numbers.push(1);
        }
        if kind == SUSPECT {
            numbers.push(0);
        }
        numbers[0] = 4 * numbers.len() as u32;
        numbers.iter().flat_map(|number: &u32| number.to_be_bytes()).collect()
    }

    fn request(arrival_ns: u64, volume: u32, offset: u64, op: Op) -> Request {
        Request { arrival_ns, offset, len: 2048, volume, op, fua: false }
    }

    #[test]
    fn each_disk_has_its_own_sectors() {
        let bytes = [
            header(&[(0, "256"), (3, "512")]),
            record(4, REQUEST, (0, 22_479), 100, 0x0800_0007, 0x1b),
            record(3, REQUEST, (7, 1), 100, 0x0800_0307, 0x108),
        ]
        .concat();
        let expected = [
            request(22_479_000, 0, 100 * 256, Op::Read),
            request(7_000_001_000, 3, 100 * 512, Op::Write),
        ];
        assert_eq!(requests("srt", &bytes), expected);
    }

    #[test]
    fn a_disk_that_the_header_leaves_out_is_like_the_others() {
        let one = record(4, REQUEST, (0, 0), 100, 0x0800_0907, 1);
        let offset =
            |sectors: &[(u32, &str)]| read("srt", &[header(sectors), one.clone()].concat());
        assert_eq!(
            offset(&[(0, "256"), (1, "256")]).0,
            [Line::Request(request(0, 9, 25_600, Op::Read))]
        );
        assert_eq!(offset(&[]).0, [Line::Request(request(0, 9, 51_200, Op::Read))]);
        assert_eq!(offset(&[(0, "odd")]).0, [Line::Request(request(0, 9, 51_200, Op::Read))]);
        let error = offset(&[(0, "256"), (1, "512")]).1.unwrap();
        assert!(
            error.contains("found disk 9, expected a disk that the header describes"),
            "{error}"
        );
    }

    #[test]
    fn suspect_requests_are_counted() {
        let bytes =
            [header(&[]), record(4, SUSPECT, (0, 0), 1, 0, 1), record(4, REQUEST, (0, 0), 1, 0, 1)]
                .concat();
        let (lines, error) = read("srt", &bytes);
        assert_eq!(lines[0], Line::Other("requests marked as suspect"));
        assert_eq!((lines.len(), error), (2, None));
    }

    #[test]
    fn says_what_is_wrong() {
        let good = record(4, REQUEST, (0, 0), 1, 0, 1);
        let mut short = good.clone();
        short[3] = 12;
        let head = header(&[]);
        let at = head.len() + 56;
        for (bad, part) in [
            (
                short,
                format!(
                    "record 2 at byte {at}: found a record of 12 bytes, expected 52 to 256 bytes"
                ),
            ),
            (
                record(4, 9, (0, 0), 1, 0, 1),
                format!("record 2 at byte {at}: found a record of type 9"),
            ),
            (
                good[..51].to_vec(),
                format!("found 51 bytes from byte {at} to the end of the file, expected 52"),
            ),
            (good[..54].to_vec(), format!("found 2 bytes from byte {} to the end", at + 52)),
        ] {
            let (lines, error) = read("srt", &[head.clone(), good.clone(), bad].concat());
            assert_eq!(lines.len(), 1);
            let error = error.unwrap();
            assert!(error.contains(&part), "{error}");
        }
    }

    #[test]
    fn headers_are_checked() {
        for (bytes, part) in [
            (
                b"".to_vec(),
                "header at byte 0: found other first bytes, expected a header that begins with \
                 $$TR_IOREC",
            ),
            (
                b"$$TR_IOREC-1.3\nand on".to_vec(),
                "header at byte 0: found the end of the file after 21 bytes",
            ),
            (
                [b"$$TR_IOREC".to_vec(), vec![b'x'; MAX_HEADER]].concat(),
                "found no end within 1048576 bytes",
            ),
        ] {
            let error = read("srt", &bytes).1.unwrap();
            assert!(error.contains(part), "{error}");
        }
    }
}
