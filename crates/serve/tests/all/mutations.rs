//! Damaged images: whatever stands in one, it is opened, checked and looked at without a panic, a
//! hang or more memory than an image of its size takes.
//!
//! Half of the damage has checksums that are right, as a program with a fault would leave it: what
//! only looks whole has to make sense, too.

#![cfg(unix)]

use crate::common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::bytes::{BLOCKS, Bytes, CONFIG, RECORDS, seal};
use crate::common::{Host, Model, config, ftls, one_shot};
use eraseblock_core::config::DeviceConfig;
use eraseblock_serve::Drive;
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::json;

/// A used drive's image, left as it should be or not.
fn used(path: &Path, config: &DeviceConfig, clean: bool) -> Vec<u8> {
    _ = std::fs::remove_file(path);
    Drive::create(path, config).unwrap();
    // What has not been changed since a checkpoint is not read again: half of the drive.
    let mut drive = Drive::open(path, true).unwrap().0;
    drive.checkpoint_every(if clean { 60 } else { 24 });
    let mut model = Model::new(&mut drive);
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    (0..300).for_each(|_| model.step(&mut drive, &mut rng).unwrap());
    if clean {
        drive.close().unwrap();
    } else {
        drop(drive);
    }
    std::fs::read(path).unwrap()
}

/// Where something stands: its first byte, and how many it has with its checksum.
#[derive(Clone, Copy)]
struct Field {
    at: usize,
    bytes: usize,
}

/// All that a checksum stands for, and what of it has been written.
fn fields(path: &Path, whole: &[u8]) -> Vec<Field> {
    let bytes = Bytes::open(path);
    let at = |which| bytes.area(which) as usize;
    let entries = (at(BLOCKS)..at(RECORDS) - 16).step_by(16).map(|at| Field { at, bytes: 16 });
    let records = (0..bytes.pages_per_block() as usize * 64)
        .map(|page| Field { at: at(RECORDS) + 64 * page, bytes: 64 });
    let written = |field: &Field| whole[field.at..field.at + field.bytes].iter().any(|&b| b != 0);
    let all = entries.chain(records).filter(written);
    let first = [Field { at: 0, bytes: 4096 }, Field { at: 4096, bytes: 64 }];
    let (one, other) = bytes.checkpoints();
    let heads = [one, other].map(|at| Field { at: at as usize, bytes: 64 });
    let pieces = [one, other].into_iter().flat_map(|head| (1..=16).map(move |at| head + 4096 * at));
    let pieces = pieces
        .map(|at| Field { at: at as usize, bytes: u32::from_le_bytes(bytes.get(at)) as usize });
    // As often as records.
    let told = heads.into_iter().chain(pieces).filter(|field| field.bytes > 20);
    let told: Vec<_> = told.filter(written).collect();
    let all: Vec<_> = all.collect();
    let told = told.iter().copied().cycle().take(if told.is_empty() { 0 } else { all.len() });
    first.into_iter().chain(told).chain(all.iter().copied()).collect()
}

/// One damage.
fn damage(image: &mut [u8], fields: &[Field], config_at: usize, rng: &mut Pcg64Mcg) {
    let mut field = || fields[rng.random_range(0..fields.len())];
    let (one, other) = (field(), field());
    let range = one.at..one.at + one.bytes;
    match rng.random_range(0..7) {
        // Anywhere, as a disk does it.
        0 => {
            let at = rng.random_range(0..image.len());
            image[at] ^= 1 << rng.random_range(0..8);
        }
        1 => {
            let at = rng.random_range(0..image.len() / 512) * 512;
            image[at..at + 512].fill([0, 0xff][rng.random_range(0..2)]);
        }
        2 => {
            let at = config_at + rng.random_range(0..600);
            image[at] = b"0123456789\"{}[],:-e. "[rng.random_range(0..21)];
            let length = u32::from_le_bytes([image[28], image[29], image[30], image[31]]) as usize;
            let end = (config_at + length).min(image.len());
            let sum = crc32fast::hash(&image[config_at.min(end)..end]);
            image[80..84].copy_from_slice(&sum.to_le_bytes());
            seal(&mut image[..4096]);
        }
        // One in the place of another, whole but for what says where it is.
        3 if one.bytes == other.bytes => {
            let mut copy = image[other.at..other.at + other.bytes].to_vec();
            if one.bytes == 64 {
                copy[48..52].copy_from_slice(&image[one.at + 48..one.at + 52]);
            }
            seal(&mut copy);
            image[range].copy_from_slice(&copy);
        }
        // What a number says, with a checksum that is right.
        _ => {
            // Of the superblock the first words say something.
            let words = if one.at == 0 { 24 } else { one.bytes / 4 };
            let word = rng.random_range(0..words - 1) * 4;
            let old = u32::from_le_bytes(image[one.at + word..][..4].try_into().unwrap());
            let new = match rng.random_range(0..6) {
                0 => 0,
                1 => u32::MAX,
                2 => 1 << rng.random_range(0..32),
                3 => old.wrapping_add(1),
                4 => old.wrapping_sub(1),
                _ => rng.random_range(0..300),
            };
            image[one.at + word..][..4].copy_from_slice(&new.to_le_bytes());
            seal(&mut image[range]);
        }
    }
}

/// What the environment says, as a number.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|n| n.parse().ok())
}

/// Memory that this process has now, in KiB, where the system says so.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Some of each drive, and where there is time others of all of them, for as many seconds as
/// `ERASEBLOCK_FUZZ_SECONDS` says.
#[test]
#[expect(clippy::print_stderr, reason = "a soak says how far it is")]
fn no_image_is_too_damaged() {
    const SLOW: Duration = Duration::from_secs(20);
    let folder = common::fast_folder();
    let path = folder.path().join("image");
    let plain = ftls()
        .into_iter()
        .map(|(name, ftl)| (name, config(&ftl, json!({"scheme": "lru", "size": "48 KiB"}))));
    let unit = one_shot(config(&json!("page"), json!({"scheme": "lru", "size": "48 KiB"})));
    let drives: Vec<_> = plain.chain([("page, one-shot".to_owned(), unit)]).collect();
    let images = number("ERASEBLOCK_SOAK").unwrap_or(12);
    let seconds = number("ERASEBLOCK_FUZZ_SECONDS").map(Duration::from_secs);
    let begun = Instant::now();
    let (mut all, mut opened, mut wrong) = (0, 0, vec![]);
    let mut first_round = None;
    for round in 0.. {
        for ((name, config), clean) in drives.iter().flat_map(|one| [(one, true), (one, false)]) {
            let whole = used(&path, config, clean);
            let fields = fields(&path, &whole);
            let config_at = Bytes::open(&path).area(CONFIG) as usize;
            for seed in (round * images..(round + 1) * images).map(common::seed) {
                let mut rng = Pcg64Mcg::seed_from_u64(seed);
                let mut image = whole.clone();
                for _ in 0..rng.random_range(1..4) {
                    damage(&mut image, &fields, config_at, &mut rng);
                }
                std::fs::write(&path, &image).unwrap();
                let start = Instant::now();
                let used = catch_unwind(AssertUnwindSafe(|| use_it(&path)));
                if used.is_err() {
                    wrong.push(format!("{name}, {clean}, {seed}: a panic"));
                } else if start.elapsed() > SLOW {
                    wrong.push(format!("{name}, {clean}, {seed}: {:?}", start.elapsed()));
                }
                (all, opened) = (all + 1, opened + u32::from(used.unwrap_or_default()));
            }
        }
        let (now, before) = (resident(), *first_round.get_or_insert_with(resident));
        assert!(now < 2 * before + (64 << 10), "{before} KiB have grown to {now}");
        let Some(seconds) = seconds else { break };
        let at = begun.elapsed();
        eprintln!("{all} images in {} s, {opened} opened, {now} KiB: {wrong:?}", at.as_secs());
        if at >= seconds {
            break;
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(opened > 100, "most damage to dead pages is not in the way: {opened}");
}

/// Does everything that can be done with an image; whether it could be opened.
fn use_it(path: &Path) -> bool {
    _ = Drive::info(path).map(|info| info.to_json());
    _ = Drive::check(path).map(|checked| checked.to_json());
    let opened = Drive::open(path, false).or_else(|_| {
        // What could not be opened can be after a scrub, if it is an image at all.
        Drive::scrub(path).map(|done| done.to_json())?;
        Drive::open(path, false)
    });
    let Ok((mut drive, _)) = opened else { return false };
    // Pages may not be readable; the drive may fail, and says so.
    let mut page = vec![0; 4096];
    for at in (0..drive.size()).step_by(4096) {
        _ = Host::read(&mut drive, at, &mut page);
    }
    for at in (0..drive.size().min(1 << 20)).step_by(3 * 4096) {
        _ = Host::write(&mut drive, at, &page, at % 2 == 0);
    }
    _ = Host::trim(&mut drive, 0, 10 * 4096);
    _ = drive.close();
    true
}
