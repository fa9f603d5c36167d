//! Lays one tree over another.

use eraseblock_core::ftl::is_composed;

use super::alternatives;
use crate::error::ConfigError;
use crate::syntax::{Node, Value};

/// Keys whose value is a scheme: a name, or a table with `kind` and the options of that kind.
pub(crate) const SCHEMES: [&str; 5] =
    ["buffer.scheme", "ftl.mapping", "ftl.allocator", "ftl.victim", "ftl.wear"];

/// The key of the trace's format, whose options are its own as those of a scheme are.
const FORMAT: &str = "workload.format";

/// Keys of the table `ftl` that only mappings understand which are composed of them.
const PARTS: [&str; 4] = ["allocator", "victim", "wear", "gc"];

/// `over` wins, key by key. A scheme (`"lru"`, or a table with `kind`) of another kind replaces the
/// whole scheme below it, since the options of one say nothing about the other; options without a
/// kind, or with the same one, adjust it.
pub(super) fn overlay(base: Node, over: Node, path: &str) -> Result<Node, ConfigError> {
    let is_scheme = SCHEMES.contains(&path) || path == FORMAT;
    if let (true, Some(old), Some(new)) = (is_scheme, kind(&base), kind(&over))
        && old != new
    {
        return Ok(over);
    }
    let mut base = base;
    alternatives::displace(&mut base, &over, path)?;
    let Node { place, order, value } = over;
    let value = match (base.value, value) {
        (Value::Table(mut below), Value::Table(above)) => {
            // A drive whose mapping is replaced by one that is not composed of parts has none.
            let chosen = above.iter().find(|(key, _)| path == "ftl" && key == "mapping");
            if chosen.and_then(|(_, mapping)| kind(mapping)).is_some_and(|name| !is_composed(name))
            {
                below.retain(|(key, _)| !PARTS.contains(&key.as_str()));
            }
            Value::Table(entries(below, above, path)?)
        }
        // The same kind by its name alone: the options stay.
        (Value::Table(mut below), Value::Text(name))
            if is_scheme && below.iter().any(|(key, _)| key == "kind") =>
        {
            below.retain(|(key, _)| key != "kind");
            let kind = Node { place: place.clone(), order, value: Value::Text(name) };
            below.insert(0, ("kind".to_owned(), kind));
            Value::Table(below)
        }
        // Options for a scheme that was given by its name alone.
        (Value::Text(name), Value::Table(above)) if is_scheme => {
            let kind = Node { place: base.place, order: base.order, value: Value::Text(name) };
            Value::Table(entries(vec![("kind".to_owned(), kind)], above, path)?)
        }
        (Value::List(_), Value::Table(above)) if !above.iter().any(|(key, _)| key == "kind") => {
            let message = format!("`{path}` is a list ({}), set all of it at once", base.place);
            return Err(ConfigError::new(&place, Some(path), message));
        }
        (_, value) => value,
    };
    Ok(Node { place, order, value })
}

fn entries(
    mut below: Vec<(String, Node)>,
    above: Vec<(String, Node)>,
    path: &str,
) -> Result<Vec<(String, Node)>, ConfigError> {
    for (key, node) in above {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match below.iter().position(|(name, _)| *name == key) {
            Some(at) => {
                let (_, base) = below.remove(at);
                below.insert(at, (key, overlay(base, node, &path)?));
            }
            None => below.push((key, node)),
        }
    }
    Ok(below)
}

/// The scheme that a value names.
fn kind(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text(name) => Some(name),
        Value::Table(_) => match &node.get("kind")?.value {
            Value::Text(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}
