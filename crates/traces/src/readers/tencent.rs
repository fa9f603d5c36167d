//! The csv files of Tencent's block storage traces.

use eraseblock_core::host::{Op, Request};

use super::fields::{TimeUnit, comma, extent, time_ns, trimmed, whole};
use super::sample::{either, lines};
use super::{
    Disorder, Family, Format, Guess, Line, LineParser, Reads, Sample, Unexpected, mostly, quote,
};

const COLUMNS: &str = "Timestamp,Offset,Size,IOType,VolumeID";

pub(super) static FAMILY: Family = Family {
    formats: &[Format {
        name: "tencent",
        title: "Tencent cloud block storage traces",
        columns: COLUMNS,
        units: "time in s since 1970 (whole seconds: many requests arrive together), offset and \
            size in 512-byte sectors, IOType 0 = read, 1 = write, volume",
        recognised_by: "five whole numbers between commas, the first a time between 2001 and 2286, \
            the fourth 0 or 1",
        reference: "Zhang et al., OSCA, USENIX ATC 2020; SNIA IOTTA, Tencent Block Storage Traces, \
            README",
        extensions: &["tencent"],
        disorder: Disorder::None,
        reads: Reads::Lines(|| Box::new(Tencent)),
        sample: |requests| {
            lines("", requests, |request| {
                let Request { arrival_ns, offset, len, .. } = request;
                let (seconds, kind) =
                    (1_538_323_200 + arrival_ns / 1_000_000_000, either(request, "0", "1"));
                format!("{seconds},{},{},{kind},0", offset / 512, len / 512)
            })
        },
    }],
    recognise,
};

struct Tencent;

impl LineParser for Tencent {
    fn line(&mut self, line: &str) -> Result<Line, Unexpected> {
        if trimmed(line).is_empty() {
            return Ok(Line::Other("blank lines"));
        }
        if line.trim() == COLUMNS {
            return Ok(Line::Other("header lines"));
        }
        let [time, offset, size, kind, volume] = comma(line, COLUMNS)?;
        let arrival_ns = time_ns(time, TimeUnit::Seconds)?;
        let (offset, len) =
            extent(whole(offset, "the offset")?, 512, whole(size, "the size")?, 512)?;
        let op = match kind {
            "0" => Op::Read,
            "1" => Op::Write,
            other => {
                return Err(Unexpected::new(
                    format!("IOType {}", quote(other)),
                    "0 (read) or 1 (write)",
                ));
            }
        };
        let volume = whole(volume, "the volume")?;
        Ok(Line::Request(Request { arrival_ns, offset, len, volume, op, fua: false }))
    }
}

fn recognise(sample: &Sample) -> Option<Guess> {
    let like_tencent = |line: &str| {
        comma::<5>(line, COLUMNS).is_ok_and(|[time, offset, size, kind, volume]| {
            matches!(kind, "0" | "1")
                && whole::<u64>(time, "")
                    .is_ok_and(|time| (1_000_000_000..10_000_000_000).contains(&time))
                && [offset, size, volume].iter().all(|number| whole::<u64>(number, "").is_ok())
        })
    };
    mostly(sample, like_tencent).then(|| Guess::Settled {
        format: "tencent",
        evidence:
            "five whole numbers between commas, the first a time in s since 1970, the fourth 0 or 1"
                .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_requests() {
        let request = |arrival_ns, volume, op, offset, len| {
            Ok(Line::Request(Request { arrival_ns, offset, len, volume, op, fua: false }))
        };
        for (line, answer) in [
            (COLUMNS, Ok(Line::Other("header lines"))),
            (
                "1538323207,2048,16,0,1283",
                request(1_538_323_207_000_000_000, 1283, Op::Read, 1 << 20, 8192),
            ),
            (
                "1538323207,8,1,1,1283",
                request(1_538_323_207_000_000_000, 1283, Op::Write, 4096, 512),
            ),
            ("", Ok(Line::Other("blank lines"))),
        ] {
            assert_eq!(Tencent.line(line), answer, "{line}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (line, found, expected) in [
            ("1538323207,8,1,1", "4 of the 5 fields in `1538323207,8,1,1`", COLUMNS),
            ("1538323207,8,1,2,5", "IOType `2`", "0 (read) or 1 (write)"),
            ("1538323207,8,1,W,5", "IOType `W`", "0 (read) or 1 (write)"),
            ("-1,8,1,1,5", "time `-1`", "a time in s such as 12.5"),
            ("9223372037,8,1,1,5", "time `9223372037`", "a time in s below 2^63 ns"),
            ("1538323207,-8,1,1,5", "`-8`", "the offset, a whole number"),
            ("1538323207,8,,1,5", "``", "the size, a whole number"),
            ("1538323207,8,1,1,vol", "`vol`", "the volume, a whole number"),
            (
                "1538323207,36028797018963968,1,1,5",
                "sector 36028797018963968 with length 1",
                "a request that ends below 1 EiB; is this another format?",
            ),
        ] {
            assert_eq!(Tencent.line(line), Err(Unexpected::new(found, expected)), "{line}");
        }
    }
}
