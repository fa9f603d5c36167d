//! Which requests of a workload are replayed, and when; the others are counted by the reason why
//! not.

use std::ops::Range;

use eraseblock_core::host::{Op, Request};
use serde::Serialize;

use crate::config::{Ops, Volumes, WorkloadConfig};

/// Requests that are not replayed, by reason; the first one that applies, in this order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// On another volume than those chosen.
    pub by_volume: u64,
    /// Of a kind that `ops` leaves out.
    pub by_op: u64,
    /// Reads, writes and trims that do not lie within `from_byte` and `until_byte`.
    pub by_address: u64,
    /// Reads, writes and trims of no bytes.
    pub zero_length: u64,
    /// Before the time `from`.
    pub before_from: u64,
    /// At the time `until` or later.
    pub after_until: u64,
    /// Passed over by `skip`.
    pub skipped: u64,
    /// After the `first` ones.
    pub after_first: u64,
}

impl LeftOut {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_volume
            + self.by_op
            + self.by_address
            + self.zero_length
            + self.before_from
            + self.after_until
            + self.skipped
            + self.after_first
    }
}

/// Takes or leaves each request in turn.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    volumes: Volumes,
    ops: Ops,
    bytes: Range<u64>,
    times_ns: Range<u64>,
    to_skip: u64,
    remaining: u64,
    time_scale: f64,
    /// Neither volumes, addresses nor times leave any out, none is skipped, and times stay as they
    /// are.
    takes_whole: bool,
    /// Time of the first request taken: the replay's clock starts with it.
    start_ns: Option<u64>,
    left_out: LeftOut,
}

impl Selection {
    pub fn new(config: &WorkloadConfig) -> Self {
        let mut selection = Self {
            volumes: config.volumes.clone(),
            ops: config.ops,
            bytes: config.from_byte.map_or(0, |byte| byte.0)
                ..config.until_byte.map_or(u64::MAX, |byte| byte.0),
            times_ns: config.from.map_or(0, |time| time.0)
                ..config.until.map_or(u64::MAX, |time| time.0),
            to_skip: config.skip.unwrap_or(0),
            remaining: config.first.unwrap_or(u64::MAX),
            time_scale: config.time_scale,
            takes_whole: false,
            start_ns: None,
            left_out: LeftOut::default(),
        };
        selection.takes_whole = !matches!(selection.volumes, Volumes::Only(_))
            && selection.bytes == (0..u64::MAX)
            && selection.times_ns == (0..u64::MAX)
            && selection.to_skip == 0
            && selection.keeps_times();
        selection
    }

    /// `request` as it is replayed, if it is; they come in order of time.
    #[inline]
    pub fn take(&mut self, request: &Request) -> Option<Request> {
        let sized = request.op != Op::Flush;
        let reason = if !self.volumes.contain(request.volume) {
            &mut self.left_out.by_volume
        } else if !self.ops.contains(request.op) {
            &mut self.left_out.by_op
        } else if sized
            && (request.offset < self.bytes.start || request.offset + request.len > self.bytes.end)
        {
            &mut self.left_out.by_address
        } else if sized && request.len == 0 {
            &mut self.left_out.zero_length
        } else if request.arrival_ns < self.times_ns.start {
            &mut self.left_out.before_from
        } else if request.arrival_ns >= self.times_ns.end {
            // Nothing that comes later can be taken.
            self.remaining = 0;
            &mut self.left_out.after_until
        } else if self.to_skip > 0 {
            self.to_skip -= 1;
            &mut self.left_out.skipped
        } else if self.remaining == 0 {
            &mut self.left_out.after_first
        } else {
            self.remaining -= 1;
            return Some(Request { arrival_ns: self.replayed_at(request.arrival_ns), ..*request });
        };
        *reason += 1;
        None
    }

    /// Takes all of these as they are, and says so; not where one is left out or has another time.
    #[inline]
    pub fn take_all(&mut self, requests: &[Request]) -> bool {
        let is_taken = |request: &Request| {
            self.ops.contains(request.op) && (request.len > 0 || request.op == Op::Flush)
        };
        let (Some(first), count) = (requests.first(), requests.len() as u64) else { return true };
        let start_ns = self.start_ns.unwrap_or(first.arrival_ns);
        let all = self.takes_whole
            && start_ns == 0
            && self.remaining >= count
            && requests.iter().all(is_taken);
        if all {
            self.remaining -= count;
            self.start_ns = Some(start_ns);
        }
        all
    }

    #[inline]
    fn replayed_at(&mut self, time_ns: u64) -> u64 {
        let since_ns = time_ns - *self.start_ns.get_or_insert(time_ns);
        if self.keeps_times() {
            since_ns
        } else {
            libm::round(since_ns as f64 * self.time_scale) as u64
        }
    }

    /// True where the gaps between requests stay as they are.
    #[inline]
    pub fn keeps_times(&self) -> bool {
        // Exactly 1 is what the configuration says where nothing is to be scaled.
        self.time_scale.to_bits() == 1.0_f64.to_bits()
    }

    /// True once no further request can be taken.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.remaining == 0
    }

    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// Time of the first request taken, counted from that of the trace's first, in ns.
    pub fn start_ns(&self) -> u64 {
        self.start_ns.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use eraseblock_core::config::{Bytes, Nanos};

    use super::*;

    fn request(arrival_ns: u64, op: Op, volume: u32, offset: u64, len: u64) -> Request {
        Request { arrival_ns, offset, len, volume, op, fua: false }
    }

    #[test]
    fn each_request_has_one_fate() {
        let config = WorkloadConfig {
            volumes: Volumes::Only(vec![1, 4]),
            ops: Ops::W,
            from_byte: Some(Bytes(10)),
            until_byte: Some(Bytes(20)),
            from: Some(Nanos(100)),
            until: Some(Nanos(200)),
            skip: Some(1),
            first: Some(2),
            ..WorkloadConfig::default()
        };
        let mut selection = Selection::new(&config);
        for (request, taken) in [
            (request(100, Op::Read, 0, 10, 1), None),
            (request(100, Op::Read, 1, 10, 1), None),
            (request(100, Op::Write, 1, 9, 1), None),
            (request(100, Op::Write, 1, 15, 6), None),
            (request(100, Op::Write, 1, 10, 0), None),
            (request(99, Op::Write, 1, 10, 10), None),
            (request(100, Op::Write, 1, 10, 10), None),
            (request(120, Op::Trim, 4, 19, 1), Some(0)),
            (request(150, Op::Flush, 1, 0, 0), Some(30)),
            (request(199, Op::Write, 1, 10, 1), None),
            (request(200, Op::Write, 1, 10, 1), None),
        ] {
            assert_eq!(
                selection.take(&request).map(|taken| taken.arrival_ns),
                taken,
                "{request:?}"
            );
        }
        let expected = LeftOut {
            by_volume: 1,
            by_op: 1,
            by_address: 2,
            zero_length: 1,
            before_from: 1,
            after_until: 1,
            skipped: 1,
            after_first: 1,
        };
        assert_eq!((selection.left_out(), expected.total()), (expected, 9));
        assert!(selection.is_done());
        assert_eq!(selection.start_ns(), 120);
    }

    #[test]
    fn many_are_taken_together_only_as_each_would_be() {
        let few = [request(0, Op::Read, 3, 0, 1), request(5, Op::Write, 1, 9, 2)];
        let take_all = |config: WorkloadConfig| {
            let mut selection = Selection::new(&config);
            (selection.take_all(&few), selection)
        };
        let (all, selection) = take_all(WorkloadConfig { first: Some(3), ..Default::default() });
        assert!(all && selection.start_ns == Some(0) && selection.remaining == 1);
        for config in [
            WorkloadConfig { first: Some(1), ..Default::default() },
            WorkloadConfig { skip: Some(1), ..Default::default() },
            WorkloadConfig { volumes: Volumes::Only(vec![1, 3]), ..Default::default() },
            WorkloadConfig { ops: Ops::W, ..Default::default() },
            WorkloadConfig { time_scale: 2.0, ..Default::default() },
            WorkloadConfig { from: Some(Nanos(0)), until: Some(Nanos(9)), ..Default::default() },
            WorkloadConfig { from_byte: Some(Bytes(1)), ..Default::default() },
        ] {
            let (all, selection) = take_all(config.clone());
            assert!(!all && selection.start_ns.is_none(), "{config:?}");
        }
        let mut selection = Selection::new(&WorkloadConfig::default());
        assert!(!selection.take_all(&[request(0, Op::Read, 0, 0, 0)]));
        assert!(!selection.take_all(&[request(7, Op::Read, 0, 0, 1)]), "its clock starts at 7");
    }

    #[test]
    fn the_end_of_time_ends_the_pass() {
        let mut selection =
            Selection::new(&WorkloadConfig { until: Some(Nanos(10)), ..WorkloadConfig::default() });
        assert!(selection.take(&request(9, Op::Read, 0, 0, 1)).is_some());
        assert!(!selection.is_done());
        assert!(selection.take(&request(10, Op::Read, 0, 0, 1)).is_none());
        assert!(selection.is_done());
    }

    #[test]
    fn times_are_scaled_from_the_first_request_taken() {
        let mut selection = Selection::new(&WorkloadConfig {
            skip: Some(1),
            time_scale: 0.25,
            ..WorkloadConfig::default()
        });
        let times = [3, 1000, 1002, 1010, 1011]
            .map(|time| selection.take(&request(time, Op::Read, 0, 0, 1)));
        assert_eq!(
            times.map(|taken| taken.map(|taken| taken.arrival_ns)),
            [None, Some(0), Some(1), Some(3), Some(3)]
        );
    }
}
