//! Traces of virtual machines as csv: vscsi records written as text.

use eraseblock_core::host::{Op, Request};

use super::fields::{TimeUnit, comma, extent, time_ns, trimmed, whole};
use super::sample::{either, lines};
use super::{
    Disorder, Family, Format, Guess, Line, LineParser, Reads, Sample, Unexpected, mostly, quote,
    scsi,
};

const COLUMNS: &str = "version,time,op,size,lbn";

pub(super) static FAMILY: Family = Family {
    formats: &[Format {
        name: "cloudphysics",
        title: "CloudPhysics csv (vscsi records as text)",
        columns: COLUMNS,
        units: "time in s (whole seconds: many requests arrive together), op = SCSI operation code \
            in hexadecimal (28 and 88 read, 2a and 8a write, 35 and 91 flush; others are counted, \
            not replayed), size in bytes, lbn in 512-byte sectors",
        recognised_by: "its header, or five comma-separated fields: 1 or 2, a time, a SCSI code of \
            a read or write, two whole numbers",
        reference: "Waldspurger et al., SHARDS, FAST 2015; libCacheSim's data folder",
        extensions: &["cloudphysics"],
        disorder: Disorder::None,
        reads: Reads::Lines(|| Box::new(CloudPhysics)),
        sample: |requests| {
            lines(COLUMNS, requests, |request| {
                let Request { arrival_ns, offset, len, .. } = request;
                let code = either(request, "28", "2a");
                format!("1,{},{code},{len},{}", arrival_ns / 1_000_000_000, offset / 512)
            })
        },
    }],
    recognise,
};

struct CloudPhysics;

impl LineParser for CloudPhysics {
    fn line(&mut self, line: &str) -> Result<Line, Unexpected> {
        if trimmed(line).is_empty() {
            return Ok(Line::Other("blank lines"));
        }
        if line.trim() == COLUMNS {
            return Ok(Line::Other("header lines"));
        }
        let [version, time, code, size, lbn] = comma(line, COLUMNS)?;
        if !matches!(version, "1" | "2") {
            return Err(Unexpected::new(format!("version {}", quote(version)), "1 or 2"));
        }
        let arrival_ns = time_ns(time, TimeUnit::Seconds)?;
        let Some(code) = scsi_code(code) else {
            return Err(Unexpected::new(
                format!("op {}", quote(code)),
                "a SCSI operation code of two hexadecimal digits, such as 2a",
            ));
        };
        let Some(op) = scsi::operation(code) else { return Ok(Line::Other("other SCSI commands")) };
        let (mut offset, mut len) = (0, 0);
        if op != Op::Flush {
            (offset, len) = extent(whole(lbn, "the lbn")?, 512, whole(size, "the size")?, 1)?;
        }
        Ok(Line::Request(Request { arrival_ns, offset, len, volume: 0, op, fua: false }))
    }
}

fn scsi_code(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let plain = !digits.is_empty()
        && digits.len() <= 2
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if plain { u8::from_str_radix(digits, 16).ok() } else { None }
}

fn recognise(sample: &Sample) -> Option<Guess> {
    let settled = |evidence: String| Some(Guess::Settled { format: "cloudphysics", evidence });
    if sample.filled().next() == Some(COLUMNS) {
        return settled(format!("the header `{COLUMNS}`"));
    }
    let like_cloudphysics = |line: &str| {
        comma::<5>(line, COLUMNS).is_ok_and(|[version, time, code, size, lbn]| {
            matches!(version, "1" | "2")
                && time_ns(time, TimeUnit::Seconds).is_ok()
                && matches!(scsi_code(code).and_then(scsi::operation), Some(Op::Read | Op::Write))
                && [size, lbn].iter().all(|number| whole::<u64>(number, "").is_ok())
        })
    };
    mostly(sample, like_cloudphysics)
        .then(|| {
            settled(
                "five comma-separated fields: 1 or 2, a time, a SCSI code of a read or write, two \
                 numbers"
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
        let request = |arrival_ns, op, offset, len| {
            Ok(Line::Request(Request { arrival_ns, offset, len, volume: 0, op, fua: false }))
        };
        for (line, answer) in [
            (COLUMNS, Ok(Line::Other("header lines"))),
            ("1,731,28,65536,2048", request(731_000_000_000, Op::Read, 1 << 20, 65536)),
            ("2,731.5,8A,512,8", request(731_500_000_000, Op::Write, 4096, 512)),
            ("1,732,0x35,0,0", request(732_000_000_000, Op::Flush, 0, 0)),
            ("1,732,12,36,0", Ok(Line::Other("other SCSI commands"))),
            ("", Ok(Line::Other("blank lines"))),
        ] {
            assert_eq!(CloudPhysics.line(line), answer, "{line}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let codes = "a SCSI operation code of two hexadecimal digits, such as 2a";
        for (line, found, expected) in [
            ("1,731,28,512", "4 of the 5 fields in `1,731,28,512`", COLUMNS),
            ("3,731,28,512,8", "version `3`", "1 or 2"),
            ("1,731,read,512,8", "op `read`", codes),
            ("1,731,+2,512,8", "op `+2`", codes),
            ("1,731,,512,8", "op ``", codes),
            ("1,-731,28,512,8", "time `-731`", "a time in s such as 12.5"),
            ("1,9223372037,28,512,8", "time `9223372037`", "a time in s below 2^63 ns"),
            ("1,731,28,-512,8", "`-512`", "the size, a whole number"),
            ("1,731,28,512,", "``", "the lbn, a whole number"),
            (
                "1,731,28,512,36028797018963968",
                "sector 36028797018963968 with length 512",
                "a request that ends below 1 EiB; is this another format?",
            ),
        ] {
            assert_eq!(CloudPhysics.line(line), Err(Unexpected::new(found, expected)), "{line}");
        }
    }
}
