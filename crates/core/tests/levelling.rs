//! Wear is evened out, worn-out blocks are retired, and a drive whose life is over says so.

use crate::support;
use crate::support::Dice;
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, DeviceError, Options};
use eraseblock_core::ftl::wear::WearConfig;
use eraseblock_core::ftl::{self, MappingConfig};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Report;
use eraseblock_core::nand::Cause;
use eraseblock_core::nand::op::ByCause;
use serde_json::{Value, json};

fn drive(wear: &Value, over: Value) -> DeviceConfig {
    let mut all = json!({
        "nand": {"channels": 2, "blocks_per_plane": 64, "pages_per_block": 16},
        "ftl": {"exported": "6 MiB", "wear": wear},
        "host": {"replay": "untimed"},
    });
    if let (Some(all), Value::Object(over)) = (all.as_object_mut(), over) {
        all.extend(over);
    }
    support::config(&all)
}

/// Single-page writes, nine of ten of them to the first tenth of the pages; the last half is never
/// written again.
fn skewed(device: &mut Device, writes: u64) -> Result<(), DeviceError> {
    let pages = device.exported_bytes() / 4096;
    let mut dice = Dice(1);
    for i in 0..writes {
        let among = if i % 10 == 0 { pages / 2 } else { pages / 10 };
        device.submit(&support::request(Op::Write, dice.roll(among), 1))?;
    }
    Ok(())
}

fn worn(wear: &Value) -> Report {
    let config = drive(wear, json!({}));
    let mut device = Device::new(&config, Options { verify: true }).unwrap();
    device.precondition().unwrap();
    let writes = device.exported_bytes() / 4096 * 10;
    skewed(&mut device, writes).unwrap();
    device.finish().unwrap()
}

/// Ten full-drive writes. Without levelling the blocks of data that is never rewritten are never
/// erased.
#[test]
fn levelling_evens_out_erases() {
    let none = worn(&json!("none"));
    let unlevelled = none.wear.cv_block.unwrap();
    assert!(unlevelled > 0.5, "{unlevelled}");
    assert_eq!((none.flash.erases.wear, none.flash.programs.wear), (0, 0));
    for name in WearConfig::NAMES.iter().filter(|name| **name != "none") {
        let report = worn(&json!({"kind": name, "threshold": 4}));
        let cv = report.wear.cv_block.unwrap();
        assert!(cv < unlevelled / 2.0, "{name}: {cv}, unlevelled {unlevelled}");
        assert!(report.flash.erases.wear > 0 && report.flash.programs.wear > 0, "{name}");
        // What is levelled is the price: a few copies more.
        assert!(
            report.waf.unwrap() < none.waf.unwrap() * 1.5,
            "{name}: {:?} {:?}",
            report.waf,
            none.waf
        );
        // A larger difference is let stand.
        let lax = worn(&json!({"kind": name, "threshold": 16}));
        assert!(lax.flash.programs.wear < report.flash.programs.wear, "{name}");
    }
}

/// Four units, of which an allocator that takes the lowest free one wears the first most: erases
/// can even out inside a cluster, and nothing moves out of it.
#[test]
fn clusters_are_levelled_by_themselves() {
    let worn = |cluster: u32| {
        let config = drive(
            &json!("none"),
            json!({
                "nand": {"channels": 4, "blocks_per_plane": 32, "pages_per_block": 16},
                "ftl": {"exported": "6 MiB", "allocator": {"kind": "non-striping", "tie": "lowest"},
                        "wear": {"kind": "hot-cold", "threshold": 2, "cluster": cluster}},
                "host": {"replay": "open"},
            }),
        );
        let mut device = Device::new(&config, Options { verify: true }).unwrap();
        device.precondition().unwrap();
        let pages = device.exported_bytes() / 4096;
        let mut dice = Dice(1);
        for n in 0..pages * 10 {
            let request = support::request(Op::Write, dice.roll(pages / 4), 1);
            device.submit(&Request { arrival_ns: n * 50_000_000, ..request }).unwrap();
        }
        let wear = device.finish().unwrap().wear;
        wear.map
            .mean
            .iter()
            .map(|unit| unit.iter().sum::<f64>() / unit.len() as f64)
            .collect::<Vec<_>>()
    };
    for cluster in 1..=3 {
        let means = worn(cluster);
        let (inside, outside) = means.split_at(cluster as usize);
        let (least, most) =
            inside.iter().fold((f64::MAX, 0.0_f64), |(l, m), &e| (l.min(e), m.max(e)));
        assert!(least > 50.0 && most < least * 1.2, "cluster of {cluster}: {means:?}");
        assert!(outside.iter().all(|&erases| erases < 1.0), "cluster of {cluster}: {means:?}");
    }
    let config = drive(&json!({"kind": "hot-cold", "cluster": 2}), json!({}));
    let mut config: Value = serde_json::to_value(config).unwrap();
    config["ftl"]["allocator"] = json!("static");
    let error =
        Device::new(&DeviceConfig::from_json(config).unwrap(), Options::default()).unwrap_err();
    assert!(error.to_string().contains("ftl.wear.cluster") && error.is_input(), "{error}");
}

/// Writes until the flash is worn out; the report, and how many blocks had reached their limit.
fn life(mapping: &str, wear: &Value, replay: &str, verify: bool) -> (Report, u64) {
    let mut ftl = json!({"exported": "1 MiB", "mapping": support::mapping(mapping, 4)});
    if ftl::is_composed(mapping) {
        ftl["wear"] = wear.clone();
    }
    let config = support::config(&json!({
        "nand": {"channels": 2, "blocks_per_plane": 16, "pages_per_block": 16, "endurance": 30},
        "ftl": ftl,
        "host": {"replay": replay, "max_outstanding": 8, "end_of_run": "flush"},
        "buffer": {"size": "64 KiB", "scheme": "lru"},
    }));
    let mut device = Device::new(&config, Options { verify }).unwrap();
    device.precondition().unwrap();
    match skewed(&mut device, 10_000_000) {
        Err(DeviceError::EndOfLife { host_bytes }) => {
            let report = device.finish().unwrap();
            let end = report.end_of_life.clone().unwrap();
            assert_eq!(end.host_bytes, host_bytes);
            assert_eq!(report.requests.submitted, report.requests.completed + end.unanswered);
            assert!(
                report.warnings.iter().any(|w| w.contains("end of its life")),
                "{:?}",
                report.warnings
            );
            assert_eq!(
                device.submit(&Request { ..support::request(Op::Write, 0, 1) }),
                Err(DeviceError::Failed)
            );
            (report, host_bytes)
        }
        other => panic!("ten million writes end a drive of 8192 erases: {other:?}"),
    }
}

/// The end of life is a result, not a failure, under every mapping, timed or not; and no block is
/// erased more often than it endures.
#[test]
fn a_drive_that_wears_out_ends_cleanly() {
    for mapping in MappingConfig::NAMES {
        for replay in ["open", "closed", "untimed"] {
            let (report, host_bytes) = life(mapping, &json!("none"), replay, true);
            assert!(
                report.wear.erases_max <= 30,
                "{mapping}, {replay}: {:?}",
                report.wear.erases_max
            );
            assert!(host_bytes > 1 << 20, "{mapping}, {replay}: {host_bytes}");
        }
    }
}

/// The same where what was held back in RAM is too much at the end: no request is left without an
/// answer.
#[test]
fn a_drive_may_wear_out_while_its_buffer_is_emptied() {
    for mapping in MappingConfig::NAMES {
        for replay in ["closed", "untimed"] {
            let config = support::config(&json!({
                "nand": {"endurance": 3},
                "ftl": {"exported": "64 KiB", "mapping": support::mapping(mapping, 4)},
                "host": {"replay": replay, "end_of_run": "flush"},
                "buffer": {"size": "64 KiB", "scheme": "lru"},
            }));
            let after = |writes: u32| {
                let mut device = Device::new(&config, Options { verify: true }).unwrap();
                device.precondition().unwrap();
                for round in 0..writes {
                    // All 16 pages go to RAM, and out of it with each other flush command.
                    for page in 0..16 {
                        device.submit(&support::request(Op::Write, page * 5 % 16, 1))?;
                    }
                    if round % 2 == 0 {
                        device.submit(&Request { len: 0, ..support::request(Op::Flush, 0, 0) })?;
                    }
                }
                Ok::<_, DeviceError>(device.finish().unwrap())
            };
            let ends = (0..200).map(after).take_while(Result::is_ok).flatten();
            let worn: Vec<_> = ends.filter(|report| report.end_of_life.is_some()).collect();
            assert!(!worn.is_empty(), "{mapping}, {replay}: never at the end");
            // Where requests are left without an answer, one of them had waited for room before.
            let late: Vec<_> =
                worn.iter().filter(|r| r.requests.submitted == r.requests.completed).collect();
            assert!(
                late.iter().any(|report| report.end_of_run.flushed_pages > 0),
                "{mapping}, {replay}"
            );
            assert!(replay == "closed" || late.len() == worn.len(), "{mapping}");
        }
    }
}

/// What levelling is for: the host can write more before the drive dies.
#[test]
fn levelling_lengthens_life() {
    let bytes = |wear: Value| life("page", &wear, "untimed", false).1;
    let none = bytes(json!("none"));
    for name in ["hot-cold", "two-level", "dual-pool"] {
        let levelled = bytes(json!({"kind": name, "threshold": 2}));
        assert!(levelled > none + none / 10, "{name}: {levelled}, without {none}");
    }
}

/// The swap of the worked example: a block with three valid pages and few erases moves into a worn
/// one for three reads, three programs and an erase.
#[test]
fn a_swap_costs_its_copies_and_one_erase() {
    for name in ["hot-cold", "two-level", "dual-pool"] {
        let config = support::config(&json!({
            "nand": {"blocks_per_plane": 10}, "ftl": {"exported": "64 KiB", "wear": {"kind": name, "threshold": 4}},
        }));
        let mut device = Device::new(&config, Options { verify: true }).unwrap();
        device.precondition().unwrap();
        let wear = |of: ByCause| of[Cause::Wear as usize];
        // Page 0 alone is written again: the blocks of the other pages are never erased of
        // themselves.
        for _ in 0..10_000 {
            device.submit(&support::request(Op::Write, 0, 1)).unwrap();
            if wear(device.counters().programs) > 0 {
                break;
            }
        }
        let c = device.counters().clone();
        assert_eq!((wear(c.reads), wear(c.programs), wear(c.erases)), (3, 3, 1), "{name}");
        device.finish().unwrap();
    }
}

/// Wear that is levelled between units may not fill one of them up: a drive that works without a
/// leveller works with it.
#[test]
fn levelling_leaves_room_in_every_unit() {
    for name in ["hot-cold", "two-level", "dual-pool"] {
        let config = support::config(&json!({
            "nand": {"channels": 4, "blocks_per_plane": 32, "pages_per_block": 16},
            "ftl": {"exported": "7 MiB", "allocator": "dynamic", "wear": {"kind": name, "threshold": 4}},
            "host": {"replay": "closed", "max_outstanding": 8},
        }));
        let mut device = Device::new(&config, Options::default()).unwrap();
        device.precondition().unwrap();
        skewed(&mut device, 60_000).unwrap();
        device.finish().unwrap();
    }
}

/// A request that was cut short by the end of the drive's life is not among what the host has
/// written.
#[test]
fn only_whole_requests_count_as_written() {
    for mapping in MappingConfig::NAMES {
        for replay in ["closed", "untimed"] {
            let config = support::config(&json!({
                "nand": {"endurance": 3},
                "ftl": {"exported": "64 KiB", "mapping": support::mapping(mapping, 4)},
                "host": {"replay": replay},
            }));
            let mut device = Device::new(&config, Options { verify: true }).unwrap();
            device.precondition().unwrap();
            let mut taken = 0;
            let told = loop {
                // Over the end of a block, so that some are cut in the middle.
                match device.submit(&support::request(Op::Write, taken * 3 % 11, 5)) {
                    Ok(()) => taken += 1,
                    Err(DeviceError::EndOfLife { host_bytes }) => break host_bytes,
                    Err(error) => panic!("{mapping}: {error}"),
                }
            };
            let report = device.finish().unwrap();
            // Requests that waited for room are not answered, and not all of their pages are taken.
            let whole = report.requests.completed;
            assert!(
                whole <= taken && taken <= whole + 32,
                "{mapping}, {replay}: {whole} of {taken}"
            );
            assert_eq!(told, whole * 5 * 4096, "{mapping}, {replay}");
            assert_eq!(report.end_of_life.unwrap().host_bytes, told, "{mapping}, {replay}");
        }
    }
}

/// Where too few blocks are left to merge all log blocks at the end, the report says so.
#[test]
fn merges_that_cannot_be_done_are_reported() {
    for mapping in ["bast", "fast", "replacement"] {
        let unmerged = |endurance: u32, stride: u64, writes: u64| {
            let config = support::config(&json!({
                "nand": {"endurance": endurance},
                "ftl": {"exported": "128 KiB", "mapping": support::mapping(mapping, 4)},
                "host": {"end_of_run": "merge"},
            }));
            let mut device = Device::new(&config, Options { verify: true }).unwrap();
            device.precondition().unwrap();
            for n in 0..writes {
                device.submit(&support::request(Op::Write, n * stride % 32, 1)).ok()?;
            }
            let report = device.finish().unwrap();
            Some(report.warnings.iter().any(|w| w.contains("not all log blocks could be merged")))
        };
        assert_eq!(unmerged(0, 7, 100), Some(false), "{mapping}");
        let mut runs = [(1, 5), (1, 7), (2, 5), (2, 7), (2, 9), (3, 11)].into_iter();
        let reported = runs.any(|(endurance, stride)| {
            (0..500)
                .map_while(|writes| unmerged(endurance, stride, writes))
                .any(|unmerged| unmerged)
        });
        assert!(reported, "{mapping}: never");
    }
}

/// A block that makes way for cold data of another unit may not cost its own unit the last erased
/// one: collection ran dry after some 40,000 writes, with pages to collect in every unit.
#[test]
fn swaps_between_units_leave_each_its_reserve() {
    for cluster in [2, 4] {
        let config = support::config(&json!({
            "nand": {"channels": 4, "blocks_per_plane": 128, "pages_per_block": 64, "copy_back": true},
            "ftl": {"exported": "112 MiB", "allocator": "dynamic", "gc": {"free_blocks": 0.05},
                    "wear": {"kind": "dual-pool", "threshold": 4, "cluster": cluster}},
            "host": {"replay": "closed", "max_outstanding": 256},
        }));
        let mut device = Device::new(&config, Options::default()).unwrap();
        device.precondition().unwrap();
        let pages = device.exported_bytes() / 4096;
        let mut dice = Dice(1);
        for i in 0..45_000 {
            let among = if i % 10 == 0 { pages } else { pages / 10 };
            device.submit(&support::request(Op::Write, dice.roll(among), 1)).unwrap();
        }
        device.finish().unwrap();
    }
}

/// Of three units in clusters of two the last is a cluster by itself, levelled as it is without
/// clusters: under round robin nothing moves between units, and all get the same pages.
#[test]
fn a_unit_left_over_is_a_cluster_of_one() {
    let of_the_last = |name: &str, cluster: u32| {
        let config = drive(
            &json!("none"),
            json!({
                "nand": {"channels": 3, "blocks_per_plane": 32, "pages_per_block": 4},
                "ftl": {"exported": "768 KiB", "allocator": "round-robin",
                        "wear": {"kind": name, "threshold": 2, "cluster": cluster}},
            }),
        );
        let mut device = Device::new(&config, Options { verify: true }).unwrap();
        device.precondition().unwrap();
        skewed(&mut device, 5_000).unwrap();
        device.erases()[64..].to_vec()
    };
    for name in WearConfig::NAMES.iter().filter(|name| **name != "none") {
        assert_eq!(of_the_last(name, 2), of_the_last(name, 1), "{name}");
    }
}

/// More units than there are cannot be levelled together.
#[test]
fn clusters_are_no_larger_than_the_array() {
    for (cluster, fits) in [(2, true), (3, false)] {
        let config = drive(&json!({"kind": "hot-cold", "cluster": cluster}), json!({}));
        let built = Device::new(&config, Options::default());
        assert_eq!(built.is_ok(), fits, "{cluster}");
        if let Err(error) = built {
            assert!(error.to_string().contains("found 3 units, but the array has 2"), "{error}");
        }
    }
}

/// Erases before the run do not count: levelling begins as early as on a drive that was only
/// filled.
#[test]
fn levelling_does_not_wait_for_the_wear_of_the_filling() {
    for wear in ["hot-cold", "two-level", "dual-pool"] {
        let moved = |state: &str| {
            let mut config = drive(&json!({"kind": wear, "threshold": 8}), json!({}));
            config.precondition.state = serde_json::from_value(json!(state)).unwrap();
            let mut device = Device::new(&config, Options { verify: true }).unwrap();
            device.precondition().unwrap();
            skewed(&mut device, 12_000).unwrap();
            device.finish().unwrap().flash.programs.wear
        };
        let (full, steady) = (moved("full"), moved("steady"));
        assert!(
            full > 0 && steady > full / 4,
            "{wear}: {full} pages moved, {steady} on a drive in its steady state"
        );
    }
}
