//! A schedule that a buffer could really carry out, and the erases that it causes.
//!
//! Assumes of the mapping that a whole block, written in order, costs one erase. The buffer then
//! completes each block that it stores from flash. Where there are log blocks, it goes on in a log
//! that ends before what is stored ([`InOrder`](super::in_order::InOrder)).
//!
//! The schedule knows the future: when there has to be room, a block leaves that the plan under
//! the best prices stores before it is written again, the one that is written again last first;
//! where there is none, the one with most pages. Nothing leaves before there has to be room.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{History, Step};
use super::in_order::InOrder;

/// Blocks that are looked at for one to leave, at most and about, where the plan names none.
const LOOKED_AT: usize = 256;

/// What is programmed, and what it costs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Erases.
    pub erases: u64,
    /// First logical page and pages of each write, all in one block.
    pub writes: Vec<(u32, u32)>,
}

/// What a buffer of `slots` pages does that follows `plan`: for each block of the history the
/// entries after which it is stored, upwards. O(n log n), but for stepping over all blocks in the
/// buffer where the plan stores none of them.
pub fn carried_out(
    steps: &[Step],
    history: &History,
    plan: &[Vec<u32>],
    limits: Limits,
) -> Schedule {
    let mut buffer = Buffer::new(history, plan, limits);
    for &step in steps {
        match step {
            Step::Write { first, count, forced } => buffer.write(first, count, forced),
            // Of a workload with trims no schedule is made.
            Step::Trim { .. } => {}
            Step::Flush => buffer.flush(),
        }
    }
    if limits.flushed_at_end {
        buffer.flush();
    }
    buffer.done
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
    /// Log blocks that may be written in order; none: whole blocks are stored.
    pub logs: Option<u32>,
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
    /// The window under which each of them is found there.
    due_by: BTreeMap<u32, u32>,
    logs: Option<InOrder>,
    done: Schedule,
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
            due_by: BTreeMap::new(),
            logs: limits.logs.map(InOrder::new),
            done: Schedule::default(),
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
            if let (Some(&first), Some(&last)) = (pages.first(), pages.last()) {
                self.program(block, first, last);
            }
        }
        self.is_not_due(block);
    }

    fn is_not_due(&mut self, block: u32) {
        if let Some(again) = self.due_by.remove(&block) {
            self.due.remove(&(again, block));
        }
    }

    /// Pages of a block are programmed, with all between them.
    fn program(&mut self, block: u32, first: u32, last: u32) {
        let pages_per_block = self.limits.pages_per_block;
        let begin = block * pages_per_block;
        let Some(logs) = &mut self.logs else {
            self.done.erases += 1;
            self.done.writes.push((begin, pages_per_block));
            return;
        };
        let taken = logs.take(block, first - begin);
        self.done.erases += u64::from(taken.erased);
        if let Some(from) = taken.completed_from.filter(|&from| from < pages_per_block) {
            self.done.writes.push((begin + from, pages_per_block - from));
        }
        let until = last + 1 - begin;
        self.done.writes.push((begin + taken.from, until - taken.from));
        logs.ends_at(block, until);
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
        self.is_not_due(block);
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
                self.program(block, first, first + count - 1);
                stays = false;
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
                self.due_by.insert(block, again);
            }
        }
        (self.window, self.filled) = (self.window + 1, 0);
    }

    fn flush(&mut self) {
        while let Some((&block, _)) = self.dirty.first_key_value() {
            self.store(block);
        }
        self.written.clear();
        if self.filled > 0 {
            (self.window, self.filled) = (self.window + 1, 0);
        }
    }
}
