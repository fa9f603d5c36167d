//! How time passes: admission, answers, and the events in between.

use super::backend::{NOBODY, Tag};
use super::{Device, DeviceError};
use crate::config::Replay;
use crate::host::{Op, Request};
use crate::metrics::observer::{Admission, Answered, Awaited, Moment, Progress};
use crate::nand::Path;
use crate::support::clocks::NEVER;
use crate::support::ids::{Lpn, RequestId};

/// Requests that are worth being looked at before they come.
pub const AHEAD: usize = 32;

impl Device {
    /// Tells which requests come next, at most [`AHEAD`]: what buffer and FTL know of their pages
    /// is read from memory meanwhile. Changes nothing.
    pub fn look_ahead(&self, requests: &[Request]) {
        let mut pages = [Lpn(0); AHEAD];
        let mut count = 0;
        for request in requests.iter().take(AHEAD) {
            let (first, _) = self.geometry.by_page().split(request.offset);
            if matches!(request.op, Op::Read | Op::Write) && first < u64::from(self.logical_pages) {
                pages[count] = Lpn(first as u32);
                count += 1;
            }
        }
        self.pipeline.buffer().fetch(&pages[..count]);
        self.backend.mapping().fetch(&pages[..count]);
        if self.pipeline.has_parked() {
            let parked = |all, &lpn| all ^ self.pipeline.is_parked(lpn);
            std::hint::black_box(pages[..count].iter().fold(false, parked));
        }
    }

    /// Takes the next request of the workload. Time passes up to its admission.
    ///
    /// # Errors
    /// The request lies beyond the drive, there is no room for it, or the simulation has found
    /// itself wrong.
    pub fn submit(&mut self, request: &Request) -> Result<(), DeviceError> {
        if self.failed || self.worn_out {
            return Err(DeviceError::Failed);
        }
        self.backend.note_progress();
        if self.backend.counters().submitted == 0 && self.pipeline.buffer().needs_future() {
            return Err(DeviceError::Config(
                "buffer.scheme: it decides by what the host is going to do, and has not been told; \
                 it can replay a workload, not serve a host"
                    .into(),
            ));
        }
        self.check_request(self.backend.counters().submitted, request)?;
        if self.warm_up_ends() {
            self.begin_measuring();
        }
        let arrival = self.arrival_of(request)?;
        if self.backend.is_timed() {
            let id = self.admit_in_turn(request, arrival)?;
            let number = self.backend.counters().submitted - 1;
            if !self.serve_timed_plainly(id, request, number)? {
                self.serve(id, request)?;
            }
            self.finish_issue(id);
        } else {
            self.serve_untimed(request)?;
        }
        self.has_served();
        if self.backend.flash().violation().is_some() || self.backend.engine().stored().is_some() {
            self.check_faults()?;
        }
        Ok(())
    }

    /// When a request comes.
    #[inline(always)]
    pub(super) fn arrival_of(&self, request: &Request) -> Result<u64, DeviceError> {
        let host = &self.config.host;
        if host.replay != Replay::Open {
            return Ok(0);
        }
        let arrival = if (host.speedup - 1.0).abs() < f64::EPSILON {
            request.arrival_ns
        } else {
            libm::round(request.arrival_ns as f64 / host.speedup) as u64
        };
        if arrival > 1 << 62 { Err(self.comes_too_late(request)) } else { Ok(arrival) }
    }

    #[cold]
    fn comes_too_late(&self, request: &Request) -> DeviceError {
        DeviceError::Request {
            number: self.backend.counters().submitted,
            what: format!("{:?} at {} ns", request.op, request.arrival_ns),
            why: format!(
                "divided by host.speedup ({}) it arrives after more than a century",
                self.config.host.speedup
            ),
        }
    }

    /// Lets time pass until it is the turn of a request that comes at `arrival`, which is under way
    /// then.
    #[inline]
    fn admit_in_turn(&mut self, request: &Request, arrival: u64) -> Result<RequestId, DeviceError> {
        let (admission, id) = self.enter_in_turn(request, arrival)?;
        self.observers.on_admit(&admission);
        Ok(id)
    }

    /// The same, but for telling anybody.
    #[inline(always)]
    pub(super) fn enter_in_turn(
        &mut self,
        request: &Request,
        arrival: u64,
    ) -> Result<(Admission, RequestId), DeviceError> {
        let arrival = self.wait_in_turn(request, arrival)?;
        Ok(self.admit(request, arrival))
    }

    /// Lets time pass until it is the turn of a request that comes at `arrival`, and says when it
    /// has come.
    #[inline(always)]
    pub(super) fn wait_in_turn(
        &mut self,
        request: &Request,
        arrival: u64,
    ) -> Result<u64, DeviceError> {
        // Times run on from what came before the workload; an arrival before the last one counts as
        // simultaneous.
        let arrival = arrival.max(self.requests.last_arrival());
        if !std::mem::take(&mut self.way_is_made)
            && let Err(error) = self.wait_for_turn(arrival)
        {
            return Err(self.admit_at_end(request, arrival, error));
        }
        let closed = self.config.host.replay == Replay::Closed;
        Ok(if closed { self.backend.engine().now() } else { arrival })
    }

    /// A request has been served: something has happened, and whoever hears of that is told.
    #[inline(always)]
    pub(super) fn has_served(&mut self) {
        self.idleness_noted = false;
        self.taken_pages = self.backend.counters().pages_written;
        if self.observers.hear_of_serving(self.backend.counters().submitted) {
            self.tell_of_serving();
        }
    }

    #[inline(never)]
    fn tell_of_serving(&mut self) {
        self.observers.on_serve(&Moment {
            now: self.backend.engine().now(),
            counters: self.backend.counters(),
            before: self.warmed_up.counters(),
            responses: self.requests.responses(),
            bypassed: self.requests.bypassed(),
            worn_out: self.worn_out,
        });
    }

    /// Lets time pass until a request that comes at `arrival` can be admitted.
    #[inline(always)]
    pub(super) fn wait_for_turn(&mut self, arrival: u64) -> Result<(), DeviceError> {
        if !self.nothing_ends_by(arrival) {
            self.run_until(arrival)?;
        }
        self.backend.advance_to(arrival);
        let most = self.config.host.max_outstanding;
        if self.requests.under_way() < most { Ok(()) } else { self.wait_for_place(most) }
    }

    /// Lets time pass until fewer requests than that are under way.
    #[inline(never)]
    fn wait_for_place(&mut self, most: u32) -> Result<(), DeviceError> {
        self.run_plainly(NEVER, most)?;
        while self.requests.under_way() >= most {
            self.advance()?;
        }
        Ok(())
    }

    /// Whether nothing happens up to `time` but that it passes, while operations are under way.
    #[inline]
    fn nothing_ends_by(&self, time: u64) -> bool {
        let next = self.backend.engine().next_event();
        next > time && next != NEVER && self.only_ends_follow()
    }

    /// Whether nothing can happen next but that flash operations end, on which nobody but requests
    /// and collection waits.
    #[inline]
    fn only_ends_follow(&self) -> bool {
        self.ends_plainly && !self.pipeline.has_parked() && self.requests.next_timer() == NEVER
    }

    /// Time could not pass until a request's turn.
    #[cold]
    fn admit_at_end(&mut self, request: &Request, arrival: u64, error: DeviceError) -> DeviceError {
        if matches!(error, DeviceError::EndOfLife { .. }) {
            // It has come, and will not be answered.
            let (admission, _) = self.admit(request, arrival.min(self.backend.engine().now()));
            self.observers.on_admit(&admission);
        }
        error
    }

    /// A request is under way from now on.
    #[inline(always)]
    pub(super) fn admit(&mut self, request: &Request, arrival: u64) -> (Admission, RequestId) {
        self.requests.arrives(arrival);
        let now = self.backend.engine().now();
        self.count_request(request);
        let (number, kind) = (self.backend.counters().submitted - 1, (request.op as u8).min(2));
        let id = self.requests.admit(number, kind, arrival, now);
        (Admission { arrival, now, under_way: self.requests.under_way() }, id)
    }

    /// A request of an untimed run: it is answered at once, and nobody looks at what it waits for.
    #[inline]
    fn serve_untimed(&mut self, request: &Request) -> Result<(), DeviceError> {
        self.count_request(request);
        let id = self.requests.untimed();
        self.serve(id, request)?;
        self.backend.count().completed += 1;
        self.requests.note_answer(self.backend.counters().submitted - 1);
        self.observers.on_answer(true, || Answered {
            number: self.backend.counters().submitted - 1,
            kind: (request.op as u8).min(2),
            arrival: 0,
            admitted: 0,
            now: 0,
            bypassed: self.requests.has_bypassed(id),
        });
        Ok(())
    }

    #[inline]
    pub(super) fn check_request(&self, number: u64, request: &Request) -> Result<(), DeviceError> {
        let end = request.offset.checked_add(request.len);
        let fits = end.is_some_and(|end| end <= self.exported_bytes());
        let empty = request.len == 0 && request.op != Op::Flush;
        if fits && !empty { Ok(()) } else { Err(self.refusal(number, request, empty)) }
    }

    #[cold]
    fn refusal(&self, number: u64, request: &Request, empty: bool) -> DeviceError {
        let why = if empty {
            "it asks for no bytes".into()
        } else {
            format!("it ends beyond the drive's {} bytes", self.exported_bytes())
        };
        DeviceError::Request {
            number,
            what: format!("{:?} of {} bytes at {}", request.op, request.len, request.offset),
            why,
        }
    }

    #[inline]
    pub(super) fn count_request(&mut self, request: &Request) {
        self.backend.count().submitted += 1;
        self.backend.count().by_op[request.op as usize] += 1;
        if matches!(request.op, Op::Read | Op::Write) {
            self.backend.count().bytes += request.len;
        }
    }

    /// All of a request has been issued: what it waits for may end it from now on.
    pub(super) fn finish_issue(&mut self, id: RequestId) {
        let writes = self.requests.writes(id);
        if !writes.is_none() {
            self.backend.release(writes);
        }
        if self.backend.engine().has_finished() {
            // Tags of joins that had already ended; jobs are not among them.
            self.collect_finished();
        }
        self.progress(id, Awaited::Issue, None);
    }

    /// One of the things that a request waits for has come, in this way.
    #[inline]
    pub(super) fn progress(&mut self, id: RequestId, awaited: Awaited, path: Option<&Path>) {
        if self.backend.is_timed() && self.observers.follow_progress() {
            self.tell_progress(id, awaited, path);
        }
        self.condition_met(id);
    }

    #[cold]
    fn tell_progress(&mut self, id: RequestId, awaited: Awaited, path: Option<&Path>) {
        let (number, now) = (self.requests.number(id), self.backend.engine().now());
        let measured = self.requests.is_measured(number);
        self.observers.on_progress(measured, &Progress { number, now, awaited, path });
    }

    /// The same, of copies in RAM, too.
    #[inline]
    pub(super) fn condition_met(&mut self, id: RequestId) {
        self.meet(id);
    }

    /// The same, without a call.
    #[inline(always)]
    fn meet(&mut self, id: RequestId) {
        if self.requests.condition_met(id) {
            self.answer(id);
        }
    }

    /// All that a request waits for has come.
    #[inline(always)]
    fn answer(&mut self, id: RequestId) {
        let Some(answered) = self.requests.answer(id, self.backend.engine().now()) else {
            return;
        };
        let measured = self.has_answered(answered.number);
        if self.backend.is_timed() {
            self.observers.on_answer(measured, || answered);
        }
    }

    /// A request is answered; whether it is measured.
    #[inline(always)]
    pub(super) fn has_answered(&mut self, number: u64) -> bool {
        self.backend.count().completed += 1;
        let measured = self.requests.is_measured(number);
        if !measured {
            self.warmed_up.note_answer();
        }
        if self.requests.under_way() == 0 {
            self.backend.may_begin_idle();
        }
        measured
    }

    /// Lets everything happen that happens up to `time`, but for what waits for everything that
    /// comes at `time`.
    pub(super) fn run_until(&mut self, time: u64) -> Result<(), DeviceError> {
        if self.run_plainly(time, 0)? {
            return Ok(());
        }
        while self.step_until(time)? {}
        Ok(())
    }

    /// The same as long as nothing happens but that flash operations end, on which nobody but
    /// requests and collection waits, and `enough` requests or more are under way. Whether that was
    /// all up to `time`.
    #[inline(never)]
    fn run_plainly(&mut self, time: u64, enough: u32) -> Result<bool, DeviceError> {
        while self.requests.under_way() >= enough && self.only_ends_follow() {
            let next = self.backend.engine().next_event();
            if next > time || next == NEVER {
                return Ok(next != NEVER);
            }
            match self.backend.run(time, self.requests.next_ticket()) {
                Some(Tag::Request(id)) if !self.observers.follow_progress() => self.meet(id),
                Some(tag) if self.collect_one(tag, None) => self.start_jobs()?,
                _ => {}
            }
            if self.backend.engine().has_finished()
                || self.requests.next_ticket() <= self.backend.engine().freed_slots()
            {
                self.after_end()?;
            }
        }
        Ok(false)
    }

    /// More than one has been told of the end of an operation, or somebody waits for slots.
    #[inline(never)]
    fn after_end(&mut self) -> Result<(), DeviceError> {
        self.after_event()
    }

    /// The next of these things happens, if there is one.
    pub(super) fn step_until(&mut self, time: u64) -> Result<bool, DeviceError> {
        // A request that comes at this very moment leaves no idle time.
        if self.backend.begins_idle()
            && self.requests.under_way() == 0
            && time > self.backend.engine().now()
        {
            self.backend.use_idle_time(&mut self.observers);
        }
        // Once for all that has happened: how often somebody looks changes nothing.
        if !std::mem::replace(&mut self.idleness_noted, true) {
            self.note_idleness()?;
        }
        // What was begun after the last event may have made room, or have ended. Nobody waits for
        // the next event to go on: how many there are depends on how closely flash is followed.
        if self.goes_on_at_once() {
            return self.go_on_at_once().map(|()| true);
        }
        let mut next = self.next_time();
        if next == NEVER
            && (self.pipeline.has_parked()
                || (self.requests.under_way() > 0 && self.backend.engine().now() < time))
        {
            self.unstick()?;
            if self.goes_on_at_once() {
                return self.go_on_at_once().map(|()| true);
            }
            next = self.next_time();
        }
        if next > time || next == NEVER || self.only_starts_at(time) {
            return Ok(false);
        }
        self.next()?;
        Ok(true)
    }

    #[inline]
    fn only_starts_at(&self, time: u64) -> bool {
        self.backend.engine().only_starts_at(time) && self.requests.next_timer() > time
    }

    /// Once nothing at all is under way, the mapping may do what it has put off.
    #[inline]
    fn note_idleness(&mut self) -> Result<(), DeviceError> {
        let idle = || {
            self.requests.under_way() == 0
                && !self.pipeline.has_parked()
                && !self.backend.is_collecting()
                && self.backend.engine().under_way() == 0
        };
        if self.backend.watches_reads() && idle() { self.work_ahead() } else { Ok(()) }
    }

    /// Lets the next thing happen. Where something goes on at once, time does not pass: whoever
    /// waits for just that looks again first.
    pub(super) fn advance(&mut self) -> Result<(), DeviceError> {
        if self.goes_on_at_once() {
            return self.go_on_at_once();
        }
        if self.next_time() == NEVER {
            return self.unstick();
        }
        self.next()
    }

    /// When the next thing happens, or [`NEVER`].
    #[inline]
    pub(super) fn next_time(&self) -> u64 {
        let timer = self.requests.next_timer();
        self.backend.engine().next_event().min(timer)
    }

    /// The next thing happens: flash operations first, among equals.
    #[inline]
    fn next(&mut self) -> Result<(), DeviceError> {
        self.idleness_noted = false;
        let time = self.requests.next_timer();
        if time != NEVER
            && (time < self.backend.engine().next_event()
                || self.backend.engine().only_starts_at(time))
        {
            if let Some((time, id)) = self.requests.take_timer() {
                self.backend.advance_to(time);
                self.condition_met(id);
            }
            return Ok(());
        }
        self.backend.step();
        self.after_event()
    }

    /// Whether something goes on before time passes: parked writes for which there may be room, or
    /// whoever waits for a join that has ended meanwhile.
    #[inline]
    fn goes_on_at_once(&self) -> bool {
        self.may_place_parked() || self.backend.engine().has_finished()
    }

    #[cold]
    fn go_on_at_once(&mut self) -> Result<(), DeviceError> {
        // Whoever is told may have been the last one under way.
        self.idleness_noted = false;
        self.serve_finished()
    }

    /// Serves those whose joins have ended, and writes what is parked, until neither leads on.
    #[inline(always)]
    fn serve_finished(&mut self) -> Result<(), DeviceError> {
        loop {
            // What has ended changes nothing about which units ask to be collected, but for
            // collection itself.
            if self.backend.engine().has_finished()
                && (self.collect_finished() || self.backend.collects_at_once())
            {
                self.start_jobs()?;
            }
            // The end of an erase need not be anybody's to be told of.
            self.place_parked()?;
            if !self.backend.engine().has_finished() {
                return Ok(());
            }
        }
    }

    #[inline(always)]
    fn after_event(&mut self) -> Result<(), DeviceError> {
        self.serve_finished()?;
        self.answer_tickets();
        if let Some(stored) = self.backend.engine().stored() {
            if stored.fault().is_some() {
                self.check_faults()?;
            }
            if self.backend.engine().stored().is_some_and(|s| s.completions() >= self.cut_after) {
                return self.power_fails();
            }
        }
        Ok(())
    }

    /// Answers those who wait for slots, in order of arrival, as far as slots are free.
    #[inline]
    pub(super) fn answer_tickets(&mut self) {
        while let Some(id) = self.requests.take_ticket(self.backend.engine().freed_slots()) {
            if self.backend.engine().watches_paths() {
                let path = self.backend.engine().path_of_slots().cloned();
                self.progress(id, Awaited::Slots, path.as_ref());
            } else {
                self.condition_met(id);
            }
        }
    }

    /// Nothing is under way, but somebody waits: pages may sit in program units that are not full.
    fn unstick(&mut self) -> Result<(), DeviceError> {
        if self.pipeline.has_parked() {
            return self.unpark();
        }
        let before = self.backend.counters().programmed;
        self.make_durable(NOBODY)?;
        if self.backend.counters().programmed == before
            && self.backend.engine().next_event() == NEVER
        {
            self.failed = true;
            return Err(DeviceError::Stuck(format!(
                "{} requests wait and nothing is under way; {} slots taken, {} freed, {}{}",
                self.requests.under_way(),
                self.backend.counters().slots_taken,
                self.backend.engine().freed_slots(),
                self.backend.mapping().space(),
                self.backend.engine().describe()
            )));
        }
        Ok(())
    }

    /// Serves the tags of joins that have ended; whether collection is among them.
    pub(super) fn collect_finished(&mut self) -> bool {
        if !self.backend.engine().watches_paths()
            && let Some(tag) = self.backend.take_only_finished()
        {
            return self.collect_one(Tag::of(tag), None);
        }
        let mut collected = false;
        let mut finished = std::mem::take(&mut self.finished);
        self.backend.take_finished(&mut finished);
        if self.backend.engine().watches_paths() {
            let paths = self.backend.take_paths();
            debug_assert_eq!(paths.len(), finished.len(), "a path for each tag");
            for (&tag, path) in finished.iter().zip(&paths) {
                collected |= self.collect_one(Tag::of(tag), Some(path));
            }
        } else {
            for &tag in &finished {
                collected |= self.collect_one(Tag::of(tag), None);
            }
        }
        finished.clear();
        self.finished = finished;
        collected
    }

    /// The same of one tag, and how its end came about.
    #[inline(always)]
    fn collect_one(&mut self, tag: Tag, path: Option<&Path>) -> bool {
        match tag {
            Tag::Job(unit) => {
                let busy = self.requests.under_way() > 0;
                self.backend.next_job_step(unit, busy, &mut self.observers);
                return true;
            }
            Tag::Reads(group) => self.reads_ended(group, path),
            Tag::Eviction(place) => self.timed_eviction_ended(place),
            Tag::Request(id) => self.progress(id, Awaited::Writes, path),
        }
        false
    }
}
