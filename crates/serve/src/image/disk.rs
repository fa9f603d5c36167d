//! The file itself. Every write to it and every sync goes through here, so that tests can see all of
//! them, and end them anywhere.

use std::fs::File;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::fs::{SeekFrom, seek};

use super::layout::RECORD;
use crate::priority;

/// So long it takes until a test's disk fails.
const FAILING: Duration = Duration::from_millis(5);
/// Parts that the system takes at once.
const MOST_PARTS: usize = 1024;

/// Why nothing reaches the file any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The process counts as killed, in the middle of the last write. It does not know.
    Killed,
    /// The host's disk is full, and says so.
    Full,
}

/// What was done to the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Bytes were written, from this one of the file on.
    Write {
        /// First byte.
        at: u64,
        /// What was written.
        bytes: Vec<u8>,
    },
    /// All that was written before is on the host's disk.
    Sync,
}

/// All that is done to a file, in order: for tests of what a machine that crashes leaves.
#[derive(Debug, Clone, Default)]
pub struct Tape(Arc<Mutex<Vec<Event>>>);

impl Tape {
    /// Events so far.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether nothing has been done.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What was done so far.
    pub fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, event: Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

/// What has been written is on its way to the host's disk. Whoever drops it waits for that.
#[derive(Debug)]
pub struct Syncing(Option<JoinHandle<io::Result<()>>>);

impl Syncing {
    /// Whether it has got there, once that is known.
    pub fn ended(&mut self) -> Option<io::Result<()>> {
        self.0.take_if(|thread| thread.is_finished()).map(joined)
    }

    /// Waits until it has got there.
    ///
    /// # Errors
    /// The disk has not taken it.
    pub fn wait(mut self) -> io::Result<()> {
        self.0.take().map_or(Ok(()), joined)
    }
}

/// The system tells once that a disk has not taken what was written, and forgets it: the next sync
/// would find nothing wrong. So nothing is promised to last from then on.
fn sync(file: &File, fails: bool, lost: &AtomicBool) -> io::Result<()> {
    if lost.load(Relaxed) {
        return Err(io::Error::other("it has lost what was written before"));
    }
    let synced = if fails {
        // A disk takes its time to find out.
        thread::sleep(FAILING);
        Err(rustix::io::Errno::IO.into())
    } else {
        file.sync_data()
    };
    if synced.is_err() {
        lost.store(true, Relaxed);
    }
    synced
}

fn joined(thread: JoinHandle<io::Result<()>>) -> io::Result<()> {
    let panicked = |_| Err(io::Error::other("the thread that waits for the disk has died"));
    thread.join().unwrap_or_else(panicked)
}

impl Drop for Syncing {
    fn drop(&mut self) {
        // It holds the file, and its lock.
        if let Some(thread) = self.0.take() {
            _ = thread.join();
        }
    }
}

/// A file that is open.
#[derive(Debug)]
pub struct Disk {
    file: File,
    /// Writes after which no more reach the file, and why.
    stops_after: Option<(AtomicU64, Stop)>,
    /// The next sync fails.
    sync_fails: AtomicBool,
    /// The disk has not taken what was written.
    lost: Arc<AtomicBool>,
    /// Bytes of the file for which there is no room.
    full: Range<u64>,
    /// No thread can be begun that waits for the disk.
    no_threads: bool,
    tape: Option<Tape>,
}

impl Disk {
    pub fn new(file: File) -> Self {
        let (sync_fails, lost) = Default::default();
        let (stops_after, full, no_threads, tape) = (None, 0..0, false, None);
        Self { file, stops_after, sync_fails, lost, full, no_threads, tape }
    }

    /// Nothing reaches the file after the `writes`-th write from now on.
    pub fn stop_after(&mut self, writes: u64, why: Stop) {
        self.stops_after = Some((AtomicU64::new(writes), why));
    }

    /// Whether the host's disk does not take what has been written, which the next sync is told,
    /// and none after it.
    pub fn fail_sync(&self, fails: bool) {
        self.sync_fails.store(fails, Relaxed);
    }

    /// The host's disk has no room for these bytes of the file, and with `no_threads` the system
    /// none for a thread that waits for the disk.
    pub fn starve(&mut self, full: Range<u64>, no_threads: bool) {
        (self.full, self.no_threads) = (full, no_threads);
    }

    /// Whether the disk has said that it has not taken what was written.
    pub fn has_lost(&self) -> bool {
        self.lost.load(Relaxed)
    }

    /// All that is done to the file from now on goes onto `tape`, too.
    pub fn record(&mut self, tape: Tape) {
        self.tape = Some(tape);
    }

    /// The file, to be copied or given up.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Bytes of the file, and of it on the host's disk.
    pub fn size(&self) -> io::Result<(u64, u64)> {
        use std::os::unix::fs::MetadataExt;
        let meta = self.file.metadata()?;
        Ok((meta.len(), meta.blocks() * 512))
    }

    /// Writes `bytes` from byte `at` of the file on.
    #[inline]
    pub fn put(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        if let Some((left, why)) = &self.stops_after {
            let before = left.fetch_update(Relaxed, Relaxed, |left| Some(left.saturating_sub(1)));
            match (before.unwrap_or_default(), why) {
                (0, Stop::Killed) => return Ok(()),
                (0, Stop::Full) => return Err(io::ErrorKind::StorageFull.into()),
                // A kill leaves whole pages of the host's memory, and a record lies in one.
                (1, Stop::Killed) => {
                    let whole = (bytes.len() / 2).next_multiple_of(RECORD).min(bytes.len());
                    return self.file.write_all_at(&bytes[..whole], at);
                }
                _ => {}
            }
        }
        if self.full.contains(&at) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if let Some(tape) = &self.tape {
            tape.add(Event::Write { at, bytes: bytes.to_vec() });
        }
        self.file.write_all_at(bytes, at)
    }

    /// The same of bytes that lie in several places.
    pub fn put_parts(&self, mut parts: &mut [IoSlice<'_>], mut at: u64) -> io::Result<()> {
        if self.is_watched() {
            let whole: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
            return self.put(&whole, at);
        }
        while !parts.is_empty() {
            let some = &parts[..parts.len().min(MOST_PARTS)];
            let written = match rustix::io::pwritev(&self.file, some, at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => written,
                Err(rustix::io::Errno::INTR) => continue,
                Err(why) => return Err(why.into()),
            };
            at += written as u64;
            IoSlice::advance_slices(&mut parts, written);
        }
        Ok(())
    }

    /// Whether a test looks at each write, or ends them somewhere.
    fn is_watched(&self) -> bool {
        self.stops_after.is_some() || self.tape.is_some() || !self.full.is_empty()
    }

    /// What has been written is on the host's disk when this returns.
    pub fn sync(&self) -> io::Result<()> {
        sync(&self.file, self.sync_fails.swap(false, Relaxed), &self.lost)?;
        if let Some(tape) = &self.tape {
            tape.add(Event::Sync);
        }
        Ok(())
    }

    /// What has been written so far gets to the host's disk, while others go on.
    pub fn begin_sync(&self) -> io::Result<Syncing> {
        if self.no_threads {
            return Err(rustix::io::Errno::MFILE.into());
        }
        let (file, lost) = (self.file.try_clone()?, Arc::clone(&self.lost));
        let fails = self.sync_fails.swap(false, Relaxed);
        let thread = thread::Builder::new().name("sync".into());
        let wait = move || {
            // Nobody waits for it as for an answer.
            priority::normal();
            sync(&file, fails, &lost)
        };
        Ok(Syncing(Some(thread.spawn(wait)?)))
    }

    /// Bytes from byte `at` of the file on.
    #[inline]
    pub fn get(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, at)
    }

    /// The next bytes from `at` on, and before `end`, that have been written: what is a hole need
    /// not be read.
    pub fn next_written(&self, at: u64, end: u64) -> io::Result<Option<(u64, u64)>> {
        if at >= end {
            return Ok(None);
        }
        match seek(&self.file, SeekFrom::Data(at)) {
            Ok(from) if from >= end => Ok(None),
            Ok(from) => {
                let to = seek(&self.file, SeekFrom::Hole(from))?;
                Ok(Some((from, to.min(end))))
            }
            // No more data in the whole file.
            Err(rustix::io::Errno::NXIO) => Ok(None),
            Err(why) => Err(why.into()),
        }
    }
}
