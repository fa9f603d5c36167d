//! What a drive that is served is asked, played in the simulation: the flash does the same.

#![cfg(unix)]

use std::path::Path;

use crate::common::{buffers, config, ftls, one_shot, simulated, simulated_from};
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, Options};
use eraseblock_core::host::Op;
use eraseblock_serve::{Drive, Finished, Recorder};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

/// Many requests at once of a host that waits for some of them, forgets itself at times, and
/// flushes; at paced times, or as fast as it can.
fn use_it(drive: &mut Drive, rng: &mut Pcg64Mcg, requests: u32, paced: bool) {
    let pages = drive.size() / 4096;
    let mut wall = drive.now();
    let mut answers = Vec::new();
    for _ in 0..requests {
        let near = if rng.random_bool(0.5) { pages / 8 } else { pages };
        let offset = rng.random_range(0..near) * 4096 + 512 * rng.random_range(0..4);
        let len = (512 * rng.random_range(1..40)).min(drive.size() - offset);
        let (op, range) = match rng.random_range(0..20) {
            0..11 => (Op::Write, (offset, len)),
            11..17 => (Op::Read, (offset, len)),
            17 | 18 => (Op::Trim, (offset, len)),
            _ => (Op::Flush, (0, 0)),
        };
        let data = if op == Op::Write { vec![7; len as usize] } else { vec![] };
        let fua = op == Op::Write && rng.random_bool(0.1);
        let time = if paced { wall } else { drive.now() };
        let idle = if rng.random_bool(0.1) { rng.random_range(0..5_000_000) } else { 0 };
        let alone = drive.under_way() == 0;
        drive.put(op, range, &data, fua, time + if alone { idle } else { 0 }).unwrap();
        if paced {
            wall += rng.random_range(0..400_000);
            while drive.pass(wall).unwrap() {}
        } else {
            while rng.random_bool(0.4) && drive.under_way() > 0 {
                drive.wait().unwrap();
            }
        }
        drive.take_answers(&mut answers);
    }
}

/// Serves, records, simulates.
fn agrees(folder: &Path, name: &str, config: &DeviceConfig, seed: u64, paces: &[bool]) {
    for &paced in paces {
        let image = folder.join(format!("{name}-{paced}"));
        let trace = image.with_extension("ebt");
        Drive::create(&image, config).unwrap();
        let mut drive = Drive::open(&image, false).unwrap().0;
        drive.record(Recorder::create(&trace, vec![]).unwrap());
        use_it(&mut drive, &mut Pcg64Mcg::seed_from_u64(seed), 300, paced);
        let Finished { report: served, recorder, .. } = drive.close().unwrap();
        recorder.unwrap().finish().unwrap();
        let simulated = simulated(config, &trace);
        std::fs::remove_file(&image).unwrap();
        assert_eq!(served.flash, simulated.flash, "{name}, paced: {paced}");
        // Not the flash alone: the answers, too.
        assert_eq!(served.requests, simulated.requests, "{name}, paced: {paced}");
        assert_eq!(served.response_ns, simulated.response_ns, "{name}, paced: {paced}");
        assert_eq!(served.hit_ratio, simulated.hit_ratio, "{name}, paced: {paced}");
    }
}

#[test]
fn every_ftl_does_in_the_simulation_what_it_did_when_it_was_served() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, (name, ftl)) in ftls().into_iter().enumerate() {
        let config = config(&ftl, json!({"scheme": "lru", "size": "64 KiB"}));
        agrees(folder.path(), &name, &config, seed as u64, &[false, true]);
    }
}

#[test]
fn every_buffer_does_in_the_simulation_what_it_did_when_it_was_served() {
    let folder = tempfile::tempdir().unwrap();
    let sized = |scheme: &str| json!({"scheme": scheme, "size": if scheme == "none" { "0 B" } else { "128 KiB" }});
    for (seed, buffer) in buffers().into_iter().enumerate() {
        let config = config(&json!("page"), sized(&buffer));
        agrees(folder.path(), &buffer, &config, seed as u64, &[true]);
        // Pages wait in program units, which fill up only with others.
        agrees(folder.path(), &format!("{buffer}-units"), &one_shot(config), seed as u64, &[false]);
    }
}

#[test]
fn background_work_and_the_end_of_a_run_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let with = |ftl: &str, table: &str, key: &str, value: Value| {
        let ftl = ftls().into_iter().find(|(name, _)| name == ftl).unwrap().1;
        let config = config(&ftl, json!({"scheme": "block-lru", "size": "128 KiB"}));
        let mut config = serde_json::to_value(config).unwrap();
        config[table][key] = value;
        DeviceConfig::from_json(config).unwrap()
    };
    let merged = with("fast", "host", "end_of_run", "merge".into());
    agrees(folder.path(), "merged", &merged, 1, &[false]);
    let flushed = with("page", "host", "end_of_run", "flush".into());
    agrees(folder.path(), "flushed", &flushed, 2, &[true]);
    let queue = with("page", "host", "max_outstanding", 2.into());
    agrees(folder.path(), "queue", &queue, 3, &[false, true]);
}

/// A simulation that begins with an image does what a server of it does: with a drive that has been
/// used, ended as it should or not.
#[test]
fn a_simulation_goes_on_from_an_image_as_a_server_does() {
    let folder = tempfile::tempdir().unwrap();
    let (image, trace) = (folder.path().join("image"), folder.path().join("trace.ebt"));
    for (seed, (name, ftl)) in (0..).zip(ftls()) {
        let config = config(&ftl, json!({"scheme": "lru", "size": "64 KiB"}));
        Drive::create(&image, &config).unwrap();
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut drive = Drive::open(&image, false).unwrap().0;
        use_it(&mut drive, &mut rng, 250, false);
        if seed % 2 == 0 {
            drive.close().unwrap();
        } else {
            drop(drive);
        }
        let (media, sha256) = Drive::flash_of(&image, &config).unwrap();
        assert_eq!(Drive::flash_of(&image, &config).unwrap().1, sha256, "{name}");
        let mut drive = Drive::open(&image, false).unwrap().0;
        drive.record(Recorder::create(&trace, vec![]).unwrap());
        use_it(&mut drive, &mut rng, 200, false);
        let Finished { report: served, recorder, .. } = drive.close().unwrap();
        recorder.unwrap().finish().unwrap();
        for verify in [false, true] {
            let options = Options { verify };
            let device = Device::resuming(&config, options, media.clone()).unwrap();
            let blocks = device.erases().len() as f64;
            let simulated = simulated_from(device, &trace);
            assert_eq!(served.flash, simulated.flash, "{name}, verify: {verify}");
            assert_eq!(served.response_ns, simulated.response_ns, "{name}, verify: {verify}");
            assert_eq!(served.wear, simulated.wear, "{name}, verify: {verify}");
            assert_eq!(simulated.precondition.state, "image");
            // What was erased before is no wear of this run.
            let (worn, erased) =
                (simulated.wear.erases_mean * blocks, simulated.flash.erases.total);
            assert!((worn - erased as f64).abs() < 1e-6, "{name}: {worn} of {erased}");
        }
        assert_ne!(Drive::flash_of(&image, &config).unwrap().1, sha256, "{name}");
        std::fs::remove_file(&image).unwrap();
        std::fs::remove_file(&trace).unwrap();
    }
}

#[test]
fn a_simulation_of_another_drive_does_not_begin_with_an_image() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    let mut config = config(&json!("page"), json!({"scheme": "lru", "size": "64 KiB"}));
    Drive::create(&image, &config).unwrap();
    // The buffer may be another.
    config.buffer.size.0 *= 2;
    Drive::flash_of(&image, &config).unwrap();
    // Several runs may begin with one image at the same time; a server has it alone.
    let reader = std::fs::File::open(&image).unwrap();
    rustix::fs::flock(&reader, rustix::fs::FlockOperation::LockShared).unwrap();
    Drive::flash_of(&image, &config).unwrap();
    assert!(Drive::open(&image, false).is_err());
    drop(reader);
    config.nand.timing.erase.0 += 1;
    let refused = Drive::flash_of(&image, &config).unwrap_err().to_string();
    assert!(refused.contains("nand.timing.erase is "), "{refused}");
}
