//! Fills a drive once for all runs of a sweep that share what lies below the buffer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, Filled, Options};

use super::RunError;
use super::cache::Cache;
use super::waiting::lock;

/// Bytes of filled drives that are kept; the oldest go first.
const KEPT: usize = 1 << 30;

/// Filled drives of this process.
#[derive(Debug, Default)]
pub(super) struct FilledDrives {
    /// By [`Filled::key`], the oldest first.
    entries: Mutex<VecDeque<(String, Arc<Entry>)>>,
}

/// A filled drive. Whoever holds the lock of an empty one is filling it.
type Entry = Mutex<Option<Arc<Filled>>>;

impl FilledDrives {
    /// A drive that starts from one that has been filled for another run, if there is one.
    pub fn find(
        &self,
        config: &DeviceConfig,
        options: Options,
    ) -> Result<Option<Device>, RunError> {
        let entry = self.entry(&Filled::key(config, options));
        let found = peek(&entry);
        Ok(found.map(|filled| Device::starting_from(config, options, &filled)).transpose()?)
    }

    /// Fills an empty drive, unless that has been done meanwhile for another run: then it starts
    /// from that. `progress` is told of pages written, and of those to write at most; `false` gives
    /// up.
    pub fn fill(
        &self,
        device: &mut Device,
        (config, options): (&DeviceConfig, Options),
        cache: Option<&Cache>,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<(), RunError> {
        if device.bytes_below_buffer() > KEPT {
            return fill(device, (config, options), cache, progress);
        }
        let entry = self.entry(&Filled::key(config, options));
        let mut found = lock(&entry, &mut |_| progress(0, 0))?;
        if let Some(filled) = found.clone() {
            drop(found);
            *device = Device::starting_from(config, options, &filled)?;
            return Ok(());
        }
        fill(device, (config, options), cache, progress)?;
        *found = Some(Arc::new(device.filled()));
        drop(found);
        self.make_room();
        Ok(())
    }

    fn entry(&self, key: &str) -> Arc<Entry> {
        let mut entries = self.entries();
        if let Some((_, known)) = entries.iter().find(|(of, _)| of == key) {
            return known.clone();
        }
        let entry = Arc::new(Entry::default());
        entries.push_back((key.to_owned(), entry.clone()));
        entry
    }

    /// Forgets the oldest until the others fit.
    fn make_room(&self) {
        let mut entries = self.entries();
        // One that is being filled counts when that is done.
        let bytes = |entry: &Entry| peek(entry).map_or(0, |filled| filled.bytes());
        let mut total: usize = entries.iter().map(|(_, entry)| bytes(entry)).sum();
        while total > KEPT
            && let Some((_, oldest)) = entries.pop_front()
        {
            total -= bytes(&oldest).min(total);
        }
    }

    /// Forgets all of them.
    pub fn forget(&self) {
        self.entries().clear();
    }

    fn entries(&self) -> MutexGuard<'_, VecDeque<(String, Arc<Entry>)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The filled drive of an entry, unless it is being filled.
fn peek(entry: &Entry) -> Option<Arc<Filled>> {
    match entry.try_lock() {
        Ok(found) => found.clone(),
        Err(TryLockError::Poisoned(found)) => found.into_inner().clone(),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Fills an empty drive, unless the folder `cache` holds one that it can start from.
pub(super) fn fill(
    device: &mut Device,
    (config, options): (&DeviceConfig, Options),
    cache: Option<&Cache>,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<(), RunError> {
    if let Some(cache) = cache
        && cache.load(device, (config, options))?
    {
        return Ok(());
    }
    let start = Instant::now();
    if !device.precondition_with(progress)? {
        return Err(RunError::Cancelled);
    }
    if let Some(cache) = cache {
        cache.keep(device, (config, options), start.elapsed());
    }
    Ok(())
}
