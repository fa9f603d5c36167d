//! The drive: host, buffer, FTL and flash as one.
//!
//! It has three parts, each with state of its own: the host's side (`host`) knows the requests
//! under way and what their answers wait for; the pipeline (`pipeline`) takes them through the
//! buffer and on to the FTL; the backend (`backend`) is FTL, flash and engine. What stands here
//! concerns all of them: how time passes, how a run begins and ends, what a power cut leaves.
//!
//! A request is admitted, cut into spans, and each span goes through buffer and FTL at once; the
//! flash operations that this takes go to the engine, which says when they end. The answer to the
//! host waits for:
//!
//! - the request's reads from flash, and those of another request for pages that it hit while they
//!   were being filled,
//! - its writes to flash, where it waits for them (foreground write-back, FUA, no buffer),
//! - buffer slots: an evicted page keeps its slot until it is stored, and a write that finds all
//!   slots taken is answered when as many have become free as it needs, in the order of arrival.

mod answers;
mod assemble;
mod backend;
mod error;
mod fill;
mod filled;
mod finish;
mod foresee;
pub mod hopeless;
mod host;
pub mod idle;
mod observe;
mod pipeline;
mod power;
mod report;
mod room;
mod serving;
mod time;
mod warm_up;

pub use assemble::spare_share;
pub use error::DeviceError;
pub use filled::Filled;
pub use power::{Crash, Fate, Saved};
pub use time::AHEAD;
pub use warm_up::nothing_measured;

use crate::buffer::{self, Buffer};
use crate::config::DeviceConfig;
use crate::ftl::Mapping;
use crate::metrics::report::Preconditioning;
use crate::metrics::{Counters, Observers};
use crate::nand::{Engine, Geometry, Stored};
use assemble::build_backend;

/// How a drive is built, beside its configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Keep what the flash holds, and compare every read with the host's last write.
    pub verify: bool,
}

/// A simulated drive.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing to do with one another")]
pub struct Device {
    config: DeviceConfig,
    geometry: Geometry,
    logical_pages: u32,
    /// Requests under way, and what their answers wait for.
    requests: host::Requests,
    pipeline: pipeline::Pipeline,
    backend: backend::Backend,
    /// Who is told of what happens.
    observers: Observers,
    /// Tags of joins that have ended; empty between events.
    finished: Vec<u32>,
    preconditioning: Preconditioning,
    /// What idle time is used for has been asked since something happened.
    idleness_noted: bool,
    /// Nothing follows from the end of a flash operation but for those who wait for it.
    ends_plainly: bool,
    /// The next request need not wait for its turn any more.
    way_is_made: bool,
    /// What the report leaves out.
    warmed_up: warm_up::WarmedUp,
    /// Pages of write requests that were taken whole.
    taken_pages: u64,
    /// What a battery or capacitor has kept through a power cut, on a drive that has no room to store it; in
    /// order.
    kept: pipeline::Ram,
    /// Erases of all blocks before the last power cut, and those of the recovery.
    erased_before: u64,
    /// Completions of flash operations after which power fails.
    cut_after: u64,
    /// Who looks at what would be left then, while the run goes on.
    on_cut: power::OnCut,
    /// The flash wore out: no more requests.
    worn_out: bool,
    /// The simulation has found itself wrong, or a run cannot go on.
    failed: bool,
    /// The end of the run asked for merges, and not all could be done.
    unmerged: bool,
    /// The buffer was told the future.
    offline: bool,
}

impl Device {
    /// Builds an empty drive.
    ///
    /// # Errors
    /// The configuration is impossible; says which part and why.
    pub fn new(config: &DeviceConfig, options: Options) -> Result<Self, DeviceError> {
        Self::with_parts(config, options, |mapping| mapping, None)
    }

    /// Builds an empty drive around a mapping or a buffer that is not in the registry.
    ///
    /// # Errors
    /// The configuration is impossible.
    pub fn with_parts(
        config: &DeviceConfig,
        options: Options,
        wrap: impl FnOnce(Box<dyn Mapping>) -> Box<dyn Mapping>,
        buffer: Option<Box<dyn Buffer>>,
    ) -> Result<Self, DeviceError> {
        let backend = build_backend(config, options, wrap)?;
        Self::assemble(config, options, backend, buffer)
    }

    /// Flash operations planned so far, filling left out: pages read and programmed, and blocks
    /// erased.
    pub fn flash_ops(&self) -> u64 {
        self.backend.counters().flash_ops()
    }

    /// Settings that do nothing in this drive, whatever their values: whoever gives one of them
    /// should hear of it.
    pub fn idle_settings(&self) -> Vec<idle::Idle> {
        idle::settings(&self.config, &self.geometry)
    }

    /// Bytes that the host sees.
    pub fn exported_bytes(&self) -> u64 {
        u64::from(self.logical_pages) * self.geometry.page_bytes
    }

    /// Bytes of a mapped page.
    pub fn page_bytes(&self) -> u64 {
        self.geometry.page_bytes
    }

    /// Bytes of a logical block.
    pub fn logical_block_bytes(&self) -> u64 {
        u64::from(self.geometry.pages_per_block) * self.geometry.page_bytes
    }

    /// The array's numbers.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// What has been counted so far.
    pub fn counters(&self) -> &Counters {
        self.backend.counters()
    }

    /// How often each block has been erased since the drive was filled, also before power cuts.
    pub fn erases(&self) -> &[u32] {
        self.backend.flash().erases()
    }

    /// Writes that have had to wait for room, each as often as its pages go to units that lack it.
    pub fn parked_writes(&self) -> u64 {
        self.pipeline.parked_writes()
    }

    /// The engine, to look at.
    pub fn engine(&self) -> &Engine {
        self.backend.engine()
    }

    /// The buffer, to look at.
    pub fn buffer(&self) -> &dyn Buffer {
        self.pipeline.buffer()
    }

    /// What the buffer was built for.
    pub fn buffer_shape(&self) -> buffer::Shape {
        let (capacity, logical_pages) = (self.pipeline.capacity(), self.logical_pages);
        buffer::Shape { capacity, pages_per_block: self.geometry.pages_per_block, logical_pages }
    }

    /// The mapping, to look at.
    pub fn mapping(&self) -> &dyn Mapping {
        self.backend.mapping()
    }

    /// Bytes of all that lies below the buffer, and of what `verify` keeps beside it.
    pub fn bytes_below_buffer(&self) -> usize {
        self.backend.bytes_with_medium()
    }

    /// Bytes of state for the flash: mapping, array and engine.
    pub fn state_bytes(&self) -> usize {
        self.backend.bytes()
    }

    /// The first breach of physics, or disagreement with the shadow, ends the run.
    fn check_faults(&mut self) -> Result<(), DeviceError> {
        if let Some(violation) = self.backend.flash().violation() {
            self.failed = true;
            return Err(DeviceError::Physics(violation.clone()));
        }
        if let Some(fault) = self.backend.engine().stored().and_then(Stored::fault) {
            self.failed = true;
            return Err(DeviceError::Verify(fault.to_owned()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::config::DeviceConfig;

    /// Sixteen blocks of 64 pages behind a buffer; full when its run begins.
    pub fn small_drive(buffer: Value) -> DeviceConfig {
        let mut config = json!({
            "nand": {
                "channels": 1, "chips_per_channel": 1, "dies_per_chip": 1, "planes_per_die": 1,
                "blocks_per_plane": 16, "pages_per_block": 64, "page_size": "4 KiB",
                "timing": {"read": "1us", "program": "1us", "erase": "1us", "transfer": "1us"},
            },
            "ftl": {"exported": "1 MiB", "mapping": "page"},
            "precondition": {"state": "full"},
        });
        config["buffer"] = buffer;
        serde_json::from_value(config).unwrap()
    }
}
