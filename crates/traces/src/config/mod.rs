//! The `[workload]` table: which requests a run replays, and how they are laid onto the drive.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use eraseblock_core::config::{Bytes, Nanos};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::chosen::{Ops, Volumes};
use crate::error::{TraceError, nearest};
use crate::generate::GenerateConfig;
use crate::limits::Limits;
use crate::readers::{Format, formats};

/// The workload: a recorded trace (`path`) or one that is made on the spot (`generate`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkloadConfig {
    /// Trace file, plain or packed (.gz, .zst, .bz2, .xz); a relative path starts at the folder of the experiment's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Format of the trace file; `auto` tells it from the content and says why, or asks.
    pub format: FormatChoice,
    /// Requests made by a generator, in place of `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate: Option<GenerateConfig>,
    /// Which volumes (disks, ASUs) of the trace are replayed: `"concat"` lays all of them one after another, each
    /// from a whole logical block of the drive on; a number takes that one alone, `"0,2,5-7"` lays those one after another.
    pub volumes: Volumes,
    /// Which operations are replayed.
    pub ops: Ops,
    /// Only reads, writes and trims that begin at this address of their volume or above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_byte: Option<Bytes>,
    /// Only reads, writes and trims that end at this address of their volume or below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_byte: Option<Bytes>,
    /// Only requests at this time or later, counted from the first request of the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Nanos>,
    /// Only requests before this time, counted from the first request of the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Nanos>,
    /// Passes over this many of the requests that are left by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip: Option<u64>,
    /// Only this many of the requests that are left by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// Times, counted from the first request replayed, are multiplied by this: 2 halves the rate of requests. `host.speedup`
    /// divides what this has made of them.
    pub time_scale: f64,
    /// What happens when the workload reaches beyond the drive.
    pub fit: FitMode,
    /// What happens when a request's time lies before that of the request above it.
    pub out_of_order: OutOfOrder,
    /// Lines and records that are not what the format promises are skipped and counted; without it the first one is an
    /// error. A damaged record of a binary file whose length is not known ends the reading there.
    pub skip_bad_lines: bool,
    /// Longest read or write that is believed; a longer one is a bad line. 4 GiB is what 32 bits of bytes can say, more than
    /// any drive takes at once.
    pub max_request: Bytes,
    /// Longest trim that is believed; a longer one is a bad line. 16 TiB is what 32 bits of sectors of 4 KiB can say: a trim
    /// may be about a whole drive.
    pub max_trim: Bytes,
    /// nbdkit logs: what a Zero request is to the drive.
    pub zeroes: Zeroes,
    /// blkparse and blktrace: which event of a request's life is taken as the request.
    pub action: Action,
    /// fio iolog version 3: unit of its timestamps. fio writes microseconds; other programs write other units.
    pub iolog_unit: IologUnit,
    /// fio iolog version 2: what the number of a `wait` line says.
    pub iolog_waits: IologWaits,
    /// libCacheSim oracleGeneral, which records no operations: what all requests are.
    pub oracle_op: OracleOp,
    /// libCacheSim oracleGeneral: an object lies at its number times this.
    pub oracle_block: Bytes,
}

/// Keys that say how a file is read, and the formats that heed them; none where all do.
const READER_OPTIONS: [(&str, &[&str]); 8] = [
    ("out_of_order", &[]),
    ("skip_bad_lines", &[]),
    ("zeroes", &["nbdkit-log"]),
    ("action", &["blkparse", "blktrace"]),
    ("iolog_unit", &["fio"]),
    ("iolog_waits", &["fio"]),
    ("oracle_op", &["oracle-general"]),
    ("oracle_block", &["oracle-general", "oracle-general-opns"]),
];

/// What happens when the workload reaches beyond the drive. Each request is accounted for, and a mapping that even so
/// finds no room is an error with both sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FitMode {
    /// It is an error that gives both sizes.
    #[default]
    Refuse,
    /// Addresses are taken modulo the drive's capacity; a request across the end goes on at address 0, as a second
    /// request.
    Wrap,
    /// Only the logical blocks that are read or written keep a place, densely, in ascending order: offsets inside a
    /// block, and which blocks are neighbours, stay as they were. Done even where the workload fits as it is.
    Compact,
    /// Requests that do not lie wholly within the drive are dropped (HBM).
    Clip,
    /// Page addresses are shrunk evenly, (page x drive pages / workload pages), lengths and offsets inside a page stay
    /// (EPO); a request pushed over the end is moved back by whole pages.
    Scale,
    /// Logical blocks beyond the drive move to blocks inside that the workload never reads or writes, in ascending
    /// order; the others stay (SUPA). A request whose blocks part is split.
    Remap,
}

impl FitMode {
    /// All modes, in the order of the documentation.
    pub const ALL: [Self; 6] =
        [Self::Refuse, Self::Wrap, Self::Compact, Self::Clip, Self::Scale, Self::Remap];

    /// Name in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Wrap => "wrap",
            Self::Compact => "compact",
            Self::Clip => "clip",
            Self::Scale => "scale",
            Self::Remap => "remap",
        }
    }
}

/// What happens when a request's time lies before that of the request above it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutOfOrder {
    /// As the format needs: formats whose recorders write out of order are sorted (blkparse and the like) or, where
    /// their steps back are small, clamped (nbdkit); in all others it is an error.
    #[default]
    Auto,
    /// It is an error that names the line.
    Error,
    /// The request arrives together with the latest one before it, and is counted.
    Clamp,
    /// The request is moved to its place in time, and counted; one that comes more than half a million requests too
    /// late is an error.
    Sort,
}

/// What a request to write zeroes is to the drive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Zeroes {
    /// A trim where the client allows one, a write where it does not.
    #[default]
    AsFlagged,
    /// Always a trim.
    Trim,
    /// Always a write.
    Write,
}

/// Which event of a request's life in the Linux block layer is taken as the request; its time is the arrival.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Q, as the file system asked: before requests are merged and sorted.
    Queue,
    /// D, as the drive was asked; a device made of others (LVM, RAID) has no such events.
    #[default]
    Issue,
    /// C, as the drive answered: the arrival is then the time of the answer.
    Complete,
}

/// Unit of the timestamps of a fio iolog version 3.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IologUnit {
    /// Nanoseconds.
    Ns,
    /// Microseconds, as fio writes and replays them.
    #[default]
    Us,
    /// Milliseconds.
    Ms,
}

/// What the number of a `wait` line in a fio iolog version 2 says; requests between two waits arrive together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IologWaits {
    /// Microseconds since the previous wait, and below 100 nothing: as fio's manual says.
    #[default]
    Gaps,
    /// Milliseconds since the beginning: as fio's code replays them.
    Clock,
}

/// What the requests of a trace are that records no operations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OracleOp {
    /// All are reads.
    #[default]
    Read,
    /// All are writes.
    Write,
}

/// Format of a trace file.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum FormatChoice {
    /// Told from the content.
    #[default]
    Auto,
    /// The one named.
    Named(&'static Format),
}

impl FromStr for FormatChoice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if name == "auto" { Ok(Self::Auto) } else { name.parse().map(Self::Named) }
    }
}

impl fmt::Display for FormatChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Named(format) => format.name,
        })
    }
}

impl Serialize for FormatChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FormatChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for FormatChoice {
    fn schema_name() -> Cow<'static, str> {
        "FormatChoice".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = std::iter::once("auto").chain(formats().map(|format| format.name)).collect();
        json_schema!({"type": "string", "enum": names, "description": "auto, or the name of a trace format"})
    }
}

impl Default for WorkloadConfig {
    fn default() -> Self {
        Self {
            path: None,
            format: FormatChoice::default(),
            generate: None,
            volumes: Volumes::default(),
            ops: Ops::default(),
            from_byte: None,
            until_byte: None,
            from: None,
            until: None,
            skip: None,
            first: None,
            time_scale: 1.0,
            fit: FitMode::default(),
            out_of_order: OutOfOrder::default(),
            skip_bad_lines: false,
            max_request: Limits::DEFAULT.request,
            max_trim: Limits::DEFAULT.trim,
            zeroes: Zeroes::default(),
            action: Action::default(),
            iolog_unit: IologUnit::default(),
            iolog_waits: IologWaits::default(),
            oracle_op: OracleOp::default(),
            oracle_block: Bytes(512),
        }
    }
}

impl WorkloadConfig {
    /// The trace at `path`, all of it, its format told from its content.
    #[must_use]
    pub fn trace(path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..Self::default() }
    }

    /// The requests of a generator.
    #[must_use]
    pub fn generated(generate: GenerateConfig) -> Self {
        Self { generate: Some(generate), ..Self::default() }
    }

    /// Checks what a single key cannot show by itself; reads no file.
    ///
    /// # Errors
    ///
    /// Names the key of the `[workload]` table that is wrong or missing.
    pub fn check(&self) -> Result<(), TraceError> {
        self.check_selection()?;
        if self.oracle_block == Bytes(0) {
            return Err(TraceError::key(
                "oracle_block",
                "found 0 B, expected the size of a block, such as \"512 B\"",
            ));
        }
        for (key, limit) in [("max_request", self.max_request), ("max_trim", self.max_trim)] {
            if limit == Bytes(0) {
                return Err(TraceError::key(
                    key,
                    "found 0 B, expected the longest request, such as \"4 GiB\"",
                ));
            }
        }
        match (&self.path, &self.generate) {
            (Some(path), None) if path.is_empty() => {
                Err(TraceError::key("path", "is empty, expected a trace file"))
            }
            (Some(_), None) => Ok(()),
            (None, Some(generate)) if self.format == FormatChoice::Auto => generate.check(),
            (None, Some(_)) => {
                Err(TraceError::key("format", "belongs to a trace file; `generate` reads none"))
            }
            (Some(_), Some(_)) => {
                Err(TraceError::key("path", "stands beside `generate`; expected one of the two, not both"))
            }
            (None, None) => Err(TraceError::key(
                "path",
                "is missing; name a trace file, or make requests with \
                 generate = { kind = \"uniform\", requests = 1000, footprint = \"1 GiB\" }",
            )),
        }
    }

    /// Settings that do nothing for a workload of this format, whatever their values, and why.
    #[must_use]
    pub fn idle_settings(&self, format: &str) -> Vec<(String, String)> {
        let generated = self.generate.is_some();
        let mut found = Vec::new();
        for (option, formats) in READER_OPTIONS {
            if generated {
                found.push((format!("workload.{option}"), "requests are generated, not read".to_owned()));
            } else if !formats.is_empty() && !formats.contains(&format) {
                found.push((
                    format!("workload.{option}"),
                    format!("the trace is read as {format}; it is for {}", formats.join(", ")),
                ));
            }
        }
        if let Some(generate) = &self.generate {
            found.extend(generate.idle_settings("workload.generate"));
        }
        found
    }

    fn check_selection(&self) -> Result<(), TraceError> {
        if self.first == Some(0) {
            return Err(TraceError::key("first", "found 0, expected at least 1 request"));
        }
        if self.until.is_some_and(|until| until <= self.from.unwrap_or_default()) {
            return Err(TraceError::key("until", "is not later than from; nothing lies between them"));
        }
        if self.until_byte.is_some_and(|until| until <= self.from_byte.unwrap_or_default()) {
            return Err(TraceError::key("until_byte", "is not above from_byte; nothing lies between them"));
        }
        if !(self.time_scale > 0.0 && self.time_scale.is_finite()) {
            let problem = format!("found {}, expected a number above 0, such as 0.5", self.time_scale);
            return Err(TraceError::key("time_scale", problem));
        }
        Ok(())
    }
}

impl FromStr for FitMode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|mode| mode.name() == name).ok_or_else(|| {
            let hint = match nearest(name, Self::ALL.iter().map(|mode| mode.name())) {
                Some(near) => format!("; did you mean `{near}`?"),
                None => String::new(),
            };
            format!("unknown fit `{name}`{hint}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> WorkloadConfig {
        toml::from_str(text).unwrap()
    }

    fn problem(text: &str) -> String {
        match toml::from_str::<WorkloadConfig>(text) {
            Ok(config) => config.check().unwrap_err().to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn reads_what_people_write() {
        let config =
            parse("path = 'a.load'\nformat = 'blkreplay'\nvolumes = 3\nops = 'w'\nfirst = 10\nfit = 'wrap'");
        assert_eq!(config.volumes, Volumes::Only(vec![3]));
        assert_eq!(config.ops, Ops::W);
        assert_eq!(config.format.to_string(), "blkreplay");
        assert_eq!((config.first, config.fit), (Some(10), FitMode::Wrap));
        let config =
            parse("generate = { kind = 'zipf', requests = 5, footprint = '1 MiB', interval = '50us' }");
        let generate = serde_json::to_value(&config.generate).unwrap();
        assert_eq!((&generate["size"], &generate["interval"]), (&"4 KiB".into(), &"50 us".into()));
        assert_eq!((&generate["theta"], &generate["seed"]), (&0.99.into(), &1.into()));
        config.check().unwrap();
    }

    #[test]
    fn writes_back_what_it_read() {
        for text in [
            "path = 'a'\nvolumes = 'concat'",
            "path = 'a'\nvolumes = '0,3-5'\nops = 'write,trim'\nfrom = '1.5 s'\nuntil = '2 h'\nskip = 3\ntime_scale = 0.1",
            "path = 'a'\nfrom_byte = '1 MiB'\nuntil_byte = '1 GiB'",
            "path = 'a'\nvolumes = 7\nformat = 'spc'\nzeroes = 'as-flagged'\nout_of_order = 'clamp'\naction = 'queue'\niolog_unit = 'ms'\niolog_waits = 'clock'",
            "[generate]\nkind = 'uniform'\nrequests = 1\nfootprint = '1 MiB'\nalign = '512 B'",
        ] {
            let config = parse(text);
            assert_eq!(parse(&toml::to_string(&config).unwrap()), config);
            let json = serde_json::to_string(&config).unwrap();
            assert_eq!(serde_json::from_str::<WorkloadConfig>(&json).unwrap(), config);
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let generate = |rest: &str| format!("[generate]\nrequests = 5\nfootprint = '1 MiB'\n{rest}");
        for (text, part) in [
            (String::new(), "workload.path: is missing"),
            ("path = ''".to_owned(), "workload.path: is empty"),
            ("path = 'a'\nfirst = 0".to_owned(), "workload.first: found 0"),
            ("path = 'a'\nfrom = '2 s'\nuntil = '2 s'".to_owned(), "workload.until: is not later than from"),
            ("path = 'a'\nuntil_byte = '0 B'".to_owned(), "workload.until_byte: is not above from_byte"),
            (
                "path = 'a'\ntime_scale = 0.0".to_owned(),
                "workload.time_scale: found 0, expected a number above 0",
            ),
            ("path = 'a'\ntime_scale = inf".to_owned(), "workload.time_scale: found inf"),
            ("path = 'a'\nops = 'writes'".to_owned(), "did you mean `write`?"),
            ("path = 'a'\noracle_block = '0 B'".to_owned(), "workload.oracle_block: found 0 B"),
            ("path = 'a'\nmax_request = '0 B'".to_owned(), "workload.max_request: found 0 B"),
            ("path = 'a'\nmax_trim = '0 B'".to_owned(), "workload.max_trim: found 0 B"),
            ("path = 'a'\nformat = 'spd'".to_owned(), "did you mean `spc`?"),
            ("path = 'a'\nvolumes = 'all'".to_owned(), "found `all`, expected \"concat\""),
            ("path = 'a'\nvolumes = -1".to_owned(), "expected \"concat\", the number of a volume"),
            ("path = 'a'\nfits = 'wrap'".to_owned(), "unknown field `fits`"),
            ("path = 'a'\nfit = 'warp'".to_owned(), "expected one of `refuse`, `wrap`"),
            (format!("path = 'a'\n{}", generate("kind = 'uniform'")), "not both"),
            (
                format!("format = 'spc'\n{}", generate("kind = 'uniform'")),
                "workload.format: belongs to a trace",
            ),
            (generate("kind = 'uniform'\ntheta = 1.0"), "theta: unknown field `theta`"),
            (generate("kind = 'zipf'\ntheta = 0.0"), "workload.generate.theta: found 0, expected above 0"),
            (generate("kind = 'sequential'\nalign = '1 KiB'"), "align: unknown field `align`"),
            (generate("kind = 'uniform'\nread_share = 1.5"), "generate.read_share: found 1.5"),
            (generate("kind = 'uniform'\nsize = '2 MiB'"), "generate.footprint: found 1 MiB"),
            (generate("kind = 'uniform'\nsize = 4096"), "4096 has no unit"),
            (generate("kind = 'uniform'\ninterval = '999999999s'"), "70 years"),
        ] {
            let problem = problem(&text);
            assert!(problem.contains(part), "{text}: {problem}");
        }
    }

    #[test]
    fn fits_have_names() {
        for mode in FitMode::ALL {
            assert_eq!(mode.name().parse(), Ok(mode));
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.name());
        }
        assert!("warp".parse::<FitMode>().unwrap_err().contains("did you mean `wrap`?"));
    }
}
