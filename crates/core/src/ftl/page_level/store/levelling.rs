//! Carries out what a wear leveller asks for, and keeps account of worn-out blocks.

use std::collections::VecDeque;
use std::ops::Range;

use super::collect::Job;
use super::compose::room;
use super::{Open, Store};
use crate::ftl::alloc::Chooser;
use crate::ftl::context::Cx;
use crate::ftl::wear::{Blocks, Built, Leveller, State, Swap};
use crate::nand::Flash;
use crate::support::bits::Bits;
use crate::support::ids::{BlockId, PlaneId};
use crate::support::minima::ABSENT;

/// The leveller, and the blocks that are worn out.
#[derive(Debug, Clone)]
pub(super) struct Wear {
    leveller: Option<Box<dyn Leveller>>,
    /// Blocks of a cluster.
    cluster: u32,
    least_worn_first: bool,
    retired: Bits,
    count: u32,
    /// Open blocks, also those that nothing has been written to yet.
    opened: Bits,
    /// Units to a block of which a swap that is under way brings pages.
    swapping: Bits,
    /// The swaps that are due, each with the unit whose collection carries it out: the one that the
    /// leveller asked for, and those of which a part has been carried out.
    due: VecDeque<(PlaneId, Swap)>,
}

crate::persist!(Wear {
    cluster, least_worn_first, retired, count, opened, swapping, due,
} objects { leveller });

impl Wear {
    pub fn new(leveller: Built, units: u32, blocks: u32) -> Self {
        let (leveller, cluster) =
            leveller.map_or((None, blocks), |(leveller, cluster, _)| (Some(leveller), cluster));
        Self {
            least_worn_first: leveller.as_ref().is_some_and(|leveller| leveller.takes_least_worn()),
            leveller,
            cluster,
            retired: Bits::new(blocks as usize),
            opened: Bits::new(blocks as usize),
            swapping: Bits::new(units as usize),
            count: 0,
            due: VecDeque::with_capacity(units as usize + 1),
        }
    }

    /// Whether new data goes to the erased block with the fewest erases.
    #[inline]
    pub fn takes_least_worn(&self) -> bool {
        self.least_worn_first
    }

    /// Whether the collection of `unit` is to carry out a swap.
    pub fn is_due(&self, unit: PlaneId) -> bool {
        self.due.iter().any(|&(of, _)| of == unit)
    }

    /// No swap is due in `unit`.
    pub fn drop_due(&mut self, unit: PlaneId) {
        self.due.retain(|&(of, _)| of != unit);
    }

    /// The rest of a swap is due in `unit`, beside what is due in others.
    fn put_off(&mut self, unit: PlaneId, swap: Swap) {
        self.due.push_back((unit, swap));
    }

    fn take_due(&mut self, unit: PlaneId) -> Option<Swap> {
        let place = self.due.iter().position(|&(of, _)| of == unit)?;
        self.due.remove(place).map(|(_, swap)| swap)
    }

    /// A block is written from now on.
    pub fn open(&mut self, block: BlockId) {
        self.opened.set(block.index());
    }

    /// A block is not written any more.
    pub fn close(&mut self, block: BlockId) {
        self.opened.clear(block.index());
    }

    /// A block is not used any more.
    pub fn retire(&mut self, block: BlockId) {
        self.count += u32::from(self.retired.set(block.index()));
        if let Some(leveller) = &mut self.leveller {
            leveller.retired(block);
        }
    }

    /// A block has been erased so many times by now.
    pub fn count(&mut self, block: BlockId, erases: u32) {
        if let Some(leveller) = &mut self.leveller {
            leveller.counted(block, erases);
        }
    }

    /// Blocks that are worn out.
    pub fn retired(&self) -> u32 {
        self.count
    }
}

/// The blocks of a cluster.
struct Cluster<'a> {
    store: &'a Store,
    flash: &'a Flash,
    range: Range<BlockId>,
}

impl Blocks for Cluster<'_> {
    fn range(&self) -> Range<BlockId> {
        self.range.clone()
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.flash.erases()[block.index()]
    }

    fn state(&self, block: BlockId) -> State {
        self.store.state(self.flash, block)
    }

    fn may_move(&self, from: BlockId, into: BlockId) -> bool {
        self.store.may_move(from, into)
    }

    fn may_give(&self, from: BlockId, into: BlockId) -> bool {
        self.store.may_give(from, into)
    }
}

impl Store {
    /// Whether data may move between two blocks: not into a unit that is fuller than the one that
    /// gives, nor so that it becomes fuller than collection can do with. Where units take turns, a
    /// unit that gets cold data for good goes on getting as many of the host's pages with less room
    /// for them, and wears the faster for it.
    fn may_move(&self, from: BlockId, into: BlockId) -> bool {
        let [home, away] = [from, into].map(|block| self.geometry.unit_of(block));
        let gets = &self.units[away.index()];
        // Beside its reserve a unit needs a block's worth of pages that are not valid.
        let most = room(&self.geometry, 1, &self.pools);
        let pages = u64::from(gets.valid + gets.coming) + u64::from(self.valid_of[from.index()]);
        self.may_give(from, into) && (home == away || pages <= most)
    }

    /// The same as far as it depends on the units alone.
    fn may_give(&self, from: BlockId, into: BlockId) -> bool {
        let [home, away] = [from, into].map(|block| self.geometry.unit_of(block));
        let [gives, gets] = [home, away].map(|unit| &self.units[unit.index()]);
        let takes_turns = || self.alloc.as_ref().is_none_or(Chooser::takes_turns);
        home == away || (gets.valid <= gives.valid && !takes_turns())
    }

    /// What a block is used for. O(1).
    fn state(&self, flash: &Flash, block: BlockId) -> State {
        let unit = self.geometry.unit_of(block);
        let u = &self.units[unit.index()];
        let valid = u.closed.get((block - self.geometry.first_block(unit)) as usize);
        let written = flash.write_ptr(block) > 0;
        if valid != ABSENT {
            State::Closed(u32::from(valid))
        } else if self.wear.retired.get(block.index()) {
            State::Retired
        } else if written || self.wear.opened.get(block.index()) {
            State::Busy
        } else {
            State::Erased
        }
    }

    /// All blocks count as never erased from now on.
    pub fn forget_wear(&mut self) {
        if let Some(leveller) = &mut self.wear.leveller {
            leveller.forget();
        }
    }

    /// Calls the leveller with the blocks of a cluster.
    fn ask<T>(
        &mut self,
        cx: &Cx<'_>,
        range: Range<BlockId>,
        ask: impl FnOnce(&mut dyn Leveller, &dyn Blocks) -> T,
    ) -> Option<T> {
        let mut leveller = self.wear.leveller.take()?;
        let answer = ask(&mut *leveller, &Cluster { store: self, flash: cx.flash, range });
        self.wear.leveller = Some(leveller);
        Some(answer)
    }

    /// The blocks of the cluster and of the unit that `block` belongs to.
    fn around(&self, block: BlockId) -> (Range<BlockId>, Range<BlockId>) {
        let of = |size: u32| {
            let first = block.0 / size * size;
            BlockId(first)..BlockId((first + size).min(self.geometry.blocks()))
        };
        (of(self.wear.cluster), of(self.geometry.blocks_per_unit))
    }

    /// Collection on account of `unit` has erased `block`: asks for the swap that is due. One at a
    /// time. Where none is due in the cluster, one inside the unit of the block may be.
    pub(super) fn level(&mut self, cx: &Cx<'_>, unit: PlaneId, block: BlockId) {
        if self.wear.leveller.is_some() && self.wear.due.is_empty() {
            let (cluster, alone) = self.around(block);
            let is_wider = cluster != alone;
            let mut ask =
                |range| self.ask(cx, range, |leveller, all| leveller.erased(block, all)).flatten();
            // What is left of the units is a cluster, too, and may be one unit alone.
            let swap = ask(cluster).or_else(|| if is_wider { ask(alone) } else { None });
            self.wear.due.extend(swap.map(|swap| (unit, swap)));
        }
    }

    /// Begins the swap that is due in `unit`, if there is one and there is room for it: an erased
    /// block stays in reserve wherever one is taken, and the unit that gets the pages is still no
    /// fuller than the other.
    pub(super) fn begin_swap(&mut self, cx: &mut Cx<'_>, unit: PlaneId) -> bool {
        let Some(swap) = self.wear.take_due(unit) else { return false };
        let holds_data =
            |store: &Self, block| matches!(store.state(cx.flash, block), State::Closed(_));
        let home = self.geometry.unit_of(swap.into);
        if !holds_data(self, swap.from)
            || !self.may_move(swap.from, swap.into)
            || self.wear.swapping.get(home.index())
        {
            return false;
        }
        if self.has_part_filled(home) {
            self.expect(unit, swap);
            self.empty(unit, swap.from, Job::Swap(swap));
            return true;
        }
        if holds_data(self, swap.into) {
            // Its pages go where those of this unit's victims go: they stay in their unit, or come
            // to the one that loses as many.
            let [from, into] = [swap.from, swap.into].map(|block| self.geometry.unit_of(block));
            let exchanged = unit == from
                && self.valid_of[swap.into.index()] <= self.valid_of[swap.from.index()];
            if !(unit == into || exchanged) || !self.can_open(cx.engine, unit) {
                return false;
            }
            self.unlist(swap.from);
            self.expect(unit, swap);
            self.empty(unit, swap.into, Job::Clear(swap));
            return true;
        }
        let reserve =
            || self.pool.of(home).any(|block| block != swap.into && !cx.engine.is_changing(block));
        // Reads of cold data must not wait for the erase of their new block, which the host's next
        // writes may have to let begin.
        if self.state(cx.flash, swap.into) != State::Erased
            || cx.engine.is_changing(swap.into)
            || !reserve()
            || !self.pool.take_this(home, swap.into)
        {
            return false;
        }
        let write_point = self.swap_point(home);
        self.start(cx, write_point, swap.into);
        self.expect(unit, swap);
        self.empty(unit, swap.from, Job::Swap(swap));
        true
    }

    /// The unit that gets the pages of a swap keeps room for them until it is over.
    fn expect(&mut self, unit: PlaneId, swap: Swap) {
        let [from, into] = [swap.from, swap.into].map(|block| self.geometry.unit_of(block));
        self.wear.swapping.set(into.index());
        if from != into {
            let pages = u32::from(self.valid_of[swap.from.index()]);
            self.units[unit.index()].brings = pages;
            self.units[into.index()].coming += pages;
        }
    }

    /// The swap on account of `unit`, whose pages went to the unit of `into`, is over.
    pub(super) fn expect_no_more(&mut self, unit: PlaneId, into: BlockId) {
        let pages = std::mem::take(&mut self.units[unit.index()].brings);
        let home = self.geometry.unit_of(into).index();
        self.units[home].coming -= pages;
        self.wear.swapping.clear(home);
    }

    /// The block that is to get the pages has been emptied and erased.
    pub(super) fn cleared(&mut self, cx: &mut Cx<'_>, unit: PlaneId, swap: Swap) {
        if cx.flash.is_worn_out(swap.into) {
            self.expect_no_more(unit, swap.into);
            self.wear.retire(swap.into);
            return self.list(self.geometry.unit_of(swap.from), swap.from);
        }
        let write_point = self.swap_point(self.geometry.unit_of(swap.into));
        self.start(cx, write_point, swap.into);
        self.history.stand_for(swap.into, swap.from);
        self.empty(unit, swap.from, Job::Swap(swap));
    }

    /// All pages have moved, and the block that they left has been erased.
    pub(super) fn end_swap(&mut self, cx: &mut Cx<'_>, unit: PlaneId, swap: Swap) {
        let filled = self.open[self.swap_point(self.geometry.unit_of(swap.into))].block;
        self.close_swap(cx, unit, swap);
        // Where the pages found room in the block of an earlier swap, this one's has got none.
        if filled == swap.into {
            let (cluster, _) = self.around(swap.into);
            self.ask(cx, cluster, |leveller, blocks| leveller.swapped(swap, blocks));
        }
    }

    /// The block that an earlier swap had left part-filled is full, and pages are left: they go
    /// where they were to go.
    pub(super) fn continue_swap(&mut self, cx: &mut Cx<'_>, unit: PlaneId, swap: Swap) {
        self.close_swap(cx, unit, swap);
        self.units[unit.index()].victim = BlockId::NONE;
        self.list(self.geometry.unit_of(swap.from), swap.from);
        self.wear.put_off(unit, swap);
    }

    /// The swap is over. The block that got its pages is filled up by the next one, or by
    /// collection: closed with pages that were never written, it would be collected next, be the
    /// most worn erased block again, and wear without end.
    pub(super) fn close_swap(&mut self, cx: &mut Cx<'_>, unit: PlaneId, swap: Swap) {
        self.expect_no_more(unit, swap.into);
        let home = self.geometry.unit_of(swap.into);
        let write_point = self.swap_point(home);
        let Open { block, page, .. } = self.open[write_point];
        if page > 0 {
            self.class_of_swap(block);
            if !self.limits.one_open {
                self.rest.plan(block);
                if page < self.data_pages() {
                    return;
                }
            }
        }
        let open = &mut self.open[write_point];
        (open.block, open.page) = (BlockId::NONE, 0);
        if page == 0 {
            self.wear.close(block);
            self.give(cx, block);
        } else {
            self.close(home, block);
        }
    }

    /// Whether a swap that is over has left a block of `unit` part-filled.
    pub(super) fn has_part_filled(&self, unit: PlaneId) -> bool {
        let is_open = self.open[self.swap_point(unit)].block != BlockId::NONE;
        is_open && !self.wear.swapping.get(unit.index()) && !self.limits.one_open
    }

    /// Whether the block that gets the pages of a swap has no room for more.
    pub(super) fn is_full(&self, swap: Swap) -> bool {
        self.open[self.swap_point(self.geometry.unit_of(swap.into))].page == self.data_pages()
    }

    /// Data that a swap moved is cold.
    fn class_of_swap(&mut self, block: BlockId) {
        if let Some(class) = self.class_of.get_mut(block.index()) {
            *class = 0;
        }
    }

    /// The number of the open block that takes the pages which swaps bring to a unit.
    pub(super) fn swap_point(&self, unit: PlaneId) -> usize {
        self.write_points(unit).end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is due in one unit stays so when a swap of another one has to go on later.
    #[test]
    fn a_swap_that_goes_on_later_waits_beside_that_of_another_unit() {
        let mut wear = Wear::new(None, 2, 16);
        let [asked, begun] = [
            Swap { from: BlockId(9), into: BlockId(10) },
            Swap { from: BlockId(1), into: BlockId(2) },
        ];
        wear.due.push_back((PlaneId(1), asked));
        wear.put_off(PlaneId(0), begun);
        assert!(wear.is_due(PlaneId(0)) && wear.is_due(PlaneId(1)));
        assert_eq!((wear.take_due(PlaneId(0)), wear.take_due(PlaneId(0))), (Some(begun), None));
        assert_eq!(wear.take_due(PlaneId(1)), Some(asked));
        wear.put_off(PlaneId(0), begun);
        wear.put_off(PlaneId(1), asked);
        wear.drop_due(PlaneId(0));
        assert!(!wear.is_due(PlaneId(0)) && wear.is_due(PlaneId(1)));
    }
}
