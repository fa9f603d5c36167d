//! Blocks in the order of their numbers: all blocks of an element, or each plane's by itself.

use serde::{Deserialize, Serialize};

use crate::ftl::page_level::store::Store;
use crate::support::ids::{BlockId, PlaneId};

/// The order of the blocks of an element whose planes share an open block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Numbering {
    /// All blocks of a plane, then those of the next.
    Concatenated,
    /// The blocks of two planes in turn, then those of the next two.
    PairStripe,
    /// The blocks of all planes in turn.
    FullStripe,
}

impl Numbering {
    /// Number of block `index` of plane `plane`, one of `planes` with `blocks` each.
    fn number(self, (plane, index): (u32, u32), (planes, blocks): (u32, u32)) -> u32 {
        let width = match self {
            Self::Concatenated => 1,
            Self::PairStripe => 2,
            Self::FullStripe => planes,
        };
        let first = plane / width * width;
        first * blocks + index * width.min(planes - first) + plane % width
    }
}

/// Blocks are taken in rotation: the next erased one after the one taken last.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Rotation {
    /// The order of an element's blocks, where its planes share an open block.
    order: Option<Numbering>,
    /// Number of the block taken last, for each plane that stands for what is collected as one.
    taken: Vec<u32>,
}

impl Rotation {
    /// Begins at the first of `blocks` that are collected as one.
    pub fn new(order: Option<Numbering>, units: u32, blocks: u32) -> Self {
        Self { order, taken: vec![blocks - 1; units as usize] }
    }

    /// A block's number among those that are collected as one.
    pub fn number(&self, store: &Store, block: BlockId) -> u32 {
        let (g, pools) = (store.geometry(), store.pools());
        let (unit, place) = (g.unit_of(block), g.place_in_unit(block));
        match self.order {
            Some(order) => {
                order.number((pools.place_of(unit), place), (pools.units_each(), g.blocks_per_unit))
            }
            None => place,
        }
    }

    /// The erased block that comes next.
    pub fn next(&self, store: &Store, unit: PlaneId) -> Option<BlockId> {
        let count = store.together(unit).count() as u32 * store.geometry().blocks_per_unit;
        let last = self.taken[store.lead(unit).index()];
        let after = |block: BlockId| (self.number(store, block) + count - last - 1) % count;
        // On a drive that is written in order, the next block is the one erased longest ago of some
        // plane.
        let oldest = store.together(unit).filter_map(|unit| store.erased_blocks(unit).next());
        if let Some(next) = { oldest }.find(|&block| after(block) == 0) {
            return Some(next);
        }
        let erased = store.together(unit).flat_map(|unit| store.erased_blocks(unit));
        erased.min_by_key(|&block| after(block))
    }

    /// Takes it.
    pub fn take(&mut self, store: &mut Store, unit: PlaneId) -> Option<BlockId> {
        let next = self.next(store, unit)?;
        self.taken[store.lead(unit).index()] = self.number(store, next);
        store.take_erased(next).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_planes_are_numbered_as_the_order_says() {
        let numbers = |order: Numbering| {
            let planes = |plane| (0..2).map(move |index| order.number((plane, index), (3, 2)));
            (0..3).flat_map(planes).collect::<Vec<_>>()
        };
        assert_eq!(numbers(Numbering::Concatenated), [0, 1, 2, 3, 4, 5]);
        assert_eq!(numbers(Numbering::PairStripe), [0, 2, 1, 3, 4, 5]);
        assert_eq!(numbers(Numbering::FullStripe), [0, 3, 1, 4, 2, 5]);
    }
}
