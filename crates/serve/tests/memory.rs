//! What a large drive takes of memory, and how long it takes to open: tests in a process of its own,
//! whose memory is measured, one after the other.

#![cfg(target_os = "linux")]
#![expect(clippy::print_stderr, reason = "it says what it has measured")]

use std::path::Path;

use eraseblock_core::config::DeviceConfig;
use eraseblock_core::host::Op;
use eraseblock_serve::Drive;
use serde_json::json;

const GIB: u64 = 1 << 30;

/// Most bytes of memory that this process has taken.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Processor time of this process so far, in seconds.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after = stat.rsplit(')').next().unwrap();
    after
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|ticks| ticks.parse::<f64>().unwrap() / 100.0)
        .sum()
}

fn write(drive: &mut Drive, offset: u64, data: &[u8]) {
    let now = drive.now();
    drive.put(Op::Write, (offset, data.len() as u64), data, false, now).unwrap();
    while drive.under_way() > 0 {
        drive.wait().unwrap();
    }
}

/// A drive of 1 TiB with pages of 4 KiB is made, written in some places, closed, opened and killed,
/// within 4 GiB of memory: what has not been written takes none. Without `ERASEBLOCK_SOAK` it is a
/// quarter of all that.
#[test]
fn a_large_drive_takes_what_has_been_written() {
    if let Ok(pages) = std::env::var("ERASEBLOCK_USED_PAGES") {
        return full(pages.parse().unwrap());
    }
    // A file system on a disk takes long to remove so large a file, sparse as it is.
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let folder = folder.unwrap();
    let path = folder.path().join("image");
    let part: u64 = if std::env::var_os("ERASEBLOCK_SOAK").is_some() { 1 } else { 4 };
    let gib = 1024 / part;
    let config = DeviceConfig::from_json(json!({
        "nand": {
            "channels": 8, "chips_per_channel": 1, "dies_per_chip": 4, "planes_per_die": 2,
            "blocks_per_plane": 4400 / part, "pages_per_block": 1024, "page_size": "4 KiB",
            "timing": {"read": "58us", "program": "561us", "erase": "3500us", "transfer": "9us"},
        },
        "ftl": {"exported": format!("{gib} GiB"), "mapping": "page"},
        "buffer": {"scheme": "lru", "size": "4 MiB"},
        "precondition": {"state": "empty"},
    }))
    .unwrap();
    Drive::create(&path, &config).unwrap();
    let mut drive = Drive::open(&path, false).unwrap().0;
    assert_eq!(drive.size(), gib * GIB);
    let data = vec![7; 1 << 20];
    for place in (0..gib).step_by(16) {
        write(&mut drive, place * GIB, &data);
    }
    drive.close().unwrap();
    let begun = processor();
    let (mut drive, found) = Drive::open(&path, false).unwrap();
    eprintln!("opened in {:.2} s of processor: {found:?}", processor() - begun);
    assert!(found.readable >= gib / 16 * 256);
    write(&mut drive, 5 * GIB, &data);
    // As a killed server leaves it.
    drop(drive);
    let (drive, found) = Drive::open(&path, false).unwrap();
    assert!(found.readable >= gib / 16 * 256, "{found:?}");
    assert!(found.told > 250_000 / part, "{found:?}");
    let mut page = [0; 4096];
    drive.read(16 * GIB + 4096, &mut page).unwrap();
    assert_eq!(page, [7; 4096]);
    drive.read(17 * GIB, &mut page).unwrap();
    assert_eq!(page, [0; 4096]);
    eprintln!("{} MiB at most", peak() >> 20);
    assert!(peak() < 4 * GIB / part, "{} MiB", peak() >> 20);
}

/// By hand, with `ERASEBLOCK_USED_PAGES=8388608`, say: what a drive takes of which each page has
/// been written.
fn full(pages: u32) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let config = DeviceConfig::from_json(json!({
        "nand": {
            "channels": 8, "chips_per_channel": 1, "dies_per_chip": 4, "planes_per_die": 2,
            "blocks_per_plane": (pages + pages / 8).div_ceil(64 * 1024), "pages_per_block": 1024,
            "page_size": "4 KiB",
            "timing": {"read": "58us", "program": "561us", "erase": "3500us", "transfer": "9us"},
        },
        "ftl": {"exported": format!("{} KiB", u64::from(pages) * 4), "mapping": "page"},
        "buffer": {"scheme": "lru", "size": "4 MiB"},
        "precondition": {"state": "full"},
    }))
    .unwrap();
    let at = processor();
    Drive::create(&path, &config).unwrap();
    eprintln!("made in {:.2} s of processor, {} MiB at most", processor() - at, peak() >> 20);
    for how in ["closed", "killed"] {
        let at = processor();
        let (drive, found) = Drive::open(&path, false).unwrap();
        eprintln!("{how}: opened in {:.2} s of processor, {found:?}", processor() - at);
        eprintln!("{} MiB at most, {} bytes a page", peak() >> 20, peak() / u64::from(pages));
        drop(drive);
    }
}
