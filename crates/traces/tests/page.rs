//! The page about workloads names every format, fit and generator, and its examples are valid.

use std::path::Path;

use eraseblock_traces::{FitMode, GenerateConfig, WorkloadConfig, formats};
use serde::Deserialize;

#[derive(Deserialize)]
struct Example {
    workload: WorkloadConfig,
}

fn page() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/workloads.md"))
        .unwrap()
}

#[test]
fn examples_are_valid() {
    let page = page();
    let examples: Vec<_> =
        page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!examples.is_empty());
    for example in examples {
        let parsed: Example =
            toml::from_str(example).unwrap_or_else(|error| panic!("{example}\n{error}"));
        parsed.workload.check().unwrap();
    }
}

/// Sizes and arrivals that stand by themselves, indented.
#[test]
fn values_of_keys_are_valid() {
    let page = page();
    let mut count = 0;
    for line in page.lines() {
        let value = ["    size = ", "    arrivals = "].iter().any(|key| line.starts_with(key));
        if value {
            let text = format!("[workload.generate]\nkind = \"uniform\"\n{}", line.trim());
            let parsed: Example =
                toml::from_str(&text).unwrap_or_else(|error| panic!("{line}\n{error}"));
            parsed.workload.check().unwrap_or_else(|error| panic!("{line}\n{error}"));
            count += 1;
        }
    }
    assert!(count > 6, "{count}");
}

#[test]
fn formats_fits_and_generators_are_all_there() {
    let page = page();
    let rows: String = page.lines().filter(|line| line.starts_with('|')).collect();
    let names = formats().map(|format| format.name).chain(FitMode::ALL.map(FitMode::name));
    for name in names.chain(GenerateConfig::NAMES.iter().copied()) {
        assert!(rows.contains(&format!("`{name}`")), "{name} is missing");
    }
}
