//! What block-granular schemes have in common: a directory of blocks, and an order that says which
//! one leaves.
//!
//! A page served and a block that has to go ask the scheme's [`BlockOrder`]; everything else
//! (answers, dirty marks, trims, flush commands) is the same for all of them and done here. A block
//! leaves as a whole: its dirty pages are written upwards, its clean ones dropped. A flush command
//! writes dirty pages and keeps them, clean; a write-only buffer (`reads = "bypass"`) has nothing
//! to keep them for, and lets the blocks go.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::{Directory, ReadPolicy, require_room};
use crate::buffer::{
    Action, Answer, Buffer, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span, View,
};
use crate::support::NONE;
use crate::support::ids::Lpn;
use crate::support::registry::Choice;

/// When room is made for a page whose block is already buffered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvictOrder {
    /// Before that block moves to the front; it may be the one that leaves.
    #[default]
    EvictFirst,
    /// After it has moved to the front.
    TouchFirst,
}

/// What the papers on block schemes leave open.
pub const EVICT_ORDER: Choice = Choice {
    option: "evict_order",
    others: &[r#""touch-first""#],
    open: "whether room is made before or after the used block moves to the front",
};

/// The order of a block-granular scheme. Nodes are those of the [`Directory`].
pub trait BlockOrder: std::fmt::Debug + Send {
    /// How dirty pages leave.
    fn action(&self) -> Action {
        Action::Evict
    }

    /// A page is about to join a block that is held, which counts as use before room is made
    /// ([`EvictOrder::TouchFirst`]). [`Self::insert`] follows for the same page, as `fresh` if the
    /// block itself had to leave: an order that counts uses counts this one once.
    fn raise(&mut self, node: u32, blocks: &Directory);

    /// The host uses page `lpn`, which is held: reads or writes it, but where reads move nothing
    /// only writes come here.
    fn touch(&mut self, node: u32, lpn: Lpn, blocks: &Directory, out: &mut Outcome);

    /// Page `lpn` has come to a block, which is `fresh` if it was not held before.
    fn insert(&mut self, node: u32, lpn: Lpn, fresh: bool, blocks: &Directory, out: &mut Outcome);

    /// The block that leaves next, and why.
    fn victim(&self, blocks: &Directory) -> Option<(u32, Reason)>;

    /// A block is gone, or about to be.
    fn remove(&mut self, node: u32, blocks: &Directory);

    /// A block has lost a page to a trim, and still holds others.
    fn shrink(&mut self, node: u32, blocks: &Directory);

    /// All blocks, the most recent or otherwise safest first.
    fn nodes(&self) -> impl Iterator<Item = u32>;

    /// The blocks with dirty pages, in the order in which they would have to make room.
    ///
    /// Not called where reads bypass the buffer. An order of anything but use has its own
    /// (`fab.rs`). In an order of use those written since the last flush are behind no others than
    /// those used since. So all blocks are followed from the front until as many are found as there
    /// are: O(1) for each block used.
    fn leaving(&self, blocks: &Directory) -> Vec<u32> {
        let dirty = self.nodes().filter(|&node| blocks.dirty(node) > 0);
        let mut nodes: Vec<u32> = dirty.take(blocks.dirty_nodes().len()).collect();
        nodes.reverse();
        nodes
    }

    /// The host no longer needs these pages.
    fn trim(&mut self, blocks: &mut Directory, mut pages: Range<Lpn>) {
        while let Some((_, node, gone)) = blocks.remove_next(&mut pages) {
            if gone {
                self.remove(node, blocks);
            } else {
                self.shrink(node, blocks);
            }
        }
    }

    /// Compares redundant state of the order's own.
    ///
    /// # Errors
    /// What does not agree.
    fn check(&self, _blocks: &Directory) -> Result<(), String> {
        Ok(())
    }

    /// Compares that, and the order with the blocks.
    ///
    /// # Errors
    /// What does not agree.
    fn agrees(&self, blocks: &Directory) -> Result<(), String> {
        self.check(blocks).and_then(|()| blocks.check(self.nodes()))
    }

    /// The pages of all blocks, the safest block first.
    fn dump(&self, blocks: &Directory) -> Vec<Vec<Lpn>> {
        self.nodes().map(|node| blocks.iter(node).map(|page| page.lpn).collect()).collect()
    }

    /// Bytes held.
    fn bytes(&self) -> usize;

    /// Bytes of all state by the scheme's paper, where it says how to count them.
    fn paper_bytes(&self, _blocks: &Directory) -> Option<u64> {
        None
    }
}

/// A block-granular scheme.
#[derive(Debug)]
pub struct Blocked<O> {
    name: &'static str,
    reads: ReadPolicy,
    evict_order: EvictOrder,
    blocks: Directory,
    order: O,
}

impl<O: BlockOrder + 'static> Blocked<O> {
    /// An empty buffer; `order` makes the order for so many nodes.
    ///
    /// # Errors
    /// No room for a page.
    pub fn new(
        name: &'static str,
        shape: Shape,
        reads: ReadPolicy,
        evict_order: EvictOrder,
        order: impl FnOnce(usize) -> O,
    ) -> Result<Self, String> {
        require_room(shape, 1)?;
        let blocks = Directory::new(shape);
        let order = order(blocks.nodes());
        Ok(Self { name, reads, evict_order, blocks, order })
    }

    fn evict(&mut self, node: u32, reason: Reason, out: &mut Outcome) {
        self.order.remove(node, &self.blocks);
        self.blocks.evict(node, self.order.action(), reason, out);
    }

    #[inline(never)]
    fn access_pages(&mut self, span: &Span, out: &mut Outcome) {
        for lpn in span.pages() {
            self.access_page(lpn, span.write, out);
        }
    }

    #[inline]
    fn access_page(&mut self, lpn: Lpn, write: bool, out: &mut Outcome) {
        let bypass = !write && self.reads == ReadPolicy::Bypass;
        if self.blocks.holds(lpn) {
            if write {
                self.blocks.mark_dirty(lpn);
            }
            if !bypass {
                self.order.touch(self.blocks.node_of(lpn), lpn, &self.blocks, out);
            }
            out.answer(Answer::Hit);
        } else if bypass {
            out.answer(Answer::Bypass);
        } else {
            self.take_in(lpn, write, out);
        }
    }

    // Not inlined: a hit need not prepare for a miss.
    #[inline(never)]
    fn take_in(&mut self, lpn: Lpn, write: bool, out: &mut Outcome) {
        self.insert(lpn, write, out);
        out.answer(if write { Answer::Insert } else { Answer::Fill });
    }

    fn insert(&mut self, lpn: Lpn, dirty: bool, out: &mut Outcome) {
        let node = self.blocks.node_of(lpn);
        if node != NONE && self.evict_order == EvictOrder::TouchFirst {
            self.order.raise(node, &self.blocks);
        }
        if self.blocks.is_full()
            && let Some((victim, reason)) = self.order.victim(&self.blocks)
        {
            self.evict(victim, reason, out);
        }
        let (node, fresh) = self.blocks.insert(lpn, dirty);
        self.order.insert(node, lpn, fresh, &self.blocks, out);
    }
}

impl<O: BlockOrder + 'static> Buffer for Blocked<O> {
    fn pads_blocks(&self) -> bool {
        self.order.action().pads()
    }

    fn access(&mut self, span: &Span, _view: &dyn View, out: &mut Outcome) {
        // Apart from the loop: a span of one page need not prepare for others.
        if span.count == 1 {
            self.access_page(span.first, span.write, out);
        } else {
            self.access_pages(span, out);
        }
    }

    fn trim(&mut self, first: Lpn, count: u32) {
        self.order.trim(&mut self.blocks, first..first + count);
    }

    fn flush(&mut self, out: &mut Outcome) {
        if self.reads == ReadPolicy::Bypass {
            while let Some((victim, _)) = self.order.victim(&self.blocks) {
                self.evict(victim, FLUSH_COMMAND, out);
            }
            return;
        }
        for node in self.order.leaving(&self.blocks) {
            self.blocks.write_back(node, FLUSH_COMMAND, out);
        }
    }

    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome) {
        if self.reads == ReadPolicy::Allocate {
            self.blocks.write_back_pages(first, count, FORCED, out);
        } else if first.run(count).any(|lpn| self.blocks.holds(lpn)) {
            self.evict(self.blocks.node_of(first), FORCED, out);
        }
    }

    fn len(&self) -> u32 {
        self.blocks.len()
    }

    fn holds(&self, lpn: Lpn) -> bool {
        self.blocks.holds(lpn)
    }

    fn check(&self) -> Result<(), String> {
        self.order.agrees(&self.blocks).map_err(|problem| format!("{}: {problem}", self.name))
    }

    fn metadata_bytes(&self) -> usize {
        self.blocks.bytes() + self.order.bytes()
    }

    fn paper_bytes(&self) -> Option<u64> {
        self.order.paper_bytes(&self.blocks)
    }

    fn dump(&self) -> Vec<Vec<Lpn>> {
        self.order.dump(&self.blocks)
    }
}
