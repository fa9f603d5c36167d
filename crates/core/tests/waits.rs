//! What responses are made of: `waits` tells it, to the nanosecond, and changes nothing.

use crate::support;
use eraseblock_core::device::Device;
use eraseblock_core::ftl::MappingConfig;
use eraseblock_core::host::Op;
use eraseblock_core::metrics::waits::{Parts, WaitsReport};
use eraseblock_core::metrics::{Figures, Metric};
use serde_json::{Value, json};

/// One die: a read takes 50 us and 10 us on the bus, a program 200 us and 10 us, an erase 1500 us.
fn drive(buffer: &Value, mapping: &Value) -> Device {
    support::device(&json!({
        "nand": {"timing": {
            "read": "50 us", "program": "200 us", "erase": "1500 us", "transfer": "10 us",
            "ram": "1 us",
        }},
        "ftl": {"mapping": mapping},
        "buffer": buffer,
        "host": {"replay": "open", "max_outstanding": 3},
        "precondition": {"state": "full"},
    }))
}

fn waits(device: &mut Device) -> WaitsReport {
    let report = device.finish().unwrap();
    report.figures.read("waits").expect("it was asked for")
}

#[test]
fn each_nanosecond_of_a_read_has_its_place() {
    let mut device = drive(&json!({"size": "8 KiB", "scheme": "none"}), &"page".into());
    device.keep(Metric::Waits);
    for page in 0..4 {
        device.submit(&support::request(Op::Read, page, 1)).unwrap();
    }
    let slowest = waits(&mut device).slowest;
    // The die reads one after the other; the fourth is admitted when the first is answered.
    let expected = [(3, 60, 120), (2, 0, 120), (1, 0, 60), (0, 0, 0)];
    for (slow, (number, admission, die)) in slowest.iter().zip(expected) {
        let [admission, die, bus, flash] = [admission, die, 10, 50].map(|us| us * 1000);
        assert_eq!(slow.number, number);
        assert_eq!(slow.parts, Parts { admission, die, bus, flash, ..Parts::default() });
        assert_eq!(slow.response_ns, admission + die + bus + flash);
    }
    assert_eq!(slowest.len(), 4);
}

#[test]
fn a_write_waits_for_room_and_for_ram() {
    let buffer = json!({"size": "4 KiB", "scheme": "lru", "write_back": "foreground"});
    let mut device = drive(&buffer, &"page".into());
    device.keep(Metric::Waits);
    device.submit(&support::request(Op::Write, 0, 1)).unwrap();
    device.submit(&support::request(Op::Write, 9, 1)).unwrap();
    let slowest = waits(&mut device).slowest;
    let parts = slowest.iter().map(|slow| (slow.number, slow.parts)).collect::<Vec<_>>();
    // The second page drives out the first, whose program takes 210 us.
    let second = Parts { slot: 210_000, ram: 1000, ..Parts::default() };
    assert_eq!(parts, [(1, second), (0, Parts { ram: 1000, ..Parts::default() })]);
}

/// Random requests on every mapping. The law that parts add up is checked at the end of each run.
#[test]
fn the_parts_of_every_request_add_up() {
    for name in MappingConfig::NAMES {
        let run = |watched: bool| {
            let buffer = json!({"size": "16 KiB", "scheme": "lru", "write_back": "background"});
            let mut device = drive(&buffer, &support::mapping(name, 4));
            if watched {
                device.keep(Metric::Waits);
            }
            let mut die = support::Dice(7);
            for number in 0..400 {
                let op = [Op::Read, Op::Write, Op::Write, Op::Flush][die.roll(4) as usize];
                let (page, count) = (die.roll(28), 1 + die.roll(4));
                let mut request = support::request(op, page, count);
                request.arrival_ns = number * 400_000;
                request.fua = op == Op::Write && die.roll(8) == 0;
                device.submit(&request).unwrap();
            }
            let mut report = device.finish().unwrap();
            let found = watched.then(|| report.figures.read::<WaitsReport>("waits").unwrap());
            report.figures = Figures::default();
            (format!("{report:?}"), found)
        };
        let (plain, _) = run(false);
        let (watched, found) = run(true);
        assert_eq!(plain, watched, "{name}: to be looked at changes nothing");
        let moved = |parts: Parts| parts.merge + parts.collection;
        let found = found.unwrap();
        assert!(found.slowest.iter().any(|slow| moved(slow.parts) > 0), "{name}: {found:?}");
    }
}
