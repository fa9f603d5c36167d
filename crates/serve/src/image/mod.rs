//! The file that a drive lives in: where its pages and their records are, and how they are changed.
//!
//! A page's bytes are written before its record, so that whatever a process leaves that is killed,
//! each record tells of bytes that are there. A block is erased by counting on, which is one small
//! write: records of an earlier life of it are void. So the file is at every moment what a power
//! cut would leave of a drive.

pub mod checkpoint;
mod copy;
mod disk;
mod layout;
pub mod record;
mod state;
pub mod unseen;

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, DeviceError};
use eraseblock_core::nand::Geometry;
use eraseblock_core::support::ids::{BlockId, Ppn};
use rustix::fs::{FlockOperation, flock};

use checkpoint::{HEAD, Head, PERIODS, Recorded};
use disk::Disk;
pub use disk::{Event, Stop, Syncing, Tape};
use layout::{
    ENTRY, LARGEST_PAGE, MOST_CONFIG, PIECE_HEAD, SECTOR, SLOTS, is_sealed, seal, u32_at,
};
pub use layout::{Layout, RECORD};
use record::{Bounds, Page};
use state::STATE_BYTES;
pub use state::State;
use unseen::{New, new_file};

use crate::error::Error;

/// What a checkpoint lacks that cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Starved {
    /// Room on the host's disk.
    Room,
    /// A file handle or a thread.
    Threads,
}

/// An open image.
#[derive(Debug)]
pub struct Image {
    disk: Disk,
    layout: Layout,
}

/// What is kept of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Entry {
    /// How often it has been erased, for its wear.
    pub erases: u32,
    /// How often it has been erased since the image was made: records of another life are void.
    pub life: u32,
    /// The period in which it was last changed: of checkpoints that came before, what they say of
    /// it is void.
    pub changed: u32,
}

impl Entry {
    fn encode(self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[..4].copy_from_slice(&self.erases.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.life.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.changed.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    /// `None` where it makes no sense. A block that has never been erased may have none.
    fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.iter().all(|&byte| byte == 0) {
            return Some(Self::default());
        }
        let [erases, life, changed] = [0, 4, 8].map(|at| u32_at(bytes, at));
        let sane = is_sealed(bytes) && erases.max(life) < 1 << 31 && changed < PERIODS;
        sane.then_some(Self { erases, life, changed })
    }
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
    ) -> Result<(Self, New), Error> {
        let text = serde_json::to_vec_pretty(config).unwrap_or_else(|e| unreachable!("{e}"));
        if text.len() > MOST_CONFIG as usize {
            let why = format!("its configuration has {} bytes of {MOST_CONFIG}", text.len());
            return Err(Error::image(path, why));
        }
        let fits = u32::try_from(geometry.page_bytes).ok().filter(|&bytes| bytes <= LARGEST_PAGE);
        let page_bytes =
            fits.ok_or_else(|| Error::image(path, "pages of more than 32 MiB are not served"))?;
        let layout = Layout {
            page_bytes,
            pages_per_block: geometry.pages_per_block,
            blocks: geometry.blocks(),
            logical_pages,
            config_bytes: text.len() as u32,
            config_sum: crc32fast::hash(&text),
        };
        let failed = |source| Error::file(path, source);
        let (file, new) = new_file(path).map_err(failed)?;
        lock(&file, path, true)?;
        let fill = || {
            file.set_len(layout.size())?;
            file.write_all_at(&text, Layout::CONFIG)?;
            file.write_all_at(&layout.encode(), 0)
        };
        fill().map_err(failed)?;
        let image = Self { disk: Disk::new(file), layout };
        Ok((image, new))
    }

    /// Opens an image, for nobody else to change it, and the drive's configuration. Others may read
    /// it meanwhile, unless it is to be written.
    ///
    /// # Errors
    /// It cannot be read, is none, or somebody has it open.
    pub fn open(path: &Path, write: bool) -> Result<(Self, DeviceConfig, Geometry), Error> {
        let failed = |source| Error::file(path, source);
        let wrong = |why: String| Error::image(path, why);
        // To open a pipe would wait for its other end.
        if !path.metadata().map_err(failed)?.is_file() {
            return Err(wrong("no regular file".into()));
        }
        let file = OpenOptions::new().read(true).write(write).open(path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        let mut superblock = vec![0; SECTOR as usize];
        if meta.len() < SECTOR || file.read_exact_at(&mut superblock, 0).is_err() {
            return Err(wrong("this is no image of eraseblock".into()));
        }
        let layout = Layout::decode(&superblock).map_err(wrong)?;
        lock(&file, path, write)?;
        if meta.len() < layout.size() {
            return Err(wrong(format!("it has {} of its {} bytes", meta.len(), layout.size())));
        }
        let mut text = vec![0; layout.config_bytes as usize];
        file.read_exact_at(&mut text, Layout::CONFIG).map_err(failed)?;
        if crc32fast::hash(&text) != layout.config_sum {
            return Err(wrong("its configuration is damaged".into()));
        }
        let config = serde_json::from_slice(&text)
            .and_then(DeviceConfig::from_json)
            .map_err(|e| wrong(format!("its configuration cannot be read: {e}")))?;
        let geometry = Geometry::new(&config.nand).map_err(DeviceError::Config)?;
        let described = (
            geometry.page_bytes,
            geometry.pages_per_block,
            geometry.blocks(),
            Device::pages_for_host(&config)?,
        );
        let Layout { page_bytes, pages_per_block, blocks, logical_pages, .. } = layout;
        if described != (page_bytes.into(), pages_per_block, blocks, logical_pages) {
            return Err(wrong("its configuration is that of another drive".into()));
        }
        Ok((Self { disk: Disk::new(file), layout }, config, geometry))
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// There is no room for checkpoints, or none for a thread that waits for the disk, or no such
    /// thing any more: for tests.
    pub fn starve(&mut self, why: Option<Starved>) {
        let (begin, end) = (self.layout.checkpoint_at(0), self.layout.blocks_at());
        let full = if why == Some(Starved::Room) { begin..end } else { 0..0 };
        self.disk.starve(full, why == Some(Starved::Threads));
    }

    /// The file, for tests.
    pub fn disk_mut(&mut self) -> &mut Disk {
        &mut self.disk
    }

    /// Bytes that the file takes on the host's disk.
    ///
    /// # Errors
    /// The system does not say.
    pub fn allocated(&self) -> io::Result<u64> {
        self.disk.size().map(|(_, allocated)| allocated)
    }

    /// How it was left; `None` where that cannot be read.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn state(&self) -> io::Result<Option<State>> {
        let mut bytes = [0; STATE_BYTES];
        self.disk.get(&mut bytes, Layout::STATE)?;
        Ok(State::decode(&bytes))
    }

    /// Writes down how it is left.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_state(&self, state: &State) -> io::Result<()> {
        self.disk.put(&state.encode(), Layout::STATE)
    }

    /// What has been written is on the host's disk when this returns.
    ///
    /// # Errors
    /// The disk does not take it.
    pub fn sync(&self) -> io::Result<()> {
        self.disk.sync()
    }

    /// Whether the disk has said that it has not taken what was written: nobody knows what of it is
    /// there.
    pub fn has_lost(&self) -> bool {
        self.disk.has_lost()
    }

    /// The same as [`Self::sync`], without waiting for it.
    ///
    /// # Errors
    /// The system has no room for it.
    pub fn begin_sync(&self) -> io::Result<Syncing> {
        self.disk.begin_sync()
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
        self.disk.get(bytes, self.data_at(ppn))
    }

    /// Bytes of pages that have no record, from the beginning of `ppn` on.
    ///
    /// # Errors
    /// The file cannot be written.
    #[inline]
    pub fn write(&self, ppn: Ppn, parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        if parts.is_empty() { Ok(()) } else { self.disk.put_parts(parts, self.data_at(ppn)) }
    }

    /// Records of pages from `first` on, whose bytes have been written.
    ///
    /// # Errors
    /// The file cannot be written.
    #[inline]
    pub fn write_records(&self, first: Ppn, records: &[u8]) -> io::Result<()> {
        self.disk.put(records, self.layout.records_at() + first.index() as u64 * RECORD as u64)
    }

    /// Nothing of a page can be read any more in this life of its block.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn tear(&self, ppn: Ppn, life: u32) -> io::Result<()> {
        self.write_records(ppn, &record::torn(ppn, life))
    }

    /// A block has been erased, and its entry says so, which makes its records void: they go for
    /// good, so that they do not come back where the entry is damaged.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn clear_records(&self, block: BlockId) -> io::Result<()> {
        let pages = self.layout.pages_per_block;
        self.write_records(block.page(0, pages), &vec![0; pages as usize * RECORD])
    }

    /// Writes down what is kept of a block and of those after it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_entries(&self, first: BlockId, entries: &[Entry]) -> io::Result<()> {
        let bytes: Vec<u8> = entries.iter().copied().flat_map(Entry::encode).collect();
        self.disk.put(&bytes, self.layout.blocks_at() + ENTRY as u64 * u64::from(first.0))
    }

    /// What is kept of each block; `None` where that makes no sense.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn entries(&self) -> io::Result<Vec<Option<Entry>>> {
        let mut bytes = vec![0; ENTRY * self.layout.blocks as usize];
        self.disk.get(&mut bytes, self.layout.blocks_at())?;
        Ok(bytes.chunks_exact(ENTRY).map(Entry::decode).collect())
    }

    /// The checkpoints that there are, by the places that they lie in.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn checkpoints(&self) -> io::Result<Vec<(u32, Head)>> {
        let mut found = Vec::new();
        for slot in 0..SLOTS {
            let mut bytes = [0; HEAD];
            self.disk.get(&mut bytes, self.layout.checkpoint_at(slot))?;
            found.extend(Head::decode(&bytes).map(|head| (slot, head)));
        }
        Ok(found)
    }

    /// Writes what makes a checkpoint one, after its pieces.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_checkpoint(&self, slot: u32, head: &Head) -> io::Result<()> {
        self.disk.put(&head.encode(), self.layout.checkpoint_at(slot))
    }

    /// No checkpoint is good any more, since the image is going to be changed by somebody who
    /// keeps none. That is on the host's disk when this returns.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn drop_checkpoints(&self) -> io::Result<()> {
        for (slot, _) in self.checkpoints()? {
            self.disk.put(&[0; HEAD], self.layout.checkpoint_at(slot))?;
        }
        self.sync()
    }

    /// Writes a piece of a checkpoint.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_piece(&self, slot: u32, piece: u32, bytes: &[u8]) -> io::Result<()> {
        debug_assert!(bytes.len() as u64 <= self.layout.piece_bytes());
        self.disk.put(bytes, self.layout.piece_at(slot, piece))
    }

    /// What a piece of a checkpoint says; `None` where it is damaged, or another one's.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn piece(&self, slot: u32, head: &Head, piece: u32) -> io::Result<Option<Vec<Recorded>>> {
        let at = self.layout.piece_at(slot, piece);
        let mut length = [0; 4];
        self.disk.get(&mut length, at)?;
        let length = u32::from_le_bytes(length) as usize;
        if length <= PIECE_HEAD || length as u64 > self.layout.piece_bytes() {
            return Ok(None);
        }
        let mut bytes = vec![0; length];
        self.disk.get(&mut bytes, at)?;
        Ok(checkpoint::decode(&bytes, head.period, self.layout.blocks_of(piece), &self.bounds()))
    }

    fn bounds(&self) -> Bounds {
        let Layout { page_bytes, pages_per_block, logical_pages, .. } = self.layout;
        Bounds { pages_per_block, logical_pages, page_bytes }
    }

    /// Calls `found` with each page of these blocks that has something in the place of its record,
    /// in order.
    ///
    /// # Errors
    /// The file cannot be read, or what `found` says.
    pub fn each_page(
        &self,
        blocks: Range<BlockId>,
        mut found: impl FnMut(Ppn, Page) -> io::Result<()>,
    ) -> io::Result<()> {
        const AT_ONCE: u64 = 1 << 20;
        let bounds = self.bounds();
        let (begin, record) = (self.layout.records_at(), RECORD as u64);
        let of_block = record * u64::from(self.layout.pages_per_block);
        let end = begin + of_block * u64::from(blocks.end.0);
        let mut bytes = Vec::new();
        let mut at = begin + of_block * u64::from(blocks.start.0);
        while let Some((from, to)) = self.disk.next_written(at, end)? {
            // Holes begin and end where the host's disk likes it.
            let from = begin + (from - begin) / record * record;
            let to = begin + (to - begin).next_multiple_of(record);
            for first in (from..to).step_by(AT_ONCE as usize) {
                bytes.resize((to - first).min(AT_ONCE) as usize, 0);
                self.disk.get(&mut bytes, first)?;
                let pages = Ppn(((first - begin) / record) as u32).onwards();
                for (ppn, record) in pages.zip(bytes.chunks_exact(RECORD)) {
                    if record.iter().any(|&byte| byte != 0) {
                        found(ppn, Page::decode(record, ppn, &bounds))?;
                    }
                }
            }
            at = to;
        }
        Ok(())
    }
}

/// How often a lock is asked for, 10 ms apart.
const TRIES: u32 = 25;

/// Nobody else may change the file, nor open it where this one is to `write`. A process that is just being started has, for a moment, the
/// files of the one that starts it, and their locks: so it is asked for more than once.
fn lock(file: &File, path: &Path, write: bool) -> Result<(), Error> {
    let how = if write {
        FlockOperation::NonBlockingLockExclusive
    } else {
        FlockOperation::NonBlockingLockShared
    };
    for _ in 0..TRIES {
        match flock(file, how) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) => thread::sleep(Duration::from_millis(10)),
            Err(why) => return Err(Error::file(path, why.into())),
        }
    }
    Err(Error::Locked(path.to_owned()))
}
