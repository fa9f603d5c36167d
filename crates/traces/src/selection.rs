//! Which requests of a workload are replayed; the others are counted by the reason why not.

use eraseblock_core::host::{Op, Request};
use serde::Serialize;

use crate::config::{Ops, Volumes, WorkloadConfig};

/// Requests that are not replayed, by reason; the first one that applies, in this order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// On another volume than the one chosen.
    pub by_volume: u64,
    /// Of a kind that `ops` leaves out.
    pub by_op: u64,
    /// Reads, writes and trims of no bytes.
    pub zero_length: u64,
    /// After the `first` ones.
    pub after_first: u64,
}

impl LeftOut {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_volume + self.by_op + self.zero_length + self.after_first
    }
}

/// Takes or leaves each request in turn.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    volumes: Volumes,
    ops: Ops,
    remaining: u64,
    left_out: LeftOut,
}

impl Selection {
    pub fn new(config: &WorkloadConfig) -> Self {
        Self {
            volumes: config.volumes,
            ops: config.ops,
            remaining: config.first.unwrap_or(u64::MAX),
            left_out: LeftOut::default(),
        }
    }

    /// True if `request` is replayed.
    #[inline]
    pub fn takes(&mut self, request: &Request) -> bool {
        let reason = if matches!(self.volumes, Volumes::One(volume) if volume != request.volume) {
            &mut self.left_out.by_volume
        } else if self.ops != Ops::Rw && (self.ops == Ops::R) != (request.op == Op::Read) {
            &mut self.left_out.by_op
        } else if request.len == 0 && request.op != Op::Flush {
            &mut self.left_out.zero_length
        } else if self.remaining == 0 {
            &mut self.left_out.after_first
        } else {
            self.remaining -= 1;
            return true;
        };
        *reason += 1;
        false
    }

    /// True once no further request can be taken.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.remaining == 0
    }

    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_has_one_fate() {
        let config =
            WorkloadConfig { volumes: Volumes::One(1), ops: Ops::W, first: Some(2), ..Default::default() };
        let mut selection = Selection::new(&config);
        let request = |volume, op, len| Request { arrival_ns: 0, offset: 0, len, volume, op, fua: false };
        let requests = [
            (request(0, Op::Read, 1), false),
            (request(1, Op::Read, 1), false),
            (request(1, Op::Write, 0), false),
            (request(1, Op::Trim, 4), true),
            (request(1, Op::Flush, 0), true),
            (request(1, Op::Write, 4), false),
            (request(1, Op::Write, 0), false),
        ];
        for (request, taken) in requests {
            assert_eq!(selection.takes(&request), taken, "{request:?}");
        }
        let left_out = selection.left_out();
        assert_eq!(left_out, LeftOut { by_volume: 1, by_op: 1, zero_length: 2, after_first: 1 });
        assert_eq!(left_out.total(), 5);
        assert!(selection.is_done());
    }

    #[test]
    fn r_is_reads_alone() {
        let mut selection = Selection::new(&WorkloadConfig { ops: Ops::R, ..Default::default() });
        let request = |op| Request { arrival_ns: 0, offset: 0, len: 1, volume: 0, op, fua: false };
        let taken = [Op::Read, Op::Write, Op::Trim, Op::Flush].map(|op| selection.takes(&request(op)));
        assert_eq!(taken, [true, false, false, false]);
    }
}
