//! The format that a configuration names, with its options: `"spc"`, or `{ kind = "fio", unit =
//! "ms" }`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Value, json};

use super::content::Parser;
use super::options::Table;
use super::{Format, formats};

/// The word for a format that is told from the content.
const AUTO: &str = "auto";

/// Format of a trace file.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum FormatChoice {
    /// Told from the content.
    #[default]
    Auto,
    /// The one named.
    Named(NamedFormat),
}

/// A format and all of its options.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedFormat {
    format: &'static Format,
    options: Table,
}

impl NamedFormat {
    /// The format with these of its options; the others have their defaults.
    ///
    /// # Errors
    /// Names the option that is wrong.
    pub fn with(format: &'static Format, options: Table) -> Result<Self, String> {
        Ok(Self { format, options: format.reads.checked(options)? })
    }

    /// The format itself.
    #[must_use]
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// The parser for one file.
    pub(crate) fn parser(&self) -> Parser {
        self.format.reads.parser(&self.options)
    }
}

impl From<&'static Format> for NamedFormat {
    fn from(format: &'static Format) -> Self {
        Self { format, options: format.option_defaults() }
    }
}

impl FormatChoice {
    /// A format with some of its options, as `{ "kind": "fio", "unit": "ms" }`.
    fn from_table(mut table: Table) -> Result<Self, String> {
        let kind = match table.shift_remove("kind") {
            Some(Value::String(kind)) => kind,
            Some(other) => {
                return Err(format!("kind: found {other}, expected the name of a trace format"));
            }
            None => return Err(kind_missing(&table)),
        };
        if kind != AUTO {
            return NamedFormat::with(kind.parse()?, table).map(Self::Named);
        }
        match table.keys().next() {
            Some(key) => {
                Err(format!("{key}: is an option of {}; name that format as the kind", owners(key)))
            }
            None => Ok(Self::Auto),
        }
    }
}

fn kind_missing(table: &Table) -> String {
    let has_all = |format: &&Format| {
        let known = format.option_defaults();
        table.keys().all(|key| known.contains_key(key))
    };
    let names: Vec<_> =
        formats().filter(has_all).map(|format| format!("`{}`", format.name)).collect();
    let named = if names.is_empty() {
        String::new()
    } else {
        format!(", expected one of {}", names.join(", "))
    };
    format!("missing field `kind`{named}")
}

/// The formats that have an option.
fn owners(key: &str) -> String {
    let has = |format: &&Format| format.option_defaults().contains_key(key);
    let names: Vec<_> = formats().filter(has).map(|format| format.name).collect();
    if names.is_empty() { "no format".to_owned() } else { names.join(", ") }
}

impl FromStr for FormatChoice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        if name == AUTO {
            return Ok(Self::Auto);
        }
        name.parse::<&'static Format>().map(|format| Self::Named(format.into()))
    }
}

impl fmt::Display for FormatChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => AUTO,
            Self::Named(named) => named.format.name,
        })
    }
}

impl Serialize for FormatChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Named(named) if !named.options.is_empty() => {
                let mut table = Table::from_iter([("kind".to_owned(), named.format.name.into())]);
                table.extend(named.options.clone());
                table.serialize(serializer)
            }
            plain => serializer.collect_str(plain),
        }
    }
}

impl<'de> Deserialize<'de> for FormatChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let choice = match Value::deserialize(deserializer)? {
            Value::String(name) => name.parse(),
            Value::Object(table) => Self::from_table(table),
            other => Err(format!(
                "found {other}, expected the name of a trace format or a table with `kind`"
            )),
        };
        choice.map_err(de::Error::custom)
    }
}

impl JsonSchema for FormatChoice {
    fn schema_name() -> Cow<'static, str> {
        "FormatChoice".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> =
            std::iter::once(AUTO).chain(formats().map(|format| format.name)).collect();
        let names =
            json_schema!({"enum": names, "description": "auto, or the name of a trace format"});
        let mut kinds = vec![names];
        for format in formats() {
            let Some(mut table) = format.reads.schema(generator) else { continue };
            let object = table.ensure_object();
            if let Some(Value::Object(properties)) = object.get_mut("properties") {
                properties.insert("kind".to_owned(), json!({"const": format.name}));
            }
            object.insert("required".to_owned(), json!(["kind"]));
            kinds.push(table);
        }
        json_schema!({"anyOf": kinds})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<FormatChoice, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_format_has_its_own_options() {
        assert_eq!(read(r#""auto""#), Ok(FormatChoice::Auto));
        assert_eq!(read(r#"{"kind": "auto"}"#), Ok(FormatChoice::Auto));
        assert_eq!(read(r#"{"kind": "spc"}"#), read(r#""spc""#));
        assert_eq!(read(r#"{"kind": "fio"}"#), read(r#""fio""#));
        let fio = read(r#"{"kind": "fio", "unit": "ms"}"#).unwrap();
        assert_ne!(Ok(&fio), read(r#""fio""#).as_ref());
        assert_eq!(
            serde_json::to_value(&fio).unwrap(),
            json!({"kind": "fio", "unit": "ms", "waits": "gaps"})
        );
        assert_eq!(serde_json::to_value(read(r#""spc""#).unwrap()).unwrap(), json!("spc"));
    }

    #[test]
    fn options_of_other_formats_are_refused() {
        for (text, part) in [
            (r#"{"kind": "spc", "unit": "ms"}"#, "unknown field `unit`, there are no fields"),
            (
                r#"{"kind": "fio", "action": "issue"}"#,
                "unknown field `action`, expected `unit` or `waits`",
            ),
            (
                r#"{"kind": "auto", "unit": "ms"}"#,
                "unit: is an option of fio; name that format as the kind",
            ),
            (r#"{"kind": "fio", "unit": "s"}"#, "unit: unknown variant `s`"),
            (r#"{"kind": "fjo"}"#, "unknown trace format `fjo`; did you mean `fio`?"),
            (
                r#"{"action": "queue"}"#,
                "missing field `kind`, expected one of `blktrace`, `blkparse`",
            ),
            (r#"{"nonsense": "queue"}"#, "missing field `kind`"),
            (r#"{"kind": 3}"#, "kind: found 3"),
            ("3", "found 3, expected the name of a trace format or a table"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
