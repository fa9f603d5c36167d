//! What leaves the buffer, or bypasses it, on its way to the FTL: evictions, padding, pages that
//! are forced out.

use super::parked::Newest;
use crate::buffer::config::WriteBack;
use crate::buffer::{Action, Answer, Evicted, Eviction, Outcome, Span};
use crate::device::backend::NOBODY;
use crate::device::{Device, DeviceError};
use crate::ftl::{PageOut, Waiter};
use crate::metrics::observer::{Leaving, Occasion, Written};
use crate::nand::{Cause, JoinId};
use crate::support::ids::{Lpn, RequestId};

impl Device {
    /// Does what the buffer says of pages that leave it.
    pub(in crate::device) fn apply_eviction(
        &mut self,
        id: RequestId,
        eviction: &Eviction,
        out: &Outcome,
    ) -> Result<(), DeviceError> {
        if eviction.action == Action::Drop {
            self.pass_hint(eviction, out, true);
            return Ok(());
        }
        // Forced unit access: what leaves may be pages of this very request.
        let waits =
            self.config.buffer.write_back == WriteBack::Foreground || self.pipeline.current.forced;
        let own = if waits { self.writes_join(id) } else { NOBODY };
        self.write_eviction(own, eviction, out, Some(id))
    }

    /// Tells the mapping what was done to the block that leaves, where the buffer says so.
    fn pass_hint(&mut self, eviction: &Eviction, out: &Outcome, clean: bool) {
        self.pipeline.current.late_hint = None;
        if let Some(hint) = eviction.hint {
            self.tell_ftl(hint, clean);
        }
        self.observers.on_evict(&Leaving { eviction, pages: out.pages_of(eviction), clean });
    }

    /// Writes the pages of one eviction, for request `id` if it was one that asked for it.
    pub(in crate::device) fn write_eviction(
        &mut self,
        own: Waiter,
        eviction: &Eviction,
        out: &Outcome,
        id: Option<RequestId>,
    ) -> Result<(), DeviceError> {
        self.pass_hint(eviction, out, false);
        let leaving = out.pages_of(eviction);
        self.backend.count().flushed_pages += leaving.len() as u64;
        self.backend.begin_group(self.pipeline.next_eviction());
        let requests =
            if self.pipeline.buffer.splits_evictions() { 1 } else { leaving.len().max(1) };
        let mut written = 0;
        for leaving in leaving.chunks(requests) {
            let alone = leaving.len() == 1 && !eviction.action.pads();
            let (own, join) = self.begin_timed_eviction(own, id, alone);
            self.write_evicted_pages(own, eviction.action, leaving)?;
            self.end_timed_eviction(join);
            written += self.pipeline.batch.len();
        }
        self.observers.on_write(&Written {
            pages: leaving.len(),
            with_padding: written,
            bypassed: false,
        });
        Ok(())
    }

    /// Writes pages that leave the buffer together, or are written back.
    fn write_evicted_pages(
        &mut self,
        own: Waiter,
        action: Action,
        leaving: &[Evicted],
    ) -> Result<(), DeviceError> {
        let (ppb, count) = (self.geometry.pages_per_block, leaving.len());
        let fills = self.join_of_fills(leaving.iter().map(|page| page.lpn));
        let mut padding = JoinId::NONE;
        let slot = action != Action::WriteBack;
        let leaves = |lpn| PageOut { slot, ..PageOut::host(lpn) };
        self.pipeline.batch.clear();
        if action.pads() {
            let block = leaving[0].lpn.block(ppb);
            if self.backend.is_timed() && fills.is_none() {
                padding = self.backend.plan_join();
            }
            let mut next = leaving.iter().map(|page| page.lpn).peekable();
            for lpn in Lpn::each(block.range(ppb)) {
                if next.next_if_eq(&lpn).is_some() {
                    self.pipeline.batch.push(leaves(lpn));
                } else {
                    let stored = self.pad(lpn, padding, fills.unwrap_or(JoinId::NONE));
                    if stored || action == Action::EvictPadded {
                        self.pipeline.batch.push(PageOut::data(lpn, Cause::Padding));
                    }
                }
            }
            self.backend.count().padded_pages += (self.pipeline.batch.len() - count) as u64;
        } else {
            self.pipeline.batch.extend(leaving.iter().map(|page| leaves(page.lpn)));
        }
        self.write_after(own, fills, padding)
    }

    /// Writes the pages of a span that bypass the buffer.
    pub(in crate::device) fn write_bypassed(
        &mut self,
        id: RequestId,
        span: &Span,
        out: &Outcome,
    ) -> Result<(), DeviceError> {
        self.backend.begin_group(span.request << 1);
        self.pipeline.current.late_hint = None;
        self.pipeline.batch.clear();
        if span.count == 1 {
            self.pipeline.batch.push(PageOut::host(span.first));
        } else {
            let bypasses =
                out.answers.iter().enumerate().filter(|(_, answer)| **answer == Answer::Bypass);
            let pages = bypasses.map(|(i, _)| PageOut::host(span.first + i as u32));
            self.pipeline.batch.extend(pages);
        }
        let pages = self.pipeline.batch.len();
        self.observers.on_write(&Written { pages, with_padding: pages, bypassed: true });
        let fills = self.join_of_fills(span.pages());
        let own = self.waiter_of(id);
        self.requests.bypass(id);
        self.write_after(own, fills, JoinId::NONE)?;
        if self.geometry.program_pages > 1 {
            // The host waits for these very pages; a program unit that is not full is completed.
            self.make_durable(own)?;
        }
        Ok(())
    }

    /// A join of all reads that fill any of these pages, for a program that has to come after them;
    /// `None` where no page is being filled. The caller releases it when it has issued what signals
    /// it.
    #[inline]
    pub(super) fn join_of_fills(&mut self, pages: impl Iterator<Item = Lpn>) -> Option<JoinId> {
        if self.pipeline.fills.is_empty() { None } else { self.join_fills(pages) }
    }

    fn join_fills(&mut self, pages: impl Iterator<Item = Lpn>) -> Option<JoinId> {
        let mut fills: Vec<u32> = pages.filter_map(|lpn| self.pipeline.fills.of(lpn)).collect();
        fills.sort_unstable();
        fills.dedup();
        if fills.is_empty() {
            return None;
        }
        let all = self.backend.silent_join();
        self.backend.hold(all);
        for reads in fills {
            let request = self.pipeline.fills.request(reads);
            self.backend.link(self.pipeline.fills.join(reads), all);
            if self.requests.reads(request) == reads {
                self.close_reads(request);
            }
        }
        Some(all)
    }

    /// Writes the batch after the reads that fill its pages, or after join `waits` of the plan.
    #[inline(always)]
    pub(super) fn write_after(
        &mut self,
        own: Waiter,
        fills: Option<JoinId>,
        waits: JoinId,
    ) -> Result<(), DeviceError> {
        match fills {
            None => self.write_batch(own, waits),
            Some(join) => self.write_after_fills(own, join),
        }
    }

    /// Writes the batch after the reads that join `join` stands for.
    fn write_after_fills(&mut self, own: Waiter, join: JoinId) -> Result<(), DeviceError> {
        // The reads are issued, so that the join lives until the last of them has ended; that may
        // have been before now.
        self.issue();
        let waits = if self.backend.release(join) { JoinId::NONE } else { join };
        self.write_batch(own, waits)?;
        self.issue();
        Ok(())
    }

    /// Reads a page that a flush lacks. One that was never written, or has been trimmed, needs no
    /// read. Says whether it holds anything.
    fn pad(&mut self, lpn: Lpn, join: JoinId, waiter: JoinId) -> bool {
        if let Some(newest) = self.pipeline.parked.newest(lpn) {
            return newest == Newest::Written;
        }
        let (Some(ppn), known) = self.backend.translate(NOBODY, lpn, true) else { return false };
        if !self.backend.is_in_ram(ppn) {
            self.backend.read((lpn, ppn), known, Cause::Padding, (join, waiter));
        }
        true
    }

    /// Forced unit access: the pages of a write are stored before the answer.
    pub(in crate::device) fn force(
        &mut self,
        id: RequestId,
        first: Lpn,
        count: u32,
    ) -> Result<(), DeviceError> {
        let mut out = self.take_outcome();
        self.pipeline.buffer.flush_pages(first, count, &mut out);
        let notified = self.notify(|| Occasion::Force { first, count }, &out);
        let own = self.writes_join(id);
        let mut leaving = out.evictions.iter().filter(|e| e.action != Action::Drop);
        let result = notified
            .and_then(|()| leaving.try_for_each(|e| self.write_eviction(own, e, &out, Some(id))));
        self.pipeline.out = Some(out);
        result?;
        if self.geometry.program_pages > 1 {
            self.make_durable(own)?;
        }
        self.issue();
        self.start_jobs()
    }

    /// Writes everything dirty that the buffer holds.
    pub(in crate::device) fn empty_buffer(
        &mut self,
        occasion: Occasion,
    ) -> Result<(), DeviceError> {
        let mut out = self.take_outcome();
        self.pipeline.buffer.flush(&mut out);
        let notified = self.notify(|| occasion, &out);
        let mut leaving = out.evictions.iter().filter(|e| e.action != Action::Drop);
        let result = notified.and_then(|()| {
            leaving.try_for_each(|e| {
                self.write_eviction(NOBODY, e, &out, None)?;
                self.issue();
                self.start_jobs()
            })
        });
        self.pipeline.out = Some(out);
        result
    }

    /// Writes pages without a request and without time, to fill the drive.
    pub(in crate::device) fn write_now(
        &mut self,
        pages: std::ops::Range<Lpn>,
    ) -> Result<(), DeviceError> {
        // Numbered like what leaves the buffer, so that no request goes on with a stripe of the
        // fill.
        self.backend.begin_group(self.pipeline.next_eviction());
        self.pipeline.batch.clear();
        self.pipeline.batch.extend(Lpn::each(pages).map(PageOut::host));
        if let Some(shadow) = self.backend.shadow_mut() {
            for out in &self.pipeline.batch {
                shadow.host_write(out.lpn);
            }
        }
        self.write_batch(NOBODY, JoinId::NONE)?;
        self.backend.forget_plan();
        self.start_jobs()
    }
}
