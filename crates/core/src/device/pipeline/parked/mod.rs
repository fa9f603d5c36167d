//! Writes that wait for room, each on its own.
//!
//! A write for which the FTL has no erased block is *parked*: its pages stay in RAM, with their
//! buffer slots, until collection has made room. Requests that need nothing of it go on. What keeps
//! its order:
//!
//! - Writes to one unit, or to one pool of units, where the page's number says to which it goes; of
//!   a page-level FTL all others among themselves. So do writes and trims of one page, which wait
//!   in one queue: a page that waits is written before it is trimmed, as the FTL may have begun to
//!   place it.
//! - Of an FTL that places whole logical blocks everything that it is given or told, but for reads:
//!   what it has begun to do for a write that found no room is for that write, and the blocks that
//!   it merges into are the drive's.
//! - A flush command, and whatever else makes writes durable, comes after those parked before it.

mod pages;
mod queue;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::ftl::{PageOut, Waiter};
use crate::nand::JoinId;
use crate::pattern::Hint;
use crate::support::ids::{Lpn, RequestId};
use pages::Pages;
use queue::Queue;

pub(super) use pages::Newest;
pub(super) use queue::{Waiting, Work};

/// A write that is parked, but for its pages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Write {
    /// What they belong to together.
    pub group: u64,
    /// Who waits for them; the join is held until they are written.
    pub waiter: Waiter,
    /// A join of the engine that their programs come after, held until they are written; or none.
    pub after: JoinId,
    /// What the FTL is told of their block before it is given them.
    pub hint: Option<Hint>,
    /// The FTL has been given the first of them, and had no room.
    pub tried: bool,
    /// The FTL has looked it up.
    pub looked_up: bool,
    /// The request that brought them, or made the buffer let them go, and the pages that it writes.
    pub request: Option<(u64, u32)>,
}

/// Everything from one parked write up to another is to be made durable once it is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Durable {
    /// The first of these writes.
    pub from: u64,
    /// The first write after them.
    pub to: u64,
    /// Who waits for it; the join is held until it is planned.
    pub waiter: Waiter,
    /// The flush command that is answered when it has ended.
    pub flush: Option<RequestId>,
}

/// All that is parked.
#[derive(Debug, Default)]
pub(super) struct Parked {
    /// Number of what is parked next.
    next: u64,
    /// What waits in each queue, by the queue's number.
    queues: Vec<Queue>,
    /// The queues in which something waits.
    waiting: BTreeSet<u32>,
    pages: Pages,
    /// What makes writes durable, in order.
    durable: VecDeque<Durable>,
    slots: u64,
    /// How often collection had made room, and erases ended, when something was tried last.
    room_seen: (u64, u64),
}

impl Parked {
    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.durable.is_empty()
    }

    /// Room was looked for when collection had made room, and erases ended, so often.
    pub fn saw_room(&mut self, room: (u64, u64)) {
        self.room_seen = room;
    }

    /// Whether that has happened since.
    #[inline]
    pub fn is_new_room(&self, room: (u64, u64)) -> bool {
        room != self.room_seen
    }

    /// The number that will be parked next.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Buffer slots of parked pages.
    #[inline]
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// Pages of which something is parked, in order.
    pub fn pages(&self) -> impl Iterator<Item = Lpn> {
        self.pages.iter()
    }

    /// Pages of the write requests with these numbers of which something is parked.
    pub fn requested_pages(&self, wanted: impl Fn(u64) -> bool) -> u64 {
        let all = self.queues.iter().flat_map(Queue::iter);
        let requests: BTreeMap<u64, u32> = all.filter_map(Waiting::request).collect();
        requests.iter().filter(|(number, _)| wanted(**number)).map(|(_, &n)| u64::from(n)).sum()
    }

    /// What is parked of a page. O(1).
    #[inline]
    pub fn newest(&self, lpn: Lpn) -> Option<Newest> {
        if self.waiting.is_empty() { None } else { self.pages.newest(lpn) }
    }

    /// Whether something waits in a queue.
    #[inline]
    pub fn has_waiting(&self, queue: u32) -> bool {
        self.first(queue).is_some()
    }

    /// Parks a write of these pages, with their versions where those are kept, in a queue.
    pub fn park(
        &mut self,
        write: &Write,
        pages: &[PageOut],
        versions: impl Iterator<Item = u32>,
        queue: u32,
    ) {
        for out in pages {
            self.pages.add(out.lpn, Newest::Written);
            self.slots += u64::from(out.slot);
        }
        let waiting = Waiting::write(self.next, write, pages.len() as u32);
        let queue = self.begin(queue);
        queue.push(waiting, pages, write.hint);
        queue.add_versions(versions);
    }

    /// Parks a hint that comes with no pages.
    pub fn park_hint(&mut self, hint: Hint, queue: u32) {
        let waiting = Waiting::other(self.next, Work::Hint, 0);
        self.begin(queue).push(waiting, &[], Some(hint));
    }

    /// Parks the trim of a page.
    pub fn park_trim(&mut self, lpn: Lpn, queue: u32) {
        self.pages.add(lpn, Newest::Trimmed);
        let waiting = Waiting::other(self.next, Work::Trim, 1);
        self.begin(queue).push(waiting, &[PageOut::host(lpn)], None);
    }

    /// A queue that the next number comes to wait in.
    #[inline]
    fn begin(&mut self, queue: u32) -> &mut Queue {
        self.next += 1;
        let at = queue as usize;
        if at >= self.queues.len() {
            self.queues.resize_with(at + 1, Queue::default);
        }
        if self.queues[at].first().is_none() {
            self.waiting.insert(queue);
        }
        &mut self.queues[at]
    }

    /// The first queue, from this one on, in which something waits.
    pub fn queue_from(&self, queue: u32) -> Option<u32> {
        self.waiting.range(queue..).next().copied()
    }

    /// The first in a queue.
    #[inline]
    pub fn first(&self, queue: u32) -> Option<&Waiting> {
        self.queues.get(queue as usize)?.first()
    }

    /// The first in a queue, to be changed.
    #[inline]
    pub fn first_mut(&mut self, queue: u32) -> Option<&mut Waiting> {
        self.queues.get_mut(queue as usize)?.first_mut()
    }

    /// Pages of the first in a queue.
    #[inline]
    pub fn first_pages(&mut self, queue: u32) -> &[PageOut] {
        self.queues.get_mut(queue as usize).map_or(&[], Queue::first_pages)
    }

    /// The page that follows in a queue when all of the first is done.
    #[inline]
    pub fn next_page(&self, queue: u32) -> Option<Lpn> {
        self.queues.get(queue as usize)?.next_page()
    }

    /// Pages of the first in a queue with their versions, as far as those are kept.
    pub fn first_versions(&self, queue: u32) -> impl Iterator<Item = (&PageOut, u32)> {
        self.queues.get(queue as usize).into_iter().flat_map(Queue::first_versions)
    }

    /// What the FTL is told with the first in a queue.
    #[inline]
    pub fn first_hint(&self, queue: u32) -> Option<Hint> {
        self.queues.get(queue as usize)?.first_hint()
    }

    /// The FTL has been told that, and will not be told again.
    pub fn hint_told(&mut self, queue: u32) {
        if let Some(queue) = self.queues.get_mut(queue as usize) {
            queue.hint_told();
        }
    }

    /// The FTL has taken so many pages of the write that is the first in a queue; whether that was
    /// all.
    #[inline]
    pub fn taken(&mut self, queue: u32, count: usize) -> bool {
        let Self { queues, pages, slots, .. } = self;
        let Some(waiting) = queues.get_mut(queue as usize) else { return true };
        for out in (0..count).map_while(|_| waiting.take_page()) {
            *slots -= u64::from(out.slot);
            pages.remove(out.lpn);
        }
        let is_done = waiting.first().is_none_or(|first| first.pages() == 0);
        if is_done {
            self.remove(queue);
        }
        is_done
    }

    /// The FTL has been told the first in a queue, a trim or a hint.
    pub fn done(&mut self, queue: u32) {
        let waiting = self.queues.get_mut(queue as usize);
        if let Some(trimmed) = waiting.and_then(Queue::take_page) {
            self.pages.remove(trimmed.lpn);
        }
        self.remove(queue);
    }

    #[inline]
    fn remove(&mut self, queue: u32) {
        if let Some(waiting) = self.queues.get_mut(queue as usize) {
            waiting.remove();
            if waiting.first().is_none() {
                self.waiting.remove(&queue);
            }
        }
    }

    /// Parks what makes writes durable.
    pub fn park_durable(&mut self, durable: Durable) {
        self.durable.push_back(durable);
    }

    /// Whether something from number `from` on, and before `to`, is still parked. O(queues), and
    /// O(log) of what waits in each.
    pub fn has_between(&self, from: u64, to: u64) -> bool {
        let waits = |&queue: &u32| {
            let found = self.queues[queue as usize].first_from(from);
            found.is_some_and(|found| found.number() < to)
        };
        from < to && self.waiting.iter().any(waits)
    }

    /// The place of the first of what makes writes durable that none of them is missing for any
    /// more.
    pub fn ready_durable(&self) -> Option<usize> {
        self.durable.iter().position(|durable| !self.has_between(durable.from, durable.to))
    }

    /// What makes writes durable, at a place.
    pub fn durable(&self, at: usize) -> Option<Durable> {
        self.durable.get(at).copied()
    }

    /// That is planned.
    pub fn durable_planned(&mut self, at: usize) {
        self.durable.remove(at);
    }
}
