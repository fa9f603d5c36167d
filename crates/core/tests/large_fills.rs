//! Large drives take everything that fits: sequential fills nearly to the brim, random overwrites
//! with little spare.

use crate::common::{Random, closed, large_drive, request};
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::Op;

/// Pages of 4 GiB.
const PAGES: u64 = 1 << 20;

/// The same drive by open loop, 50 us apart, and with 64 requests always under way.
fn both_ways(config: DeviceConfig) -> [DeviceConfig; 2] {
    [closed(config.clone(), 64), config]
}

#[test]
fn four_of_five_gib_written_in_order_are_all_answered() {
    for config in both_ways(large_drive(40, 4)) {
        let mut device = Device::new(&config, Options::default()).unwrap();
        for page in 0..PAGES {
            device.submit(&request(Op::Write, page, 1, page * 50_000)).unwrap();
        }
        let report = device.finish().unwrap();
        assert_eq!((report.requests.submitted, report.requests.completed), (PAGES, PAGES));
        assert_eq!((report.flash.programs.host, report.flash.programs.total), (PAGES, PAGES));
    }
}

#[test]
fn four_of_six_and_a_half_gib_are_overwritten_at_random() {
    for config in both_ways(large_drive(52, 4)) {
        let mut device = Device::new(&config, Options::default()).unwrap();
        for page in 0..PAGES {
            device.submit(&request(Op::Write, page, 1, page * 50_000)).unwrap();
        }
        let mut random = Random::new(5);
        for i in 0..PAGES {
            device
                .submit(&request(Op::Write, random.below(PAGES), 1, (PAGES + i) * 50_000))
                .unwrap();
        }
        let report = device.finish().unwrap();
        assert_eq!(report.requests.completed, 2 * PAGES);
        assert_eq!(report.flash.programs.host, 2 * PAGES);
        assert!(report.flash.erases.gc > 0);
        // Each unit keeps its share: nobody ran out of blocks while others had room.
        assert!(report.wear.cv_channel.unwrap() < 0.1, "{:?}", report.wear);
    }
}
