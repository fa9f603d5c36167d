//! How long the flash takes over what leaves the buffer: from the arrival of the request that made
//! room until all of it is stored.
//!
//! Papers that feed a simulated drive with nothing but what a buffer evicts (EPO) print these times
//! as response times. A request that goes past the buffer counts with its own.

use super::observer::{About, Drive, Figure, Hears, Moment, Observer};
use super::{Figures, Latency};

/// What the file says of the metric.
pub const ABOUT: About = About {
    title: "Response times of the flash",
    summary: "how long what leaves the buffer takes to be stored",
    always: true,
    needs_time: true,
    left_out: false,
    figures: &[
        Figure {
            key: "flush_response_ns",
            below: "",
            what: "what the flash writes for a request that makes the buffer let pages go, from \
                   that request's arrival until all of it is stored: the same figures as those of \
                   `response_ns`",
        },
        Figure {
            key: "flush_response_per_write_ns",
            below: "",
            what: "the sum of these times / write requests of the host",
        },
    ],
};

/// Times of what the buffer has let go; the account of writes past it is the host's own.
#[derive(Debug, Default)]
pub struct FlushResponse {
    latency: Latency,
}

impl FlushResponse {
    /// Of a run that begins.
    pub fn new(_: &Drive) -> Self {
        Self::default()
    }
}

impl Observer for FlushResponse {
    fn on_store(&mut self, arrival: u64, now: u64) -> Hears {
        self.latency.record(now - arrival);
        Hears::Yes
    }

    fn report(&self, moment: &Moment<'_>, figures: &mut Figures) {
        let writes = moment.count(|c| c.by_op[1]);
        let mut all = self.latency.clone();
        all.add(moment.bypassed);
        figures.set("flush_response_ns", all.summary());
        figures.set(
            "flush_response_per_write_ns",
            (writes > 0).then(|| all.sum() as f64 / writes as f64),
        );
    }
}
