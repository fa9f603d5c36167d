//! A setting changes the results of some run, or is refused, or the record warns of it: none does
//! nothing in silence.

mod bases;
mod drawn;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use drawn::{Setting, settings, values};
use eraseblock_core::{buffer, ftl};
use eraseblock_experiment::{Experiment, resolve, run};
use serde_json::Value as Json;

/// Parts of a record that are not results: what was asked for, what it is called, how fast the
/// simulator was, how large its state.
const NOT_RESULTS: [&str; 7] =
    ["/key", "/name", "/version", "/config", "/engine", "/buffer_metadata_bytes", "/map_bytes"];
const NOT_RESULTS_OF_TRACE: [&str; 4] = ["name", "sha256", "evidence", "format"];

/// What a run gives.
#[derive(Debug, Clone, PartialEq)]
enum Answer {
    /// Results as text, and the warnings.
    Ran(String, Vec<String>),
    Refused(String),
}

fn experiment(sets: &[String]) -> Result<Experiment, String> {
    let mut all =
        resolve(Some(&bases::file()), "small.toml", sets).map_err(|error| error.to_string())?;
    Ok(all.remove(0))
}

fn answer(sets: &[String], folder: &Path) -> Answer {
    let record = experiment(sets).and_then(|experiment| {
        run(&experiment, folder, false, &mut |_| ControlFlow::Continue(()))
            .map_err(|error| error.to_string())
    });
    let mut record = match record {
        Ok(record) => Json::Object(record.value().clone()),
        Err(error) => return Answer::Refused(error),
    };
    let warnings =
        record["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned());
    let warnings = warnings.collect();
    let table = record.as_object_mut().unwrap();
    table.remove("warnings");
    for key in NOT_RESULTS {
        table.remove(&key[1..]);
    }
    for key in NOT_RESULTS_OF_TRACE {
        table["trace"].as_object_mut().unwrap().remove(key);
    }
    Answer::Ran(record.to_string(), warnings)
}

/// Runs that many settings are tried beside: each is made once.
struct Bases<'a> {
    folder: &'a Path,
    known: Mutex<BTreeMap<Vec<String>, Answer>>,
}

impl<'a> Bases<'a> {
    fn new(folder: &'a Path) -> Self {
        Self { folder, known: Mutex::default() }
    }

    fn answer(&self, sets: &[String]) -> Answer {
        if let Some(answer) = self.known.lock().unwrap().get(sets) {
            return answer.clone();
        }
        let found = answer(sets, self.folder);
        self.known.lock().unwrap().insert(sets.to_vec(), found.clone());
        found
    }
}

/// What became of a setting.
#[derive(Debug, PartialEq)]
enum Fate {
    Changes,
    /// No other value is taken; what was said of one.
    Refused(String),
    /// These values change nothing.
    Nothing(Vec<String>),
}

/// Values to try beside `sets`.
fn candidates(setting: &Setting, base: &bases::Base, sets: &[String]) -> Vec<String> {
    if !base.values.is_empty() {
        return base.values.clone();
    }
    let Ok(experiment) = experiment(sets) else { return Vec::new() };
    let json: Json = serde_json::from_str(&experiment.to_json()).unwrap();
    let now =
        json.pointer(&format!("/{}", setting.path.replace('.', "/"))).cloned().unwrap_or_default();
    values(setting, &now)
}

/// Tries values of a setting until one changes the results.
fn fate(setting: &Setting, of_bases: &Bases<'_>) -> Fate {
    let (mut refused, mut tried) = (String::new(), Vec::new());
    for base in bases::of(setting) {
        // A run that is refused is one that another value may let through.
        let results = match of_bases.answer(&base.sets) {
            Answer::Ran(results, _) => results,
            Answer::Refused(message) => {
                refused = format!("{:?}: {message}", base.sets);
                String::new()
            }
        };
        for value in candidates(setting, &base, &base.sets) {
            let mut sets = base.sets.clone();
            sets.push(format!("{}={value}", setting.path));
            match answer(&sets, of_bases.folder) {
                Answer::Ran(after, _) if after != results => return Fate::Changes,
                Answer::Ran(..) => tried.push(value),
                Answer::Refused(message) => refused = message,
            }
        }
    }
    if tried.is_empty() { Fate::Refused(refused) } else { Fate::Nothing(tried) }
}

/// Does something for each of `tasks`, on two threads.
fn in_parallel<T: Sync>(tasks: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(task);
                }
            });
        }
    });
}

#[test]
fn every_setting_changes_the_results_of_some_run() {
    let folder = tempfile::tempdir().unwrap();
    bases::write_traces(folder.path());
    let mut all = settings();
    assert!(
        all.len() > 500,
        "the schema lists the whole configuration, not {} settings",
        all.len()
    );
    let stale = bases::not_in(&all);
    assert!(stale.is_empty(), "named in the tables of this test, but not in the schema: {stale:?}");
    all.retain(|setting| bases::without_effect(setting).is_none());
    let fates: Mutex<BTreeMap<String, Fate>> = Mutex::default();
    let of_bases = Bases::new(folder.path());
    in_parallel(&all, |setting| {
        let fate = fate(setting, &of_bases);
        fates.lock().unwrap().insert(setting.name(), fate);
    });
    let fates = fates.into_inner().unwrap();
    let wrong: Vec<_> = fates
        .iter()
        .filter(|(name, fate)| match fate {
            Fate::Changes => bases::REFUSED.contains(&name.as_str()),
            Fate::Refused(_) => !bases::REFUSED.contains(&name.as_str()),
            Fate::Nothing(_) => true,
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} settings change nothing: {wrong:#?}",
        wrong.len(),
        all.len()
    );
}

/// Runs in which some settings can do nothing.
const CONTEXTS: [&[&str]; 5] = [
    &["host.replay=untimed"],
    &["host.replay=closed"],
    &["buffer.scheme=none"],
    &["ftl.gc.cost=free"],
    &[
        "nand.channels=1",
        "nand.chips_per_channel=1",
        "nand.planes_per_die=1",
        "nand.blocks_per_plane=256",
    ],
];

/// Keys that a file without a preset has to give: that somebody gave one says nothing. With a
/// preset they are warned of.
const REQUIRED: [&str; 4] =
    ["nand.timing.read", "nand.timing.program", "nand.timing.erase", "nand.timing.transfer"];

/// Settings of the drive, one at a time, where another setting may make them do nothing: then that
/// is said.
#[test]
fn what_does_nothing_beside_another_setting_is_said() {
    let all = settings();
    let of_drive = |one: &&Setting| {
        let own = one.kinds.is_empty() && !one.path.starts_with("workload");
        own && bases::without_effect(one).is_none() && !REQUIRED.contains(&one.path.as_str())
    };
    let tasks: Vec<_> = all
        .iter()
        .filter(of_drive)
        .flat_map(|one| CONTEXTS.map(|context| (one, context)))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let (silent, of_bases) = (Mutex::new(Vec::new()), Bases::new(folder.path()));
    in_parallel(&tasks, |(setting, context)| {
        if context.iter().any(|set| set.starts_with(&format!("{}=", setting.path))) {
            return;
        }
        let mut tried = Vec::new();
        for base in bases::of(setting) {
            match tries(setting, &base, context, &of_bases) {
                Tries::Heard => return,
                Tries::Silent(values) => tried.extend(values),
            }
        }
        if !tried.is_empty() {
            silent.lock().unwrap().push(format!("{} = {tried:?} beside {context:?}", setting.path));
        }
    });
    let silent = silent.into_inner().unwrap();
    assert!(silent.is_empty(), "{} settings do nothing, in silence: {silent:#?}", silent.len());
}

/// Values of a setting that were tried.
enum Tries {
    /// One changed the results, or was warned of.
    Heard,
    /// These ran, and did nothing.
    Silent(Vec<String>),
}

fn tries(setting: &Setting, base: &bases::Base, context: &[&str], of_bases: &Bases<'_>) -> Tries {
    let mut sets = base.sets.clone();
    sets.extend(context.iter().map(|&set| set.to_owned()));
    let Answer::Ran(results, _) = of_bases.answer(&sets) else {
        return Tries::Silent(Vec::new());
    };
    let mut silent = Vec::new();
    for value in candidates(setting, base, &sets) {
        let mut changed = sets.clone();
        changed.push(format!("{}={value}", setting.path));
        match answer(&changed, of_bases.folder) {
            Answer::Ran(after, warnings) if after != results || names(&warnings, &setting.path) => {
                return Tries::Heard;
            }
            Answer::Ran(..) => silent.push(value),
            Answer::Refused(_) => {}
        }
    }
    Tries::Silent(silent)
}

/// Whether a warning says that a setting, or the table that it stands in, does nothing.
fn names(warnings: &[String], path: &str) -> bool {
    let mut found = warnings.iter().filter(|text| text.starts_with("settings without effect: "));
    let parent = path.rsplit_once('.').map_or(path, |(parent, _)| parent);
    found.any(|text| [path, parent].iter().any(|key| text.contains(&format!(" {key} ("))))
}

/// What a scheme says of its own options holds: beside the wrong value of the other one they change
/// nothing, and that is said.
#[test]
fn options_that_need_another_one_are_named_without_it() {
    let all = settings();
    let folder = tempfile::tempdir().unwrap();
    let stages = [
        ("buffer.scheme", buffer::registry()),
        ("ftl.mapping", ftl::registry()),
        ("ftl.allocator", ftl::alloc::registry()),
        ("ftl.victim", ftl::victim::registry()),
        ("ftl.wear", ftl::wear::registry()),
    ];
    let mut seen = 0;
    for (stage, registry) in stages {
        for (entry, need) in registry
            .iter()
            .flat_map(|entry| entry.about.needs.iter().map(move |need| (entry, need)))
        {
            let name = |option: &str| format!("{stage}<{}>.{option}", entry.name);
            let find = |option| {
                all.iter().find(|one| one.name() == name(option)).expect("an option of the schema")
            };
            let (setting, beside) = (find(need.option), find(need.beside));
            let json = |value: &String| {
                serde_json::from_str(value).unwrap_or_else(|_| Json::from(value.as_str()))
            };
            let wrong: Vec<_> = values(beside, &Json::Null)
                .into_iter()
                .filter(|value| {
                    !need
                        .values
                        .iter()
                        .any(|right| serde_json::from_str::<Json>(right).unwrap() == json(value))
                })
                .collect();
            let base = bases::of(setting).pop().unwrap();
            let ran = wrong.iter().find_map(|value| {
                let mut sets = base.sets.clone();
                sets.push(format!("{}={value}", beside.path));
                let Answer::Ran(before, _) = answer(&sets, folder.path()) else { return None };
                candidates(setting, &base, &sets).into_iter().find_map(|value| {
                    let mut sets = sets.clone();
                    sets.push(format!("{}={value}", setting.path));
                    match answer(&sets, folder.path()) {
                        Answer::Ran(after, warnings) => Some((sets, before == after, warnings)),
                        Answer::Refused(_) => None,
                    }
                })
            });
            let (sets, same, warnings) =
                ran.unwrap_or_else(|| panic!("no run of {}", name(need.option)));
            assert!(same, "{} matters all the same: {sets:?}", name(need.option));
            assert!(names(&warnings, &setting.path), "{sets:?}: {warnings:?}");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen} options");
}

/// Each with settings beside it that make it idle.
const IDLE: &[(&str, &[&str])] = &[
    ("ftl.gc.region_pages=50", &[]),
    ("nand.page_types=shadow", &["nand.timing.read=25us", "nand.timing.program=200us"]),
    (
        "nand.suspend.latency=5us",
        &["nand.scheduling=read-first", "nand.suspend={ program = false, erase = false }"],
    ),
    ("nand.timing.erase=3ms", &["preset=multibank-2009", "host.replay=untimed"]),
    ("nand.timing.erase=3ms", &["preset=multibank-2009", "ftl.gc.cost=free"]),
    ("nand.scheduling=read-first", &["host.replay=untimed"]),
    ("nand.shared_bus=false", &["host.replay=untimed"]),
    ("ftl.gc.cost=free", &["host.replay=untimed"]),
    ("ftl.gc.step_pages=1", &["host.replay=untimed"]),
    ("service_times=true", &["host.replay=untimed"]),
    ("buffer.write_back=foreground", &["host.replay=untimed"]),
    ("buffer.write_back=foreground", &["buffer.scheme=none"]),
    ("nand.timing.ram=5us", &["buffer.scheme=none"]),
    ("nand.copy_back=true", &["ftl.gc.cost=free"]),
    ("nand.multi_plane=true", &["nand.planes_per_die=1", "nand.blocks_per_plane=64"]),
    ("nand.shared_bus=false", &["nand.chips_per_channel=1", "nand.blocks_per_plane=64"]),
    ("ftl.allocator=dynamic", CONTEXTS[4]),
    ("ftl.gc.idle_free_blocks=4", &["host.replay=closed"]),
    ("ftl.gc.idle_free_blocks=4", &["host.replay=closed", "ftl.gc.cost=free"]),
    ("host.max_outstanding=4", &["host.replay=untimed"]),
    ("host.speedup=2", &["host.replay=closed"]),
    ("workload.time_scale=2", &["host.replay=closed"]),
    ("precondition.tolerance=0.5", &[]),
    ("seed=5", &[]),
    ("ftl.over_provisioning=0.07", &["ftl.mapping=ssd-model", "ftl.exported=null"]),
    ("workload.skip_bad_lines=true", &[]),
    ("workload.generate.seed=7", &[EVEN]),
    ("workload.generate.arrivals=exponential", &[EVEN]),
];

/// Nothing of it is drawn.
const EVEN: &str =
    "workload.generate={ kind = \"sequential\", requests = 200, footprint = \"4 MiB\" }";

#[test]
fn idle_settings_are_named_only_where_somebody_gave_them() {
    let folder = tempfile::tempdir().unwrap();
    bases::write_traces(folder.path());
    for (set, beside) in IDLE {
        let mut sets: Vec<String> = beside.iter().map(|&set| set.to_owned()).collect();
        if !sets.iter().any(|set| set.starts_with("workload.")) {
            sets.push(bases::MIXED.to_owned());
        }
        let Answer::Ran(before, warnings) = answer(&sets, folder.path()) else {
            panic!("{sets:?}")
        };
        let (path, value) = set.split_once('=').unwrap();
        // Of these tables the drive gives other keys already.
        let in_given_table = path.starts_with("nand.suspend") || path.starts_with("nand.timing");
        assert!(in_given_table || !names(&warnings, path), "{sets:?}: {warnings:?}");
        sets.push((*set).to_owned());
        let Answer::Ran(after, warnings) = answer(&sets, folder.path()) else { panic!("{sets:?}") };
        let is_default = *set == "ftl.over_provisioning=0.07";
        assert!(names(&warnings, path) != is_default, "{sets:?}, {value}: {warnings:?}");
        assert_eq!(before, after, "{sets:?}");
    }
}
