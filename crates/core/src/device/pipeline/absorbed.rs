//! Requests that the buffer absorbs: it has their pages, or takes in what is written, and nothing
//! leaves. The host is answered, and that is all.
//!
//! Without time many are served in one call of the buffer, and counted together. With time each
//! needs its turn, and is answered in it: it is never under way. What is not absorbed goes on in the
//! way of plain requests ([`Device::follow_span`]). The results equal those of the way of all.

use super::serve::Below;
use crate::buffer::{Absorbed, Outcome, Span};
use crate::device::{AHEAD, Device, DeviceError};
use crate::host::{Op, Request};
use crate::metrics::observer::Admission;
use crate::support::ids::Lpn;

impl Device {
    /// Takes the next few requests, at most [`AHEAD`]: there is no time, and nobody is told
    /// anything. Counts those that it has taken, until one fails, that one among them.
    pub(super) fn submit_few_plainly(
        &mut self,
        few: &[Request],
        taken: &mut usize,
    ) -> Result<(), DeviceError> {
        let mut spans = [Span { first: Lpn(0), count: 0, write: false, request: 0 }; AHEAD];
        let mut rest = few;
        while !rest.is_empty() {
            let first = self.backend.counters().submitted;
            let mut count = 0;
            for ((request, place), number) in rest.iter().zip(&mut spans).zip(first..) {
                let Some((first, pages)) = self.plain_pages(request) else { break };
                // One by one: to copy what was just put together waits until that is done.
                (place.first, place.count, place.request) = (first, pages, number);
                place.write = request.op == Op::Write;
                count += 1;
            }
            let served = self.serve_spans(&rest[..count], &spans[..count], taken)?;
            rest = &rest[served..];
            if let [next, others @ ..] = rest {
                self.observers.tell_sums();
                *taken += 1;
                self.submit_plainly(next)?;
                rest = others;
            }
        }
        Ok(())
    }

    /// Serves requests that ask for these pages, up to the first one of which somebody hears; how
    /// many.
    #[inline]
    fn serve_spans(
        &mut self,
        requests: &[Request],
        spans: &[Span],
        taken: &mut usize,
    ) -> Result<usize, DeviceError> {
        let mut at = 0;
        while at < spans.len() {
            let quiet = self.unheard().min((spans.len() - at) as u64) as usize;
            if quiet == 0 {
                break;
            }
            let mut together = &spans[at..at + quiet];
            if self.backend.may_have_to_collect() {
                // What is due begins with the next write.
                let reads = together.iter().position(|span| span.write);
                together = &together[..reads.unwrap_or(quiet)];
            }
            let absorbed = self.absorb(&requests[at..], together);
            at += absorbed;
            *taken += absorbed;
            if absorbed < quiet && absorbed == together.len() {
                // A write with which collection begins: the buffer has not been asked yet.
                *taken += 1;
                self.serve_plainly(&requests[at], spans[at])?;
                at += 1;
            } else if absorbed < quiet {
                *taken += 1;
                self.serve_next(&requests[at], &spans[at])?;
                at += 1;
            }
        }
        Ok(at)
    }

    /// Of how many requests that come next nobody hears, and with which no warm-up ends.
    #[inline]
    fn unheard(&self) -> u64 {
        let submitted = self.backend.counters().submitted;
        let unheard = self.observers.unheard(submitted);
        match self.config.host.warm_up.checked_sub(submitted) {
            Some(before) if self.config.host.warm_up > 0 => unheard.min(before),
            _ => unheard,
        }
    }

    /// Serves requests as long as they are absorbed; how many were.
    #[inline]
    fn absorb(&mut self, requests: &[Request], spans: &[Span]) -> usize {
        self.backend.note_progress();
        self.backend.end_run_of_reads();
        let mut absorbed = Absorbed::default();
        let mut out = self.take_outcome();
        let below = Below::new(&self.backend, &self.geometry, &self.config.nand.timing);
        let count = self.pipeline.buffer.absorb(spans, &below, &mut out, &mut absorbed);
        self.pipeline.out = Some(out);
        if count == 0 {
            return 0;
        }
        let (mut writes, mut bytes) = (0, 0);
        for request in &requests[..count] {
            writes += u64::from(request.op == Op::Write);
            bytes += request.len;
        }
        let counters = self.backend.count();
        counters.submitted += count as u64;
        counters.completed += count as u64;
        counters.by_op[Op::Write as usize] += writes;
        counters.by_op[Op::Read as usize] += count as u64 - writes;
        counters.bytes += bytes;
        self.count_absorbed(&absorbed);
        self.has_served();
        count
    }

    /// Counts the pages of absorbed requests.
    #[inline]
    fn count_absorbed(&mut self, absorbed: &Absorbed) {
        let Absorbed { read_hits, write_hits, inserts } = *absorbed;
        let counters = self.backend.count();
        counters.pages_read += read_hits;
        counters.pages_written += write_hits + inserts;
        counters.read_hits += read_hits;
        counters.write_hits += write_hits;
        counters.inserted_writes += inserts;
        if inserts > 0 {
            self.note_peak();
        }
    }

    /// Serves a request that was not absorbed: the buffer has said what has to be done.
    #[inline]
    fn serve_next(&mut self, request: &Request, span: &Span) -> Result<(), DeviceError> {
        self.count_request(request);
        self.count_pages(span);
        let id = self.requests.untimed();
        let out = self.pipeline.out.take().unwrap_or_default();
        self.follow_span(id, span, out)?;
        self.backend.count().completed += 1;
        self.has_served();
        if self.backend.flash().violation().is_some() { self.check_faults() } else { Ok(()) }
    }

    /// Whether requests go through the buffer in a run with time, and nobody is told of them.
    pub(super) fn goes_through(&self) -> bool {
        self.backend.is_timed()
            && !(self.failed
                || self.worn_out
                || self.way_is_made
                || self.backend.counters().submitted == 0
                || self.observers.hear_of_answers()
                || self.observers.follow_progress())
            && self.is_unwatched()
    }

    /// Takes the next request, a plain one, of which nobody is told: it takes time.
    pub(super) fn submit_through(
        &mut self,
        request: &Request,
        span: &Span,
    ) -> Result<(), DeviceError> {
        self.backend.note_progress();
        let arrival = self.arrival_of(request)?;
        let arrival = self.wait_in_turn(request, arrival)?;
        let now = self.backend.engine().now();
        let kind = (request.op as u8).min(2);
        let out = self.ask_buffer(span);
        if self.is_absorbed(span, &out) {
            self.pipeline.out = Some(out);
            self.requests.arrives(arrival);
            self.count_request(request);
            let under_way = self.requests.under_way() + 1;
            self.observers.note_admission(&Admission { arrival, now, under_way });
            self.requests.pass(span.request, kind, arrival, now);
            self.has_answered(span.request);
        } else {
            let (admission, id) = self.admit(request, arrival);
            self.observers.note_admission(&admission);
            self.count_pages(span);
            self.pipeline.current.parked_before = self.pipeline.parked.next();
            self.follow_span(id, span, out)?;
            self.finish_issue(id);
        }
        self.has_served();
        if self.backend.flash().violation().is_some() { self.check_faults() } else { Ok(()) }
    }

    /// Whether a request that takes time can be answered now, with what the buffer says of it; its
    /// pages are counted, then.
    #[inline]
    fn is_absorbed(&mut self, span: &Span, out: &Outcome) -> bool {
        let mut absorbed = Absorbed::default();
        let is_absorbed = self.config.nand.timing.ram.0 == 0
            && !(span.write && self.backend.may_have_to_collect())
            && absorbed.add(span, out)
            && (absorbed.inserts == 0 || self.slots_lacking() == 0)
            && (span.write || !self.pipeline.fills.any_of(span.pages()));
        if is_absorbed {
            self.count_absorbed(&absorbed);
        }
        is_absorbed
    }
}
