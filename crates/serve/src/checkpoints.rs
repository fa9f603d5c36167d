//! When checkpoints are written, and of what.
//!
//! One is written a piece at a time, after each step of a program, so that no request waits for
//! all of it. It counts once its pieces, and all that they tell of, are on the host's disk: with
//! `--sync` that is waited for anyhow; else a thread of its own asks for it.
//!
//! Nothing hangs on one: where it cannot be written it is given up, the one before it stays good,
//! and another is begun when the next is due. What the disk has lost is another matter.

use std::io;

use eraseblock_core::nand::Media;
use eraseblock_core::support::chunks::Chunks;
use eraseblock_core::support::ids::BlockId;

use crate::image::checkpoint::{self, Block, Head, PERIODS};
use crate::image::{Entry, Image, Layout, Syncing};

/// A checkpoint begins when a part of the drive as large as this has been programmed since the last
/// one began.
const PART: u64 = 8;
/// Where a thread asks for it to be on the host's disk, so many bytes have to have been programmed
/// at least: all that has been written goes to the disk then, which is work, and so much is soon
/// compared when an image is opened whose server was killed. A flash of no more than that needs
/// none while it is served.
const LEAST: u64 = 2 << 30;

/// What is known of the flash beside the medium.
#[derive(Debug)]
pub struct Known {
    /// Of each block: its erases, its life, and when it was last changed.
    pub entries: Vec<Entry>,
    /// Number of the last step that programmed a page of each block in its life; 0: none.
    pub last_steps: Vec<u64>,
    /// Length and checksum of each flash page's bytes; no length where nothing is written of them.
    pub kept: Chunks<(u32, u32)>,
}

impl Known {
    /// Of a flash of no blocks.
    pub fn nothing() -> Self {
        Self { entries: Vec::new(), last_steps: Vec::new(), kept: Chunks::new(0, (0, 0)) }
    }

    fn block<'a>(&'a self, media: &'a Media, block: BlockId) -> Block<'a> {
        Block {
            life: self.entries[block.index()].life,
            last_step: self.last_steps[block.index()],
            pages: media.block(block),
            kept: (&self.kept, media.first_page(block)),
        }
    }

    /// A block has been erased, in this period.
    pub fn erased(&mut self, block: BlockId, erases: u32, period: u32, pages: u32) -> Entry {
        let entry = &mut self.entries[block.index()];
        *entry = Entry { erases, life: entry.life + 1, changed: period };
        self.last_steps[block.index()] = 0;
        let first = block.page(0, pages).index();
        for ppn in (first..first + pages as usize)
            .filter(|&ppn| self.kept[ppn] != (0, 0))
            .collect::<Vec<_>>()
        {
            self.kept.set(ppn, (0, 0));
        }
        self.entries[block.index()]
    }
}

#[derive(Debug)]
enum Stage {
    /// None is being written.
    Idle,
    /// This piece comes next.
    Writing(u32),
    /// All pieces are written.
    Written,
    /// They are on their way to the host's disk, and so is all up to this step.
    Syncing(Syncing, u64),
}

/// The checkpoints of an image.
#[derive(Debug)]
pub struct Checkpoints {
    /// The current period: it began with the last checkpoint that was begun.
    period: u32,
    /// Where the next one goes: the last whole one is in the other place.
    slot: u32,
    stage: Stage,
    /// Pages programmed since the last one was begun, and after how many the next one begins.
    programmed: u64,
    every: u64,
    bytes: Vec<u8>,
    /// Why the last one that was begun could not be written.
    failure: Option<io::Error>,
}

impl Checkpoints {
    /// Of an image in which these were found, and these entries; so many pages had to be `compared`
    /// since the last one did not tell of them. `sync` says whether whoever has it open waits for
    /// the host's disk.
    pub fn new(
        layout: &Layout,
        (found, entries): (&[(u32, Head)], &[Entry]),
        compared: u64,
        sync: bool,
    ) -> Self {
        let newest = found.iter().max_by_key(|(_, head)| head.period);
        let begun = newest.map_or(0, |(_, head)| head.period);
        let changed = entries.iter().map(|entry| entry.changed).max().unwrap_or(0);
        let pages = u64::from(layout.pages());
        let least = LEAST / u64::from(layout.page_bytes);
        let every = match pages / PART {
            part if sync => part,
            _ if pages <= least => u64::MAX,
            part => part.max(least),
        };
        Self {
            // One may have been begun, and not become whole.
            period: begun.max(changed),
            slot: newest.map_or(0, |(slot, _)| 1 - slot),
            stage: Stage::Idle,
            programmed: compared,
            every,
            bytes: Vec::new(),
            failure: None,
        }
    }

    /// The current period.
    pub fn period(&self) -> u32 {
        self.period
    }

    /// Why the last one that was begun could not be written, if that is so.
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// What came of a step of one: it is given up if that has failed.
    fn try_on<T>(&mut self, step: io::Result<T>) -> Option<T> {
        step.map_err(|why| (self.failure, self.stage) = (Some(why), Stage::Idle)).ok()
    }

    /// One begins after so many pages, from now on.
    pub fn set_every(&mut self, pages: u64) {
        self.every = pages;
    }

    fn begin(&mut self) {
        if self.period + 1 < PERIODS {
            self.period += 1;
            self.stage = Stage::Writing(0);
        }
        self.programmed = 0;
    }

    fn write_piece(
        &mut self,
        piece: u32,
        image: &Image,
        known: &Known,
        media: &Media,
    ) -> io::Result<()> {
        let (first, count) = image.layout().blocks_of(piece);
        let blocks = (first.0..first.0 + count).collect::<Vec<_>>();
        let blocks = blocks.into_iter().map(|block| known.block(media, BlockId(block)));
        checkpoint::encode(&mut self.bytes, self.period, first, blocks);
        image.write_piece(self.slot, piece, &self.bytes)
    }

    /// So many pages have been programmed, and all that comes of it is known and written: some more
    /// of a checkpoint is written, if it is time. `sync` says whether somebody else is going to
    /// wait for the host's disk; `steps` have been programmed. The number of a step up to which all
    /// is known to be on the host's disk, when that has become known.
    pub fn programmed(
        &mut self,
        pages: usize,
        (image, known, media): (&Image, &Known, &Media),
        (sync, steps): (bool, u64),
    ) -> io::Result<Option<u64>> {
        self.programmed += pages as u64;
        match &mut self.stage {
            Stage::Idle => {
                if self.programmed >= self.every {
                    self.begin();
                }
            }
            &mut Stage::Writing(piece) => {
                let written = self.write_piece(piece, image, known, media);
                if self.try_on(written).is_some() {
                    let next = piece + 1;
                    let whole = next == image.layout().pieces();
                    self.stage = if whole { Stage::Written } else { Stage::Writing(next) };
                }
            }
            Stage::Written if sync => {}
            Stage::Written => {
                if let Some(syncing) = self.try_on(image.begin_sync()) {
                    self.stage = Stage::Syncing(syncing, steps);
                }
            }
            Stage::Syncing(syncing, steps) => {
                if let Some(ended) = syncing.ended() {
                    let steps = *steps;
                    ended?;
                    self.write_head(image, steps);
                    return Ok(Some(steps));
                }
            }
        }
        Ok(None)
    }

    /// All that has been written is on the host's disk, as far as step `steps`.
    pub fn synced(&mut self, image: &Image, steps: u64) {
        if matches!(self.stage, Stage::Written) {
            self.write_head(image, steps);
        }
    }

    fn write_head(&mut self, image: &Image, steps: u64) {
        let written = image.write_checkpoint(self.slot, &Head { period: self.period, steps });
        if self.try_on(written).is_some() {
            (self.slot, self.stage, self.failure) = (1 - self.slot, Stage::Idle, None);
        }
    }

    /// One under way is given up, and its thread waited for: what the disk has told that one of, it
    /// tells nobody else.
    ///
    /// # Errors
    /// The disk has not taken what was written.
    pub fn give_up(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.stage, Stage::Idle) {
            Stage::Syncing(syncing, _) => syncing.wait(),
            _ => Ok(()),
        }
    }

    /// Writes all pieces of a new one now. [`Self::synced`] has to follow.
    ///
    /// # Errors
    /// The disk has not taken what was written for the one before.
    pub fn write_all(&mut self, image: &Image, known: &Known, media: &Media) -> io::Result<()> {
        self.give_up()?;
        self.begin();
        if matches!(self.stage, Stage::Writing(_)) {
            let written = (0..image.layout().pieces())
                .try_for_each(|piece| self.write_piece(piece, image, known, media));
            if self.try_on(written).is_some() {
                self.stage = Stage::Written;
            }
        }
        Ok(())
    }
}
