//! Keys that files written for an earlier version give: they are read as what they are called now.

use crate::error::ConfigError;
use crate::syntax::{Node, Value};

/// Options of trace formats that were keys of the workload, and what they are called there now.
const FORMAT_OPTIONS: [(&str, &str); 6] = [
    ("iolog_unit", "unit"),
    ("iolog_waits", "waits"),
    ("action", "action"),
    ("zeroes", "zeroes"),
    ("oracle_op", "op"),
    ("oracle_block", "block"),
];

/// Puts options of a trace format that stand beside it into it.
pub(super) fn settle(point: &mut Node) -> Result<(), ConfigError> {
    let Some(workload) = point.get_mut("workload") else { return Ok(()) };
    for (was, is) in FORMAT_OPTIONS {
        let Some(option) = workload.remove(was) else { continue };
        let key = format!("workload.{was}");
        let now = format!("workload.format.{is}");
        let Some(format) = workload.get_mut("format") else {
            let message = format!(
                "`{key}` is an option of a format now; say of which: format = {{ kind = \"...\", \
                 {is} = {} }}",
                option.value.describe()
            );
            return Err(ConfigError::new(&option.place, Some(&key), message).meaning(Some(now)));
        };
        if let Value::Text(_) = format.value {
            let kind = format.clone();
            format.value = Value::Table(vec![("kind".to_owned(), kind)]);
        }
        if format.get(is).is_some() {
            let message = format!("`{key}` and `{now}` are the same option; leave one out");
            return Err(ConfigError::new(&option.place, Some(&key), message).meaning(Some(now)));
        }
        format.or_insert(is, option);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::load::resolve;

    fn load(workload: &str) -> Result<String, String> {
        let file = format!("preset = \"hbm-2010\"\n[workload]\npath = \"t\"\n{workload}");
        let one = resolve(Some(&file), "old.toml", &[]).map_err(|error| error.to_string())?;
        serde_json::to_string(&one[0].workload.format).map_err(|error| error.to_string())
    }

    #[test]
    fn options_beside_a_format_are_its_own() {
        let now = load("format = { kind = \"oracle-general\", block = \"8 KiB\" }").unwrap();
        assert_eq!(load("format = \"oracle-general\"\noracle_block = \"8 KiB\"").unwrap(), now);
        let both =
            "format = { kind = \"oracle-general\", op = \"write\" }\noracle_block = \"8 KiB\"";
        assert!(load(both).unwrap().contains("8 KiB"), "{}", load(both).unwrap());
    }

    #[test]
    fn an_option_of_no_format_and_one_given_twice_are_errors() {
        let error = load("oracle_block = \"8 KiB\"").unwrap_err();
        assert!(error.contains("old.toml:4") && error.contains("say of which"), "{error}");
        let twice = "format = { kind = \"fio\", unit = \"us\" }\niolog_unit = \"ms\"";
        assert!(load(twice).unwrap_err().contains("leave one out"));
        let other = "format = \"spc\"\noracle_block = \"8 KiB\"";
        assert!(load(other).unwrap_err().contains("block"), "{}", load(other).unwrap_err());
    }
}
