//! The table `ftl`: how much is exported, and what the translation layer is composed of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MappingConfig;
use super::alloc::AllocatorConfig;
use super::gc::GcConfig;
use super::victim::VictimConfig;
use super::wear::WearConfig;
use crate::support::units::Bytes;

/// Flash translation layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FtlConfig {
    /// Capacity that the host sees; rounded down to whole logical blocks.
    #[serde(default)]
    pub exported: Option<Bytes>,
    /// Spare flash as (physical - user) / user, in place of `exported`. Default: 0.07, where
    /// `exported` is not given either.
    #[serde(default)]
    pub over_provisioning: Option<f64>,
    /// How logical pages are found.
    pub mapping: MappingConfig,
    /// Which unit each page goes to, under page-level mappings. Default: `round-robin`.
    #[serde(default)]
    pub allocator: Option<AllocatorConfig>,
    /// Which block is collected next, under page-level mappings. Default: `greedy`.
    #[serde(default)]
    pub victim: Option<VictimConfig>,
    /// How wear is levelled, under page-level mappings. Default: `none`.
    #[serde(default)]
    pub wear: Option<WearConfig>,
    /// Garbage collection of page-level mappings.
    #[serde(default)]
    pub gc: GcConfig,
}

/// Spare flash of drives that say nothing of their capacity.
const SPARE: f64 = 0.07;

impl FtlConfig {
    /// Spells out how much spare flash there is where nothing is said of the capacity.
    pub fn spell_out(&mut self) {
        if self.exported.is_none() {
            self.over_provisioning.get_or_insert(SPARE);
        }
    }

    /// Spare flash, where `exported` does not say the capacity.
    pub fn spare(&self) -> f64 {
        self.over_provisioning.unwrap_or(SPARE)
    }
}
