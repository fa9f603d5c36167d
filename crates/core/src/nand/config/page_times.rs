//! Times of the pages of multi-level cells: `"25us"`, or `"40us / 65us"` where the page types of a
//! wordline differ.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::support::units::Nanos;

/// One time for each type of page, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageTimes(Vec<Nanos>);

impl PageTimes {
    /// The times, by type.
    pub fn each(&self) -> &[Nanos] {
        &self.0
    }
}

impl From<Nanos> for PageTimes {
    fn from(time: Nanos) -> Self {
        Self(vec![time])
    }
}

impl FromStr for PageTimes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split('/').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for PageTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, time) in self.0.iter().enumerate() {
            write!(f, "{}{time}", if i == 0 { "" } else { " / " })?;
        }
        Ok(())
    }
}

impl Serialize for PageTimes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PageTimes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = PageTimes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a time like \"25 us\", or one for each type of page like \"40 us / 65 us\"",
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<PageTimes, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<PageTimes, E> {
                if value == 0 {
                    Ok(Nanos(0).into())
                } else {
                    Err(E::custom(format!("{value} has no unit; write it like \"25 us\"")))
                }
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<PageTimes, E> {
                self.visit_i64(i64::try_from(value).unwrap_or(i64::MAX))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for PageTimes {
    fn schema_name() -> Cow<'static, str> {
        "PageTimes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "a time like \"25 us\", or one for each type of page like \"40 us / 65 \
                us\"",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints_one_time_or_several() {
        for (text, times, printed) in [
            ("25us", vec![25_000], "25 us"),
            ("40us/65 us", vec![40_000, 65_000], "40 us / 65 us"),
            ("1ms / 2ms / 3ms", vec![1_000_000, 2_000_000, 3_000_000], "1 ms / 2 ms / 3 ms"),
        ] {
            let read: PageTimes = text.parse().unwrap();
            assert_eq!(read.each().iter().map(|time| time.0).collect::<Vec<_>>(), times);
            assert_eq!(read.to_string(), printed);
        }
        assert!("40us /".parse::<PageTimes>().unwrap_err().contains("has no unit"));
    }
}
