//! Requests of which nobody is told take a shorter way through the drive. It leads to the same end,
//! to the nanosecond.

use eraseblock_core::buffer::BufferConfig;
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, Options};
use eraseblock_core::ftl::MappingConfig;
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Observer;
use eraseblock_core::metrics::observer::{Hears, Progress};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use crate::support;

/// Hears of what makes requests go the way of all.
#[derive(Debug)]
struct Listener;

impl Observer for Listener {
    fn on_begin(&mut self, _: Option<Op>) -> Hears {
        Hears::Yes
    }

    fn on_progress(&mut self, _: &Progress<'_>) -> Hears {
        Hears::Yes
    }
}

/// Mostly single pages, of some of which only a part is read or written.
fn requests(pages: u64) -> Vec<Request> {
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    let mut arrival_ns = 0;
    let one = |_| {
        arrival_ns += rng.random_range(0..400_000);
        let op = match rng.random_range(0..100) {
            0..58 => Op::Write,
            58..96 => Op::Read,
            96..98 => Op::Trim,
            _ => Op::Flush,
        };
        let count = if rng.random_range(0..4) == 0 { rng.random_range(2..20) } else { 1 };
        let page = rng.random_range(0..pages - count);
        let (before, after) = if rng.random_range(0..8) == 0 { (512, 1024) } else { (0, 0) };
        let (offset, len) = (page * 4096 + before, count * 4096 - before - after);
        let (offset, len) = if op == Op::Flush { (0, 0) } else { (offset, len) };
        let fua = op == Op::Write && rng.random_range(0..50) == 0;
        Request { arrival_ns, op, offset, len, volume: 0, fua }
    };
    (0..1200).map(one).collect()
}

fn run(config: &DeviceConfig, told: bool) -> Value {
    let mut device = Device::new(config, Options::default()).unwrap();
    device.precondition().unwrap();
    let requests = requests(u64::from(device.logical_pages()) / 2);
    support::foresee(&mut device, &requests).unwrap();
    if told {
        device.observe(Box::new(Listener));
    }
    for request in &requests {
        device.submit(request).unwrap();
    }
    serde_json::to_value(device.finish().unwrap()).unwrap()
}

fn compare(over: &Value) {
    for host in [
        json!({"replay": "closed", "max_outstanding": 6}),
        json!({"replay": "open", "max_outstanding": 40, "partial_page": "read-modify-write"}),
    ] {
        let mut config = json!({
            "nand": {
                "channels": 2, "chips_per_channel": 2, "planes_per_die": 2, "blocks_per_plane": 32,
                "pages_per_block": 16,
            },
            "ftl": {"exported": "4 MiB"},
            "buffer": {"size": "256 KiB"},
            "host": host,
        });
        for (table, keys) in over.as_object().unwrap() {
            for (key, value) in keys.as_object().unwrap() {
                config[table][key] = value.clone();
            }
        }
        let drive = support::config(&config);
        assert_eq!(run(&drive, false), run(&drive, true), "{config}");
    }
}

#[test]
fn through_every_ftl() {
    for mapping in MappingConfig::NAMES {
        compare(&json!({"ftl": {"mapping": mapping}}));
        compare(&json!({"ftl": {"mapping": mapping}, "buffer": {"scheme": "lru"}}));
    }
}

#[test]
fn through_every_buffer() {
    for scheme in BufferConfig::NAMES {
        compare(&json!({"buffer": {"scheme": scheme}}));
    }
}

/// Collection falls behind: writes wait for room.
#[test]
fn on_a_tight_drive() {
    for scheme in ["none", "lru", "fab"] {
        compare(&json!({"ftl": {"exported": "13 MiB"}, "buffer": {"scheme": scheme}}));
    }
}

/// What is evicted is waited for; a buffer in RAM takes time; chips that do more at once.
#[test]
fn on_other_drives() {
    let lru = json!({"scheme": "lru", "write_back": "foreground"});
    compare(&json!({"buffer": lru}));
    let timing = json!({"read": "25 us", "program": "200 us", "erase": "1500 us",
                        "transfer": "100 us", "ram": "1 us"});
    compare(&json!({"buffer": {"scheme": "lru"}, "nand": {"timing": timing}}));
    compare(&json!({"nand": {"scheduling": "read-first", "two_plane": {"same_page": false}}}));
    compare(&json!({"nand": {"pages_per_program": 2, "program_order": "sequential"},
                    "buffer": lru}));
    compare(&json!({"nand": {"chips_per_channel": 8}, "ftl": {"allocator": "dynamic"}}));
}
