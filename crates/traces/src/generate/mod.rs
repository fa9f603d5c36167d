//! Synthetic workloads: the same seed gives the same requests on any machine.

mod arrivals;
mod calibrated;
mod disksim;
mod idle;
mod mixed;
mod patterns;
mod random;
mod scatter;
mod sizes;
mod standin;
#[cfg(test)]
mod tests;

use std::path::Path;

use eraseblock_core::config::Bytes;
use eraseblock_core::host::Request;
use patterns::{hotcold, sequential, uniform, zipf};

pub use arrivals::{Arrivals, registry as arrivals_registry};
use random::Seed;
pub use sizes::Sizes;
pub use standin::{MeasuredStatistic, StandIn, Statistic, measure_stand_in, stand_ins};

use crate::error::TraceError;
use crate::watch::{Pace, Watch};
use crate::write::{WriteOptions, WriteReport, write_trace};

/// What a generator is built from, beside its configuration.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// Its place among the parts of a mixture.
    pub(crate) seed: Seed,
    /// Gives so many requests in the place of the number configured.
    pub(crate) requests: Option<u64>,
}

/// Requests that may turn out not to be what was asked for.
pub(crate) trait Stream: Iterator<Item = Request> + Send {
    /// What was asked for and could not be met, a sentence each; known once all requests are made.
    fn missed(&self) -> Vec<String>;
}

/// Requests that are what was asked for.
struct Exact<I>(I);

impl<I: Iterator<Item = Request>> Iterator for Exact<I> {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        self.0.next()
    }
}

impl<I: Iterator<Item = Request> + Send> Stream for Exact<I> {
    fn missed(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The requests of a [`GenerateConfig`].
pub struct Generator {
    /// Its key, where it is a part of another.
    key: Option<String>,
    requests: u64,
    stream: Box<dyn Stream>,
}

impl Generator {
    pub(crate) fn new(
        requests: u64,
        stream: impl Iterator<Item = Request> + Send + 'static,
    ) -> Self {
        Self::of_stream(requests, Exact(stream))
    }

    pub(crate) fn of_stream(requests: u64, stream: impl Stream + 'static) -> Self {
        Self { key: None, requests, stream: Box::new(stream) }
    }

    /// The same as the part of another that has this key.
    pub(crate) fn at_key(self, key: &str) -> Self {
        let key = match &self.key {
            Some(inner) => format!("{key}.{inner}"),
            None => key.to_owned(),
        };
        Self { key: Some(key), ..self }
    }

    /// What was asked for and could not be met, a sentence each that begins with the key; known
    /// once all requests are made.
    pub fn missed(&self) -> Vec<String> {
        let missed = self.stream.missed();
        match &self.key {
            Some(key) => missed.iter().map(|missed| patterns::below(key, missed)).collect(),
            None => missed,
        }
    }

    /// How many requests there are in all.
    pub fn requests(&self) -> u64 {
        self.requests
    }
}

impl std::fmt::Debug for Generator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generator").field("requests", &self.requests).finish_non_exhaustive()
    }
}

impl Iterator for Generator {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        self.stream.next()
    }
}

eraseblock_core::registry! {
    /// A synthetic workload: a name, or a table with `kind` and the options of that kind.
    "generator" GenerateConfig builds Generator, from &Given;
    "uniform" => Uniform in uniform,
    "zipf" => Zipf in zipf,
    "hotcold" => HotCold in hotcold,
    "sequential" => Sequential in sequential,
    "mixed" => Mixed in mixed,
    "disksim" => DiskSim in disksim,
    "calibrated" => Calibrated in calibrated,
    "standin" => StandIn in standin,
}

impl GenerateConfig {
    /// Writes of 4 KiB anywhere in the first `footprint` bytes, all arriving at once.
    #[must_use]
    pub fn uniform(requests: u64, footprint: Bytes) -> Self {
        Self::Uniform(uniform::Config { requests, footprint, ..uniform::Config::default() })
    }

    /// Writes of 4 KiB one behind the other in the first `footprint` bytes, all arriving at once.
    #[must_use]
    pub fn sequential(requests: u64, footprint: Bytes) -> Self {
        Self::Sequential(sequential::Config {
            requests,
            footprint,
            ..sequential::Config::default()
        })
    }

    /// The stand-in of this name, whole, if there is one.
    pub fn stand_in(name: &str) -> Option<Self> {
        let stand_in = stand_ins().iter().find(|stand_in| stand_in.name == name)?;
        Some(Self::StandIn(standin::Config {
            name: stand_in.name.clone(),
            ..standin::Config::default()
        }))
    }

    /// Its name among people: of a stand-in, what it stands in for.
    pub fn title(&self) -> &str {
        match self {
            Self::StandIn(config) => &config.name,
            other => other.name(),
        }
    }

    /// Everything that its requests follow from, as text: of a stand-in, the model behind it too.
    pub(crate) fn parameters(&self) -> Vec<u8> {
        let text = |config: &Self| serde_json::to_vec(config).expect("parameters have text keys");
        let mut parameters = text(self);
        if let Self::StandIn(config) = self
            && let Ok(model) = config.model()
        {
            parameters.extend(text(&model));
        }
        parameters
    }

    /// The seed it draws from.
    pub fn seed(&self) -> u64 {
        match self {
            Self::Uniform(config) => config.seed,
            Self::Zipf(config) => config.seed,
            Self::HotCold(config) => config.seed,
            Self::Sequential(config) => config.seed,
            Self::Mixed(config) => config.seed,
            Self::DiskSim(config) => config.seed,
            Self::Calibrated(config) => config.seed,
            Self::StandIn(config) => config.seed,
        }
    }

    /// The requests.
    ///
    /// # Errors
    ///
    /// Names the key of `generate` whose value cannot be.
    pub fn generator(&self) -> Result<Generator, TraceError> {
        self.build(&Given::default()).map_err(|problem| {
            let problem = patterns::below("generate", &problem);
            let (key, problem) = problem.split_once(": ").unwrap_or(("generate", &problem));
            TraceError::key(key, problem)
        })
    }

    /// Writes the requests to the file at `path`; `watch` is told how many there are so far, and
    /// may end it.
    ///
    /// # Errors
    ///
    /// As [`Self::generator`] and [`write_trace`], or `watch` ended it.
    pub fn write(
        &self,
        path: &Path,
        options: &WriteOptions,
        watch: Watch<'_>,
    ) -> Result<WriteReport, TraceError> {
        let mut pace = Pace::new(watch);
        let mut generator = self.generator()?;
        let requests = generator.by_ref().map(|request| pace.step().map(|()| request));
        let report = write_trace(requests, path, options)?;
        Ok(WriteReport { missed: generator.missed(), ..report })
    }

    pub(crate) fn check(&self) -> Result<(), TraceError> {
        self.generator().map(drop)
    }
}
