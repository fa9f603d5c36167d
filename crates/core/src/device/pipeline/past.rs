//! Single pages past a buffer that takes in nothing.
//!
//! Such a request issues one flash operation at once, and waits for nothing else. Whether it may is
//! asked once for a block of requests, and again after each request of another kind
//! ([`Device::goes_past`]). Whether the FTL needs more than one operation for its page is asked for
//! each where that differs; then it goes the way of all. The results equal those of that.

use crate::device::backend::{NOBODY, Tag};
use crate::device::{Device, DeviceError};
use crate::ftl::{PageOut, Single, Waiter};
use crate::host::{Op, Request};
use crate::nand::JoinId;
use crate::support::ids::{Lpn, RequestId};

impl Device {
    /// Whether the next single pages go past the buffer, of which nobody is told, and nothing comes
    /// of their operations but for those who wait for them. `plain`: there is no time, and nobody is
    /// told anything.
    #[inline]
    pub(super) fn goes_past(&self, plain: bool) -> bool {
        self.pipeline.takes_nothing && (plain || self.ends_plainly) && self.may_go_past(plain)
    }

    fn may_go_past(&self, plain: bool) -> bool {
        let timed = || {
            !(self.failed
                || self.worn_out
                || self.way_is_made
                || self.pipeline.awaits_fills()
                || self.observers.follow_progress())
                && self.backend.issues_at_once(&self.observers)
                && self.is_unwatched()
        };
        self.backend.reads_alone() && (plain || timed())
    }

    /// The page of a request that reads or writes a whole one and nothing else.
    #[inline(always)]
    pub(super) fn single_page(&self, request: &Request) -> Option<Lpn> {
        let is_one = request.op == Op::Read || (request.op == Op::Write && !request.fua);
        if !is_one || request.len != self.geometry.page_bytes || self.warm_up_ends() {
            return None;
        }
        let (page, before) = self.geometry.by_page().split(request.offset);
        (before == 0 && page < u64::from(self.logical_pages)).then_some(Lpn(page as u32))
    }

    /// Takes the next request, which asks for this page.
    #[inline(always)]
    pub(super) fn submit_past(&mut self, request: &Request, lpn: Lpn) -> Result<(), DeviceError> {
        self.backend.note_progress();
        let arrival = self.arrival_of(request)?;
        let (admission, id) = self.enter_in_turn(request, arrival)?;
        self.observers.note_admission(&admission);
        if request.op == Op::Write && self.backend.writes_alone() {
            // The condition with which it was admitted is the end of its program.
            let own = Self::own_program(id);
            let number = self.backend.counters().submitted - 1;
            self.backend.begin_group(number << 1);
            let page = PageOut::host(lpn);
            let taken = self.backend.write_at_once(own, page);
            if taken == Single::Taken {
                self.count_past(id);
            } else {
                self.write_past_otherwise(id, request, page, taken)?;
            }
        } else if request.op == Op::Read && self.backend.finds_alone(lpn) {
            self.backend.count().pages_read += 1;
            // The condition with which it was admitted is the end of its read.
            if !self.read_page_past(id, lpn) {
                self.condition_met(id);
            }
        } else {
            self.serve_admitted(id, request)?;
        }
        self.has_served();
        if self.backend.flash().violation().is_some() { self.check_faults() } else { Ok(()) }
    }

    /// A page of a request is written past the buffer.
    #[inline(always)]
    fn count_past(&mut self, id: RequestId) {
        self.backend.count().pages_written += 1;
        self.requests.bypass(id);
        self.note_bypassed();
    }

    /// A page of a request is not just one program, or more follows from it.
    #[inline(never)]
    fn write_past_otherwise(
        &mut self,
        id: RequestId,
        request: &Request,
        page: PageOut,
        taken: Single,
    ) -> Result<(), DeviceError> {
        if taken == Single::NotAlone {
            return self.serve_admitted(id, request);
        }
        self.count_past(id);
        if matches!(taken, Single::TakenWithRead | Single::NoRoomWithRead) {
            self.requests.add_condition(id);
        }
        let done = match taken {
            Single::NoRoom | Single::NoRoomWithRead => self.park_past(id, page),
            _ => self.collect_past(),
        };
        if done.is_err() {
            // The run ends before it has been issued: it is not answered.
            self.requests.add_condition(id);
        }
        done
    }

    /// A request that has been admitted goes the way of all: more than its page has to be read or
    /// written. Nothing comes of that which others of its kind would have to ask for again, but
    /// that it may wait for room.
    #[inline(never)]
    fn serve_admitted(&mut self, id: RequestId, request: &Request) -> Result<(), DeviceError> {
        let number = self.backend.counters().submitted - 1;
        if !self.serve_timed_plainly(id, request, number)? {
            self.serve(id, request)?;
        }
        self.finish_issue(id);
        Ok(())
    }

    /// There is no room for the page of a request now.
    #[cold]
    fn park_past(&mut self, id: RequestId, page: PageOut) -> Result<(), DeviceError> {
        let number = self.backend.counters().submitted - 1;
        if self.backend.takes_one_program() {
            self.write_past_later(number, Self::own_program(id), page)?;
            return self.collect_past();
        }
        // More may be planned for the page when there is room.
        let own = self.writes_join(id);
        self.write_past_later(number, own, page)?;
        self.start_jobs()?;
        self.finish_issue(id);
        Ok(())
    }

    /// A request waits for the end of one program, which is told to it.
    #[inline]
    fn own_program(id: RequestId) -> Waiter {
        Waiter::Writes(Tag::Request(id).waiter())
    }

    /// Reads a page that is looked up without planning anything; whether that takes a flash read.
    #[inline(always)]
    fn read_page_past(&mut self, id: RequestId, lpn: Lpn) -> bool {
        let (found, _) = self.backend.translate(NOBODY, lpn, false);
        let Some(ppn) = found else {
            self.backend.count().unmapped_reads += 1;
            return false;
        };
        if self.backend.is_in_ram(ppn) {
            self.backend.count().inflight_hits += 1;
            return false;
        }
        self.backend.read_at_once(ppn, Tag::Request(id).waiter());
        true
    }

    /// The same without time: it is answered at once.
    #[inline(always)]
    pub(super) fn do_past(&mut self, request: &Request, lpn: Lpn) -> Result<(), DeviceError> {
        self.backend.note_progress();
        self.backend.end_run_of_reads();
        self.count_request(request);
        if request.op == Op::Read {
            self.backend.count().pages_read += 1;
            let id = self.requests.untimed();
            self.read_page(id, lpn, (lpn, 1), false);
            // To read the map a mapping may have had to write a part of it.
            if std::mem::take(&mut self.pipeline.current.read_map) {
                self.collect_past()?;
            }
        } else {
            self.backend.count().pages_written += 1;
            self.write_one_past(lpn)?;
        }
        self.backend.count().completed += 1;
        self.has_served();
        if self.backend.flash().violation().is_some() { self.check_faults() } else { Ok(()) }
    }

    #[inline(always)]
    fn write_one_past(&mut self, lpn: Lpn) -> Result<(), DeviceError> {
        self.note_bypassed();
        let number = self.backend.counters().submitted - 1;
        self.backend.begin_group(number << 1);
        let page = PageOut::host(lpn);
        match self.backend.write_at_once(NOBODY, page) {
            Single::Taken => return Ok(()),
            Single::TakenAndAsks | Single::TakenWithRead => {}
            Single::NoRoom | Single::NoRoomWithRead | Single::NotAlone => {
                self.write_past_later(number, NOBODY, page)?;
            }
        }
        self.collect_past()
    }

    #[inline(always)]
    fn note_bypassed(&mut self) {
        self.backend.count().bypassed_writes += 1;
        self.observers.note_single();
    }

    /// Units may ask to be collected.
    #[inline(never)]
    fn collect_past(&mut self) -> Result<(), DeviceError> {
        self.start_jobs()?;
        if self.backend.engine().has_finished() {
            // Of collection that had nothing to do.
            self.collect_finished();
        }
        Ok(())
    }

    /// There is no room for the page now.
    #[cold]
    fn write_past_later(
        &mut self,
        number: u64,
        own: Waiter,
        page: PageOut,
    ) -> Result<(), DeviceError> {
        let parked_before = self.pipeline.parked.next();
        let current = &mut self.pipeline.current;
        (current.forced, current.late_hint) = (false, None);
        (current.write, current.parked_before) = (Some((number, 1)), parked_before);
        let timed = self.backend.is_timed();
        if !timed {
            self.make_room()?;
        }
        self.pipeline.batch.clear();
        self.pipeline.batch.push(page);
        if timed {
            self.write_rest(0, own, JoinId::NONE)
        } else {
            self.write_batch(own, JoinId::NONE)
        }
    }
}
