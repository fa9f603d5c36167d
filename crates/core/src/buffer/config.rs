//! The table `buffer`: its size, and what requests wait for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BufferConfig, registry};
use crate::support::units::{Bytes, Nanos};

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
    /// What a power cut leaves of the RAM where no battery keeps it.
    #[serde(default, skip_serializing_if = "PowerLoss::is_none")]
    #[schemars(extend("default" = "none"))]
    pub power_loss: PowerLoss,
    /// How long the capacitor of `power_loss` lets the drive go on: less than it takes to end what
    /// the chips are doing and to save a full buffer is refused. Default: as long as that takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_up: Option<Nanos>,
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

/// What a power cut leaves of the RAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PowerLoss {
    /// Nothing.
    #[default]
    None,
    /// All of it: on its last charge the drive copies what the flash lacks to an area that is kept
    /// erased for that, and stores it from there when power is back. A flush waits for flash as
    /// ever.
    Capacitor,
}

impl PowerLoss {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

impl BufferConfig {
    /// Whether what flash operations take decides in the scheme, even where no time passes.
    pub fn weighs_times(&self) -> bool {
        registry().iter().any(|entry| entry.name == self.name() && entry.about.weighs_times)
    }
}
