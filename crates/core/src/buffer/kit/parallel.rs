//! What buffers have in common that send several blocks, or several pages, to different modules of
//! the drive at the same time.
//!
//! An order of use says what leaves first, and a [`Pick`] what leaves with it. Pages are blocks of
//! one page here. A victim leaves with its dirty pages, in an eviction of its own, and the FTL
//! hears how they were written: at random, unless the scheme tells. All victims of a round leave at
//! the same moment. A clean victim leaves alone, as it gives the flash nothing to do. A flush
//! command knows nothing of the drive, and takes what is dirty in order.

use super::blocked::BlockOrder;
use super::blocks::{Directory, ReadPolicy, require_room};
use crate::buffer::{
    Answer, Buffer, FLUSH_COMMAND, FORCED, Outcome, Part, Reason, Shape, Span, View,
};
use crate::pattern::{Access, Hint, Pattern};
use crate::support::NONE;
use crate::support::ids::Lpn;

/// A block that was written here and there, and not read.
pub const RANDOM: Pattern = Pattern::new(Access::Random, Access::Never);
/// A block that was written in one piece, and not read.
pub const SEQUENTIAL: Pattern = Pattern::new(Access::Sequential, Access::Never);

/// An order that can be followed from its end.
pub trait Ranked: BlockOrder {
    /// The block next to leave after `node`; the one that leaves first after [`NONE`].
    fn before(&self, node: u32) -> u32;

    /// A block has been written to flash and is clean now.
    fn cleaned(&mut self, _node: u32) {}
}

/// The blocks with dirty pages among the last `window` of an order, the one that leaves first at
/// the beginning.
pub fn from_end<O: Ranked>(
    order: &O,
    blocks: &Directory,
    window: usize,
) -> impl Iterator<Item = u32> {
    let next = |&node: &u32| Some(order.before(node));
    let nodes =
        std::iter::successors(Some(order.before(NONE)), next).take_while(|&node| node != NONE);
    nodes.take(window).filter(|&node| blocks.dirty(node) > 0)
}

/// What leaves in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Victim {
    /// Its node in the [`Directory`].
    pub node: u32,
    /// The channel that it should go to, if to one.
    pub channel: Option<u32>,
    /// Why it leaves.
    pub reason: Reason,
}

/// What leaves together.
pub trait Pick: std::fmt::Debug + Send {
    /// A request is about to be served: the drive may have changed since the last one.
    fn begin(&mut self) {}

    /// The host has written a page whose node is `node`, which is `fresh` if it was not held: all
    /// of it, or a `part` of its bytes.
    fn written(&mut self, _node: u32, _fresh: bool, _part: Option<Part>) {}

    /// Whether it tells blocks that were written in one piece from others.
    fn classifies(&self) -> bool {
        false
    }

    /// How a block was written, as far as the FTL should know.
    fn pattern(&self, _node: u32, _blocks: &Directory) -> Pattern {
        RANDOM
    }

    /// The victims of a round; none where only the block that is next in order can leave.
    fn round<O: Ranked>(
        &mut self,
        order: &O,
        blocks: &Directory,
        view: &dyn View,
        into: &mut Vec<Victim>,
    );

    /// Bytes held.
    fn bytes(&self) -> usize;
}

/// A buffer that sends several blocks at the same time.
#[derive(Debug)]
pub struct Parallel<O, P> {
    name: &'static str,
    reads: ReadPolicy,
    /// Pages of a logical block of the drive; the directory's blocks may be single pages.
    pages_per_block: u32,
    blocks: Directory,
    order: O,
    pick: P,
    /// The round that leaves; its memory is used again.
    round: Vec<Victim>,
    /// Pages of the next request that it writes in part: at most its first and its last one.
    parts: Vec<(Lpn, Part)>,
}

/// What a scheme keeps in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Blocks.
    Blocks,
    /// Single pages.
    Pages,
}

impl<O: Ranked + 'static, P: Pick + 'static> Parallel<O, P> {
    /// An empty buffer; `parts` makes the order and the pick for so many nodes.
    ///
    /// # Errors
    /// No room for a page.
    pub fn build(
        name: &'static str,
        shape: Shape,
        kept: Kept,
        reads: ReadPolicy,
        parts: impl FnOnce(usize) -> (O, P),
    ) -> Result<Box<dyn Buffer>, String> {
        require_room(shape, 1)?;
        let pages_per_block = shape.pages_per_block;
        let blocks = Directory::new(match kept {
            Kept::Blocks => shape,
            Kept::Pages => Shape { pages_per_block: 1, ..shape },
        });
        let (order, pick) = parts(blocks.nodes());
        let (round, parts) = (Vec::new(), Vec::new());
        Ok(Box::new(Self { name, reads, pages_per_block, blocks, order, pick, round, parts }))
    }

    fn hint(&self, node: u32, channel: Option<u32>) -> Hint {
        let first = self.blocks.lbn(node).first(self.blocks.pages_per_block());
        let pattern = self.pick.pattern(node, &self.blocks);
        Hint { block: first.block(self.pages_per_block), pattern, channel, again: false }
    }

    fn evict(&mut self, Victim { node, channel, reason }: Victim, out: &mut Outcome) {
        let (at, hint, dirty) =
            (out.evictions.len(), self.hint(node, channel), self.blocks.dirty(node) > 0);
        self.order.remove(node, &self.blocks);
        self.blocks.evict(node, self.order.action(), reason, out);
        if dirty {
            // What is dirty leaves first; clean pages of the block may follow, and need no hint.
            out.evictions[at].hint = Some(hint);
        }
    }

    fn evict_alone(&mut self, node: u32, reason: Reason, out: &mut Outcome) {
        self.evict(Victim { node, channel: None, reason }, out);
    }

    /// The dirty ones of these pages of a block are written, and stay.
    fn write_back(
        &mut self,
        node: u32,
        (first, count): (Lpn, u32),
        reason: Reason,
        out: &mut Outcome,
    ) {
        let (hint, before) = (self.hint(node, None), self.blocks.dirty(node));
        self.blocks.write_back_pages(first, count, reason, out);
        if self.blocks.dirty(node) < before {
            out.with_hint(hint);
        }
        if before > 0 && self.blocks.dirty(node) == 0 {
            self.order.cleaned(node);
        }
    }

    fn make_room(&mut self, view: &dyn View, out: &mut Outcome) {
        let Some((first, reason)) = self.order.victim(&self.blocks) else { return };
        let mut round = std::mem::take(&mut self.round);
        round.clear();
        if self.blocks.dirty(first) > 0 {
            self.pick.round(&self.order, &self.blocks, view, &mut round);
        }
        for &victim in &round {
            self.evict(victim, out);
        }
        if round.is_empty() {
            self.evict_alone(first, reason, out);
        }
        self.round = round;
    }

    fn part(&self, lpn: Lpn) -> Option<Part> {
        self.parts.iter().find(|(page, _)| *page == lpn).map(|(_, part)| *part)
    }

    /// The blocks that pages lie in, which may be one each.
    fn spans(&self, first: Lpn, count: u32) -> impl Iterator<Item = (Lpn, Lpn)> + use<O, P> {
        let (size, end) = (self.blocks.pages_per_block(), first + count);
        let next = move |&(_, to): &(Lpn, Lpn)| (to < end).then(|| (to, end.min(to + size)));
        std::iter::successors(Some((first, end.min(first.block(size).range(size).end))), next)
    }
}

impl<O: Ranked + 'static, P: Pick + 'static> Buffer for Parallel<O, P> {
    fn pads_blocks(&self) -> bool {
        self.order.action().pads()
    }

    fn access(&mut self, span: &Span, view: &dyn View, out: &mut Outcome) {
        let bypass = !span.write && self.reads == ReadPolicy::Bypass;
        self.pick.begin();
        for lpn in span.pages() {
            let held = self.blocks.holds(lpn);
            let answer = if held {
                if span.write {
                    self.blocks.mark_dirty(lpn);
                }
                if !bypass {
                    self.order.touch(self.blocks.node_of(lpn), lpn, &self.blocks, out);
                }
                Answer::Hit
            } else if bypass {
                Answer::Bypass
            } else {
                if self.blocks.is_full() {
                    self.make_room(view, out);
                }
                let (node, fresh) = self.blocks.insert(lpn, span.write);
                self.order.insert(node, lpn, fresh, &self.blocks, out);
                if span.write { Answer::Insert } else { Answer::Fill }
            };
            if span.write {
                self.pick.written(self.blocks.node_of(lpn), !held, self.part(lpn));
            }
            out.answers.push(answer);
        }
        self.parts.clear();
    }

    fn writes_part(&mut self, lpn: Lpn, part: Part) {
        self.parts.push((lpn, part));
    }

    fn trim(&mut self, first: Lpn, count: u32) {
        self.order.trim(&mut self.blocks, first..first + count);
    }

    fn flush(&mut self, out: &mut Outcome) {
        if self.reads == ReadPolicy::Bypass {
            while let Some((first, _)) = self.order.victim(&self.blocks) {
                self.evict_alone(first, FLUSH_COMMAND, out);
            }
            return;
        }
        let size = self.blocks.pages_per_block();
        for node in self.order.leaving(&self.blocks) {
            self.write_back(node, (self.blocks.lbn(node).first(size), size), FLUSH_COMMAND, out);
        }
    }

    fn flush_pages(&mut self, first: Lpn, count: u32, out: &mut Outcome) {
        for (from, to) in self.spans(first, count) {
            let node = self.blocks.node_of(from);
            if !Lpn::each(from..to).any(|lpn| self.blocks.holds(lpn)) {
                continue;
            }
            if self.reads == ReadPolicy::Bypass {
                self.evict_alone(node, FORCED, out);
            } else {
                self.write_back(node, (from, to - from), FORCED, out);
            }
        }
    }

    fn classifies_writes(&self) -> bool {
        self.pick.classifies()
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
        self.blocks.bytes()
            + self.order.bytes()
            + self.pick.bytes()
            + self.round.capacity() * size_of::<Victim>()
            + self.parts.capacity() * size_of::<(u32, Part)>()
    }

    fn dump(&self) -> Vec<Vec<Lpn>> {
        self.order.dump(&self.blocks)
    }
}
