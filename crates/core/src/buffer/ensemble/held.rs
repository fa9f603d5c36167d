//! The pages that the buffer really holds, and how it follows what an expert does.
//!
//! Each held page is *kept*, because the leader holds it too, or a *stray*, because it does not.
//! What the leader lets go leaves at once, in the same company. Strays leave when there is no room,
//! the one first that has been one for longest, with the other strays of its block.
//!
//! While both hold the same pages, and each is dirty in both or in neither, the buffer is *in step*:
//! what the leader decides is what the buffer does, and is copied.

use crate::buffer::kit::pages::PageTable;
use crate::buffer::{
    Action, Answer, Buffer, Evicted, Eviction, FLUSH_COMMAND, FORCED, Outcome, Reason, Shape, Span,
};
use crate::support::NONE;
use crate::support::bits::Bits;
use crate::support::ids::Lpn;
use crate::support::list::{Links, List};

const STRAY: Reason = "not held by the leader, for longest";
const LEAST_RECENT: Reason = "least recently used page";

/// What is held.
#[derive(Debug)]
pub struct Held {
    shape: Shape,
    pages: PageTable,
    links: Links,
    /// In the order of use.
    kept: List,
    /// The one that leaves first in front.
    strays: List,
    stray: Bits,
    /// Pages that may be dirty here and clean with the leader, or the other way round.
    doubtful: Bits,
    doubts: u32,
    in_step: bool,
}

impl Held {
    /// Nothing.
    pub fn new(shape: Shape) -> Self {
        let pages = PageTable::new(shape);
        let slots = pages.slots();
        Self {
            shape,
            pages,
            links: Links::new(slots),
            kept: List::default(),
            strays: List::default(),
            stray: Bits::new(slots),
            doubtful: Bits::new(slots),
            doubts: 0,
            in_step: false,
        }
    }

    /// The pages held, by slot.
    pub fn table(&self) -> &PageTable {
        &self.pages
    }

    /// Serves a span just as the leader has, where that is sure to be what [`Self::follow`] would
    /// do; else does nothing. What the leader decided is the buffer's decision then.
    #[inline]
    pub fn copy(&mut self, span: &Span, leader: &Outcome) -> bool {
        if !self.in_step {
            return false;
        }
        match leader.answers[..] {
            [answer] if leader.evictions.is_empty() && answer != Answer::Bypass => {
                self.serve_alike(span.first, answer, span.write);
                true
            }
            _ => self.copy_all(span, leader),
        }
    }

    fn copy_all(&mut self, span: &Span, leader: &Outcome) -> bool {
        // Some schemes make room only after they have taken a page in; and what is all clean is
        // dropped here, whatever the leader does with it.
        let is_plain = |one: &Eviction| {
            let mut pages = leader.pages_of(one).iter();
            let leaves = match one.action {
                Action::Drop => true,
                Action::WriteBack => false,
                _ => pages.any(|page| page.dirty),
            };
            leaves && one.before == 0
        };
        if !leader.evictions.iter().all(is_plain) || leader.answers.contains(&Answer::Bypass) {
            return false;
        }
        for eviction in &leader.evictions {
            self.leave_alike(eviction, leader);
        }
        for (lpn, &answer) in span.pages().zip(&leader.answers) {
            self.serve_alike(lpn, answer, span.write);
        }
        true
    }

    /// A page that the leader has taken in, or hit.
    #[inline]
    fn serve_alike(&mut self, lpn: Lpn, answer: Answer, write: bool) {
        match self.pages.find(lpn) {
            Some(slot) if answer == Answer::Hit => {
                if write {
                    self.pages.set_dirty(slot, true);
                }
                self.kept.touch(&mut self.links, slot);
            }
            _ => {
                let slot = self.pages.insert(lpn, write);
                self.kept.push_front(&mut self.links, slot);
            }
        }
    }

    /// An eviction of the leader is the buffer's, too.
    #[inline]
    fn leave_alike(&mut self, eviction: &Eviction, leader: &Outcome) {
        for page in leader.pages_of(eviction) {
            if let Some(slot) = self.pages.find(page.lpn) {
                self.kept.remove(&mut self.links, slot);
                self.pages.remove(slot);
            }
        }
    }

    /// Serves a span after the leader has, which did so much and holds `theirs` pages now. Who
    /// leaves room is followed in that, too: strays do not stay in it.
    pub fn follow(&mut self, span: &Span, leader: &Outcome, theirs: u32, out: &mut Outcome) {
        let mut leaving = leader.evictions.iter().peekable();
        for (at, (lpn, &answer)) in span.pages().zip(&leader.answers).enumerate() {
            while let Some(eviction) = leaving.next_if(|one| one.before as usize <= at) {
                self.leave(eviction, leader, out);
            }
            let (bypasses, is_hit) = (answer == Answer::Bypass, answer == Answer::Hit);
            let answer = match self.pages.find(lpn) {
                Some(slot) => {
                    if span.write {
                        self.pages.set_dirty(slot, true);
                        self.be_sure(slot);
                    } else if !is_hit {
                        self.doubt(slot);
                    }
                    if !bypasses {
                        self.unlink(slot);
                        self.kept.push_front(&mut self.links, slot);
                    }
                    Answer::Hit
                }
                None if bypasses => Answer::Bypass,
                None => {
                    let above = !self.strays.is_empty() && self.pages.len() >= theirs;
                    if above || self.pages.is_full() {
                        self.make_room(out);
                    }
                    let slot = self.pages.insert(lpn, span.write);
                    self.kept.push_front(&mut self.links, slot);
                    if is_hit && !span.write {
                        self.doubt(slot);
                    }
                    if span.write { Answer::Insert } else { Answer::Fill }
                }
            };
            out.answers.push(answer);
        }
        for eviction in leaving {
            self.leave(eviction, leader, out);
        }
        self.fall_in_step(theirs);
    }

    /// The leader holds `theirs` pages: all kept ones, and perhaps others.
    fn fall_in_step(&mut self, theirs: u32) {
        self.in_step = self.strays.is_empty() && self.doubts == 0 && self.pages.len() == theirs;
    }

    fn doubt(&mut self, slot: u32) {
        self.doubts += u32::from(self.doubtful.set(slot as usize));
    }

    fn be_sure(&mut self, slot: u32) {
        self.doubts -= u32::from(self.doubtful.clear(slot as usize));
    }

    /// What the leader lets go leaves.
    fn leave(&mut self, eviction: &Eviction, leader: &Outcome, out: &mut Outcome) {
        if eviction.action == Action::WriteBack {
            self.write_back(eviction, leader, eviction.reason, out);
            return;
        }
        let pages = leader.pages_of(eviction);
        if let &[Evicted { lpn, .. }] = pages {
            self.leave_alone(lpn, eviction, out);
            return;
        }
        let is_dirty =
            |held: &Self, lpn| held.pages.find(lpn).is_some_and(|slot| held.pages.get(slot).dirty);
        // What is dirty here may be clean there, and the other way round.
        let any = pages.iter().any(|page| is_dirty(self, page.lpn));
        let drops = eviction.action == Action::Drop;
        let action = if drops { Action::Evict } else { eviction.action };
        for written in [true, false] {
            let start = out.pages.len();
            for page in pages {
                // Some schemes write clean pages along.
                let along = any && !drops && (action.pads() || !page.dirty);
                if let Some(slot) = self.pages.find(page.lpn)
                    && (along || self.pages.get(slot).dirty) == written
                {
                    out.pages.push(self.remove(slot));
                }
            }
            if start < out.pages.len() {
                out.evict(start, if written { action } else { Action::Drop }, eviction.reason);
                if let Some(hint) = eviction.hint {
                    out.with_hint(hint);
                }
            }
        }
    }

    /// The same of a single page.
    fn leave_alone(&mut self, lpn: Lpn, eviction: &Eviction, out: &mut Outcome) {
        let Some(slot) = self.pages.find(lpn) else { return };
        out.evict_page(self.remove(slot), eviction.reason);
        if let Some(last) = out.evictions.last_mut() {
            if last.action == Action::Evict && eviction.action != Action::Drop {
                last.action = eviction.action;
            }
            last.hint = eviction.hint;
        }
    }

    fn unlink(&mut self, slot: u32) {
        if self.stray.clear(slot as usize) {
            self.strays.remove(&mut self.links, slot);
        } else {
            self.kept.remove(&mut self.links, slot);
        }
    }

    fn remove(&mut self, slot: u32) -> Evicted {
        self.unlink(slot);
        self.be_sure(slot);
        self.pages.remove(slot)
    }

    /// Strays leave, those of one block; where there are none, the page that was used longest ago.
    fn make_room(&mut self, out: &mut Outcome) {
        let first = self.strays.front();
        if first == NONE {
            let slot = self.kept.back();
            out.evict_page(self.remove(slot), LEAST_RECENT);
            return;
        }
        let block = self.pages.get(first).lpn.block(self.shape.pages_per_block);
        for written in [true, false] {
            let start = out.pages.len();
            for lpn in self.pages_of(block.range(self.shape.pages_per_block)) {
                if let Some(slot) = self.pages.find(lpn)
                    && self.stray.get(slot as usize)
                    && self.pages.get(slot).dirty == written
                {
                    out.pages.push(self.remove(slot));
                }
            }
            out.evict(start, if written { Action::Evict } else { Action::Drop }, STRAY);
        }
    }

    /// Those that the drive has.
    fn pages_of(&self, range: std::ops::Range<Lpn>) -> impl Iterator<Item = Lpn> + use<> {
        Lpn::each(range.start..range.end.min(Lpn(self.shape.logical_pages)))
    }

    /// The dirty ones of an eviction of the leader are written and stay.
    fn write_back(&mut self, one: &Eviction, leader: &Outcome, reason: Reason, out: &mut Outcome) {
        let pages = leader.pages_of(one).iter().map(|page| page.lpn);
        self.write_back_pages(pages, reason, out);
    }

    fn write_back_pages(
        &mut self,
        pages: impl Iterator<Item = Lpn>,
        reason: Reason,
        out: &mut Outcome,
    ) {
        let start = out.pages.len();
        for lpn in pages {
            if let Some(slot) = self.pages.find(lpn)
                && self.pages.get(slot).dirty
            {
                out.pages.push(self.pages.get(slot));
                self.pages.set_dirty(slot, false);
            }
        }
        out.evict(start, Action::WriteBack, reason);
    }

    /// All that is dirty is written and stays: what the leader writes first, in its order, then the
    /// rest block by block, what would leave first before the others.
    pub fn flush(&mut self, leader: &dyn Buffer, theirs: &Outcome, out: &mut Outcome) {
        for eviction in &theirs.evictions {
            self.write_back(eviction, theirs, FLUSH_COMMAND, out);
        }
        let mut left = self.pages.dirty() as usize;
        if left > 0 {
            let dirty = |&slot: &u32| self.pages.get(slot).dirty;
            let mut slots: Vec<u32> = self.strays.iter(&self.links).filter(dirty).collect();
            left -= slots.len();
            let strays = slots.len();
            slots.extend(self.kept.iter(&self.links).filter(dirty).take(left));
            slots[strays..].reverse();
            for slot in slots {
                let block = self.pages.get(slot).lpn.block(self.shape.pages_per_block);
                let pages = self.pages_of(block.range(self.shape.pages_per_block));
                self.write_back_pages(pages, FLUSH_COMMAND, out);
            }
        }
        self.part(leader, theirs);
    }

    /// The dirty ones of these pages are written and stay.
    pub fn force(
        &mut self,
        (first, count): (Lpn, u32),
        leader: &dyn Buffer,
        theirs: &Outcome,
        out: &mut Outcome,
    ) {
        self.write_back_pages(first.run(count), FORCED, out);
        self.part(leader, theirs);
    }

    /// Pages that the leader let go of, and that stay, are strays. It may have written more than
    /// the buffer has.
    fn part(&mut self, leader: &dyn Buffer, theirs: &Outcome) {
        for page in &theirs.pages {
            let Some(slot) = self.pages.find(page.lpn) else { continue };
            if self.pages.get(slot).dirty {
                self.doubt(slot);
            }
            if !self.stray.get(slot as usize) && !leader.holds(page.lpn) {
                self.estrange(slot);
            }
        }
        self.fall_in_step(leader.len());
    }

    fn estrange(&mut self, slot: u32) {
        self.kept.remove(&mut self.links, slot);
        self.strays.push_back(&mut self.links, slot);
        self.stray.set(slot as usize);
    }

    /// Another expert leads from now on. Looks at each page once.
    pub fn lead(&mut self, leader: &dyn Buffer) {
        let mut slot = self.strays.front();
        while slot != NONE {
            let next = self.strays.after(&self.links, slot);
            self.doubt(slot);
            if leader.holds(self.pages.get(slot).lpn) {
                self.unlink(slot);
                self.kept.push_back(&mut self.links, slot);
            }
            slot = next;
        }
        let mut slot = self.kept.back();
        while slot != NONE {
            let next = self.kept.before(&self.links, slot);
            self.doubt(slot);
            if !leader.holds(self.pages.get(slot).lpn) {
                self.estrange(slot);
            }
            slot = next;
        }
        self.fall_in_step(leader.len());
    }

    /// The pages held, those first that would leave first.
    pub fn oldest_first(&self) -> impl Iterator<Item = Evicted> + '_ {
        self.slots().into_iter().rev().map(|slot| self.pages.get(slot))
    }

    /// The host no longer needs these pages.
    pub fn trim(&mut self, first: Lpn, count: u32) {
        for lpn in first.run(count) {
            if let Some(slot) = self.pages.find(lpn) {
                self.remove(slot);
            }
        }
    }

    /// Kept pages, the most recent first, then strays, the one that leaves first last.
    pub fn slots(&self) -> Vec<u32> {
        let mut strays: Vec<u32> = self.strays.iter(&self.links).collect();
        strays.reverse();
        self.kept.iter(&self.links).chain(strays).collect()
    }

    /// Compares redundant state, and what is kept with what the leader holds.
    ///
    /// # Errors
    /// What does not agree.
    pub fn check(&self, leader: &dyn Buffer) -> Result<(), String> {
        self.pages.check(self.slots().into_iter())?;
        for slot in self.slots() {
            let lpn = self.pages.get(slot).lpn;
            if leader.holds(lpn) == self.stray.get(slot as usize) {
                return Err(format!("page {} is a stray, or is not, against the leader", lpn.0));
            }
        }
        let doubtful = self.slots().into_iter().filter(|&slot| self.doubtful.get(slot as usize));
        if doubtful.count() != self.doubts as usize {
            return Err(format!("{} pages are not doubtful", self.doubts));
        }
        let can_be = self.strays.is_empty() && self.doubts == 0 && leader.len() == self.pages.len();
        if self.in_step && !can_be {
            return Err("the buffer is not in step with its leader".into());
        }
        Ok(())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.pages.bytes() + self.links.bytes() + self.stray.bytes() + self.doubtful.bytes()
    }
}
