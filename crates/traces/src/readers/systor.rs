//! The csv files of the SYSTOR '17 traces of a virtual desktop infrastructure.

use eraseblock_core::host::{Op, Request};

use super::fields::{TimeUnit, comma, extent, time_ns, trimmed, whole};
use super::sample::{either, lines};
use super::{
    Disorder, Family, Format, Guess, Line, LineParser, Reads, Sample, Unexpected, mostly, quote,
};

const COLUMNS: &str = "Timestamp,Response,IOType,LUN,Offset,Size";

pub(super) static FAMILY: Family = Family {
    formats: &[Format {
        name: "systor",
        title: "SYSTOR '17 csv (virtual desktops)",
        columns: COLUMNS,
        units: "timestamp (when the request was issued) and response in s, IOType R, W or blank \
            (no answer seen: counted, not replayed), LUN = volume, offset and size in bytes",
        recognised_by: "its header, or six comma-separated fields: two times, R, W or nothing, \
            three whole numbers",
        reference: "Lee et al., Understanding storage traffic characteristics on enterprise \
            virtual desktop infrastructure, SYSTOR 2017; SNIA IOTTA, README of the traces",
        extensions: &["systor"],
        disorder: Disorder::Sorted,
        reads: Reads::Lines(|| Box::new(Systor)),
        sample: |requests| {
            lines(COLUMNS, requests, |request| {
                let Request { arrival_ns, offset, len, .. } = request;
                let time = TimeUnit::Seconds.text(*arrival_ns);
                format!("{time},0.000812,{},0,{offset},{len}", either(request, "R", "W"))
            })
        },
    }],
    recognise,
};

struct Systor;

impl LineParser for Systor {
    fn line(&mut self, line: &str) -> Result<Line, Unexpected> {
        if trimmed(line).is_empty() {
            return Ok(Line::Other("blank lines"));
        }
        if line.trim() == COLUMNS {
            return Ok(Line::Other("header lines"));
        }
        let [time, _, kind, lun, offset, size] = comma(line, COLUMNS)?;
        let op = match kind {
            "R" => Op::Read,
            "W" => Op::Write,
            "" => return Ok(Line::Other("requests without an answer")),
            other => {
                return Err(Unexpected::new(format!("IOType {}", quote(other)), "R, W or nothing"));
            }
        };
        let arrival_ns = time_ns(time, TimeUnit::Seconds)?;
        let volume = whole(lun, "the LUN")?;
        let (offset, len) = extent(whole(offset, "the offset")?, 1, whole(size, "the size")?, 1)?;
        Ok(Line::Request(Request { arrival_ns, offset, len, volume, op, fua: false }))
    }

    fn missing(&self) -> &'static str {
        "lines of IOType R or W"
    }
}

fn recognise(sample: &Sample) -> Option<Guess> {
    let settled = |evidence: String| Some(Guess::Settled { format: "systor", evidence });
    if sample.filled().next() == Some(COLUMNS) {
        return settled(format!("the header `{COLUMNS}`"));
    }
    let like_systor = |line: &str| {
        comma::<6>(line, COLUMNS).is_ok_and(|[time, response, kind, lun, offset, size]| {
            matches!(kind, "R" | "W" | "")
                && time_ns(time, TimeUnit::Seconds).is_ok()
                && (response.is_empty() || time_ns(response, TimeUnit::Seconds).is_ok())
                && [lun, offset, size].iter().all(|number| whole::<u64>(number, "").is_ok())
        }) && line.split(',').count() == 6
    };
    mostly(sample, like_systor)
        .then(|| {
            settled(
                "six comma-separated fields: two times, R, W or nothing, three whole numbers"
                    .to_owned(),
            )
        })
        .flatten()
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
                "1456135201.250317000,0.000812000,R,3,8589934592,32768",
                request(1_456_135_201_250_317_000, 3, Op::Read, 8 << 30, 32768),
            ),
            ("12.5,,W,0,0,512", request(12_500_000_000, 0, Op::Write, 0, 512)),
            (
                "1456135201.250317000,,,3,8589934592,32768",
                Ok(Line::Other("requests without an answer")),
            ),
            (" ", Ok(Line::Other("blank lines"))),
        ] {
            assert_eq!(Systor.line(line), answer, "{line}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (line, found, expected) in [
            ("1.5,0.1,R,0,512", "5 of the 6 fields in `1.5,0.1,R,0,512`", COLUMNS),
            ("1.5,0.1,X,0,512,512", "IOType `X`", "R, W or nothing"),
            ("-1.5,0.1,R,0,512,512", "time `-1.5`", "a time in s such as 12.5"),
            ("99999999999,0.1,R,0,512,512", "time `99999999999`", "a time in s below 2^63 ns"),
            ("1.5,0.1,R,a,512,512", "`a`", "the LUN, a whole number"),
            ("1.5,0.1,R,0,-512,512", "`-512`", "the offset, a whole number"),
            ("1.5,0.1,R,0,512,5.5", "`5.5`", "the size, a whole number"),
            (
                "1.5,0.1,R,0,1152921504606846976,1",
                "byte 1152921504606846976 with length 1",
                "a request that ends below 1 EiB; is this another format?",
            ),
        ] {
            assert_eq!(Systor.line(line), Err(Unexpected::new(found, expected)), "{line}");
        }
    }
}
