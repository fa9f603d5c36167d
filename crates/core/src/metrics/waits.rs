//! What responses are made of: waiting for admission, for room in the buffer, for dies, the bus,
//! merges and collection, and the work itself.
//!
//! A request is answered when the last thing that it waits for has come. How that came about is a
//! path through the flash ([`crate::nand::Path`]); what of it lies after the admission is told by
//! part, and together with the admission and the copies in RAM it is the response, to the
//! nanosecond.

use std::collections::BTreeMap;

use hashbrown::{HashMap, HashSet};
use serde::{Deserialize, Serialize};

use super::Figures;
use super::latency::step_of;
use super::observer::{
    About, Answered, Awaited, Decision, Drive, Fault, Figure, Hears, Moment, Observer, Occasion,
    Progress,
};
use crate::buffer::Buffer;
use crate::nand::{ByPart, Part, Path, Stretch};

/// What the file says of the metric.
pub const ABOUT: About = About {
    title: "Waits",
    summary: "what responses are made of: admission, room in the buffer, RAM, dies, bus, flash, \
              merges, collection",
    always: false,
    needs_time: true,
    left_out: true,
    figures: &[Figure {
        key: "waits",
        below: ".{read,write,slowest}",
        what: "what responses are made of, in ns, on average over all requests of a kind (`all`), \
               and over those that took at least as long as a percentile (`p50` to `p999`): \
               `admission`; `slot`: until the buffer has room, or what leaves it is stored; `ram`; \
               `die`: until the die has done other work of the host; `bus`: on it and for it; \
               `flash`: in the array; `merge` and `collection`: they, and waiting for them. \
               `slowest` has the longest, each with its stretches of time",
    }],
};

/// Requests of which every stretch is written down.
const SLOWEST: usize = 12;

/// Times of one or more requests by part, in ns; they add up to the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Parts {
    /// Until the request was admitted.
    pub admission: u64,
    /// Until the buffer had room, or what left it was stored.
    pub slot: u64,
    /// Copies in RAM.
    pub ram: u64,
    /// Until dies had done other work of the host.
    pub die: u64,
    /// On the bus, and waiting for it.
    pub bus: u64,
    /// In the flash array.
    pub flash: u64,
    /// Merges, and waiting for them.
    pub merge: u64,
    /// Collection and wear levelling, and waiting for them.
    pub collection: u64,
}

impl Parts {
    fn list(&self) -> [u64; 8] {
        let Self { admission, slot, ram, die, bus, flash, merge, collection } = *self;
        [admission, slot, ram, die, bus, flash, merge, collection]
    }

    fn sum(&self) -> u64 {
        self.list().iter().sum()
    }

    /// What a path went to; for a request that waits for room all work of the host is that.
    fn of_path(parts: ByPart, room: bool) -> Self {
        let of = |part: Part| parts[part as usize];
        let (die, bus, flash) = (of(Part::Die), of(Part::Bus), of(Part::Flash));
        let (merge, collection) = (of(Part::Merge), of(Part::Collection));
        if room {
            return Self { slot: die + bus + flash, merge, collection, ..Self::default() };
        }
        Self { die, bus, flash, merge, collection, ..Self::default() }
    }

    fn add(&mut self, other: &Self) {
        self.admission += other.admission;
        self.slot += other.slot;
        self.ram += other.ram;
        self.die += other.die;
        self.bus += other.bus;
        self.flash += other.flash;
        self.merge += other.merge;
        self.collection += other.collection;
    }
}

/// Means over requests, in ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Means {
    /// How many.
    pub requests: u64,
    /// Mean response.
    pub response: f64,
    /// Mean times by part, as in [`Parts`].
    #[serde(flatten)]
    pub parts: BTreeMap<String, f64>,
}

/// Of one kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// All.
    pub all: Means,
    /// Those that took at least as long as the median.
    pub p50: Means,
    /// The same of the 90th percentile.
    pub p90: Means,
    /// Of the 99th.
    pub p99: Means,
    /// Of the 99.9th.
    pub p999: Means,
}

/// One stretch of a request's time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Since the request came.
    pub from_ns: u64,
    /// Since the request came.
    pub to_ns: u64,
    /// What it went to.
    pub parts: Parts,
}

/// One of the slowest requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slow {
    /// Its number in the workload, from 0.
    pub number: u64,
    /// It writes; else it reads.
    pub write: bool,
    /// When it came, in ns.
    pub arrival_ns: u64,
    /// How long it took, in ns.
    pub response_ns: u64,
    /// What that went to.
    pub parts: Parts,
    /// The same in the order of time.
    pub pieces: Vec<Piece>,
}

/// All that is reported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitsReport {
    /// Of reads.
    pub read: Option<Split>,
    /// Of writes.
    pub write: Option<Split>,
    /// The slowest requests, the longest first.
    pub slowest: Vec<Slow>,
}

/// The last thing that a request has waited for so far.
#[derive(Debug)]
struct Last {
    now: u64,
    awaited: Awaited,
    path: Path,
}

/// What the requests of one kind have gone to, by steps of their responses.
#[derive(Debug, Default)]
struct Kind {
    steps: BTreeMap<usize, (u64, Parts)>,
    requests: u64,
}

impl Kind {
    fn add(&mut self, response: u64, parts: &Parts) {
        let (count, sum) = self.steps.entry(step_of(response)).or_default();
        *count += 1;
        sum.add(parts);
        self.requests += 1;
    }

    /// Those from the step on that has the request of this rank.
    fn from(&self, quantile: f64) -> Means {
        let rank = (quantile * self.requests as f64).ceil() as u64;
        let (mut below, mut count, mut sum) = (0, 0, Parts::default());
        for (here, parts) in self.steps.values() {
            below += here;
            if below >= rank {
                count += here;
                sum.add(parts);
            }
        }
        let mean = |ns: u64| ns as f64 / count as f64;
        let names = ["admission", "slot", "ram", "die", "bus", "flash", "merge", "collection"];
        let parts = names.map(str::to_owned).into_iter().zip(sum.list().map(mean)).collect();
        Means { requests: count, response: mean(sum.sum()), parts }
    }

    fn split(&self) -> Option<Split> {
        (self.requests > 0).then(|| Split {
            all: self.from(0.0),
            p50: self.from(0.5),
            p90: self.from(0.9),
            p99: self.from(0.99),
            p999: self.from(0.999),
        })
    }
}

/// Follows requests from their admission to their answer.
#[derive(Debug, Default)]
pub struct Waits {
    pending: HashMap<u64, Last>,
    /// Requests under way whose pages have to be stored: they wait for their own.
    forced: HashSet<u64>,
    kinds: [Kind; 2],
    /// The longest first; of equal ones those that came first.
    slowest: Vec<Slow>,
    /// Sum of all responses that were told in parts, and of their parts.
    sums: (u128, u128),
    /// The first request that does not add up.
    fault: Option<String>,
}

impl Waits {
    /// Of a run that begins.
    pub fn new(_: &Drive) -> Self {
        Self::default()
    }

    /// The request's time from its arrival on, in stretches.
    fn pieces(&mut self, answered: &Answered) -> Vec<Piece> {
        let Answered { number, kind, arrival, admitted, now, bypassed } = *answered;
        let forced = self.forced.remove(&number);
        let Some(Last { now: reached, awaited, path }) = self.pending.remove(&number) else {
            return Vec::new();
        };
        let room = match awaited {
            Awaited::Slots => true,
            // A flush command, a forced write and one past the buffer wait for their own pages.
            Awaited::Writes => kind < 2 && !forced && !bypassed,
            Awaited::Issue | Awaited::Reads => false,
        };
        let mut pieces = Vec::new();
        let mut add = |from: u64, to: u64, parts: Parts| {
            if to > from {
                pieces.push(Piece { from_ns: from - arrival, to_ns: to - arrival, parts });
            }
        };
        add(arrival, admitted, Parts { admission: admitted - arrival, ..Parts::default() });
        let mut at = admitted;
        // What no operation explains: a write that was put aside until a block had been collected,
        // or a read that waited for its turn.
        let gap = |ns: u64| match awaited {
            Awaited::Reads | Awaited::Issue => Parts { die: ns, ..Parts::default() },
            Awaited::Writes | Awaited::Slots => Parts { collection: ns, ..Parts::default() },
        };
        for Stretch { from, to, parts } in path.after(admitted).stretches() {
            add(at, *from, gap(from.saturating_sub(at)));
            add(*from, *to, Parts::of_path(*parts, room));
            at = *to;
        }
        add(at, reached, gap(reached.saturating_sub(at)));
        add(reached, now, Parts { ram: now - reached, ..Parts::default() });
        pieces
    }

    fn note_slow(&mut self, slow: Slow) {
        let at = self.slowest.partition_point(|one| one.response_ns >= slow.response_ns);
        if at < SLOWEST {
            self.slowest.insert(at, slow);
            self.slowest.truncate(SLOWEST);
        }
    }
}

impl Observer for Waits {
    fn on_access(&mut self, decision: &Decision<'_>, _: &dyn Buffer) -> Result<Hears, Fault> {
        if let (Occasion::Access { forced: true, .. }, Some(number)) =
            (&decision.occasion, decision.request)
        {
            self.forced.insert(number);
        }
        Ok(Hears::Yes)
    }

    fn on_progress(&mut self, progress: &Progress<'_>) -> Hears {
        let Progress { number, now, awaited, path } = *progress;
        let path = path.cloned().unwrap_or_default();
        self.pending.insert(number, Last { now, awaited, path });
        Hears::Yes
    }

    fn on_answer(&mut self, answered: &Answered) -> Hears {
        let Answered { number, kind, arrival, now, .. } = *answered;
        let pieces = self.pieces(answered);
        let mut parts = Parts::default();
        for piece in &pieces {
            parts.add(&piece.parts);
        }
        let response = now - arrival;
        let mut end = 0;
        let whole = pieces.iter().all(|one| {
            let follows = one.from_ns == std::mem::replace(&mut end, one.to_ns);
            follows && one.parts.sum() == one.to_ns - one.from_ns
        });
        if (!whole || end != response) && self.fault.is_none() {
            self.fault = Some(format!(
                "request {number} took {response} ns, and what it waited for does not make that \
                 up: {pieces:?}"
            ));
        }
        self.sums.0 += u128::from(response);
        self.sums.1 += u128::from(parts.sum());
        if let Some(kind) = self.kinds.get_mut(usize::from(kind)) {
            kind.add(response, &parts);
            let write = answered.kind == 1;
            let slow =
                Slow { number, write, arrival_ns: arrival, response_ns: response, parts, pieces };
            self.note_slow(slow);
        }
        Hears::Yes
    }

    fn check(&self, _: &Moment<'_>) -> Result<(), String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let (responses, parts) = self.sums;
        if responses == parts {
            return Ok(());
        }
        Err(format!("responses add up to {responses} ns, their parts to {parts} ns"))
    }

    fn reads_paths(&self) -> bool {
        true
    }

    fn report(&self, _: &Moment<'_>, figures: &mut Figures) {
        let [read, write] = [0, 1].map(|kind| self.kinds[kind].split());
        figures.set("waits", WaitsReport { read, write, slowest: self.slowest.clone() });
    }
}
