//! What is found in an image: the medium that the drive's FTL rebuilds itself from.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use std::sync::mpsc::sync_channel;
use std::thread;

use eraseblock_core::nand::media::{Content, Media, PageState};
use eraseblock_core::nand::{Geometry, Oob};
use eraseblock_core::support::chunks::Chunks;
use eraseblock_core::support::ids::{BlockId, Lpn, Ppn};

use sha2::{Digest as _, Sha256};

use crate::image::checkpoint::{Head, Recorded};
use crate::image::record::{Page, Record};
use crate::image::{Entry, Image, Layout, State};

/// What was found, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// Pages with a record that can be read.
    pub readable: u64,
    /// Pages that cannot be read: power may have gone while they were programmed.
    pub torn: u64,
    /// Pages and blocks that are damaged, which no power cut explains.
    pub damaged: u64,
    /// Pages whose bytes were compared with their checksum.
    pub compared: u64,
    /// Steps that have been programmed over the whole life of the image.
    pub steps: u64,
    /// Blocks whose records were not read, since a checkpoint has told what they say.
    pub told: u64,
}

/// What is damaged: no power cut leaves it so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// The record of a flash page: what the page holds is not known.
    Record(Ppn),
    /// The bytes of a flash page: they are not those that were written there.
    Bytes(Ppn),
    /// The entry of a block: how often it has been erased is not known.
    Entry(BlockId),
    /// What the checkpoint that counts says of a block: its records say something else.
    Checkpoint(BlockId),
}

impl Damage {
    /// What is damaged, in a few words.
    pub fn describe(&self) -> String {
        match self {
            Self::Record(ppn) => format!("the record of flash page {ppn}"),
            Self::Bytes(ppn) => format!("the bytes of flash page {ppn}"),
            Self::Entry(block) => format!("the entry of block {block}"),
            Self::Checkpoint(block) => format!("what the checkpoint says of block {block}"),
        }
    }
}

/// Which pages' bytes are compared with their checksums. Those of tombstones and parts of the map
/// always are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// Those that were not known to be on the host's disk.
    New,
    All,
}

/// An image that has been read.
#[derive(Debug)]
pub struct Contents {
    pub media: Media,
    pub found: Found,
    pub damage: Vec<Damage>,
    /// Of each block.
    pub entries: Vec<Entry>,
    /// Number of the last step that programmed a page of each block; 0: none.
    pub last_steps: Vec<u64>,
    /// The checkpoints that there are, by the places that they lie in.
    pub checkpoints: Vec<(u32, Head)>,
    /// Length and checksum of each flash page's bytes; no length where nothing is written of them.
    pub kept: Chunks<(u32, u32)>,
    /// Pages that are torn, and not marked so.
    pub unmarked: Vec<Ppn>,
    /// Records that cannot be read, and what a checkpoint says that they were, where all is
    /// compared.
    pub told: HashMap<Ppn, Record>,
}

impl Contents {
    /// SHA-256 of all from which an FTL rebuilds itself: what each page holds, without the bytes of
    /// the host, and how often each block has been erased.
    pub fn sha256(&self) -> String {
        let mut digest = Sha256::new();
        for entry in &self.entries {
            digest.update(entry.erases.to_le_bytes());
        }
        for ppn in self.media.all_pages() {
            let (length, sum) = self.kept[ppn.index()];
            match self.media.page(ppn) {
                PageState::Erased => {}
                PageState::Torn => digest.update(ppn.0.to_le_bytes()),
                PageState::Done(oob) => {
                    let Oob { lpn, version, seq, opened, logical_block, .. } = *oob;
                    let kind = (oob.content as u32) << 8 | oob.role as u32;
                    let mut words = vec![ppn.0, lpn.0, version, logical_block.0, kind];
                    if oob.content != Content::Host {
                        // Their bytes are the mapping's own.
                        words.extend([length, sum]);
                    }
                    for word in words {
                        digest.update(word.to_le_bytes());
                    }
                    for word in [seq, opened] {
                        digest.update(word.to_le_bytes());
                    }
                }
            }
        }
        let bytes = digest.finalize();
        bytes.iter().fold(String::new(), |mut text, byte| {
            _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// Reads the records, and the bytes of pages as `compare` says. Of blocks that have not been
/// changed since a checkpoint, it says what their records do, and they are not read, unless `All`
/// is to be compared. What cannot be read is told apart: what the loss of power or of the host
/// explains, and damage.
///
/// A page is lost where it may not have been on the host's disk: it was programmed after the last
/// step that the state names, and its bytes are not those of its record; its record makes no sense,
/// and no later page of its block was on the disk; or only a part of its program unit is there.
///
/// # Errors
/// The file cannot be read.
pub fn read(
    image: &Image,
    geometry: &Geometry,
    state: Option<State>,
    compare: Compare,
) -> io::Result<Contents> {
    let layout = *image.layout();
    // Where it cannot be read how the image was left, anything may have been under way.
    let state = state.unwrap_or_default();
    let mut contents = Contents {
        media: Media::new(geometry),
        found: Found::default(),
        damage: Vec::new(),
        entries: Vec::with_capacity(layout.blocks as usize),
        last_steps: vec![0; layout.blocks as usize],
        checkpoints: image.checkpoints()?,
        kept: Chunks::new(layout.pages() as usize, (0, 0)),
        unmarked: Vec::new(),
        told: HashMap::new(),
    };
    let mut no_entry = HashSet::new();
    for (block, entry) in BlockId(0).onwards().zip(image.entries()?) {
        contents.entries.push(entry.unwrap_or_default());
        if entry.is_none() {
            contents.damage.push(Damage::Entry(block));
            no_entry.insert(block);
        }
    }
    let mut reader = Reader {
        image,
        layout,
        state,
        compare,
        contents,
        unit: geometry.program_pages,
        lists: HashMap::new(),
        no_entry,
        page: vec![0; layout.page_bytes as usize],
    };
    reader.all()?;
    let mut contents = reader.contents;
    for (block, entry) in BlockId(0).onwards().zip(&contents.entries) {
        contents.media.found_erases(block, entry.erases);
    }
    contents.damage.sort_unstable();
    contents.found.damaged = contents.damage.len() as u64;
    Ok(contents)
}

/// Pieces of a checkpoint that are decoded before they are wanted.
const DECODED: usize = 4;

/// Calls `taken` with what each piece of a checkpoint says that is not damaged, in order. A thread
/// decodes the next ones meanwhile, where there can be one.
fn each_piece(
    image: &Image,
    slot: u32,
    head: &Head,
    mut taken: impl FnMut(u32, Vec<Recorded>) -> io::Result<()>,
) -> io::Result<()> {
    let pieces = 0..image.layout().pieces();
    thread::scope(|scope| {
        let (sender, decoded) = sync_channel(DECODED);
        let decode = {
            let pieces = pieces.clone();
            // Nobody listens any more where something has gone wrong.
            move || {
                let mut told = pieces.map(|piece| image.piece(slot, head, piece));
                _ = told.try_for_each(|one| sender.send(one));
            }
        };
        let thread = thread::Builder::new().name("checkpoint".into());
        let has_thread = thread.spawn_scoped(scope, decode).is_ok();
        for piece in pieces {
            let told = if has_thread {
                decoded.recv().map_err(|_| io::Error::other("the thread that decodes has died"))?
            } else {
                image.piece(slot, head, piece)
            };
            if let Some(blocks) = told? {
                taken(piece, blocks)?;
            }
        }
        Ok(())
    })
}

struct Reader<'a> {
    image: &'a Image,
    layout: Layout,
    state: State,
    compare: Compare,
    contents: Contents,
    unit: u32,
    /// Numbers of tombstones' lists by their places in the order of writes.
    lists: HashMap<u64, u32>,
    /// Blocks whose entry is damaged.
    no_entry: HashSet<BlockId>,
    page: Vec<u8>,
}

/// What is known of a page of the block being read.
#[derive(Debug)]
enum Seen {
    Erased,
    /// It is marked as one that cannot be read.
    Marked,
    /// It is lost, and not marked yet.
    Lost,
    Damaged,
    /// It can be read. The bytes are those of pages of the mapping's own.
    Whole(Record, Vec<u8>),
}

impl Reader<'_> {
    /// Takes in all blocks.
    fn all(&mut self) -> io::Result<()> {
        let newest = self.contents.checkpoints.iter().max_by_key(|(_, head)| head.period).copied();
        // It was written when that was on the host's disk.
        self.state.steps = newest.map_or(0, |(_, head)| head.steps).max(self.state.steps);
        if self.compare == Compare::All {
            self.scan(BlockId(0)..BlockId(self.layout.blocks))?;
            return newest.map_or(Ok(()), |(slot, head)| self.compare_with(slot, &head));
        }
        // The blocks from there on whose records have to be read.
        let mut unread = BlockId(0);
        if let Some((slot, head)) = newest {
            let image = self.image;
            each_piece(image, slot, &head, |piece, blocks| {
                for (block, told) in image.layout().blocks_of(piece).0.onwards().zip(blocks) {
                    if !self.holds(&head, block, &told) {
                        continue;
                    }
                    self.scan(unread..block)?;
                    unread = block + 1;
                    self.contents.found.told += 1;
                    self.block(block, &told.pages)?;
                }
                Ok(())
            })?;
        }
        self.scan(unread..BlockId(self.layout.blocks))
    }

    /// Compares what has been taken in with what a checkpoint says of it.
    fn compare_with(&mut self, slot: u32, head: &Head) -> io::Result<()> {
        self.contents.damage.sort_unstable();
        let mut wrong = Vec::new();
        for piece in 0..self.layout.pieces() {
            let Some(blocks) = self.image.piece(slot, head, piece)? else { continue };
            for (block, told) in self.layout.blocks_of(piece).0.onwards().zip(blocks) {
                if !self.holds(head, block, &told) {
                    continue;
                }
                self.find_records(&told);
                if !self.says(block, &told) {
                    wrong.push(Damage::Checkpoint(block));
                }
            }
        }
        let Contents { damage, unmarked, found, told, .. } = &mut self.contents;
        // All of that was on the host's disk: what seemed lost is damaged.
        let (known, lost): (Vec<_>, _) = unmarked.drain(..).partition(|ppn| told.contains_key(ppn));
        *unmarked = lost;
        found.torn -= known.len() as u64;
        damage.extend(known.into_iter().map(Damage::Record).chain(wrong));
        Ok(())
    }

    /// Finds out what the records of a block were that cannot be read.
    fn find_records(&mut self, of: &Recorded) {
        let Contents { media, damage, unmarked, told, .. } = &mut self.contents;
        for (ppn, page) in &of.pages {
            if let Page::Readable(record) = page
                && *media.page(*ppn) == PageState::Torn
                && (damage.binary_search(&Damage::Record(*ppn)).is_ok()
                    || unmarked.binary_search(ppn).is_ok())
            {
                told.insert(*ppn, *record);
            }
        }
    }

    /// Whether the pages of a block are as told, as far as they are not damaged.
    fn says(&self, block: BlockId, told: &Recorded) -> bool {
        let Contents { media, kept, damage, told: records, .. } = &self.contents;
        let mut told = told.pages.iter().peekable();
        media.first_page(block).onwards().zip(media.block(block)).all(|(ppn, found)| {
            let told = told.next_if(|(at, _)| *at == ppn).map(|(_, page)| page);
            let same = match (found, told) {
                (PageState::Erased, None) | (PageState::Torn, Some(Page::Torn(_))) => true,
                (PageState::Done(found), Some(Page::Readable(record))) => {
                    // Lists have numbers of their own in each medium.
                    let list = found.content == Content::Tombstone;
                    let lpn = if list { found.lpn } else { record.oob.lpn };
                    *found == Oob { lpn, ..record.oob }
                        && kept[ppn.index()] == (record.length, record.sum)
                }
                _ => false,
            };
            let is_damaged = |what: Damage| damage.binary_search(&what).is_ok();
            same || records.contains_key(&ppn)
                || is_damaged(Damage::Record(ppn))
                || is_damaged(Damage::Bytes(ppn))
        })
    }

    /// Whether a block's records say what a checkpoint does: it has not been changed since, and all
    /// of it is known to be on the host's disk.
    fn holds(&self, head: &Head, block: BlockId, told: &Recorded) -> bool {
        let entry = &self.contents.entries[block.index()];
        let known = if self.state.clean { u64::MAX } else { self.state.steps };
        !self.no_entry.contains(&block)
            && entry.changed < head.period
            && entry.life == told.life
            && told.last_step <= known
    }

    /// Takes in the records of these blocks.
    fn scan(&mut self, blocks: Range<BlockId>) -> io::Result<()> {
        let mut block = (blocks.start, Vec::new());
        self.image.each_page(blocks, |ppn, page| {
            let of = ppn.block(self.layout.pages_per_block);
            if of != block.0 {
                self.block(block.0, &block.1)?;
                block.0 = of;
                block.1.clear();
            }
            block.1.push((ppn, page));
            Ok(())
        })?;
        self.block(block.0, &block.1)
    }

    /// Takes in the pages of a block, which are in order.
    fn block(&mut self, block: BlockId, pages: &[(Ppn, Page)]) -> io::Result<()> {
        if pages.is_empty() {
            return Ok(());
        }
        let entry = &mut self.contents.entries[block.index()];
        let lives = pages.iter().filter_map(|(_, page)| match page {
            Page::Readable(record) => Some(record.life),
            Page::Torn(life) => Some(*life),
            Page::Damaged => None,
        });
        // A record may have reached the host's disk before the entry did.
        let life = lives.max().unwrap_or(0).max(entry.life);
        entry.erases = entry.erases.saturating_add(life - entry.life);
        entry.life = life;
        let on_disk = |page: &Page| match page {
            Page::Readable(record) => record.life == life && record.step <= self.state.steps,
            Page::Torn(_) | Page::Damaged => false,
        };
        let last_on_disk = pages.iter().rfind(|(_, page)| on_disk(page)).map(|&(ppn, _)| ppn);
        let first = block.page(0, self.layout.pages_per_block);
        let mut seen = Vec::with_capacity(self.layout.pages_per_block as usize);
        for &(ppn, page) in pages {
            // What comes before is erased.
            seen.resize_with((ppn.0 - first.0) as usize, || Seen::Erased);
            seen.push(match page {
                Page::Readable(record) if record.life == life => self.look_at(ppn, record)?,
                Page::Torn(of) if of == life => Seen::Marked,
                // What was there before the block was erased.
                Page::Readable(_) | Page::Torn(_) => Seen::Erased,
                Page::Damaged => {
                    if self.state.clean || last_on_disk.is_some_and(|last| ppn < last) {
                        self.contents.damage.push(Damage::Record(ppn));
                        Seen::Damaged
                    } else {
                        Seen::Lost
                    }
                }
            });
        }
        self.lose_left_out(&mut seen);
        first.onwards().zip(seen).try_for_each(|(ppn, seen)| self.take(ppn, seen))
    }

    /// Whether a page with a record is whole.
    fn look_at(&mut self, ppn: Ppn, record: Record) -> io::Result<Seen> {
        let Record { oob, step, length, sum, .. } = record;
        let Contents { found, damage, last_steps, .. } = &mut self.contents;
        found.steps = found.steps.max(step);
        let last_step = &mut last_steps[ppn.block(self.layout.pages_per_block).index()];
        *last_step = (*last_step).max(step);
        let is_new = !self.state.clean && step > self.state.steps;
        let own = matches!(oob.content, Content::Tombstone | Content::Map);
        if length == 0 || !(own || is_new || self.compare == Compare::All) {
            return Ok(Seen::Whole(record, vec![]));
        }
        let bytes = &mut self.page[..length as usize];
        found.compared += 1;
        self.image.read(ppn, bytes)?;
        let intact = crc32fast::hash(bytes) == sum;
        if !intact && is_new {
            return Ok(Seen::Lost);
        }
        if !intact {
            damage.push(Damage::Bytes(ppn));
        }
        Ok(match (own, intact) {
            (false, _) => Seen::Whole(record, vec![]),
            (true, true) => Seen::Whole(record, bytes.to_vec()),
            (true, false) => Seen::Damaged,
        })
    }

    /// What cannot be programmed before an erase, since only a part of its program unit was.
    fn lose_left_out(&self, seen: &mut Vec<Seen>) {
        let is_erased = |seen: &Seen| matches!(seen, Seen::Erased);
        let unit = self.unit as usize;
        if unit == 1 {
            return;
        }
        seen.resize_with(seen.len().next_multiple_of(unit), || Seen::Erased);
        for pages in seen.chunks_exact_mut(unit) {
            let is_lost = |seen: &Seen| matches!(seen, Seen::Lost);
            let erased = pages.iter().filter(|page| is_erased(page)).count();
            if pages.iter().any(is_lost) || (erased > 0 && erased < unit) {
                for page in pages {
                    if matches!(page, Seen::Erased | Seen::Whole(..)) {
                        *page = Seen::Lost;
                    }
                }
            }
        }
    }

    /// Takes in a page.
    fn take(&mut self, ppn: Ppn, seen: Seen) -> io::Result<()> {
        let Contents { media, found, damage, kept, unmarked, .. } = &mut self.contents;
        match seen {
            Seen::Erased => return Ok(()),
            Seen::Marked => found.torn += 1,
            Seen::Lost => {
                found.torn += 1;
                unmarked.push(ppn);
            }
            Seen::Damaged => {}
            Seen::Whole(record, bytes) => {
                let mut oob = record.oob;
                if take_own(media, &mut self.lists, &mut oob, &bytes, &self.layout) {
                    found.readable += 1;
                    kept.set(ppn.index(), (record.length, record.sum));
                    return media.program(ppn, oob).map_err(io::Error::other);
                }
                damage.push(Damage::Bytes(ppn));
            }
        }
        media.tear_page(ppn);
        Ok(())
    }
}

/// Takes in what a page says, if it is one of the mapping's own; whether that makes sense. The lists of
/// tombstones are numbered anew, all copies of one alike.
fn take_own(
    media: &mut Media,
    lists: &mut HashMap<u64, u32>,
    oob: &mut Oob,
    bytes: &[u8],
    layout: &Layout,
) -> bool {
    let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    if matches!(oob.content, Content::Host | Content::Filler) {
        return true;
    }
    if oob.content == Content::Map {
        let entries: Vec<_> = bytes.chunks_exact(4).map(|entry| Ppn(word(entry))).collect();
        let sane = |ppn: &Ppn| ppn.is_none() || ppn.0 < layout.pages();
        let sane = bytes.len().is_multiple_of(4) && entries.iter().all(sane);
        if sane {
            media.maps.found(oob.lpn.0, oob.version, entries);
        }
        return sane;
    }
    let ranges: Vec<_> =
        bytes.chunks_exact(8).map(|range| (Lpn(word(range)), word(&range[4..]))).collect();
    let fits = |&(first, count): &(Lpn, u32)| {
        first.0.checked_add(count).is_some_and(|end| end <= layout.logical_pages)
    };
    if !bytes.len().is_multiple_of(8) || !ranges.iter().all(fits) {
        return false;
    }
    let number = lists.entry(oob.seq).or_insert_with(|| media.write_down_trims(ranges));
    oob.lpn = Lpn(*number);
    true
}
