//! A short fingerprint of a run's results, field by field.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// What is no result: the configuration, what the run was called, and how fast the engine was.
const NO_RESULTS: [&str; 5] = ["config", "engine", "key", "name", "version"];

/// Fields of a record by name, each with the beginning of a hash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digest(BTreeMap<String, String>);

impl Digest {
    /// Of a record and its log of events (empty: none was kept).
    pub fn of(record: &Value, events: &[u8]) -> Self {
        let fields = record.as_object().expect("a record is an object");
        let results = fields.iter().filter(|(name, _)| !NO_RESULTS.contains(&name.as_str()));
        let hashed = |(name, value): (&String, &Value)| {
            (name.clone(), hash(result_of(name, value).to_string().as_bytes()))
        };
        let mut all: BTreeMap<String, String> = results.map(hashed).collect();
        if !events.is_empty() {
            all.insert("events".to_owned(), hash(events));
        }
        Self(all)
    }

    /// Names of the fields in which the two are not the same.
    pub fn fields_that_differ<'a>(&'a self, other: &'a Self) -> Vec<&'a str> {
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        names
            .into_iter()
            .filter(|name| self.0.get(*name) != other.0.get(*name))
            .map(String::as_str)
            .collect()
    }
}

/// A table: the fields once, then a line for each run with the hashes in that order, `-` where it
/// has no such field.
pub fn write(digests: &BTreeMap<String, Digest>) -> String {
    let fields: BTreeSet<&String> = digests.values().flat_map(|digest| digest.0.keys()).collect();
    let fields: Vec<&String> = fields.into_iter().collect();
    let mut text = String::from(
        "# Digests of small runs: `make golden` compares, `make golden BLESS=1` writes anew.\n",
    );
    for field in &fields {
        writeln!(text, "field {field}").expect("memory takes everything");
    }
    for (name, digest) in digests {
        write!(text, "{name}:").expect("memory takes everything");
        for field in &fields {
            let hash = digest.0.get(*field).map_or("-", String::as_str);
            write!(text, " {hash}").expect("memory takes everything");
        }
        text.push('\n');
    }
    text
}

/// What [`write`] has written.
pub fn read(text: &str) -> BTreeMap<String, Digest> {
    let lines = || text.lines().filter(|line| !line.starts_with('#'));
    let fields: Vec<&str> = lines().filter_map(|line| line.strip_prefix("field ")).collect();
    let run = |line: &str| {
        let (name, hashes) = line.rsplit_once(": ")?;
        let pairs = fields.iter().zip(hashes.split(' ')).filter(|(_, hash)| *hash != "-");
        Some((
            name.to_owned(),
            Digest(pairs.map(|(field, hash)| ((*field).to_owned(), hash.to_owned())).collect()),
        ))
    };
    lines().filter_map(run).collect()
}

/// Of the trace only how it was read and laid onto the drive: not where it lies.
fn result_of<'a>(name: &str, value: &'a Value) -> &'a Value {
    if name == "trace" { value.get("fit").unwrap_or(value) } else { value }
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .take(2)
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
