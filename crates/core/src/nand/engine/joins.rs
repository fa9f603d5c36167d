//! Joins: who waits for which operations to end, and who is told.

use super::{Edge, Engine, Join};
use crate::nand::op::JoinId;
use crate::support::NONE;

impl Engine {
    /// A new name for a pin.
    pub fn token(&mut self) -> u32 {
        self.next_token = self.next_token.wrapping_add(1);
        self.next_token
    }

    /// A new join that `count` signals end.
    pub fn join(&mut self, tag: u32) -> JoinId {
        let join = Join { count: 0, waiters: NONE, tag };
        if self.free_join == NONE {
            self.joins.push(join);
            return JoinId::of_engine(self.joins.len() as u32 - 1);
        }
        let id = self.free_join;
        self.free_join = self.joins[id as usize].waiters;
        self.joins[id as usize] = join;
        JoinId::of_engine(id)
    }

    /// Makes join `to` wait for join `from`, which has not ended.
    pub fn link(&mut self, from: JoinId, to: JoinId) {
        self.hold(to);
        let edge = self.edge(to.as_edge(), self.joins[from.index()].waiters);
        self.joins[from.index()].waiters = edge;
    }

    /// Adds a signal that the join waits for.
    pub fn hold(&mut self, join: JoinId) {
        self.joins[join.index()].count += 1;
    }

    /// Gives back what [`Self::hold`] added. A join that has had all its signals ends: those who
    /// wait for it go on, its tag is reported, and its number is used again. Says whether it has
    /// ended.
    pub fn release(&mut self, join: JoinId) -> bool {
        let state = &mut self.joins[join.index()];
        state.count -= 1;
        let ended = state.count == 0;
        if ended {
            let Join { waiters, tag, .. } = *state;
            self.joins[join.index()].waiters = self.free_join;
            self.free_join = join.index() as u32;
            if tag != NONE {
                self.finished.push(tag);
            }
            self.wake(waiters);
        }
        ended
    }

    /// Reports `tag` when every program issued so far has ended.
    pub fn barrier(&mut self, tag: u32) {
        if let Some((_, waits)) = self.epochs.back_mut() {
            *waits = tag;
        }
        self.epochs.push_back((0, NONE));
        self.pass_barriers();
    }

    pub(super) fn pass_barriers(&mut self) {
        while self.epochs.len() > 1 && self.epochs[0].0 == 0 {
            if let Some((_, tag)) = self.epochs.pop_front() {
                self.finished.push(tag);
            }
            self.first_epoch += 1;
        }
    }

    /// Gives up a join: nobody is told when it ends, with the operations that still signal it or at
    /// once.
    pub fn forget(&mut self, join: JoinId) {
        self.joins[join.index()].tag = NONE;
        self.release(join);
    }

    /// Joins that somebody still holds.
    pub(super) fn held(&self) -> usize {
        let (mut free, mut at) = (0, self.free_join);
        while at != NONE {
            free += 1;
            at = self.joins[at as usize].waiters;
        }
        self.joins.len() - free
    }

    pub(super) fn edge(&mut self, op: u32, next: u32) -> u32 {
        if self.free_edge == NONE {
            self.edges.push(Edge { op, next });
            return self.edges.len() as u32 - 1;
        }
        let id = self.free_edge;
        self.free_edge = self.edges[id as usize].next;
        self.edges[id as usize] = Edge { op, next };
        id
    }

    /// Serves the operations on a list of edges, oldest first, and frees the list.
    pub(super) fn wake(&mut self, edges: u32) {
        // The list is newest first; turn it round.
        let (mut forward, mut at) = (NONE, edges);
        while at != NONE {
            let next = std::mem::replace(&mut self.edges[at as usize].next, forward);
            forward = at;
            at = next;
        }
        while forward != NONE {
            let Edge { op, next } = self.edges[forward as usize];
            self.edges[forward as usize].next = self.free_edge;
            self.free_edge = forward;
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
