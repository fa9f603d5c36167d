//! A schedule that a buffer could really carry out, and how often it stores pages of a block.
//!
//! Assumes of the mapping that a whole block, written in order, costs one erase. The buffer then
//! completes each block that it stores from flash.
//!
//! The schedule knows the future: when there has to be room, a block leaves that the plan under
//! the best prices stores before it is written again, the one that is written again last first;
//! where there is none, the one with most pages. Nothing leaves before there has to be room.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{History, Step};

/// Blocks that are looked at for one to leave, at most and about, where the plan names none.
const LOOKED_AT: usize = 256;

/// Blocks stored by a buffer of `slots` pages that follows `plan`: for each block of the history
/// the entries after which it is stored, upwards. O(n log n), but for stepping over all blocks
/// in the buffer where the plan stores none of them.
pub fn carried_out(steps: &[Step], history: &History, plan: &[Vec<u32>], limits: Limits) -> u64 {
    let mut buffer = Buffer::new(history, plan, limits);
    for &step in steps {
        match step {
            Step::Write { first, count, forced } => buffer.write(first, count, forced),
            Step::Trim { first, count } => buffer.trim(first, count),
            Step::Flush => buffer.flush(),
        }
    }
    if limits.flushed_at_end {
        buffer.flush();
    }
    buffer.stores
}

/// What the schedule has to keep to, and how windows end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Pages of the buffer.
    pub slots: u64,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Pages written in a window; see [`History::new`].
    pub pages: u32,
    /// What is left is stored at the end.
    pub flushed_at_end: bool,
}

#[derive(Debug)]
struct Buffer<'a> {
    limits: Limits,
    history: &'a History,
    plan: &'a [Vec<u32>],
    /// Place of a block in the history.
    place: BTreeMap<u32, usize>,
    /// Dirty pages of each block.
    dirty: BTreeMap<u32, BTreeSet<u32>>,
    pages: u64,
    /// Blocks that the plan stores now, by the window in which they are written again.
    due: BTreeSet<(u32, u32)>,
    stores: u64,
    window: u32,
    filled: u32,
    /// Blocks written in this window.
    written: BTreeSet<u32>,
}

impl<'a> Buffer<'a> {
    fn new(history: &'a History, plan: &'a [Vec<u32>], limits: Limits) -> Self {
        let place = history.blocks.iter().enumerate().map(|(at, block)| (block.number, at));
        Self {
            limits,
            history,
            plan,
            place: place.collect(),
            dirty: BTreeMap::new(),
            pages: 0,
            due: BTreeSet::new(),
            stores: 0,
            window: 0,
            filled: 0,
            written: BTreeSet::new(),
        }
    }

    /// When the block is written again after this window, and whether the plan stores it before.
    fn outlook(&self, block: u32) -> (u32, bool) {
        let Some(&place) = self.place.get(&block) else { return (u32::MAX, true) };
        let entries = &self.history.blocks[place].entries;
        let next = entries.partition_point(|entry| entry.window <= self.window);
        let again = entries.get(next).map_or(u32::MAX, |entry| entry.window);
        let now = next.checked_sub(1).map(|entry| entry as u32);
        (again, now.is_some_and(|now| self.plan[place].binary_search(&now).is_ok()))
    }

    /// A block is stored, as one.
    fn store(&mut self, block: u32) {
        if let Some(pages) = self.dirty.remove(&block) {
            self.pages -= pages.len() as u64;
            self.stores += 1;
        }
        let (again, _) = self.outlook(block);
        self.due.remove(&(again, block));
    }

    /// The block to leave, other than `not`.
    fn victim(&self, not: u32) -> Option<u32> {
        if let Some(&(_, block)) = self.due.iter().rev().find(|due| due.1 != not) {
            return Some(block);
        }
        let apart = self.dirty.len() / LOOKED_AT + 1;
        let others = self.dirty.iter().filter(|(block, _)| **block != not).step_by(apart);
        let value = |(block, pages): &(&u32, &BTreeSet<u32>)| {
            let (again, _) = self.outlook(**block);
            let wait = u64::from(again.min(self.history.windows) - self.window.min(again));
            (pages.len() as u64 * (wait + 1), **block)
        };
        others.max_by_key(value).map(|(block, _)| *block)
    }

    fn write(&mut self, first: u32, count: u32, forced: bool) {
        let block = first / self.limits.pages_per_block;
        let due: Vec<_> = self.due.iter().filter(|due| due.1 == block).copied().collect();
        for one in due {
            self.due.remove(&one);
        }
        self.written.insert(block);
        let mut stays = true;
        loop {
            let held = self.dirty.get(&block);
            let new = (first..first + count)
                .filter(|page| !held.is_some_and(|held| held.contains(page)))
                .count() as u64;
            if self.pages + new <= self.limits.slots {
                break;
            }
            if let Some(victim) = self.victim(block) {
                self.store(victim);
            } else if self.dirty.contains_key(&block) {
                self.store(block);
            } else {
                // It is written past the buffer.
                (stays, self.stores) = (false, self.stores + 1);
                break;
            }
        }
        if stays {
            let held = self.dirty.entry(block).or_default();
            let before = held.len() as u64;
            held.extend(first..first + count);
            self.pages += held.len() as u64 - before;
            if forced {
                self.store(block);
            }
        }
        self.filled += count;
        if self.filled >= self.limits.pages {
            self.end_window();
        }
    }

    fn end_window(&mut self) {
        for block in std::mem::take(&mut self.written) {
            if self.dirty.contains_key(&block)
                && let (again, true) = self.outlook(block)
            {
                self.due.insert((again, block));
            }
        }
        (self.window, self.filled) = (self.window + 1, 0);
    }

    fn trim(&mut self, first: u32, count: u32) {
        if count == 0 {
            return;
        }
        let last = first + count - 1;
        for block in first / self.limits.pages_per_block..=last / self.limits.pages_per_block {
            let Some(held) = self.dirty.get_mut(&block) else { continue };
            let before = held.len();
            held.retain(|page| !(first..=last).contains(page));
            self.pages -= (before - held.len()) as u64;
            if held.is_empty() {
                self.dirty.remove(&block);
                let (again, _) = self.outlook(block);
                self.due.remove(&(again, block));
            }
        }
    }

    fn flush(&mut self) {
        self.stores += self.dirty.len() as u64;
        self.dirty.clear();
        self.due.clear();
        self.pages = 0;
        self.written.clear();
        if self.filled > 0 {
            (self.window, self.filled) = (self.window + 1, 0);
        }
    }
}
