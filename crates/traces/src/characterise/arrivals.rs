//! When requests arrive: rate, gaps, bursts, and the flushes among them.

use eraseblock_core::host::{Op, Request};
use serde::Serialize;

use super::distribution::{Distribution, Spread, variation};

/// When requests arrive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arrivals {
    /// From the first request to the last.
    pub duration_ns: u64,
    /// Requests after the first / duration; null where all arrive at once.
    pub requests_per_s: Option<f64>,
    /// Bytes read and written per request, times the requests per second.
    pub bytes_per_s: Option<f64>,
    /// Time from each request to the next.
    pub gap_ns: Distribution,
    /// How bursty arrivals are, at several scales of time; only those at which the workload has ten
    /// windows.
    pub dispersion: Vec<Dispersion>,
    /// The second with the most requests, counted in whole seconds from the first request on.
    pub busiest_second: Option<BusiestSecond>,
}

/// Variance / mean of the number of requests in a window: 1 for independent (Poisson) arrivals, 0
/// for a metronome.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Dispersion {
    /// Width of the windows.
    pub window_ns: u64,
    /// Whole windows.
    pub windows: u64,
    /// Variance / mean.
    pub index: f64,
}

/// The second with the most requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BusiestSecond {
    /// Begin, from the first request on.
    pub start_ns: u64,
    /// Requests in it.
    pub requests: u64,
    /// Bytes that they read and write.
    pub bytes: u64,
}

/// Flushes, and what is written between them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Flushes {
    /// Flushes.
    pub count: u64,
    /// Time from each flush to the next.
    pub interval_ns: Distribution,
    /// Write requests before each flush, since the flush before it.
    pub writes_between: Distribution,
    /// Bytes written before each flush, since the flush before it.
    pub write_bytes_between: Distribution,
}

const SECOND_NS: u64 = 1_000_000_000;
/// Scales of time at which bursts are looked for.
const SCALES_NS: [u64; 5] = [1_000_000, 10_000_000, 100_000_000, SECOND_NS, 10 * SECOND_NS];
/// Windows that a variance needs.
const ENOUGH_WINDOWS: u64 = 10;

/// Requests counted in windows of one width.
#[derive(Debug, Clone, Copy, Default)]
struct Counter {
    window: u64,
    count: u64,
    /// Over the windows before this one.
    sum: u64,
    squares: u128,
}

#[derive(Debug, Default)]
pub(super) struct ArrivalCounts {
    first_ns: Option<u64>,
    last_ns: u64,
    requests: u64,
    bytes: u64,
    gaps: Spread,
    counters: [Counter; SCALES_NS.len()],
    this_second: Option<BusiestSecond>,
    busiest: Option<BusiestSecond>,
    flushes: u64,
    last_flush_ns: Option<u64>,
    writes: u64,
    write_bytes: u64,
    flush_intervals: Spread,
    writes_between: Spread,
    write_bytes_between: Spread,
}

impl ArrivalCounts {
    pub fn add(&mut self, request: &Request) {
        let now_ns = request.arrival_ns;
        match self.first_ns {
            None => self.first_ns = Some(now_ns),
            Some(_) => self.gaps.add(now_ns - self.last_ns),
        }
        self.last_ns = now_ns;
        self.requests += 1;
        let since_ns = now_ns - self.first_ns.unwrap_or(now_ns);
        let bytes = if matches!(request.op, Op::Read | Op::Write) { request.len } else { 0 };
        self.bytes = self.bytes.saturating_add(bytes);
        for (counter, width_ns) in self.counters.iter_mut().zip(SCALES_NS) {
            counter.add(since_ns / width_ns);
        }
        self.second(since_ns - since_ns % SECOND_NS, bytes);
        self.flush(request);
    }

    fn second(&mut self, start_ns: u64, bytes: u64) {
        match &mut self.this_second {
            Some(second) if second.start_ns == start_ns => {
                second.requests += 1;
                second.bytes = second.bytes.saturating_add(bytes);
            }
            _ => {
                self.end_second();
                self.this_second = Some(BusiestSecond { start_ns, requests: 1, bytes });
            }
        }
    }

    fn end_second(&mut self) {
        if let Some(second) = self.this_second.take()
            && self.busiest.is_none_or(|busiest| second.requests > busiest.requests)
        {
            self.busiest = Some(second);
        }
    }

    fn flush(&mut self, request: &Request) {
        match request.op {
            Op::Write => {
                self.writes += 1;
                self.write_bytes = self.write_bytes.saturating_add(request.len);
            }
            Op::Flush => {
                self.flushes += 1;
                if let Some(last_ns) = self.last_flush_ns.replace(request.arrival_ns) {
                    self.flush_intervals.add(request.arrival_ns - last_ns);
                }
                self.writes_between.add(std::mem::take(&mut self.writes));
                self.write_bytes_between.add(std::mem::take(&mut self.write_bytes));
            }
            Op::Read | Op::Trim => {}
        }
    }

    pub fn finish(mut self) -> (Arrivals, Flushes) {
        self.end_second();
        let duration_ns = self.last_ns - self.first_ns.unwrap_or(self.last_ns);
        let gaps = self.requests.saturating_sub(1);
        let requests_per_s = (duration_ns > 0).then(|| gaps as f64 * 1e9 / duration_ns as f64);
        let mean_bytes = self.bytes as f64 / self.requests as f64;
        let arrivals = Arrivals {
            duration_ns,
            requests_per_s,
            bytes_per_s: requests_per_s.map(|requests| requests * mean_bytes),
            gap_ns: self.gaps.finish(),
            dispersion: self
                .counters
                .iter()
                .zip(SCALES_NS)
                .filter_map(|(c, ns)| c.finish(ns))
                .collect(),
            busiest_second: self.busiest,
        };
        let flushes = Flushes {
            count: self.flushes,
            interval_ns: self.flush_intervals.finish(),
            writes_between: self.writes_between.finish(),
            write_bytes_between: self.write_bytes_between.finish(),
        };
        (arrivals, flushes)
    }
}

impl Counter {
    #[inline]
    fn add(&mut self, window: u64) {
        if window != self.window {
            self.sum += self.count;
            self.squares += u128::from(self.count) * u128::from(self.count);
            (self.window, self.count) = (window, 0);
        }
        self.count += 1;
    }

    /// Over all windows but the last, which the end of the workload cuts.
    fn finish(&self, window_ns: u64) -> Option<Dispersion> {
        let windows = self.window;
        if windows < ENOUGH_WINDOWS {
            return None;
        }
        let mean = self.sum as f64 / windows as f64;
        let cv = variation(windows, self.sum.into(), self.squares)?;
        Some(Dispersion { window_ns, windows, index: cv * cv * mean })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(arrival_ns: u64, op: Op) -> Request {
        Request {
            arrival_ns,
            offset: 0,
            len: if op == Op::Flush { 0 } else { 512 },
            volume: 0,
            op,
            fua: false,
        }
    }

    #[test]
    fn a_metronome_has_no_dispersion_and_bursts_have_much() {
        let (mut even, mut bursts) = (ArrivalCounts::default(), ArrivalCounts::default());
        for step in 0..=20_000u64 {
            even.add(&at(5 + step * 1_000_000, Op::Read));
            bursts.add(&at(5 + step / 100 * 100_000_000, Op::Read));
        }
        let (even, _) = even.finish();
        assert_eq!((even.duration_ns, even.requests_per_s), (20_000_000_000, Some(1000.0)));
        assert_eq!(even.bytes_per_s, Some(512_000.0));
        assert_eq!((even.gap_ns.mean, even.gap_ns.cv), (Some(1e6), Some(0.0)));
        assert!(even.dispersion.iter().all(|scale| scale.index == 0.0), "{:?}", even.dispersion);
        assert_eq!(even.dispersion.len(), 4);
        let (bursts, _) = bursts.finish();
        // One window in ten holds 100 requests: variance 900, mean 10.
        assert_eq!(bursts.dispersion[1].window_ns, 10_000_000);
        assert!((bursts.dispersion[1].index - 90.0).abs() < 1e-9, "{:?}", bursts.dispersion);
        assert_eq!(
            bursts.busiest_second,
            Some(BusiestSecond { start_ns: 0, requests: 1000, bytes: 512_000 })
        );
    }

    #[test]
    fn flushes_close_what_was_written_before_them() {
        let mut counts = ArrivalCounts::default();
        for (step, op) in
            [Op::Write, Op::Read, Op::Write, Op::Flush, Op::Flush, Op::Write, Op::Flush]
                .into_iter()
                .enumerate()
        {
            counts.add(&at(step as u64 * 10, op));
        }
        let (_, flushes) = counts.finish();
        assert_eq!(flushes.count, 3);
        assert_eq!((flushes.interval_ns.min, flushes.interval_ns.max), (Some(10), Some(20)));
        assert_eq!((flushes.writes_between.min, flushes.writes_between.max), (Some(0), Some(2)));
        assert_eq!(flushes.write_bytes_between.mean, Some(512.0));
    }

    #[test]
    fn one_request_has_no_rate() {
        let mut counts = ArrivalCounts::default();
        counts.add(&at(3, Op::Write));
        let (arrivals, _) = counts.finish();
        assert_eq!(
            (arrivals.duration_ns, arrivals.requests_per_s, arrivals.gap_ns.count),
            (0, None, 0)
        );
    }
}
