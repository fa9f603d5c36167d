//! The bounds on what a buffer can do with a workload: found once for all runs of a process whose
//! buffers have one size, and beside a run that is served with the first pass over its trace.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::JoinHandle;

use eraseblock_core::device::Device;
use eraseblock_core::host::Request;
use eraseblock_core::metrics::bounds::{Question, Tally, Totals};
use eraseblock_traces::{DriveShape, FittedWorkload, Watch, Workload};

use super::waiting::lock;
use super::{REPORT_EVERY, RunError};

/// Answers remembered at most, the newest ones.
const KEPT: usize = 256;

/// Requests that go to the thread together, and how often so many may wait for it.
const BLOCK: usize = 4096;
const BLOCKS: usize = 4;

/// What this process has found.
#[derive(Debug, Default)]
pub(super) struct FoundBounds {
    entries: Mutex<Vec<Arc<Entry>>>,
}

/// The totals of a workload on buffers of a size. Whoever holds the lock of an empty one is finding
/// them.
#[derive(Debug)]
struct Entry {
    workload: Weak<Workload>,
    drive: DriveShape,
    question: Question,
    found: Mutex<Option<Totals>>,
}

impl FoundBounds {
    /// What the requests of a workload, as they lie on a drive, come to. A fault of the trace ends
    /// them; the run finds it, too. `watch` is told of requests, and says whether to go on.
    pub fn get(
        &self,
        (workload, fitted, drive): (&Arc<Workload>, &FittedWorkload, DriveShape),
        question: Question,
        watch: Watch<'_>,
    ) -> Result<Totals, RunError> {
        let entry = self.entry(workload, drive, question);
        let mut found = lock(&entry.found, watch)?;
        if let Some(known) = *found {
            return Ok(known);
        }
        let mut tally = Tally::new(question);
        for (number, request) in (0..).zip(fitted.requests().map_while(Result::ok)) {
            if number % REPORT_EVERY == 0 && !watch(number) {
                return Err(RunError::Cancelled);
            }
            tally.add(&request);
        }
        Ok(*found.insert(tally.totals()))
    }

    fn entry(&self, workload: &Arc<Workload>, drive: DriveShape, question: Question) -> Arc<Entry> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let of = Arc::downgrade(workload);
        let known = entries.iter().find(|entry| {
            entry.workload.ptr_eq(&of) && (entry.drive, entry.question) == (drive, question)
        });
        if let Some(known) = known {
            return known.clone();
        }
        // What nobody reads any more is of no use.
        entries.retain(|entry| entry.workload.strong_count() > 0);
        if entries.len() == KEPT {
            entries.remove(0);
        }
        let entry = Arc::new(Entry { workload: of, drive, question, found: Mutex::default() });
        entries.push(entry.clone());
        entry
    }
}

/// A thread that finds the totals while somebody else serves the requests.
#[derive(Debug)]
pub(super) struct Beside {
    next: Vec<Request>,
    blocks: SyncSender<Vec<Request>>,
    thread: JoinHandle<Totals>,
    totals: Arc<OnceLock<Totals>>,
}

impl Beside {
    /// Begins; the drive's report will have the bounds.
    pub fn start(device: &mut Device) -> Self {
        let question = device.question_of_bounds();
        let (blocks, come) = sync_channel::<Vec<Request>>(BLOCKS);
        let thread = std::thread::spawn(move || {
            let mut tally = Tally::new(question);
            come.iter().flatten().for_each(|request| tally.add(&request));
            tally.totals()
        });
        let totals = Arc::new(OnceLock::new());
        device.keep_bounds(totals.clone());
        Self { next: Vec::with_capacity(BLOCK), blocks, thread, totals }
    }

    /// The next requests. O(1) each.
    pub fn add(&mut self, requests: &[Request]) {
        self.next.extend_from_slice(requests);
        if self.next.len() >= BLOCK {
            self.send(Vec::with_capacity(BLOCK));
        }
    }

    fn send(&mut self, next: Vec<Request>) {
        // A thread that has ended has panicked: the end tells.
        let _ = self.blocks.send(std::mem::replace(&mut self.next, next));
    }

    /// All have come: waits for what they come to. `false` where the thread has panicked.
    #[must_use]
    pub fn finish(mut self) -> bool {
        self.send(Vec::new());
        let Self { blocks, thread, totals, .. } = self;
        drop(blocks);
        thread.join().is_ok_and(|found| totals.set(found).is_ok())
    }
}
