//! A drive with an image, against what its host has written.

#![cfg(unix)]

use crate::common;

use crate::common::bytes::{Bytes, seal};
use crate::common::{Host, Model, config, ftls};
use eraseblock_core::buffer;
use eraseblock_serve::{Drive, Error, Failure};
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

/// Random requests of each kind; each read is compared.
fn use_it(model: &mut Model, drive: &mut Drive, rng: &mut Pcg64Mcg, requests: u32) {
    for _ in 0..requests {
        let done = model.step(drive, rng);
        assert_eq!(done, Ok(()));
    }
}

#[test]
fn every_ftl_holds_what_was_written_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    for (name, ftl) in ftls() {
        let path = folder.path().join(&name);
        let config = config(&ftl, json!({"scheme": "lru", "size": "64 KiB"}));
        Drive::create(&path, &config).unwrap();
        let (mut drive, found) = Drive::open(&path, false).unwrap();
        assert_eq!((found.readable, found.torn), (0, 0), "{name}");
        let mut model = Model::new(&mut drive);
        let mut rng = Pcg64Mcg::seed_from_u64(7);
        for round in 0..4 {
            use_it(&mut model, &mut drive, &mut rng, 300);
            model.compare_all(&mut drive);
            if round % 2 == 0 {
                drive.close().unwrap();
                let checked = Drive::check(&path).unwrap();
                assert_eq!((checked.found.torn, checked.wrong), (0, vec![]), "{name}");
                drive = Drive::open(&path, false).unwrap().0;
                model.compare_all(&mut drive);
            } else {
                // As `kill -9` leaves it.
                drop(drive);
                drive = Drive::open(&path, false).unwrap().0;
                model.power_was_cut(&mut drive);
            }
        }
        assert!(drive.pages_in_ram() <= 16 + 64, "{name}: {} pages", drive.pages_in_ram());
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn every_buffer_holds_what_was_written_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    for buffer in common::buffers() {
        let path = folder.path().join(&buffer);
        let size = if buffer == "none" { "0 B" } else { "128 KiB" };
        let config = config(&json!("page"), json!({"scheme": buffer, "size": size}));
        Drive::create(&path, &config).unwrap();
        let mut drive = Drive::open(&path, false).unwrap().0;
        let mut model = Model::new(&mut drive);
        let mut rng = Pcg64Mcg::seed_from_u64(11);
        use_it(&mut model, &mut drive, &mut rng, 400);
        model.compare_all(&mut drive);
        drop(drive);
        drive = Drive::open(&path, false).unwrap().0;
        model.power_was_cut(&mut drive);
        use_it(&mut model, &mut drive, &mut rng, 200);
        drive.close().unwrap();
        model.compare_all(&mut Drive::open(&path, false).unwrap().0);
        std::fs::remove_file(&path).unwrap();
    }
}

/// Of what is registered everything can be served, or is refused in one sentence.
#[test]
fn what_cannot_be_served_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let mut refused = Vec::new();
    let buffers = buffer::registry().iter().map(|entry| (entry.name, json!("page"), entry.name));
    let mappings = ftls();
    let mappings = mappings.iter().map(|(name, ftl)| (name.as_str(), ftl.clone(), "lru"));
    for (name, ftl, buffer) in buffers.chain(mappings) {
        let size = if buffer == "none" { "0 B" } else { "128 KiB" };
        let config = config(&ftl, json!({"scheme": buffer, "size": size}));
        let path = folder.path().join("image");
        match Drive::create(&path, &config) {
            Ok(()) => std::fs::remove_file(&path).unwrap(),
            Err(why) => refused.push((name.to_owned(), why.to_string())),
        }
    }
    let why = "buffer.scheme: it decides by what the host is going to do, which nobody can tell a \
               drive that is served";
    assert_eq!(refused, [("opt".to_owned(), why.to_owned())]);
}

#[test]
fn a_drive_may_be_full_when_it_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let mut config = config(&json!("page"), json!({"scheme": "lru", "size": "64 KiB"}));
    config.precondition.state = eraseblock_core::config::Precondition::Steady;
    Drive::create(&path, &config).unwrap();
    let info = Drive::info(&path).unwrap();
    assert!(info.state.unwrap().clean);
    assert!(info.allocated < 4 << 20, "zeroes take no room: {} B", info.allocated);
    let (mut drive, found) = Drive::open(&path, false).unwrap();
    assert!(found.readable >= drive.size() / 4096);
    let mut model = Model::new(&mut drive);
    model.compare_all(&mut drive);
    use_it(&mut model, &mut drive, &mut Pcg64Mcg::seed_from_u64(3), 500);
    drop(drive);
    model.power_was_cut(&mut Drive::open(&path, false).unwrap().0);
}

#[test]
fn an_image_is_one_process_s_and_one_drive_s() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let mut config = config(&json!("page"), json!({"scheme": "lru", "size": "64 KiB"}));
    Drive::create(&path, &config).unwrap();
    assert!(matches!(Drive::create(&path, &config), Err(Error::File { .. })), "it is there");
    Drive::check_is(&path, &config).unwrap();
    config.buffer.size.0 *= 2;
    let other = Drive::check_is(&path, &config).unwrap_err();
    assert!(other.to_string().contains("buffer.size"), "{other}");
    let drive = Drive::open(&path, false).unwrap().0;
    assert!(matches!(Drive::open(&path, false), Err(Error::Locked(_))));
    assert!(matches!(Drive::check(&path), Err(Error::Locked(_))));
    drop(drive);
    Drive::open(&path, false).unwrap();
    config.buffer.battery = true;
    let refused = Drive::create(&folder.path().join("other"), &config).unwrap_err();
    assert!(refused.to_string().contains("buffer.battery"), "{refused}");
    assert!(!folder.path().join("other").exists());
}

#[test]
fn damage_is_found() {
    use std::os::unix::fs::FileExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let config = config(&json!("page"), json!({"scheme": "none", "size": "0 B"}));
    Drive::create(&path, &config).unwrap();
    let mut drive = Drive::open(&path, false).unwrap().0;
    let page = vec![0x5a; 4096];
    Host::write(&mut drive, 0, &page, false).unwrap();
    drive.close().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(4096).position(|window| window == page).expect("the page") as u64;
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(b"damage", at + 100).unwrap();
    let checked = Drive::check(&path).unwrap();
    assert_eq!((checked.found.damaged, checked.wrong.len()), (1, 1));
    let drive = Drive::open(&path, false).unwrap().0;
    let read = drive.read(0, &mut [0; 4096]).unwrap_err();
    assert!(read.to_string().contains("not those that were written"), "{read}");
    drop(drive);
    file.write_all_at(b"x", 20).unwrap();
    assert!(Drive::open(&path, false).unwrap_err().to_string().contains("superblock"));
    file.write_all_at(b"x", 0).unwrap();
    assert!(Drive::open(&path, false).unwrap_err().to_string().contains("no image"));
}

/// A drive at the end of its life can be read: everything that was answered is there, also after it
/// has been opened again.
#[test]
fn a_worn_out_drive_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let mut config = config(&json!("page"), json!({"scheme": "lru", "size": "64 KiB"}));
    config.nand.endurance = 4;
    Drive::create(&path, &config).unwrap();
    let mut drive = Drive::open(&path, false).unwrap().0;
    let mut model = Model::new(&mut drive);
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    let mut steps = 0;
    while model.step(&mut drive, &mut rng).is_ok() {
        steps += 1;
    }
    assert!(steps > 100 && matches!(drive.failure(), Some(Failure::NoSpace(_))), "{steps}");
    // What is in RAM can be read, and is gone with the process.
    let mut alive = model.clone();
    alive.power_was_cut(&mut drive);
    assert!(Host::write(&mut drive, 0, &[1; 4096], false).is_err());
    alive.compare_all(&mut drive);
    drop(drive);
    let mut drive = Drive::open(&path, false).unwrap().0;
    model.power_was_cut(&mut drive);
}

/// A page that has been written as often as records can count is refused, and read; the drive goes
/// on.
#[test]
fn a_page_is_written_as_often_as_its_record_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    Drive::create(&path, &config(&json!("page"), json!({"scheme": "lru", "size": "64 KiB"})))
        .unwrap();
    let mut drive = Drive::open(&path, false).unwrap().0;
    Host::write(&mut drive, 0, &[1; 4096], true).unwrap();
    drive.close().unwrap();
    let bytes = Bytes::open(&path);
    bytes.forget_checkpoints();
    let at = bytes.record_at(bytes.host_pages()[0]);
    let mut record: [u8; 64] = bytes.get(at);
    record[4..8].copy_from_slice(&((1u32 << 31) - 2).to_le_bytes());
    seal(&mut record);
    bytes.put(at, &record);
    let mut drive = Drive::open(&path, false).unwrap().0;
    Host::write(&mut drive, 0, &[2; 4096], true).unwrap();
    let refused = Host::write(&mut drive, 0, &[3; 8192], true).unwrap_err();
    assert!(refused.contains("2147483647 times") && refused.contains("page 0"), "{refused}");
    assert!(Host::trim(&mut drive, 0, 4096).is_err());
    Host::write(&mut drive, 4096, &[4; 4096], true).unwrap();
    drop(drive);
    let drive = Drive::open(&path, false).unwrap().0;
    for (page, byte) in [(0, 2), (1, 4)] {
        let mut found = [0; 4096];
        drive.read(page * 4096, &mut found).unwrap();
        assert_eq!(found, [byte; 4096]);
    }
}
