//! Rebuilding after a power cut: the newest record of each page counts, and each logical block ends
//! in one data block.
//!
//! A block that holds the last words on all pages of its logical block becomes its data block as it
//! is. Any other logical block is folded into an erased block, and what it was folded from goes.
//! Logical blocks that own blocks come first: each gives back as many blocks as it takes. Power may
//! fail again at any time: nothing is erased that holds a last word which is nowhere else. A fold
//! that power cut short begins anew, unless a page of the host went into it.
//!
//! Where so many blocks are worn out that none is left to fold into, the logical block stays as it
//! is: it can be read, and nothing can be written any more.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Blocks, DEAD, Placement, Striping};
use crate::ftl::context::Cx;
use crate::ftl::pool::Pool;
use crate::nand::media::Content;
use crate::nand::{Cause, JoinId, Media, Oob, PageState};
use crate::support::NONE;
use crate::support::bits::Bits;
use crate::support::chunks::Chunks;
use crate::support::ids::{BlockId, LogicalBlock, Lpn, Ppn};

/// What a block says of a page: when it was said in the order of writes, whether it is that the
/// page has been trimmed, and where.
#[derive(Debug, Clone, Copy)]
struct Word {
    seq: u64,
    dead: bool,
    ppn: Ppn,
}

const SILENCE: Word = Word { seq: 0, dead: true, ppn: Ppn::NONE };

impl Word {
    fn entry(self) -> u32 {
        if self.ppn.is_none() { NONE } else { self.ppn.0 | if self.dead { DEAD } else { 0 } }
    }
}

/// The readable records of a block, each with its page.
fn records(media: &Media, block: BlockId) -> impl Iterator<Item = (u32, &Oob)> {
    media.block(block).iter().enumerate().filter_map(|(page, state)| match state {
        PageState::Done(oob) => Some((page as u32, oob)),
        _ => None,
    })
}

/// What a record says of which pages: `(page, whether it has been trimmed)`.
fn says<'a>(media: &'a Media, oob: &'a Oob) -> impl Iterator<Item = (Lpn, bool)> + 'a {
    let (host, trims): (_, &[(Lpn, u32)]) = match oob.content {
        Content::Host => (Some(oob.lpn), &[]),
        Content::Tombstone => (None, media.trims(oob.lpn.0)),
        Content::Filler | Content::Map => (None, &[]),
    };
    let trimmed = trims.iter().flat_map(|&(first, count)| first.run(count));
    host.into_iter().map(|lpn| (lpn, false)).chain(trimmed.map(|lpn| (lpn, true)))
}

/// The last word on each logical page, and the last one of any other block.
#[derive(Debug, Clone)]
struct Words {
    ppb: u32,
    first: Chunks<Word, 256>,
    second: Chunks<Word, 256>,
}

impl Words {
    /// Among copies of one record the one in the later of `blocks` counts.
    fn read(
        media: &Media,
        blocks: impl Iterator<Item = BlockId>,
        striping: Striping,
        ppb: u32,
        pages: usize,
    ) -> Self {
        let silence = || Chunks::new(pages, SILENCE);
        let mut words = Self { ppb, first: silence(), second: silence() };
        for block in blocks {
            for (page, oob) in records(media, block) {
                for (lpn, dead) in says(media, oob) {
                    words.note(
                        striping.placed(lpn).index(),
                        Word { seq: oob.seq, dead, ppn: block.page(page, ppb) },
                    );
                }
            }
        }
        words
    }

    fn note(&mut self, lpn: usize, word: Word) {
        let (first, second) = (self.first[lpn], self.second[lpn]);
        if word.seq >= first.seq {
            if first.ppn.block(self.ppb) != word.ppn.block(self.ppb) {
                self.second.set(lpn, first);
            }
            self.first.set(lpn, word);
        } else if word.seq >= second.seq && first.ppn.block(self.ppb) != word.ppn.block(self.ppb) {
            self.second.set(lpn, word);
        }
    }

    /// Whether each page of which one of `blocks` has the last word has another word that says the
    /// same.
    fn may_spare(&self, blocks: &[BlockId]) -> bool {
        let said_again = |(first, second): (&Word, &Word)| {
            first.ppn.is_none()
                || !blocks.contains(&(first.ppn.block(self.ppb)))
                || if first.dead { second.dead } else { second.seq == first.seq }
        };
        self.first.iter().zip(self.second.iter()).all(said_again)
    }

    /// Whether `other` says the same of each page.
    fn agrees(&self, other: &Self) -> bool {
        let same = |(one, two): (&Word, &Word)| {
            if one.dead { two.dead } else { !two.dead && two.seq == one.seq }
        };
        self.first.iter().zip(other.first.iter()).all(same)
    }

    /// Whether the other blocks say the same of these pages as all with `block` do. If so, they
    /// count from now on.
    fn without(&mut self, pages: Range<usize>, block: BlockId) -> bool {
        let ppb = self.ppb;
        let here = move |word: &Word| word.ppn != Ppn::NONE && word.ppn.block(ppb) == block;
        let same = pages.clone().all(|lpn| {
            let (first, second) = (&self.first[lpn], &self.second[lpn]);
            !here(first) || if first.dead { second.dead } else { second.seq == first.seq }
        });
        if same {
            for lpn in pages.filter(|&lpn| here(&self.first[lpn])).collect::<Vec<_>>() {
                self.first.set(lpn, self.second[lpn]);
            }
        }
        same
    }
}

impl Blocks {
    /// Rebuilds the state of a fresh mapping from what the flash holds; no log block is left.
    pub(super) fn fold_back(&mut self, cx: &mut Cx<'_>, media: &Media) {
        let ppb = self.ppb();
        let (mut owned, shared) = self.sort_out(cx, media, self.data.len());
        let all = owned.iter().flatten().chain(&shared).copied();
        let mut words = Words::read(media, all, self.striping, ppb, self.last.len());
        let logical = LogicalBlock(0).run(self.data.len() as u32);
        let pages_of = |lbn: LogicalBlock| Lpn::indices(&lbn.range(ppb));
        for lbn in logical.clone() {
            let mine = &mut owned[lbn.index()];
            if let Some(place) =
                mine.iter().position(|&block| self.adopt(media, &words, lbn, block))
            {
                self.data[lbn.index()] = mine.remove(place);
                mine.drain(..).for_each(|other| self.discard(cx, other));
            } else if let Some(&newest) = mine.last()
                && words.without(pages_of(lbn), newest)
            {
                self.discard(cx, newest);
                mine.pop();
            }
        }
        debug_assert_eq!(words.first.len(), self.last.len());
        for (lpn, word) in words.first.iter().enumerate() {
            if self.last[lpn] == NONE {
                self.last.set(lpn, word.entry());
            }
        }
        let mut shared = self.discard_unused(cx, shared);
        for with_blocks in [true, false] {
            for lbn in logical.clone() {
                let blank = self.last.range(pages_of(lbn)).all(|&word| word == NONE);
                let later = owned[lbn.index()].is_empty() == with_blocks;
                if blank || later || self.data[lbn.index()] != BlockId::NONE {
                    continue;
                }
                let mine = std::mem::take(&mut owned[lbn.index()]);
                if self.pool.total() == 0 {
                    self.stranded.extend(mine);
                    continue;
                }
                let unit =
                    mine.first().map_or_else(|| self.home(lbn), |&b| self.geometry.unit_of(b));
                let target = self.take(unit);
                self.fold(cx, lbn, target, (&[], JoinId::NONE), JoinId::NONE);
                for block in mine {
                    self.discard(cx, block);
                }
            }
        }
        shared.append(&mut self.stranded);
        self.stranded = self.discard_unused(cx, shared);
    }

    /// Erases those of `blocks` that hold no last word; the others.
    fn discard_unused(&mut self, cx: &mut Cx<'_>, blocks: Vec<BlockId>) -> Vec<BlockId> {
        let mut used = Bits::new(self.geometry.blocks() as usize);
        for (block, _) in self.words(Lpn(0)..Lpn(self.last.len() as u32)) {
            used.set(block.index());
        }
        let (used, unused): (Vec<BlockId>, Vec<BlockId>) =
            blocks.into_iter().partition(|&block| used.get(block.index()));
        for block in unused {
            self.discard(cx, block);
        }
        used
    }

    /// The same where the pages of each owner, `pages`, may lie anywhere in its blocks: nothing is
    /// folded. Returns the blocks of each owner that hold a last word, in the order in which they
    /// were opened.
    pub fn read_back(
        &mut self,
        cx: &mut Cx<'_>,
        media: &Media,
        pages: &[Range<Lpn>],
    ) -> Vec<Vec<BlockId>> {
        let (mut owned, _) = self.sort_out(cx, media, pages.len());
        let mut words = Words::read(
            media,
            owned.iter().flatten().copied(),
            self.striping,
            self.ppb(),
            self.last.len(),
        );
        for (mine, pages) in owned.iter_mut().zip(pages) {
            let range = Lpn::indices(pages);
            if let Some(newest) = mine.pop_if(|newest| words.without(range.clone(), *newest)) {
                self.discard(cx, newest);
            }
            for lpn in range {
                self.last.set(lpn, words.first[lpn].entry());
            }
            let in_use: Vec<BlockId> = self.words(pages.clone()).map(|(block, _)| block).collect();
            mine.retain(|block| {
                let keep = in_use.contains(block);
                if !keep {
                    self.discard(cx, *block);
                }
                keep
            });
        }
        owned
    }

    /// The same where blocks that were opened at the same time make an area and belong to nobody:
    /// nothing is folded. Copying that power cut short is undone. Returns the areas that hold a
    /// last word, in the order in which they were opened.
    pub fn read_areas(&mut self, cx: &mut Cx<'_>, media: &Media) -> Vec<Vec<BlockId>> {
        let (_, shared) = self.sort_out(cx, media, 0);
        let mut by_age: BTreeMap<u64, Vec<BlockId>> = BTreeMap::new();
        for block in shared {
            let opened = records(media, block).map(|(_, oob)| oob.opened).max().unwrap_or(0);
            by_age.entry(opened).or_default().push(block);
        }
        let mut areas: Vec<Vec<BlockId>> = by_age.into_values().collect();
        let (striping, ppb, pages) = (self.striping, self.ppb(), self.last.len());
        let read = |areas: &[Vec<BlockId>]| {
            Words::read(media, areas.iter().flatten().copied(), striping, ppb, pages)
        };
        let mut words = read(&areas);
        for at in (0..areas.len()).rev() {
            if words.may_spare(&areas[at]) {
                let area = areas.remove(at);
                let rest = read(&areas);
                if words.agrees(&rest) {
                    for block in area {
                        self.discard(cx, block);
                    }
                    words = rest;
                } else {
                    areas.insert(at, area);
                }
            }
        }
        debug_assert_eq!(words.first.len(), self.last.len());
        for (lpn, word) in words.first.iter().enumerate() {
            self.last.set(lpn, word.entry());
        }
        areas
    }

    /// Erases what holds nothing readable. The other blocks: those of each owner in the order in
    /// which they were opened, and those that belong to none.
    fn sort_out(
        &mut self,
        cx: &mut Cx<'_>,
        media: &Media,
        owners: usize,
    ) -> (Vec<Vec<BlockId>>, Vec<BlockId>) {
        self.pool = Pool::empty(&self.geometry);
        let mut owned: Vec<Vec<(u64, BlockId)>> = vec![Vec::new(); owners];
        let mut shared = Vec::new();
        for block in self.geometry.all_blocks() {
            let opened = records(media, block).map(|(_, oob)| oob.opened).max();
            match records(media, block).next().zip(opened) {
                // An owner that is none of this drive counts as none.
                Some(((_, oob), opened)) => match owned.get_mut(oob.logical_block.index()) {
                    Some(owned) => owned.push((opened, block)),
                    None => shared.push(block),
                },
                // The last erase of a worn-out block may have been cut short.
                None if cx.flash.is_worn_out(block) => self.retired += 1,
                None if media.block(block).iter().any(|page| *page != PageState::Erased) => {
                    self.discard(cx, block);
                }
                None => self.give(cx.flash, block),
            }
        }
        let in_order = |mut blocks: Vec<(u64, BlockId)>| {
            blocks.sort_unstable();
            blocks.into_iter().map(|(_, block)| block).collect()
        };
        (owned.into_iter().map(in_order).collect(), shared)
    }

    /// Whether `block` holds the last word on every page of `lbn`, in its place; they then count as
    /// lying there.
    fn adopt(&mut self, media: &Media, words: &Words, lbn: LogicalBlock, block: BlockId) -> bool {
        let ppb = self.ppb();
        let pages = Lpn::indices(&lbn.range(ppb));
        let mut found = vec![SILENCE; ppb as usize];
        for (page, oob) in records(media, block) {
            for (lpn, dead) in says(media, oob) {
                let slot = self.striping.placed(lpn);
                let offset = slot.offset(ppb);
                let in_place = dead || self.placement == Placement::Free || offset == page;
                if in_place && oob.seq == words.first[slot.index()].seq {
                    found[offset as usize] =
                        Word { seq: oob.seq, dead, ppn: block.page(page, ppb) };
                }
            }
        }
        let complete =
            words.first.range(pages.clone()).zip(&found).all(|(word, at)| word.seq == at.seq);
        if complete {
            for (lpn, word) in pages.zip(&found) {
                self.last.set(lpn, word.entry());
            }
        }
        complete
    }

    fn discard(&mut self, cx: &mut Cx<'_>, block: BlockId) {
        self.erase(cx, block, Cause::Mapping, JoinId::NONE);
    }
}
