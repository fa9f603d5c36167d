//! Real-time priority for the one thread that answers when the drive would: no other work of the
//! machine makes it wait then.
//!
//! It never has a processor for ever: of each tenth of a second it spends a part at normal
//! priority, unless it sleeps for as long as that anyhow. Whatever takes long is done at normal
//! priority.

#[cfg(target_os = "linux")]
use std::io;
use std::time::Instant;

use crate::share::Share;

/// The priority of this thread, which is normal again when this is dropped.
#[derive(Debug)]
pub struct Priority {
    high: bool,
    /// Why it cannot be had.
    refused: Option<String>,
    share: Share,
    /// Times of the share are counted from here.
    asked: Instant,
}

impl Priority {
    /// Asks whether it can be had; it is normal still.
    pub fn ask() -> Self {
        let (share, asked) = (Share::default(), Instant::now());
        let mut priority = Self { high: false, refused: None, share, asked };
        priority.raise();
        priority.lower();
        priority
    }

    /// Why it cannot be had, if that is so.
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    fn raise(&mut self) {
        if !self.high && self.refused.is_none() {
            self.refused = real_time().err();
            self.high = self.refused.is_none();
        }
    }

    /// It is normal from now on, until the piece of time is over.
    pub fn lower(&mut self) {
        if std::mem::take(&mut self.high) {
            normal();
        }
    }

    /// Real-time priority, as far as it has not been had for too long. To be called again and
    /// again.
    pub fn keep(&mut self) {
        if self.refused.is_some() {
            return;
        }
        match self.share.changes(self.asked.elapsed()) {
            Some(true) => self.raise(),
            Some(false) => self.lower(),
            None => {}
        }
    }

    /// The thread has slept since then.
    pub fn slept_since(&mut self, then: Instant) {
        self.share.sleeps(then.elapsed());
    }
}

impl Drop for Priority {
    fn drop(&mut self) {
        self.lower();
    }
}

#[cfg(target_os = "linux")]
use thread_priority::{
    NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue,
    ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};

/// The lowest priority that comes before all work without one.
#[cfg(target_os = "linux")]
fn real_time() -> Result<(), String> {
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let set = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy);
    set.map_err(|why| {
        let why = match why {
            thread_priority::Error::OS(code) => io::Error::from_raw_os_error(code).to_string(),
            other => other.to_string(),
        };
        format!("{why}; `ulimit -r 1` or CAP_SYS_NICE allows it")
    })
}

/// This thread has normal priority from now on: threads begin with that of the one that begins
/// them.
#[cfg(target_os = "linux")]
pub fn normal() {
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Other);
    // It stays as nice as it is, for which the library has numbers of its own.
    let nice = rustix::process::getpriority_process(None).unwrap_or(0);
    let same = (u8::MIN..=u8::MAX)
        .filter_map(|value| ThreadPriorityValue::try_from(value).ok())
        .map(ThreadPriority::Crossplatform)
        .find(|value| value.to_posix(policy).is_ok_and(|found| found == nice));
    let same = same.unwrap_or(ThreadPriority::Min);
    // A thread may always give up what it has.
    _ = set_thread_priority_and_policy(thread_native_id(), same, policy);
}

#[cfg(not(target_os = "linux"))]
fn real_time() -> Result<(), String> {
    Err("this system is not Linux".to_owned())
}

/// Nothing, where no thread ever has another one.
#[cfg(not(target_os = "linux"))]
pub fn normal() {}
