//! How time passes: admission, answers, and the events in between.

use super::space::JOB;
use super::{Device, DeviceError, Pending, ReadGroup};
use crate::config::Replay;
use crate::host::{Op, Request};
use crate::metrics::Latency;
use crate::metrics::observer::{Admission, Answered, Moment};
use crate::support::NONE;
use crate::support::tournament::NEVER;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// Tag of a join of reads; that of a request's writes is the request's number alone.
pub(super) const READS: u32 = 1 << 30;
/// Tag of a join of what leaves the buffer.
pub(super) const FLUSHED: u32 = READS | JOB;
const TAG: u32 = READS | JOB;

/// How long requests took from arrival to answer, sampled evenly over the run in constant memory.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    samples: Vec<u64>,
    /// Requests between two samples, a power of two, less one.
    skip: u64,
    seen: u64,
    /// How long each request waited for its turn.
    waits: Latency,
    /// Arrivals of requests that are under way and wait, since more come before them than a host
    /// keeps under way.
    waiting: VecDeque<u64>,
    /// How long there was one that waited, and up to when that is known.
    behind_ns: u64,
    behind_until: u64,
}

/// A run whose requests spent their time waiting for their turn, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Burst {
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
    fn admitted(&mut self, arrival: u64, now: u64, outstanding: u32) {
        if outstanding > Self::HOST {
            self.waiting.push_back(arrival);
        } else {
            self.waited(arrival, now);
        }
    }

    /// A request that arrived then need not wait any more.
    fn waited(&mut self, arrival: u64, now: u64) {
        self.waits.record(now - arrival);
        self.behind_ns += now.saturating_sub(arrival.max(self.behind_until));
        self.behind_until = now;
    }

    /// If one request in ten waited for its turn behind more requests than a host keeps under way:
    /// with `slots` under way at a time, that takes as many times as long as one takes as the slots
    /// go into those. `response_ns` is the sum of all response times.
    pub(super) fn burst(&self, slots: u32, response_ns: u128) -> Option<Burst> {
        let count = u128::from(self.waits.count());
        if !self.has_enough_samples() || count == 0 {
            return None;
        }
        let served_ns = (response_ns.saturating_sub(self.waits.sum()) / count) as u64;
        let wait_ns = self.waits.summary()?.p90;
        let far =
            wait_ns > served_ns.saturating_mul(Self::FAR.max(u64::from(Self::HOST / slots.max(1))));
        far.then_some(Burst { wait: wait_ns, behind: self.behind_ns })
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
    pub(super) fn has_enough_samples(&self) -> bool {
        self.samples.len() >= 8
    }

    /// If it kept growing, the mean of the last quarter: each quarter of the run took longer than
    /// the one before, and the last one longer than a sixteenth of the run.
    pub(super) fn grew(&self, run_ns: u64) -> Option<u64> {
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

impl Device {
    /// Takes the next request of the workload. Time passes up to its admission.
    ///
    /// # Errors
    /// The request lies beyond the drive, there is no room for it, or the simulation has found
    /// itself wrong.
    pub fn submit(&mut self, request: &Request) -> Result<(), DeviceError> {
        if self.failed || self.worn_out {
            return Err(DeviceError::Failed);
        }
        self.fruitless = 0;
        if self.counters.submitted == 0 && self.buffer.needs_future() {
            return Err(DeviceError::Config(
                "buffer.scheme: it decides by what the host is going to do, and has not been told; it can replay a workload, \
                 not serve a host"
                    .into(),
            ));
        }
        self.check_request(self.counters.submitted, request)?;
        let arrival = match self.config.host.replay {
            Replay::Open if (self.config.host.speedup - 1.0).abs() < f64::EPSILON => {
                request.arrival_ns
            }
            Replay::Open => {
                libm::round(request.arrival_ns as f64 / self.config.host.speedup) as u64
            }
            Replay::Closed | Replay::Untimed => 0,
        };
        if arrival > 1 << 62 {
            return Err(DeviceError::Request {
                number: self.counters.submitted,
                what: format!("{:?} at {} ns", request.op, request.arrival_ns),
                why: format!(
                    "divided by host.speedup ({}) it arrives after more than a century",
                    self.config.host.speedup
                ),
            });
        }
        if self.timed {
            let (first, _) = self.geometry.by_page().split(request.offset);
            // The memory's latency passes while the events before the request are served.
            std::hint::black_box(self.mapping.lookup((first as u32).min(self.logical_pages - 1)));
            // Times run on from what came before the workload; an arrival before the last one
            // counts as simultaneous.
            let arrival = arrival.max(self.last_arrival);
            self.run_until(arrival)?;
            self.engine.advance_to(arrival);
            while self.outstanding >= self.config.host.max_outstanding {
                self.advance()?;
            }
            let arrival =
                if self.config.host.replay == Replay::Closed { self.engine.now() } else { arrival };
            self.last_arrival = arrival;
            let now = self.engine.now();
            if self.first_arrival.is_none() {
                self.first_arrival = Some(arrival);
            }
            self.count_area();
            let id = self.admit(request, arrival, now);
            self.observers.on_admit(&Admission { arrival, now, under_way: self.outstanding });
            self.serve(id, request)?;
            self.finish_issue(id);
        } else {
            self.serve_untimed(request)?;
        }
        self.taken_pages = self.counters.pages_written;
        self.observers.on_serve(&Moment {
            now: self.engine.now(),
            counters: &self.counters,
            responses: &self.latency,
        });
        if self.flash.violation().is_some() || self.engine.stored().is_some() {
            self.check_faults()?;
        }
        Ok(())
    }

    /// A request of an untimed run: it is answered at once, and nobody looks at what it waits for.
    #[inline]
    fn serve_untimed(&mut self, request: &Request) -> Result<(), DeviceError> {
        if let Some(pending) = self.pending.first_mut() {
            pending.bypassed = false;
            self.count_request(request);
        } else {
            let id = self.admit(request, 0, 0);
            debug_assert_eq!(id, 0);
            self.outstanding -= 1;
        }
        self.serve(0, request)?;
        self.counters.completed += 1;
        if let Some(answers) = &mut self.answers {
            answers.push(self.counters.submitted - 1);
        }
        self.observers.on_answer(|| Answered {
            number: self.counters.submitted - 1,
            kind: (request.op as u8).min(2),
            arrival: 0,
            admitted: 0,
            now: 0,
            bypassed: self.pending[0].bypassed,
        });
        Ok(())
    }

    pub(super) fn check_request(&self, number: u64, request: &Request) -> Result<(), DeviceError> {
        let end = request.offset.checked_add(request.len);
        let fits = end.is_some_and(|end| end <= self.exported_bytes());
        let empty = request.len == 0 && request.op != Op::Flush;
        if fits && !empty {
            return Ok(());
        }
        let why = if empty {
            "it asks for no bytes".into()
        } else {
            format!("it ends beyond the drive's {} bytes", self.exported_bytes())
        };
        Err(DeviceError::Request {
            number,
            what: format!("{:?} of {} bytes at {}", request.op, request.len, request.offset),
            why,
        })
    }

    #[inline]
    fn count_request(&mut self, request: &Request) {
        self.counters.submitted += 1;
        self.counters.by_op[request.op as usize] += 1;
        if matches!(request.op, Op::Read | Op::Write) {
            self.counters.bytes += request.len;
        }
    }

    /// A slot for a request that is now under way.
    fn admit(&mut self, request: &Request, arrival: u64, now: u64) -> u32 {
        self.count_request(request);
        self.outstanding += 1;
        if self.timed {
            self.backlog.admitted(arrival, now, self.outstanding);
        }
        let pending = Pending {
            arrival,
            admitted: now,
            number: self.counters.submitted - 1,
            kind: (request.op as u8).min(2),
            conditions: 1,
            reads: NONE,
            writes: NONE,
            bypassed: false,
            ram_ns: 0,
            next: NONE,
        };
        if self.free_pending == NONE {
            self.pending.push(pending);
            return self.pending.len() as u32 - 1;
        }
        let id = self.free_pending;
        self.free_pending = self.pending[id as usize].next;
        self.pending[id as usize] = pending;
        id
    }

    /// All of a request has been issued: what it waits for may end it from now on.
    pub(super) fn finish_issue(&mut self, id: u32) {
        let writes = self.pending[id as usize].writes;
        if writes != NONE {
            self.engine.release(writes);
        }
        if self.engine.has_finished() {
            // Tags of joins that had already ended; jobs are not among them.
            self.collect_finished();
        }
        self.condition_met(id);
    }

    /// One of the things that a request waits for has come.
    pub(super) fn condition_met(&mut self, id: u32) {
        let pending = &mut self.pending[id as usize];
        pending.conditions -= 1;
        if pending.conditions > 0 {
            return;
        }
        if pending.ram_ns > 0 {
            // Everything else is done; the copies in RAM take their time.
            let end = self.engine.now() + std::mem::take(&mut pending.ram_ns);
            pending.conditions = 1;
            return self.timers.push(Reverse((end, id)));
        }
        let Pending { arrival, admitted, number, kind, bypassed, .. } = *pending;
        pending.next = self.free_pending;
        self.free_pending = id;
        self.counters.completed += 1;
        if let Some(answers) = &mut self.answers {
            answers.push(number);
        }
        if self.timed {
            let now = self.engine.now();
            self.count_area();
            self.sum_admitted += u128::from(now - admitted);
            self.latency[kind as usize].record(now - arrival);
            let answered = || Answered { number, kind, arrival, admitted, now, bypassed };
            self.observers.on_answer(answered);
            self.backlog.note(now - arrival);
            if let Some(arrival) = self.backlog.waiting.pop_front() {
                self.backlog.waited(arrival, now);
            }
            self.last_answer = self.last_answer.max(now);
        }
        self.outstanding -= 1;
        self.idle_begins |= self.collects_when_idle && self.outstanding == 0;
    }

    /// Brings the sum of requests under way up to the present.
    fn count_area(&mut self) {
        let now = self.engine.now();
        self.area += u128::from(now - self.area_at) * u128::from(self.outstanding);
        self.area_at = now;
    }

    /// Lets everything happen that happens up to `time`, but for what waits for everything that
    /// comes at `time`.
    fn run_until(&mut self, time: u64) -> Result<(), DeviceError> {
        self.note_idleness()?;
        if self.next_time() == NEVER && !self.parked.is_empty() {
            self.unpark()?;
        }
        while self.next_time() <= time && self.next_time() != NEVER && !self.only_starts_at(time) {
            self.next()?;
            self.note_idleness()?;
            if self.next_time() == NEVER && !self.parked.is_empty() {
                self.unpark()?;
            }
        }
        Ok(())
    }

    #[inline]
    fn only_starts_at(&self, time: u64) -> bool {
        self.engine.only_starts_at(time)
            && self.timers.peek().is_none_or(|Reverse((timer, _))| *timer > time)
    }

    /// Once all requests have been answered, collection may run ahead of need; once nothing at all
    /// is under way, the mapping may do what it has put off.
    #[inline]
    fn note_idleness(&mut self) -> Result<(), DeviceError> {
        if self.idle_begins && self.outstanding == 0 {
            self.use_idle_time();
        }
        let idle = || self.outstanding == 0 && self.jobs == 0 && self.engine.under_way() == 0;
        if self.watched && idle() { self.work_ahead() } else { Ok(()) }
    }

    /// Lets the next thing happen.
    pub(super) fn advance(&mut self) -> Result<(), DeviceError> {
        if self.next_time() == NEVER {
            return self.unstick();
        }
        self.next()
    }

    /// When the next thing happens, or [`NEVER`].
    #[inline]
    pub(super) fn next_time(&self) -> u64 {
        let timer = self.timers.peek().map_or(NEVER, |Reverse((time, _))| *time);
        self.engine.next_event().min(timer)
    }

    /// The next thing happens: flash operations first, among equals.
    #[inline]
    fn next(&mut self) -> Result<(), DeviceError> {
        match self.timers.peek() {
            Some(&Reverse((time, id)))
                if time < self.engine.next_event() || self.engine.only_starts_at(time) =>
            {
                self.timers.pop();
                self.engine.advance_to(time);
                self.condition_met(id);
                Ok(())
            }
            _ => {
                self.engine.step();
                self.after_event()
            }
        }
    }

    #[inline]
    fn after_event(&mut self) -> Result<(), DeviceError> {
        while self.engine.has_finished() {
            self.collect_finished();
            self.start_jobs()?;
            if !self.parked.is_empty() {
                self.place_parked()?;
            }
        }
        self.answer_tickets();
        if let Some(stored) = self.engine.stored() {
            if stored.fault().is_some() {
                self.check_faults()?;
            }
            if self.engine.stored().is_some_and(|s| s.completions() >= self.cut_after) {
                self.failed = true;
                return Err(DeviceError::PowerCut);
            }
        }
        Ok(())
    }

    /// Answers those who wait for slots, in order of arrival, as far as slots are free.
    #[inline]
    pub(super) fn answer_tickets(&mut self) {
        while let Some(&(id, threshold)) = self.tickets.front() {
            if self.engine.freed_slots() < threshold {
                break;
            }
            self.tickets.pop_front();
            self.condition_met(id);
        }
    }

    /// Nothing is under way, but somebody waits: pages may sit in program units that are not full.
    fn unstick(&mut self) -> Result<(), DeviceError> {
        if !self.parked.is_empty() {
            return self.unpark();
        }
        let before = self.counters.programmed;
        self.make_durable(super::NOBODY)?;
        if self.counters.programmed == before && self.engine.next_event() == NEVER {
            self.failed = true;
            return Err(DeviceError::Stuck(format!(
                "{} requests wait and nothing is under way; {} slots taken, {} freed, {}{}",
                self.outstanding,
                self.counters.slots_taken,
                self.engine.freed_slots(),
                self.mapping.space(),
                self.engine.describe()
            )));
        }
        Ok(())
    }

    /// Serves the tags of joins that have ended.
    pub(super) fn collect_finished(&mut self) {
        let mut finished = std::mem::take(&mut self.finished);
        self.engine.take_finished(&mut finished);
        for tag in finished.drain(..) {
            match tag & TAG {
                JOB => self.next_job_step(tag & !TAG),
                READS => self.reads_ended(tag & !TAG),
                FLUSHED => self.timed_eviction_ended(tag & !TAG),
                _ => self.condition_met(tag),
            }
        }
        self.finished = finished;
    }

    /// Some reads of a request have ended: its pages are filled, and those who waited for that go
    /// on.
    fn reads_ended(&mut self, reads: u32) {
        let ReadGroup { request, first, count, waiters: (mut waiter, _), .. } =
            self.reads[reads as usize];
        if !self.filling.is_empty() {
            for lpn in first..first + count {
                if self.filling.get(&lpn) == Some(&reads) {
                    self.filling.remove(&lpn);
                }
            }
        }
        self.reads[reads as usize].next = self.free_reads;
        self.free_reads = reads;
        while waiter != NONE {
            let (id, next) = self.fill_waiters[waiter as usize];
            self.fill_waiters[waiter as usize].1 = self.free_fill_waiter;
            self.free_fill_waiter = waiter;
            self.condition_met(id);
            waiter = next;
        }
        self.condition_met(request);
    }
}
