//! fio's iologs, versions 2 and 3.

use eraseblock_core::host::{Op, Request};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{TimeUnit, extent, time_ns, trimmed, whole};
use super::names::Names;
use super::{
    Disorder, Family, Format, FormatOptions, Guess, Line, LineParser, Parser, Reads, Sample,
    Unexpected, quote,
};
use crate::write::in_memory;

const V2: &str = "fio version 2 iolog";
const V3: &str = "fio version 3 iolog";

pub(super) static FAMILY: Family = Family {
    formats: &[Format {
        name: "fio",
        title: "fio iolog, version 2 or 3",
        columns: "[timestamp] file action [offset length]",
        units: "offset and length in bytes; actions read, write, trim, sync, datasync; version 3: \
            timestamps in us unless the option unit says otherwise; version 2: requests between \
            two waits arrive together, the option waits says what waits count; files are volumes, \
            in the order they are added",
        recognised_by: "the first line, `fio version 2 iolog` or `fio version 3 iolog`",
        reference: "fio's manual, section Trace file format; for what it replays, iolog.c",
        extensions: &["iolog"],
        disorder: Disorder::None,
        reads: Reads::by::<Options>(),
        sample: |requests| in_memory("fio", requests),
    }],
    recognise,
};

/// Options of fio's iologs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Options {
    /// Version 3: unit of its timestamps. fio writes microseconds; other programs write other
    /// units.
    unit: Unit,
    /// Version 2: what the number of a `wait` line says: us since the previous wait, and below 100
    /// nothing (`gaps`, as fio's manual says), or ms since the beginning (`clock`, as fio's code
    /// replays them).
    waits: Waits,
}

impl FormatOptions for Options {
    fn parser(&self) -> Parser {
        Parser::Lines(Box::new(Fio::new(*self)))
    }
}

/// Unit of the timestamps of a fio iolog version 3.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    /// Nanoseconds.
    Ns,
    /// Microseconds, as fio writes and replays them.
    #[default]
    Us,
    /// Milliseconds.
    Ms,
}

/// What the number of a `wait` line in a fio iolog version 2 says; requests between two waits
/// arrive together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Waits {
    /// Microseconds since the previous wait, and below 100 nothing: as fio's manual says.
    #[default]
    Gaps,
    /// Milliseconds since the beginning: as fio's code replays them.
    Clock,
}

const FILE_ACTIONS: [&str; 3] = ["add", "open", "close"];

struct Fio {
    options: Options,
    version: Option<Version>,
    /// The files added, each a volume.
    files: Names,
    /// Version 2: the time that the waits have come to.
    now_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Two,
    Three,
}

impl Fio {
    fn new(options: Options) -> Self {
        Self { options, version: None, files: Names::default(), now_ns: 0 }
    }

    fn header(&mut self, line: &str) -> Result<Line, Unexpected> {
        let version = match line.trim() {
            V2 => Version::Two,
            V3 => Version::Three,
            _ => {
                return Err(Unexpected::new(
                    quote(line),
                    format!("`{V2}` or `{V3}` as the first line"),
                ));
            }
        };
        // An option of the other version would change nothing, and whoever gives it expects it to.
        // No line of such a file is read, not even where bad ones are skipped.
        let (other, option, of) = match version {
            Version::Two if self.options.unit != Unit::default() => (V3, "unit", "timestamps"),
            Version::Three if self.options.waits != Waits::default() => (V2, "waits", "wait lines"),
            _ => {
                self.version = Some(version);
                return Ok(Line::Other("header lines"));
            }
        };
        let expected = format!("`{other}`: the option `{option}` is for its {of}; leave it out");
        Err(Unexpected::new(quote(line), expected))
    }

    fn file_action(&mut self, file: &str, action: &str) -> Result<Line, Unexpected> {
        if action == "add" {
            self.files.add(file);
        } else {
            self.volume(file)?;
        }
        Ok(Line::Other("lines that add, open or close a file"))
    }

    fn volume(&mut self, file: &str) -> Result<u32, Unexpected> {
        self.files.get(file).ok_or_else(|| {
            Unexpected::new(format!("file {}", quote(file)), "a file that an earlier line adds")
        })
    }

    fn wait(&mut self, text: &str) -> Result<Line, Unexpected> {
        match self.options.waits {
            Waits::Gaps => {
                let wait_ns = time_ns(text, TimeUnit::Micros)?;
                if wait_ns < 100_000 {
                    return Ok(Line::Other("waits below 100 us, passed over"));
                }
                self.now_ns = self
                    .now_ns
                    .checked_add(wait_ns)
                    .filter(|now| i64::try_from(*now).is_ok())
                    .ok_or_else(|| {
                        Unexpected::new(
                            format!("wait {}", quote(text)),
                            "waits that come to less than 2^63 ns",
                        )
                    })?;
            }
            Waits::Clock => self.now_ns = self.now_ns.max(time_ns(text, TimeUnit::Millis)?),
        }
        Ok(Line::Other("waits"))
    }
}

impl LineParser for Fio {
    fn line(&mut self, line: &str) -> Result<Line, Unexpected> {
        if trimmed(line).is_empty() {
            return Ok(Line::Other("blank lines"));
        }
        let Some(version) = self.version else { return self.header(line) };
        let mut words = line.split_ascii_whitespace();
        let time = match version {
            Version::Two => None,
            Version::Three => words.next(),
        };
        let (Some(file), Some(action)) = (words.next(), words.next()) else {
            return Err(cut(line, version));
        };
        let numbers = (words.next(), words.next());
        if words.next().is_some() {
            return Err(Unexpected::new(
                format!("more fields than belong to {}", quote(line)),
                columns(version),
            ));
        }
        let arrival_ns = match time {
            None => self.now_ns,
            Some(time) => time_ns(
                time,
                match self.options.unit {
                    Unit::Ns => TimeUnit::Nanos,
                    Unit::Us => TimeUnit::Micros,
                    Unit::Ms => TimeUnit::Millis,
                },
            )?,
        };
        let op = match action {
            "read" => Op::Read,
            "write" => Op::Write,
            "trim" => Op::Trim,
            "sync" | "datasync" => Op::Flush,
            "wait" if version == Version::Two => {
                return numbers.0.map_or_else(|| Err(cut(line, version)), |text| self.wait(text));
            }
            file_action if FILE_ACTIONS.contains(&file_action) => {
                if numbers.0.is_some() {
                    let found = format!("numbers after {action} in {}", quote(line));
                    return Err(Unexpected::new(found, "a file and an action alone"));
                }
                return self.file_action(file, file_action);
            }
            other => {
                let expected = match version {
                    Version::Two => "read, write, trim, sync, datasync, wait, add, open or close",
                    Version::Three => "read, write, trim, sync, datasync, add, open or close",
                };
                return Err(Unexpected::new(format!("action {}", quote(other)), expected));
            }
        };
        let volume = self.volume(file)?;
        let (mut offset, mut len) = (0, 0);
        if op != Op::Flush {
            let (Some(at), Some(length)) = numbers else { return Err(cut(line, version)) };
            (offset, len) = extent(whole(at, "the offset")?, 1, whole(length, "the length")?, 1)?;
        }
        Ok(Line::Request(Request { arrival_ns, offset, len, volume, op, fua: false }))
    }

    fn missing(&self) -> &'static str {
        if self.version.is_some() {
            "lines that read, write, trim or sync"
        } else {
            "`fio version 2 iolog` or `fio version 3 iolog`"
        }
    }
}

fn columns(version: Version) -> &'static str {
    match version {
        Version::Two => "file action [offset length]",
        Version::Three => "timestamp file action [offset length]",
    }
}

fn cut(line: &str, version: Version) -> Unexpected {
    Unexpected::new(format!("only {}", quote(line)), columns(version))
}

fn recognise(sample: &Sample) -> Option<Guess> {
    let first = sample.filled().next()?;
    [V2, V3]
        .contains(&first)
        .then(|| Guess::Settled { format: "fio", evidence: format!("the first line is `{first}`") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: Options, lines: &[&str]) -> Result<Vec<Line>, Unexpected> {
        let mut parser = Fio::new(options);
        lines.iter().map(|line| parser.line(line)).collect()
    }

    /// The requests of an iolog with two files.
    fn requests(
        options: Options,
        header: &str,
        lines: &[&str],
    ) -> Result<Vec<Request>, Unexpected> {
        let stamp = if header == V3 { "0 " } else { "" };
        let added: Vec<_> =
            ["/dev/sdb", "/dev/sdc"].iter().map(|file| format!("{stamp}{file} add")).collect();
        let head = [header, &added[0], &added[1]];
        Ok(read(options, &[&head[..], lines].concat())?
            .into_iter()
            .filter_map(|line| if let Line::Request(request) = line { Some(request) } else { None })
            .collect())
    }

    fn request(arrival_ns: u64, volume: u32, op: Op, offset: u64, len: u64) -> Request {
        Request { arrival_ns, offset, len, volume, op, fua: false }
    }

    #[test]
    fn version_3_has_times() {
        let lines = [
            "3 /dev/sdc open",
            "12 /dev/sdc write 4096 8192",
            "15 /dev/sdb read 0 512",
            "20 /dev/sdb trim 1048576 65536",
            "21 /dev/sdc datasync 0 0",
            "22 /dev/sdc sync",
            "30 /dev/sdc close",
        ];
        let expected = |unit: u64| {
            vec![
                request(12 * unit, 1, Op::Write, 4096, 8192),
                request(15 * unit, 0, Op::Read, 0, 512),
                request(20 * unit, 0, Op::Trim, 1 << 20, 65536),
                request(21 * unit, 1, Op::Flush, 0, 0),
                request(22 * unit, 1, Op::Flush, 0, 0),
            ]
        };
        for (unit, ns) in [(Unit::Ns, 1), (Unit::Us, 1000), (Unit::Ms, 1_000_000)] {
            let options = Options { unit, ..Options::default() };
            assert_eq!(requests(options, V3, &lines), Ok(expected(ns)));
        }
    }

    #[test]
    fn version_2_has_waits() {
        let lines = [
            "/dev/sdb open",
            "/dev/sdb write 0 512",
            "/dev/sdb wait 99 0",
            "/dev/sdb write 512 512",
            "/dev/sdb wait 500 0",
            "/dev/sdc read 0 512",
            "/dev/sdb wait 400 0",
            "/dev/sdb sync 0 0",
        ];
        let times = |waits| {
            let options = Options { waits, ..Options::default() };
            let requests = requests(options, V2, &lines).unwrap();
            requests.iter().map(|request| request.arrival_ns).collect::<Vec<_>>()
        };
        assert_eq!(times(Waits::Gaps), [0, 0, 500_000, 900_000]);
        // By the clock, a wait for a moment that has passed is none.
        assert_eq!(times(Waits::Clock), [0, 99_000_000, 500_000_000, 500_000_000]);
    }

    #[test]
    fn an_option_of_the_other_version_is_refused() {
        let refused = |options, header| read(options, &[header]).unwrap_err();
        let unit = Options { unit: Unit::Ms, ..Options::default() };
        assert_eq!(
            refused(unit, V2),
            Unexpected::new(
                "`fio version 2 iolog`",
                "`fio version 3 iolog`: the option `unit` is for its timestamps; leave it out"
            )
        );
        let waits = Options { waits: Waits::Clock, ..Options::default() };
        assert_eq!(
            refused(waits, V3),
            Unexpected::new(
                "`fio version 3 iolog`",
                "`fio version 2 iolog`: the option `waits` is for its wait lines; leave it out"
            )
        );
        let mut parser = Fio::new(unit);
        assert!([V2, "a add", "a write 0 512"].iter().all(|line| parser.line(line).is_err()));
    }

    #[test]
    fn lines_without_a_request_are_named() {
        let lines =
            read(Options::default(), &[V2, "a add", "a add", "", "a wait 5 0", "a wait 100 0"]);
        let other = |what| Line::Other(what);
        assert_eq!(
            lines.unwrap(),
            [
                other("header lines"),
                other("lines that add, open or close a file"),
                other("lines that add, open or close a file"),
                other("blank lines"),
                other("waits below 100 us, passed over"),
                other("waits"),
            ]
        );
    }

    #[test]
    fn says_what_is_wrong() {
        let (two, three) = (columns(Version::Two), columns(Version::Three));
        for (header, line, found, expected) in [
            (
                "fio version 1",
                "",
                "`fio version 1`",
                "`fio version 2 iolog` or `fio version 3 iolog` as the first line",
            ),
            (V2, "/dev/sdb", "only `/dev/sdb`", two),
            (V2, "/dev/sdb write 512", "only `/dev/sdb write 512`", two),
            (V2, "/dev/sdb wait", "only `/dev/sdb wait`", two),
            (
                V2,
                "/dev/sdb write 0 512 7",
                "more fields than belong to `/dev/sdb write 0 512 7`",
                two,
            ),
            (V3, "5 /dev/sdb", "only `5 /dev/sdb`", three),
            (V3, "5 /dev/sdb write 0", "only `5 /dev/sdb write 0`", three),
            (
                V2,
                "/dev/sdb wride 0 512",
                "action `wride`",
                "read, write, trim, sync, datasync, wait, add, open or close",
            ),
            (
                V3,
                "5 /dev/sdb wait 0 0",
                "action `wait`",
                "read, write, trim, sync, datasync, add, open or close",
            ),
            (V2, "/dev/sdd write 0 512", "file `/dev/sdd`", "a file that an earlier line adds"),
            (V2, "/dev/sdd open", "file `/dev/sdd`", "a file that an earlier line adds"),
            (
                V2,
                "/dev/sdb open 5",
                "numbers after open in `/dev/sdb open 5`",
                "a file and an action alone",
            ),
            (V2, "/dev/sdb write -1 512", "`-1`", "the offset, a whole number"),
            (V3, "-5 /dev/sdb write 0 512", "time `-5`", "a time in us such as 12.5"),
            (
                V2,
                "/dev/sdb wait 99999999999999999 0",
                "time `99999999999999999`",
                "a time in us below 2^63 ns",
            ),
            (
                V3,
                "5 /dev/sdb write 18446744073709551615 1",
                "byte 18446744073709551615 with length 1",
                "a request that ends below 1 EiB; is this another format?",
            ),
        ] {
            let answer = requests(Options::default(), header, &[line]);
            assert_eq!(answer, Err(Unexpected::new(found, expected)), "{line}");
        }
        let long = "/dev/sdb wait 9000000000000000 0";
        let error = requests(Options::default(), V2, &[long, long]).unwrap_err();
        assert_eq!(
            error,
            Unexpected::new("wait `9000000000000000`", "waits that come to less than 2^63 ns")
        );
    }
}
