//! Clustered log blocks: whose they are, what has been written to them, and how much of it still
//! counts.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::CAUSE;
use crate::ftl::block_level::blocks::Blocks;
use crate::ftl::context::{Cx, Label, Place};
use crate::nand::{JoinId, Role};
use crate::support::NONE;
use crate::support::ids::{BlockId, LogicalBlock, Lpn};
use crate::support::list::{Links, List};
use crate::support::roomy::Roomy;

/// What a page of a log was written as. Pages are counted as they are placed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) enum Entry {
    /// This page.
    Page(Lpn),
    /// A tombstone for pages of this data block.
    Tombstone(LogicalBlock),
}

/// A clustered log block.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Log {
    group: u32,
    /// Its flash blocks.
    pub(super) blocks: Vec<BlockId>,
    labels: Vec<Label>,
    /// What each of them holds, in order.
    entries: Vec<Roomy<Entry>>,
    /// Pages whose last word lies in it.
    live: u32,
    /// The first flash block, and the page in it, that may hold a last word.
    scanned: (usize, usize),
}

/// All log blocks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Logs {
    all: Vec<Log>,
    unused: Vec<u32>,
    /// Logs of each group, the oldest first.
    groups: Vec<VecDeque<u32>>,
    /// Log that each flash block belongs to, or [`NONE`].
    log_of: Vec<u32>,
    /// Logs in use, the next victim last.
    order: List,
    links: Links,
    /// Logs that have come to hold no last word.
    emptied: Vec<u32>,
    /// Logs that are none any more, kept for their memory.
    #[serde(skip)]
    shells: Vec<Log>,
}

impl Logs {
    /// Logs that there are at most, each as many flash blocks as a clustered block has.
    pub(super) fn most(&self) -> u32 {
        self.all.len() as u32
    }

    pub(super) fn new(groups: u32, most: u32, blocks: u32) -> Self {
        Self {
            all: vec![Log::default(); most as usize],
            unused: (0..most).rev().collect(),
            groups: vec![VecDeque::new(); groups as usize],
            log_of: vec![NONE; blocks as usize],
            order: List::default(),
            links: Links::new(most as usize),
            emptied: Vec::new(),
            shells: Vec::new(),
        }
    }

    /// Logs of a group, the oldest first.
    pub(super) fn of(&self, group: u32) -> &VecDeque<u32> {
        &self.groups[group as usize]
    }

    pub(super) fn newest(&self, group: u32) -> Option<u32> {
        self.of(group).back().copied()
    }

    pub(super) fn group(&self, log: u32) -> u32 {
        self.all[log as usize].group
    }

    /// The log that has to go before another can be attached, if one has to.
    pub(super) fn victim(&self) -> Option<u32> {
        self.unused.is_empty().then(|| self.order.back())
    }

    /// The log that would be the next victim.
    pub(super) fn last(&self) -> Option<u32> {
        (!self.order.is_empty()).then(|| self.order.back())
    }

    /// Pages that a flash block of a log still takes.
    pub(super) fn room(&self, log: u32, column: u32, pages_per_block: u32) -> u32 {
        pages_per_block - self.all[log as usize].entries[column as usize].len() as u32
    }

    /// The log has been written.
    pub(super) fn touch(&mut self, log: u32) {
        self.order.touch(&mut self.links, log);
    }

    /// Takes blocks for a new log of `group`; for each the data block that it should lie near, and
    /// the logical block that is recorded. There has to be an unused one.
    pub(super) fn attach(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        group: u32,
        columns: impl Iterator<Item = (LogicalBlock, LogicalBlock)>,
    ) -> u32 {
        let Some(index) = self.unused.pop() else { unreachable!("a merge frees a log") };
        let mut log = self.shells.pop().unwrap_or_default();
        log.group = group;
        for (lbn, logical_block) in columns {
            let block = blocks.take(blocks.home(lbn));
            self.log_of[block.index()] = index;
            log.blocks.push(block);
            log.labels.push(cx.label(Role::Log, logical_block));
            log.entries.push(Roomy::default());
        }
        self.all[index as usize] = log;
        // A merge may have emptied the log that was the newest.
        if let Some(last) = self.newest(group)
            && self.all[last as usize].live == 0
        {
            self.emptied.push(last);
        }
        self.groups[group as usize].push_back(index);
        self.order.push_front(&mut self.links, index);
        index
    }

    /// These entries follow in a flash block of a log; where they go.
    pub(super) fn append(
        &mut self,
        log: u32,
        column: u32,
        entries: impl IntoIterator<Item = Entry>,
    ) -> Place {
        let log = &mut self.all[log as usize];
        let column = column as usize;
        let page = log.entries[column].len() as u32;
        log.entries[column].extend(entries);
        Place { block: log.blocks[column], page, label: log.labels[column] }
    }

    /// So many last words have come to a log.
    pub(super) fn holds(&mut self, log: u32, pages: u32) {
        self.all[log as usize].live += pages;
    }

    /// The last words on these pages go elsewhere.
    pub(super) fn forget(&mut self, blocks: &Blocks, pages: Range<Lpn>) {
        for page in Lpn::each(pages) {
            let holder = blocks.holder(page);
            let log = if holder.is_none() { NONE } else { self.log_of[holder.index()] };
            if log != NONE {
                let live = &mut self.all[log as usize].live;
                *live -= 1;
                if *live == 0 {
                    self.emptied.push(log);
                }
            }
        }
    }

    /// A log that holds nothing any more and takes no more pages, if such logs are wanted.
    pub(super) fn stale(&mut self, wanted: bool) -> Option<u32> {
        while let Some(log) = self.emptied.pop() {
            let Log { group, live, blocks, .. } = &self.all[log as usize];
            if wanted && *live == 0 && !blocks.is_empty() && self.newest(*group) != Some(log) {
                return Some(log);
            }
        }
        None
    }

    /// The data block of the next page in a log that is the last word on something.
    pub(super) fn next_in(&mut self, blocks: &Blocks, log: u32) -> Option<LogicalBlock> {
        let ppb = blocks.ppb();
        let log = &mut self.all[log as usize];
        while let Some((&block, entries)) =
            log.blocks.get(log.scanned.0).zip(log.entries.get(log.scanned.0))
        {
            while let Some(entry) = entries.get(log.scanned.1) {
                let ppn = block.page(log.scanned.1 as u32, ppb);
                let lbn = match *entry {
                    Entry::Page(page) => blocks.is_last(page, ppn).then(|| blocks.split(page).0),
                    Entry::Tombstone(lbn) => blocks.speaks_of(lbn, ppn).then_some(lbn),
                };
                if lbn.is_some() {
                    return lbn;
                }
                log.scanned.1 += 1;
            }
            log.scanned = (log.scanned.0 + 1, 0);
        }
        None
    }

    fn detach(&mut self, index: u32) -> Log {
        let log = std::mem::take(&mut self.all[index as usize]);
        for &block in &log.blocks {
            self.log_of[block.index()] = NONE;
        }
        self.order.remove(&mut self.links, index);
        self.unused.push(index);
        log
    }

    /// Takes all logs from a group, the oldest first; what becomes of their blocks is the caller's
    /// business. They are put back then.
    pub(super) fn release_all(&mut self, group: u32, into: &mut Vec<Log>) {
        while let Some(log) = self.groups[group as usize].pop_front() {
            into.push(self.detach(log));
        }
    }

    /// Logs that have been taken are none any more.
    pub(super) fn put_back(&mut self, taken: &mut Vec<Log>) {
        taken.drain(..).for_each(|log| self.keep(log));
    }

    /// Keeps a log that is none any more for the memory of its lists, but for the entries: those
    /// count for the memory of the map, of which a log that is none takes nothing.
    fn keep(&mut self, mut log: Log) {
        log.blocks.clear();
        log.labels.clear();
        log.entries.clear();
        (log.live, log.scanned) = (0, (0, 0));
        self.shells.push(log);
    }

    /// Erases a log that holds nothing any more.
    pub(super) fn release(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, index: u32) {
        let group = self.group(index);
        self.groups[group as usize].retain(|&log| log != index);
        let log = self.detach(index);
        for &block in &log.blocks {
            if cx.flash.write_ptr(block) > 0 {
                blocks.erase(cx, block, CAUSE, JoinId::NONE);
            } else {
                blocks.give_back(block);
            }
        }
        self.keep(log);
    }

    /// Blocks in use.
    pub(super) fn blocks(&self) -> Vec<BlockId> {
        self.all.iter().flat_map(|log| &log.blocks).copied().collect()
    }

    pub(super) fn describe(&self) -> String {
        format!(
            "{} of {} log blocks are in use, ",
            self.all.len() - self.unused.len(),
            self.all.len()
        )
    }

    pub(super) fn bytes(&self) -> usize {
        let entries = self.all.iter().flat_map(|log| &log.entries);
        self.all.len() * size_of::<Log>()
            + self.groups.len() * size_of::<VecDeque<u32>>()
            + self.log_of.len() * 4
            + self.links.bytes()
            + entries.map(|column| column.capacity() * size_of::<Entry>()).sum::<usize>()
    }
}
