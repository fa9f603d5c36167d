//! Figures that metrics add to a report, by their keys in the record.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A tree of figures, as the record has them.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(transparent)]
pub struct Figures(Map<String, Value>);

impl Figures {
    /// Writes down a figure, which may be a struct of figures.
    ///
    /// # Panics
    /// It is no plain data: a map whose keys are no texts.
    pub fn set<T: Serialize>(&mut self, key: &str, figure: T) {
        let value = serde_json::to_value(figure).expect("figures are plain data");
        match key.split_once('.') {
            None => _ = self.0.insert(key.to_owned(), value),
            Some((head, rest)) => {
                let below = self.0.entry(head).or_insert_with(|| Value::Object(Map::new()));
                let mut inner = Self(below.as_object_mut().map(std::mem::take).unwrap_or_default());
                inner.set(rest, value);
                *below = Value::Object(inner.0);
            }
        }
    }

    /// The figure at a key such as `co_hit.read`.
    pub fn at(&self, key: &str) -> Option<&Value> {
        let (head, rest) = key.split_once('.').unwrap_or((key, ""));
        rest.split('.')
            .filter(|part| !part.is_empty())
            .try_fold(self.0.get(head)?, |value, part| value.get(part))
    }

    /// The figure at a key, as its metric wrote it; `None` where it is null.
    ///
    /// # Panics
    /// There is no such figure, or it is another type.
    #[track_caller]
    pub fn read<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let value = self.at(key).unwrap_or_else(|| panic!("no metric reports `{key}`"));
        T::deserialize(value)
            .map(Some)
            .or_else(|error| if value.is_null() { Ok(None) } else { Err(error) })
            .unwrap_or_else(|error| panic!("{key}: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dotted_keys_lie_in_one_another() {
        let mut figures = Figures::default();
        figures.set("a.b", 1);
        figures.set("a.c", Option::<u8>::None);
        figures.set("d", [2, 3]);
        assert_eq!(serde_json::to_string(&figures).unwrap(), r#"{"a":{"b":1,"c":null},"d":[2,3]}"#);
        assert_eq!(figures.read::<u8>("a.b"), Some(1));
        assert_eq!(figures.read::<u8>("a.c"), None);
        assert_eq!(figures.read::<Vec<u8>>("d"), Some(vec![2, 3]));
        assert_eq!(figures.at("a.x"), None);
    }
}
