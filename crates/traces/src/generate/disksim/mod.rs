//! The synthetic generator of `DiskSim` 4.0.
//!
//! Of each request it is drawn whether it follows the one before (*sequential*: right behind it, as
//! long, and of the same direction), lies at a drawn distance from it (*local*), or anywhere
//! (*random*); the last two draw length and direction anew. A sequential request that would leave
//! the device is drawn as a random one, a local distance that would leave it is drawn again, and so
//! are negative times and lengths of nothing. Lengths are whole units, rounded up to the block.
//!
//! J. Bucy, J. Schindler, S. Schlosser and G. Ganger, "The `DiskSim` simulation environment version
//! 4.0 reference manual", CMU-PDL-08-101, 2008. The defaults are table 4.3 of C. Gong's thesis on
//! HBM (2010) in the readings that come nearest to the statistics of its table 4.1;
//! `docs/workloads.md` says how near.

mod distribution;

use eraseblock_core::config::Bytes;
use eraseblock_core::host::{Op, Request};
use eraseblock_core::support::registry::About;
use rand_pcg::Pcg64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use distribution::Distribution;

use super::patterns::{below, check_share};
use super::random::{self, unit};
use super::{Generator, Given};

pub(crate) const ABOUT: About = About {
    title: "DiskSim synthgen",
    summary: "Sequential, local and random requests as DiskSim's generator draws them; set up like \
        HBM's synthetic trace.",
    paper: "Bucy et al., The DiskSim simulation environment version 4.0 reference manual, \
        CMU-PDL-08-101 (2008)",
    year: Some(2008),
    ..About::PLAIN
};

/// Parameters of `DiskSim`'s generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// "Number of I/O requests to generate".
    pub requests: u64,
    /// "Storage capacity of device"; no request reaches beyond it.
    pub capacity: Bytes,
    /// "Block factor": lengths are rounded up to multiples of it, and random places start at them.
    pub block: Bytes,
    /// "Probability of sequential access".
    pub sequential: f64,
    /// "Probability of local access"; what is neither sequential nor local is random.
    pub local: f64,
    /// "Probability of read access", drawn for local and random requests.
    pub read: f64,
    /// "Sizes", in `size_unit`.
    pub size: Distribution,
    /// What sizes and local distances are counted in.
    pub size_unit: SizeUnit,
    /// "Local distances", in sectors of 512 bytes.
    pub local_distance: Distribution,
    /// "General inter-arrival times", in ms: before a random request.
    pub gap: Distribution,
    /// "Sequential inter-arrival times", in ms. Default: `gap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequential_gap: Option<Distribution>,
    /// "Local inter-arrival times", in ms. Default: `gap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_gap: Option<Distribution>,
    /// Seed: the same one gives the same requests on any machine.
    pub seed: u64,
}

/// What a number of `DiskSim`'s size distribution stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SizeUnit {
    /// 1024 bytes: the reading that comes near the sizes HBM reports.
    #[default]
    KB,
    /// 512 bytes, as `DiskSim` reads it.
    #[serde(rename = "sectors")]
    Sectors,
}

impl SizeUnit {
    fn bytes(self) -> u64 {
        match self {
            Self::KB => 1024,
            Self::Sectors => SECTOR,
        }
    }
}

const SECTOR: u64 = 512;

impl Default for Config {
    fn default() -> Self {
        Self {
            requests: 5_000_000,
            capacity: Bytes(32 << 30),
            block: Bytes(2048),
            sequential: 0.8,
            local: 0.2,
            read: 0.3,
            size: Distribution::exponential(0.0, 20.0),
            size_unit: SizeUnit::KB,
            local_distance: Distribution::normal(-100_000.0, 100_000.0),
            gap: Distribution::normal_of_variance(52.0, 52.0),
            sequential_gap: None,
            local_gap: None,
            seed: 1,
        }
    }
}

/// A drawn number that cannot be used is drawn again; one in so many must be usable.
const ACCEPTED_MIN: f64 = 0.01;

impl Config {
    pub(crate) fn build(&self, given: &Given) -> Result<Generator, String> {
        self.check()?;
        let requests = given.requests.unwrap_or(self.requests);
        let seed = given.seed.with_number(self.seed);
        let synth = Synth {
            left: requests,
            capacity: self.capacity.0,
            block: self.block.0,
            unit: self.size_unit.bytes(),
            sequential: self.sequential,
            nearby: self.sequential + self.local,
            read: self.read,
            size: self.size.clone(),
            distance: self.local_distance.clone(),
            gaps: [
                self.sequential_gap.clone().unwrap_or_else(|| self.gap.clone()),
                self.local_gap.clone().unwrap_or_else(|| self.gap.clone()),
                self.gap.clone(),
            ],
            kinds: seed.random("kind"),
            places: seed.random("offset"),
            sizes: seed.random("size"),
            ops: seed.random("operation"),
            times: seed.random("time"),
            now_ms: 0.0,
            last: None,
        };
        Ok(Generator::new(requests, synth))
    }

    fn check(&self) -> Result<(), String> {
        if self.requests == 0 {
            return Err("requests: found 0, expected at least 1".to_owned());
        }
        if self.block.0 == 0 || !self.block.0.is_multiple_of(SECTOR) || self.block.0 > 1 << 30 {
            return Err(format!(
                "block: found {}, expected a multiple of 512 B up to 1 GiB",
                self.block
            ));
        }
        if self.capacity < self.block || self.capacity.0 > 1 << 50 {
            return Err(format!(
                "capacity: found {}, expected at least one block and at most 1 PiB",
                self.capacity
            ));
        }
        for (key, share) in
            [("sequential", self.sequential), ("local", self.local), ("read", self.read)]
        {
            check_share(key, share)?;
        }
        if self.sequential + self.local > 1.0 + 1e-12 {
            return Err(format!(
                "local: found {} beside sequential = {}, together above 1",
                self.local, self.sequential
            ));
        }
        let gaps = [
            ("gap", Some(&self.gap)),
            ("sequential_gap", self.sequential_gap.as_ref()),
            ("local_gap", self.local_gap.as_ref()),
        ];
        for (key, gap) in gaps {
            let Some(gap) = gap else { continue };
            gap.check().map_err(|problem| below(key, &problem))?;
            let usable = 1.0 - gap.share_below(0.0);
            if usable < ACCEPTED_MIN {
                return Err(format!(
                    "{key}: is negative nearly always; negative times are drawn again"
                ));
            }
            if gap.typical_max() * self.requests as f64 > 2e15 {
                return Err(format!("{key}: {} requests would last over 70 years", self.requests));
            }
        }
        self.size.check().map_err(|problem| below("size", &problem))?;
        let longest =
            (self.capacity.0 / self.block.0 * self.block.0 / self.size_unit.bytes()) as f64;
        let usable = self.size.share_below(longest) - self.size.share_below(1.0);
        if usable < ACCEPTED_MIN {
            return Err(
                "size: is nearly always below 1 or beyond the device; such lengths are drawn again"
                    .to_owned(),
            );
        }
        self.local_distance.check().map_err(|problem| below("local_distance", &problem))?;
        // A run near one end of the device finds a place only on its other side.
        let back = self.local_distance.share_below(0.0);
        if self.local > 0.0 && back.min(1.0 - back) < ACCEPTED_MIN {
            let (end, side) = if back > 0.5 { ("start", "behind") } else { ("end", "before") };
            return Err(format!(
                "local_distance: goes {} from the last request nearly always, so that a request \
                 near the device's {end} finds no place; the distances must lie on both sides (the \
                 last number of a normal distribution is a deviation)",
                if side == "behind" { "back" } else { "on" }
            ));
        }
        Ok(())
    }
}

/// `DiskSim`'s generator.
struct Synth {
    left: u64,
    capacity: u64,
    block: u64,
    unit: u64,
    sequential: f64,
    /// Probability of a sequential or local request.
    nearby: f64,
    read: f64,
    size: Distribution,
    distance: Distribution,
    /// Times before a sequential, a local, a random request.
    gaps: [Distribution; 3],
    kinds: Pcg64,
    places: Pcg64,
    sizes: Pcg64,
    ops: Pcg64,
    times: Pcg64,
    now_ms: f64,
    last: Option<Last>,
}

#[derive(Clone, Copy)]
struct Last {
    offset: u64,
    len: u64,
    op: Op,
}

impl Iterator for Synth {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        let kind = unit(&mut self.kinds);
        let follows = self
            .last
            .filter(|last| kind < self.sequential && last.offset + 2 * last.len <= self.capacity);
        let nearby = self.last.filter(|_| kind >= self.sequential && kind < self.nearby);
        let (class, next) = match (follows, nearby) {
            (Some(last), _) => (0, Last { offset: last.offset + last.len, ..last }),
            (None, Some(last)) => {
                let len = self.draw_len();
                match self.draw_near(last.offset, len) {
                    Some(offset) => (1, Last { offset, len, op: self.draw_op() }),
                    None => (2, self.draw_anywhere(len)),
                }
            }
            (None, None) => {
                let len = self.draw_len();
                (2, self.draw_anywhere(len))
            }
        };
        if self.last.is_some() {
            self.now_ms +=
                self.gaps[class].draw_until(&mut self.times, |gap| gap >= 0.0).unwrap_or(0.0);
        }
        self.last = Some(next);
        let arrival_ns = libm::round(self.now_ms * 1e6) as u64;
        Some(Request {
            arrival_ns,
            offset: next.offset,
            len: next.len,
            volume: 0,
            op: next.op,
            fua: false,
        })
    }
}

impl Synth {
    fn draw_len(&mut self) -> u64 {
        let Self { block, capacity, unit, .. } = *self;
        let bytes = |number: f64| {
            (libm::floor(number) as u64).saturating_mul(unit).div_ceil(block).saturating_mul(block)
        };
        let fits = |number: f64| number >= 1.0 && bytes(number) <= capacity;
        self.size.draw_until(&mut self.sizes, fits).map_or(block, bytes)
    }

    /// A place at a local distance from `from`; `None` where none is found, which checked distances
    /// make unheard of.
    fn draw_near(&mut self, from: u64, len: u64) -> Option<u64> {
        let place = |number: f64| {
            let sectors = libm::round(number);
            (sectors.abs() < 1e15)
                .then(|| (from as i64).checked_add(sectors as i64 * SECTOR as i64))
                .flatten()
        };
        let last = (self.capacity - len) as i64;
        let fits = |number: f64| place(number).is_some_and(|place| (0..=last).contains(&place));
        self.distance.draw_until(&mut self.places, fits).and_then(place).map(|place| place as u64)
    }

    fn draw_anywhere(&mut self, len: u64) -> Last {
        let slots = (self.capacity - len) / self.block + 1;
        let offset = random::below(&mut self.places, slots) * self.block;
        Last { offset, len, op: self.draw_op() }
    }

    fn draw_op(&mut self) -> Op {
        if unit(&mut self.ops) < self.read { Op::Read } else { Op::Write }
    }
}

#[cfg(test)]
mod tests;
