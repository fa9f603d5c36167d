//! Lines and records that are not what their format promises, passed over because the user said so.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::error::Unexpected;

/// How many of them are kept as they were reported.
const SHOWN: usize = 5;

/// Kinds that are counted apart; there are no more than a parser has messages.
const KINDS: usize = 64;

/// Lines or records of a trace that were passed over because they are not what its format promises.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct BadLines {
    /// All of them.
    pub count: u64,
    /// By what was expected in their place.
    pub by_expected: BTreeMap<String, u64>,
    /// The first ones: where, what was found there, and what was expected.
    pub first: Vec<String>,
    /// Bytes at the end of a binary file that were not read, because a damaged record does not show
    /// where the next one begins.
    pub unread_bytes: u64,
}

impl BadLines {
    /// Adds one at `place`.
    #[cold]
    pub(crate) fn add(&mut self, place: &str, unexpected: Unexpected) {
        let Unexpected { found, expected } = unexpected;
        self.count += 1;
        if self.first.len() < SHOWN {
            self.first.push(format!("{place}: found {found}, expected {expected}"));
        }
        let kind = if self.by_expected.len() < KINDS || self.by_expected.contains_key(&expected) {
            expected
        } else {
            "other things".to_owned()
        };
        *self.by_expected.entry(kind).or_default() += 1;
    }

    /// A sentence for messages and reports; `None` where there are none.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        let first = self.first.first()?;
        let unread = match self.unread_bytes {
            0 => String::new(),
            bytes => format!("; the {bytes} bytes after the last one could not be read as records"),
        };
        Some(match self.count {
            1 => format!("1 line or record was bad and was skipped ({first}){unread}"),
            count => {
                format!(
                    "{count} lines or records were bad and were skipped (the first: \
                     {first}){unread}"
                )
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_counted_by_kind_and_the_first_ones_kept() {
        let mut bad = BadLines::default();
        assert_eq!(bad.sentence(), None);
        for number in 0..100 {
            let expected = if number < 90 { "r or w".to_owned() } else { format!("kind {number}") };
            bad.add(&format!("line {number}"), Unexpected::new(format!("`{number}`"), expected));
        }
        assert_eq!((bad.count, bad.first.len(), bad.by_expected.len()), (100, SHOWN, 11));
        assert_eq!(bad.by_expected["r or w"], 90);
        assert_eq!(bad.first[1], "line 1: found `1`, expected r or w");
        for number in 0..100 {
            bad.add("line 1", Unexpected::new("x", format!("a thing {number}")));
        }
        assert_eq!((bad.by_expected.len(), bad.by_expected["other things"]), (KINDS + 1, 47));
        bad.unread_bytes = 7;
        assert_eq!(
            bad.sentence().unwrap(),
            "200 lines or records were bad and were skipped (the first: line 0: found `0`, \
             expected r or w); the 7 bytes after the last one could not be read as records"
        );
    }
}
