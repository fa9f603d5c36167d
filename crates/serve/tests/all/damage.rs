//! What is damaged in an image is told, and not passed over.

#![cfg(unix)]

use std::path::{Path, PathBuf};

use crate::common::bytes::{BLOCKS, Bytes, CHECKPOINTS, CONFIG, DATA, RECORDS, seal};
use crate::common::{Host, Model, config, ftls};
use eraseblock_core::support::ids::{BlockId, Lpn, Ppn};
use eraseblock_serve::{Damage, Drive};
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
    // Else the records are not looked at.
    Bytes::open(&path).forget_checkpoints();
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
    let whole: [u8; 64] = bytes.get(4096);
    for field in [16, 24, 32] {
        let mut wrong = whole;
        wrong[field..field + 8].fill(0xff);
        seal(&mut wrong);
        bytes.put(4096, &wrong);
        assert!(said(&path).0.contains("how it was left"), "{field}");
    }
    bytes.put(4096, &whole);
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
    // One for which nobody has memory: everything else lies as much later, as it would.
    let more = 2_u64 << 30;
    let mut superblock = whole[..4096].to_vec();
    superblock[28..32].copy_from_slice(&(length as u32 + more as u32).to_le_bytes());
    for at in [BLOCKS, RECORDS, DATA, 72, CHECKPOINTS].map(|at| at as usize) {
        let area = u64::from_le_bytes(superblock[at..at + 8].try_into().unwrap());
        superblock[at..at + 8].copy_from_slice(&(area + more).to_le_bytes());
    }
    seal(&mut superblock);
    bytes.put(0, &superblock);
    std::fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(more + (64 << 20))
        .unwrap();
    let said = Drive::open(&path, false).unwrap_err().to_string();
    assert!(said.contains("at most 1048576 can be"), "{said}");
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

/// Bytes come back where there is another copy of a page. What cannot come back is named, and read as
/// an error, or given up.
#[test]
fn a_scrub_mends_what_it_can_and_names_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let path = used(folder.path());
    let mut now = vec![0; 1 << 20];
    let mut drive = Drive::open(&path, false).unwrap().0;
    Host::read(&mut drive, 0, &mut now).unwrap();
    drive.close().unwrap();
    let bytes = Bytes::open(&path);
    bytes.forget_checkpoints();
    let field = |page: u64, at: u64| u32::from_le_bytes(bytes.get(bytes.record_at(page) + at));
    let holding = |page: &u64| field(*page, 40) > 0;
    let pages: Vec<u64> = bytes.host_pages().into_iter().filter(holding).collect();
    let newest = |lpn: u32| {
        let seq = |page: u64| u64::from_le_bytes(bytes.get(bytes.record_at(page) + 8));
        pages.iter().copied().filter(|&page| field(page, 0) == lpn).max_by_key(|&page| seq(page))
    };
    let is_read = |page: &u64| {
        let at = field(*page, 0) as usize * 4096;
        newest(field(*page, 0)) == Some(*page)
            && now[at..at + 4096] == bytes.get::<4096>(bytes.data_at(*page))
    };
    let lost = pages.iter().copied().find(is_read).unwrap();
    let old = pages.iter().copied().find(|page| newest(field(*page, 0)) != Some(*page)).unwrap();
    let unknown = pages.iter().copied().filter(is_read).nth(1).unwrap();
    // An erased page gets a copy of a third one, as a collection that power cut short leaves it.
    let copied = pages.iter().copied().filter(is_read).nth(2).unwrap();
    let free = (0..512).find(|&page| bytes.get(bytes.record_at(page)) == [0; 64]).unwrap();
    let mut record: [u8; 64] = bytes.get(bytes.record_at(copied));
    record[48..52].copy_from_slice(&(free as u32).to_le_bytes());
    record[52..56].copy_from_slice(&bytes.life_of_block_of(free));
    seal(&mut record);
    bytes.put(bytes.record_at(free), &record);
    bytes.put(bytes.data_at(free), &bytes.get::<4096>(bytes.data_at(copied)));
    for page in [lost, old, copied] {
        bytes.damage(bytes.data_at(page) + 9);
    }
    let of_unknown = field(unknown, 0) as usize;
    bytes.damage(bytes.record_at(unknown) + 9);
    bytes.damage(bytes.area(BLOCKS) + 16 * (unknown / 8));

    let done = Drive::scrub(&path).unwrap();
    let numbers = |pages: &[Ppn]| pages.iter().map(|page| u64::from(page.0)).collect::<Vec<_>>();
    assert_eq!(numbers(&done.unneeded), [old]);
    assert_eq!(numbers(&done.given_up), [unknown]);
    assert_eq!(done.unreadable, [Lpn(field(lost, 0))]);
    let mended = [Damage::Bytes(Ppn(copied as u32)), Damage::Entry(BlockId(unknown as u32 / 8))];
    assert_eq!(done.repaired, mended);

    let mut drive = Drive::open(&path, false).unwrap().0;
    let mut page = vec![0; 4096];
    for (lpn, wanted) in now.chunks(4096).enumerate() {
        let read = Host::read(&mut drive, lpn as u64 * 4096, &mut page);
        if lpn == done.unreadable[0].index() {
            assert!(read.unwrap_err().contains("not those that were written"));
        } else if lpn != of_unknown {
            assert_eq!(read, Ok(()), "page {lpn}");
            assert!(page == wanted, "page {lpn}");
        }
    }
    Host::write(&mut drive, field(lost, 0) as u64 * 4096, &[3; 4096], true).unwrap();
    drop(drive);
    assert_eq!(Drive::scrub(&path).unwrap().unreadable, []);
    assert_eq!(Drive::check(&path).unwrap().wrong, [""; 0]);
}

#[test]
fn an_export_holds_what_the_drive_does() {
    let folder = tempfile::tempdir().unwrap();
    let (path, raw) = (folder.path().join("image"), folder.path().join("raw"));
    for (name, ftl) in ftls() {
        _ = (std::fs::remove_file(&path), std::fs::remove_file(&raw));
        Drive::create(&path, &config(&ftl, json!({"scheme": "lru", "size": "48 KiB"}))).unwrap();
        let mut drive = Drive::open(&path, false).unwrap().0;
        let mut model = Model::new(&mut drive);
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        (0..200).for_each(|_| model.step(&mut drive, &mut rng).unwrap());
        let mut wanted = vec![0; 1 << 20];
        Host::flush(&mut drive).unwrap();
        Host::read(&mut drive, 0, &mut wanted).unwrap();
        // As `kill -9` leaves it.
        drop(drive);
        Drive::export(&path, &raw).unwrap();
        assert!(std::fs::read(&raw).unwrap() == wanted, "{name}");
    }
    Drive::export(&path, &raw).unwrap_err();
}
