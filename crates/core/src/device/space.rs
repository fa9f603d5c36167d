//! Room for writes: handing pages to the FTL, and parking those for which there is none.

use super::parked::{Durable, Newest, Work, Write};
use super::{Cx, Device, DeviceError, NOBODY, PageOut, Waiter, cx};
use crate::nand::op::ENGINE_JOIN;
use crate::pattern::Hint;
use crate::support::NONE;
use crate::support::tournament::NEVER;

impl Device {
    /// Writes `self.batch` to flash after join `waits`. Without time, collection makes room at
    /// once; else pages for which there is none wait, and everything else goes on.
    pub(super) fn write_batch(&mut self, own: Waiter, waits: u32) -> Result<(), DeviceError> {
        if self.timed && !self.parked.is_empty() {
            return self.write_around(own, waits);
        }
        self.note_issued();
        let mut at = 0;
        loop {
            let mut cx = cx!(self, plan, own);
            let taken = self.mapping.write(&mut cx, &self.batch[at..], waits);
            if taken > 0 {
                self.collection.bears_fruit();
            }
            at += taken;
            if at == self.batch.len() {
                return Ok(());
            }
            if self.timed {
                return self.write_rest(at, own, waits);
            }
            let batch = std::mem::take(&mut self.batch);
            let result = self.make_room();
            self.batch = batch;
            result?;
        }
    }

    /// The FTL is about to get the batch as the host has written it last.
    fn note_issued(&mut self) {
        if let Some(shadow) = self.engine.shadow_mut() {
            for out in &self.batch {
                shadow.issue_write(out.lpn);
            }
        }
    }

    /// The queue in which a write of a page waits: that of its unit, of its pool of units, or of all
    /// pages that have neither. Of whole logical blocks there is one.
    pub(super) fn queue_of(&self, lpn: u32) -> u32 {
        let (units, advice) = (self.geometry.units, self.mapping.advice());
        if !self.places_pages {
            return units;
        }
        if let Some(unit) = advice.and_then(|advice| advice.home(lpn)) {
            return unit;
        }
        advice.and_then(|advice| advice.pool(lpn)).map_or(units, |pool| units + 1 + pool)
    }

    /// Whether what the FTL is given next of a page has to wait behind what is parked.
    fn comes_after_parked(&self, lpn: u32) -> bool {
        if !self.places_pages {
            return !self.parked.is_empty();
        }
        self.parked.newest(lpn).is_some() || self.parked.has_waiting(self.queue_of(lpn))
    }

    /// Tells the FTL of a block that leaves the buffer, in the order in which it gets its pages.
    pub(super) fn tell_ftl(&mut self, hint: Hint, clean: bool) {
        if !self.places_pages && !self.parked.is_empty() {
            if clean {
                self.parked.park_hint(hint, self.geometry.units);
            } else {
                self.late_hint = Some(hint);
            }
        } else if let Some(advice) = self.mapping.advice_mut() {
            advice.on_hint(hint, clean, &mut self.counters);
            // Told again with each try, as others may have been told of meanwhile.
            self.late_hint = Some(hint).filter(|_| self.places_pages && !clean);
        }
    }

    /// Writes the batch while other writes are parked: pages that come after one of those are
    /// parked behind it.
    #[cold]
    fn write_around(&mut self, own: Waiter, waits: u32) -> Result<(), DeviceError> {
        let batch = std::mem::take(&mut self.batch);
        let (behind, ahead): (Vec<PageOut>, Vec<PageOut>) =
            batch.iter().partition(|out| self.comes_after_parked(out.lpn));
        let join = if behind.is_empty() { None } else { self.keep_join(waits) };
        let waits = join.map_or(waits, |join| join | ENGINE_JOIN);
        self.park(&behind, own, join, false);
        let mut result = Ok(());
        if !ahead.is_empty() {
            self.batch = ahead;
            self.note_issued();
            let taken = self.mapping.write(&mut cx!(self, plan, own), &self.batch, waits);
            if taken > 0 {
                self.collection.bears_fruit();
            }
            if taken < self.batch.len() {
                result = self.write_rest(taken, own, waits);
            }
        }
        if let Some(join) = join {
            self.issue();
            self.engine.release(join);
        }
        self.batch = batch;
        result
    }

    /// Writes what is left of the batch from page `at` on, for the first of which there is no room:
    /// parks it, and others that wait for the same.
    #[cold]
    fn write_rest(&mut self, at: usize, own: Waiter, waits: u32) -> Result<(), DeviceError> {
        let batch = std::mem::take(&mut self.batch);
        let mut rest = batch[at..].to_vec();
        let join = self.keep_join(waits);
        self.issue();
        let waits = join.map_or(NONE, |join| join | ENGINE_JOIN);
        let result = loop {
            match self.make_room_now() {
                Ok(true) => {}
                Ok(false) => self.park_first(&mut rest, own, join),
                Err(error) => break Err(error),
            }
            if rest.is_empty() {
                break Ok(());
            }
            let taken = self.mapping.write(&mut cx!(self, plan, own), &rest, waits);
            if taken > 0 {
                self.collection.bears_fruit();
            }
            rest.drain(..taken);
            self.issue();
            if rest.is_empty() {
                break Ok(());
            }
        };
        self.release_held_erases();
        if let Some(join) = join {
            self.engine.release(join);
        }
        self.batch = batch;
        result
    }

    /// Parks the first of these pages and those that go to the same unit; all, where it has none of
    /// its own.
    fn park_first(&mut self, rest: &mut Vec<PageOut>, own: Waiter, join: Option<u32>) {
        let queue = self.queue_of(rest[0].lpn);
        let (parked, others) = rest.iter().partition(|out| self.queue_of(out.lpn) == queue);
        *rest = others;
        self.park(&parked, own, join, true);
    }

    /// Parks pages, the first of them `tried` or not, in a queue for each unit.
    fn park(&mut self, pages: &[PageOut], own: Waiter, join: Option<u32>, tried: bool) {
        self.parked.saw_room((self.collection.room_made(), self.engine.erased()));
        let mut queues: Vec<u32> = pages.iter().map(|out| self.queue_of(out.lpn)).collect();
        queues.sort_unstable();
        queues.dedup();
        for queue in queues {
            let pages = pages.iter().filter(|out| self.queue_of(out.lpn) == queue).copied();
            self.park_in(queue, pages.collect(), own, join, tried);
        }
    }

    fn park_in(
        &mut self,
        queue: u32,
        pages: Vec<PageOut>,
        waiter: Waiter,
        join: Option<u32>,
        tried: bool,
    ) {
        let shadow = self.engine.shadow();
        let versions = shadow
            .map(|shadow| pages.iter().map(|out| shadow.version(out.lpn)).collect())
            .unwrap_or_default();
        if let Waiter::Writes(join) = waiter {
            self.engine.hold(join);
        }
        let after = join.map(|join| {
            let after = self.engine.join(NONE);
            self.engine.hold(after);
            self.engine.link(join, after);
            after
        });
        let hint = if self.places_pages { self.late_hint } else { self.late_hint.take() };
        let request = self.serving;
        let group = self.group;
        let write = Write { pages, versions, group, waiter, after, hint, tried, request };
        self.parked.park(write, queue);
    }

    /// A join of the engine, held, that ends with join `waits` of the plan or the engine.
    fn keep_join(&mut self, waits: u32) -> Option<u32> {
        if waits == NONE {
            return None;
        }
        let mut join = None;
        cx!(self, plan, NOBODY).feed_unit(waits, &mut join);
        join
    }

    /// Begins collection, and says whether that may have made room at once: a block counts as
    /// erased when its erase is issued, and collection may take no time.
    fn make_room_now(&mut self) -> Result<bool, DeviceError> {
        self.collection.found_no_room();
        let (made, erased) = (self.collection.room_made(), self.engine.erased());
        self.start_jobs()?;
        while self.collection.is_instant() && self.engine.has_finished() {
            self.collect_finished();
            self.start_jobs()?;
        }
        Ok((self.collection.room_made(), self.engine.erased()) != (made, erased))
    }

    /// Collection has made room, or an erase has ended: writes what is parked, as far as that goes.
    pub(super) fn place_parked(&mut self) -> Result<(), DeviceError> {
        let room = (self.collection.room_made(), self.engine.erased());
        if self.parked.is_empty() || !self.parked.is_new_room(room) || self.worn_out {
            return Ok(());
        }
        self.parked.saw_room(room);
        self.try_parked()
    }

    /// Tries to write what is parked.
    #[cold]
    fn try_parked(&mut self) -> Result<(), DeviceError> {
        // What this takes is on no request's account.
        self.observers.on_begin(None);
        if self.places_pages {
            for queue in self.parked.queues() {
                while self.parked.has_waiting(queue) && self.try_work(queue) {}
            }
            while let Some(at) = self.parked.ready_durable()
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
        match (self.parked.first(queue), self.parked.durable(0)) {
            (Some(number), Some(durable)) if number < durable.to => self.try_work(queue),
            (_, Some(_)) => self.try_durable(0),
            (Some(_), None) => self.try_work(queue),
            (None, None) => false,
        }
    }

    /// Writes are parked: erases that wait for pages in program units which are not full must not
    /// wait for the host to fill these.
    fn release_held_erases(&mut self) {
        if self.geometry.program_pages > 1
            && !self.parked.is_empty()
            && self.engine.has_held_erase()
        {
            self.complete_units();
        }
    }

    /// Does the first in a queue; whether the FTL has taken all of it.
    fn try_work(&mut self, queue: u32) -> bool {
        let write = match self.parked.first_mut(queue) {
            Some(Work::Write(write)) => write,
            Some(&mut Work::Trim(lpn)) => {
                self.mapping.trim(&mut cx!(self, plan, NOBODY), lpn, 1);
                self.parked.done(queue);
                self.issue();
                return true;
            }
            Some(&mut Work::Hint(hint)) => {
                self.parked.done(queue);
                if let Some(advice) = self.mapping.advice_mut() {
                    advice.on_hint(hint, true, &mut self.counters);
                }
                return true;
            }
            None => return true,
        };
        let hint = if self.places_pages { write.hint } else { write.hint.take() };
        if let Some(hint) = hint
            && let Some(advice) = self.mapping.advice_mut()
        {
            advice.on_hint(hint, false, &mut self.counters);
        }
        if let Some(shadow) = self.engine.shadow_mut() {
            for (out, &version) in write.pages.iter().zip(&write.versions) {
                shadow.issue_version(out.lpn, version);
            }
        }
        let after = write.after.filter(|&join| !self.engine.release(join));
        let mut cx = cx!(self, plan, write.waiter);
        cx.group = write.group;
        if write.tried {
            cx.tried = write.pages[0].lpn;
        }
        write.tried = true;
        let waits = after.map_or(NONE, |join| join | ENGINE_JOIN);
        let taken = self.mapping.write(&mut cx, &write.pages, waits);
        // What comes after the same reads waits for a join of its own: no program waits for one
        // that is held until there is room.
        write.after = after.filter(|_| taken < write.pages.len()).map(|join| {
            let rest = self.engine.join(NONE);
            self.engine.hold(rest);
            self.engine.link(join, rest);
            rest
        });
        if taken > 0 {
            self.collection.bears_fruit();
        }
        let ended = self.parked.taken(queue, taken);
        self.issue();
        if let Some(Write { waiter: Waiter::Writes(join), .. }) = ended {
            self.engine.release(join);
        }
        ended.is_some()
    }

    /// Plans what makes everything durable that has been handed to the FTL since the request came
    /// that is being served; what is parked of it first.
    pub(super) fn make_durable(&mut self, own: Waiter) -> Result<(), DeviceError> {
        self.make_durable_from(self.parked_before, own, None)
    }

    /// The same from parked write `from` on, and answers a flush command when it has ended.
    pub(super) fn make_durable_from(
        &mut self,
        from: u64,
        own: Waiter,
        flush: Option<u32>,
    ) -> Result<(), DeviceError> {
        let to = self.parked.next();
        let waits =
            self.parked.has_between(from, to) || (!self.places_pages && !self.parked.is_empty());
        loop {
            if !waits && self.mapping.make_durable(&mut cx!(self, plan, own)) {
                self.collection.bears_fruit();
                self.issue();
                if let Some(id) = flush {
                    self.engine.barrier(id);
                }
                return Ok(());
            }
            if !self.timed {
                self.make_room()?;
                continue;
            }
            self.issue();
            if !waits && self.make_room_now()? {
                continue;
            }
            if let Waiter::Writes(join) = own {
                self.engine.hold(join);
            }
            self.parked.park_durable(Durable { from, to, waiter: own, flush });
            return Ok(());
        }
    }

    /// Makes durable what waits for that, at a place; whether that was possible.
    fn try_durable(&mut self, at: usize) -> bool {
        let Some(Durable { waiter, flush, .. }) = self.parked.durable(at) else { return false };
        let planned = self.mapping.make_durable(&mut cx!(self, plan, waiter));
        self.issue();
        if planned {
            self.collection.bears_fruit();
            self.parked.durable_planned(at);
            if let Some(id) = flush {
                self.engine.barrier(id);
            }
            if let Waiter::Writes(join) = waiter {
                self.engine.release(join);
            }
        }
        planned
    }

    /// The host trims pages: those that come after something parked once that has been done.
    pub(super) fn trim_pages(&mut self, first: u32, count: u32) -> Result<(), DeviceError> {
        let end = first + count;
        let mut from = first;
        if !self.parked.is_empty() {
            for lpn in first..end {
                let newest = self.parked.newest(lpn);
                if newest.is_none() && (self.places_pages || !self.comes_after_parked(lpn)) {
                    continue;
                }
                self.trim_now(from, lpn);
                from = lpn + 1;
                if newest != Some(Newest::Trimmed) {
                    self.parked.park_trim(lpn, self.queue_of(lpn));
                }
            }
        }
        self.trim_now(from, end);
        self.issue();
        // What is trimmed need not be moved any more, and so makes room.
        if self.parked.is_empty() { Ok(()) } else { self.try_parked() }
    }

    fn trim_now(&mut self, from: u32, to: u32) {
        if from < to {
            self.mapping.trim(&mut cx!(self, plan, NOBODY), from, to - from);
        }
    }

    /// Nothing is under way, and writes are parked: tries all of them, and completes program units
    /// that hold erases up.
    pub(super) fn unpark(&mut self) -> Result<(), DeviceError> {
        let state = |device: &Self| {
            let room = (device.collection.room_made(), device.engine.erased());
            (room, device.counters.programmed, device.parked.next())
        };
        loop {
            let before = state(self);
            self.try_parked()?;
            self.collect_finished();
            if self.parked.is_empty() || self.next_time() != NEVER || self.complete_units() {
                return Ok(());
            }
            if state(self) == before {
                return Err(self.no_space(""));
            }
        }
    }

    /// Lets time pass until nothing is parked.
    pub(super) fn place_all(&mut self) -> Result<(), DeviceError> {
        while !self.parked.is_empty() {
            self.advance()?;
        }
        Ok(())
    }

    /// Without time: collects until there is room, or an erase has been done.
    fn make_room(&mut self) -> Result<(), DeviceError> {
        self.issue();
        self.collection.found_no_room();
        let (made, erased) = (self.collection.room_made(), self.engine.erased());
        self.start_jobs()?;
        while self.collection.room_made() == made && self.engine.erased() == erased {
            if self.engine.has_finished() && self.collection.is_instant() {
                self.collect_finished();
                self.start_jobs()?;
                continue;
            }
            if self.engine.next_event() == NEVER && !self.complete_units() {
                return Err(self.no_space(""));
            }
            self.advance()?;
        }
        Ok(())
    }
}
