//! Moves pages to another unit though their block is not collected: background work of mappings
//! that care where pages lie.

use super::{Move, Owners, Place, Store};
use crate::ftl::context::Cx;
use crate::nand::{Cause, Engine, JoinId};
use crate::support::ids::{BlockId, PlaneId};

impl Store {
    /// Whether `unit` has room for copies that nobody has to make: a block beyond those that begin
    /// collection; or what is left of the open block for moved pages, while the reserve is there.
    pub(super) fn has_room_to_spare(&self, unit: PlaneId, class: u32) -> bool {
        let free = self.pool.free(unit);
        let opened = self.open[self.write_point(unit, class, true)].block != BlockId::NONE;
        (free > self.limits.gc_free_blocks || (opened && free > 0))
            && self.units[unit.index()].valid < self.limits.share
    }

    /// Whether `unit` has that room now: copies must not wait for an erase there, which may wait
    /// for whoever reads them.
    pub(super) fn takes_copies(&self, engine: &Engine, unit: PlaneId, class: u32) -> bool {
        let opened = || self.open[self.write_point(unit, class, true)].block != BlockId::NONE;
        self.has_room_to_spare(unit, class) && (opened() || self.can_open(engine, unit))
    }

    /// The unit of a channel that has most erased blocks, and room to spare for pages that lie in
    /// `source`.
    pub fn roomiest(&self, engine: &Engine, channel: u32, source: BlockId) -> Option<PlaneId> {
        let class = self.class_of(source);
        self.geometry
            .units_of_channel(channel)
            .filter(|&unit| self.takes_copies(engine, unit, class))
            .max_by_key(|&unit| (self.pool.free(unit), std::cmp::Reverse(unit)))
    }

    /// Copies valid pages of a block, no more than one program writes, to `unit`, which has room to
    /// spare; whether they moved.
    pub fn transfer(
        &mut self,
        cx: &mut Cx<'_>,
        (source, pages): (BlockId, &[u32]),
        unit: PlaneId,
        owners: &mut impl Owners,
    ) -> bool {
        let (ppb, class) = (self.ppb(), self.class_of(source));
        debug_assert!(pages.len() as u32 <= self.geometry.program_pages);
        let mut moves = Vec::with_capacity(pages.len());
        let mut first = None;
        for &page in pages {
            let from = source.page(page, ppb);
            let owner = self.reverse[from.index()];
            let Some((block, at)) = self.place(cx, (unit, class), true, owner) else { break };
            first.get_or_insert((block, at));
            moves.push(Move { page, out: owners.moved(owner, block.page(at, ppb)) });
            self.invalidate(from);
        }
        let Some((block, page)) = first else { return false };
        let write_point = self.write_point(unit, class, true);
        self.fill_unit(write_point, &mut moves);
        let label = self.open[write_point].label;
        cx.relocate(source, &moves, Place { block, page, label }, Cause::Placement, JoinId::NONE);
        self.close_if_full(cx, unit, class, true);
        true
    }
}
