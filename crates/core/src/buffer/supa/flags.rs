//! Which pages of buffered blocks the host has read and written, and how long the runs of them are.

use crate::buffer::kit::blocks::Directory;
use crate::pattern::Pattern;
use crate::support::NONE;
use crate::support::bits::Bits;
use crate::support::ids::{LogicalBlock, Lpn};

/// A read and a write flag for each page of each node.
#[derive(Debug)]
pub(super) struct Flags {
    pages_per_block: usize,
    read: Bits,
    written: Bits,
}

impl Flags {
    pub(super) fn new(nodes: usize, pages_per_block: u32) -> Self {
        let pages_per_block = pages_per_block as usize;
        let bits = nodes * pages_per_block;
        Self { pages_per_block, read: Bits::new(bits), written: Bits::new(bits) }
    }

    fn bit(&self, node: u32, lpn: Lpn) -> usize {
        node as usize * self.pages_per_block + lpn.index() % self.pages_per_block
    }

    /// The host has written or read a page.
    #[inline]
    pub(super) fn set(&mut self, node: u32, lpn: Lpn, write: bool) {
        let bit = self.bit(node, lpn);
        if write {
            self.written.set(bit)
        } else {
            self.read.set(bit)
        };
    }

    /// A page is gone.
    pub(super) fn clear(&mut self, node: u32, lpn: Lpn) {
        let bit = self.bit(node, lpn);
        self.written.clear(bit);
        self.read.clear(bit);
    }

    /// A block is gone.
    pub(super) fn clear_all(&mut self, node: u32) {
        let from = node as usize * self.pages_per_block;
        self.written.clear_range(from, from + self.pages_per_block);
        self.read.clear_range(from, from + self.pages_per_block);
    }

    /// Whether a page has a flag.
    pub(super) fn any(&self, node: u32, lpn: Lpn) -> bool {
        let bit = self.bit(node, lpn);
        self.written.get(bit) || self.read.get(bit)
    }

    /// Flags set.
    pub(super) fn count(&self, node: u32) -> u32 {
        let from = node as usize * self.pages_per_block;
        let all = from..from + self.pages_per_block;
        all.filter(|&bit| self.written.get(bit) || self.read.get(bit)).count() as u32
    }

    /// The runs of set flags of a node: first and end.
    fn runs<'a>(&'a self, bits: &'a Bits, node: u32) -> impl Iterator<Item = (usize, usize)> + 'a {
        let from = node as usize * self.pages_per_block;
        let to = from + self.pages_per_block;
        let mut at = from;
        std::iter::from_fn(move || {
            let first = bits.first_set(at, to)?;
            at = bits.first_clear(first, to).unwrap_or(to);
            Some((first - from, at - from))
        })
    }

    /// The longest run of a node, on into the buffered neighbours `before` and `after` (or
    /// [`NONE`]).
    fn longest(&self, bits: &Bits, node: u32, before: u32, after: u32) -> u32 {
        let end = self.pages_per_block;
        let ends = |node| {
            if node == NONE {
                return 0;
            }
            self.runs(bits, node)
                .last()
                .filter(|run| run.1 == end)
                .map_or(0, |(first, end)| end - first)
        };
        let begins = |node| {
            if node == NONE {
                0
            } else {
                self.runs(bits, node).next().filter(|r| r.0 == 0).map_or(0, |r| r.1)
            }
        };
        let length = |(first, to): (usize, usize)| {
            let joined = if first == 0 { ends(before) } else { 0 }
                + if to == end { begins(after) } else { 0 };
            to - first + joined
        };
        self.runs(bits, node).map(length).max().unwrap_or(0) as u32
    }

    /// The pattern of a buffered block: runs of more than `threshold` pages are sequential.
    pub(super) fn pattern(&self, blocks: &Directory, node: u32, threshold: u32) -> Pattern {
        let lbn = blocks.lbn(node);
        let before = lbn.0.checked_sub(1).map_or(NONE, |lbn| blocks.node(LogicalBlock(lbn)));
        let after =
            if lbn.index() + 1 == blocks.logical_blocks() { NONE } else { blocks.node(lbn + 1) };
        let [written, read] =
            [&self.written, &self.read].map(|bits| self.longest(bits, node, before, after));
        Pattern::of_runs(written, read, threshold)
    }

    pub(super) fn bytes(&self) -> usize {
        self.read.bytes() + self.written.bytes()
    }
}
