//! The committed schema is the one that the code gives, and it says something about every key.

use std::path::Path;

use eraseblock_experiment::{preset_names, schema_json};
use serde_json::Value;

/// `UPDATE=1 cargo test -p eraseblock-tests --test experiments schema::` writes the file anew.
#[test]
fn the_committed_schema_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiment.schema.json");
    let schema = schema_json();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &schema).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == schema,
        "docs/experiment.schema.json is stale; run UPDATE=1 cargo test -p eraseblock-tests \
         --test experiments schema::"
    );
}

/// Calls `visit` with every property, and its path, below `schema`.
fn properties(schema: &Value, path: &str, visit: &mut dyn FnMut(&str, &Value)) {
    match schema {
        Value::Object(table) => {
            for (key, value) in table {
                if let (true, Value::Object(entries)) = (key == "properties", value) {
                    for (name, property) in entries {
                        let path = format!("{path}/{name}");
                        visit(&path, property);
                        properties(property, &path, visit);
                    }
                } else {
                    properties(value, path, visit);
                }
            }
        }
        Value::Array(elements) => {
            for element in elements {
                properties(element, path, visit);
            }
        }
        _ => {}
    }
}

#[test]
fn every_key_is_documented_and_may_be_an_axis() {
    let schema: Value = serde_json::from_str(&schema_json()).unwrap();
    let mut seen = 0;
    properties(&schema, "", &mut |path, property| {
        if path.ends_with("/kind") {
            return;
        }
        seen += 1;
        let document = property["description"].as_str().unwrap_or_default();
        assert!(document.len() > 3, "{path} has no description: {property}");
        // A list by itself, which may be left out.
        if property["type"] == "array" || property["type"][0] == "array" {
            return;
        }
        let list = &property["anyOf"][1];
        assert_eq!((&list["type"], &list["minItems"]), (&"array".into(), &1.into()), "{path}");
        assert_eq!(
            property["anyOf"][0], list["items"],
            "{path}: an axis lists what may stand alone"
        );
    });
    assert!(seen > 40, "the schema lists the whole configuration, not {seen} keys");
}

#[test]
fn nothing_is_required_and_every_reference_leads_somewhere() {
    fn walk(root: &Value, schema: &Value) {
        match schema {
            Value::Object(table) => {
                assert!(!table.contains_key("required"), "a preset may give any key: {schema}");
                if let Some(target) = table.get("$ref").and_then(Value::as_str) {
                    assert!(root.pointer(target.trim_start_matches('#')).is_some(), "{target}");
                }
                table.values().for_each(|value| walk(root, value));
            }
            Value::Array(elements) => elements.iter().for_each(|element| walk(root, element)),
            _ => {}
        }
    }
    let schema: Value = serde_json::from_str(&schema_json()).unwrap();
    walk(&schema, &schema);
    let presets = serde_json::to_value(preset_names()).unwrap();
    assert_eq!(schema["properties"]["preset"]["anyOf"][0]["enum"], presets);
}
