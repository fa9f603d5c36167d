//! Tombstones: pages that say what the host has trimmed, so that older versions do not come back after a power cut.

use super::{PageMap, TOMB, Tombstone};
use crate::ftl::cx::{Cx, Move, PageOut, Place};
use crate::nand::Cause;
use crate::support::NONE;

impl PageMap {
    /// Takes ranges trimmed since the last tombstone and not written again, in order, as many as a tombstone holds; and
    /// the blocks that hold the versions before, which must stay until the tombstone is stored.
    pub(super) fn take_trimmed(&mut self) -> (Vec<(u32, u32)>, Vec<u32>) {
        let most = (self.geometry.page_bytes / 8) as usize;
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        let mut blocks = Vec::new();
        while let Some(entry) = self.trimmed.first_entry() {
            let lpn = *entry.key();
            let full = ranges.len() == most;
            match ranges.last_mut() {
                Some((start, len)) if *start + *len == lpn => *len += 1,
                _ if full => break,
                _ => ranges.push((lpn, 1)),
            }
            blocks.push(entry.remove());
        }
        blocks.sort_unstable();
        blocks.dedup();
        (ranges, blocks)
    }

    /// A tombstone for these ranges: its number and the page to write.
    pub(super) fn tombstone(&mut self, cx: &mut Cx<'_>, ranges: &[(u32, u32)]) -> (u32, PageOut) {
        let tomb = self.free_tombs.pop().unwrap_or_else(|| {
            self.tombs.push(Tombstone { ppn: NONE, live: 0, list: NONE });
            self.tombs.len() as u32 - 1
        });
        let mut live = 0;
        for &(first, count) in ranges {
            self.map[first as usize..(first + count) as usize].fill(TOMB | tomb);
            live += count;
        }
        let list = cx.engine.shadow_mut().map_or(NONE, |shadow| {
            shadow.image.trims.push(ranges.to_vec());
            shadow.image.trims.len() as u32 - 1
        });
        self.tombs[tomb as usize] = Tombstone { ppn: NONE, live, list };
        (tomb, PageOut::tombstone(list, Cause::Mapping))
    }

    /// Plans the tombstones for what has been trimmed and not written since, among the host's pages.
    pub(super) fn bury(&mut self, cx: &mut Cx<'_>) -> bool {
        while !self.trimmed.is_empty() {
            let Some(unit) = self.pick_unit(cx.engine) else { return false };
            let (ranges, blocks) = self.take_trimmed();
            let (tomb, out) = self.tombstone(cx, &ranges);
            self.hold_back(cx, unit, &blocks);
            let Some(ppn) = self.append(cx, unit, out, TOMB | tomb, NONE, NONE) else { return false };
            self.tombs[tomb as usize].ppn = ppn;
            self.next_turn(unit);
        }
        true
    }

    /// The next program of `unit`'s host block comes before erases of `blocks`.
    pub(super) fn hold_back(&mut self, cx: &mut Cx<'_>, unit: u32, blocks: &[u32]) {
        for &block in blocks.iter().filter(|&&block| block != NONE) {
            cx.pin(block, &mut self.units[unit as usize].host.pinned);
        }
    }

    /// Before the victim goes: what it holds of pages trimmed meanwhile is their last durable version, and older ones
    /// may lie elsewhere. Plans the tombstones in the collection block, ahead of the erase.
    pub(super) fn bury_before_erase(&mut self, cx: &mut Cx<'_>, unit: u32) -> bool {
        let victim = self.units[unit as usize].victim;
        while !self.trimmed.is_empty() {
            let Some((block, page)) = self.place(cx, unit, true, NONE) else { return false };
            let ppn = block * self.ppb() + page;
            let (ranges, blocks) = self.take_trimmed();
            let (tomb, out) = self.tombstone(cx, &ranges);
            self.reverse[ppn as usize] = TOMB | tomb;
            self.tombs[tomb as usize].ppn = ppn;
            let mut moves = vec![Move { page: NONE, out }];
            while !(moves.len() as u32).is_multiple_of(self.geometry.program_pages) {
                if let Some((block, page)) = self.place(cx, unit, true, NONE) {
                    self.invalidate(block * self.ppb() + page);
                }
                moves.push(Move { page: NONE, out: PageOut::filler() });
            }
            let label = self.units[unit as usize].gc.label;
            let mut pins = Vec::new();
            for &block in blocks.iter().filter(|&&block| block != NONE) {
                cx.pin(block, &mut pins);
            }
            cx.relocate(victim, &moves, Place { block, page, label }, Cause::Mapping, NONE);
            cx.unpin(&mut pins);
            self.close_if_full(unit, true);
        }
        true
    }
}
