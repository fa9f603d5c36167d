//! SPC traces: the format of the well-known Financial and search-engine traces.

use eraseblock_core::host::{Op, Request};

use super::fields::{TimeUnit, comma, extent, time_ns, trimmed, whole};
use super::{
    Disorder, Family, Format, Guess, Line, LineParser, Reads, Sample, Unexpected, mostly, quote,
};
use crate::write::in_memory;

pub(super) static FAMILY: Family = Family {
    formats: &[Format {
        name: "spc",
        title: "SPC trace (UMass Financial, WebSearch)",
        columns: "ASU,LBA,size,opcode,timestamp[,further fields]",
        units: "LBA in 512-byte blocks of its ASU (the volume), size in bytes, opcode r or w in \
            either case, time in s",
        recognised_by: "five or more comma-separated fields, the fourth a single r, R, w or W",
        reference: "Storage Performance Council: SPC Trace File Format Specification, revision \
            1.0.1 (2002)",
        extensions: &["spc"],
        disorder: Disorder::None,
        reads: Reads::Lines(|| Box::new(Spc)),
        sample: |requests| in_memory("spc", requests),
    }],
    recognise,
};

struct Spc;

impl LineParser for Spc {
    fn line(&mut self, line: &str) -> Result<Line, Unexpected> {
        if trimmed(line).is_empty() {
            return Ok(Line::Other("blank lines"));
        }
        let [asu, lba, size, opcode, time] = comma(line, "ASU,LBA,size,opcode,timestamp")?;
        let volume = whole(asu, "the ASU")?;
        let (offset, len) =
            extent(whole(lba, "the LBA")?, 512, whole(size, "the size in bytes")?, 1)?;
        let op = match opcode.as_bytes() {
            [b'r' | b'R'] => Op::Read,
            [b'w' | b'W'] => Op::Write,
            _ => return Err(Unexpected::new(format!("opcode {}", quote(opcode)), "r or w")),
        };
        let arrival_ns = time_ns(time, TimeUnit::Seconds)?;
        Ok(Line::Request(Request { arrival_ns, offset, len, volume, op, fua: false }))
    }
}

fn recognise(sample: &Sample) -> Option<Guess> {
    let like_spc = |line: &str| {
        let fields: Vec<_> = line.split(',').map(str::trim).collect();
        fields.len() >= 5 && matches!(fields[3], "r" | "R" | "w" | "W")
    };
    mostly(sample, like_spc).then(|| Guess::Settled {
        format: "spc",
        evidence: "lines of comma-separated fields whose fourth is r or w".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Line, Unexpected> {
        Spc.line(line)
    }

    #[test]
    fn reads_requests() {
        let request = |offset, len, volume, op, arrival_ns| {
            Ok(Line::Request(Request { arrival_ns, offset, len, volume, op, fua: false }))
        };
        assert_eq!(read("0,303567,3584,w,0.000000"), request(303_567 * 512, 3584, 0, Op::Write, 0));
        assert_eq!(
            read(" 3, 10 ,0, R, 1.5, 7, extra"),
            request(5120, 0, 3, Op::Read, 1_500_000_000)
        );
        assert_eq!(read("  "), Ok(Line::Other("blank lines")));
    }

    #[test]
    fn says_what_is_wrong() {
        for (line, found, expected) in [
            ("1,2,3,w", "4 of the 5 fields in `1,2,3,w`", "ASU,LBA,size,opcode,timestamp"),
            ("1,2,3,x,0.0", "opcode `x`", "r or w"),
            ("a,2,3,w,0.0", "`a`", "the ASU, a whole number"),
            ("1,2,-3,w,0.0", "`-3`", "the size in bytes, a whole number"),
            ("1,2,3,w,now", "time `now`", "a time in s such as 12.5"),
        ] {
            assert_eq!(read(line), Err(Unexpected::new(found, expected)));
        }
        let error = read("1,18446744073709551615,3,w,0.0").unwrap_err();
        assert_eq!(error.found, "sector 18446744073709551615 with length 3");
    }
}
