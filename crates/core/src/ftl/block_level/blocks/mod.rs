//! What the mappings of whole blocks share: the data block of each logical block, and the last word
//! on each page.
//!
//! The *last word* on a logical page is its newest version; once the page has been trimmed, it is
//! the version that was trimmed, and later the tombstone that says so. Whatever takes over a last
//! word (a program, a copy, a tombstone) holds back the erase of the block where the one before it
//! lies. So in whatever order operations end, the newest record that the flash holds of a page is
//! never older than what the host was promised, and recovery needs nothing else.
//!
//! A scheme says where writes go and when blocks are folded into one ([`BlockScheme`]); the rest is
//! here.
//!
//! Everything in here counts pages as a scheme places them ([`Striping`]): page `p` of data block
//! `b` is number `b * pages of a block + p`. Without striping these are the logical pages
//! themselves. With it, only the borders translate: what comes from the device, and what is
//! recorded on flash.

mod columns;
mod fold;
mod merge;
mod recovery;
mod scheme;
mod striping;

use serde::{Deserialize, Serialize};

pub use columns::Columns;
pub use merge::{MERGE_ERASE, MergeErase, MergeTiming, Way};
pub use scheme::{BlockScheme, Folded, log_blocks, require, striping};
pub use striping::Striping;

use std::ops::Range;

use crate::ftl::context::{Cx, PageOut, Piece};
use crate::ftl::pool::Pool;
use crate::nand::{Cause, Flash, Geometry, JoinId};
use crate::support::NONE;
use crate::support::bits::Bits;
use crate::support::chunks::Chunks;
use crate::support::ids::{BlockId, LogicalBlock, Lpn, PlaneId, Ppn};

/// Marks the last word on a page that has been trimmed.
const DEAD: u32 = 1 << 31;

/// Where a page lies inside its data block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// At its own offset.
    Fixed,
    /// Anywhere.
    Free,
}

/// State of a mapping of whole blocks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Blocks {
    /// The array's numbers.
    pub geometry: Geometry,
    /// Erased blocks.
    pub pool: Pool,
    /// Data block of each logical block, or [`BlockId::NONE`].
    pub data: Vec<BlockId>,
    /// How the pages of adjacent logical blocks lie on their data blocks.
    pub striping: Striping,
    placement: Placement,
    /// Blocks that are worn out.
    retired: u32,
    /// Blocks that recovery could not fold, since too many are worn out: the drive can only be
    /// read.
    stranded: Vec<BlockId>,
    /// Erases of each unit, and by how many their mean per block may differ before new blocks come
    /// from the unit worn least.
    erases: Vec<u64>,
    balance: Option<u32>,
    /// Physical page of the last word on each logical page, marked [`DEAD`] when that is trimmed;
    /// or [`NONE`].
    last: Chunks<u32, 256>,
    /// Scratch: what is copied together.
    #[serde(skip)]
    pieces: Vec<Piece>,
    /// Scratch: pages by the names that the host knows them by.
    #[serde(skip)]
    named: Vec<PageOut>,
    /// Pages trimmed since the last flush, and which of them are neither written nor buried since.
    trimmed: Vec<Lpn>,
    owed: Bits,
    /// Whether requests wait for the erases that they cause; and in this step the join of those
    /// planned since the last program, and the join that all programs planned from now on come
    /// after.
    merge_erase: MergeErase,
    erased: JoinId,
    awaited: JoinId,
}

impl Blocks {
    /// An erased array with `data` logical blocks, `striping` of which share their pages.
    pub fn new(geometry: &Geometry, data: u32, placement: Placement, striping: u32) -> Self {
        Self {
            pool: Pool::full(geometry),
            data: vec![BlockId::NONE; data as usize],
            striping: Striping::new(striping, data, geometry.pages_per_block),
            placement,
            retired: 0,
            stranded: Vec::new(),
            erases: vec![0; geometry.units as usize],
            balance: None,
            last: Chunks::new((data * geometry.pages_per_block) as usize, NONE),
            pieces: Vec::new(),
            named: Vec::new(),
            trimmed: Vec::new(),
            merge_erase: MergeErase::After,
            erased: JoinId::NONE,
            awaited: JoinId::NONE,
            owed: Bits::new((data * geometry.pages_per_block) as usize),
            geometry: geometry.clone(),
        }
    }

    /// Pages of a block.
    #[inline]
    pub fn ppb(&self) -> u32 {
        self.geometry.pages_per_block
    }

    /// Logical block and offset of a logical page.
    #[inline]
    pub fn split(&self, lpn: Lpn) -> (LogicalBlock, u32) {
        self.geometry.split_logical(lpn)
    }

    /// Block and page of what a word says.
    #[inline]
    fn lies(&self, word: u32) -> (BlockId, u32) {
        self.geometry.split(Ppn(word & !DEAD))
    }

    /// The last word on a page, to have it in the cache.
    #[inline]
    fn word(&self, lpn: Lpn) -> u32 {
        self.last[lpn.index()]
    }

    /// Where a page lies, or `None` if it was never written or has been trimmed.
    #[inline]
    pub fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        let word = self.last[lpn.index()];
        (word & DEAD == 0).then_some(Ppn(word))
    }

    /// Block of the last word on a page, or [`BlockId::NONE`].
    #[inline]
    pub fn holder(&self, lpn: Lpn) -> BlockId {
        match self.last[lpn.index()] {
            NONE => BlockId::NONE,
            word => self.lies(word).0,
        }
    }

    /// Block of the last word on each of these pages that has one, and whether it is that the page
    /// has been trimmed.
    pub fn words(&self, pages: Range<Lpn>) -> impl Iterator<Item = (BlockId, bool)> + '_ {
        let words = self.last.range(Lpn::indices(&pages));
        words.filter(|&&word| word != NONE).map(|&word| (self.lies(word).0, word & DEAD != 0))
    }

    /// Whether physical page `ppn` is the last word on `lpn`.
    #[inline]
    pub fn is_last(&self, lpn: Lpn, ppn: Ppn) -> bool {
        let word = self.last[lpn.index()];
        word != NONE && word & !DEAD == ppn.0
    }

    /// Whether physical page `ppn` is the last word on some page of `lbn`.
    pub fn speaks_of(&self, lbn: LogicalBlock, ppn: Ppn) -> bool {
        Lpn::each(lbn.range(self.ppb())).any(|lpn| self.is_last(lpn, ppn))
    }

    /// Unit where a block of `lbn` should lie: with its data block, else the logical blocks take
    /// turns.
    pub fn home(&self, lbn: LogicalBlock) -> PlaneId {
        let data = self.data[lbn.index()];
        let unit = if data.is_none() {
            self.geometry.unit_in_turn(lbn.0)
        } else {
            self.geometry.unit_of(data)
        };
        self.balanced(lbn, unit, |_| false)
    }

    /// Unit for a new data block of `lbn`, which lies on `unit`: none that has one of those which
    /// share its pages.
    fn new_home(&self, lbn: LogicalBlock, unit: PlaneId) -> PlaneId {
        let (first, width) = self.striping.cluster(lbn);
        self.balanced(lbn, unit, |other| {
            let mut shares = first.run(width).filter(|&sharer| sharer != lbn);
            shares.any(|sharer| {
                let data = self.data[sharer.index()];
                data != BlockId::NONE && self.geometry.unit_of(data) == other
            })
        })
    }

    /// `unit`, or one that is worn little while wear differs by more than `balance` erases of a
    /// block: the least worn one for the first of the blocks that share their pages, the next one
    /// for the second and so on, so that they stay apart.
    fn balanced(
        &self,
        lbn: LogicalBlock,
        unit: PlaneId,
        is_taken: impl Fn(PlaneId) -> bool,
    ) -> PlaneId {
        let Some(most) = self.balance else { return unit };
        let (least, worst) =
            self.erases.iter().fold((u64::MAX, 0), |(l, w), &e| (l.min(e), w.max(e)));
        if worst - least <= u64::from(most) * u64::from(self.geometry.blocks_per_unit) {
            return unit;
        }
        let mut order: Vec<PlaneId> = self.geometry.all_units().collect();
        order.sort_unstable_by_key(|&u| (self.erases[u.index()], u));
        let column = (lbn - self.striping.cluster(lbn).0) as usize % order.len();
        order.rotate_left(column);
        order.into_iter().find(|&other| !is_taken(other)).unwrap_or(unit)
    }

    /// After a power cut: how often the blocks of each unit have been erased.
    fn recall_wear(&mut self, flash: &Flash) {
        let units = flash.erases().chunks(self.geometry.blocks_per_unit as usize);
        for (erases, blocks) in self.erases.iter_mut().zip(units) {
            *erases = blocks.iter().map(|&erases| u64::from(erases)).sum();
        }
    }

    /// New blocks come from the unit worn least while its mean erases of a block lie more than
    /// `most` below the worst.
    pub fn balance_wear(&mut self, most: Option<u32>) {
        self.balance = most;
    }

    /// Whether `count` blocks can be taken now so that one is left that is really erased: if power
    /// fails, folding what it interrupts may take a block.
    #[inline]
    pub fn can_take(&self, cx: &Cx<'_>, count: u32) -> bool {
        self.pool.total().saturating_sub(cx.erasing()) > count
    }

    /// Whether a block can be taken to fold into; `at_last` if nothing that is interrupted will
    /// ever have to go on.
    pub fn can_fold(&self, cx: &Cx<'_>, at_last: bool) -> bool {
        if at_last { self.pool.total() > 0 } else { self.can_take(cx, 1) }
    }

    /// Takes an erased block, of `unit` where there is one.
    pub fn take(&mut self, unit: PlaneId) -> BlockId {
        // Callers ask first.
        let taken = self.pool.take_near(unit);
        taken.unwrap_or_else(|| unreachable!("no block of {} is erased", self.geometry.blocks()))
    }

    /// Whether blocks are worn out.
    pub fn has_worn_out(&self) -> bool {
        self.retired > 0
    }

    /// Whether nothing can be written any more.
    pub fn is_read_only(&self) -> bool {
        !self.stranded.is_empty()
    }

    /// A new step begins: erases of an earlier one are none of its pages', and may have been of
    /// another plan.
    fn begin_step(&mut self) {
        (self.erased, self.awaited) = (JoinId::NONE, JoinId::NONE);
    }

    /// Plans the erase of a block after join `waits`, and puts it into the pool unless it is worn
    /// out by that.
    pub fn erase(&mut self, cx: &mut Cx<'_>, block: BlockId, cause: Cause, waits: JoinId) {
        if self.merge_erase == MergeErase::Before {
            if self.erased.is_none() {
                self.erased = cx.join();
            }
            cx.erase_awaited(block, cause, waits, self.erased);
        } else {
            cx.erase(block, cause, waits, JoinId::NONE);
        }
        self.erases[self.geometry.unit_of(block).index()] += 1;
        self.give(cx.flash, block);
    }

    /// Puts an erased block into the pool unless it is worn out.
    fn give(&mut self, flash: &Flash, block: BlockId) {
        if flash.is_worn_out(block) {
            self.retired += 1;
        } else {
            self.pool.give(self.geometry.unit_of(block), block);
        }
    }

    /// Puts back a block that was taken and never written.
    pub fn give_back(&mut self, block: BlockId) {
        self.pool.give(self.geometry.unit_of(block), block);
    }

    /// How many of these pages can be written for the first time, one after the other, straight to
    /// their slots in the data block.
    pub fn direct(&self, flash: &Flash, lpn: Lpn, count: u32) -> u32 {
        let (lbn, offset) = self.split(lpn);
        let block = self.data[lbn.index()];
        let first = |i: &u32| {
            self.lookup(lpn + *i).is_none()
                && (*i > 0 || block.is_none() || flash.accepts(block, offset))
        };
        let erased = |i: &u32| block.is_none() || !flash.is_written(block, offset + i);
        (0..count).take_while(|i| first(i) && erased(i)).count() as u32
    }

    /// The host no longer needs these pages.
    fn trim(&mut self, first: Lpn, count: u32) {
        let striping = self.striping;
        for slot in first.run(count).map(|lpn| striping.placed(lpn)) {
            let word = self.last[slot.index()];
            if word & DEAD == 0 {
                self.last.set(slot.index(), word | DEAD);
                self.owe(slot);
            }
        }
    }

    /// The next flush makes it durable that this page has been trimmed, unless something else does
    /// before.
    fn owe(&mut self, slot: Lpn) {
        self.owed.set(slot.index());
        self.trimmed.push(slot);
    }

    /// Pages trimmed and neither written nor buried since, in order.
    fn take_trimmed(&mut self) -> Vec<Lpn> {
        let mut trimmed = std::mem::take(&mut self.trimmed);
        trimmed.retain(|&slot| self.owed.clear(slot.index()));
        trimmed.sort_unstable();
        trimmed
    }

    /// Compares what is kept with the flash; `others` are the blocks in use beside data blocks.
    fn check(&self, flash: &Flash, others: &[BlockId]) -> Result<(), String> {
        let mut used = vec![false; self.geometry.blocks() as usize];
        let data = self.data.iter().filter(|&&block| block != BlockId::NONE);
        for block in data.chain(others).chain(&self.stranded).copied().chain(self.pool.iter()) {
            if std::mem::replace(&mut used[block.index()], true) {
                return Err(format!("block {block} is used twice"));
            }
        }
        let lost = used.iter().filter(|used| !**used).count();
        if lost != self.retired as usize {
            return Err(format!(
                "{lost} blocks are neither in use nor erased, {} are worn out",
                self.retired
            ));
        }
        if let Some(block) = self.pool.iter().find(|&block| flash.write_ptr(block) > 0) {
            return Err(format!("block {block} counts as erased and holds something"));
        }
        for lpn in 0..self.last.len() as u32 {
            let word = self.last[lpn as usize];
            let (block, page) = self.lies(word);
            if word != NONE && !flash.is_written(block, page) {
                return Err(format!(
                    "the last word on logical page {lpn} is at {word:#x}, which is erased"
                ));
            }
        }
        Ok(())
    }

    /// Bytes held.
    fn bytes(&self) -> usize {
        (self.data.len() + self.last.len()) * 4 + self.owed.bytes() + self.pool.bytes()
    }
}
