//! The directory that block-granular schemes share: which pages of which logical blocks are held.
//!
//! Two levels, as in Kim & Ahn 2008, section 3.4: a table over logical blocks, and for each
//! buffered block a node with its pages. Where the paper's nodes hold page pointers, these hold two
//! bits a page: held and dirty.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::buffer::{Action, Evicted, Outcome, Reason, Shape};
use crate::support::NONE;
use crate::support::bits::Bits;
use crate::support::ids::{LogicalBlock, Lpn};
use crate::support::members::Members;

/// What reads do to a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadPolicy {
    /// A read miss takes its page into the buffer, a read hit counts as use.
    #[default]
    Allocate,
    /// A read miss bypasses the buffer, a read hit moves nothing.
    Bypass,
}

/// Refuses a buffer that holds less than `pages` pages.
///
/// # Errors
/// A sentence with both numbers.
pub fn require_room(shape: Shape, pages: u32) -> Result<(), String> {
    if shape.capacity < pages {
        return Err(format!(
            "buffer.size: found room for {} page(s), expected at least {pages}; \
             say how large it is, as with buffer.size = \"4 MiB\" (of compare: --buffer-size 4MiB)",
            shape.capacity
        ));
    }
    if shape.capacity >= 1 << 30 || shape.logical_pages >= 1 << 31 {
        return Err(
            "buffer.size: a buffer takes up to 1073741823 pages of a drive of up to 2147483647"
                .into(),
        );
    }
    Ok(())
}

/// Refuses an option of a scheme that is no share of something.
///
/// # Errors
/// The option, what was found and what was expected.
pub fn require_share(option: &str, share: f64) -> Result<(), String> {
    if (0.0..=1.0).contains(&share) {
        Ok(())
    } else {
        Err(format!("buffer.scheme.{option}: found {share}, expected a share from 0 to 1"))
    }
}

/// A buffered block.
#[derive(Debug, Clone, Copy)]
struct Node {
    lbn: LogicalBlock,
    pages: u32,
    dirty: u32,
}

/// Buffered blocks and their pages. Nodes are numbered from 0; the schemes keep their order by
/// these numbers.
#[derive(Debug)]
pub struct Directory {
    pages_per_block: u32,
    capacity: u32,
    len: u32,
    /// Node of each logical block, inverted: no memory is touched where there is none.
    node_of: Vec<u32>,
    nodes: Vec<Node>,
    /// Nodes with dirty pages.
    dirty_nodes: Members,
    held: Bits,
    dirty: Bits,
    free: Vec<u32>,
}

impl Directory {
    /// An empty directory. A node takes at least one page, so that there are as many as pages.
    pub fn new(shape: Shape) -> Self {
        let blocks = shape.logical_pages.div_ceil(shape.pages_per_block);
        let nodes = shape.capacity.min(blocks);
        let bits = nodes as usize * shape.pages_per_block as usize;
        Self {
            pages_per_block: shape.pages_per_block,
            capacity: shape.capacity,
            len: 0,
            node_of: vec![!NONE; blocks as usize],
            nodes: vec![Node { lbn: LogicalBlock::NONE, pages: 0, dirty: 0 }; nodes as usize],
            dirty_nodes: Members::new(nodes as usize),
            held: Bits::new(bits),
            dirty: Bits::new(bits),
            free: (0..nodes).rev().collect(),
        }
    }

    /// Logical blocks of the drive.
    pub fn logical_blocks(&self) -> usize {
        self.node_of.len()
    }

    /// Nodes that there can be.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Pages held.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether no page is held.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether another page does not fit.
    pub fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    /// Pages that there is room for.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Blocks of which pages are held.
    pub fn blocks(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// Pages of a logical block.
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// The node of logical block `lbn`, or [`NONE`].
    #[inline]
    pub fn node(&self, lbn: LogicalBlock) -> u32 {
        !self.node_of[lbn.index()]
    }

    /// The logical block that a page lies in.
    #[inline]
    pub fn block_of(&self, lpn: Lpn) -> LogicalBlock {
        lpn.block(self.pages_per_block)
    }

    /// The node of the logical block that a page lies in, or [`NONE`].
    #[inline]
    pub fn node_of(&self, lpn: Lpn) -> u32 {
        self.node(self.block_of(lpn))
    }

    /// Logical block of a node.
    pub fn lbn(&self, node: u32) -> LogicalBlock {
        self.nodes[node as usize].lbn
    }

    /// Pages held of a node's block.
    #[inline]
    pub fn pages(&self, node: u32) -> u32 {
        self.nodes[node as usize].pages
    }

    /// Dirty pages among them.
    #[inline]
    pub fn dirty(&self, node: u32) -> u32 {
        self.nodes[node as usize].dirty
    }

    /// The nodes of which pages are dirty, in an order that means nothing.
    pub fn dirty_nodes(&self) -> &Members {
        &self.dirty_nodes
    }

    /// The bit of a node's first page.
    #[inline]
    fn first_bit(&self, node: u32) -> usize {
        node as usize * self.pages_per_block as usize
    }

    #[inline]
    fn bit(&self, node: u32, lpn: Lpn) -> usize {
        self.first_bit(node) + lpn.offset(self.pages_per_block) as usize
    }

    /// Whether page `lpn` is held.
    #[inline]
    pub fn holds(&self, lpn: Lpn) -> bool {
        let node = self.node_of(lpn);
        node != NONE && self.held.get(self.bit(node, lpn))
    }

    /// A held page has been written.
    #[inline]
    pub fn mark_dirty(&mut self, lpn: Lpn) {
        let node = self.node_of(lpn);
        let bit = self.bit(node, lpn);
        if self.dirty.set(bit) {
            self.nodes[node as usize].dirty += 1;
            self.dirty_nodes.insert(node);
        }
    }

    /// Takes in a page that is not held; there must be room. Returns its block's node, and whether
    /// that is new.
    #[inline]
    pub fn insert(&mut self, lpn: Lpn, dirty: bool) -> (u32, bool) {
        debug_assert!(!self.is_full() && !self.holds(lpn));
        let lbn = self.block_of(lpn);
        let mut node = self.node(lbn);
        let fresh = node == NONE;
        if fresh {
            let Some(id) = self.free.pop() else {
                unreachable!("as many nodes as pages or blocks")
            };
            node = id;
            self.node_of[lbn.index()] = !id;
            self.nodes[id as usize] = Node { lbn, pages: 0, dirty: 0 };
        }
        let bit = self.bit(node, lpn);
        self.held.set(bit);
        self.nodes[node as usize].pages += 1;
        self.len += 1;
        if dirty {
            self.dirty.set(bit);
            self.nodes[node as usize].dirty += 1;
            self.dirty_nodes.insert(node);
        }
        (node, fresh)
    }

    /// Takes the first held page of `pages` out, which are those behind it from then on: its
    /// number, its node, and whether that is gone with it.
    pub fn remove_next(&mut self, pages: &mut Range<Lpn>) -> Option<(Lpn, u32, bool)> {
        let lpn = Lpn::each(pages.clone()).find(|&lpn| self.holds(lpn))?;
        pages.start = lpn + 1;
        let node = self.node_of(lpn);
        Some((lpn, node, self.remove(lpn).1))
    }

    /// Takes a held page out; whether it was dirty, and whether its node is gone with it.
    pub fn remove(&mut self, lpn: Lpn) -> (bool, bool) {
        let node = self.node_of(lpn);
        let bit = self.bit(node, lpn);
        self.held.clear(bit);
        let dirty = self.dirty.clear(bit);
        let state = &mut self.nodes[node as usize];
        state.pages -= 1;
        state.dirty -= u32::from(dirty);
        if state.dirty == 0 {
            self.dirty_nodes.remove(node);
        }
        self.len -= 1;
        let gone = state.pages == 0;
        if gone {
            self.node_of[state.lbn.index()] = !NONE;
            self.free.push(node);
        }
        (dirty, gone)
    }

    /// The most adjacent pages that are held of a node's block.
    pub fn longest_run(&self, node: u32) -> u32 {
        let first = self.first_bit(node);
        self.held.longest_run(first, first + self.pages_per_block as usize)
    }

    /// The pages held of a node's block, upwards.
    pub fn iter(&self, node: u32) -> impl Iterator<Item = Evicted> + '_ {
        let (first, last) = (self.first_bit(node), self.first_bit(node + 1));
        let base = self.lbn(node).first(self.pages_per_block);
        let mut at = first;
        std::iter::from_fn(move || {
            let bit = self.held.first_set(at, last)?;
            at = bit + 1;
            Some(Evicted { lpn: base + (bit - first) as u32, dirty: self.dirty.get(bit) })
        })
    }

    /// Takes a whole block out. Its dirty pages leave as `flush` says, upwards; clean ones are
    /// dropped.
    pub fn evict(&mut self, node: u32, flush: Action, reason: Reason, out: &mut Outcome) {
        let Node { pages, dirty, .. } = self.nodes[node as usize];
        let start = out.pages.len();
        out.pages.extend(self.iter(node).filter(|page| page.dirty));
        out.evict(start, flush, reason);
        if dirty < pages {
            let start = out.pages.len();
            out.pages.extend(self.iter(node).filter(|page| !page.dirty));
            out.evict(start, Action::Drop, reason);
        }
        self.forget(node);
    }

    /// Takes a whole block out. All its pages leave in the same way, upwards.
    pub fn evict_whole(&mut self, node: u32, action: Action, reason: Reason, out: &mut Outcome) {
        let start = out.pages.len();
        out.pages.extend(self.iter(node));
        out.evict(start, action, reason);
        self.forget(node);
    }

    /// Takes a whole block out, wherever its pages go.
    pub fn forget(&mut self, node: u32) {
        let (from, to) = (self.first_bit(node), self.first_bit(node + 1));
        self.held.clear_range(from, to);
        self.dirty.clear_range(from, to);
        let Node { lbn, pages, .. } = self.nodes[node as usize];
        self.len -= pages;
        self.nodes[node as usize].pages = 0;
        self.dirty_nodes.remove(node);
        self.node_of[lbn.index()] = !NONE;
        self.free.push(node);
    }

    /// The dirty pages of a block are written, upwards, and stay.
    pub fn write_back(&mut self, node: u32, reason: Reason, out: &mut Outcome) {
        let first = self.lbn(node).first(self.pages_per_block);
        self.write_back_pages(first, self.pages_per_block, reason, out);
    }

    /// The dirty ones of these pages of one block are written, upwards, and stay.
    pub fn write_back_pages(&mut self, first: Lpn, count: u32, reason: Reason, out: &mut Outcome) {
        let node = self.node_of(first);
        if node == NONE {
            return;
        }
        let start = out.pages.len();
        let wanted = first..first + count;
        out.pages.extend(self.iter(node).filter(|page| page.dirty && wanted.contains(&page.lpn)));
        let written = (out.pages.len() - start) as u32;
        out.evict(start, Action::WriteBack, reason);
        let from = self.bit(node, first);
        self.dirty.clear_range(from, from + count as usize);
        let state = &mut self.nodes[node as usize];
        state.dirty -= written;
        if state.dirty == 0 {
            self.dirty_nodes.remove(node);
        }
    }

    /// Compares counts with bits.
    ///
    /// # Errors
    /// What does not agree.
    pub fn check(&self, order: impl Iterator<Item = u32>) -> Result<(), String> {
        let (mut pages, mut blocks, mut dirty_blocks) = (0, 0, 0);
        for node in order {
            let state = self.nodes[node as usize];
            let (held, dirty) =
                self.iter(node).fold((0, 0), |(h, d), page| (h + 1, d + u32::from(page.dirty)));
            if (held, dirty) != (state.pages, state.dirty)
                || held == 0
                || self.node(state.lbn) != node
            {
                return Err(format!(
                    "block node {node} counts {state:?}, its bits say {held} held and {dirty} dirty"
                ));
            }
            (pages, blocks) = (pages + held, blocks + 1);
            dirty_blocks += usize::from(dirty > 0);
        }
        if dirty_blocks != self.dirty_nodes.len() {
            return Err(format!(
                "{dirty_blocks} blocks have dirty pages, {} are listed so",
                self.dirty_nodes.len()
            ));
        }
        if pages != self.len
            || pages > self.capacity
            || blocks + self.free.len() != self.nodes.len()
        {
            return Err(format!(
                "{pages} pages in {blocks} ordered blocks, {} pages counted",
                self.len
            ));
        }
        Ok(())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.node_of.len() * 4
            + self.nodes.len() * size_of::<Node>()
            + self.dirty_nodes.bytes()
            + self.held.bytes()
            + self.dirty.bytes()
            + self.free.capacity() * 4
    }
}
