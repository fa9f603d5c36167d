//! Trace formats: one file per family, and the registry of all of them.

mod alibaba;
mod ascii;
mod blkparse;
mod blkreplay;
mod cloudphysics;
mod detect;
mod diskmon;
mod etw;
mod fields;
mod fio;
mod fiu;
mod msr;
mod names;
mod nbdkit_log;
mod scsi;
mod spc;
mod systor;
mod tencent;

use std::str::FromStr;

use eraseblock_core::host::Request;
use serde::Serialize;

use crate::config::{Action, IologUnit, IologWaits, WorkloadConfig, Zeroes};
use crate::error::nearest;
use crate::order::Disorder;

pub(crate) use detect::{Detected, detect};

/// A trace format, by name.
#[derive(Debug, Serialize)]
pub struct Format {
    /// Name in `format = "..."`.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// Columns of a line, in order.
    pub columns: &'static str,
    /// Units of time, address and length, and how the operation is written.
    pub units: &'static str,
    /// What tells it from other formats when none is named.
    pub recognised_by: &'static str,
    /// Where it is documented.
    pub reference: &'static str,
    /// File name extensions (before `.gz` or `.zst`) that say it is this format; they are names for it too.
    pub extensions: &'static [&'static str],
    /// How far its recorders write requests out of order.
    pub disorder: Disorder,
    #[serde(skip)]
    parser: fn(ReadOptions) -> Box<dyn LineParser>,
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
    pub(crate) fn parser(&self, options: ReadOptions) -> Box<dyn LineParser> {
        (self.parser)(options)
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
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReadOptions {
    pub zeroes: Zeroes,
    pub action: Action,
    pub iolog_unit: IologUnit,
    pub iolog_waits: IologWaits,
}

impl ReadOptions {
    pub fn of(config: &WorkloadConfig) -> Self {
        Self {
            zeroes: config.zeroes,
            action: config.action,
            iolog_unit: config.iolog_unit,
            iolog_waits: config.iolog_waits,
        }
    }
}

/// Turns the lines of one file into requests; it may remember what earlier lines said.
pub(crate) trait LineParser: Send {
    /// Reads one line. Times are those written in the file, from any origin.
    fn line(&mut self, line: &str) -> Result<Line, Unexpected>;

    /// What the file should have held, where it ended before the first request could be read.
    fn missing(&self) -> &'static str {
        "at least one request"
    }
}

/// What a line holds.
#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    Request(Request),
    /// A flush of the request's volume and then, at the same time, the request.
    FlushThen(Request),
    /// No request; counted under this name.
    Other(&'static str),
}

/// A line that is not what the format promises.
#[derive(Debug, PartialEq)]
pub(crate) struct Unexpected {
    pub found: String,
    pub expected: String,
}

impl Unexpected {
    fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { found: found.into(), expected: expected.into() }
    }
}

/// The first lines of a file.
pub(crate) struct Sample {
    lines: Vec<String>,
}

impl Sample {
    /// Lines that are not blank.
    fn filled(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty())
    }
}

/// What a family makes of a sample that looks like one of its own.
enum Guess {
    /// One format, and why.
    Settled { format: &'static str, evidence: String },
    /// Several that would read different requests from the same lines, and why that cannot be told.
    Open { formats: Vec<&'static str>, why: String },
}

/// True if at least half of the sample, and one line at least, satisfies `test`: a single bad line is then
/// reported by its number, not as an unknown format.
fn mostly(sample: &Sample, test: impl Fn(&str) -> bool) -> bool {
    let (mut good, mut all) = (0, 0);
    for line in sample.filled() {
        all += 1;
        good += u64::from(test(line));
    }
    good > 0 && 2 * good >= all
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

    proptest! {
        /// Whatever a line holds, each parser answers and never panics.
        #[test]
        fn any_line_is_answered(lines in prop::collection::vec("\\PC{0,40}", 0..8)) {
            for format in formats() {
                let mut parser = format.parser(ReadOptions::default());
                for line in &lines {
                    let _ = parser.line(line);
                }
            }
        }

        /// The same for lines made of what traces are made of.
        #[test]
        fn any_near_miss_is_answered(
            lines in prop::collection::vec("[-0-9a-fx.,; \tRWrwTZ:=]{0,60}|[0-9]{1,25} [0-9]{1,25} [0-9]{1,25} [0-9]{1,25} [01]", 0..8)
        ) {
            for format in formats() {
                let mut parser = format.parser(ReadOptions::default());
                for line in &lines {
                    if let Ok(Line::Request(request)) = parser.line(line) {
                        prop_assert!(request.offset.checked_add(request.len).is_some());
                    }
                }
            }
        }
    }
}
