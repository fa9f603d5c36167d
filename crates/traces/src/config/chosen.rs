//! Which volumes and which operations of a workload are replayed, as a configuration writes them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use eraseblock_core::host::Op;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::error::nearest;

/// Which operations of a workload are replayed; what is left out is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ops(u8);

/// Operations by the names that a configuration gives them.
const NAMES: [(Op, &str); 4] =
    [(Op::Read, "read"), (Op::Write, "write"), (Op::Trim, "trim"), (Op::Flush, "flush")];

impl Ops {
    /// `r`: reads only.
    pub const R: Self = Self(1 << Op::Read as u8);
    /// `w`: all but reads: writes, trims and flushes.
    pub const W: Self = Self(Self::RW.0 ^ Self::R.0);
    /// `rw`: everything.
    pub const RW: Self = Self(15);

    /// True if requests of this operation are replayed.
    #[inline]
    #[must_use]
    pub fn contains(self, op: Op) -> bool {
        self.0 >> op as u8 & 1 == 1
    }
}

impl Default for Ops {
    fn default() -> Self {
        Self::RW
    }
}

impl FromStr for Ops {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "r" => return Ok(Self::R),
            "w" => return Ok(Self::W),
            "rw" => return Ok(Self::RW),
            _ => {}
        }
        let mut ops = Self(0);
        for name in text.split(',').map(str::trim) {
            let Some((op, _)) = NAMES.iter().find(|(_, known)| *known == name) else {
                let hint = match nearest(name, NAMES.iter().map(|(_, known)| *known)) {
                    Some(near) => format!("; did you mean `{near}`?"),
                    None => String::new(),
                };
                return Err(format!(
                    "found `{text}`, expected \"r\" (reads), \"w\" (all but reads), \"rw\" \
                     (everything), or some of read,write,trim,flush{hint}"
                ));
            };
            ops.0 |= 1 << *op as u8;
        }
        Ok(ops)
    }
}

impl fmt::Display for Ops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::R => f.write_str("r"),
            Self::W => f.write_str("w"),
            Self::RW => f.write_str("rw"),
            some => {
                let names: Vec<_> = NAMES
                    .iter()
                    .filter(|(op, _)| some.contains(*op))
                    .map(|(_, name)| *name)
                    .collect();
                f.write_str(&names.join(","))
            }
        }
    }
}

impl Serialize for Ops {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ops {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Ops {
    fn schema_name() -> Cow<'static, str> {
        "Ops".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Which operations of a workload are replayed; what is left out is \
                counted. \"r\": reads; \"w\": all but reads (writes, trims and flushes); \"rw\": \
                everything; or some of read, write, trim and flush, as in \"write,flush\".",
            "type": "string",
            "pattern": "^(r|w|rw|(read|write|trim|flush)(, *(read|write|trim|flush))*)$",
        })
    }
}

/// Which volumes of a trace are replayed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Volumes {
    /// All, one after another.
    #[default]
    Concat,
    /// These, in ascending order: one at its own addresses, several one after another.
    Only(Vec<u32>),
    /// Each of these in a run of its own. Whoever makes the runs puts a number in its place.
    Each(Which),
}

/// Of which volumes there is a run each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// All, in ascending order.
    All,
    /// These, in ascending order.
    Named(Vec<u32>),
    /// So many of those with the most requests, the busiest first.
    Busiest(u32),
}

const EXPECTED_VOLUMES: &str = "\"concat\", the number of a volume, several as in \"0,2,5-7\", or \
    for a run of each \"each\", \"each:0,2,5-7\" or \"busiest:20\"";

/// Ranges are written out; more volumes than this would be a slip of the pen.
const MAX_RANGE: u32 = 1 << 16;

impl Volumes {
    /// True if requests on `volume` are replayed.
    #[inline]
    #[must_use]
    pub fn contain(&self, volume: u32) -> bool {
        match self {
            Self::Concat | Self::Each(_) => true,
            Self::Only(numbers) => numbers.binary_search(&volume).is_ok(),
        }
    }

    /// The volume that is replayed alone, if one is.
    #[must_use]
    pub fn single(&self) -> Option<u32> {
        match self {
            Self::Only(numbers) if numbers.len() == 1 => Some(numbers[0]),
            _ => None,
        }
    }
}

impl FromStr for Volumes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = match text.split_once(':').map(|(way, which)| (way.trim(), which)) {
            None if text == "concat" => Some(Self::Concat),
            None if text == "each" => Some(Self::Each(Which::All)),
            None => numbers_of(text).map(Self::Only),
            Some(("each", some)) => numbers_of(some).map(Which::Named).map(Self::Each),
            Some(("busiest", count)) => count
                .trim()
                .parse()
                .ok()
                .filter(|&count| count > 0)
                .map(Which::Busiest)
                .map(Self::Each),
            Some(_) => None,
        };
        found.ok_or_else(|| format!("found `{text}`, expected {EXPECTED_VOLUMES}"))
    }
}

/// Numbers and ranges of them between commas, in ascending order.
fn numbers_of(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().ok()?;
        let last: u32 = last.trim().parse().ok()?;
        if first > last || last - first >= MAX_RANGE {
            return None;
        }
        numbers.extend(first..=last);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

fn listed(numbers: &[u32]) -> String {
    let numbers: Vec<_> = numbers.iter().map(u32::to_string).collect();
    numbers.join(",")
}

impl fmt::Display for Volumes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Concat => f.write_str("concat"),
            Self::Only(numbers) => f.write_str(&listed(numbers)),
            Self::Each(Which::All) => f.write_str("each"),
            Self::Each(Which::Named(numbers)) => write!(f, "each:{}", listed(numbers)),
            Self::Each(Which::Busiest(count)) => write!(f, "busiest:{count}"),
        }
    }
}

impl Serialize for Volumes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Only(numbers) if numbers.len() == 1 => serializer.serialize_u32(numbers[0]),
            some => serializer.collect_str(some),
        }
    }
}

impl<'de> Deserialize<'de> for Volumes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Volumes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED_VOLUMES)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Volumes, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Volumes, E> {
                let volume = u32::try_from(number);
                let volume = volume
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))?;
                Ok(Volumes::Only(vec![volume]))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Volumes, E> {
                let volume = u64::try_from(number);
                let volume =
                    volume.map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))?;
                self.visit_u64(volume)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Volumes {
    fn schema_name() -> Cow<'static, str> {
        "Volumes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": EXPECTED_VOLUMES,
            "oneOf": [
                {"type": "string", "pattern": "^(concat|each|busiest: *0*[1-9][0-9]*|(each: *)?[0-9]+( *- \
                    *[0-9]+)?( *, *[0-9]+( *- *[0-9]+)?)*)$"},
                {"type": "integer", "minimum": 0, "maximum": u32::MAX},
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_letters_or_names() {
        for (text, kinds, shown) in [
            ("r", vec![Op::Read], "r"),
            ("w", vec![Op::Write, Op::Trim, Op::Flush], "w"),
            ("rw", vec![Op::Read, Op::Write, Op::Trim, Op::Flush], "rw"),
            ("write", vec![Op::Write], "write"),
            ("flush, write", vec![Op::Write, Op::Flush], "write,flush"),
            ("read", vec![Op::Read], "r"),
        ] {
            let ops: Ops = text.parse().unwrap();
            let found: Vec<_> =
                NAMES.iter().map(|(op, _)| *op).filter(|op| ops.contains(*op)).collect();
            assert_eq!((found, ops.to_string().as_str()), (kinds, shown));
            assert_eq!(shown.parse(), Ok(ops));
        }
        for text in ["", "x", "wr", "read,", "R"] {
            assert!(text.parse::<Ops>().unwrap_err().contains("read,write,trim,flush"), "{text}");
        }
        assert!("reads".parse::<Ops>().unwrap_err().ends_with("did you mean `read`?"));
    }

    #[test]
    fn volumes_are_numbers_and_ranges() {
        for (text, numbers, shown) in [
            ("3", vec![3], "3"),
            ("5,0", vec![0, 5], "0,5"),
            (" 2-4, 3,9", vec![2, 3, 4, 9], "2,3,4,9"),
        ] {
            let volumes: Volumes = text.parse().unwrap();
            assert_eq!(volumes, Volumes::Only(numbers));
            assert_eq!((volumes.to_string().as_str(), shown.parse()), (shown, Ok(volumes)));
        }
        for (text, which, shown) in [
            ("each", Which::All, "each"),
            ("each: 5, 0-1", Which::Named(vec![0, 1, 5]), "each:0,1,5"),
            ("busiest:020", Which::Busiest(20), "busiest:20"),
        ] {
            let volumes: Volumes = text.parse().unwrap();
            assert_eq!(volumes, Volumes::Each(which));
            assert_eq!((volumes.to_string().as_str(), shown.parse()), (shown, Ok(volumes)));
        }
        for text in [
            "",
            "all",
            "1,",
            "-1",
            "3-1",
            "0-4294967295",
            "1.5",
            "each:",
            "busiest",
            "busiest:0",
            "busiest:x",
            "idlest:3",
        ] {
            assert!(
                text.parse::<Volumes>().unwrap_err().contains("\"concat\", the number"),
                "{text}"
            );
        }
    }
}
