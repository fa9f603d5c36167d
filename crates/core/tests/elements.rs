//! EPO meets the elements (chips) of a drive: its lists are the chips that the FTL binds pages to,
//! whatever the order of striping.

use crate::support;
use crate::support::request;
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::latency::LatencySummary;
use eraseblock_core::support::ids::{DieId, Lpn};
use serde_json::{Value, json};

/// A drive of two chips with two planes each, and EPO with four slots.
fn drive(ftl: &Value) -> Device {
    let mut config = json!({
        "nand": {"channels": 2, "planes_per_die": 2},
        "ftl": {"exported": "512 KiB"},
        "buffer": {"size": "16 KiB", "scheme": "epo", "battery": true},
        "host": {"replay": "open", "max_outstanding": 16},
    });
    config["ftl"].as_object_mut().unwrap().extend(ftl.as_object().unwrap().clone());
    let mut device = Device::new(&support::config(&config), Options { verify: true }).unwrap();
    device.precondition().unwrap();
    device
}

/// The pages among the first eight that have left when page 4 needs room after pages 0 to 3.
fn batch(ftl: &Value) -> Vec<u32> {
    let mut device = drive(ftl);
    device.submit(&request(Op::Write, 0, 4)).unwrap();
    device.submit(&request(Op::Write, 4, 1)).unwrap();
    let left = (0..5).filter(|&page| !device.buffer().holds(Lpn(page))).collect();
    device.finish().unwrap();
    left
}

#[test]
fn a_batch_takes_a_page_from_each_chip() {
    let page = |allocator: Value| json!({"mapping": "page", "allocator": allocator});
    // Channels vary fastest: pages 0 and 1 lie on two chips. Planes do: pages 0 and 1 lie on one, 2
    // and 3 on the other.
    assert_eq!(batch(&page(json!({"kind": "static", "order": "CWDP"}))), [0, 1]);
    assert_eq!(batch(&page(json!({"kind": "static", "order": "PDWC"}))), [0, 2]);
    assert_eq!(
        batch(&page(json!({"kind": "static", "order": "CWDP", "striping_unit": 2}))),
        [0, 2]
    );
    // A pool of planes for each chip binds pages to chips, too.
    assert_eq!(batch(&page(json!({"kind": "dynamic", "pool": "chip"}))), [0, 1]);
    assert_eq!(
        batch(&page(json!({"kind": "dynamic", "pool": "chip", "striping_unit": 2}))),
        [0, 2]
    );
    // Where nothing binds them, pages are dealt out by number.
    assert_eq!(batch(&page(json!("round-robin"))), [0, 1]);
    assert_eq!(batch(&json!({"mapping": {"kind": "bast", "log_blocks": 4}})), [0, 1]);
}

/// The pages of a batch are on their chips at the same time; a battery answers flush commands at
/// once.
#[test]
fn a_batch_works_on_all_chips_at_once() {
    let mut device = drive(&json!({"mapping": "page", "allocator": "static"}));
    for page in 0..5 {
        device.submit(&Request { arrival_ns: page * 10, ..request(Op::Write, page, 1) }).unwrap();
    }
    assert_eq!((device.engine().load(DieId(0)), device.engine().load(DieId(1))), (1, 1));
    device
        .submit(&Request {
            arrival_ns: 50,
            op: Op::Flush,
            offset: 0,
            len: 0,
            volume: 0,
            fua: false,
        })
        .unwrap();
    let report = device.finish().unwrap();
    // Both pages arrive with the write that made room: 100 us on its bus each, 200 us in the array.
    let flushed = report.figures.read::<LatencySummary>("flush_response_ns").unwrap();
    assert_eq!((flushed.count, flushed.max), (2, 300_000));
    assert_eq!(
        report.response_ns.all.unwrap().max,
        300_000,
        "the write that needs a slot waits for one"
    );
    assert_eq!(report.flash.programs.host, 2, "flush commands write nothing");
}
