//! From a tree to an experiment or a generator, and from what is wrong with it to lines that a
//! person can act on.

use eraseblock_core::nand::Geometry;
use eraseblock_traces::GenerateConfig;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::problem::{self, Problem};
use super::suggest;
use crate::error::ConfigError;
use crate::experiment::Experiment;
use crate::syntax::Node;
use crate::{presets, schema};

/// Reads the tree as an experiment.
pub(super) fn experiment(tree: &Node) -> Result<Experiment, ConfigError> {
    let mut experiment: Experiment = read(tree, &EXPERIMENT, checked)?;
    experiment.ftl.spell_out();
    Ok(experiment)
}

/// Reads the tree as a generator.
pub(super) fn generator(tree: &Node) -> Result<GenerateConfig, ConfigError> {
    read(tree, &GENERATOR, |generate: &GenerateConfig| {
        let message = |error: eraseblock_traces::TraceError| error.to_string();
        generate.generator().map(drop).map_err(message).map_err(|message| {
            message
                .strip_prefix("workload.generate.")
                .map_or_else(|| message.clone(), str::to_owned)
        })
    })
}

/// What is read, for what its errors say.
struct Subject {
    /// Serde's error, if a value cannot be read.
    error: fn(&Json) -> Option<serde_path_to_error::Error<serde_json::Error>>,
    /// What to write where `kind` is missing.
    kind: &'static str,
    /// Keys belong to an experiment, where a preset may give them and a like one may stand in
    /// another table.
    in_experiment: bool,
}

const EXPERIMENT: Subject =
    Subject { error: error_of::<Experiment>, kind: "lru", in_experiment: true };
const GENERATOR: Subject =
    Subject { error: error_of::<GenerateConfig>, kind: "uniform", in_experiment: false };

fn error_of<T: DeserializeOwned>(
    json: &Json,
) -> Option<serde_path_to_error::Error<serde_json::Error>> {
    serde_path_to_error::deserialize::<_, T>(json).err()
}

fn read<T: DeserializeOwned>(
    tree: &Node,
    subject: &'static Subject,
    check: impl Fn(&T) -> Result<(), String>,
) -> Result<T, ConfigError> {
    let json = tree.to_json();
    let (path, problem) = match serde_path_to_error::deserialize::<_, T>(&json) {
        Ok(value) => match check(&value) {
            Ok(()) => return Ok(value),
            Err(message) => problem::of_check(message),
        },
        Err(error) => problem::of(&error),
    };
    Err(Fault { tree, subject, json, path }.explain(&problem))
}

/// What a single key cannot show by itself, and takes no time to check; the rest shows when the
/// drive is built.
fn checked(experiment: &Experiment) -> Result<(), String> {
    experiment.workload.check().map_err(|error| error.to_string())?;
    Geometry::new(&experiment.nand).map(drop)
}

/// Where something is wrong.
struct Fault<'t> {
    tree: &'t Node,
    subject: &'static Subject,
    json: Json,
    path: Vec<String>,
}

impl Fault<'_> {
    fn explain(&self, problem: &Problem) -> ConfigError {
        match problem {
            Problem::UnknownKey { word, known } => self.unknown_key(word, known),
            Problem::MissingKey { name, known } => self.missing_key(name, known),
            Problem::UnknownName { word, known } => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let error =
                    self.error(&format!("unknown name `{word}`{}", suggest::among(word, &known)));
                error.meaning(suggest::nearest(word, &known))
            }
            Problem::WrongType { expected } => {
                let found = self.tree.nearest(&self.path).value.describe();
                self.error(&format!("found {found}, expected {}", self.in_words(expected)))
            }
            Problem::Said(message) => self.error(message),
        }
    }

    /// An error of the value at the path.
    fn error(&self, message: &str) -> ConfigError {
        let key = self.path.join(".");
        let message =
            if key.is_empty() { message.to_owned() } else { format!("`{key}`: {message}") };
        ConfigError::new(&self.tree.nearest(&self.path).place, Some(&key), message)
    }

    fn unknown_key(&self, word: &str, known: &[String]) -> ConfigError {
        let parent = &self.path[..self.path.len().max(1) - 1];
        let prefix =
            if parent.is_empty() { String::new() } else { format!("{}.", parent.join(".")) };
        let key = format!("{prefix}{word}");
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let meant = suggest::nearest(word, &known).map(|near| format!("{prefix}{near}"));
        let elsewhere =
            || self.subject.in_experiment.then(|| schema::path_ending_in(word)).flatten();
        let meant = meant.or_else(elsewhere).filter(|near| *near != key);
        let hint =
            meant.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let known = match (self.scheme(parent), known.is_empty()) {
            (Some(scheme), true) => format!("`{scheme}` has no options"),
            (Some(scheme), false) => format!("options of `{scheme}`: {}", known.join(", ")),
            (None, _) => format!("known here: {}", known.join(", ")),
        };
        let message = format!("unknown key `{key}`{hint} ({known})");
        ConfigError::new(&self.tree.nearest(&self.path).place, Some(&key), message).meaning(meant)
    }

    /// The scheme that the table at `path` configures.
    fn scheme(&self, path: &[String]) -> Option<&str> {
        self.json.pointer(&pointer(path))?.get("kind")?.as_str()
    }

    /// A key that has to be there; of a `kind` the names that it can have.
    fn missing_key(&self, name: &str, known: &[String]) -> ConfigError {
        let mut path = self.path.clone();
        path.push(name.to_owned());
        let key = path.join(".");
        let hint = match (name, self.tree.get("preset")) {
            ("kind", _) if !known.is_empty() => {
                format!("; say whose options these are: kind = \"{}\"", known.join("\", \""))
            }
            ("kind", _) => format!("; name it, for example kind = \"{}\"", self.subject.kind),
            ("workload", _) => {
                "; say what to replay, for example workload.path = \"TRACE\"".to_owned()
            }
            (_, None) if self.subject.in_experiment => format!(
                "; give it, or start from a preset, for example preset = \"{}\"",
                presets::preset_names().join("\" or \"")
            ),
            _ => String::new(),
        };
        let place = &self.tree.nearest(&self.path).place;
        ConfigError::new(place, Some(&key), format!("`{key}` is missing{hint}"))
    }

    /// What serde expected, in a person's words.
    fn in_words(&self, expected: &str) -> String {
        let range = |min: String, max: String| format!("a whole number from {min} to {max}");
        match expected {
            "u8" => range("0".to_owned(), u8::MAX.to_string()),
            "u16" => range("0".to_owned(), u16::MAX.to_string()),
            "u32" => range("0".to_owned(), u32::MAX.to_string()),
            "u64" | "usize" => range("0".to_owned(), i64::MAX.to_string()),
            "i32" => range(i32::MIN.to_string(), i32::MAX.to_string()),
            "i64" => "a whole number".to_owned(),
            "f64" | "f32" => "a number".to_owned(),
            "a boolean" => "true or false".to_owned(),
            "a string" => "a text".to_owned(),
            "a sequence" => "a list".to_owned(),
            "string or map" => self.names().unwrap_or_else(|| "a name".to_owned()),
            other if other.starts_with("struct ") || other.contains(" map") => "a table".to_owned(),
            other => other.to_owned(),
        }
    }

    /// The names that would be right here: serde lists them when it is given a wrong name.
    fn names(&self) -> Option<String> {
        let mut json = self.json.clone();
        *json.pointer_mut(&pointer(&self.path))? = Json::from("");
        let error = (self.subject.error)(&json)?;
        match problem::of(&error) {
            (path, Problem::UnknownName { known, .. }) if path == self.path => {
                Some(format!("one of {}", known.join(", ")))
            }
            _ => None,
        }
    }
}

/// A JSON pointer to the value at `path`.
fn pointer(path: &[String]) -> String {
    path.iter().flat_map(|key| ["/", key]).collect()
}
