//! Reads do not wait behind whole blocks of garbage collection.

use crate::common::{ERASE, Random, closed, large_drive, preconditioned, request};
use eraseblock_core::config::{DeviceConfig, Precondition, Scheduling};
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::Op;
use eraseblock_core::metrics::Report;

const PAGES: u64 = 1 << 20;

/// 30 % reads, 70 % overwrites, all of one page anywhere; open-loop ones arrive `gap_ns` apart on
/// average.
fn mixed(config: &DeviceConfig, requests: u64, gap_ns: f64) -> Report {
    let mut device = Device::new(config, Options::default()).unwrap();
    device.precondition().unwrap();
    let (mut random, mut arrival) = (Random::new(11), 0.0);
    for _ in 0..requests {
        arrival += random.exponential(gap_ns);
        let op = if random.chance(0.3) { Op::Read } else { Op::Write };
        device.submit(&request(op, random.below(PAGES), 1, arrival as u64)).unwrap();
    }
    device.finish().unwrap()
}

/// 7.5 GiB of flash, 4 GiB of it exported and overwritten at random until collection is in its
/// steady state. Half the rate that the drive sustains with many requests under way.
#[test]
fn reads_overtake_garbage_collection_at_half_load() {
    let mut config = preconditioned(large_drive(60, 4), Precondition::Steady);
    config.nand.scheduling = Scheduling::ReadFirst;
    let most = mixed(&closed(config.clone(), 1024), 300_000, 1.0).throughput.unwrap().iops;
    config.host.max_outstanding = 4096;
    let report = mixed(&config, 1_000_000, 2.0 * 1e9 / most);
    let (read, write) = (report.response_ns.read.unwrap(), report.response_ns.write.unwrap());
    assert!(report.flash.erases.gc > 1_000, "{:?}", report.flash);
    assert!(report.trusted, "{:?}", report.reasons);
    assert!(read.p99 < 2 * ERASE, "{read:?}");
    // Reads go first: they wait for what runs, writes for all that is queued.
    assert!(read.mean < write.mean, "{read:?} {write:?}");
}
