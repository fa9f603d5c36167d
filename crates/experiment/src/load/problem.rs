//! What serde finds wrong with a value, as data. Serde tells it in prose alone; all that is read
//! out of that prose is here.

use serde_path_to_error::{Error, Segment};

/// What is wrong with the value at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Problem {
    /// A table has a key that it does not know; the path ends in that key, where serde says so.
    UnknownKey { word: String, known: Vec<String> },
    /// A table lacks a key; of a `kind`, the names that it can have.
    MissingKey { name: String, known: Vec<String> },
    /// A name that stands for nothing.
    UnknownName { word: String, known: Vec<String> },
    /// A value of another type, or out of range; what serde expected.
    WrongType { expected: String },
    /// A sentence of whoever checked the value.
    Said(String),
}

/// The keys on the way to what is wrong, and what is wrong with it.
pub(super) fn of(error: &Error<serde_json::Error>) -> (Vec<String>, Problem) {
    let key = |segment: &Segment| match segment {
        Segment::Map { key } => Some(key.clone()),
        Segment::Enum { variant } => Some(variant.clone()),
        Segment::Seq { .. } | Segment::Unknown => None,
    };
    let path = error.path().iter().filter_map(key).collect();
    let (path, message) = split_path(path, error.inner().to_string());
    (path, read(message))
}

/// The same of a check, which says `key: sentence`.
pub(super) fn of_check(message: String) -> (Vec<String>, Problem) {
    let (path, message) = split_path(Vec::new(), message);
    (path, Problem::Said(message))
}

/// Moves the keys that a message begins with to the path: a scheme reports its own options as
/// `option: message`.
fn split_path(mut path: Vec<String>, mut message: String) -> (Vec<String>, String) {
    while let Some((head, rest)) = message.split_once(": ") {
        let is_key = |word: &str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if !head.split('.').all(is_key) {
            break;
        }
        path.extend(head.split('.').map(str::to_owned));
        message = rest.to_owned();
    }
    (path, message)
}

fn read(message: String) -> Problem {
    let names = |rest: &str| {
        let mut names = quoted(rest).into_iter();
        names.next().map(|word| (word, names.collect()))
    };
    let after = |start: &str| message.strip_prefix(start).and_then(names);
    if let Some((word, known)) = after("unknown field ") {
        return Problem::UnknownKey { word, known };
    }
    if let Some((name, known)) = after("missing field ") {
        return Problem::MissingKey { name, known };
    }
    if let Some((word, known)) = after("unknown variant ") {
        return Problem::UnknownName { word, known };
    }
    let wrong =
        ["invalid type: ", "invalid value: "].iter().find_map(|start| message.strip_prefix(start));
    match wrong.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((_, expected)) => Problem::WrongType { expected: expected.to_owned() },
        None => Problem::Said(message),
    }
}

/// The words between backquotes.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Table {
        #[expect(dead_code, reason = "read by serde alone")]
        count: u8,
        #[expect(dead_code, reason = "read by serde alone")]
        way: Option<Way>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Way {
        Up,
        Down,
    }

    fn problem(json: &str) -> (String, Problem) {
        let mut reader = serde_json::Deserializer::from_str(json);
        let (path, problem) =
            of(&serde_path_to_error::deserialize::<_, Table>(&mut reader).unwrap_err());
        (path.join("."), problem)
    }

    /// Serde's wording is its own: this fails if a version of it says the same in other words.
    #[test]
    fn what_serde_says_is_understood() {
        assert_eq!((Way::Up as u8, Way::Down as u8), (0, 1));
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        for (json, path, expected) in [
            (
                r#"{"cuont": 1}"#,
                "cuont",
                Problem::UnknownKey { word: "cuont".to_owned(), known: words(&["count", "way"]) },
            ),
            ("{}", "", Problem::MissingKey { name: "count".to_owned(), known: Vec::new() }),
            (
                r#"{"count": 1, "way": "left"}"#,
                "way",
                Problem::UnknownName { word: "left".to_owned(), known: words(&["up", "down"]) },
            ),
            (r#"{"count": "x"}"#, "count", Problem::WrongType { expected: "u8".to_owned() }),
            (r#"{"count": 300}"#, "count", Problem::WrongType { expected: "u8".to_owned() }),
        ] {
            let (at, found) = problem(json);
            // Serde adds where in the text it was, which a tree has not.
            let found = match found {
                Problem::WrongType { expected } => {
                    let (expected, _) = expected.split_once(" at line").unwrap();
                    Problem::WrongType { expected: expected.to_owned() }
                }
                other => other,
            };
            assert_eq!((at.as_str(), found), (path, expected), "{json}");
        }
    }

    #[test]
    fn a_check_names_its_key_first() {
        let (path, problem) =
            of_check("nand.channels: found 0, expected at least 1: one".to_owned());
        assert_eq!(path, ["nand", "channels"]);
        assert_eq!(problem, Problem::Said("found 0, expected at least 1: one".to_owned()));
    }
}
