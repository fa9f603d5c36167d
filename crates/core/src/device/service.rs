//! What each request takes on a drive that has nothing else to do: no waiting for the requests
//! before it, collection apart.
//!
//! A request answers for all that is planned until the next one comes, but for what the drive does
//! because it is idle.

use crate::host::Op;
use crate::metrics::Latency;
use crate::metrics::report::{self, ServiceTimes};
use crate::nand::IdleDrive;

/// Times of the requests so far.
#[derive(Debug, Default)]
pub(super) struct Service {
    /// What the flash does for the present request.
    pub drive: IdleDrive,
    /// Its time in RAM.
    pub ram_ns: u64,
    present: Option<Op>,
    /// Of reads and writes: the host's pages, and what collection adds.
    times: [(Latency, Latency); 2],
}

impl Service {
    /// A request begins, or work that is on no request's account; what came before has ended.
    pub fn begin(&mut self, next: Option<Op>) {
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

    pub fn report(&self) -> ServiceTimes {
        let [read, write] = [0, 1].map(|kind| report::Service {
            io: self.times[kind].0.summary(),
            gc: self.times[kind].1.summary(),
        });
        ServiceTimes { read, write }
    }
}
