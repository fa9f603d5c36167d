//! Expands the lists of a tree, its axes, into their cross product.

use crate::error::ConfigError;
use crate::experiment::LISTS;
use crate::syntax::{Node, Value};

/// No more experiments than this from one configuration.
const POINTS_MAX: u128 = 100_000;

/// One tree without lists for each point of the axes, the first written axis varying slowest.
pub(super) fn points(tree: Node) -> Result<Vec<Node>, ConfigError> {
    let count = count(&tree, "")?;
    if count > POINTS_MAX {
        let message = format!(
            "the axes give {count} experiments, at most {POINTS_MAX} are allowed; shorten a list"
        );
        return Err(ConfigError::new(&tree.place, None, message));
    }
    let mut points = Vec::with_capacity(count as usize);
    expand(tree, &mut points);
    Ok(points)
}

/// The number of points, and that no axis is empty.
fn count(node: &Node, path: &str) -> Result<u128, ConfigError> {
    match &node.value {
        Value::Table(entries) => axes(entries).try_fold(1_u128, |product, (key, node)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            Ok(product.saturating_mul(count(node, &path)?))
        }),
        Value::List(nodes) if nodes.is_empty() => {
            let message = format!(
                "`{path}`: found an empty list, expected one value or more (a list is an axis)"
            );
            Err(ConfigError::new(&node.place, Some(path), message))
        }
        Value::List(nodes) => {
            nodes.iter().try_fold(0_u128, |sum, node| Ok(sum.saturating_add(count(node, path)?)))
        }
        _ => Ok(1),
    }
}

fn expand(mut tree: Node, points: &mut Vec<Node>) {
    let Some(order) = first_list(&tree).map(|list| list.order) else {
        points.push(tree);
        return;
    };
    // The list leaves the tree, so that the copies for its values don't hold all of it again.
    let axis = find(&mut tree, order).expect("this list was just found");
    let Value::List(values) = std::mem::replace(&mut axis.value, Value::List(Vec::new())) else {
        unreachable!("only lists are found")
    };
    for value in values {
        let mut point = tree.clone();
        *find(&mut point, order).expect("a copy has the same lists") = value;
        expand(point, points);
    }
}

/// The entries of a table whose lists are axes.
fn axes(entries: &[(String, Node)]) -> impl Iterator<Item = &(String, Node)> {
    entries.iter().filter(|(key, _)| !LISTS.contains(&key.as_str()))
}

/// The list that was written first.
fn first_list(node: &Node) -> Option<&Node> {
    match &node.value {
        Value::List(_) => Some(node),
        Value::Table(entries) => {
            axes(entries).filter_map(|(_, node)| first_list(node)).min_by_key(|list| list.order)
        }
        _ => None,
    }
}

/// The list that was written at `order`; no two lists start at the same byte.
fn find(node: &mut Node, order: (usize, usize)) -> Option<&mut Node> {
    if matches!(node.value, Value::List(_)) {
        return (node.order == order).then_some(node);
    }
    let Value::Table(entries) = &mut node.value else { return None };
    entries.iter_mut().find_map(|(_, node)| find(node, order))
}
