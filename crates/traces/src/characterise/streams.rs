//! Sequentiality: requests that go on where an earlier one of the same kind ended.
//!
//! A *stream* is where a request ended; the next one of the same kind on the same volume that
//! starts there goes on with it. Of each kind and volume the [`STREAMS`] used last are remembered,
//! so that several files read or written side by side count as sequential. The requests of a stream
//! make up a *run*; a run of a single request is random access.

use serde::Serialize;

use super::distribution::{Distribution, Spread};
use super::volumes::PerVolume;

/// Streams remembered of each kind on each volume.
pub const STREAMS: usize = 32;

/// Sequentiality of one kind of request. Null where there are none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sequentiality {
    /// Share of requests that start where the request before them of the same kind on the same
    /// volume ended.
    pub next_share: Option<f64>,
    /// Share of requests that start where one of the last 32 streams of the same kind on the same
    /// volume ended.
    pub stream_share: Option<f64>,
    /// Share of bytes in runs of two requests and more.
    pub run_bytes_share: Option<f64>,
    /// Requests in a run.
    pub run_requests: Distribution,
    /// Bytes in a run.
    pub run_bytes: Distribution,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    /// Where it goes on.
    end: u64,
    bytes: u64,
    requests: u64,
}

/// The streams of one kind of request.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// The most recent last.
    runs: PerVolume<Vec<Run>>,
    requests: u64,
    bytes: u128,
    next: u64,
    continued: u64,
    bytes_in_runs: u128,
    run_requests: Spread,
    run_bytes: Spread,
}

impl Streams {
    /// Takes note of a request of at least one byte.
    #[inline]
    pub fn add(&mut self, volume: u32, offset: u64, len: u64) {
        self.requests += 1;
        self.bytes += u128::from(len);
        let runs = self.runs.get(volume);
        let found = runs.iter().rposition(|run| run.end == offset);
        let run = match found {
            Some(at) => {
                self.continued += 1;
                self.next += u64::from(at + 1 == runs.len());
                let run = runs.remove(at);
                Run {
                    end: offset + len,
                    bytes: run.bytes.saturating_add(len),
                    requests: run.requests + 1,
                }
            }
            None => Run { end: offset + len, bytes: len, requests: 1 },
        };
        if runs.len() == STREAMS {
            let ended = runs.remove(0);
            runs.push(run);
            self.end(ended);
        } else {
            runs.push(run);
        }
    }

    fn end(&mut self, run: Run) {
        self.run_requests.add(run.requests);
        self.run_bytes.add(run.bytes);
        if run.requests > 1 {
            self.bytes_in_runs += u128::from(run.bytes);
        }
    }

    pub fn finish(mut self) -> Sequentiality {
        for run in std::mem::take(&mut self.runs).into_values().flatten() {
            self.end(run);
        }
        let share = |part: f64, all: f64| (all > 0.0).then(|| part / all);
        let requests = self.requests as f64;
        Sequentiality {
            next_share: share(self.next as f64, requests),
            stream_share: share(self.continued as f64, requests),
            run_bytes_share: share(self.bytes_in_runs as f64, self.bytes as f64),
            run_requests: self.run_requests.finish(),
            run_bytes: self.run_bytes.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_files_side_by_side_are_two_runs() {
        let mut streams = Streams::default();
        for step in 0..10 {
            streams.add(0, step * 100, 100);
            streams.add(0, 1_000_000 + step * 100, 100);
        }
        let found = streams.finish();
        assert_eq!(found.next_share, Some(0.0));
        assert_eq!(found.stream_share, Some(0.9));
        assert_eq!(found.run_bytes_share, Some(1.0));
        assert_eq!((found.run_requests.count, found.run_requests.mean), (2, Some(10.0)));
        assert_eq!(found.run_bytes.p50, Some(1000));
    }

    #[test]
    fn a_stream_is_forgotten_after_32_others_and_volumes_are_apart() {
        let touch = |others: u64| {
            let mut streams = Streams::default();
            streams.add(1, 0, 10);
            for other in 0..others {
                streams.add(1, 1000 + other * 100, 10);
                streams.add(2, 10, 10);
            }
            streams.add(1, 10, 10);
            streams.finish()
        };
        let total = 31.0 * 2.0 + 2.0;
        assert_eq!(touch(31).stream_share, Some(1.0 / total));
        assert_eq!(touch(31).run_bytes_share, Some(2.0 / total));
        assert_eq!(touch(32).stream_share, Some(0.0));
    }

    #[test]
    fn the_request_just_before_counts_as_next() {
        let mut streams = Streams::default();
        for (offset, len) in [(0, 10), (10, 20), (30, 5), (0, 10)] {
            streams.add(0, offset, len);
        }
        let found = streams.finish();
        assert_eq!((found.next_share, found.stream_share), (Some(0.5), Some(0.5)));
        assert_eq!(found.run_bytes_share, Some(35.0 / 45.0));
        assert_eq!((found.run_requests.min, found.run_requests.max), (Some(1), Some(3)));
    }
}
