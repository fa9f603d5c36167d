//! Plain requests: reads and writes of whole pages of one logical block, of which nobody is told.
//!
//! Most of what may come between a request and the flash does not exist for them. What is left of
//! the way through the buffer is this; all others go the way of all ([`Device::serve`]). In a run
//! without time, where a request has been answered once it has been served, many are taken in one
//! call.

use super::serve::Below;
use crate::buffer::{Action, Answer, Eviction, Outcome, Span};
use crate::config::WriteBack;
use crate::device::backend::NOBODY;
use crate::device::{AHEAD, Device, DeviceError};
use crate::ftl::{PageOut, Single, Waiter};
use crate::host::split::Pages;
use crate::host::{Op, Request};
use crate::metrics::observer::Written;
use crate::nand::JoinId;
use crate::support::ids::{Lpn, RequestId};

impl Device {
    /// Takes the next requests of the workload, in order, until one fails; says how many it has
    /// taken, that one among them.
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub fn submit_all(&mut self, requests: &[Request]) -> (usize, Result<(), DeviceError>) {
        let mut taken = 0;
        for ahead in requests.chunks(AHEAD) {
            self.look_ahead(ahead);
            let plain = self.serves_plainly();
            let mut past = self.goes_past(plain);
            if past {
                self.observers.begin_sums();
            }
            for request in ahead {
                taken += 1;
                let single = if past { self.single_page(request) } else { None };
                let served = match single {
                    Some(lpn) if plain => self.do_past(request, lpn),
                    Some(lpn) => {
                        let served = self.submit_past(request, lpn);
                        // Whatever comes after a write that waits for room asks whether it has to
                        // wait, too.
                        past = !self.pipeline.has_parked();
                        served
                    }
                    None => {
                        self.observers.tell_sums();
                        let served = self.submit_next(request, plain);
                        past = past && self.goes_past(plain);
                        served
                    }
                };
                if served.is_err() {
                    self.observers.tell_sums();
                    return (taken, served);
                }
            }
            self.observers.tell_sums();
        }
        (taken, Ok(()))
    }

    /// Takes the next request; `plain`: there is no time, and nobody is told anything.
    #[inline]
    fn submit_next(&mut self, request: &Request, plain: bool) -> Result<(), DeviceError> {
        if plain { self.submit_plainly(request) } else { self.submit(request) }
    }

    /// Whether nobody but the counters sees a request, and it is answered at once: there is neither
    /// time, nor a medium, nor somebody who hears of requests.
    fn serves_plainly(&self) -> bool {
        !(self.backend.is_timed()
            || self.failed
            || self.worn_out
            || self.observers.hear_of_answers()
            || self.backend.flash().violation().is_some()
            || self.requests.keeps_answers()
            || self.backend.counters().submitted == 0)
            && self.is_unwatched()
    }

    /// Whether nobody is told what becomes of a request's pages before it is answered.
    #[inline]
    pub(super) fn is_unwatched(&self) -> bool {
        !(self.observers.hear_of_serving_pages()
            || self.backend.engine().stored().is_some()
            || self.backend.watches_reads()
            || self.pipeline.has_parked())
    }

    /// Serves a request with time, of which `number` have come before it, if it is a plain one.
    #[inline(always)]
    pub(in crate::device) fn serve_timed_plainly(
        &mut self,
        id: RequestId,
        request: &Request,
        number: u64,
    ) -> Result<bool, DeviceError> {
        if !self.is_unwatched() {
            return Ok(false);
        }
        let Some(span) = self.plain_span(request, number) else { return Ok(false) };
        self.pipeline.current.parked_before = self.pipeline.parked.next();
        self.serve_span_plainly(id, &span)?;
        Ok(true)
    }

    fn submit_plainly(&mut self, request: &Request) -> Result<(), DeviceError> {
        match self.plain_span(request, self.backend.counters().submitted) {
            Some(span) if !self.warm_up_ends() => self.serve_plainly(request, span),
            _ => self.submit(request),
        }
    }

    /// The pages of a request that reads or writes whole ones of one logical block. To read a part
    /// of a page is to read it.
    #[inline]
    fn plain_span(&self, request: &Request, number: u64) -> Option<Span> {
        let write = match request.op {
            Op::Read => false,
            Op::Write if !request.fua => true,
            Op::Write | Op::Trim | Op::Flush => return None,
        };
        let by_page = self.geometry.by_page();
        if request.len == self.geometry.page_bytes {
            let (first, before) = by_page.split(request.offset);
            let is_page = before == 0 && first < u64::from(self.logical_pages);
            let span = Span { first: Lpn(first as u32), count: 1, write, request: number };
            return is_page.then_some(span);
        }
        let end = request.offset.checked_add(request.len)?;
        let ((first, before), (end, rest)) = (by_page.split(request.offset), by_page.split(end));
        let after = end + u64::from(rest > 0);
        let whole = (before == 0 && rest == 0) || (!write && request.len > 0);
        if !whole || after <= first || after > u64::from(self.logical_pages) {
            return None;
        }
        let (first, count) = (Lpn(first as u32), (after - first) as u32);
        let place = self.geometry.split_logical(first).1;
        (place + count <= self.geometry.pages_per_block).then_some(Span {
            first,
            count,
            write,
            request: number,
        })
    }

    fn serve_plainly(&mut self, request: &Request, span: Span) -> Result<(), DeviceError> {
        self.backend.note_progress();
        let counters = self.backend.count();
        counters.submitted += 1;
        counters.by_op[request.op as usize] += 1;
        counters.bytes += request.len;
        let id = self.requests.untimed();
        self.serve_span_plainly(id, &span)?;
        self.backend.count().completed += 1;
        self.has_served();
        if self.backend.flash().violation().is_some() { self.check_faults() } else { Ok(()) }
    }

    /// What a plain request does to buffer, FTL and flash.
    #[inline(always)]
    fn serve_span_plainly(&mut self, id: RequestId, span: &Span) -> Result<(), DeviceError> {
        let Span { count, write, request: number, .. } = *span;
        self.pipeline.current.forced = false;
        self.pipeline.current.write = None;
        let counters = self.backend.count();
        if write {
            counters.pages_written += u64::from(count);
            self.pipeline.current.write = Some((number, count));
            self.pipeline.buffer.writes(number, count);
        } else {
            counters.pages_read += u64::from(count);
        }
        let mut out = self.take_outcome();
        self.backend.end_run_of_reads();
        let below = Below::new(&self.backend, &self.geometry, &self.config.nand.timing);
        self.pipeline.buffer.access(span, &below, &mut out);
        // As on the way of all, whoever has asked for it before.
        let due = write && self.backend.may_have_to_collect();
        let result = self.follow_plainly(id, span, &out);
        self.pipeline.made_room |= !out.evictions.is_empty();
        let timed = self.backend.is_timed();
        let (mut takes_in, mut through_ram) = (false, 0);
        for answer in &out.answers {
            takes_in |= matches!(answer, Answer::Insert | Answer::Fill);
            through_ram += u64::from(*answer != Answer::Bypass);
        }
        self.pipeline.out = Some(out);
        let asked = result? | due;
        if timed {
            self.requests.add_ram(id, self.config.nand.timing.ram.0 * through_ram);
            self.close_reads(id);
        }
        if (asked || timed) && (self.backend.has_planned() || self.pipeline.under_way.has_planned())
        {
            self.issue();
        }
        if asked {
            self.start_jobs()?;
        }
        if takes_in {
            if self.pipeline.peak_pages < self.pipeline.capacity {
                self.pipeline.peak_pages = self.pipeline.peak_pages.max(self.pipeline.buffer.len());
            }
            self.wait_for_slots(id);
        }
        Ok(())
    }

    /// Carries out an outcome; whether the FTL has been asked to do something.
    #[inline]
    fn follow_plainly(
        &mut self,
        id: RequestId,
        span: &Span,
        out: &Outcome,
    ) -> Result<bool, DeviceError> {
        let Span { first, count, .. } = *span;
        let pages = Pages { first, count, partial_first: false, partial_last: false };
        if self.geometry.program_pages > 1 && self.config.buffer.write_back == WriteBack::Foreground
        {
            self.follow(id, span, &pages, out)?;
            let read_map = std::mem::take(&mut self.pipeline.current.read_map);
            return Ok(span.write || !out.evictions.is_empty() || read_map);
        }
        if let (&[answer], []) = (&out.answers[..], &out.evictions[..]) {
            if span.write && answer == Answer::Bypass {
                return self.write_past(id, span, out).map(|()| true);
            }
            self.answer_page(id, span, first, answer, &pages);
            return Ok(std::mem::take(&mut self.pipeline.current.read_map));
        }
        let bypassed = self.backend.counters().bypassed_writes;
        let mut asked = false;
        let mut evictions = out.evictions.iter().peekable();
        for (at, &answer) in (0..).zip(&out.answers) {
            while let Some(eviction) = evictions.next_if(|one| one.before <= at) {
                asked |= self.evict_plainly(id, eviction, out)?;
            }
            self.answer_page(id, span, first + at, answer, &pages);
        }
        for eviction in evictions {
            asked |= self.evict_plainly(id, eviction, out)?;
        }
        if self.backend.counters().bypassed_writes > bypassed {
            self.write_bypassed(id, span, out)?;
            asked = true;
        }
        // To read the map a mapping may have had to write a part of it.
        Ok(asked | std::mem::take(&mut self.pipeline.current.read_map))
    }

    /// One page is written past the buffer.
    #[inline]
    fn write_past(&mut self, id: RequestId, span: &Span, out: &Outcome) -> Result<(), DeviceError> {
        self.backend.count().bypassed_writes += 1;
        if !self.backend.begins_at_once(&self.observers) || self.pipeline.awaits_fills() {
            return self.write_bypassed(id, span, out);
        }
        // As all pages that bypass the buffer: one program, for which the request waits itself.
        self.backend.begin_group(span.request << 1);
        self.pipeline.current.late_hint = None;
        self.observers.on_write(&Written { pages: 1, with_padding: 1, bypassed: true });
        let own = self.waiter_of(id);
        self.requests.bypass(id);
        self.write_one(own, PageOut::host(span.first))
    }

    /// One page is written, by a program that begins at once.
    #[inline]
    fn write_one(&mut self, own: Waiter, page: PageOut) -> Result<(), DeviceError> {
        let taken = self.backend.write_at_once(own, page);
        if taken.is_taken() {
            return Ok(());
        }
        self.pipeline.batch.clear();
        self.pipeline.batch.push(page);
        if taken == Single::NotAlone {
            self.write_batch(own, JoinId::NONE)
        } else {
            self.write_rest(0, own, JoinId::NONE)
        }
    }

    /// Does what the buffer says of pages that leave it; whether the FTL has been asked to do
    /// something.
    #[inline]
    fn evict_plainly(
        &mut self,
        id: RequestId,
        eviction: &Eviction,
        out: &Outcome,
    ) -> Result<bool, DeviceError> {
        let told = eviction.hint.is_some() || self.observers.hear_of_evictions();
        let waits =
            self.backend.is_timed() && self.config.buffer.write_back == WriteBack::Foreground;
        match (eviction.action, out.pages_of(eviction)) {
            (Action::Drop, _) if !told => Ok(self.backend.may_have_to_collect()),
            (Action::Evict, &[page]) if !told && !waits => {
                self.pipeline.current.late_hint = None;
                self.backend.count().flushed_pages += 1;
                let group = self.pipeline.next_eviction();
                self.backend.begin_group(group);
                let fills = self.join_of_fills(std::iter::once(page.lpn));
                let page = PageOut { slot: true, ..PageOut::host(page.lpn) };
                let arrival = self.requests.arrival(id);
                let (own, join) = self.begin_timed_eviction(NOBODY, Some(arrival), true);
                // What a longer span does to a page may depend on what is planned for another.
                let alone = out.answers.len() == 1 && fills.is_none();
                if alone
                    && !self.pipeline.has_parked()
                    && self.backend.begins_at_once(&self.observers)
                {
                    self.write_one(own, page)?;
                } else {
                    self.pipeline.batch.clear();
                    self.pipeline.batch.push(page);
                    self.write_after(own, fills, JoinId::NONE)?;
                }
                self.end_timed_eviction(join);
                self.observers.on_write(&Written { pages: 1, with_padding: 1, bypassed: false });
                Ok(true)
            }
            _ => self.apply_eviction(id, eviction, out).map(|()| true),
        }
    }
}
