//! Small drives for tests, and shorthand to drive them.
#![allow(dead_code, reason = "each test file uses its own part")]

use eraseblock_core::buffer::BufferConfig;
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, Options};
use eraseblock_core::ftl::MappingConfig;
use eraseblock_core::host::{Op, Request};
use serde_json::{Value, json};

/// A drive from JSON sections laid over a small default: one unit, 4 pages of 4 KiB a block, 16 blocks, 8 exported.
pub fn config(over: &Value) -> DeviceConfig {
    let mut base = json!({
        "nand": {
            "channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1,
            "blocks_per_plane": 16, "pages_per_block": 4, "page_size": "4 KiB", "program_order": "ascending",
            "timing": {"read": "25 us", "program": "200 us", "erase": "1500 us", "transfer": "100 us"},
        },
        "ftl": {"exported": "128 KiB", "mapping": "page"},
        "buffer": {"size": "32 KiB", "scheme": "none"},
        "host": {"replay": "untimed", "partial_page": "round"},
        "precondition": {"state": "full"},
    });
    lay_over(&mut base, over);
    serde_json::from_value(base).expect("a valid configuration")
}

fn lay_over(base: &mut Value, over: &Value) {
    match (base, over) {
        // A scheme given as a table is replaced, not mixed with the one below it.
        (Value::Object(base), Value::Object(over)) if !over.contains_key("kind") => {
            for (key, value) in over {
                lay_over(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

/// A drive that checks itself, in its initial state.
pub fn device(over: &Value) -> Device {
    let mut device = Device::new(&config(over), Options { verify: true }).expect("a drive that can be built");
    device.precondition().expect("a drive that can be filled");
    device
}

pub fn request(op: Op, page: u64, count: u64) -> Request {
    Request { arrival_ns: 0, op, offset: page * 4096, len: count * 4096, volume: 0, fua: false }
}

pub fn write(device: &mut Device, pages: &[u64]) {
    for &page in pages {
        device.submit(&request(Op::Write, page, 1)).expect("a write");
    }
}

/// `(reads, programs, erases)` of the flash so far.
pub fn cost(device: &Device) -> (u64, u64, u64) {
    let c = device.counters();
    (c.reads.iter().sum(), c.programs.iter().sum(), c.erases.iter().sum())
}

/// Every registered buffer with every registered mapping.
pub fn matrix() -> impl Iterator<Item = (BufferConfig, MappingConfig)> {
    BufferConfig::NAMES.iter().flat_map(|buffer| {
        MappingConfig::NAMES.iter().map(move |mapping| {
            (
                BufferConfig::by_name(buffer).expect("registered"),
                MappingConfig::by_name(mapping).expect("registered"),
            )
        })
    })
}
