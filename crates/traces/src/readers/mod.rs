//! Trace formats: one file per family, and the registry of all of them.

mod alibaba;
mod ascii;
mod blkparse;
mod blkreplay;
mod blktrace;
mod block_layer;
mod choice;
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
mod options;
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

use eraseblock_core::host::{Op, Request};
use schemars::{Schema, SchemaGenerator};
use serde::Serialize;

use crate::error::{Unexpected, nearest};

pub use choice::{FormatChoice, NamedFormat};
pub(crate) use content::{Content, Line};
use content::{LineParser, Parser, RecordParser};
pub(crate) use detect::{Detected, detect, detect_in};
use options::{FormatOptions, Reads, Table};
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
    /// File name extensions (before `.gz` and the like) that say it is this format; they are names
    /// for it too.
    pub extensions: &'static [&'static str],
    /// How far its recorders write requests out of order.
    pub disorder: Disorder,
    #[serde(skip)]
    reads: Reads,
    /// Writes a file of this format that holds these requests. They are what every format can say:
    /// reads and writes of whole sectors on volume 0, in order of time. Tests, benchmarks and
    /// fuzzing begin with such files.
    #[serde(skip)]
    sample: fn(&[Request]) -> Vec<u8>,
}

/// How far the recorders of a format write requests out of order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Disorder {
    /// Not at all: a time that runs backwards is an error.
    None,
    /// The recorder's threads may write a request up to this many ns late; it then arrives with the
    /// latest before it.
    Clamped(u64),
    /// Lines come from several processors or at completion; they are sorted by time.
    Sorted,
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
    /// JSON Schema of the options that files of this format may be read with; none where there are
    /// none.
    pub fn option_schema(&self) -> Option<Schema> {
        let mut generator = SchemaGenerator::default();
        let mut schema = self.reads.schema(&mut generator)?;
        schema.insert("$defs".to_owned(), generator.take_definitions(true).into());
        Some(schema)
    }

    /// Those options with their defaults.
    pub fn option_defaults(&self) -> Table {
        self.reads.checked(Table::new()).expect("each option has a default")
    }

    /// A file of this format with `count` made-up requests, 100 us apart: what benchmarks and
    /// fuzzing begin with.
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
    fn read(format: &'static Format, bytes: &[u8]) -> Vec<Request> {
        let mut content = testing::content(NamedFormat::from(format).parser(), bytes);
        let mut requests = Vec::new();
        loop {
            match content.next() {
                Ok(Some(Line::Request(request) | Line::FlushThen(request))) => {
                    assert!(
                        request
                            .offset
                            .checked_add(request.len)
                            .is_some_and(|end| end <= fields::MAX_END)
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
                let place =
                    |request: &Request| (request.offset, request.len, request.volume, request.fua);
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
            lines in prop::collection::vec("[-0-9a-fx.,; \tRWrwTZ:=]{0,60}|[0-9]{1,25} [0-9]{1,25} \
                [0-9]{1,25} [0-9]{1,25} [01]", 0..8)
        ) {
            for format in formats() {
                read(format, lines.join("\n").as_bytes());
            }
        }

        /// The same for files of each format with some bytes overwritten, and an end that is
        /// missing.
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
