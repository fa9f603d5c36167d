//! The record of a page in the out-of-band area. Byte by byte in docs/image-format.md.

use eraseblock_core::nand::Oob;
use eraseblock_core::nand::media::{Content, Role};
use eraseblock_core::support::ids::{LogicalBlock, Lpn, Ppn};

use super::layout::{RECORD, is_sealed, seal, u32_at, u64_at};

/// What stands where a page cannot be read: no record has this checksum.
pub const TORN: [u8; RECORD] = [0xff; RECORD];

/// What a page holds, and what is kept of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// As the drive knows it.
    pub oob: Oob,
    /// Number of the step that programmed it, over the whole life of the image.
    pub step: u64,
    /// Bytes in the data area; 0 for a page of zeroes.
    pub length: u32,
    /// Their checksum.
    pub sum: u32,
}

impl Record {
    pub fn encode(&self, bytes: &mut [u8; RECORD]) {
        let Oob { lpn, version, seq, opened, content, role, logical_block, from: _ } = self.oob;
        bytes.fill(0);
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &lpn.0.to_le_bytes());
        put(4, &version.to_le_bytes());
        put(8, &seq.to_le_bytes());
        put(16, &opened.to_le_bytes());
        put(24, &self.step.to_le_bytes());
        put(32, &logical_block.0.to_le_bytes());
        put(36, &[1 + content as u8, role as u8]);
        put(40, &self.length.to_le_bytes());
        put(44, &self.sum.to_le_bytes());
        seal(bytes);
    }

    /// Reads one; `None` of a page that cannot be read. An erased page has none: all its bytes are
    /// zero.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if !is_sealed(bytes) {
            return None;
        }
        let content = match bytes[36] {
            1 => Content::Host,
            2 => Content::Filler,
            3 => Content::Tombstone,
            4 => Content::Map,
            _ => return None,
        };
        let role = match bytes[37] {
            0 => Role::Data,
            1 => Role::Log,
            _ => return None,
        };
        let oob = Oob {
            lpn: Lpn(u32_at(bytes, 0)),
            version: u32_at(bytes, 4),
            seq: u64_at(bytes, 8),
            opened: u64_at(bytes, 16),
            content,
            role,
            logical_block: LogicalBlock(u32_at(bytes, 32)),
            from: Ppn::NONE,
        };
        let (length, sum) = (u32_at(bytes, 40), u32_at(bytes, 44));
        Some(Self { oob, step: u64_at(bytes, 24), length, sum })
    }
}
