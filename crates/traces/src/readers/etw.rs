//! Disk events of Event Tracing for Windows, as xperf writes them as text.

use std::collections::BTreeSet;

use eraseblock_core::host::{Op, Request};

use super::fields::{TimeUnit, extent, time_ns, trimmed, whole};
use super::sample::{either, lines};
use super::{
    Disorder, Family, Format, Guess, Line, LineParser, Reads, Sample, Unexpected, mostly, quote,
};

pub(super) static FAMILY: Family = Family {
    formats: &[Format {
        name: "etw",
        title: "Event Tracing for Windows as text (Microsoft production servers, Exchange, TPC-C, \
            TPC-E)",
        columns: "DiskRead|DiskWrite, TimeStamp, Process (PID), ThreadID, IrpPtr, ByteOffset, \
            IOSize, ElapsedTime, DiskNum, ...",
        units: "time in us as it is written (ElapsedTime is not subtracted), ByteOffset and IOSize \
            in bytes, hexadecimal with 0x; DiskFlush is a flush; DiskNum = volume; columns as the \
            header block names them; other events are counted",
        recognised_by: "the header block from BeginHeader to EndHeader, or lines that begin with \
            DiskRead or DiskWrite",
        reference: "Kavalanekar et al., Characterization of storage workload traces from \
            production Windows servers, IISWC 2008; xperf's dumper action",
        extensions: &["etw"],
        disorder: Disorder::None,
        reads: Reads::Lines(|| Box::new(Etw::default())),
        sample: |requests| {
            lines("", requests, |request| {
                let Request { arrival_ns, offset, len, .. } = request;
                let event = either(request, "DiskRead", "DiskWrite");
                format!(
                    "{event}, {:10}, made.exe (1204), 992, 0xfffffa80, {offset:#014x}, \
                     {len:#010x}, 90, 0",
                    arrival_ns / 1000
                )
            })
        },
    }],
    recognise,
};

/// Where an event's line holds what is needed, by the count of the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    time: usize,
    /// The name and number of the process, `a, b.exe (12)`: there may be commas in it.
    process: Option<usize>,
    disk: usize,
    /// Byte offset and size; a flush has none.
    extent: Option<(usize, usize)>,
}

const TRANSFER: Layout = Layout { time: 1, process: Some(2), disk: 8, extent: Some((5, 6)) };
const FLUSH: Layout = Layout { time: 1, process: Some(2), disk: 6, extent: None };

struct Etw {
    in_header: bool,
    /// Names of the events in the header block; empty where there is none.
    events: BTreeSet<String>,
    read: Layout,
    write: Layout,
    flush: Layout,
}

impl Default for Etw {
    fn default() -> Self {
        Self {
            in_header: false,
            events: BTreeSet::new(),
            read: TRANSFER,
            write: TRANSFER,
            flush: FLUSH,
        }
    }
}

impl Etw {
    fn header(&mut self, event: &str, line: &str) -> Result<(), Unexpected> {
        match event {
            "DiskRead" => self.read = layout(line, true)?,
            "DiskWrite" => self.write = layout(line, true)?,
            "DiskFlush" => self.flush = layout(line, false)?,
            _ => {}
        }
        self.events.insert(event.to_owned());
        Ok(())
    }

    /// The name under which a line without a request is counted.
    fn other(&self, event: &str) -> Option<&'static str> {
        if matches!(event, "DiskReadInit" | "DiskWriteInit" | "DiskFlushInit") {
            return Some("starts of disk events");
        }
        if event.starts_with("OS Version:") {
            return Some("session lines");
        }
        let like_name = event.starts_with(|c: char| c.is_ascii_alphabetic())
            && event.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_/. ".contains(&byte));
        let known = if self.events.is_empty() { like_name } else { self.events.contains(event) };
        known.then_some("other events")
    }
}

impl LineParser for Etw {
    fn line(&mut self, line: &str) -> Result<Line, Unexpected> {
        let event = line.split(',').next().unwrap_or_default().trim();
        match event {
            "" if trimmed(line).is_empty() => return Ok(Line::Other("blank lines")),
            "BeginHeader" => self.in_header = true,
            "EndHeader" => self.in_header = false,
            _ if self.in_header => self.header(event, line)?,
            "DiskRead" => return request(line, Op::Read, self.read).map(Line::Request),
            "DiskWrite" => return request(line, Op::Write, self.write).map(Line::Request),
            "DiskFlush" => return request(line, Op::Flush, self.flush).map(Line::Request),
            _ => {
                return self.other(event).map(Line::Other).ok_or_else(|| {
                    Unexpected::new(
                        format!("event {}", quote(event)),
                        "DiskRead, DiskWrite, DiskFlush or another event of the header block",
                    )
                });
            }
        }
        Ok(Line::Other("header lines"))
    }

    fn missing(&self) -> &'static str {
        if self.in_header {
            "EndHeader, and lines that begin with DiskRead, DiskWrite or DiskFlush"
        } else {
            "lines that begin with DiskRead, DiskWrite or DiskFlush"
        }
    }
}

/// Reads a line of the header block that names an event's fields.
fn layout(line: &str, transfer: bool) -> Result<Layout, Unexpected> {
    let place = |name: &str| {
        line.split(',').position(|field| field.trim() == name).ok_or_else(|| {
            Unexpected::new(
                format!("no {name} in {}", quote(line.trim())),
                "a header that names it",
            )
        })
    };
    let extent = if transfer { Some((place("ByteOffset")?, place("IOSize")?)) } else { None };
    let process = line.split(',').position(|field| field.trim().starts_with("Process Name"));
    Ok(Layout { time: place("TimeStamp")?, process, disk: place("DiskNum")?, extent })
}

fn request(line: &str, op: Op, layout: Layout) -> Result<Request, Unexpected> {
    let (mut time, mut disk, mut offset, mut size) = (None, None, None, None);
    let process = layout.process.unwrap_or(usize::MAX);
    // Fields that belong to the process's name.
    let mut more = line.split(',').skip(process).position(names_process).unwrap_or_default();
    let mut place = 0;
    for field in line.split(',') {
        if place == process && more > 0 {
            more -= 1;
            continue;
        }
        if place == layout.time {
            time = Some(field.trim());
        } else if place == layout.disk {
            disk = Some(field.trim());
        } else if layout.extent.is_some_and(|(at, _)| place == at) {
            offset = Some(field.trim());
        } else if layout.extent.is_some_and(|(_, at)| place == at) {
            size = Some(field.trim());
        }
        place += 1;
    }
    let cut = || {
        let needed = layout
            .extent
            .map_or(0, |(offset, size)| offset.max(size))
            .max(layout.time)
            .max(layout.disk);
        Unexpected::new(
            format!("{} fields in {}", line.split(',').count(), quote(line.trim())),
            format!("at least {}, as the header names them", needed + 1),
        )
    };
    let (time, disk) = time.zip(disk).ok_or_else(cut)?;
    let arrival_ns = time_ns(time, TimeUnit::Micros)?;
    let volume = whole(disk, "DiskNum")?;
    let (mut first, mut len) = (0, 0);
    if layout.extent.is_some() {
        let (offset, size) = offset.zip(size).ok_or_else(cut)?;
        (first, len) =
            extent(hexadecimal(offset, "ByteOffset")?, 1, hexadecimal(size, "IOSize")?, 1)?;
    }
    Ok(Request { arrival_ns, offset: first, len, volume, op, fua: false })
}

/// Whether a field ends as the name of a process does: with its number, `( 1204)`.
fn names_process(field: &str) -> bool {
    let inner = field.trim_end().strip_suffix(')').and_then(|field| field.rsplit_once('('));
    inner.is_some_and(|(_, number)| number.trim().parse::<i64>().is_ok())
}

fn hexadecimal(text: &str, name: &str) -> Result<u64, Unexpected> {
    text.strip_prefix("0x")
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .ok_or_else(|| {
            Unexpected::new(
                format!("{name} {}", quote(text)),
                "a hexadecimal number such as 0x00001000",
            )
        })
}

fn recognise(sample: &Sample) -> Option<Guess> {
    let settled =
        |evidence: &str| Some(Guess::Settled { format: "etw", evidence: evidence.to_owned() });
    if sample.filled().next() == Some("BeginHeader") {
        return settled("the first line is `BeginHeader`");
    }
    let like_event = |line: &str| {
        let event = line.split(',').next().unwrap_or_default();
        matches!(event, "DiskRead" | "DiskWrite" | "DiskReadInit" | "DiskWriteInit")
            && line.contains(", ")
    };
    mostly(sample, like_event)
        .then(|| settled("lines that begin with DiskRead or DiskWrite"))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &[&str] = &[
        "BeginHeader",
        "            DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             \
         IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  \
         VolSnap,         FileObject, FileName",
        "           DiskWrite,  TimeStamp,     Process Name ( PID),   ThreadID,             \
         IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  \
         VolSnap,         FileObject, FileName",
        "        DiskReadInit,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr",
        "           DiskFlush,  TimeStamp,     Process Name ( PID),   ThreadID,             \
         IrpPtr,                           ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri",
        "             Hard-Er,  TimeStamp",
        "EndHeader",
    ];

    fn read(header: &[&str], lines: &[&str]) -> Result<Vec<Line>, Unexpected> {
        let mut parser = Etw::default();
        for line in header {
            assert_eq!(parser.line(line)?, Line::Other("header lines"), "{line}");
        }
        lines.iter().map(|line| parser.line(line)).collect()
    }

    fn request(arrival_ns: u64, volume: u32, op: Op, offset: u64, len: u64) -> Line {
        Line::Request(Request { arrival_ns, offset, len, volume, op, fua: false })
    }

    const READ: &str = "            DiskRead,       5417,        mail.exe (1204),        992, \
        0xfffffa80123456a0, 0x00c8000000, 0x00002000,        1834,        2, 0x060043,        \
        1830,       3, Original, 0xfffffa8011112220, \"C:\\a, b\"";
    const WRITE: &str = "           DiskWrite,       5502,          System (   4),        112, \
        0xfffffa80123456b0, 0x0000001000, 0x00000200,         211,        3, 0x060a01,         \
        211,       3, Original, 0xfffffa8011112230, \"Unknown\"";
    const FLUSH: &str = "           DiskFlush,       5600,          System (   4),        112, \
        0xfffffa80123456c0,                             40,        2, 0x000404,          40,       \
        3";

    #[test]
    fn reads_requests_and_passes_over_other_events() {
        let lines = [
            "OS Version: 6.0.6001, Trace Size: 10240KB, Events Lost: 0, Trace start: \
             0x01c86f5a1b2c3d4e",
            "        DiskReadInit,       3583,        mail.exe (1204),        992, \
             0xfffffa80123456a0",
            READ,
            WRITE,
            FLUSH,
            "             Hard-Er,       5700",
            "",
        ];
        let expected = [
            Line::Other("session lines"),
            Line::Other("starts of disk events"),
            request(5_417_000, 2, Op::Read, 0xc800_0000, 8192),
            request(5_502_000, 3, Op::Write, 4096, 512),
            request(5_600_000, 2, Op::Flush, 0, 0),
            Line::Other("other events"),
            Line::Other("blank lines"),
        ];
        assert_eq!(read(HEADER, &lines).unwrap(), expected);
        // The same without a header block, where any name may be an event.
        assert_eq!(read(&[], &lines).unwrap(), expected);
    }

    #[test]
    fn a_process_may_have_commas_in_its_name() {
        let expected = [request(5_502_000, 3, Op::Write, 4096, 512)];
        for name in ["a, b.exe (   4)", "a, b (x86), c.exe (   4)", "Unknown (  -1)"] {
            let line = WRITE.replace("System (   4)", name);
            assert_eq!(read(&[], &[&line]).unwrap(), expected, "{name}");
            assert_eq!(read(HEADER, &[&line]).unwrap(), expected, "{name}");
        }
    }

    #[test]
    fn the_header_says_where_fields_are() {
        let header = HEADER
            .iter()
            .map(|line| line.replace("ThreadID,", "ThreadID, CPU,"))
            .collect::<Vec<_>>();
        let header: Vec<_> = header.iter().map(String::as_str).collect();
        let line = WRITE.replace("        112,", "        112,   1,");
        assert_eq!(read(&header, &[&line]).unwrap(), [request(5_502_000, 3, Op::Write, 4096, 512)]);
        let error =
            read(&["BeginHeader", "DiskRead, TimeStamp, IOSize, DiskNum"], &[]).unwrap_err();
        let found = "no ByteOffset in `DiskRead, TimeStamp, IOSize, DiskNum`";
        assert_eq!(error, Unexpected::new(found, "a header that names it"));
    }

    #[test]
    fn a_file_may_end_in_its_header() {
        let mut parser = Etw::default();
        assert_eq!(parser.missing(), "lines that begin with DiskRead, DiskWrite or DiskFlush");
        parser.line("BeginHeader").unwrap();
        assert!(parser.missing().starts_with("EndHeader, and lines"));
    }

    #[test]
    fn says_what_is_wrong() {
        let hexadecimal = "a hexadecimal number such as 0x00001000";
        for (line, found, expected) in [
            ("DiskRead, 5", "2 fields in `DiskRead, 5`", "at least 9, as the header names them"),
            (
                "DiskFlush, 5, x",
                "3 fields in `DiskFlush, 5, x`",
                "at least 7, as the header names them",
            ),
            (
                "DiskReed, 5",
                "event `DiskReed`",
                "DiskRead, DiskWrite, DiskFlush or another event of the header block",
            ),
            ("DiskRead, -5, p, 1, 0x0, 0x0, 0x200, 9, 0", "time `-5`", "a time in us such as 12.5"),
            (
                "DiskRead, 9223372036854776, p, 1, 0x0, 0x0, 0x200, 9, 0",
                "time `9223372036854776`",
                "a time in us below 2^63 ns",
            ),
            ("DiskRead, 5, p, 1, 0x0, 4096, 0x200, 9, 0", "ByteOffset `4096`", hexadecimal),
            ("DiskRead, 5, p, 1, 0x0, 0x0, 0x, 9, 0", "IOSize `0x`", hexadecimal),
            ("DiskRead, 5, p, 1, 0x0, 0x-1, 0x200, 9, 0", "ByteOffset `0x-1`", hexadecimal),
            ("DiskRead, 5, p, 1, 0x0, 0x0, 0x200, 9, C", "`C`", "DiskNum, a whole number"),
            (
                "DiskRead, 5, p, 1, 0x0, 0xffffffffffffffff, 0x200, 9, 0",
                "byte 18446744073709551615 with length 512",
                "a request that ends below 1 EiB; is this another format?",
            ),
        ] {
            assert_eq!(read(HEADER, &[line]), Err(Unexpected::new(found, expected)), "{line}");
        }
    }
}
