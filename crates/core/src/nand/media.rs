//! The medium: what each page of the array holds, by completion, and what a power cut leaves of it.
//!
//! Of a page there is the out-of-band record, which recovery reads, and a version stamp that stands
//! for its data. The data of the mapping's own pages, tombstones and parts of the map, are kept
//! beside them. Where a drive serves data, its bytes follow the records (`cells.rs`). The medium does
//! not know what the host wrote; the shadow compares the two.
//!
//! Kept for verification and power cuts only: it costs more memory than the rest of the drive.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::geometry::Geometry;
use crate::support::ids::{BlockId, LogicalBlock, Lpn, Ppn};

/// What a block serves as, as its pages record it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Role {
    /// Host pages anywhere (page mapping), or at their own offset (block mapping).
    #[default]
    Data,
    /// Host pages of one logical block in the order of writing.
    Log,
}

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Content {
    /// A host page.
    #[default]
    Host,
    /// Nothing: written to complete a program unit or to pass over a page.
    Filler,
    /// The host no longer needs the pages in list `lpn` of [`Media::trims`].
    Tombstone,
    /// Part `lpn` of the map, as [`Maps`] has it.
    Map,
}

/// The out-of-band record of a page, and the version stamp that stands for its data. The stamp
/// tells nothing to recovery but the age of a part of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Oob {
    /// Logical page; of a tombstone, the number of its list; of a translation page, its number.
    pub lpn: Lpn,
    /// Version of its data: how often the host, or the mapping, had written it.
    pub version: u32,
    /// Order of the host's writes over the whole drive; a copy keeps it.
    pub seq: u64,
    /// When the block was opened, in the order of writes.
    pub opened: u64,
    /// What the page holds.
    pub content: Content,
    /// What its block serves as.
    pub role: Role,
    /// Logical block that owns the block, or [`LogicalBlock::NONE`].
    pub logical_block: LogicalBlock,
    /// In a plan's copy: the physical page that the data come from. Not stored.
    pub from: Ppn,
}

/// State of a stored page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageState {
    /// Nothing since the last erase.
    #[default]
    Erased,
    /// Power failed while it was programmed or its block erased: unreadable.
    Torn,
    /// Readable.
    Done(Oob),
}

impl PageState {
    /// The record, if it can be read.
    pub fn oob(&self) -> Option<&Oob> {
        match self {
            Self::Done(oob) => Some(oob),
            _ => None,
        }
    }
}

/// What translation pages say. Stands for the data of those pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Maps {
    /// Version of each translation page that was planned last.
    newest: Vec<u32>,
    /// Where each logical page lies, or [`Ppn::NONE`], by translation page and version; as far as
    /// somebody may ask.
    entries: BTreeMap<(u32, u32), Vec<Ppn>>,
}

impl Maps {
    /// Translation page `number` is going to be written with `entries`.
    pub fn write(&mut self, number: u32, entries: Vec<Ppn>) {
        if self.newest.len() <= number as usize {
            self.newest.resize(number as usize + 1, 0);
        }
        self.newest[number as usize] += 1;
        self.entries.insert((number, self.newest[number as usize]), entries);
    }

    /// The version that was planned last; 0 where none was.
    pub fn newest(&self, number: u32) -> u32 {
        self.newest.get(number as usize).copied().unwrap_or(0)
    }

    /// What a version of a translation page says, as far as somebody may ask.
    pub fn version(&self, number: u32, version: u32) -> Option<&[Ppn]> {
        self.entries.get(&(number, version)).map(Vec::as_slice)
    }

    /// A page was found that holds this version of translation page `number`.
    pub fn found(&mut self, number: u32, version: u32, entries: Vec<Ppn>) {
        if self.newest.len() <= number as usize {
            self.newest.resize(number as usize + 1, 0);
        }
        let newest = &mut self.newest[number as usize];
        *newest = (*newest).max(version);
        self.entries.insert((number, version), entries);
    }

    /// What the newest version says.
    pub fn entries(&self, number: u32) -> Option<&[Ppn]> {
        self.entries.get(&(number, self.newest(number))).map(Vec::as_slice)
    }

    /// This version is stored: nobody needs older ones any more.
    fn stored(&mut self, number: u32, version: u32) {
        while let Some((&key, _)) = self.entries.range((number, 0)..(number, version)).next() {
            self.entries.remove(&key);
        }
    }
}

/// A tombstone's list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct List {
    /// Ranges of logical pages, `(first, count)`.
    ranges: Vec<(Lpn, u32)>,
    /// Pages that hold it.
    copies: u32,
}

/// What tombstones say, by the number of the list. A list is forgotten with the last page that
/// held it, and its number is given to another one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Trims {
    lists: Vec<List>,
    free: Vec<u32>,
    /// Lists that there have been.
    written: u64,
}

impl Trims {
    fn write_down(&mut self, ranges: Vec<(Lpn, u32)>) -> u32 {
        self.written += 1;
        let list = List { ranges, copies: 0 };
        if let Some(number) = self.free.pop() {
            self.lists[number as usize] = list;
            return number;
        }
        self.lists.push(list);
        self.lists.len() as u32 - 1
    }

    /// One more page holds what is on this list.
    fn add_copy(&mut self, list: u32) {
        // A drive that was recovered from nothing but records may know of no list.
        if let Some(list) = self.lists.get_mut(list as usize) {
            list.copies += 1;
        }
    }

    /// One page less holds it.
    fn drop_copy(&mut self, number: u32) {
        let Some(list) = self.lists.get_mut(number as usize) else { return };
        list.copies -= 1;
        if list.copies == 0 {
            list.ranges = Vec::new();
            self.free.push(number);
        }
    }
}

/// The whole array, by completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// The pages of each block. Copies of a medium have them in common until one is changed, and
    /// all blocks that are erased have the same.
    blocks: Vec<Arc<[PageState]>>,
    erased: Arc<[PageState]>,
    pages_per_block: u32,
    /// Erases of each block. Drives keep them in a system area, written before power is gone or
    /// from a log: the spare area of the block itself loses its own with the erase. Here they are
    /// never lost.
    erases: Vec<u32>,
    /// What tombstones say. Stands for the data of those pages.
    trims: Trims,
    /// What translation pages say.
    pub maps: Maps,
    /// The last number in the order of writes.
    seq: u64,
}

impl Media {
    /// Bytes of what each page holds.
    pub fn bytes(&self) -> usize {
        let written = self.blocks.iter().filter(|block| !Arc::ptr_eq(block, &self.erased));
        written.count() * self.pages_per_block as usize * size_of::<PageState>()
            + self.blocks.len() * (size_of::<Arc<[PageState]>>() + 4)
    }

    /// A fully erased array.
    pub fn new(geometry: &Geometry) -> Self {
        let erased: Arc<[PageState]> =
            vec![PageState::Erased; geometry.pages_per_block as usize].into();
        Self {
            blocks: vec![erased.clone(); geometry.blocks() as usize],
            erased,
            pages_per_block: geometry.pages_per_block,
            erases: vec![0; geometry.blocks() as usize],
            trims: Trims::default(),
            maps: Maps::default(),
            seq: 0,
        }
    }

    /// All pages, in order.
    pub fn all_pages(&self) -> impl DoubleEndedIterator<Item = Ppn> + ExactSizeIterator + use<> {
        Ppn(0).run(self.blocks.len() as u32 * self.pages_per_block)
    }

    /// One page.
    pub fn page(&self, ppn: Ppn) -> &PageState {
        &self.blocks[ppn.block(self.pages_per_block).index()]
            [(ppn.0 % self.pages_per_block) as usize]
    }

    fn page_mut(&mut self, ppn: Ppn) -> &mut PageState {
        let block = &mut self.blocks[ppn.block(self.pages_per_block).index()];
        &mut Arc::make_mut(block)[(ppn.0 % self.pages_per_block) as usize]
    }

    /// The pages of a block, in order.
    pub fn block(&self, block: BlockId) -> &[PageState] {
        &self.blocks[block.index()]
    }

    /// Whether nothing has been programmed in a block since it was erased, as far as that is known
    /// without a look at its pages.
    pub fn is_untouched(&self, block: BlockId) -> bool {
        Arc::ptr_eq(&self.blocks[block.index()], &self.erased)
    }

    /// All pages that hold something that can be read, with their records, in order.
    pub fn records(&self) -> impl Iterator<Item = (Ppn, &Oob)> {
        let blocks = BlockId(0).run(self.blocks.len() as u32);
        let pages = blocks.filter(|&block| !self.is_untouched(block)).flat_map(|block| {
            self.first_page(block).onwards().zip(self.blocks[block.index()].iter())
        });
        pages.filter_map(|(ppn, page)| Some((ppn, page.oob()?)))
    }

    /// Number of a block's first page.
    pub fn first_page(&self, block: BlockId) -> Ppn {
        block.page(0, self.pages_per_block)
    }

    /// The readable record of a page.
    pub fn oob(&self, ppn: Ppn) -> Option<&Oob> {
        self.page(ppn).oob()
    }

    /// The next number in the order of writes, for a record.
    #[inline]
    pub fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// Writes down the list of a tombstone; its number goes into the tombstone's record.
    pub fn write_down_trims(&mut self, ranges: Vec<(Lpn, u32)>) -> u32 {
        self.trims.write_down(ranges)
    }

    /// What the tombstone with this list says was trimmed: ranges of logical pages, `(first,
    /// count)`.
    pub fn trims(&self, list: u32) -> &[(Lpn, u32)] {
        &self.trims.lists[list as usize].ranges
    }

    /// Lists written down so far.
    pub fn trim_lists(&self) -> u64 {
        self.trims.written
    }

    /// A page has been programmed with this record.
    ///
    /// # Errors
    /// The page was not erased.
    #[inline]
    pub fn program(&mut self, ppn: Ppn, oob: Oob) -> Result<(), String> {
        let page = self.page_mut(ppn);
        if *page != PageState::Erased {
            return Err(format!(
                "program of physical page {ppn} ended on a page that was not erased: {page:?}"
            ));
        }
        *page = PageState::Done(Oob { from: Ppn::NONE, ..oob });
        match oob.content {
            Content::Map => self.maps.stored(oob.lpn.0, oob.version),
            Content::Tombstone => self.trims.add_copy(oob.lpn.0),
            Content::Host | Content::Filler => {}
        }
        Ok(())
    }

    /// What a copy with this record stores: what the page holds that it comes from, under the
    /// target's label.
    ///
    /// # Errors
    /// That page holds something else.
    #[inline]
    pub fn read_source(&self, oob: &Oob) -> Result<Oob, String> {
        match self.page(oob.from) {
            PageState::Done(source) if source.lpn == oob.lpn && source.content == oob.content => {
                Ok(Oob {
                    role: oob.role,
                    logical_block: oob.logical_block,
                    opened: oob.opened,
                    ..*source
                })
            }
            found => Err(format!(
                "copy of logical page {} from physical page {} found {found:?}",
                oob.lpn, oob.from
            )),
        }
    }

    /// A block has been erased.
    pub fn erase(&mut self, block: BlockId) {
        self.erases[block.index()] += 1;
        self.fill(block, self.erased.clone());
    }

    /// All pages of a block are as in `to` now.
    fn fill(&mut self, block: BlockId, to: Arc<[PageState]>) {
        for page in &*std::mem::replace(&mut self.blocks[block.index()], to) {
            if let PageState::Done(Oob { content: Content::Tombstone, lpn, .. }) = page {
                self.trims.drop_copy(lpn.0);
            }
        }
    }

    /// Power failed while the page was being programmed.
    pub fn tear_page(&mut self, ppn: Ppn) {
        if let PageState::Done(Oob { content: Content::Tombstone, lpn, .. }) =
            std::mem::replace(self.page_mut(ppn), PageState::Torn)
        {
            self.trims.drop_copy(lpn.0);
        }
    }

    /// Power failed while the block was being erased: nothing in it can be read, nor programmed
    /// before an erase.
    pub fn tear_block(&mut self, block: BlockId) {
        self.erases[block.index()] += 1;
        self.spoil(block);
    }

    /// Nothing in a block is readable any more.
    pub fn spoil(&mut self, block: BlockId) {
        self.fill(block, vec![PageState::Torn; self.pages_per_block as usize].into());
    }

    /// How often each block was erased, torn erases among them.
    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// A block was found to have been erased so often.
    pub fn found_erases(&mut self, block: BlockId, erases: u32) {
        self.erases[block.index()] = erases;
    }

    /// Starts counting erases afresh.
    pub fn reset_erases(&mut self) {
        self.erases.fill(0);
    }

    /// Power is back, and all that is known is what can be read: the order of writes goes on after
    /// the last one, and the newest version of a translation page is the newest that is there.
    pub fn power_up(&mut self) {
        let mut newest = vec![0; self.maps.newest.len()];
        let mut seq = 0;
        for (_, oob) in self.records() {
            seq = oob.seq.max(oob.opened).max(seq);
            if oob.content == Content::Map {
                let newest: &mut u32 = &mut newest[oob.lpn.index()];
                *newest = oob.version.max(*newest);
            }
        }
        (self.seq, self.maps.newest) = (seq, newest);
    }
}
