//! How fast each registered generator makes requests.

use std::time::Instant;

use eraseblock_traces::{GenerateConfig, generators};
use serde::Serialize;
use serde_json::{Value, json};

use crate::drive::Scale;

/// Rate of one generator.
#[derive(Debug, Clone, Serialize)]
pub struct MakeRate {
    /// The generator.
    pub name: &'static str,
    /// Requests a second, in millions.
    pub rate: f64,
    /// A hash of its requests.
    pub hash: String,
}

/// All registered generators.
///
/// # Errors
/// One cannot be built.
pub fn rates(scale: Scale) -> Result<Vec<MakeRate>, String> {
    generators().iter().map(|entry| rate(entry.name, scale)).collect()
}

/// One generator with its defaults, a mean interval of 50 us and sizes and operations that vary:
/// the best of several runs.
fn rate(name: &'static str, scale: Scale) -> Result<MakeRate, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{name}: {error}");
    let config: GenerateConfig =
        serde_json::from_value(options(name, scale.requests)).map_err(|error| failed(&error))?;
    let (mut seconds, mut hash) = (f64::INFINITY, String::new());
    for _ in 0..scale.runs {
        let generator = config.generator().map_err(|error| failed(&error))?;
        let start = Instant::now();
        let (mut sum, mut count) = (0_u64, 0);
        for request in generator {
            sum = sum.rotate_left(5).wrapping_mul(31)
                ^ request.offset
                ^ request.len
                ^ request.arrival_ns;
            count += 1;
        }
        seconds = start.elapsed().as_secs_f64().min(seconds);
        if count != scale.requests {
            return Err(format!("{name}: made {count} requests, expected {}", scale.requests));
        }
        hash = format!("{sum:016x}");
    }
    Ok(MakeRate { name, rate: scale.requests as f64 / 1e6 / seconds, hash })
}

fn options(name: &str, requests: u64) -> Value {
    let pattern = json!({
        "kind": name, "requests": requests, "read_share": 0.3, "size": {"4 KiB": 70, "16 KiB": 20, "64 KiB": 10},
        "interval": "50 us", "arrivals": "exponential",
    });
    let part = |kind: &str| {
        let mut part = pattern.clone();
        part["kind"] = kind.into();
        part
    };
    match name {
        "mixed" => json!({
            "kind": name, "requests": requests, "streams": {"a": part("uniform"), "b": part("zipf")},
        }),
        "disksim" | "calibrated" => json!({"kind": name, "requests": requests}),
        "standin" => json!({"kind": name, "name": "hbm-financial", "requests": requests}),
        _ => pattern,
    }
}
