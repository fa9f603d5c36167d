//! Reads each workload once, however many runs of a process replay it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use eraseblock_traces::{Given, Split, TraceError, Watch, Workload, WorkloadConfig};

use super::RunError;
use super::splits::Splits;
use super::stamp::{Stamp, changed};
use super::waiting::lock;

/// Workloads remembered at most; a sweep that has more of them reads the oldest again.
const KEPT: usize = 256;

/// The workloads that this process has read.
#[derive(Debug, Default)]
pub(super) struct Workloads {
    entries: Mutex<Vec<Arc<Entry>>>,
    splits: Splits,
}

/// A workload, or why it cannot be read. Whoever holds the lock of an empty one is reading it.
#[derive(Debug)]
struct Entry {
    config: WorkloadConfig,
    base: PathBuf,
    file: Option<Stamp>,
    found: Mutex<Found>,
}

type Found = Option<Result<Arc<Workload>, Arc<TraceError>>>;

impl Workloads {
    /// The workload as its file is now, and the state of that file. Read anew only where the file
    /// has changed.
    pub fn get(
        &self,
        config: &WorkloadConfig,
        base: &Path,
        watch: Watch<'_>,
    ) -> Result<(Arc<Workload>, Option<Stamp>), RunError> {
        let file = Stamp::of(config, base);
        if file.is_none() && config.path.is_some() {
            // The error says what is the matter; it is not kept, since the file may appear.
            return Ok((Arc::new(config.prepare_watched(base, watch)?), file));
        }
        let entry = self.entry(config, base, file.clone());
        let mut found = lock(&entry.found, watch)?;
        if let Some(known) = &*found {
            return Ok((known.clone()?, file));
        }
        let read = match self.splits.find(config, base, file.as_ref(), watch)? {
            Some(split) => split.workload(config, watch),
            None => config.prepare_watched(base, watch),
        };
        let read = read.map(Arc::new);
        if Stamp::of(config, base) != file {
            return Err(changed(config));
        }
        match read {
            // Another run may have more patience, or better luck with the machine.
            Err(error) if !error.is_input() => Err(error.into()),
            read => Ok((found.insert(read.map_err(Arc::new)).clone()?, file)),
        }
    }

    /// The trace of `config`, its volumes apart.
    pub fn split(
        &self,
        config: &WorkloadConfig,
        base: &Path,
        watch: Watch<'_>,
    ) -> Result<Arc<Split>, RunError> {
        self.splits.get(config, base, watch)
    }

    /// Forgets the traces whose volumes are kept apart, and what was made of them.
    pub fn forget_splits(&self) {
        self.splits.forget();
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| {
            let found = entry.found.try_lock().ok();
            let workload = found.as_ref().and_then(|found| found.as_ref()?.as_ref().ok());
            !workload.is_some_and(|workload| workload.is_part())
        });
    }

    /// Forgets what was made of requests that a program gave.
    pub fn forget(&self, given: &Given) {
        self.splits.forget_given(given);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.config.given.as_ref() != Some(given));
    }

    fn entry(&self, config: &WorkloadConfig, base: &Path, file: Option<Stamp>) -> Arc<Entry> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = entries
            .iter()
            .find(|entry| entry.file == file && entry.base == base && entry.config == *config)
        {
            return known.clone();
        }
        // What was read of a file that has changed is of no use any more.
        entries.retain(|entry| entry.base != base || entry.config != *config);
        if entries.len() == KEPT {
            entries.remove(0);
        }
        let entry = Arc::new(Entry {
            config: config.clone(),
            base: base.to_owned(),
            file,
            found: Mutex::default(),
        });
        entries.push(entry.clone());
        entry
    }
}

#[cfg(test)]
mod tests {
    use std::fs::write;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    const LINES: &str = "0,0,4096,w,0.0\n0,8,4096,r,0.1\n";

    fn spc(folder: &Path, text: &str) -> WorkloadConfig {
        write(folder.join("a.spc"), text).unwrap();
        WorkloadConfig::trace("a.spc")
    }

    #[test]
    fn one_reading_serves_all_until_the_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let config = spc(folder.path(), LINES);
        let workloads = Workloads::default();
        let get = || workloads.get(&config, folder.path(), &mut |_| true).unwrap().0;
        let first = get();
        assert!(Arc::ptr_eq(&first, &get()));
        write(folder.path().join("a.spc"), LINES.replace("4096", "8192")).unwrap();
        let second = get();
        assert_ne!(first.identity().sha256, second.identity().sha256);
        assert!(Arc::ptr_eq(&second, &get()));
    }

    #[test]
    fn runs_that_come_together_wait_for_one_reading() {
        let folder = tempfile::tempdir().unwrap();
        let config = spc(folder.path(), &LINES.repeat(50_000));
        let (workloads, asked) = (Workloads::default(), AtomicUsize::new(0));
        let found: Vec<_> = thread::scope(|scope| {
            let runs: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let mut config = config.clone();
                        config.out_of_order = eraseblock_traces::OutOfOrder::Clamp;
                        let mut watch = |passed| {
                            asked.fetch_add(usize::from(passed > 0), Ordering::Relaxed);
                            true
                        };
                        workloads.get(&config, folder.path(), &mut watch).unwrap().0
                    })
                })
                .collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        assert!(found.iter().all(|one| Arc::ptr_eq(one, &found[0])));
        // 100,000 requests in steps of 2^14, once.
        assert_eq!(asked.into_inner(), 6);
    }

    #[test]
    fn what_is_wrong_with_a_file_is_remembered_and_a_cancelled_reading_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let config = spc(folder.path(), "0,0,4096,w,0.0\n0,zebra,4096,r,0.1\n");
        let workloads = Workloads::default();
        let stopped = workloads.get(&config, folder.path(), &mut |_| false);
        assert!(matches!(stopped, Err(RunError::Cancelled)));
        let mut asked = 0;
        let mut error = || {
            let mut watch = |_| {
                asked += 1;
                true
            };
            workloads.get(&config, folder.path(), &mut watch).unwrap_err().to_string()
        };
        let first = error();
        assert!(first.contains("a.spc:2") && first.contains("zebra"), "{first}");
        assert_eq!(error(), first);
        assert_eq!(asked, 1, "the second time nothing is read");
        spc(folder.path(), LINES);
        assert!(workloads.get(&config, folder.path(), &mut |_| true).is_ok());
    }

    #[test]
    fn a_file_that_appears_later_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let workloads = Workloads::default();
        let config = WorkloadConfig::trace("a.spc");
        let error = workloads.get(&config, folder.path(), &mut |_| true).unwrap_err().to_string();
        assert!(error.contains("no such file"), "{error}");
        spc(folder.path(), LINES);
        assert!(workloads.get(&config, folder.path(), &mut |_| true).is_ok());
    }
}
