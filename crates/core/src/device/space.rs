//! Room for writes: handing pages to the FTL, and collecting garbage step by step while the host
//! goes on.

use super::{Cx, Device, DeviceError, NOBODY, Waiter, cx};
use crate::ftl::Reclaim;
use crate::metrics::Counters;
use crate::nand::Cause;
use crate::support::tournament::NEVER;

/// Tag of a collection job's join, beside the unit's number.
pub(super) const JOB: u32 = 1 << 31;

/// Collection that wins no room is given up when it has gone so many times over all blocks. Each
/// time takes an erase of every block, and as often a new try to write; wear levelling may add two
/// erases to one.
const PASSES: u64 = 8;

impl Device {
    /// Writes `self.batch` to flash after join `waits`. Waits for garbage collection where there is
    /// no room.
    pub(super) fn write_batch(&mut self, own: Waiter, waits: u32) -> Result<(), DeviceError> {
        if let Some(shadow) = self.engine.shadow_mut() {
            for out in &self.batch {
                shadow.issue_write(out.lpn);
            }
        }
        let mut waits = waits;
        let mut at = 0;
        loop {
            let taken = self.mapping.write(&mut cx!(self, plan, own), &self.batch[at..], waits);
            if taken > 0 {
                self.fruitless = 0;
            }
            at += taken;
            if at == self.batch.len() {
                return Ok(());
            }
            let batch = std::mem::take(&mut self.batch);
            let result = self.make_room();
            self.batch = batch;
            result?;
            // The rest has to wait for the same reads; no new ones come while there is no room.
            while waits != crate::support::NONE && self.engine.reading() > 0 {
                self.advance()?;
            }
            waits = crate::support::NONE;
        }
    }

    /// Plans what makes everything durable that has been handed to the FTL.
    pub(super) fn make_durable(&mut self, own: Waiter) -> Result<(), DeviceError> {
        while !self.mapping.make_durable(&mut cx!(self, plan, own)) {
            self.make_room()?;
        }
        self.fruitless = 0;
        self.issue();
        Ok(())
    }

    /// Issues what is planned and goes on until collection has made room, or an erase has ended.
    fn make_room(&mut self) -> Result<(), DeviceError> {
        self.issue();
        self.fruitless += 1;
        let (made, erased) = (self.room_made, self.engine.erased());
        self.start_jobs()?;
        while self.room_made == made && self.engine.erased() == erased {
            if self.engine.has_finished() && self.free_collection {
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

    /// Another write has no room, nor can any be made; a worn drive is at the end of its life then.
    fn no_space(&mut self, why: &str) -> DeviceError {
        if (0..self.geometry.blocks()).any(|block| self.flash.is_worn_out(block)) {
            return self.wear_out();
        }
        self.failed = true;
        DeviceError::NoSpace(self.mapping.space() + why + &self.engine.describe())
    }

    /// Whether collection has gone over all blocks again and again, and the mapping has taken no
    /// page in between: it would go on without end.
    #[inline]
    fn gains_nothing(&self) -> bool {
        self.fruitless > PASSES * u64::from(self.geometry.blocks())
    }

    /// Collection gains nothing, which ends the run unless it has ended already.
    #[cold]
    fn give_up(&mut self) -> Result<(), DeviceError> {
        if self.worn_out {
            return Ok(());
        }
        Err(self.no_space(", and collecting all blocks again and again has gained nothing"))
    }

    /// Too few blocks are left for another write.
    fn wear_out(&mut self) -> DeviceError {
        self.worn_out = true;
        self.plan.clear();
        DeviceError::EndOfLife { host_bytes: self.taken_pages * self.geometry.page_bytes }
    }

    /// Erases wait for the pages that replace what they take away. Those may sit in program units
    /// that are not full: completes them, and says whether anything is under way again.
    pub(super) fn complete_units(&mut self) -> bool {
        self.mapping.make_durable(&mut cx!(self, plan, NOBODY));
        self.issue();
        self.engine.next_event() != NEVER
    }

    /// Begins collection in the units that ask for it. Without time it is done at once.
    pub(super) fn start_jobs(&mut self) -> Result<(), DeviceError> {
        while let Some(unit) = self.mapping.needs_reclaim() {
            self.jobs += 1;
            if self.timed {
                self.next_job_step(unit);
            } else {
                while matches!(self.job_step(unit, NOBODY), Reclaim::More | Reclaim::Together)
                    && !self.gains_nothing()
                {}
                self.jobs -= 1;
            }
            if self.gains_nothing() {
                return self.give_up();
            }
        }
        while self.free_collection && self.engine.has_finished() {
            self.collect_finished();
        }
        if self.gains_nothing() {
            return self.give_up();
        }
        if self.flash.violation().is_some() {
            self.check_faults()?;
        }
        Ok(())
    }

    /// No request is under way: begins to collect what is worth it, until one comes.
    pub(super) fn use_idle_time(&mut self) {
        self.idle_begins = false;
        // What is done now is on nobody's account.
        self.observers.on_begin(None);
        for unit in 0..self.geometry.units {
            let advice = self.mapping.advice_mut();
            if advice.is_some_and(|advice| advice.reclaims_when_idle(unit)) {
                self.jobs += 1;
                self.next_job_step(unit);
            }
        }
    }

    /// Nothing is under way: the mapping does what it has put off.
    pub(super) fn work_ahead(&mut self) -> Result<(), DeviceError> {
        let advice = self.mapping.advice_mut();
        if advice.is_some_and(|advice| advice.idle(&mut cx!(self, plan, NOBODY))) {
            self.observers.on_begin(None);
            self.issue();
            self.start_jobs()?;
        }
        Ok(())
    }

    fn job_step(&mut self, unit: u32, own: Waiter) -> Reclaim {
        let erases = self.counters.erases;
        let mut cx = cx!(self, job_plan, own);
        cx.instant = self.free_collection;
        let step = self.mapping.reclaim(&mut cx, unit);
        let (now, gc) = (&self.counters.erases, Cause::Gc as usize);
        self.room_made += u64::from(step == Reclaim::Done || now[gc] > erases[gc]);
        self.fruitless += u64::from(matches!(step, Reclaim::Done | Reclaim::Stuck))
            + Counters::total(now)
            - Counters::total(&erases);
        step
    }

    /// The last step of a collection job has ended: plans and issues the next one.
    pub(super) fn next_job_step(&mut self, unit: u32) {
        let paused = self.collects_when_idle
            && self.outstanding > 0
            && self.mapping.advice_mut().is_some_and(|advice| advice.pause(unit));
        if paused || self.gains_nothing() {
            self.jobs -= 1;
            return;
        }
        let join = self.engine.join(JOB | unit);
        self.engine.hold(join);
        let mut step = Reclaim::Together;
        while step == Reclaim::Together && !self.gains_nothing() {
            step = self.job_step(unit, Waiter::All(join));
            self.observers.on_issue(&self.job_plan, &self.engine);
            self.engine.issue(&self.job_plan);
            self.job_plan.clear();
        }
        self.engine.end_group();
        if matches!(step, Reclaim::More | Reclaim::Together) {
            self.engine.release(join);
        } else {
            self.jobs -= 1;
            self.engine.forget(join);
        }
    }
}
