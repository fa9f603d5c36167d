//! Collecting garbage, step by step while the host goes on.

use serde::{Deserialize, Serialize};

use super::{Backend, Cx, NOBODY, Reclaimed, Tag, cx};
use crate::ftl::gc::{GcConfig, GcCost};
use crate::ftl::{Reclaim, Waiter};
use crate::metrics::{Counters, Observers};
use crate::nand::{Cause, JoinId};
use crate::support::ids::PlaneId;

/// Collection that wins no room is given up when it has gone so many times over all blocks. Each
/// time takes an erase of every block, and as often a new try to write; wear levelling may add two
/// erases to one.
const PASSES: u64 = 8;

/// Collection ahead of need, while no request is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Idle {
    /// There is none.
    Unused,
    /// Nobody need look what is worth collecting.
    Busy,
    /// The last request has just been answered.
    Begins,
}

/// What is known of collection over the whole drive.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::device) struct Collection {
    /// Units being collected.
    jobs: u32,
    /// Units may ask for it: the FTL has been given something, or units were collected, since none
    /// did; or it takes no time, so that there may be something to end.
    may_be_due: bool,
    /// It takes no time.
    instant: bool,
    /// Whether units are collected ahead of need.
    idle: Idle,
    /// How often it has made room.
    room_made: u64,
    /// Erases by it, collections that ended and writes that found no room, since the FTL took a
    /// page last or a request came.
    without_progress: u64,
}

impl Collection {
    /// Nothing is being collected.
    pub fn new(config: &GcConfig) -> Self {
        Self {
            jobs: 0,
            instant: config.cost == GcCost::Free,
            may_be_due: true,
            idle: if config.idle_free_blocks.is_some() { Idle::Busy } else { Idle::Unused },
            room_made: 0,
            without_progress: 0,
        }
    }

    /// Whether it takes no time.
    pub fn is_instant(&self) -> bool {
        self.instant
    }

    /// Whether it goes ahead of need while no request is under way.
    pub fn uses_idle_time(&self) -> bool {
        self.idle != Idle::Unused
    }

    /// The FTL is given something that may have it ask for collection.
    #[inline]
    pub fn may_become_due(&mut self) {
        self.may_be_due = true;
    }

    /// The FTL has taken a page, or a request has come: collection is not futile.
    #[inline]
    pub fn note_progress(&mut self) {
        self.without_progress = 0;
    }
}

impl Backend {
    /// Whether collection takes no time.
    pub fn collects_at_once(&self) -> bool {
        self.collection.instant
    }

    /// Whether collection may have something to begin, or to end at once.
    #[inline]
    pub fn may_have_to_collect(&self) -> bool {
        debug_assert!(self.collection.may_be_due || !self.mapping.asks_for_reclaim());
        self.collection.may_be_due
    }

    /// Whether units are being collected.
    #[inline]
    pub fn is_collecting(&self) -> bool {
        self.collection.jobs > 0
    }

    /// What has been won so far.
    #[inline]
    pub fn reclaimed(&self) -> Reclaimed {
        (self.collection.room_made, self.engine.erased())
    }

    /// A request has come, or the FTL has made durable what it has: collection is not futile.
    #[inline]
    pub fn note_progress(&mut self) {
        self.collection.note_progress();
    }

    /// A write has found no room.
    pub fn found_no_room(&mut self) {
        self.collection.without_progress += 1;
    }

    /// No request is under way, after the last one was answered.
    #[inline]
    pub fn may_begin_idle(&mut self) {
        if self.collection.uses_idle_time() {
            self.collection.idle = Idle::Begins;
        }
    }

    /// Whether it is time to see what is worth collecting while nothing else is to do.
    #[inline]
    pub fn begins_idle(&self) -> bool {
        self.collection.idle == Idle::Begins
    }

    /// Whether collection has gone over all blocks again and again, and the mapping has taken no
    /// page in between: it would go on without end.
    #[inline]
    pub fn gains_nothing(&self) -> bool {
        self.collection.without_progress > 0
            && self.collection.without_progress > PASSES * u64::from(self.flash.geometry().blocks())
    }

    /// Begins to collect the next unit that asks for it, or does all of that where there is no
    /// time; `false` if there is none. Requests are under way, or not.
    pub fn collect_next(&mut self, busy: bool, observers: &mut Observers) -> bool {
        let Some(unit) = self.mapping.needs_reclaim() else {
            self.collection.may_be_due = self.collection.instant;
            return false;
        };
        self.collection.jobs += 1;
        if self.timed {
            self.next_job_step(unit, busy, observers);
        } else {
            while matches!(self.job_step(unit, NOBODY), Reclaim::More | Reclaim::Together)
                && !self.gains_nothing()
            {}
            self.collection.jobs -= 1;
        }
        true
    }

    /// No request is under way: begins to collect what is worth it, until one comes.
    pub fn use_idle_time(&mut self, observers: &mut Observers) {
        self.collection.idle = Idle::Busy;
        // What is done now is on nobody's account.
        observers.on_begin(None);
        for unit in self.flash.geometry().all_units() {
            let advice = self.mapping.advice_mut();
            if advice.is_some_and(|advice| advice.reclaims_when_idle(unit)) {
                self.collection.jobs += 1;
                self.next_job_step(unit, false, observers);
            }
        }
    }

    /// The last step of a collection job has ended: plans and issues the next one.
    pub fn next_job_step(&mut self, unit: PlaneId, busy: bool, observers: &mut Observers) {
        let paused = self.collection.uses_idle_time()
            && busy
            && self.mapping.advice_mut().is_some_and(|advice| advice.pause(unit));
        if paused || self.gains_nothing() {
            self.collection.jobs -= 1;
            return;
        }
        let join = self.join(Tag::Job(unit));
        self.engine.hold(join);
        let mut step = Reclaim::Together;
        while step == Reclaim::Together && !self.gains_nothing() {
            step = self.job_step(unit, Waiter::All(join));
            observers.on_issue(&self.job_plan, &self.engine);
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

    fn job_step(&mut self, unit: PlaneId, own: Waiter) -> Reclaim {
        let erases = self.counters.erases;
        let mut cx = cx!(self, job_plan, own);
        cx.instant = self.collection.instant;
        let step = self.mapping.reclaim(&mut cx, unit);
        // What is moved to other units may have them ask.
        self.collection.may_be_due = true;
        let (now, gc) = (&self.counters.erases, Cause::Gc as usize);
        let collection = &mut self.collection;
        collection.room_made += u64::from(step == Reclaim::Done || now[gc] > erases[gc]);
        collection.without_progress += u64::from(matches!(step, Reclaim::Done | Reclaim::Stuck))
            + Counters::total(now)
            - Counters::total(&erases);
        step
    }
}
