//! From what people write to experiments: preset, then file, then `--set`, then the case, one
//! experiment for each point of the axes.

mod alternatives;
mod axes;
mod cases;
mod generator;
mod merge;
mod moved;
mod problem;
mod suggest;
mod typed;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::error::ConfigError;
use crate::experiment::Experiment;
use crate::presets;
use crate::syntax::{Node, Place, Value, parse};
pub use generator::resolve_generator;
pub(crate) use merge::SCHEMES;

/// Builds the experiments that a file (its text and its name for messages) and `--set` options
/// describe.
///
/// A value of the file overrides the preset's, a value of `sets` (`"a.b=c"`, later ones win)
/// overrides both. Every list is an axis; the result is the cross product of all axes in the order
/// in which they are written, the last one varying fastest.
///
/// # Errors
/// One line that names the place, the key, what was found and what was expected.
pub fn resolve(
    toml_text: Option<&str>,
    file_name: &str,
    sets: &[String],
) -> Result<Vec<Experiment>, ConfigError> {
    let mut written = match toml_text {
        Some(text) => parse::file(text, file_name)?,
        None => Node::empty_table(Place::Nowhere),
    };
    for (number, set) in sets.iter().enumerate() {
        written = merge::overlay(written, parse::set(set, number)?, "")?;
    }
    let default_name = toml_text.and_then(|_| file_stem(file_name)).unwrap_or("experiment");
    let mut presets = Presets::default();
    axes::points(written)?
        .into_iter()
        .map(|point| complete(point, default_name, &mut presets))
        .collect()
}

/// The presets that are in use, read once.
type Presets = BTreeMap<&'static str, Node>;

/// Puts the preset under one point of the axes, and checks the whole.
fn complete(
    mut point: Node,
    default_name: &str,
    presets: &mut Presets,
) -> Result<Experiment, ConfigError> {
    moved::settle(&mut point)?;
    alternatives::settle(&mut point)?;
    let point = cases::unfold(point)?;
    let mut whole = match point.get("preset") {
        None | Some(Node { value: Value::Null, .. }) => point,
        Some(Node { value: Value::Text(name), place, .. }) => {
            let preset = presets::find(name).ok_or_else(|| {
                let known = presets::preset_names();
                let message = format!("unknown preset `{name}`{}", suggest::among(name, &known));
                ConfigError::new(place, Some("preset"), message)
                    .meaning(suggest::nearest(name, &known))
            })?;
            let defaults = match presets.entry(preset.name) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => entry.insert(preset.defaults()?),
            };
            merge::overlay(defaults.clone(), point, "")?
        }
        Some(other) => {
            let message = format!(
                "`preset`: found {}, expected the name of a preset",
                other.value.describe()
            );
            return Err(ConfigError::new(&other.place, Some("preset"), message));
        }
    };
    alternatives::check(&whole)?;
    whole.prune();
    whole.or_insert("name", Node::new(Place::Nowhere, Value::Text(default_name.to_owned())));
    typed::experiment(&whole)
}

/// `mail` of `sweeps/mail.toml`.
fn file_stem(file_name: &str) -> Option<&str> {
    std::path::Path::new(file_name).file_stem()?.to_str().filter(|stem| !stem.is_empty())
}
