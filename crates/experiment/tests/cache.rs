//! Filled drives that are kept in a folder: whatever is there, the records are the same.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::support::small_drive;
use eraseblock_experiment::{Cache, How, Progress, Runner, registry_json, resolve};
use serde_json::{Value, json};

const WORKLOAD: &str = r#"
[workload.generate]
kind = "zipf"
requests = 1500
footprint = "4 MiB"
size = "8 KiB"
align = "4 KiB"
read_share = 0.3
trim_share = 0.1
interval = "500us"
"#;

const ROOM: u64 = 1 << 30;

/// What a run gave but for its speed, or why it gave nothing; and whether it filled its drive.
fn run(sets: &[String], how: How<'_>) -> (Value, bool) {
    let file = format!("name = \"kept\"\n{}{WORKLOAD}", small_drive(&[]));
    let experiment = resolve(Some(&file), "kept.toml", sets).unwrap().remove(0);
    let mut filled = 0;
    let mut watch = |Progress { phase, done, .. }| {
        filled += if phase == "fill" { done } else { 0 };
        ControlFlow::Continue(())
    };
    let record = match Runner::default().run(&experiment, Path::new("."), how, &mut watch) {
        Ok(record) => {
            let mut record = Value::Object(record.value().clone());
            record.as_object_mut().unwrap().remove("engine");
            record
        }
        Err(error) => json!(error.to_string()),
    };
    (record, filled > 0)
}

fn without(sets: &[String]) -> Value {
    run(sets, How::default()).0
}

fn with(sets: &[String], cache: &Cache) -> (Value, bool) {
    run(sets, How { cache: Some(cache), ..How::default() })
}

fn names(section: &str) -> Vec<String> {
    let registry: Value = serde_json::from_str(&registry_json()).unwrap();
    let all = registry[section].as_array().unwrap();
    all.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

/// The files of a folder, those used longest ago first.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(all) = fs::read_dir(folder) else { return Vec::new() };
    // Others may remove one meanwhile.
    let mut all: Vec<_> = all
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .collect();
    all.sort();
    all.into_iter().map(|(_, path)| path).collect()
}

fn sets(all: &[&str]) -> Vec<String> {
    all.iter().map(|&set| set.to_owned()).collect()
}

/// Every mapping, and every part of page mapping, after more than filling: collection and wear
/// levelling have gone on, and draws have been made.
#[test]
fn every_scheme_goes_on_from_a_kept_drive() {
    // Three channels: what takes turns does not end where it began.
    let (steady, uneven) = ("precondition.state=steady".to_owned(), "nand.channels=3".to_owned());
    let mut all: Vec<Vec<String>> = names("ftls")
        .iter()
        .map(|ftl| vec![steady.clone(), uneven.clone(), format!("ftl.mapping={ftl}")])
        .collect();
    let parts = [("allocators", "allocator"), ("victims", "victim"), ("levellers", "wear")];
    for (section, key) in parts {
        let others = ["ftl.exported=9MiB", "ftl.wear.kind=hot-cold", "ftl.wear.threshold=2"];
        let others = if key == "wear" { &others[..1] } else { &others[..] };
        all.extend(names(section).iter().map(|name| {
            let own = vec![steady.clone(), uneven.clone(), format!("ftl.{key}={name}")];
            [sets(others), own].concat()
        }));
    }
    assert!(all.len() > 25);
    let folder = tempfile::tempdir().unwrap();
    for sets in all {
        let cache = Cache::new(folder.path().join("kept"), ROOM).of_all();
        let alone = without(&sets);
        assert!(alone.is_object(), "{sets:?}: {alone}");
        assert_eq!(with(&sets, &cache), (alone.clone(), true), "{sets:?}");
        assert_eq!(with(&sets, &cache), (alone, false), "{sets:?}");
    }
}

/// Other buffers and hosts start from the same drive; another seed does so unless filling draws.
#[test]
fn what_is_kept_is_what_lies_below_the_buffer() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path(), ROOM).of_all();
    let filled = |all: &[&str]| {
        let sets = sets(all);
        let (record, filled) = with(&sets, &cache);
        assert_eq!(record, without(&sets), "{all:?}");
        filled
    };
    assert!(filled(&["ftl.mapping=dftl"]));
    for same in ["buffer.scheme=fab", "host.replay=untimed", "seed=7"] {
        assert!(!filled(&["ftl.mapping=dftl", same]), "{same}");
    }
    assert!(filled(&["ftl.mapping=bast"]));
    assert!(filled(&["precondition.state=steady", "ftl.exported=6MiB"]));
    assert!(filled(&["precondition.state=steady", "ftl.exported=6MiB", "seed=7"]));
}

/// Whatever happened to the file, the drive is filled and kept anew.
#[test]
fn damage_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path(), ROOM).of_all();
    let (one, other) = (sets(&["ftl.mapping=mnk"]), sets(&["ftl.mapping=fast"]));
    let alone = without(&one);
    assert!(with(&other, &cache).1);
    let [foreign] = &files(folder.path())[..] else { panic!("one file") };
    let foreign = fs::read(foreign).unwrap();
    fs::remove_file(&files(folder.path())[0]).unwrap();
    assert!(with(&one, &cache).1);
    let [path] = &files(folder.path())[..] else { panic!("one file") };
    let whole = fs::read(path).unwrap();

    let mut damaged = vec![Vec::new(), vec![0; 10_000], foreign, [&whole[..], &[0]].concat()];
    let header = 56;
    let lengths = (0..=header).step_by(7).chain((header..whole.len()).step_by(whole.len() / 12));
    damaged.extend(lengths.map(|length| whole[..length].to_vec()));
    // Magic, version, which drive, length, checksum; and all over what follows.
    let bytes = [0, 8, 12, 43, 44, 51, 52, 55].into_iter();
    for at in bytes.chain((header..whole.len()).step_by(whole.len() / 12)) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        damaged.push(flipped);
    }
    for (case, bytes) in damaged.into_iter().enumerate() {
        fs::write(path, &bytes).unwrap();
        assert_eq!(with(&one, &cache), (alone.clone(), true), "case {case}");
        assert_eq!(with(&one, &cache), (alone.clone(), false), "case {case}");
    }
}

/// A folder that cannot be one, or in the place of a file a folder: runs go on without.
#[test]
fn no_folder_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let sets = sets(&["ftl.mapping=page"]);
    let alone = without(&sets);
    let file = folder.path().join("file");
    fs::write(&file, b"").unwrap();
    for place in [file.clone(), file.join("below")] {
        let cache = Cache::new(place, ROOM).of_all();
        assert_eq!(with(&sets, &cache), (alone.clone(), true));
        assert_eq!(with(&sets, &cache), (alone.clone(), true));
    }
    let cache = Cache::new(folder.path().join("kept"), ROOM).of_all();
    assert!(with(&sets, &cache).1);
    let [path] = &files(&folder.path().join("kept"))[..] else { panic!("one file") };
    fs::remove_file(path).unwrap();
    fs::create_dir(path).unwrap();
    assert_eq!(with(&sets, &cache), (alone, true));
}

/// Nothing is kept that is filled fast, that is to be checked, or for which there is no room.
#[test]
fn not_everything_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let sets = sets(&["ftl.mapping=page"]);
    let alone = without(&sets);
    for cache in [Cache::new(folder.path(), ROOM), Cache::new(folder.path(), 0).of_all()] {
        assert_eq!(with(&sets, &cache), (alone.clone(), true));
    }
    let cache = Cache::new(folder.path(), ROOM).of_all();
    assert!(run(&sets, How { cache: Some(&cache), verify: true, ..How::default() }).1);
    assert!(files(folder.path()).is_empty());
}

/// Those used longest ago go, and what an ended process left behind.
#[test]
fn the_folder_keeps_to_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let drive = |count: u32| sets(&["ftl.mapping=page", &format!("nand.endurance={count}")]);
    let all = Cache::new(folder.path(), ROOM).of_all();
    let age = |path: &Path, hours: u64| {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3600 * hours)).unwrap();
    };
    let mut paths = Vec::new();
    for count in 1..=3 {
        assert!(with(&drive(1000 + count), &all).1);
        paths.extend(files(folder.path()).into_iter().find(|path| !paths.contains(path)));
        age(paths.last().unwrap(), 10 - u64::from(count));
    }
    // The first one is used, so that the second is the oldest.
    assert!(!with(&drive(1001), &all).1);
    let (left, going_on) = (folder.path().join("old.part"), folder.path().join("new.part"));
    for path in [&left, &going_on] {
        fs::write(path, b"unfinished").unwrap();
    }
    age(&left, 2);
    let length = fs::metadata(&paths[0]).unwrap().len();
    let small = Cache::new(folder.path(), 3 * length + length / 2).of_all();
    assert!(with(&drive(1004), &small).1);
    assert!(paths[0].exists() && !paths[1].exists() && paths[2].exists());
    assert!(!left.exists() && going_on.exists());
    assert_eq!(files(folder.path()).len(), 4);
}

/// Several at once, as processes do: each fills for itself or finds a whole file.
#[test]
fn a_folder_is_shared() {
    let folder = tempfile::tempdir().unwrap();
    let sets = sets(&["ftl.mapping=dftl"]);
    let alone = without(&sets);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let cache = Cache::new(folder.path(), ROOM).of_all();
                for _ in 0..8 {
                    assert_eq!(with(&sets, &cache).0, alone);
                    for path in files(folder.path()) {
                        let _ = fs::remove_file(path);
                    }
                }
            });
        }
    });
}
