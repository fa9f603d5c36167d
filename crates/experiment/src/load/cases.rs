//! Cases: settings that go together under a name, an axis of their own.

use super::merge::overlay;
use crate::error::ConfigError;
use crate::syntax::{Node, Value};

/// Puts the `case` of one point of the axes over the rest of it; its name stays.
pub(super) fn unfold(mut point: Node) -> Result<Node, ConfigError> {
    let Some(mut case) = point.remove("case") else { return Ok(point) };
    if case.value == Value::Null {
        return Ok(point);
    }
    if matches!(case.value, Value::Text(_)) {
        // A configuration taken from results: the case's settings are in it.
        point.or_insert("case", case);
        return Ok(point);
    }
    if !matches!(case.value, Value::Table(_)) {
        let message = format!(
            "`case`: found {}, expected a table with a `name` and settings, such as [[case]]",
            case.value.describe()
        );
        return Err(ConfigError::new(&case.place, Some("case"), message));
    }
    let name = match case.remove("name") {
        Some(name @ Node { value: Value::Text(_), .. }) => name,
        Some(other) => {
            let message = format!("`case.name`: found {}, expected a text", other.value.describe());
            return Err(ConfigError::new(&other.place, Some("case.name"), message));
        }
        None => {
            let message =
                "`case.name` is missing; it tells the case from the others in results".to_owned();
            return Err(ConfigError::new(&case.place, Some("case.name"), message));
        }
    };
    if let Some(inner) = case.get("case") {
        let message = "`case.case`: a case cannot hold another one".to_owned();
        return Err(ConfigError::new(&inner.place, Some("case.case"), message));
    }
    let mut whole = overlay(point, case, "")?;
    whole.or_insert("case", name);
    Ok(whole)
}
