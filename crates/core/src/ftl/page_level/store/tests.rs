//! When what a store plans is done, on an array of two dies with a bus each.

use serde_json::json;

use super::Open;
use crate::config::DeviceConfig;
use crate::ftl::context::{Cx, PageOut};
use crate::metrics::Counters;
use crate::nand::chip::Chip;
use crate::nand::config::ProgramOrder;
use crate::nand::{Cause, Engine, Flash, Geometry, JoinId, Plan};
use crate::support::NONE;
use crate::support::clocks::NEVER;
use crate::support::ids::{BlockId, Lpn};

/// How the data of a page come.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Data {
    /// From the host.
    Here,
    /// By a read of the same plan.
    Read,
    /// By a read that was issued before.
    Issued,
}

/// When the program of a unit of two pages has ended, in us; each page is planned with the other
/// one, or `apart`.
fn programmed(data: [Data; 2], apart: bool) -> u64 {
    let config: DeviceConfig = serde_json::from_value(json!({
        "nand": {"channels": 2, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1,
                 "blocks_per_plane": 4, "pages_per_block": 4, "page_size": "8 KiB", "mapping_unit": "4 KiB",
                 "timing": {"read": "1 ms", "program": "200 us", "erase": "1500 us", "transfer": "100 us"}},
        "ftl": {"mapping": "page"},
        "buffer": {"size": "0 B", "scheme": "none"},
    }))
    .unwrap();
    let geometry = Geometry::new(&config.nand).unwrap();
    let (full, other) = (geometry.program_pages, BlockId(geometry.blocks_per_unit));
    let mut engine = Engine::new(Chip::new(&config.nand, &geometry).unwrap(), &geometry);
    let mut flash = Flash::new(geometry, ProgramOrder::Sequential);
    let (mut plan, mut counters) = (Plan::default(), Counters::default());
    flash.program(other, 0, full);
    let mut open = Open::default();
    for (page, data) in (0..).zip(data) {
        let mut cx =
            Cx { timed: true, ..Cx::alone(&mut flash, &mut engine, &mut plan, &mut counters) };
        let waits = match data {
            Data::Here => JoinId::NONE,
            Data::Read => {
                let join = cx.join();
                cx.read(other, 0, Lpn(9), Cause::Padding, join, JoinId::NONE);
                join
            }
            Data::Issued => {
                let join = cx.engine.join(NONE);
                cx.engine.hold(join);
                cx.read(other, 0, Lpn(9), Cause::Padding, JoinId::NONE, join);
                cx.engine.issue(cx.plan);
                cx.plan.clear();
                cx.engine.release(join);
                join
            }
        };
        open.hold(&mut cx, (page, PageOut::host(Lpn(page))), BlockId::NONE, waits, full);
        if apart {
            engine.issue(&plan);
            plan.clear();
        }
    }
    engine.issue(&plan);
    while engine.next_event() != NEVER {
        engine.step();
    }
    assert_eq!(engine.under_way(), 0, "{data:?} {apart}: {}", engine.describe());
    engine.now() / 1000
}

#[test]
fn a_program_unit_waits_for_the_data_of_all_its_pages() {
    use Data::{Here, Issued, Read};
    let alone = programmed([Here, Here], false);
    // A read takes 1 ms and a page on the bus.
    let after_read = programmed([Here, Read], false);
    assert!(after_read > 1000 + alone, "{after_read} {alone}");
    for data in [
        [Here, Read],
        [Read, Here],
        [Here, Issued],
        [Issued, Here],
        [Read, Issued],
        [Issued, Issued],
    ] {
        for apart in [false, true] {
            // Two reads of one die come one after the other.
            let reads = data.iter().filter(|data| **data != Here).count() as u64;
            let expected = alone + reads * (after_read - alone);
            assert_eq!(programmed(data, apart), expected, "{data:?}, apart {apart}");
        }
    }
}
