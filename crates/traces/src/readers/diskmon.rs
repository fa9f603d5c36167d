//! The logs that Sysinternals' disk monitor saves.

use eraseblock_core::host::{Op, Request};

use super::fields::{TimeUnit, extent, time_ns, trimmed, whole};
use super::sample::{either, lines};
use super::{
    Disorder, Family, Format, Guess, Line, LineParser, Reads, Sample, Unexpected, mostly, quote,
};

const COLUMNS: &str = "# Time Duration Disk Request Sector Length, separated by tabs";
const DAY_NS: u64 = 86_400_000_000_000;

pub(super) static FAMILY: Family = Family {
    formats: &[Format {
        name: "diskmon",
        title: "DiskMon log",
        columns: COLUMNS,
        units: "time in s since the start, or clock time h:m:s, with AM or PM or without (a step \
            back by more than half a day is midnight); sector and length in 512-byte sectors; a \
            comma may stand for the point, and thousands may be separated; request Read or Write; \
            disk = volume; the duration is not used",
        recognised_by: "seven fields separated by tabs, the fifth Read or Write",
        reference: "Sysinternals DiskMon 2; its saved list",
        extensions: &["diskmon"],
        disorder: Disorder::None,
        reads: Reads::Lines(|| Box::new(DiskMon::default())),
        sample: |requests| {
            lines("", requests, |request| {
                let time = TimeUnit::Seconds.text(request.arrival_ns);
                let kind = either(request, "Read", "Write");
                format!(
                    "0\t{time}\t0.0001\t0\t{kind}\t{}\t{}",
                    request.offset / 512,
                    request.len / 512
                )
            })
        },
    }],
    recognise,
};

#[derive(Default)]
struct DiskMon {
    /// Clock times: midnights passed, and the latest time since the last one.
    days: u64,
    time_of_day_ns: u64,
}

impl LineParser for DiskMon {
    fn line(&mut self, line: &str) -> Result<Line, Unexpected> {
        if trimmed(line).is_empty() {
            return Ok(Line::Other("blank lines"));
        }
        if line.starts_with('#') {
            return Ok(Line::Other("header lines"));
        }
        let Some([number, time, _, disk, request, sector, length]) = columns(line) else {
            let count = line.split('\t').count();
            return Err(Unexpected::new(format!("{count} fields in {}", quote(line)), COLUMNS));
        };
        grouped(number, "the number of the line")?;
        let arrival_ns = if time.contains(':') { self.clock(time)? } else { seconds(time)? };
        let volume = whole(disk, "the disk")?;
        let op = match request {
            "Read" => Op::Read,
            "Write" => Op::Write,
            other => {
                return Err(Unexpected::new(format!("request {}", quote(other)), "Read or Write"));
            }
        };
        let (offset, len) = extent(
            grouped(sector, "the sector")?,
            512,
            grouped(length, "the length in sectors")?,
            512,
        )?;
        Ok(Line::Request(Request { arrival_ns, offset, len, volume, op, fua: false }))
    }
}

impl DiskMon {
    /// A clock time as ns since the midnight before the first one.
    fn clock(&mut self, text: &str) -> Result<u64, Unexpected> {
        let Some(ns) = time_of_day(text) else {
            let expected = "a time in s, or a clock time such as 13:05:59 or 1:05:59 PM";
            return Err(Unexpected::new(format!("time {}", quote(text)), expected));
        };
        self.days += u64::from(ns + DAY_NS / 2 < self.time_of_day_ns);
        self.time_of_day_ns = ns;
        Ok(self.days * DAY_NS + ns)
    }
}

fn columns(line: &str) -> Option<[&str; 7]> {
    let mut fields = [""; 7];
    let mut rest = line.split('\t').map(str::trim);
    for field in &mut fields {
        *field = rest.next()?;
    }
    rest.all(str::is_empty).then_some(fields)
}

fn time_of_day(text: &str) -> Option<u64> {
    let (clock, half) =
        text.split_once(' ').map_or((text, ""), |(clock, half)| (clock, half.trim()));
    let mut parts = clock.split(':');
    let hour = whole::<u64>(parts.next()?, "").ok()?;
    let minute = whole::<u64>(parts.next()?, "").ok().filter(|minute| *minute < 60)?;
    let second_ns =
        time_ns(parts.next()?, TimeUnit::Seconds).ok().filter(|ns| *ns < 60_000_000_000)?;
    let hour = match half {
        "" if hour < 24 => hour,
        "AM" if (1..=12).contains(&hour) => hour % 12,
        "PM" if (1..=12).contains(&hour) => hour % 12 + 12,
        _ => return None,
    };
    parts.next().is_none().then_some((hour * 60 + minute) * 60_000_000_000 + second_ns)
}

/// Seconds with a point or a comma before the fraction: whichever stands last. Any before it
/// separates thousands.
fn seconds(text: &str) -> Result<u64, Unexpected> {
    const LONGEST: usize = 40;
    let mut plain = [0; LONGEST];
    let mut length = 0;
    let last = text.rfind([',', '.']);
    for (index, byte) in text.bytes().enumerate() {
        let byte = match byte {
            b',' | b'.' if Some(index) != last => continue,
            b',' => b'.',
            other => other,
        };
        let Some(slot) = plain.get_mut(length) else { break };
        *slot = byte;
        length += 1;
    }
    let plain = std::str::from_utf8(&plain[..length]).unwrap_or(text);
    time_ns(plain, TimeUnit::Seconds)
        .map_err(|error| Unexpected::new(format!("time {}", quote(text)), error.expected))
}

/// A whole number whose thousands may be separated, as Windows shows it: `1,234`, `1.234`, `1 234`,
/// `1'234`.
fn grouped(text: &str, what: &str) -> Result<u64, Unexpected> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return whole(text, what);
    }
    let wrong = || Unexpected::new(quote(text), format!("{what}, a whole number"));
    let separators = [',', '.', ' ', '\'', '\u{a0}', '\u{202f}'];
    let mut groups = text.split(separators);
    let first = groups.next().filter(|group| (1..=3).contains(&group.len())).ok_or_else(wrong)?;
    let mut number: u64 = whole(first, what).map_err(|_| wrong())?;
    for group in groups {
        let group = Some(group).filter(|group| group.len() == 3).ok_or_else(wrong)?;
        let digits: u64 = whole(group, what).map_err(|_| wrong())?;
        number = number
            .checked_mul(1000)
            .and_then(|number| number.checked_add(digits))
            .ok_or_else(wrong)?;
    }
    Ok(number)
}

fn recognise(sample: &Sample) -> Option<Guess> {
    let like_diskmon = |line: &str| {
        columns(line).is_some_and(|[_, _, _, _, request, sector, length]| {
            matches!(request, "Read" | "Write")
                && grouped(sector, "").is_ok()
                && grouped(length, "").is_ok()
        })
    };
    mostly(sample, like_diskmon).then(|| Guess::Settled {
        format: "diskmon",
        evidence: "seven fields separated by tabs, the fifth Read or Write".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Result<Vec<Line>, Unexpected> {
        let mut parser = DiskMon::default();
        lines.iter().map(|line| parser.line(line)).collect()
    }

    fn times(lines: &[&str]) -> Vec<u64> {
        read(lines)
            .unwrap()
            .into_iter()
            .map(
                |line| {
                    if let Line::Request(request) = line { request.arrival_ns } else { u64::MAX }
                },
            )
            .collect()
    }

    #[test]
    fn numbers_may_be_written_as_windows_shows_them() {
        let request = Request {
            arrival_ns: 1_234_503_417_969,
            offset: 3_478_976 * 512,
            len: 8192,
            volume: 1,
            op: Op::Write,
            fua: false,
        };
        for line in [
            "7\t1234.503417969\t0.00036621\t1\tWrite\t3478976\t16",
            "7\t1,234.503417969\t0.00036621\t1\tWrite\t3,478,976\t16\t",
            "1.007\t1.234,503417969\t0,00036621\t1\tWrite\t3.478.976\t16",
            "7\t1234,503417969\t0,00036621\t1\tWrite\t3\u{a0}478\u{a0}976\t16\r",
        ] {
            assert_eq!(read(&[line]), Ok(vec![Line::Request(request)]), "{line}");
        }
        let head = "#\tTime\tDuration (s)\tDisk\tRequest\tSector\tLength";
        assert_eq!(
            read(&[head, ""]),
            Ok(vec![Line::Other("header lines"), Line::Other("blank lines")])
        );
    }

    #[test]
    fn clock_times_pass_midnight() {
        let at = |time: &str| format!("0\t{time}\t0.0\t0\tRead\t8\t8");
        let lines =
            ["11:59:59 PM", "12:00:01 AM", "12:00:00 PM", "1:00:00.5 PM", "12:00:00 AM"].map(at);
        let second = 1_000_000_000;
        let hour = 3600 * second;
        assert_eq!(
            times(&lines.each_ref().map(String::as_str)),
            [24 * hour - second, 24 * hour + second, 36 * hour, 37 * hour + second / 2, 48 * hour]
        );
        let lines = ["23:00:00", "0:30:00", "00:20:00"].map(at);
        assert_eq!(
            times(&lines.each_ref().map(String::as_str)),
            [23 * hour, 24 * hour + hour / 2, 24 * hour + hour / 3]
        );
    }

    #[test]
    fn says_what_is_wrong() {
        let clock = "a time in s, or a clock time such as 13:05:59 or 1:05:59 PM";
        for (line, found, expected) in [
            ("0\t1.5\t0.1\t0\tRead\t8", "6 fields in `0\\t1.5\\t0.1\\t0\\tRead\\t8`", COLUMNS),
            (
                "0\t1.5\t0.1\t0\tRead\t8\t8\t9",
                "8 fields in `0\\t1.5\\t0.1\\t0\\tRead\\t8\\t8\\t9`",
                COLUMNS,
            ),
            ("x\t1.5\t0.1\t0\tRead\t8\t8", "`x`", "the number of the line, a whole number"),
            ("0\t-1.5\t0.1\t0\tRead\t8\t8", "time `-1.5`", "a time in s such as 12.5"),
            (
                "0\t99999999999,5\t0.1\t0\tRead\t8\t8",
                "time `99999999999,5`",
                "a time in s below 2^63 ns",
            ),
            ("0\t25:00:00\t0.1\t0\tRead\t8\t8", "time `25:00:00`", clock),
            ("0\t0:10:00 AM\t0.1\t0\tRead\t8\t8", "time `0:10:00 AM`", clock),
            ("0\t1:60:00\t0.1\t0\tRead\t8\t8", "time `1:60:00`", clock),
            ("0\t1.5\t0.1\tC:\tRead\t8\t8", "`C:`", "the disk, a whole number"),
            ("0\t1.5\t0.1\t0\tErase\t8\t8", "request `Erase`", "Read or Write"),
            ("0\t1.5\t0.1\t0\tRead\t-8\t8", "`-8`", "the sector, a whole number"),
            ("0\t1.5\t0.1\t0\tRead\t8,12\t8", "`8,12`", "the sector, a whole number"),
            ("0\t1.5\t0.1\t0\tRead\t8\t", "``", "the length in sectors, a whole number"),
            (
                "0\t1.5\t0.1\t0\tRead\t36,028,797,018,963,968\t8",
                "sector 36028797018963968 with length 8",
                "a request that ends below 1 EiB; is this another format?",
            ),
        ] {
            assert_eq!(read(&[line]), Err(Unexpected::new(found, expected)), "{line}");
        }
    }
}
