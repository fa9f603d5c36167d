//! Areas: flash blocks that are written and erased together, one or one on each of several
//! channels.
//!
//! An area is a log while it takes pages of the host, or holds pages of a block whose others lie
//! elsewhere. Once it is none, it is the *home* of the logical blocks in it, its residents, all of
//! whose pages that are in no log lie there. It is erased when it has no residents.

use serde::{Deserialize, Serialize};

use crate::ftl::block_level::blocks::Blocks;
use crate::ftl::context::{Cx, Label, Place};
use crate::nand::{Cause, Flash, JoinId, Role};
use crate::support::NONE;
use crate::support::ids::{BlockId, LogicalBlock, PlaneId};
use crate::support::list::{Links, List};
use crate::support::roomy::Roomy;

/// Flash blocks that are written and erased together.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Area {
    /// The flash blocks: one, or one for each channel.
    pub(super) blocks: Roomy<BlockId>,
    pub(super) label: Label,
    /// Logical blocks whose home it is.
    pub(super) residents: Roomy<LogicalBlock>,
    /// Logical blocks of which it has taken pages, while it is a log.
    pub(super) guests: Roomy<LogicalBlock>,
    pub(super) is_log: bool,
    /// Takes no more pages, as far as the host, or a tombstone where it is one flash block, has
    /// written it full.
    pub(super) is_full: bool,
}

/// All areas.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Areas {
    pub(super) all: Vec<Area>,
    unused: Roomy<u32>,
    /// Area of each flash block, or [`NONE`].
    of_block: Vec<u32>,
    /// Logs, the one written longest ago last, and the flash blocks that they have.
    logs: List,
    links: Links,
    pub(super) log_blocks: u32,
    /// Striped areas that are no logs and could have more residents: a list for each number of
    /// them, with the area that came to have so few last in front; and the number by which each
    /// area is in one, or 0.
    sparse: Vec<List>,
    sparse_links: Links,
    sparse_count: Vec<u32>,
    /// Flash blocks of a striped area, and residents that it has room for.
    width: u32,
}

impl Areas {
    pub(super) fn new(blocks: u32, width: u32) -> Self {
        let most = blocks as usize;
        Self {
            all: vec![Area::default(); most],
            unused: (0..blocks).rev().collect(),
            of_block: vec![NONE; most],
            logs: List::default(),
            links: Links::new(most),
            log_blocks: 0,
            sparse: vec![List::default(); width as usize],
            sparse_links: Links::new(most),
            sparse_count: vec![0; most],
            width,
        }
    }

    /// Area of a flash block, or [`NONE`].
    #[inline]
    pub(super) fn of(&self, block: BlockId) -> u32 {
        if block.is_none() { NONE } else { self.of_block[block.index()] }
    }

    pub(super) fn is_striped(&self, area: u32) -> bool {
        self.all[area as usize].blocks.len() > 1
    }

    /// An area of these flash blocks.
    pub(super) fn add(&mut self, blocks: Roomy<BlockId>, label: Label, is_log: bool) -> u32 {
        let Some(area) = self.unused.pop() else { unreachable!("no more areas than blocks") };
        for &block in &blocks {
            self.of_block[block.index()] = area;
        }
        if is_log {
            self.logs.push_front(&mut self.links, area);
            self.log_blocks += blocks.len() as u32;
        }
        self.all[area as usize] = Area { blocks, label, is_log, ..Area::default() };
        area
    }

    /// Takes erased blocks near these units for a new area.
    pub(super) fn open(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        units: impl Iterator<Item = PlaneId>,
        is_log: bool,
    ) -> u32 {
        let label = cx.label(if is_log { Role::Log } else { Role::Data }, LogicalBlock::NONE);
        let taken = units.map(|unit| blocks.take(unit)).collect();
        self.add(taken, label, is_log)
    }

    /// Takes erased blocks for a new area over `width` channels: in each the unit that has most,
    /// and as long as there are others, none twice. A channel without erased blocks is stood in for
    /// by another.
    pub(super) fn open_striped(
        &mut self,
        blocks: &mut Blocks,
        cx: &mut Cx<'_>,
        width: u32,
        is_log: bool,
    ) -> u32 {
        let mut units: Vec<PlaneId> = Vec::with_capacity(width as usize);
        for column in 0..width {
            let g = &blocks.geometry;
            let channel = column % g.channels;
            // Those taken so far are still counted as erased.
            let left = |unit: PlaneId| {
                blocks.pool.free(unit) - units.iter().filter(|&&u| u == unit).count() as u32
            };
            let here = g
                .all_units()
                .filter(|&unit| g.channel_of(g.die_of(unit)) == channel && left(unit) > 0);
            let best = |units_here: &mut dyn Iterator<Item = PlaneId>| {
                units_here.max_by_key(|&unit| {
                    (!units.contains(&unit), left(unit), std::cmp::Reverse(unit))
                })
            };
            let found = best(&mut { here })
                .or_else(|| best(&mut g.all_units().filter(|&unit| left(unit) > 0)));
            units.push(found.unwrap_or(g.unit_in_turn(column)));
        }
        self.open(blocks, cx, units.into_iter(), is_log)
    }

    /// The next page in column `column` of an area, if that is not full.
    pub(super) fn next(&self, flash: &Flash, area: u32, column: u32) -> Option<Place> {
        let Area { blocks, label, .. } = &self.all[area as usize];
        let block = *blocks.get(column as usize % blocks.len().max(1))?;
        let page = flash.write_ptr(block);
        (page < flash.geometry.pages_per_block).then_some(Place { block, page, label: *label })
    }

    /// The host writes to a log. A tombstone is no such write, as in BAST.
    pub(super) fn touch(&mut self, log: u32) {
        self.logs.touch(&mut self.links, log);
    }

    /// A log holds something of `lbn`.
    pub(super) fn take_in(&mut self, log: u32, lbn: LogicalBlock) {
        let guests = &mut self.all[log as usize].guests;
        if guests.last() != Some(&lbn) && !guests.contains(&lbn) {
            guests.push(lbn);
        }
    }

    /// The log written longest ago.
    pub(super) fn oldest_log(&self) -> Option<u32> {
        (!self.logs.is_empty()).then(|| self.logs.back())
    }

    /// All logs, the one written last first.
    pub(super) fn logs(&self) -> impl Iterator<Item = u32> + '_ {
        self.logs.iter(&self.links)
    }

    /// An area takes no more pages of the host.
    pub(super) fn end_log(&mut self, area: u32) {
        let Area { blocks, guests, is_log, .. } = &mut self.all[area as usize];
        if std::mem::take(is_log) {
            guests.clear();
            self.log_blocks -= blocks.len() as u32;
            self.logs.remove(&mut self.links, area);
        }
    }

    /// Keeps up to date which areas could have more residents; `open` takes more of them anyway.
    pub(super) fn rank(&mut self, area: u32, open: u32) {
        let Area { residents, is_log, .. } = &self.all[area as usize];
        let count = residents.len() as u32;
        let is_sparse = !is_log && area != open && self.is_striped(area) && count < self.width;
        self.set_sparse(area, if is_sparse { count } else { 0 });
    }

    fn set_sparse(&mut self, area: u32, count: u32) {
        let was = std::mem::replace(&mut self.sparse_count[area as usize], count);
        if was == count {
            return;
        }
        if was > 0 {
            self.sparse[was as usize].remove(&mut self.sparse_links, area);
        }
        if count > 0 {
            self.sparse[count as usize].push_front(&mut self.sparse_links, area);
        }
    }

    /// The striped area with fewest residents, if one could have more: of several the one that came
    /// to have so few last. O(`width`).
    pub(super) fn sparsest(&self) -> Option<u32> {
        self.sparse.iter().find(|areas| !areas.is_empty()).map(List::front)
    }

    /// Erases an area that holds nothing any more.
    pub(super) fn erase(&mut self, blocks: &mut Blocks, cx: &mut Cx<'_>, area: u32, cause: Cause) {
        self.end_log(area);
        self.set_sparse(area, 0);
        for block in std::mem::take(&mut self.all[area as usize]).blocks {
            self.of_block[block.index()] = NONE;
            if cx.flash.write_ptr(block) > 0 {
                // Whatever took over its pages holds the erase back.
                blocks.erase(cx, block, cause, JoinId::NONE);
            } else {
                blocks.give_back(block);
            }
        }
        self.unused.push(area);
    }

    pub(super) fn bytes(&self) -> usize {
        let lists: usize = self
            .all
            .iter()
            .map(|area| {
                (area.blocks.capacity() + area.residents.capacity() + area.guests.capacity()) * 4
            })
            .sum();
        self.all.len() * size_of::<Area>()
            + lists
            + self.unused.capacity() * 4
            + self.of_block.len() * 4
            + self.links.bytes()
            + self.sparse.len() * size_of::<List>()
            + self.sparse_links.bytes()
            + self.sparse_count.len() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::{Area, Areas};
    use crate::ftl::context::Label;
    use crate::support::NONE;
    use crate::support::ids::{BlockId, LogicalBlock};

    /// The area with fewest residents is emptied; of several the one that came to have so few last,
    /// and none that is being filled or full.
    #[test]
    fn the_sparsest_area_is_the_one_that_came_to_have_so_few_last() {
        let mut areas = Areas::new(16, 3);
        let made: Vec<u32> = (0..5)
            .map(|at| areas.add(BlockId(3 * at).run(3).collect(), Label::default(), false))
            .collect();
        let set = |areas: &mut Areas, area: u32, residents: u32, open: u32| {
            let Area { residents: held, .. } = &mut areas.all[area as usize];
            *held = LogicalBlock(0).run(residents).collect();
            areas.rank(area, open);
        };
        assert_eq!(areas.sparsest(), None);
        set(&mut areas, made[0], 3, NONE);
        set(&mut areas, made[1], 1, made[1]);
        assert_eq!(areas.sparsest(), None);
        set(&mut areas, made[2], 2, NONE);
        assert_eq!(areas.sparsest(), Some(made[2]));
        for (area, expected) in [(3, 3), (4, 4), (2, 2)] {
            set(&mut areas, made[area], 1, NONE);
            assert_eq!(areas.sparsest(), Some(made[expected]));
        }
        set(&mut areas, made[2], 2, NONE);
        assert_eq!(areas.sparsest(), Some(made[4]));
        // Those that go meanwhile do not change who came last.
        set(&mut areas, made[2], 1, NONE);
        set(&mut areas, made[3], 3, NONE);
        assert_eq!(areas.sparsest(), Some(made[2]));
    }
}
