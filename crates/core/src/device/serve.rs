//! One request through buffer, FTL and flash.

use super::time::READS;
use super::{Cx, Device, DeviceError, NOBODY, Own, PageOut, cx};
use crate::buffer::{Action, Answer, Eviction, Outcome, Span, View};
use crate::config::{PartialPage, WriteBack};
use crate::ftl::Mapping;
use crate::host::split::{self, Pages};
use crate::host::{Op, Request};
use crate::nand::image::Content;
use crate::nand::op::ENGINE_JOIN;
use crate::nand::{Cause, Engine, Geometry, Ppn};
use crate::support::NONE;

/// The window that a buffer has on the drive below it.
struct Below<'a> {
    mapping: &'a dyn Mapping,
    engine: &'a Engine,
    geometry: &'a Geometry,
}

impl View for Below<'_> {
    fn units(&self) -> u32 {
        self.geometry.units
    }

    fn unit_of(&self, lpn: u32) -> Option<u32> {
        self.mapping.lookup(lpn).map(|ppn| self.geometry.unit_of(ppn / self.geometry.pages_per_block))
    }

    fn queued(&self, unit: u32) -> u32 {
        self.engine.load(self.geometry.die_of(unit))
    }

    fn free_blocks(&self, unit: u32) -> u32 {
        self.mapping.free_blocks(unit)
    }
}

impl Device {
    /// Does at once all that a request does to the drive's state, and issues the flash operations.
    pub(super) fn serve(&mut self, id: u32, request: &Request) -> Result<(), DeviceError> {
        match request.op {
            Op::Flush => self.serve_flush(id),
            Op::Trim => {
                if let Some(pages) = split::pages(request, self.geometry.page_bytes) {
                    self.serve_trim(pages);
                }
                Ok(())
            }
            Op::Read | Op::Write => {
                let write = request.op == Op::Write;
                let Some(mut pages) = split::pages(request, self.geometry.page_bytes) else { return Ok(()) };
                if self.config.host.partial_page == PartialPage::Round {
                    (pages.partial_first, pages.partial_last) = (false, false);
                }
                let ram = self.config.nand.timing.ram.0;
                if ram > 0 {
                    self.pending[id as usize].ram_ns = ram * u64::from(pages.count);
                }
                self.pending[id as usize].filling = (pages.first, pages.count);
                let number = self.counters.submitted - 1;
                for (first, count) in pages.spans(self.geometry.pages_per_block) {
                    self.serve_span(id, Span { first, count, write, request: number }, &pages)?;
                    if request.fua && write && !self.config.buffer.battery {
                        self.force(id, first, count)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn serve_span(&mut self, id: u32, span: Span, pages: &Pages) -> Result<(), DeviceError> {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let below = Below { mapping: &*self.mapping, engine: &self.engine, geometry: &self.geometry };
        self.buffer.access(&span, &below, &mut out);
        if self.engine.shadow().is_some() {
            self.check_answers(&span, &out);
        }
        if span.write {
            self.counters.pages_written += u64::from(span.count);
            self.answer_writes(id, &span, pages, &out)?;
        } else {
            self.counters.pages_read += u64::from(span.count);
            for (i, answer) in out.answers.iter().enumerate() {
                self.answer_read(id, span.first + i as u32, *answer);
            }
        }
        let result = if out.evictions.is_empty() { Ok(()) } else { self.carry_out(id, &out) };
        self.out = out;
        result?;
        if !self.plan.is_empty() {
            self.issue();
        }
        self.start_jobs()?;
        if span.write {
            self.wait_for_slots(id);
        }
        Ok(())
    }

    /// Hands the plan to the engine.
    pub(super) fn issue(&mut self) {
        self.engine.issue(&self.plan);
        self.plan.clear();
    }

    /// A page of a read: from the buffer, from RAM on its way to flash, or from flash.
    #[inline]
    fn answer_read(&mut self, id: u32, lpn: u32, answer: Answer) {
        if answer == Answer::Hit {
            self.counters.read_hits += 1;
            if !self.filling.is_empty() {
                self.wait_for_fill(id, lpn);
            }
            return;
        }
        if self.read_page(id, lpn, Cause::Host) && answer == Answer::Fill && self.timed {
            self.filling.insert(lpn, id);
        }
    }

    /// Reads a page for the host; whether that takes a flash read.
    fn read_page(&mut self, id: u32, lpn: u32, cause: Cause) -> bool {
        let found = self.mapping.translate(&mut cx!(self, plan, NOBODY, false), lpn);
        if let Some(shadow) = self.engine.shadow_mut() {
            shadow.check_host_read(lpn, found.is_some());
        }
        let Some(ppn) = found else {
            self.counters.unmapped_reads += 1;
            return false;
        };
        let (block, page) = (ppn / self.geometry.pages_per_block, ppn % self.geometry.pages_per_block);
        if self.is_in_ram(block, page) {
            self.counters.inflight_hits += 1;
            return false;
        }
        let owner = self.reads_join(id);
        cx!(self, plan, NOBODY, false).read(block, page, lpn, cause, NONE, owner);
        true
    }

    /// Whether a page is still in the controller's RAM: in an open program unit, or being programmed from there.
    #[inline]
    fn is_in_ram(&self, block: u32, page: u32) -> bool {
        (self.geometry.program_pages > 1 && page >= self.flash.write_ptr(block))
            || (self.timed && self.engine.in_ram(block, page))
    }

    /// The join of a request's flash reads.
    fn reads_join(&mut self, id: u32) -> u32 {
        if !self.timed {
            return NONE;
        }
        if self.pending[id as usize].reads == NONE {
            let join = self.engine.join(READS | id);
            self.engine.hold(join);
            self.pending[id as usize].reads = join;
            self.pending[id as usize].conditions += 1;
        }
        self.pending[id as usize].reads
    }

    /// The join of the flash writes that a request waits for.
    fn writes_join(&mut self, id: u32) -> Own {
        if !self.timed {
            return NOBODY;
        }
        if self.pending[id as usize].writes == NONE {
            let join = self.engine.join(id);
            self.engine.hold(join);
            self.pending[id as usize].writes = join;
            self.pending[id as usize].conditions += 1;
        }
        Own::Writes(self.pending[id as usize].writes)
    }

    /// A hit on a page that another request is filling waits for it.
    fn wait_for_fill(&mut self, id: u32, lpn: u32) {
        if let Some(&filler) = self.filling.get(&lpn)
            && filler != id
            && !self.dependents.contains(&(filler, id))
        {
            self.dependents.push((filler, id));
            self.pending[id as usize].conditions += 1;
        }
    }

    /// The pages of a write: into the buffer, or past it.
    fn answer_writes(
        &mut self,
        id: u32,
        span: &Span,
        pages: &Pages,
        out: &Outcome,
    ) -> Result<(), DeviceError> {
        let mut bypassed = 0;
        for (i, answer) in out.answers.iter().enumerate() {
            let lpn = span.first + i as u32;
            let partial = pages.is_partial(lpn);
            match answer {
                Answer::Hit => {
                    self.counters.write_hits += 1;
                    if partial && !self.filling.is_empty() {
                        self.wait_for_fill(id, lpn);
                    }
                }
                Answer::Insert | Answer::Fill | Answer::Bypass => {
                    // Read-modify-write: what the request leaves of the page comes from flash.
                    if partial && self.read_page(id, lpn, Cause::Host) && self.timed {
                        self.filling.insert(lpn, id);
                    }
                    if *answer == Answer::Bypass {
                        bypassed += 1;
                    } else {
                        self.counters.inserted_writes += 1;
                    }
                }
            }
        }
        if let Some(shadow) = self.engine.shadow_mut() {
            for lpn in span.first..span.first + span.count {
                shadow.host_write(lpn);
            }
        }
        if bypassed == 0 {
            return Ok(());
        }
        self.counters.bypassed_writes += bypassed;
        self.batch.clear();
        let bypasses = out.answers.iter().enumerate().filter(|(_, answer)| **answer == Answer::Bypass);
        self.batch.extend(bypasses.map(|(i, _)| PageOut::host(span.first + i as u32)));
        self.note_flush_size(bypassed as usize, bypassed as usize);
        let waits = self.fill_to_wait_for(span.first, span.count);
        let own = self.writes_join(id);
        self.write_batch(own, waits, false)?;
        if self.geometry.program_pages > 1 {
            // The host waits for these very pages; a program unit that is not full is completed.
            self.flush_mapping(own)?;
        }
        Ok(())
    }

    /// The join of the reads that fill one of these pages, for a program that has to come after them.
    fn fill_to_wait_for(&self, first: u32, count: u32) -> u32 {
        if self.filling.is_empty() {
            return NONE;
        }
        let filler = (first..first + count).find_map(|lpn| self.filling.get(&lpn));
        filler.map_or(NONE, |&id| match self.pending[id as usize].reads {
            NONE => NONE,
            join => join | ENGINE_JOIN,
        })
    }

    /// Carries out the evictions of an outcome, in order.
    pub(super) fn carry_out(&mut self, id: u32, out: &Outcome) -> Result<(), DeviceError> {
        let own = if self.config.buffer.write_back == WriteBack::Foreground {
            self.writes_join(id)
        } else {
            NOBODY
        };
        let before = self.counters.flushed_pages;
        for eviction in &out.evictions {
            if eviction.action != Action::Drop {
                self.flush_out(own, eviction, out)?;
            }
        }
        if own != NOBODY && self.geometry.program_pages > 1 && self.counters.flushed_pages > before {
            self.flush_mapping(own)?;
        }
        Ok(())
    }

    /// Writes the pages of one eviction.
    pub(super) fn flush_out(
        &mut self,
        own: Own,
        eviction: &Eviction,
        out: &Outcome,
    ) -> Result<(), DeviceError> {
        let leaving = out.pages_of(eviction);
        let (ppb, count) = (self.geometry.pages_per_block, leaving.len());
        self.counters.flushed_pages += count as u64;
        let mut waits = match leaving {
            _ if self.filling.is_empty() => NONE,
            pages => {
                pages.iter().map(|p| self.fill_to_wait_for(p.lpn, 1)).find(|&w| w != NONE).unwrap_or(NONE)
            }
        };
        self.batch.clear();
        if eviction.action == Action::FlushPadded {
            let base = leaving[0].lpn / ppb * ppb;
            let join = if self.timed && waits == NONE { self.plan.join() } else { NONE };
            let mut next = leaving.iter().map(|page| page.lpn).peekable();
            for lpn in base..base + ppb {
                if next.next_if_eq(&lpn).is_some() {
                    self.batch.push(PageOut::host(lpn));
                } else {
                    self.pad(lpn, join);
                    self.batch.push(PageOut { lpn, cause: Cause::Padding, content: Content::Host });
                }
            }
            self.counters.padded_pages += u64::from(ppb) - count as u64;
            if waits == NONE {
                waits = join;
            }
        } else {
            self.batch.extend(leaving.iter().map(|page| PageOut::host(page.lpn)));
        }
        self.note_flush_size(count, self.batch.len());
        let slots = eviction.action != Action::WriteBack;
        if slots {
            self.taken_slots += count as u64;
        }
        self.write_batch(own, waits, slots)
    }

    /// Reads a page that a flush lacks. One that was never written needs no read.
    fn pad(&mut self, lpn: u32, join: u32) {
        let Some(ppn) = self.mapping.translate(&mut cx!(self, plan, NOBODY, false), lpn) else { return };
        let (block, page) = split_ppn(ppn, self.geometry.pages_per_block);
        if !self.is_in_ram(block, page) {
            cx!(self, plan, NOBODY, false).read(block, page, lpn, Cause::Padding, join, NONE);
        }
    }

    fn note_flush_size(&mut self, before: usize, after: usize) {
        if self.quiet {
            return;
        }
        for (sizes, size) in self.flush_sizes.iter_mut().zip([before, after]) {
            if sizes.len() <= size {
                sizes.resize(size + 1, 0);
            }
            sizes[size] += 1;
        }
    }

    /// A write is answered when there are slots for all pages in the buffer and all on their way out of it.
    fn wait_for_slots(&mut self, id: u32) {
        if !self.timed || self.capacity == 0 {
            return;
        }
        let flying = self.taken_slots - self.engine.freed_slots();
        let over = (u64::from(self.buffer.len()) + flying).saturating_sub(u64::from(self.capacity));
        if over > 0 {
            self.pending[id as usize].conditions += 1;
            self.tickets.push_back((id, self.engine.freed_slots() + over));
        }
    }

    /// Forced unit access: the pages of a write are stored before the answer.
    fn force(&mut self, id: u32, first: u32, count: u32) -> Result<(), DeviceError> {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        self.buffer.flush_pages(first, count, &mut out);
        let own = self.writes_join(id);
        let result = out
            .evictions
            .iter()
            .filter(|e| e.action != Action::Drop)
            .try_for_each(|e| self.flush_out(own, e, &out));
        self.out = out;
        result?;
        if self.geometry.program_pages > 1 {
            self.flush_mapping(own)?;
        }
        self.issue();
        self.start_jobs()
    }

    /// A flush: everything written and trimmed before it survives a power cut once it is answered.
    fn serve_flush(&mut self, id: u32) -> Result<(), DeviceError> {
        if self.config.buffer.battery {
            return Ok(());
        }
        self.empty_buffer()?;
        self.flush_mapping(NOBODY)?;
        if self.timed {
            self.pending[id as usize].conditions += 1;
            self.engine.barrier(id);
        }
        self.start_jobs()
    }

    /// Writes everything dirty that the buffer holds.
    pub(super) fn empty_buffer(&mut self) -> Result<(), DeviceError> {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        self.buffer.flush(&mut out);
        let result = out.evictions.iter().filter(|e| e.action != Action::Drop).try_for_each(|e| {
            self.flush_out(NOBODY, e, &out)?;
            self.issue();
            self.start_jobs()
        });
        self.out = out;
        result
    }

    fn serve_trim(&mut self, pages: Pages) {
        self.counters.pages_trimmed += u64::from(pages.count);
        self.buffer.trim(pages.first, pages.count);
        if let Some(shadow) = self.engine.shadow_mut() {
            for lpn in pages.first..pages.first + pages.count {
                shadow.host_trim(lpn);
            }
        }
        self.mapping.trim(&mut cx!(self, plan, NOBODY, false), pages.first, pages.count);
        self.issue();
    }

    /// A buffer that claims to hold a page must hold it, and must not lose a dirty one.
    fn check_answers(&mut self, span: &Span, out: &Outcome) {
        let wrong = if out.answers.len() == span.count as usize {
            let held = |lpn| self.buffer.holds(lpn);
            let left = |lpn| out.pages.iter().any(|page| page.lpn == lpn);
            (span.first..).zip(&out.answers).find_map(|(lpn, answer)| match answer {
                Answer::Bypass if held(lpn) => {
                    Some(format!("it answers Bypass for page {lpn}, which it holds"))
                }
                Answer::Hit | Answer::Insert | Answer::Fill if !held(lpn) && !left(lpn) => {
                    Some(format!("it answers {answer:?} for page {lpn}, which it does not hold"))
                }
                _ => None,
            })
        } else {
            Some(format!("it gives {} answers for {} pages", out.answers.len(), span.count))
        };
        let dropped = out.evictions.iter().filter(|e| e.action == Action::Drop).flat_map(|e| out.pages_of(e));
        let wrong = wrong.or_else(|| {
            dropped.clone().find(|p| p.dirty).map(|p| format!("it drops page {}, which is dirty", p.lpn))
        });
        let over = (self.buffer.len() > self.capacity)
            .then(|| format!("it holds {} pages, more than its {}", self.buffer.len(), self.capacity));
        if let Some(fault) = wrong.or(over).or_else(|| self.buffer.check().err())
            && let Some(shadow) = self.engine.shadow_mut()
        {
            shadow.report(|| format!("buffer: {fault} (span {span:?})"));
        }
    }
}

#[inline]
fn split_ppn(ppn: Ppn, pages_per_block: u32) -> (u32, u32) {
    (ppn / pages_per_block, ppn % pages_per_block)
}
