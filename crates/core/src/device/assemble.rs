//! Building a drive of its parts, and what a configuration may not ask for.

use super::answers::{Answers, Brought};
use super::backend::{Backend, Parts};
use super::host::Requests;
use super::pipeline::{Pipeline, Ram};
use super::power::OnCut;
use super::warm_up::WarmedUp;
use super::{Device, DeviceError, Options};
use crate::buffer::{self, Buffer, BufferConfig};
use crate::config::{DeviceConfig, Nanos, PowerLoss, Precondition, PreconditionConfig, Replay};
use crate::ftl::gc::GcConfig;
use crate::ftl::{self, Mapping};
use crate::metrics::Observers;
use crate::metrics::report::Preconditioning;
use crate::nand::{Chip, Engine, Flash, Geometry, Stored};
use crate::support::ids::Lpn;

impl Device {
    /// A drive of what lies below its buffer, as it is after filling or fresh, and of a buffer.
    pub(super) fn assemble(
        config: &DeviceConfig,
        options: Options,
        backend: Backend,
        buffer: Option<Box<dyn Buffer>>,
    ) -> Result<Self, DeviceError> {
        let geometry = backend.flash().geometry().clone();
        let logical_pages = logical_pages(config, &geometry)?;
        check_host(config)?;
        check_power_loss(config, &geometry)?;
        check_image(&config.precondition)?;
        let pipeline = build_pipeline(config, &geometry, logical_pages, buffer)?;
        check_home(config, pipeline.buffer(), backend.mapping())?;
        let timed = config.host.replay != Replay::Untimed;
        let mut device = Self {
            config: config.clone(),
            geometry,
            logical_pages,
            requests: Requests::new(timed),
            pipeline,
            backend,
            observers: Observers::default(),
            finished: Vec::new(),
            preconditioning: Preconditioning::default(),
            warmed_up: WarmedUp::default(),
            taken_pages: 0,
            kept: Ram::new(),
            erased_before: 0,
            cut_after: u64::MAX,
            on_cut: OnCut::default(),
            worn_out: false,
            failed: false,
            unmerged: false,
            way_is_made: false,
            idleness_noted: false,
            ends_plainly: false,
            offline: false,
        };
        device.backend.set_timed(timed);
        device.ends_plainly = device.backend.ends_plainly();
        device.observers = Observers::new(&device.as_observed());
        if let BufferConfig::Brought(_) = config.buffer.scheme {
            device.observe(Box::new(Brought));
        }
        if options.verify {
            device.observe(Box::new(Answers { capacity: device.pipeline.capacity() }));
        }
        Ok(device)
    }
}

/// Flash, engine and FTL of an empty drive.
pub(super) fn build_backend(
    config: &DeviceConfig,
    options: Options,
    wrap: impl FnOnce(Box<dyn Mapping>) -> Box<dyn Mapping>,
) -> Result<Backend, DeviceError> {
    let geometry = Geometry::new(&config.nand).map_err(DeviceError::Config)?;
    let logical_pages = logical_pages(config, &geometry)?;
    check_parts(config)?;
    let shape = ftl::Shape {
        geometry: &geometry,
        logical_pages,
        order: config.nand.program_order,
        parts: &config.ftl,
    };
    let mapping = wrap(config.ftl.mapping.build(shape).map_err(DeviceError::Config)?);
    let chip = Chip::new(&config.nand, &geometry).map_err(DeviceError::Config)?;
    let mut engine = Engine::new(chip, &geometry);
    if options.verify {
        engine.keep(Stored::compared(&geometry, logical_pages));
    }
    let mut flash = Flash::new(geometry, config.nand.program_order);
    flash.reset_erases(config.nand.endurance);
    let (gc, copy_back) = (&config.ftl.gc, config.nand.copy_back);
    Ok(Backend::new(Parts { flash, engine, mapping, gc, copy_back }))
}

/// The buffer, with its RAM.
fn build_pipeline(
    config: &DeviceConfig,
    geometry: &Geometry,
    logical_pages: u32,
    buffer: Option<Box<dyn Buffer>>,
) -> Result<Pipeline, DeviceError> {
    let capacity = u32::try_from(config.buffer.size.0 / geometry.page_bytes).map_err(|_| {
        DeviceError::Config(format!(
            "buffer.size: {} is more than the engine counts pages for",
            config.buffer.size
        ))
    })?;
    let pages_per_block = geometry.pages_per_block;
    let shape = buffer::Shape { capacity, pages_per_block, logical_pages };
    let build = || config.buffer.scheme.build(shape).map_err(DeviceError::Config);
    Ok(Pipeline::new(buffer.map_or_else(build, Ok)?, capacity))
}

/// An image that is not named, or that nobody looks into.
fn check_image(precondition: &PreconditionConfig) -> Result<(), DeviceError> {
    let why = match (precondition.state, &precondition.image) {
        (Precondition::Image, None) => {
            "precondition.image: precondition.state = \"image\" needs the name of the file"
        }
        (Precondition::Image, Some(_)) | (_, None) => return Ok(()),
        (_, Some(_)) => {
            "precondition.image: nothing is read from it; set precondition.state = \"image\", or \
             leave it out"
        }
    };
    Err(DeviceError::Config(why.into()))
}

/// A capacitor that does not last until all that may be in RAM is saved, or that nobody needs.
fn check_power_loss(config: &DeviceConfig, geometry: &Geometry) -> Result<(), DeviceError> {
    let buffer = &config.buffer;
    let wrong = |why: String| Err(DeviceError::Config(why));
    match (buffer.power_loss, buffer.hold_up) {
        (PowerLoss::None, Some(_)) => {
            return wrong(
                "buffer.hold_up: nothing holds the drive up; set buffer.power_loss = \"capacitor\", \
                 or leave it out"
                    .into(),
            );
        }
        (PowerLoss::None, None) => return Ok(()),
        (PowerLoss::Capacitor, _) if buffer.battery => {
            return wrong(
                "buffer.power_loss: a battery (buffer.battery) keeps the RAM anyway; leave out one \
                 of the two"
                    .into(),
            );
        }
        (PowerLoss::Capacitor, _) => {}
    }
    let Some(Nanos(hold_up)) = buffer.hold_up else { return Ok(()) };
    let chip = Chip::new(&config.nand, geometry).map_err(DeviceError::Config)?;
    // Beside the buffer, pages of open program units are in RAM alone.
    let open = u64::from(geometry.units) * u64::from(geometry.program_pages - 1);
    let pages = buffer.size.0 / geometry.page_bytes + open;
    let needed = chip.storing_ns(geometry, pages);
    if hold_up >= needed {
        return Ok(());
    }
    let under_way = chip.storing_ns(geometry, 0);
    if hold_up < under_way {
        return wrong(format!(
            "buffer.hold_up: in {} not even what a die is doing ends, which takes up to {}; give it {} \
             or more",
            Nanos(hold_up),
            Nanos(under_way),
            Nanos(needed)
        ));
    }
    let (mut fit, mut too_many) = (0, pages);
    while fit + 1 < too_many {
        let half = u64::midpoint(fit, too_many);
        if chip.storing_ns(geometry, half) <= hold_up { fit = half } else { too_many = half }
    }
    wrong(format!(
        "buffer.hold_up: in {} the drive saves {fit} of the {pages} pages that may be in RAM; give \
         it {} or more, or a smaller buffer (buffer.size)",
        Nanos(hold_up),
        Nanos(needed)
    ))
}

/// A buffer that has to know where pages will go, on an FTL that cannot say.
fn check_home(
    config: &DeviceConfig,
    buffer: &dyn Buffer,
    mapping: &dyn Mapping,
) -> Result<(), DeviceError> {
    let knows = || mapping.advice().and_then(|advice| advice.home(Lpn(0))).is_some();
    if !buffer.needs_home() || knows() {
        return Ok(());
    }
    Err(DeviceError::Config(format!(
        "buffer.scheme: `{}` has to know to which unit each page will go, which takes static \
         placement: ftl.mapping = \"page\" with ftl.allocator = \"static\"",
        config.buffer.scheme.name()
    )))
}

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
            "ftl.{part}: `{}` decides that itself; leave it out, or use a page-level mapping such \
             as `page`",
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
pub(super) fn beside_spare(config: &DeviceConfig, raw: u64) -> u64 {
    libm::floor(raw as f64 / (1.0 + config.ftl.spare())) as u64
}

/// Bytes that the mapping can export, unless it is told how many.
pub(super) fn most_exported(config: &DeviceConfig, geometry: &Geometry) -> u64 {
    config.ftl.mapping.exported_pages(geometry).saturating_mul(geometry.page_bytes)
}

/// Spare flash / what the host sees: as configured, or more where the mapping needs more.
///
/// # Errors
/// An impossible geometry, or one of which the mapping can export nothing.
pub fn spare_share(config: &DeviceConfig) -> Result<f64, DeviceError> {
    let geometry = Geometry::new(&config.nand).map_err(DeviceError::Config)?;
    logical_pages(config, &geometry)?;
    let raw = u64::from(geometry.pages()) * geometry.page_bytes;
    let most = most_exported(config, &geometry);
    let exported = match config.ftl.exported {
        Some(bytes) => bytes.0,
        None if beside_spare(config, raw) <= most => return Ok(config.ftl.spare()),
        None => most,
    };
    Ok(raw as f64 / exported as f64 - 1.0)
}

/// Pages that the host sees: whole logical blocks.
pub(super) fn logical_pages(
    config: &DeviceConfig,
    geometry: &Geometry,
) -> Result<u32, DeviceError> {
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
            "ftl.exported: {bytes} B exported of {raw} B of flash leave no spare blocks; export \
             less or add blocks (nand.blocks_per_plane)"
        )));
    }
    Ok(blocks as u32 * geometry.pages_per_block)
}
