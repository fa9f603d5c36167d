//! Reads TOML texts and `--set` options into trees.

use std::rc::Rc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::tree::{Node, Place, Value};
use crate::error::ConfigError;

/// Tables and lists may be nested this deep; no configuration needs more than five levels.
const DEPTH_MAX: usize = 16;

/// In this order things are laid over one another; options follow, each a layer of its own.
const PRESET_LAYER: usize = 0;
pub(crate) const FILE_LAYER: usize = 1;

/// Keys whose texts are anything, also `null`; in all others that takes back what a layer below
/// sets, as TOML has no other word for it.
const LABELS: [&str; 3] = ["name", "case.name", "workload.path"];

/// The tree of a file.
pub(crate) fn file(text: &str, name: &str) -> Result<Node, ConfigError> {
    Source::new(text, name, FILE_LAYER).tree()
}

/// The tree of a preset.
pub(crate) fn preset(text: &str, name: &str) -> Result<Node, ConfigError> {
    Source::new(text, format!("preset {name}"), PRESET_LAYER).tree()
}

/// The tree of one `--set` option, `a.b=c`. The value is TOML; what is not TOML is text, also
/// inside a list, so that `buffer.size=[1MiB,4MiB]` needs no quotes.
pub(crate) fn set(option: &str, number: usize) -> Result<Node, ConfigError> {
    let fail = |message: String| ConfigError::new(Place::Set(option.into()), None, message);
    let Some((key, value)) = option.split_once('=') else {
        return Err(fail("expected key=value, for example buffer.size=16MiB".to_owned()));
    };
    let (key, value) = (key.trim(), value.trim());
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    if !key.split('.').all(is_word) || key.split('.').count() > DEPTH_MAX {
        return Err(fail(format!(
            "`{key}` is not a key, expected names joined by dots, for example buffer.size"
        )));
    }
    if value.is_empty() {
        return Err(fail(format!(
            "`{key}` has no value, expected for example {key}=1; write {key}='\"\"' for an empty \
             text"
        )));
    }
    let text = format!("{key} = {}", toml_value(value).map_err(fail)?);
    Source::new(&text, option, FILE_LAYER + 1 + number).tree()
}

/// The value of an option as TOML: itself where it is TOML, else quoted; lists are quoted element
/// by element.
fn toml_value(value: &str) -> Result<String, String> {
    let as_toml = DeValue::parse(value);
    match value.chars().next() {
        _ if as_toml.is_ok()
            && !matches!(as_toml.as_ref().map(Spanned::get_ref), Ok(DeValue::Datetime(_))) =>
        {
            Ok(value.to_owned())
        }
        Some('[') if value.ends_with(']') => {
            let inside = value[1..value.len() - 1].trim_end();
            let inside = inside.strip_suffix(',').unwrap_or(inside);
            let elements: Result<Vec<_>, _> =
                split_list(inside).into_iter().map(toml_value).collect();
            Ok(format!("[{}]", elements?.join(", ")))
        }
        Some('[' | '{' | '"' | '\'') => {
            let message =
                as_toml.err().map_or_else(String::new, |error| error.message().to_owned());
            Err(format!("`{value}` is not TOML: {message}"))
        }
        None => Err("a list element is empty".to_owned()),
        _ => Ok(toml::Value::String(value.to_owned()).to_string()),
    }
}

/// Cuts a list's inside at the commas that are outside quotes and brackets.
fn split_list(inside: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_usize, None);
    for (at, c) in inside.char_indices() {
        match (quote, c) {
            (Some(open), _) => quote = (c != open).then_some(open),
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                parts.push(inside[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(inside[start..].trim());
    parts
}

/// A text that is being read.
struct Source<'t> {
    text: &'t str,
    name: Rc<str>,
    /// The text is that of a `--set` option.
    set: bool,
    layer: usize,
    /// Where the lines end, in bytes.
    line_ends: Vec<usize>,
}

impl<'t> Source<'t> {
    fn new(text: &'t str, name: impl Into<Rc<str>>, layer: usize) -> Self {
        let line_ends = text.match_indices('\n').map(|(at, _)| at).collect();
        Self { text, name: name.into(), set: layer > FILE_LAYER, layer, line_ends }
    }

    fn tree(&self) -> Result<Node, ConfigError> {
        let table = DeTable::parse(self.text).map_err(|error| self.syntax_error(&error))?;
        let entries = self.table(table.get_ref(), "")?;
        let place = if self.set { Place::Nowhere } else { self.place(0) };
        Ok(Node { place, order: (self.layer, 0), value: Value::Table(entries) })
    }

    fn place(&self, byte: usize) -> Place {
        if self.set {
            return Place::Set(self.name.clone());
        }
        Place::Line(self.name.clone(), 1 + self.line_ends.partition_point(|&end| end < byte))
    }

    fn syntax_error(&self, error: &toml::de::Error) -> ConfigError {
        let span = error.span().unwrap_or(0..0);
        let found = self.text.get(span.clone()).unwrap_or_default().trim();
        let message = match error.message() {
            "duplicate key" => format!("`{found}` is given twice here; keep one of them"),
            message if found.is_empty() => format!("not TOML: {message}"),
            message => format!("not TOML at `{found}`: {message}"),
        };
        ConfigError::new(self.place(span.start), None, message)
    }

    fn table(&self, table: &DeTable<'_>, path: &str) -> Result<Vec<(String, Node)>, ConfigError> {
        let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let name: &str = AsRef::<str>::as_ref(key.get_ref());
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            let at = key.span().start;
            let value = self.value(value, &path, at)?;
            Ok((name.to_owned(), Node { place: self.place(at), order: (self.layer, at), value }))
        };
        table.iter().map(entry).collect()
    }

    fn value(
        &self,
        value: &Spanned<DeValue<'_>>,
        path: &str,
        at: usize,
    ) -> Result<Value, ConfigError> {
        let fail = |message: String| Err(ConfigError::new(self.place(at), Some(path), message));
        if path.split('.').count() > DEPTH_MAX {
            return fail(format!("tables are nested more than {DEPTH_MAX} deep"));
        }
        Ok(match value.get_ref() {
            DeValue::String(text) if text == "null" && !LABELS.contains(&path) => Value::Null,
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Boolean(value) => Value::Bool(*value),
            DeValue::Integer(digits) => {
                match i64::from_str_radix(digits.as_str(), digits.radix()) {
                    Ok(number) => Value::Int(number),
                    Err(_) => return fail(format!("`{path}`: {digits} is too large for a number")),
                }
            }
            DeValue::Float(digits) => match digits.as_str().parse::<f64>() {
                Ok(number) if number.is_finite() => Value::Float(number),
                _ => return fail(format!("`{path}`: found {digits}, expected a finite number")),
            },
            DeValue::Datetime(date) => {
                return fail(format!(
                    "`{path}`: found the date {date}, expected a number, a text or a table; quote \
                     a text"
                ));
            }
            DeValue::Table(table) => Value::Table(self.table(table, path)?),
            DeValue::Array(elements) => {
                let mut nodes = Vec::with_capacity(elements.len());
                for element in elements {
                    let at = element.span().start;
                    if element.get_ref().is_array() {
                        let message = format!(
                            "`{path}`: a list inside a list; each element of an axis is one value"
                        );
                        return Err(ConfigError::new(self.place(at), Some(path), message));
                    }
                    let value = self.value(element, path, at)?;
                    nodes.push(Node { place: self.place(at), order: (self.layer, at), value });
                }
                Value::List(nodes)
            }
        })
    }
}
