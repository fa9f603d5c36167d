//! Power cuts at every completion of a flash operation, or at one in so many of several runs: what
//! was flushed is there, nothing older than that comes back, and the drive works on. Every
//! registered buffer and mapping.

use crate::support;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use crate::support::Dice;
use eraseblock_core::buffer::BufferConfig;
use eraseblock_core::config::{DeviceConfig, Nanos, PowerLoss};
use eraseblock_core::device::{Crash, Device, Fate, Options};
use eraseblock_core::ftl::MappingConfig;
use eraseblock_core::ftl::wear::WearConfig;
use eraseblock_core::host::{Op, Request};
use eraseblock_core::nand::Cause;
use eraseblock_core::support::ids::Lpn;
use serde_json::{Value, json};

/// What the host has done to each page, and what of it must survive.
struct Host {
    /// For each page, in the order of versions from 1: whether it was a trim.
    history: Vec<Vec<bool>>,
    /// For each page, the oldest version that may come back.
    durable: Vec<u32>,
    /// For each request, the versions that are durable once it is answered.
    promises: Vec<Vec<(u32, u32)>>,
    /// Every answer is a promise.
    keeps_ram: bool,
}

impl Host {
    fn new(pages: u32, keeps_ram: bool) -> Self {
        // The drive was filled and came to rest before power could fail.
        Self {
            history: vec![vec![false]; pages as usize],
            durable: vec![1; pages as usize],
            promises: Vec::new(),
            keeps_ram,
        }
    }

    fn note(&mut self, request: &Request) {
        let pages = (request.offset / 4096) as u32..((request.offset + request.len) / 4096) as u32;
        let mut promises = Vec::new();
        for page in pages {
            match request.op {
                Op::Write | Op::Trim => {
                    self.history[page as usize].push(request.op == Op::Trim);
                    if request.fua || self.keeps_ram {
                        promises.push((page, self.history[page as usize].len() as u32));
                    }
                }
                Op::Read | Op::Flush => {}
            }
        }
        if request.op == Op::Flush {
            promises.extend(
                self.history.iter().enumerate().map(|(page, h)| (page as u32, h.len() as u32)),
            );
        }
        self.promises.push(promises);
    }

    fn answered(&mut self, number: u64) {
        for &(page, version) in &self.promises[number as usize] {
            let durable = &mut self.durable[page as usize];
            *durable = (*durable).max(version);
        }
    }

    /// Whether page `page` may hold `version` (0: nothing) after a cut.
    fn allows(&self, page: u32, version: u32) -> bool {
        let (history, durable) = (&self.history[page as usize], self.durable[page as usize]);
        if version == 0 {
            return (durable as usize..=history.len()).any(|v| history[v - 1]);
        }
        (durable..=history.len() as u32).contains(&version)
    }

    fn check(&self, drive: &Device, what: &str) {
        for page in 0..self.history.len() as u32 {
            let version = drive.stored_version(Lpn(page));
            assert!(
                self.allows(page, version),
                "{what}: page {page} comes back as version {version}, durable was {}, history \
                 (trims) {:?}",
                self.durable[page as usize],
                self.history[page as usize]
            );
        }
    }
}

fn workload(seed: u64, count: usize, pages: u64) -> Vec<Request> {
    let mut dice = Dice(seed);
    let mut arrival_ns = 0;
    let mut requests = Vec::new();
    for _ in 0..count {
        if dice.roll(3) == 0 {
            arrival_ns += dice.roll(2_000_000);
        }
        let (first, length) = (dice.roll(pages), 1 + dice.roll(5));
        let length = length.min(pages - first);
        let op = match dice.roll(16) {
            0..=9 => Op::Write,
            10 => Op::Read,
            11 | 12 => Op::Trim,
            _ => Op::Flush,
        };
        let fua = op == Op::Write && dice.roll(6) == 0;
        let (offset, len) = if op == Op::Flush { (0, 0) } else { (first * 4096, length * 4096) };
        requests.push(Request { arrival_ns, op, offset, len, volume: 0, fua });
    }
    requests
}

/// A moment of a run at which power may fail.
struct Moment {
    /// So many completions after the beginning.
    completions: u64,
    /// Requests answered until then.
    answered: usize,
    /// What each of the fates would leave.
    left: Vec<(u64, Crash)>,
}

/// Runs once, and calls `each` for the moments at which power is to fail, after `first` completions
/// and from there on, with what the host has done until then.
fn cut_each(
    config: &DeviceConfig,
    requests: &[Request],
    first: u64,
    how: &Cuts,
    mut each: impl FnMut(&Host, Moment),
) {
    let mut drive = Device::new(config, Options { verify: true }).unwrap();
    drive.precondition().unwrap();
    support::foresee(&mut drive, requests).unwrap();
    drive.note_answers();
    let (begin, mut next) = (drive.completions(), first);
    let moments = Arc::new(Mutex::new(Vec::new()));
    let (seen, fates_to_try, apart) = (Arc::clone(&moments), how.fates.clone(), how.apart as u64);
    drive.look_after(begin + first, move |drive| {
        while begin + next <= drive.completions() {
            let left = |variant| (variant, drive.cut(fates(variant)).unwrap());
            seen.lock().unwrap().push(Moment {
                completions: next,
                answered: drive.answers().len(),
                left: fates_to_try.clone().map(left).collect(),
            });
            next += apart;
        }
        begin + next
    });
    let mut host = Host::new(
        (drive.exported_bytes() / 4096) as u32,
        config.buffer.battery || config.buffer.power_loss == PowerLoss::Capacitor,
    );
    let mut known = 0;
    for request in requests.iter().map(Some).chain([None]) {
        if let Some(request) = request {
            host.note(request);
            drive.submit(request).unwrap();
        } else {
            drive.end().unwrap();
        }
        for moment in std::mem::take(&mut *moments.lock().unwrap()) {
            drive.answers()[known..moment.answered]
                .iter()
                .for_each(|&number| host.answered(number));
            known = moment.answered;
            each(&host, moment);
        }
    }
}

fn fates(variant: u64) -> impl FnMut(&eraseblock_core::nand::FlashOp) -> Fate {
    let mut dice = Dice(variant * 7919 + 1);
    move |_| match variant {
        0 => Fate::Absent,
        1 => Fate::Torn,
        2 => Fate::Done,
        _ => [Fate::Absent, Fate::Torn, Fate::Done][dice.roll(3) as usize],
    }
}

/// Goes on with a drive that has come back: it takes every kind of request and finds nothing wrong
/// with itself. One drive in four goes on for longer, or each in a soak run.
fn works_on(drive: &mut Device, seed: u64) {
    let pages = drive.exported_bytes() / 4096;
    let count = if seed.is_multiple_of(apart(4) as u64) { 40 } else { 12 };
    let mut requests = workload(seed ^ 0xabcd, count, pages);
    for (i, request) in requests.iter_mut().enumerate() {
        request.arrival_ns = i as u64 * 100_000;
    }
    support::foresee(drive, &requests).unwrap();
    for request in &requests {
        drive.submit(request).unwrap();
    }
    drive.end().unwrap();
}

fn exhaust(name: &str, config: &DeviceConfig, seed: u64) -> u64 {
    exhaust_each(name, config, seed, &Cuts::default())
}

/// Where power is cut, and how.
struct Cuts {
    /// Requests of the workload.
    requests: usize,
    /// After each completion, or after one in so many, from a first one that goes with the seed.
    apart: usize,
    /// What becomes of the operations under way.
    fates: Range<u64>,
}

impl Default for Cuts {
    fn default() -> Self {
        Self { requests: 45, apart: 1, fates: 0..4 }
    }
}

fn exhaust_each(name: &str, config: &DeviceConfig, seed: u64, how: &Cuts) -> u64 {
    let pages = Device::new(config, Options::default()).unwrap().exported_bytes() / 4096;
    let requests = workload(seed, how.requests, pages);
    let (mut cuts, first) = (0, 1 + seed % how.apart as u64);
    cut_each(config, &requests, first, how, |host, Moment { completions, left, .. }| {
        // Where one operation or none is under way, several fates leave the same.
        let mut tried: Vec<Crash> = Vec::new();
        for (variant, crash) in left {
            let what = format!("{name}, seed {seed}, cut after {completions}, fate {variant}");
            cuts += 1;
            if tried.contains(&crash) {
                continue;
            }
            let (mut back, again) = Device::recovery_cuts(config, crash.clone())
                .unwrap_or_else(|e| panic!("{what}: {e}"));
            host.check(&back, &what);
            works_on(&mut back, seed + completions + variant);
            // Power fails again before programs and erases of the recovery, as far apart.
            let apart = how.apart;
            let first = completions as usize / apart % apart;
            for (change, crash) in again.into_iter().enumerate().skip(first).step_by(apart) {
                let what = format!("{what}, again after change {change}");
                let back = Device::recover(config, crash).unwrap_or_else(|e| panic!("{what}: {e}"));
                host.check(&back, &what);
                cuts += 1;
            }
            tried.push(crash);
        }
    });
    cuts
}

fn drive(mapping: &str, buffer: &str, nand: Value) -> DeviceConfig {
    let mut all = json!({
        "ftl": {"mapping": support::mapping(mapping, 2), "exported": "96 KiB"},
        "buffer": {"size": "24 KiB", "scheme": buffer},
        "host": {"replay": "open", "max_outstanding": 4},
    });
    all["nand"] = nand;
    if mapping == "dftl" {
        // The map takes blocks of its own.
        all["nand"]["blocks_per_plane"] =
            (all["nand"]["blocks_per_plane"].as_u64().unwrap() + 1).into();
    }
    support::config(&all)
}

fn arrays() -> Vec<(&'static str, Value)> {
    vec![
        ("one die, FIFO", json!({"blocks_per_plane": 11})),
        (
            "two dies, read first",
            json!({"dies_per_chip": 2, "blocks_per_plane": 6, "scheduling": "read-first"}),
        ),
        (
            "two buses and planes, copy-back",
            json!({"channels": 2, "planes_per_die": 2, "blocks_per_plane": 4, "copy_back": true}),
        ),
        (
            "planes together, suspension",
            json!({"planes_per_die": 2, "blocks_per_plane": 6, "two_plane": {"same_page": false},
                   "suspend": {"latency": "20us"}, "scheduling": "read-first"}),
        ),
        ("cache program", json!({"blocks_per_plane": 11, "cache_program": "3us"})),
    ]
}

/// Every mapping on every array, below buffers that are as different as can be and take turns.
#[test]
fn every_cut_leaves_what_was_flushed() {
    let mut cuts = 0;
    for (turn, mapping) in MappingConfig::NAMES.iter().enumerate() {
        for (seed, (array, nand)) in arrays().into_iter().enumerate() {
            let buffer = ["none", "lru", "bplru"][(turn + seed) % 3];
            let name = format!("{buffer} on {mapping} over {array}");
            let how = Cuts { apart: apart(3), ..Cuts::default() };
            let seed = seed as u64 + support::first_seed();
            cuts += exhaust_each(&name, &drive(mapping, buffer, nand), seed, &how);
        }
    }
    assert!(cuts > 5_000);
}

/// One of the fates, or all of them in a soak run.
fn in_turn(fate: u64) -> Range<u64> {
    if support::is_soak() { 0..4 } else { fate..fate + 1 }
}

/// One in so many, or each in a soak run.
fn apart(many: usize) -> usize {
    if support::is_soak() { 1 } else { many }
}

/// Every buffer on every mapping; the arrays and the fates take turns.
#[test]
fn every_buffer_keeps_its_promises() {
    let mut arrays = arrays().into_iter().cycle().zip((0..4).cycle());
    for (seed, buffer) in BufferConfig::NAMES.iter().enumerate() {
        for mapping in MappingConfig::NAMES {
            let Some(((array, nand), fate)) = arrays.next() else {
                unreachable!("arrays come round")
            };
            let name = format!("{buffer} on {mapping} over {array}");
            let how = Cuts { apart: apart(3), fates: in_turn(fate), ..Cuts::default() };
            let seed = 100 + seed as u64 + support::first_seed();
            let cuts = exhaust_each(&name, &drive(mapping, buffer, nand), seed, &how);
            assert!(cuts > 15, "{name}: {cuts}");
        }
    }
}

/// A battery holds the RAM up: whatever was answered is there, with every buffer on every mapping.
#[test]
fn a_battery_keeps_every_answered_write_and_trim() {
    let mut arrays = arrays().into_iter().cycle().zip((0..4).cycle());
    for (seed, buffer) in BufferConfig::NAMES.iter().enumerate() {
        for mapping in MappingConfig::NAMES {
            let Some(((array, nand), fate)) = arrays.next() else {
                unreachable!("arrays come round")
            };
            let name = format!("{buffer} with a battery on {mapping} over {array}");
            let mut config = drive(mapping, buffer, nand);
            config.buffer.battery = true;
            let how = Cuts { apart: apart(5), fates: in_turn(fate), ..Cuts::default() };
            let seed = 200 + seed as u64 + support::first_seed();
            let cuts = exhaust_each(&name, &config, seed, &how);
            assert!(cuts > 5, "{name}: {cuts}");
        }
    }
}

/// A capacitor lets the drive save the RAM: whatever was answered is there, not only what was
/// flushed; a flush is answered when it is stored.
#[test]
fn a_capacitor_saves_every_answered_write_and_trim() {
    let mut arrays = arrays().into_iter().cycle().zip((0..4).cycle());
    for (seed, mapping) in MappingConfig::NAMES.iter().enumerate() {
        let Some(((array, nand), fate)) = arrays.next() else { unreachable!("arrays come round") };
        let name = format!("lru with a capacitor on {mapping} over {array}");
        let mut config = drive(mapping, "lru", nand);
        config.buffer.power_loss = PowerLoss::Capacitor;
        let how = Cuts { apart: apart(3), fates: in_turn(fate), ..Cuts::default() };
        let seed = 300 + seed as u64 + support::first_seed();
        assert!(exhaust_each(&name, &config, seed, &how) > 5, "{name}");
    }
}

/// A capacitor has to last until a full buffer is saved; by default it does.
#[test]
fn a_capacitor_that_is_too_small_is_refused() {
    let mut config = drive("page", "lru", json!({"blocks_per_plane": 11}));
    let built = |config: &DeviceConfig| Device::new(config, Options::default()).map(drop);
    config.buffer.hold_up = Some(Nanos(1));
    let refused = built(&config).unwrap_err().to_string();
    assert!(refused.starts_with("buffer.hold_up: nothing holds"), "{refused}");
    config.buffer.power_loss = PowerLoss::Capacitor;
    let refused = built(&config).unwrap_err().to_string();
    assert!(refused.starts_with("buffer.hold_up: in 1 ns not even what a die "), "{refused}");
    // What it asks for suffices, and nothing less.
    let enough = refused.split("give it ").nth(1).unwrap().split(" or more").next().unwrap();
    let Nanos(enough) = serde_json::from_value(enough.into()).unwrap();
    config.buffer.hold_up = Some(Nanos(enough));
    built(&config).unwrap();
    config.buffer.hold_up = Some(Nanos(enough - 1));
    assert!(built(&config).is_err());
    // Before anything can be saved, an erase may have to come to its end.
    config.buffer.hold_up = Some(Nanos(enough));
    let Nanos(erase) = config.nand.timing.erase;
    config.nand.timing.erase = Nanos(erase.max(enough));
    assert!(built(&config).is_err(), "{erase} ns of {enough}");
    config.buffer.hold_up = None;
    config.buffer.battery = true;
    assert!(built(&config).unwrap_err().to_string().contains("leave out one"));
}

/// A flush command that a battery answers at once is kept: the write before it comes back, though
/// nothing was stored.
#[test]
fn a_battery_keeps_a_flush_that_stored_nothing() {
    for battery in [false, true] {
        let mut config = drive("page", "lru", json!({"blocks_per_plane": 11}));
        config.buffer.battery = battery;
        let mut drive = Device::new(&config, Options { verify: true }).unwrap();
        drive.precondition().unwrap();
        drive.note_answers();
        let write = Request {
            arrival_ns: 0,
            op: Op::Write,
            offset: 3 * 4096,
            len: 4096,
            volume: 0,
            fua: false,
        };
        drive.submit(&write).unwrap();
        drive.submit(&Request { op: Op::Flush, offset: 0, len: 0, ..write }).unwrap();
        // The time at which the answer is looked at: before any program could end.
        assert_eq!(drive.answers(), if battery { &[0, 1][..] } else { &[0][..] });
        let back = Device::recover(&config, drive.cut(|_| Fate::Absent).unwrap()).unwrap();
        assert_eq!(back.stored_version(Lpn(3)), if battery { 2 } else { 1 });
    }
}

/// A map whose entries hardly fit into RAM: what a cut leaves of its pages is compared with the
/// data.
#[test]
fn a_map_on_flash_comes_back() {
    for (seed, (array, nand)) in arrays().into_iter().enumerate() {
        let batch = seed % 2 == 1;
        let mut config = drive("dftl", ["none", "lru"][seed % 2], nand);
        let mapping =
            json!({"kind": "dftl", "cache": 1 + seed, "entries_per_page": 8, "batch_evict": batch});
        config.ftl.mapping = serde_json::from_value(mapping).unwrap();
        let how = Cuts { apart: 3, ..Cuts::default() };
        assert!(exhaust_each(array, &config, 300 + seed as u64, &how) > 50, "{array}");
    }
}

/// Whether the workload without a cut has data moved on account of wear.
fn is_levelled(config: &DeviceConfig, seed: u64, how: &Cuts) -> bool {
    let mut drive = Device::new(config, Options { verify: true }).unwrap();
    drive.precondition().unwrap();
    for request in workload(seed, how.requests, drive.exported_bytes() / 4096) {
        drive.submit(&request).unwrap();
    }
    drive.end().unwrap();
    drive.counters().erases[Cause::Wear as usize] > 0
}

/// Cold pages that cleaning moves into worn blocks.
#[test]
fn wear_aware_cleaning_comes_back() {
    let mut levelled = 0;
    for (seed, (array, nand)) in arrays().into_iter().enumerate() {
        for active in ["plane", "element"] {
            let mut config = drive("ssd-model", ["none", "lru"][seed % 2], nand.clone());
            let mapping = json!({"kind": "ssd-model", "active": active, "cleaning": "wear-aware",
                                 "min_free": 0.34, "reserve": 0.5, "lifetime": 20, "migrate_below": 1.0});
            config.ftl.exported = Some("64 KiB".parse().unwrap());
            // Cold pages move only where a block stays erased beside the one that they take.
            config.host.max_outstanding = 1;
            config.ftl.mapping = serde_json::from_value(mapping).unwrap();
            let (name, seed) = (format!("wear-aware, {active}, over {array}"), 400 + seed as u64);
            let how = Cuts { requests: 220, apart: 3, fates: in_turn(seed % 4) };
            assert!(exhaust_each(&name, &config, seed, &how) > 20, "{name}");
            levelled += u32::from(is_levelled(&config, seed, &how));
        }
    }
    assert!(levelled > 2, "{levelled}");
}

/// The swaps of wear levellers, where the map of the pages that they move lies on flash.
#[test]
fn levelling_under_a_map_on_flash_comes_back() {
    for (turn, wear) in WearConfig::NAMES.iter().filter(|name| **name != "none").enumerate() {
        let mut levelled = 0;
        for (seed, (array, nand)) in arrays().into_iter().enumerate().skip(turn % 2).step_by(2) {
            let mut config = drive("dftl", ["none", "lru"][turn % 2], nand);
            config.ftl.wear =
                Some(serde_json::from_value(json!({"kind": wear, "threshold": 1})).unwrap());
            let (name, seed) = (format!("{wear} under dftl over {array}"), 500 + seed as u64);
            let how = Cuts { fates: in_turn(seed % 4), ..Cuts::default() };
            assert!(exhaust_each(&name, &config, seed, &how) > 20, "{name}");
            levelled += u32::from(is_levelled(&config, seed, &how));
        }
        assert!(levelled > 0, "{wear}");
    }
}

/// Many short runs on arrays whose dies end their operations in any order. `ERASEBLOCK_SOAK=seeds`
/// makes it longer, and the other tests go through all fates (`make soak`).
#[test]
fn many_runs_come_back() {
    let seeds: u64 = match std::env::var("ERASEBLOCK_SOAK") {
        Ok(text) => {
            text.parse().expect("ERASEBLOCK_SOAK: seeds of each combination, a whole number")
        }
        Err(_) => 4,
    };
    let mut cuts = 0;
    for (array, nand) in arrays().into_iter().skip(1).take(2) {
        for mapping in MappingConfig::NAMES {
            for buffer in ["none", "lru"] {
                let mut config = drive(mapping, buffer, nand.clone());
                for seed in support::seeds(seeds).map(|seed| 1000 + seed) {
                    let fate = seed % 4;
                    config.buffer.battery = (seed / 4 + seed) % 2 == 1;
                    let held = if config.buffer.battery { " with a battery" } else { "" };
                    let name = format!("{buffer}{held} on {mapping} over {array}");
                    let how = Cuts { apart: apart(6), fates: in_turn(fate), ..Cuts::default() };
                    cuts += exhaust_each(&name, &config, seed, &how);
                }
            }
        }
    }
    assert!(cuts > 5_000);
}

/// Every two parts of a page-level mapping together, under a shorter workload and one of the fates
/// each.
#[test]
fn every_composition_comes_back() {
    let large = json!({"channels": 2, "planes_per_die": 2, "blocks_per_plane": 8, "page_size": "8 KiB", "mapping_unit": "4 KiB",
                       "pages_per_program": 2, "multi_plane": true, "program_order": "sequential"});
    let small = arrays().into_iter().take(3).map(|(name, nand)| (name, nand, "80 KiB"));
    let arrays: Vec<_> = small.chain([("large program units", large, "320 KiB")]).collect();
    let mut cuts = 0;
    for (n, composition) in support::compositions().into_iter().enumerate() {
        let spreads = composition["gc"]["copies"] == json!("spread");
        // Some have one unit in a pool: nowhere to spread to.
        let (array, nand, exported) = &arrays[if spreads { 1 + n % 2 } else { n % 4 }];
        let mut all = json!({
            "ftl": {"exported": exported},
            "buffer": {"size": "24 KiB", "scheme": (["none", "lru", "fab"][n / 4 % 3])},
            "host": {"replay": "open", "max_outstanding": 4},
            "nand": nand,
        });
        for (key, value) in composition.as_object().unwrap() {
            all["ftl"][key] = value.clone();
        }
        let (name, fate) = (format!("{composition} over {array}"), n as u64 % 4);
        let how = Cuts { requests: 24, fates: in_turn(fate), ..Cuts::default() };
        cuts += exhaust_each(&name, &support::config(&all), n as u64, &how);
    }
    assert!(cuts > 5_000);
}

#[test]
fn program_units_of_several_pages_survive_cuts() {
    let nand = json!({"planes_per_die": 2, "blocks_per_plane": 16, "page_size": "8 KiB", "mapping_unit": "4 KiB", "pages_per_program": 2,
                      "multi_plane": true, "program_order": "sequential"});
    for (buffer, battery) in [("none", false), ("lru", false), ("none", true), ("lru", true)] {
        let mut config = drive("page", buffer, nand.clone());
        config.ftl.exported = Some("384 KiB".parse().unwrap());
        config.buffer.battery = battery;
        let name = format!("{buffer} over large program units, battery {battery}");
        assert!(exhaust(&name, &config, 5) > 50, "{name}");
    }
}
