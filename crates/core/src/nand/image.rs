//! What the flash holds, by completion: the out-of-band record of each page. Kept for verification, power cuts and
//! serving only.

use std::collections::BTreeMap;

use super::geometry::Geometry;
use crate::support::NONE;

/// What a block serves as, as its pages record it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// Host pages anywhere (page mapping), or at their own offset (block mapping).
    #[default]
    Data,
    /// Host pages of one logical block in the order of writing.
    Log,
}

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content {
    /// A host page.
    #[default]
    Host,
    /// Nothing: written to complete a program unit or to pass over a page.
    Filler,
    /// The host no longer needs the pages in list `lpn` of [`Image::trims`].
    Tombstone,
    /// Part `lpn` of the map, as [`Maps`] has it.
    Map,
}

/// The out-of-band record of a page, and the version stamp that stands for its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Oob {
    /// Logical page; of a tombstone, the number of its list; of a translation page, its number.
    pub lpn: u32,
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
    /// Logical block that owns the block, or [`NONE`].
    pub owner: u32,
    /// In a plan's copy: the physical page that the data come from. Not stored.
    pub from: u32,
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

/// What translation pages say. Stands for the data of those pages.
#[derive(Debug, Clone, Default)]
pub struct Maps {
    /// Version of each translation page that was planned last.
    newest: Vec<u32>,
    /// Where each logical page lies, or [`NONE`], by translation page and version; as far as somebody may ask.
    entries: BTreeMap<(u32, u32), Vec<u32>>,
}

impl Maps {
    /// Translation page `number` is going to be written with `entries`.
    pub fn write(&mut self, number: u32, entries: Vec<u32>) {
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

    /// What the newest version says.
    pub fn entries(&self, number: u32) -> Option<&[u32]> {
        self.entries.get(&(number, self.newest(number))).map(Vec::as_slice)
    }

    /// This version is stored: nobody needs older ones any more.
    fn stored(&mut self, number: u32, version: u32) {
        while let Some((&key, _)) = self.entries.range((number, 0)..(number, version)).next() {
            self.entries.remove(&key);
        }
    }
}

/// The whole array, by completion.
#[derive(Debug, Clone)]
pub struct Image {
    pages: Vec<PageState>,
    pages_per_block: u32,
    /// Erases of each block. Drives keep them in a system area, written before power is gone or from a log: the spare area
    /// of the block itself loses its own with the erase. Here they are never lost.
    erases: Vec<u32>,
    /// What tombstones say: ranges of logical pages, `(first, count)`. Stands for the data of those pages.
    pub trims: Vec<Vec<(u32, u32)>>,
    /// What translation pages say.
    pub maps: Maps,
}

impl Image {
    /// A fully erased image.
    pub fn new(geometry: &Geometry) -> Self {
        Self {
            pages: vec![PageState::Erased; geometry.pages() as usize],
            pages_per_block: geometry.pages_per_block,
            erases: vec![0; geometry.blocks() as usize],
            trims: Vec::new(),
            maps: Maps::default(),
        }
    }

    /// Pages.
    pub fn len(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Whether there are no pages.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// One page.
    pub fn page(&self, ppn: u32) -> &PageState {
        &self.pages[ppn as usize]
    }

    /// The pages of a block, in order.
    pub fn block(&self, block: u32) -> &[PageState] {
        let first = (block * self.pages_per_block) as usize;
        &self.pages[first..first + self.pages_per_block as usize]
    }

    /// Nothing in a block is readable any more.
    pub fn spoil(&mut self, block: u32) {
        let first = (block * self.pages_per_block) as usize;
        self.pages[first..first + self.pages_per_block as usize].fill(PageState::Torn);
    }

    /// The readable record of a page.
    pub fn oob(&self, ppn: u32) -> Option<&Oob> {
        match self.page(ppn) {
            PageState::Done(oob) => Some(oob),
            _ => None,
        }
    }

    /// A page has been programmed.
    ///
    /// # Errors
    /// The page was not erased.
    pub fn program(&mut self, ppn: u32, oob: Oob) -> Result<(), String> {
        let page = &mut self.pages[ppn as usize];
        if *page != PageState::Erased {
            return Err(format!(
                "program of physical page {ppn} ended on a page that was not erased: {page:?}"
            ));
        }
        *page = PageState::Done(Oob { from: NONE, ..oob });
        if oob.content == Content::Map {
            self.maps.stored(oob.lpn, oob.version);
        }
        Ok(())
    }

    /// How often each block was erased, torn erases among them.
    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// Starts counting erases afresh.
    pub fn reset_erases(&mut self) {
        self.erases.fill(0);
    }

    /// Power is back: the newest version of a translation page is the newest that can be read.
    pub fn find_maps(&mut self) {
        self.maps.newest.fill(0);
        for page in &self.pages {
            if let PageState::Done(Oob { content: Content::Map, lpn, version, .. }) = *page {
                let newest = &mut self.maps.newest[lpn as usize];
                *newest = (*newest).max(version);
            }
        }
    }

    /// A block has been erased.
    pub fn erase(&mut self, block: u32) {
        self.erases[block as usize] += 1;
        let first = (block * self.pages_per_block) as usize;
        self.pages[first..first + self.pages_per_block as usize].fill(PageState::Erased);
    }

    /// Power failed while the page was being programmed.
    pub fn tear_page(&mut self, ppn: u32) {
        self.pages[ppn as usize] = PageState::Torn;
    }

    /// Power failed while the block was being erased: nothing in it can be read, nor programmed before an erase.
    pub fn tear_block(&mut self, block: u32) {
        self.erases[block as usize] += 1;
        let first = (block * self.pages_per_block) as usize;
        self.pages[first..first + self.pages_per_block as usize].fill(PageState::Torn);
    }
}
