//! Keys that say the same thing in two ways: the one given last holds, and both at once are an
//! error.

use crate::error::ConfigError;
use crate::syntax::parse::FILE_LAYER;
use crate::syntax::{Node, Place, Value};

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
            // Where an axis says nothing, the other key holds: its points are not known yet.
            if over.get(given).is_some_and(Node::may_be_null) {
                continue;
            }
            if let (Some(_), Some(node)) = (by_option(base, other), by_option(over, given)) {
                return Err(two_ways(pair, given, &node.place));
            }
            base.remove(other);
        }
    }
    Ok(())
}

/// One point of the axes gives both keys of a pair only where an axis says nothing at other points:
/// the key of the upper layer holds.
///
/// # Errors
/// Both keys are given by `--set`.
pub(super) fn settle(point: &mut Node) -> Result<(), ConfigError> {
    for pair in &PAIRS {
        let Some(table) = point.get_mut(pair.table) else { continue };
        if !pair.keys.iter().all(|key| table.gives(key)) {
            continue;
        }
        let layer = |key| table.get(key).map_or(0, |node| node.order.0);
        let [a, b] = pair.keys.map(layer);
        if a > FILE_LAYER && b > FILE_LAYER {
            return Err(both(table, pair));
        }
        if a != b {
            table.remove(pair.keys[usize::from(a > b)]);
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
            return Err(both(table, pair));
        }
    }
    Ok(())
}

/// What `--set` gives for a key.
fn by_option<'t>(table: &'t Node, key: &str) -> Option<&'t Node> {
    table.get(key).filter(|node| node.order.0 > FILE_LAYER)
}

/// The error, at the place of the key that came last.
fn both(table: &Node, pair: &Pair) -> ConfigError {
    let given = pair.keys.iter().filter_map(|key| Some((key, table.get(key)?)));
    match given.max_by_key(|(_, node)| node.order) {
        Some((last, node)) => two_ways(pair, last, &node.place),
        None => two_ways(pair, pair.keys[0], &table.place),
    }
}

/// The error, at `key`.
fn two_ways(pair: &Pair, key: &str, place: &Place) -> ConfigError {
    let [a, b] = pair.keys.map(|key| format!("{}.{key}", pair.table));
    ConfigError::new(
        place,
        Some(&format!("{}.{key}", pair.table)),
        format!("`{a}` and `{b}` are two ways to say the same; give one of them"),
    )
}
