//! Requests of which nobody is told take a shorter way through the drive. It leads to the same end,
//! to the nanosecond.

use eraseblock_core::buffer::BufferConfig;
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, DeviceError, Options};
use eraseblock_core::ftl::MappingConfig;
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Observer;
use eraseblock_core::metrics::observer::{Hears, Progress};
use proptest::prelude::*;
use rand::SeedableRng as _;
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

fn run(config: &DeviceConfig, way: Way) -> Value {
    let mut device = Device::new(config, Options::default()).unwrap();
    device.precondition().unwrap();
    let requests = requests(u64::from(device.logical_pages()) / 2);
    serve(device, &requests, way).unwrap()
}

/// How requests are submitted.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    /// One by one, and somebody hears of all that they do.
    Told,
    /// One by one.
    Alone,
    /// All together.
    Together,
    /// Some together, some alone, as this seed has it.
    InPieces(u64),
}

/// What becomes of requests.
fn serve(mut device: Device, requests: &[Request], way: Way) -> Result<Value, DeviceError> {
    support::foresee(&mut device, requests)?;
    let mut dice = support::Dice(match way {
        Way::InPieces(seed) => seed,
        _ => 0,
    });
    if way == Way::Told {
        device.observe(Box::new(Listener));
    }
    let mut rest = requests;
    while !rest.is_empty() {
        let piece = match way {
            Way::Told | Way::Alone => 1,
            Way::Together => rest.len(),
            Way::InPieces(_) => {
                // Mostly short pieces, now and then a long one.
                let most = [1, 3, 40, 200][dice.roll(4) as usize];
                (1 + dice.roll(most) as usize).min(rest.len())
            }
        };
        let (now, later) = rest.split_at(piece);
        rest = later;
        let served = if piece == 1 {
            device.submit(&now[0])
        } else {
            let (taken, served) = device.submit_all(now);
            assert!(taken == now.len() || served.is_err());
            served
        };
        match served {
            // What had been taken before is answered, and nothing else.
            Err(DeviceError::EndOfLife { .. }) => break,
            served => served?,
        }
    }
    let mut report = serde_json::to_value(device.finish()?).unwrap();
    // Who verifies says how much.
    report["verified_reads"] = Value::Null;
    Ok(report)
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
        let together = run(&drive, Way::Together);
        assert_eq!(together, run(&drive, Way::Told), "{config}");
        assert_eq!(together, run(&drive, Way::InPieces(1)), "{config}");
    }
}

/// FTLs that take some pages by one program and others not.
fn mappings() -> Vec<Value> {
    let plain = ["block", "hybrid", "replacement", "fast", "bast", "ssd-model", "blas"];
    let cached = |cache: f64, entries: u32, batch: bool| {
        let replacement = if batch { "lru" } else { "segmented-lru" };
        json!({"kind": "dftl", "cache": cache, "entries_per_page": entries, "batch_evict": batch,
               "replacement": replacement})
    };
    let mut all: Vec<Value> = plain.iter().map(|name| json!(name)).collect();
    all.extend([cached(0.1, 8, false), cached(0.5, 4, true), cached(0.9, 16, false)]);
    all.extend([
        json!({"kind": "bast", "log_blocks": 3, "victim": "random", "partial_merge": false}),
        json!({"kind": "bast", "log_blocks": 5, "merge_timing": "eager", "merge_erase": "before"}),
        json!({"kind": "fast", "log_blocks": 4, "merge_timing": "eager"}),
        json!({"kind": "ssd-model", "pool": "plane", "cleaning": "wear-aware"}),
        json!({"kind": "ssd-model", "active": "element"}),
    ]);
    all
}

/// What few drives have, and what may follow from the end of an operation or come between two.
fn add_rare_settings(config: &mut Value, dice: &mut support::Dice) {
    let rare = [
        ("/nand", "copy_back", json!(true)),
        ("/nand", "shared_bus", json!(false)),
        ("/nand", "two_plane", json!({"same_page": false})),
        ("/nand", "multi_plane", json!(true)),
        ("/nand", "cache_program", json!("1 us")),
        ("/nand", "suspend", json!({})),
        ("/ftl/gc", "cost", json!("free")),
        ("/ftl/gc", "grain", json!("victim")),
        ("/ftl/gc", "grain", json!("all")),
        ("/ftl/gc", "idle_free_blocks", json!(4)),
        ("/ftl/gc", "regions", json!(2)),
        ("/ftl", "wear", json!({"kind": "hot-cold", "threshold": 2})),
        ("/ftl", "wear", json!({"kind": "dual-pool", "threshold": 2})),
    ];
    while dice.roll(2) == 0 {
        let (table, key, value) = &rare[dice.roll(rare.len() as u64) as usize];
        config.pointer_mut(table).unwrap()[*key] = value.clone();
        if *key == "suspend" {
            config["nand"]["scheduling"] = json!("read-first");
        }
    }
}

/// Mappings that place whole blocks, and the SSD model, refuse what they decide themselves.
fn leave_out_what_the_mapping_decides(config: &mut Value) {
    let mapping = &config["ftl"]["mapping"];
    let name = mapping["kind"].as_str().or(mapping.as_str()).unwrap();
    if !["page", "dftl", "blas"].contains(&name) {
        let keeps = ["mapping", "exported"];
        config["ftl"].as_object_mut().unwrap().retain(|key, _| keeps.contains(&key.as_str()));
    }
}

/// A drive without a buffer and what is asked of it: mostly single pages.
fn random_run(seed: u64, mappings: &[Value]) -> (Value, Vec<Request>) {
    let mut dice = support::Dice(seed);
    let mut one_of = |of: &[Value]| of[dice.roll(of.len() as u64) as usize].clone();
    let numbers = |of: &[u64]| of.iter().map(|&one| json!(one)).collect::<Vec<_>>();
    let times = ["0 ns", "1 ns", "100 ns", "25 us", "100 us", "200 us"].map(|time| json!(time));
    let array = &times[1..];
    let replay = one_of(&[json!("closed"), json!("open"), json!("untimed")]);
    let mut config = json!({
        "nand": {
            "channels": one_of(&numbers(&[1, 2, 3])),
            "chips_per_channel": one_of(&numbers(&[1, 2, 3])),
            "dies_per_chip": one_of(&numbers(&[1, 2])),
            "planes_per_die": one_of(&numbers(&[1, 2])),
            "blocks_per_plane": 16, "pages_per_block": one_of(&numbers(&[2, 4, 5, 16])),
            "scheduling": one_of(&[json!("fifo"), json!("read-first")]),
            "endurance": one_of(&numbers(&[0, 0, 0, 2, 5])),
            "timing": {"read": one_of(array), "program": one_of(array), "erase": one_of(array),
                       "transfer": one_of(&times), "command": one_of(&times)},
        },
        "ftl": {"mapping": one_of(mappings),
                "gc": one_of(&[json!({}), json!({"step_pages": 1}), json!({"free_blocks": 3}),
                               json!({"copies": "spread", "step_pages": 1})]),
                "allocator": one_of(&[json!("round-robin"), json!("dynamic"), json!("static")]),
                "victim": one_of(&[json!("greedy"), json!("cost-benefit"), json!("fifo")])},
        "buffer": {"scheme": one_of(&[json!("none"), json!("none"), json!("lru")])},
        "host": {"replay": replay, "max_outstanding": one_of(&numbers(&[1, 2, 7, 40])),
                 "partial_page": one_of(&[json!("round"), json!("read-modify-write")]),
                 "warm_up": one_of(&numbers(&[0, 0, 33]))},
        "precondition": {"state": one_of(&[json!("empty"), json!("full")])},
    });
    add_rare_settings(&mut config, &mut dice);
    leave_out_what_the_mapping_decides(&mut config);
    let of = |key: &str| config["nand"][key].as_u64().unwrap();
    let units = of("channels") * of("chips_per_channel") * of("dies_per_chip");
    let pages = units * of("planes_per_die") * 16 * of("pages_per_block");
    let exported = pages * [40, 60, 70][dice.roll(3) as usize] / 100;
    config["ftl"]["exported"] = json!(format!("{} KiB", exported * 4));
    let (others, gap) = ([0, 0, 10, 40][dice.roll(4) as usize], 1 + dice.roll(400_000));
    let reads = [0, 50, 100][dice.roll(3) as usize];
    let mut arrival_ns = 0;
    let requests = (0..400 + dice.roll(800)).map(|_| {
        arrival_ns += if dice.roll(3) == 0 { 0 } else { dice.roll(gap) };
        let single = dice.roll(100) >= others;
        let op = if single || dice.roll(3) == 0 {
            if dice.roll(100) < reads { Op::Read } else { Op::Write }
        } else {
            [Op::Trim, Op::Flush, Op::Write][dice.roll(3) as usize]
        };
        let count = if single { 1 } else { 1 + dice.roll(exported.min(6)) };
        let page = dice.roll(exported - count + 1);
        let (before, after) = if single || dice.roll(3) > 0 { (0, 0) } else { (512, 1024) };
        let (offset, len) = (page * 4096 + before, count * 4096 - before - after);
        let (offset, len) = if op == Op::Flush { (0, 0) } else { (offset, len) };
        let fua = !single && op == Op::Write && dice.roll(2) == 0;
        Request { arrival_ns, op, offset, len, volume: 0, fua }
    });
    let requests = requests.collect();
    (config, requests)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: support::cases(150, 5_000),
        ..ProptestConfig::default()
    })]

    /// Pages that go past all that most drives have no use for, whatever comes between them. Where
    /// what the flash holds is followed, the engine goes step by step.
    #[test]
    fn on_random_drives(seed in any::<u64>()) {
        on_a_random_drive(seed, &[json!("page")])?;
    }

    /// The same where some pages take more than a program, or a read.
    #[test]
    fn on_random_drives_of_other_ftls(seed in any::<u64>()) {
        on_a_random_drive(seed, &mappings())?;
    }

    /// Pages that a buffer finds or takes in, and what leaves it for them: any buffer before any
    /// FTL, with time and without.
    #[test]
    fn through_random_buffers(seed in any::<u64>()) {
        let (config, requests) = random_buffered_run(seed);
        let drive = support::config(&config);
        let told = outcome(&drive, &requests, Way::Told, false);
        prop_assert_eq!(&told, &outcome(&drive, &requests, Way::Together, true), "{}", config);
        for way in [Way::Alone, Way::Together, Way::InPieces(seed)] {
            prop_assert_eq!(&told, &outcome(&drive, &requests, way, false), "{:?} {}", way, config);
        }
    }
}

fn on_a_random_drive(seed: u64, mappings: &[Value]) -> Result<(), TestCaseError> {
    let (config, requests) = random_run(seed, mappings);
    let drive = support::config(&config);
    let past = outcome(&drive, &requests, Way::Together, false);
    prop_assert_eq!(&past, &outcome(&drive, &requests, Way::Told, false), "{}", config);
    prop_assert_eq!(&past, &outcome(&drive, &requests, Way::Told, true), "{}", config);
    Ok(())
}

/// What comes of a drive and its requests, or why there is nothing.
fn outcome(
    drive: &DeviceConfig,
    requests: &[Request],
    way: Way,
    verify: bool,
) -> Result<Value, String> {
    let mut device = Device::new(drive, Options { verify }).map_err(|error| error.to_string())?;
    device.precondition().map_err(|error| error.to_string())?;
    serve(device, requests, way).map_err(|error| error.to_string())
}

/// A random drive with a buffer, and requests of which most ask for a few pages.
fn random_buffered_run(seed: u64) -> (Value, Vec<Request>) {
    let mut mappings = mappings();
    let names = MappingConfig::NAMES.iter().map(|name| json!(name));
    mappings.extend(names);
    // As often as not the plain one.
    mappings.resize(2 * mappings.len(), json!("page"));
    let (mut config, mut requests) = random_run(seed, &mappings);
    let mut dice = support::Dice(seed.rotate_left(17));
    let mut one_of = |of: &[&'static str]| of[dice.roll(of.len() as u64) as usize];
    let schemes: Vec<_> = BufferConfig::NAMES.to_vec();
    config["buffer"] = json!({
        "scheme": one_of(&schemes),
        "size": one_of(&["16 KiB", "64 KiB", "256 KiB"]),
        "write_back": one_of(&["background", "background", "foreground"]),
    });
    config["nand"]["timing"]["ram"] = json!(one_of(&["0 ns", "0 ns", "1 us"]));
    let few = 4096 * (1 + dice.roll(40));
    for request in &mut requests {
        if matches!(request.op, Op::Read | Op::Write) && dice.roll(4) > 0 {
            request.offset %= few;
        }
    }
    (config, requests)
}

/// Else two errors would be equal, and nothing compared.
#[test]
fn most_random_drives_can_be_built() {
    let refused = |seed: &u64| {
        let alone = random_run(*seed, &mappings()).0;
        let buffered = random_buffered_run(*seed).0;
        [alone, buffered]
            .iter()
            .any(|config| Device::new(&support::config(config), Options::default()).is_err())
    };
    let count = (0..400).filter(refused).count();
    assert!(count < 200, "{count}");
}

#[test]
fn through_every_ftl() {
    for mapping in MappingConfig::NAMES {
        compare(&json!({"ftl": {"mapping": mapping}}));
        compare(&json!({"ftl": {"mapping": mapping}, "buffer": {"scheme": "lru"}}));
    }
    let dftl = json!({"kind": "dftl", "cache": 0.1, "entries_per_page": 8});
    compare(
        &json!({"ftl": {"mapping": dftl, "allocator": "dynamic"}, "buffer": {"scheme": "none"}}),
    );
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

/// Reads that find no room for what they push out of DFTL's cache of the map: without time, too,
/// collection follows.
#[test]
fn reads_that_write_the_map_have_room_made() {
    let config = support::config(&json!({
        "nand": {"planes_per_die": 2, "blocks_per_plane": 16, "pages_per_block": 4},
        "ftl": {"mapping": {"kind": "dftl", "cache": 0.2, "entries_per_page": 4, "batch_evict": false},
                "exported": "256 KiB"},
        "buffer": {"scheme": "none"},
        "host": {"replay": "untimed"},
    }));
    let mut dice = support::Dice(3);
    let pages = 64;
    // Writes leave entries of the map that are newer than flash has; reads push them out.
    let requests: Vec<Request> = (0..4_000)
        .map(|at| {
            let op = if at / 12 % 3 == 0 { Op::Write } else { Op::Read };
            support::request(op, dice.roll(pages), 1)
        })
        .collect();
    let figures = |way| serve(Device::new(&config, Options::default()).unwrap(), &requests, way);
    let told = figures(Way::Told).unwrap();
    for way in [Way::Alone, Way::Together, Way::InPieces(3)] {
        assert!(figures(way).unwrap() == told, "{way:?}");
    }
}

/// A read of the map counted as work of its die before the write's unit was picked, where it had
/// begun at once.
#[test]
fn dynamic_striping_sees_the_same_work_while_the_map_is_read() {
    let config = support::config(&json!({
        "nand": {"channels": 2, "chips_per_channel": 3, "blocks_per_plane": 16, "pages_per_block": 16,
                 "timing": {"read": "100 us", "program": "200 us", "erase": "300 us"}},
        "ftl": {"mapping": {"kind": "dftl", "cache": 0.1, "entries_per_page": 8}, "allocator": "dynamic",
                "exported": "3 MiB"},
        "buffer": {"scheme": "none"},
        "host": {"replay": "open", "max_outstanding": 4},
    }));
    for seed in 0..20 {
        let mut dice = support::Dice(seed);
        let requests: Vec<Request> = (0..500)
            .map(|at| {
                let op = [Op::Read, Op::Write][dice.roll(2) as usize];
                let request = support::request(op, dice.roll(768), 1);
                Request { arrival_ns: at * 40_000, ..request }
            })
            .collect();
        let figures = |way| outcome(&config, &requests, way, false).unwrap();
        assert!(figures(Way::Together) == figures(Way::Told), "{seed}");
    }
}

/// Collection that had begun after the last event had made room, and the last of these writes took
/// it with the next event: with `verify` there are more of them, and it waited for another erase.
#[test]
fn a_write_that_waits_takes_room_at_the_same_time_whoever_looks() {
    let config = support::config(&json!({
        "nand": {"dies_per_chip": 2, "blocks_per_plane": 16, "pages_per_block": 4, "endurance": 2,
                 "timing": {"read": "100 ns", "program": "100 ns", "erase": "100 ns",
                            "transfer": "25 us", "command": "200 us"}},
        "ftl": {"mapping": "ssd-model", "exported": "304 KiB"},
        "buffer": {"scheme": "none"},
        "host": {"replay": "open", "max_outstanding": 1},
        "precondition": {"state": "full"},
    }));
    // Arrival in ns and page.
    #[rustfmt::skip]
    let writes = [
        (0, 31), (128_523, 49), (349_380, 24), (530_262, 11), (689_849, 13), (689_849, 3),
        (689_849, 50), (829_906, 1), (829_906, 7), (1_032_196, 35), (1_052_999, 20), (1_052_999, 13),
        (1_052_999, 40), (1_127_723, 47), (1_392_388, 69), (1_392_388, 44), (1_392_388, 29), (1_597_118, 8),
        (1_768_439, 1), (1_993_213, 37), (2_010_511, 65), (2_010_511, 19), (2_200_110, 44), (2_377_011, 34),
        (2_434_335, 27), (2_592_331, 60), (2_592_331, 27), (2_651_826, 37), (2_717_332, 38), (2_717_332, 16),
        (2_717_332, 5), (2_772_514, 49),
    ];
    let requests = writes
        .map(|(arrival_ns, page)| Request { arrival_ns, ..support::request(Op::Write, page, 1) });
    let plainly = outcome(&config, &requests, Way::Together, false).unwrap();
    assert!(plainly == outcome(&config, &requests, Way::Told, false).unwrap());
    assert!(plainly == outcome(&config, &requests, Way::Told, true).unwrap());
}

/// How far collection goes ahead of need depends on the time between requests, not on how they are
/// handed over; a closed replay leaves none.
#[test]
fn collection_ahead_of_need_takes_the_time_between_requests() {
    let mut dice = support::Dice(5);
    let mut arrival_ns = 0;
    let requests: Vec<Request> = (0..3_000)
        .map(|_| {
            // Two in three come together with others; half of all find their page in the buffer.
            arrival_ns += if dice.roll(3) == 0 { 400_000 } else { 0 };
            let op = if dice.roll(10) < 3 { Op::Read } else { Op::Write };
            let page = if dice.roll(2) == 0 { dice.roll(16) } else { dice.roll(1536) };
            Request { arrival_ns, ..support::request(op, page, 1) }
        })
        .collect();
    let settings = ["full", "free"].into_iter().flat_map(|cost| {
        let of = move |write_back| [(cost, write_back, "open"), (cost, write_back, "closed")];
        ["background", "foreground"].into_iter().flat_map(of)
    });
    for (cost, write_back, replay) in settings {
        let what = format!("{cost}, {write_back}, {replay}");
        let drive = |idle_free_blocks: Option<f64>| {
            support::config(&json!({
                "nand": {"channels": 2, "blocks_per_plane": 64, "pages_per_block": 16},
                "ftl": {"exported": "6 MiB", "gc": {"cost": cost, "idle_free_blocks": idle_free_blocks}},
                "buffer": {"scheme": "block-lru", "size": "256 KiB", "write_back": write_back},
                "host": {"replay": replay, "max_outstanding": 4},
                "precondition": {"state": "full"},
            }))
        };
        let ahead = drive(Some(12.0));
        let told = outcome(&ahead, &requests, Way::Told, false).unwrap();
        for way in [Way::Alone, Way::Together, Way::InPieces(3)] {
            assert!(told == outcome(&ahead, &requests, way, false).unwrap(), "{what}, {way:?}");
        }
        assert!(told == outcome(&ahead, &requests, Way::Told, true).unwrap(), "{what}, verified");
        let without = outcome(&drive(None), &requests, Way::Told, false).unwrap();
        let erases = |report: &Value| report["flash"]["erases"]["total"].as_u64().unwrap();
        if replay == "closed" {
            assert!(told == without, "{what}: {} and {}", erases(&told), erases(&without));
        } else {
            assert!(erases(&told) > erases(&without), "{what}: nothing is collected ahead");
        }
    }
}
