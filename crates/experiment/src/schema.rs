//! The JSON Schema of an experiment file, derived from the configuration structs.

use serde_json::{Map, Value as Json, json};

use crate::experiment::{Experiment, LISTS};

/// The JSON Schema of an experiment file, for editors and generators.
///
/// It differs from the schema of a resolved experiment in two ways: every value may be a list of
/// values, an axis, unless it is a list itself; and nothing is required, since a preset or `--set`
/// may give it.
pub fn schema_json() -> String {
    let mut schema = schemars::schema_for!(Experiment).to_value();
    let defaults = schema.get_mut("$defs").map(std::mem::take);
    if let Some(Json::Object(definitions)) = defaults {
        schema["$defs"] =
            definitions.into_iter().map(|(name, one)| (name, file_form(one))).collect();
    }
    let mut schema = file_form(schema);
    schema["properties"]["preset"] = axis(json!({
        "description": "Drive whose values hold where the file gives none.",
        "enum": crate::presets::preset_names(),
    }));
    schema["properties"]["case"] = axis(json!({
        "description": "Settings that go together, under a `name`: they hold in place of those \
            that stand beside the case.",
        "type": "object",
    }));
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    text
}

/// A definition as a file may write it.
fn file_form(mut schema: Json) -> Json {
    let Some(table) = schema.as_object_mut() else { return schema };
    for combination in ["anyOf", "oneOf", "allOf"] {
        if let Some(Json::Array(choices)) = table.get_mut(combination) {
            for choice in choices {
                *choice = file_form(choice.take());
            }
        }
    }
    if let Some(Json::Object(properties)) = table.get_mut("properties") {
        for (key, property) in properties {
            // A scheme's name tells its other keys; an axis over schemes lists whole schemes.
            *property = if key == "kind" || LISTS.contains(&key.as_str()) {
                property.take()
            } else {
                axis(file_form(property.take()))
            };
        }
        table.remove("required");
    }
    schema
}

/// One value, or a list of them; what documents the value documents both.
fn axis(mut schema: Json) -> Json {
    let mut outer = Map::new();
    if let Some(table) = schema.as_object_mut() {
        for key in ["title", "description", "default"] {
            outer.extend(table.shift_remove(key).map(|value| (key.to_owned(), value)));
        }
    }
    outer.insert(
        "anyOf".to_owned(),
        json!([schema, {"type": "array", "items": schema, "minItems": 1}]),
    );
    Json::Object(outer)
}

/// The first key, by its whole path, whose last part is `name`.
pub(crate) fn path_ending_in(name: &str) -> Option<String> {
    let schema = schemars::schema_for!(Experiment).to_value();
    let mut paths = Vec::new();
    collect(&schema, &schema, "", &mut paths);
    paths.into_iter().find(|path| path.rsplit('.').next() == Some(name))
}

/// Every key below `schema`, outermost first.
fn collect(root: &Json, schema: &Json, prefix: &str, paths: &mut Vec<String>) {
    if let Some(target) = schema.get("$ref").and_then(Json::as_str) {
        if let Some(target) = root.pointer(target.trim_start_matches('#')) {
            collect(root, target, prefix, paths);
        }
        return;
    }
    for combination in ["anyOf", "oneOf", "allOf"] {
        for choice in schema.get(combination).and_then(Json::as_array).into_iter().flatten() {
            collect(root, choice, prefix, paths);
        }
    }
    let properties = schema.get("properties").and_then(Json::as_object);
    for (key, _) in properties.into_iter().flatten() {
        paths.push(format!("{prefix}{key}"));
    }
    for (key, property) in properties.into_iter().flatten() {
        collect(root, property, &format!("{prefix}{key}."), paths);
    }
}
