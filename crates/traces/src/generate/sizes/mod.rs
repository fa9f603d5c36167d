//! Lengths of requests: one for all, a weighted list, or a distribution.

mod draw;
mod list;

use std::borrow::Cow;
use std::fmt;

use eraseblock_core::config::Bytes;
use eraseblock_core::support::registry::{options, split_kind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::Value;

pub(crate) use draw::SizeDraw;
pub use list::SizeList;

/// Lengths of requests.
#[derive(Debug, Clone, PartialEq)]
pub enum Sizes {
    /// One length for all.
    Fixed(Bytes),
    /// Several lengths with their weights.
    List(SizeList),
    /// The logarithm is normal.
    Lognormal(Lognormal),
    /// Exponential.
    Exponential(Exponential),
    /// Between two lengths, each multiple of the step equally likely.
    Uniform(Range),
}

/// Lognormal lengths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lognormal {
    /// Half of the lengths, before they are cut and rounded, are below this.
    pub median: Bytes,
    /// Deviation of their natural logarithm.
    pub sigma: f64,
    /// Shortest length; what is drawn below it becomes this.
    #[serde(default = "shortest")]
    pub min: Bytes,
    /// Longest length; what is drawn above it becomes this.
    #[serde(default = "longest")]
    pub max: Bytes,
    /// Lengths are rounded up to multiples of this.
    #[serde(default = "sector")]
    pub step: Bytes,
}

/// Exponential lengths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exponential {
    /// Mean, before lengths are cut and rounded.
    pub mean: Bytes,
    /// Shortest length; what is drawn below it becomes this.
    #[serde(default = "shortest")]
    pub min: Bytes,
    /// Longest length; what is drawn above it becomes this.
    #[serde(default = "longest")]
    pub max: Bytes,
    /// Lengths are rounded up to multiples of this.
    #[serde(default = "sector")]
    pub step: Bytes,
}

/// Lengths between two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Shortest length.
    pub min: Bytes,
    /// Longest length.
    pub max: Bytes,
    /// Lengths are multiples of this.
    #[serde(default = "sector")]
    pub step: Bytes,
}

fn shortest() -> Bytes {
    Bytes(512)
}

fn longest() -> Bytes {
    Bytes(1 << 20)
}

fn sector() -> Bytes {
    Bytes(512)
}

/// No request is longer.
const MAX: u64 = 1 << 32;

impl Sizes {
    /// Names of the distributions.
    const KINDS: [&str; 3] = ["lognormal", "exponential", "uniform"];

    /// The shortest and the longest length that can come.
    pub(crate) fn ends(&self) -> (u64, u64) {
        match self {
            Self::Fixed(size) => (size.0, size.0),
            Self::List(list) => list.ends(),
            Self::Lognormal(Lognormal { min, max, step, .. })
            | Self::Exponential(Exponential { min, max, step, .. })
            | Self::Uniform(Range { min, max, step, .. }) => {
                let rounded = |length: &Bytes| length.0.next_multiple_of(step.0.max(1));
                (rounded(min), rounded(max))
            }
        }
    }

    /// The longest of them.
    pub(crate) fn max(&self) -> u64 {
        self.ends().1
    }

    /// What is wrong with it, as `key: problem` below the key that holds the lengths.
    pub(crate) fn check(&self) -> Result<(), String> {
        let bounds = |min: Bytes, max: Bytes, step: Bytes| {
            if step.0 == 0 || min.0 == 0 {
                return Err(format!(
                    "{}: found 0 B, expected at least 1 B",
                    if step.0 == 0 { "step" } else { "min" }
                ));
            }
            if min > max {
                return Err(format!("max: found {max}, expected at least min = {min}"));
            }
            if max.0 > MAX || step.0 > MAX {
                return Err(format!(
                    "max: found {max} in steps of {step}, expected at most {}",
                    Bytes(MAX)
                ));
            }
            Ok(())
        };
        let above_zero = |key: &str, value: Bytes| {
            if value.0 == 0 {
                Err(format!("{key}: found 0 B, expected at least 1 B"))
            } else {
                Ok(())
            }
        };
        match self {
            Self::Fixed(Bytes(0)) => Err("found 0 B, expected at least 1 B".to_owned()),
            Self::Fixed(size) if size.0 > MAX => {
                Err(format!("found {size}, expected at most {}", Bytes(MAX)))
            }
            Self::Fixed(_) => Ok(()),
            Self::List(list) => list.check(),
            Self::Lognormal(Lognormal { median, sigma, min, max, step }) => {
                above_zero("median", *median)?;
                if !(*sigma >= 0.0 && *sigma <= 20.0) {
                    return Err(format!("sigma: found {sigma}, expected 0 to 20"));
                }
                bounds(*min, *max, *step)
            }
            Self::Exponential(Exponential { mean, min, max, step }) => {
                above_zero("mean", *mean)?;
                bounds(*min, *max, *step)
            }
            Self::Uniform(Range { min, max, step }) => {
                bounds(*min, *max, *step)?;
                if min.0 % step.0 != 0 || max.0 % step.0 != 0 {
                    return Err(format!(
                        "step: found {step}, of which min = {min} and max = {max} are not multiples"
                    ));
                }
                Ok(())
            }
        }
    }
}

impl Default for Sizes {
    fn default() -> Self {
        Self::Fixed(Bytes(4096))
    }
}

impl From<Bytes> for Sizes {
    fn from(size: Bytes) -> Self {
        Self::Fixed(size)
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(size) => size.fmt(f),
            other => write!(f, "up to {}", Bytes(other.max())),
        }
    }
}

impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value {
            Value::Object(table) if !table.contains_key("kind") => {
                SizeList::from_table(&table).map(Self::List).map_err(de::Error::custom)
            }
            Value::Object(_) => {
                let (kind, rest) =
                    split_kind(value, "distribution", &Self::KINDS).map_err(de::Error::custom)?;
                match kind.as_str() {
                    "lognormal" => options(rest).map(Self::Lognormal),
                    "exponential" => options(rest).map(Self::Exponential),
                    _ => options(rest).map(Self::Uniform),
                }
                .map_err(de::Error::custom)
            }
            other => serde_json::from_value(other).map(Self::Fixed).map_err(de::Error::custom),
        }
    }
}

impl Serialize for Sizes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, options) = match self {
            Self::Fixed(size) => return size.serialize(serializer),
            Self::List(list) => return list.to_table().serialize(serializer),
            Self::Lognormal(options) => ("lognormal", serde_json::to_value(options)),
            Self::Exponential(options) => ("exponential", serde_json::to_value(options)),
            Self::Uniform(options) => ("uniform", serde_json::to_value(options)),
        };
        let mut table = serde_json::Map::from_iter([("kind".to_owned(), kind.into())]);
        if let Value::Object(options) = options.map_err(ser::Error::custom)? {
            table.extend(options);
        }
        table.serialize(serializer)
    }
}

impl JsonSchema for Sizes {
    fn schema_name() -> Cow<'static, str> {
        "Sizes".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut choices =
            vec![generator.subschema_for::<Bytes>(), SizeList::json_schema(generator)];
        let distributions = [
            Lognormal::json_schema(generator),
            Exponential::json_schema(generator),
            Range::json_schema(generator),
        ];
        for (kind, mut schema) in Self::KINDS.into_iter().zip(distributions) {
            if let Some(properties) = schema.ensure_object()["properties"].as_object_mut() {
                properties.insert("kind".to_owned(), serde_json::json!({"const": kind}));
            }
            choices.push(schema);
        }
        json_schema!({
            "description": "a size, a table of sizes and weights, or a distribution",
            "anyOf": choices,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Sizes, String> {
        let table: toml::Table = toml::from_str(&format!("size = {text}")).unwrap();
        table["size"].clone().try_into::<Sizes>().map_err(|error| error.to_string())
    }

    #[test]
    fn reads_every_form_and_writes_it_back() {
        for (text, max) in [
            ("'4 KiB'", 4096),
            ("{ '4 KiB' = 70, '16 KiB' = 30 }", 16384),
            (
                "{ '4 KiB' = 70, '16 KiB' = 30, '64 KiB' = 1, mean = '9 KiB', keep = '4 KiB' }",
                65536,
            ),
            ("{ kind = 'lognormal', median = '8 KiB', sigma = 1.5 }", 1 << 20),
            ("{ kind = 'exponential', mean = '8 KiB', max = '10 KiB', step = '4 KiB' }", 12288),
            ("{ kind = 'uniform', min = '512 B', max = '8 KiB' }", 8192),
        ] {
            let sizes = parse(text).unwrap();
            sizes.check().unwrap();
            assert_eq!(sizes.max(), max, "{text}");
            let json = serde_json::to_value(&sizes).unwrap();
            assert_eq!(serde_json::from_value::<Sizes>(json).unwrap(), sizes, "{text}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, part) in [
            ("4096", "4096 has no unit"),
            ("'0 B'", "found 0 B"),
            ("'5 GiB'", "found 5 GiB, expected at most 4 GiB"),
            ("{ kind = 'normal' }", "unknown variant `normal`, expected one of `lognormal`"),
            ("{ kind = 'exponential', mean = '1 KiB', sigma = 2 }", "unknown field `sigma`"),
            (
                "{ kind = 'exponential', mean = '1 KiB', min = '2 MiB' }",
                "max: found 1 MiB, expected at least min",
            ),
            ("{ kind = 'lognormal', median = '1 KiB', sigma = -1.0 }", "sigma: found -1"),
            (
                "{ kind = 'uniform', min = '1 KiB', max = '1000 B' }",
                "max: found 1 kB, expected at least min",
            ),
            ("{ kind = 'uniform', min = '1 KiB', max = '1100 B' }", "step: found 512 B, of which"),
            ("{ kind = 'uniform', min = '1 KiB', max = '2 KiB', step = '0 B' }", "step: found 0 B"),
            ("{ }", "lists no size"),
            ("{ '4 KB' = 'x' }", "4 KB: found \"x\", expected a weight"),
            ("{ '4 KiB' = -1 }", "4 KiB: found -1, expected a weight"),
            ("{ '4 KiB' = 0 }", "all weights are 0"),
            ("{ '4 Ki' = 1 }", "unknown unit `Ki`"),
            ("{ '4 KiB' = 1, '8 KiB' = 1, mean = '9 KiB' }", "mean: found 9 KiB"),
            ("{ '4 KiB' = 1, '8 KiB' = 1, mean = '6 KiB', keep = '8 KiB' }", "keep: found 8 KiB"),
        ] {
            let problem = parse(text).and_then(|sizes| sizes.check()).unwrap_err();
            assert!(problem.contains(part), "{text}: {problem}");
        }
    }
}
