//! The table `buffer`: its size, and what requests wait for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BufferConfig;
use crate::support::units::Bytes;

/// Write buffer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BufferSection {
    /// RAM for data pages.
    pub size: Bytes,
    /// What a request waits for.
    #[serde(default)]
    pub write_back: WriteBack,
    /// A battery keeps the RAM: flush and FUA are answered at once, and after a power cut what it
    /// held is stored.
    #[serde(default)]
    pub battery: bool,
    /// Replacement scheme.
    pub scheme: BufferConfig,
}

/// What a request that makes the buffer evict pages waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteBack {
    /// For the flushes that it causes.
    Foreground,
    /// Until the slots that it needs are free.
    #[default]
    Background,
}
