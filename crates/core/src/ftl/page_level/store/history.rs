//! What is kept of each block beside its valid pages.

use serde::{Deserialize, Serialize};

use crate::ftl::victim::{HistoryView, Looks};
use crate::support::ids::BlockId;

/// What is kept of each block beside its valid pages, as far as somebody asks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct History {
    /// Pages that the host has written so far.
    pub now: u64,
    /// When a page of each block was last written or became invalid.
    changed: Vec<u64>,
    /// When each block was opened.
    opened: Vec<u64>,
    /// The order in which blocks were opened.
    pub sequence: Vec<u64>,
    pub openings: u64,
    /// The order in which blocks were closed.
    closed: Vec<u64>,
    order: u64,
    /// The order in which blocks were erased last; 0 for those that never were.
    erased: Vec<u64>,
    erasures: u64,
}

impl History {
    pub fn new(looks: Looks, regions: bool, sequence: bool, blocks: u32) -> Self {
        let kept = |wanted: bool| vec![0; if wanted { blocks as usize } else { 0 }];
        Self {
            changed: kept(looks.age),
            opened: kept(regions),
            sequence: kept(sequence),
            closed: kept(looks.order),
            erased: kept(looks.erased),
            ..Self::default()
        }
    }

    /// A page of `block` has been written or has become invalid.
    #[inline]
    pub fn change(&mut self, block: BlockId) {
        if let Some(at) = self.changed.get_mut(block.index()) {
            *at = self.now;
        }
    }

    pub fn open(&mut self, block: BlockId) {
        if let Some(at) = self.opened.get_mut(block.index()) {
            *at = self.now;
        }
        if let Some(at) = self.sequence.get_mut(block.index()) {
            self.openings += 1;
            *at = self.openings;
        }
    }

    /// Recovery has found that `block` was opened at `at`, counted in any way that grows.
    pub fn found(&mut self, block: BlockId, at: u64) {
        if let Some(sequence) = self.sequence.get_mut(block.index()) {
            *sequence = at;
            self.openings = self.openings.max(at);
        }
    }

    /// `into` gets the pages of `from`: where the order of blocks is kept, it counts as having been
    /// opened when that was.
    pub fn stand_for(&mut self, into: BlockId, from: BlockId) {
        if let Some(&sequence) = self.sequence.get(from.index()) {
            self.sequence[into.index()] = sequence;
        }
    }

    pub fn close(&mut self, block: BlockId) {
        if let Some(at) = self.closed.get_mut(block.index()) {
            self.order += 1;
            *at = self.order;
        }
    }

    pub fn erase(&mut self, block: BlockId) {
        if let Some(at) = self.erased.get_mut(block.index()) {
            self.erasures += 1;
            *at = self.erasures;
        }
    }

    /// Pages that the host has written since `block` was opened.
    pub fn since_opened(&self, block: BlockId) -> u64 {
        self.opened.get(block.index()).map_or(0, |at| self.now - at)
    }

    pub fn bytes(&self) -> usize {
        (self.changed.len()
            + self.opened.len()
            + self.sequence.len()
            + self.closed.len()
            + self.erased.len())
            * 8
    }

    /// What a policy looks at.
    pub fn view(&self) -> HistoryView<'_> {
        HistoryView {
            now: self.now,
            changed: &self.changed,
            closed: &self.closed,
            erased: &self.erased,
        }
    }
}
