//! The csv files of Alibaba's block traces.

use eraseblock_core::host::{Op, Request};

use super::fields::{TimeUnit, comma, extent, time_ns, trimmed, whole};
use super::sample::{either, lines};
use super::{
    Disorder, Family, Format, Guess, Line, LineParser, Reads, Sample, Unexpected, mostly, quote,
};

const COLUMNS: &str = "device_id,opcode,offset,length,timestamp";

pub(super) static FAMILY: Family = Family {
    formats: &[Format {
        name: "alibaba",
        title: "Alibaba block traces",
        columns: COLUMNS,
        units: "device = volume, opcode R or W, offset and length in bytes, time in us",
        recognised_by: "five comma-separated fields, the second R or W, the others whole numbers",
        reference: "Li et al., An in-depth analysis of cloud block storage workloads in \
            large-scale production, IISWC 2020; the traces' README",
        extensions: &["alibaba"],
        disorder: Disorder::None,
        reads: Reads::Lines(|| Box::new(Alibaba)),
        sample: |requests| {
            lines("", requests, |request| {
                let Request { arrival_ns, offset, len, .. } = request;
                format!("0,{},{offset},{len},{}", either(request, "R", "W"), arrival_ns / 1000)
            })
        },
    }],
    recognise,
};

struct Alibaba;

impl LineParser for Alibaba {
    fn line(&mut self, line: &str) -> Result<Line, Unexpected> {
        if trimmed(line).is_empty() {
            return Ok(Line::Other("blank lines"));
        }
        if line.trim() == COLUMNS {
            return Ok(Line::Other("header lines"));
        }
        let [device, opcode, offset, length, time] = comma(line, COLUMNS)?;
        let volume = whole(device, "the device")?;
        let op = match opcode {
            "R" => Op::Read,
            "W" => Op::Write,
            other => return Err(Unexpected::new(format!("opcode {}", quote(other)), "R or W")),
        };
        let (offset, len) =
            extent(whole(offset, "the offset")?, 1, whole(length, "the length")?, 1)?;
        let arrival_ns = time_ns(time, TimeUnit::Micros)?;
        Ok(Line::Request(Request { arrival_ns, offset, len, volume, op, fua: false }))
    }
}

fn recognise(sample: &Sample) -> Option<Guess> {
    let like_alibaba = |line: &str| {
        comma::<5>(line, COLUMNS).is_ok_and(|[device, opcode, offset, length, time]| {
            matches!(opcode, "R" | "W")
                && [device, offset, length, time]
                    .iter()
                    .all(|number| whole::<u64>(number, "").is_ok())
        })
    };
    mostly(sample, like_alibaba).then(|| Guess::Settled {
        format: "alibaba",
        evidence: "five comma-separated fields, the second R or W, the others whole numbers"
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
                "81,W,64424509440,16384,1577808000000317",
                request(1_577_808_000_000_317_000, 81, Op::Write, 60 << 30, 16384),
            ),
            ("0,R,0,512,5", request(5000, 0, Op::Read, 0, 512)),
            ("", Ok(Line::Other("blank lines"))),
        ] {
            assert_eq!(Alibaba.line(line), answer, "{line}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (line, found, expected) in [
            ("81,W,0,512", "4 of the 5 fields in `81,W,0,512`", COLUMNS),
            ("81,w,0,512,5", "opcode `w`", "R or W"),
            ("x,W,0,512,5", "`x`", "the device, a whole number"),
            ("4294967296,W,0,512,5", "`4294967296`", "the device, a smaller number"),
            ("81,W,-1,512,5", "`-1`", "the offset, a whole number"),
            ("81,W,0,,5", "``", "the length, a whole number"),
            ("81,W,0,512,-5", "time `-5`", "a time in us such as 12.5"),
            (
                "81,W,0,512,9223372036854776",
                "time `9223372036854776`",
                "a time in us below 2^63 ns",
            ),
            (
                "81,W,18446744073709551615,1,5",
                "byte 18446744073709551615 with length 1",
                "a request that ends below 1 EiB; is this another format?",
            ),
        ] {
            assert_eq!(Alibaba.line(line), Err(Unexpected::new(found, expected)), "{line}");
        }
    }
}
