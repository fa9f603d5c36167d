//! The bounds are the same whether an observer of the run follows its requests, or they are found
//! once for all runs with buffers of a size, or by a thread beside the first pass over the trace.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use crate::support::{iolog, small_drive};
use eraseblock_experiment::{How, Runner, resolve};
use serde_json::Value;

/// The bounds of each experiment that the settings make; those of one runner share what it finds.
fn bounds(base: &Path, sets: &[&str], alone: bool) -> Vec<Value> {
    let file = format!(
        "name = \"bounds\"\n{}[workload]\npath = \"a.log\"\nfit = \"wrap\"\n",
        small_drive(&[])
    );
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let runner = Runner::default();
    let run = |experiment| {
        let how = How { alone, share: !alone, ..How::default() };
        let record = runner.run(experiment, base, how, &mut |_| ControlFlow::Continue(())).unwrap();
        let bound = record.value()["bound"].clone();
        assert!(bound["flash_programs"].is_u64(), "{sets:?}: {bound}");
        bound
    };
    resolve(Some(&file), "bounds.toml", &sets).unwrap().iter().map(run).collect()
}

#[test]
fn all_ways_find_the_same() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.log"), iolog(9000)).unwrap();
    let all = [
        "buffer.battery=[false,true]",
        "host.end_of_run=[keep,flush]",
        "host.warm_up=[0,1,4500]",
        "buffer.size=[64KiB,1MiB]",
        "nand.pages_per_program=[1,2]",
    ];
    let observed =
        bounds(folder.path(), &[&all[..], &["nand.endurance=4000000000"]].concat(), false);
    assert_eq!(observed.len(), 48);
    assert_eq!(bounds(folder.path(), &all, false), observed);
    let different: std::collections::BTreeSet<String> =
        observed.iter().map(Value::to_string).collect();
    assert!(
        different.len() > 20,
        "{} kinds among 48 runs: the settings change nothing",
        different.len()
    );
    let untimed = [&all[..2], &all[3..], &["host.replay=untimed"]].concat();
    let observed =
        bounds(folder.path(), &[&untimed[..], &["nand.endurance=4000000000"]].concat(), true);
    assert_eq!(bounds(folder.path(), &untimed, true), observed);
    assert_eq!(bounds(folder.path(), &untimed, false), observed);
}

#[test]
fn another_trace_under_the_same_name_has_bounds_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let of = |text: &str| {
        std::fs::write(folder.path().join("a.log"), text).unwrap();
        bounds(folder.path(), &[], false)
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
