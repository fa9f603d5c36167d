//! The blank-separated family `time device address size type` of `disksim`, `ssdsim` and `mqsim`.
//!
//! Its members look alike and differ in the unit of time, in the unit of address and size, and in
//! what the last column may hold. Each is a format of its own; what the lines themselves do not
//! settle is asked, never guessed.

use eraseblock_core::host::{Op, Request};

use crate::error::size;

use super::fields::{TimeUnit, extent, time_ns, trimmed, whole};
use super::sample::{either, lines};
use super::{
    Disorder, Family, Format, Guess, Line, LineParser, Reads, Sample, Unexpected, mostly, quote,
};

const COLUMNS: &str = "time device address size type";

/// A member of the family.
macro_rules! member {
    (
        $name:literal,
        $title:literal,
        $columns:expr,
        $units:literal,
        $recognised_by:expr,
        $reference:literal,
        $extensions:expr
    ) => {
        Format {
            name: $name,
            title: $title,
            columns: COLUMNS,
            units: $units,
            recognised_by: $recognised_by,
            reference: $reference,
            extensions: $extensions,
            disorder: Disorder::None,
            reads: Reads::Lines(|| Box::new(Ascii { name: $name, columns: $columns })),
            sample: |requests| {
                let columns: Columns = $columns;
                lines("", requests, |request| columns.line(request))
            },
        }
    };
}

const NAMED: &str = "five blank-separated numbers, and its name: the lines alone do not tell it";

pub(super) static FAMILY: Family = Family {
    formats: &[
        member!(
            "disksim",
            "DiskSim ASCII",
            Columns { unit: TimeUnit::Millis, scale: 512, types: Types::Flags },
            "time in ms, address and size in 512-byte sectors, type = flags in hexadecimal with \
             bit 0 set for a read",
            "five blank-separated numbers, times with fractions",
            "The DiskSim Simulation Environment, Version 4.0 Reference Manual, ASCII input traces",
            &["disksim"]
        ),
        member!(
            "ssdsim",
            "SSDsim",
            Columns { unit: TimeUnit::Nanos, scale: 512, types: Types::ReadIsOne },
            "time in whole ns, address and size in 512-byte sectors, type 1 = read, 0 = write",
            "five blank-separated numbers, times without fractions",
            "Hu et al., Performance impact and interplay of SSD parallelism, ICS 2011; the \
             simulator's manual",
            &["ssdsim"]
        ),
        member!(
            "mqsim",
            "MQSim ASCII with the time unit of its samples",
            Columns { unit: TimeUnit::Nanos, scale: 512, types: Types::ReadIsOne },
            "time in whole ns, address and size in 512-byte sectors, type 1 = read, 0 = write",
            "as ssdsim, which reads the same requests from the same lines",
            "Tavakkol et al., MQSim, FAST 2018; Time_Unit NANOSECOND in the workload file",
            &["mqsim"]
        ),
        member!(
            "mqsim-ps",
            "MQSim ASCII in picoseconds",
            Columns { unit: TimeUnit::Picos, scale: 512, types: Types::ReadIsOne },
            "time in whole ps, address and size in 512-byte sectors, type 1 = read, 0 = write",
            NAMED,
            "Tavakkol et al., MQSim, FAST 2018; Time_Unit PICOSECOND in the workload file",
            &["mqsim-ps"]
        ),
        member!(
            "ascii-us",
            "The family's columns in microseconds (MQSim: Time_Unit MICROSECOND)",
            Columns { unit: TimeUnit::Micros, scale: 512, types: Types::ReadIsOne },
            "time in us, address and size in 512-byte sectors, type 1 = read, 0 = write",
            NAMED,
            "as mqsim",
            &["ascii-us"]
        ),
        member!(
            "ascii-ms",
            "The family's columns in milliseconds",
            Columns { unit: TimeUnit::Millis, scale: 512, types: Types::ReadIsOne },
            "time in ms, address and size in 512-byte sectors, type 1 = read, 0 = write",
            NAMED,
            "as disksim, with SSDsim's last column",
            &["ascii-ms"]
        ),
        member!(
            "ascii-s",
            "The family's columns in seconds",
            Columns { unit: TimeUnit::Seconds, scale: 512, types: Types::ReadIsOne },
            "time in s, address and size in 512-byte sectors, type 1 = read, 0 = write",
            NAMED,
            "as disksim, with SSDsim's last column",
            &["ascii-s"]
        ),
        member!(
            "heimdall",
            "Heimdall and replayer (also named ascii-ms-bytes)",
            Columns { unit: TimeUnit::Millis, scale: 1, types: Types::ReadIsOne },
            "time in ms, address and size in bytes, type 1 = read, 0 = write",
            "asked about, beside disksim, where every address and size is a multiple of 512",
            "Kurniawan et al., Heimdall, EuroSys 2025; README of the replayer it uses",
            &["heimdall", "ascii-ms-bytes"]
        ),
    ],
    recognise,
};

/// What the last column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Types {
    /// 1 = read, 0 = write.
    ReadIsOne,
    /// Hexadecimal flags; bit 0 = read.
    Flags,
}

/// What the columns of one member mean.
#[derive(Clone, Copy)]
struct Columns {
    unit: TimeUnit,
    /// Bytes per unit of address and size.
    scale: u64,
    types: Types,
}

impl Columns {
    fn line(self, request: &Request) -> String {
        let (time, kind) = (self.unit.text(request.arrival_ns), either(request, "1", "0"));
        format!("{time} 0 {} {} {kind}", request.offset / self.scale, request.len / self.scale)
    }
}

struct Ascii {
    name: &'static str,
    columns: Columns,
}

impl LineParser for Ascii {
    fn line(&mut self, line: &str) -> Result<Line, Unexpected> {
        if trimmed(line).is_empty() {
            return Ok(Line::Other("blank lines"));
        }
        let Some([time, device, address, size, kind]) = five(line) else {
            let count = line.split_ascii_whitespace().count();
            return Err(Unexpected::new(
                format!("{count} columns in {}", quote(line)),
                format!("5: {COLUMNS}"),
            ));
        };
        let Columns { unit, scale, types } = self.columns;
        let arrival_ns = time_ns(time, unit)?;
        let volume = whole(device, "the device")?;
        let address = whole(address, "the address")?;
        let (offset, len) = extent(address, scale, whole(size, "the size")?, scale)?;
        let op = match (types, kind) {
            (_, "1") => Op::Read,
            (_, "0") => Op::Write,
            (Types::Flags, flags) => match hexadecimal(flags) {
                Some(flags) if flags & 1 == 1 => Op::Read,
                Some(_) => Op::Write,
                None => {
                    return Err(Unexpected::new(
                        format!("flags {}", quote(flags)),
                        "hexadecimal flags",
                    ));
                }
            },
            (Types::ReadIsOne, other) => {
                let expected = format!(
                    "1 (read) or 0 (write) in {}; disksim reads hexadecimal flags",
                    self.name
                );
                return Err(Unexpected::new(format!("type {}", quote(other)), expected));
            }
        };
        Ok(Line::Request(Request { arrival_ns, offset, len, volume, op, fua: false }))
    }
}

fn five(line: &str) -> Option<[&str; 5]> {
    let mut columns = line.split_ascii_whitespace();
    let all = [columns.next()?, columns.next()?, columns.next()?, columns.next()?, columns.next()?];
    columns.next().is_none().then_some(all)
}

fn hexadecimal(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if digits.starts_with('+') { None } else { u32::from_str_radix(digits, 16).ok() }
}

/// More requests per second than this over a whole sample say that the time unit is wrong.
const MAX_RATE: u64 = 200_000;

/// What a sample shows about the family's open questions.
struct Traits {
    requests: u64,
    fractions: bool,
    hex_flags: bool,
    all_multiples_of_512: bool,
    mean_size: u64,
    /// Time from the first to the last request, in the unit of the times taken as ms or ns.
    span_ns: u64,
}

impl Traits {
    fn of(sample: &Sample) -> Self {
        let mut traits = Self {
            requests: 0,
            fractions: false,
            hex_flags: false,
            all_multiples_of_512: true,
            mean_size: 0,
            span_ns: 0,
        };
        let mut times = Vec::new();
        let mut units: u128 = 0;
        for [time, _, address, size, kind] in
            sample.filled().filter(|line| like_family(line)).filter_map(five)
        {
            traits.requests += 1;
            traits.fractions |= time.contains('.');
            traits.hex_flags |= !matches!(kind, "0" | "1");
            for number in [address, size] {
                traits.all_multiples_of_512 &=
                    whole::<u64>(number, "").is_ok_and(|number| number % 512 == 0);
            }
            units += u128::from(whole::<u64>(size, "").unwrap_or(0));
            times.push(time);
        }
        traits.mean_size = units.checked_div(u128::from(traits.requests)).unwrap_or(0) as u64;
        let unit = likely_unit(traits.fractions);
        let mut read = times.iter().filter_map(|time| time_ns(time, unit).ok());
        let first = read.next().unwrap_or(0);
        traits.span_ns = read.next_back().unwrap_or(first).saturating_sub(first);
        traits
    }

    /// Requests per second over the sample; `None` where all come at once.
    fn rate(&self) -> Option<u64> {
        (u128::from(self.requests - 1) * 1_000_000_000)
            .checked_div(u128::from(self.span_ns))
            .map(|rate| rate as u64)
    }
}

/// By the family's convention.
fn likely_unit(fractions: bool) -> TimeUnit {
    if fractions { TimeUnit::Millis } else { TimeUnit::Nanos }
}

fn like_family(line: &str) -> bool {
    five(line).is_some_and(|[time, device, address, size, kind]| {
        time_ns(time, likely_unit(time.contains('.'))).is_ok()
            && [device, address, size].iter().all(|number| whole::<u64>(number, "").is_ok())
            && hexadecimal(kind).is_some()
    })
}

fn recognise(sample: &Sample) -> Option<Guess> {
    if !mostly(sample, like_family) {
        return None;
    }
    let traits = Traits::of(sample);
    let open = |formats: &[&'static str], why: String| {
        Some(Guess::Open { formats: formats.to_vec(), why })
    };
    let (format, unit, others): (_, _, &[&str]) = if traits.fractions || traits.hex_flags {
        ("disksim", "ms", &["ascii-s", "ascii-us"])
    } else {
        ("ssdsim", "ns", &["mqsim", "mqsim-ps", "ascii-us", "ascii-ms", "ascii-s"])
    };
    let candidates: Vec<_> = std::iter::once(format).chain(others.iter().copied()).collect();
    if traits.hex_flags && !traits.fractions {
        return Some(Guess::Settled {
            format,
            evidence: format!(
                "columns `{COLUMNS}`; the last holds more than 0 and 1, as DiskSim's hexadecimal \
                 flags do"
            ),
        });
    }
    if traits.all_multiples_of_512 {
        let why = format!(
            "every address and size is a multiple of 512, so they may count bytes or sectors (as \
             bytes, the first {} requests have {} on average, as sectors {})",
            traits.requests,
            size(traits.mean_size),
            size(traits.mean_size.saturating_mul(512))
        );
        return open(&[&candidates[..1], &["heimdall"], &candidates[1..]].concat(), why);
    }
    let rate = match traits.rate() {
        Some(rate) if rate <= MAX_RATE => rate,
        Some(rate) => {
            let why = format!(
                "read as {unit}, the first {} requests would come at {rate} per second",
                traits.requests
            );
            return open(&candidates, why);
        }
        None => {
            let why = format!(
                "the first {} times are all equal, so they do not show their unit",
                traits.requests
            );
            return open(&candidates, why);
        }
    };
    let convention = if traits.fractions {
        "times with fractions: DiskSim's are ms, SSDsim's and MQSim's whole ns"
    } else {
        "times without fractions: SSDsim and MQSim count whole ns and read the same requests, \
         DiskSim's ms have fractions"
    };
    let kinds = if traits.hex_flags { "hexadecimal flags" } else { "only 0 (write) and 1 (read)" };
    Some(Guess::Settled {
        format,
        evidence: format!(
            "columns `{COLUMNS}`, the last {kinds}; {convention}; so read, the first {} requests \
             come at {rate} per second",
            traits.requests
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::content::Parser;
    use super::super::{NamedFormat, formats};
    use super::*;

    fn read(format: &str, line: &str) -> Result<Line, Unexpected> {
        let format = formats().find(|known| known.name == format).unwrap();
        let Parser::Lines(mut parser) = NamedFormat::from(format).parser() else {
            panic!("a text format")
        };
        parser.line(line)
    }

    fn request(arrival_ns: u64, volume: u32, offset: u64, len: u64, op: Op) -> Line {
        Line::Request(Request { arrival_ns, offset, len, volume, op, fua: false })
    }

    #[test]
    fn members_differ_in_units() {
        let line = "11413000 0 657728 16 1";
        let (offset, len) = (657_728 * 512, 8192);
        assert_eq!(read("mqsim", line).unwrap(), request(11_413_000, 0, offset, len, Op::Read));
        assert_eq!(read("ssdsim", line).unwrap(), request(11_413_000, 0, offset, len, Op::Read));
        assert_eq!(read("mqsim-ps", line).unwrap(), request(11_413, 0, offset, len, Op::Read));
        assert_eq!(
            read("ascii-us", line).unwrap(),
            request(11_413_000_000, 0, offset, len, Op::Read)
        );
        assert_eq!(
            read("ascii-ms", line).unwrap(),
            request(11_413_000_000_000, 0, offset, len, Op::Read)
        );
        assert_eq!(
            read("ascii-s", "1.5 2 8 16 0").unwrap(),
            request(1_500_000_000, 2, 4096, 8192, Op::Write)
        );
        assert_eq!(
            read("heimdall", "1.5 2 8 16 0").unwrap(),
            request(1_500_000, 2, 8, 16, Op::Write)
        );
    }

    #[test]
    fn disksim_has_hexadecimal_flags() {
        for (flags, op) in [
            ("0", Op::Write),
            ("1", Op::Read),
            ("80", Op::Write),
            ("101", Op::Read),
            ("0x3", Op::Read),
        ] {
            assert_eq!(
                read("disksim", &format!("1.5 0 8 16 {flags}")).unwrap(),
                request(1_500_000, 0, 4096, 8192, op)
            );
        }
        assert_eq!(read("disksim", "1.5 0 8 16 R").unwrap_err().found, "flags `R`");
        let error = read("ssdsim", "1 0 8 16 80").unwrap_err();
        assert_eq!(error.found, "type `80`");
        assert!(error.expected.contains("disksim reads hexadecimal flags"));
    }

    #[test]
    fn says_what_is_wrong() {
        for (line, found) in [
            ("1 0 8 16", "4 columns in `1 0 8 16`"),
            ("1 0 8 16 1 9", "6 columns in `1 0 8 16 1 9`"),
            ("1.5 0 8 16 1", "time `1.5`"),
            ("1 x 8 16 1", "`x`"),
            ("1 0 8 -16 1", "`-16`"),
            ("1 0 8 16 2", "type `2`"),
        ] {
            assert_eq!(read("ssdsim", line).unwrap_err().found, found);
        }
    }

    fn guess(lines: &[&str]) -> Option<Guess> {
        recognise(&Sample::of_text(&lines.join("\n")))
    }

    fn settled(lines: &[&str]) -> (&'static str, String) {
        match guess(lines) {
            Some(Guess::Settled { format, evidence }) => (format, evidence),
            Some(Guess::Open { why, .. }) => panic!("open: {why}"),
            None => panic!("not recognised"),
        }
    }

    fn open(lines: &[&str]) -> (Vec<&'static str>, String) {
        match guess(lines) {
            Some(Guess::Open { formats, why }) => (formats, why),
            Some(Guess::Settled { evidence, .. }) => panic!("settled: {evidence}"),
            None => panic!("not recognised"),
        }
    }

    #[test]
    fn fractions_and_flags_settle_the_member() {
        let (format, evidence) = settled(&["0.5 0 8 16 1", "10.5 0 24 16 0"]);
        assert_eq!(format, "disksim");
        assert!(
            evidence.contains("times with fractions") && evidence.contains("100 per second"),
            "{evidence}"
        );
        let (format, evidence) = settled(&["5 0 8 16 1", "10000005 0 24 16 0"]);
        assert_eq!(format, "ssdsim");
        assert!(
            evidence.contains("times without fractions") && evidence.contains("100 per second"),
            "{evidence}"
        );
        // Clocks that count from 1601 or 1970 give long numbers.
        assert_eq!(
            settled(&["1600000000000000000 0 8 16 1", "1600000000010000000 0 24 16 0"]).0,
            "ssdsim"
        );
        assert_eq!(settled(&["5 0 8 16 81", "10 0 24 16 0"]).0, "disksim");
    }

    #[test]
    fn what_lines_do_not_settle_is_asked() {
        let (formats, why) = open(&["0.5 0 1024 4096 1", "10.5 0 8192 512 0"]);
        assert!(formats[..2] == ["disksim", "heimdall"]);
        assert!(why.contains("bytes or sectors"), "{why}");
        assert!(
            why.contains("as bytes, the first 2 requests have 2.25 KiB (2304 B) on average"),
            "{why}"
        );
        assert!(why.contains("as sectors 1.12 MiB (1179648 B)"), "{why}");
        let (formats, why) = open(&["5 0 8 16 1", "1005 0 24 16 0"]);
        assert!(formats.contains(&"ssdsim") && formats.contains(&"ascii-us"));
        assert!(why.contains("1000000 per second"), "{why}");
        assert!(open(&["5 0 8 16 1", "5 0 24 16 0"]).1.contains("all equal"));
        assert!(open(&["5 0 8 16 1"]).1.contains("all equal"));
    }

    #[test]
    fn other_shapes_are_not_the_family() {
        assert!(guess(&["1 2 3 4"]).is_none());
        assert!(guess(&["a b c d e"]).is_none());
        assert!(guess(&[]).is_none());
    }
}
