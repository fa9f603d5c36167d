//! A generator by its name, or from a file, with `--set` options.

use eraseblock_traces::{GenerateConfig, stand_ins};

use super::{merge, suggest, typed};
use crate::error::ConfigError;
use crate::syntax::{Node, Place, Value, parse};

/// Keys of a stand-in itself; all others are its model's.
const STAND_IN_KEYS: [&str; 4] = ["requests", "variant", "set", "seed"];

/// Builds the generator that a name (of a kind or of a stand-in) or a file (its text, and its name
/// for messages) gives, with `--set` options (`"a.b=c"`, later ones win) over it. The file holds
/// the keys of a generator, or is an experiment whose `[workload.generate]` is taken.
///
/// # Errors
/// One line that names the place, the key, what was found and what was expected.
pub fn resolve_generator(
    name: Option<&str>,
    file: Option<(&str, &str)>,
    sets: &[String],
) -> Result<GenerateConfig, ConfigError> {
    let mut tree = match file {
        Some((text, file_name)) => table_of(parse::file(text, file_name)?, file_name)?,
        None => Node::empty_table(Place::Nowhere),
    };
    if let Some(name) = name {
        tree = merge::overlay(tree, named(name)?, "")?;
    }
    let is_stand_in = matches!(tree.get("kind"), Some(Node { value: Value::Text(kind), .. }) if kind == "standin");
    for (number, option) in sets.iter().enumerate() {
        let mut over = parse::set(option, number)?;
        if is_stand_in {
            over = for_stand_in(over);
        }
        tree = merge::overlay(tree, over, "")?;
    }
    tree.prune();
    if let Some((path, list)) = find_list(&tree, "") {
        let message = format!(
            "`{path}`: found a list, expected one value; a trace is made from one generator"
        );
        return Err(ConfigError::new(&list.place, Some(&path), message));
    }
    typed::generator(&tree)
}

/// The generator's table in a file.
fn table_of(mut file: Node, file_name: &str) -> Result<Node, ConfigError> {
    let Some(mut workload) = file.remove("workload") else { return Ok(file) };
    workload.remove("generate").ok_or_else(|| {
        let message = "`workload.generate` is missing; a trace is made by a generator".to_owned();
        ConfigError::new(file_name, Some("workload.generate"), message)
    })
}

fn named(name: &str) -> Result<Node, ConfigError> {
    let text = |text: &str| Node::new(Place::Nowhere, Value::Text(text.to_owned()));
    let entry = |key: &str, value: &str| (key.to_owned(), text(value));
    let entries = if GenerateConfig::NAMES.contains(&name) {
        vec![entry("kind", name)]
    } else if stand_ins().iter().any(|stand_in| stand_in.name == name) {
        vec![entry("kind", "standin"), entry("name", name)]
    } else {
        let known = GenerateConfig::NAMES.iter().copied().filter(|kind| *kind != "standin");
        let known: Vec<&str> =
            known.chain(stand_ins().iter().map(|stand_in| stand_in.name.as_str())).collect();
        let message =
            format!("there is no generator or stand-in `{name}`{}", suggest::among(name, &known));
        let error = ConfigError::new("trace generate", None, message);
        return Err(error.meaning(suggest::nearest(name, &known)));
    };
    Ok(Node::new(Place::Nowhere, Value::Table(entries)))
}

/// `footprint = x` for a stand-in is `set.footprint = x`.
fn for_stand_in(over: Node) -> Node {
    let Node { place, order, value } = over;
    let Value::Table(entries) = value else { return Node { place, order, value } };
    let (own, model): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|(key, _)| STAND_IN_KEYS.contains(&key.as_str()));
    let mut entries = own;
    if !model.is_empty() {
        entries.push((
            "set".to_owned(),
            Node { place: place.clone(), order, value: Value::Table(model) },
        ));
    }
    Node { place, order, value: Value::Table(entries) }
}

/// The first list, and its path.
fn find_list<'t>(node: &'t Node, path: &str) -> Option<(String, &'t Node)> {
    match &node.value {
        Value::List(_) => Some((path.to_owned(), node)),
        Value::Table(entries) => entries.iter().find_map(|(key, node)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            find_list(node, &path)
        }),
        _ => None,
    }
}
