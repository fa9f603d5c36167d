//! What a scheme of whole blocks decides itself, and the mapping that it becomes.

use super::{Blocks, Cx, MergeErase, Placement};
use crate::ftl::context::PageOut;
use crate::ftl::{Advice, Mapping, Shape, Single, SinglePages};
use crate::metrics::Counters;
use crate::metrics::observer::Folding;
use crate::nand::config::ProgramOrder;
use crate::nand::{Flash, Geometry, JoinId, Media};
use crate::pattern::{Hint, Pattern, Policy, Route};
use crate::support::NONE;
use crate::support::ids::{BlockId, LogicalBlock, Lpn, PlaneId, Ppn};
use crate::support::persist::Persist;
use crate::upkeep::Upkeep;

/// Where writes go, and when blocks are folded into one. Pages are counted as they are placed.
pub trait BlockScheme: Clone + Persist + std::fmt::Debug + Send + Sync {
    /// Its name.
    const NAME: &'static str;

    /// Writes the first of these pages and as many of the next ones as go the same way, after join
    /// `waits`. Returns how many; none while there is no block to take.
    fn write(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        pages: &[PageOut],
        waits: JoinId,
    ) -> usize;

    /// It writes some pages alone.
    const WRITES_ALONE: bool = false;

    /// Writes a page by one program, which begins at once, and nothing else; `false` where more has
    /// to be planned, or may have to: then nothing has happened.
    fn write_alone(&mut self, _blocks: &mut Blocks, _cx: &mut Cx<'_>, _page: PageOut) -> bool {
        false
    }

    /// What was done to a block while it was buffered; see [`Advice::on_hint`].
    fn on_hint(&mut self, _hint: Hint, _clean: bool, _counters: &mut Counters) {}

    /// Whether a unit can take a block now without winning one back first; see
    /// [`Advice::is_ready`].
    fn is_ready(&self, blocks: &Blocks, unit: PlaneId) -> bool {
        blocks.pool.free(unit) > 0
    }

    /// The unit on which a logical block lies, or would be written to; see
    /// [`Advice::unit_of_block`].
    fn unit_of_block(&self, blocks: &Blocks, block: LogicalBlock) -> Option<PlaneId> {
        Some(blocks.home(block))
    }

    /// Where a logical block would be written; see [`Advice::route`].
    fn route(&self, _blocks: &Blocks, _block: LogicalBlock, _pattern: Pattern) -> Option<Route> {
        None
    }

    /// Whether a block of which so many pages are to be written had better be written whole; see
    /// [`Advice::padding_pays`].
    fn padding_pays(&self, _blocks: &Blocks, _pages: u32) -> bool {
        false
    }

    /// How it keeps up with what is written; see [`Advice::upkeep`].
    fn upkeep(&self, _blocks: &Blocks) -> Upkeep {
        Upkeep::Unknown
    }

    /// The policy that a logical block is kept under; see [`Advice::policy`].
    fn policy(&self, _block: LogicalBlock) -> Option<Policy> {
        None
    }

    /// Plans what makes it durable that these pages of one logical block have been trimmed; `false`
    /// while there is no block to take.
    fn write_tombstones(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, pages: &[Lpn]) -> bool;

    /// Folds all that lies in log blocks into data blocks, as far as there are blocks to fold into:
    /// a drive that is nearly worn out may have none. Says whether all is folded.
    fn merge_all(&mut self, _blocks: &mut Blocks, _cx: &mut Cx<'_>) -> bool {
        true
    }

    /// Rebuilds the state of a fresh mapping from what the flash holds; see [`Mapping::recover`].
    fn recover(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, found: &Media) {
        blocks.fold_back(cx, found);
    }

    /// Blocks in use beside data blocks.
    fn others(&self) -> Vec<BlockId> {
        Vec::new()
    }

    /// One clause on the blocks in use beside data blocks.
    fn describe(&self) -> String {
        String::new()
    }

    /// How a logical block is written over; see [`Mapping::folding`].
    fn folding(&self) -> Folding {
        Folding::Unknown
    }

    /// Bytes held.
    fn bytes(&self) -> usize {
        0
    }
}

/// A mapping of whole blocks.
#[derive(Debug, Clone)]
pub struct Folded<S> {
    blocks: Blocks,
    scheme: S,
    /// Scratch: pages as they are placed.
    placed: Vec<PageOut>,
}

crate::persist!(Folded<S> { blocks, scheme, placed });

impl<S: BlockScheme + 'static> Folded<S> {
    /// The mapping of an erased array.
    pub fn boxed(
        shape: Shape<'_>,
        placement: Placement,
        merge_erase: MergeErase,
        scheme: S,
    ) -> Box<dyn Mapping> {
        let data = shape.logical_pages.div_ceil(shape.geometry.pages_per_block);
        Self::on(Blocks::new(shape.geometry, data, placement, 1), merge_erase, scheme)
    }

    /// The mapping of an erased array that is set up already.
    pub fn on(mut blocks: Blocks, merge_erase: MergeErase, scheme: S) -> Box<dyn Mapping> {
        blocks.merge_erase = merge_erase;
        Box::new(Self { blocks, scheme, placed: Vec::new() })
    }

    fn write_placed(&mut self, cx: &mut Cx<'_>, pages: &[PageOut], waits: JoinId) -> usize {
        let mut at = 0;
        while at < pages.len() && !self.blocks.is_read_only() {
            self.blocks.begin_step();
            match self.scheme.write(&mut self.blocks, cx, &pages[at..], waits) {
                0 => break,
                count => at += count,
            }
        }
        at
    }
}

impl<S: BlockScheme + 'static> Mapping for Folded<S> {
    fn folding(&self) -> Folding {
        self.scheme.folding()
    }

    #[inline]
    fn translate(&mut self, _cx: &mut Cx<'_>, lpn: Lpn) -> Option<Ppn> {
        self.blocks.lookup(self.blocks.striping.placed(lpn))
    }

    #[inline]
    fn lookup(&self, lpn: Lpn) -> Option<Ppn> {
        self.blocks.lookup(self.blocks.striping.placed(lpn))
    }

    fn write(&mut self, cx: &mut Cx<'_>, pages: &[PageOut], waits: JoinId) -> usize {
        if self.blocks.striping.is_plain() {
            return self.write_placed(cx, pages, waits);
        }
        let mut placed = std::mem::take(&mut self.placed);
        let striping = self.blocks.striping;
        placed.extend(pages.iter().map(|out| PageOut { lpn: striping.placed(out.lpn), ..*out }));
        let count = self.write_placed(cx, &placed, waits);
        placed.clear();
        self.placed = placed;
        count
    }

    fn single_pages(&self) -> SinglePages {
        if S::WRITES_ALONE { SinglePages::SomeWrites } else { SinglePages::Reads }
    }

    fn fetch(&self, pages: &[Lpn]) {
        let word = |&lpn: &Lpn| self.blocks.word(self.blocks.striping.placed(lpn));
        std::hint::black_box(pages.iter().map(word).fold(0, |all, word| all ^ word));
    }

    fn write_one(&mut self, cx: &mut Cx<'_>, page: PageOut) -> Single {
        if !cx.at_once {
            let taken = self.write(cx, &[page], JoinId::NONE) > 0;
            return if taken { Single::Taken } else { Single::NoRoom };
        }
        let alone = self.blocks.striping.is_plain() && !self.blocks.is_read_only() && {
            self.blocks.begin_step();
            self.scheme.write_alone(&mut self.blocks, cx, page)
        };
        if alone { Single::Taken } else { Single::NotAlone }
    }

    fn trim(&mut self, _cx: &mut Cx<'_>, first: Lpn, count: u32) {
        self.blocks.trim(first, count);
    }

    fn make_durable(&mut self, cx: &mut Cx<'_>) -> bool {
        let trimmed = self.blocks.take_trimmed();
        let ppb = self.blocks.ppb();
        let mut left = trimmed.chunk_by(|a, b| a.block(ppb) == b.block(ppb));
        for pages in left.by_ref() {
            self.blocks.begin_step();
            if self.blocks.is_read_only()
                || !self.scheme.write_tombstones(&mut self.blocks, cx, pages)
            {
                for &page in pages {
                    self.blocks.owe(page);
                }
                break;
            }
        }
        for &page in left.flatten() {
            self.blocks.owe(page);
        }
        self.blocks.trimmed.is_empty()
    }

    fn recover(&mut self, cx: &mut Cx<'_>, found: Media) {
        self.blocks.recall_wear(cx.flash);
        self.scheme.recover(&mut self.blocks, cx, &found);
    }

    fn check(&self, flash: &Flash) -> Result<(), String> {
        self.blocks
            .check(flash, &self.scheme.others())
            .map_err(|fault| format!("{}: {fault}", S::NAME))
    }

    fn space(&self) -> String {
        let pool = &self.blocks.pool;
        let described = self.scheme.describe();
        let worn = match self.blocks.retired {
            0 => String::new(),
            retired => format!(", {retired} are worn out"),
        };
        format!(
            "{described}{} of {} blocks are erased{worn}",
            pool.total(),
            self.blocks.geometry.blocks()
        )
    }

    fn free_blocks(&self, unit: PlaneId) -> u32 {
        self.blocks.pool.free(unit)
    }

    fn bytes(&self) -> usize {
        self.blocks.bytes() + self.scheme.bytes()
    }

    fn advice(&self) -> Option<&dyn Advice> {
        Some(self)
    }

    fn advice_mut(&mut self) -> Option<&mut dyn Advice> {
        Some(self)
    }
}

impl<S: BlockScheme + 'static> Advice for Folded<S> {
    fn on_hint(&mut self, hint: Hint, clean: bool, counters: &mut Counters) {
        self.scheme.on_hint(hint, clean, counters);
    }

    fn is_ready(&self, unit: PlaneId, _erased: u32) -> bool {
        self.scheme.is_ready(&self.blocks, unit)
    }

    fn padding_pays(&self, pages: u32) -> bool {
        self.scheme.padding_pays(&self.blocks, pages)
    }

    fn upkeep(&self) -> Upkeep {
        self.scheme.upkeep(&self.blocks)
    }

    fn unit_of_block(&self, logical_block: LogicalBlock) -> Option<PlaneId> {
        self.scheme.unit_of_block(&self.blocks, logical_block)
    }

    fn route(&self, logical_block: LogicalBlock, pattern: Pattern) -> Option<Route> {
        self.scheme.route(&self.blocks, logical_block, pattern)
    }

    fn policy(&self, logical_block: LogicalBlock) -> Option<Policy> {
        self.scheme.policy(logical_block)
    }

    fn merge_all(&mut self, cx: &mut Cx<'_>) -> bool {
        self.blocks.begin_step();
        !self.blocks.is_read_only() && self.scheme.merge_all(&mut self.blocks, cx)
    }
}

/// What a scheme asks of the array: chips that program single mapped pages, in an order that lets
/// pages be left out where `holes`, and `extra` blocks beyond the exported ones, which are
/// `for_what`.
///
/// # Errors
/// What is missing.
pub fn require(
    name: &str,
    shape: Shape<'_>,
    holes: bool,
    (extra, for_what): (u32, &str),
) -> Result<(), String> {
    let g = shape.geometry;
    if g.program_pages > 1 {
        return Err(format!(
            "{name} writes single pages, which a chip that programs {} mapped pages at once \
             cannot do; use page mapping",
            g.program_pages
        ));
    }
    if holes && shape.order == ProgramOrder::Sequential {
        return Err(format!(
            "{name} leaves out pages of data blocks that were never written, which \
             `nand.program_order = \"sequential\"` forbids; use \"ascending\" or page mapping"
        ));
    }
    if g.pages() >= super::DEAD {
        return Err(format!("ftl.mapping: {name} takes arrays of up to {} pages", super::DEAD - 1));
    }
    let data = shape.logical_pages.div_ceil(g.pages_per_block);
    let (needed, present) = (u64::from(data) + u64::from(extra), g.blocks());
    if u64::from(present) < needed {
        return Err(format!(
            "ftl: {name} needs {needed} blocks ({data} exported, {for_what}), the array has \
             {present}; export less or add blocks (nand.blocks_per_plane)"
        ));
    }
    Ok(())
}

/// Over how many units a block is striped; by default as many as there are channels.
///
/// # Errors
/// None, or more than there are.
pub fn striping(found: Option<u32>, geometry: &Geometry) -> Result<u32, String> {
    let width = found.unwrap_or(geometry.channels.min(geometry.units));
    if !(1..=geometry.units).contains(&width) {
        return Err(format!(
            "ftl.mapping.striping: found {width}, expected 1 to {} (units)",
            geometry.units
        ));
    }
    Ok(width)
}

/// Log blocks that `found` asks for: their number, or below 1 their share of the exported blocks.
///
/// # Errors
/// It is neither.
pub fn log_blocks(found: f64, shape: Shape<'_>) -> Result<u32, String> {
    let data = shape.logical_pages.div_ceil(shape.geometry.pages_per_block);
    let logs = if found < 1.0 { f64::from(data) * found } else { found };
    if !(logs >= 1.0 && logs < f64::from(NONE)) || (found >= 1.0 && logs.fract() != 0.0) {
        return Err(format!(
            "ftl.mapping.log_blocks: found {found}, which makes {logs} of {data} blocks; expected \
             a whole number of at least 1, or below 1 a share that makes at least one block"
        ));
    }
    Ok(logs as u32)
}
