//! Several generators together: side by side, each with its own region, sizes and rate, or one
//! after another.

use std::borrow::Cow;

use eraseblock_core::config::Nanos;
use eraseblock_core::host::Request;
use eraseblock_core::support::registry::About;
use rand_pcg::Pcg64;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::arrivals::{Arrivals, Clock, Timing};
use super::patterns::{below, check_span};
use super::random::{Urn, divide};
use super::{GenerateConfig, Generator, Given, Stream};

pub(crate) const ABOUT: About = About {
    title: "mixed",
    summary: "Several generators side by side, each with its own region, sizes and rate, or one \
        after another.",
    ..About::PLAIN
};

/// Parameters of a mixture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The parts by name, each a generator; their `requests` say how many each of them gives.
    pub streams: Streams,
    /// How the parts come together.
    pub order: Order,
    /// Requests in all, divided among the parts as their own `requests` are to one another.
    /// Default: their sum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Mean time from one request to the next with `order = "shuffle"`, in which the parts' own
    /// times do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Nanos>,
    /// How those times vary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// Seed of the whole; the parts draw apart from one another even where theirs are equal.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        let (streams, order) = (Streams::default(), Order::default());
        Self { streams, order, requests: None, interval: None, arrivals: None, seed: 1 }
    }
}

/// How the parts of a mixture come together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// By arrival: each part keeps its own times; of requests that arrive together, the first
    /// part's go first.
    #[default]
    Time,
    /// In random order; all parts end at about the same time.
    Shuffle,
    /// One part after another, as written; the times of each begin when the one before it has
    /// ended.
    Phases,
}

/// Generators by name, in the order in which they are written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Streams(Vec<(String, GenerateConfig)>);

impl Config {
    pub(crate) fn build(&self, given: &Given) -> Result<Generator, String> {
        let streams = &self.streams.0;
        if streams.is_empty() {
            return Err(
                "streams: names no part; write [workload.generate.streams.NAME] with kind = \
                 \"uniform\""
                    .to_owned(),
            );
        }
        for (key, is_set) in
            [("interval", self.interval.is_some()), ("arrivals", self.arrivals.is_some())]
        {
            if is_set && self.order != Order::Shuffle {
                return Err(format!(
                    "{key}: belongs to order = \"shuffle\"; in the others the parts have their own"
                ));
            }
        }
        let seed = given.seed.with_number(self.seed);
        let parts = |counts: Option<&[u64]>| -> Result<Vec<Generator>, String> {
            let build = |(index, (name, config)): (usize, &(String, GenerateConfig))| {
                let requests = counts.map(|counts| counts[index]);
                let given = Given { seed: seed.of_part(name), requests };
                let key = format!("streams.{name}");
                match config.build(&given) {
                    Ok(part) => Ok(part.at_key(&key)),
                    Err(problem) => Err(below(&key, &problem)),
                }
            };
            streams.iter().enumerate().map(build).collect()
        };
        let mut built = parts(None)?;
        let own: Vec<u64> = built.iter().map(Generator::requests).collect();
        let own_total = own
            .iter()
            .try_fold(0_u64, |sum, &count| sum.checked_add(count))
            .ok_or("streams: have more than 2^64 requests together")?;
        let requests = given.requests.or(self.requests).unwrap_or(own_total);
        if requests == 0 {
            return Err("requests: found 0, expected at least 1".to_owned());
        }
        let mut counts = own;
        if requests != own_total {
            let weights: Vec<f64> = counts.iter().map(|&count| count as f64).collect();
            counts = divide(requests, &weights);
            built = parts(Some(&counts))?;
        }
        Ok(match self.order {
            Order::Time => Generator::of_stream(requests, ByTime::new(built)),
            Order::Phases => Generator::of_stream(requests, Phases::new(built)),
            Order::Shuffle => {
                let interval = self.interval.unwrap_or_default();
                check_span(requests, interval)?;
                let arrivals = self.arrivals.clone().unwrap_or_default();
                let timing = Timing::new(interval.0, requests, &seed);
                let clock =
                    arrivals.build(&timing).map_err(|problem| below("arrivals", &problem))?;
                let random = seed.random("order");
                Generator::of_stream(
                    requests,
                    Shuffle { random, urn: Urn::new(counts), parts: built, clock },
                )
            }
        })
    }
}

/// What the parts could not meet.
fn missed(parts: &[Generator]) -> Vec<String> {
    parts.iter().flat_map(Generator::missed).collect()
}

/// Merges streams by arrival.
struct ByTime {
    parts: Vec<Generator>,
    /// The next request of each part.
    heads: Vec<Option<Request>>,
}

impl ByTime {
    fn new(mut parts: Vec<Generator>) -> Self {
        let heads = parts.iter_mut().map(Iterator::next).collect();
        Self { parts, heads }
    }
}

impl Stream for ByTime {
    fn missed(&self) -> Vec<String> {
        missed(&self.parts)
    }
}

impl Iterator for ByTime {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let arrival = |head: &Option<Request>| head.map(|request| request.arrival_ns);
        let first = (0..self.heads.len())
            .filter(|&part| self.heads[part].is_some())
            .min_by_key(|&part| arrival(&self.heads[part]))?;
        let next = self.parts[first].next();
        std::mem::replace(&mut self.heads[first], next)
    }
}

/// Draws the part of each request.
struct Shuffle {
    random: Pcg64,
    urn: Urn,
    parts: Vec<Generator>,
    clock: Clock,
}

impl Stream for Shuffle {
    fn missed(&self) -> Vec<String> {
        missed(&self.parts)
    }
}

impl Iterator for Shuffle {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let part = self.urn.draw(&mut self.random)?;
        let request = self.parts[part].next()?;
        Some(Request { arrival_ns: self.clock.next_ns(), ..request })
    }
}

/// Streams one after another.
struct Phases {
    parts: std::vec::IntoIter<Generator>,
    now: Option<Generator>,
    /// When the present part began, and when its last request arrived.
    begin_ns: u64,
    last_ns: u64,
    /// What the parts that have ended could not meet.
    missed: Vec<String>,
}

impl Phases {
    fn new(parts: Vec<Generator>) -> Self {
        let mut parts = parts.into_iter();
        Self { now: parts.next(), parts, begin_ns: 0, last_ns: 0, missed: Vec::new() }
    }
}

impl Stream for Phases {
    fn missed(&self) -> Vec<String> {
        let now = self.now.iter().flat_map(Generator::missed);
        self.missed.iter().cloned().chain(now).collect()
    }
}

impl Iterator for Phases {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        loop {
            let now = self.now.as_mut()?;
            if let Some(request) = now.next() {
                self.last_ns = self.begin_ns.saturating_add(request.arrival_ns);
                return Some(Request { arrival_ns: self.last_ns, ..request });
            }
            self.missed.extend(now.missed());
            self.begin_ns = self.last_ns;
            self.now = self.parts.next();
        }
    }
}

impl<'de> Deserialize<'de> for Streams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tables;
        impl<'de> Visitor<'de> for Tables {
            type Value = Streams;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a table of generators by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Streams, A::Error> {
                let mut streams = Vec::new();
                while let Some((name, config)) = map.next_entry::<String, GenerateConfig>()? {
                    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') {
                        return Err(de::Error::custom(format!(
                            "`{name}`: a part's name has letters, digits, _ and - only"
                        )));
                    }
                    streams.push((name, config));
                }
                Ok(Streams(streams))
            }
        }
        deserializer.deserialize_map(Tables)
    }
}

impl Serialize for Streams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, config) in &self.0 {
            map.serialize_entry(name, config)?;
        }
        map.end()
    }
}

impl JsonSchema for Streams {
    fn schema_name() -> Cow<'static, str> {
        "Streams".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "Generators by name.",
            "additionalProperties": generator.subschema_for::<GenerateConfig>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn requests(config: Value) -> Vec<Request> {
        let config: GenerateConfig = serde_json::from_value(config).unwrap();
        let back: GenerateConfig =
            serde_json::from_value(serde_json::to_value(&config).unwrap()).unwrap();
        assert_eq!(back, config);
        let generator = config.generator().unwrap();
        let count = generator.requests();
        let requests: Vec<_> = generator.collect();
        assert_eq!(requests.len() as u64, count);
        assert!(requests.is_sorted_by_key(|request| request.arrival_ns));
        requests
    }

    fn two(order: &str) -> Value {
        json!({"kind": "mixed", "order": order, "streams": {
            "log": {"kind": "sequential", "requests": 300, "footprint": "1 MiB", "interval": "10 us"},
            "data": {"kind": "uniform", "requests": 100, "start": "1 MiB", "footprint": "1 MiB", "interval": "30 us"},
        }})
    }

    fn in_log(requests: &[Request]) -> usize {
        requests.iter().filter(|request| request.offset < 1 << 20).count()
    }

    #[test]
    fn parts_come_together_as_asked() {
        let by_time = requests(two("time"));
        assert_eq!((by_time.len(), in_log(&by_time)), (400, 300));
        assert_eq!(in_log(&by_time[..40]), 30);
        let phases = requests(two("phases"));
        assert_eq!((in_log(&phases[..300]), in_log(&phases[300..])), (300, 0));
        assert_eq!((phases[299].arrival_ns, phases[300].arrival_ns), (2_990_000, 2_990_000));
        let shuffle = requests(two("shuffle"));
        assert_eq!(in_log(&shuffle), 300);
        assert!((20..=40).contains(&in_log(&shuffle[..40])));
    }

    #[test]
    fn a_number_of_requests_is_divided() {
        for order in ["time", "phases", "shuffle"] {
            let mut config = two(order);
            config["requests"] = 40.into();
            let requests = requests(config);
            assert_eq!((requests.len(), in_log(&requests)), (40, 30), "{order}");
        }
    }

    #[test]
    fn equal_parts_are_not_copies_of_one_another() {
        let part = json!({"kind": "uniform", "requests": 100, "footprint": "1 GiB"});
        let requests = requests(
            json!({"kind": "mixed", "order": "phases", "streams": {"a": part, "b": part}}),
        );
        assert_ne!(requests[0].offset, requests[100].offset);
    }

    #[test]
    fn wrong_parts_are_named() {
        for (config, part) in [
            (json!({"kind": "mixed"}), "generate.streams: names no part"),
            (
                json!({"kind": "mixed", "streams": {"a": {"kind": "zipf", "theta": 0}}}),
                "generate.streams.a.theta: found 0",
            ),
            (
                json!({"kind": "mixed", "interval": "1 us", "streams": {"a": "uniform"}}),
                "generate.interval: belongs to order",
            ),
            (
                json!({"kind": "mixed", "requests": 0, "streams": {"a": "uniform"}}),
                "generate.requests: found 0",
            ),
        ] {
            let parsed: GenerateConfig = serde_json::from_value(config.clone()).unwrap();
            let problem = parsed.generator().unwrap_err().to_string();
            assert!(problem.contains(part), "{config}: {problem}");
        }
    }
}
