//! The `[workload]` table: which requests a run replays, and how they are laid onto the drive.

mod chosen;
mod fit_mode;
mod given;

use eraseblock_core::config::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::TraceError;
use crate::generate::GenerateConfig;
use crate::readers::FormatChoice;
use crate::trace::{Limits, OutOfOrder};
pub use chosen::{Ops, Volumes, Which};
pub use fit_mode::FitMode;
pub use given::Given;

/// The workload: a recorded trace (`path`) or one that is made on the spot (`generate`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkloadConfig {
    /// Trace file, plain or packed (.gz, .zst, .bz2, .xz); a relative path starts at the folder of
    /// the experiment's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Format of the trace file; `auto` tells it from the content and says why, or asks.
    pub format: FormatChoice,
    /// Requests made by a generator, in place of `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate: Option<GenerateConfig>,
    /// Requests that a program holds, in place of `path`. No file can name them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub given: Option<Given>,
    /// Which volumes (disks, ASUs) of the trace are replayed: `"concat"` lays all of them one after
    /// another, each from a whole logical block of the drive on; a number takes that one alone,
    /// `"0,2,5-7"` lays those one after another. `"each"` makes a run of each volume on a drive of
    /// its own, `"each:0,2,5-7"` of those, `"busiest:20"` of the 20 with the most requests.
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
    /// Times, counted from the first request replayed, are multiplied by this: 2 halves the rate of
    /// requests. `host.speedup` divides what this has made of them.
    pub time_scale: f64,
    /// What happens when the workload reaches beyond the drive.
    pub fit: FitMode,
    /// What happens when a request's time lies before that of the request above it.
    pub out_of_order: OutOfOrder,
    /// Lines and records that are not what the format promises are skipped and counted; without it
    /// the first one is an error. A damaged record of a binary file whose length is not known ends
    /// the reading there.
    pub skip_bad_lines: bool,
    /// Longest read or write that is believed; a longer one is a bad line. 4 GiB is what 32 bits of
    /// bytes can say, more than any drive takes at once.
    pub max_request: Bytes,
    /// Longest trim that is believed; a longer one is a bad line. 16 TiB is what 32 bits of sectors
    /// of 4 KiB can say: a trim may be about a whole drive.
    pub max_trim: Bytes,
}

/// Keys that say how a file is read, whatever its format.
const READING: [&str; 4] = ["out_of_order", "skip_bad_lines", "max_request", "max_trim"];

impl Default for WorkloadConfig {
    fn default() -> Self {
        Self {
            path: None,
            format: FormatChoice::default(),
            generate: None,
            given: None,
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

    /// The requests that a program holds.
    #[must_use]
    pub fn given(given: Given) -> Self {
        Self { given: Some(given), ..Self::default() }
    }

    /// Brings the requests of which the configuration has only the hash. Those of another one are
    /// left alone.
    pub fn give(&mut self, given: &Given) {
        if self.given.as_ref() == Some(given) {
            self.given = Some(given.clone());
        }
    }

    /// All that decides how its requests are read, and nothing of which are replayed: workloads for
    /// which it is the same share one reading.
    #[must_use]
    pub fn reading(&self) -> Self {
        Self {
            path: self.path.clone(),
            format: self.format.clone(),
            generate: self.generate.clone(),
            given: self.given.clone(),
            out_of_order: self.out_of_order,
            skip_bad_lines: self.skip_bad_lines,
            max_request: self.max_request,
            max_trim: self.max_trim,
            ..Self::default()
        }
    }

    /// Checks what a single key cannot show by itself; reads no file.
    ///
    /// # Errors
    ///
    /// Names the key of the `[workload]` table that is wrong or missing.
    pub fn check(&self) -> Result<(), TraceError> {
        self.check_selection()?;
        for (key, limit) in [("max_request", self.max_request), ("max_trim", self.max_trim)] {
            if limit == Bytes(0) {
                return Err(TraceError::key(
                    key,
                    "found 0 B, expected the longest request, such as \"4 GiB\"",
                ));
            }
        }
        if self.given.is_some() {
            let beside = [("path", self.path.is_some()), ("generate", self.generate.is_some())];
            return match beside.into_iter().find(|&(_, there)| there) {
                Some((key, _)) => Err(TraceError::key(
                    key,
                    "stands beside requests that a program gives; expected one of the two, not both",
                )),
                None if self.format != FormatChoice::Auto => Err(TraceError::key(
                    "format",
                    "belongs to a trace file; requests that a program gives are in none",
                )),
                None => Ok(()),
            };
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
            (Some(_), Some(_)) => Err(TraceError::key(
                "path",
                "stands beside `generate`; expected one of the two, not both",
            )),
            (None, None) => Err(TraceError::key(
                "path",
                "is missing; name a trace file, or make requests with \
                 generate = { kind = \"uniform\", requests = 1000, footprint = \"1 GiB\" }",
            )),
        }
    }

    /// Settings that do nothing for this workload, whatever their values, and why.
    #[must_use]
    pub fn idle_settings(&self) -> Vec<(String, String)> {
        if self.given.is_some() {
            let unread =
                |key| (format!("workload.{key}"), "requests are given, not read".to_owned());
            return READING.into_iter().map(unread).collect();
        }
        let Some(generate) = &self.generate else { return Vec::new() };
        let unread =
            |key| (format!("workload.{key}"), "requests are generated, not read".to_owned());
        let mut found: Vec<_> = READING.into_iter().map(unread).collect();
        found.extend(generate.idle_settings("workload.generate"));
        found
    }

    /// The longest requests that are believed.
    pub(crate) fn limits(&self) -> Limits {
        Limits { request: self.max_request, trim: self.max_trim }
    }

    fn check_selection(&self) -> Result<(), TraceError> {
        if self.first == Some(0) {
            return Err(TraceError::key("first", "found 0, expected at least 1 request"));
        }
        if self.until.is_some_and(|until| until <= self.from.unwrap_or_default()) {
            return Err(TraceError::key(
                "until",
                "is not later than from; nothing lies between them",
            ));
        }
        if self.until_byte.is_some_and(|until| until <= self.from_byte.unwrap_or_default()) {
            return Err(TraceError::key(
                "until_byte",
                "is not above from_byte; nothing lies between them",
            ));
        }
        if !(self.time_scale > 0.0 && self.time_scale.is_finite()) {
            let problem =
                format!("found {}, expected a number above 0, such as 0.5", self.time_scale);
            return Err(TraceError::key("time_scale", problem));
        }
        Ok(())
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
        let config = parse(
            "path = 'a.load'\nformat = 'blkreplay'\nvolumes = 3\nops = 'w'\nfirst = 10\nfit = \
             'wrap'",
        );
        assert_eq!(config.volumes, Volumes::Only(vec![3]));
        assert_eq!(config.ops, Ops::W);
        assert_eq!(config.format.to_string(), "blkreplay");
        assert_eq!((config.first, config.fit), (Some(10), FitMode::Wrap));
        let config = parse(
            "generate = { kind = 'zipf', requests = 5, footprint = '1 MiB', interval = '50us' }",
        );
        let generate = serde_json::to_value(&config.generate).unwrap();
        assert_eq!((&generate["size"], &generate["interval"]), (&"4 KiB".into(), &"50 us".into()));
        assert_eq!((&generate["theta"], &generate["seed"]), (&0.99.into(), &1.into()));
        config.check().unwrap();
    }

    #[test]
    fn writes_back_what_it_read() {
        for text in [
            "path = 'a'\nvolumes = 'concat'",
            "path = 'a'\nvolumes = '0,3-5'\nops = 'write,trim'\nfrom = '1.5 s'\nuntil = '2 \
             h'\nskip = 3\ntime_scale = 0.1",
            "path = 'a'\nfrom_byte = '1 MiB'\nuntil_byte = '1 GiB'",
            "path = 'a'\nvolumes = 7\nformat = 'spc'\nout_of_order = 'clamp'",
            "path = 'a'\nformat = { kind = 'fio', unit = 'ms', waits = 'clock' }",
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
        let generate =
            |rest: &str| format!("[generate]\nrequests = 5\nfootprint = '1 MiB'\n{rest}");
        for (text, part) in [
            (String::new(), "workload.path: is missing"),
            ("path = ''".to_owned(), "workload.path: is empty"),
            ("path = 'a'\nfirst = 0".to_owned(), "workload.first: found 0"),
            (
                "path = 'a'\nfrom = '2 s'\nuntil = '2 s'".to_owned(),
                "workload.until: is not later than from",
            ),
            (
                "path = 'a'\nuntil_byte = '0 B'".to_owned(),
                "workload.until_byte: is not above from_byte",
            ),
            (
                "path = 'a'\ntime_scale = 0.0".to_owned(),
                "workload.time_scale: found 0, expected a number above 0",
            ),
            ("path = 'a'\ntime_scale = inf".to_owned(), "workload.time_scale: found inf"),
            ("path = 'a'\nops = 'writes'".to_owned(), "did you mean `write`?"),
            (
                "path = 'a'\nformat = { kind = 'oracle-general', block = '0 B' }".to_owned(),
                "block: found 0 B, expected the size of a block",
            ),
            (
                "path = 'a'\nformat = { kind = 'fio', action = 'queue' }".to_owned(),
                "unknown field `action`",
            ),
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
            (
                generate("kind = 'zipf'\ntheta = 0.0"),
                "workload.generate.theta: found 0, expected above 0",
            ),
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
}
