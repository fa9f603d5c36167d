//! Log blocks that are written in order, from the first page of their block on, and are so given
//! up for one erase: completed from flash, they become the data block.
//!
//! Assumes of the mapping what [`Folding::Logs`](crate::metrics::observer::Folding::Logs) says of
//! logs in order, and that a full one stays until its block is written again.

use std::collections::BTreeMap;

/// The log blocks that are taken.
#[derive(Debug)]
pub struct InOrder {
    most: usize,
    /// Of each block with a log, how many pages that has, and when it was written.
    logs: BTreeMap<u32, (u32, u64)>,
    by_turn: BTreeMap<u64, u32>,
    turn: u64,
}

/// What it takes to program pages of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// The offset from which the block has to be written on.
    pub from: u32,
    /// A log was given up.
    pub erased: bool,
    /// It was the block's own, which has been completed from this offset on.
    pub completed_from: Option<u32>,
}

impl InOrder {
    /// So many log blocks.
    pub fn new(most: u32) -> Self {
        let (logs, by_turn) = (BTreeMap::new(), BTreeMap::new());
        Self { most: most as usize, logs, by_turn, turn: 0 }
    }

    /// Takes pages of a block, the first of them at an offset.
    pub fn take(&mut self, block: u32, offset: u32) -> Taken {
        let anew = Taken { from: 0, erased: true, completed_from: None };
        if let Some(&(written, turn)) = self.logs.get(&block) {
            self.by_turn.remove(&turn);
            if written <= offset {
                return Taken { from: written, erased: false, ..anew };
            }
            return Taken { completed_from: Some(written), ..anew };
        }
        if self.logs.len() < self.most {
            return Taken { erased: false, ..anew };
        }
        if let Some((_, victim)) = self.by_turn.pop_first() {
            self.logs.remove(&victim);
        }
        anew
    }

    /// The block's log has so many pages now, and is the one written last.
    pub fn ends_at(&mut self, block: u32, pages: u32) {
        self.turn += 1;
        self.logs.insert(block, (pages, self.turn));
        self.by_turn.insert(self.turn, block);
    }
}
