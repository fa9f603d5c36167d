//! Keys that say the same thing in two ways: the one given last holds, and both at once are an error.

use super::parse::FILE_LAYER;
use super::tree::{Node, Value};
use crate::error::ConfigError;

/// Two keys of one table, of which a drive or a workload takes one.
struct Pair {
    table: &'static str,
    keys: [&'static str; 2],
}

/// What stands beside one of these in the same layer is refused; from a layer below it leaves.
const PAIRS: [Pair; 2] = [
    Pair { table: "ftl", keys: ["exported", "over_provisioning"] },
    Pair { table: "workload", keys: ["path", "generate"] },
];

/// What `over` says of the table at `path` takes the other key of a pair out of `base`.
///
/// # Errors
/// Both keys are given by `--set`, where neither is above the other.
pub(super) fn displace(base: &mut Node, over: &Node, path: &str) -> Result<(), ConfigError> {
    for pair in PAIRS.iter().filter(|pair| pair.table == path) {
        let [a, b] = pair.keys;
        for (given, other) in [(a, b), (b, a)] {
            if !over.gives(given) || over.gives(other) || !base.gives(other) {
                continue;
            }
            let is_option = |node: Option<&Node>| node.is_some_and(|node| node.order.0 > FILE_LAYER);
            if is_option(base.get(other)) && is_option(over.get(given)) {
                return Err(both(over, pair, given));
            }
            base.remove(other);
        }
    }
    Ok(())
}

/// Both keys of a pair are left: then one layer gives both.
pub(super) fn check(whole: &Node) -> Result<(), ConfigError> {
    for pair in &PAIRS {
        if let Some(table @ Node { value: Value::Table(_), .. }) = whole.get(pair.table)
            && pair.keys.iter().all(|key| table.gives(key))
        {
            return Err(both(table, pair, pair.keys[1]));
        }
    }
    Ok(())
}

/// The error, at the place of the key that came last.
fn both(table: &Node, pair: &Pair, last: &str) -> ConfigError {
    let [a, b] = pair.keys.map(|key| format!("{}.{key}", pair.table));
    let key = format!("{}.{last}", pair.table);
    let place = table.get(last).map_or(&table.place, |node| &node.place);
    ConfigError::new(
        place,
        Some(&key),
        format!("`{a}` and `{b}` are two ways to say the same; give one of them"),
    )
}
