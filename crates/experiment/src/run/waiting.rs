//! Runs of a process wait for what another one of them is making.

use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

use eraseblock_traces::Watch;

use super::RunError;

/// How often a run that waits asks whether it should go on.
const POLL: Duration = Duration::from_millis(10);

/// The lock of something that others may be making, once nobody does; `watch` says whether to go on
/// waiting.
pub(super) fn lock<'a, T>(
    made: &'a Mutex<T>,
    watch: Watch<'_>,
) -> Result<MutexGuard<'a, T>, RunError> {
    loop {
        match made.try_lock() {
            Ok(found) => return Ok(found),
            Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if !watch(0) => return Err(RunError::Cancelled),
            Err(TryLockError::WouldBlock) => thread::sleep(POLL),
        }
    }
}
