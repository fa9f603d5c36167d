//! A list of lengths with their weights, some of which may be fitted to a mean.

use std::borrow::Cow;

use eraseblock_core::config::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::MAX;

/// Several lengths with their weights, as in `{ "4 KiB" = 70, "16 KiB" = 30 }`.
///
/// With `mean`, the lengths above `keep` (all, without it) are weighted anew so that the whole list
/// has that mean: weight x exp(c x length), the distribution with the mean asked for that is
/// nearest to the one written. Together they keep their share.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SizeList {
    weights: Vec<(Bytes, f64)>,
    mean: Option<Bytes>,
    keep: Option<Bytes>,
}

impl SizeList {
    pub(super) fn from_table(table: &Map<String, Value>) -> Result<Self, String> {
        let mut list = Self::default();
        for (key, value) in table {
            let size = |value: &Value| {
                serde_json::from_value(value.clone()).map_err(|error| format!("{key}: {error}"))
            };
            match key.as_str() {
                "mean" => list.mean = Some(size(value)?),
                "keep" => list.keep = Some(size(value)?),
                _ => {
                    let weight =
                        value.as_f64().filter(|weight| weight.is_finite() && *weight >= 0.0);
                    let weight = weight
                        .ok_or(format!("{key}: found {value}, expected a weight, 0 or more"))?;
                    list.weights.push((key.parse()?, weight));
                }
            }
        }
        Ok(list)
    }

    pub(super) fn to_table(&self) -> Map<String, Value> {
        let weights = self.weights.iter().map(|(size, weight)| (size.to_string(), json!(weight)));
        let fit = [("mean", self.mean), ("keep", self.keep)];
        let fit = fit.into_iter().filter_map(|(key, size)| Some((key.to_owned(), json!(size?))));
        weights.chain(fit).collect()
    }

    /// The shortest and the longest that can come.
    pub(super) fn ends(&self) -> (u64, u64) {
        let drawn = self.weights.iter().filter(|(_, weight)| *weight > 0.0).map(|(size, _)| size.0);
        (drawn.clone().min().unwrap_or(0), drawn.max().unwrap_or(0))
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.weights.is_empty() {
            return Err("lists no size; write { \"4 KiB\" = 70, \"16 KiB\" = 30 }".to_owned());
        }
        if let Some((size, _)) = self.weights.iter().find(|(size, _)| size.0 == 0 || size.0 > MAX) {
            return Err(format!("found {size}, expected 1 B to {}", Bytes(MAX)));
        }
        if self.ends().1 == 0 {
            return Err("all weights are 0".to_owned());
        }
        if let (None, Some(keep)) = (self.mean, self.keep) {
            return Err(format!("keep: found {keep} without `mean`, which it goes with"));
        }
        let Some(mean) = self.mean else { return Ok(()) };
        let free =
            self.weights.iter().filter(|(size, weight)| *weight > 0.0 && self.is_free(*size));
        let (mut low, mut high) = self
            .weights
            .iter()
            .filter(|(size, _)| !self.is_free(*size))
            .fold((0.0, 0.0), |(low, high), (size, weight)| {
                (low + size.0 as f64 * weight, high + size.0 as f64 * weight)
            });
        let share: f64 = free.clone().map(|(_, weight)| weight).sum();
        let sizes: Vec<u64> = free.map(|(size, _)| size.0).collect();
        let (Some(&min), Some(&max)) = (sizes.iter().min(), sizes.iter().max()) else {
            let keep = self.keep.unwrap_or_default();
            return Err(format!(
                "keep: found {keep}, above which no size is listed to be fitted to the mean"
            ));
        };
        let total: f64 = self.weights.iter().map(|(_, weight)| weight).sum();
        low = (low + share * min as f64) / total;
        high = (high + share * max as f64) / total;
        let wanted = mean.0 as f64;
        if wanted <= low || wanted >= high {
            return Err(format!(
                "mean: found {mean}, expected more than {low:.0} B and less than {high:.0} B, \
                 which these sizes allow"
            ));
        }
        Ok(())
    }

    /// Lengths and weights, fitted to the mean; the list has been checked.
    pub(crate) fn fitted(&self) -> Vec<(u64, f64)> {
        let plain: Vec<_> = self.weights.iter().map(|&(size, weight)| (size.0, weight)).collect();
        let Some(mean) = self.mean else { return plain };
        let total: f64 = plain.iter().map(|(_, weight)| weight).sum();
        let free: Vec<bool> = self.weights.iter().map(|(size, _)| self.is_free(*size)).collect();
        let share: f64 =
            plain.iter().zip(&free).filter(|(_, free)| **free).map(|((_, w), _)| w).sum();
        let scale = self.ends().1 as f64;
        let tilted = |c: f64| -> Vec<(u64, f64)> {
            // Relative to the largest exponent, so that nothing overflows.
            let top = if c > 0.0 { c } else { 0.0 };
            let tilt = |size: u64| libm::exp(c * (size as f64 / scale) - top);
            let sum: f64 = plain
                .iter()
                .zip(&free)
                .filter(|(_, free)| **free)
                .map(|((s, w), _)| w * tilt(*s))
                .sum();
            plain
                .iter()
                .zip(&free)
                .map(|(&(size, weight), &free)| {
                    (size, if free { weight * tilt(size) * share / sum } else { weight })
                })
                .collect()
        };
        let mean_of = |weights: &[(u64, f64)]| {
            weights.iter().map(|(size, weight)| *size as f64 * weight).sum::<f64>() / total
        };
        let (mut low, mut high) = (-700.0, 700.0);
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            if mean_of(&tilted(middle)) < mean.0 as f64 {
                low = middle;
            } else {
                high = middle;
            }
        }
        tilted(f64::midpoint(low, high))
    }

    fn is_free(&self, size: Bytes) -> bool {
        self.keep.is_none_or(|keep| size > keep)
    }
}

impl JsonSchema for SizeList {
    fn schema_name() -> Cow<'static, str> {
        "SizeList".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let bytes = |description: &str, generator: &mut SchemaGenerator| {
            let mut schema = generator.subschema_for::<Bytes>();
            schema.insert("description".to_owned(), description.into());
            schema
        };
        json_schema!({
            "type": "object",
            "description": "Sizes and their weights, as in { \"4 KiB\" = 70, \"16 KiB\" = 30 }.",
            "properties": {
                "mean": bytes("The sizes above `keep` are weighted anew so that the list has this \
                    mean.", generator),
                "keep": bytes("Sizes up to this keep their weights. Default: none does.", generator),
            },
            "additionalProperties": {"type": "number", "minimum": 0},
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(table: &Value) -> SizeList {
        let list = SizeList::from_table(table.as_object().unwrap()).unwrap();
        list.check().unwrap();
        list
    }

    #[test]
    fn the_mean_is_met_and_what_is_kept_stays() {
        let list = list(&json!({
            "4 KiB": 77, "8 KiB": 7, "12 KiB": 6, "16 KiB": 3, "64 KiB": 4, "512 KiB": 3,
            "mean": "9800 B", "keep": "12 KiB",
        }));
        let fitted = list.fitted();
        let mean = fitted.iter().map(|(size, weight)| *size as f64 * weight).sum::<f64>() / 100.0;
        assert!((mean - 9800.0).abs() < 1e-3, "{mean}");
        assert_eq!(&fitted[..3], [(4096, 77.0), (8192, 7.0), (12288, 6.0)]);
        assert!((fitted[3..].iter().map(|(_, weight)| weight).sum::<f64>() - 10.0).abs() < 1e-9);
        assert!(fitted.iter().all(|(_, weight)| *weight > 0.0));
    }

    #[test]
    fn means_near_the_ends_are_met_too() {
        for mean in ["4097 B", "65000 B"] {
            let list = list(&json!({"4 KiB": 1, "16 KiB": 1, "64 KiB": 1, "mean": mean}));
            let fitted = list.fitted();
            let sum: f64 = fitted.iter().map(|(_, weight)| weight).sum();
            let found =
                fitted.iter().map(|(size, weight)| *size as f64 * weight).sum::<f64>() / sum;
            let wanted = mean.parse::<Bytes>().unwrap().0 as f64;
            assert!((found / wanted - 1.0).abs() < 1e-6, "{mean}: {found}");
        }
    }
}
