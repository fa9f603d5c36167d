//! The one definition of a drive and of how it is driven. TOML files, `--set`, Python keywords and the JSON Schema
//! all come from these structs.

mod nand;
pub mod page_times;
pub mod units;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use nand::{
    EnergyConfig, NandConfig, PageTypes, PlaneGroups, ProgramOrder, Scheduling, SuspendConfig, TimingConfig,
    TwoPlaneConfig,
};
pub use page_times::PageTimes;
pub use units::{Bytes, Nanos};

use crate::buffer::BufferConfig;
use crate::ftl::MappingConfig;
use crate::ftl::alloc::AllocatorConfig;
use crate::ftl::gc::GcConfig;
use crate::ftl::victim::VictimConfig;
use crate::ftl::wear::WearConfig;

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

fn one() -> u64 {
    1
}

/// Flash translation layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FtlConfig {
    /// Capacity that the host sees; rounded down to whole logical blocks.
    #[serde(default)]
    pub exported: Option<Bytes>,
    /// Spare flash as (physical - user) / user, in place of `exported`. Default: 0.07, where `exported` is not given either.
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

/// Write buffer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BufferSection {
    /// RAM for data pages.
    pub size: Bytes,
    /// What a request waits for.
    #[serde(default)]
    pub write_back: WriteBack,
    /// A battery keeps the RAM: flush and FUA are answered at once, and after a power cut what it held is stored.
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

/// How requests reach the drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostConfig {
    /// Arrival times of the workload, or a constant number of requests under way, or no time at all.
    pub replay: Replay,
    /// Requests admitted at once (open), or always under way (closed).
    pub max_outstanding: u32,
    /// Open loop: arrival times are divided by this.
    pub speedup: f64,
    /// What a request does that covers part of a page.
    pub partial_page: PartialPage,
    /// What happens to the buffer's dirty pages after the last request.
    pub end_of_run: EndOfRun,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            replay: Replay::Open,
            max_outstanding: 32,
            speedup: 1.0,
            partial_page: PartialPage::ReadModifyWrite,
            end_of_run: EndOfRun::Keep,
        }
    }
}

/// Where arrival times come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Replay {
    /// The workload's own arrival times.
    Open,
    /// The next request arrives when one of `max_outstanding` completes.
    Closed,
    /// No time: counts only, latencies are null.
    Untimed,
}

/// What a request does that covers part of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialPage {
    /// A write reads the rest of the page first, if it is not in the buffer.
    ReadModifyWrite,
    /// It stands for the whole page, as in the papers.
    Round,
}

/// What happens to the buffer's dirty pages after the last request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndOfRun {
    /// They stay in the buffer and are not counted.
    Keep,
    /// They are flushed and counted; log blocks that are open stay open.
    Flush,
    /// They are flushed and counted, and all log blocks are merged and counted.
    Merge,
}

/// State of the drive before the first request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PreconditionConfig {
    /// How the drive is filled.
    pub state: Precondition,
    /// Steady state: it counts as steady once write amplification over a full-drive write moved by less than this share.
    pub tolerance: f64,
    /// Steady state: give up after this many full-drive writes, and say so.
    pub max_drive_writes: u32,
}

impl Default for PreconditionConfig {
    fn default() -> Self {
        Self { state: Precondition::Full, tolerance: 0.01, max_drive_writes: 10 }
    }
}

/// How the drive is filled before the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Precondition {
    /// All flash erased.
    Empty,
    /// Every logical page written once, in order.
    Full,
    /// Filled, then overwritten at random until write amplification stays the same.
    Steady,
}
