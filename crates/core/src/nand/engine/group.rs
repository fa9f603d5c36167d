//! Groups: operations that hold their dies until the last of them has ended.
//!
//! What is issued in a group goes on without anything in between: on each die every operation comes
//! after the one of the group before it, and before all that waits there, even if that has waited
//! for longer. Only host reads that go before everything (`nand.scheduling = "read-first"`) still
//! do. A die never stands idle for its group: while the group waits for another die, others go on.

use serde::{Deserialize, Serialize};

use super::Engine;
use crate::nand::op::FlashOp;
use crate::support::NONE;
use crate::support::ids::DieId;

/// The group that is being issued.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Group {
    /// Its last operation on each die, or [`NONE`].
    last: Vec<u32>,
    /// The dies that it has one on.
    dies: Vec<DieId>,
}

impl Group {
    pub fn new(dies: u32) -> Self {
        Self { last: vec![NONE; dies as usize], dies: Vec::new() }
    }
}

impl Engine {
    /// The last operation of the group on the die of `op`. What takes no time holds no die, and is
    /// in no group.
    pub(super) fn last_of_group(&self, op: &FlashOp) -> u32 {
        if op.instant { NONE } else { self.array.group.last[self.die_of(op.block).index()] }
    }

    /// Operation `id`, just accepted, is the last one of the group on its die.
    pub(super) fn join_group(&mut self, id: u32) {
        let op = &self.ops[id as usize].op;
        if op.instant {
            return;
        }
        let die = self.die_of(op.block);
        if std::mem::replace(&mut self.array.group.last[die.index()], id) == NONE {
            self.array.group.dies.push(die);
        }
    }

    /// Nothing more is issued that belongs to the group. To be said before time goes on.
    pub fn end_group(&mut self) {
        for die in self.array.group.dies.drain(..) {
            self.array.group.last[die.index()] = NONE;
        }
    }
}
