//! The clock of a drive whose answers come when its own time says so.

use std::time::{Duration, Instant};

use eraseblock_core::metrics::Latency;
use eraseblock_core::metrics::latency::LatencySummary;

/// So long before something happens the server no longer sleeps: it would wake too late. A processor
/// that has been idle takes most of it.
const WAKE_BEFORE: Duration = Duration::from_micros(150);

/// The system wakes this thread when it has asked for, and not up to 50 us later to save power.
pub fn wake_in_time() {
    // Where it cannot be had answers are later, and the server says by how much.
    #[cfg(target_os = "linux")]
    {
        _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }
}

/// Goes with the clock on the wall from the first request on.
#[derive(Debug, Default)]
pub struct Clock {
    /// The drive's time at a moment, if it goes by now.
    since: Option<(u64, Instant)>,
    /// By how much answers came after their time.
    late: Latency,
}

impl Clock {
    /// Begins to go, if it does not go yet, at the drive's time `now`.
    pub fn start(&mut self, now: u64) {
        self.since.get_or_insert_with(|| (now, Instant::now()));
    }

    /// The drive's time; `None` where it stands.
    #[inline]
    pub fn now(&self) -> Option<u64> {
        let (began, at) = self.since?;
        Some(began + at.elapsed().as_nanos().min(u128::from(u64::MAX >> 8)) as u64)
    }

    /// How long the server may sleep if something happens at `time` of the drive's that somebody
    /// may wait for. Nobody is sure to wake in time, so the last part is spent awake.
    pub fn sleep_until(&self, time: u64, somebody_waits: bool) -> Duration {
        let Some(now) = self.now() else { return Duration::MAX };
        let left = Duration::from_nanos(time.saturating_sub(now));
        if somebody_waits { left.saturating_sub(WAKE_BEFORE) } else { left }
    }

    /// An answer has gone out that was due at `due` of the drive's time.
    #[inline]
    pub fn answered(&mut self, due: u64) {
        if let Some(now) = self.now() {
            self.late.record(now.saturating_sub(due));
        }
    }

    /// By how much answers came after their time.
    pub fn late(&self) -> &Latency {
        &self.late
    }

    /// By how much answers came after their time, in ns; `None` where there were none.
    pub fn lateness(&self) -> Option<LatencySummary> {
        self.late.summary()
    }
}
