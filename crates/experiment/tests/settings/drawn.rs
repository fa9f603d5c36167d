//! Settings as the schema of experiment files has them, and values that each may take.

use eraseblock_experiment::schema_json;
use serde_json::Value as Json;

/// One key of an experiment file.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Such as `buffer.scheme.padding`.
    pub path: String,
    /// The schemes, generators and distributions on the way to it: where they are chosen, and
    /// which.
    pub kinds: Vec<(String, String)>,
    schema: Json,
}

impl Setting {
    /// The path with the kinds in it, such as `buffer.scheme<bplru>.padding`.
    pub fn name(&self) -> String {
        let mut name = self.path.clone();
        for (path, kind) in self.kinds.iter().rev() {
            name.insert_str(path.len(), &format!("<{kind}>"));
        }
        name
    }
}

/// Every key of the schema, outermost first. Tables are settings of their own only where they may
/// be left out.
pub fn settings() -> Vec<Setting> {
    let root: Json = serde_json::from_str(&schema_json()).unwrap();
    let mut found = Vec::new();
    walk(&root, &root, "", &[], &mut found);
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|one: &Setting| seen.insert(one.name()));
    found
}

fn walk(
    root: &Json,
    schema: &Json,
    path: &str,
    kinds: &[(String, String)],
    found: &mut Vec<Setting>,
) {
    let schema = deref(root, schema);
    for choice in choices(schema) {
        walk(root, choice, path, kinds, found);
    }
    let Some(properties) = schema.get("properties").and_then(Json::as_object) else { return };
    let mut kinds = kinds.to_vec();
    if let Some(kind) = properties.get("kind") {
        kinds.push((
            path.to_owned(),
            kind["const"].as_str().expect("a kind is a constant").to_owned(),
        ));
    }
    for (key, property) in properties.iter().filter(|(key, _)| *key != "kind") {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        // The first form is the value, the second the list that makes it an axis.
        let value = property.pointer("/anyOf/0").unwrap_or(property);
        let inlined = inline(root, value);
        let is_section = inlined.get("properties").is_some();
        if !is_section {
            found.push(Setting { path: path.clone(), kinds: kinds.clone(), schema: inlined });
        }
        walk(root, value, &path, &kinds, found);
    }
}

fn deref<'s>(root: &'s Json, mut schema: &'s Json) -> &'s Json {
    while let Some(target) = schema.get("$ref").and_then(Json::as_str) {
        schema = root.pointer(target.trim_start_matches('#')).expect("references lead somewhere");
    }
    schema
}

fn choices(schema: &Json) -> impl Iterator<Item = &Json> {
    ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten()
}

/// The schema with its outermost references in place.
fn inline(root: &Json, schema: &Json) -> Json {
    let target = schema.get("$ref").and_then(Json::as_str).map(str::to_owned);
    let mut schema = deref(root, schema).clone();
    if let Some(name) = target {
        schema["$name"] = name.rsplit('/').next().into();
    }
    if let Some(items) = schema.get("items") {
        schema["items"] = inline(root, items);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(Json::Array(some)) = schema.get_mut(key) {
            for one in some {
                *one = inline(root, one);
            }
        }
    }
    schema
}

/// Values as `--set` takes them, that differ from `now`; the likeliest to matter first.
pub fn values(setting: &Setting, now: &Json) -> Vec<String> {
    let mut found = Vec::new();
    collect(&setting.schema, now, &mut found);
    let now = now.as_str().map_or_else(|| now.to_string(), str::to_owned);
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|value| *value != now && seen.insert(value.clone()));
    found
}

fn collect(schema: &Json, now: &Json, found: &mut Vec<String>) {
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(value) = schema.get("const") {
        found.push(text(value));
    }
    found.extend(schema.get("enum").and_then(Json::as_array).into_iter().flatten().map(text));
    match schema.get("$name").and_then(Json::as_str) {
        Some("Bytes") => found.extend(quantities(now, "KiB", &[4, 64, 16, 1024])),
        Some("Nanos") => found.extend(quantities(now, "us", &[100, 1, 10_000, 1_000_000])),
        Some("PageTimes") => found.push("50us / 900us".to_owned()),
        _ => {}
    }
    let kind = schema.get("type");
    let has = |name: &str| {
        kind.is_some_and(|kind| {
            kind == name || kind.as_array().is_some_and(|all| all.contains(&name.into()))
        })
    };
    if has("boolean") {
        found.extend(["true", "false"].map(str::to_owned));
    }
    if has("integer") {
        let now = now.as_u64();
        found.extend(
            now.into_iter()
                .flat_map(|now| [now * 2, now / 2, now + 1, now.max(1) - 1, now * 8])
                .map(|n| n.to_string()),
        );
        found.extend([1, 2, 4, 0, 16, 100].map(|n: u64| n.to_string()));
    }
    if has("number") {
        let now = now.as_f64();
        found.extend(now.into_iter().flat_map(|now| [now / 2.0, now * 2.0]).map(|n| n.to_string()));
        found.extend(["0.5", "0.1", "0.9", "2", "4", "16", "1", "0"].map(str::to_owned));
    }
    if has("array") {
        found.push(format!("[{}]", text(&schema["items"]["enum"][0])));
        found.push(schema["items"]["enum"].to_string());
    }
    // An optional table, with its defaults.
    if schema.get("properties").is_some_and(|keys| keys.get("kind").is_none())
        && schema.get("additionalProperties") == Some(&false.into())
    {
        found.push("{}".to_owned());
    }
    for choice in choices(schema) {
        collect(choice, now, found);
    }
}

/// Twice and half of a quantity such as `16 KiB`, and some others.
fn quantities<'q>(
    now: &Json,
    unit: &'q str,
    others: &'q [u64],
) -> impl Iterator<Item = String> + 'q {
    let (number, own) = now.as_str().and_then(|text| text.split_once(' ')).unwrap_or(("0", unit));
    let number: u64 = number.parse().unwrap_or(0);
    let near = [number * 2, number / 2].map(|n| format!("{n} {own}"));
    near.into_iter().chain(others.iter().map(move |n| format!("{n} {unit}")))
}
