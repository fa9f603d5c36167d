//! Writes that wait for room, each on its own.
//!
//! A write for which the FTL has no erased block is *parked*: its pages stay in RAM, with their
//! buffer slots, until collection has made room. Requests that need nothing of it go on. What keeps
//! its order:
//!
//! - Writes and trims of one page. A page that waits is written before it is trimmed: the FTL may
//!   have begun to place it.
//! - Writes to one unit or chip, where the page's number says to which it goes; of a page-level FTL
//!   all others among themselves.
//! - Of an FTL that places whole logical blocks everything that it is given or told, but for reads:
//!   what it has begun to do for a write that found no room is for that write, and the blocks that
//!   it merges into are the drive's.
//! - A flush command, and whatever else makes writes durable, comes after those parked before it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hashbrown::HashMap;

use crate::ftl::{PageOut, Waiter};
use crate::pattern::Hint;

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
    pub after: Option<u32>,
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

#[derive(Debug)]
pub(super) enum Work {
    Write(Write),
    /// This page is trimmed.
    Trim(u32),
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
    pub flush: Option<u32>,
}

#[derive(Debug)]
struct Entry {
    work: Work,
    queue: u32,
    keys: Vec<u32>,
    /// Pages of which something is parked before.
    blocked: u32,
}

/// All that is parked.
#[derive(Debug, Default)]
pub(super) struct Parked {
    /// Number of the next write.
    next: u64,
    /// In the order of parking, up to `next`; gaps where one went ahead of others.
    entries: VecDeque<Option<Entry>>,
    /// Numbers of those that may go ahead of one another.
    unordered: BTreeSet<u64>,
    /// What is parked of each page, the first one in front.
    by_page: HashMap<u32, VecDeque<u64>>,
    /// How often a page is parked, and what is done to it last.
    pages: HashMap<u32, (u32, Newest)>,
    /// How much waits in each queue.
    waiting: HashMap<u32, u32>,
    /// Writes that nothing but room is missing for, by unit.
    ready: BTreeMap<u32, BTreeSet<u64>>,
    durable: VecDeque<Durable>,
    slots: u64,
    /// How often collection had made room, and erases ended, when something was tried last.
    room_seen: (u64, u64),
}

impl Parked {
    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.durable.is_empty()
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

    /// The number that the next parked write will have.
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
    pub fn pages(&self) -> impl Iterator<Item = u32> {
        self.pages.keys().copied()
    }

    /// Pages of the write requests with these numbers of which something is parked.
    pub fn requested_pages(&self, wanted: impl Fn(u64) -> bool) -> u64 {
        let writes = self.entries.iter().flatten().filter_map(|entry| match &entry.work {
            Work::Write(write) => write.request,
            Work::Trim(_) | Work::Hint(_) => None,
        });
        let requests: BTreeMap<u64, u32> = writes.collect();
        requests.iter().filter(|(number, _)| wanted(**number)).map(|(_, &n)| u64::from(n)).sum()
    }

    /// What is parked of a page. O(1).
    #[inline]
    pub fn newest(&self, lpn: u32) -> Option<Newest> {
        if self.pages.is_empty() {
            return None;
        }
        self.pages.get(&lpn).map(|&(_, newest)| newest)
    }

    /// Whether something waits in a queue. O(1).
    pub fn has_waiting(&self, queue: u32) -> bool {
        self.waiting.contains_key(&queue)
    }

    /// Parks a write in a queue. Where everything keeps its order, `by_page` need not.
    pub fn park(&mut self, write: Write, queue: u32, by_page: bool) {
        let mut keys = Vec::new();
        if by_page {
            keys.extend(write.pages.iter().map(|out| out.lpn));
            keys.sort_unstable();
            keys.dedup();
        }
        for out in &write.pages {
            let (count, newest) = self.pages.entry(out.lpn).or_insert((0, Newest::Written));
            (*count, *newest) = (*count + 1, Newest::Written);
            self.slots += u64::from(out.slot);
        }
        self.insert(Work::Write(write), queue, keys);
    }

    /// Parks a hint that comes with no pages.
    pub fn park_hint(&mut self, hint: Hint, queue: u32) {
        self.insert(Work::Hint(hint), queue, Vec::new());
    }

    /// Parks the trim of a page.
    pub fn park_trim(&mut self, lpn: u32, queue: u32, by_page: bool) {
        let (count, newest) = self.pages.entry(lpn).or_insert((0, Newest::Trimmed));
        (*count, *newest) = (*count + 1, Newest::Trimmed);
        self.insert(Work::Trim(lpn), queue, if by_page { vec![lpn] } else { Vec::new() });
    }

    fn insert(&mut self, work: Work, queue: u32, keys: Vec<u32>) {
        let number = self.next;
        self.next += 1;
        let mut blocked = 0;
        for &key in &keys {
            let others = self.by_page.entry(key).or_default();
            blocked += u32::from(!others.is_empty());
            others.push_back(number);
        }
        // Where everything keeps its order, nobody asks for queues.
        if !keys.is_empty() {
            if blocked == 0 {
                self.ready.entry(queue).or_default().insert(number);
            }
            *self.waiting.entry(queue).or_insert(0) += 1;
            self.unordered.insert(number);
        }
        self.entries.push_back(Some(Entry { work, queue, keys, blocked }));
    }

    /// Queues with writes that only room is missing for.
    pub fn queues(&self) -> Vec<u32> {
        self.ready.keys().copied().collect()
    }

    /// The first of what waits in a queue and for nothing but room.
    pub fn first(&self, queue: u32) -> Option<u64> {
        self.ready.get(&queue)?.first().copied()
    }

    /// The first of all that is parked.
    pub fn first_of_all(&self) -> Option<u64> {
        (!self.entries.is_empty()).then(|| self.next - self.entries.len() as u64)
    }

    fn entry_mut(&mut self, number: u64) -> Option<&mut Entry> {
        let first = self.next - self.entries.len() as u64;
        let at = number.checked_sub(first)?;
        self.entries.get_mut(at as usize)?.as_mut()
    }

    /// What is parked under a number.
    pub fn work_mut(&mut self, number: u64) -> Option<&mut Work> {
        self.entry_mut(number).map(|entry| &mut entry.work)
    }

    /// The FTL has taken the first `count` pages of a write. Returns it if that was all.
    pub fn taken(&mut self, number: u64, count: usize) -> Option<Write> {
        let first = self.next - self.entries.len() as u64;
        let entry = self.entries.get_mut((number - first) as usize)?.as_mut()?;
        let Work::Write(write) = &mut entry.work else { return None };
        for out in write.pages.drain(..count) {
            self.slots -= u64::from(out.slot);
            forget(&mut self.pages, out.lpn);
        }
        write.versions.drain(..count.min(write.versions.len()));
        if !write.pages.is_empty() {
            return None;
        }
        match self.remove(number) {
            Some(Work::Write(write)) => Some(write),
            _ => None,
        }
    }

    /// The FTL has trimmed a page whose trim was parked.
    pub fn trimmed(&mut self, number: u64) {
        if let Some(Work::Trim(lpn)) = self.remove(number) {
            forget(&mut self.pages, lpn);
        }
    }

    fn remove(&mut self, number: u64) -> Option<Work> {
        let first = self.next - self.entries.len() as u64;
        let entry = self.entries.get_mut((number - first) as usize)?.take();
        while matches!(self.entries.front(), Some(None)) {
            self.entries.pop_front();
        }
        let Entry { work, queue, keys, .. } = entry?;
        if keys.is_empty() {
            return Some(work);
        }
        self.unordered.remove(&number);
        if let Some(count) = self.waiting.get_mut(&queue) {
            *count -= 1;
            if *count == 0 {
                self.waiting.remove(&queue);
            }
        }
        if let Some(ready) = self.ready.get_mut(&queue) {
            ready.remove(&number);
            if ready.is_empty() {
                self.ready.remove(&queue);
            }
        }
        for key in keys {
            let Some(others) = self.by_page.get_mut(&key) else { continue };
            let was_first = others.front() == Some(&number);
            if was_first {
                others.pop_front();
            } else {
                others.retain(|&other| other != number);
            }
            let next = others.front().copied();
            if others.is_empty() {
                self.by_page.remove(&key);
            }
            let Some(next) = next.filter(|_| was_first) else { continue };
            let Some(entry) = self.entry_mut(next) else { continue };
            entry.blocked -= 1;
            let (queue, blocked) = (entry.queue, entry.blocked);
            if blocked == 0 {
                self.ready.entry(queue).or_default().insert(next);
            }
        }
        Some(work)
    }

    /// A hint has been passed on.
    pub fn told(&mut self, number: u64) {
        self.remove(number);
    }

    /// Parks what makes writes durable.
    pub fn park_durable(&mut self, durable: Durable) {
        self.durable.push_back(durable);
    }

    /// Whether a write from `from` on, and before `to`, is still parked.
    pub fn has_between(&self, from: u64, to: u64) -> bool {
        if self.unordered.is_empty() {
            return self.first_of_all().is_some_and(|first| first.max(from) < to.min(self.next));
        }
        from < to && self.unordered.range(from..to).next().is_some()
    }

    /// The first of what makes writes durable that none of them is missing for any more.
    pub fn next_durable(&self) -> Option<Durable> {
        self.durable.iter().find(|durable| !self.has_between(durable.from, durable.to)).copied()
    }

    /// The first of what makes writes durable.
    pub fn first_durable(&self) -> Option<Durable> {
        self.durable.front().copied()
    }

    /// What [`Self::next_durable`] returned is planned.
    pub fn durable_planned(&mut self) {
        let at =
            self.durable.iter().position(|durable| !self.has_between(durable.from, durable.to));
        if let Some(at) = at {
            self.durable.remove(at);
        }
    }
}

fn forget(pages: &mut HashMap<u32, (u32, Newest)>, lpn: u32) {
    if let Some((count, _)) = pages.get_mut(&lpn) {
        *count -= 1;
        if *count == 0 {
            pages.remove(&lpn);
        }
    }
}
