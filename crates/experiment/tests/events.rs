//! The log of a buffer's decisions: it says what the record says, the same every time, and is whole
//! however a run ends.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use eraseblock_experiment::{Experiment, How, Progress, Record, RunError, Runner, resolve};
use serde_json::Value;

/// A small drive for the recorded database.
const FILE: &str = r#"
[nand]
channels = 2
chips_per_channel = 1
dies_per_chip = 1
planes_per_die = 1
blocks_per_plane = 2200
pages_per_block = 64
page_size = "4 KiB"
timing = { read = "25us", program = "200us", erase = "1500us", transfer = "10us" }
[ftl]
exported = "1 GiB"
mapping = "page"
[buffer]
size = "2 MiB"
[host]
replay = "untimed"
[precondition]
state = "empty"
[workload]
path = "pgbench-ext4.nbdkit.zst"
first = 10_000
"#;

fn experiment(scheme: &str, more: &[&str]) -> Experiment {
    let sets: Vec<String> = [format!("buffer.scheme={scheme}")]
        .into_iter()
        .chain(more.iter().map(|&set| set.to_owned()))
        .collect();
    let [one] = resolve(Some(FILE), "small.toml", &sets).unwrap().try_into().unwrap();
    one
}

fn workloads() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads")
}

thread_local! {
    /// It reads the workload once for a test.
    static RUNNER: Runner = Runner::default();
}

fn run(experiment: &Experiment, events: &Path) -> Result<Record, RunError> {
    RUNNER.with(|runner| run_by(runner, experiment, events))
}

fn run_by(runner: &Runner, experiment: &Experiment, events: &Path) -> Result<Record, RunError> {
    let how = How { events: Some(events), ..How::default() };
    runner.run(experiment, &workloads(), how, &mut |_| ControlFlow::Continue(()))
}

fn unpacked(path: &Path) -> String {
    let mut text = String::new();
    eraseblock_traces::unpacked(path).unwrap().read_to_string(&mut text).unwrap();
    text
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What a log adds up to.
#[derive(Debug, Default)]
struct Sums {
    ops: BTreeMap<String, u64>,
    answers: BTreeMap<String, u64>,
    flushes: u64,
    flushed: u64,
}

fn sums(lines: &[Value]) -> Sums {
    let mut sums = Sums::default();
    for line in lines {
        *sums.ops.entry(line["op"].as_str().unwrap().into()).or_default() += 1;
        for answer in line["answers"].as_array().into_iter().flatten() {
            *sums.answers.entry(answer.as_str().unwrap().into()).or_default() += 1;
        }
        for eviction in line["evictions"].as_array().into_iter().flatten() {
            let pages = eviction["pages"].as_array().unwrap();
            assert!(
                !pages.is_empty()
                    && eviction["reason"].as_str().is_some_and(|reason| reason.len() > 5)
            );
            let dirty = eviction["dirty"].as_array().unwrap();
            assert!(dirty.iter().all(|page| pages.contains(page)));
            if eviction["action"] == "drop" {
                assert_eq!(dirty.len(), 0, "{line}");
            } else {
                sums.flushes += 1;
                sums.flushed += pages.len() as u64;
            }
        }
    }
    sums
}

#[test]
fn the_log_of_every_buffer_adds_up_to_its_record() {
    let folder = tempfile::tempdir().unwrap();
    for name in eraseblock_core::buffer::BufferConfig::NAMES {
        let path = folder.path().join(format!("{name}.jsonl"));
        let experiment = experiment(name, &["workload.first=2000"]);
        let record = run(&experiment, &path).unwrap();
        let record = Value::Object(record.value().clone());
        let text = unpacked(&path);
        let all = lines(&text);
        let [start, inner @ .., end] = &all[..] else { panic!("{name}: {text}") };
        assert_eq!(
            (&start["op"], &start["events"], &end["op"]),
            (&"start".into(), &1.into(), &"end".into())
        );
        assert_eq!(
            (&start["key"], &start["config"]),
            (&record["key"], &record["config"]),
            "{name}"
        );
        assert_eq!(start["trace"]["sha256"], record["trace"]["sha256"]);
        let sums = sums(inner);
        let hits = sums.answers.get("hit").copied().unwrap_or_default();
        let pages = sums.answers.values().sum::<u64>();
        let expected = record["hit_ratio"]["all"].as_f64().unwrap();
        assert!(
            (hits as f64 / pages as f64 - expected).abs() < 1e-12,
            "{name}: {hits} of {pages}, {expected}"
        );
        assert_eq!(sums.ops["flush"], record["requests"]["flushes"].as_u64().unwrap(), "{name}");
        let host = &record["host_pages"];
        assert_eq!(
            pages,
            host["read"].as_u64().unwrap() + host["write"].as_u64().unwrap(),
            "{name}"
        );
        let mean = record["flush_pages"]["before_padding"]["mean"].as_f64();
        if *name == "none" {
            assert_eq!(sums.flushes, 0);
        } else if sums.answers.get("bypass").is_none_or(|_| !inner.iter().any(writes_past)) {
            let of_log = sums.flushed as f64 / sums.flushes as f64;
            assert!((of_log - mean.unwrap()).abs() < 1e-9, "{name}: {of_log}, {mean:?}");
        }
    }
}

#[test]
fn examples_are_told_in_the_same_lines() {
    let examples: Value =
        serde_json::from_str(&eraseblock_experiment::examples_json("lru")).unwrap();
    let steps: Vec<&Value> = examples
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|one| one["steps"].as_array().unwrap())
        .collect();
    let ops: Vec<&str> = steps
        .iter()
        .flat_map(|step| step["events"].as_array().unwrap())
        .map(|e| e["op"].as_str().unwrap())
        .collect();
    for op in ["read", "write", "force", "trim", "flush"] {
        assert!(ops.contains(&op), "{op}: {ops:?}");
    }
    assert_eq!(eraseblock_experiment::examples_json("lur"), "null");
}

/// A write past the buffer is a flush of its own, which the log shows as an answer.
fn writes_past(line: &Value) -> bool {
    line["op"] == "write"
        && line["answers"].as_array().is_some_and(|all| all.contains(&"bypass".into()))
}

#[test]
fn the_same_bytes_every_time_and_however_packed() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = experiment("hbm", &[]);
    let logs = ["a.jsonl", "b.jsonl.gz", "c.jsonl.zst"].map(|name| folder.path().join(name));
    for log in &logs {
        run(&experiment, log).unwrap();
    }
    let text = unpacked(&logs[0]);
    assert!(
        text.contains("moved to the block region")
            && text.contains(r#""what":"threshold","value":2"#)
    );
    assert!(logs[1..].iter().all(|log| unpacked(log) == text));
    assert!(logs[1..].iter().all(|log| log.metadata().unwrap().len() < text.len() as u64 / 3));
    // A log makes room for another one, packed or not.
    for log in &logs {
        run(&experiment, log).unwrap();
        assert_eq!(unpacked(log), text);
    }
}

#[test]
fn watching_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let go_on = &mut |_| ControlFlow::Continue(());
    for scheme in ["hbm", "bplru", "cflru"] {
        let experiment = experiment(scheme, &["host.replay=open", "workload.first=5000"]);
        let strip = |record: Record| {
            let mut table = record.value().clone();
            table.shift_remove("engine");
            table
        };
        let watched = strip(run(&experiment, &folder.path().join("x.jsonl")).unwrap());
        let alone =
            strip(Runner::default().run(&experiment, &workloads(), How::default(), go_on).unwrap());
        assert_eq!(watched, alone, "{scheme}");
    }
}

#[test]
fn what_is_no_log_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = experiment("lru", &["workload.first=10"]);
    let refused = |path: &Path| {
        let error = run(&experiment, path).unwrap_err();
        assert!(error.is_input(), "{error}");
        error.to_string()
    };
    let trace = folder.path().join("trace.csv");
    std::fs::write(&trace, "precious\n").unwrap();
    assert!(
        refused(&trace)
            .ends_with("trace.csv: is there already and is no log of events; name another file")
    );
    assert_eq!(std::fs::read_to_string(&trace).unwrap(), "precious\n");
    assert!(refused(folder.path()).ends_with("is a folder; a log of events is a file"));
    let lost = folder.path().join("nowhere/log.jsonl");
    assert!(refused(&lost).ends_with("log.jsonl: cannot be written: there is no such folder"));
    assert!(
        refused(&folder.path().join("log.jsonl.xz"))
            .contains(".xz is not written; end the name in .gz or")
    );
    // An empty file, as `mktemp` makes it, is nobody's.
    let empty = folder.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    run(&experiment, &empty).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_ends_the_run_and_is_named() {
    let error = run(&experiment("lru", &[]), Path::new("/dev/full")).unwrap_err();
    assert!(!error.is_input());
    assert!(error.to_string().starts_with("/dev/full: cannot be written: "), "{error}");
}

#[test]
fn a_stopped_run_leaves_whole_lines() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = experiment("lru", &[]);
    for name in ["log.jsonl", "log.jsonl.gz", "log.jsonl.zst"] {
        let path = folder.path().join(name);
        let how = How { events: Some(&path), ..How::default() };
        let mut stop_soon = |at: Progress| {
            if at.phase == "replay" && at.done > 0 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let stop = RUNNER.with(|runner| runner.run(&experiment, &workloads(), how, &mut stop_soon));
        assert!(matches!(stop, Err(RunError::Cancelled)));
        let text = unpacked(&path);
        assert!(text.ends_with("}\n"));
        let all = lines(&text);
        let last = all.last().unwrap();
        assert_eq!(last["request"], 4095, "everything that was decided, and no end: {last}");
    }
}
