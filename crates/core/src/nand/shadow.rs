//! The shadow oracle: what the flash holds, what the host wrote last, and whether each operation that ends agrees.
//!
//! Data are version stamps: the host's n-th write of a page is version n, a trim counts as one too. The first
//! disagreement is kept and fails the run.

use super::geometry::Geometry;
use super::image::{Content, Image, Oob, PageState};
use super::op::{FlashOp, Kind};
use crate::support::NONE;

/// What is known of a logical page.
#[derive(Debug, Clone, Copy, Default)]
struct Page {
    /// Version of the host's last write or trim.
    host: u32,
    /// Version of its last trim.
    trim: u32,
    /// Newest version handed to the FTL.
    issued: u32,
    /// Newest version that the flash holds.
    stored: u32,
    /// Copies of that version.
    copies: u32,
    /// During recovery: version of the last trim before power failed. It need not have been durable, but what is older
    /// may go.
    trimmed: u32,
}

/// Stored pages, versions and the first fault.
#[derive(Debug, Clone)]
pub struct Shadow {
    /// What the flash holds.
    pub image: Image,
    pages: Vec<Page>,
    pages_per_block: u32,
    fault: Option<String>,
    checked_reads: u64,
    seq: u64,
    /// If wanted, the image as it was before each completion that changed it.
    moments: Option<Vec<Image>>,
    /// Completions seen, for power cuts at each of them.
    completions: u64,
}

impl Shadow {
    /// An erased flash and a host that has written nothing.
    pub fn new(geometry: &Geometry, logical_pages: u32) -> Self {
        Self {
            image: Image::new(geometry),
            pages: vec![Page::default(); logical_pages as usize],
            pages_per_block: geometry.pages_per_block,
            fault: None,
            checked_reads: 0,
            seq: 0,
            moments: None,
            completions: 0,
        }
    }

    /// The first disagreement, if any.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Keeps the first disagreement.
    pub fn report(&mut self, fault: impl FnOnce() -> String) {
        if self.fault.is_none() {
            self.fault = Some(fault());
        }
    }

    /// Page reads that were compared.
    pub fn checked_reads(&self) -> u64 {
        self.checked_reads
    }

    /// Steps of operations that have ended.
    pub fn completions(&self) -> u64 {
        self.completions
    }

    /// The next number in the order of writes.
    pub fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    /// The host writes a page: its new version.
    pub fn host_write(&mut self, lpn: u32) -> u32 {
        let page = &mut self.pages[lpn as usize];
        page.host += 1;
        page.host
    }

    /// The host trims a page.
    pub fn host_trim(&mut self, lpn: u32) {
        let page = &mut self.pages[lpn as usize];
        page.host += 1;
        page.trim = page.host;
    }

    /// A page kept through a power cut is about to be stored: the host had written it as `version`.
    pub fn host_wrote(&mut self, lpn: u32, version: u32) {
        self.pages[lpn as usize].host = version;
    }

    /// A trim that was kept through a power cut: it had been the host's `version` of the page.
    pub fn host_trimmed(&mut self, lpn: u32, version: u32) {
        let page = &mut self.pages[lpn as usize];
        (page.host, page.trim) = (version, version);
    }

    /// Version of the host's last write or trim of a page.
    pub fn version(&self, lpn: u32) -> u32 {
        self.pages[lpn as usize].host
    }

    /// Whether the host's last word on the page was a trim, or it never wrote it.
    pub fn is_blank(&self, lpn: u32) -> bool {
        let page = &self.pages[lpn as usize];
        page.host == page.trim
    }

    /// Version that a read from flash must find.
    pub fn expected(&self, lpn: u32) -> u32 {
        self.pages[lpn as usize].issued
    }

    /// The FTL takes over a page's current version; what it stores for it.
    pub fn issue_write(&mut self, lpn: u32) -> u32 {
        let page = &mut self.pages[lpn as usize];
        page.issued = page.host;
        page.issued
    }

    /// What a page written now would be a version of.
    pub fn version_of(&self, content: Content, number: u32) -> u32 {
        match content {
            Content::Host => self.expected(number),
            Content::Map => self.image.maps.newest(number),
            Content::Filler | Content::Tombstone => 0,
        }
    }

    /// The host reads page `lpn` from flash; `found` says whether the FTL knows a place for it.
    pub fn check_host_read(&mut self, lpn: u32, found: bool) {
        self.checked_reads += 1;
        let page = self.pages[lpn as usize];
        if page.host == page.trim {
            return; // Never written or trimmed: whatever the flash holds will do.
        }
        if page.issued != page.host {
            self.report(|| {
                format!(
                    "read of logical page {lpn} goes to flash for version {}, the host's last write was version {}",
                    page.issued, page.host
                )
            });
        } else if !found {
            self.report(|| {
                format!(
                    "read of logical page {lpn}: the FTL has no place for it, though version {} was written",
                    page.host
                )
            });
        }
    }

    /// Steps `first..last` (in pages) of an operation have ended.
    pub fn apply(&mut self, op: &FlashOp, first: u32, last: u32, payload: &[Oob]) {
        self.completions += 1;
        if op.kind != Kind::Read
            && let Some(moments) = &mut self.moments
        {
            moments.push(self.image.clone());
        }
        match op.kind {
            // A read without a payload fetches pages for a copy; their records are checked when they are stored.
            Kind::Read if payload.is_empty() => {}
            Kind::Read => {
                for i in first..last {
                    self.check_read(op.block * self.pages_per_block + op.page + i, payload.get(i as usize));
                }
            }
            Kind::Program | Kind::Copy => {
                for i in first..last {
                    let ppn = op.block * self.pages_per_block + op.page + i;
                    match payload.get(i as usize) {
                        Some(oob) => self.copy(ppn, *oob),
                        None => self.report(|| format!("program of physical page {ppn} carries no data")),
                    }
                }
            }
            Kind::Erase => self.erase(op.block),
        }
    }

    fn check_read(&mut self, ppn: u32, expected: Option<&Oob>) {
        let found = *self.image.page(ppn);
        let Some(expected) = expected else {
            return self.report(|| format!("read of physical page {ppn} says not what it expects"));
        };
        let good = matches!(found, PageState::Done(oob) if oob.lpn == expected.lpn && oob.version == expected.version && oob.content == expected.content);
        if !good {
            self.report(|| {
                format!(
                    "read of logical page {} version {} at physical page {ppn} found {found:?}",
                    expected.lpn, expected.version
                )
            });
        }
    }

    fn store(&mut self, ppn: u32, oob: Oob) {
        if let Err(fault) = self.image.program(ppn, oob) {
            return self.report(|| fault);
        }
        if oob.content == Content::Host {
            self.hold(oob.lpn, oob.version);
        }
    }

    /// There is one more copy of a version of a page: in flash, or where nothing can be lost from RAM, there.
    pub fn hold(&mut self, lpn: u32, version: u32) {
        let page = &mut self.pages[lpn as usize];
        if version > page.stored {
            (page.stored, page.copies) = (version, 1);
        } else if version == page.stored {
            page.copies += 1;
        }
    }

    /// The copy in RAM is gone, now that the page is in flash.
    pub fn let_go(&mut self, lpn: u32, version: u32) {
        let page = &mut self.pages[lpn as usize];
        page.copies -= u32::from(version == page.stored);
    }

    /// Stores a page: the record itself, or the data of the page that it comes from under the target's label.
    fn copy(&mut self, ppn: u32, oob: Oob) {
        if oob.from == NONE {
            return self.store(ppn, oob);
        }
        let found = *self.image.page(oob.from);
        match found {
            PageState::Done(source) if source.lpn == oob.lpn && source.content == oob.content => {
                self.store(ppn, Oob { role: oob.role, owner: oob.owner, opened: oob.opened, ..source });
            }
            _ => self.report(|| {
                format!("copy of logical page {} from physical page {} found {found:?}", oob.lpn, oob.from)
            }),
        }
    }

    fn erase(&mut self, block: u32) {
        let first = block * self.pages_per_block;
        for ppn in first..first + self.pages_per_block {
            let Some(oob) = self.image.oob(ppn).copied().filter(|oob| oob.content == Content::Host) else {
                continue;
            };
            let page = &mut self.pages[oob.lpn as usize];
            if oob.version != page.stored {
                continue;
            }
            page.copies -= 1;
            let Page { copies, trim, trimmed, .. } = *page;
            if copies == 0 && oob.version > trim.max(trimmed) {
                self.report(|| {
                    format!("erase of block {block} ended while it held the only stored copy of logical page {} version {}", oob.lpn, oob.version)
                });
            }
        }
        self.image.erase(block);
    }

    /// From now on keeps a copy of the image as it is before each completion that changes it: for small drives.
    pub fn keep_moments(&mut self) {
        self.moments = Some(Vec::new());
    }

    /// Those copies.
    pub fn moments(&mut self) -> Vec<Image> {
        self.moments.take().unwrap_or_default()
    }

    /// Goes on from what a power cut left. What the flash holds counts as what the host wrote: the test that cut the
    /// power knows better and compares.
    pub fn restart(&mut self, image: Image, trims: &[u32]) {
        self.completions = 0;
        self.pages = trims.iter().map(|&trimmed| Page { trimmed, ..Page::default() }).collect();
        let mut newest = vec![0u64; trims.len()];
        for ppn in 0..image.len() {
            let Some(oob) = image.oob(ppn) else { continue };
            self.seq = self.seq.max(oob.seq).max(oob.opened);
            if oob.content != Content::Host {
                continue;
            }
            let page = &mut self.pages[oob.lpn as usize];
            // A page may be written again as it was, to complete a block: same version, later in the order.
            if oob.version > page.stored {
                page.copies = 0;
                (page.host, page.issued, page.stored) = (oob.version, oob.version, oob.version);
            }
            page.copies += u32::from(oob.version == page.stored);
            newest[oob.lpn as usize] = newest[oob.lpn as usize].max(oob.seq);
        }
        for ppn in 0..image.len() {
            let Some(oob) = image.oob(ppn).filter(|oob| oob.content == Content::Tombstone) else { continue };
            for &(first, count) in &image.trims[oob.lpn as usize] {
                for lpn in first..first + count {
                    if oob.seq > newest[lpn as usize] {
                        let page = &mut self.pages[lpn as usize];
                        page.host = page.stored + 1;
                        page.trim = page.host;
                    }
                }
            }
        }
        self.image = image;
        self.image.find_maps();
    }

    /// Recovery is over, and has `found` a place for some pages. One that is gone because it had been trimmed is blank.
    pub fn recovered(&mut self, found: impl Fn(u32) -> bool) {
        for (lpn, page) in self.pages.iter_mut().enumerate() {
            let trimmed = std::mem::take(&mut page.trimmed);
            if trimmed > page.stored && !found(lpn as u32) {
                (page.host, page.trim) = (trimmed, trimmed);
            }
        }
    }

    /// Version of the host's last trim of each page.
    pub fn trims(&self) -> Vec<u32> {
        self.pages.iter().map(|page| page.trim.max(page.trimmed)).collect()
    }

    /// Power fails in pages `first..last` of an operation, and leaves them unreadable.
    pub fn tear(&mut self, op: &FlashOp, first: u32, last: u32) {
        match op.kind {
            Kind::Read => {}
            Kind::Program | Kind::Copy => {
                for i in first..last {
                    self.image.tear_page(op.block * self.pages_per_block + op.page + i);
                }
            }
            Kind::Erase => self.image.tear_block(op.block),
        }
    }
}
