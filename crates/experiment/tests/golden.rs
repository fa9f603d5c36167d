//! Golden records: some hundred small runs, and a digest of what each of them gave, as text.
//!
//! A change that is not meant to change results leaves all of them as they are. `make golden` lists
//! the runs that changed and the fields that differ; `make golden BLESS=1` accepts a change that is
//! meant, which the changelog names. The runs are drawn from the registries: a new scheme adds its
//! own.

mod digest;
mod power;
mod runs;
mod workload;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use digest::Digest;
use runs::Run;

fn stored() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiment/tests/golden/records.txt")
}

/// All runs, on as many threads as there are processors.
fn measure(all: &[Run], folder: &Path) -> BTreeMap<String, Digest> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(run) = all.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            done.push((run.name.clone(), run.digest(folder)));
        }
        done
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no run panics")).collect()
    })
}

/// What differs, a line for each run.
fn differences(before: &BTreeMap<String, Digest>, now: &BTreeMap<String, Digest>) -> Vec<String> {
    let mut all = Vec::new();
    for (name, digest) in now {
        match before.get(name) {
            None => all.push(format!("{name}: new")),
            Some(old) if old != digest => {
                all.push(format!("{name}: {}", old.fields_that_differ(digest).join(", ")));
            }
            Some(_) => {}
        }
    }
    all.extend(
        before.keys().filter(|name| !now.contains_key(*name)).map(|name| format!("{name}: gone")),
    );
    all
}

#[test]
fn results_are_what_they_were() {
    let folder = tempfile::tempdir().unwrap();
    workload::write(folder.path());
    let all = runs::all();
    let now = measure(&all, folder.path());
    assert_eq!(now.len(), all.len(), "two runs have the same name");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(stored(), digest::write(&now)).unwrap();
        return;
    }
    let before = digest::read(&std::fs::read_to_string(stored()).unwrap());
    let changed = differences(&before, &now);
    assert!(
        changed.is_empty(),
        "{} of {} runs give other results. If that is meant, `make golden BLESS=1`, and say why in \
         CHANGELOG.md:\n{}",
        changed.len(),
        now.len(),
        changed.join("\n")
    );
}

#[test]
fn a_difference_is_told_by_its_field() {
    let one = Digest::of(&serde_json::json!({"waf": 1.5, "requests": {"completed": 3}}), b"");
    let other = Digest::of(&serde_json::json!({"waf": 1.6, "requests": {"completed": 3}}), b"x");
    assert_eq!(one.fields_that_differ(&other), ["events", "waf"]);
    let all = BTreeMap::from([("a run: 1".to_owned(), one), ("another".to_owned(), other)]);
    assert_eq!(digest::read(&digest::write(&all)), all);
}
