//! What can be wrong with a workload, told to the person who named it.

use std::io;
use std::path::Path;

/// Why a workload cannot be read, made or placed on a drive.
///
/// Its text names the place (`file:line`, or the key of the `[workload]` table), what was found
/// there and what was expected. It is one word wide, so that a stream of requests stays small.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct TraceError(Box<Kind>);

#[derive(Debug, thiserror::Error)]
enum Kind {
    #[error("{file}:{line}: found {found}, expected {expected}")]
    Line { file: String, line: u64, found: String, expected: String },
    #[error("{file}: {place}: found {found}, expected {expected}")]
    Record { file: String, place: String, found: String, expected: String },
    #[error("{file}: {problem}")]
    File { file: String, problem: String },
    #[error("{file}: {doing}: {source}")]
    Io { file: String, doing: String, source: io::Error },
    #[error("workload.{key}: {problem}")]
    Key { key: String, problem: String },
    #[error("request {number}: {problem}")]
    Request { number: u64, problem: String },
    #[error("{0}")]
    Fit(String),
    #[error("cancelled")]
    Cancelled,
}

impl TraceError {
    /// True where the user's configuration or workload is at fault, false where the machine failed
    /// to read it.
    #[must_use]
    pub fn is_input(&self) -> bool {
        !matches!(*self.0, Kind::Io { .. } | Kind::Cancelled)
    }

    /// True where the caller ended the reading.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(*self.0, Kind::Cancelled)
    }

    /// The caller ended the reading, as an item of a stream of requests that it wraps.
    #[must_use]
    pub fn cancelled() -> Self {
        Self(Box::new(Kind::Cancelled))
    }

    /// One line of a file is not what its format promises.
    pub(crate) fn line(file: &str, line: u64, unexpected: Unexpected) -> Self {
        let Unexpected { found, expected } = unexpected;
        Self(Box::new(Kind::Line { file: file.to_owned(), line, found, expected }))
    }

    /// The record of a binary file at `place` is not what its format promises.
    pub(crate) fn record(file: &str, place: &str, unexpected: Unexpected) -> Self {
        let Unexpected { found, expected } = unexpected;
        let (file, place) = (file.to_owned(), place.to_owned());
        Self(Box::new(Kind::Record { file, place, found, expected }))
    }

    /// A file as a whole cannot be used.
    pub(crate) fn file(file: &str, problem: impl Into<String>) -> Self {
        Self(Box::new(Kind::File { file: file.to_owned(), problem: problem.into() }))
    }

    /// The machine failed while `doing` something with a file.
    pub(crate) fn io(file: &str, doing: impl Into<String>, source: io::Error) -> Self {
        Self(Box::new(Kind::Io { file: file.to_owned(), doing: doing.into(), source }))
    }

    /// A key of the `[workload]` table has a value that cannot be.
    pub(crate) fn key(key: &str, problem: impl Into<String>) -> Self {
        Self(Box::new(Kind::Key { key: key.to_owned(), problem: problem.into() }))
    }

    /// A request that a program gave cannot be; counted from 0.
    pub(crate) fn request(number: u64, problem: String) -> Self {
        Self(Box::new(Kind::Request { number, problem }))
    }

    /// The workload and the drive do not go together.
    pub(crate) fn fit(problem: impl Into<String>) -> Self {
        Self(Box::new(Kind::Fit(problem.into())))
    }

    /// A file that cannot be opened; where it does not exist, with the nearest name that does.
    pub(crate) fn open(path: &Path, source: &io::Error) -> Self {
        let file = path.display().to_string();
        if source.kind() != io::ErrorKind::NotFound {
            return Self::file(&file, format!("cannot be opened: {source}"));
        }
        let wanted = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let Ok(entries) = folder.read_dir() else {
            return Self::file(
                &file,
                format!("no such file: there is no folder {}", folder.display()),
            );
        };
        let names: Vec<String> = entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        let hint = match nearest(&wanted, names.iter().map(String::as_str)) {
            Some(name) => format!("; did you mean {name}?"),
            None => String::new(),
        };
        Self::file(&file, format!("no such file{hint}"))
    }
}

/// A line or record that is not what the format promises.
#[derive(Debug, PartialEq)]
pub(crate) struct Unexpected {
    pub found: String,
    pub expected: String,
}

impl Unexpected {
    pub fn new(found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { found: found.into(), expected: expected.into() }
    }
}

/// Why the next line or record could not be read.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It is not what the format promises; the one after it can be read.
    Bad(Unexpected),
    /// It is not what the format promises, and where the one after it begins cannot be told.
    Lost(Unexpected),
    /// The file cannot be read on.
    File(TraceError),
}

impl From<Unexpected> for Fault {
    fn from(unexpected: Unexpected) -> Self {
        Self::Bad(unexpected)
    }
}

impl From<TraceError> for Fault {
    fn from(error: TraceError) -> Self {
        Self::File(error)
    }
}

/// The known name that is nearest to `wanted`, if any is near; among equally near ones the first in
/// the alphabet.
pub(crate) fn nearest<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (wanted.chars().count() / 3).max(2);
    known
        .map(|name| (strsim::damerau_levenshtein(wanted, name), name))
        .filter(|&(distance, name)| {
            distance <= limit || (wanted.len() >= 3 && name.starts_with(wanted))
        })
        .min()
        .map(|(_, name)| name)
}

/// `bytes` as people say it and exactly: `4.66 GiB (5000000000 B)`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let Some(step) = (0..UNITS.len()).rev().find(|&step| bytes >> (10 * (step + 1)) > 0) else {
        return format!("{bytes} B");
    };
    let shown = bytes as f64 / (1u64 << (10 * (step + 1))) as f64;
    format!("{shown:.2} {} ({bytes} B)", UNITS[step])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_twice() {
        assert_eq!(size(5), "5 B");
        assert_eq!(size(1024), "1.00 KiB (1024 B)");
        assert_eq!(size(5_000_000_000), "4.66 GiB (5000000000 B)");
        assert_eq!(size(u64::MAX), "16.00 EiB (18446744073709551615 B)");
    }

    #[test]
    fn a_missing_file_is_answered_with_its_nearest_neighbour() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mysql.load"), "").unwrap();
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let error = TraceError::open(&folder.path().join("mysq1.load"), &missing);
        assert!(
            error.to_string().ends_with("mysq1.load: no such file; did you mean mysql.load?"),
            "{error}"
        );
        assert!(error.is_input());
        let error = TraceError::open(&folder.path().join("else/x"), &missing);
        assert!(error.to_string().contains("there is no folder"), "{error}");
    }

    #[test]
    fn errors_are_one_word_wide() {
        assert_eq!(size_of::<TraceError>(), size_of::<usize>());
    }
}
