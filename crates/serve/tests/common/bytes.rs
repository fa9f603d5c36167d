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

    /// The flash pages with records of the host's.
    pub fn host_pages(&self) -> Vec<u64> {
        let pages = u64::from(u32::from_le_bytes(self.get(16)) * u32::from_le_bytes(self.get(20)));
        (0..pages).filter(|&page| self.get::<1>(self.record_at(page) + 36) == [1]).collect()
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
