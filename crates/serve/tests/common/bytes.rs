//! An image as docs/image-format.md describes it, read and changed without the code under test.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// A file with an image.
pub struct Bytes {
    file: File,
}

/// Places in the superblock where it says where an area begins.
pub const CONFIG: u64 = 40;
pub const BLOCKS: u64 = 48;
pub const RECORDS: u64 = 56;
pub const DATA: u64 = 64;
pub const CHECKPOINTS: u64 = 84;

impl Bytes {
    pub fn open(path: &Path) -> Self {
        Self { file: OpenOptions::new().read(true).write(true).open(path).unwrap() }
    }

    pub fn get<const N: usize>(&self, at: u64) -> [u8; N] {
        let mut bytes = [0; N];
        self.file.read_exact_at(&mut bytes, at).unwrap();
        bytes
    }

    pub fn put(&self, at: u64, bytes: &[u8]) {
        self.file.write_all_at(bytes, at).unwrap();
    }

    /// Where an area begins.
    pub fn area(&self, which: u64) -> u64 {
        u64::from_le_bytes(self.get(which))
    }

    /// Pages of a block.
    pub fn pages_per_block(&self) -> u64 {
        u32::from_le_bytes(self.get(16)).into()
    }

    /// Where a flash page's record is.
    pub fn record_at(&self, page: u64) -> u64 {
        self.area(RECORDS) + 64 * page
    }

    /// Where a flash page's bytes are.
    pub fn data_at(&self, page: u64) -> u64 {
        self.area(DATA) + u64::from(u32::from_le_bytes(self.get(12))) * page
    }

    /// The flash pages with records of the host's that count.
    pub fn host_pages(&self) -> Vec<u64> {
        let pages = self.pages_per_block() * u64::from(u32::from_le_bytes(self.get(20)));
        let is_host = |page: &u64| self.get::<1>(self.record_at(*page) + 36) == [1];
        let counts =
            |page: &u64| self.get::<4>(self.record_at(*page) + 52) == self.life_of_block_of(*page);
        (0..pages).filter(|page| is_host(page) && counts(page)).collect()
    }

    /// How often the block of a flash page has been erased.
    pub fn life_of_block_of(&self, page: u64) -> [u8; 4] {
        self.get(self.area(BLOCKS) + page / self.pages_per_block() * 16 + 4)
    }

    /// Where the two checkpoints are.
    pub fn checkpoints(&self) -> (u64, u64) {
        let (first, end) = (self.area(CHECKPOINTS), self.area(BLOCKS));
        (first, first + (end - first) / 2)
    }

    /// Where the one is that was written last.
    pub fn newest_checkpoint(&self) -> Option<u64> {
        let (one, other) = self.checkpoints();
        let period = |at: &u64| u32::from_le_bytes(self.get(at + 8));
        [one, other].into_iter().filter(|at| &self.get(*at) == b"EBCHECK1").max_by_key(period)
    }

    /// There is none any more.
    pub fn forget_checkpoints(&self) {
        let (one, other) = self.checkpoints();
        self.put(one, &[0; 64]);
        self.put(other, &[0; 64]);
    }

    /// One byte is another one.
    pub fn damage(&self, at: u64) {
        let [byte] = self.get(at);
        self.put(at, &[byte ^ 0x10]);
    }
}

/// Puts a checksum of all before it into the last four bytes.
pub fn seal(bytes: &mut [u8]) {
    let at = bytes.len() - 4;
    let sum = crc32fast::hash(&bytes[..at]);
    bytes[at..].copy_from_slice(&sum.to_le_bytes());
}
