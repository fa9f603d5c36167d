//! Which runs there are: drawn from the registries, so that a new scheme, option value, preset or
//! format adds its own.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use eraseblock_experiment::{Cache, How, Runner, preset_names, registry_json, resolve};
use serde_json::{Value, json};

use super::digest::Digest;
use super::{power, workload};
use crate::support::small_drive;

/// 8 MiB of flash behind two channels, half of it for the host.
fn drive() -> String {
    small_drive(&[("size", "\"192 KiB\"")])
}

/// One run: settings over a base.
pub struct Run {
    pub name: String,
    file: String,
    sets: Vec<String>,
    power: bool,
}

impl Run {
    /// Runs it. A run that ends with an error has the error as its result.
    pub fn digest(&self, folder: &Path) -> Digest {
        if self.power {
            return power::digest(&self.file, &self.sets);
        }
        let (runner, cache) =
            (Runner::default(), Cache::new(folder.join("kept"), 1 << 30).of_all());
        // The drive is filled, unless another run has kept it.
        let own = self.digest_by(&runner, folder, Some(&cache));
        // One starts from a copy of it, one from what has been kept.
        let copy = self.digest_by(&runner, folder, None);
        let loaded = self.digest_by(&Runner::default(), folder, Some(&cache));
        for (other, what) in [(copy, "copied"), (loaded, "loaded")] {
            assert!(
                own == other,
                "{}: a filled drive that was {what}: {:?}",
                self.name,
                own.fields_that_differ(&other)
            );
        }
        own
    }

    fn digest_by(&self, runner: &Runner, folder: &Path, cache: Option<&Cache>) -> Digest {
        let experiment = match resolve(Some(&self.file), "golden.toml", &self.sets) {
            Ok(all) => all.into_iter().next().expect("a file is at least one experiment"),
            Err(error) => panic!("{}: {error}", self.name),
        };
        let log = folder.join(format!("{}.jsonl", self.name.replace(['/', ' ', '='], "-")));
        let how = How { events: Some(&log), share: true, cache, ..How::default() };
        match runner.run(&experiment, folder, how, &mut |_| ControlFlow::Continue(())) {
            Ok(record) => {
                let events = std::fs::read_to_string(&log).expect("the log of a run that ended");
                // The first line tells the configuration.
                let decisions = events.split_once('\n').map_or("", |(_, rest)| rest);
                Digest::of(&Value::Object(record.value().clone()), decisions.as_bytes())
            }
            Err(error) => Digest::of(&json!({"error": error.to_string()}), b""),
        }
    }
}

/// Collects runs.
struct List {
    all: Vec<Run>,
    registry: Value,
}

impl List {
    fn add(&mut self, name: String, sets: &[String]) {
        self.add_over(name, &drive(), sets);
    }

    fn add_over(&mut self, name: String, drive: &str, sets: &[String]) {
        let file = format!("name = \"golden\"\n[workload]\npath = \"{}\"\n{drive}", workload::FILE);
        self.all.push(Run { name, file, sets: sets.to_vec(), power: false });
    }

    fn names(&self, section: &str) -> Vec<String> {
        let all = self.entries(section);
        all.iter().map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect()
    }

    fn entries(&self, section: &str) -> Vec<Value> {
        self.registry[section].as_array().expect("a registry").clone()
    }

    /// One run for each other value of what a scheme's paper leaves open.
    fn choices(&mut self, section: &str, key: &str, more: &[String]) {
        for entry in self.entries(section) {
            let name = entry["name"].as_str().expect("a name");
            for choice in entry["choices"].as_array().expect("choices") {
                let option = choice["option"].as_str().expect("an option");
                // An option elsewhere in the configuration is written out.
                let path = if option.contains('.') {
                    option.to_owned()
                } else {
                    format!("{key}.{option}")
                };
                for other in choice["others"].as_array().expect("others") {
                    let mut sets =
                        vec![format!("{key}.kind=\"{name}\""), set(&path, &other.to_string())];
                    if name == "dftl" {
                        sets.extend(SMALL_CACHE.map(str::to_owned));
                    }
                    sets.extend_from_slice(more);
                    self.add(format!("{section}/{name}/{option}={other}"), &sets);
                }
            }
        }
    }
}

fn set(key: &str, value: &str) -> String {
    format!("{key}={value}")
}

/// The map of so small a drive fits in DFTL's own cache.
const SMALL_CACHE: [&str; 2] = ["ftl.mapping.cache=128", "ftl.mapping.entries_per_page=64"];

/// What chooses an FTL.
fn on(ftl: &str) -> Vec<String> {
    match ftl {
        "dftl" => {
            let small = SMALL_CACHE.map(str::to_owned);
            [vec!["ftl.mapping.kind=\"dftl\"".to_owned()], small.to_vec()].concat()
        }
        _ => vec![set("ftl.mapping", ftl)],
    }
}

/// All of them.
pub fn all() -> Vec<Run> {
    let registry = serde_json::from_str(&registry_json()).expect("the registry is JSON");
    let mut list = List { all: Vec::new(), registry };
    pairs(&mut list);
    list.choices(
        "buffers",
        "buffer.scheme",
        &[set("ftl.mapping", "bast"), set("buffer.size", "512KiB")],
    );
    list.choices("ftls", "ftl.mapping", &[]);
    parts_of_page_mapping(&mut list);
    presets(&mut list);
    drives(&mut list);
    workloads(&mut list);
    cuts(&mut list);
    list.all
}

/// Every buffer on every FTL.
fn pairs(list: &mut List) {
    for buffer in list.names("buffers") {
        for ftl in list.names("ftls") {
            list.add(
                format!("{buffer} on {ftl}"),
                &[vec![set("buffer.scheme", &buffer)], on(&ftl)].concat(),
            );
        }
    }
}

fn parts_of_page_mapping(list: &mut List) {
    let tight = set("ftl.exported", "6MiB");
    for (section, key) in
        [("allocators", "ftl.allocator"), ("victims", "ftl.victim"), ("levellers", "ftl.wear")]
    {
        for name in list.names(section) {
            list.add(format!("{section}/{name}"), &[set(key, &name), tight.clone()]);
        }
        list.choices(section, key, std::slice::from_ref(&tight));
    }
}

/// Each preset with its own buffer, all but empty, with a small part of the recording.
fn presets(list: &mut List) {
    for preset in preset_names() {
        let sets = [
            set("preset", preset),
            set("precondition.state", "empty"),
            set("workload.first", "300"),
            set("buffer.size", "1MiB"),
        ];
        list.add_over(format!("presets/{preset}"), "", &sets);
    }
}

/// Chips, replay, collection, wear and precondition in their other ways.
fn drives(list: &mut List) {
    let settings: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("closed loop", ["host.replay=closed", "host.max_outstanding=8"].as_slice()),
        ("untimed", &["host.replay=untimed"]),
        ("steady", &["precondition.state=steady"]),
        ("empty", &["precondition.state=empty"]),
        ("battery", &["buffer.battery=true"]),
        ("foreground write-back", &["buffer.write_back=foreground"]),
        ("buffer emptied", &["host.end_of_run=flush"]),
        ("two planes", &["nand.multi_plane=true"]),
        ("copy-back", &["nand.copy_back=true"]),
        (
            "several planes to a program",
            &["nand.pages_per_program=2", "nand.program_order=sequential"],
        ),
        ("reads first", &["nand.scheduling=read-first"]),
        ("buses of their own", &["nand.shared_bus=false"]),
        (
            "small mapping unit",
            &["nand.page_size=16KiB", "nand.mapping_unit=4KiB", "nand.program_order=sequential"],
        ),
        ("spread copies", &["ftl.gc.copies=spread", "ftl.exported=6MiB"]),
        ("free collection", &["ftl.gc.cost=free", "ftl.exported=6MiB"]),
        ("idle collection", &["ftl.gc.idle_free_blocks=8", "ftl.exported=6MiB"]),
        ("regions", &["ftl.gc.regions=2", "ftl.gc.region_pages=64", "ftl.exported=6MiB"]),
        ("worn out", &["nand.endurance=3", "ftl.exported=6MiB"]),
        ("patterns", &["patterns=true", "service_times=true"]),
        ("no bounds", &["bounds=false"]),
    ]);
    for (name, sets) in settings {
        let sets: Vec<String> = sets.iter().map(|&one| one.to_owned()).collect();
        list.add(format!("drives/{name}"), &sets);
    }
}

/// What a trace's options select and how it is laid onto the drive; each format; each generator.
fn workloads(list: &mut List) {
    for option in [
        "workload.ops=w",
        "workload.skip=100",
        "workload.first=100",
        "workload.from=50ms",
        "workload.until=200ms",
        "workload.from_byte=64KiB",
        "workload.until_byte=1MiB",
        "workload.time_scale=0.5",
        "workload.fit=compact",
        "host.partial_page=round",
        "host.speedup=2",
    ] {
        list.add(format!("workloads/{option}"), &[option.to_owned()]);
    }
    for fit in ["wrap", "clip", "scale", "remap"] {
        let sets = [
            set("workload.fit", fit),
            set("ftl.exported", "3MiB"),
            set("workload.from_byte", "1MiB"),
        ];
        list.add(format!("workloads/fit={fit}"), &sets);
    }
    for format in eraseblock_traces::formats() {
        let sets = [
            set("workload.path", &workload::sample_name(format)),
            set("workload.format", format.name),
            set("workload.fit", "wrap"),
        ];
        list.add(format!("formats/{}", format.name), &sets);
    }
    for name in list.names("generators") {
        let file = format!(
            "name = \"golden\"\n{}[workload]\nfit = \"wrap\"\n[workload.generate]\nkind = \
             \"{name}\"\n{}",
            drive(),
            parameters(&name)
        );
        list.all.push(Run {
            name: format!("generators/{name}"),
            file,
            sets: Vec::new(),
            power: false,
        });
    }
}

/// What a generator needs to be told.
fn parameters(generator: &str) -> &'static str {
    match generator {
        "standin" => "name = \"hbm-financial\"\nrequests = 200\n",
        "mixed" => {
            "[workload.generate.streams.a]\nkind = \"uniform\"\nrequests = \
             100\n[workload.generate.streams.b]\nkind = \"sequential\"\nrequests = 100\n"
        }
        _ => "requests = 200\n",
    }
}

/// Power cuts with recovery, for every FTL.
fn cuts(list: &mut List) {
    for ftl in list.names("ftls") {
        for battery in [false, true] {
            let name = format!("power/{ftl}{}", if battery { " with a battery" } else { "" });
            let sets = [on(&ftl), vec![set("buffer.battery", &battery.to_string())]].concat();
            list.all.push(Run { name, file: drive(), sets, power: true });
        }
    }
}
