//! Rebuilding after a power cut, from the records of the pages alone.

use super::{Open, PageMap, TOMB, Tombstone};
use crate::ftl::cx::{Cx, Label};
use crate::ftl::pool::Pool;
use crate::nand::image::{Content, PageState};
use crate::nand::{Cause, Role};
use crate::support::NONE;

impl PageMap {
    /// Finds the newest version of each page, and what may be written where.
    pub(super) fn rebuild(&mut self, cx: &mut Cx<'_>) {
        let Some(image) = cx.engine.shadow().map(|s| s.image.clone()) else { return };
        self.pool = Pool::empty(&self.geometry);
        self.reverse.fill(NONE);
        // The newest record of each logical page wins. A copy has the record of its source; the one in the block that
        // was opened later wins, so that a collection which was cut short does not begin anew.
        let mut newest = vec![((0u64, 0u64), NONE); self.map.len()];
        let mut dead = vec![0u64; self.map.len()];
        for ppn in 0..self.geometry.pages() {
            let Some(oob) = image.oob(ppn) else { continue };
            match oob.content {
                Content::Host if (oob.seq, oob.opened) > newest[oob.lpn as usize].0 => {
                    newest[oob.lpn as usize] = ((oob.seq, oob.opened), ppn);
                }
                Content::Tombstone => {
                    for &(first, count) in &image.trims[oob.lpn as usize] {
                        for seq in &mut dead[first as usize..(first + count) as usize] {
                            *seq = (*seq).max(oob.seq);
                        }
                    }
                }
                _ => {}
            }
        }
        for (lpn, &((seq, _), ppn)) in newest.iter().enumerate() {
            if ppn != NONE && seq > dead[lpn] {
                self.map[lpn] = ppn;
                self.reverse[ppn as usize] = lpn as u32;
                self.valid.set(ppn as usize);
                let block = ppn / self.ppb();
                self.valid_of[block as usize] += 1;
                self.units[self.geometry.unit_of(block) as usize].valid += 1;
            }
        }
        // A tombstone is kept while it is the last word on one of its pages.
        for ppn in 0..self.geometry.pages() {
            let Some(oob) = image.oob(ppn).filter(|oob| oob.content == Content::Tombstone) else { continue };
            let tomb = self.tombs.len() as u32;
            let mut live = 0;
            for &(first, count) in &image.trims[oob.lpn as usize] {
                for lpn in first..first + count {
                    if self.map[lpn as usize] == NONE && dead[lpn as usize] == oob.seq {
                        self.map[lpn as usize] = TOMB | tomb;
                        live += 1;
                    }
                }
            }
            if live > 0 {
                self.tombs.push(Tombstone { ppn, live, list: oob.lpn });
                self.reverse[ppn as usize] = TOMB | tomb;
                self.valid.set(ppn as usize);
                let block = ppn / self.ppb();
                self.valid_of[block as usize] += 1;
                self.units[self.geometry.unit_of(block) as usize].valid += 1;
            }
        }
        // What holds nothing valid is erased. In each unit the two blocks with most room go on being written: the
        // collection that power cut short may need it.
        for block in 0..self.geometry.blocks() {
            let unit = self.geometry.unit_of(block);
            let touched = image.block(block).iter().any(|page| *page != PageState::Erased);
            if self.valid_of[block as usize] > 0 {
                let room = self.ppb() - cx.flash.write_ptr(block);
                let u = &mut self.units[unit as usize];
                let gc_room = if u.gc.block == NONE { 0 } else { self.geometry.pages_per_block - u.gc.page };
                if room > gc_room {
                    let opened = image.block(block).iter().find_map(|p| match p {
                        PageState::Done(oob) => Some(oob.opened),
                        _ => None,
                    });
                    let label = Label { role: Role::Data, owner: NONE, opened: opened.unwrap_or(0) };
                    let former = std::mem::replace(
                        &mut u.gc,
                        Open { block, page: self.geometry.pages_per_block - room, label, ..Open::default() },
                    );
                    if u.host.block != NONE {
                        let leaf = (u.host.block - unit * self.geometry.blocks_per_unit) as usize;
                        u.closed.set(leaf, self.valid_of[u.host.block as usize]);
                    }
                    u.host = former;
                    continue;
                }
                let leaf = (block - unit * self.geometry.blocks_per_unit) as usize;
                self.units[unit as usize].closed.set(leaf, self.valid_of[block as usize]);
            } else {
                if touched {
                    cx.erase(block, Cause::Mapping, NONE, NONE);
                }
                self.pool.give(unit, block);
            }
        }
        for unit in 0..self.geometry.units {
            self.ask_for_space(unit);
        }
    }
}
