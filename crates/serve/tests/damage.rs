//! What is damaged in an image is told, and not passed over.

#![cfg(unix)]

mod common;

use std::path::{Path, PathBuf};

use common::bytes::{BLOCKS, Bytes, CONFIG, seal};
use common::{Host, Model, config};
use eraseblock_serve::Drive;
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use serde_json::json;

/// A used drive's image that was left as it should be.
fn used(folder: &Path) -> PathBuf {
    let path = folder.join("image");
    let config = config(&json!("page"), json!({"scheme": "lru", "size": "48 KiB"}));
    Drive::create(&path, &config).unwrap();
    let mut drive = Drive::open(&path, false).unwrap().0;
    let mut model = Model::new(&mut drive);
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    (0..200).for_each(|_| model.step(&mut drive, &mut rng).unwrap());
    drive.close().unwrap();
    path
}

/// What opening says, and what a check finds wrong.
fn said(path: &Path) -> (String, Vec<String>) {
    let opened = Drive::open(path, false).map(drop).unwrap_err().to_string();
    (opened, Drive::check(path).unwrap().wrong)
}

#[test]
fn of_a_record_an_entry_or_the_state() {
    let folder = tempfile::tempdir().unwrap();
    let path = used(folder.path());
    let bytes = Bytes::open(&path);
    let pages = bytes.host_pages();
    let (one, other) = (pages[3], pages[5]);
    let undone = |at: u64, what: &str| {
        let whole: [u8; 64] = bytes.get(at);
        bytes.damage(at + 2);
        let (opened, wrong) = said(&path);
        assert!(opened.contains(what) && opened.contains("image scrub"), "{opened}");
        assert!(wrong.len() == 1 && wrong[0].contains(what), "{wrong:?}");
        bytes.put(at, &whole);
    };
    undone(bytes.record_at(one), &format!("the record of flash page {one}"));
    undone(4096 + 16, "how it was left");
    let erased =
        (0..64).find(|block| bytes.get(bytes.area(BLOCKS) + 16 * block) != [0; 16]).unwrap();
    undone(bytes.area(BLOCKS) + 16 * erased, &format!("the entry of block {erased}"));
    // A record of another page, whole.
    let (at, elsewhere) = (bytes.record_at(one), bytes.record_at(other));
    let whole: [u8; 64] = bytes.get(at);
    bytes.put(at, &bytes.get::<64>(elsewhere));
    assert!(said(&path).0.contains(&format!("the record of flash page {one}")));
    // One that says what no drive of this size has.
    for (field, value) in [(0, u32::MAX - 1), (4, u32::MAX), (12, u32::MAX), (32, 1 << 20)] {
        let mut wrong = whole;
        wrong[field..field + 4].copy_from_slice(&value.to_le_bytes());
        seal(&mut wrong);
        bytes.put(at, &wrong);
        assert!(said(&path).0.contains(&format!("the record of flash page {one}")), "{field}");
    }
    bytes.put(at, &whole);
    Drive::open(&path, false).unwrap();
}

/// After a server that was killed, what it lost is told apart from what was on the disk before it
/// began.
#[test]
fn of_an_image_that_was_left_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = used(folder.path());
    let before = Bytes::open(&path).host_pages();
    drop(Drive::open(&path, false).unwrap());
    let bytes = Bytes::open(&path);
    let checked = Drive::check(&path).unwrap();
    assert!(!checked.clean && checked.wrong.is_empty(), "{:?}", checked.wrong);
    // A page with bytes in the file, that is not the last of its block.
    let stays = |page: &&u64| {
        u32::from_le_bytes(bytes.get(bytes.record_at(**page) + 40)) > 0 && **page % 8 < 4
    };
    let page = *before.iter().filter(stays).find(|page| before.contains(&(**page + 1))).unwrap();
    bytes.damage(bytes.data_at(page) + 7);
    let wrong = Drive::check(&path).unwrap().wrong;
    assert!(wrong.len() == 1 && wrong[0].contains(&format!("bytes of flash page {page}")));
    bytes.damage(bytes.record_at(page) + 7);
    assert!(said(&path).0.contains(&format!("the record of flash page {page}")));
}

#[test]
fn of_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let path = used(folder.path());
    let bytes = Bytes::open(&path);
    let at = bytes.area(CONFIG);
    bytes.damage(at + 100);
    assert!(
        Drive::open(&path, false).unwrap_err().to_string().contains("configuration is damaged")
    );
    bytes.damage(at + 100);
    // Another drive's, with a checksum that is right.
    let length = u32::from_le_bytes(bytes.get(28)) as usize;
    let whole = std::fs::read(&path).unwrap();
    let text = String::from_utf8(whole[at as usize..at as usize + length].to_vec()).unwrap();
    let changes = [
        ("\"blocks_per_plane\": 32", "\"blocks_per_plane\": 48"),
        ("\"page_size\": \"4 KiB\"", "\"page_size\": \"8 KiB\""),
    ];
    for (from, to) in changes {
        assert!(text.contains(from), "{text}");
        let other = text.replace(from, to);
        let mut superblock = whole[..4096].to_vec();
        superblock[80..84].copy_from_slice(&crc32fast::hash(other.as_bytes()).to_le_bytes());
        seal(&mut superblock);
        bytes.put(0, &superblock);
        bytes.put(at, other.as_bytes());
        let said = Drive::open(&path, false).unwrap_err().to_string();
        assert!(said.contains("that of another drive"), "{said}");
    }
}

/// What is being made has no name yet, and nothing is left of what could not be made.
#[test]
fn an_image_appears_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let mut config = config(&json!("page"), json!({"scheme": "lru", "size": "48 KiB"}));
    config.buffer.battery = true;
    Drive::create(&path, &config).unwrap_err();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    config.buffer.battery = false;
    std::fs::write(&path, "mine").unwrap();
    Drive::create(&path, &config).unwrap_err();
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let path = folder.path().join("other");
    Drive::create(&path, &config).unwrap();
    let mut drive = Drive::open(&path, false).unwrap().0;
    Host::write(&mut drive, 0, &[1; 4096], true).unwrap();
}
