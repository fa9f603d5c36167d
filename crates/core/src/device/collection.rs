//! Collecting garbage, step by step while the host goes on; and what is done when that wins no room.

use super::{Cx, Device, DeviceError, NOBODY, Waiter, cx};
use crate::ftl::Reclaim;
use crate::ftl::gc::{GcConfig, GcCost};
use crate::metrics::Counters;
use crate::nand::Cause;
use crate::support::tournament::NEVER;

/// Tag of a collection job's join, beside the unit's number.
pub(super) const JOB: u32 = 1 << 31;

/// Collection that wins no room is given up when it has gone so many times over all blocks. Each
/// time takes an erase of every block, and as often a new try to write; wear levelling may add two
/// erases to one.
const PASSES: u64 = 8;

/// What is known of collection over the whole drive.
#[derive(Debug)]
pub(super) struct Collection {
    /// Units being collected.
    jobs: u32,
    /// It takes no time.
    instant: bool,
    /// Units may be collected ahead of need while no request is under way; and it is time to see
    /// which.
    when_idle: bool,
    idle_begins: bool,
    /// How often it has made room.
    room_made: u64,
    /// Erases by it, collections that ended and writes that found no room, since the FTL took a
    /// page last or a request came.
    fruitless: u64,
}

impl Collection {
    /// Nothing is being collected.
    pub fn new(config: &GcConfig) -> Self {
        Self {
            jobs: 0,
            instant: config.cost == GcCost::Free,
            when_idle: config.idle_free_blocks.is_some(),
            idle_begins: false,
            room_made: 0,
            fruitless: 0,
        }
    }

    /// Whether it takes no time.
    pub fn is_instant(&self) -> bool {
        self.instant
    }

    /// Whether units are being collected.
    pub fn is_under_way(&self) -> bool {
        self.jobs > 0
    }

    /// How often it has made room.
    pub fn room_made(&self) -> u64 {
        self.room_made
    }

    /// The FTL has taken a page, or a request has come: what was collected was not in vain.
    #[inline]
    pub fn bears_fruit(&mut self) {
        self.fruitless = 0;
    }

    /// A write has found no room.
    pub fn found_no_room(&mut self) {
        self.fruitless += 1;
    }

    /// No request is under way, after the last one was answered.
    #[inline]
    pub fn may_begin_idle(&mut self) {
        self.idle_begins |= self.when_idle;
    }

    /// Whether it is time to see what is worth collecting while nothing else is to do.
    #[inline]
    pub fn begins_idle(&self) -> bool {
        self.idle_begins
    }
}

impl Device {
    /// Another write has no room, nor can any be made; a worn drive is at the end of its life then.
    pub(super) fn no_space(&mut self, why: &str) -> DeviceError {
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
        self.collection.fruitless > PASSES * u64::from(self.geometry.blocks())
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
        let unanswered = |number| self.requests.is_pending(number);
        self.taken_pages -= self.parked.requested_pages(unanswered).min(self.taken_pages);
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
            self.collection.jobs += 1;
            if self.timed {
                self.next_job_step(unit);
            } else {
                while matches!(self.job_step(unit, NOBODY), Reclaim::More | Reclaim::Together)
                    && !self.gains_nothing()
                {}
                self.collection.jobs -= 1;
            }
            if self.gains_nothing() {
                return self.give_up();
            }
        }
        while self.collection.instant && self.engine.has_finished() {
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
        self.collection.idle_begins = false;
        // What is done now is on nobody's account.
        self.observers.on_begin(None);
        for unit in 0..self.geometry.units {
            let advice = self.mapping.advice_mut();
            if advice.is_some_and(|advice| advice.reclaims_when_idle(unit)) {
                self.collection.jobs += 1;
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
        cx.instant = self.collection.instant;
        let step = self.mapping.reclaim(&mut cx, unit);
        let (now, gc) = (&self.counters.erases, Cause::Gc as usize);
        self.collection.room_made += u64::from(step == Reclaim::Done || now[gc] > erases[gc]);
        self.collection.fruitless += u64::from(matches!(step, Reclaim::Done | Reclaim::Stuck))
            + Counters::total(now)
            - Counters::total(&erases);
        step
    }

    /// The last step of a collection job has ended: plans and issues the next one.
    pub(super) fn next_job_step(&mut self, unit: u32) {
        let paused = self.collection.when_idle
            && self.requests.under_way() > 0
            && self.mapping.advice_mut().is_some_and(|advice| advice.pause(unit));
        if paused || self.gains_nothing() {
            self.collection.jobs -= 1;
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
            self.collection.jobs -= 1;
            self.engine.forget(join);
        }
    }
}
