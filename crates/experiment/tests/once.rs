//! Runs without time: many requests in one call, and those that go with the first pass over their
//! trace, have the records of runs that take the way of all.

use std::ops::ControlFlow;
use std::path::Path;

use crate::support::{iolog, small_drive};
use eraseblock_experiment::{
    Experiment, How, Progress, Record, RunError, Runner, registry_json, resolve,
};
use serde_json::Value;

fn experiments(path: &str, sets: &[&str]) -> Vec<Experiment> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let drive = small_drive(&[]);
    let file = format!(
        "name = \"small\"\nbounds = false\n{drive}[host]\nreplay = \"untimed\"\n[workload]\npath = \"{path}\"\n"
    );
    resolve(Some(&file), "small.toml", &sets).unwrap()
}

fn names(section: &str) -> String {
    let registry: Value = serde_json::from_str(&registry_json()).unwrap();
    let all = registry[section].as_array().unwrap().iter();
    let names: Vec<&str> = all.map(|item| item["name"].as_str().unwrap()).collect();
    format!("[{}]", names.join(","))
}

fn run(experiment: &Experiment, base: &Path, how: How<'_>) -> Result<Value, RunError> {
    let record: Record =
        Runner::default().run(experiment, base, how, &mut |_| ControlFlow::Continue(()))?;
    let mut record = record.value().clone();
    record.remove("engine");
    Ok(Value::Object(record))
}

/// The record or error of the way of all, of many requests in one call, and of the first pass.
fn three_ways(experiment: &Experiment, base: &Path) -> [Result<Value, String>; 3] {
    let log = base.join("log.jsonl");
    // Somebody hears of each request.
    let watched = How { events: Some(&log), ..How::default() };
    let alone = How { alone: true, ..How::default() };
    [watched, How::default(), alone]
        .map(|how| run(experiment, base, how).map_err(|error| error.to_string()))
}

#[test]
fn every_pair_has_one_record_whichever_way_it_is_served() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.log"), iolog(700)).unwrap();
    let (buffers, ftls) =
        (format!("buffer.scheme={}", names("buffers")), format!("ftl.mapping={}", names("ftls")));
    // Every pair once, on full and on empty drives in turn.
    let [full, empty] = ["full", "empty"].map(|state| {
        // To tell the format from the file takes longer than a run.
        let sets = [&buffers, &ftls, &format!("precondition.state={state}"), "workload.format=fio"];
        experiments("a.log", &sets)
    });
    for (turn, both) in full.iter().zip(&empty).enumerate() {
        let experiment = if turn % 2 == 0 { both.0 } else { both.1 };
        let what = format!("{:?} over {:?}", experiment.buffer.scheme, experiment.ftl.mapping);
        let [watched, together, once] = three_ways(experiment, folder.path());
        assert!(watched.is_ok(), "{what}: {watched:?}");
        assert_eq!(watched, together, "{what}");
        assert_eq!(watched, once, "{what}");
    }
}

#[test]
fn what_only_the_end_of_a_pass_shows_comes_out_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    let write = |name: &str, text: &str| std::fs::write(base.join(name), text).unwrap();
    write("a.log", &iolog(700));
    let line = |asu, page: u64, time| format!("{asu},{},4096,w,{time}.0\n", page * 8);
    let lines: String = (0..200).map(|i| line(i % 2, i * 7 % 300, i)).collect();
    write("two.spc", &lines);
    let one: String = (0..200).map(|i| line(0, i * 7 % 300, i)).collect();
    write("bad.spc", &(one.clone() + "0,zebra,4096,w,200.0\n" + &one));
    write("far.spc", &(one.clone() + &line(0, 1 << 20, 200)));
    write("late.spc", &(one + &line(0, 1, 100)));
    let worn = ["nand.endurance=3", "ftl.exported=6MiB", "workload.path=long.log"];
    write("long.log", &iolog(12_000));
    let cases: [(&str, &[&str], bool); 12] = [
        ("two.spc", &[], true),
        ("bad.spc", &[], false),
        ("bad.spc", &["workload.skip_bad_lines=true", "workload.out_of_order=clamp"], true),
        ("far.spc", &[], false),
        ("far.spc", &["workload.fit=wrap"], true),
        ("far.spc", &["workload.fit=compact"], true),
        ("late.spc", &[], false),
        ("none.spc", &[], false),
        ("a.log", &["workload.first=100", "workload.skip=50", "workload.ops=rw"], true),
        ("a.log", &["host.warm_up=100"], true),
        ("a.log", &["buffer.size=1KiB"], false),
        ("long.log", &worn, true),
    ];
    for (path, sets, is_good) in cases {
        let experiment = experiments(path, sets).remove(0);
        let [watched, together, once] = three_ways(&experiment, base);
        assert_eq!(watched.is_ok(), is_good, "{path} {sets:?}: {watched:?}");
        assert_eq!(watched, together, "{path} {sets:?}");
        assert_eq!(watched, once, "{path} {sets:?}");
        if sets == worn {
            assert!(!once.unwrap()["end_of_life"].is_null());
        }
    }
}

#[test]
fn the_first_pass_can_be_stopped_and_tells_how_far_it_is() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.log"), iolog(20_000)).unwrap();
    let experiment = experiments("a.log", &["precondition.state=full"]).remove(0);
    let how = How { alone: true, ..How::default() };
    let mut seen: Vec<Progress> = Vec::new();
    let mut watch = |progress| {
        seen.push(progress);
        ControlFlow::Continue(())
    };
    Runner::default().run(&experiment, folder.path(), how, &mut watch).unwrap();
    let mut phases: Vec<_> = seen.iter().map(|progress| progress.phase).collect();
    phases.dedup();
    assert_eq!(phases, ["fill", "replay", "finish"]);
    for phase in phases {
        let mut calls = 0;
        let stopped = Runner::default().run(&experiment, folder.path(), how, &mut |progress| {
            calls += 1;
            if progress.phase == phase { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert!(matches!(stopped, Err(RunError::Cancelled)), "{phase}");
        assert!(calls <= seen.len(), "no call after the one that stopped it");
    }
}
