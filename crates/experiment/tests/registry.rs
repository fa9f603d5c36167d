//! The registry tells every name that a configuration may hold, and every option with its default.

use eraseblock_experiment::{preset_names, registry_json, resolve};
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
