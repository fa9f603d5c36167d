//! Tells observers of what happens in the drive.

use std::sync::{Arc, OnceLock};

use super::{Device, DeviceError};
use crate::buffer::Outcome;
use crate::config::{EndOfRun, Precondition};
use crate::metrics::bounds::{Known, Question, Totals};
use crate::metrics::observer::{Drive, Fault, Folding, Moment, Occasion};
use crate::metrics::{Metric, Observer};
use crate::support::ids::Lpn;

impl Device {
    /// Keeps a metric from now on; the report will have its figures. To be called when the drive
    /// has been filled.
    pub fn keep(&mut self, metric: Metric) {
        let drive = self.as_observed();
        self.observers.keep(metric, &drive);
        if self.observers.read_paths() {
            self.backend.watch_paths();
            self.ends_plainly = false;
        }
    }

    /// What the bounds of a run on this drive depend on beside its requests, if a worn drive does not
    /// end the run before the last of them.
    pub fn question_of_bounds(&self) -> Question {
        Question {
            capacity: self.pipeline.capacity(),
            logical_pages: self.logical_pages,
            page_bytes: self.geometry.page_bytes,
            battery: self.config.buffer.battery,
            flushed_at_end: self.config.host.end_of_run != EndOfRun::Keep,
            warm_up: self.config.host.warm_up,
        }
    }

    /// Keeps the bounds from now on, of which somebody else finds the totals before the run ends.
    pub fn keep_bounds(&mut self, totals: Arc<OnceLock<Totals>>) {
        let drive = self.as_observed();
        self.observers.keep_as(Metric::Bounds, || Box::new(Known::new(&drive, totals)));
    }

    /// Tells an observer that is no metric what happens from now on.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.observers.add(observer);
    }

    /// What observers may know of the drive.
    pub(super) fn as_observed(&self) -> Drive {
        Drive {
            capacity: self.pipeline.capacity(),
            logical_pages: self.logical_pages,
            pages_per_block: self.geometry.pages_per_block,
            units: self.geometry.units,
            program_pages: self.geometry.program_pages,
            free_pages: self.backend.flash().free_pages(),
            ram_ns: self.config.nand.timing.ram.0,
            timed: self.backend.is_timed(),
            flushed_at_end: self.config.host.end_of_run != EndOfRun::Keep,
            reports_patterns: self.pipeline.buffer().reports_patterns(),
            classifies_writes: self.pipeline.buffer().classifies_writes(),
            folding: self.folding(),
        }
    }

    /// What a block was before the run is known of a drive that was filled in order, and when all
    /// of the run counts.
    fn folding(&self) -> Folding {
        let known =
            self.config.precondition.state == Precondition::Full && self.config.host.warm_up == 0;
        match self.backend.mapping().folding() {
            _ if !known => Folding::Unknown,
            // All logs are given up at the end.
            Folding::Logs { count, .. } if self.config.host.end_of_run == EndOfRun::Merge => {
                Folding::Logs { count, in_order: false }
            }
            folding => folding,
        }
    }

    /// The run as it stands at time `now`.
    pub(super) fn moment(&self, now: u64) -> Moment<'_> {
        let before = self.warmed_up.counters();
        let (counters, responses) = (self.backend.counters(), self.requests.responses());
        let (bypassed, worn_out) = (self.requests.bypassed(), self.worn_out);
        Moment { now, counters, before, responses, bypassed, worn_out }
    }

    /// Tells whoever looks what the buffer has decided.
    #[inline]
    pub(super) fn notify(
        &mut self,
        occasion: impl FnOnce() -> Occasion,
        outcome: &Outcome,
    ) -> Result<(), DeviceError> {
        let number = self.backend.counters().submitted.wrapping_sub(1);
        let told = self.observers.on_access(number, occasion, outcome, self.pipeline.buffer());
        told.map_err(|fault| match fault {
            Fault::Observer(why) => DeviceError::Observer(why),
            Fault::Wrong(why) => {
                self.failed = true;
                DeviceError::Verify(why)
            }
        })
    }

    /// Tells whoever looks that the host trims pages, before they are gone.
    pub(super) fn notify_trim(&mut self, first: Lpn, count: u32) -> Result<(), DeviceError> {
        let mut dropped = Vec::new();
        if self.observers.read_details() {
            dropped.extend(first.run(count).filter(|&lpn| self.pipeline.buffer().holds(lpn)));
        }
        self.notify(|| Occasion::Trim { first, count, dropped }, &Outcome::default())
    }
}
