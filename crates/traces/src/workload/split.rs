//! A trace of several volumes read once, and each volume a workload of its own.

use std::path::Path;
use std::sync::Arc;

use super::kept::Keeper;
use super::parts::Parts;
use super::source::Source;
use super::summary::Tally;
use super::{Counts, Figures, Names, Workload, no_volume, too_many_volumes};
use crate::config::{Volumes, Which, WorkloadConfig};
use crate::error::TraceError;
use crate::trace::Reading;
use crate::watch::{Pace, Watch};

/// A trace whose volumes are kept apart: each can be read without the others.
///
/// What lies in memory does not grow with the trace; the rest is in one temporary file without a
/// name, which is gone when the last workload that is made of it is, however the process ends.
#[derive(Debug)]
pub struct Split {
    names: Names,
    whole: Figures,
    reading: Reading,
    parts: Arc<Parts>,
}

impl WorkloadConfig {
    /// Reads all requests once, whatever part of them is replayed, and keeps its volumes apart;
    /// `watch` may end it.
    ///
    /// # Errors
    ///
    /// As [`Self::prepare`]; and where the folder for temporary files cannot take them.
    pub fn split(&self, base: &Path, watch: Watch<'_>) -> Result<Split, TraceError> {
        self.check()?;
        let (source, names) = self.reading().begin(base)?;
        let mut records = source.open(true)?;
        let mut parts = Parts::new(&names.name);
        let mut whole = Tally::default();
        let mut pace = Pace::new(watch);
        while let Some(request) = records.next_request()? {
            pace.step()?;
            if !whole.add(&request) {
                return Err(too_many_volumes(&records, 0));
            }
            parts.add(&request)?;
        }
        let (names, reading) = names.read(records);
        Ok(Split { names, whole: whole.finish(), reading, parts: Arc::new(parts) })
    }
}

impl Split {
    /// The workload that `config` selects of one volume: the same that it would be if the whole
    /// trace were read for it.
    ///
    /// # Errors
    ///
    /// The volume is not there, or nothing of it is left to replay.
    pub fn workload(
        &self,
        config: &WorkloadConfig,
        watch: Watch<'_>,
    ) -> Result<Workload, TraceError> {
        config.check()?;
        let Some(volume) = config.volumes.single() else {
            let problem = format!("found `{}`, expected the number of one volume", config.volumes);
            return Err(TraceError::key("volumes", problem));
        };
        let source = Source::Part(self.parts.clone(), volume);
        let mut records = source.open(false)?;
        let mut pace = Pace::new(watch);
        let mut counts = Counts::of(&mut records, config, Keeper::new(), &mut |_| pace.step())?;
        counts.left_out.by_volume = self.whole.requests - counts.whole.requests;
        counts.whole = self.whole.clone();
        config.finish(source, self.names.clone(), counts, self.reading.clone())
    }

    /// The numbers of the volumes of which `config` wants a run each, in the order of the runs.
    ///
    /// # Errors
    ///
    /// One that is named is not there.
    pub fn volumes(&self, config: &WorkloadConfig) -> Result<Vec<u32>, TraceError> {
        let known: Vec<u32> = self.whole.volumes.iter().map(|volume| volume.volume).collect();
        let Volumes::Each(which) = &config.volumes else { return Ok(Vec::new()) };
        match which {
            Which::All => Ok(known),
            Which::Named(wanted) => {
                match wanted.iter().find(|one| known.binary_search(one).is_err()) {
                    Some(&missing) => Err(no_volume(&self.names.name, missing, &known)),
                    None => Ok(wanted.clone()),
                }
            }
            Which::Busiest(count) => {
                let mut volumes = self.whole.volumes.clone();
                // Of equally busy ones the lower number comes first.
                volumes.sort_by_key(|one| std::cmp::Reverse(one.requests));
                let count = usize::try_from(*count).unwrap_or(usize::MAX);
                Ok(volumes.into_iter().take(count).map(|one| one.volume).collect())
            }
        }
    }
}
