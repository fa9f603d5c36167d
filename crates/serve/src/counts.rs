//! How many pages of each block hold what counts: kept from change to change, so that a look at the
//! drive need not go through its pages.
//!
//! What counts of a logical page is its newest stored version, unless the host has trimmed it; of a
//! part of the map the newest stored one. Tombstones and filler count as nothing.

use eraseblock_core::support::bits::Bits;
use eraseblock_core::support::ids::{Lpn, Ppn};

/// Pages that count, by block.
#[derive(Debug)]
pub struct Counts {
    pages_per_block: u32,
    of_block: Vec<u32>,
    /// Logical pages of which a flash page counts.
    counted: Bits,
    /// Logical pages that the host has trimmed since it wrote them last.
    trimmed: Bits,
    /// Where the newest stored version of each part of the map is, and which one that is.
    parts: Vec<(Ppn, u32)>,
}

impl Counts {
    /// Of an empty drive.
    pub fn new(blocks: u32, pages_per_block: u32, logical_pages: u32) -> Self {
        let bits = || Bits::new(logical_pages as usize);
        Self {
            pages_per_block,
            of_block: vec![0; blocks as usize],
            counted: bits(),
            trimmed: bits(),
            parts: Vec::new(),
        }
    }

    /// Pages of each block that count.
    pub fn of_blocks(&self) -> &[u32] {
        &self.of_block
    }

    fn block(&mut self, ppn: Ppn) -> &mut u32 {
        &mut self.of_block[ppn.block(self.pages_per_block).index()]
    }

    /// The newest stored version of a page is no longer at `from`, but at `to`.
    #[inline]
    pub fn moved(&mut self, lpn: Lpn, from: Ppn, to: Ppn) {
        if self.counted.clear(lpn.index()) {
            *self.block(from) -= 1;
        }
        if !self.trimmed.get(lpn.index()) {
            self.counted.set(lpn.index());
            *self.block(to) += 1;
        }
    }

    /// The host writes a page.
    #[inline]
    pub fn written(&mut self, lpn: Lpn) {
        self.trimmed.clear(lpn.index());
    }

    /// The host trims a page, of which the newest stored version is at `place`.
    pub fn trimmed(&mut self, lpn: Lpn, place: Ppn) {
        self.trimmed.set(lpn.index());
        if self.counted.clear(lpn.index()) {
            *self.block(place) -= 1;
        }
    }

    /// A version of a part of the map is stored at `ppn`.
    pub fn part_stored(&mut self, number: u32, version: u32, ppn: Ppn) {
        let number = number as usize;
        if self.parts.len() <= number {
            self.parts.resize(number + 1, (Ppn::NONE, 0));
        }
        let (before, newest) = self.parts[number];
        if before.is_none() || version >= newest {
            if !before.is_none() {
                *self.block(before) -= 1;
            }
            self.parts[number] = (ppn, version);
            *self.block(ppn) += 1;
        }
    }
}
