//! Who is told, in order, of everything that the buffer decides.

use super::{Device, DeviceError};
use crate::buffer::Outcome;

/// What the buffer was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occasion {
    /// The host reads or writes pages of one logical block. A request over several blocks asks
    /// several times.
    Access {
        /// First logical page.
        first: u32,
        /// Pages.
        count: u32,
        /// It writes them; else it reads them.
        write: bool,
    },
    /// Pages that were just written have to be stored: forced unit access.
    Force {
        /// First logical page.
        first: u32,
        /// Pages.
        count: u32,
    },
    /// The host no longer needs pages.
    Trim {
        /// First logical page.
        first: u32,
        /// Pages.
        count: u32,
        /// Those of them that the buffer held.
        dropped: Vec<u32>,
    },
    /// The host wants everything stored.
    Flush {
        /// A battery holds the buffer up, so that it is not asked.
        battery: bool,
    },
    /// The run ends; the buffer is emptied if the configuration says so.
    End,
}

/// One call of the buffer, and what it decided.
#[derive(Debug)]
pub struct Decision<'a> {
    /// Number of the request, from 0 in the order of the workload; none at the end.
    pub request: Option<u64>,
    /// What it was asked.
    pub occasion: Occasion,
    /// What it decided.
    pub outcome: &'a Outcome,
}

/// Is told of decisions before they are carried out. Filling the drive before the first request
/// goes past the buffer, so that there is nothing to tell of it.
pub trait Watcher: std::fmt::Debug + Send {
    /// The buffer has decided.
    ///
    /// # Errors
    /// A sentence that says why the run has to end.
    fn decided(&mut self, decision: &Decision<'_>) -> Result<(), String>;
}

impl Device {
    /// Tells `watcher` what the buffer decides from now on, its notes included.
    pub fn watch(&mut self, watcher: Box<dyn Watcher>) {
        self.watcher = Some(watcher);
    }

    /// Tells whoever watches.
    #[inline]
    pub(super) fn notify(
        &mut self,
        occasion: impl FnOnce() -> Occasion,
        outcome: &Outcome,
    ) -> Result<(), DeviceError> {
        let Some(watcher) = &mut self.watcher else { return Ok(()) };
        let occasion = occasion();
        let request = (occasion != Occasion::End).then(|| self.counters.submitted - 1);
        watcher.decided(&Decision { request, occasion, outcome }).map_err(DeviceError::Watcher)
    }

    /// Tells whoever watches that the host trims pages, before they are gone.
    pub(super) fn notify_trim(&mut self, first: u32, count: u32) -> Result<(), DeviceError> {
        if self.watcher.is_none() {
            return Ok(());
        }
        let dropped = (first..first + count).filter(|&lpn| self.buffer.holds(lpn)).collect();
        self.notify(|| Occasion::Trim { first, count, dropped }, &Outcome::default())
    }
}
