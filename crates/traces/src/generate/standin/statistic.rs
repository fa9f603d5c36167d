//! A published statistic, and when a generated one meets it.

use eraseblock_core::config::Bytes;
use serde::{Deserialize, Serialize};

/// A number that was published of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statistic {
    /// What was counted.
    pub measure: Measure,
    /// Of these operations; all, if nothing is said.
    #[serde(default)]
    pub of: Of,
    /// Lower bound of sizes, of a share by size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Bytes>,
    /// Upper bound of sizes, of a share by size; of both alike, that size alone is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Bytes>,
    /// The number as printed, with its digits; `>` or `<` before it where the text says "most" or
    /// "few".
    pub published: String,
    /// Unit of the printed number.
    #[serde(default)]
    pub unit: Unit,
    /// Table, figure or section.
    pub at: String,
    /// A number of the whole workload, which part of it cannot have.
    #[serde(default)]
    pub whole_only: bool,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Requests.
    Requests,
    /// Share of the requests that are of these operations.
    RequestShare,
    /// Share of the bytes moved that are of these operations.
    ByteShare,
    /// Bytes moved.
    Bytes,
    /// Mean length.
    MeanSize,
    /// Greatest length.
    MaxSize,
    /// Share of the requests of these operations whose length lies between two.
    SizeShare,
    /// Share of the requests that start where the one before them on the same volume ended.
    SequentialShare,
    /// Requests that do not.
    Runs,
    /// Mean bytes from one of those to the next.
    MeanRun,
    /// Mean time from one request to the next.
    Interval,
    /// Requests in a second.
    Rate,
    /// Time from the first request to the last.
    Duration,
    /// Bytes of different pages of 4 KiB.
    Touched,
    /// Different pages of 4 KiB.
    TouchedPages,
    /// Pages of 4 KiB moved, each request counting those it lies in.
    Pages,
    /// End of the highest request, the volumes' ends added up.
    End,
    /// Volumes with a request.
    Volumes,
    /// Of the pages that reads (or writes) find in a buffer of 64 MiB in LRU order of blocks of 256
    /// KiB, the share that the other kind had used in it.
    CoHits,
    /// Requests on the volume `from` (in bytes) names.
    OnVolume,
    /// Share of the requests that start in the part of the span between two bytes.
    PlaceShare,
}

/// Which operations are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Of {
    /// Reads and writes.
    #[default]
    All,
    /// Reads.
    Reads,
    /// Writes.
    Writes,
}

/// Unit of a printed number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// A plain number.
    #[default]
    #[serde(rename = "")]
    One,
    /// Hundredths.
    #[serde(rename = "%")]
    Percent,
    /// 1024 bytes, printed as KB.
    #[serde(rename = "KB")]
    Kib,
    /// 2^20 bytes, printed as MB.
    #[serde(rename = "MB")]
    Mib,
    /// 2^30 bytes, printed as GB.
    #[serde(rename = "GB")]
    Gib,
    /// Microseconds.
    #[serde(rename = "us")]
    Us,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Ms,
    /// Hours.
    #[serde(rename = "h")]
    Hours,
    /// Days.
    #[serde(rename = "days")]
    Days,
}

impl Unit {
    /// The base value (a count, a share, bytes, ns) in one of it.
    pub fn scale(self) -> f64 {
        match self {
            Self::One => 1.0,
            Self::Percent => 0.01,
            Self::Kib => 1024.0,
            Self::Mib => 1_048_576.0,
            Self::Gib => 1_073_741_824.0,
            Self::Us => 1e3,
            Self::Ms => 1e6,
            Self::Hours => 3.6e12,
            Self::Days => 86.4e12,
        }
    }
}

/// A generated statistic may be so far from a published one, in parts of it.
const TOLERANCE: f64 = 0.02 + 1e-12;

/// How a generated number compares with a published one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Comparison {
    /// Generated minus published, in parts of the published; null for a bound, and where 0 was
    /// published.
    pub deviation: Option<f64>,
    /// Within 2 %, or the same number once it is rounded to the digits printed; or within the
    /// bound.
    pub met: bool,
}

impl Statistic {
    /// The printed number, and which side of it is meant.
    fn number(&self) -> (f64, Option<char>) {
        let bound = self.published.chars().next().filter(|first| "<>".contains(*first));
        let digits = self.published.trim_start_matches(['<', '>']).replace(',', "");
        (digits.trim().parse().unwrap_or(f64::NAN), bound)
    }

    /// Digits behind the point.
    fn decimals(&self) -> i32 {
        self.published.split_once('.').map_or(0, |(_, behind)| behind.len() as i32)
    }

    /// Compares a generated value (a count, a share, bytes, ns).
    pub fn compare(&self, generated: f64) -> Comparison {
        let (published, bound) = self.number();
        let generated = generated / self.unit.scale();
        match bound {
            Some('>') => Comparison { deviation: None, met: generated > published },
            Some(_) => Comparison { deviation: None, met: generated < published },
            None => {
                let deviation = (published != 0.0).then(|| generated / published - 1.0);
                let half_a_digit = 0.5 * 10_f64.powi(-self.decimals()) * (1.0 + 1e-9);
                let near = deviation.is_some_and(|deviation| deviation.abs() <= TOLERANCE);
                Comparison { deviation, met: near || (generated - published).abs() <= half_a_digit }
            }
        }
    }

    /// True if `other` counts the same.
    pub(super) fn counts_the_same(&self, other: &Self) -> bool {
        (self.measure, self.of, self.from, self.to)
            == (other.measure, other.of, other.from, other.to)
    }

    /// What it counts, in words.
    pub fn title(&self) -> String {
        let of = match self.of {
            Of::All => "requests",
            Of::Reads => "reads",
            Of::Writes => "writes",
        };
        let bytes = |bytes: Option<Bytes>| bytes.unwrap_or_default();
        match self.measure {
            Measure::Requests => of.to_owned(),
            Measure::RequestShare => format!("{of}, of all requests"),
            Measure::ByteShare => format!("bytes of {of}, of all bytes"),
            Measure::Bytes => format!("bytes of {of}"),
            Measure::MeanSize => format!("mean size of {of}"),
            Measure::MaxSize => format!("largest size of {of}"),
            Measure::SizeShare if self.from == self.to => format!("{of} of {}", bytes(self.from)),
            Measure::SizeShare if self.from.is_none() => format!("{of} up to {}", bytes(self.to)),
            Measure::SizeShare if self.to.is_none() => {
                format!("{of} of {} or more", bytes(self.from))
            }
            Measure::SizeShare => format!("{of} of {} to {}", bytes(self.from), bytes(self.to)),
            Measure::SequentialShare => "sequential requests".to_owned(),
            Measure::Runs => "runs (files)".to_owned(),
            Measure::MeanRun => "mean length of a run (file)".to_owned(),
            Measure::Interval => "mean time between requests".to_owned(),
            Measure::Rate => "requests in a second".to_owned(),
            Measure::Duration => "duration".to_owned(),
            Measure::Touched => "different pages touched".to_owned(),
            Measure::TouchedPages => "different pages touched, number".to_owned(),
            Measure::Pages => format!("pages of {of}"),
            Measure::End => "highest address".to_owned(),
            Measure::Volumes => "volumes".to_owned(),
            Measure::CoHits if self.of == Of::Writes => {
                "write hits at pages read, in 64 MiB".to_owned()
            }
            Measure::CoHits => "read hits at pages written, in 64 MiB".to_owned(),
            Measure::OnVolume => format!("requests on volume {}", bytes(self.from).0),
            Measure::PlaceShare => {
                format!("{of} between {} and {}", bytes(self.from), bytes(self.to))
            }
        }
    }

    /// True if the printed number can be read.
    #[cfg(test)]
    pub(super) fn is_sound(&self) -> bool {
        self.number().0.is_finite()
    }
}
