//! What comes before what is measured: the life of a drive that a run begins with, and the
//! warm-up, requests that come first, are served as all others, and are not measured.
//!
//! The run does not halt at its end. What had been counted by then is taken off at the end of the
//! run; its requests that are answered later count to it by their numbers. So buffer, FTL and flash
//! are found as these requests left them, and the accounts of the whole run still balance.

use super::{Device, DeviceError};
use crate::metrics::observer::Drive;
use crate::metrics::{Counters, Wear};
use crate::nand::Special;

/// What had been counted at the end of the warm-up, and those of its requests that were answered
/// since; nothing where there is none.
#[derive(Debug, Default)]
pub(super) struct WarmedUp {
    counters: Counters,
    special: Special,
    /// By block.
    erases: Vec<u32>,
}

impl WarmedUp {
    /// What was counted of it.
    #[inline]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Blocks had been erased so often when the run began.
    pub fn start_with(&mut self, erases: &[u32]) {
        self.erases = erases.to_vec();
    }

    /// A request of it is answered.
    pub fn note_answer(&mut self) {
        self.counters.completed += 1;
    }
}

impl Device {
    /// Whether the next request is the first one that is measured.
    #[inline]
    pub(super) fn warm_up_ends(&self) -> bool {
        let warm_up = self.config.host.warm_up;
        warm_up > 0 && self.backend.counters().submitted == warm_up
    }

    /// From here on requests are measured.
    #[cold]
    pub(super) fn begin_measuring(&mut self) {
        let counters = self.backend.counters().clone();
        self.requests.measure_from(counters.submitted, self.backend.engine().now());
        self.warmed_up = WarmedUp {
            counters,
            special: self.backend.engine().special(),
            erases: self.backend.flash().erases().to_vec(),
        };
        // Another buffer may have left the FTL with more erased blocks than this one.
        let free_pages = self.geometry.pages().into();
        self.observers.measure(&Drive { free_pages, ..self.as_observed() });
    }

    /// Requests that came before those that are measured; none where nobody asked for them.
    pub(super) fn requests_warmed_up(&self) -> Option<u64> {
        (self.config.host.warm_up > 0).then_some(self.warmed_up.counters.submitted)
    }

    /// What has been counted of what is measured.
    pub(super) fn measured(&self) -> Counters {
        self.backend.counters().since(&self.warmed_up.counters)
    }

    /// What the chips did beside one command at a time, of what is measured.
    pub(super) fn measured_special(&self) -> Special {
        self.backend.engine().special().since(&self.warmed_up.special)
    }

    /// Erases of what is measured.
    pub(super) fn measured_wear(&self) -> Wear {
        let all = self.backend.flash().erases();
        if self.warmed_up.erases.is_empty() {
            return Wear::new(all, &self.geometry);
        }
        let both = all.iter().zip(&self.warmed_up.erases);
        let measured: Vec<u32> = both.map(|(all, before)| all - before).collect();
        Wear::new(&measured, &self.geometry)
    }

    /// A run needs a request that is measured.
    pub(super) fn check_warm_up(&self) -> Result<(), DeviceError> {
        let (submitted, warm_up) = (self.backend.counters().submitted, self.config.host.warm_up);
        if warm_up == 0 || submitted > warm_up {
            return Ok(());
        }
        Err(DeviceError::Config(if self.worn_out {
            format!(
                "host.warm_up: the drive reached the end of its life in the warm-up, after \
                 {submitted} of {warm_up} requests; warm up with fewer"
            )
        } else {
            nothing_measured(warm_up, submitted)
        }))
    }
}

/// What to say of a warm-up of so many requests that a workload of `requests` has none after.
pub fn nothing_measured(warm_up: u64, requests: u64) -> String {
    format!(
        "host.warm_up: found {warm_up}, but this drive gets {requests} requests: none would be \
         measured; warm up with fewer"
    )
}
