//! The FTL of SUPA: blocks striped over all channels or kept in one, by what is done to them.
//!
//! **What it does.** Each logical block is kept under a policy. Under *MULTI* its pages lie page by
//! page on all channels, in *striped areas* of one flash block on each; under *SINGLE* in one flash
//! block. With each write of a block comes its pattern, from a buffer that knows it (`supa`), or
//! else from the pages themselves: more than `threshold` that follow one another are a sequential
//! write. The *pattern handler* holds it against the policy (table 2 of the paper): where they
//! disagree the block's pattern has changed, and it goes on the list of pattern-changed blocks
//! (*HYBRID*). New pages of such a block are written as their own pattern wants, the others stay
//! where they are.
//!
//! Pages are written to logs: one flash block for a logical block under SINGLE, a striped area for
//! as many adjacent logical blocks as it has flash blocks under MULTI. Logs have up to `log_blocks`
//! flash blocks. When a log is full and another page comes, or all are in use, the one written
//! longest ago is merged, block by block: a logical block that lies wholly and in order in the log
//! stays there (*switch*); one under SINGLE that lies there in order, with room for the pages that
//! it lacks in their places, is completed there (*partial*); else all its pages are copied together
//! (*full*), under MULTI into a striped area, next to others that were merged lately. A
//! pattern-changed block whose last two patterns want the same policy moves to that one and leaves
//! the list; if not, it moves to MULTI and stays on it. When erased blocks run short, the striped
//! area with fewest blocks left in it is emptied.
//!
//! Variants: `policy = "multi"` and `"single"` keep all blocks under one policy. `handler = false`
//! keeps no list: a block whose pattern wants the other policy is rewritten there at once, unless
//! all of it has been trimmed.
//!
//! **When it wins**: workloads in which some blocks are read and written in long runs and others in
//! single pages, on several channels. **When it loses**: blocks whose pattern never settles; drives
//! that are full and written at random, as striped areas have to be emptied.
//!
//! D. Kim, K. H. Park and C.-H. Youn, "SUPA: a single unified read-write buffer and
//! pattern-change-aware FTL for the high performance of multi-channel SSD", ACM Trans. Storage
//! 13(4), 2017, section 5.4.
//!
//! With `policy = "single"` this is `mnk` with M = N = K = 1, which is `bast`.
//!
//! **Where the paper is silent.** How the pages of one logical block share flash blocks with others
//! when they are striped: any blocks that are merged after one another share an area. Data blocks
//! have block-level mapping (section 5.4.1), so a log becomes one only where its pages lie in
//! order: under SINGLE each at its own offset, as in `bast` and `mnk`; under MULTI a logical block
//! page by page from the first row of a `striping`th part of the area, whichever part that is.
//! `in_place = "any-order"` takes a log as it is. Where the FTL copies, it leaves no room for pages
//! that were never written, so that chips that program in sequence can be used; no decision depends
//! on that. A switch of policy is counted where a block comes to be kept under another one; that
//! table 2 has a changed pattern each time a block on the list leaves the buffer is another count
//! (`switches`). Section 5.4.1 keeps the new pages of pattern-changed blocks in SINGLE, 5.4.2 and figure
//! 11 where their pattern wants them: so does this. Those of random writes to a block that is read
//! sequentially (RW-SR) go to SINGLE: table 2 makes such a block HYBRID, which is "data blocks in
//! MULTI and log blocks in SINGLE", and under MULTI it would change nothing if they went there
//! (`mixed_writes`). A block that was never written and has only been read keeps no policy. A block
//! that turns read-intensive under SINGLE stays where it is until it is written or merged; if it is
//! read again until it is written, the written pages go to MULTI, as the paper says, but not the
//! ones that were only read, which the buffer does not write. What counts is the pattern with which
//! it is written; a merge before that ends the wait only if it takes the block off the list.
//! Patterns of random reads alone say nothing of where a block should be, and are passed over among
//! its last two. A channel is ready for a block if it has an erased one and collection need not win
//! others back first. Merges that a full set of logs forces make none unready: section 5.3.3 passes
//! over channels "without enough free blocks", and such a merge comes with the next log on
//! whichever channel that is, where the log written longest ago lies. A block that moves to SINGLE
//! goes to the channel where its log lies, or else to the one that the buffer names, as a block of
//! p-CAVE does (section 3.3). A striped area takes its blocks on each channel from the chip that
//! has most erased ones. Without a pattern handler a block of which no page is written keeps its
//! policy and stays where it is, whatever is told of it, and one that random writes and sequential
//! reads were made to follows its writes. The policies lie in RAM: after a power cut a block has
//! that under which it lies. A block has one pattern for each stay in the buffer, as its flags are
//! cleared only when it leaves (section 5.2): one that a flush command has written in between is
//! told of twice, and counts as if only what is told last had been, but for the pages that lie
//! where the first pattern wanted them until they are merged. A merge in between that takes the
//! block off the list is not taken back: what is told then is held against the policy to which the
//! block has moved. Updating the maps costs nothing. A request does not wait for the erases that it
//! causes, of merges or of sparse areas (`merge_erase`).
//!
//! In a striped log page p goes to flash block p modulo `striping`, as under `mnk`: the log is full
//! when that one is. The logical blocks of a log are merged from the one that came to it last to
//! the one that came first. A striped area takes `striping` logical blocks that are copied one
//! after another, however few pages they have; pages of theirs that lie in it already are not
//! copied again. It is erased when the next one is begun, if all of them have left it. Flash blocks
//! of an area to which nothing was written need no erase.
//!
//! Erased blocks run short where fewer than three striped areas' worth of them are left: before
//! each merge, and beside the blocks that a new log is going to take. Then areas of several flash
//! blocks are emptied that hold fewer logical blocks than `striping`, but no logs, nor the one that
//! takes those that are copied. Among areas with as few, the one that came to have so few last goes
//! first; its blocks leave it from the one that came last to the one that came first. A merge that
//! needs a new striped area finds room for it if two areas' worth of blocks are erased, and a flash
//! block under SINGLE if there are more than one area has; where there is no room for the one, not
//! even once all erases under way have ended, the logical block goes to the other until its next
//! merge. A merge that waits for an erase goes on before anything else is begun: where blocks lie
//! does not depend on how long erases take.
//!
//! A flush makes trims durable with a tombstone in a log for each logical block, under SINGLE if
//! its pattern changes; that does not count as writing to the log. A merge writes one, too, if
//! trimmed pages lie outside of the area that takes the block: there has to be room for it where a
//! log is completed.
//!
//! Cost of a page write: O(1), but for merges and the emptying of sparse areas, which visit each
//! page of a block once.

mod areas;
mod handler;
mod merge;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::{
    BlockScheme, Blocks, Columns, Folded, MERGE_ERASE, MergeErase, Placement, log_blocks, require,
    striping,
};
use crate::ftl::context::{Cx, PageOut};
use crate::ftl::{Mapping, Shape};
use crate::metrics::Counters;
use crate::nand::{Cause, JoinId, Media};
use crate::pattern::{Access, Hint, Pattern, Policy, Route};
use crate::support::NONE;
use crate::support::ids::{BlockId, LogicalBlock, Lpn, PlaneId};
use crate::support::registry::{About, Choice, Needs};
use areas::Areas;
use handler::{Now, Turn};

/// What `list` says.
pub const ABOUT: About = About {
    title: "SUPA's FTL",
    summary: "Blocks striped over all channels or kept in one by their patterns, with logs, and a \
        handler of changing patterns.",
    paper: "Kim, Park and Youn, SUPA: a single unified read-write buffer and pattern-change-aware \
        FTL, ACM TOS 13(4)",
    year: Some(2017),
    choices: &[
        Choice {
            option: "striping",
            others: &["1"],
            open: "over how many units a block under MULTI is striped: here the channels",
        },
        Choice {
            option: "in_place",
            others: &[r#""any-order""#],
            open: "whether a log whose pages lie in any order becomes a data block: section 5.4.1 \
                maps data blocks as wholes",
        },
        Choice {
            option: "mixed_writes",
            others: &[r#""multi""#],
            open: "where random writes go to a block that is read in sequence: section 5.4.2 has \
                all that changes written to SINGLE, and what is read again after it turned \
                read-intensive to MULTI",
        },
        Choice {
            option: "switches",
            others: &[r#""changes""#],
            open: "which victims need a switch of policy: section 5.4.2 calls a block \
                pattern-changed \"if policy switching should occur\", which one on the list is each \
                time it leaves the buffer",
        },
        MERGE_ERASE,
    ],
    needs: &[
        Needs { option: "handler", beside: "policy", values: &[r#""by-pattern""#] },
        Needs { option: "threshold", beside: "policy", values: &[r#""by-pattern""#] },
        Needs { option: "mixed_writes", beside: "policy", values: &[r#""by-pattern""#] },
        Needs { option: "switches", beside: "policy", values: &[r#""by-pattern""#] },
        Needs { option: "switches", beside: "handler", values: &["true"] },
    ],
    source: include_str!("mod.rs"),
    ..About::PLAIN
};

/// Which policies there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Policies {
    /// Both, by pattern.
    #[default]
    ByPattern,
    /// All blocks are striped.
    Multi,
    /// All blocks are kept in one channel each.
    Single,
}

/// Where random writes go to a block that is read sequentially.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mixed {
    /// Where its writes want them.
    #[default]
    Single,
    /// Where its reads want them.
    Multi,
}

/// Which logs become data blocks as they are, or once they have been completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InPlace {
    /// Those whose pages lie in order.
    #[default]
    InOrder,
    /// All: data blocks are mapped page by page.
    AnyOrder,
}

/// What counts as a switch of policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Switches {
    /// A block comes to be kept under another policy.
    #[default]
    Moves,
    /// A block leaves the buffer with a changed pattern: each "yes" of table 2.
    Changes,
}

/// Options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Which policies there are.
    pub policy: Policies,
    /// Blocks whose pattern changes are kept partly here, partly there; without this, they are
    /// rewritten at once.
    pub handler: bool,
    /// Flash blocks that a block under MULTI is striped over; by default as many as there are
    /// channels.
    pub striping: Option<u32>,
    /// Flash blocks of logs: their number, or below 1 their share of the exported blocks; at least
    /// one striped area.
    pub log_blocks: f64,
    /// Where a buffer does not say how a block was used: a write of more pages than this that
    /// follow one another is sequential.
    pub threshold: u32,
    /// Where random writes go to a block that is read sequentially.
    pub mixed_writes: Mixed,
    /// Which logs become data blocks without being copied.
    pub in_place: InPlace,
    /// What the pattern handler counts as a switch of policy; nothing else depends on it.
    pub switches: Switches,
    /// When the erases that a request causes come: after the host's write, or before it, so that
    /// the request waits for them.
    pub merge_erase: MergeErase,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            policy: Policies::ByPattern,
            handler: true,
            striping: None,
            log_blocks: 0.05,
            threshold: 4,
            mixed_writes: Mixed::Single,
            in_place: InPlace::InOrder,
            switches: Switches::Moves,
            merge_erase: MergeErase::After,
        }
    }
}

impl Config {
    /// Builds the mapping, or says what it lacks.
    ///
    /// # Errors
    /// Too few blocks, a chip that it cannot work with, or impossible options.
    pub fn build(&self, shape: Shape<'_>) -> Result<Box<dyn Mapping>, String> {
        let g = shape.geometry;
        let width = striping(self.striping, g)?;
        let logs = log_blocks(self.log_blocks, shape)?.max(width);
        // A striped area to merge into and one for a new log, one that stays erased in case power
        // fails, and what an area that is being filled and the sparsest one may waste.
        let spare = 3 * width + 2 * (width - 1);
        let what = format!("{logs} log blocks, {spare} to merge into");
        require(PatternFtl::NAME, shape, false, (logs.saturating_add(spare), &what))?;
        let data = shape.logical_pages.div_ceil(g.pages_per_block);
        let blocks = Blocks::new(g, data, Placement::Free, 1);
        let turn = Turn { policy: None, recent: [None; 2], awaited: false };
        let ftl = PatternFtl {
            config: self.clone(),
            width,
            most_logs: logs,
            areas: Areas::new(g.blocks(), width),
            home: vec![NONE; data as usize],
            single_logs: vec![NONE; data as usize],
            striped_logs: vec![NONE; data.div_ceil(width) as usize],
            target: NONE,
            slots: 0,
            merging: NONE,
            emptying: NONE,
            turns: vec![turn; data as usize],
            before: vec![turn; data as usize],
            heard: None,
            now: None,
            waiting_tombstones: None,
            columns: Columns::default(),
            room: Vec::new(),
        };
        Ok(Folded::on(blocks, self.merge_erase, ftl))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct PatternFtl {
    config: Config,
    /// Flash blocks of a striped area.
    width: u32,
    /// Flash blocks of logs at most.
    most_logs: u32,
    areas: Areas,
    /// Home of each logical block, or [`NONE`].
    home: Vec<u32>,
    /// Open log of each logical block under SINGLE, and of each `width` of them under MULTI; or
    /// [`NONE`].
    single_logs: Vec<u32>,
    striped_logs: Vec<u32>,
    /// Striped area that takes merged blocks, or [`NONE`], and how many it has taken.
    target: u32,
    slots: u32,
    /// Log that is being merged and area that is being emptied while an erase has to end first, or
    /// [`NONE`].
    merging: u32,
    emptying: u32,
    turns: Vec<Turn>,
    /// The same before the stay in the buffer that was told of last.
    before: Vec<Turn>,
    /// Hint that came last and has not been used.
    heard: Option<Hint>,
    now: Option<Now>,
    /// Block whose tombstones found no room last, and whether they go to MULTI.
    waiting_tombstones: Option<(LogicalBlock, bool)>,
    /// Pages of a write by column, kept for their memory.
    #[serde(skip)]
    columns: Columns,
    /// The room in each column, likewise.
    #[serde(skip)]
    room: Vec<u32>,
}

impl PatternFtl {
    /// Unit for a flash block of `lbn` under SINGLE: where it lies unless the `whole` of it is
    /// written, in the `log` that is being merged or another, or its data; else of the channel
    /// asked for, else the blocks take turns.
    fn single_unit(
        &self,
        blocks: &Blocks,
        lbn: LogicalBlock,
        (log, channel): (u32, Option<u32>),
        whole: bool,
    ) -> PlaneId {
        let g = &blocks.geometry;
        let mut lies = [log, self.single_logs[lbn.index()], self.home[lbn.index()]].into_iter();
        if let Some(own) = lies.find(|&area| area != NONE && !self.areas.is_striped(area))
            && !(whole && channel.is_some())
        {
            return g.unit_of(self.areas.all[own as usize].blocks[0]);
        }
        let Some(channel) = channel else { return g.unit_in_turn(lbn.0) };
        g.units_of_channel(channel % g.channels)
            .max_by_key(|&unit| (blocks.pool.free(unit), std::cmp::Reverse(unit)))
            .unwrap_or_else(|| g.unit_in_turn(lbn.0))
    }

    /// Wins erased blocks back until so many can be taken; `false` while an erase has to end first.
    fn make_room(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, count: u32) -> bool {
        while self.emptying != NONE || blocks.pool.total() < count + 3 * self.width {
            match self.clean(blocks, cx, false) {
                None => break,
                Some(false) => return false,
                Some(true) => {}
            }
        }
        self.can_take(blocks, cx, count, false)
    }

    /// The log for a page of `lbn`, or `None` while there is no block to take.
    fn open(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, now: Now, lpn: Lpn) -> Option<u32> {
        let lbn = now.lbn;
        if self.merging != NONE && !self.merge_log(blocks, cx, self.merging, false) {
            return None;
        }
        let index = (if now.striped { lbn.0 / self.width } else { lbn.0 }) as usize;
        let open = if now.striped { self.striped_logs[index] } else { self.single_logs[index] };
        if open != NONE {
            if self.areas.next(cx.flash, open, lpn.0).is_some() {
                return Some(open);
            }
            if !self.make_room(blocks, cx, 0) || !self.merge_log(blocks, cx, open, false) {
                return None;
            }
        }
        let count = if now.striped { self.width } else { 1 };
        while self.areas.log_blocks + count > self.most_logs
            && let Some(oldest) = self.areas.oldest_log()
        {
            if !self.make_room(blocks, cx, 0) || !self.merge_log(blocks, cx, oldest, false) {
                return None;
            }
        }
        if !self.make_room(blocks, cx, count) {
            return None;
        }
        let log = if now.striped {
            self.areas.open_striped(blocks, cx, self.width, true)
        } else {
            let unit = self.single_unit(blocks, lbn, (NONE, now.channel), now.whole);
            self.areas.open(blocks, cx, std::iter::once(unit), true)
        };
        *(if now.striped { &mut self.striped_logs[index] } else { &mut self.single_logs[index] }) =
            log;
        Some(log)
    }
}

impl BlockScheme for PatternFtl {
    const NAME: &'static str = "pattern";

    fn write(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        pages: &[PageOut],
        waits: JoinId,
    ) -> usize {
        let lbn = blocks.split(pages[0].lpn).0;
        let own = pages.iter().take_while(|out| blocks.split(out.lpn).0 == lbn).count();
        let pages = &pages[..own];
        let mut now = self.now(blocks, cx, lbn, pages);
        self.now = Some(now);
        if now.rewrite {
            // What there is of it may lie in logs alone.
            let mut all = Lpn::each(lbn.range(blocks.ppb()));
            if all.any(|lpn| blocks.lookup(lpn).is_some())
                && (!self.make_room(blocks, cx, 0)
                    || !self.merge(blocks, cx, lbn, (NONE, now.channel), (Cause::Merge, false)))
            {
                return 0;
            }
            now.rewrite = false;
            self.now = Some(now);
        }
        let Some(log) = self.open(blocks, cx, now, pages[0].lpn) else { return 0 };
        self.areas.touch(log);
        self.areas.take_in(log, lbn);
        let width = self.areas.all[log as usize].blocks.len() as u32;
        let mut columns = std::mem::take(&mut self.columns);
        let mut room = std::mem::take(&mut self.room);
        columns.begin(width);
        room.clear();
        room.extend((0..width).map(|column| {
            self.areas.next(cx.flash, log, column).map_or(0, |at| blocks.ppb() - at.page)
        }));
        let mut count = 0;
        for out in pages {
            let column = out.lpn.0 % width;
            let left = &mut room[column as usize];
            if *left == 0 {
                break;
            }
            *left -= 1;
            columns.of(column).push(*out);
            count += 1;
        }
        for (column, pages) in columns.written() {
            if let Some(at) = self.areas.next(cx.flash, log, column) {
                blocks.program(cx, at, pages, waits);
            }
        }
        self.areas.all[log as usize].is_full = room.iter().all(|&pages| pages == 0);
        (self.columns, self.room) = (columns, room);
        count
    }

    fn on_hint(&mut self, hint: Hint, clean: bool, counters: &mut Counters) {
        self.heard = None;
        if clean {
            // Nothing of it is written, though it may have been: a flush command leaves the flags.
            self.note(counters, hint, false);
        } else {
            self.heard = Some(hint);
        }
    }

    fn is_ready(&self, blocks: &Blocks, unit: PlaneId) -> bool {
        blocks.pool.free(unit) > 0 && blocks.pool.total() > 3 * self.width
    }

    /// That hangs on its pattern: see [`Self::route`].
    fn unit_of_block(&self, _blocks: &Blocks, _block: LogicalBlock) -> Option<PlaneId> {
        None
    }

    fn route(&self, blocks: &Blocks, block: LogicalBlock, pattern: Pattern) -> Option<Route> {
        let striped = match self.config.policy {
            Policies::Multi => true,
            Policies::Single => false,
            Policies::ByPattern => {
                let policy = pattern.decide(self.turns[block.index()].policy).0;
                let wanted = pattern.suits().unwrap_or(match self.config.mixed_writes {
                    Mixed::Multi if self.config.handler => Policy::Multi,
                    _ => Policy::Single,
                });
                let settled =
                    policy.filter(|policy| *policy != Policy::Hybrid && self.config.handler);
                let awaited = self.turns[block.index()].awaited && policy == Some(Policy::Hybrid);
                settled.unwrap_or(wanted) == Policy::Multi
                    || (awaited && pattern.read != Access::Never)
            }
        };
        if striped {
            return Some(Route::Striped);
        }
        let channel = |area: u32| {
            let g = &blocks.geometry;
            g.channel_of(g.die_of(g.unit_of(self.areas.all[area as usize].blocks[0])))
        };
        let (log, home) = (self.single_logs[block.index()], self.home[block.index()]);
        Some(if log != NONE && !self.areas.all[log as usize].is_full {
            Route::Channel(channel(log))
        } else if log != NONE {
            Route::Home(channel(log))
        } else if home != NONE && !self.areas.is_striped(home) {
            Route::Home(channel(home))
        } else {
            Route::Anywhere
        })
    }

    fn policy(&self, block: LogicalBlock) -> Option<Policy> {
        self.turns[block.index()].policy
    }

    fn write_tombstones(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, pages: &[Lpn]) -> bool {
        let lbn = blocks.split(pages[0]).0;
        let striped = self.tombstones_are_striped(lbn);
        let now =
            Now { lbn, group: cx.group, striped, channel: None, whole: false, rewrite: false };
        let Some(log) = self.open(blocks, cx, now, pages[0]) else {
            self.waiting_tombstones = Some((lbn, striped));
            return false;
        };
        self.areas.take_in(log, lbn);
        if let Some(at) = self.areas.next(cx.flash, log, pages[0].0) {
            blocks.write_tombstones(cx, at, pages);
            let area = &mut self.areas.all[log as usize];
            area.is_full |= area.blocks.len() == 1 && at.page + 1 == blocks.ppb();
        }
        true
    }

    fn merge_all(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>) -> bool {
        while let Some(log) = self.areas.oldest_log() {
            if !self.merge_log(blocks, cx, log, true) {
                return false;
            }
        }
        true
    }

    fn recover(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, found: &Media) {
        for area in blocks.read_areas(cx, found) {
            let label = cx.label(crate::nand::Role::Data, LogicalBlock::NONE);
            self.areas.add(area.into(), label, true);
        }
        let ppb = blocks.ppb();
        for lbn in LogicalBlock(0).run(self.home.len() as u32) {
            let mut held: Vec<u32> = Vec::new();
            for (block, _) in blocks.words(lbn.range(ppb)) {
                let area = self.areas.of(block);
                if !held.contains(&area) {
                    held.push(area);
                }
            }
            for &area in &held {
                self.areas.take_in(area, lbn);
            }
            if let Some(&area) = held.first() {
                let striped = self.areas.is_striped(area) || self.config.policy == Policies::Multi;
                self.turns[lbn.index()].policy =
                    Some(if striped { Policy::Multi } else { Policy::Single });
                self.before[lbn.index()] = self.turns[lbn.index()];
            }
        }
        // What lies wholly in one area stays there; the rest is merged as far as blocks are needed,
        // or later.
        let found: Vec<u32> = self.areas.logs().collect();
        for area in found {
            self.adopt(blocks, cx, area);
        }
        while blocks.pool.total() < 3 * self.width {
            let merged = match self.areas.oldest_log() {
                Some(log) => self.merge_log(blocks, cx, log, true),
                None => self.clean(blocks, cx, true).unwrap_or(false),
            };
            if !merged {
                break;
            }
        }
    }

    fn others(&self) -> Vec<BlockId> {
        self.areas.all.iter().flat_map(|area| &area.blocks).copied().collect()
    }

    fn describe(&self) -> String {
        let changed = self.turns.iter().filter(|turn| turn.policy == Some(Policy::Hybrid)).count();
        format!(
            "{} of {} log blocks are in use, the pattern of {changed} logical blocks changes, ",
            self.areas.log_blocks, self.most_logs
        )
    }

    fn bytes(&self) -> usize {
        self.areas.bytes()
            + (self.home.len() + self.single_logs.len() + self.striped_logs.len()) * 4
            + (self.turns.len() + self.before.len()) * size_of::<Turn>()
    }
}
