//! Flash reads of requests, the pages that they fill, and who waits for these.

use super::filling::Filling;
use crate::nand::JoinId;
use crate::support::NONE;
use crate::support::ids::{Lpn, RequestId};

/// Flash reads of one request, as far as they were planned together.
#[derive(Debug, Clone, Copy)]
struct Group {
    request: RequestId,
    join: JoinId,
    /// Pages of the span that they belong to: `first..first + count`.
    first: Lpn,
    count: u32,
    /// First and last of those who wait for these pages, or none.
    waiters: (u32, u32),
    /// Next free place.
    next: u32,
}

/// Flash reads under way for requests, in groups.
#[derive(Debug)]
pub(super) struct Fills {
    groups: Vec<Group>,
    free: u32,
    /// Pages being filled, and the group of the reads that fill them.
    filling: Filling,
    /// Requests that wait for pages which another one is filling, and the next one on the same
    /// list.
    waiters: Vec<(RequestId, u32)>,
    free_waiter: u32,
}

impl Default for Fills {
    fn default() -> Self {
        let (groups, filling, waiters) = (Vec::new(), Filling::default(), Vec::new());
        Self { groups, free: NONE, filling, waiters, free_waiter: NONE }
    }
}

impl Fills {
    /// The number that the next group will have.
    pub fn next(&self) -> u32 {
        if self.free == NONE { self.groups.len() as u32 } else { self.free }
    }

    /// A group of reads of a request, for pages `first..first + count`; `join` waits for them.
    pub fn begin(&mut self, request: RequestId, join: JoinId, (first, count): (Lpn, u32)) {
        let group = Group { request, join, first, count, waiters: (NONE, NONE), next: NONE };
        if self.free == NONE {
            self.groups.push(group);
            return;
        }
        let at = std::mem::replace(&mut self.groups[self.free as usize], group).next;
        self.free = at;
    }

    /// The join of a group.
    #[inline]
    pub fn join(&self, group: u32) -> JoinId {
        self.groups[group as usize].join
    }

    /// The request of a group.
    pub fn request(&self, group: u32) -> RequestId {
        self.groups[group as usize].request
    }

    /// Whether no page is being filled.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.filling.is_empty()
    }

    /// Whether one of these pages is being filled.
    #[inline]
    pub fn any_of(&self, mut pages: impl Iterator<Item = Lpn>) -> bool {
        !self.is_empty() && pages.any(|lpn| self.filling.of(lpn).is_some())
    }

    /// The group that fills a page.
    pub fn of(&self, lpn: Lpn) -> Option<u32> {
        self.filling.of(lpn)
    }

    /// A page is being filled by a group.
    pub fn fill(&mut self, lpn: Lpn, group: u32) {
        self.filling.fill(lpn, group);
    }

    /// Request `id`, which is being served, hits a page that may be being filled: whether it has to
    /// wait for that, and does not do so already.
    pub fn wait(&mut self, id: RequestId, lpn: Lpn) -> bool {
        let Some(group) = self.filling.of(lpn) else { return false };
        let group = &mut self.groups[group as usize];
        let last = group.waiters.1;
        // The request that is being served is the last one that can have begun to wait.
        if group.request == id || (last != NONE && self.waiters[last as usize].0 == id) {
            return false;
        }
        let mut waiter = self.free_waiter;
        if waiter == NONE {
            waiter = self.waiters.len() as u32;
            self.waiters.push((id, NONE));
        } else {
            self.free_waiter = std::mem::replace(&mut self.waiters[waiter as usize], (id, NONE)).1;
        }
        if last == NONE {
            group.waiters.0 = waiter;
        } else {
            self.waiters[last as usize].1 = waiter;
        }
        group.waiters.1 = waiter;
        true
    }

    /// The reads of a group have ended: its pages are filled. Returns its request.
    pub fn end(&mut self, group: u32) -> RequestId {
        let Group { request, first, count, .. } = self.groups[group as usize];
        self.filling.end(group, first, count);
        request
    }

    /// The first of those who wait for a group that has ended; when there is none left, the group's
    /// number is used again.
    pub fn take_waiter(&mut self, group: u32) -> Option<RequestId> {
        let state = &mut self.groups[group as usize];
        let waiter = state.waiters.0;
        if waiter == NONE {
            state.next = std::mem::replace(&mut self.free, group);
            return None;
        }
        let (id, next) = self.waiters[waiter as usize];
        state.waiters.0 = next;
        self.waiters[waiter as usize].1 = std::mem::replace(&mut self.free_waiter, waiter);
        Some(id)
    }
}
