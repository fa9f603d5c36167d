//! Whether the drive keeps up with its workload.

use std::collections::VecDeque;

use crate::metrics::Latency;

/// How long requests took from arrival to answer, sampled evenly over the run in constant memory.
#[derive(Debug, Default)]
pub(in crate::device) struct Backlog {
    samples: Vec<u64>,
    /// Requests between two samples, a power of two, less one.
    skip: u64,
    seen: u64,
    /// How long each request waited for its turn, those left out that did not wait.
    waits: Latency,
    unwaited: u64,
    /// Arrivals of requests that are under way and wait, since more come before them than a host
    /// keeps under way.
    waiting: VecDeque<u64>,
    /// The first ones of these came in the warm-up.
    early: usize,
    /// How long there was one that waited, and up to when that is known.
    behind_ns: u64,
    behind_until: u64,
}

/// A run whose requests spent their time waiting for their turn, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::device) struct Burst {
    /// One request in ten waited so long or longer.
    pub wait: u64,
    /// How long somebody waited.
    pub behind: u64,
}

impl Backlog {
    const SAMPLES: usize = 128;
    /// No host keeps more requests under way: what comes behind them waits, whether it has been
    /// admitted or not.
    const HOST: u32 = 256;
    /// What waits at least so many times as long as it then takes is not in a short burst, however
    /// many are under way.
    const FAR: u64 = 4;

    /// A request that arrived then is admitted now, as one of so many.
    #[inline]
    pub(super) fn admitted(&mut self, arrival: u64, now: u64, outstanding: u32) {
        if outstanding > Self::HOST {
            self.waiting.push_back(arrival);
        } else {
            self.waited(arrival, now);
        }
    }

    /// A request that arrived then need not wait any more.
    fn waited(&mut self, arrival: u64, now: u64) {
        if now == arrival {
            self.unwaited += 1;
        } else {
            self.waits.record(now - arrival);
        }
        self.was_behind(arrival, now);
    }

    /// A request waited from then until now.
    fn was_behind(&mut self, arrival: u64, now: u64) {
        self.behind_ns += now.saturating_sub(arrival.max(self.behind_until));
        self.behind_until = now;
    }

    /// If one request in ten waited for its turn behind more requests than a host keeps under way:
    /// with `slots` under way at a time, that takes as many times as long as one takes as the slots
    /// go into those. `response_ns` is the sum of all response times.
    pub fn burst(&self, slots: u32, response_ns: u128) -> Option<Burst> {
        let mut waits = self.waits.clone();
        waits.record_none(self.unwaited);
        let count = u128::from(waits.count());
        if !self.has_enough_samples() || count == 0 {
            return None;
        }
        let served_ns = (response_ns.saturating_sub(waits.sum()) / count) as u64;
        let wait_ns = waits.summary()?.p90;
        let far =
            wait_ns > served_ns.saturating_mul(Self::FAR.max(u64::from(Self::HOST / slots.max(1))));
        far.then_some(Burst { wait: wait_ns, behind: self.behind_ns })
    }

    /// The warm-up is over: what has been seen of it does not count. Who waits still does, and holds
    /// up those who come.
    pub(super) fn restart(&mut self, now: u64) {
        let waiting = std::mem::take(&mut self.waiting);
        *self = Self { early: waiting.len(), waiting, behind_until: now, ..Self::default() };
    }

    /// A request is answered after so long.
    pub(super) fn answered(&mut self, took: u64) {
        self.note(took);
    }

    /// A request is answered: the one that has waited longest need not wait any more.
    #[inline(always)]
    pub(super) fn moves_up(&mut self, now: u64) {
        if !self.waiting.is_empty() {
            self.first_moves_up(now);
        }
    }

    #[inline(never)]
    fn first_moves_up(&mut self, now: u64) {
        let Some(arrival) = self.waiting.pop_front() else { return };
        if self.early > 0 {
            self.early -= 1;
            self.was_behind(arrival, now);
        } else {
            self.waited(arrival, now);
        }
    }

    fn note(&mut self, wait: u64) {
        if self.seen & self.skip == 0 {
            if self.samples.len() == Self::SAMPLES {
                let mut keep = false;
                self.samples.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.skip = self.skip * 2 + 1;
            }
            if self.seen & self.skip == 0 {
                self.samples.push(wait);
            }
        }
        self.seen += 1;
    }

    /// Requests that tell enough of a run.
    pub fn has_enough_samples(&self) -> bool {
        self.samples.len() >= 8
    }

    /// If it kept growing, the mean of the last quarter: each quarter of the run took longer than
    /// the one before, and the last one longer than a sixteenth of the run.
    pub fn grew(&self, run_ns: u64) -> Option<u64> {
        let quarter = self.samples.len() / 4;
        if !self.has_enough_samples() {
            return None;
        }
        let means: Vec<u64> = self
            .samples
            .chunks_exact(quarter)
            .take(4)
            .map(|c| c.iter().sum::<u64>() / quarter as u64)
            .collect();
        let growing = means.windows(2).all(|pair| pair[1] > pair[0]);
        (growing && means[3] > run_ns / 16).then_some(means[3])
    }
}
