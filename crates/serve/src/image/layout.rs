//! Where everything lies in an image. Byte by byte in docs/image-format.md.

use eraseblock_core::support::ids::BlockId;

/// Bytes of a page at most: the payload of a client's request holds one.
pub const LARGEST_PAGE: u32 = 32 << 20;
/// First bytes of an image.
pub const MAGIC: [u8; 8] = *b"ERASEBLK";
/// Of this format.
pub const VERSION: u32 = 3;
/// Bytes of the superblock, and what the areas begin at multiples of.
pub const SECTOR: u64 = 4096;
/// Most bytes of a configuration: one takes a few thousand.
pub const MOST_CONFIG: u32 = 1 << 20;
/// Bytes of a page's record.
pub const RECORD: usize = 64;
/// Bytes of a block's entry.
pub const ENTRY: usize = 16;
/// Bytes of a piece of a checkpoint before what it says of its blocks.
pub const PIECE_HEAD: usize = 16;
/// Most bytes of it that a block takes beside its pages.
const BLOCK_MOST: usize = 32;
/// Most bytes of it that a page takes.
const PAGE_MOST: usize = 48;
/// Checkpoints that there is room for.
pub const SLOTS: u32 = 2;
/// Most pages in a piece of a checkpoint, but for blocks that are larger.
const PIECE_PAGES: u32 = 1 << 14;

/// The areas of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub page_bytes: u32,
    pub pages_per_block: u32,
    pub blocks: u32,
    pub logical_pages: u32,
    /// Bytes of the configuration.
    pub config_bytes: u32,
    /// Their checksum.
    pub config_sum: u32,
}

fn aligned(at: u64) -> u64 {
    at.next_multiple_of(SECTOR)
}

impl Layout {
    pub const CONFIG: u64 = 2 * SECTOR;
    pub const STATE: u64 = SECTOR;

    pub fn pages(&self) -> u32 {
        self.blocks * self.pages_per_block
    }

    /// Blocks in a piece of a checkpoint: a small drive's has some pieces, too.
    pub fn piece_blocks(&self) -> u32 {
        let pages = (self.pages() / 16).min(PIECE_PAGES);
        (pages / self.pages_per_block.max(1)).max(1)
    }

    /// Pieces of a checkpoint.
    pub fn pieces(&self) -> u32 {
        self.blocks.div_ceil(self.piece_blocks())
    }

    /// The first block of a piece, and how many it has.
    pub fn blocks_of(&self, piece: u32) -> (BlockId, u32) {
        let first = piece * self.piece_blocks();
        (BlockId(first), self.piece_blocks().min(self.blocks - first))
    }

    /// Room for a piece.
    pub fn piece_bytes(&self) -> u64 {
        let block = BLOCK_MOST as u64 + PAGE_MOST as u64 * u64::from(self.pages_per_block);
        aligned(PIECE_HEAD as u64 + 4 + block * u64::from(self.piece_blocks()))
    }

    /// Where a checkpoint begins.
    pub fn checkpoint_at(&self, slot: u32) -> u64 {
        let bytes = SECTOR + self.piece_bytes() * u64::from(self.pieces());
        aligned(Self::CONFIG + u64::from(self.config_bytes)) + bytes * u64::from(slot)
    }

    /// Where a piece of one begins.
    pub fn piece_at(&self, slot: u32, piece: u32) -> u64 {
        self.checkpoint_at(slot) + SECTOR + self.piece_bytes() * u64::from(piece)
    }

    pub fn blocks_at(&self) -> u64 {
        self.checkpoint_at(SLOTS)
    }

    pub fn records_at(&self) -> u64 {
        aligned(self.blocks_at() + ENTRY as u64 * u64::from(self.blocks))
    }

    pub fn data_at(&self) -> u64 {
        aligned(self.records_at() + RECORD as u64 * u64::from(self.pages()))
    }

    pub fn size(&self) -> u64 {
        self.data_at() + u64::from(self.page_bytes) * u64::from(self.pages())
    }

    /// Whether all of this can be counted: pages in 32 bits, bytes in 63.
    fn is_countable(&self) -> bool {
        let pages = self.blocks.checked_mul(self.pages_per_block);
        pages.is_some_and(|pages| {
            let bytes = u64::from(pages).checked_mul(u64::from(self.page_bytes));
            bytes.is_some_and(|bytes| bytes < 1 << 62)
        })
    }

    /// The superblock.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; SECTOR as usize];
        bytes[..8].copy_from_slice(&MAGIC);
        let words = [
            VERSION,
            self.page_bytes,
            self.pages_per_block,
            self.blocks,
            self.logical_pages,
            self.config_bytes,
        ];
        for (i, word) in words.iter().enumerate() {
            bytes[8 + 4 * i..12 + 4 * i].copy_from_slice(&word.to_le_bytes());
        }
        let areas = [
            Self::STATE,
            Self::CONFIG,
            self.blocks_at(),
            self.records_at(),
            self.data_at(),
            self.size(),
        ];
        for (i, at) in areas.iter().enumerate() {
            bytes[32 + 8 * i..40 + 8 * i].copy_from_slice(&at.to_le_bytes());
        }
        bytes[80..84].copy_from_slice(&self.config_sum.to_le_bytes());
        bytes[84..92].copy_from_slice(&self.checkpoint_at(0).to_le_bytes());
        bytes[92..96].copy_from_slice(&self.piece_blocks().to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    /// Reads a superblock.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        if bytes.get(..8) != Some(&MAGIC) {
            return Err("this is no image of eraseblock".into());
        }
        let word = |i: usize| u32_at(bytes, 8 + 4 * i);
        if word(0) != VERSION {
            return Err(format!(
                "an image of format {}; this version of eraseblock reads format {VERSION}: export it \
                 with the version that made it, and copy what that writes to a new one",
                word(0)
            ));
        }
        if !is_sealed(bytes) {
            return Err("its superblock is damaged".into());
        }
        let layout = Self {
            page_bytes: word(1),
            pages_per_block: word(2),
            blocks: word(3),
            logical_pages: word(4),
            config_bytes: word(5),
            config_sum: u32_at(bytes, 80),
        };
        if !layout.is_countable() || layout.encode() != bytes {
            return Err("its superblock contradicts itself".into());
        }
        if layout.config_bytes > MOST_CONFIG {
            return Err(format!(
                "it names a configuration of {} bytes, and at most {MOST_CONFIG} can be",
                layout.config_bytes
            ));
        }
        Ok(layout)
    }
}

/// Puts a checksum of all before it into the last four bytes.
pub fn seal(bytes: &mut [u8]) {
    let at = bytes.len() - 4;
    let sum = crc32fast::hash(&bytes[..at]);
    bytes[at..].copy_from_slice(&sum.to_le_bytes());
}

/// Whether the last four bytes are the checksum of all before them.
pub fn is_sealed(bytes: &[u8]) -> bool {
    let at = bytes.len() - 4;
    crc32fast::hash(&bytes[..at]) == u32_at(bytes, at)
}

/// Four bytes as a number, least significant first.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Eight bytes as a number.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
