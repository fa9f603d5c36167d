//! Log blocks in which pages of all logical blocks lie, and one for a run of pages in order: FAST.

use std::collections::VecDeque;

use super::Units;
use crate::support::ids::{LogicalBlock, Lpn};

/// The log blocks, and where the newest versions of pages lie.
#[derive(Debug)]
pub struct SharedLogs {
    pages_per_block: u32,
    logs: u32,
    /// Pages in log blocks, the one written first in front; as many to a log block as a block has.
    written: VecDeque<u32>,
    /// Number of the first of them.
    first: u32,
    /// Number + 1 of each page's newest version among them, or 0.
    newest: Vec<u32>,
    /// The block that owns the sequential log, and the pages in it.
    run: (LogicalBlock, u32),
}

impl SharedLogs {
    /// Nothing is in them.
    pub fn new(pages: u32, pages_per_block: u32, logs: u32) -> Self {
        Self {
            pages_per_block,
            logs: logs.max(1),
            written: VecDeque::new(),
            first: 0,
            newest: vec![0; pages as usize],
            run: (LogicalBlock::NONE, 0),
        }
    }

    /// Writes pages.
    pub fn write(
        &mut self,
        units: &mut Units,
        unit: u32,
        pages: impl Iterator<Item = Lpn>,
        mut stored: impl FnMut(u64),
    ) {
        for lpn in pages {
            let (block, offset) =
                (lpn.block(self.pages_per_block), lpn.offset(self.pages_per_block));
            if offset == 0 {
                self.finish(units);
                self.run = (block, 0);
            } else if self.run.0 == block && offset != self.run.1 {
                // A run that is broken is folded, together with the page.
                let copies =
                    self.pages_per_block - if offset > self.run.1 { self.run.1 } else { 0 };
                let full = offset < self.run.1;
                self.run.0 = LogicalBlock::NONE;
                self.forget(block);
                units.copy(unit, copies.saturating_sub(1));
                stored(units.program(unit, 1));
                units.erase(unit, 1 + u32::from(full));
                continue;
            }
            if self.run.0 == block {
                self.run.1 += 1;
                self.newest[lpn.index()] = 0;
                stored(units.program(unit, 1));
                if self.run.1 == self.pages_per_block {
                    self.finish(units);
                }
            } else {
                if self.written.len() as u32 >= self.logs * self.pages_per_block {
                    self.empty(units, lpn);
                }
                self.written.push_back(lpn.0);
                self.newest[lpn.index()] = self.first.wrapping_add(self.written.len() as u32);
                let log = self.newest[lpn.index()].wrapping_sub(1) / self.pages_per_block;
                stored(units.program(log % units.count(), 1));
            }
        }
    }

    /// No newest version of a block's pages lies in a log.
    fn forget(&mut self, block: LogicalBlock) {
        let range = block.range(self.pages_per_block);
        let end = range.end.index().min(self.newest.len());
        self.newest[range.start.index()..end].fill(0);
    }

    /// The run becomes the data block.
    fn finish(&mut self, units: &mut Units) {
        let (block, pages) = std::mem::replace(&mut self.run, (LogicalBlock::NONE, 0));
        if !block.is_none() {
            let unit = block.0 % units.count();
            if pages < self.pages_per_block {
                self.forget(block);
            }
            units.copy(unit, self.pages_per_block - pages);
            units.erase(unit, 1);
        }
    }

    /// Folds each block with a newest page in the oldest log, but for the page that is replaced.
    fn empty(&mut self, units: &mut Units, replaced: Lpn) {
        self.newest[replaced.index()] = 0;
        let log = self.first / self.pages_per_block % units.count();
        for _ in 0..self.pages_per_block {
            let Some(page) = self.written.pop_front() else { break };
            self.first = self.first.wrapping_add(1);
            if self.newest[page as usize] == self.first {
                let block = Lpn(page).block(self.pages_per_block);
                let unit = block.0 % units.count();
                if self.run.0 == block {
                    self.finish(units);
                } else {
                    units.copy(unit, self.pages_per_block);
                    units.erase(unit, 1);
                }
                self.forget(block);
            }
        }
        units.erase(log, 1);
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.newest.len() * 4 + self.written.capacity() * 4
    }
}
