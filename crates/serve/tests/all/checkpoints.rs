//! A drive opens the same with a checkpoint as without one, whatever has happened since it was
//! written, and whatever has become of it.

#![cfg(unix)]

use crate::common;

use std::path::Path;

use crate::common::bytes::{Bytes, seal};
use crate::common::{Host, Model, config, ftls, one_shot};
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::support::ids::{BlockId, Ppn};
use eraseblock_serve::{Damage, Drive, Found, Glance, Starved, Stop};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::json;

/// Pages after which a checkpoint begins: it takes sixteen steps of programs to write one.
const EVERY: u64 = 12;

/// A used drive with checkpoints behind it.
fn used(path: &Path, config: &DeviceConfig) -> Model {
    _ = std::fs::remove_file(path);
    Drive::create(path, config).unwrap();
    let mut drive = Drive::open(path, true).unwrap().0;
    drive.checkpoint_every(EVERY);
    let mut model = Model::new(&mut drive);
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    (0..200).for_each(|_| model.step(&mut drive, &mut rng).unwrap());
    drive.close().unwrap();
    model.flushed();
    model
}

/// What there is to see of a drive that is opened, and how it goes on from there.
fn opened(path: &Path, config: &DeviceConfig) -> (String, Found, Vec<u8>, Glance) {
    let digest = Drive::flash_of(path, config).unwrap().1;
    let (mut drive, found) = Drive::open(path, false).unwrap();
    let mut bytes = vec![1; drive.size() as usize];
    drive.read(0, &mut bytes).unwrap();
    let mut model = Model::new(&mut drive);
    model.learn(&mut drive);
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    (0..12).for_each(|_| model.step(&mut drive, &mut rng).unwrap());
    (digest, Found { told: 0, compared: 0, ..found }, bytes, drive.glance())
}

/// What may have become of checkpoints.
type Change<'a> = (&'a str, &'a dyn Fn(&Bytes));

/// Opens an image as it is, and with all that can be wrong with its checkpoints; how many blocks
/// they told of.
fn compare(path: &Path, config: &DeviceConfig, what: &str) -> u64 {
    let whole = std::fs::read(path).unwrap();
    let told = {
        // Reading it changes nothing.
        let told = Drive::open(path, false).unwrap().1.told;
        std::fs::write(path, &whole).unwrap();
        told
    };
    // They say what the records do.
    assert_eq!(Drive::check(path).unwrap().wrong, [""; 0], "{what}");
    let wanted = opened(path, config);
    let changes: [Change; 5] = [
        ("none", &|bytes| bytes.forget_checkpoints()),
        ("the one before", &|bytes| bytes.damage(bytes.newest_checkpoint().unwrap() + 9)),
        ("more steps than can be counted", &|bytes| {
            let at = bytes.newest_checkpoint().unwrap();
            let mut head: [u8; 64] = bytes.get(at);
            head[16..24].fill(0xff);
            seal(&mut head);
            bytes.put(at, &head);
        }),
        ("a damaged piece", &|bytes| bytes.damage(bytes.newest_checkpoint().unwrap() + 4096 + 18)),
        ("pieces of another one", &|bytes| {
            // What a machine that crashes may leave where nobody waits for its disk.
            let (one, other) = bytes.checkpoints();
            let newest = bytes.newest_checkpoint().unwrap();
            let from = if newest == one { other } else { one };
            for piece in 0..16 {
                let at = 4096 * (1 + piece);
                bytes.put(newest + at, &bytes.get::<4096>(from + at));
            }
        }),
    ];
    for (change, make) in changes {
        std::fs::write(path, &whole).unwrap();
        make(&Bytes::open(path));
        assert!(opened(path, config) == wanted, "{what}, {change}");
    }
    std::fs::write(path, &whole).unwrap();
    told
}

#[test]
fn at_every_cut_of_a_small_run_for_every_ftl() {
    let folder = common::fast_folder();
    let (base, image) = (folder.path().join("base"), folder.path().join("image"));
    let plain = ftls()
        .into_iter()
        .map(|(name, ftl)| (name, config(&ftl, json!({"scheme": "lru", "size": "24 KiB"}))));
    let unit = one_shot(config(&json!("page"), json!({"scheme": "lru", "size": "24 KiB"})));
    let (mut cuts, mut told) = (0, 0);
    // Not all of them where there is little time: each is opened five times.
    let step = common::apart(17);
    for (name, config) in plain.chain([("page, one-shot".to_owned(), unit)]) {
        let model = used(&base, &config);
        for after in (1..).step_by(step) {
            std::fs::copy(&base, &image).unwrap();
            let (mut model, mut rng) = (model.clone(), Pcg64Mcg::seed_from_u64(common::seed(2)));
            let mut drive = Drive::open(&image, true).unwrap().0;
            drive.checkpoint_every(EVERY);
            drive.cut_after(after);
            let failed = (0..40).any(|_| model.step(&mut drive, &mut rng).is_err());
            drop(drive);
            told += compare(&image, &config, &format!("{name}, {after} steps"));
            model.power_was_cut(&mut Drive::open(&image, false).unwrap().0);
            cuts += 1;
            if !failed {
                break;
            }
        }
    }
    assert!(told / cuts > 5, "{cuts} cuts, {told} blocks told of");
}

/// The process is killed at any write, those of checkpoints among them.
#[test]
fn at_every_write_to_the_image() {
    let folder = common::fast_folder();
    let (base, image) = (folder.path().join("base"), folder.path().join("image"));
    let mut rng = Pcg64Mcg::seed_from_u64(9);
    for mapping in ["page", "dftl", "fast"] {
        let ftl = ftls().into_iter().find(|(name, _)| name == mapping).unwrap().1;
        let config = config(&ftl, json!({"scheme": "lru", "size": "24 KiB"}));
        let model = used(&base, &config);
        let mut writes = 0;
        for _ in 0..if common::is_soak() { 200 } else { 15 } {
            writes += rng.random_range(1..8);
            std::fs::copy(&base, &image).unwrap();
            let (mut model, mut rng) =
                (model.clone(), Pcg64Mcg::seed_from_u64(common::seed(writes)));
            let mut drive = Drive::open(&image, true).unwrap().0;
            drive.checkpoint_every(EVERY);
            drive.stop_after(writes, Stop::Killed);
            // It does not know that it is dead, until it misses what it has written.
            _ = (0..30).try_for_each(|_| model.step_unpromised(&mut drive, &mut rng));
            drop(drive);
            compare(&image, &config, &format!("{mapping}, {writes} writes"));
            model.power_was_cut(&mut Drive::open(&image, false).unwrap().0);
        }
    }
}

/// What a drive that is closed writes down is enough to open it.
#[test]
fn a_closed_drive_is_opened_without_its_records() {
    let folder = common::fast_folder();
    let path = folder.path().join("image");
    let mut refused = Vec::new();
    for (name, ftl) in ftls() {
        let mut config = config(&ftl, json!({"scheme": "lru", "size": "24 KiB"}));
        let mut model = used(&path, &config);
        let (mut drive, found) = Drive::open(&path, false).unwrap();
        assert_eq!(found.told, 64, "{name}");
        model.power_was_cut(&mut drive);
        drive.close().unwrap();
        // One that was made used has one, too.
        std::fs::remove_file(&path).unwrap();
        config.precondition = serde_json::from_value(json!({"state": "steady"})).unwrap();
        match Drive::create(&path, &config) {
            Ok(()) => assert_eq!(Drive::open(&path, false).unwrap().1.told, 64, "{name}"),
            Err(why) => {
                refused.push(format!("{name}: {why}"));
                std::fs::write(&path, "").unwrap();
            }
        }
    }
    // Only those that come to no steady state on so small a drive.
    assert!(refused.len() < ftls().len() / 2, "{refused:#?}");
}

/// A checkpoint for which there is no room, or no thread, is given up: the drive goes on, the one
/// before it stays good, and another is written when there is room.
#[test]
fn one_that_cannot_be_written_is_given_up() {
    let folder = common::fast_folder();
    let path = folder.path().join("image");
    let config = config(&json!("page"), json!({"scheme": "lru", "size": "24 KiB"}));
    for (why, sync) in [(Starved::Room, true), (Starved::Room, false), (Starved::Threads, false)] {
        for again in [false, true] {
            let what = format!("{why:?}, {sync}, {again}");
            let mut model = used(&path, &config);
            let mut drive = Drive::open(&path, sync).unwrap().0;
            drive.checkpoint_every(EVERY);
            drive.starve_checkpoints(Some(why));
            let mut rng = Pcg64Mcg::seed_from_u64(6);
            let bytes = Bytes::open(&path);
            let before = bytes.newest_checkpoint();
            (0..200).for_each(|_| model.step(&mut drive, &mut rng).unwrap());
            assert!(drive.checkpoint_failure().is_some(), "{what}");
            assert_eq!(bytes.newest_checkpoint(), before, "{what}");
            if again {
                drive.starve_checkpoints(None);
                // Without `sync`, a thread has to come to its end meanwhile.
                for _ in 0..2000 {
                    model.step(&mut drive, &mut rng).unwrap();
                    if drive.checkpoint_failure().is_none() {
                        break;
                    }
                }
                assert_eq!(drive.checkpoint_failure(), None, "{what}");
                assert_ne!(bytes.newest_checkpoint(), before, "{what}");
            }
            drive.close().unwrap();
            model.flushed();
            compare(&path, &config, &what);
            model.power_was_cut(&mut Drive::open(&path, false).unwrap().0);
        }
    }
}

/// What the host's disk has lost does not come back with the power: from then on nothing is
/// promised to last, and a power cut by order is refused.
#[test]
fn a_disk_that_has_lost_something_promises_nothing_more() {
    let folder = common::fast_folder();
    let path = folder.path().join("image");
    let config = config(&json!("page"), json!({"scheme": "lru", "size": "24 KiB"}));
    used(&path, &config);
    let mut drive = Drive::open(&path, true).unwrap().0;
    assert_eq!(drive.refuses_power_cut(), None);
    Host::write(&mut drive, 0, &[3; 4096], true).unwrap();
    drive.fail_sync(true);
    drive.sync().unwrap_err();
    assert!(drive.refuses_power_cut().unwrap().contains("has lost"));
    // Whoever cuts the power all the same has no drive.
    let why = drive.lose_power(&path, true).unwrap_err().to_string();
    assert!(why.contains("has lost"), "{why}");
}

/// Without `--sync` a thread waits for the host's disk, and the checkpoint counts when it has.
#[test]
fn a_thread_waits_for_the_disk() {
    let folder = common::fast_folder();
    let path = folder.path().join("image");
    let config = config(&json!("page"), json!({"scheme": "lru", "size": "24 KiB"}));
    let mut model = used(&path, &config);
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    let mut drive = Drive::open(&path, false).unwrap().0;
    drive.checkpoint_every(EVERY);
    let bytes = Bytes::open(&path);
    let newest = bytes.newest_checkpoint();
    for _ in 0..2000 {
        model.step(&mut drive, &mut rng).unwrap();
        if bytes.newest_checkpoint() != newest {
            break;
        }
    }
    assert_ne!(bytes.newest_checkpoint(), newest);
    drop(drive);
    assert!(Drive::open(&path, false).unwrap().1.told > 0);
}

/// A damaged record of which a checkpoint tells is in nobody's way, and a scrub brings it back:
/// what could be read before it can be read after it.
#[test]
fn a_scrub_takes_records_from_it() {
    let folder = common::fast_folder();
    let (base, image) = (folder.path().join("base"), folder.path().join("image"));
    let config = config(&json!("page"), json!({"scheme": "lru", "size": "24 KiB"}));
    let contents = |path: &Path| {
        std::fs::copy(path, folder.path().join("copy")).unwrap();
        let drive = Drive::open(&folder.path().join("copy"), false).ok()?.0;
        let mut bytes = vec![0; drive.size() as usize];
        drive.read(0, &mut bytes).unwrap();
        Some(bytes)
    };
    for clean in [true, false] {
        let mut model = used(&base, &config);
        if !clean {
            let mut drive = Drive::open(&base, true).unwrap().0;
            drive.checkpoint_every(EVERY);
            let mut rng = Pcg64Mcg::seed_from_u64(4);
            (0..30).for_each(|_| model.step(&mut drive, &mut rng).unwrap());
        }
        let whole = contents(&base).unwrap();
        let mut repaired = 0;
        let pages = Bytes::open(&base).host_pages().into_iter();
        for page in pages.step_by(common::apart(3)) {
            std::fs::copy(&base, &image).unwrap();
            let bytes = Bytes::open(&image);
            bytes.damage(bytes.record_at(page) + 2);
            let Some(before) = contents(&image) else { continue };
            let scrubbed = Drive::scrub(&image).unwrap();
            assert!(contents(&image).unwrap() == before, "{clean}, page {page}");
            let of = Damage::Record(Ppn(page as u32));
            if scrubbed.repaired == [of] {
                assert!(before == whole && scrubbed.given_up.is_empty(), "{clean}, page {page}");
                assert_eq!(Drive::check(&image).unwrap().wrong, [""; 0], "{clean}, page {page}");
                repaired += 1;
            }
            assert!(!clean || repaired > 0, "page {page}: {scrubbed:?}");
        }
        assert!(repaired > 10, "{clean}: {repaired} records repaired");
    }
}

/// A disk that has not taken what was written for a checkpoint says so once. Whenever the drive is
/// closed or loses its power after that, somebody hears it.
#[test]
fn a_disk_that_fails_under_a_checkpoint_is_heard() {
    let folder = common::fast_folder();
    let (base, image) = (folder.path().join("base"), folder.path().join("image"));
    let config = config(&json!("page"), json!({"scheme": "lru", "size": "24 KiB"}));
    let model = used(&base, &config);
    for every in 1..60 {
        for cut in [false, true] {
            std::fs::copy(&base, &image).unwrap();
            let (mut model, mut rng) = (model.clone(), Pcg64Mcg::seed_from_u64(5));
            let mut drive = Drive::open(&image, false).unwrap().0;
            drive.checkpoint_every(every);
            drive.fail_sync(true);
            if (0..20).any(|_| model.step(&mut drive, &mut rng).is_err()) {
                continue;
            }
            let lost = cut && drive.lose_power(&image, false).is_err();
            assert!(
                lost || drive.close().is_err(),
                "{every} pages, {cut}: the image is called whole"
            );
        }
    }
}

/// Power is not cut by order where the disk is about to say that it has lost what was written.
#[test]
fn a_power_cut_waits_for_a_sync_that_is_under_way() {
    let folder = common::fast_folder();
    let (base, image) = (folder.path().join("base"), folder.path().join("image"));
    let config = config(&json!("page"), json!({"scheme": "lru", "size": "24 KiB"}));
    let model = used(&base, &config);
    let mut refused = 0;
    for steps in 1..60 {
        std::fs::copy(&base, &image).unwrap();
        let (mut model, mut rng) = (model.clone(), Pcg64Mcg::seed_from_u64(5));
        let mut drive = Drive::open(&image, false).unwrap().0;
        drive.checkpoint_every(1);
        drive.fail_sync(true);
        if (0..steps).any(|_| model.step(&mut drive, &mut rng).is_err()) {
            break;
        }
        if let Some(why) = drive.refuses_power_cut() {
            assert!(why.contains("has lost what was written"), "{why}");
            refused += 1;
        } else {
            // No sync has begun.
            drive.fail_sync(false);
            drive.lose_power(&image, false).unwrap();
        }
    }
    assert!(refused > 0);
}

/// A drive whose last checkpoint cannot be written ends as it should, and says so.
#[test]
fn a_last_one_that_cannot_be_written_is_told() {
    let folder = common::fast_folder();
    let image = folder.path().join("image");
    let config = config(&json!("page"), json!({"scheme": "lru", "size": "24 KiB"}));
    let mut model = used(&image, &config);
    let mut drive = Drive::open(&image, false).unwrap().0;
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    (0..20).for_each(|_| model.step(&mut drive, &mut rng).unwrap());
    drive.starve_checkpoints(Some(Starved::Room));
    let why = drive.close().unwrap().checkpoint_failed.unwrap();
    assert!(why.contains("no storage space"), "{why}");
    let mut drive = Drive::open(&image, false).unwrap().0;
    model.compare_all(&mut drive);
    assert_eq!(drive.close().unwrap().checkpoint_failed, None);
}

/// A check finds a checkpoint that is whole and says something else than the records do; a scrub
/// does without it.
#[test]
fn a_check_compares_it_with_the_records() {
    let folder = common::fast_folder();
    let path = folder.path().join("image");
    let config = config(&json!("page"), json!({"scheme": "lru", "size": "24 KiB"}));
    used(&path, &config);
    let bytes = Bytes::open(&path);
    let page = bytes.host_pages()[5];
    let at = bytes.record_at(page);
    let mut record: [u8; 64] = bytes.get(at);
    record[4] ^= 1;
    seal(&mut record);
    bytes.put(at, &record);
    let wrong = Drive::check(&path).unwrap().wrong;
    let block = BlockId(page as u32 / 8);
    assert_eq!(wrong, [format!("damaged: what the checkpoint says of block {block}")]);
    assert_eq!(Drive::scrub(&path).unwrap().repaired, [Damage::Checkpoint(block)]);
    assert_eq!(bytes.newest_checkpoint(), None);
    assert_eq!(Drive::check(&path).unwrap().wrong, [""; 0]);
    assert_eq!(Drive::open(&path, false).unwrap().1.told, 0);
}
