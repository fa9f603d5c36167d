//! The flash array: geometry, timing, what its chips can do.

pub mod page_times;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use page_times::PageTimes;

use crate::support::units::{Bytes, Nanos};

/// The flash array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NandConfig {
    /// Buses between controller and chips.
    pub channels: u32,
    /// Chips (packages, elements, banks) on each channel.
    pub chips_per_channel: u32,
    /// Dies in each chip; each runs one command at a time.
    pub dies_per_chip: u32,
    /// Planes in each die.
    pub planes_per_die: u32,
    /// Erase blocks in each plane.
    pub blocks_per_plane: u32,
    /// Flash pages (read units) in each erase block.
    pub pages_per_block: u32,
    /// Size of a flash page: what one array read fetches.
    pub page_size: Bytes,
    /// Size of a mapped page, the unit of the buffer and the FTL; divides `page_size`. Default:
    /// `page_size`.
    #[serde(default)]
    pub mapping_unit: Option<Bytes>,
    /// Flash pages per plane that one program writes at once (3 for one-shot TLC).
    #[serde(default = "one_u32")]
    pub pages_per_program: u32,
    /// Drive all planes of a die together: one erase unit spans them, and one program writes to
    /// each. Reads go one plane after the other: two pages of two planes take twice the time of one
    /// (`two_plane` has reads that share the array time).
    #[serde(default)]
    pub multi_plane: bool,
    /// Order in which the pages of a block may be programmed.
    #[serde(default)]
    pub program_order: ProgramOrder,
    /// How long each operation takes.
    pub timing: TimingConfig,
    /// Which waiting operation a free die takes.
    #[serde(default)]
    pub scheduling: Scheduling,
    /// Copies inside a plane stay off the bus.
    #[serde(default)]
    pub copy_back: bool,
    /// Energy per operation.
    #[serde(default)]
    pub energy: EnergyConfig,
    /// Erases that a block endures, 0 for no limit. A block that is worn out is not written any
    /// more.
    #[serde(default)]
    pub endurance: u32,
    /// The chips of a channel share its bus, which serves dies in the order of asking, the lowest
    /// first of those that ask at the same time; without, each chip has a bus of its own.
    #[serde(default = "yes")]
    pub shared_bus: bool,
    /// Which pages of a block take which of several times.
    #[serde(default)]
    pub page_types: PageTypes,
    /// Planes of a die that do the same at the same time.
    #[serde(default)]
    pub two_plane: Option<TwoPlaneConfig>,
    /// Cache program: the next page's data cross the bus while the last one is programmed. The time
    /// from the cache register to the data register.
    #[serde(default)]
    pub cache_program: Option<Nanos>,
    /// Programs and erases give way to host reads; needs `scheduling = "read-first"`.
    #[serde(default)]
    pub suspend: Option<SuspendConfig>,
}

fn one_u32() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// Which pages of a block have which type, where `timing` gives several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageTypes {
    /// The types take turns: page `p` has type `p` modulo their number.
    #[default]
    Cycle,
    /// As chips order the pages of neighbouring wordlines: the first page of a wordline comes one
    /// wordline ahead of the second page of the one before, and so on.
    Shadow,
}

/// Planes of a die that take the same command at the same time (two-plane operations, on chips with
/// more also of more planes): ready operations of one kind that the rules let go together share the
/// array time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "a data sheet answers each by itself")]
pub struct TwoPlaneConfig {
    /// Reads go together.
    pub read: bool,
    /// Programs, and copies inside planes.
    pub program: bool,
    /// Erases.
    pub erase: bool,
    /// Which planes may.
    pub planes: PlaneGroups,
    /// Only pages with the same number in their blocks.
    pub same_page: bool,
    /// Only blocks with the same number in their planes.
    pub same_block: bool,
    /// Between the data of one plane and the next of a program (tDBSY).
    pub delay: Nanos,
    /// Waiting operations of a die that are looked at for one that goes together with the next, in
    /// the order in which they would be taken. Each plane keeps its order: only the operation that
    /// waits first for a plane can go along. What a request reads of adjacent pages of a block is
    /// one operation, or one for each flash page where that holds several mapped pages; what has
    /// gone along and has pages left is taken up before the others.
    pub lookahead: u32,
}

impl Default for TwoPlaneConfig {
    fn default() -> Self {
        Self {
            read: true,
            program: true,
            erase: true,
            planes: PlaneGroups::Pairs,
            same_page: true,
            same_block: false,
            delay: Nanos(0),
            lookahead: 64,
        }
    }
}

/// Planes that may work together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlaneGroups {
    /// 0 and 1, 2 and 3, and so on.
    #[default]
    Pairs,
    /// All planes of a die.
    All,
}

/// Programs and erases that stop while a host read is served.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SuspendConfig {
    /// Programs can be suspended.
    pub program: bool,
    /// Erases can be suspended.
    pub erase: bool,
    /// Until the die is free for the read. What would end in this time or less is not suspended.
    pub latency: Nanos,
    /// Until the array goes on afterwards.
    pub resume: Nanos,
    /// How often one program or erase is suspended at most.
    pub at_most: u32,
}

impl Default for SuspendConfig {
    fn default() -> Self {
        Self { program: true, erase: true, latency: Nanos(0), resume: Nanos(0), at_most: 8 }
    }
}

/// Order in which a chip lets the pages of a block be programmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProgramOrder {
    /// Each page right after the one before.
    #[default]
    Sequential,
    /// Upwards, pages may be left out.
    Ascending,
    /// Any erased page.
    Any,
}

/// Which waiting operation a free die takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// The one that became ready first.
    #[default]
    Fifo,
    /// Host reads before everything else, then the one that became ready first.
    ReadFirst,
}

/// How long the flash operations take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimingConfig {
    /// Cell array to register, one flash page (tR); where types of pages differ, one time for each:
    /// `"40us / 65us"`.
    pub read: PageTimes,
    /// Register to cell array, one program (tPROG); the same.
    pub program: PageTimes,
    /// One block erase (tBERS).
    pub erase: Nanos,
    /// Bus, one mapped page.
    pub transfer: Nanos,
    /// What crosses the bus in that time, where it is not one mapped page: `"512 B"`. Mapped pages
    /// of any size that it divides then take their share.
    #[serde(default)]
    pub transfer_per: Option<Bytes>,
    /// Bus, command and address of each operation.
    #[serde(default)]
    pub command: Nanos,
    /// RAM copy of one page that the buffer serves or takes.
    #[serde(default)]
    pub ram: Nanos,
}

/// Energy per operation, in mJ.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnergyConfig {
    /// One flash page read.
    #[serde(default)]
    pub read_mj: f64,
    /// One program.
    #[serde(default)]
    pub program_mj: f64,
    /// One block erase.
    #[serde(default)]
    pub erase_mj: f64,
}

impl EnergyConfig {
    /// False where no operation is said to take any: then nothing is known of it.
    pub fn is_known(&self) -> bool {
        *self != Self::default()
    }
}
