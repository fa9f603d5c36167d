//! The csv files of the MSR Cambridge traces.

use eraseblock_core::host::{Op, Request};

use super::fields::{comma, extent, whole};
use super::names::Names;
use super::sample::{either, lines};
use super::{
    Disorder, Family, Format, Guess, Line, LineParser, Reads, Sample, Unexpected, mostly, quote,
};

const COLUMNS: &str = "Timestamp,Hostname,DiskNumber,Type,Offset,Size[,ResponseTime]";

pub(super) static FAMILY: Family = Family {
    formats: &[Format {
        name: "msr",
        title: "MSR Cambridge csv",
        columns: COLUMNS,
        units: "timestamp in 100 ns since 1601 (Windows filetime) or since the start, type Read or \
            Write, offset and size in bytes; a number and a blank may stand before each line; \
            volume = disk number, plus 65536 for each host seen before this one's",
        recognised_by: "six or more comma-separated fields, the fourth Read or Write",
        reference: "Narayanan et al., Write off-loading, FAST 2008; SNIA IOTTA, MSR Cambridge \
            Traces, README",
        extensions: &["msr"],
        disorder: Disorder::None,
        reads: Reads::Lines(|| Box::new(Msr::default())),
        sample: |requests| {
            lines("", requests, |request| {
                let Request { arrival_ns, offset, len, .. } = request;
                let (ticks, kind) = (arrival_ns / 100, either(request, "Read", "Write"));
                format!("{},made,0,{kind},{offset},{len},900", 128_166_372_000_000_000 + ticks)
            })
        },
    }],
    recognise,
};

/// 1970 as a Windows filetime.
const UNIX_EPOCH: u64 = 116_444_736_000_000_000;

/// Volumes per host.
const DISKS: u32 = 1 << 16;

#[derive(Default)]
struct Msr {
    /// The filetime from which this file's times are counted, so that they fit 63 bits of ns.
    origin: Option<u64>,
    hosts: Names,
}

impl LineParser for Msr {
    fn line(&mut self, line: &str) -> Result<Line, Unexpected> {
        let line = without_index(line);
        if line.is_empty() {
            return Ok(Line::Other("blank lines"));
        }
        if names_columns(line) {
            return Ok(Line::Other("header lines"));
        }
        let [time, host, disk, kind, offset, size] = comma(line, COLUMNS)?;
        let ticks: u64 = whole(time, "the timestamp")?;
        let origin = *self.origin.get_or_insert(if ticks < UNIX_EPOCH { 0 } else { UNIX_EPOCH });
        let ns = ticks.checked_sub(origin).and_then(|ticks| ticks.checked_mul(100));
        let Some(arrival_ns) = ns.filter(|&ns| i64::try_from(ns).is_ok()) else {
            return Err(Unexpected::new(
                format!("timestamp {}", quote(time)),
                if origin == 0 {
                    "less than 292 years in 100 ns"
                } else {
                    "a Windows filetime between 1970 and 2262, as on the first line"
                },
            ));
        };
        let disk: u32 = whole(disk, "the disk number")?;
        if disk >= DISKS {
            return Err(Unexpected::new(format!("disk number {disk}"), "one below 65536"));
        }
        let Some(volume) = self.hosts.add(host).checked_mul(DISKS).map(|base| base + disk) else {
            return Err(Unexpected::new(
                "more than 65536 hosts",
                "fewer; is this column the hostname?",
            ));
        };
        let Some(op) = operation(kind) else {
            return Err(Unexpected::new(format!("type {}", quote(kind)), "Read or Write"));
        };
        let (offset, len) = extent(whole(offset, "the offset")?, 1, whole(size, "the size")?, 1)?;
        Ok(Line::Request(Request { arrival_ns, offset, len, volume, op, fua: false }))
    }
}

fn operation(text: &str) -> Option<Op> {
    if text.eq_ignore_ascii_case("read") {
        Some(Op::Read)
    } else if text.eq_ignore_ascii_case("write") {
        Some(Op::Write)
    } else {
        None
    }
}

/// The line without a running number and a blank, which some collections put before it.
fn without_index(line: &str) -> &str {
    let line = line.trim();
    match line.split_once([' ', '\t']) {
        Some((index, rest)) if index.bytes().all(|byte| byte.is_ascii_digit()) => rest.trim_start(),
        _ => line,
    }
}

fn names_columns(line: &str) -> bool {
    line.get(..10).is_some_and(|start| start.eq_ignore_ascii_case("timestamp,"))
        && line.split(',').nth(3).is_some_and(|name| name.trim().eq_ignore_ascii_case("type"))
}

fn recognise(sample: &Sample) -> Option<Guess> {
    let like_msr = |line: &str| {
        comma::<6>(without_index(line), COLUMNS).is_ok_and(|[time, _, disk, kind, _, _]| {
            operation(kind).is_some()
                && whole::<u64>(time, "").is_ok()
                && whole::<u64>(disk, "").is_ok()
        })
    };
    mostly(sample, like_msr).then(|| Guess::Settled {
        format: "msr",
        evidence:
            "lines of comma-separated fields: a whole number, a host, a disk, then Read or Write"
                .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Result<Vec<Line>, Unexpected> {
        let mut parser = Msr::default();
        lines.iter().map(|line| parser.line(line)).collect()
    }

    fn request(arrival_ns: u64, volume: u32, op: Op, offset: u64, len: u64) -> Line {
        Line::Request(Request { arrival_ns, offset, len, volume, op, fua: false })
    }

    #[test]
    fn reads_requests() {
        let lines = [
            "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
            "128166372000000017,web,2,Read,7014609920,24576,41286",
            "",
            "128166372000000042,web,2,write,1024,512",
        ];
        let start_ns = (128_166_372_000_000_000 - UNIX_EPOCH) * 100;
        assert_eq!(
            read(&lines).unwrap(),
            [
                Line::Other("header lines"),
                request(start_ns + 1700, 2, Op::Read, 7_014_609_920, 24576),
                Line::Other("blank lines"),
                request(start_ns + 4200, 2, Op::Write, 1024, 512),
            ]
        );
        let shifted = ["0 5,web,0,Read,0,512,1", "1\t9,web,0,Read,0,512,1"];
        let both = [request(500, 0, Op::Read, 0, 512), request(900, 0, Op::Read, 0, 512)];
        assert_eq!(read(&shifted).unwrap(), both);
    }

    #[test]
    fn disks_of_different_hosts_are_different_volumes() {
        let lines = [
            "1,web,1,Read,0,1,0",
            "2,proj,1,Read,0,1,0",
            "3,web,0,Read,0,1,0",
            "4,proj,3,Read,0,1,0",
        ];
        let volumes: Vec<_> = read(&lines)
            .unwrap()
            .into_iter()
            .map(|line| if let Line::Request(request) = line { request.volume } else { u32::MAX })
            .collect();
        assert_eq!(volumes, [1, 65537, 0, 65539]);
    }

    #[test]
    fn says_what_is_wrong() {
        for (line, found, expected) in [
            ("1,web,0,Read,0", "5 of the 6 fields in `1,web,0,Read,0`", COLUMNS),
            ("-1,web,0,Read,0,512,1", "`-1`", "the timestamp, a whole number"),
            ("1,web,x,Read,0,512,1", "`x`", "the disk number, a whole number"),
            ("1,web,65536,Read,0,512,1", "disk number 65536", "one below 65536"),
            ("1,web,0,Reed,0,512,1", "type `Reed`", "Read or Write"),
            ("1,web,0,Read,-8,512,1", "`-8`", "the offset, a whole number"),
            ("1,web,0,Read,0,,1", "``", "the size, a whole number"),
            (
                "99999999999999999,web,0,Read,0,512,1",
                "timestamp `99999999999999999`",
                "less than 292 years in 100 ns",
            ),
            (
                "1,web,0,Read,18446744073709551615,512,1",
                "byte 18446744073709551615 with length 512",
                "a request that ends below 1 EiB; is this another format?",
            ),
        ] {
            assert_eq!(read(&[line]), Err(Unexpected::new(found, expected)), "{line}");
        }
        let error =
            read(&["128166372000000017,web,2,Read,0,512,1", "17,web,2,Read,0,512,1"]).unwrap_err();
        let expected = "a Windows filetime between 1970 and 2262, as on the first line";
        assert_eq!(error, Unexpected::new("timestamp `17`", expected));
    }
}
