//! A scheme that a program brings along, in the place of a registered one.
//!
//! A configuration has its name, what it was written in, and its options; whoever runs it brings
//! what builds it ([`Brought::bring`]). It is held to all that holds for the others, and one thing
//! more: [`super::Buffer::check`] is asked after each of its decisions, and says what went wrong
//! inside it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use super::{Buffer, Shape};

/// Builds a scheme.
pub type Maker = Arc<dyn Fn(Shape) -> Result<Box<dyn Buffer>, String> + Send + Sync>;

/// The key that tells such a scheme from registered ones: the hash of its source.
const MARK: &str = "python";

/// Such a scheme.
#[derive(Clone)]
pub struct Brought {
    name: &'static str,
    /// Its hash and its options.
    table: Map<String, Value>,
    maker: Option<Maker>,
}

impl fmt::Debug for Brought {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Brought").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PartialEq for Brought {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.table == other.table
    }
}

impl Brought {
    /// The scheme that a configuration's table names, if it is such a one.
    pub(super) fn read(value: &Value) -> Option<Self> {
        let mut table = value.as_object().filter(|table| table.contains_key(MARK))?.clone();
        let name = table.shift_remove("kind")?;
        Some(Self { name: lasting(name.as_str()?), table, maker: None })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its hash and its options.
    pub(super) fn table(&self) -> Value {
        Value::Object(self.table.clone())
    }

    /// What builds it.
    pub fn bring(&mut self, maker: Maker) {
        self.maker = Some(maker);
    }

    pub(super) fn build(&self, shape: Shape) -> Result<Box<dyn Buffer>, String> {
        match &self.maker {
            Some(make) => make(shape),
            None => Err(format!(
                "buffer.scheme: `{}` is in the memory of the program that defines it, and nowhere \
                 else; name a registered scheme",
                self.name
            )),
        }
    }
}

/// The same text for as long as the process lives. Each is kept once: the words of schemes are few.
pub fn lasting(text: &str) -> &'static str {
    static KNOWN: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.iter().find(|one| **one == text) {
        return found;
    }
    let kept: &'static str = Box::leak(text.to_owned().into_boxed_str());
    known.push(kept);
    kept
}
