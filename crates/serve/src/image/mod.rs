//! The file that a drive lives in: where its pages and their records are, and how they are changed.
//!
//! A page's bytes are written before its record, so that whatever a process leaves that is killed,
//! each record tells of bytes that are there. A block's entry says that it is being erased before
//! its records go. Nothing is ever changed in any other order, and so the file is at every moment
//! what a power cut would leave of a drive.

mod layout;
pub mod record;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use eraseblock_core::config::DeviceConfig;
use eraseblock_core::nand::Geometry;
use eraseblock_core::support::ids::{BlockId, Ppn};
use rustix::fs::{FlockOperation, SeekFrom, flock, seek};

use layout::{ENTRY, SECTOR, is_sealed, seal, u32_at, u64_at};
pub use layout::{Layout, RECORD};
use record::{Record, TORN};

use crate::error::Error;

/// First bytes of the state.
const STATE_MAGIC: [u8; 8] = *b"EBSTATE1";
/// Bytes of the state.
const STATE_BYTES: usize = 64;

/// How an image was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct State {
    /// Its server ended as it should: everything is stored, and nothing was under way.
    pub clean: bool,
    /// Steps that had been programmed when this was written, over the whole life of the image.
    pub steps: u64,
    /// The drive's time in all, in ns.
    pub time_ns: u64,
    /// How often it has been opened.
    pub opened: u64,
}

/// A page that is not erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// It has a record.
    Readable(Record),
    /// It is marked: it cannot be read.
    Torn,
    /// Its record makes no sense.
    Damaged,
}

/// An open image.
#[derive(Debug)]
pub struct Image {
    file: File,
    layout: Layout,
    /// Writes after which no more reach the file, and why, for tests of what that leaves.
    stops_after: Option<(AtomicU64, Stop)>,
}

/// Why nothing reaches the file any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The process counts as killed, in the middle of the last write. It does not know.
    Killed,
    /// The host's disk is full, and says so.
    Full,
}

impl Image {
    /// Makes an image of a drive whose flash is erased. There must be no such file.
    ///
    /// # Errors
    /// The file cannot be made.
    pub fn create(
        path: &Path,
        config: &DeviceConfig,
        geometry: &Geometry,
        logical_pages: u32,
    ) -> Result<Self, Error> {
        let text = serde_json::to_vec_pretty(config).unwrap_or_else(|e| unreachable!("{e}"));
        let page_bytes = u32::try_from(geometry.page_bytes)
            .map_err(|_| Error::image(path, "pages of 4 GiB and more are not served"))?;
        let layout = Layout {
            page_bytes,
            pages_per_block: geometry.pages_per_block,
            blocks: geometry.blocks(),
            logical_pages,
            config_bytes: text.len() as u32,
        };
        let failed = |source| Error::file(path, source);
        let mut options = OpenOptions::new();
        let file = options
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        lock(&file, path)?;
        let image = Self { file, layout, stops_after: None };
        let fill = || {
            image.file.set_len(layout.size())?;
            image.file.write_all_at(&text, Layout::CONFIG)?;
            image.write_state(&State { clean: true, ..State::default() })?;
            // Last, so that what is not whole is no image.
            image.file.sync_data()?;
            image.file.write_all_at(&layout.encode(), 0)?;
            image.file.sync_data()
        };
        fill().map_err(failed)?;
        Ok(image)
    }

    /// Opens an image, for nobody else to change it, and the drive's configuration.
    ///
    /// # Errors
    /// It cannot be read, is none, or somebody has it open.
    pub fn open(path: &Path, write: bool) -> Result<(Self, DeviceConfig), Error> {
        let failed = |source| Error::file(path, source);
        let file = OpenOptions::new().read(true).write(write).open(path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        if !meta.is_file() {
            return Err(Error::image(path, "no regular file"));
        }
        let mut superblock = vec![0; SECTOR as usize];
        if meta.len() < SECTOR || file.read_exact_at(&mut superblock, 0).is_err() {
            return Err(Error::image(path, "this is no image of eraseblock"));
        }
        let layout = Layout::decode(&superblock).map_err(|why| Error::image(path, why))?;
        lock(&file, path)?;
        if meta.len() < layout.size() {
            let why = format!("it has {} of its {} bytes", meta.len(), layout.size());
            return Err(Error::image(path, why));
        }
        let mut text = vec![0; layout.config_bytes as usize];
        file.read_exact_at(&mut text, Layout::CONFIG).map_err(failed)?;
        let config: DeviceConfig = serde_json::from_slice(&text)
            .map_err(|e| Error::image(path, format!("its configuration cannot be read: {e}")))?;
        Ok((Self { file, layout, stops_after: None }, config))
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Bytes that the file takes on the host's disk.
    ///
    /// # Errors
    /// The system does not say.
    pub fn allocated(&self) -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt;
        Ok(self.file.metadata()?.blocks() * 512)
    }

    /// How it was left; `None` where that cannot be read.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn state(&self) -> io::Result<Option<State>> {
        let mut bytes = [0; STATE_BYTES];
        self.file.read_exact_at(&mut bytes, Layout::STATE)?;
        let readable = bytes[..8] == STATE_MAGIC && is_sealed(&bytes);
        Ok(readable.then(|| State {
            clean: u32_at(&bytes, 8) == 1,
            steps: u64_at(&bytes, 16),
            time_ns: u64_at(&bytes, 24),
            opened: u64_at(&bytes, 32),
        }))
    }

    /// Writes down how it is left.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_state(&self, state: &State) -> io::Result<()> {
        let mut bytes = [0; STATE_BYTES];
        bytes[..8].copy_from_slice(&STATE_MAGIC);
        bytes[8..12].copy_from_slice(&u32::from(state.clean).to_le_bytes());
        bytes[16..24].copy_from_slice(&state.steps.to_le_bytes());
        bytes[24..32].copy_from_slice(&state.time_ns.to_le_bytes());
        bytes[32..40].copy_from_slice(&state.opened.to_le_bytes());
        seal(&mut bytes);
        self.put(&bytes, Layout::STATE)
    }

    /// Nothing reaches the file after the `writes`-th write from now on.
    pub fn stop_after(&mut self, writes: u64, why: Stop) {
        self.stops_after = Some((AtomicU64::new(writes), why));
    }

    /// Every write to an image that is open.
    #[inline]
    fn put(&self, bytes: &[u8], at: u64) -> io::Result<()> {
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
        self.file.write_all_at(bytes, at)
    }

    /// What has been written is on the host's disk when this returns.
    ///
    /// # Errors
    /// The disk does not take it.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn data_at(&self, ppn: Ppn) -> u64 {
        self.layout.data_at() + u64::from(ppn.0) * u64::from(self.layout.page_bytes)
    }

    /// The first bytes of a page.
    ///
    /// # Errors
    /// The file cannot be read.
    #[inline]
    pub fn read(&self, ppn: Ppn, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, self.data_at(ppn))
    }

    /// Bytes of pages that have no record, from the beginning of `ppn` on.
    ///
    /// # Errors
    /// The file cannot be written.
    #[inline]
    pub fn write(&self, ppn: Ppn, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() { Ok(()) } else { self.put(bytes, self.data_at(ppn)) }
    }

    /// Records of pages from `first` on, whose bytes have been written.
    ///
    /// # Errors
    /// The file cannot be written.
    #[inline]
    pub fn write_records(&self, first: Ppn, records: &[u8]) -> io::Result<()> {
        self.put(records, self.layout.records_at() + first.index() as u64 * RECORD as u64)
    }

    /// Nothing of a page can be read any more.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn tear(&self, ppn: Ppn) -> io::Result<()> {
        self.write_records(ppn, &TORN)
    }

    /// Erases a block, for the `erases`-th time.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn erase(&self, block: BlockId, erases: u32) -> io::Result<()> {
        let at = self.layout.blocks_at() + ENTRY * u64::from(block.0);
        let entry = |erasing: u32| {
            let mut entry = [0; ENTRY as usize];
            entry[..4].copy_from_slice(&erases.to_le_bytes());
            entry[4..].copy_from_slice(&erasing.to_le_bytes());
            entry
        };
        self.put(&entry(1), at)?;
        let pages = self.layout.pages_per_block;
        self.write_records(block.page(0, pages), &vec![0; pages as usize * RECORD])?;
        self.put(&entry(0), at)
    }

    /// Calls `found` with each block's erases, and whether its last one was cut short.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn each_block(&self, mut found: impl FnMut(BlockId, u32, bool)) -> io::Result<()> {
        let mut bytes = vec![0; ENTRY as usize * self.layout.blocks as usize];
        self.file.read_exact_at(&mut bytes, self.layout.blocks_at())?;
        for (block, entry) in BlockId(0).onwards().zip(bytes.chunks_exact(ENTRY as usize)) {
            found(block, u32_at(entry, 0), u32_at(entry, 4) != 0);
        }
        Ok(())
    }

    /// Writes down how often blocks have been erased.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_erases(&self, erases: &[u32]) -> io::Result<()> {
        let bytes: Vec<u8> = erases.iter().flat_map(|&e| u64::from(e).to_le_bytes()).collect();
        self.put(&bytes, self.layout.blocks_at())
    }

    /// Calls `found` with each page that is not erased, in order.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn each_page(&self, mut found: impl FnMut(Ppn, Page)) -> io::Result<()> {
        const AT_ONCE: u64 = 1 << 20;
        let (begin, record) = (self.layout.records_at(), RECORD as u64);
        let end = begin + record * u64::from(self.layout.pages());
        let mut bytes = Vec::new();
        let mut at = begin;
        while let Some((from, to)) = self.next_written(at, end)? {
            // Holes begin and end where the host's disk likes it.
            let from = begin + (from - begin) / record * record;
            let to = begin + (to - begin).next_multiple_of(record);
            for first in (from..to).step_by(AT_ONCE as usize) {
                bytes.resize((to - first).min(AT_ONCE) as usize, 0);
                self.file.read_exact_at(&mut bytes, first)?;
                let pages = Ppn(((first - begin) / record) as u32).onwards();
                for (ppn, record) in pages.zip(bytes.chunks_exact(RECORD)) {
                    if record.iter().any(|&byte| byte != 0) {
                        found(ppn, Page::of(record));
                    }
                }
            }
            at = to;
        }
        Ok(())
    }

    /// The next bytes from `at` on, and before `end`, that have been written: what is a hole need
    /// not be read.
    fn next_written(&self, at: u64, end: u64) -> io::Result<Option<(u64, u64)>> {
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

impl Page {
    fn of(record: &[u8]) -> Self {
        if record == TORN {
            Self::Torn
        } else {
            Record::decode(record).map_or(Self::Damaged, Self::Readable)
        }
    }
}

/// How often a lock is asked for, 10 ms apart.
const TRIES: u32 = 25;

/// Nobody else may change the file. A process that is just being started has, for a moment, the
/// files of the one that starts it, and their locks: so it is asked for more than once.
fn lock(file: &File, path: &Path) -> Result<(), Error> {
    for _ in 0..TRIES {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) => thread::sleep(Duration::from_millis(10)),
            Err(why) => return Err(Error::file(path, why.into())),
        }
    }
    Err(Error::Locked(path.to_owned()))
}
