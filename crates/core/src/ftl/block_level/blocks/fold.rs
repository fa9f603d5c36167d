//! Writing: host pages, tombstones, and what a block is folded from.

use std::ops::Range;

use super::{Blocks, DEAD, Placement};
use crate::ftl::context::{After, Cx, Label, PageOut, Piece, Place, Run};
use crate::nand::{Cause, Flash, JoinId, Role};
use crate::support::NONE;
use crate::support::chunks::first;
use crate::support::ids::{BlockId, LogicalBlock, Lpn, Ppn};

impl Blocks {
    /// Programs pages at `at` and following, after join `waits`.
    pub fn program(&mut self, cx: &mut Cx<'_>, at: Place, pages: &[PageOut], waits: JoinId) {
        let waits = self.after_erases(cx, waits);
        let mut done = 0;
        while done < pages.len() {
            // One operation holds back one block's erase.
            let guard = self.holder(pages[done].lpn);
            let rest = &pages[done..];
            let count =
                1 + rest[1..].iter().take_while(|out| self.holder(out.lpn) == guard).count();
            let page = at.page + done as u32;
            let after = After {
                guard: if guard == at.block { BlockId::NONE } else { guard },
                ..After::join(waits)
            };
            let place = Place { page, ..at };
            if self.striping.is_plain() {
                cx.program(place, &rest[..count], after);
            } else {
                let lpn = |out: &PageOut| PageOut { lpn: self.striping.lpn(out.lpn), ..*out };
                self.named.clear();
                self.named.extend(rest[..count].iter().map(lpn));
                cx.program(place, &self.named, after);
            }
            let first = self.geometry.ppn(at.block, page);
            for (ppn, out) in (first.0..).zip(&rest[..count]) {
                self.last.set(out.lpn.index(), ppn);
                self.owed.clear(out.lpn.index());
            }
            done += count;
        }
    }

    /// The same of one page that waits for nothing and lies where its number says, by a program that
    /// begins at once.
    #[inline]
    pub fn program_alone(&mut self, cx: &mut Cx<'_>, at: Place, out: PageOut) {
        let holder = self.holder(out.lpn);
        let guard = if holder == at.block { BlockId::NONE } else { holder };
        cx.program_one(at, out, After { guard, ..After::join(JoinId::NONE) });
        self.last.set(out.lpn.index(), self.geometry.ppn(at.block, at.page).0);
        self.owed.clear(out.lpn.index());
    }

    /// Join `waits`, and where the host's pages come after them all erases that the step has
    /// planned so far. None that is planned later belongs to it: that may be of a block which this
    /// program's pages leave.
    fn after_erases(&mut self, cx: &mut Cx<'_>, waits: JoinId) -> JoinId {
        let erased = std::mem::replace(&mut self.erased, JoinId::NONE);
        if !erased.is_none() {
            let mut all = None;
            for join in [waits, self.awaited, erased] {
                cx.feed_unit(join, &mut all);
            }
            self.awaited = cx.unit_is_fed(all);
        }
        if self.awaited.is_none() { waits } else { self.awaited }
    }

    /// Writes pages straight to their erased slots in the data block, which is taken where there is
    /// none: the first one and those that follow it. `None` where the first cannot go there, no
    /// page while there is no block to take.
    pub fn write_direct(
        &mut self,
        cx: &mut Cx<'_>,
        pages: &[PageOut],
        waits: JoinId,
    ) -> Option<usize> {
        let (lbn, offset) = self.split(pages[0].lpn);
        let room = (self.ppb() - offset) as usize;
        let run = pages
            .iter()
            .zip(pages[0].lpn.onwards())
            .take(room)
            .take_while(|(out, lpn)| out.lpn == *lpn)
            .count();
        let count = self.direct(cx.flash, pages[0].lpn, run as u32) as usize;
        if count == 0 {
            return None;
        }
        let Some(block) = self.data_block(cx, lbn) else { return Some(0) };
        self.program(
            cx,
            Place { block, page: offset, label: Self::data_label(lbn) },
            &pages[..count],
            waits,
        );
        Some(count)
    }

    /// The data block of `lbn`, which is taken where there is none; `None` while there is no block
    /// to take.
    pub fn data_block(&mut self, cx: &Cx<'_>, lbn: LogicalBlock) -> Option<BlockId> {
        if self.data[lbn.index()].is_none() {
            if !self.can_take(cx, 1) {
                return None;
            }
            self.data[lbn.index()] = self.take(self.home(lbn));
        }
        Some(self.data[lbn.index()])
    }

    /// Programs a page that says that `pages` have been trimmed.
    pub fn write_tombstones(&mut self, cx: &mut Cx<'_>, at: Place, pages: &[Lpn]) {
        let mut holders: Vec<BlockId> = pages.iter().map(|&lpn| self.holder(lpn)).collect();
        holders.retain(|&block| block != at.block && block != BlockId::NONE);
        holders.sort_unstable();
        holders.dedup();
        let mut pins = Vec::new();
        for block in holders {
            cx.pin(block, &mut pins);
        }
        let list = cx.write_down_trims(pages.iter().map(|&slot| (self.striping.lpn(slot), 1)));
        cx.program(at, &[PageOut::tombstone(list, Cause::Mapping)], After::join(JoinId::NONE));
        cx.unpin(&mut pins);
        for &lpn in pages {
            self.last.set(lpn.index(), DEAD | self.geometry.ppn(at.block, at.page).0);
            self.owed.clear(lpn.index());
        }
    }

    /// Whether folding can complete `block` as it is: what it holds of `lbn` lies in place, and
    /// there is room for the rest in its place.
    pub fn can_complete(&self, flash: &Flash, lbn: LogicalBlock, block: BlockId) -> bool {
        let ppb = self.ppb();
        let base = self.geometry.ppn(block, 0);
        let Range { start, end } = Lpn::indices(&lbn.range(ppb));
        let mut next = start;
        while let Some(at) = self.last.first(next..end, |word| word != NONE) {
            let (word, offset) = (self.last[at], (at - start) as u32);
            let fits = Ppn(word) == base + offset
                || if self.lies(word).0 == block {
                    word & DEAD != 0
                } else {
                    flash.accepts(block, offset)
                };
            if !fits {
                return false;
            }
            next = at + 1;
        }
        true
    }

    /// Whether a page of `lbn`, live or trimmed, has its last word outside `block`.
    pub fn has_more(&self, lbn: LogicalBlock, block: BlockId) -> bool {
        let ppb = self.ppb();
        let base = self.geometry.ppn(block, 0).0;
        let is_elsewhere = |word: u32| (word != NONE) & ((word & !DEAD).wrapping_sub(base) >= ppb);
        self.last.first(Lpn::indices(&lbn.range(ppb)), is_elsewhere).is_some()
    }

    /// Makes `block` the data block of `lbn`: copies the newest version of each page that lies
    /// elsewhere, writes `fresh` pages of the host (in ascending order, after join `waits`) in the
    /// place of copies, and leaves one tombstone for the trimmed ones. The copies signal `join`.
    pub fn fold(
        &mut self,
        cx: &mut Cx<'_>,
        lbn: LogicalBlock,
        block: BlockId,
        (fresh, waits): (&[PageOut], JoinId),
        join: JoinId,
    ) {
        let ppb = self.ppb();
        let (first, label) = (lbn.first(ppb), cx.label(Role::Data, lbn));
        let (mut fresh, mut offset) = (fresh, 0);
        let mut cursor = cx.flash.write_ptr(block);
        let base = self.geometry.ppn(block, 0).0;
        let is_elsewhere = |word: u32| (word != NONE) & ((word & !DEAD).wrapping_sub(base) >= ppb);
        while offset < ppb {
            let stop = fresh.first().map_or(ppb, |out| out.lpn - first);
            let pages = Lpn::indices(&(first + offset..first + stop));
            offset = self.last.first(pages, is_elsewhere).map_or(stop, |at| Lpn(at as u32) - first);
            if offset == ppb {
                break;
            }
            let page = if self.placement == Placement::Fixed { offset } else { cursor };
            let at = Place { block, page, label };
            if offset == stop {
                let count = fresh
                    .iter()
                    .zip((first + offset).onwards())
                    .take_while(|(out, lpn)| out.lpn == *lpn)
                    .count();
                self.program(cx, at, &fresh[..count], waits);
                fresh = &fresh[count..];
                (offset, cursor) = (offset + count as u32, cursor + count as u32);
                continue;
            }
            if self.last[(first + offset).index()] & DEAD != 0 {
                // One tombstone speaks of all of them; they then lie in this block.
                let trimmed = self.trimmed_of(first + offset..first + ppb, fresh, block);
                self.write_tombstones(cx, at, &trimmed);
                (offset, cursor) = (offset + 1, cursor + 1);
            } else {
                let (passed, count) = self.copy_all(cx, first + offset..first + stop, at, join);
                (offset, cursor) = (offset + passed, cursor + count);
            }
        }
        self.data[lbn.index()] = block;
    }

    /// Copies the newest versions of `pages`, the first of which lies elsewhere, to `at` and
    /// following, up to the first that has been trimmed; what lies there already is passed over.
    /// How many pages it has passed, and how many copied. They signal `join`.
    fn copy_all(
        &mut self,
        cx: &mut Cx<'_>,
        pages: Range<Lpn>,
        at: Place,
        join: JoinId,
    ) -> (u32, u32) {
        let (ppb, fixed) = (self.ppb(), self.placement == Placement::Fixed);
        let words = self.last.head_mut(Lpn::indices(&pages));
        if words.len() < (pages.end - pages.start) as usize {
            let count = self.copy_run(cx, pages, at, Cause::Merge, join);
            return (count, count);
        }
        let base = self.geometry.ppn(at.block, 0).0;
        let is_elsewhere = |word: u32| (word != NONE) & ((word & !DEAD).wrapping_sub(base) >= ppb);
        let mut pieces = std::mem::take(&mut self.pieces);
        let (mut next, mut copied) = (0, 0);
        loop {
            next += first(&words[next..], is_elsewhere).unwrap_or(words.len() - next);
            let Some(&word) = words.get(next).filter(|&&word| word & DEAD == 0) else { break };
            let source = self.geometry.split(Ppn(word));
            let page = at.page + if fixed { next as u32 } else { copied };
            let most = (words.len() - next).min((ppb - source.1.max(page)) as usize);
            let run = &mut words[next..next + most];
            let count = run.iter().zip(word..).take_while(|(word, next)| **word == *next).count();
            for (word, to) in run[..count].iter_mut().zip(base + page..) {
                *word = to;
            }
            let lpn = pages.start + next as u32;
            pieces.push(Piece { source, page, count: count as u32, lpn });
            (next, copied) = (next + count, copied + count as u32);
        }
        let step = self.striping.step(self.split(pages.start).0);
        for piece in &mut pieces {
            piece.lpn = self.striping.lpn(piece.lpn);
        }
        cx.copy_pieces(&pieces, step, at, Cause::Merge, join);
        pieces.clear();
        self.pieces = pieces;
        (next as u32, copied)
    }

    /// Copies the newest versions of the first of `pages`, and of the next ones as long as they
    /// follow it in its block, to `at` and following. Returns how many. They signal `join`.
    fn copy_run(
        &mut self,
        cx: &mut Cx<'_>,
        pages: Range<Lpn>,
        at: Place,
        cause: Cause,
        join: JoinId,
    ) -> u32 {
        let first = self.last[pages.start.index()];
        let source = self.lies(first);
        let most = (pages.end - pages.start).min(self.ppb() - source.1.max(at.page)) as usize;
        let (start, target) = (pages.start.index(), self.geometry.ppn(at.block, at.page).0);
        let mut count = 0;
        while count < most {
            let words = self.last.head_mut(start + count..start + most);
            let (next, to) = (first + count as u32, target + count as u32);
            let follow =
                words.iter().zip(next..).take_while(|(word, next)| **word == *next).count();
            for (word, ppn) in words[..follow].iter_mut().zip(to..) {
                *word = ppn;
            }
            count += follow;
            if follow < words.len() {
                break;
            }
        }
        let step = self.striping.step(self.split(pages.start).0);
        let named = Run { first: self.striping.lpn(pages.start), step, count: count as u32 };
        cx.copy(source, at, named, cause, join);
        count as u32
    }

    /// Copies the newest version of a page to `at`.
    pub fn move_page(&mut self, cx: &mut Cx<'_>, page: Lpn, at: Place, cause: Cause) {
        let source = self.lies(self.last[page.index()]);
        let named = Run { first: self.striping.lpn(page), step: 1, count: 1 };
        cx.copy(source, at, named, cause, JoinId::NONE);
        self.last.set(page.index(), self.geometry.ppn(at.block, at.page).0);
    }

    /// Moves what `pages` have in block `from` to `at` and following, to the end of that block;
    /// trimmed pages leave one tombstone. Returns the page at which it stopped.
    pub fn gather(&mut self, cx: &mut Cx<'_>, pages: Range<Lpn>, from: BlockId, at: Place) -> Lpn {
        let (mut lpn, mut page) = (pages.start, at.page);
        while lpn < pages.end && page < self.ppb() {
            let to = Place { page, ..at };
            if self.holder(lpn) != from {
                lpn += 1;
            } else if self.lookup(lpn).is_some() {
                let count = self.copy_run(cx, lpn..pages.end, to, Cause::Gc, JoinId::NONE);
                (lpn, page) = (lpn + count, page + count);
            } else {
                let trimmed: Vec<Lpn> = Lpn::each(lpn..pages.end)
                    .filter(|&lpn| self.holder(lpn) == from && self.lookup(lpn).is_none())
                    .collect();
                self.write_tombstones(cx, to, &trimmed);
                (lpn, page) = (lpn + 1, page + 1);
            }
        }
        lpn
    }

    /// Pages among `pages` whose last word outside `block` is that they have been trimmed, and
    /// which `fresh` does not bring back.
    fn trimmed_of(&self, pages: Range<Lpn>, fresh: &[PageOut], block: BlockId) -> Vec<Lpn> {
        let is_dead = |lpn: &Lpn| {
            let word = self.last[lpn.index()];
            word != NONE && word & DEAD != 0 && self.holder(*lpn) != block
        };
        Lpn::each(pages)
            .filter(is_dead)
            .filter(|lpn| fresh.iter().all(|out| out.lpn != *lpn))
            .collect()
    }

    /// A label for pages that go straight into the data block of `lbn`.
    pub fn data_label(lbn: LogicalBlock) -> Label {
        Label { role: Role::Data, logical_block: lbn, opened: 0 }
    }
}
