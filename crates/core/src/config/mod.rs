//! The one definition of a drive and of how it is driven, composed of the stages' own tables. TOML
//! files, `--set`, Python keywords and the JSON Schema all come from these structs.

mod precondition;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use precondition::{Precondition, PreconditionConfig};

pub use crate::buffer::config::{BufferSection, PowerLoss, WriteBack};
pub use crate::ftl::config::FtlConfig;
pub use crate::host::config::{EndOfRun, HostConfig, PartialPage, Replay};
pub use crate::nand::config::{
    EnergyConfig, NandConfig, PageTimes, PageTypes, PlaneGroups, ProgramOrder, Scheduling,
    SuspendConfig, TimingConfig, TwoPlaneConfig, page_times,
};
pub use crate::support::units::{self, Bytes, Nanos};

/// A simulated drive and the way its host drives it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceConfig {
    /// Flash array: geometry, timing, rules, energy.
    pub nand: NandConfig,
    /// Flash translation layer.
    pub ftl: FtlConfig,
    /// Write buffer.
    pub buffer: BufferSection,
    /// How requests reach the drive.
    #[serde(default)]
    pub host: HostConfig,
    /// State of the drive before the first request.
    #[serde(default)]
    pub precondition: PreconditionConfig,
    /// Seed of everything random inside the drive.
    #[serde(default = "one")]
    pub seed: u64,
}

impl DeviceConfig {
    /// Reads it from JSON, as serde does, in code that is compiled here alone: what is generic
    /// would be compiled again in each crate that reads one.
    ///
    /// # Errors
    /// Names the key that is wrong.
    pub fn from_json(json: serde_json::Value) -> serde_json::Result<Self> {
        serde_json::from_value(json)
    }
}

fn one() -> u64 {
    1
}
