//! The state of the drive before the first request. Filling goes through the mapping's own path,
//! without time, and always ends: a fill writes each page once, a steady state is given up after a
//! number of drive writes.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use super::{Device, DeviceError};
use crate::config::Precondition;
use crate::metrics::report::Preconditioning;
use crate::support::ids::{LogicalBlock, Lpn};

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
        let timed = self.backend.set_timed(false);
        // Nothing wears out before the run begins.
        self.backend.start_counting(0);
        // Nor does anybody look on.
        let observers = std::mem::take(&mut self.observers);
        let result = self.fill(state, &mut done, progress);
        self.observers = observers;
        self.backend.set_timed(timed);
        self.backend.start_counting(self.config.nand.endurance);
        self.backend.forget_wear();
        self.preconditioning = done;
        // That is said of merges at the end of the run.
        self.unmerged = false;
        self.observers.restart(&self.as_observed());
        let finished = result?;
        self.check_faults()?;
        Ok(finished)
    }

    fn fill(
        &mut self,
        state: Precondition,
        done: &mut Preconditioning,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<bool, DeviceError> {
        if state == Precondition::Empty {
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
        let mut last = None;
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
            done.drive_writes += 1;
            let waf = (self.backend.counters().programmed - before) as f64 / pages as f64;
            done.settled = last.is_some_and(|last: f64| {
                (waf - last).abs() <= self.config.precondition.tolerance * last
            });
            last = Some(waf);
            done.waf.push(waf);
        }
        done.settled |= state == Precondition::Full;
        Ok(true)
    }
}
