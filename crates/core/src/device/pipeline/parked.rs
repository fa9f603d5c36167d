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

use std::collections::{BTreeMap, VecDeque};

use hashbrown::HashMap;

use crate::ftl::{PageOut, Waiter};
use crate::nand::JoinId;
use crate::pattern::Hint;
use crate::support::ids::{Lpn, RequestId};

/// What waits for room.
#[derive(Debug)]
pub(super) struct Write {
    /// Pages that the FTL has not taken.
    pub pages: Vec<PageOut>,
    /// Their versions, where the host's writes are compared with what is read.
    pub versions: Vec<u32>,
    /// What they belong to together.
    pub group: u64,
    /// Who waits for them; the join is held until they are written.
    pub waiter: Waiter,
    /// A join of the engine that their programs come after, held until they are written.
    pub after: Option<JoinId>,
    /// What the FTL is told of their block before it is given them.
    pub hint: Option<Hint>,
    /// The FTL has been given the first of them, and had no room.
    pub tried: bool,
    /// The request that brought them, or made the buffer let them go, and the pages that it writes.
    pub request: Option<(u64, u32)>,
}

/// A page as far as writes and trims of it are parked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Newest {
    /// The last of them writes it.
    Written,
    /// The last of them trims it.
    Trimmed,
}

/// What the FTL is to be given, or told.
#[derive(Debug)]
pub(super) enum Work {
    Write(Write),
    /// This page is trimmed.
    Trim(Lpn),
    /// The FTL is told of a block that the buffer has dropped.
    Hint(Hint),
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
    /// What waits in each queue, with its number, the first in front; no queue is empty.
    queues: BTreeMap<u32, VecDeque<(u64, Work)>>,
    /// How often a page is parked, and what is done to it last.
    pages: HashMap<Lpn, (u32, Newest)>,
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
        self.queues.is_empty() && self.durable.is_empty()
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

    /// Pages of which something is parked, in no order.
    pub fn pages(&self) -> impl Iterator<Item = Lpn> {
        self.pages.keys().copied()
    }

    /// Pages of the write requests with these numbers of which something is parked.
    pub fn requested_pages(&self, wanted: impl Fn(u64) -> bool) -> u64 {
        let all = self.queues.values().flatten();
        let writes = all.filter_map(|(_, work)| match work {
            Work::Write(write) => write.request,
            Work::Trim(_) | Work::Hint(_) => None,
        });
        let requests: BTreeMap<u64, u32> = writes.collect();
        requests.iter().filter(|(number, _)| wanted(**number)).map(|(_, &n)| u64::from(n)).sum()
    }

    /// What is parked of a page. O(1).
    #[inline]
    pub fn newest(&self, lpn: Lpn) -> Option<Newest> {
        if self.pages.is_empty() {
            return None;
        }
        self.pages.get(&lpn).map(|&(_, newest)| newest)
    }

    /// Whether something waits in a queue.
    pub fn has_waiting(&self, queue: u32) -> bool {
        self.queues.contains_key(&queue)
    }

    /// Parks a write in a queue.
    pub fn park(&mut self, write: Write, queue: u32) {
        for out in &write.pages {
            self.note(out.lpn, Newest::Written);
            self.slots += u64::from(out.slot);
        }
        self.push(Work::Write(write), queue);
    }

    /// Parks a hint that comes with no pages.
    pub fn park_hint(&mut self, hint: Hint, queue: u32) {
        self.push(Work::Hint(hint), queue);
    }

    /// Parks the trim of a page.
    pub fn park_trim(&mut self, lpn: Lpn, queue: u32) {
        self.note(lpn, Newest::Trimmed);
        self.push(Work::Trim(lpn), queue);
    }

    fn push(&mut self, work: Work, queue: u32) {
        self.queues.entry(queue).or_default().push_back((self.next, work));
        self.next += 1;
    }

    fn note(&mut self, lpn: Lpn, done: Newest) {
        let (count, newest) = self.pages.entry(lpn).or_insert((0, done));
        (*count, *newest) = (*count + 1, done);
    }

    /// Queues in which something waits.
    pub fn queues(&self) -> Vec<u32> {
        self.queues.keys().copied().collect()
    }

    /// The number of the first in a queue.
    pub fn first(&self, queue: u32) -> Option<u64> {
        Some(self.queues.get(&queue)?.front()?.0)
    }

    /// The first in a queue.
    pub fn first_mut(&mut self, queue: u32) -> Option<&mut Work> {
        Some(&mut self.queues.get_mut(&queue)?.front_mut()?.1)
    }

    /// The FTL has taken so many pages of the write that is the first in a queue. Returns it if
    /// that was all.
    pub fn taken(&mut self, queue: u32, count: usize) -> Option<Write> {
        let Self { queues, pages, slots, .. } = self;
        let (_, Work::Write(write)) = queues.get_mut(&queue)?.front_mut()? else { return None };
        for out in write.pages.drain(..count) {
            *slots -= u64::from(out.slot);
            forget(pages, out.lpn);
        }
        write.versions.drain(..count.min(write.versions.len()));
        let is_done = write.pages.is_empty();
        match is_done.then(|| self.remove(queue)).flatten() {
            Some(Work::Write(write)) => Some(write),
            _ => None,
        }
    }

    /// The FTL has been given, or told, the first in a queue.
    pub fn done(&mut self, queue: u32) {
        if let Some(Work::Trim(lpn)) = self.remove(queue) {
            forget(&mut self.pages, lpn);
        }
    }

    fn remove(&mut self, queue: u32) -> Option<Work> {
        let waiting = self.queues.get_mut(&queue)?;
        let (_, work) = waiting.pop_front()?;
        if waiting.is_empty() {
            self.queues.remove(&queue);
        }
        Some(work)
    }

    /// Parks what makes writes durable.
    pub fn park_durable(&mut self, durable: Durable) {
        self.durable.push_back(durable);
    }

    /// Whether something from number `from` on, and before `to`, is still parked. O(queues), and
    /// O(log) of what waits in each.
    pub fn has_between(&self, from: u64, to: u64) -> bool {
        let first = |queue: &VecDeque<(u64, Work)>| {
            let at = queue.partition_point(|&(number, _)| number < from);
            queue.get(at).is_some_and(|&(number, _)| number < to)
        };
        from < to && self.queues.values().any(first)
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

/// A page is parked once less.
fn forget(pages: &mut HashMap<Lpn, (u32, Newest)>, lpn: Lpn) {
    if let Some((count, _)) = pages.get_mut(&lpn) {
        *count -= 1;
        if *count == 0 {
            pages.remove(&lpn);
        }
    }
}
