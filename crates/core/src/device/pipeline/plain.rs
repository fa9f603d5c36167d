//! Requests of a run without time, many in one call.
//!
//! There a request has been answered once it has been served, and most of what may come between the
//! two does not exist. What is left of the way through the buffer is this, for a read or write of
//! whole pages of one logical block of which nobody is told; all others go the way of all
//! ([`Device::submit`]).

use super::serve::Below;
use crate::buffer::{Action, Answer, Eviction, Outcome, Span};
use crate::config::WriteBack;
use crate::device::backend::NOBODY;
use crate::device::{AHEAD, Device, DeviceError};
use crate::ftl::PageOut;
use crate::host::split::Pages;
use crate::host::{Op, Request};
use crate::metrics::observer::{Moment, Written};
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
            for request in ahead {
                taken += 1;
                let served =
                    if plain { self.submit_plainly(request) } else { self.submit(request) };
                if served.is_err() {
                    return (taken, served);
                }
            }
        }
        (taken, Ok(()))
    }

    /// Whether nobody but the counters sees a request: there is neither time, nor a medium, nor
    /// somebody who hears of requests.
    fn serves_plainly(&self) -> bool {
        !(self.backend.is_timed()
            || self.failed
            || self.worn_out
            || self.observers.hear_of_requests()
            || self.backend.engine().stored().is_some()
            || self.backend.flash().violation().is_some()
            || self.backend.watches_reads()
            || self.requests.keeps_answers()
            || self.pipeline.has_parked()
            || self.backend.counters().submitted == 0)
    }

    fn submit_plainly(&mut self, request: &Request) -> Result<(), DeviceError> {
        match self.plain_span(request) {
            Some(span) if !self.warm_up_ends() => self.serve_plainly(request, span),
            _ => self.submit(request),
        }
    }

    /// The pages of a request that reads or writes whole ones of one logical block. To read a part of
    /// a page is to read it.
    #[inline]
    fn plain_span(&self, request: &Request) -> Option<Span> {
        let write = match request.op {
            Op::Read => false,
            Op::Write if !request.fua => true,
            Op::Write | Op::Trim | Op::Flush => return None,
        };
        let by_page = self.geometry.by_page();
        let end = request.offset.checked_add(request.len)?;
        let ((first, before), (end, rest)) = (by_page.split(request.offset), by_page.split(end));
        let after = end + u64::from(rest > 0);
        let whole = (before == 0 && rest == 0) || (!write && request.len > 0);
        if !whole || after <= first || after > u64::from(self.logical_pages) {
            return None;
        }
        let (first, count) = (Lpn(first as u32), (after - first) as u32);
        let place = self.geometry.split_logical(first).1;
        (place + count <= self.geometry.pages_per_block).then(|| Span {
            first,
            count,
            write,
            request: self.backend.counters().submitted,
        })
    }

    fn serve_plainly(&mut self, request: &Request, span: Span) -> Result<(), DeviceError> {
        let Span { count, write, request: number, .. } = span;
        self.backend.note_progress();
        self.pipeline.current.forced = false;
        self.pipeline.current.write = None;
        let counters = self.backend.count();
        counters.submitted += 1;
        counters.by_op[request.op as usize] += 1;
        counters.bytes += request.len;
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
        self.pipeline.buffer.access(&span, &below, &mut out);
        let id = self.requests.untimed();
        let result = self.follow_plainly(id, &span, &out);
        if !out.evictions.is_empty() {
            self.pipeline.made_room = true;
        }
        let takes_in = |answer: &Answer| matches!(answer, Answer::Insert | Answer::Fill);
        let may_peak =
            self.pipeline.peak_pages < self.pipeline.capacity && out.answers.iter().any(takes_in);
        self.pipeline.out = Some(out);
        if result? {
            if self.backend.has_planned() || self.pipeline.under_way.has_planned() {
                self.issue();
            }
            self.start_jobs()?;
        }
        if may_peak {
            self.pipeline.peak_pages = self.pipeline.peak_pages.max(self.pipeline.buffer.len());
        }
        self.backend.count().completed += 1;
        self.idleness_noted = false;
        self.taken_pages = self.backend.counters().pages_written;
        if self.observers.hear_of_serving(number + 1) {
            self.observers.on_serve(&Moment {
                now: self.backend.engine().now(),
                counters: self.backend.counters(),
                before: self.warmed_up.counters(),
                responses: self.requests.responses(),
                bypassed: self.requests.bypassed(),
            });
        }
        if self.backend.flash().violation().is_some() { self.check_faults() } else { Ok(()) }
    }

    /// Carries out an outcome; whether the FTL has been asked to do something.
    #[inline]
    fn follow_plainly(
        &mut self,
        id: RequestId,
        span: &Span,
        out: &Outcome,
    ) -> Result<bool, DeviceError> {
        let units_wait = self.geometry.program_pages > 1
            && self.config.buffer.write_back == WriteBack::Foreground;
        let bypasses = |answer: &Answer| *answer == Answer::Bypass;
        if units_wait || (span.write && out.answers.iter().any(bypasses)) {
            let Span { first, count, .. } = *span;
            let pages = Pages { first, count, partial_first: false, partial_last: false };
            self.follow(id, span, &pages, out)?;
            self.pipeline.current.read_map = false;
            return Ok(true);
        }
        let mut asked = false;
        let mut evictions = out.evictions.iter().peekable();
        for (at, answer) in out.answers.iter().enumerate() {
            while let Some(eviction) = evictions.next_if(|one| one.before <= at as u32) {
                asked |= self.evict_plainly(id, eviction, out)?;
            }
            let counters = self.backend.count();
            match (span.write, *answer == Answer::Hit) {
                (true, true) => counters.write_hits += 1,
                (true, false) => counters.inserted_writes += 1,
                (false, true) => counters.read_hits += 1,
                (false, false) => {
                    self.read_page(id, span.first + at as u32, (span.first, span.count));
                }
            }
        }
        for eviction in evictions {
            asked |= self.evict_plainly(id, eviction, out)?;
        }
        // To read the map a mapping may have had to write a part of it.
        Ok(asked | std::mem::take(&mut self.pipeline.current.read_map))
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
        match (eviction.action, out.pages_of(eviction)) {
            (Action::Drop, _) if !told => Ok(false),
            (Action::Evict, &[page]) if !told => {
                self.pipeline.current.late_hint = None;
                self.backend.count().flushed_pages += 1;
                let group = self.pipeline.next_eviction();
                self.backend.begin_group(group);
                self.pipeline.batch.clear();
                self.pipeline.batch.push(PageOut { slot: true, ..PageOut::host(page.lpn) });
                self.write_batch(NOBODY, JoinId::NONE)?;
                self.observers.on_write(&Written { pages: 1, with_padding: 1, bypassed: false });
                Ok(true)
            }
            _ => self.apply_eviction(id, eviction, out).map(|()| true),
        }
    }
}
