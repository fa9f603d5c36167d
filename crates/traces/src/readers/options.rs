//! A format's own options: `format = { kind = "fio", unit = "ms" }`. Its file declares them, and
//! nothing else names them.

use std::fmt;

use eraseblock_core::support::registry;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::content::{LineParser, Parser, RecordParser};

/// The options of a format: a struct of serde with a default for each key, which refuses keys that
/// it does not know.
pub(crate) trait FormatOptions: Default + Serialize + DeserializeOwned + JsonSchema {
    /// Checks what the type of a key cannot say; `key: problem`.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Makes the parser for one file.
    fn parser(&self) -> Parser;
}

/// How a format makes the parser for one file.
#[derive(Clone, Copy)]
pub(crate) enum Reads {
    /// Of a text format without options.
    Lines(fn() -> Box<dyn LineParser>),
    /// Of a binary format without options.
    Records(fn() -> Box<dyn RecordParser>),
    /// Of a format with options.
    By(Options),
}

/// The options of a format, whatever their type.
#[derive(Clone, Copy)]
pub(crate) struct Options {
    schema: fn(&mut SchemaGenerator) -> Schema,
    checked: fn(Table) -> Result<Table, String>,
    parser: fn(&Table) -> Parser,
}

/// Options as a configuration writes them.
pub(crate) type Table = Map<String, Value>;

impl Reads {
    /// By options of this type.
    pub const fn by<T: FormatOptions>() -> Self {
        Self::By(Options { schema: T::json_schema, checked: checked::<T>, parser: parser::<T> })
    }

    /// All options with their values, of which `table` gives some.
    ///
    /// # Errors
    /// Names the option that is wrong.
    pub fn checked(&self, table: Table) -> Result<Table, String> {
        match self {
            Self::By(options) => (options.checked)(table),
            Self::Lines(_) | Self::Records(_) => match table.keys().next() {
                Some(key) => Err(format!("{key}: unknown field `{key}`, there are no fields")),
                None => Ok(table),
            },
        }
    }

    /// The parser for one file; `table` has been checked.
    pub fn parser(&self, table: &Table) -> Parser {
        match self {
            Self::Lines(parser) => Parser::Lines(parser()),
            Self::Records(parser) => Parser::Records(parser()),
            Self::By(options) => (options.parser)(table),
        }
    }

    /// JSON Schema of the options; none where there are none.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Option<Schema> {
        if let Self::By(options) = self { Some((options.schema)(generator)) } else { None }
    }
}

impl fmt::Debug for Reads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lines(_) => "Lines",
            Self::Records(_) => "Records",
            Self::By(_) => "By",
        })
    }
}

fn checked<T: FormatOptions>(table: Table) -> Result<Table, String> {
    let options: T = registry::options(table)?;
    options.check()?;
    match serde_json::to_value(options) {
        Ok(Value::Object(all)) => Ok(all),
        other => unreachable!("options are a struct of plain values: {other:?}"),
    }
}

fn parser<T: FormatOptions>(table: &Table) -> Parser {
    let options: T = registry::options(table.clone()).expect("options that were checked");
    options.parser()
}
