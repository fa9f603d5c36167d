//! Striping: adjacent logical blocks share their data blocks page by page.
//!
//! `width` adjacent logical blocks make a cluster. Page `p` of a cluster lies on its data block `p
//! mod width`, at offset `p div width`, so that consecutive pages lie on different data blocks,
//! which come from different units. The last cluster is as wide as there are logical blocks left.

/// Between logical pages and pages as they are placed. O(1).
#[derive(Debug, Clone, Copy)]
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

    /// The first data block of the cluster of block `block`, and how many it has.
    #[inline]
    pub fn cluster(&self, block: u32) -> (u32, u32) {
        let first = block / self.width * self.width;
        (first, self.width.min(self.blocks - first))
    }

    /// How far apart the logical pages are that follow one another on data block `block`.
    #[inline]
    pub fn step(&self, block: u32) -> u32 {
        if self.is_plain() { 1 } else { self.cluster(block).1 }
    }

    /// Where logical page `lpn` is placed.
    #[inline]
    pub fn placed(&self, lpn: u32) -> u32 {
        if self.is_plain() {
            return lpn;
        }
        let (first, width) = self.cluster(lpn / self.pages_per_block);
        let inside = lpn - first * self.pages_per_block;
        (first + inside % width) * self.pages_per_block + inside / width
    }

    /// The logical page that is placed at `placed`.
    #[inline]
    pub fn lpn(&self, placed: u32) -> u32 {
        if self.is_plain() {
            return placed;
        }
        let (block, offset) = (placed / self.pages_per_block, placed % self.pages_per_block);
        let (first, width) = self.cluster(block);
        first * self.pages_per_block + offset * width + (block - first)
    }
}

#[cfg(test)]
mod tests {
    use super::Striping;

    #[test]
    fn each_logical_page_has_a_place_of_its_own() {
        for (width, blocks) in [(1, 3), (2, 5), (4, 11), (8, 3)] {
            let striping = Striping::new(width, blocks, 6);
            let mut placed: Vec<u32> = (0..blocks * 6).map(|lpn| striping.placed(lpn)).collect();
            assert!((0..blocks * 6).all(|lpn| striping.lpn(placed[lpn as usize]) == lpn));
            placed.sort_unstable();
            assert!(placed.into_iter().eq(0..blocks * 6));
        }
        // Two blocks of six pages: even pages on the first, odd ones on the second.
        let striping = Striping::new(2, 4, 6);
        assert_eq!([12, 13, 14].map(|lpn| striping.placed(lpn)), [12, 18, 13]);
        assert_eq!(striping.step(3), 2);
    }
}
