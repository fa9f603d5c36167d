//! What can be wrong with an experiment, in one line each.

use std::fmt;

/// A configuration that cannot be used: where it was written and what is wrong with it, in one
/// line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// Where: `file:line`, `--set key=value` or `preset name:line`.
    pub place: String,
    /// Path of the key that is wrong, where there is one.
    pub key: Option<String>,
    /// What was found, what was expected and what may have been meant.
    pub message: String,
    /// The nearest right key or name, where one is near.
    pub meant: Option<String>,
}

impl ConfigError {
    pub(crate) fn new(
        place: impl fmt::Display,
        key: Option<&str>,
        message: impl Into<String>,
    ) -> Self {
        // Whatever a library contributed, the whole stays one line.
        let message = message.into().split_whitespace().collect::<Vec<_>>().join(" ");
        Self { place: place.to_string(), key: key.map(str::to_owned), message, meant: None }
    }

    /// The same, with what was meant.
    pub(crate) fn meaning(self, meant: Option<impl Into<String>>) -> Self {
        Self { meant: meant.map(Into::into), ..self }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for ConfigError {}
