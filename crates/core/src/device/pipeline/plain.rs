//! Plain requests: reads and writes of whole pages of one logical block, of which nobody is told.
//!
//! Most of what may come between a request and the flash does not exist for them. What is left of
//! the way through the buffer is this; all others go the way of all ([`Device::serve`]). In a run
//! without time, where a request has been answered once it has been served, many are taken in one
//! call.

use super::serve::Below;
use crate::buffer::{Action, Answer, Eviction, Outcome, Span};
use crate::config::{PartialPage, WriteBack};
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
            self.observers.begin_sums();
            let plain = self.serves_plainly();
            let served = if self.goes_past(plain) {
                self.submit_few_past(ahead, plain, &mut taken)
            } else if plain {
                self.submit_few_plainly(ahead, &mut taken)
            } else {
                self.submit_few(ahead, &mut taken)
            };
            self.observers.end_sums();
            if served.is_err() {
                return (taken, served);
            }
        }
        (taken, Ok(()))
    }

    /// Takes the next few requests, of which the first goes past a buffer that takes in nothing.
    #[inline]
    fn submit_few_past(
        &mut self,
        few: &[Request],
        plain: bool,
        taken: &mut usize,
    ) -> Result<(), DeviceError> {
        let mut past = true;
        for request in few {
            *taken += 1;
            let single = if past { self.single_page(request) } else { None };
            match single {
                Some(lpn) if plain => self.do_past(request, lpn)?,
                Some(lpn) => {
                    self.submit_past(request, lpn)?;
                    // Whatever comes after a write that waits for room asks whether it has to wait,
                    // too.
                    past = !self.pipeline.has_parked();
                }
                None => {
                    self.observers.tell_sums();
                    if plain {
                        self.submit_plainly(request)?;
                    } else {
                        self.submit(request)?;
                    }
                    past = past && self.goes_past(plain);
                }
            }
        }
        Ok(())
    }

    /// Takes the next few requests, which take time or are told of.
    #[inline]
    fn submit_few(&mut self, few: &[Request], taken: &mut usize) -> Result<(), DeviceError> {
        let mut through = self.goes_through();
        for request in few {
            *taken += 1;
            let number = self.backend.counters().submitted;
            let plain = if through { self.plain_span(request, number) } else { None };
            match plain {
                Some(span) if !self.warm_up_ends() => {
                    self.submit_through(request, &span)?;
                    through = !self.pipeline.has_parked();
                }
                _ => {
                    self.observers.tell_sums();
                    self.submit(request)?;
                    through = self.goes_through();
                }
            }
        }
        Ok(())
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

    pub(super) fn submit_plainly(&mut self, request: &Request) -> Result<(), DeviceError> {
        match self.plain_span(request, self.backend.counters().submitted) {
            Some(span) if !self.warm_up_ends() => self.serve_plainly(request, span),
            _ => self.submit(request),
        }
    }

    /// The pages of a request that reads or writes whole ones of one logical block. To read a part
    /// of a page is to read it; to write one, where requests are rounded to whole pages.
    #[inline]
    pub(super) fn plain_span(&self, request: &Request, number: u64) -> Option<Span> {
        let (first, count) = self.plain_pages(request)?;
        Some(Span { first, count, write: request.op == Op::Write, request: number })
    }

    /// The first of these pages, and how many there are.
    #[inline(always)]
    pub(super) fn plain_pages(&self, request: &Request) -> Option<(Lpn, u32)> {
        let write = match request.op {
            Op::Read => false,
            Op::Write if !request.fua => true,
            Op::Write | Op::Trim | Op::Flush => return None,
        };
        let by_page = self.geometry.by_page();
        if request.len == self.geometry.page_bytes {
            let (first, before) = by_page.split(request.offset);
            let is_page = before == 0 && first < u64::from(self.logical_pages);
            if is_page {
                return Some((Lpn(first as u32), 1));
            }
        }
        self.some_plain_pages(request, write)
    }

    fn some_plain_pages(&self, request: &Request, write: bool) -> Option<(Lpn, u32)> {
        let by_page = self.geometry.by_page();
        let end = request.offset.checked_add(request.len)?;
        let ((first, before), (end, rest)) = (by_page.split(request.offset), by_page.split(end));
        let after = end + u64::from(rest > 0);
        let rounds = || !write || self.config.host.partial_page == PartialPage::Round;
        let whole = (before == 0 && rest == 0) || (request.len > 0 && rounds());
        if !whole || after <= first || after > u64::from(self.logical_pages) {
            return None;
        }
        let (first, count) = (Lpn(first as u32), (after - first) as u32);
        let place = self.geometry.split_logical(first).1;
        (place + count <= self.geometry.pages_per_block).then_some((first, count))
    }

    pub(super) fn serve_plainly(
        &mut self,
        request: &Request,
        span: Span,
    ) -> Result<(), DeviceError> {
        self.backend.note_progress();
        self.count_request(request);
        let id = self.requests.untimed();
        self.serve_span_plainly(id, &span)?;
        self.backend.count().completed += 1;
        self.has_served();
        if self.backend.flash().violation().is_some() { self.check_faults() } else { Ok(()) }
    }

    /// What a plain request does to buffer, FTL and flash.
    #[inline(always)]
    fn serve_span_plainly(&mut self, id: RequestId, span: &Span) -> Result<(), DeviceError> {
        self.count_pages(span);
        let out = self.ask_buffer(span);
        self.follow_span(id, span, out)
    }

    /// Counts the pages of a plain request.
    #[inline(always)]
    pub(super) fn count_pages(&mut self, span: &Span) {
        let counters = self.backend.count();
        let counted =
            if span.write { &mut counters.pages_written } else { &mut counters.pages_read };
        *counted += u64::from(span.count);
    }

    /// What the buffer says of the pages of a plain request; to be put back when it has been
    /// followed.
    #[inline(always)]
    #[expect(clippy::unnecessary_box_returns, reason = "the box is what is put back")]
    pub(super) fn ask_buffer(&mut self, span: &Span) -> Box<Outcome> {
        let mut out = self.take_outcome();
        self.backend.end_run_of_reads();
        if span.write {
            self.pipeline.buffer.writes(span.request, span.count);
        }
        let below = Below::new(&self.backend, &self.geometry, &self.config.nand.timing);
        self.pipeline.buffer.access(span, &below, &mut out);
        out
    }

    /// What follows from that.
    #[inline(always)]
    pub(super) fn follow_span(
        &mut self,
        id: RequestId,
        span: &Span,
        out: Box<Outcome>,
    ) -> Result<(), DeviceError> {
        self.pipeline.current.forced = false;
        self.pipeline.current.write = span.write.then_some((span.request, span.count));
        // As on the way of all, whoever has asked for it before.
        let due = span.write && self.backend.may_have_to_collect();
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
            self.note_peak();
            self.wait_for_slots(id);
        }
        Ok(())
    }

    /// The buffer has taken in pages.
    #[inline]
    pub(super) fn note_peak(&mut self) {
        if self.pipeline.peak_pages < self.pipeline.capacity {
            self.pipeline.peak_pages = self.pipeline.peak_pages.max(self.pipeline.buffer.len());
        }
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
        let told = self.observers.hear_of_evictions();
        let is_forgotten = |one: &Eviction| one.action == Action::Drop && one.hint.is_none();
        if let &[answer] = &out.answers[..]
            && (out.evictions.is_empty() || (!told && out.evictions.iter().all(is_forgotten)))
        {
            if span.write && answer == Answer::Bypass {
                return self.write_past(id, span, out);
            }
            let due = !out.evictions.is_empty() && self.backend.may_have_to_collect();
            self.answer_page(id, span, first, answer, &pages);
            return Ok(due | std::mem::take(&mut self.pipeline.current.read_map));
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
    fn write_past(
        &mut self,
        id: RequestId,
        span: &Span,
        out: &Outcome,
    ) -> Result<bool, DeviceError> {
        self.backend.count().bypassed_writes += 1;
        if !self.backend.begins_at_once(&self.observers) || self.pipeline.awaits_fills() {
            return self.write_bypassed(id, span, out).map(|()| true);
        }
        // As all pages that bypass the buffer: one program, for which the request waits itself.
        self.backend.begin_group(span.request << 1);
        self.pipeline.current.late_hint = None;
        self.observers.on_write(&Written { pages: 1, with_padding: 1, bypassed: true });
        let own = self.waiter_of(id);
        self.requests.bypass(id);
        self.write_one(own, PageOut::host(span.first))
    }

    /// One page is written, by a program that begins at once; whether a unit may ask to be collected.
    #[inline]
    fn write_one(&mut self, own: Waiter, page: PageOut) -> Result<bool, DeviceError> {
        let taken = self.backend.write_at_once(own, page);
        if taken.is_taken() {
            return Ok(taken != Single::Taken || self.backend.collects_at_once());
        }
        self.pipeline.batch.clear();
        self.pipeline.batch.push(page);
        if taken != Single::NotAlone {
            if self.backend.is_timed() {
                return self.write_rest(0, own, JoinId::NONE).map(|()| true);
            }
            self.make_room()?;
        }
        self.write_batch(own, JoinId::NONE).map(|()| true)
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
                let (own, join) = self.begin_timed_eviction(NOBODY, Some(id), true);
                // What a longer span does to a page may depend on what is planned for another.
                let alone = out.answers.len() == 1 && fills.is_none();
                let mut asks = true;
                if alone
                    && !self.pipeline.has_parked()
                    && self.backend.needs_no_plan(&self.observers)
                {
                    asks = self.write_one(own, page)?;
                } else {
                    self.pipeline.batch.clear();
                    self.pipeline.batch.push(page);
                    self.write_after(own, fills, JoinId::NONE)?;
                }
                self.end_timed_eviction(join);
                self.observers.note_evicted();
                Ok(asks)
            }
            _ => self.apply_eviction(id, eviction, out).map(|()| true),
        }
    }
}
