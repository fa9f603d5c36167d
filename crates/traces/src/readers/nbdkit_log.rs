//! The log that nbdkit's `log` filter writes: what real clients asked of a network block device.

use std::collections::BTreeMap;

use eraseblock_core::host::{Op, Request};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{TimeUnit, extent, time_ns, trimmed, whole};
use super::sample::lines;
use super::{
    Disorder, Family, Format, FormatOptions, Guess, Line, LineParser, Parser, Reads, Sample,
    Unexpected, mostly, quote,
};

pub(super) static FAMILY: Family = Family {
    formats: &[Format {
        name: "nbdkit-log",
        title: "Log of nbdkit's log filter",
        columns: "YYYY-MM-DD HH:MM:SS.ffffff connection=N Action id=N offset=0x... count=0x... \
            [fua=0|1 ...] ...",
        units: "offset and count in bytes, hexadecimal; time in us; exports are volumes, in the \
            order they are opened",
        recognised_by: "lines that begin with a date, a time and the name of a logged action",
        reference: "nbdkit-log-filter(1), section LOG FILE FORMAT",
        extensions: &["nbdkit"],
        // The filter takes the time before it takes the log's lock.
        disorder: Disorder::Clamped(1_000_000_000),
        reads: Reads::by::<Options>(),
        sample: |requests| lines("", requests, sample_line),
    }],
    recognise,
};

/// Options of nbdkit's log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Options {
    /// What a Zero request is to the drive: a trim where the client allows one and a write where it
    /// does not (`as-flagged`), or always the same.
    zeroes: Zeroes,
}

impl FormatOptions for Options {
    fn parser(&self) -> Parser {
        Parser::Lines(Box::new(NbdkitLog::new(self.zeroes)))
    }
}

/// What a request to write zeroes is to the drive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Zeroes {
    /// A trim where the client allows one, a write where it does not.
    #[default]
    AsFlagged,
    /// Always a trim.
    Trim,
    /// Always a write.
    Write,
}

/// Actions that ask for no data; the last column is the name under which they are counted.
const OTHER_ACTIONS: &[(&str, &str)] = &[
    ("Ready", "session lines"),
    ("Fork", "session lines"),
    ("Preconnect", "session lines"),
    ("ListExports", "session lines"),
    ("Connect", "session lines"),
    ("Disconnect", "session lines"),
    ("Cache", "cache hints"),
    ("Extents", "extent queries"),
];
const DATA_ACTIONS: &[&str] = &["Read", "Write", "Trim", "Zero", "Flush"];

struct NbdkitLog {
    zeroes: Zeroes,
    /// Names of the exports seen; the index is the volume.
    exports: Vec<String>,
    /// Volume of each open connection.
    connections: BTreeMap<u64, u32>,
}

impl NbdkitLog {
    fn new(zeroes: Zeroes) -> Self {
        Self { zeroes, exports: Vec::new(), connections: BTreeMap::new() }
    }

    fn connect(&mut self, connection: u64, details: &str) {
        let export = details.split(" tls=").next().unwrap_or_default();
        let volume = self.exports.iter().position(|known| known == export).unwrap_or_else(|| {
            self.exports.push(export.to_owned());
            self.exports.len() - 1
        });
        self.connections.insert(connection, volume as u32);
    }
}

impl LineParser for NbdkitLog {
    fn line(&mut self, line: &str) -> Result<Line, Unexpected> {
        if trimmed(line).is_empty() {
            return Ok(Line::Other("blank lines"));
        }
        let (arrival_ns, rest) = timestamp(line).ok_or_else(|| {
            Unexpected::new(
                quote(line),
                "a line that begins with a time like 2020-08-06 02:07:23.080415",
            )
        })?;
        let (connection, rest) = match rest.strip_prefix("connection=") {
            Some(tail) => {
                let (number, tail) = tail.split_once(' ').unwrap_or((tail, ""));
                (whole(number, "the connection")?, tail)
            }
            None => (0, rest),
        };
        let (action, details) = rest.split_once(' ').unwrap_or((rest, ""));
        if let Some(completed) = action.strip_prefix("...") {
            let failed = DATA_ACTIONS.contains(&completed)
                && field(details, "return").is_some_and(|code| code != "0");
            return Ok(Line::Other(if failed { "completions that failed" } else { "completions" }));
        }
        let op = match action {
            "Read" => Op::Read,
            "Write" => Op::Write,
            "Trim" => Op::Trim,
            "Flush" => Op::Flush,
            "Zero" => match self.zeroes {
                Zeroes::AsFlagged if field(details, "trim") == Some("1") => Op::Trim,
                Zeroes::Trim => Op::Trim,
                Zeroes::AsFlagged | Zeroes::Write => Op::Write,
            },
            other => {
                let Some((_, counted)) = OTHER_ACTIONS.iter().find(|(name, _)| *name == other)
                else {
                    return Err(Unexpected::new(
                        format!("action {}", quote(other)),
                        "Read, Write, Trim, Zero, Flush or another logged action",
                    ));
                };
                match other {
                    "Connect" => self.connect(connection, details),
                    "Disconnect" => drop(self.connections.remove(&connection)),
                    _ => {}
                }
                return Ok(Line::Other(counted));
            }
        };
        let volume = self.connections.get(&connection).copied().unwrap_or(0);
        let (mut offset, mut len) = (0, 0);
        if op != Op::Flush {
            (offset, len) =
                extent(hexadecimal(details, "offset")?, 1, hexadecimal(details, "count")?, 1)?;
        }
        let fua = field(details, "fua") == Some("1");
        Ok(Line::Request(Request { arrival_ns, offset, len, volume, op, fua }))
    }
}

/// The value of `key=value`.
fn field<'a>(details: &'a str, key: &str) -> Option<&'a str> {
    details.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

fn hexadecimal(details: &str, key: &str) -> Result<u64, Unexpected> {
    let Some(value) = field(details, key) else {
        return Err(Unexpected::new(
            format!("no {key}= in {}", quote(details)),
            "offset=0x... and count=0x...",
        ));
    };
    value
        .strip_prefix("0x")
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .ok_or_else(|| {
            Unexpected::new(
                format!("{key}={}", quote(value)),
                "a hexadecimal number such as 0x1000",
            )
        })
}

/// `YYYY-MM-DD HH:MM:SS.ffffff rest` as ns since 1970 and the rest.
fn timestamp(line: &str) -> Option<(u64, &str)> {
    let (date, rest) = line.split_once(' ')?;
    let (time, rest) = rest.split_once(' ')?;
    let [year, month, day] = split_exactly(date, '-')?;
    let [hour, minute, second] = split_exactly(time, ':')?;
    let number = |text: &str, range: std::ops::RangeInclusive<u64>| {
        whole::<u64>(text, "a number").ok().filter(|value| range.contains(value))
    };
    let days =
        days_since_1970(number(year, 1970..=2200)?, number(month, 1..=12)?, number(day, 1..=31)?);
    let seconds = (days * 24 + number(hour, 0..=23)?) * 3600 + number(minute, 0..=59)? * 60;
    let second_ns = time_ns(second, TimeUnit::Seconds).ok().filter(|ns| *ns < 61_000_000_000)?;
    Some((seconds * 1_000_000_000 + second_ns, rest))
}

fn split_exactly(text: &str, separator: char) -> Option<[&str; 3]> {
    let mut parts = text.split(separator);
    let all = [parts.next()?, parts.next()?, parts.next()?];
    parts.next().is_none().then_some(all)
}

/// Days of the Gregorian calendar.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    const BEFORE_MONTH: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leap_days_before = |year: u64| (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400;
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    (year - 1970) * 365 + leap_days_before(year) - leap_days_before(1970)
        + BEFORE_MONTH[month as usize - 1]
        + u64::from(leap && month > 2)
        + (day - 1)
}

fn sample_line(request: &Request) -> String {
    let (s, us) = (request.arrival_ns / 1_000_000_000, request.arrival_ns / 1000 % 1_000_000);
    let (day, hour, minute, second) = (1 + s / 86_400, s / 3600 % 24, s / 60 % 60, s % 60);
    let (action, flags) = if request.op == Op::Read { ("Read", "") } else { ("Write", " fua=0") };
    format!(
        "2020-01-{day:02} {hour:02}:{minute:02}:{second:02}.{us:06} connection=1 {action} id=1 \
         offset={:#x} count={:#x}{flags} ...",
        request.offset, request.len
    )
}

fn recognise(sample: &Sample) -> Option<Guess> {
    let like_log = |line: &str| {
        let Some((_, rest)) = timestamp(line) else { return false };
        let rest = if rest.starts_with("connection=") {
            rest.split_once(' ').map_or("", |(_, tail)| tail)
        } else {
            rest
        };
        let action = rest.split(' ').next().unwrap_or_default();
        let action = action.strip_prefix("...").unwrap_or(action);
        DATA_ACTIONS.contains(&action) || OTHER_ACTIONS.iter().any(|(name, _)| *name == action)
    };
    mostly(sample, like_log).then(|| Guess::Settled {
        format: "nbdkit-log",
        evidence: "lines that begin with a date, a time and an action of nbdkit's log filter"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000_000_000;

    fn read(zeroes: Zeroes, lines: &[&str]) -> Vec<Line> {
        let mut parser = NbdkitLog::new(zeroes);
        lines
            .iter()
            .map(|line| parser.line(&format!("1970-01-02 00:00:00.000001 {line}")).unwrap())
            .collect()
    }

    fn request(op: Op, offset: u64, len: u64, volume: u32, fua: bool) -> Line {
        Line::Request(Request { arrival_ns: DAY + 1000, offset, len, volume, op, fua })
    }

    #[test]
    fn reads_requests_and_passes_over_the_rest() {
        let lines = read(
            Zeroes::AsFlagged,
            &[
                "Ready thread_model=3",
                "Preconnect id=1 readonly=0 ...",
                "...Preconnect id=1 return=0",
                "connection=1 Connect export=\"\" tls=0 size=0xa00000 minsize=0x0",
                "connection=1 Write id=1 offset=0x200 count=0x1000 fua=1 ...",
                "connection=1 ...Write id=1 return=0",
                "connection=1 Read id=2 offset=0x400 count=0x200 ...",
                "connection=1 ...Read id=2 return=-1 error=EIO",
                "connection=1 Flush id=3 ...",
                "connection=1 Trim id=4 offset=0x2000 count=0x1000 fua=0 ...",
                "connection=1 Zero id=5 offset=0x4000 count=0x1000 trim=1 fua=0 fast=0 ...",
                "connection=1 Zero id=6 offset=0x5000 count=0x1000 trim=0 fua=1 fast=0 ...",
                "connection=1 Cache id=7 offset=0x0 count=0x1000 ...",
                "connection=1 Disconnect transactions=7",
            ],
        );
        let session = || Line::Other("session lines");
        assert_eq!(
            lines,
            [
                session(),
                session(),
                Line::Other("completions"),
                session(),
                request(Op::Write, 512, 4096, 0, true),
                Line::Other("completions"),
                request(Op::Read, 1024, 512, 0, false),
                Line::Other("completions that failed"),
                request(Op::Flush, 0, 0, 0, false),
                request(Op::Trim, 8192, 4096, 0, false),
                request(Op::Trim, 16384, 4096, 0, false),
                request(Op::Write, 20480, 4096, 0, true),
                Line::Other("cache hints"),
                session(),
            ]
        );
    }

    #[test]
    fn zeroes_are_what_the_user_says() {
        let zero = "connection=1 Zero id=5 offset=0x0 count=0x1000 trim=1 fua=0 fast=0 ...";
        assert_eq!(read(Zeroes::Write, &[zero]), [request(Op::Write, 0, 4096, 0, false)]);
        let zero = "connection=1 Zero id=5 offset=0x0 count=0x1000 trim=0 fua=0 fast=0 ...";
        assert_eq!(read(Zeroes::Trim, &[zero]), [request(Op::Trim, 0, 4096, 0, false)]);
    }

    #[test]
    fn exports_are_volumes_and_connections_are_not() {
        let read_at =
            |connection| format!("connection={connection} Read id=1 offset=0x0 count=0x200 ...");
        let connect = |connection, export| {
            format!("connection={connection} Connect export=\"{export}\" tls=0 size=0x0")
        };
        let lines = [
            connect(1, "a b"),
            connect(2, "c"),
            connect(3, "a b"),
            read_at(1),
            read_at(2),
            read_at(3),
            read_at(9),
        ];
        let lines = read(Zeroes::AsFlagged, &lines.each_ref().map(String::as_str));
        let volumes: Vec<_> = lines
            .iter()
            .filter_map(
                |line| if let Line::Request(request) = line { Some(request.volume) } else { None },
            )
            .collect();
        assert_eq!(volumes, [0, 1, 0, 0]);
    }

    #[test]
    fn days_follow_the_calendar() {
        assert_eq!(days_since_1970(1970, 1, 1), 0);
        assert_eq!(days_since_1970(2000, 2, 29), 11_016);
        assert_eq!(days_since_1970(2000, 3, 1), 11_017);
        assert_eq!(days_since_1970(2020, 8, 6), 18_480);
        assert_eq!(days_since_1970(2100, 3, 1), 47_541);
    }

    #[test]
    fn says_what_is_wrong() {
        let mut parser = NbdkitLog::new(Zeroes::AsFlagged);
        for (line, found) in [
            ("Time unknown connection=1 Read id=1", "`Time unknown connection=1 Read id=1`"),
            ("2020-13-06 02:07:23.08 Ready", "`2020-13-06 02:07:23.08 Ready`"),
            ("2020-08-06 02:07:23.08 connection=x Read id=1", "`x`"),
            ("2020-08-06 02:07:23.08 connection=1 Reed id=1", "action `Reed`"),
            (
                "2020-08-06 02:07:23.08 connection=1 Read id=1 offset=0x0 ...",
                "no count= in `id=1 offset=0x0 ...`",
            ),
            ("2020-08-06 02:07:23.08 connection=1 Read id=1 offset=12 count=0x1", "offset=`12`"),
            ("2020-08-06 02:07:23.08 connection=1 Read id=1 offset=0x", "offset=`0x`"),
        ] {
            assert_eq!(parser.line(line).unwrap_err().found, found);
        }
    }
}
