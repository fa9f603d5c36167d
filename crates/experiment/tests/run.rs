//! Whole runs on a small drive: every buffer over every FTL, and what their records say.

use std::ops::ControlFlow;
use std::path::Path;

use crate::support::small_drive;
use eraseblock_experiment::{
    Experiment, How, Progress, Record, RunError, Runner, preset_names, registry_json, resolve, run,
};
use serde_json::Value;

/// 8 MiB of flash behind two channels, half of it for the host.
fn drive() -> String {
    small_drive(&[("planes_per_die", "1"), ("blocks_per_plane", "64")])
}

/// 3000 requests.
const WORKLOAD: &str = r#"
[workload.generate]
kind = "zipf"
requests = 3000
footprint = "4 MiB"
size = "8 KiB"
align = "4 KiB"
read_share = 0.4
interval = "500us"
"#;

fn experiments(sets: &[&str]) -> Vec<Experiment> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let file = format!("name = \"small\"\n{}{WORKLOAD}", drive());
    resolve(Some(&file), "small.toml", &sets).unwrap()
}

fn run_one(experiment: &Experiment) -> Result<Record, RunError> {
    run(experiment, Path::new("."), true, &mut |_| ControlFlow::Continue(()))
}

/// The record of the file with `sets`, as JSON.
fn record(sets: &[&str]) -> Value {
    let experiment = experiments(sets).remove(0);
    serde_json::from_str(
        &run_one(&experiment).unwrap_or_else(|error| panic!("{sets:?}: {error}")).to_json(),
    )
    .unwrap()
}

fn names(section: &str) -> String {
    let registry: Value = serde_json::from_str(&registry_json()).unwrap();
    let names: Vec<&str> = registry[section]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["name"].as_str().unwrap())
        .collect();
    format!("[{}]", names.join(","))
}

fn number(record: &Value, pointer: &str) -> u64 {
    record
        .pointer(pointer)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("no count at {pointer} in {record:#}"))
}

#[test]
fn every_buffer_runs_over_every_ftl() {
    let (buffers, ftls) =
        (format!("buffer.scheme={}", names("buffers")), format!("ftl.mapping={}", names("ftls")));
    let all = experiments(&[&buffers, &ftls, "workload.generate.requests=1500"]);
    assert!(all.len() >= 8, "{} pairs", all.len());
    for experiment in all {
        let what = format!("{:?} over {:?}", experiment.buffer.scheme, experiment.ftl.mapping);
        let record = run_one(&experiment).unwrap_or_else(|error| panic!("{what}: {error}"));
        let record = Value::Object(record.value().clone());
        assert_eq!(number(&record, "/requests/submitted"), 1500, "{what}");
        assert_eq!(number(&record, "/requests/completed"), 1500, "{what}");
        assert_eq!(
            number(&record, "/host_pages/write") + number(&record, "/host_pages/read"),
            3000,
            "{what}"
        );
        assert!(number(&record, "/flash/programs/total") > 0, "{what}");
        assert_eq!(
            record["config"]["buffer"]["scheme"]["kind"],
            experiment.buffer.scheme.name(),
            "{what}"
        );
    }
}

/// The presets, full at the start, with each buffer, in figures that don't depend on it. To fill
/// one takes up to a second. So they are as they are with their own buffer alone, but for those of
/// more than 32 GiB; these, and all of them with all buffers, have 4 to 8 GiB of flash, with the
/// same share of it exported.
#[test]
fn every_preset_runs_every_buffer() {
    let file = "[workload.generate]\nkind = \"uniform\"\nrequests = 2000\nfootprint = \"512 MiB\"\n\
                read_share = 0.3\ninterval = \"20ms\"\n[buffer]\nsize = \"1 MiB\"\n";
    let of = |preset: &&str| {
        let preset = format!("preset={preset}");
        let resolved = |sets: &[String]| resolve(Some(file), "presets.toml", sets).unwrap();
        let first = resolved(std::slice::from_ref(&preset)).remove(0);
        // One of so many blocks is left, and of so many exported bytes.
        let shrunk = |part: u32| {
            let blocks =
                format!("nand.blocks_per_plane={}", first.nand.blocks_per_plane.div_ceil(part));
            let exported = first
                .ftl
                .exported
                .map(|all| format!("ftl.exported=\"{} B\"", all.0 / u64::from(part)));
            [preset.clone(), blocks].into_iter().chain(exported).collect::<Vec<_>>()
        };
        let nand = &first.nand;
        let planes =
            nand.channels * nand.chips_per_channel * nand.dies_per_chip * nand.planes_per_die;
        let plane = u64::from(nand.blocks_per_plane * nand.pages_per_block) * nand.page_size.0;
        let gib = ((u64::from(planes) * plane) >> 30) as u32;
        let down_to = |most: u32| gib.div_ceil(most).next_power_of_two();
        let whole = shrunk(if gib > 32 { down_to(8) } else { 1 });
        let mut others = shrunk(down_to(8));
        others.push(format!("buffer.scheme={}", names("buffers")));
        [resolved(&whole), resolved(&others)].concat()
    };
    let all: Vec<_> = preset_names().iter().flat_map(of).collect();
    assert!(all.len() >= 12);
    let (runner, how) = (Runner::default(), How { share: true, ..How::default() });
    for experiment in all {
        let what = format!("{:?} with {:?}", experiment.preset, experiment.buffer.scheme);
        let record = runner
            .run(&experiment, Path::new("."), how, &mut |_| ControlFlow::Continue(()))
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        let record = Value::Object(record.value().clone());
        assert_eq!(number(&record, "/requests/completed"), 2000, "{what}");
        let pages = 4096 / experiment.nand.mapping_unit.unwrap_or(experiment.nand.page_size).0;
        let host = number(&record, "/host_pages/read") + number(&record, "/host_pages/write");
        assert_eq!(host, 2000 * pages, "{what}");
        assert_eq!(record["precondition"]["settled"], true, "{what}");
    }
}

#[test]
fn the_record_holds_every_figure() {
    let record = record(&[]);
    for pointer in [
        "/key",
        "/name",
        "/version",
        "/config/nand/channels",
        "/trace/sha256",
        "/trace/fit",
        "/trusted",
        "/reasons",
        "/warnings",
        "/response_ns/all/p99",
        "/response_ns/read/mean",
        "/response_ns/write/max",
        "/throughput/iops",
        "/throughput/bytes_per_s",
        "/simulated_s",
        "/hit_ratio/all",
        "/hit_ratio/read",
        "/hit_ratio/write",
        "/inflight_hits",
        "/host_pages/trim",
        "/map_hit_ratio",
        "/padded_pages",
        "/flash/reads/host",
        "/flash/programs/gc",
        "/flash/erases/merge",
        "/merges/switch",
        "/merges/partial",
        "/merges/full",
        "/waf",
        "/flush_pages/before_padding/mean",
        "/flush_pages/after_padding/cdf_by_page",
        "/wear/erases_mean",
        "/wear/cv_channel",
        "/energy_mj",
        "/buffer_metadata_bytes",
        "/map_bytes",
        "/precondition",
        "/engine/wall_s",
        "/engine/fill_s",
        "/engine/requests_per_s",
        "/engine/flash_ops_per_s",
    ] {
        assert!(record.pointer(pointer).is_some(), "{pointer} is missing from {record:#}");
    }
    assert_eq!(record["name"], "small");
    assert_eq!(record["trace"]["requests"], 3000);
}

#[test]
fn the_same_experiment_gives_the_same_bytes_but_for_the_engine() {
    let without_engine = |mut record: Value| {
        record.as_object_mut().unwrap().shift_remove("engine").expect("an engine section");
        record.to_string()
    };
    assert_eq!(without_engine(record(&[])), without_engine(record(&[])));
    let (one, two) = (record(&[]), record(&["workload.generate.seed=2"]));
    assert_ne!(one["key"], two["key"]);
    assert_ne!(one["trace"]["sha256"], two["trace"]["sha256"]);
    assert_ne!(one["flash"], two["flash"]);
}

#[test]
fn an_experiment_runs_the_same_after_a_round_trip() {
    let experiment = experiments(&["buffer.scheme=bplru", "ftl.mapping=bast"]).remove(0);
    let again = Experiment::from_json(&experiment.to_json()).unwrap();
    let figures = |experiment| run_one(experiment).unwrap().value()["flash"].clone();
    assert_eq!(figures(&experiment), figures(&again));
}

#[test]
fn requests_that_are_not_replayed_are_accounted_for() {
    let record = record(&["workload.ops=w", "workload.first=500"]);
    assert_eq!(number(&record, "/requests/submitted"), 500);
    assert_eq!(number(&record, "/host_pages/read"), 0);
    let clipped = self::record(&["workload.generate.footprint=5MiB", "workload.fit=clip"]);
    let submitted = number(&clipped, "/requests/submitted");
    assert!(submitted > 1000 && submitted < 3000, "{submitted}");
}

#[test]
fn progress_goes_forward_and_can_stop_the_run() {
    let experiment = experiments(&["workload.generate.requests=20000"]).remove(0);
    let mut seen: Vec<Progress> = Vec::new();
    run(&experiment, Path::new("."), false, &mut |progress| {
        seen.push(progress);
        ControlFlow::Continue(())
    })
    .unwrap();
    let mut phases: Vec<_> = seen.iter().map(|progress| progress.phase).collect();
    phases.dedup();
    assert_eq!(phases, ["read", "fill", "foresee", "replay", "finish"]);
    let replay: Vec<_> = seen.iter().filter(|progress| progress.phase == "replay").collect();
    assert!(replay.len() >= 4 && replay.is_sorted_by_key(|progress| progress.done), "{replay:?}");
    assert!(replay.iter().all(|progress| progress.total == 20_000 && progress.done <= 20_000));

    for phase in phases {
        let mut calls = 0;
        let stopped = run(&experiment, Path::new("."), false, &mut |progress| {
            calls += 1;
            if progress.phase == phase { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(stopped, Err(RunError::Cancelled)), "{phase}");
        assert!(calls <= seen.len(), "no call after the one that stopped it");
    }
}

#[test]
fn what_the_user_can_mend_is_an_input_error() {
    for (sets, part) in [
        (vec!["workload.generate.footprint=64MiB"], "4.00 MiB"),
        (vec!["ftl.exported=1GiB"], "ftl.exported"),
        (vec!["buffer.size=1KiB"], "buffer.size"),
    ] {
        let error = run_one(&experiments(&sets).remove(0)).expect_err(sets[0]);
        assert!(error.is_input(), "{error}");
        let text = error.to_string();
        assert!(text.contains(part) && !text.contains('\n'), "{sets:?}: {text}");
    }
    let file = drive() + "[workload]\npath = \"nowhere.load\"\n";
    let experiment = resolve(Some(&file), "small.toml", &[]).unwrap().remove(0);
    let error = run_one(&experiment).unwrap_err();
    assert!(error.is_input() && error.to_string().contains("nowhere.load"), "{error}");
}

const LINE: &str = "0,8,4096,w,0.000000\n";
/// Lines that fit several formats: the name of the file tells which.
const ASCII: &str = "0 0 8 8 0\n1000000 0 8 8 0\n";

/// The file with a trace called `name` in the place of the generator.
fn replaying(name: &str) -> Experiment {
    let file = drive() + &format!("[workload]\npath = \"{name}\"\n");
    resolve(Some(&file), "small.toml", &[]).unwrap().remove(0)
}

/// A trace that is moved stays the same experiment; one that is changed, or read in another format,
/// does not.
#[test]
fn a_record_is_known_by_the_content_of_its_trace() {
    let folder = tempfile::tempdir().unwrap();
    let runner = Runner::default();
    let key = |name: &str, content: &str| {
        std::fs::write(folder.path().join(name), content).unwrap();
        let experiment = replaying(name);
        let go_on = &mut |_| ControlFlow::Continue(());
        let identity = runner.identify(&experiment, folder.path(), go_on).unwrap();
        let record = runner
            .run(&experiment, folder.path(), How { verify: true, ..How::default() }, go_on)
            .unwrap();
        assert_eq!(record.value()["key"], identity.key);
        for (label, value) in &identity.trace {
            assert_eq!(record.value()["trace"][*label], *value);
        }
        identity.key
    };
    let first = key("a.spc", LINE);
    assert_eq!(first, key("b.spc", LINE));
    assert_ne!(first, key("a.spc", "0,16,4096,w,0.000000\n"));
    assert_ne!(key("a.ssdsim", ASCII), key("a.mqsim", ASCII), "the name says the format");
}

#[test]
fn a_generated_workload_is_known_without_making_it() {
    for experiment in experiments(&["workload.generate.seed=[1, 2]"]) {
        let identity = Runner::default()
            .identify(&experiment, Path::new("."), &mut |_| unreachable!("nothing is read"))
            .unwrap();
        assert_eq!(run_one(&experiment).unwrap().value()["key"], identity.key);
        assert!(identity.trace.is_empty());
    }
}

#[test]
fn a_trace_that_changes_under_a_run_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.spc");
    std::fs::write(&path, LINE).unwrap();
    let error = run(&replaying("a.spc"), folder.path(), false, &mut |progress| {
        if progress.phase == "replay" {
            std::fs::write(&path, LINE.replace('8', "9")).unwrap();
        }
        ControlFlow::Continue(())
    })
    .unwrap_err();
    assert!(error.is_input());
    assert!(error.to_string().starts_with("a.spc: changed while it was being read"), "{error}");
}

/// The bounds are in every record unless they are switched off, and the scheme that knows the
/// future reaches that of hits in every kind of replay.
#[test]
fn records_hold_bounds_and_the_optimum_reaches_them() {
    for replay in ["open", "closed", "untimed"] {
        let replay = format!(r#"host.replay="{replay}""#);
        let opt = record(&["buffer.scheme=opt", &replay]);
        assert_eq!(opt["offline"], true);
        assert_eq!(opt["hit_ratio"]["all"], opt["bound"]["hit_ratio"]);
        let lru = record(&["buffer.scheme=lru", &replay]);
        assert_eq!((&lru["offline"], &lru["bound"]), (&Value::Bool(false), &opt["bound"]));
        assert!(lru["hit_ratio"]["all"].as_f64() < lru["bound"]["hit_ratio"].as_f64());
        assert!(number(&lru, "/bound/flash_programs") <= number(&lru, "/flash/programs/total"));
        assert!(number(&lru, "/bound/flash_programs") > 0);
        assert!(number(&lru, "/bound/erases") <= number(&lru, "/flash/erases/total"));
    }
    assert_eq!(record(&["bounds=false"])["bound"], Value::Null);
}

/// Telling the future can be cancelled like any other phase.
#[test]
fn telling_the_future_is_a_phase() {
    let experiment = experiments(&["buffer.scheme=opt"]).remove(0);
    let mut phases = Vec::new();
    let ended = run(&experiment, Path::new("."), false, &mut |progress| {
        phases.push(progress.phase);
        if progress.phase == "foresee" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(ended, Err(RunError::Cancelled)), "{phases:?}");
    assert!(!phases.contains(&"replay"), "{phases:?}");
}

/// On a drive whose planes copy into one another's blocks, an erase may wait for a page of the map
/// that comes of a read of what waits for that erase. Copies go to blocks that have really been
/// erased.
#[test]
fn copies_do_not_wait_for_erases_that_wait_for_them() {
    const DRIVE: &str = r#"
        nand = { channels = 3, chips_per_channel = 1, dies_per_chip = 2, planes_per_die = 3, blocks_per_plane = 11,
            pages_per_block = 27, pages_per_program = 3, page_size = "4 KiB", mapping_unit = "1 KiB", scheduling = "read-first",
            program_order = "ascending",
            timing = { read = "25us", program = "200us", erase = "1500us", transfer = "10us" } }
        buffer = { size = "16 KiB", scheme = "lru" }
        host = { replay = "closed", max_outstanding = 8 }
        precondition = { state = "full" }
        [ftl]
        exported = "9640 KiB"
        mapping = { kind = "dftl", cache = 8192.0 }
        allocator = { kind = "dynamic", pool = "ssd" }
        victim = "leveling-degree"
        wear = { kind = "two-level", threshold = 1, cluster = 18 }
        gc = { copies = "spread" }
        [workload]
        fit = "wrap"
        generate = { kind = "uniform", requests = 15000, footprint = "9640 KiB", read_share = 0.2, trim_share = 0.2,
            size = "4 KiB", align = "1 KiB", interval = "20us" }
    "#;
    for (grain, seeds) in [("all", 1..4), ("victim", 1..4)] {
        for seed in seeds {
            let sets = [format!("ftl.gc.grain={grain}"), format!("workload.generate.seed={seed}")];
            let [experiment] =
                <[_; 1]>::try_from(resolve(Some(DRIVE), "f.toml", &sets).unwrap()).unwrap();
            run_one(&experiment).unwrap_or_else(|error| panic!("{grain}, seed {seed}: {error}"));
        }
    }
}

/// Runs that are the same below the buffer start from one filled drive; others do not.
#[test]
fn a_sweep_fills_a_drive_once() {
    let runner = Runner::default();
    let pages_filled = |sets: &[&str]| {
        let (experiment, mut filled) = (experiments(sets).remove(0), 0);
        let how = How { share: true, ..How::default() };
        let mut watch = |Progress { phase, done, .. }| {
            filled += if phase == "fill" { done } else { 0 };
            ControlFlow::Continue(())
        };
        let record = runner.run(&experiment, Path::new("."), how, &mut watch).unwrap();
        let mut alone = serde_json::to_value(
            run(&experiment, Path::new("."), false, &mut |_| ControlFlow::Continue(()))
                .unwrap()
                .value(),
        )
        .unwrap();
        let mut shared = serde_json::to_value(record.value()).unwrap();
        for one in [&mut alone, &mut shared] {
            one.as_object_mut().unwrap().remove("engine");
        }
        assert_eq!(shared, alone, "{sets:?}");
        filled > 0
    };
    assert!(pages_filled(&["buffer.scheme=lru"]));
    for same in ["buffer.scheme=fab", "buffer.size=64KiB", "host.replay=untimed", "seed=7"] {
        assert!(!pages_filled(&[same]), "{same}");
    }
    assert!(pages_filled(&["ftl.mapping=bast"]));
    assert!(pages_filled(&["precondition.state=steady"]));
    assert!(!pages_filled(&["precondition.state=steady", "buffer.scheme=fab"]));
    assert!(pages_filled(&["precondition.state=steady", "seed=7"]));
    runner.forget_filled();
    assert!(pages_filled(&["buffer.scheme=lru"]));
}

#[test]
fn a_warm_up_is_not_measured_and_the_record_says_how_long_it_was() {
    let warm = record(&["host.warm_up=1000"]);
    assert_eq!(number(&warm, "/warm_up/requests"), 1000);
    assert_eq!(number(&warm, "/requests/submitted"), 2000);
    assert_eq!(number(&warm, "/requests/completed"), 2000);
    assert_eq!(number(&warm, "/response_ns/all/count"), 2000);
    assert_eq!(number(&warm, "/trace/fit/submitted"), 3000);
    assert!(record(&[]).get("warm_up").is_none());
}

#[test]
fn a_warm_up_as_long_as_the_workload_is_refused_before_it_runs() {
    let experiment = experiments(&["host.warm_up=3000"]).remove(0);
    let mut replayed = false;
    let error = run(&experiment, Path::new("."), false, &mut |progress| {
        replayed |= progress.phase != "read";
        ControlFlow::Continue(())
    })
    .unwrap_err();
    assert!(error.is_input() && !replayed);
    let said = error.to_string();
    assert!(said.contains("host.warm_up: found 3000, but this drive gets 3000 requests"), "{said}");
}
