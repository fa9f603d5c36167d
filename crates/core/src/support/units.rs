//! Sizes and times as people write them: `"16 MiB"`, `"25us"`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Bytes(pub u64);

/// A span of simulated time, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Nanos(pub u64);

/// Units of a quantity, largest first, the base unit last.
type Units = &'static [(&'static str, u64)];

const SIZE_UNITS: Units = &[
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];
/// Further spellings that are read, never printed.
const SIZE_ALIASES: Units = &[
    ("KB", 1_000),
    ("T", 1 << 40),
    ("G", 1 << 30),
    ("M", 1 << 20),
    ("K", 1 << 10),
    ("k", 1 << 10),
];
const TIME_UNITS: Units = &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
const TIME_ALIASES: Units = &[("min", 60_000_000_000), ("h", 3_600_000_000_000), ("µs", 1_000)];

/// Reads `text` as a number and one of the units, exactly: the product must be a whole number of
/// the base unit.
fn parse(text: &str, units: Units, aliases: Units, example: &str) -> Result<u64, String> {
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(trimmed.len());
    let (digits, unit) = (trimmed[..split].replace('_', ""), trimmed[split..].trim());
    let fail = |why: &str| Err(format!("`{text}` {why}; write it like {example}"));
    if trimmed.starts_with('-') {
        return fail("is negative");
    }
    let Some(&(_, scale)) = units.iter().chain(aliases).find(|(name, _)| *name == unit) else {
        let known: Vec<_> = units.iter().map(|(name, _)| *name).collect();
        return fail(&if unit.is_empty() {
            format!("has no unit (one of {})", known.join(", "))
        } else {
            format!("has the unknown unit `{unit}` (known: {})", known.join(", "))
        });
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    if whole.is_empty() || fraction.contains('.') || fraction.len() > 18 {
        return fail("does not start with a number");
    }
    let Ok(whole) = whole.parse::<u128>() else { return fail("does not start with a number") };
    let fraction_value = if fraction.is_empty() {
        0
    } else {
        fraction.parse::<u128>().map_err(|e| e.to_string())?
    };
    let denominator = 10u128.pow(fraction.len() as u32);
    let Some(total) =
        whole.checked_mul(u128::from(scale)).map(|w| (w, fraction_value * u128::from(scale)))
    else {
        return fail("is too large");
    };
    if total.1 % denominator != 0 {
        return fail(&format!("is not a whole number of {}", units[units.len() - 1].0));
    }
    u64::try_from(total.0 + total.1 / denominator).or_else(|_| fail("is too large"))
}

/// Prints `value` in the largest unit that divides it.
fn print(value: u64, units: Units, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (name, scale) = units
        .iter()
        .find(|(_, scale)| value != 0 && value.is_multiple_of(*scale))
        .unwrap_or(&units[units.len() - 1]);
    write!(f, "{} {name}", value / scale)
}

macro_rules! quantity {
    ($name:ident, $units:ident, $aliases:ident, $example:literal, $what:literal) => {
        impl FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                parse(text, $units, $aliases, $example).map($name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                print(self.0, $units, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!($what, " like ", $example))
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_i64<E: de::Error>(self, value: i64) -> Result<$name, E> {
                        if value == 0 {
                            Ok($name(0))
                        } else {
                            Err(E::custom(format!(concat!("{} has no unit; write it like ", $example), value)))
                        }
                    }
                    fn visit_u64<E: de::Error>(self, value: u64) -> Result<$name, E> {
                        self.visit_i64(i64::try_from(value).unwrap_or(i64::MAX))
                    }
                }
                deserializer.deserialize_any(Visitor)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "description": concat!($what, " like ", $example)})
            }
        }
    };
}

quantity!(Bytes, SIZE_UNITS, SIZE_ALIASES, "\"16 MiB\"", "a size");
quantity!(Nanos, TIME_UNITS, TIME_ALIASES, "\"25 us\"", "a time");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints_what_people_write() {
        for (text, value, printed) in [
            ("16 MiB", 16 << 20, "16 MiB"),
            ("16MiB", 16 << 20, "16 MiB"),
            ("1.5 KiB", 1536, "1536 B"),
            ("4k", 4096, "4 KiB"),
            ("0B", 0, "0 B"),
            ("1_000 kB", 1_000_000, "1 MB"),
        ] {
            let bytes: Bytes = text.parse().unwrap();
            assert_eq!((bytes.0, bytes.to_string().as_str()), (value, printed));
        }
        assert_eq!("25us".parse::<Nanos>().unwrap().to_string(), "25 us");
        assert_eq!("0.5 us".parse::<Nanos>().unwrap().0, 500);
        assert_eq!("2h".parse::<Nanos>().unwrap().to_string(), "7200 s");
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, part) in [
            ("16", "has no unit"),
            ("-4 MiB", "is negative"),
            ("16 MeB", "unknown unit `MeB`"),
            ("MiB", "does not start with a number"),
            ("1.5 B", "not a whole number of B"),
            ("99999999999 TiB", "is too large"),
        ] {
            let message = text.parse::<Bytes>().unwrap_err();
            assert!(message.contains(part), "{message}");
        }
    }
}
