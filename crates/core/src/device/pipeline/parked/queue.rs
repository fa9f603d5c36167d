//! One queue of what waits for room, in rings that are as large as it has ever been.
//!
//! What waits is touched when it comes and when it goes, with thousands of others in between. So it
//! is kept small, and what follows in the queue follows in memory.

use std::collections::VecDeque;

use super::Write;
use crate::ftl::{PageOut, Waiter};
use crate::nand::JoinId;
use crate::pattern::Hint;
use crate::support::ids::Lpn;

/// What the FTL is to be given, or told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::device::pipeline) enum Work {
    /// Pages are written.
    Write,
    /// A page is trimmed.
    Trim,
    /// The FTL is told of a block that the buffer has dropped.
    Hint,
}

/// What waits, but for its pages, their versions, and its hint.
#[derive(Debug, Clone, Copy)]
pub(in crate::device::pipeline) struct Waiting {
    /// Its place among all that has been parked.
    number: u64,
    /// What its pages belong to together.
    pub group: u64,
    /// The request that brought a write, or made the buffer let it go.
    request: u64,
    /// The pages that this request writes; 0 if there is none.
    requested: u32,
    /// Pages that the FTL has not taken.
    pages: u32,
    /// Who waits for a write; the join is held until it is done.
    pub waiter: Waiter,
    /// A join of the engine that its programs come after, held until they are written; or none.
    pub after: JoinId,
    /// What the FTL is to be given, or told.
    pub work: Work,
    /// The FTL has been given the first of its pages, and had no room.
    pub tried: bool,
    /// The FTL has looked it up.
    pub looked_up: bool,
    /// It has a hint.
    hinted: bool,
}

impl Waiting {
    /// A write of so many pages.
    #[inline]
    pub(super) fn write(number: u64, write: &Write, pages: u32) -> Self {
        let (request, requested) = write.request.unwrap_or((0, 0));
        Self {
            number,
            group: write.group,
            request,
            requested,
            pages,
            waiter: write.waiter,
            after: write.after,
            work: Work::Write,
            tried: write.tried,
            looked_up: write.looked_up,
            hinted: false,
        }
    }

    /// A trim of so many pages, or a hint.
    pub(super) fn other(number: u64, work: Work, pages: u32) -> Self {
        Self {
            number,
            group: 0,
            request: 0,
            requested: 0,
            pages,
            waiter: Waiter::Nobody,
            after: JoinId::NONE,
            work,
            tried: false,
            looked_up: false,
            hinted: false,
        }
    }

    /// Its place among all that has been parked.
    #[inline]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Pages that the FTL has not taken.
    #[inline]
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// The request that brought a write, or made the buffer let it go, and the pages that it
    /// writes.
    pub fn request(&self) -> Option<(u64, u32)> {
        (self.requested > 0).then_some((self.request, self.requested))
    }
}

/// What waits, the first in front.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: VecDeque<Waiting>,
    /// Pages of all of it.
    pages: VecDeque<PageOut>,
    /// Versions of the pages of writes, where those are compared with what is read.
    versions: VecDeque<u32>,
    hints: VecDeque<Hint>,
}

impl Queue {
    /// All of it.
    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.iter()
    }

    /// The first.
    #[inline]
    pub fn first(&self) -> Option<&Waiting> {
        self.waiting.front()
    }

    /// The first, to be changed.
    #[inline]
    pub fn first_mut(&mut self) -> Option<&mut Waiting> {
        self.waiting.front_mut()
    }

    /// Pages of the first.
    #[inline]
    pub fn first_pages(&mut self) -> &[PageOut] {
        let count = self.first_count();
        if self.pages.as_slices().0.len() < count {
            // They go on at the other end of the ring, as a few do in each turn of it.
            self.pages.make_contiguous();
        }
        &self.pages.as_slices().0[..count]
    }

    /// The first page behind those of the first.
    #[inline]
    pub fn next_page(&self) -> Option<Lpn> {
        self.pages.get(self.first_count()).map(|out| out.lpn)
    }

    /// Pages of the first with their versions, as far as those are kept.
    pub fn first_versions(&self) -> impl Iterator<Item = (&PageOut, u32)> {
        self.pages.iter().zip(self.versions.iter().copied()).take(self.first_count())
    }

    fn first_count(&self) -> usize {
        self.first().map_or(0, |first| first.pages as usize)
    }

    /// The hint of the first.
    #[inline]
    pub fn first_hint(&self) -> Option<Hint> {
        if self.first()?.hinted { self.hints.front().copied() } else { None }
    }

    /// The first has no hint any more.
    #[inline]
    pub fn hint_told(&mut self) {
        if let Some(first) = self.waiting.front_mut()
            && std::mem::take(&mut first.hinted)
        {
            self.hints.pop_front();
        }
    }

    /// The first of all that have this number or a later one.
    pub fn first_from(&self, number: u64) -> Option<&Waiting> {
        self.waiting.get(self.waiting.partition_point(|waiting| waiting.number < number))
    }

    /// Something comes to wait, with as many pages as it says.
    #[inline]
    pub fn push(&mut self, waiting: Waiting, pages: &[PageOut], hint: Option<Hint>) {
        self.pages.extend(pages);
        self.hints.extend(hint);
        self.waiting.push_back(Waiting { hinted: hint.is_some(), ..waiting });
    }

    /// The pages added last have these versions.
    pub fn add_versions(&mut self, versions: impl Iterator<Item = u32>) {
        self.versions.extend(versions);
    }

    /// The next page of the first, which the FTL has taken.
    #[inline]
    pub fn take_page(&mut self) -> Option<PageOut> {
        let first = self.waiting.front_mut()?;
        first.pages = first.pages.checked_sub(1)?;
        if first.work == Work::Write {
            self.versions.pop_front();
        }
        self.pages.pop_front()
    }

    /// The first, of which no page is left, waits no more.
    #[inline]
    pub fn remove(&mut self) {
        self.hint_told();
        self.waiting.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pattern::{Access, Pattern};
    use crate::support::ids::LogicalBlock;

    proptest! {
        /// What waits comes out as it went in, with its own pages, versions and hint, also where it
        /// goes on at the other end of a ring.
        #[test]
        fn what_waits_keeps_its_pages(
            steps in prop::collection::vec((1..6u32, any::<bool>(), any::<bool>(), 0..3u8), 1..200),
        ) {
            let (mut queue, mut model) = (Queue::default(), VecDeque::new());
            for (number, (count, is_write, hinted, leave)) in (0..).zip(steps) {
                let pages: Vec<PageOut> =
                    (0..count).map(|i| PageOut::host(Lpn(number as u32 * 8 + i))).collect();
                let work = if is_write { Work::Write } else { Work::Trim };
                let hint = hinted.then(|| hint_of(number));
                queue.push(Waiting::other(number, work, count), &pages, hint);
                if is_write {
                    queue.add_versions(pages.iter().map(|out| out.lpn.0 + 1));
                }
                model.push_back((number, work, pages, hint));
                for _ in 0..leave {
                    let Some((number, work, pages, hint)) = model.pop_front() else { break };
                    let first = queue.first().copied().unwrap();
                    prop_assert_eq!((first.number(), first.work), (number, work));
                    prop_assert_eq!(queue.first_pages(), &pages[..]);
                    prop_assert_eq!(queue.first_hint(), hint);
                    let next = model.front().map(|(_, _, pages, _)| pages[0].lpn);
                    prop_assert_eq!(queue.next_page(), next);
                    if work == Work::Write {
                        let versions: Vec<u32> = queue.first_versions().map(|(_, v)| v).collect();
                        let expected: Vec<u32> = pages.iter().map(|out| out.lpn.0 + 1).collect();
                        prop_assert_eq!(versions, expected);
                    }
                    for out in pages {
                        prop_assert_eq!(queue.take_page(), Some(out));
                    }
                    prop_assert_eq!(queue.take_page(), None);
                    queue.remove();
                }
                let later = model.iter().find(|(of, ..)| *of >= number / 2).map(|(of, ..)| *of);
                prop_assert_eq!(queue.first_from(number / 2).map(Waiting::number), later);
            }
        }
    }

    fn hint_of(number: u64) -> Hint {
        let pattern = Pattern { write: Access::Never, read: Access::Never };
        let block = LogicalBlock(number as u32);
        Hint { block, pattern, channel: None, again: false }
    }
}
