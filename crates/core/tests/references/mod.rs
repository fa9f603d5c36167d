//! Schemes written a second time, straight from their papers: plain lists, scans, no speed.

pub mod arc;
pub mod blas;
pub mod block_lru;
pub mod bpac;
pub mod bplru;
pub mod cbm;
pub mod cflru;
pub mod clc;
pub mod clock;
pub mod epo;
pub mod fab;
pub mod hbm;
pub mod lb_clock;
pub mod lirs_wsr;
pub mod paged;
pub mod parallel;
pub mod ref_policy;
pub mod request_lru;
pub mod s3_fifo;
pub mod sftl;
pub mod split_lru;
pub mod supa;
pub mod w_tinylfu;

use eraseblock_core::buffer::{Action, Span};
use serde_json::Value;

/// A scheme's configuration, and the same scheme by the book.
pub type Pair = (Value, Box<dyn Reference>);

/// What one call made a scheme do: for each page of the span whether it was a hit, and what left, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    pub hits: Vec<bool>,
    pub left: Vec<(Action, Vec<(u32, bool)>)>,
}

/// A scheme from its paper.
pub trait Reference {
    /// Reads or writes consecutive pages of one block.
    fn access(&mut self, span: &Span) -> Decisions;
    /// The next spans are those of a request that writes so many pages in all.
    fn writes(&mut self, _request: u64, _pages: u32) {}
    /// The next write covers only these bytes of a page of `of` bytes.
    fn part(&mut self, _page: u32, _bytes: std::ops::Range<u32>, _of: u32) {}
    /// The host gives a page up.
    fn trim(&mut self, page: u32);
    /// Everything dirty is written.
    fn flush(&mut self) -> Decisions;
    /// These pages of one block are written at once, where they are held: forced unit access.
    fn force(&mut self, first: u32, count: u32) -> Decisions;
}

/// Pages of one block in a buffer: page and whether it is dirty, upwards.
#[derive(Debug, Clone, Default)]
pub struct Block {
    pub number: u32,
    pub pages: Vec<(u32, bool)>,
}

impl Block {
    pub fn put(&mut self, page: u32, dirty: bool) {
        self.pages.push((page, dirty));
        self.pages.sort_unstable();
    }

    pub fn has(&self, page: u32) -> bool {
        self.pages.iter().any(|&(held, _)| held == page)
    }

    pub fn set_dirty(&mut self, page: u32) {
        self.pages.iter_mut().filter(|(held, _)| *held == page).for_each(|(_, dirty)| *dirty = true);
    }

    /// A page is read or written; it joins if it is not there.
    pub fn serve(&mut self, page: u32, write: bool) {
        if !self.has(page) {
            self.put(page, write);
        } else if write {
            self.set_dirty(page);
        }
    }

    pub fn drop(&mut self, page: u32) {
        self.pages.retain(|&(held, _)| held != page);
    }

    /// The whole block leaves: dirty pages are written, clean ones dropped.
    pub fn leave(self, done: &mut Decisions) {
        done.leave(Action::Flush, self.dirty());
        done.leave(Action::Drop, self.clean());
    }

    pub fn dirty(&self) -> Vec<(u32, bool)> {
        self.pages.iter().copied().filter(|page| page.1).collect()
    }

    pub fn clean(&self) -> Vec<(u32, bool)> {
        self.pages.iter().copied().filter(|page| !page.1).collect()
    }

    /// The dirty ones of these pages are written and stay.
    pub fn write_back_some(&mut self, first: u32, count: u32) -> Option<(Action, Vec<(u32, bool)>)> {
        let chosen = |page: &&mut (u32, bool)| page.1 && (first..first + count).contains(&page.0);
        let written: Vec<_> = self.pages.iter_mut().filter(chosen).collect();
        let pages = written.into_iter().map(|page| (page.0, std::mem::take(&mut page.1))).collect::<Vec<_>>();
        (!pages.is_empty()).then_some((Action::WriteBack, pages))
    }

    /// Dirty pages are written and stay.
    pub fn write_back(&mut self) -> Option<(Action, Vec<(u32, bool)>)> {
        let dirty = self.dirty();
        self.pages.iter_mut().for_each(|page| page.1 = false);
        (!dirty.is_empty()).then_some((Action::WriteBack, dirty))
    }
}

/// Pages of all blocks.
pub fn held(blocks: &[Block]) -> usize {
    blocks.iter().map(|block| block.pages.len()).sum()
}

/// These pages are forced: a write buffer lets their whole block go, another one writes them and keeps them.
pub fn force(blocks: &mut Vec<Block>, bypass: bool, first: u32, count: u32) -> Decisions {
    let mut done = Decisions::default();
    let wanted = |block: &Block| (first..first + count).any(|page| block.has(page));
    let Some(at) = blocks.iter().position(wanted) else { return done };
    if bypass {
        blocks.remove(at).leave(&mut done);
    } else {
        done.left.extend(blocks[at].write_back_some(first, count));
    }
    done
}

/// What a write buffer has written has gone.
pub fn empty(blocks: &mut Vec<Block>, done: &mut Decisions) {
    blocks.clear();
    done.left.iter_mut().for_each(|(action, _)| *action = Action::Flush);
}

impl Decisions {
    pub fn leave(&mut self, action: Action, pages: Vec<(u32, bool)>) {
        if !pages.is_empty() {
            self.left.push((action, pages));
        }
    }
}
