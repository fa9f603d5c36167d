//! The bytes of a drive: in RAM until they are stored, in the image from then on.
//!
//! Data follow the physical page. Each step of a program that ends writes its pages' bytes where
//! the pages are in the image, and copies take them from where their source is: the drive's own
//! choice of places is the image's. Nothing beside that says where a logical page is but the FTL,
//! and after a crash the records from which it rebuilds itself. The other way, a table of contents
//! by logical page and version, would be smaller and need no copies; but it would be a second truth
//! beside the flash, and what a power cut must lose and keep would have to be worked out twice.
//!
//! The FTL knows places in advance: a page may be on its way to where it says. Until it has come,
//! `places` says where its newest stored version is.

mod steps;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eraseblock_core::nand::media::{Content, Media};
use eraseblock_core::nand::{Cells, Oob};
use eraseblock_core::support::ahead::in_groups;
use eraseblock_core::support::chunks::Chunks;
use eraseblock_core::support::ids::{BlockId, Lpn, Ppn};

use crate::checkpoints::{Checkpoints, Known};
use crate::counts::Counts;
use crate::found::Contents;
use crate::image::{Image, State};
use crate::ram::Ram;
use steps::Part;

/// Blocks that are said to have been changed at once, at most.
const AHEAD: usize = 32;

/// Bytes of pages, in RAM and in the image.
#[derive(Debug)]
pub struct Store {
    image: Image,
    ram: Ram,
    /// Where the newest stored version of each logical page is, as far as anything is stored of it.
    places: Chunks<Ppn>,
    /// How many pages of each block hold what counts.
    counts: Counts,
    /// What is known of blocks and flash pages beside the medium.
    known: Known,
    checkpoints: Checkpoints,
    /// Steps programmed, over the whole life of the image.
    steps: u64,
    /// As it stands in the image.
    state: State,
    /// Records of the step being written.
    records: Vec<u8>,
    /// Bytes of the step being written that are not in RAM anyhow, and where all of them are.
    bytes: Vec<u8>,
    parts: Vec<Part>,
    /// Bytes of a page of which a part is asked for.
    page: Vec<u8>,
    /// Where what is stored has to last on the host's disk: blocks whose entry has been changed,
    /// and need not be so there; whether they have been erased.
    unsure: Option<BTreeMap<BlockId, bool>>,
    /// The first thing that the host's disk did not take. Nothing has been written since.
    fault: Option<io::Error>,
}

impl Store {
    /// The store of an image, which knows nothing of it yet ([`Self::restart`]).
    pub fn new(image: Image) -> Self {
        let layout = *image.layout();
        Self {
            ram: Ram::new(layout.page_bytes as usize, layout.logical_pages),
            places: Chunks::new(0, Ppn::NONE),
            counts: Counts::new(layout.blocks, layout.pages_per_block, layout.logical_pages),
            known: Known::nothing(),
            checkpoints: Checkpoints::new(&layout, (&[], &[]), 0, false),
            steps: 0,
            state: State::default(),
            records: Vec::new(),
            bytes: Vec::new(),
            parts: Vec::new(),
            page: vec![0; layout.page_bytes as usize],
            unsure: None,
            fault: None,
            image,
        }
    }

    /// Power is gone: what is known beside the image, and the RAM, is void.
    ///
    /// # Errors
    /// The host's disk has not taken what was written for a checkpoint.
    pub fn let_go(&mut self) -> io::Result<()> {
        (self.places, self.known) = (Chunks::new(0, Ppn::NONE), Known::nothing());
        self.checkpoints.give_up()
    }

    /// Waits for a sync that a checkpoint has begun; the checkpoint is given up, and comes again.
    /// Where the host's disk has not taken what was written, that is a fault of it.
    pub fn let_sync_end(&mut self) {
        let ended = self.checkpoints.give_up();
        self.note(ended);
    }

    /// Begins with an image that holds `contents`; the medium for the drive. With `sync`, what is
    /// stored is never only where it is going to be erased. What is in RAM stays there. Before
    /// anything else is asked of it, [`Self::find_places`] has to follow.
    pub fn restart(&mut self, contents: Contents, state: State, sync: bool) -> Media {
        let layout = *self.image.layout();
        let Contents { media, found, entries, last_steps, kept, checkpoints, .. } = contents;
        self.places = Chunks::new(layout.logical_pages as usize, Ppn::NONE);
        self.counts = Counts::new(layout.blocks, layout.pages_per_block, layout.logical_pages);
        self.checkpoints =
            Checkpoints::new(&layout, (&checkpoints, &entries), found.compared, sync);
        self.known = Known { entries, last_steps, kept };
        // Pages of later steps may have been lost: their numbers are not used again.
        let on_disk = checkpoints.iter().map(|(_, head)| head.steps).max().unwrap_or(0);
        self.steps = found.steps.max(state.steps).max(on_disk);
        self.state = state;
        self.unsure = sync.then(BTreeMap::new);
        self.fault = None;
        media
    }

    /// Where everything is that has been found.
    pub fn find_places(&mut self, media: &Media) {
        let look = |store: &Self, (_, oob): (Ppn, &Oob)| {
            let is_host = oob.content == Content::Host;
            let place = if is_host { store.places[oob.lpn.index()] } else { Ppn::NONE };
            if place.is_none() { 0 } else { media.oob(place).map_or(0, |before| before.version) }
        };
        in_groups(self, media.records(), look, |store, (ppn, oob)| {
            store.note_stored(ppn, oob, media);
        });
    }

    /// What is in RAM is of no use any more.
    pub fn forget_ram(&mut self) {
        let layout = *self.image.layout();
        self.ram = Ram::new(layout.page_bytes as usize, layout.logical_pages);
    }

    /// Pages whose newest bytes are in RAM alone, and what is known of where they lie.
    pub fn ram(&self) -> &Ram {
        &self.ram
    }

    /// How many pages of each block hold what counts.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The file.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// The file, for tests.
    pub fn image_mut(&mut self) -> &mut Image {
        &mut self.image
    }

    /// Writes down that the image is open: on the host's disk, so that no crash leaves new records
    /// beside a state that says that all is well. Marks `torn` pages, so that they are known
    /// without looking at their bytes again.
    ///
    /// # Errors
    /// The image cannot be written.
    pub fn begin(&mut self, torn: &[Ppn]) -> io::Result<()> {
        self.state = State { clean: false, opened: self.state.opened + 1, ..self.state };
        let pages_per_block = self.image.layout().pages_per_block;
        for &ppn in torn {
            self.touch(ppn.block(pages_per_block))?;
        }
        if self.unsure.as_ref().is_some_and(|unsure| !unsure.is_empty()) {
            self.image.sync()?;
        }
        for &ppn in torn {
            let life = self.known.entries[ppn.block(pages_per_block).index()].life;
            self.image.tear(ppn, life)?;
        }
        self.image.write_state(&self.state)?;
        self.image.sync()?;
        self.is_sure()
    }

    /// What has been written is on the host's disk when this returns, and the image says so.
    ///
    /// # Errors
    /// The disk does not take it.
    pub fn sync(&mut self) -> io::Result<()> {
        self.image.sync()?;
        if self.unsure.is_some() {
            self.is_sure()?;
            self.state.steps = self.steps;
            self.image.write_state(&self.state)?;
            self.checkpoints.synced(&self.image, self.steps);
        }
        Ok(())
    }

    /// All that has been written is on the host's disk. Where entries say that blocks have been
    /// erased, their records can go: none of them is missing if the entry should be lost.
    fn is_sure(&mut self) -> io::Result<()> {
        if let Some(unsure) = &mut self.unsure {
            for (block, erased) in std::mem::take(unsure) {
                if erased {
                    self.image.clear_records(block)?;
                }
            }
        }
        Ok(())
    }

    /// The drive ends, `time_ns` after it has been opened, and this is what the flash holds:
    /// everything is stored, and nothing is under way.
    ///
    /// # Errors
    /// The image cannot be written.
    pub fn end(&mut self, time_ns: u64, media: &Media) -> io::Result<()> {
        self.checkpoints.write_all(&self.image, &self.known, media)?;
        self.image.sync()?;
        self.is_sure()?;
        self.checkpoints.synced(&self.image, self.steps);
        let time_ns = self.state.time_ns + time_ns;
        self.state = State { clean: true, steps: self.steps, time_ns, ..self.state };
        self.image.write_state(&self.state)?;
        self.image.sync()
    }

    /// Why the last checkpoint that was begun could not be written, if that is so.
    pub fn checkpoint_failure(&self) -> Option<String> {
        self.checkpoints.failure().map(ToString::to_string)
    }

    /// A checkpoint is written whenever so many pages have been programmed.
    pub fn checkpoint_every(&mut self, pages: u64) {
        self.checkpoints.set_every(pages);
    }

    /// The drive has been filled, and its blocks count as erased so often.
    ///
    /// # Errors
    /// The image cannot be written.
    pub fn write_erases(&mut self, erases: &[u32]) -> io::Result<()> {
        for (entry, &erases) in self.known.entries.iter_mut().zip(erases) {
            entry.erases = erases;
        }
        self.image.write_entries(BlockId(0), &self.known.entries)
    }

    /// The first thing that the host's disk did not take, if there is one.
    pub fn fault(&self) -> Option<&io::Error> {
        self.fault.as_ref()
    }

    /// The same; the image may be written again.
    pub fn take_fault(&mut self) -> Option<io::Error> {
        self.fault.take()
    }

    /// Pages whose bytes are in RAM.
    pub fn pages_in_ram(&self) -> usize {
        self.ram.len()
    }

    /// The host writes a page as its version `version`; whether an older one is kept for as long as
    /// the request is on its way ([`Self::settle`]).
    #[inline]
    pub fn write(&mut self, lpn: Lpn, version: u32, bytes: &[u8]) -> bool {
        self.counts.written(lpn);
        self.ram.write(lpn, version, bytes)
    }

    /// The same of `bytes` from byte `from` of the page on; `before` is what a read would find now,
    /// and where the FTL says it is.
    ///
    /// # Errors
    /// The rest of the page cannot be read.
    pub fn write_part(
        &mut self,
        lpn: Lpn,
        version: u32,
        (from, bytes): (usize, &[u8]),
        before: Option<(u32, Option<Ppn>)>,
        media: &Media,
    ) -> io::Result<bool> {
        let mut page = std::mem::take(&mut self.page);
        let read = self.read(lpn, before, (0, &mut page), media);
        page[from..from + bytes.len()].copy_from_slice(bytes);
        let written = read.map(|()| self.write(lpn, version, &page));
        self.page = page;
        written
    }

    /// The request that wrote or trimmed a page is on its way.
    #[inline]
    pub fn settle(&mut self, lpn: Lpn) {
        self.ram.settle(lpn);
    }

    /// The host trims a page.
    pub fn trim(&mut self, lpn: Lpn) {
        self.counts.trimmed(lpn, self.places[lpn.index()]);
        self.ram.trim(lpn);
    }

    /// Reads from byte `from` of a page. `expected` is the version that has to be found, and where
    /// the FTL says that it is; without, zeroes are read.
    ///
    /// # Errors
    /// The file cannot be read, what it holds is damaged, or what the host wrote is nowhere.
    #[inline]
    pub fn read(
        &mut self,
        lpn: Lpn,
        expected: Option<(u32, Option<Ppn>)>,
        (from, bytes): (usize, &mut [u8]),
        media: &Media,
    ) -> io::Result<()> {
        let Some((version, place)) = expected else {
            bytes.fill(0);
            return Ok(());
        };
        if let Some(found) = self.ram.newest(lpn, version) {
            bytes.copy_from_slice(&found[from..from + bytes.len()]);
            return Ok(());
        }
        let is_it = |ppn: &Ppn| {
            let oob = media.oob(*ppn);
            oob.is_some_and(|oob| {
                (oob.lpn, oob.version, oob.content) == (lpn, version, Content::Host)
            })
        };
        let stored = Some(self.places[lpn.index()]).filter(|ppn| !ppn.is_none());
        // Once the host's disk has refused something the drive has gone on without the image: only
        // what had been stored by then is there.
        let found = if self.fault.is_some() {
            stored
        } else {
            place.filter(is_it).or(stored.filter(is_it))
        };
        let Some(ppn) = found else {
            return Err(io::Error::other(format!(
                "version {version} of logical page {lpn} is neither in RAM nor on flash"
            )));
        };
        let (length, sum) = self.known.kept[ppn.index()];
        if length == 0 {
            bytes.fill(0);
            return Ok(());
        }
        if bytes.len() == self.image.layout().page_bytes as usize {
            self.image.read(ppn, bytes)?;
            return check(ppn, bytes, sum);
        }
        let mut page = std::mem::take(&mut self.page);
        let read = self.image.read(ppn, &mut page).and_then(|()| check(ppn, &page, sum));
        bytes.copy_from_slice(&page[from..from + bytes.len()]);
        self.page = page;
        read
    }

    /// A page is stored: of the host, or of the mapping's own.
    fn note_stored(&mut self, ppn: Ppn, oob: &Oob, media: &Media) {
        match oob.content {
            Content::Host => self.note_place(ppn, oob, media),
            Content::Map => self.counts.part_stored(oob.lpn.0, oob.version, ppn),
            Content::Tombstone | Content::Filler => {}
        }
    }

    /// A version of a page is stored at `ppn`. A copy has the record of its source, and is the
    /// better of the two: the source may be erased.
    fn note_place(&mut self, ppn: Ppn, oob: &Oob, media: &Media) {
        let place = self.places[oob.lpn.index()];
        let newer = |old: &Oob| {
            (old.lpn, old.content) == (oob.lpn, Content::Host)
                && (old.version, old.seq) > (oob.version, oob.seq)
        };
        if place.is_none() || !media.oob(place).is_some_and(newer) {
            self.places.set(oob.lpn.index(), ppn);
            self.counts.moved(oob.lpn, place, ppn);
        }
    }

    /// The FTL is back after a power cut. Where several copies of a page were found, one counts:
    /// the one that it knows.
    pub fn settle_places(&mut self, place_of: impl Fn(Lpn) -> Option<Ppn>) {
        for lpn in Lpn(0).run(self.places.len() as u32) {
            let place = self.places[lpn.index()];
            // Where nothing is stored, the FTL has found nothing, and need not be asked.
            let known = if place.is_none() { None } else { place_of(lpn) };
            match known {
                Some(known) if known == place => self.counts.moved(lpn, place, known),
                Some(known) => {
                    self.places.set(lpn.index(), known);
                    self.counts.moved(lpn, place, known);
                }
                // What is left of it was trimmed.
                None => self.counts.trimmed(lpn, place),
            }
        }
    }

    fn erase(&mut self, block: BlockId, erases: u32) -> io::Result<()> {
        if self.unsure.is_some() {
            self.sync()?;
        }
        let pages = self.image.layout().pages_per_block;
        let entry = self.known.erased(block, erases, self.checkpoints.period(), pages);
        self.image.write_entries(block, &[entry])?;
        match &mut self.unsure {
            Some(unsure) => _ = unsure.insert(block, true),
            None => self.image.clear_records(block)?,
        }
        Ok(())
    }

    /// Before a block is changed, its entry says in which period that was: what checkpoints say of
    /// it that began before is void. The same goes for erased blocks after it, which are likely to
    /// be next.
    fn touch(&mut self, block: BlockId) -> io::Result<()> {
        let Known { entries, last_steps, .. } = &mut self.known;
        let (first, period) = (block.index(), self.checkpoints.period());
        if entries[first].changed == period {
            return Ok(());
        }
        let fresh = |&at: &usize| last_steps[at] == 0 && entries[at].changed != period;
        let most = entries.len().min(first + AHEAD);
        let end = first + 1 + (first + 1..most).take_while(fresh).count();
        for entry in &mut entries[first..end] {
            entry.changed = period;
        }
        self.image.write_entries(block, &entries[first..end])?;
        if let Some(unsure) = &mut self.unsure {
            for block in block.run((end - first) as u32) {
                unsure.entry(block).or_insert(false);
            }
        }
        Ok(())
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(why) = result {
            self.fault.get_or_insert(why);
        }
    }
}

/// Whether a page's bytes are those that were written.
pub fn check(ppn: Ppn, bytes: &[u8], sum: u32) -> io::Result<()> {
    if crc32fast::hash(bytes) == sum {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the bytes of flash page {ppn} are not those that were written there"),
    ))
}

/// A store that the drive and whoever serves it share.
#[derive(Debug, Clone)]
pub struct Shared(pub Arc<Mutex<Store>>);

impl Shared {
    /// The store. One that was being changed when a thread died is as good as any: what counts is
    /// in the file.
    #[inline]
    pub fn get(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cells for Shared {
    fn leaves(&mut self, lpn: Lpn, version: u32) {
        self.get().ram.leaves(lpn, version);
    }

    fn programmed(&mut self, first: Ppn, records: &[Oob], media: &Media) {
        let mut store = self.get();
        if store.fault.is_none() {
            let result = store.program(first, records, media);
            store.note(result);
        }
    }

    fn erased(&mut self, block: BlockId, erases: u32) {
        let mut store = self.get();
        if store.fault.is_none() {
            let result = store.erase(block, erases);
            store.note(result);
        }
    }
}
