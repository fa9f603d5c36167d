//! The registry of a folder of schemes: one line a scheme makes the configuration, the list and the
//! tests know it.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// What `list`, the documentation and the tests know of a scheme.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Name in configurations.
    pub name: &'static str,
    /// What its file says of it.
    pub about: &'static About,
    /// Writes the JSON Schema of its options.
    pub write_schema: fn(&mut SchemaGenerator) -> Schema,
    /// Its options with their defaults.
    pub defaults: fn() -> Value,
}

impl Entry {
    /// JSON Schema of its options, with what that refers to.
    pub fn schema(&self) -> Value {
        let mut generator = SchemaGenerator::default();
        let mut schema = (self.write_schema)(&mut generator);
        schema.insert("$defs".to_owned(), generator.take_definitions(true).into());
        schema.to_value()
    }

    /// The scheme's page of the documentation: the comment that its file begins with, as Markdown.
    pub fn page(&self) -> String {
        let comment = self.about.source.lines().map_while(|line| line.strip_prefix("//!"));
        comment
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .flat_map(|line| [line, "\n"])
            .collect()
    }
}

/// How the cost of a step grows with the size of what a scheme keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// O(1).
    Constant,
    /// O(log n).
    Logarithmic,
}

/// A choice that the scheme's paper leaves to its reader; a sensitivity run tries the other
/// readings.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Choice {
    /// The option that holds it.
    pub option: &'static str,
    /// Other values that a reader of the paper can defend, each as JSON.
    pub others: &'static [&'static str],
    /// What the paper leaves open, as a short clause.
    pub open: &'static str,
}

/// An option that matters only beside some values of another one of the same scheme. Who sets it
/// beside others is warned.
#[derive(Debug, Clone, Copy)]
pub struct Needs {
    /// The option.
    pub option: &'static str,
    /// The other one.
    pub beside: &'static str,
    /// The values of the other one that let it matter, each as JSON; none of them where it has to
    /// be given at all.
    pub values: &'static [&'static str],
}

/// Requests that show a buffer scheme's rules at work; `buffer::example` plays them.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Example {
    /// Where it is from, such as `figure 3.4(a) of the thesis`; empty where it is our own.
    pub source: &'static str,
    /// What there is to see, in a sentence or two.
    pub shows: &'static str,
    /// Pages that the buffer holds.
    pub capacity: u32,
    /// Pages of a logical block.
    pub pages_per_block: u32,
    /// Options that differ from the defaults, as a JSON object; empty where none does.
    pub options: &'static str,
    /// Such as `W 0-2, R 3, W 9 fua, T 4-7, F`: writes and reads of pages, forced unit access, a
    /// trim, a flush command.
    pub requests: &'static str,
}

/// What each scheme's file says of itself.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct About {
    /// Name in prose.
    pub title: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// Year of that publication.
    pub year: Option<u16>,
    /// From whose full description it is built, where it was not the paper's own; empty where it
    /// was, or there is none.
    pub described_in: &'static str,
    /// Other names that readers may look for.
    pub also: &'static [&'static str],
    /// Known only from its abstract or from hearsay, not from a full description.
    pub reconstruction: bool,
    /// No drive can have it, as it knows the future: it shows what the others could reach at most.
    pub bound: bool,
    /// What an access costs as it grows.
    pub cost: Cost,
    /// What its paper leaves open.
    pub choices: &'static [Choice],
    /// Options that matter only beside others.
    pub needs: &'static [Needs],
    /// What shows its rules; the papers' own examples where there are any.
    pub examples: &'static [Example],
    /// What flash operations take decides in it even where no time passes.
    pub weighs_times: bool,
    /// An FTL: allocator, victim policy, wear leveller and collection come from the configuration.
    pub composed: bool,
    /// The text of the scheme's file, by `include_str!`: the comment at its head is the scheme's
    /// page of the documentation.
    pub source: &'static str,
}

impl About {
    /// Something with neither a paper nor choices, at constant cost.
    pub const PLAIN: Self = Self {
        title: "",
        summary: "",
        paper: "",
        year: None,
        described_in: "",
        also: &[],
        reconstruction: false,
        bound: false,
        cost: Cost::Constant,
        choices: &[],
        needs: &[],
        examples: &[],
        weighs_times: false,
        composed: false,
        source: "",
    };
}

/// Splits `"name"` or `{kind = "name", ...}` into the name and the table of options.
///
/// # Errors
/// What was found instead.
pub fn split_kind(
    value: Value,
    stage: &str,
    names: &[&str],
) -> Result<(String, Map<String, Value>), String> {
    let expected = || names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let (kind, rest) = match value {
        Value::String(kind) => (kind, Map::new()),
        Value::Object(mut table) => match table.shift_remove("kind") {
            Some(Value::String(kind)) => (kind, table),
            Some(other) => {
                return Err(format!("kind: found {other}, expected one of {}", expected()));
            }
            None => return Err(format!("missing field `kind`, expected one of {}", expected())),
        },
        other => {
            return Err(format!(
                "found {other}, expected the name of a {stage} or a table with `kind`"
            ));
        }
    };
    if names.contains(&kind.as_str()) {
        Ok((kind, rest))
    } else {
        Err(format!("unknown variant `{kind}`, expected one of {}", expected()))
    }
}

/// Reads a scheme's options.
///
/// # Errors
/// The option's name, and what is wrong with it.
pub fn options<T: DeserializeOwned>(table: Map<String, Value>) -> Result<T, String> {
    serde_path_to_error::deserialize(Value::Object(table)).map_err(|error| place_and_reason(&error))
}

// Apart from the types of all schemes, so that it is compiled once.
fn place_and_reason(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let path = error.path().to_string();
    if path == "." { error.inner().to_string() } else { format!("{path}: {}", error.inner()) }
}

/// JSON Schema of a choice among schemes: a name, or a table of a name and options.
pub fn schema_of_any(entries: &[Entry], generator: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = entries.iter().map(|entry| entry.name).collect();
    let mut kinds = vec![json_schema!({"enum": names})];
    for entry in entries {
        let mut table = (entry.write_schema)(generator);
        let object = table.ensure_object();
        let properties = object.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.insert("kind".to_owned(), json!({"const": entry.name}));
        }
        object.insert("required".to_owned(), json!(["kind"]));
        kinds.push(table);
    }
    json_schema!({"anyOf": kinds})
}

/// Declares a stage's configuration enum, its registry and its builder from one line a scheme.
///
/// Each module named in a line, by its path from the registry's own, offers `Config` (serde,
/// `JsonSchema`, `Default`) and `ABOUT`; `Config::build` takes what the stage hands to its
/// builders. `or Type in module` adds a variant for what is not in the registry: a type with
/// `read`, `name`, `table` and `build`.
#[macro_export]
macro_rules! registry {
    (
        $(#[$meta:meta])*
        $stage:literal $enum:ident builds $built:ty, from $given:ty $(, or $outside:ident in $place:ident)?;
        $($name:literal => $variant:ident in $($module:ident)::+,)*
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $enum {
            $(#[doc = $name] $variant($($module)::+::Config),)*
            $(#[doc = "One that is not registered."] $outside($place::$outside),)?
        }

        impl $enum {
            /// Every registered name, in order.
            pub const NAMES: &[&str] = &[$($name),*];

            /// The scheme's name.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    $(Self::$outside(outside) => $place::$outside::name(outside),)?
                }
            }

            /// A scheme with its defaults, by name.
            pub fn by_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant($($module)::+::Config::default())),)* _ => None }
            }

            /// Builds the scheme.
            ///
            /// # Errors
            /// A sentence that says why it does not fit.
            pub fn build(&self, given: $given) -> Result<$built, String> {
                match self {
                    $(Self::$variant(config) => config.build(given),)*
                    $(Self::$outside(outside) => $place::$outside::build(outside, given),)?
                }
            }
        }

        // What reads and writes all options is compiled here: what is generic would be compiled again
        // in each crate, and for each form, that it is used in.
        impl $enum {
            /// Reads a name, or a table of a name and options.
            ///
            /// # Errors
            /// The option's name, and what is wrong with it.
            pub fn from_json(value: serde_json::Value) -> Result<Self, String> {
                $(if let Some(outside) = $place::$outside::read(&value) {
                    return Ok(Self::$outside(outside));
                })?
                let (kind, rest) = $crate::support::registry::split_kind(value, $stage, Self::NAMES)?;
                match kind.as_str() {
                    $($name => $crate::support::registry::options(rest).map(Self::$variant),)*
                    _ => unreachable!("split_kind returns registered names only"),
                }
            }

            fn to_table(&self) -> serde_json::Result<serde_json::Map<String, serde_json::Value>> {
                let options = match self {
                    $(Self::$variant(config) => serde_json::to_value(config)?,)*
                    $(Self::$outside(outside) => $place::$outside::table(outside),)?
                };
                let mut table = serde_json::Map::from_iter([("kind".to_owned(), self.name().into())]);
                if let serde_json::Value::Object(options) = options {
                    table.extend(options);
                }
                Ok(table)
            }
        }

        impl<'de> serde::Deserialize<'de> for $enum {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = <serde_json::Value as serde::Deserialize>::deserialize(deserializer)?;
                Self::from_json(value).map_err(serde::de::Error::custom)
            }
        }

        impl serde::Serialize for $enum {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.to_table().map_err(serde::ser::Error::custom)?.serialize(serializer)
            }
        }

        impl schemars::JsonSchema for $enum {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($enum).into()
            }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::support::registry::schema_of_any(registry(), generator)
            }
        }

        /// The registered schemes, in order.
        pub fn registry() -> &'static [$crate::support::registry::Entry] {
            const ENTRIES: &[$crate::support::registry::Entry] = &[$($crate::support::registry::Entry {
                name: $name,
                about: &$($module)::+::ABOUT,
                write_schema: <$($module)::+::Config as schemars::JsonSchema>::json_schema,
                defaults: || serde_json::to_value(&$($module)::+::Config::default()).unwrap_or_default(),
            }),*];
            ENTRIES
        }
    };
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Config {
        #[expect(dead_code, reason = "read by serde alone")]
        pages: u32,
        #[serde(default)]
        #[expect(dead_code, reason = "read by serde alone")]
        weights: Vec<f64>,
    }

    #[test]
    fn what_is_wrong_with_an_option_follows_its_name() {
        for (table, expected) in [
            (json!({"pages": -1}), "pages: invalid value: integer `-1`, expected u32"),
            (
                json!({"weights": [1], "pages": true}),
                "pages: invalid type: boolean `true`, expected u32",
            ),
            (json!({"weights": {"a": 1}}), "weights: invalid type: map, expected a sequence"),
            (
                json!({"weights": [0.5, "x"], "pages": 1}),
                "weights[1]: invalid type: string \"x\", expected f64",
            ),
            (json!({"page": 1}), "page: unknown field `page`, expected `pages` or `weights`"),
            (json!({"weights": [0.5]}), "missing field `pages`"),
        ] {
            let Value::Object(table) = table else { unreachable!("all are tables") };
            assert_eq!(options::<Config>(table).unwrap_err(), expected);
        }
    }
}
