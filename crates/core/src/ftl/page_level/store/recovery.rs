//! Rebuilding after a power cut, from the records of the pages alone.

use std::collections::BTreeMap;

use super::table::{OWN, TOMB, Table, Tombstone};
use super::{DATA, Open, Store};
use crate::ftl::context::{Cx, Label};
use crate::ftl::pool::Pool;
use crate::nand::media::{Content, Media, PageState};
use crate::nand::{Cause, JoinId, Oob, Role};
use crate::support::NONE;
use crate::support::ahead::in_groups;
use crate::support::ids::{BlockId, LogicalBlock, Ppn};

impl Table {
    /// Finds the newest version of each page, and the tombstones that still count, and tells the
    /// store.
    pub fn rebuild(&mut self, store: &mut Store, media: &Media) {
        // The newest record of each logical page wins. A copy has the record of its source; the one
        // in the block that was opened later wins, so that a collection which was cut short does
        // not begin anew.
        let order = |ppn: u32| media.oob(Ppn(ppn)).map(|oob| (oob.seq, oob.opened));
        let mut tombstones = BTreeMap::new();
        let look = |table: &Self, (_, oob): (Ppn, &Oob)| {
            if oob.content == Content::Host { table.map.get(oob.lpn.index()) } else { 0 }
        };
        in_groups(self, media.records(), look, |table, (ppn, oob)| match oob.content {
            // Nothing that the host writes is as old as this.
            Content::Host if oob.seq == 0 => {}
            Content::Host => {
                let best = table.map.get(oob.lpn.index());
                if best == NONE || Some((oob.seq, oob.opened)) > order(best) {
                    table.map.set(oob.lpn.index(), ppn.0);
                }
            }
            Content::Tombstone => {
                let latest = tombstones.entry((oob.seq, oob.lpn)).or_insert((0, ppn));
                *latest = (*latest).max((oob.opened, ppn));
            }
            _ => {}
        });
        // Where each page's last tombstone is in the order of writes.
        let mut dead = vec![0u64; if tombstones.is_empty() { 0 } else { self.map.len() }];
        for &(seq, list) in tombstones.keys() {
            for &(first, count) in media.trims(list.0) {
                for dead in &mut dead[first.index()..(first + count).index()] {
                    *dead = seq.max(*dead);
                }
            }
        }
        for (lpn, &dead) in dead.iter().enumerate().filter(|&(_, &dead)| dead > 0) {
            let ppn = self.map.get(lpn);
            let stays = ppn != NONE && order(ppn).is_some_and(|(seq, _)| seq > dead);
            if !stays {
                self.map.set(lpn, NONE);
            }
        }
        let mapped = (0..self.map.len()).map(|lpn| (lpn as u32, self.map.get(lpn)));
        let mapped = mapped.filter(|&(_, ppn)| ppn != NONE);
        let look = |store: &Store, (_, ppn)| store.owner_of(Ppn(ppn));
        in_groups(store, mapped, look, |store, (lpn, ppn)| store.adopt(Ppn(ppn), lpn));
        // A tombstone is kept while it is the last word on one of its pages.
        for (ppn, oob) in media.records().filter(|(_, oob)| oob.content == Content::Tombstone) {
            if tombstones[&(oob.seq, oob.lpn)].1 != ppn {
                continue;
            }
            let tomb = self.tombs.len() as u32;
            let mut live = 0;
            for &(first, count) in media.trims(oob.lpn.0) {
                for lpn in first.run(count) {
                    if self.map.get(lpn.index()) == NONE && dead[lpn.index()] == oob.seq {
                        self.map.set(lpn.index(), TOMB | tomb);
                        live += 1;
                    }
                }
            }
            if live > 0 {
                self.tombs.push(Tombstone { ppn, live, list: oob.lpn.0 });
                store.adopt(ppn, TOMB | tomb);
            }
        }
    }
}

impl Store {
    /// Flash page `ppn` holds the valid page of `owner`: to be said of all of them before
    /// [`Self::reopen`].
    pub fn adopt(&mut self, ppn: Ppn, owner: u32) {
        let (block, _) = self.geometry.split(ppn);
        self.reverse[ppn.index()] = owner;
        self.valid.set(ppn.index());
        self.valid_of[block.index()] += 1;
        self.units[self.geometry.unit_of(block).index()].valid += 1;
    }

    /// Whose page is at `ppn`, if one that is valid is.
    fn owner_of(&self, ppn: Ppn) -> u32 {
        self.reverse[ppn.index()]
    }

    /// Erases what holds nothing valid, and finds the blocks that go on being written: in each unit
    /// the two of each class with most room, as the collection that power cut short may need it.
    pub fn reopen(&mut self, cx: &mut Cx<'_>, media: &Media) {
        self.pool = Pool::empty(&self.geometry);
        for block in self.geometry.all_blocks() {
            let unit = self.geometry.unit_of(block);
            if self.valid_of[block.index()] == 0 {
                let dirty = !media.is_untouched(block)
                    && media.block(block).iter().any(|page| *page != PageState::Erased);
                if dirty && !cx.flash.is_worn_out(block) {
                    cx.erase(block, Cause::Mapping, JoinId::NONE, JoinId::NONE);
                }
                self.give(cx, block);
                continue;
            }
            let class = self.class_found(block);
            if let Some(of) = self.class_of.get_mut(block.index()) {
                *of = class as u8;
            }
            let opened = media.block(block).iter().find_map(|p| match p {
                PageState::Done(oob) => Some(oob.opened),
                _ => None,
            });
            let opened = opened.unwrap_or(0);
            self.history.found(block, opened);
            let room = self.data_pages().saturating_sub(cx.flash.write_ptr(block));
            let (fresh, moved) =
                (self.write_point(unit, class, false), self.write_point(unit, class, true));
            let most = match &self.open[moved] {
                open if open.block.is_none() => 0,
                open => self.data_pages() - open.page,
            };
            if room <= most {
                self.close(unit, block);
                continue;
            }
            let label = Label { role: Role::Data, logical_block: LogicalBlock::NONE, opened };
            let page = self.data_pages() - room;
            let former = std::mem::replace(
                &mut self.open[moved],
                Open { block, page, label, ..Open::default() },
            );
            let former = if fresh == moved {
                former
            } else {
                std::mem::replace(&mut self.open[fresh], former)
            };
            if former.block != BlockId::NONE {
                self.close(unit, former.block);
            }
        }
        for unit in self.geometry.all_units() {
            self.ask_for_room(unit, DATA);
        }
    }

    /// The class of what is valid in a block: the mapping's own pages, or data of whatever region.
    fn class_found(&self, block: BlockId) -> u32 {
        let first = self.geometry.ppn(block, 0).index();
        let own = |ppn: usize| self.reverse[ppn] >= OWN;
        match self.valid.first_set(first, first + self.ppb() as usize) {
            Some(ppn) if own(ppn) => self.own_class(0),
            _ => DATA,
        }
    }
}
