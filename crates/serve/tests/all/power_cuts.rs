//! Power fails at every flash operation of a run: what was flushed is in the image, and nothing is
//! mixed up.

#![cfg(unix)]

use crate::common;

use std::path::{Path, PathBuf};

use crate::common::{Model, config, ftls, one_shot};
use eraseblock_core::config::{DeviceConfig, PowerLoss};
use eraseblock_core::host::Op;
use eraseblock_serve::{Drive, Failure, Stop};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::json;

/// A used drive's image, and what it holds.
fn used(path: &Path, config: &DeviceConfig) -> Model {
    Drive::create(path, config).unwrap();
    let mut drive = Drive::open(path, false).unwrap().0;
    let mut model = Model::new(&mut drive);
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    for _ in 0..250 {
        model.step(&mut drive, &mut rng).unwrap();
    }
    drive.close().unwrap();
    model.flushed();
    model
}

/// Goes on with requests until power fails or `count` are done; the steps that were taken.
fn go_on(drive: &mut Drive, model: &mut Model, count: u32) -> u64 {
    let mut rng = Pcg64Mcg::seed_from_u64(common::seed(2));
    let before = drive.steps();
    for _ in 0..count {
        if model.step(drive, &mut rng).is_err() {
            break;
        }
    }
    drive.steps() - before
}

#[test]
fn at_every_flash_operation_of_a_small_run() {
    let folder = common::fast_folder();
    let (base, image) = (folder.path().join("base"), folder.path().join("image"));
    let mut cuts = 0;
    let plain = ftls()
        .into_iter()
        .map(|(name, ftl)| (name, config(&ftl, json!({"scheme": "fab", "size": "48 KiB"}))));
    let all: Vec<_> = plain.collect();
    let units = all.iter().filter(|(name, _)| ["page", "dftl"].contains(&name.as_str()));
    let units = units.map(|(name, config)| (format!("{name}, one-shot"), one_shot(config.clone())));
    let units: Vec<_> = units.collect();
    for (name, config) in all.into_iter().chain(units) {
        _ = std::fs::remove_file(&base);
        let model = used(&base, &config);
        let mut after = 0;
        loop {
            std::fs::copy(&base, &image).unwrap();
            let mut model = model.clone();
            let mut drive = Drive::open(&image, false).unwrap().0;
            drive.cut_after(after + 1);
            let done = go_on(&mut drive, &mut model, 16);
            let failed = drive.failure().is_some();
            drop(drive);
            let mut drive =
                Drive::open(&image, false).unwrap_or_else(|e| panic!("{name}, {after}: {e}")).0;
            model.power_was_cut(&mut drive);
            // It works on.
            go_on(&mut drive, &mut model, 2);
            assert_eq!(drive.failure(), None, "{name}, {after}");
            model.compare_all(&mut drive);
            if !failed {
                break;
            }
            assert!(done > after, "{name}: time goes on");
            (after, cuts) = (done, cuts + 1);
        }
    }
    assert!(cuts > 250, "{cuts} cuts");
}

/// With a capacitor everything that was answered is there, flushed or not, at every flash operation
/// of a small run.
#[test]
fn a_capacitor_saves_what_was_not_flushed() {
    let folder = common::fast_folder();
    let (base, image) = (folder.path().join("base"), folder.path().join("image"));
    let mut cuts = 0;
    for (name, ftl) in ftls() {
        let mut config = config(&ftl, json!({"scheme": "lru", "size": "48 KiB"}));
        config.buffer.power_loss = PowerLoss::Capacitor;
        _ = std::fs::remove_file(&base);
        let model = used(&base, &config);
        for after in 0.. {
            std::fs::copy(&base, &image).unwrap();
            let mut model = model.clone();
            let mut drive = Drive::open(&image, false).unwrap().0;
            let mut rng = Pcg64Mcg::seed_from_u64(common::seed(6));
            drive.cut_after(after + 1);
            let mut before = model.clone();
            let failed = (0..16).any(|_| {
                before = model.clone();
                model.step(&mut drive, &mut rng).is_err()
            });
            drive.lose_power(&image, false).unwrap_or_else(|e| panic!("{name}, {after}: {e}"));
            // The request that was not answered may have happened or not.
            if failed {
                model.compare_either(&before, &mut drive);
            } else {
                model.compare_all(&mut drive);
            }
            assert_eq!(drive.pages_in_ram(), 0, "{name}, {after}: all is stored");
            // It works on, and the image has it, too.
            model.learn(&mut drive);
            go_on(&mut drive, &mut model, 2);
            drive.close().unwrap();
            model.compare_all(&mut Drive::open(&image, false).unwrap().0);
            if !failed {
                break;
            }
            cuts += 1;
        }
    }
    assert!(cuts > 250, "{cuts} cuts");
}

/// While power is gone nobody else gets at the image.
#[test]
fn the_image_stays_locked_through_a_power_cut() {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    Drive::create(&image, &config(&json!("page"), json!({"scheme": "lru", "size": "48 KiB"})))
        .unwrap();
    let mut drive = Drive::open(&image, false).unwrap().0;
    let ended = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let others = scope.spawn(|| {
            let mut refused = 0;
            while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                assert!(Drive::info(&image).is_err(), "somebody else has got the image");
                refused += 1;
            }
            refused
        });
        for _ in 0..20 {
            drive.lose_power(&image, false).unwrap();
        }
        ended.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(others.join().unwrap() > 0);
    });
}

/// Between any two writes to the file, and in the middle of each: finer than flash operations are.
#[test]
fn at_every_write_to_the_image() {
    let folder = common::fast_folder();
    let (base, image) = (folder.path().join("base"), folder.path().join("image"));
    let drive = |mapping: &str| {
        let ftl = ftls().into_iter().find(|(name, _)| name == mapping).unwrap().1;
        config(&ftl, json!({"scheme": "lru", "size": "48 KiB"}))
    };
    for config in [drive("page"), drive("fast"), one_shot(drive("page")), one_shot(drive("dftl"))] {
        _ = std::fs::remove_file(&base);
        let model = used(&base, &config);
        // The drive does not know that it is dead, and goes on promising: nothing of that counts.
        for writes in 1..80 {
            std::fs::copy(&base, &image).unwrap();
            let mut model = model.clone();
            let mut drive = Drive::open(&image, false).unwrap().0;
            drive.stop_after(writes, Stop::Killed);
            let mut rng = Pcg64Mcg::seed_from_u64(3);
            for _ in 0..12 {
                model.step_unpromised(&mut drive, &mut rng).unwrap();
            }
            drop(drive);
            let mut drive = Drive::open(&image, false).unwrap().0;
            model.power_was_cut(&mut drive);
            go_on(&mut drive, &mut model, 2);
            model.compare_all(&mut drive);
        }
    }
}

/// The host's disk takes no more, at any write: all that was answered can be read, from the drive
/// that has failed as well as from its image.
#[test]
fn a_full_disk_takes_nothing_back() {
    let folder = common::fast_folder();
    let (base, image) = (folder.path().join("base"), folder.path().join("image"));
    // At each write where there is time.
    let step = common::apart(5);
    let mut failures = 0;
    for (mapping, ftl) in ftls() {
        for power_loss in [PowerLoss::None, PowerLoss::Capacitor] {
            _ = std::fs::remove_file(&base);
            let mut config = config(&ftl, json!({"scheme": "lru", "size": "48 KiB"}));
            config.buffer.power_loss = power_loss;
            let model = used(&base, &config);
            for writes in (1..).step_by(step) {
                std::fs::copy(&base, &image).unwrap();
                let mut model = model.clone();
                let mut drive = Drive::open(&image, false).unwrap().0;
                drive.checkpoint_every(30);
                drive.stop_after(writes, Stop::Full);
                let mut rng = Pcg64Mcg::seed_from_u64(common::seed(writes));
                let what = format!("{mapping}, {power_loss:?}, {writes} writes");
                let mut before = model.clone();
                let failed = (0..24).any(|_| {
                    before = model.clone();
                    model.step(&mut drive, &mut rng).is_err()
                });
                // A capacitor could not write what it saves: a cut by order is refused.
                let refuses = failed && power_loss == PowerLoss::Capacitor;
                assert_eq!(drive.refuses_power_cut().is_some(), refuses, "{what}");
                let closed = if failed {
                    assert!(matches!(drive.failure(), Some(Failure::NoSpace(_))), "{what}");
                    model.compare_either(&before, &mut drive);
                    drop(drive);
                    false
                } else {
                    // What is written when it is closed may be what there is no room for.
                    drive.close().is_ok()
                };
                failures += u32::from(!closed);
                model.power_was_cut(&mut Drive::open(&image, false).unwrap().0);
                if closed {
                    break;
                }
            }
        }
    }
    assert!(failures > 300, "{failures} failures");
}

/// Power fails again and again in longer runs of any drive: at as many seeds as `ERASEBLOCK_CUTS`
/// says. `ERASEBLOCK_CUTS_DONE` names a file that holds how many are done, to go on from.
#[test]
#[expect(clippy::print_stderr, reason = "a soak says how far it is")]
fn at_seeded_moments_of_longer_runs() {
    let number = |name| std::env::var(name).ok();
    let wanted: u64 = number("ERASEBLOCK_CUTS").map_or(26, |cuts| cuts.parse().unwrap());
    let done = number("ERASEBLOCK_CUTS_DONE").map(PathBuf::from);
    let before = done.as_ref().and_then(|done| std::fs::read_to_string(done).ok());
    let first = before.map_or(0, |text| text.trim().parse().unwrap());
    let folder = common::fast_folder();
    let image = folder.path().join("image");
    let mut cuts = 0;
    for seed in LOST {
        seeded(&image, seed);
    }
    for seed in first..wanted {
        cuts += seeded(&image, seed);
        if let Some(done) = &done {
            std::fs::write(done, format!("{}\n", seed + 1)).unwrap();
        }
        if (seed + 1) % 100 == 0 {
            eprintln!("{} of {wanted} seeds, {cuts} cuts since {first}", seed + 1);
        }
    }
    assert!(cuts >= wanted.saturating_sub(first), "{cuts} cuts");
}

/// Seeds under which something was lost once.
const LOST: [u64; 1] = [1337];

/// A drive of 8 MiB of flash, 4 MiB for the host, is made, used, and loses power some times; how
/// often.
fn seeded(image: &Path, seed: u64) -> u64 {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let (ftls, buffers) = (ftls(), common::buffers());
    let (name, ftl) = &ftls[seed as usize % ftls.len()];
    let buffer = &buffers[rng.random_range(0..buffers.len())];
    let mut drawn = config(ftl, json!({"scheme": buffer, "size": "192 KiB"}));
    if name == "page" && rng.random_bool(0.5) {
        drawn = one_shot(drawn);
    }
    let mut drawn = serde_json::to_value(drawn).unwrap();
    drawn["nand"]["blocks_per_plane"] = 128.into();
    drawn["ftl"]["exported"] = "4 MiB".into();
    let mut drawn = DeviceConfig::from_json(drawn).unwrap();
    let capacitor = rng.random_bool(0.5);
    if capacitor {
        drawn.buffer.power_loss = PowerLoss::Capacitor;
    }
    let sync = rng.random_bool(0.3);
    let every = rng.random_range(20..600);
    let what = format!("seed {seed}: {name}, {buffer}, capacitor {capacitor}, sync {sync}");
    _ = std::fs::remove_file(image);
    Drive::create(image, &drawn).unwrap_or_else(|why| panic!("{what}: {why}"));
    let mut drive = Drive::open(image, sync).unwrap().0;
    drive.checkpoint_every(every);
    let mut model = Model::new(&mut drive);
    (0..rng.random_range(0..600)).for_each(|_| model.step(&mut drive, &mut rng).unwrap());
    let cuts = rng.random_range(1..4);
    for _ in 0..cuts {
        drive.cut_after(rng.random_range(1..400));
        let mut before = model.clone();
        let failed = (0..300).any(|_| {
            if capacitor {
                before = model.clone();
            }
            model.step(&mut drive, &mut rng).is_err()
        });
        let again = format!("{what}, cut {failed}");
        if capacitor {
            // The same server goes on.
            drive.lose_power(image, sync).unwrap_or_else(|why| panic!("{again}: {why}"));
            if failed {
                model.compare_either(&before, &mut drive);
            } else {
                model.compare_all(&mut drive);
            }
            model.learn(&mut drive);
        } else {
            drop(drive);
            drive = Drive::open(image, sync).unwrap_or_else(|why| panic!("{again}: {why}")).0;
            if let Err(why) = model.check_after_cut(&mut drive) {
                panic!("{again}: {why}");
            }
        }
        drive.checkpoint_every(every);
        (0..20).for_each(|_| model.step(&mut drive, &mut rng).unwrap());
    }
    model.compare_all(&mut drive);
    cuts
}

/// Pages are overwritten while their older versions are on their way to flash: each version has its
/// own bytes.
#[test]
fn with_writes_of_the_same_pages_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let (base, image) = (folder.path().join("base"), folder.path().join("image"));
    let config = config(&json!("page"), json!({"scheme": "lru", "size": "12 KiB"}));
    Drive::create(&base, &config).unwrap();
    let mut drive = Drive::open(&base, false).unwrap().0;
    for page in 0..5 {
        common::Host::write(&mut drive, page * 4096, &[1; 4096], true).unwrap();
    }
    drive.close().unwrap();
    let order = [0u64, 1, 2, 3, 0, 4, 1, 0, 2, 3, 4, 0, 1, 3, 0, 2, 4, 1, 0, 3, 2, 0];
    for steps in 1.. {
        std::fs::copy(&base, &image).unwrap();
        let mut drive = Drive::open(&image, false).unwrap().0;
        drive.cut_after(steps);
        let mut written = [const { vec![] }; 5].map(|mut tags: Vec<u8>| {
            tags.push(1);
            tags
        });
        for (tag, &page) in (2..).zip(&order) {
            written[page as usize].push(tag);
            let now = drive.now();
            if drive.put(Op::Write, (page * 4096, 4096), &[tag; 4096], false, now).is_err() {
                break;
            }
        }
        while drive.under_way() > 0 && drive.wait().is_ok() {}
        let is_whole = drive.failure().is_none();
        drop(drive);
        let drive = Drive::open(&image, false).unwrap().0;
        for (page, tags) in written.iter().enumerate() {
            let mut found = [0; 4096];
            drive.read(page as u64 * 4096, &mut found).unwrap();
            assert!(
                tags.contains(&found[0]) && found == [found[0]; 4096],
                "after {steps} steps page {page} holds {}, not one of {tags:?}",
                found[0]
            );
        }
        if is_whole {
            assert!(steps > 15, "{steps}");
            break;
        }
    }
}
