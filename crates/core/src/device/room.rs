//! Room on flash: collection is begun where it is asked for, and the run ends when it wins nothing.

use super::backend::NOBODY;
use super::{Device, DeviceError};
use crate::support::clocks::NEVER;

impl Device {
    /// Begins collection in the units that ask for it. Without time it is done at once.
    pub(super) fn start_jobs(&mut self) -> Result<(), DeviceError> {
        let busy = self.requests.under_way() > 0;
        while self.backend.collect_next(busy, &mut self.observers) {
            if self.backend.gains_nothing() {
                return self.give_up();
            }
        }
        while self.backend.collects_at_once() && self.backend.engine().has_finished() {
            self.collect_finished();
        }
        if self.backend.gains_nothing() {
            return self.give_up();
        }
        if self.backend.flash().violation().is_some() {
            self.check_faults()?;
        }
        Ok(())
    }

    /// Nothing is under way: the mapping does what it has put off.
    pub(super) fn work_ahead(&mut self) -> Result<(), DeviceError> {
        if self.backend.work_ahead() {
            self.observers.on_begin(None);
            self.issue();
            self.start_jobs()?;
        }
        Ok(())
    }

    /// Begins collection, and says whether that may have made room at once: a block counts as
    /// erased when its erase is issued, and collection may take no time.
    pub(super) fn make_room_now(&mut self) -> Result<bool, DeviceError> {
        self.backend.found_no_room();
        let before = self.backend.reclaimed();
        self.start_jobs()?;
        while self.backend.collects_at_once() && self.backend.engine().has_finished() {
            self.collect_finished();
            self.start_jobs()?;
        }
        Ok(self.backend.reclaimed() != before)
    }

    /// Without time: collects until there is room, or an erase has been done.
    pub(super) fn make_room(&mut self) -> Result<(), DeviceError> {
        self.issue();
        self.backend.found_no_room();
        let before = self.backend.reclaimed();
        self.start_jobs()?;
        while self.backend.reclaimed() == before {
            if self.backend.engine().has_finished() && self.backend.collects_at_once() {
                self.collect_finished();
                self.start_jobs()?;
                continue;
            }
            if self.backend.engine().next_event() == NEVER && !self.complete_units() {
                return Err(self.no_space(""));
            }
            self.advance()?;
        }
        Ok(())
    }

    /// Erases wait for the pages that replace what they take away. Those may sit in program units
    /// that are not full: completes them, and says whether anything is under way again.
    pub(super) fn complete_units(&mut self) -> bool {
        self.backend.make_durable(NOBODY);
        self.issue();
        self.backend.engine().next_event() != NEVER
    }

    /// Another write has no room, nor can any be made; a worn drive is at the end of its life then.
    pub(super) fn no_space(&mut self, why: &str) -> DeviceError {
        if self.geometry.all_blocks().any(|block| self.backend.flash().is_worn_out(block)) {
            return self.wear_out();
        }
        self.failed = true;
        DeviceError::NoSpace(
            self.backend.mapping().space() + why + &self.backend.engine().describe(),
        )
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
        self.backend.forget_plan();
        let unanswered = |number| self.requests.is_pending(number);
        let parked = self.pipeline.parked_pages(unanswered);
        self.taken_pages -= parked.min(self.taken_pages);
        DeviceError::EndOfLife { host_bytes: self.taken_pages * self.geometry.page_bytes }
    }
}
