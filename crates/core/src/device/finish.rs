//! The end of a run: everything under way ends, the accounts are checked, the figures are written
//! down.

use super::backend::NOBODY;
use super::{Device, DeviceError};
use crate::buffer::Outcome;
use crate::config::EndOfRun;
use crate::metrics::observer::{Moment, Occasion};
use crate::metrics::report::{EndOfRun as EndOfRunFigures, Report};
use crate::metrics::{Counters, Latency};
use crate::support::clocks::NEVER;
use crate::support::ids::Lpn;

impl Device {
    /// Folds all log blocks, at once.
    pub(super) fn merge_all(&mut self) {
        self.unmerged = !self.backend.merge_all();
        self.issue();
    }

    /// Lets everything under way end.
    pub(super) fn drain(&mut self) -> Result<(), DeviceError> {
        while self.worn_out && self.next_time() != NEVER {
            self.advance()?;
        }
        if self.worn_out {
            // What is not answered never will be.
            return Ok(());
        }
        loop {
            while self.requests.under_way() > 0
                || self.next_time() != NEVER
                || self.pipeline.has_parked()
            {
                self.advance()?;
            }
            // Erases may wait for pages in program units that are not full.
            if self.backend.engine().under_way() == 0 || !self.complete_units() {
                return Ok(());
            }
        }
    }

    /// Ends the run and reports.
    ///
    /// # Errors
    /// The simulation has found itself wrong.
    pub fn finish(&mut self) -> Result<Report, DeviceError> {
        let (end, paper_bytes) = self.conclude()?;
        Ok(self.report(end, paper_bytes))
    }

    /// Ends the run and checks its accounts, without the work of a report.
    ///
    /// # Errors
    /// The simulation has found itself wrong.
    pub fn end(&mut self) -> Result<(), DeviceError> {
        self.conclude().map(|_| ())
    }

    fn conclude(&mut self) -> Result<(EndOfRunFigures, Option<u64>), DeviceError> {
        if self.failed {
            return Err(DeviceError::Failed);
        }
        self.backend.note_progress();
        match self.drain() {
            // As in the middle of a run, that is a result.
            Err(DeviceError::EndOfLife { .. }) => self.drain()?,
            drained => drained?,
        }
        self.check_warm_up()?;
        self.observers.on_end(&Moment {
            now: self.requests.last_answer(),
            counters: self.backend.counters(),
            before: self.warmed_up.counters(),
            responses: self.requests.responses(),
            bypassed: self.requests.bypassed(),
            worn_out: self.worn_out,
        });
        let paper_bytes = self.pipeline.buffer().paper_bytes();
        let end = self.end_of_run()?;
        self.check_faults()?;
        self.check_laws().map_err(|fault| {
            self.failed = true;
            DeviceError::Law(fault)
        })?;
        self.check_stored()?;
        Ok((end, paper_bytes))
    }

    /// What the configuration asks for after the last request.
    fn end_of_run(&mut self) -> Result<EndOfRunFigures, DeviceError> {
        let (before, started) = (self.backend.counters().clone(), self.backend.engine().now());
        if self.config.host.end_of_run == EndOfRun::Keep || self.worn_out {
            self.notify(|| Occasion::End, &Outcome::default())?;
        } else {
            self.pipeline.ends_run();
            let emptied = self.empty_buffer(Occasion::End).and_then(|()| self.place_all());
            let stored = emptied.and_then(|()| self.make_durable(NOBODY));
            match stored.and_then(|()| self.place_all()) {
                Ok(()) | Err(DeviceError::EndOfLife { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if self.config.host.end_of_run == EndOfRun::Merge && !self.worn_out {
            self.merge_all();
        }
        self.drain()?;
        let erases = |c: &Counters| Counters::total(&c.erases);
        Ok(EndOfRunFigures {
            flushed_pages: self.backend.counters().flushed_pages - before.flushed_pages,
            programs: self.backend.counters().programmed - before.programmed,
            erases: erases(self.backend.counters()) - erases(&before),
            seconds: self
                .backend
                .is_timed()
                .then(|| (self.backend.engine().now() - started) as f64 / 1e9),
        })
    }

    /// What must hold at the end of every run.
    fn check_laws(&self) -> Result<(), String> {
        let c = self.backend.counters();
        let law = |name: &str, left: u64, right: u64| {
            if left == right {
                Ok(())
            } else {
                Err(format!("{name}: {left} on one side, {right} on the other"))
            }
        };
        let measured = self.measured();
        if self.worn_out {
            // Without time there is never more than one under way, and none where the end came
            // after the last request.
            let given_up = if self.backend.is_timed() {
                u64::from(self.requests.under_way())
            } else {
                u64::from(c.completed < c.submitted)
            };
            law("requests submitted = answered + given up", c.submitted, c.completed + given_up)?;
        } else {
            law("requests submitted = requests answered", c.submitted, c.completed)?;
            law("requests measured = their answers", measured.submitted, measured.completed)?;
        }
        law(
            "requests submitted = reads + writes + trims + flushes",
            c.submitted,
            c.by_op.iter().sum(),
        )?;
        let answered = self.requests.responses().iter().map(Latency::count).sum();
        law("pages programmed = sum over causes", c.programmed, Counters::total(&c.programs))?;
        law(
            "blocks erased = sum over causes",
            self.backend.flash().erases().iter().map(|&e| u64::from(e)).sum::<u64>()
                - self.erased_before,
            Counters::total(&c.erases),
        )?;
        if self.worn_out {
            // The request that found no room was left half done.
            return self.backend.check();
        }
        law(
            "pages written = hits + taken in + bypassing the buffer",
            c.pages_written,
            c.write_hits + c.inserted_writes + c.bypassed_writes,
        )?;
        if self.geometry.program_pages == 1 {
            law(
                "host pages programmed = flushed + bypassing the buffer",
                c.programs[0],
                c.flushed_pages + c.bypassed_writes,
            )?;
        }
        if self.backend.is_timed() {
            // Little's law, exactly: requests under way summed over time = their times from
            // admission to answer.
            let (area, times) = self.requests.littles_law();
            if area != times {
                return Err(format!(
                    "requests under way over time add up to {area} ns, their times to {times} ns"
                ));
            }
            law("answers = response times", measured.completed, answered)?;
            law(
                "slots taken = slots freed",
                self.backend.counters().slots_taken,
                self.backend.engine().freed_slots(),
            )?;
            self.backend.engine().check_idle(self.backend.flash())?;
        }
        self.observers.check(&self.moment(self.backend.engine().now()))?;
        self.pipeline.buffer().check()?;
        // Redundant state is compared page by page where that costs less than the run did, or was
        // asked for.
        if self.backend.engine().shadow().is_some()
            || u64::from(self.geometry.pages()) <= c.flash_ops() / 16
        {
            self.backend.check()?;
        }
        Ok(())
    }

    /// Every page that the buffer does not hold lies in flash as the host wrote it last.
    fn check_stored(&mut self) -> Result<(), DeviceError> {
        let Some(stored) = self.backend.engine().stored().filter(|_| !self.worn_out) else {
            return Ok(());
        };
        let (media, Some(shadow)) = (&stored.media, &stored.shadow) else { return Ok(()) };
        for lpn in Lpn(0).run(self.logical_pages) {
            if self.pipeline.buffer().holds(lpn) || shadow.is_blank(lpn) {
                continue;
            }
            let found =
                self.backend.mapping().lookup(lpn).filter(|&ppn| !self.backend.in_open_unit(ppn));
            if self.backend.mapping().lookup(lpn).is_some() && found.is_none() {
                continue;
            }
            let stored = found.and_then(|ppn| media.oob(ppn));
            if stored.is_none_or(|oob| oob.lpn != lpn || oob.version != shadow.version(lpn)) {
                return Err(DeviceError::Verify(format!(
                    "at the end of the run logical page {lpn} should be version {} in flash, at \
                     {found:?} there is {stored:?}",
                    shadow.version(lpn)
                )));
            }
        }
        Ok(())
    }
}
