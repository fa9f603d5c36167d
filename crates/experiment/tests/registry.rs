//! The registry tells every name that a configuration may hold, and every option with its default.

use std::ops::ControlFlow;

use eraseblock_experiment::{preset_names, registry_json, resolve, run};
use serde_json::Value;

fn section(name: &str) -> Vec<Value> {
    let registry: Value = serde_json::from_str(&registry_json()).unwrap();
    registry[name].as_array().unwrap().clone()
}

fn names(section: &[Value]) -> Vec<&str> {
    section.iter().map(|item| item["name"].as_str().unwrap()).collect()
}

#[test]
fn every_item_is_described() {
    for name in [
        "buffers",
        "ftls",
        "allocators",
        "victims",
        "levellers",
        "devices",
        "formats",
        "generators",
        "arrivals",
        "stand-ins",
        "metrics",
    ] {
        let items = section(name);
        assert!(!items.is_empty(), "{name}");
        for item in &items {
            for key in ["title", "summary"] {
                assert!(item[key].as_str().unwrap().len() > 2, "{name}: {item} has no {key}");
            }
            for option in item["options"].as_array().unwrap() {
                assert!(
                    option["doc"].as_str().unwrap().len() > 3,
                    "{name}: {option} is not documented"
                );
                assert!(
                    !option["type"].as_str().unwrap().is_empty(),
                    "{name}: {option} has no type"
                );
                assert!(option.as_object().unwrap().contains_key("default"), "{name}: {option}");
            }
        }
    }
    assert_eq!(names(&section("devices")), preset_names());
    let buffers = section("buffers");
    for name in ["none", "lru", "fab", "bplru"] {
        assert!(names(&buffers).contains(&name), "{name}");
    }
    assert!(["page", "bast"].iter().all(|name| names(&section("ftls")).contains(name)));
}

/// A format tells its own options as a scheme does.
#[test]
fn formats_tell_their_options() {
    let all = section("formats");
    let options = |name: &str| {
        let format = all.iter().find(|item| item["name"] == name).unwrap();
        format["options"].as_array().unwrap().clone()
    };
    assert_eq!(options("spc"), [] as [Value; 0]);
    assert_eq!(names(&options("fio")), ["unit", "waits"]);
    let unit = &options("fio")[0];
    assert_eq!((&unit["type"], &unit["default"]), (&"one of ns, us, ms".into(), &"us".into()));
    assert_eq!(options("oracle-general")[1]["default"], "512 B");
}

/// What the registry says of a scheme is what a configuration that names it holds.
#[test]
fn defaults_are_those_of_the_configuration() {
    for (list, key) in [
        ("buffers", "buffer.scheme"),
        ("ftls", "ftl.mapping"),
        ("allocators", "ftl.allocator"),
        ("victims", "ftl.victim"),
        ("levellers", "ftl.wear"),
    ] {
        for item in section(list) {
            let name = item["name"].as_str().unwrap();
            let sets =
                ["preset=nvme-tlc", "workload.path=w", &format!("{key}={name}")].map(str::to_owned);
            // The preset's own scheme keeps the preset's options.
            let experiment = resolve(None, "", &sets).unwrap().remove(0);
            let config: Value = serde_json::from_str(&experiment.to_json()).unwrap();
            let scheme = config.pointer(&format!("/{}", key.replace('.', "/"))).unwrap();
            assert_eq!(scheme["kind"], name);
            for option in item["options"].as_array().unwrap() {
                let option_name = option["name"].as_str().unwrap();
                assert_eq!(scheme[option_name], option["default"], "{name}.{option_name}");
            }
        }
    }
}

#[test]
fn options_have_short_types() {
    let buffers = section("buffers");
    let bplru = buffers.iter().find(|item| item["name"] == "bplru").unwrap();
    let padding = bplru["options"]
        .as_array()
        .unwrap()
        .iter()
        .find(|option| option["name"] == "padding")
        .unwrap();
    assert_eq!((&padding["type"], &padding["default"]), (&"boolean".into(), &true.into()));
}

/// A metric tells what it adds to a record, and how to ask for it; asked for so, it is there.
#[test]
fn metrics_tell_how_they_are_asked_for() {
    let workload = "workload.generate={kind=\"uniform\",requests=50,footprint=\"1 MiB\"}";
    for item in section("metrics") {
        let (name, asked_by) = (&item["name"], item["asked_by"].as_str().unwrap());
        assert_eq!(asked_by.is_empty(), item["always"] == true, "{name}");
        let drive = ["preset=nvme-tlc", "precondition.state=empty", "buffer.scheme=none"];
        let sets = drive.into_iter().chain([workload, asked_by]).filter(|set| !set.is_empty());
        let sets: Vec<_> = sets.map(str::to_owned).collect();
        let experiments = resolve(None, "", &sets).unwrap();
        assert_eq!(experiments.len(), 1, "a list of metrics is no axis");
        let record =
            run(&experiments[0], ".".as_ref(), false, &mut |_| ControlFlow::Continue(())).unwrap();
        let figures = item["figures"].as_array().unwrap();
        assert!(!figures.is_empty(), "{name}");
        for figure in figures {
            let path = figure["path"].as_str().unwrap();
            let top = path.split('.').next().unwrap();
            assert!(!record.value()[top].is_null(), "{name}: {path} with `{asked_by}`");
        }
    }
}

#[test]
fn metrics_are_asked_for_by_name() {
    let asked = |value: &str| {
        let sets = ["preset=nvme-tlc", "workload.path=w", &format!("metrics={value}")];
        resolve(None, "", &sets.map(str::to_owned))
    };
    let one = asked("[patterns, service_times]").unwrap().remove(0);
    let config: Value = serde_json::from_str(&one.to_json()).unwrap();
    assert_eq!(config["metrics"], serde_json::json!(["patterns", "service_times"]));
    assert_eq!(asked("[]").unwrap().len(), 1);
    let error = asked("[pattern]").unwrap_err().to_string();
    assert!(
        error.contains("`metrics`: unknown name `pattern`; did you mean `patterns`? (known: "),
        "{error}"
    );
    let error = asked("patterns").unwrap_err().to_string();
    assert!(error.ends_with("`metrics`: found the text \"patterns\", expected a list"), "{error}");
}
