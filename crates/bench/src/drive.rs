//! The drive that the benches run on: 8 channels x 4 chips x 2 dies x 2 planes, 75/750/3800 us.

use eraseblock_core::buffer::BufferConfig;
use eraseblock_core::config::{
    BufferSection, Bytes, DeviceConfig, EnergyConfig, FtlConfig, HostConfig, NandConfig, Nanos,
    PageTypes, PowerLoss, Precondition, PreconditionConfig, ProgramOrder, Replay, Scheduling,
    TimingConfig, WriteBack,
};
use eraseblock_core::ftl::MappingConfig;
use eraseblock_core::ftl::gc::GcConfig;

/// How much a bench does: the full figures, or the same shape a sixteenth as large for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// Pages of an erase block; the drive's capacity goes with it.
    pub pages_per_block: u32,
    /// Requests of a timed run.
    pub requests: u64,
    /// Page accesses of an untimed run.
    pub accesses: u64,
    /// Runs, of which the best counts.
    pub runs: u32,
}

impl Scale {
    /// The figures that are quoted.
    pub const FULL: Self =
        Self { pages_per_block: 256, requests: 1_000_000, accesses: 10_000_000, runs: 3 };
    /// The same in about a second, for tests.
    pub const QUICK: Self =
        Self { pages_per_block: 16, requests: 62_500, accesses: 100_000, runs: 1 };

    /// Pages that the drive exports: 4 GiB at full scale.
    pub fn exported_pages(self) -> u64 {
        4096 * u64::from(self.pages_per_block)
    }
}

/// Size of a page in bytes.
pub const PAGE: u64 = 4096;

/// The drive, 7.5 GiB raw at full scale, with 4 GiB exported; page mapping, no buffer, open loop,
/// empty.
pub fn drive(scale: Scale) -> DeviceConfig {
    DeviceConfig {
        nand: NandConfig {
            channels: 8,
            chips_per_channel: 4,
            dies_per_chip: 2,
            planes_per_die: 2,
            blocks_per_plane: 60,
            pages_per_block: scale.pages_per_block,
            page_size: Bytes(PAGE),
            mapping_unit: None,
            pages_per_program: 1,
            multi_plane: false,
            program_order: ProgramOrder::Sequential,
            timing: TimingConfig {
                read: Nanos(75_000).into(),
                program: Nanos(750_000).into(),
                erase: Nanos(3_800_000),
                transfer: Nanos(10_000),
                transfer_per: None,
                command: Nanos(0),
                ram: Nanos(0),
            },
            scheduling: Scheduling::Fifo,
            copy_back: false,
            energy: EnergyConfig::default(),
            endurance: 0,
            shared_bus: true,
            page_types: PageTypes::Cycle,
            two_plane: None,
            cache_program: None,
            suspend: None,
        },
        ftl: FtlConfig {
            exported: Some(Bytes(scale.exported_pages() * PAGE)),
            over_provisioning: None,
            mapping: mapping("page"),
            allocator: None,
            victim: None,
            wear: None,
            gc: GcConfig::default(),
        },
        buffer: buffer("none", 0),
        host: HostConfig::default(),
        precondition: PreconditionConfig {
            state: Precondition::Empty,
            ..PreconditionConfig::default()
        },
        seed: 1,
    }
}

/// A buffer with its default options.
pub fn buffer(name: &str, bytes: u64) -> BufferSection {
    let scheme =
        BufferConfig::by_name(name).unwrap_or_else(|| panic!("no buffer is called {name}"));
    BufferSection {
        size: Bytes(bytes),
        write_back: WriteBack::Background,
        battery: false,
        power_loss: PowerLoss::None,
        hold_up: None,
        scheme,
    }
}

/// A mapping with its default options.
pub fn mapping(name: &str) -> MappingConfig {
    MappingConfig::by_name(name).unwrap_or_else(|| panic!("no mapping is called {name}"))
}

/// The drive filled once, without time.
pub fn untimed(scale: Scale) -> DeviceConfig {
    let mut config = filled(scale);
    config.host.replay = Replay::Untimed;
    config
}

/// The drive with every page written once.
pub fn filled(scale: Scale) -> DeviceConfig {
    let mut config = drive(scale);
    config.precondition.state = Precondition::Full;
    config
}

/// A mapping with 128 log blocks, filled, and `queue_depth` requests always under way.
pub fn merging(name: &str, scale: Scale, queue_depth: u32, copy_back: bool) -> DeviceConfig {
    let mut config = filled(scale);
    config.nand.program_order = ProgramOrder::Ascending;
    config.nand.copy_back = copy_back;
    config.host.replay = Replay::Closed;
    config.host.max_outstanding = queue_depth;
    let options = serde_json::json!({"kind": name, "log_blocks": 128});
    config.ftl.mapping = serde_json::from_value(options).unwrap_or_else(|e| panic!("{name}: {e}"));
    config
}
