//! What each request takes on a drive that has nothing else to do: no waiting for the requests
//! before it, collection apart.
//!
//! A request answers for all that is planned until the next one comes, but for what the drive does
//! because it is idle.

use serde::{Deserialize, Serialize};

use super::latency::LatencySummary;
use super::observer::{About, Decision, Drive, Fault, Figure, Hears, Moment, Observer, Occasion};
use super::{Figures, Latency};
use crate::buffer::{Answer, Buffer};
use crate::host::Op;
use crate::nand::{Engine, IdleDrive, Plan};

/// What the file says of the metric.
pub const ABOUT: About = About {
    title: "Service times",
    summary: "what requests take on a drive that has nothing else to do",
    always: false,
    needs_time: true,
    left_out: false,
    figures: &[Figure {
        key: "service_ns",
        below: ".{read,write}.{io,gc}",
        what: "how long what a request triggers would take on a drive that has nothing else to do: \
               the host's own pages and the mapping (`io`), and what collection, merges and wear \
               levelling add (`gc`). A request triggers all that is planned until the next one \
               comes, idle work left out",
    }],
};

/// How long what a request triggers takes on a drive that has nothing else to do, in ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Service {
    /// The host's pages and the mapping.
    pub io: Option<LatencySummary>,
    /// What collection, merges and wear levelling add.
    pub gc: Option<LatencySummary>,
}

/// By kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServiceByKind {
    /// Reads.
    pub read: Service,
    /// Writes.
    pub write: Service,
}

/// Times of the requests so far.
#[derive(Debug)]
pub struct ServiceTimes {
    /// What the flash does for the present request.
    drive: IdleDrive,
    /// Its time in RAM, and that of a page.
    ram_ns: u64,
    page_ram_ns: u64,
    present: Option<Op>,
    /// Of reads and writes: the host's pages, and what collection adds.
    times: [(Latency, Latency); 2],
}

impl ServiceTimes {
    /// Of a drive that has nothing to do.
    pub fn new(drive: &Drive) -> Self {
        Self {
            drive: IdleDrive::default(),
            ram_ns: 0,
            page_ram_ns: drive.ram_ns,
            present: None,
            times: Default::default(),
        }
    }

    /// A request begins, or work that is on no request's account; what came before has ended.
    fn begin(&mut self, next: Option<Op>) {
        let (io, gc) = self.drive.times();
        let kind = match self.present {
            Some(Op::Read) => Some(0),
            Some(Op::Write) => Some(1),
            _ => None,
        };
        if let Some(kind) = kind {
            let (io_times, gc_times) = &mut self.times[kind];
            io_times.record(io + self.ram_ns);
            gc_times.record(gc);
        }
        self.drive.begin();
        self.ram_ns = 0;
        self.present = next;
    }
}

impl Observer for ServiceTimes {
    fn on_begin(&mut self, request: Option<Op>) -> Hears {
        self.begin(request);
        Hears::Yes
    }

    fn on_access(&mut self, decision: &Decision<'_>, _: &dyn Buffer) -> Result<Hears, Fault> {
        if matches!(decision.occasion, Occasion::Access { .. }) {
            let in_ram = |answer: &&Answer| **answer != Answer::Bypass;
            let pages = decision.outcome.answers.iter().filter(in_ram).count() as u64;
            self.ram_ns += self.page_ram_ns * pages;
        }
        Ok(Hears::Yes)
    }

    fn on_issue(&mut self, plan: &Plan, engine: &Engine) -> Hears {
        engine.do_alone(plan, &mut self.drive);
        Hears::Yes
    }

    fn on_end(&mut self, _: &Moment<'_>) -> Hears {
        self.begin(None);
        Hears::Yes
    }

    fn report(&self, _: &Moment<'_>, figures: &mut Figures) {
        let [read, write] = [0, 1].map(|kind| Service {
            io: self.times[kind].0.summary(),
            gc: self.times[kind].1.summary(),
        });
        figures.set("service_ns", ServiceByKind { read, write });
    }
}
