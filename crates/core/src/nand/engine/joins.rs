//! Joins: who waits for which operations to end, and who is told.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Engine;
use crate::nand::op::JoinId;
use crate::support::NONE;

/// Leads to an operation that waits, or to a join; edges of one source form a list.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Edge {
    pub op: u32,
    pub next: u32,
}

/// Operations that end together, as far as those who wait can tell.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Join {
    pub count: u32,
    /// Edges to operations that wait; in a free join, the next free one.
    pub waiters: u32,
    /// What the device knows it by, reported when it ends; or [`NONE`].
    pub tag: u32,
}

/// Who waits for what, and which ends somebody has to be told of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Waiting {
    pub joins: Vec<Join>,
    pub free_join: u32,
    pub edges: Vec<Edge>,
    pub free_edge: u32,
    /// Joins of the plan being issued.
    pub locals: Vec<JoinId>,
    /// Programs under way before each barrier that has not been passed, the oldest first, and who
    /// waits for it.
    pub epochs: VecDeque<(u32, u32)>,
    /// Number of the first of these.
    pub first_epoch: u32,
    /// Number of what comes after the last barrier, and programs of that under way.
    pub epoch: u32,
    pub programs: u32,
    /// Tags of joins that have ended.
    pub finished: Vec<u32>,
}

impl Waiting {
    /// Nobody waits.
    pub fn new() -> Self {
        Self {
            joins: Vec::new(),
            free_join: NONE,
            edges: Vec::new(),
            free_edge: NONE,
            locals: Vec::new(),
            epochs: VecDeque::new(),
            first_epoch: 0,
            epoch: 0,
            programs: 0,
            finished: Vec::new(),
        }
    }
}

impl Engine {
    /// A new name for a pin.
    pub fn token(&mut self) -> u32 {
        self.pinned.next_token = self.pinned.next_token.wrapping_add(1);
        self.pinned.next_token
    }

    /// A new join that `count` signals end.
    #[inline]
    pub fn join(&mut self, tag: u32) -> JoinId {
        let join = Join { count: 0, waiters: NONE, tag };
        if self.waiting.free_join == NONE {
            self.waiting.joins.push(join);
            let id = JoinId::of_engine(self.waiting.joins.len() as u32 - 1);
            self.path_joins(id);
            return id;
        }
        let id = self.waiting.free_join;
        self.waiting.free_join = self.waiting.joins[id as usize].waiters;
        self.waiting.joins[id as usize] = join;
        let id = JoinId::of_engine(id);
        self.path_joins(id);
        id
    }

    /// Makes join `to` wait for join `from`, which has not ended.
    pub fn link(&mut self, from: JoinId, to: JoinId) {
        self.hold(to);
        let edge = self.edge(to.as_edge(), self.waiting.joins[from.index()].waiters);
        self.waiting.joins[from.index()].waiters = edge;
    }

    /// Adds a signal that the join waits for; a tag waits for nothing but the operation that has
    /// it.
    #[inline]
    pub fn hold(&mut self, join: JoinId) {
        if join.is_join() {
            self.waiting.joins[join.index()].count += 1;
        }
    }

    /// Gives back what [`Self::hold`] added. A join that has had all its signals ends: those who
    /// wait for it go on, its tag is reported, and its number is used again. Says whether it has
    /// ended.
    #[inline]
    pub fn release(&mut self, join: JoinId) -> bool {
        if !join.is_join() {
            return false;
        }
        if self.paths.is_some() { self.release_watched(join) } else { self.signal(join) }
    }

    #[inline]
    fn signal(&mut self, join: JoinId) -> bool {
        let state = &mut self.waiting.joins[join.index()];
        state.count -= 1;
        let ended = state.count == 0;
        if ended {
            let Join { waiters, tag, .. } = *state;
            self.waiting.joins[join.index()].waiters = self.waiting.free_join;
            self.waiting.free_join = join.index() as u32;
            if tag != NONE {
                self.waiting.finished.push(tag);
            }
            if waiters != NONE {
                self.wake(waiters);
            }
        }
        ended
    }

    /// The same where the paths of operations are kept.
    #[cold]
    fn release_watched(&mut self, join: JoinId) -> bool {
        let none = !self.has_path();
        let Join { count, tag, .. } = self.waiting.joins[join.index()];
        self.path_signals(join, count == 1, tag != NONE);
        let ended = self.signal(join);
        if none {
            self.no_path();
        }
        ended
    }

    /// The operation has ended whose end this tag waits for.
    #[inline]
    pub(super) fn tell(&mut self, tag: u32) {
        self.waiting.finished.push(tag);
        self.path_passes();
    }

    /// A program of a stretch between barriers has ended.
    #[inline(always)]
    pub(super) fn end_program_of(&mut self, epoch: u32) {
        if epoch == self.waiting.epoch {
            self.waiting.programs -= 1;
        } else {
            self.waiting.epochs[(epoch - self.waiting.first_epoch) as usize].0 -= 1;
            self.pass_barriers();
        }
    }

    /// Reports `tag` when every program issued so far has ended.
    pub fn barrier(&mut self, tag: u32) {
        let programs = std::mem::take(&mut self.waiting.programs);
        self.waiting.epochs.push_back((programs, tag));
        self.waiting.epoch += 1;
        self.pass_barriers();
    }

    pub(super) fn pass_barriers(&mut self) {
        while let Some(&(0, tag)) = self.waiting.epochs.front() {
            self.waiting.epochs.pop_front();
            self.waiting.finished.push(tag);
            self.path_passes();
            self.waiting.first_epoch += 1;
        }
    }

    /// Gives up a join: nobody is told when it ends, with the operations that still signal it or at
    /// once.
    pub fn forget(&mut self, join: JoinId) {
        self.waiting.joins[join.index()].tag = NONE;
        self.release(join);
    }

    /// Joins that somebody still holds.
    pub(super) fn held(&self) -> usize {
        let (mut free, mut at) = (0, self.waiting.free_join);
        while at != NONE {
            free += 1;
            at = self.waiting.joins[at as usize].waiters;
        }
        self.waiting.joins.len() - free
    }

    pub(super) fn edge(&mut self, op: u32, next: u32) -> u32 {
        if self.waiting.free_edge == NONE {
            self.waiting.edges.push(Edge { op, next });
            return self.waiting.edges.len() as u32 - 1;
        }
        let id = self.waiting.free_edge;
        self.waiting.free_edge = self.waiting.edges[id as usize].next;
        self.waiting.edges[id as usize] = Edge { op, next };
        id
    }

    /// Serves the operations on a list of edges, oldest first, and frees the list.
    pub(super) fn wake(&mut self, edges: u32) {
        // The list is newest first; turn it round.
        let (mut forward, mut at) = (NONE, edges);
        while at != NONE {
            let next = std::mem::replace(&mut self.waiting.edges[at as usize].next, forward);
            forward = at;
            at = next;
        }
        while forward != NONE {
            let Edge { op, next } = self.waiting.edges[forward as usize];
            self.waiting.edges[forward as usize].next = self.waiting.free_edge;
            self.waiting.free_edge = forward;
            match JoinId::at_edge(op) {
                None => self.dependency_met(op),
                Some(join) => {
                    self.release(join);
                }
            }
            forward = next;
        }
    }

    /// One thing that `id` waited for has happened.
    pub(super) fn dependency_met(&mut self, id: u32) {
        let state = &mut self.ops[id as usize];
        state.deps -= 1;
        if state.deps == 0 {
            self.enqueue(id);
        }
    }
}
