//! How much of the processor may be had before all other work.

use std::time::Duration;

/// Shares of the processor are counted in pieces of this length.
const PIECE: Duration = Duration::from_millis(100);
/// So much of each piece may be spent awake with real-time priority.
pub const MOST: Duration = Duration::from_millis(80);

/// The piece of time that it is: when it began, since any one moment, and how much of it has been
/// slept.
#[derive(Debug, Default)]
pub struct Share {
    began: Option<Duration>,
    slept: Duration,
}

impl Share {
    /// Whether the time from now on is to be spent before all other work; nothing if that stays as
    /// it is.
    pub fn changes(&mut self, now: Duration) -> Option<bool> {
        let passed = self.began.map(|began| now.saturating_sub(began));
        match passed {
            Some(passed) if passed < PIECE => {
                (passed.saturating_sub(self.slept) > MOST).then_some(false)
            }
            _ => {
                (self.began, self.slept) = (Some(now), Duration::ZERO);
                Some(true)
            }
        }
    }

    pub fn sleeps(&mut self, long: Duration) {
        self.slept += long;
    }
}
