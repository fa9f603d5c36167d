//! No buffer: every page goes straight to flash and every read comes from there.
//!
//! **What it does.** Nothing: a write is answered when flash has stored it, a read comes from
//! flash, a flush command has nothing to wait for but programs under way.
//!
//! **When it wins**: as the measure for all others; and where the FTL alone gives enough. **When it
//! loses**: wherever a page is written twice, and in the response time of each write.
//!
//! Cost of a page access: O(1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, Buffer, Outcome, Shape, Span, View};
use crate::support::ids::Lpn;
use crate::support::registry::{About, Example};

/// What `list` says.
pub const ABOUT: About = About {
    title: "no buffer",
    summary: "Every request goes straight to flash; a write is answered when it is stored.",
    examples: &[Example {
        source: "",
        shows: "Nothing is kept: the read of page 1 goes to flash although it was just written.",
        capacity: 4,
        pages_per_block: 4,
        options: "",
        requests: "W 0-2, R 1, W 1",
    }],
    source: include_str!("none.rs"),
    ..About::PLAIN
};

/// No options.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {}

impl Config {
    /// Builds it.
    ///
    /// # Errors
    /// None.
    pub fn build(&self, _shape: Shape) -> Result<Box<dyn Buffer>, String> {
        Ok(Box::new(NoBuffer))
    }
}

#[derive(Debug)]
struct NoBuffer;

impl Buffer for NoBuffer {
    fn takes_nothing(&self) -> bool {
        true
    }

    fn access(&mut self, span: &Span, _view: &dyn View, out: &mut Outcome) {
        if span.count == 1 {
            return out.answers.push(Answer::Bypass);
        }
        out.answers.extend((0..span.count).map(|_| Answer::Bypass));
    }

    fn trim(&mut self, _first: Lpn, _count: u32) {}

    fn flush(&mut self, _out: &mut Outcome) {}

    fn flush_pages(&mut self, _first: Lpn, _count: u32, _out: &mut Outcome) {}

    fn len(&self) -> u32 {
        0
    }

    fn holds(&self, _lpn: Lpn) -> bool {
        false
    }

    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    fn metadata_bytes(&self) -> usize {
        0
    }

    fn dump(&self) -> Vec<Vec<Lpn>> {
        Vec::new()
    }
}
