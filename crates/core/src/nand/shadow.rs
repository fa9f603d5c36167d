//! The shadow: what the host wrote last, and whether what is read, stored and erased agrees with
//! it.
//!
//! It stores nothing: what the flash holds is the medium's, and the shadow is told of it. Data are
//! version stamps: the host's n-th write of a page is version n, a trim counts as one too.

use super::media::{Content, Media, Oob, PageState};
use crate::support::ahead::in_groups;
use crate::support::chunks::Chunks;
use crate::support::ids::{BlockId, Lpn, Ppn};

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
    /// During recovery: version of the last trim before power failed. It need not have been
    /// durable, but what is older may go.
    trimmed: u32,
}

/// The versions of each logical page. Its checks return the disagreement, if there is one.
#[derive(Debug, Clone)]
pub struct Shadow {
    /// Takes memory where the host has written.
    pages: Chunks<Page, 256>,
    checked_reads: u64,
}

impl Shadow {
    /// A host that has written nothing.
    pub fn new(logical_pages: u32) -> Self {
        Self { pages: Chunks::new(logical_pages as usize, Page::default()), checked_reads: 0 }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.pages.len() * size_of::<Page>()
    }

    /// Page reads that were compared.
    pub fn checked_reads(&self) -> u64 {
        self.checked_reads
    }

    /// The host writes a page: its new version.
    pub fn host_write(&mut self, lpn: Lpn) -> u32 {
        let page = self.pages.at_mut(lpn.index());
        page.host += 1;
        page.host
    }

    /// The host trims a page.
    pub fn host_trim(&mut self, lpn: Lpn) {
        let page = self.pages.at_mut(lpn.index());
        page.host += 1;
        page.trim = page.host;
    }

    /// A page kept through a power cut is about to be stored: the host had written it as `version`.
    pub fn host_wrote(&mut self, lpn: Lpn, version: u32) {
        let page = self.pages.at_mut(lpn.index());
        page.host = version;
        // Of a trim that was found on flash the version is not known ([`Self::restart`]). It came
        // before what was kept.
        page.trim = page.trim.min(version - 1);
    }

    /// A trim that was kept through a power cut: it had been the host's `version` of the page.
    pub fn host_trimmed(&mut self, lpn: Lpn, version: u32) {
        let page = self.pages.at_mut(lpn.index());
        (page.host, page.trim) = (version, version);
    }

    /// Version of the host's last write or trim of a page.
    pub fn version(&self, lpn: Lpn) -> u32 {
        self.pages[lpn.index()].host
    }

    /// Whether the host's last word on the page was a trim, or it never wrote it.
    pub fn is_blank(&self, lpn: Lpn) -> bool {
        let page = &self.pages[lpn.index()];
        page.host == page.trim
    }

    /// Version that a read from flash must find.
    #[inline]
    pub fn expected(&self, lpn: Lpn) -> u32 {
        self.pages[lpn.index()].issued
    }

    /// The FTL takes over a page's current version; what it stores for it.
    pub fn issue_write(&mut self, lpn: Lpn) -> u32 {
        let page = self.pages.at_mut(lpn.index());
        page.issued = page.host;
        page.issued
    }

    /// The FTL takes over a page as the host had written it by `version`.
    pub fn issue_version(&mut self, lpn: Lpn, version: u32) {
        self.pages.at_mut(lpn.index()).issued = version;
    }

    /// The host reads page `lpn` from flash; `found` says whether the FTL knows a place for it.
    ///
    /// # Errors
    /// The host would not get what it wrote.
    #[inline]
    pub fn check_host_read(&mut self, lpn: Lpn, found: bool) -> Result<(), String> {
        self.checked_reads += 1;
        let page = self.pages[lpn.index()];
        if page.host == page.trim {
            return Ok(()); // Never written or trimmed: whatever the flash holds will do.
        }
        if page.issued != page.host {
            return Err(format!(
                "read of logical page {lpn} goes to flash for version {}, the host's last write \
                 was version {}",
                page.issued, page.host
            ));
        }
        if !found {
            return Err(format!(
                "read of logical page {lpn}: the FTL has no place for it, though version {} was \
                 written",
                page.host
            ));
        }
        Ok(())
    }

    /// A read of physical page `ppn` has ended, and `found` is what the page holds.
    ///
    /// # Errors
    /// It is not what was `expected`.
    #[inline]
    pub fn check_read(
        &self,
        ppn: Ppn,
        found: &PageState,
        expected: Option<&Oob>,
    ) -> Result<(), String> {
        let Some(expected) = expected else {
            return Err(format!("read of physical page {ppn} says not what it expects"));
        };
        let same = |oob: &Oob| {
            (oob.lpn, oob.version, oob.content)
                == (expected.lpn, expected.version, expected.content)
        };
        if found.oob().is_some_and(same) {
            return Ok(());
        }
        Err(format!(
            "read of logical page {} version {} at physical page {ppn} found {found:?}",
            expected.lpn, expected.version
        ))
    }

    /// There is one more copy of a version of a page: in flash, or where nothing can be lost from
    /// RAM, there.
    #[inline]
    pub fn add_copy(&mut self, lpn: Lpn, version: u32) {
        let page = self.pages.at_mut(lpn.index());
        if version > page.stored {
            (page.stored, page.copies) = (version, 1);
        } else if version == page.stored {
            page.copies += 1;
        }
    }

    /// The copy in RAM is gone, now that the page is in flash.
    pub fn drop_copy(&mut self, lpn: Lpn, version: u32) {
        let page = self.pages.at_mut(lpn.index());
        page.copies -= u32::from(version == page.stored);
    }

    /// An erase of `block`, which holds a page with this record, has ended.
    ///
    /// # Errors
    /// It was the only copy of what the host wrote last.
    #[inline]
    pub fn erased(&mut self, block: BlockId, oob: &Oob) -> Result<(), String> {
        if oob.content != Content::Host {
            return Ok(());
        }
        let page = self.pages.at_mut(oob.lpn.index());
        if oob.version != page.stored {
            return Ok(());
        }
        page.copies -= 1;
        if page.copies == 0 && oob.version > page.trim.max(page.trimmed) {
            return Err(format!(
                "erase of block {block} ended while it held the only stored copy of logical page \
                 {} version {}",
                oob.lpn, oob.version
            ));
        }
        Ok(())
    }

    /// Goes on from what a power cut left. What the flash holds counts as what the host wrote: the
    /// test that cut the power knows better and compares.
    pub fn restart(&mut self, media: &Media, trims: &[u32]) {
        self.pages = Chunks::new(trims.len(), Page::default());
        for (lpn, &trimmed) in Lpn(0).onwards().zip(trims).filter(|&(_, &trimmed)| trimmed > 0) {
            self.pages.at_mut(lpn.index()).trimmed = trimmed;
        }
        let is_trim = |(_, oob): &(Ppn, &Oob)| oob.content == Content::Tombstone;
        // Only a trim is compared with it: without one, it is not worth going over the drive for.
        let compared = media.records().any(|found| is_trim(&found));
        let mut newest = vec![0u64; if compared { trims.len() } else { 0 }];
        let host = media.records().filter(|(_, oob)| oob.content == Content::Host);
        let look = |pages: &Chunks<_, _>, oob: &Oob| -> u32 {
            let page: &Page = &pages[oob.lpn.index()];
            page.stored
        };
        in_groups(&mut self.pages, host.map(|(_, oob)| oob), look, |pages, oob| {
            let page = pages.at_mut(oob.lpn.index());
            // A page may be written again as it was, to complete a block: same version, later in
            // the order.
            if oob.version > page.stored {
                page.copies = 0;
                (page.host, page.issued, page.stored) = (oob.version, oob.version, oob.version);
            }
            page.copies += u32::from(oob.version == page.stored);
            if let Some(newest) = newest.get_mut(oob.lpn.index()) {
                *newest = (*newest).max(oob.seq);
            }
        });
        for (_, oob) in media.records().filter(is_trim) {
            for &(first, count) in media.trims(oob.lpn.0) {
                for lpn in first.run(count) {
                    if oob.seq > newest[lpn.index()] {
                        let page = self.pages.at_mut(lpn.index());
                        page.host = page.stored + 1;
                        page.trim = page.host;
                    }
                }
            }
        }
    }

    /// Recovery is over, and has `found` a place for some pages. One that is gone because it had
    /// been trimmed is blank.
    pub fn recovered(&mut self, found: impl Fn(Lpn) -> bool) {
        for lpn in Lpn(0).run(self.pages.len() as u32) {
            if self.pages[lpn.index()].trimmed == 0 {
                continue;
            }
            let page = self.pages.at_mut(lpn.index());
            let trimmed = std::mem::take(&mut page.trimmed);
            if trimmed > page.stored && !found(lpn) {
                (page.host, page.trim) = (trimmed, trimmed);
            }
        }
    }

    /// Version of the host's last trim of each page.
    pub fn trims(&self) -> Vec<u32> {
        self.pages.iter().map(|page| page.trim.max(page.trimmed)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_after_a_trim_and_kept_in_ram_is_not_blank() {
        let mut shadow = Shadow::new(2);
        let lpn = Lpn(1);
        // A tombstone was found beside version 4 of the page, and counts as the next one.
        shadow.host_trimmed(lpn, 5);
        assert!(shadow.is_blank(lpn));
        shadow.host_wrote(lpn, 5);
        assert!(!shadow.is_blank(lpn));
        assert_eq!(shadow.version(lpn), 5);
    }
}
