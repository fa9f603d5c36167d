//! The formats that can be written, and what each of them can hold.

use std::str::FromStr;

use serde::Serialize;

use super::text::{self, LineWriter};
use crate::error::nearest;

/// A format that can be written; the reader of the same name reads it.
#[derive(Debug, Serialize)]
pub struct WriteFormat {
    /// Name in `--to`.
    pub name: &'static str,
    /// What it is written for.
    pub title: &'static str,
    /// File name extension (before `.gz` or `.zst`) that says it is this format.
    pub extension: &'static str,
    /// What of a request it can hold.
    pub holds: Holds,
    #[serde(skip)]
    pub(super) encoding: Encoding,
}

/// What of a request a format can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Holds {
    /// Trim requests.
    pub trims: bool,
    /// Flush requests.
    pub flushes: bool,
    /// Force unit access.
    pub fua: bool,
    /// Volumes.
    pub volumes: HeldVolumes,
    /// Addresses are multiples of this many bytes.
    pub offset_unit: u64,
    /// Lengths are multiples of this many bytes.
    pub length_unit: u64,
    /// Times are multiples of this many ns.
    pub time_unit_ns: u64,
}

/// Which volumes a format can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HeldVolumes {
    /// Any, by their numbers.
    Numbered,
    /// Any, but they are numbered anew, from 0, in the order in which they come up.
    Renumbered,
    /// One, without a number.
    One,
}

/// How requests become bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Encoding {
    Compact,
    Lines(fn() -> Box<dyn LineWriter>),
}

/// Requests of five blank-separated columns: reads and writes in sectors.
const SECTORS: Holds = Holds {
    trims: false,
    flushes: false,
    fua: false,
    volumes: HeldVolumes::Numbered,
    offset_unit: 512,
    length_unit: 512,
    time_unit_ns: 1,
};

static FORMATS: &[WriteFormat] = &[
    WriteFormat {
        name: "ebt",
        title: "The compact format of this program: holds everything, is read fastest, and detects \
            damage",
        extension: "ebt",
        holds: Holds {
            trims: true,
            flushes: true,
            fua: true,
            volumes: HeldVolumes::Numbered,
            offset_unit: 1,
            length_unit: 1,
            time_unit_ns: 1,
        },
        encoding: Encoding::Compact,
    },
    WriteFormat {
        name: "spc",
        title: "SPC text: reads and writes",
        extension: "spc",
        holds: Holds { length_unit: 1, ..SECTORS },
        encoding: Encoding::Lines(|| Box::new(text::Plain(text::spc))),
    },
    WriteFormat {
        name: "disksim",
        title: "DiskSim's ASCII input: reads and writes, times in ms",
        extension: "disksim",
        holds: SECTORS,
        encoding: Encoding::Lines(|| Box::new(text::Plain(text::disksim))),
    },
    WriteFormat {
        name: "ssdsim",
        title: "SSDsim's input: reads and writes, times in ns",
        extension: "ssdsim",
        holds: SECTORS,
        encoding: Encoding::Lines(|| Box::new(text::Plain(text::ssdsim))),
    },
    WriteFormat {
        name: "mqsim",
        title: "MQSim's ASCII input (Time_Unit NANOSECOND): reads and writes",
        extension: "mqsim",
        holds: SECTORS,
        encoding: Encoding::Lines(|| Box::new(text::Plain(text::ssdsim))),
    },
    WriteFormat {
        name: "blkreplay",
        title: "blkreplay's load files: reads, writes and discards of one disk",
        extension: "load",
        holds: Holds { trims: true, fua: true, volumes: HeldVolumes::One, ..SECTORS },
        encoding: Encoding::Lines(|| Box::new(text::Blkreplay)),
    },
    WriteFormat {
        name: "fio",
        title: "fio's iolog, version 3: all but forced writes, times in us",
        extension: "iolog",
        holds: Holds {
            trims: true,
            flushes: true,
            fua: false,
            volumes: HeldVolumes::Renumbered,
            offset_unit: 1,
            length_unit: 1,
            time_unit_ns: 1000,
        },
        encoding: Encoding::Lines(|| Box::new(text::FioV3::default())),
    },
];

/// All formats that can be written.
pub fn write_formats() -> impl Iterator<Item = &'static WriteFormat> {
    FORMATS.iter()
}

impl FromStr for &'static WriteFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        write_formats().find(|format| format.name == name).ok_or_else(|| {
            let hint = match nearest(name, write_formats().map(|format| format.name)) {
                Some(near) => format!("did you mean `{near}`? "),
                None => String::new(),
            };
            let known: Vec<_> = write_formats().map(|format| format.name).collect();
            format!("no format `{name}` can be written; {hint}known: {}", known.join(", "))
        })
    }
}
