//! The bounds are the same whether an observer of the run follows its requests, or they are found
//! once for all runs with buffers of a size, or by a thread beside the first pass over the trace.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use crate::support::{iolog, small_drive};
use eraseblock_experiment::{How, Runner, resolve};
use serde_json::Value;

/// How a run is served.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    /// Its requests are followed one by one, as somebody wants a log of them.
    Followed,
    /// With others of one runner, which share what it finds.
    Together,
    /// By itself.
    Alone,
}

/// The bounds of each experiment that the settings make.
fn bounds(base: &Path, sets: &[&str], way: Way) -> Vec<Value> {
    let file = format!(
        "name = \"bounds\"\n{}[workload]\npath = \"a.log\"\nfit = \"wrap\"\n",
        small_drive(&[])
    );
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let runner = Runner::default();
    let run = |experiment| {
        let log = base.join("log.jsonl");
        let how = How {
            events: (way == Way::Followed).then_some(&*log),
            share: way == Way::Together,
            alone: way == Way::Alone,
            ..How::default()
        };
        let record = runner.run(experiment, base, how, &mut |_| ControlFlow::Continue(())).unwrap();
        let (bound, ended) = (&record.value()["bound"], &record.value()["end_of_life"]);
        assert_eq!(bound["flash_programs"].is_u64(), ended.is_null(), "{sets:?}: {bound}");
        bound.clone()
    };
    resolve(Some(&file), "bounds.toml", &sets).unwrap().iter().map(run).collect()
}

#[test]
fn all_ways_find_the_same() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.log"), iolog(3000)).unwrap();
    let all = [
        "buffer.battery=[false,true]",
        "host.end_of_run=[keep,flush]",
        "host.warm_up=[0,1,1500]",
        "buffer.size=[64KiB,1MiB]",
        "nand.pages_per_program=[1,2]",
        // To tell it from the file takes longer than a run.
        "workload.format=fio",
    ];
    let base = folder.path();
    let followed = bounds(base, &all, Way::Followed);
    assert_eq!(followed.len(), 48);
    assert_eq!(bounds(base, &all, Way::Together), followed);
    let different: BTreeSet<String> = followed.iter().map(Value::to_string).collect();
    assert!(different.len() > 20, "{} kinds among 48: settings change nothing", different.len());
    let untimed = [&all[..2], &all[3..], &["host.replay=untimed"]].concat();
    let followed = bounds(base, &untimed, Way::Followed);
    assert_eq!(bounds(base, &untimed, Way::Alone), followed);
    // Asked for twice they are the same.
    let twice = [&untimed[..], &["metrics=[bounds]"]].concat();
    assert_eq!(bounds(base, &twice, Way::Alone), followed);
    assert_eq!(bounds(base, &untimed, Way::Together), followed);
}

/// What it leaves undone would count as done, and the bounds lie above what it did.
#[test]
fn a_drive_that_wears_out_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path();
    std::fs::write(base.join("a.log"), iolog(12_000)).unwrap();
    let worn = [
        "nand.endurance=3",
        "ftl.exported=6MiB",
        "host.replay=[untimed,closed]",
        "host.end_of_run=[keep,flush]",
    ];
    for way in [Way::Followed, Way::Alone, Way::Together] {
        assert_eq!(bounds(base, &worn, way), [Value::Null, Value::Null, Value::Null, Value::Null]);
    }
    let listed = [&worn[..], &["bounds=false", "metrics=[bounds,erase_bounds]"]].concat();
    assert!(bounds(base, &listed, Way::Together).iter().all(Value::is_null));
    let fresh = bounds(base, &worn[1..], Way::Together);
    assert!(fresh.iter().all(|bound| !bound.is_null()), "it has not worn out");
}

#[test]
fn another_trace_under_the_same_name_has_bounds_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let of = |text: &str| {
        std::fs::write(folder.path().join("a.log"), text).unwrap();
        bounds(folder.path(), &[], Way::Together)
    };
    let mut text = iolog(900);
    let before = of(&text);
    text.truncate(text.len() - "/dev/sdb close\n".len());
    for page in 0..64 {
        writeln!(text, "/dev/sdb write {} 4096", page * 4096).unwrap();
    }
    assert_ne!(of(&text), before);
    assert_eq!(of(&iolog(900)), before);
}
