//! Lets a caller end a long pass over a workload.

use crate::error::TraceError;

/// Called with the number of requests passed so far, some thousand of them apart; `false` ends the
/// pass.
pub type Watch<'a> = &'a mut dyn FnMut(u64) -> bool;

/// Requests between two calls.
const EVERY: u64 = 1 << 14;

/// Counts requests and asks the caller now and then.
pub(crate) struct Pace<'a> {
    watch: Watch<'a>,
    passed: u64,
}

impl<'a> Pace<'a> {
    pub fn new(watch: Watch<'a>) -> Self {
        Self { watch, passed: 0 }
    }

    /// One more request; an error if the caller wants no more.
    #[inline]
    pub fn step(&mut self) -> Result<(), TraceError> {
        let ask = self.passed.is_multiple_of(EVERY);
        self.passed += 1;
        if ask { self.ask(self.passed - 1) } else { Ok(()) }
    }

    /// Asks in the middle of a request that takes long.
    pub fn rest(&mut self) -> Result<(), TraceError> {
        self.ask(self.passed)
    }

    fn ask(&mut self, passed: u64) -> Result<(), TraceError> {
        if (self.watch)(passed) { Ok(()) } else { Err(TraceError::cancelled()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_is_asked_now_and_then_and_may_end_it() {
        let mut asked = Vec::new();
        let mut watch = |passed| {
            asked.push(passed);
            passed < 2 * EVERY
        };
        let mut pace = Pace::new(&mut watch);
        let mut steps = 0;
        let error = loop {
            match pace.step() {
                Ok(()) => steps += 1,
                Err(error) => break error,
            }
        };
        assert!(error.is_cancelled() && !error.is_input());
        assert_eq!((steps, asked), (2 * EVERY, vec![0, EVERY, 2 * EVERY]));
    }
}
