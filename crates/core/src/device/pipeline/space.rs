//! Room for writes: handing pages to the FTL, and parking those for which there is none.

use super::parked::{Durable, Newest, Waiting, Work, Write};
use crate::device::{Device, DeviceError};
use crate::ftl::{PageOut, Waiter};
use crate::nand::JoinId;
use crate::nand::media::Content;
use crate::pattern::Hint;
use crate::support::clocks::NEVER;
use crate::support::ids::{Lpn, RequestId};

impl Device {
    /// Writes `self.pipeline.batch` to flash after join `waits`. Without time, collection makes
    /// room at once; else pages for which there is none wait, and everything else goes on.
    pub(in crate::device) fn write_batch(
        &mut self,
        own: Waiter,
        waits: JoinId,
    ) -> Result<(), DeviceError> {
        self.note_leaving();
        if self.backend.is_timed() && !self.pipeline.parked.is_empty() {
            return self.write_around(own, waits);
        }
        self.note_issued();
        let mut at = 0;
        loop {
            let taken = self.backend.write(own, &self.pipeline.batch[at..], waits);
            at += taken;
            if at == self.pipeline.batch.len() {
                return Ok(());
            }
            if self.backend.is_timed() {
                return self.write_rest(at, own, waits);
            }
            let batch = std::mem::take(&mut self.pipeline.batch);
            let result = self.make_room();
            self.pipeline.batch = batch;
            result?;
        }
    }

    /// Tells whoever holds the bytes of pages that the batch leaves, as the host has written it
    /// last.
    #[inline]
    fn note_leaving(&mut self) {
        let Some(stored) = self.backend.stored_mut() else { return };
        if let Some((cells, shadow)) = stored.cells_and_shadow() {
            for out in self.pipeline.batch.iter().filter(|out| out.content == Content::Host) {
                cells.leaves(out.lpn, shadow.version(out.lpn));
            }
        }
    }

    /// The FTL is about to get the batch as the host has written it last.
    fn note_issued(&mut self) {
        if let Some(shadow) = self.backend.shadow_mut() {
            for out in &self.pipeline.batch {
                shadow.issue_write(out.lpn);
            }
        }
    }

    /// The queue in which a write of a page waits: that of its unit, of its pool of units, or of
    /// all pages that have neither. Of whole logical blocks there is one.
    pub(in crate::device) fn queue_of(&self, lpn: Lpn) -> u32 {
        let (units, advice) = (self.geometry.units, self.backend.advice());
        if !self.backend.places_pages() {
            return units;
        }
        if let Some(unit) = advice.and_then(|advice| advice.home(lpn)) {
            return unit.0;
        }
        advice.and_then(|advice| advice.pool(lpn)).map_or(units, |pool| units + 1 + pool)
    }

    /// Whether what the FTL is given next of a page has to wait behind what is parked.
    fn comes_after_parked(&self, lpn: Lpn) -> bool {
        if !self.backend.places_pages() {
            return !self.pipeline.parked.is_empty();
        }
        self.pipeline.parked.newest(lpn).is_some()
            || self.pipeline.parked.has_waiting(self.queue_of(lpn))
    }

    /// Tells the FTL of a block that leaves the buffer, in the order in which it gets its pages.
    pub(in crate::device) fn tell_ftl(&mut self, hint: Hint, clean: bool) {
        if !self.backend.places_pages() && !self.pipeline.parked.is_empty() {
            if clean {
                self.pipeline.parked.park_hint(hint, self.geometry.units);
            } else {
                self.pipeline.current.late_hint = Some(hint);
            }
        } else {
            self.backend.on_hint(hint, clean);
            // Told again with each try, as others may have been told of meanwhile.
            self.pipeline.current.late_hint =
                Some(hint).filter(|_| self.backend.places_pages() && !clean);
        }
    }

    /// Writes the batch while other writes are parked: pages that come after one of those are
    /// parked behind it.
    fn write_around(&mut self, own: Waiter, waits: JoinId) -> Result<(), DeviceError> {
        let batch = std::mem::take(&mut self.pipeline.batch);
        let comes_after = |out: &&PageOut| self.comes_after_parked(out.lpn);
        let ahead: Vec<PageOut> = batch.iter().filter(|out| !comes_after(out)).copied().collect();
        let some;
        let behind = if ahead.is_empty() {
            &batch
        } else {
            some = batch.iter().filter(comes_after).copied().collect();
            &some
        };
        let join = if behind.is_empty() { None } else { self.backend.keep_join(waits) };
        let waits = join.unwrap_or(waits);
        self.park(behind, own, join, false);
        let mut result = Ok(());
        if !ahead.is_empty() {
            self.pipeline.batch = ahead;
            self.note_issued();
            let taken = self.backend.write(own, &self.pipeline.batch, waits);
            if taken < self.pipeline.batch.len() {
                result = self.write_rest(taken, own, waits);
            }
        }
        if let Some(join) = join {
            self.issue();
            self.backend.release(join);
        }
        self.pipeline.batch = batch;
        result
    }

    /// Writes what is left of the batch from page `at` on, for the first of which there is no room:
    /// parks it, and others that wait for the same.
    #[cold]
    pub(super) fn write_rest(
        &mut self,
        at: usize,
        own: Waiter,
        waits: JoinId,
    ) -> Result<(), DeviceError> {
        let batch = std::mem::take(&mut self.pipeline.batch);
        let mut rest = batch[at..].to_vec();
        let join = self.backend.keep_join(waits);
        self.issue();
        let waits = join.unwrap_or(JoinId::NONE);
        let result = loop {
            match self.make_room_now() {
                Ok(true) => {}
                Ok(false) => self.park_first(&mut rest, own, join),
                Err(error) => break Err(error),
            }
            if rest.is_empty() {
                break Ok(());
            }
            let taken = self.backend.write(own, &rest, waits);
            rest.drain(..taken);
            self.issue();
            if rest.is_empty() {
                break Ok(());
            }
        };
        self.release_held_erases();
        if let Some(join) = join {
            self.backend.release(join);
        }
        self.pipeline.batch = batch;
        result
    }

    /// Parks the first of these pages and those that go to the same unit; all, where it has none of
    /// its own.
    fn park_first(&mut self, rest: &mut Vec<PageOut>, own: Waiter, join: Option<JoinId>) {
        let queue = self.queue_of(rest[0].lpn);
        let (parked, others) = rest.iter().partition(|out| self.queue_of(out.lpn) == queue);
        *rest = others;
        self.park(&parked, own, join, true);
    }

    /// Parks pages, the first of them `tried` or not, in a queue for each unit.
    fn park(&mut self, pages: &[PageOut], own: Waiter, join: Option<JoinId>, tried: bool) {
        // Who waits first has just found none. What others wait for may have come since they tried.
        if self.pipeline.parked.is_empty() {
            self.pipeline.parked.saw_room(self.backend.reclaimed());
        }
        let Some(first) = pages.first() else { return };
        let queue = self.queue_of(first.lpn);
        if pages.iter().all(|out| self.queue_of(out.lpn) == queue) {
            return self.park_in(queue, pages, own, join, tried);
        }
        let mut queues: Vec<u32> = pages.iter().map(|out| self.queue_of(out.lpn)).collect();
        queues.sort_unstable();
        queues.dedup();
        for queue in queues {
            let pages = pages.iter().filter(|out| self.queue_of(out.lpn) == queue).copied();
            let pages: Vec<PageOut> = pages.collect();
            self.park_in(queue, &pages, own, join, tried);
        }
    }

    fn park_in(
        &mut self,
        queue: u32,
        pages: &[PageOut],
        waiter: Waiter,
        join: Option<JoinId>,
        tried: bool,
    ) {
        if let Waiter::Writes(join) = waiter {
            self.backend.hold(join);
        }
        let after = join.map_or(JoinId::NONE, |join| self.backend.join_after(join));
        let hint = if self.backend.places_pages() {
            self.pipeline.current.late_hint
        } else {
            self.pipeline.current.late_hint.take()
        };
        let request = self.pipeline.current.write;
        let group = self.backend.group();
        let looked_up = tried && self.backend.has_looked_up(pages[0].lpn);
        let write = Write { group, waiter, after, hint, tried, looked_up, request };
        let shadow = self.backend.engine().shadow().into_iter();
        let versions = shadow.flat_map(|shadow| pages.iter().map(|out| shadow.version(out.lpn)));
        self.pipeline.parked.park(&write, pages, versions, queue);
    }

    /// Whether collection has made room, or an erase has ended, since what is parked was tried last.
    #[inline]
    pub(in crate::device) fn may_place_parked(&self) -> bool {
        self.pipeline.has_parked()
            && self.pipeline.parked.is_new_room(self.backend.reclaimed())
            && !self.worn_out
    }

    /// Writes what is parked, as far as that goes, if there may be room by now.
    #[inline]
    pub(in crate::device) fn place_parked(&mut self) -> Result<(), DeviceError> {
        // Whoever tries begins collection, which may make room at once.
        while self.may_place_parked() {
            self.pipeline.parked.saw_room(self.backend.reclaimed());
            self.try_parked()?;
        }
        Ok(())
    }

    /// Tries to write what is parked.
    #[cold]
    fn try_parked(&mut self) -> Result<(), DeviceError> {
        // What this takes is on no request's account.
        self.observers.on_begin(None);
        if self.backend.places_pages() {
            let mut next = self.pipeline.parked.queue_from(0);
            while let Some(queue) = next {
                while self.pipeline.parked.has_waiting(queue) && self.try_work(queue) {}
                next = self.pipeline.parked.queue_from(queue + 1);
            }
            while let Some(at) = self.pipeline.parked.ready_durable()
                && self.try_durable(at)
            {}
        } else {
            while self.try_next() {}
        }
        self.start_jobs()?;
        self.release_held_erases();
        Ok(())
    }

    /// Does the first of all that is parked; whether that was possible.
    fn try_next(&mut self) -> bool {
        let queue = self.geometry.units;
        match (self.pipeline.parked.first(queue), self.pipeline.parked.durable(0)) {
            (Some(first), Some(durable)) if first.number() < durable.to => self.try_work(queue),
            (_, Some(_)) => self.try_durable(0),
            (Some(_), None) => self.try_work(queue),
            (None, None) => false,
        }
    }

    /// Writes are parked: erases that wait for pages in program units which are not full must not
    /// wait for the host to fill these.
    fn release_held_erases(&mut self) {
        if self.geometry.program_pages > 1
            && !self.pipeline.parked.is_empty()
            && self.backend.engine().has_held_erase()
        {
            self.complete_units();
        }
    }

    /// Does the first in a queue; whether the FTL has taken all of it.
    fn try_work(&mut self, queue: u32) -> bool {
        let Some(&first) = self.pipeline.parked.first(queue) else { return true };
        match first.work {
            Work::Write => return self.try_write(queue, &first),
            Work::Trim => {
                let lpn = self.pipeline.parked.first_pages(queue)[0].lpn;
                self.backend.trim(lpn, 1);
                self.pipeline.parked.done(queue);
                self.issue();
            }
            Work::Hint => {
                let hint = self.pipeline.parked.first_hint(queue);
                self.pipeline.parked.done(queue);
                if let Some(hint) = hint {
                    self.backend.on_hint(hint, true);
                }
            }
        }
        true
    }

    /// Looks up the page whose turn it is next in a queue. The memory's latency passes while the
    /// events before its turn are served.
    #[inline]
    fn look_ahead_in(&self, queue: u32) {
        if let Some(lpn) = self.pipeline.parked.next_page(queue) {
            std::hint::black_box(self.backend.mapping().lookup(lpn));
            std::hint::black_box(self.pipeline.parked.newest(lpn));
        }
    }

    /// Gives the FTL the write that is the first in a queue; whether it has taken all of it.
    fn try_write(&mut self, queue: u32, write: &Waiting) -> bool {
        if let Some(hint) = self.pipeline.parked.first_hint(queue) {
            if !self.backend.places_pages() {
                self.pipeline.parked.hint_told(queue);
            }
            self.backend.on_hint(hint, false);
        }
        if let Some(shadow) = self.backend.shadow_mut() {
            for (out, version) in self.pipeline.parked.first_versions(queue) {
                shadow.issue_version(out.lpn, version);
            }
        }
        if !write.tried {
            self.look_ahead_in(queue);
        }
        let Waiting { group, waiter, looked_up, after, .. } = *write;
        let goes_on = !after.is_none() && !self.backend.release(after);
        let after = if goes_on { after } else { JoinId::NONE };
        let pages = self.pipeline.parked.first_pages(queue);
        let taken = self.backend.write_parked(waiter, pages, after, (group, looked_up));
        let next = pages.get(taken).map(|out| out.lpn);
        if let Some(next) = next
            && let Some(first) = self.pipeline.parked.first_mut(queue)
        {
            first.tried = true;
            first.looked_up = (looked_up && taken == 0) || self.backend.has_looked_up(next);
            // What comes after the same reads waits for a join of its own: no program waits for one
            // that is held until there is room.
            first.after = if goes_on { self.backend.join_after(after) } else { JoinId::NONE };
        }
        let is_done = self.pipeline.parked.taken(queue, taken);
        self.issue();
        if is_done && let Waiter::Writes(join) = waiter {
            self.backend.release(join);
        }
        is_done
    }

    /// Plans what makes everything durable that has been handed to the FTL since the request came
    /// that is being served; what is parked of it first.
    pub(in crate::device) fn make_durable(&mut self, own: Waiter) -> Result<(), DeviceError> {
        self.make_durable_from(self.pipeline.current.parked_before, own, None)
    }

    /// The same from parked write `from` on, and answers a flush command when it has ended.
    pub(in crate::device) fn make_durable_from(
        &mut self,
        from: u64,
        own: Waiter,
        flush: Option<RequestId>,
    ) -> Result<(), DeviceError> {
        let to = self.pipeline.parked.next();
        let waits = self.pipeline.parked.has_between(from, to)
            || (!self.backend.places_pages() && !self.pipeline.parked.is_empty());
        loop {
            if !waits && self.backend.make_durable(own) {
                self.backend.note_progress();
                self.issue();
                if let Some(id) = flush {
                    self.backend.barrier(id);
                }
                return Ok(());
            }
            if !self.backend.is_timed() {
                self.make_room()?;
                continue;
            }
            self.issue();
            if !waits && self.make_room_now()? {
                continue;
            }
            if let Waiter::Writes(join) = own {
                self.backend.hold(join);
            }
            self.pipeline.parked.park_durable(Durable { from, to, waiter: own, flush });
            return Ok(());
        }
    }

    /// Makes durable what waits for that, at a place; whether that was possible.
    fn try_durable(&mut self, at: usize) -> bool {
        let Some(Durable { waiter, flush, .. }) = self.pipeline.parked.durable(at) else {
            return false;
        };
        let planned = self.backend.make_durable(waiter);
        self.issue();
        if planned {
            self.backend.note_progress();
            self.pipeline.parked.durable_planned(at);
            if let Some(id) = flush {
                self.backend.barrier(id);
            }
            if let Waiter::Writes(join) = waiter {
                self.backend.release(join);
            }
        }
        planned
    }

    /// The host trims pages: those that come after something parked once that has been done.
    pub(in crate::device) fn trim_pages(
        &mut self,
        first: Lpn,
        count: u32,
    ) -> Result<(), DeviceError> {
        let end = first + count;
        let mut from = first;
        if !self.pipeline.parked.is_empty() {
            for lpn in Lpn::each(first..end) {
                let newest = self.pipeline.parked.newest(lpn);
                if newest.is_none()
                    && (self.backend.places_pages() || !self.comes_after_parked(lpn))
                {
                    continue;
                }
                self.trim_now(from, lpn);
                from = lpn + 1;
                if newest != Some(Newest::Trimmed) {
                    self.pipeline.parked.park_trim(lpn, self.queue_of(lpn));
                }
            }
        }
        self.trim_now(from, end);
        self.issue();
        // What is trimmed need not be moved any more, and so makes room.
        if self.pipeline.parked.is_empty() { Ok(()) } else { self.try_parked() }
    }

    fn trim_now(&mut self, from: Lpn, to: Lpn) {
        if from < to {
            self.backend.trim(from, to - from);
        }
    }

    /// Nothing is under way, and writes are parked: tries all of them, and completes program units
    /// that hold erases up.
    pub(in crate::device) fn unpark(&mut self) -> Result<(), DeviceError> {
        let state = |device: &Self| {
            (
                device.backend.reclaimed(),
                device.backend.counters().programmed,
                device.pipeline.parked.next(),
            )
        };
        loop {
            let before = state(self);
            self.try_parked()?;
            self.collect_finished();
            if self.pipeline.parked.is_empty() || self.next_time() != NEVER || self.complete_units()
            {
                return Ok(());
            }
            if state(self) == before {
                return Err(self.no_space(""));
            }
        }
    }

    /// Lets time pass until nothing is parked.
    pub(in crate::device) fn place_all(&mut self) -> Result<(), DeviceError> {
        while !self.pipeline.parked.is_empty() {
            self.advance()?;
        }
        Ok(())
    }
}
