//! The drive: the one place that wires host, buffer, FTL and flash together.
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
mod battery;
mod collection;
mod error;
mod fill;
mod fills;
mod finish;
mod flushed;
mod foresee;
pub mod idle;
mod leave;
mod observe;
mod parked;
mod power;
mod requests;
mod serve;
mod space;
mod time;

pub use error::DeviceError;
pub use power::{Crash, Fate};

use crate::buffer::{self, Buffer, Outcome};
use crate::config::{DeviceConfig, Replay};
use crate::ftl::gc::{GcConfig, GcCost};
use crate::ftl::{self, Advice, Cx, Mapping, PageOut, Waiter};
use crate::metrics::observer::Occasion;
use crate::metrics::report::Preconditioning;
use crate::metrics::{Counters, Observers};
use crate::nand::{Chip, Engine, Flash, Geometry, Plan, Stored};
use crate::pattern::Hint;

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
    timed: bool,
    flash: Flash,
    engine: Engine,
    mapping: Box<dyn Mapping>,
    buffer: Box<dyn Buffer>,
    capacity: u32,
    counters: Counters,
    plan: Plan,
    job_plan: Plan,
    /// The buffer's decisions on the span being served; taken out meanwhile.
    out: Option<Box<Outcome>>,
    /// Who is told of what happens.
    observers: Observers,
    batch: Vec<PageOut>,
    /// What the pages handed to the mapping belong to together.
    group: u64,
    /// Evictions written so far.
    evictions: u64,
    /// The write being served asks for forced unit access.
    forced: bool,
    /// The request being served has made the mapping read its map.
    read_map: bool,
    /// Most pages that the buffer has held.
    peak_pages: u32,
    /// The buffer has had to make room.
    made_room: bool,

    /// Requests under way, and what their answers wait for.
    requests: requests::Requests,
    /// Their flash reads, and the pages that these fill.
    fills: fills::Fills,
    /// The mapping is told what the host reads, and when there is nothing to do.
    watched: bool,
    /// The flash wore out: no more requests.
    worn_out: bool,
    /// Pages of write requests that were taken whole.
    taken_pages: u64,
    /// What a battery holds up since the power cut, on a drive that has no room to store it; in
    /// order.
    kept: battery::Ram,
    /// The end of the run asked for merges, and not all could be done.
    unmerged: bool,
    /// Erases of all blocks before the last power cut, and those of the recovery.
    erased_before: u64,
    /// Garbage collection over the whole drive.
    collection: collection::Collection,
    /// Writes that wait for room.
    parked: parked::Parked,
    /// Number of the next parked write when the request being served came.
    parked_before: u64,
    /// The request being served, and the pages that it writes.
    serving: Option<(u64, u32)>,
    /// The FTL places pages, not whole logical blocks.
    places_pages: bool,
    /// A hint that comes with the next parked write.
    late_hint: Option<Hint>,
    finished: Vec<u32>,

    flushed: flushed::Flushed,
    preconditioning: Preconditioning,
    /// Completions of flash operations after which power fails.
    cut_after: u64,
    failed: bool,
    /// The buffer was told the future.
    offline: bool,
}

impl Device {
    /// Builds an empty drive.
    ///
    /// # Errors
    /// The configuration is impossible; says which part and why.
    pub fn new(config: &DeviceConfig, options: Options) -> Result<Self, DeviceError> {
        Self::assemble(config, options, Ok, None)
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
        Self::assemble(config, options, |mapping| Ok(wrap(mapping)), buffer)
    }

    fn assemble(
        config: &DeviceConfig,
        options: Options,
        wrap: impl FnOnce(Box<dyn Mapping>) -> Result<Box<dyn Mapping>, DeviceError>,
        buffer: Option<Box<dyn Buffer>>,
    ) -> Result<Self, DeviceError> {
        let geometry = Geometry::new(&config.nand).map_err(DeviceError::Config)?;
        let logical_pages = logical_pages(config, &geometry)?;
        let shape = ftl::Shape {
            geometry: &geometry,
            logical_pages,
            order: config.nand.program_order,
            parts: &config.ftl,
        };
        check_parts(config)?;
        let mapping = config.ftl.mapping.build(shape).map_err(DeviceError::Config)?;
        let mapping = wrap(mapping)?;
        let places_pages = mapping.advice().is_some_and(Advice::places_pages);
        let capacity = u32::try_from(config.buffer.size.0 / geometry.page_bytes).map_err(|_| {
            DeviceError::Config(format!(
                "buffer.size: {} is more than the engine counts pages for",
                config.buffer.size
            ))
        })?;
        let shape =
            buffer::Shape { capacity, pages_per_block: geometry.pages_per_block, logical_pages };
        let buffer = match buffer {
            Some(buffer) => buffer,
            None => config.buffer.scheme.build(shape).map_err(DeviceError::Config)?,
        };
        if buffer.needs_home() && mapping.advice().and_then(|advice| advice.home(0)).is_none() {
            return Err(DeviceError::Config(format!(
                "buffer.scheme: `{}` has to know to which unit each page will go, which takes static placement: \
                 ftl.mapping = \"page\" with ftl.allocator = \"static\"",
                config.buffer.scheme.name()
            )));
        }
        check_host(config)?;
        let chip = Chip::new(&config.nand, &geometry).map_err(DeviceError::Config)?;
        let mut engine = Engine::new(chip, &geometry);
        if mapping.advice().is_some_and(Advice::needs_work_estimates) {
            engine.watch_work();
        }
        let watched = mapping.advice().is_some_and(Advice::watches_reads);
        if options.verify {
            engine.keep(Stored::compared(&geometry, logical_pages));
        }
        if config.ftl.gc.cost == GcCost::Free {
            engine.store_at_issue();
        }
        let mut flash = Flash::new(geometry.clone(), config.nand.program_order);
        flash.reset_erases(config.nand.endurance);
        let mut device = Self {
            flash,
            timed: config.host.replay != Replay::Untimed,
            capacity,
            logical_pages,
            engine,
            mapping,
            buffer,
            geometry,
            config: config.clone(),
            counters: Counters::default(),
            plan: Plan::default(),
            job_plan: Plan::default(),
            out: Some(Box::default()),
            observers: Observers::default(),
            batch: Vec::new(),
            group: 0,
            evictions: 0,
            forced: false,
            read_map: false,
            peak_pages: 0,
            made_room: false,
            watched,
            worn_out: false,
            taken_pages: 0,
            unmerged: false,
            kept: battery::Ram::new(),
            erased_before: 0,
            requests: requests::Requests::new(config.host.replay != Replay::Untimed),
            fills: fills::Fills::default(),
            collection: collection::Collection::new(&config.ftl.gc),
            parked: parked::Parked::default(),
            parked_before: 0,
            serving: None,
            places_pages,
            late_hint: None,
            finished: Vec::new(),
            flushed: flushed::Flushed::default(),
            preconditioning: Preconditioning::default(),
            cut_after: u64::MAX,
            failed: false,
            offline: false,
        };
        device.observers = Observers::new(&device.as_observed());
        if options.verify {
            device.observe(Box::new(answers::Answers { capacity }));
        }
        Ok(device)
    }

    /// Flash operations planned so far, filling left out: pages read and programmed, and blocks
    /// erased.
    pub fn flash_ops(&self) -> u64 {
        self.counters.flash_ops()
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
        &self.counters
    }

    /// How often each block has been erased since the drive was filled, also before power cuts.
    pub fn erases(&self) -> &[u32] {
        self.flash.erases()
    }

    /// Writes that have had to wait for room, each as often as its pages go to units that lack it.
    pub fn parked_writes(&self) -> u64 {
        self.parked.next()
    }

    /// The engine, to look at.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The buffer, to look at.
    pub fn buffer(&self) -> &dyn Buffer {
        &*self.buffer
    }

    /// What the buffer was built for.
    pub fn buffer_shape(&self) -> buffer::Shape {
        let (capacity, logical_pages) = (self.capacity, self.logical_pages);
        buffer::Shape { capacity, pages_per_block: self.geometry.pages_per_block, logical_pages }
    }

    /// The mapping, to look at.
    pub fn mapping(&self) -> &dyn Mapping {
        &*self.mapping
    }

    /// Bytes of state for the flash: mapping, array and engine.
    pub fn state_bytes(&self) -> usize {
        self.mapping.bytes() + self.flash.bytes() + self.engine.bytes()
    }

    /// The first breach of physics, or disagreement with the shadow, ends the run.
    fn check_faults(&mut self) -> Result<(), DeviceError> {
        if let Some(violation) = self.flash.violation() {
            self.failed = true;
            return Err(DeviceError::Physics(violation.clone()));
        }
        if let Some(fault) = self.engine.stored().and_then(Stored::fault) {
            self.failed = true;
            return Err(DeviceError::Verify(fault.to_owned()));
        }
        Ok(())
    }
}

/// Lends the parts of a device to its mapping.
macro_rules! cx {
    ($device:expr, $plan:ident, $own:expr) => {
        Cx {
            flash: &mut $device.flash,
            engine: &mut $device.engine,
            plan: &mut $device.$plan,
            counters: &mut $device.counters,
            timed: $device.timed,
            instant: false,
            copy_back: $device.config.nand.copy_back,
            own: $own,
            group: $device.group,
            known: crate::support::NONE,
            tried: crate::support::NONE,
        }
    };
}
use cx;

/// Parts of an FTL that the mapping would not use.
fn check_parts(config: &DeviceConfig) -> Result<(), DeviceError> {
    let given = [
        ("allocator", config.ftl.allocator.is_some()),
        ("victim", config.ftl.victim.is_some()),
        ("wear", config.ftl.wear.is_some()),
        ("gc", config.ftl.gc != GcConfig::default()),
    ];
    let composed = ftl::is_composed(config.ftl.mapping.name());
    match given.into_iter().find(|&(_, given)| given && !composed) {
        Some((part, _)) => Err(DeviceError::Config(format!(
            "ftl.{part}: `{}` decides that itself; leave it out, or use a page-level mapping such as `page`",
            config.ftl.mapping.name()
        ))),
        None => Ok(()),
    }
}

/// A request's numbers that would make no sense.
fn check_host(config: &DeviceConfig) -> Result<(), DeviceError> {
    if config.host.max_outstanding == 0 {
        return Err(DeviceError::Config(
            "host.max_outstanding: found 0, expected at least 1".into(),
        ));
    }
    if !(config.host.speedup > 0.0 && config.host.speedup.is_finite()) {
        return Err(DeviceError::Config(format!(
            "host.speedup: found {}, expected a number above 0",
            config.host.speedup
        )));
    }
    let t = &config.nand.timing;
    let pages = [("read", &t.read), ("program", &t.program)];
    let pages = pages
        .into_iter()
        .flat_map(|(key, times)| times.each().iter().map(move |&time| (key, time)));
    let others =
        [("erase", t.erase), ("transfer", t.transfer), ("command", t.command), ("ram", t.ram)];
    for (key, time) in pages.chain(others) {
        if time.0 > 3_600_000_000_000 {
            return Err(DeviceError::Config(format!(
                "nand.timing.{key}: found {time}, expected at most one hour"
            )));
        }
    }
    let e = &config.nand.energy;
    for (key, energy) in
        [("read_mj", e.read_mj), ("program_mj", e.program_mj), ("erase_mj", e.erase_mj)]
    {
        if !(energy.is_finite() && energy >= 0.0) {
            return Err(DeviceError::Config(format!(
                "nand.energy.{key}: found {energy}, expected a number from 0"
            )));
        }
    }
    if config.precondition.tolerance.is_nan() || config.precondition.tolerance <= 0.0 {
        return Err(DeviceError::Config(
            "precondition.tolerance: expected a number above 0".into(),
        ));
    }
    Ok(())
}

/// Bytes that over-provisioning leaves of so many of flash.
fn beside_spare(config: &DeviceConfig, raw: u64) -> u64 {
    libm::floor(raw as f64 / (1.0 + config.ftl.spare())) as u64
}

/// Bytes that the mapping can export, unless it is told how many.
fn most_exported(config: &DeviceConfig, geometry: &Geometry) -> u64 {
    config.ftl.mapping.exported_pages(geometry).saturating_mul(geometry.page_bytes)
}

/// Pages that the host sees: whole logical blocks.
fn logical_pages(config: &DeviceConfig, geometry: &Geometry) -> Result<u32, DeviceError> {
    let block_bytes = u64::from(geometry.pages_per_block) * geometry.page_bytes;
    let raw = u64::from(geometry.blocks()) * block_bytes;
    let spare = config.ftl.spare();
    let bytes = match (config.ftl.exported, config.ftl.over_provisioning) {
        (Some(_), Some(_)) => {
            return Err(DeviceError::Config(
                "ftl.exported: stands beside `ftl.over_provisioning`; give one of the two".into(),
            ));
        }
        (Some(bytes), None) => bytes.0,
        (None, _) if spare > 0.0 && spare.is_finite() => {
            beside_spare(config, raw).min(most_exported(config, geometry))
        }
        (None, _) => {
            return Err(DeviceError::Config(format!(
                "ftl.over_provisioning: found {spare}, expected a number above 0"
            )));
        }
    };
    let blocks = bytes / block_bytes;
    if blocks == 0 {
        return Err(DeviceError::Config(format!(
            "ftl.exported: {bytes} B is less than one logical block ({block_bytes} B)"
        )));
    }
    if blocks >= u64::from(geometry.blocks()) {
        return Err(DeviceError::Config(format!(
            "ftl.exported: {bytes} B exported of {raw} B of flash leave no spare blocks; export less or add blocks (nand.blocks_per_plane)"
        )));
    }
    Ok(blocks as u32 * geometry.pages_per_block)
}

/// Nobody waits.
const NOBODY: Waiter = Waiter::Nobody;
