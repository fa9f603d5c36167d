//! The paths: every FTL, every buffer, and what a request can meet on its way. Drives are small and
//! runs short: instructions for a request hardly depend on either.

use eraseblock_core::buffer::BufferConfig;
use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, Options};
use eraseblock_core::ftl::MappingConfig;
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Metric;
use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

/// Processes that the paths are divided among.
pub const PARTS: usize = 2;

/// Requests before anything is counted, as a multiple of those that are.
const WARM_UP: u64 = 2;

const PAGE: u64 = 4096;

/// What the host asks for.
#[derive(Debug, Clone, Copy)]
struct Load {
    /// Pages that it chooses from, uniformly.
    pages: u64,
    /// Pages of a request.
    length: u64,
    /// Of 256 requests, how many read.
    reads: u64,
    /// A flush command after so many requests, or none.
    flush_after: u64,
    /// A trim in place of a write after so many requests, or none.
    trim_after: u64,
}

impl Load {
    const WRITES: Self = Self { pages: 2048, length: 1, reads: 0, flush_after: 0, trim_after: 0 };
}

/// One path.
#[derive(Debug)]
pub struct Path {
    /// What the baseline calls it.
    pub name: String,
    config: Value,
    load: Load,
    requests: u64,
    verify: bool,
    metrics: bool,
}

impl Path {
    fn new(name: String, over: &Value, load: Load) -> Self {
        let mut config = json!({
            "nand": {
                "channels": 2, "chips_per_channel": 2, "dies_per_chip": 1, "planes_per_die": 2,
                "blocks_per_plane": 32, "pages_per_block": 16, "page_size": "4 KiB",
                "program_order": "ascending",
                "timing": {"read": "75us", "program": "750us", "erase": "3800us", "transfer": "10us"},
            },
            "ftl": {"exported": "8 MiB", "mapping": "page"},
            "buffer": {"size": "512 KiB", "scheme": "none"},
            "host": {"replay": "closed", "max_outstanding": 4},
            "precondition": {"state": "full"},
        });
        lay_over(&mut config, over);
        Self { name, config, load, requests: 1000, verify: false, metrics: false }
    }

    /// What a count is divided by.
    pub fn steps(&self) -> u64 {
        self.requests
    }

    /// Builds and fills the drive and warms it up; then serves the requests between two calls of
    /// `border`.
    ///
    /// # Errors
    /// As the drive's, with the path's name.
    pub fn run(&self, border: impl Fn()) -> Result<(), String> {
        let told = |error: &dyn std::fmt::Display| format!("{}: {error}", self.name);
        let config = DeviceConfig::from_json(self.config.clone()).map_err(|e| told(&e))?;
        let mut device =
            Device::new(&config, Options { verify: self.verify }).map_err(|e| told(&e))?;
        device.precondition().map_err(|e| told(&e))?;
        let requests = self.all_requests();
        if device.needs_future() {
            let all = requests.iter().copied().map(Ok);
            device.foresee::<eraseblock_core::device::DeviceError>(all).map_err(|e| told(&e))?;
        }
        if self.metrics {
            Metric::all().for_each(|metric| device.keep(metric));
        }
        let (before, counted) = requests.split_at((WARM_UP * self.requests) as usize);
        device.submit_all(before).1.map_err(|e| told(&e))?;
        border();
        device.submit_all(counted).1.map_err(|e| told(&e))?;
        border();
        device.finish().map(|_| ()).map_err(|e| told(&e))
    }

    fn all_requests(&self) -> Vec<Request> {
        let Load { pages, length, reads, flush_after, trim_after } = self.load;
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let one = |number: u64| {
            let random = rng.next_u64();
            let is_due = |after: u64| after > 0 && number % after == after - 1;
            let op = if is_due(flush_after) {
                Op::Flush
            } else if is_due(trim_after) {
                Op::Trim
            } else if random & 255 < reads {
                Op::Read
            } else {
                Op::Write
            };
            let first = ((random >> 32) * (pages - length + 1)) >> 32;
            let (offset, len) =
                if op == Op::Flush { (0, 0) } else { (first * PAGE, length * PAGE) };
            Request { arrival_ns: 0, op, offset, len, volume: 0, fua: false }
        };
        (0..(WARM_UP + 1) * self.requests).map(one).collect()
    }
}

fn lay_over(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) if !over.contains_key("kind") => {
            for (key, value) in over {
                lay_over(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

/// All of them, in a fixed order.
pub fn all() -> Vec<Path> {
    let mut all = Vec::new();
    for ftl in MappingConfig::NAMES {
        let over = json!({"ftl": {"mapping": ftl}});
        all.push(Path::new(format!("ftl {ftl}, timed writes"), &over, Load::WRITES));
    }
    // Twice as many pages as the buffer holds.
    let accesses = Load { pages: 256, reads: 128, ..Load::WRITES };
    for buffer in BufferConfig::NAMES {
        let over = json!({"buffer": {"scheme": buffer}, "host": {"replay": "untimed"}});
        all.push(Path::new(format!("buffer {buffer}, untimed accesses"), &over, accesses));
    }
    let none = json!({});
    let half = Load { reads: 128, ..Load::WRITES };
    let units = json!({"nand": {"pages_per_program": 2, "multi_plane": true,
                                "program_order": "sequential"}});
    let able = json!({"nand": {"scheduling": "read-first", "two_plane": {"same_page": false},
                               "suspend": {"latency": "20us"}}});
    let cached = json!({"ftl": {"mapping": {"kind": "dftl", "cache": 64, "entries_per_page": 64}}});
    let large = json!({"nand": {"channels": 8, "chips_per_channel": 4, "dies_per_chip": 2,
                                "blocks_per_plane": 8},
                       "ftl": {"exported": "32 MiB"},
                       "host": {"max_outstanding": 32}});
    let mut more = |name: &str, over: &Value, load| {
        all.push(Path::new(name.to_owned(), over, load));
    };
    more("untimed writes", &json!({"host": {"replay": "untimed"}}), Load::WRITES);
    more("ftl dftl, most of its map on flash", &cached, Load::WRITES);
    more("timed reads", &none, Load { reads: 256, ..Load::WRITES });
    more("timed requests of 64 KiB", &none, Load { length: 16, reads: 128, ..Load::WRITES });
    more("timed accesses through lru", &json!({"buffer": {"scheme": "lru"}}), accesses);
    more("timed accesses through hbm", &json!({"buffer": {"scheme": "hbm"}}), accesses);
    // Its experts see one logical block of four, as from 2048 pages on.
    let sampled = json!({"buffer": {"scheme": {"kind": "ensemble", "sample": 32}},
                         "host": {"replay": "untimed"}});
    more("untimed accesses through ensemble, sampled", &sampled, accesses);
    more("program units", &units, half);
    more("two planes, suspension", &able, half);
    more("flush commands", &json!({"buffer": {"scheme": "lru"}}), Load { flush_after: 8, ..half });
    more("trims", &none, Load { trim_after: 4, ..half });
    all.push(Path { verify: true, ..Path::new("every read verified".to_owned(), &none, half) });
    all.push(Path { metrics: true, ..Path::new("all metrics".to_owned(), &none, half) });
    all.push(Path::new("page writes on 64 dies".to_owned(), &large, Load::WRITES));
    all
}

/// Those of one process.
pub fn part(part: usize) -> Vec<Path> {
    all().into_iter().skip(part).step_by(PARTS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn every_path_runs_and_is_counted_once() {
        for path in all() {
            let borders = Cell::new(0);
            path.run(|| borders.set(borders.get() + 1)).unwrap();
            assert_eq!(borders.get(), 2, "{}", path.name);
        }
        let names: std::collections::BTreeSet<_> = all().into_iter().map(|p| p.name).collect();
        assert_eq!(names.len(), all().len());
        let in_parts: usize = (0..PARTS).map(|n| part(n).len()).sum();
        assert_eq!(in_parts, names.len());
    }
}
