//! How a drive stands: what is kept from change to change is what a look at all pages finds.

#![cfg(unix)]

use eraseblock_core::nand::media::Content;
use eraseblock_core::support::ids::Lpn;
use eraseblock_serve::Drive;
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use crate::common::{Model, config, ftls, one_shot};

/// Pages of each block that hold what counts, by what is on the medium and where the FTL looks.
fn valid(drive: &Drive) -> Vec<u64> {
    let (device, media) = (drive.device(), drive.device().media().unwrap());
    let pages_per_block = device.geometry().pages_per_block;
    let mut valid = vec![0; device.geometry().blocks() as usize];
    for lpn in Lpn(0).run(device.logical_pages()) {
        let place = device.place_of(lpn).filter(|_| device.newest_version(lpn).is_some());
        if let Some(ppn) = place {
            valid[ppn.block(pages_per_block).index()] += 1;
        }
    }
    // Of each part of the map, the copy that was written last counts.
    let mut parts = std::collections::BTreeMap::new();
    for (ppn, oob) in media.records().filter(|(_, oob)| oob.content == Content::Map) {
        let part = parts.entry(oob.lpn).or_insert((oob.version, oob.opened, ppn));
        *part = (*part).max((oob.version, oob.opened, ppn));
    }
    for (_, _, ppn) in parts.into_values() {
        valid[ppn.block(pages_per_block).index()] += 1;
    }
    valid
}

fn counted(drive: &Drive) -> Vec<u64> {
    let standing: Value = serde_json::to_value(drive.glance()).unwrap();
    assert_eq!(standing["blocks"]["per_cell"], 1);
    standing["blocks"]["valid_pages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_u64().unwrap())
        .collect()
}

#[test]
fn what_counts_in_each_block_is_known_without_looking_at_its_pages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    for (name, mapping) in ftls() {
        let plain = config(&mapping, json!({"scheme": "lru", "size": "48 KiB"}));
        let shapes =
            if name == "page" { vec![plain.clone(), one_shot(plain)] } else { vec![plain] };
        for config in shapes {
            _ = std::fs::remove_file(&path);
            Drive::create(&path, &config).unwrap();
            let mut rng = Pcg64Mcg::seed_from_u64(4);
            for opened in 0..2 {
                let mut drive = Drive::open(&path, false).unwrap().0;
                // What was there before is read, and nobody compares it.
                let mut model = Model::new(&mut drive);
                model.learn(&mut drive);
                for _ in 0..150 {
                    model.step(&mut drive, &mut rng).unwrap();
                }
                let standing = serde_json::to_value(drive.glance()).unwrap();
                let slices = standing["buffer"]["by_slice"].as_array().unwrap();
                let in_ram: u64 = slices.iter().map(|pages| pages.as_u64().unwrap()).sum();
                assert_eq!(standing["buffer"]["unstored"], in_ram, "{name}");
                assert!(in_ram > 0, "{name}: the buffer holds something");
                store_all(&mut drive);
                assert_eq!(counted(&drive), valid(&drive), "{name}, opened {opened}");
                let blocks = &serde_json::to_value(drive.glance()).unwrap()["blocks"];
                let cells = |key: &str| {
                    blocks[key].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum::<u64>()
                };
                let erased = drive.device().erases().iter().map(|&n| u64::from(n)).sum::<u64>();
                let pages = u64::from(drive.device().geometry().pages());
                let used = pages - cells("free_pages");
                assert!(cells("valid_pages") < used, "{name}: some are invalid");
                assert_eq!(blocks["erases"], erased, "{name}");
                drive.close().unwrap();
            }
        }
    }
}

/// Everything is stored, and nothing is under way.
fn store_all(drive: &mut Drive) {
    crate::common::Host::flush(drive).unwrap();
    while drive.next_event().is_some_and(|time| drive.pass(time + 1).unwrap()) {}
    assert_eq!(drive.glance().buffer.unstored, 0);
}
