//! One request through buffer, FTL and flash.

use super::parked::Newest;
use crate::buffer::Part;
use crate::buffer::{Answer, Outcome, Span, View};
use crate::config::{PartialPage, WriteBack};
use crate::device::backend::{Backend, NOBODY, Tag};
use crate::device::{Device, DeviceError};
use crate::ftl::{Advice, Waiter};
use crate::host::split::{self, Pages};
use crate::host::{Op, Request};
use crate::metrics::observer::{Awaited, Occasion};
use crate::nand::config::{PageTimes, TimingConfig};
use crate::nand::{Cause, Geometry, JoinId, Path};
use crate::pattern::{Pattern, Route};
use crate::support::NONE;
use crate::support::ids::{LogicalBlock, Lpn, PlaneId, RequestId};
use crate::upkeep::{Times, Upkeep};

/// The window that a buffer has on the drive below it.
pub(super) struct Below<'a> {
    backend: &'a Backend,
    geometry: &'a Geometry,
    timing: &'a TimingConfig,
}

impl<'a> Below<'a> {
    /// On what lies below now.
    #[inline]
    pub fn new(backend: &'a Backend, geometry: &'a Geometry, timing: &'a TimingConfig) -> Self {
        Self { backend, geometry, timing }
    }
}

impl View for Below<'_> {
    fn units(&self) -> u32 {
        self.geometry.units
    }

    fn unit_of(&self, lpn: Lpn) -> Option<PlaneId> {
        self.backend.mapping().lookup(lpn).map(|ppn| self.geometry.unit_of_page(ppn))
    }

    fn queued(&self, unit: PlaneId) -> u32 {
        self.backend.engine().load(self.geometry.die_of(unit))
    }

    fn maps_pages(&self) -> bool {
        self.backend.places_pages()
    }

    fn padding_pays(&self, pages: u32) -> bool {
        self.backend.advice().is_some_and(|advice| advice.padding_pays(pages))
    }

    fn upkeep(&self) -> Upkeep {
        self.backend.advice().map_or(Upkeep::Unknown, Advice::upkeep)
    }

    fn erase_blocks(&self) -> u32 {
        self.geometry.blocks()
    }

    fn times(&self) -> Times {
        let mean = |times: &PageTimes| {
            times.each().iter().map(|time| time.0).sum::<u64>() / times.each().len() as u64
        };
        let bus = match self.timing.transfer_per {
            Some(bytes) => self.timing.transfer.0 * self.geometry.page_bytes / bytes.0.max(1),
            None => self.timing.transfer.0,
        };
        Times {
            read: mean(&self.timing.read) + bus,
            program: mean(&self.timing.program) / u64::from(self.geometry.program_pages) + bus,
            erase: self.timing.erase.0,
        }
    }

    fn home(&self, lpn: Lpn) -> Option<PlaneId> {
        self.backend.advice()?.home(lpn)
    }

    fn chips(&self) -> u32 {
        self.geometry.chips()
    }

    fn home_chip(&self, lpn: Lpn) -> Option<u32> {
        self.backend.advice()?.home_chip(lpn)
    }

    fn free_blocks(&self, unit: PlaneId) -> u32 {
        self.backend.mapping().free_blocks(unit)
    }

    fn channels(&self) -> u32 {
        self.geometry.channels
    }

    fn channel_ready(&self, channel: u32) -> bool {
        let mut units = self.geometry.units_of_channel(channel);
        units.any(|unit| {
            let erased = self.backend.mapping().free_blocks(unit);
            self.backend.advice().map_or(erased > 0, |advice| advice.is_ready(unit, erased))
        })
    }

    fn route(&self, block: LogicalBlock, pattern: Pattern) -> Route {
        let advice = self.backend.advice();
        advice.and_then(|advice| advice.route(block, pattern)).unwrap_or_else(|| {
            match self.unit_of_block(block) {
                Some(unit) => Route::Channel(self.geometry.channel_of(self.geometry.die_of(unit))),
                None => Route::Anywhere,
            }
        })
    }

    fn unit_of_block(&self, block: LogicalBlock) -> Option<PlaneId> {
        self.backend.advice()?.unit_of_block(block)
    }
}

impl Device {
    /// Does at once all that a request does to the drive's state, and issues the flash operations.
    pub(in crate::device) fn serve(
        &mut self,
        id: RequestId,
        request: &Request,
    ) -> Result<(), DeviceError> {
        self.observers.on_begin(Some(request.op));
        self.pipeline.current.parked_before = self.pipeline.parked.next();
        self.pipeline.current.write = None;
        match request.op {
            Op::Flush => self.serve_flush(id),
            Op::Trim => {
                if let Some(pages) = split::pages(request, self.geometry.by_page()) {
                    self.serve_trim(pages)?;
                }
                Ok(())
            }
            Op::Read | Op::Write => {
                let write = request.op == Op::Write;
                let Some(mut pages) = split::pages(request, self.geometry.by_page()) else {
                    return Ok(());
                };
                if self.config.host.partial_page == PartialPage::Round {
                    (pages.partial_first, pages.partial_last) = (false, false);
                }
                let number = self.backend.counters().submitted - 1;
                self.pipeline.current.forced = request.fua && write && !self.config.buffer.battery;
                if write {
                    self.pipeline.current.write = Some((number, pages.count));
                    self.pipeline.buffer.writes(number, pages.count);
                }
                let mut next = Some(pages.first_span(&self.geometry));
                while let Some((first, count)) = next {
                    if write && (pages.partial_first || pages.partial_last) {
                        self.pass_partial_writes(request, first, count, &pages);
                    }
                    self.serve_span(id, Span { first, count, write, request: number }, &pages)?;
                    if self.pipeline.current.forced {
                        self.force(id, first, count)?;
                    }
                    next = pages.next_span((first, count), self.geometry.pages_per_block);
                }
                Ok(())
            }
        }
    }

    /// Tells the buffer which pages of the next span are written only in part.
    fn pass_partial_writes(&mut self, request: &Request, first: Lpn, count: u32, pages: &Pages) {
        let page = self.page_bytes();
        for lpn in first.run(count).filter(|&lpn| pages.is_partial(lpn)) {
            let base = u64::from(lpn.0) * page;
            let (from, to) =
                (request.offset.max(base), (request.offset + request.len).min(base + page));
            let part = Part { from: (from - base) as u32, to: (to - base) as u32, of: page as u32 };
            self.pipeline.buffer.writes_part(lpn, part);
        }
    }

    /// An empty outcome, to be put back when it has been followed.
    #[inline]
    #[expect(clippy::unnecessary_box_returns, reason = "the box is what is put back")]
    pub(in crate::device) fn take_outcome(&mut self) -> Box<Outcome> {
        let mut out = self.pipeline.out.take().unwrap_or_default();
        out.watched = self.observers.read_details();
        out.clear();
        out
    }

    fn serve_span(&mut self, id: RequestId, span: Span, pages: &Pages) -> Result<(), DeviceError> {
        let mut out = self.take_outcome();
        self.backend.end_run_of_reads();
        let below = Below::new(&self.backend, &self.geometry, &self.config.nand.timing);
        self.pipeline.buffer.access(&span, &below, &mut out);
        if span.write {
            self.backend.count().pages_written += u64::from(span.count);
        } else {
            self.backend.count().pages_read += u64::from(span.count);
        }
        let (Span { first, count, write, .. }, forced) = (span, self.pipeline.current.forced);
        let notified = self.notify(|| Occasion::Access { first, count, write, forced }, &out);
        let result = notified.and_then(|()| self.follow(id, &span, pages, &out));
        if self.backend.watches_reads() && !write {
            // Of pages that hold nothing flash is not read.
            let is_read = |&(lpn, answer): &(Lpn, &Answer)| {
                *answer != Answer::Hit
                    && self.backend.mapping().lookup(lpn).is_some()
                    && self.pipeline.parked.newest(lpn).is_none()
            };
            let pages = first.onwards().zip(&out.answers).filter(is_read).count() as u32;
            if pages > 0
                && let Some(advice) = self.backend.advice_mut()
            {
                advice.on_read(first.block(self.geometry.pages_per_block), pages);
            }
        }
        let leaves_nothing = out.evictions.is_empty();
        self.pipeline.made_room |= !leaves_nothing;
        let takes_in =
            out.answers.iter().any(|answer| matches!(answer, Answer::Insert | Answer::Fill));
        if self.backend.is_timed() && self.config.nand.timing.ram.0 > 0 {
            let through_ram =
                out.answers.iter().filter(|answer| **answer != Answer::Bypass).count() as u64;
            let ns = self.config.nand.timing.ram.0 * through_ram;
            self.requests.add_ram(id, ns);
        }
        self.pipeline.out = Some(out);
        result?;
        self.close_reads(id);
        if self.backend.has_planned() || self.pipeline.under_way.has_planned() {
            self.issue();
        }
        // To read the map a mapping may have had to write a part of it.
        let read_map = std::mem::take(&mut self.pipeline.current.read_map);
        if span.write || !leaves_nothing || read_map {
            self.start_jobs()?;
        }
        if takes_in {
            self.pipeline.peak_pages = self.pipeline.peak_pages.max(self.pipeline.buffer.len());
            self.wait_for_slots(id);
        }
        Ok(())
    }

    /// Hands the plan to the engine.
    #[inline]
    pub(in crate::device) fn issue(&mut self) {
        self.backend.issue(&mut self.observers);
        self.release_timed_evictions();
    }

    /// A page of a read: from the buffer, from RAM on its way to flash, or from flash.
    #[inline]
    fn answer_read(&mut self, id: RequestId, lpn: Lpn, answer: Answer, span: (Lpn, u32)) {
        if answer == Answer::Hit {
            self.backend.count().read_hits += 1;
            if !self.pipeline.fills.is_empty() {
                self.wait_for_fill(id, lpn);
            }
            return;
        }
        if self.read_page(id, lpn, span, answer == Answer::Fill) && answer == Answer::Fill {
            self.mark_filling(id, lpn);
        }
    }

    /// Reads a page for the host, which it `fills` in the buffer or not; whether that takes a flash
    /// read.
    #[inline]
    pub(super) fn read_page(
        &mut self,
        id: RequestId,
        lpn: Lpn,
        span: (Lpn, u32),
        fills: bool,
    ) -> bool {
        if let Some(newest) = self.pipeline.parked.newest(lpn) {
            match newest {
                Newest::Written => self.backend.count().inflight_hits += 1,
                Newest::Trimmed => self.backend.count().unmapped_reads += 1,
            }
            return false;
        }
        let reads_map = !self.backend.mapping().knows(lpn);
        self.pipeline.current.read_map |= reads_map;
        let own = if reads_map && self.backend.is_timed() {
            Waiter::All(self.reads_join(id, span))
        } else {
            NOBODY
        };
        let (found, known) = self.backend.translate(own, lpn, reads_map);
        if let Some(stored) = self.backend.stored_mut() {
            stored.check_host_read(lpn, found.is_some());
        }
        let Some(ppn) = found else {
            self.backend.count().unmapped_reads += 1;
            return reads_map;
        };
        if self.backend.is_in_ram(ppn) {
            self.backend.count().inflight_hits += 1;
            return reads_map;
        }
        let alone = !fills && !reads_map && span.1 == 1 && self.waits_itself(id);
        let waiter = if alone { self.tell(id) } else { self.reads_join(id, span) };
        if alone && self.backend.issues_at_once(&self.observers) {
            self.backend.read_at_once(ppn, waiter);
        } else {
            self.backend.read((lpn, ppn), known, Cause::Host, (JoinId::NONE, waiter));
        }
        true
    }

    /// Whether a request need not have a join for the only page of a span that it reads: no other
    /// read of its pages is planned, and nobody follows for which of its pages it waits.
    #[inline]
    fn waits_itself(&self, id: RequestId) -> bool {
        self.backend.is_timed()
            && self.requests.reads(id) == NONE
            && !self.observers.follow_progress()
    }

    /// A request waits for the end of one flash operation, which is told to it.
    #[inline]
    fn tell(&mut self, id: RequestId) -> JoinId {
        self.requests.add_condition(id);
        Tag::Request(id).waiter()
    }

    /// The join of the flash reads that a request plans for pages `span`.
    #[inline(always)]
    fn reads_join(&mut self, id: RequestId, span: (Lpn, u32)) -> JoinId {
        if !self.backend.is_timed() {
            return JoinId::NONE;
        }
        match self.requests.reads(id) {
            NONE => self.open_reads(id, span),
            open => self.pipeline.fills.join(open),
        }
    }

    /// A join of flash reads, the first of which a request plans now.
    #[inline(never)]
    fn open_reads(&mut self, id: RequestId, span: (Lpn, u32)) -> JoinId {
        let index = self.pipeline.fills.next();
        let join = self.backend.join(Tag::Reads(index));
        self.backend.hold(join);
        self.pipeline.fills.begin(id, join, span);
        self.requests.wait_for_reads(id, index);
        join
    }

    /// Issues a request's reads; what it reads from now on is none of theirs. A program that waits
    /// for reads may otherwise end up waiting for one that is planned later and waits, by way of
    /// its block, for the program.
    #[inline(always)]
    pub(in crate::device) fn close_reads(&mut self, id: RequestId) {
        let open = self.requests.close_reads(id);
        if open != NONE {
            self.close_group(open);
        }
    }

    fn close_group(&mut self, open: u32) {
        self.issue();
        self.backend.release(self.pipeline.fills.join(open));
        if self.backend.engine().has_finished() {
            // Time has passed while there was no room: the reads had ended before.
            self.collect_finished();
        }
    }

    /// Some reads of a request have ended: its pages are filled, and those who waited for that go
    /// on.
    pub(in crate::device) fn reads_ended(&mut self, reads: u32, path: Option<&Path>) {
        let request = self.pipeline.fills.end(reads);
        while let Some(waiter) = self.pipeline.fills.take_waiter(reads) {
            self.progress(waiter, Awaited::Reads, path);
        }
        self.progress(request, Awaited::Reads, path);
    }

    /// Who waits for a request's pages that go to flash now: the request itself, if that is one
    /// program and all that it waits for; else a join of all its flash writes.
    #[inline]
    pub(in crate::device) fn waiter_of(&mut self, id: RequestId) -> Waiter {
        let is_one = self.backend.takes_one_program()
            && self.pipeline.current.write.is_some_and(|(_, pages)| pages == 1)
            && !self.pipeline.current.forced
            && self.requests.writes(id).is_none();
        if !is_one || !self.backend.is_timed() {
            return self.writes_join(id);
        }
        Waiter::Writes(self.tell(id))
    }

    /// The join of the flash writes that a request waits for.
    #[inline]
    pub(in crate::device) fn writes_join(&mut self, id: RequestId) -> Waiter {
        if !self.backend.is_timed() {
            return NOBODY;
        }
        if self.requests.writes(id).is_none() {
            let join = self.backend.join(Tag::Request(id));
            self.backend.hold(join);
            self.requests.wait_for_writes(id, join);
        }
        Waiter::Writes(self.requests.writes(id))
    }

    /// A hit on a page that another request is filling waits for it.
    fn wait_for_fill(&mut self, id: RequestId, lpn: Lpn) {
        if self.pipeline.fills.wait(id, lpn) {
            self.requests.add_condition(id);
        }
    }

    /// Page `lpn` is being filled by the reads that request `id` has just planned.
    fn mark_filling(&mut self, id: RequestId, lpn: Lpn) {
        if self.backend.is_timed() {
            self.pipeline.fills.fill(lpn, self.requests.reads(id));
        }
    }

    /// A page of a write: into the buffer, or bypasses it.
    #[inline]
    fn answer_write(
        &mut self,
        id: RequestId,
        lpn: Lpn,
        answer: Answer,
        partial: bool,
        span: (Lpn, u32),
    ) {
        if answer == Answer::Hit {
            self.backend.count().write_hits += 1;
            if partial && !self.pipeline.fills.is_empty() {
                self.wait_for_fill(id, lpn);
            }
        } else {
            // Read-modify-write: what the request leaves of the page comes from flash.
            if partial && self.read_page(id, lpn, span, true) {
                self.mark_filling(id, lpn);
            }
            if answer == Answer::Bypass {
                self.backend.count().bypassed_writes += 1;
            } else {
                self.backend.count().inserted_writes += 1;
            }
        }
        if let Some(shadow) = self.backend.shadow_mut() {
            shadow.host_write(lpn);
        }
    }

    /// A page of a span: from or into the buffer, or past it.
    #[inline(always)]
    pub(super) fn answer_page(
        &mut self,
        id: RequestId,
        span: &Span,
        lpn: Lpn,
        answer: Answer,
        pages: &Pages,
    ) {
        let range = (span.first, span.count);
        if span.write {
            self.answer_write(id, lpn, answer, pages.is_partial(lpn), range);
        } else {
            self.answer_read(id, lpn, answer, range);
        }
    }

    /// Page by page: what leaves to make room for a page, then the page.
    fn follow_pages(
        &mut self,
        id: RequestId,
        span: &Span,
        pages: &Pages,
        out: &Outcome,
    ) -> Result<(), DeviceError> {
        let mut evictions = out.evictions.iter().peekable();
        for (i, &answer) in (0..).zip(&out.answers) {
            while let Some(eviction) = evictions.next_if(|e| e.before <= i) {
                self.apply_eviction(id, eviction, out)?;
            }
            self.answer_page(id, span, span.first + i, answer, pages);
        }
        for eviction in evictions {
            self.apply_eviction(id, eviction, out)?;
        }
        Ok(())
    }

    /// Carries out an outcome.
    #[inline]
    pub(super) fn follow(
        &mut self,
        id: RequestId,
        span: &Span,
        pages: &Pages,
        out: &Outcome,
    ) -> Result<(), DeviceError> {
        let (flushed, bypassed) =
            (self.backend.counters().flushed_pages, self.backend.counters().bypassed_writes);
        if let ([answer], []) = (&out.answers[..], &out.evictions[..]) {
            self.answer_page(id, span, span.first, *answer, pages);
        } else {
            self.follow_pages(id, span, pages, out)?;
        }
        if self.backend.counters().bypassed_writes > bypassed {
            self.write_bypassed(id, span, out)?;
        }
        if self.geometry.program_pages > 1
            && self.backend.counters().flushed_pages > flushed
            && self.config.buffer.write_back == WriteBack::Foreground
        {
            let own = self.writes_join(id);
            self.make_durable(own)?;
        }
        Ok(())
    }

    /// A request that puts pages into the buffer is answered when there are slots for all pages in
    /// the buffer and all on their way out of it.
    pub(super) fn wait_for_slots(&mut self, id: RequestId) {
        let lacking = self.slots_lacking();
        if lacking > 0 {
            self.requests.wait_for_slots(id, self.backend.engine().freed_slots() + lacking);
        }
    }

    /// Slots that are lacking for the pages in the buffer and those on their way out of it.
    #[inline]
    pub(super) fn slots_lacking(&self) -> u64 {
        if !self.backend.is_timed() || self.pipeline.capacity == 0 {
            return 0;
        }
        let flying = self.backend.counters().slots_taken - self.backend.engine().freed_slots()
            + self.pipeline.parked.slots();
        (u64::from(self.pipeline.buffer.len()) + flying)
            .saturating_sub(u64::from(self.pipeline.capacity))
    }

    /// A flush: everything written and trimmed before it survives a power cut once it is answered.
    fn serve_flush(&mut self, id: RequestId) -> Result<(), DeviceError> {
        if self.config.buffer.battery {
            return self.notify(|| Occasion::Flush { battery: true }, &Outcome::default());
        }
        self.empty_buffer(Occasion::Flush { battery: false })?;
        if self.backend.is_timed() {
            self.requests.add_condition(id);
        }
        self.make_durable_from(0, NOBODY, self.backend.is_timed().then_some(id))?;
        self.start_jobs()
    }

    fn serve_trim(&mut self, pages: Pages) -> Result<(), DeviceError> {
        self.notify_trim(pages.first, pages.count)?;
        self.backend.count().pages_trimmed += u64::from(pages.count);
        self.pipeline.buffer.trim(pages.first, pages.count);
        if let Some(shadow) = self.backend.shadow_mut() {
            for lpn in pages.first.run(pages.count) {
                shadow.host_trim(lpn);
            }
        }
        self.trim_pages(pages.first, pages.count)
    }
}
