//! Drives for tests, built in a line.

#![allow(dead_code, reason = "each test file uses its part of this module")]

pub mod bench;

use eraseblock_core::buffer::BufferConfig;
use eraseblock_core::config::{
    BufferSection, Bytes, DeviceConfig, EnergyConfig, FtlConfig, HostConfig, NandConfig, Nanos,
    PageTypes, PowerLoss, Precondition, PreconditionConfig, ProgramOrder, Replay, Scheduling,
    TimingConfig, WriteBack,
};
use eraseblock_core::ftl::MappingConfig;
use eraseblock_core::ftl::gc::GcConfig;
use eraseblock_core::host::{Op, Request};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// Bytes of a page.
pub const PAGE: u64 = 4096;
/// Times in ns: 75/750/3800 us, 10 us for a page on the bus.
pub const READ: u64 = 75_000;
pub const PROGRAM: u64 = 750_000;
pub const ERASE: u64 = 3_800_000;
pub const TRANSFER: u64 = 10_000;

/// An array of channels x chips x dies x planes with blocks of so many pages.
pub fn nand(array: [u32; 4], blocks_per_plane: u32, pages_per_block: u32) -> NandConfig {
    let [channels, chips_per_channel, dies_per_chip, planes_per_die] = array;
    NandConfig {
        channels,
        chips_per_channel,
        dies_per_chip,
        planes_per_die,
        blocks_per_plane,
        pages_per_block,
        page_size: Bytes(PAGE),
        mapping_unit: None,
        pages_per_program: 1,
        multi_plane: false,
        program_order: ProgramOrder::Sequential,
        timing: TimingConfig {
            read: Nanos(READ).into(),
            program: Nanos(PROGRAM).into(),
            erase: Nanos(ERASE),
            transfer: Nanos(TRANSFER),
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
    }
}

/// A drive on that array that exports `pages`: page mapping, no buffer, open loop, empty.
pub fn drive(nand: NandConfig, pages: u64) -> DeviceConfig {
    DeviceConfig {
        ftl: FtlConfig {
            exported: Some(Bytes(pages * nand.mapping_unit.unwrap_or(nand.page_size).0)),
            over_provisioning: None,
            mapping: MappingConfig::by_name("page").unwrap(),
            allocator: None,
            victim: None,
            wear: None,
            gc: GcConfig::default(),
        },
        nand,
        buffer: BufferSection {
            size: Bytes(0),
            write_back: WriteBack::Background,
            battery: false,
            power_loss: PowerLoss::None,
            hold_up: None,
            scheme: BufferConfig::by_name("none").unwrap(),
        },
        host: HostConfig::default(),
        precondition: PreconditionConfig {
            state: Precondition::Empty,
            ..PreconditionConfig::default()
        },
        seed: 1,
    }
}

/// 8 channels x 4 chips x 2 dies x 2 planes, 256 pages a block, with so many blocks a plane: 128
/// MiB each.
pub fn large_drive(blocks_per_plane: u32, exported_gib: u64) -> DeviceConfig {
    drive(nand([8, 4, 2, 2], blocks_per_plane, 256), exported_gib << 18)
}

/// The same with so many requests always under way.
pub fn closed(mut config: DeviceConfig, queue_depth: u32) -> DeviceConfig {
    config.host.replay = Replay::Closed;
    config.host.max_outstanding = queue_depth;
    config
}

/// The same with another state before the first request.
pub fn preconditioned(mut config: DeviceConfig, state: Precondition) -> DeviceConfig {
    config.precondition.state = state;
    config
}

/// A request of `count` whole pages from page `first`.
pub fn request(op: Op, first: u64, count: u64, arrival_ns: u64) -> Request {
    Request { arrival_ns, offset: first * PAGE, len: count * PAGE, volume: 0, op, fua: false }
}

/// Numbers that every machine repeats.
pub struct Random(pub Pcg64Mcg);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    /// A whole number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0.random_range(0..end)
    }

    /// True with this probability.
    pub fn chance(&mut self, share: f64) -> bool {
        self.0.random::<f64>() < share
    }

    /// Exponentially distributed with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.0.random::<f64>())
    }
}

/// Asserts that `found` is within `share` of `expected`.
#[track_caller]
pub fn assert_within(found: f64, expected: f64, share: f64, what: &str) {
    let off = found / expected - 1.0;
    assert!(
        off.abs() <= share,
        "{what}: found {found:.5}, expected {expected:.5}, {:+.3} % off",
        off * 100.0
    );
}
