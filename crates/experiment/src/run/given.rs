//! Which settings somebody gave: those whose values are neither the preset's nor the defaults.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use serde_json::{Map, Value as Json};

use crate::experiment::Experiment;
use crate::load::SCHEMES;
use crate::presets;

/// Their paths, such as `ftl.gc.regions`; `ftl.victim` where the scheme itself was chosen.
pub(super) fn settings(experiment: &Experiment) -> BTreeSet<String> {
    let now = experiment.to_value();
    let preset = experiment.preset.as_deref().and_then(presets::find);
    let defaults = preset.and_then(|preset| preset.defaults().ok()).map(|tree| tree.to_json());
    let mut given = BTreeSet::new();
    let mut before = required(schema(), schema(), &now);
    // The preset holds where it speaks of the same schemes; of others, their own defaults hold.
    for path in SCHEMES {
        let pointer = format!("/{}", path.replace('.', "/"));
        let kind = |tree: Option<&Json>| {
            let scheme = tree?.pointer(&pointer)?;
            scheme.get("kind").unwrap_or(scheme).as_str().map(str::to_owned)
        };
        if kind(Some(&now)) != kind(defaults.as_ref()) {
            given.insert(path.to_owned());
        }
    }
    if let Some(defaults) = defaults {
        overlay(&mut before, defaults, "", &given);
    }
    let before = Experiment::from_value(&before);
    let before = before.map_or_else(
        |_| Json::Object(Map::new()),
        |mut experiment| {
            experiment.ftl.spell_out();
            experiment.to_value()
        },
    );
    differences(&before, &now, "", &mut given);
    given
}

/// The schema of an experiment.
fn schema() -> &'static Json {
    static SCHEMA: OnceLock<Json> = OnceLock::new();
    SCHEMA.get_or_init(|| schemars::schema_for!(Experiment).to_value())
}

/// The keys of `value` that have no defaults, and the kinds of what was chosen.
fn required(root: &Json, schema: &Json, value: &Json) -> Json {
    let mut schema = schema;
    while let Some(target) = schema.get("$ref").and_then(Json::as_str) {
        let Some(found) = root.pointer(target.trim_start_matches('#')) else {
            return value.clone();
        };
        schema = found;
    }
    let Json::Object(table) = value else { return value.clone() };
    let variants =
        || ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    let kind = |one: &&Json| one.pointer("/properties/kind/const") == table.get("kind");
    let Some(schema) = variants().find(kind).or_else(|| schema.get("properties").map(|_| schema))
    else {
        // What may be left out is one of a reference and null.
        let inner = variants().find(|one| one.get("$ref").is_some());
        return inner.map_or_else(|| value.clone(), |inner| required(root, inner, value));
    };
    let Some(properties) = schema.get("properties") else { return value.clone() };
    let keys = schema
        .get("required")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(Json::as_str);
    // A scheme was chosen, and its options have defaults of their own; unless a default says which
    // one.
    let by_default = |key: &str| properties[key].pointer("/default/kind").is_some();
    let chosen =
        table.iter().filter(|(key, value)| value.get("kind").is_some() && !by_default(key));
    let chosen = chosen.map(|(key, _)| key.as_str());
    let keys = keys.chain(chosen);
    let entry =
        |key: &str| Some((key.to_owned(), required(root, properties.get(key)?, table.get(key)?)));
    Json::Object(keys.filter_map(entry).collect())
}

/// Lays a preset over the keys without defaults, but for schemes that were chosen in the place of
/// its own.
fn overlay(below: &mut Json, above: Json, path: &str, chosen: &BTreeSet<String>) {
    match (below, above) {
        (Json::Object(below), Json::Object(above)) => {
            for (key, value) in above {
                let path = join(path, &key);
                if !chosen.contains(&path) {
                    overlay(below.entry(key).or_insert(Json::Null), value, &path, chosen);
                }
            }
        }
        (below, above) => *below = above,
    }
}

fn differences(before: &Json, now: &Json, path: &str, found: &mut BTreeSet<String>) {
    match now {
        Json::Object(now) if !now.is_empty() => {
            for (key, value) in now {
                differences(before.get(key).unwrap_or(&Json::Null), value, &join(path, key), found);
            }
        }
        now if now != before => _ = found.insert(path.to_owned()),
        _ => {}
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
