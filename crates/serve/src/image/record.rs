//! The record of a page in the out-of-band area. Byte by byte in docs/image-format.md.

use eraseblock_core::nand::Oob;
use eraseblock_core::nand::media::{Content, Role};
use eraseblock_core::support::ids::{LogicalBlock, Lpn, Ppn};

use super::layout::{RECORD, is_sealed, seal, u32_at, u64_at};

/// Numbers in the order of writes, and steps: no drive lives long enough for larger ones.
const MOST: u64 = 1 << 62;
/// Versions of a page and erases of a block are below this.
pub const MOST_TIMES: u32 = 1 << 31;

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
    /// How often its block had been erased.
    pub life: u32,
}

/// What stands in the place of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// A record.
    Readable(Record),
    /// A mark: the page cannot be read until its block is erased; how often it had been.
    Torn(u32),
    /// What makes no sense.
    Damaged,
}

/// The drive that a record has to be of.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub pages_per_block: u32,
    pub logical_pages: u32,
    pub page_bytes: u32,
}

impl Page {
    /// What stands at flash page `ppn`, where not all bytes are zero.
    pub fn decode(bytes: &[u8], ppn: Ppn, bounds: &Bounds) -> Self {
        if !is_sealed(bytes) || u32_at(bytes, 48) != ppn.0 {
            return Self::Damaged;
        }
        let life = u32_at(bytes, 52);
        if life >= MOST_TIMES {
            return Self::Damaged;
        }
        if bytes[36] == 0 {
            return Self::Torn(life);
        }
        Record::decode(bytes)
            .filter(|record| record.is_of(bounds))
            .map_or(Self::Damaged, Self::Readable)
    }
}

/// The mark of a page that cannot be read.
pub fn torn(ppn: Ppn, life: u32) -> [u8; RECORD] {
    let mut bytes = [0; RECORD];
    bytes[48..52].copy_from_slice(&ppn.0.to_le_bytes());
    bytes[52..56].copy_from_slice(&life.to_le_bytes());
    seal(&mut bytes);
    bytes
}

/// What a page holds, by its number in the image.
pub fn content_of(number: u8) -> Option<Content> {
    match number {
        1 => Some(Content::Host),
        2 => Some(Content::Filler),
        3 => Some(Content::Tombstone),
        4 => Some(Content::Map),
        _ => None,
    }
}

/// What a block serves as, by its number in the image.
pub fn role_of(number: u8) -> Option<Role> {
    match number {
        0 => Some(Role::Data),
        1 => Some(Role::Log),
        _ => None,
    }
}

impl Record {
    /// The record at flash page `ppn`.
    pub fn encode(&self, ppn: Ppn, bytes: &mut [u8; RECORD]) {
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
        put(48, &ppn.0.to_le_bytes());
        put(52, &self.life.to_le_bytes());
        seal(bytes);
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (content, role) = (content_of(bytes[36])?, role_of(bytes[37])?);
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
        Some(Self { oob, step: u64_at(bytes, 24), length, sum, life: u32_at(bytes, 52) })
    }

    /// Whether it can be of this drive.
    pub fn is_of(&self, bounds: &Bounds) -> bool {
        let Self { oob, step, length, .. } = self;
        let logical_blocks = bounds.logical_pages / bounds.pages_per_block;
        let numbered = match oob.content {
            // Each part of the map has an entry at least.
            Content::Host | Content::Map => oob.lpn.0 < bounds.logical_pages,
            Content::Filler | Content::Tombstone => true,
        };
        let long = match oob.content {
            Content::Host => *length == 0 || *length == bounds.page_bytes,
            Content::Filler => *length == 0,
            Content::Tombstone | Content::Map => *length <= bounds.page_bytes,
        };
        let owned = oob.logical_block.0 < logical_blocks || oob.logical_block == LogicalBlock::NONE;
        let counted = oob.version < MOST_TIMES && oob.seq.max(oob.opened).max(*step) < MOST;
        numbered && long && owned && counted
    }
}
