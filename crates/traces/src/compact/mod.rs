//! The compact format `ebt`: blocks of requests in columns, each with its checksum.
//! `docs/trace-format.md` has every byte.
//!
//! A file is a header (magic, version, where the requests come from), blocks that can be read
//! without one another, and an end marker with the number of requests, so that damage is found, is
//! named by its block, and a cut-off file is never taken for a whole one. All numbers are
//! little-endian.

mod block;
mod columns;
mod header;
mod writer;

pub(crate) use block::Columns;
pub(crate) use columns::{put_nibbles, put_numbers, take_nibbles, take_numbers};
pub(crate) use header::{HEADER_HEAD, MAGIC, MAX_PROVENANCE, provenance};
pub(crate) use writer::CompactWriter;

/// The version that is written, and the latest that is read.
pub(crate) const VERSION: u32 = 1;

/// Requests in a block, at most.
pub(crate) const MAX_BLOCK_REQUESTS: usize = 1 << 16;

/// Longest payload of a block: the fixed part, and of each request five nibbles and four numbers.
pub(crate) const MAX_PAYLOAD: usize = 32 + MAX_BLOCK_REQUESTS * 35;

/// Bytes before a block's payload: count and length.
pub(crate) const BLOCK_HEAD: usize = 8;

/// Bytes of a checksum: CRC-32 (IEEE 802.3) of everything in the header or block before it.
pub(crate) const CHECKSUM: usize = 4;

/// Payload of the end marker: requests and blocks in the file.
pub(crate) const END_PAYLOAD: usize = 16;

/// Addresses end at or below this: 1 EiB.
const MAX_END: u64 = 1 << 60;

/// Times lie at or below this.
const MAX_TIME_NS: u64 = i64::MAX as u64;

/// The four bytes at `at`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

/// The eight bytes at `at`.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}
