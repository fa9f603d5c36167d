//! Striping: adjacent logical blocks share their data blocks page by page.
//!
//! `width` adjacent logical blocks make a cluster. Page `p` of a cluster lies on its data block `p
//! mod width`, at offset `p div width`, so that consecutive pages lie on different data blocks,
//! which come from different units. The last cluster is as wide as there are logical blocks left.

use serde::{Deserialize, Serialize};

use crate::support::ids::{LogicalBlock, Lpn};

/// Between logical pages and pages as they are placed. O(1).
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Striping {
    width: u32,
    blocks: u32,
    pages_per_block: u32,
}

impl Striping {
    /// Clusters of `width` of `blocks` logical blocks.
    pub fn new(width: u32, blocks: u32, pages_per_block: u32) -> Self {
        Self { width, blocks, pages_per_block }
    }

    /// Whether pages lie where their numbers say.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.width == 1
    }

    /// The first logical block of the cluster of `lbn`, and how many it has.
    #[inline]
    pub fn cluster(&self, lbn: LogicalBlock) -> (LogicalBlock, u32) {
        let first = lbn.0 / self.width * self.width;
        (LogicalBlock(first), self.width.min(self.blocks - first))
    }

    /// How far apart the logical pages are that follow one another on the data block of `lbn`.
    #[inline]
    pub fn step(&self, lbn: LogicalBlock) -> u32 {
        if self.is_plain() { 1 } else { self.cluster(lbn).1 }
    }

    /// Where logical page `lpn` is placed.
    #[inline]
    pub fn placed(&self, lpn: Lpn) -> Lpn {
        if self.is_plain() {
            return lpn;
        }
        let (first, width) = self.cluster(lpn.block(self.pages_per_block));
        let inside = lpn - first.first(self.pages_per_block);
        (first + inside % width).first(self.pages_per_block) + inside / width
    }

    /// The logical page that is placed at `placed`.
    #[inline]
    pub fn lpn(&self, placed: Lpn) -> Lpn {
        if self.is_plain() {
            return placed;
        }
        let (lbn, offset) =
            (placed.block(self.pages_per_block), placed.offset(self.pages_per_block));
        let (first, width) = self.cluster(lbn);
        first.first(self.pages_per_block) + offset * width + (lbn - first)
    }
}

#[cfg(test)]
mod tests {
    use super::Striping;
    use crate::support::ids::{LogicalBlock, Lpn};

    #[test]
    fn each_logical_page_has_a_place_of_its_own() {
        for (width, blocks) in [(1, 3), (2, 5), (4, 11), (8, 3)] {
            let striping = Striping::new(width, blocks, 6);
            let all = Lpn(0).run(blocks * 6);
            let mut placed: Vec<Lpn> = all.clone().map(|lpn| striping.placed(lpn)).collect();
            assert!(all.clone().all(|lpn| striping.lpn(placed[lpn.index()]) == lpn));
            placed.sort_unstable();
            assert!(placed.into_iter().eq(all));
        }
        // Two blocks of six pages: even pages on the first, odd ones on the second.
        let striping = Striping::new(2, 4, 6);
        assert_eq!([12, 13, 14].map(|lpn| striping.placed(Lpn(lpn)).0), [12, 18, 13]);
        assert_eq!(striping.step(LogicalBlock(3)), 2);
    }
}
