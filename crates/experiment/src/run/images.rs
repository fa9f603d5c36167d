//! Drives that begin with what is in an image. How images are read is somebody else's business.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use eraseblock_core::config::{DeviceConfig, Precondition};
use eraseblock_core::device::{Device, Options};
use eraseblock_core::nand::Media;

use super::RunError;
use crate::experiment::Experiment;

/// What the flash of the drive in an image holds.
#[derive(Debug, Clone)]
pub struct Flash {
    /// Its pages, blocks and erases.
    pub media: Media,
    /// SHA-256 of all that.
    pub sha256: String,
}

/// Reads images of drives.
pub trait Images: Debug + Send + Sync {
    /// What the flash of the drive in the image at `path` holds, where `nand` and `ftl` of that
    /// drive are those of `config`.
    ///
    /// # Errors
    /// The file is no image or a damaged one, somebody has it open, or it holds another drive; a
    /// sentence that names it, and the key that differs.
    fn flash(&self, path: &Path, config: &DeviceConfig) -> Result<Flash, String>;
}

/// What an experiment's drive begins with, if that is in an image. The path starts from `base`.
pub(super) fn begins_with(
    experiment: &Experiment,
    base: &Path,
    images: Option<&Arc<dyn Images>>,
) -> Result<Option<Flash>, RunError> {
    let precondition = &experiment.precondition;
    let (Precondition::Image, Some(path)) = (precondition.state, &precondition.image) else {
        return Ok(None);
    };
    let Some(images) = images else {
        let why = "precondition.state: images of drives are not read here";
        return Err(RunError::Option(why.into()));
    };
    let found = images.flash(&base.join(path), &experiment.device());
    found.map(Some).map_err(|why| RunError::Option(format!("precondition.image: {why}")))
}

/// The drive of an experiment that begins so.
pub(super) fn resumed(
    config: &DeviceConfig,
    options: Options,
    found: &Flash,
) -> Result<Device, RunError> {
    Ok(Device::resuming(config, options, found.media.clone())?)
}
