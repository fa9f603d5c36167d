//! Units of a sealed store that are written and collected as one: all planes of an element, or each
//! plane by itself.

use super::{DATA, Store};
use crate::ftl::cx::Cx;
use crate::nand::Engine;
use crate::support::NONE;

/// The order of the blocks of an element whose planes share an open block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbering {
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

impl Store {
    /// The units that share an open block with `unit`.
    pub(super) fn together(&self, unit: u32) -> impl Iterator<Item = u32> + Clone + use<> {
        let (first, step, end) = match self.limits.shared {
            Some(_) => (self.pools.of_unit(unit), self.pools.count(), self.geometry.units),
            None => (unit, 1, unit + 1),
        };
        (first..end).step_by(step as usize)
    }

    /// The one of them that stands for all.
    pub(super) fn lead(&self, unit: u32) -> u32 {
        if self.limits.shared.is_some() {
            self.pools.nth(self.pools.of_unit(unit), 0)
        } else {
            unit
        }
    }

    /// Erased blocks of the units that share an open block with `unit`.
    #[inline]
    pub(super) fn erased(&self, unit: u32) -> u32 {
        if self.limits.shared.is_none() {
            return self.pool.free(unit);
        }
        self.together(unit).map(|unit| self.pool.free(unit)).sum()
    }

    /// Those of them whose erase has ended, counted up to two: mostly the first two are.
    #[inline]
    pub(super) fn really_erased(&self, engine: &Engine, unit: u32) -> usize {
        // As in an untimed run, and while a drive is filled.
        if engine.under_way() == 0 {
            return self.erased(unit).min(2) as usize;
        }
        let erased = self.together(unit).flat_map(|unit| self.pool.of(unit));
        erased.filter(|&block| !engine.is_changing(block)).take(2).count()
    }

    /// A block's number among those of the units that share an open block.
    fn number(&self, block: u32) -> u32 {
        let (unit, blocks) = (self.geometry.unit_of(block), self.geometry.blocks_per_unit);
        match self.limits.shared {
            Some(order) => order.number(
                (unit / self.pools.count(), block % blocks),
                (self.pools.units_each(), blocks),
            ),
            None => block % blocks,
        }
    }

    /// The erased block that comes next after the one taken last, in the order of their numbers.
    fn next_erased(&self, unit: u32) -> Option<u32> {
        let count = self.together(unit).count() as u32 * self.geometry.blocks_per_unit;
        let last = self.units[self.lead(unit) as usize].taken;
        let after = |block: u32| (self.number(block) + count - last - 1) % count;
        self.together(unit).flat_map(|unit| self.pool.of(unit)).min_by_key(|&block| after(block))
    }

    /// Takes it.
    pub(super) fn take_in_rotation(&mut self, unit: u32) -> Option<u32> {
        let next = self.next_erased(unit)?;
        let lead = self.lead(unit) as usize;
        self.units[lead].taken = self.number(next);
        self.pool.take_this(self.geometry.unit_of(next), next).then_some(next)
    }

    /// Whether a page could be written to `unit` if it was the last one.
    pub(super) fn has_room(&self, unit: u32) -> bool {
        self.open[self.write_point(unit, DATA, false)].block != NONE || self.pool.free(unit) > 0
    }

    /// The unit of the open block that `unit` shares with others, or of the one that is opened
    /// next.
    pub fn active(&self, unit: u32) -> u32 {
        let is_open = |&unit: &u32| self.open[self.write_point(unit, DATA, false)].block != NONE;
        let next = || self.next_erased(unit).map(|block| self.geometry.unit_of(block));
        self.together(unit).find(is_open).or_else(next).unwrap_or(unit)
    }

    /// Where a victim's pages go from `unit`: to the open block that it has, or shares. A power cut
    /// may leave a plane without room, when its victim has been copied, and holds pages whose new
    /// versions were lost on other planes. Then they go to the plane of its pool that has most room
    /// beside its reserve.
    #[inline]
    pub(super) fn moves_to(&self, unit: u32) -> u32 {
        if !self.limits.sealed {
            return unit;
        }
        if self.limits.shared.is_some() || self.has_room(unit) {
            return self.active(unit);
        }
        let spare = |to: u32| match self.pool.free(to) {
            0 => 0,
            _ => self.free_pages(to, DATA) - self.data_pages(),
        };
        let others =
            self.pools.units(self.pools.of_unit(unit)).map(|to| (spare(to), std::cmp::Reverse(to)));
        others.max().filter(|&(pages, _)| pages > 0).map_or(unit, |(_, to)| to.0)
    }

    /// The blocks of a unit.
    pub(super) fn blocks_of(&self, unit: u32) -> std::ops::Range<u32> {
        unit * self.geometry.blocks_per_unit..(unit + 1) * self.geometry.blocks_per_unit
    }

    /// A page has been written to `pool`, or finds no room there: on each of its dies the first
    /// plane that is short is cleaned, planes taking turns. One at a time, and planes that share an
    /// open block all together.
    pub(super) fn ask_in_turn(&mut self, pool: u32) {
        let chips = self.pools.count();
        if self.limits.shared.is_some() {
            return self.ask_for_space(pool, DATA);
        }
        let (dies, units) = (self.geometry.dies, self.geometry.units);
        let low = self.limits.gc_free_blocks;
        for die in (pool..dies).step_by(chips as usize) {
            // After most writes none is short.
            let mut planes = (die..units).step_by(dies as usize);
            if !planes.any(|unit| self.pool.free(unit) <= low) {
                continue;
            }
            if (die..units).step_by(dies as usize).any(|unit| self.units[unit as usize].collecting)
            {
                continue;
            }
            let planes = units / dies;
            let last = self.turns[die as usize];
            let in_turn = (1..=planes).map(|turn| die + (last + turn) % planes * dies);
            let short = |&unit: &u32| self.pool.free(unit) <= low && self.gains(unit);
            if let Some(unit) = { in_turn }.find(short) {
                self.turns[die as usize] = unit / dies;
                self.ask_for_space(unit, DATA);
            }
        }
    }

    /// Whether a cleaning goes on after it has erased a block. A plane's ends; that of planes which
    /// share an open block does when there are two erased blocks more than began it, or its list is
    /// at its end.
    pub(super) fn cleans_on(&self, unit: u32) -> bool {
        self.limits.shared.is_some()
            && self.erased(unit) <= self.limits.gc_free_blocks + 1
            && !self.units[unit as usize].listed.is_empty()
    }

    /// The next block to be cleaned of units that share an open block. They are put in order when
    /// cleaning begins, by the valid pages of that moment, the lowest number first among equals.
    pub(super) fn next_listed(&mut self, cx: &Cx<'_>, unit: u32) -> Option<u32> {
        let mut listed = std::mem::take(&mut self.units[unit as usize].listed);
        let mut average = self.units[unit as usize].average_left;
        let valid = |block: u32| {
            let closed = &self.units[self.geometry.unit_of(block) as usize].closed;
            u32::from(closed.get((block % self.geometry.blocks_per_unit) as usize))
        };
        let erases = cx.flash.erases();
        let (units, each) = (self.together(unit), self.geometry.blocks_per_unit);
        let blocks = || units.clone().flat_map(|unit| unit * each..(unit + 1) * each);
        if !self.units[unit as usize].cleaned {
            listed.clear();
            listed.extend(blocks().filter(|&block| valid(block) < self.data_pages()));
            listed.sort_unstable_by_key(|&block| {
                std::cmp::Reverse((valid(block), self.number(block)))
            });
            average = self.victim.average_left(&mut blocks().map(|block| erases[block as usize]));
        }
        let mut chosen = None;
        while let Some(block) = listed.pop() {
            let last = listed.is_empty();
            let gains = valid(block) < self.data_pages();
            if gains && (self.victim.accepts(erases[block as usize], average) || last) {
                chosen = Some(block);
                break;
            }
        }
        let u = &mut self.units[unit as usize];
        (u.listed, u.average_left) = (listed, average);
        chosen
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
