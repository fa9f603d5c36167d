//! The state of the drive before the first request. Filling goes through the mapping's own path,
//! without time, and always ends: a fill writes each page once, a steady state is given up after a
//! number of drive writes.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use super::backend::NOBODY;
use super::{Device, DeviceError};
use crate::config::Precondition;
use crate::host::{Op, Request, split};
use crate::metrics::report::Preconditioning;
use crate::support::ids::{LogicalBlock, Lpn};

/// A drive write takes at most so many passes over the workload.
const PASSES: u64 = 1000;

/// Requests of the workload between two reports of progress.
const REPORT_EVERY: u64 = 4096;

/// Random pages that are looked up together before they are written.
const AHEAD: usize = 32;

impl Device {
    /// Brings the drive into the state that the configuration asks for, then counts from zero. What
    /// was done is in the report.
    ///
    /// # Errors
    /// There is no room, or the simulation has found itself wrong.
    pub fn precondition(&mut self) -> Result<(), DeviceError> {
        self.precondition_with(&mut |_, _| true).map(|_| ())
    }

    /// The same with `progress(pages written, pages to write at most)`, called now and then;
    /// `false` gives up. Returns whether the drive is in the wanted state.
    ///
    /// # Errors
    /// As [`Self::precondition`].
    pub fn precondition_with(
        &mut self,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<bool, DeviceError> {
        let state = self.config.precondition.state;
        let mut done = Preconditioning {
            state: format!("{state:?}").to_lowercase(),
            ..Preconditioning::default()
        };
        let result = self.unmeasured(|device| device.fill(state, &mut done, progress));
        self.preconditioning = done;
        let finished = result?;
        self.check_faults()?;
        Ok(finished)
    }

    /// Goes on from a filled drive with what the workload writes and trims, past the buffer and
    /// without time, until write amplification stays the same; then counts from zero. It is
    /// compared over as many passes as write the whole drive once: a short pass would leave the
    /// spare blocks erased. `pass` begins the workload anew. `progress` is as for
    /// [`Self::precondition_with`].
    ///
    /// # Errors
    /// Those of the workload; there is no room, or the simulation has found itself wrong.
    pub fn overwrite_with<E: From<DeviceError>, R: Iterator<Item = Result<Request, E>>>(
        &mut self,
        mut pass: impl FnMut() -> R,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<bool, E> {
        let mut done = std::mem::take(&mut self.preconditioning);
        let (most, drive) =
            (self.config.precondition.max_drive_writes, u64::from(self.logical_pages));
        let result = self.unmeasured(|device| -> Result<bool, E> {
            while !done.settled && done.drive_writes < most {
                let (programs, mut pages) = (device.backend.counters().programmed, 0);
                while pages < drive {
                    let before = pages;
                    for (number, request) in (0..).zip(pass()) {
                        if number % REPORT_EVERY == 0 && !progress(done.pages_written + pages, 0) {
                            return Ok(false);
                        }
                        pages += device.overwrite(number, &request?)?;
                    }
                    device.end_pass()?;
                    if pages == before {
                        // A workload that writes nothing changes nothing.
                        done.settled = true;
                        return Ok(true);
                    }
                    if (pages - before).saturating_mul(PASSES) < drive {
                        return Err(writes_too_little(pages - before, drive).into());
                    }
                }
                let programs = device.backend.counters().programmed - programs;
                done.pages_written += pages;
                device.end_round(&mut done, programs as f64 / pages as f64);
            }
            Ok(true)
        });
        self.preconditioning = done;
        let finished = result?;
        self.check_faults()?;
        Ok(finished)
    }

    /// Writes all that the workload reads or writes, once, past the buffer and without time; then
    /// counts from zero. Trims and flush commands are passed over: every page that the workload
    /// reads is stored afterwards. `progress` is as for [`Self::precondition_with`].
    ///
    /// # Errors
    /// Those of the workload; there is no room, or the simulation has found itself wrong.
    pub fn store_with<E: From<DeviceError>>(
        &mut self,
        requests: impl Iterator<Item = Result<Request, E>>,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<bool, E> {
        let mut done = std::mem::take(&mut self.preconditioning);
        let result = self.unmeasured(|device| -> Result<bool, E> {
            for (number, request) in (0..).zip(requests) {
                if number % REPORT_EVERY == 0 && !progress(done.pages_written, 0) {
                    return Ok(false);
                }
                let request = request?;
                if matches!(request.op, Op::Read | Op::Write) {
                    let write = Request { op: Op::Write, ..request };
                    done.pages_written += device.overwrite(number, &write)?;
                }
            }
            device.end_pass()?;
            Ok(true)
        });
        self.preconditioning = done;
        let finished = result?;
        self.check_faults()?;
        Ok(finished)
    }

    /// What a request writes, trims or flushes, at once; how many pages it writes. Writes with
    /// forced unit access are like others.
    fn overwrite(&mut self, number: u64, request: &Request) -> Result<u64, DeviceError> {
        self.check_request(number, request)?;
        if request.op == Op::Flush && !self.config.buffer.battery {
            self.end_pass()?;
        }
        if !matches!(request.op, Op::Write | Op::Trim) {
            return Ok(0);
        }
        let Some(pages) = split::pages(request, self.geometry.by_page()) else { return Ok(0) };
        if request.op == Op::Trim {
            if let Some(shadow) = self.backend.shadow_mut() {
                pages.first.run(pages.count).for_each(|lpn| shadow.host_trim(lpn));
            }
            self.trim_pages(pages.first, pages.count)?;
            self.start_jobs()?;
            return Ok(0);
        }
        for (first, count) in pages.spans(&self.geometry) {
            self.write_now(first..first + count)?;
        }
        Ok(pages.count.into())
    }

    /// What has been written and trimmed is stored, tombstones too: a flush command, or the end of
    /// a pass.
    fn end_pass(&mut self) -> Result<(), DeviceError> {
        self.make_durable(NOBODY)?;
        self.backend.forget_plan();
        self.start_jobs()
    }

    /// Does what the run must not show: without time, without wear, and nobody looks on. Then
    /// everything counts from zero.
    fn unmeasured<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let timed = self.backend.set_timed(false);
        self.backend.start_counting(0);
        let observers = std::mem::take(&mut self.observers);
        let result = work(self);
        self.observers = observers;
        self.backend.set_timed(timed);
        self.backend.start_counting(self.config.nand.endurance);
        self.backend.forget_wear();
        // That is said of merges at the end of the run.
        self.unmerged = false;
        self.observers.restart(&self.as_observed());
        result
    }

    /// A full-drive write had this write amplification.
    fn end_round(&self, done: &mut Preconditioning, waf: f64) {
        done.drive_writes += 1;
        done.settled = done
            .waf
            .last()
            .is_some_and(|last| (waf - last).abs() <= self.config.precondition.tolerance * last);
        done.waf.push(waf);
    }

    fn fill(
        &mut self,
        state: Precondition,
        done: &mut Preconditioning,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<bool, DeviceError> {
        if state == Precondition::Image {
            return Err(DeviceError::Config(
                "precondition.state: only a run of an experiment begins with an image; a drive to \
                 be served is copied with its file"
                    .into(),
            ));
        }
        if matches!(state, Precondition::Empty | Precondition::Trace) {
            done.settled = true;
            return Ok(true);
        }
        let (pages, ppb) = (u64::from(self.logical_pages), self.geometry.pages_per_block);
        let rounds = if state == Precondition::Steady {
            u64::from(self.config.precondition.max_drive_writes)
        } else {
            0
        };
        let most = pages * (1 + rounds);
        for lbn in LogicalBlock(0).run(self.logical_pages / ppb) {
            self.write_now(lbn.range(ppb))?;
            done.pages_written += u64::from(ppb);
            if lbn.0 % 1024 == 0 && !progress(done.pages_written, most) {
                return Ok(false);
            }
        }
        // Log blocks are open in the steady state, not in one that was filled in order.
        self.merge_all();
        let mut rng = Pcg64Mcg::seed_from_u64(self.config.seed);
        while state == Precondition::Steady
            && done.drive_writes < self.config.precondition.max_drive_writes
            && !done.settled
        {
            let before = self.backend.counters().programmed;
            let mut next = [Lpn(0); AHEAD];
            for i in (0..pages).step_by(AHEAD) {
                let next = &mut next[..(pages - i).min(AHEAD as u64) as usize];
                next.fill_with(|| Lpn(rng.random_range(0..self.logical_pages)));
                self.backend.mapping().fetch(next);
                for &mut lpn in next {
                    self.write_now(lpn..lpn + 1)?;
                }
                if i % (1 << 16) == 0 && !progress(done.pages_written + i, most) {
                    return Ok(false);
                }
            }
            done.pages_written += pages;
            let programs = self.backend.counters().programmed - before;
            self.end_round(done, programs as f64 / pages as f64);
        }
        if state == Precondition::Steady {
            // The run is not to pay for what is left in open program units.
            self.end_pass()?;
        }
        done.settled |= state == Precondition::Full;
        Ok(true)
    }
}

/// A workload that would have to be passed over too often to use the drive.
fn writes_too_little(pages: u64, drive: u64) -> DeviceError {
    DeviceError::Config(format!(
        "precondition.state: the workload writes {pages} of the drive's {drive} pages, and would \
         have to be passed over more than {PASSES} times to use it once; take \"steady\""
    ))
}
