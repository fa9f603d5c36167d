//! Checkpoints: what the records of all blocks said at a moment, in less room. Byte by byte in
//! docs/image-format.md.
//!
//! A checkpoint is written in pieces, of some blocks each, while the drive works on. What is changed
//! meanwhile need not be right in it: the entry of each block says in which *period* it was last
//! changed, a period begins with a checkpoint, and of blocks that were changed in it or later the
//! records count, and not the checkpoint.

use eraseblock_core::nand::Oob;
use eraseblock_core::nand::media::{Content, PageState, Role};
use eraseblock_core::support::chunks::Chunks;
use eraseblock_core::support::ids::{BlockId, LogicalBlock, Lpn, Ppn};

use super::layout::{PIECE_HEAD, is_sealed, seal, u32_at, u64_at};
use super::record::{Bounds, Page, Record, content_of, role_of};

/// First bytes of a checkpoint.
const MAGIC: [u8; 8] = *b"EBCHECK1";
/// Bytes of its head: they lie in one sector of any disk.
pub const HEAD: usize = 64;
/// Periods are below this.
pub const PERIODS: u32 = 1 << 31;

/// What stands before the pieces of a checkpoint. It is written when they and all that they tell of
/// are on the host's disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The period that began with it.
    pub period: u32,
    /// Number of the last step programmed that was known to be on the host's disk.
    pub steps: u64,
}

impl Head {
    /// Its bytes.
    pub fn encode(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.period.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.steps.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    /// `None` where there is no checkpoint, or it is damaged.
    pub fn decode(bytes: &[u8; HEAD]) -> Option<Self> {
        let head = Self { period: u32_at(bytes, 8), steps: u64_at(bytes, 16) };
        (bytes[..8] == MAGIC && is_sealed(bytes) && head.period < PERIODS).then_some(head)
    }
}

/// A block as a checkpoint has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// How often it had been erased.
    pub life: u32,
    /// Number of the last step that programmed a page of it.
    pub last_step: u64,
    /// Its pages that are not erased, in order. Their steps are the block's last one.
    pub pages: Vec<(Ppn, Page)>,
}

/// A block, to be written into a checkpoint.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// How often it has been erased.
    pub life: u32,
    /// Number of the last step that programmed a page of it.
    pub last_step: u64,
    /// Its pages.
    pub pages: &'a [PageState],
    /// Length and checksum of the bytes of each flash page, and which is the block's first.
    pub kept: (&'a Chunks<(u32, u32)>, Ppn),
}

/// What of a page is as of the one before it in its block; the lowest three bits say what it is.
mod same {
    /// The logical page is the next one.
    pub const LPN: u8 = 8;
    /// The place in the order of writes is the next one.
    pub const SEQ: u8 = 16;
    /// The version is the same.
    pub const VERSION: u8 = 32;
    /// Nothing is written of it, and it is all zeroes.
    pub const EMPTY: u8 = 64;
    /// When the block was opened, its owner and what it serves as are the same.
    pub const LABEL: u8 = 128;
}

/// A page that cannot be read; what can is the number of what it holds.
const TORN: u8 = 5;

/// What the first page of a block is compared with.
const NOTHING: Oob = Oob {
    lpn: Lpn(0),
    version: 0,
    seq: 0,
    opened: 0,
    content: Content::Host,
    role: Role::Data,
    logical_block: LogicalBlock::NONE,
    from: Ppn::NONE,
};

fn label(oob: &Oob) -> (u64, LogicalBlock, Role) {
    (oob.opened, oob.logical_block, oob.role)
}

/// A number in groups of seven bits, the lowest first; all but the last have their highest bit set.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Writes what a piece says of the block `first` and those after it.
pub fn encode<'a>(
    bytes: &mut Vec<u8>,
    period: u32,
    first: BlockId,
    blocks: impl ExactSizeIterator<Item = Block<'a>>,
) {
    bytes.clear();
    bytes.extend([0; 4]);
    for word in [period, first.0, blocks.len() as u32] {
        bytes.extend(word.to_le_bytes());
    }
    for block in blocks {
        block.encode(bytes);
    }
    bytes.extend([0; 4]);
    let length = (bytes.len() as u32).to_le_bytes();
    bytes[..4].copy_from_slice(&length);
    seal(bytes);
}

impl Block<'_> {
    fn encode(&self, bytes: &mut Vec<u8>) {
        let used = self.pages.iter().rposition(|page| *page != PageState::Erased);
        let used = used.map_or(0, |last| last + 1);
        put(bytes, self.life.into());
        put(bytes, self.last_step);
        put(bytes, used as u64);
        let mut before = NOTHING;
        let (kept, first) = self.kept;
        let kept = kept.range(first.index()..first.index() + used);
        for (page, &(length, sum)) in self.pages[..used].iter().zip(kept) {
            match page {
                PageState::Erased => bytes.push(0),
                PageState::Torn => bytes.push(TORN),
                PageState::Done(oob) => {
                    encode_page(bytes, &before, oob, (length, sum));
                    before = *oob;
                }
            }
        }
    }
}

fn encode_page(bytes: &mut Vec<u8>, before: &Oob, oob: &Oob, (length, sum): (u32, u32)) {
    let same = [
        (oob.lpn.0 == before.lpn.0.wrapping_add(1), same::LPN),
        (oob.seq == before.seq.wrapping_add(1), same::SEQ),
        (oob.version == before.version, same::VERSION),
        (length == 0, same::EMPTY),
        (label(oob) == label(before), same::LABEL),
    ];
    let tag = same.iter().filter(|(same, _)| *same).map(|(_, bit)| bit).sum::<u8>();
    bytes.push(tag | (1 + oob.content as u8));
    if tag & same::LPN == 0 {
        put(bytes, oob.lpn.0.into());
    }
    if tag & same::SEQ == 0 {
        // As a difference, which may be negative: the sign is the lowest bit.
        let more = oob.seq.wrapping_sub(before.seq) as i64;
        put(bytes, (more << 1 ^ more >> 63) as u64);
    }
    if tag & same::VERSION == 0 {
        put(bytes, oob.version.into());
    }
    if tag & same::LABEL == 0 {
        put(bytes, oob.opened);
        bytes.extend(oob.logical_block.0.to_le_bytes());
        bytes.push(oob.role as u8);
    }
    if tag & same::EMPTY == 0 {
        if oob.content != Content::Host {
            put(bytes, length.into());
        }
        bytes.extend(sum.to_le_bytes());
    }
}

/// What a piece of `count` blocks from `first` on, of this period, says of them; `None` where it is
/// damaged, of another period or of another place.
pub fn decode(
    bytes: &[u8],
    period: u32,
    (first, count): (BlockId, u32),
    bounds: &Bounds,
) -> Option<Vec<Recorded>> {
    if bytes.len() < PIECE_HEAD + 4 || !is_sealed(bytes) {
        return None;
    }
    let words = [4, 8, 12].map(|at| u32_at(bytes, at));
    if words != [period, first.0, count] {
        return None;
    }
    let mut rest = Rest(&bytes[PIECE_HEAD..bytes.len() - 4]);
    let blocks: Option<Vec<_>> =
        first.onwards().take(count as usize).map(|block| rest.block(block, bounds)).collect();
    blocks.filter(|_| rest.0.is_empty())
}

/// What of a piece has not been read yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn four(&mut self) -> Option<u32> {
        let (four, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*four))
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn block(&mut self, block: BlockId, bounds: &Bounds) -> Option<Recorded> {
        let (life, last_step, used) = (self.small()?, self.number()?, self.small()?);
        if used > bounds.pages_per_block {
            return None;
        }
        let mut pages = Vec::with_capacity(used as usize);
        let mut before = NOTHING;
        for ppn in block.page(0, bounds.pages_per_block).run(used) {
            let tag = self.byte()?;
            match tag & 7 {
                0 => {}
                TORN => pages.push((ppn, Page::Torn(life))),
                _ => {
                    let (oob, length, sum) = self.page(tag, &before, bounds.page_bytes)?;
                    let record = Record { oob, step: last_step, length, sum, life };
                    if !record.is_of(bounds) {
                        return None;
                    }
                    before = oob;
                    pages.push((ppn, Page::Readable(record)));
                }
            }
        }
        Some(Recorded { life, last_step, pages })
    }

    fn page(&mut self, tag: u8, before: &Oob, page_bytes: u32) -> Option<(Oob, u32, u32)> {
        let is_same = |bit: u8| tag & bit != 0;
        let content = content_of(tag & 7)?;
        let lpn = if is_same(same::LPN) { before.lpn.0.wrapping_add(1) } else { self.small()? };
        let seq = if is_same(same::SEQ) {
            before.seq.wrapping_add(1)
        } else {
            let more = self.number()?;
            before.seq.wrapping_add_signed((more >> 1) as i64 ^ -((more & 1) as i64))
        };
        let version = if is_same(same::VERSION) { before.version } else { self.small()? };
        let (opened, logical_block, role) = if is_same(same::LABEL) {
            label(before)
        } else {
            (self.number()?, LogicalBlock(self.four()?), role_of(self.byte()?)?)
        };
        let (length, sum) = if is_same(same::EMPTY) {
            (0, 0)
        } else {
            let length = if content == Content::Host { page_bytes } else { self.small()? };
            (length, self.four()?)
        };
        let oob = Oob {
            lpn: Lpn(lpn),
            version,
            seq,
            opened,
            content,
            role,
            logical_block,
            from: Ppn::NONE,
        };
        Some((oob, length, sum))
    }
}
