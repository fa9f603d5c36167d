//! BAST: block mapping with log blocks, each owned by one logical block.
//!
//! **What it does.** A logical block has a data block, in which each page lies at its own offset, and at most one log
//! block, which takes its writes in the order of arrival. A full log block is *merged* when the next write needs room
//! (or at once: `merge_timing`); when all log blocks are in use and another logical block needs one, a victim is
//! merged first. A log block that holds all offsets in place becomes the data block (*switch*); one that holds a
//! prefix in place is completed from the data block and becomes it (*partial*, optional); else the newest pages of
//! both go to a new block (*full*).
//!
//! **When it wins**: sequential writes, little RAM. **When it loses**: random writes over more blocks than there are
//! logs.
//!
//! Kim, Kim, Noh, Min, Cho: "A space-efficient flash translation layer for `CompactFlash` systems", IEEE Trans.
//! Consumer Electronics 48(2), 2002. Costs of the merges as in Kim & Ahn 2008, section 2.3, and the HBM thesis, 2.2.
//!
//! **Where the papers are silent.** The first write to an erased slot of the data block goes to a log block, as BPLRU
//! says of all writes (`direct_first_write` for the other reading). The victim is the log block written longest ago
//! (`victim = "fifo"`: attached longest ago). Updating the block map costs nothing, as in the papers. A merge that
//! finds nothing to copy is a switch. Pages never written are neither read nor programmed. A new block is taken from
//! the plane of the old one where there is one.
//!
//! **Order of operations.** A merge's erases come after all its copies, so that a power cut leaves either the old
//! blocks whole or the new one complete. A log block's programs come after those under way on its data block. Where
//! trims are involved the log block is erased after the data block, which may hold what was trimmed.
//!
//! Cost of a page write: O(1), but for merges, which visit each page of a block once.

mod merge;
mod recovery;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cx::{After, Cx, Label, Move, PageOut, Place};
use super::pool::Pool;
use super::{Mapping, Shape};
use crate::config::ProgramOrder;
use crate::nand::image::{Content, PageState};
use crate::nand::{Cause, Flash, Geometry, Oob, Ppn, Role};
use crate::support::NONE;
use crate::support::bits::Bits;
use crate::support::list::{Links, List};
use crate::support::registry::{About, Choice};

/// What `list` says.
pub const ABOUT: About = About {
    title: "BAST",
    summary: "Block mapping with log blocks of one logical block each; switch, partial and full merges.",
    paper: "Kim et al., A space-efficient flash translation layer for CompactFlash systems, IEEE TCE 48(2)",
    year: Some(2002),
    choices: &[
        Choice { option: "victim", others: &[r#""fifo""#], open: "which log block goes when all are in use" },
        Choice {
            option: "merge_timing",
            others: &[r#""eager""#],
            open: "whether a full log block is merged at once or when the next write comes",
        },
        Choice {
            option: "direct_first_write",
            others: &["true"],
            open: "whether the first write to an erased page of a data block needs a log block",
        },
        Choice {
            option: "partial_merge",
            others: &["false"],
            open: "the BPLRU paper knows no partial merges",
        },
    ],
    source: include_str!("mod.rs"),
    ..About::PLAIN
};

/// When a full log block is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MergeTiming {
    /// When the next write of its logical block needs room.
    #[default]
    Lazy,
    /// As soon as it is full.
    Eager,
}

/// Which log block goes when all are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Victim {
    /// The one written longest ago.
    #[default]
    Lru,
    /// The one attached longest ago.
    Fifo,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Log blocks: their number, or below 1 their share of the exported blocks.
    pub log_blocks: f64,
    /// When a full log block is merged.
    pub merge_timing: MergeTiming,
    /// Which log block goes when all are in use.
    pub victim: Victim,
    /// Partial merges are done; without them, what is not a switch is a full merge (BPLRU knows only those two).
    pub partial_merge: bool,
    /// The first write to an erased slot of the data block goes straight there.
    pub direct_first_write: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            log_blocks: 0.03,
            merge_timing: MergeTiming::Lazy,
            victim: Victim::Lru,
            partial_merge: true,
            direct_first_write: false,
        }
    }
}

/// Blocks beyond data and log blocks: one to merge into, one for the new log meanwhile, and one that stays erased, in
/// case power fails before the merge's erases have ended.
const SPARE: u32 = 3;

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too few blocks, a chip that it cannot work with, or impossible options.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        let g = shape.geometry;
        if g.program_pages > 1 {
            return Err(format!(
                "bast writes single pages into log blocks, which a chip that programs {} mapped pages at once cannot do; use page mapping",
                g.program_pages
            ));
        }
        if shape.order == ProgramOrder::Sequential {
            return Err("bast leaves out pages of data blocks that were never written, which `nand.program_order = \"sequential\"` \
                        forbids; use \"ascending\" or page mapping"
                .into());
        }
        let data = shape.logical_pages.div_ceil(g.pages_per_block);
        let logs = if self.log_blocks < 1.0 { f64::from(data) * self.log_blocks } else { self.log_blocks };
        if !(logs >= 1.0 && logs < f64::from(u32::MAX)) || (self.log_blocks >= 1.0 && logs.fract() != 0.0) {
            return Err(format!(
                "ftl.mapping.log_blocks: found {}, which makes {logs} of {data} blocks; expected a whole number of at least 1, or below 1 \
                 a share that makes at least one block",
                self.log_blocks
            ));
        }
        let logs = logs as u32;
        let (needed, present) = (u64::from(data) + u64::from(logs) + u64::from(SPARE), g.blocks());
        if u64::from(present) < needed {
            return Err(format!(
                "ftl: bast needs {needed} blocks ({data} exported, {logs} log blocks, {SPARE} to merge into), the array has {present}; \
                 export less, use fewer log blocks, or add blocks (nand.blocks_per_plane)"
            ));
        }
        Ok(Box::new(Bast::new(self.clone(), g.clone(), data, logs)))
    }
}

/// A log block.
#[derive(Debug, Clone)]
struct Log {
    block: u32,
    lbn: u32,
    /// Next page.
    next: u32,
    /// Every page lies at its own offset.
    in_order: bool,
    /// It holds tombstones, or pages that have been trimmed since.
    trims: bool,
    label: Label,
    /// Where each offset's newest page is: position + 1, or 0.
    position: Vec<u16>,
}

#[derive(Debug)]
struct Bast {
    config: Config,
    geometry: Geometry,
    /// Data block of each logical block.
    data: Vec<u32>,
    /// Log of each logical block, as an index into `logs`.
    log_of: Vec<u32>,
    logs: Vec<Log>,
    /// Indices of unused logs.
    unused: Vec<u32>,
    /// Logs in use, the next victim last.
    order: List,
    links: Links,
    /// Pages of data blocks that hold what they should.
    live: Bits,
    pool: Pool,
    /// Blocks that are worn out.
    retired: u32,
    labels: Vec<u64>,
    moves: Vec<Move>,
    /// Pages trimmed since the last flush that need a tombstone.
    trimmed: Vec<u32>,
}

impl Bast {
    fn new(config: Config, geometry: Geometry, data: u32, logs: u32) -> Self {
        let log = Log {
            block: NONE,
            lbn: NONE,
            next: 0,
            in_order: true,
            trims: false,
            label: Label::default(),
            position: vec![0; geometry.pages_per_block as usize],
        };
        Self {
            data: vec![NONE; data as usize],
            log_of: vec![NONE; data as usize],
            logs: vec![log; logs as usize],
            unused: (0..logs).rev().collect(),
            order: List::default(),
            links: Links::new(logs as usize),
            live: Bits::new(geometry.pages() as usize),
            pool: Pool::full(&geometry),
            retired: 0,
            labels: Vec::new(),
            moves: Vec::new(),
            trimmed: Vec::new(),
            config,
            geometry,
        }
    }

    fn ppb(&self) -> u32 {
        self.geometry.pages_per_block
    }

    /// Unit where a block of `lbn` should lie: with its other blocks, else the logical blocks take turns.
    fn home(&self, lbn: u32) -> u32 {
        let data = self.data[lbn as usize];
        if data == NONE { lbn % self.geometry.units } else { self.geometry.unit_of(data) }
    }

    fn take_block(&mut self, unit: u32) -> u32 {
        // The constructor made sure that data, logs and a merge fit.
        self.pool.take_near(unit).unwrap_or_else(|| unreachable!("bast ran out of blocks: {}", self.space()))
    }

    /// Plans the erase of a block and puts it into the pool.
    fn drop_block(&mut self, cx: &mut Cx<'_>, block: u32, waits: u32, signals: u32) {
        let base = (block * self.ppb()) as usize;
        self.live.clear_range(base, base + self.ppb() as usize);
        cx.erase(block, Cause::Merge, waits, signals);
        if cx.flash.is_worn_out(block) {
            self.retired += 1;
        } else {
            self.pool.give(self.geometry.unit_of(block), block);
        }
    }

    /// Whether `blocks` blocks can be taken now so that one is left that is really erased: if power fails, merging what
    /// it interrupts may take a block.
    fn can_take(&self, cx: &Cx<'_>, blocks: u32) -> bool {
        self.pool.total().saturating_sub(cx.engine.erasing()) > blocks
    }

    /// Blocks that the next write to `lbn` takes at most.
    fn takes(&self, lbn: u32) -> u32 {
        match self.log_of[lbn as usize] {
            NONE if self.unused.is_empty() => 2,
            NONE => 1,
            index if self.logs[index as usize].next < self.ppb() => 0,
            _ => 2,
        }
    }

    /// A log for `lbn`; merges another if all are in use.
    fn attach(&mut self, cx: &mut Cx<'_>, lbn: u32) -> u32 {
        if self.unused.is_empty() {
            let victim = self.order.back();
            self.merge(cx, victim);
        }
        let Some(index) = self.unused.pop() else { unreachable!("a merge frees a log") };
        let block = self.take_block(self.home(lbn));
        let label = cx.label(Role::Log, lbn);
        let log = &mut self.logs[index as usize];
        (log.block, log.lbn, log.next, log.in_order, log.trims, log.label) =
            (block, lbn, 0, true, false, label);
        log.position.fill(0);
        self.log_of[lbn as usize] = index;
        self.order.push_front(&mut self.links, index);
        index
    }

    /// The log of `lbn` with room for a page.
    fn open_log(&mut self, cx: &mut Cx<'_>, lbn: u32) -> u32 {
        let index = self.log_of[lbn as usize];
        if index != NONE {
            if self.logs[index as usize].next < self.ppb() {
                return index;
            }
            self.merge(cx, index);
        }
        self.attach(cx, lbn)
    }

    /// Takes a log out of use.
    fn detach(&mut self, index: u32) {
        let lbn = std::mem::replace(&mut self.logs[index as usize].lbn, NONE);
        self.log_of[lbn as usize] = NONE;
        self.order.remove(&mut self.links, index);
        self.unused.push(index);
    }

    /// Writes pages of one logical block, as many as the open log takes; none while there is no block to take.
    fn write_run(&mut self, cx: &mut Cx<'_>, pages: &[PageOut], waits: u32) -> usize {
        let ppb = self.ppb();
        let lbn = pages[0].lpn / ppb;
        if self.config.direct_first_write
            && let Some(count) = self.write_direct(cx, lbn, pages, waits)
        {
            return count;
        }
        let takes = self.takes(lbn);
        if takes > 0 && !self.can_take(cx, takes) {
            return 0;
        }
        let index = self.open_log(cx, lbn);
        let data = self.data[lbn as usize];
        let log = &mut self.logs[index as usize];
        let room = (ppb - log.next) as usize;
        let count = pages.iter().take(room).take_while(|out| out.lpn / ppb == lbn).count();
        for (i, out) in pages[..count].iter().enumerate() {
            let (offset, position) = (out.lpn % ppb, log.next + i as u32);
            log.in_order &= offset == position;
            log.position[offset as usize] = position as u16 + 1;
        }
        let at = Place { block: log.block, page: log.next, label: log.label };
        cx.program(at, &pages[..count], After { guard: data, ordered: true, waits });
        log.next += count as u32;
        let full = log.next == ppb;
        if self.config.victim == Victim::Lru {
            self.order.touch(&mut self.links, index);
        }
        if full && self.config.merge_timing == MergeTiming::Eager && self.can_take(cx, 1) {
            self.merge(cx, index);
        }
        count
    }

    /// Writes the first page straight to its erased slot in the data block, if that is possible.
    fn write_direct(&mut self, cx: &mut Cx<'_>, lbn: u32, pages: &[PageOut], waits: u32) -> Option<usize> {
        let ppb = self.ppb();
        let offset = pages[0].lpn % ppb;
        let index = self.log_of[lbn as usize];
        if index != NONE && self.logs[index as usize].position[offset as usize] != 0 {
            return None;
        }
        let data = self.data[lbn as usize];
        if data != NONE
            && (cx.flash.is_written(data, offset)
                || (cx.flash.order() != ProgramOrder::Any && offset < cx.flash.write_ptr(data)))
        {
            return None;
        }
        if data == NONE && !self.can_take(cx, 1) {
            return None;
        }
        let block = if data == NONE {
            let block = self.take_block(self.home(lbn));
            self.data[lbn as usize] = block;
            let label = cx.label(Role::Data, lbn);
            if cx.keeps_image() {
                self.labels.resize(self.geometry.blocks() as usize, 0);
                self.labels[block as usize] = label.opened;
            }
            block
        } else {
            data
        };
        let opened = self.labels.get(block as usize).copied().unwrap_or(0);
        let label = Label { role: Role::Data, owner: lbn, opened };
        cx.program(Place { block, page: offset, label }, &pages[..1], After::join(waits));
        self.live.set((block * ppb + offset) as usize);
        Some(1)
    }

    /// Plans tombstones in the log of one logical block for `pages` of it.
    fn bury(&mut self, cx: &mut Cx<'_>, pages: &[u32]) {
        let lbn = pages[0] / self.ppb();
        let index = self.open_log(cx, lbn);
        let list = cx.engine.shadow_mut().map_or(NONE, |shadow| {
            shadow.image.trims.push(pages.iter().map(|&lpn| (lpn, 1)).collect());
            shadow.image.trims.len() as u32 - 1
        });
        let data = self.data[lbn as usize];
        let log = &mut self.logs[index as usize];
        let out = PageOut::tombstone(list, Cause::Mapping);
        let at = Place { block: log.block, page: log.next, label: log.label };
        cx.program(at, &[out], After { guard: data, ordered: true, waits: NONE });
        (log.in_order, log.trims) = (false, true);
        log.next += 1;
    }
}

impl Mapping for Bast {
    fn translate(&mut self, _cx: &mut Cx<'_>, lpn: u32) -> Option<Ppn> {
        self.lookup(lpn)
    }

    fn lookup(&self, lpn: u32) -> Option<Ppn> {
        let ppb = self.ppb();
        let (lbn, offset) = (lpn / ppb, lpn % ppb);
        let index = self.log_of[lbn as usize];
        if index != NONE {
            let log = &self.logs[index as usize];
            let position = u32::from(log.position[offset as usize]);
            if position != 0 {
                return Some(log.block * ppb + position - 1);
            }
        }
        let data = self.data[lbn as usize];
        (data != NONE && self.live.get((data * ppb + offset) as usize))
            .then_some(data.wrapping_mul(ppb).wrapping_add(offset))
    }

    fn write(&mut self, cx: &mut Cx<'_>, pages: &[PageOut], waits: u32) -> usize {
        let mut at = 0;
        while at < pages.len() {
            match self.write_run(cx, &pages[at..], waits) {
                0 => break,
                count => at += count,
            }
        }
        at
    }

    fn trim(&mut self, _cx: &mut Cx<'_>, first: u32, count: u32) {
        let ppb = self.ppb();
        for lpn in first..first + count {
            if self.lookup(lpn).is_none() {
                continue;
            }
            let (lbn, offset) = ((lpn / ppb) as usize, lpn % ppb);
            if let Some(log) = self.logs.get_mut(self.log_of[lbn] as usize) {
                log.trims = true;
                log.position[offset as usize] = 0;
            }
            if self.data[lbn] != NONE {
                self.live.clear((self.data[lbn] * ppb + offset) as usize);
            }
            self.trimmed.push(lpn);
        }
    }

    fn flush(&mut self, cx: &mut Cx<'_>) -> bool {
        let ppb = self.ppb();
        let mut trimmed = std::mem::take(&mut self.trimmed);
        trimmed.retain(|&lpn| self.lookup(lpn).is_none());
        trimmed.sort_unstable();
        trimmed.dedup();
        for pages in trimmed.chunk_by(|a, b| a / ppb == b / ppb) {
            let takes = self.takes(pages[0] / ppb);
            if self.trimmed.is_empty() && (takes == 0 || self.can_take(cx, takes)) {
                self.bury(cx, pages);
            } else {
                self.trimmed.extend_from_slice(pages);
            }
        }
        self.trimmed.is_empty()
    }

    fn merge_all(&mut self, cx: &mut Cx<'_>) {
        // A drive that is nearly worn out may have no block to merge into.
        while !self.order.is_empty() && (self.retired == 0 || self.pool.total() > 0) {
            self.merge(cx, self.order.back());
        }
    }

    fn recover(&mut self, cx: &mut Cx<'_>) {
        let Some(image) = cx.engine.shadow().map(|s| s.image.clone()) else { return };
        recovery::run(self, cx, &image);
    }

    fn check(&self, flash: &Flash) -> Result<(), String> {
        let mut used = Bits::new(self.geometry.blocks() as usize);
        let in_use = self.order.iter(&self.links).map(|index| self.logs[index as usize].block);
        let mut blocks = 0;
        for block in self.data.iter().copied().filter(|&b| b != NONE).chain(in_use).chain(self.pool.iter()) {
            if !used.set(block as usize) {
                return Err(format!("bast: block {block} is used twice"));
            }
            blocks += 1;
        }
        if blocks + self.retired != self.geometry.blocks() {
            return Err(format!("bast: {blocks} of {} blocks are accounted for", self.geometry.blocks()));
        }
        for index in self.order.iter(&self.links) {
            let log = &self.logs[index as usize];
            if self.log_of[log.lbn as usize] != index || flash.write_ptr(log.block) > log.next {
                return Err(format!(
                    "bast: log {index} of logical block {} does not agree with its flash block",
                    log.lbn
                ));
            }
        }
        for lpn in 0..self.data.len() as u32 * self.ppb() {
            if let Some(ppn) = self.lookup(lpn)
                && !flash.is_written(ppn / self.ppb(), ppn % self.ppb())
            {
                return Err(format!("bast: logical page {lpn} lies at physical page {ppn}, which is erased"));
            }
        }
        Ok(())
    }

    fn space(&self) -> String {
        format!(
            "{} of {} log blocks are in use, {} of {} blocks are erased",
            self.logs.len() - self.unused.len(),
            self.logs.len(),
            self.pool.total(),
            self.geometry.blocks()
        )
    }

    fn free_blocks(&self, unit: u32) -> u32 {
        self.pool.free(unit)
    }

    fn bytes(&self) -> usize {
        (self.data.len() + self.log_of.len()) * 4
            + self.logs.len() * (size_of::<Log>() + self.geometry.pages_per_block as usize * 2)
            + self.links.bytes()
            + self.live.bytes()
            + self.pool.bytes()
    }
}
