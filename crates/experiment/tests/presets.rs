//! The presets hold the numbers that their papers print, and leave the room that their FTLs need.

use eraseblock_experiment::{Experiment, preset_names, registry_json, resolve};
use serde_json::Value;

fn preset(name: &str) -> (Experiment, Value) {
    let sets = [format!("preset={name}"), "workload.path=w".to_owned()];
    let experiment = resolve(None, "", &sets).unwrap().remove(0);
    let json = serde_json::from_str(&experiment.to_json()).unwrap();
    (experiment, json)
}

/// Bytes of flash in all.
fn raw_bytes(experiment: &Experiment) -> u64 {
    let nand = &experiment.nand;
    [
        nand.channels,
        nand.chips_per_channel,
        nand.dies_per_chip,
        nand.planes_per_die,
        nand.blocks_per_plane,
        nand.pages_per_block,
    ]
    .iter()
    .map(|&count| u64::from(count))
    .product::<u64>()
        * nand.page_size.0
}

fn check(json: &Value, expected: &[(&str, Value)]) {
    for (pointer, value) in expected {
        assert_eq!(json.pointer(pointer), Some(value), "{pointer}");
    }
}

/// Section 4.2.2, Tables 4.2 and 4.4.
#[test]
fn the_hbm_thesis() {
    let (experiment, json) = preset("hbm-2010");
    check(
        &json,
        &[
            ("/ftl/exported", "32 GiB".into()),
            ("/nand/page_size", "2 KiB".into()),
            ("/nand/pages_per_block", 64.into()),
            ("/nand/endurance", 100_000.into()),
            ("/nand/timing/read", "25 us".into()),
            ("/nand/timing/program", "200 us".into()),
            ("/nand/timing/erase", "1500 us".into()),
            ("/nand/timing/transfer", "100 us".into()),
            ("/nand/energy/read_mj", 0.002_062_5.into()),
            ("/nand/energy/program_mj", 0.0165.into()),
            ("/nand/energy/erase_mj", 0.123_75.into()),
            ("/ftl/mapping/kind", "bast".into()),
            ("/ftl/mapping/log_blocks", 0.03.into()),
            ("/host/max_outstanding", 1.into()),
            ("/host/partial_page", "round".into()),
            ("/buffer/write_back", "foreground".into()),
        ],
    );
    let spare = (raw_bytes(&experiment) - (32 << 30)) / (64 * 2048);
    assert!(spare > 32_u64 * 8192 * 3 / 100, "{spare} blocks beyond what the host sees");
}

/// Section 4.2.1 and Table 2.
#[test]
fn the_bplru_paper() {
    let (experiment, json) = preset("bplru-2008");
    check(
        &json,
        &[
            ("/ftl/exported", "1 GiB".into()),
            ("/nand/page_size", "2 KiB".into()),
            ("/nand/pages_per_block", 128.into()),
            ("/nand/timing/read", "50 us".into()),
            ("/nand/timing/program", "800 us".into()),
            ("/nand/timing/erase", "1500 us".into()),
            ("/nand/timing/transfer", "50 us".into()),
            ("/ftl/mapping/kind", "bast".into()),
            ("/ftl/mapping/log_blocks", 7.0.into()),
            ("/ftl/mapping/partial_merge", false.into()),
            ("/buffer/scheme/kind", "bplru".into()),
            ("/buffer/scheme/padding", true.into()),
            ("/buffer/scheme/compensation", true.into()),
            ("/host/end_of_run", "flush".into()),
        ],
    );
    let spare = (raw_bytes(&experiment) - (1 << 30)) / (128 * 2048);
    assert!(spare > 7 && spare < 32, "{spare} blocks beyond what the host sees");
}

/// Table I, and the SSD model's 16 bytes beside each sector.
#[test]
fn the_epo_paper() {
    let (experiment, json) = preset("epo-2011");
    check(
        &json,
        &[
            ("/nand/channels", 48.into()),
            ("/nand/planes_per_die", 8.into()),
            ("/nand/page_size", "4 KiB".into()),
            ("/nand/pages_per_block", 64.into()),
            ("/nand/timing/read", "25 us".into()),
            ("/nand/timing/program", "200 us".into()),
            ("/nand/timing/erase", "1500 us".into()),
            ("/nand/timing/transfer_per", "512 B".into()),
            ("/buffer/size", "8 MiB".into()),
            ("/buffer/battery", true.into()),
            ("/buffer/scheme/kind", "epo".into()),
            ("/host/partial_page", "round".into()),
            ("/ftl/mapping/kind", "ssd-model".into()),
            ("/ftl/mapping/stride", 1.into()),
            ("/ftl/mapping/reserve", 0.15.into()),
            ("/ftl/mapping/min_free", 0.05.into()),
            ("/ftl/mapping/active", "plane".into()),
            ("/ftl/mapping/pool", "element".into()),
            ("/ftl/mapping/cleaning", "greedy".into()),
        ],
    );
    assert_eq!(experiment.nand.timing.transfer.0, 25 * (512 + 16));
    assert_eq!(raw_bytes(&experiment), 192 << 30);
    // Elements and page sizes can be axes: four gigabytes in each element.
    let sets =
        ["preset=epo-2011", "workload.path=w", "nand.channels=[16, 32, 48, 64]"].map(str::to_owned);
    let sizes: Vec<u64> = resolve(None, "", &sets).unwrap().iter().map(raw_bytes).collect();
    assert_eq!(sizes, [64 << 30, 128 << 30, 192 << 30, 256 << 30]);
}

/// Table 4.1.
#[test]
fn the_multi_bank_thesis() {
    let (experiment, json) = preset("multibank-2009");
    check(
        &json,
        &[
            ("/nand/channels", 4.into()),
            ("/nand/chips_per_channel", 1.into()),
            ("/nand/page_size", "4 KiB".into()),
            ("/nand/pages_per_block", 64.into()),
            ("/nand/copy_back", true.into()),
            ("/nand/endurance", 100_000.into()),
            ("/nand/timing/read", "25 us".into()),
            ("/nand/timing/program", "200 us".into()),
            ("/nand/timing/erase", "1500 us".into()),
            ("/ftl/mapping/kind", "page".into()),
            ("/ftl/allocator/kind", "dynamic".into()),
            ("/ftl/allocator/pool", "ssd".into()),
            ("/ftl/allocator/striping_unit", 1.into()),
            ("/ftl/victim/kind", "greedy".into()),
            ("/ftl/gc/free_blocks", 0.05.into()),
            // Section 2.1: a process copies the live pages of a victim and erases it.
            ("/ftl/gc/grain", "victim".into()),
            ("/ftl/over_provisioning", 0.15.into()),
        ],
    );
    let nand = &experiment.nand;
    assert_eq!(nand.timing.transfer.0, 4096 * 1_000_000_000 / 40_000_000);
    // One bank for each channel; a block of 256 KB.
    assert_eq!((nand.dies_per_chip, nand.planes_per_die), (1, 1));
    assert_eq!(u64::from(nand.pages_per_block) * nand.page_size.0, 256 << 10);
}

/// The units that a modern drive keeps apart are apart, and a page crosses the bus at 450 MB/s.
#[test]
fn the_nvme_drive() {
    let (experiment, json) = preset("nvme-tlc");
    check(
        &json,
        &[
            ("/nand/mapping_unit", "4 KiB".into()),
            ("/nand/page_size", "16 KiB".into()),
            ("/nand/pages_per_program", 3.into()),
            ("/nand/multi_plane", true.into()),
            ("/nand/scheduling", "read-first".into()),
            ("/ftl/mapping/kind", "page".into()),
            ("/buffer/write_back", "background".into()),
        ],
    );
    let nand = &experiment.nand;
    assert_eq!(nand.timing.transfer.0, 4096 * 1_000_000_000 / 450_000_000);
    let spare = raw_bytes(&experiment) as f64 / 60e9 - 1.0;
    assert!((0.14..0.15).contains(&spare), "{spare}");
    let program_bytes = u64::from(nand.pages_per_program * nand.planes_per_die) * nand.page_size.0;
    assert_eq!(program_bytes, 96 << 10);
}

/// Table 3.
#[test]
fn the_supa_paper() {
    let (experiment, json) = preset("supa-2017");
    check(
        &json,
        &[
            ("/ftl/exported", "80 GiB".into()),
            ("/nand/channels", 8.into()),
            ("/nand/chips_per_channel", 4.into()),
            ("/nand/page_size", "4 KiB".into()),
            ("/nand/pages_per_block", 64.into()),
            ("/nand/timing/read", "60 us".into()),
            ("/nand/timing/program", "800 us".into()),
            ("/nand/timing/erase", "1500 us".into()),
            ("/buffer/size", "64 MiB".into()),
            ("/buffer/scheme/kind", "supa".into()),
            ("/buffer/scheme/threshold", 4.into()),
            ("/buffer/scheme/window_requests", 10_000.into()),
            ("/ftl/mapping/kind", "pattern".into()),
            ("/ftl/mapping/log_blocks", 0.05.into()),
            ("/patterns", true.into()),
            ("/service_times", true.into()),
        ],
    );
    let spare = (raw_bytes(&experiment) - (80 << 30)) / (256 << 10);
    assert!(spare > (80_u64 << 30) / (256 << 10) / 20, "{spare} blocks beyond what the host sees");
}

#[test]
fn every_preset_is_checked_here() {
    let known = ["bplru-2008", "epo-2011", "hbm-2010", "multibank-2009", "nvme-tlc", "supa-2017"];
    assert_eq!(preset_names(), known);
}

/// What a preset's paper leaves open is a key of the preset, and every other reading of it can be
/// had.
#[test]
fn every_other_reading_of_a_drive_can_be_configured() {
    let registry: Value = serde_json::from_str(&registry_json()).unwrap();
    let mut readings = 0;
    for device in registry["devices"].as_array().unwrap() {
        for choice in device["choices"].as_array().into_iter().flatten() {
            let (name, option) =
                (device["name"].as_str().unwrap(), choice["option"].as_str().unwrap());
            let pointer = format!("/{}", option.replace('.', "/"));
            assert_eq!(
                preset(name).1.pointer(&pointer),
                Some(&choice["default"]),
                "{name}: {option}"
            );
            assert!(!choice["open"].as_str().unwrap().is_empty(), "{name}: {option}");
            for other in choice["others"].as_array().unwrap() {
                assert_ne!(other, &choice["default"], "{name}: {option}");
                let sets = [
                    format!("preset={name}"),
                    "workload.path=w".to_owned(),
                    format!("{option}={other}"),
                ];
                let experiment = resolve(None, "", &sets).unwrap().remove(0);
                let json: Value = serde_json::from_str(&experiment.to_json()).unwrap();
                assert_eq!(json.pointer(&pointer), Some(other), "{name}: {option}");
                readings += 1;
            }
        }
    }
    assert!(readings >= 8, "{readings}");
}
