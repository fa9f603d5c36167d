//! The traces of the FIU department's servers and home directories, with a hash of what each
//! request moved.

use eraseblock_core::host::{Op, Request};

use super::fields::{TimeUnit, device_number, extent, time_ns, trimmed, whole};
use super::sample::{either, lines};
use super::{
    Disorder, Family, Format, Guess, Line, LineParser, Reads, Sample, Unexpected, mostly, quote,
};

const COLUMNS: &str = "time pid process lba size op major minor [md5]";

pub(super) static FAMILY: Family = Family {
    formats: &[Format {
        name: "fiu",
        title: "FIU (SRCMap, IODedup)",
        columns: COLUMNS,
        units: "time in ns, lba and size in 512-byte sectors, op R or W; the process may hold \
            blanks, the md5 may be missing; volume = major x 1048576 + minor",
        recognised_by: "eight or more blank-separated fields that end in lba, size, R or W, two \
            whole numbers and perhaps 32 hexadecimal digits",
        reference: "Koller and Rangaswami, I/O Deduplication, FAST 2010; SNIA IOTTA, FIU traces, \
            README",
        extensions: &["fiu"],
        disorder: Disorder::None,
        reads: Reads::Lines(|| Box::new(Fiu)),
        sample: |requests| {
            lines("", requests, |request| {
                let Request { arrival_ns, offset, len, .. } = request;
                let (lba, size, op) = (offset / 512, len / 512, either(request, "R", "W"));
                format!(
                    "{arrival_ns} 313 made {lba} {size} {op} 0 0 0123456789abcdef0123456789abcdef"
                )
            })
        },
    }],
    recognise,
};

struct Fiu;

impl LineParser for Fiu {
    fn line(&mut self, line: &str) -> Result<Line, Unexpected> {
        if trimmed(line).is_empty() {
            return Ok(Line::Other("blank lines"));
        }
        let Some([time, pid, lba, size, op, major, minor]) = columns(line) else {
            let count = line.split_ascii_whitespace().count();
            return Err(Unexpected::new(format!("{count} columns in {}", quote(line)), COLUMNS));
        };
        let op = match op {
            "R" => Op::Read,
            "W" => Op::Write,
            other => return Err(Unexpected::new(format!("op {}", quote(other)), "R or W")),
        };
        whole::<u32>(pid, "the pid")?;
        let volume = device_number(major, minor)?;
        let (offset, len) = extent(whole(lba, "the lba")?, 512, whole(size, "the size")?, 512)?;
        let arrival_ns = time_ns(time, TimeUnit::Nanos)?;
        Ok(Line::Request(Request { arrival_ns, offset, len, volume, op, fua: false }))
    }
}

/// All columns but the process and the md5. What follows the process is counted from the end of the
/// line.
fn columns(line: &str) -> Option<[&str; 7]> {
    let mut words = line.split_ascii_whitespace();
    let (time, pid) = (words.next()?, words.next()?);
    let mut last = words.next_back()?;
    if is_md5(last) {
        last = words.next_back()?;
    }
    let minor = last;
    let (major, op) = (words.next_back()?, words.next_back()?);
    let (size, lba) = (words.next_back()?, words.next_back()?);
    words.next()?;
    Some([time, pid, lba, size, op, major, minor])
}

fn is_md5(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn recognise(sample: &Sample) -> Option<Guess> {
    let like_fiu = |line: &str| {
        columns(line).is_some_and(|[time, pid, lba, size, op, major, minor]| {
            matches!(op, "R" | "W")
                && [time, pid, lba, size, major, minor]
                    .iter()
                    .all(|number| whole::<u64>(number, "").is_ok())
        })
    };
    mostly(sample, like_fiu).then(|| Guess::Settled {
        format: "fiu",
        evidence: format!("blank-separated columns `{COLUMNS}`"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MD5: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn reads_requests() {
        let read = || {
            Ok(Line::Request(Request {
                arrival_ns: 71_000_000_000_019,
                offset: 1 << 20,
                len: 4096,
                volume: 6 << 20 | 3,
                op: Op::Read,
                fua: false,
            }))
        };
        for line in [
            format!("71000000000019 313 cron 2048 8 R 6 3 {MD5}"),
            format!("  71000000000019 313 kjournald of 5 2048 8 R 6 3 {MD5} "),
            "71000000000019 313 cron 2048 8 R 6 3".to_owned(),
            "71000000000019\t313\tmy job\t2048\t8\tR\t6\t3".to_owned(),
        ] {
            assert_eq!(Fiu.line(&line), read(), "{line}");
        }
        assert_eq!(Fiu.line(" "), Ok(Line::Other("blank lines")));
    }

    #[test]
    fn says_what_is_wrong() {
        for (line, found, expected) in [
            ("71 313 cron 2048 8 R 6", "7 columns in `71 313 cron 2048 8 R 6`", COLUMNS),
            ("71 313 2048 8 R 6 3", "7 columns in `71 313 2048 8 R 6 3`", COLUMNS),
            ("71 313 cron 2048 8 X 6 3", "op `X`", "R or W"),
            ("71 313 cron 2048 8 R 6 3 0123", "op `6`", "R or W"),
            ("7.1 313 cron 2048 8 R 6 3", "time `7.1`", "a whole number of ns"),
            ("-71 313 cron 2048 8 R 6 3", "time `-71`", "a time in ns such as 1250"),
            (
                "9223372036854775808 313 cron 2048 8 R 6 3",
                "time `9223372036854775808`",
                "a time in ns below 2^63 ns",
            ),
            ("71 x cron 2048 8 R 6 3", "`x`", "the pid, a whole number"),
            ("71 313 cron -2048 8 R 6 3", "`-2048`", "the lba, a whole number"),
            ("71 313 cron 2048 8 R 4096 3", "device `4096,3`", "a device below 4096,1048576"),
            (
                "71 313 cron 36028797018963968 8 R 6 3",
                "sector 36028797018963968 with length 8",
                "a request that ends below 1 EiB; is this another format?",
            ),
        ] {
            let error = Fiu.line(line).unwrap_err();
            assert_eq!(error.found, found, "{line}");
            assert!(error.expected.starts_with(expected), "{line}: {}", error.expected);
        }
    }
}
