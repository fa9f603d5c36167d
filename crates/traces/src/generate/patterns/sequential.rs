//! Requests one behind the other.

use eraseblock_core::config::Bytes;
use eraseblock_core::support::registry::About;

use super::{Places, pattern};
use crate::generate::{Generator, Given};

pub(crate) const ABOUT: About = About {
    title: "sequential",
    summary: "Each request right behind the one before, and again from the start when the \
        footprint ends.",
    ..About::PLAIN
};

pattern! {
    /// Parameters of the sequential pattern.
    {}
}

impl Config {
    pub(crate) fn build(&self, given: &Given) -> Result<Generator, String> {
        let shared = self.shared();
        shared.check()?;
        shared.build(given, Behind { next: 0, end: self.footprint.0 }, Bytes(1))
    }
}

struct Behind {
    next: u64,
    end: u64,
}

impl Places for Behind {
    #[inline]
    fn next_byte(&mut self, len: u64) -> u64 {
        let byte = if self.next + len > self.end { 0 } else { self.next };
        self.next = byte + len;
        byte
    }
}
