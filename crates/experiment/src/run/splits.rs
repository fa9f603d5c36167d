//! Traces of several volumes that were read once and are kept apart for the runs of each.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use eraseblock_traces::{Given, Split, TraceError, Watch, WorkloadConfig};

use super::RunError;
use super::stamp::{Stamp, changed};
use super::waiting::lock;

/// Traces remembered at most; most sweeps have one.
const KEPT: usize = 4;

/// The traces of which this process runs volumes one by one.
#[derive(Debug, Default)]
pub(super) struct Splits {
    entries: Mutex<Vec<Arc<Entry>>>,
}

/// A trace, and its volumes apart. Whoever holds the lock of an empty one is reading it.
#[derive(Debug)]
struct Entry {
    reading: WorkloadConfig,
    base: PathBuf,
    file: Option<Stamp>,
    /// The first volume that was asked for.
    first: Option<u32>,
    found: Mutex<Option<Result<Arc<Split>, Arc<TraceError>>>>,
}

impl Splits {
    /// The trace of `config` by volumes, if that is worth while: where the volume is another one
    /// than the first that was asked for. A run of one volume needs no other kept.
    pub fn find(
        &self,
        config: &WorkloadConfig,
        base: &Path,
        file: Option<&Stamp>,
        watch: Watch<'_>,
    ) -> Result<Option<Arc<Split>>, RunError> {
        let Some(volume) = config.volumes.single() else { return Ok(None) };
        let entry = self.entry(config, base, file, Some(volume));
        if entry.first == Some(volume) {
            // Unless it is there already, the whole trace is read for the first.
            let found = entry.found.try_lock().ok();
            let split = found.and_then(|found| found.as_ref()?.as_ref().ok().cloned());
            return Ok(split);
        }
        match split(&entry, config, watch) {
            // Where there is no room for the other volumes, this one is read from the trace itself.
            Err(RunError::Trace(why)) if !why.is_input() && !why.is_cancelled() => Ok(None),
            found => found.map(Some),
        }
    }

    /// The trace of `config` by volumes.
    pub fn get(
        &self,
        config: &WorkloadConfig,
        base: &Path,
        watch: Watch<'_>,
    ) -> Result<Arc<Split>, RunError> {
        let file = Stamp::of(config, base);
        if file.is_none() && config.path.is_some() {
            // The error says what is the matter; it is not kept, since the file may appear.
            return Ok(Arc::new(config.split(base, watch)?));
        }
        split(&self.entry(config, base, file.as_ref(), None), config, watch)
    }

    /// Forgets all of them; those in use stay until they are not.
    pub fn forget(&self) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Forgets that of requests that a program gave.
    pub fn forget_given(&self, given: &Given) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.reading.given.as_ref() != Some(given));
    }

    fn entry(
        &self,
        config: &WorkloadConfig,
        base: &Path,
        file: Option<&Stamp>,
        first: Option<u32>,
    ) -> Arc<Entry> {
        let reading = config.reading();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |entry: &Entry| entry.base == base && entry.reading == reading;
        if let Some(known) = entries.iter().find(|entry| entry.file.as_ref() == file && same(entry))
        {
            return known.clone();
        }
        // What was read of a file that has changed is of no use any more.
        entries.retain(|entry| !same(entry));
        if entries.len() == KEPT {
            entries.remove(0);
        }
        let entry = Arc::new(Entry {
            reading,
            base: base.to_owned(),
            file: file.cloned(),
            first,
            found: Mutex::default(),
        });
        entries.push(entry.clone());
        entry
    }
}

/// The volumes of an entry's trace, read by whoever comes first.
fn split(entry: &Entry, config: &WorkloadConfig, watch: Watch<'_>) -> Result<Arc<Split>, RunError> {
    let mut found = lock(&entry.found, watch)?;
    if let Some(known) = &*found {
        return Ok(known.clone()?);
    }
    let read = config.split(&entry.base, watch).map(Arc::new);
    if Stamp::of(config, &entry.base) != entry.file {
        return Err(changed(config));
    }
    match read {
        // Another run may have more patience, or better luck with the machine.
        Err(error) if !error.is_input() => Err(error.into()),
        read => Ok(found.insert(read.map_err(Arc::new)).clone()?),
    }
}
