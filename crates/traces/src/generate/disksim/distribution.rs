//! `DiskSim`'s probability distributions.

use std::borrow::Cow;

use eraseblock_core::support::registry::{options, split_kind};
use rand_pcg::Pcg64;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::Value;

use crate::generate::random::{exponential, normal, unit};

/// A distribution of numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    /// Between two numbers.
    Uniform(Uniform),
    /// Normal.
    Normal(Normal),
    /// Exponential above a base.
    Exponential(Above),
    /// Poisson above a base.
    Poisson(Above),
    /// One of two numbers.
    TwoValue(TwoValue),
}

/// Between two numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uniform {
    /// Least number.
    pub min: f64,
    /// Greatest number.
    pub max: f64,
}

/// The second number of `DiskSim`'s normal distribution is called a variance in old files; its
/// loader takes it as the deviation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Normal {
    /// Mean.
    pub mean: f64,
    /// Standard deviation; either this or `variance`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<f64>,
    /// Square of the standard deviation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variance: Option<f64>,
}

impl Normal {
    fn sigma(&self) -> f64 {
        self.deviation.unwrap_or_else(|| libm::sqrt(self.variance.unwrap_or(0.0)))
    }
}

/// Numbers above a base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Above {
    /// Added to each number.
    #[serde(default)]
    pub base: f64,
    /// Mean above the base.
    pub mean: f64,
}

/// One of two numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TwoValue {
    /// The usual number.
    pub default: f64,
    /// The other one.
    pub second: f64,
    /// Probability of the other one.
    pub probability: f64,
}

/// Redraws before a number is given up; what is checked is usable once in a hundred times at least.
const DRAWS_MAX: u32 = 10_000;

/// Numbers are no larger than this.
const MAX: f64 = 1e12;

/// A Poisson number of a larger mean would take too long to draw.
const POISSON_MAX: f64 = 1e4;

impl Distribution {
    const KINDS: [&str; 5] = ["uniform", "normal", "exponential", "poisson", "twovalue"];

    pub(super) fn normal(mean: f64, deviation: f64) -> Self {
        Self::Normal(Normal { mean, deviation: Some(deviation), variance: None })
    }

    pub(super) fn normal_of_variance(mean: f64, variance: f64) -> Self {
        Self::Normal(Normal { mean, deviation: None, variance: Some(variance) })
    }

    pub(super) fn exponential(base: f64, mean: f64) -> Self {
        Self::Exponential(Above { base, mean })
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let numbers: Vec<(&str, f64)> = match self {
            Self::Uniform(of) => vec![("min", of.min), ("max", of.max)],
            Self::Normal(of) => vec![("mean", of.mean), ("deviation", of.sigma())],
            Self::Exponential(of) | Self::Poisson(of) => vec![("base", of.base), ("mean", of.mean)],
            Self::TwoValue(of) => vec![("default", of.default), ("second", of.second)],
        };
        if let Some((key, number)) =
            numbers.iter().find(|(_, number)| number.is_nan() || number.abs() > MAX)
        {
            return Err(format!("{key}: found {number}, expected -1e12 to 1e12"));
        }
        match self {
            Self::Uniform(of) if of.min > of.max => {
                Err(format!("max: found {}, expected at least min = {}", of.max, of.min))
            }
            Self::Normal(of) if of.deviation.is_some() == of.variance.is_some() => {
                Err("deviation: expected either this or `variance`".to_owned())
            }
            Self::Normal(of)
                if of.sigma().is_nan() || of.deviation.is_some_and(|deviation| deviation < 0.0) =>
            {
                Err(format!(
                    "deviation: found {}, expected 0 or more",
                    of.deviation.or(of.variance).unwrap_or(0.0)
                ))
            }
            Self::Exponential(of) | Self::Poisson(of) if of.mean < 0.0 => {
                Err(format!("mean: found {}, expected 0 or more", of.mean))
            }
            Self::Poisson(of) if of.mean > POISSON_MAX => {
                Err(format!("mean: found {}, expected at most {POISSON_MAX}", of.mean))
            }
            Self::TwoValue(of) if !(0.0..=1.0).contains(&of.probability) => {
                Err(format!("probability: found {}, expected 0 to 1", of.probability))
            }
            _ => Ok(()),
        }
    }

    /// Probability of a number below `limit`.
    pub(super) fn share_below(&self, limit: f64) -> f64 {
        let step = |number: f64| if number < limit { 1.0 } else { 0.0 };
        match self {
            Self::Uniform(of) if of.min < of.max => {
                ((limit - of.min) / (of.max - of.min)).clamp(0.0, 1.0)
            }
            Self::Uniform(of) => step(of.min),
            Self::Normal(of) if of.sigma() > 0.0 => {
                libm::erfc((of.mean - limit) / of.sigma() / std::f64::consts::SQRT_2) / 2.0
            }
            Self::Normal(of) => step(of.mean),
            Self::Exponential(of) if of.mean > 0.0 && limit > of.base => {
                -libm::expm1((of.base - limit) / of.mean)
            }
            Self::Exponential(of) if of.mean > 0.0 => 0.0,
            Self::Exponential(of) => step(of.base),
            Self::Poisson(of) => {
                let mut term = libm::exp(-of.mean);
                let mut sum = 0.0;
                let mut count = 0.0;
                while of.base + count < limit && count < of.mean * 2.0 + 100.0 {
                    sum += term;
                    count += 1.0;
                    term *= of.mean / count;
                }
                // The terms of a large mean are too small for a float; its mass lies about the
                // mean.
                if of.mean > 700.0 { step(of.base + of.mean) } else { f64::min(sum, 1.0) }
            }
            Self::TwoValue(of) => {
                step(of.second) * of.probability + step(of.default) * (1.0 - of.probability)
            }
        }
    }

    /// No draw but a rare one is larger.
    pub(super) fn typical_max(&self) -> f64 {
        match self {
            Self::Uniform(of) => of.max,
            Self::Normal(of) => of.mean + 4.0 * of.sigma(),
            Self::Exponential(of) | Self::Poisson(of) => of.base + 4.0 * of.mean,
            Self::TwoValue(of) => of.default.max(of.second),
        }
    }

    /// The next number.
    fn draw(&self, random: &mut Pcg64) -> f64 {
        match self {
            Self::Uniform(of) => of.min + unit(random) * (of.max - of.min),
            Self::Normal(of) => of.mean + normal(random) * of.sigma(),
            Self::Exponential(of) => of.base + exponential(random) * of.mean,
            Self::Poisson(of) => {
                // Arrivals of a process of rate 1 within `mean`.
                let mut left = of.mean - exponential(random);
                let mut count = 0.0;
                while left > 0.0 {
                    count += 1.0;
                    left -= exponential(random);
                }
                of.base + count
            }
            Self::TwoValue(of) => {
                if unit(random) < of.probability {
                    of.second
                } else {
                    of.default
                }
            }
        }
    }

    /// The next number that `fits`.
    pub(super) fn draw_until(&self, random: &mut Pcg64, fits: impl Fn(f64) -> bool) -> Option<f64> {
        (0..DRAWS_MAX).map(|_| self.draw(random)).find(|&number| fits(number))
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let (kind, rest) =
            split_kind(value, "distribution", &Self::KINDS).map_err(de::Error::custom)?;
        match kind.as_str() {
            "uniform" => options(rest).map(Self::Uniform),
            "normal" => options(rest).map(Self::Normal),
            "exponential" => options(rest).map(Self::Exponential),
            "poisson" => options(rest).map(Self::Poisson),
            _ => options(rest).map(Self::TwoValue),
        }
        .map_err(de::Error::custom)
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, options) = match self {
            Self::Uniform(of) => ("uniform", serde_json::to_value(of)),
            Self::Normal(of) => ("normal", serde_json::to_value(of)),
            Self::Exponential(of) => ("exponential", serde_json::to_value(of)),
            Self::Poisson(of) => ("poisson", serde_json::to_value(of)),
            Self::TwoValue(of) => ("twovalue", serde_json::to_value(of)),
        };
        let mut table = serde_json::Map::from_iter([("kind".to_owned(), kind.into())]);
        if let Value::Object(options) = options.map_err(ser::Error::custom)? {
            table.extend(options);
        }
        table.serialize(serializer)
    }
}

impl JsonSchema for Distribution {
    fn schema_name() -> Cow<'static, str> {
        "Distribution".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let tables = [
            Uniform::json_schema(generator),
            Normal::json_schema(generator),
            Above::json_schema(generator),
            Above::json_schema(generator),
            TwoValue::json_schema(generator),
        ];
        let mut choices = Vec::new();
        for (kind, mut schema) in Self::KINDS.into_iter().zip(tables) {
            if let Some(properties) = schema.ensure_object()["properties"].as_object_mut() {
                properties.insert("kind".to_owned(), serde_json::json!({"const": kind}));
            }
            choices.push(schema);
        }
        json_schema!({"description": "a distribution as a table with `kind`", "anyOf": choices})
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::generate::random::Seed;

    #[test]
    fn numbers_follow_their_distribution() {
        for (table, mean, variance, below_10) in [
            (json!({"kind": "uniform", "min": 2, "max": 14}), 8.0, 12.0, 8.0 / 12.0),
            (json!({"kind": "normal", "mean": 10, "deviation": 3}), 10.0, 9.0, 0.5),
            (json!({"kind": "normal", "mean": 10, "variance": 9}), 10.0, 9.0, 0.5),
            (
                json!({"kind": "exponential", "base": 1, "mean": 9}),
                10.0,
                81.0,
                1.0 - (-1.0_f64).exp(),
            ),
            (json!({"kind": "poisson", "base": 1, "mean": 4}), 5.0, 4.0, 0.97864),
            (
                json!({"kind": "twovalue", "default": 4, "second": 20, "probability": 0.25}),
                8.0,
                48.0,
                0.75,
            ),
        ] {
            let distribution: Distribution = serde_json::from_value(table.clone()).unwrap();
            distribution.check().unwrap();
            let mut random = Seed::default().random("numbers");
            let numbers: Vec<f64> = (0..100_000).map(|_| distribution.draw(&mut random)).collect();
            let found = numbers.iter().sum::<f64>() / 1e5;
            let spread = numbers.iter().map(|number| (number - found).powi(2)).sum::<f64>() / 1e5;
            let below = numbers.iter().filter(|&&number| number < 10.0).count() as f64 / 1e5;
            assert!((found / mean - 1.0).abs() < 0.01, "{table}: {found}");
            assert!((spread / variance - 1.0).abs() < 0.03, "{table}: {spread}");
            assert!((below - below_10).abs() < 0.01, "{table}: {below}");
            assert!((distribution.share_below(10.0) - below_10).abs() < 1e-4, "{table}");
        }
    }

    #[test]
    fn wrong_ones_are_refused() {
        for (table, part) in [
            (json!({"kind": "uniform", "min": 2, "max": 1}), "max: found 1"),
            (json!({"kind": "normal", "mean": 2}), "deviation: expected either this or `variance`"),
            (json!({"kind": "normal", "mean": 2, "variance": 1, "deviation": 1}), "either this or"),
            (json!({"kind": "normal", "mean": 2, "deviation": -1}), "deviation: found -1"),
            (json!({"kind": "exponential", "mean": -1}), "mean: found -1"),
            (json!({"kind": "poisson", "mean": 1e6}), "mean: found 1000000"),
            (
                json!({"kind": "twovalue", "default": 1, "second": 2, "probability": 2}),
                "probability: found 2",
            ),
            (json!({"kind": "exponential", "mean": 1e13}), "mean: found 1"),
        ] {
            let distribution: Distribution = serde_json::from_value(table.clone()).unwrap();
            let problem = distribution.check().unwrap_err();
            assert!(problem.contains(part), "{table}: {problem}");
        }
    }
}
