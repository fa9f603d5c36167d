//! Requests in order of time: what happens to those that a file holds too late.

use eraseblock_core::host::Request;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::readers::Disorder;

/// What happens when a request's time lies before that of the request above it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutOfOrder {
    /// As the format needs: formats whose recorders write out of order are sorted (blkparse and the
    /// like) or, where their steps back are small, clamped (nbdkit); in all others it is an error.
    #[default]
    Auto,
    /// It is an error that names the line.
    Error,
    /// The request arrives together with the latest one before it, and is counted.
    Clamp,
    /// The request is moved to its place in time, and counted; one that comes more than half a
    /// million requests too late is an error.
    Sort,
}

/// Requests whose time lay before that of an earlier one in the file, and what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Arrive together with the latest request before them.
    pub clamped: u64,
    /// The largest step back in time among them, in ns.
    pub clamped_max_ns: u64,
    /// Were moved to their place in time.
    pub sorted: u64,
    /// The largest step back in time among them, in ns.
    pub sorted_max_ns: u64,
}

/// A request that cannot be brought into order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLate {
    pub found: String,
    pub expected: String,
}

/// Requests held back while sorting, at most: 48 MB.
const WINDOW: usize = 1 << 20;

/// Brings the requests of one pass into order and counts their times from the first one.
#[derive(Debug)]
pub(crate) struct Order {
    way: Way,
    /// Times of the first request and of the latest one, as the file counts them.
    first_ns: Option<u64>,
    latest_ns: u64,
    moved: Moved,
}

#[derive(Debug)]
enum Way {
    Clamp { within_ns: u64 },
    Sort(Sorter),
}

impl Order {
    /// What the user chose, or else what the format needs.
    pub fn new(chosen: OutOfOrder, format: Disorder) -> Self {
        let way = match (chosen, format) {
            (OutOfOrder::Sort, _) | (OutOfOrder::Auto, Disorder::Sorted) => {
                Way::Sort(Sorter::new(WINDOW))
            }
            (OutOfOrder::Clamp, _) => Way::Clamp { within_ns: u64::MAX },
            (OutOfOrder::Auto, Disorder::Clamped(within_ns)) => Way::Clamp { within_ns },
            (OutOfOrder::Error, _) | (OutOfOrder::Auto, Disorder::None) => {
                Way::Clamp { within_ns: 0 }
            }
        };
        Self { way, first_ns: None, latest_ns: 0, moved: Moved::default() }
    }

    /// Takes the next request of the file; the way it goes on, if it does so at once.
    #[inline]
    pub fn take(&mut self, request: Request) -> Result<Option<Request>, TooLate> {
        let back_ns = self.latest_ns.saturating_sub(request.arrival_ns);
        if back_ns > 0 {
            self.late(&request, back_ns)?;
        }
        self.latest_ns = self.latest_ns.max(request.arrival_ns);
        Ok(match &mut self.way {
            Way::Clamp { .. } => {
                Some(self.since_start(Request { arrival_ns: self.latest_ns, ..request }))
            }
            Way::Sort(sorter) => {
                sorter.held.push(request);
                self.held()
            }
        })
    }

    /// Takes the next requests of the file, which go on at once as they are then, and says so; not
    /// where one of them is late, or may have to wait: none has been taken then.
    #[inline]
    pub fn take_all(&mut self, requests: &mut [Request]) -> bool {
        let mut latest_ns = self.latest_ns;
        let mut in_order = matches!(self.way, Way::Clamp { .. });
        for request in &*requests {
            in_order &= latest_ns <= request.arrival_ns;
            latest_ns = request.arrival_ns;
        }
        if let (true, Some(first)) = (in_order, requests.first()) {
            let first_ns = *self.first_ns.get_or_insert(first.arrival_ns);
            for request in requests {
                request.arrival_ns -= first_ns;
            }
            self.latest_ns = latest_ns;
        }
        in_order
    }

    #[cold]
    fn late(&mut self, request: &Request, back_ns: u64) -> Result<(), TooLate> {
        let moved = &mut self.moved;
        match &self.way {
            Way::Clamp { within_ns } if back_ns > *within_ns => Err(TooLate {
                found: format!("a time {back_ns} ns before that of an earlier request"),
                expected:
                    "times in order; --set workload.out_of_order=sort moves such requests to their \
                     place, --set workload.out_of_order=clamp makes them arrive late"
                        .to_owned(),
            }),
            Way::Clamp { .. } => {
                moved.clamped += 1;
                moved.clamped_max_ns = moved.clamped_max_ns.max(back_ns);
                Ok(())
            }
            Way::Sort(sorter) if request.arrival_ns < sorter.settled_ns => Err(TooLate {
                found: format!(
                    "a time {back_ns} ns before that of a request more than {} requests above",
                    sorter.kept()
                ),
                expected: "at most that much disorder; sort the trace by time first".to_owned(),
            }),
            Way::Sort(_) => {
                moved.sorted += 1;
                moved.sorted_max_ns = moved.sorted_max_ns.max(back_ns);
                Ok(())
            }
        }
    }

    /// The next request that has been held back long enough.
    #[inline]
    fn held(&mut self) -> Option<Request> {
        let Way::Sort(sorter) = &mut self.way else { return None };
        let request = sorter.next()?;
        Some(self.since_start(request))
    }

    /// The next of the requests still held back, once the file has ended.
    #[inline]
    pub fn rest(&mut self) -> Option<Request> {
        if let Way::Sort(sorter) = &mut self.way {
            sorter.close();
        }
        self.held()
    }

    #[inline]
    fn since_start(&mut self, mut request: Request) -> Request {
        request.arrival_ns -= *self.first_ns.get_or_insert(request.arrival_ns);
        request
    }

    /// True if requests may leave in another order than they came.
    pub fn sorts(&self) -> bool {
        matches!(self.way, Way::Sort(_))
    }

    /// Requests that came out of order so far.
    pub fn moved(&self) -> Moved {
        self.moved
    }
}

/// Sorts by time within a window, requests of one time staying as they were.
#[derive(Debug)]
struct Sorter {
    window: usize,
    held: Vec<Request>,
    /// Of `held`, those before `ready` are in order, those before `next` have left.
    ready: usize,
    next: usize,
    /// Time of the last request that is in order: one that comes later in the file must not lie
    /// before it.
    settled_ns: u64,
    closed: bool,
}

impl Sorter {
    fn new(window: usize) -> Self {
        Self { window, held: Vec::new(), ready: 0, next: 0, settled_ns: 0, closed: false }
    }

    /// Requests that stay when the window is full: one may come as many requests too late.
    fn kept(&self) -> usize {
        self.window / 2
    }

    #[inline]
    fn next(&mut self) -> Option<Request> {
        if self.next == self.ready && self.held.len() >= self.window {
            self.sort();
        }
        let request = *self.held[..self.ready].get(self.next)?;
        self.next += 1;
        Some(request)
    }

    #[cold]
    fn sort(&mut self) {
        self.held.drain(..self.next);
        self.next = 0;
        self.held.sort_by_key(|request| request.arrival_ns);
        self.ready =
            if self.closed { self.held.len() } else { self.held.len().saturating_sub(self.kept()) };
        if let Some(last) = self.ready.checked_sub(1) {
            self.settled_ns = self.held[last].arrival_ns;
        }
    }

    fn close(&mut self) {
        if !self.closed {
            self.closed = true;
            self.sort();
        }
    }
}

#[cfg(test)]
mod tests {
    use eraseblock_core::host::Op;
    use proptest::prelude::*;

    use super::*;

    fn request(arrival_ns: u64, offset: u64) -> Request {
        Request { arrival_ns, offset, len: 1, volume: 0, op: Op::Write, fua: false }
    }

    fn ordered(mut order: Order, times: &[u64]) -> Result<(Vec<(u64, u64)>, Moved), TooLate> {
        let mut out = Vec::new();
        for (number, &time) in times.iter().enumerate() {
            out.extend(order.take(request(time, number as u64))?);
        }
        while let Some(request) = order.rest() {
            out.push(request);
        }
        Ok((
            out.iter().map(|request| (request.arrival_ns, request.offset)).collect(),
            order.moved(),
        ))
    }

    fn sort_within(window: usize) -> Order {
        Order {
            way: Way::Sort(Sorter::new(window)),
            ..Order::new(OutOfOrder::Error, Disorder::None)
        }
    }

    #[test]
    fn late_requests_are_moved_clamped_or_refused() {
        let times = [20, 30, 10, 30, 25];
        let order = |chosen, format| ordered(Order::new(chosen, format), &times);
        let (requests, moved) = order(OutOfOrder::Sort, Disorder::None).unwrap();
        assert_eq!(requests, [(0, 2), (10, 0), (15, 4), (20, 1), (20, 3)]);
        assert_eq!(moved, Moved { sorted: 2, sorted_max_ns: 20, ..Moved::default() });
        assert_eq!(order(OutOfOrder::Auto, Disorder::Sorted).unwrap().1, moved);
        let (requests, moved) = order(OutOfOrder::Clamp, Disorder::Sorted).unwrap();
        assert_eq!(requests, [(0, 0), (10, 1), (10, 2), (10, 3), (10, 4)]);
        assert_eq!(moved, Moved { clamped: 2, clamped_max_ns: 20, ..Moved::default() });
        assert_eq!(order(OutOfOrder::Auto, Disorder::Clamped(20)).unwrap().1, moved);
        for (chosen, format) in [
            (OutOfOrder::Auto, Disorder::Clamped(19)),
            (OutOfOrder::Auto, Disorder::None),
            (OutOfOrder::Error, Disorder::Sorted),
        ] {
            let error = order(chosen, format).unwrap_err();
            assert_eq!(error.found, "a time 20 ns before that of an earlier request");
        }
    }

    #[test]
    fn disorder_beyond_the_window_is_refused() {
        let mut times: Vec<u64> = (100..108).collect();
        times.push(100);
        assert_eq!(ordered(sort_within(16), &times).unwrap().1.sorted, 1);
        times.pop();
        times.push(99);
        let error = ordered(sort_within(8), &times).unwrap_err();
        assert_eq!(error.found, "a time 8 ns before that of a request more than 4 requests above");
        // Among those that are in order and have not all left yet.
        let error =
            ordered(sort_within(8), &[0, 10, 20, 30, 40, 50, 60, 70, 15, 80, 90, 100]).unwrap_err();
        assert_eq!(error.found, "a time 55 ns before that of a request more than 4 requests above");
    }

    #[test]
    fn those_in_order_are_taken_together() {
        let mut order = Order::new(OutOfOrder::Error, Disorder::None);
        let mut few = [20, 30, 30].map(|time| request(time, 0));
        assert!(order.take_all(&mut few));
        assert_eq!(few.map(|request| request.arrival_ns), [0, 10, 10]);
        let mut few = [request(40, 1), request(39, 2)];
        assert!(!order.take_all(&mut few));
        let mut late = [request(29, 3)];
        assert!(!order.take_all(&mut late));
        assert_eq!((few[0], late[0]), (request(40, 1), request(29, 3)));
        assert_eq!(order.take(few[0]).unwrap(), Some(request(20, 1)));
        assert!(order.take(few[1]).is_err());
        assert!(!sort_within(8).take_all(&mut few));
    }

    proptest! {
        /// Whatever comes at most half a window late is sorted as the whole would be, stably.
        #[test]
        fn a_window_sorts_like_the_whole(steps in prop::collection::vec(0..3_u64, 0..200), late in prop::collection::vec(0..8_usize, 200)) {
            let mut clock = 1000;
            let mut due: Vec<(usize, u64)> = Vec::new();
            for (number, step) in steps.iter().enumerate() {
                clock += step;
                due.push((number + late[number], clock));
            }
            due.sort_by_key(|&(position, _)| position);
            let times: Vec<u64> = due.iter().map(|&(_, time)| time).collect();
            let (found, moved) = ordered(sort_within(20), &times).unwrap();
            let mut expected: Vec<_> = times.iter().enumerate().map(|(number, &time)| (time, number as u64)).collect();
            expected.sort_by_key(|&(time, _)| time);
            let first = expected.first().map_or(0, |&(time, _)| time);
            prop_assert_eq!(found, expected.iter().map(|&(time, number)| (time - first, number)).collect::<Vec<_>>());
            prop_assert_eq!(moved.sorted == 0, times.is_sorted());
        }
    }
}
