//! Configuration as written: values that remember where they were written.

use std::fmt;
use std::rc::Rc;

use serde_json::Value as Json;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Place {
    /// A line of a file, or of a preset (its name then reads `preset x`).
    Line(Rc<str>, usize),
    /// The text of a `--set` option.
    Set(Rc<str>),
    /// Nowhere: a default.
    Nowhere,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(file, line) => write!(f, "{file}:{line}"),
            Self::Set(text) => write!(f, "--set {text}"),
            Self::Nowhere => f.write_str("configuration"),
        }
    }
}

/// A value, where it was written, and when in the order of all that was written: layer, then byte.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub place: Place,
    pub order: (usize, usize),
    pub value: Value,
}

/// What TOML can say, dates apart; and that nothing is said, which TOML cannot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// `null`: what a layer below says does not hold, the default does.
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Table(Vec<(String, Node)>),
}

impl Value {
    /// The value in an error message.
    pub fn describe(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => format!("{value}"),
            Self::Int(value) => format!("the number {value}"),
            Self::Float(value) => format!("the number {value}"),
            Self::Text(text) => format!("the text \"{text}\""),
            Self::List(_) => "a list".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }
}

impl Node {
    pub fn new(place: Place, value: Value) -> Self {
        Self { place, order: (0, 0), value }
    }

    pub fn empty_table(place: Place) -> Self {
        Self::new(place, Value::Table(Vec::new()))
    }

    /// The entry `key`, where this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let Value::Table(entries) = &mut self.value else { return None };
        entries.iter_mut().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The node at a dotted path, or the last one on the way to it that was written.
    pub fn nearest(&self, path: &[String]) -> &Node {
        match path.split_first().and_then(|(key, rest)| Some((self.get(key)?, rest))) {
            Some((node, rest)) => node.nearest(rest),
            None => self,
        }
    }

    /// Adds an entry to a table that lacks it.
    pub fn or_insert(&mut self, key: &str, node: Node) {
        if self.get(key).is_none()
            && let Value::Table(entries) = &mut self.value
        {
            entries.push((key.to_owned(), node));
        }
    }

    /// Takes an entry out of a table.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        let Value::Table(entries) = &mut self.value else { return None };
        let at = entries.iter().position(|(name, _)| name == key)?;
        Some(entries.remove(at).1)
    }

    /// Whether a table says something of `key`, beside that it is not set.
    pub fn gives(&self, key: &str) -> bool {
        self.get(key).is_some_and(|node| node.value != Value::Null)
    }

    /// Whether this is an axis that sets nothing at one of its points.
    pub fn may_be_null(&self) -> bool {
        matches!(&self.value, Value::List(nodes) if nodes.iter().any(|node| node.value == Value::Null))
    }

    /// Takes out all that is not set, so that defaults hold.
    pub fn prune(&mut self) {
        if let Value::Table(entries) = &mut self.value {
            entries.retain(|(_, node)| node.value != Value::Null);
            for (_, node) in entries.iter_mut() {
                node.prune();
            }
        }
    }

    /// The value without its places.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::from(*value),
            Value::Int(value) => Json::from(*value),
            Value::Float(value) => Json::from(*value),
            Value::Text(text) => Json::from(text.as_str()),
            Value::List(nodes) => nodes.iter().map(Node::to_json).collect(),
            Value::Table(entries) => Json::Object(
                entries.iter().map(|(key, node)| (key.clone(), node.to_json())).collect(),
            ),
        }
    }
}
