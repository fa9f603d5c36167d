//! Trace formats: one file per family, and the registry of all of them.

mod alibaba;
mod ascii;
mod blkparse;
mod blkreplay;
mod blktrace;
mod cloudphysics;
mod content;
mod detect;
mod diskmon;
mod ebt;
mod etw;
mod fields;
mod fio;
mod fiu;
mod msr;
mod names;
mod nbdkit_log;
mod numbers;
mod oracle;
mod sample;
mod scsi;
mod spc;
mod srt;
mod systor;
mod tencent;
#[cfg(test)]
mod testing;
mod vscsi;

use std::str::FromStr;

use eraseblock_core::config::Bytes;
use eraseblock_core::host::{Op, Request};
use serde::Serialize;

use crate::config::{Action, IologUnit, IologWaits, OracleOp, WorkloadConfig, Zeroes};
use crate::error::{Unexpected, nearest};
use crate::order::Disorder;

pub(crate) use content::{Content, Line, LineParser, Parser, RecordParser};
pub(crate) use detect::{Detected, detect, detect_in};
use sample::{Guess, Sample, mostly};

/// A trace format, by name.
#[derive(Debug, Serialize)]
pub struct Format {
    /// Name in `format = "..."`.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// Columns of a line, or fields of a record, in order.
    pub columns: &'static str,
    /// Units of time, address and length, and how the operation is written.
    pub units: &'static str,
    /// What tells it from other formats when none is named.
    pub recognised_by: &'static str,
    /// Where it is documented.
    pub reference: &'static str,
    /// File name extensions (before `.gz` and the like) that say it is this format; they are names for it too.
    pub extensions: &'static [&'static str],
    /// How far its recorders write requests out of order.
    pub disorder: Disorder,
    #[serde(skip)]
    parser: Parser,
    /// Writes a file of this format that holds these requests. They are what every format can say: reads and writes of
    /// whole sectors on volume 0, in order of time. Tests, benchmarks and fuzzing begin with such files.
    #[serde(skip)]
    sample: fn(&[Request]) -> Vec<u8>,
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Formats that are told apart together.
struct Family {
    formats: &'static [Format],
    recognise: fn(&Sample) -> Option<Guess>,
}

/// A new format is one file and one line here.
static FAMILIES: &[&Family] = &[
    &ebt::FAMILY,
    &blktrace::FAMILY,
    &srt::FAMILY,
    &vscsi::FAMILY,
    &oracle::FAMILY,
    &fio::FAMILY,
    &etw::FAMILY,
    &spc::FAMILY,
    &msr::FAMILY,
    &systor::FAMILY,
    &alibaba::FAMILY,
    &tencent::FAMILY,
    &cloudphysics::FAMILY,
    &blkreplay::FAMILY,
    &blkparse::FAMILY,
    &fiu::FAMILY,
    &diskmon::FAMILY,
    &ascii::FAMILY,
    &nbdkit_log::FAMILY,
];

/// All formats that can be read.
pub fn formats() -> impl Iterator<Item = &'static Format> {
    FAMILIES.iter().flat_map(|family| family.formats)
}

impl Format {
    /// A file of this format with `count` made-up requests, 100 us apart: what benchmarks and fuzzing begin with.
    pub fn sample(&self, count: u64) -> Vec<u8> {
        (self.sample)(&made_up(count, 100_000))
    }
}

/// Small reads and writes all over 32 GiB of one volume.
fn made_up(count: u64, gap_ns: u64) -> Vec<Request> {
    let scattered = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let request = |i| Request {
        arrival_ns: i * gap_ns,
        offset: scattered(i) % (1 << 26) * 512,
        len: 4096 * (1 + i % 5),
        volume: 0,
        op: if i % 3 == 1 { Op::Read } else { Op::Write },
        fua: false,
    };
    (0..count).map(request).collect()
}

#[cfg(test)]
impl Format {
    /// The parser of a text format.
    fn parser(&self, options: ReadOptions) -> Box<dyn LineParser> {
        match self.parser {
            Parser::Lines(parser) => parser(options),
            Parser::Records(_) => panic!("{} is a binary format", self.name),
        }
    }
}

impl FromStr for &'static Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let named = formats().find(|format| format.name == name);
        let known = named.or_else(|| formats().find(|format| format.extensions.contains(&name)));
        known.ok_or_else(|| {
            let hint = match nearest(name, formats().map(|format| format.name)) {
                Some(near) => format!("did you mean `{near}`? "),
                None => String::new(),
            };
            let known: Vec<_> = formats().map(|format| format.name).collect();
            format!("unknown trace format `{name}`; {hint}known: auto, {}", known.join(", "))
        })
    }
}

/// What the user chose about reading.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadOptions {
    pub zeroes: Zeroes,
    pub action: Action,
    pub iolog_unit: IologUnit,
    pub iolog_waits: IologWaits,
    pub oracle_op: OracleOp,
    pub oracle_block: Bytes,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self::of(&WorkloadConfig::default())
    }
}

impl ReadOptions {
    pub fn of(config: &WorkloadConfig) -> Self {
        Self {
            zeroes: config.zeroes,
            action: config.action,
            iolog_unit: config.iolog_unit,
            iolog_waits: config.iolog_waits,
            oracle_op: config.oracle_op,
            oracle_block: config.oracle_block,
        }
    }
}

/// Text from a file, fit for a message: short, in quotes, without control characters.
pub(crate) fn quote(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::Fault;

    #[test]
    fn names_are_unique_and_near_misses_are_answered() {
        let mut names: Vec<_> = formats().map(|format| format.name).collect();
        assert!(names.contains(&"spc") && names.contains(&"nbdkit-log"));
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        let error = <&Format>::from_str("disksym").unwrap_err();
        assert!(error.contains("did you mean `disksim`?"), "{error}");
        let alias = <&Format>::from_str("ascii-ms-bytes").unwrap();
        assert_eq!(alias.name, "heimdall");
        let mut extensions: Vec<_> = formats().flat_map(|format| format.extensions).collect();
        extensions.sort_unstable();
        let count = extensions.len();
        extensions.dedup();
        assert_eq!(extensions.len(), count);
    }

    #[test]
    fn quoted_text_is_short_and_printable() {
        assert_eq!(quote("a\tb\u{7}"), "`a\\tb\\u{7}`");
        assert_eq!(quote(&"x".repeat(100)).len(), 65);
    }

    /// Reads all of `bytes`, passing over what is wrong.
    fn read(format: &Format, bytes: &[u8]) -> Vec<Request> {
        let mut content = testing::content(format, bytes, ReadOptions::default());
        let mut requests = Vec::new();
        loop {
            match content.next() {
                Ok(Some(Line::Request(request) | Line::FlushThen(request))) => {
                    assert!(
                        request.offset.checked_add(request.len).is_some_and(|end| end <= fields::MAX_END)
                    );
                    requests.push(request);
                }
                Ok(Some(Line::Other(_))) | Err(Fault::Bad(_)) => {}
                Ok(None) | Err(Fault::Lost(_) | Fault::File(_)) => return requests,
            }
        }
    }

    #[test]
    fn samples_are_read_back() {
        // Some formats count whole seconds.
        let written = made_up(100, 1_000_000_000);
        for format in formats() {
            let read = read(format, &(format.sample)(&written));
            assert_eq!(read.len(), written.len(), "{}", format.name);
            for (read, written) in read.iter().zip(&written) {
                let place = |request: &Request| (request.offset, request.len, request.volume, request.fua);
                assert_eq!(place(read), place(written), "{}", format.name);
            }
            let gaps = |requests: &[Request]| -> Vec<u64> {
                requests.windows(2).map(|pair| pair[1].arrival_ns - pair[0].arrival_ns).collect()
            };
            assert_eq!(gaps(&read), gaps(&written), "{}", format.name);
            let reads = read.iter().filter(|request| request.op == Op::Read).count();
            // A format without a column for the operation takes all requests for the same.
            assert!(reads == 33 || reads % 100 == 0, "{}: {reads} reads", format.name);
        }
    }

    proptest! {
        /// Whatever a file holds, each parser answers and never panics.
        #[test]
        fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            for format in formats() {
                read(format, &bytes);
            }
        }

        /// The same for text.
        #[test]
        fn any_line_is_answered(lines in prop::collection::vec("\\PC{0,40}", 0..8)) {
            for format in formats() {
                read(format, lines.join("\n").as_bytes());
            }
        }

        /// The same for lines made of what traces are made of.
        #[test]
        fn any_near_miss_is_answered(
            lines in prop::collection::vec("[-0-9a-fx.,; \tRWrwTZ:=]{0,60}|[0-9]{1,25} [0-9]{1,25} [0-9]{1,25} [0-9]{1,25} [01]", 0..8)
        ) {
            for format in formats() {
                read(format, lines.join("\n").as_bytes());
            }
        }

        /// The same for files of each format with some bytes overwritten, and an end that is missing.
        #[test]
        fn any_damage_is_answered(
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            end in any::<prop::sample::Index>(),
        ) {
            for format in formats() {
                let mut bytes = format.sample(20);
                for (place, byte) in &damage {
                    *place.get_mut(&mut bytes) = *byte;
                }
                read(format, &bytes);
                read(format, &bytes[..end.index(bytes.len())]);
            }
        }
    }
}
