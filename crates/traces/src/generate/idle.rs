//! Options of generators that do nothing beside the others.

use eraseblock_core::device::idle::idle_options;
use serde_json::Value as Json;

use super::{GenerateConfig, registry};

impl GenerateConfig {
    /// Options that do nothing, whatever their values, and why; the generator stands at `path`.
    pub(crate) fn idle_settings(&self, path: &str) -> Vec<(String, String)> {
        let options = serde_json::to_value(self).unwrap_or_default();
        let needs = registry()
            .iter()
            .find(|entry| entry.name == self.name())
            .map_or(&[][..], |one| one.about.needs);
        let idle = idle_options(path, needs, &options);
        let mut found: Vec<_> = idle.into_iter().map(|idle| (idle.key, idle.why)).collect();
        let at_once = options["interval"] == "0 ns";
        if at_once && options.get("arrivals").is_some() {
            found.push((
                format!("{path}.arrivals"),
                format!("{path}.interval is 0: all requests arrive at once"),
            ));
        }
        if self.name() == "sequential" && !draws(&options, at_once) {
            let why = "one size, one operation and even arrivals leave nothing to draw".to_owned();
            found.push((format!("{path}.seed"), why));
        }
        found
    }
}

/// Whether a generator of requests one behind the other draws anything.
fn draws(options: &Json, at_once: bool) -> bool {
    let shares = ["read_share", "trim_share", "flush_share"];
    let mixed = shares
        .iter()
        .any(|share| options[share].as_f64().is_some_and(|share| share > 0.0 && share < 1.0));
    let arrivals = !at_once && options["arrivals"]["kind"] != "constant";
    mixed || arrivals || !options["size"].is_string()
}
