//! How a drive gets into an image, and out of it again.

use std::path::Path;
use std::sync::{Arc, Mutex};

use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, DeviceError, Options};
use eraseblock_core::nand::{Geometry, Media};
use serde_json::json;

use super::Drive;
use crate::error::Error;
use crate::found::Found;
use crate::image::{Image, State};
use crate::store::{Shared, Store};

/// What is in an image.
#[derive(Debug, Clone)]
pub struct Info {
    /// The drive.
    pub config: DeviceConfig,
    /// Bytes that clients see.
    pub exported: u64,
    /// Bytes of the file.
    pub size: u64,
    /// Bytes of it on the host's disk.
    pub allocated: u64,
    /// How it was left, if that can be read.
    pub state: Option<State>,
}

impl Info {
    /// The same for those who read JSON.
    pub fn to_json(&self) -> String {
        let state = self.state.map(|state| {
            json!({
                "clean": state.clean, "opened": state.opened, "time_ns": state.time_ns,
                "steps": state.steps,
            })
        });
        json!({
            "exported": self.exported, "size": self.size, "allocated": self.allocated,
            "state": state, "config": self.config,
        })
        .to_string()
    }
}

/// What a comparison of everything in an image has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// In numbers.
    pub found: Found,
    /// Whether its server ended as it should.
    pub clean: bool,
    /// What is wrong, if anything.
    pub wrong: Vec<String>,
}

impl Checked {
    /// The same for those who read JSON.
    pub fn to_json(&self) -> String {
        let Found { readable, torn, damaged, compared, .. } = self.found;
        json!({
            "pages": readable, "torn": torn, "damaged": damaged, "compared": compared,
            "clean": self.clean, "wrong": self.wrong,
        })
        .to_string()
    }
}

impl Drive {
    /// Makes an image of the drive that `config` describes, in the state that its table
    /// `precondition` asks for. Pages that this writes are zero.
    ///
    /// # Errors
    /// The drive is impossible or cannot be served, or the file cannot be made.
    pub fn create(path: &Path, config: &DeviceConfig) -> Result<(), Error> {
        let empty = Device::new(config, Options::default())?;
        let pages = empty.exported_bytes() / empty.page_bytes();
        let image = Image::create(path, config, empty.geometry(), pages as u32)?;
        let made = Self::fill(image, config, path);
        if made.is_err() {
            // It is ours, and nobody has seen it.
            _ = std::fs::remove_file(path);
        }
        made
    }

    fn fill(image: Image, config: &DeviceConfig, path: &Path) -> Result<(), Error> {
        let failed = |source| Error::file(path, source);
        let geometry = Geometry::new(&config.nand).map_err(DeviceError::Config)?;
        let (store, ..) = Store::find(image, &geometry, None).map_err(failed)?;
        let store = Shared(Arc::new(Mutex::new(store)));
        let mut device = Device::serving(config, Box::new(store.clone()))?;
        device.precondition()?;
        device.settle()?;
        let mut store = store.get();
        if let Some(why) = store.take_fault() {
            return Err(failed(why));
        }
        let erases = device.media().map_or(&[][..], Media::erases);
        let state = State { clean: true, steps: store.steps(), ..State::default() };
        let image = store.image();
        image.write_erases(erases).map_err(failed)?;
        image.write_state(&state).map_err(failed)?;
        image.sync().map_err(failed)
    }

    /// Opens an image for a server. Its FTL rebuilds its state from the records of the pages; what
    /// power was lost over is found and left out. With `sync` nothing is erased before what takes
    /// its place is on the host's disk.
    ///
    /// # Errors
    /// The image cannot be used, or its drive not be rebuilt.
    pub fn open(path: &Path, sync: bool) -> Result<(Self, Found), Error> {
        let failed = |source| Error::file(path, source);
        let (image, config) = Image::open(path, true)?;
        let geometry = Geometry::new(&config.nand).map_err(DeviceError::Config)?;
        let state = image.state().map_err(failed)?.unwrap_or_default();
        let checked_after = (!state.clean).then_some(state.steps);
        let (mut store, media, found) =
            Store::find(image, &geometry, checked_after).map_err(failed)?;
        store.sync_before_erase(sync);
        let state = State { clean: false, opened: state.opened + 1, ..state };
        store.mark_torn(&media).map_err(failed)?;
        store.image().write_state(&state).map_err(failed)?;
        if sync {
            // Else a crash may leave new records beside a state that says that all is well.
            store.image().sync().map_err(failed)?;
        }
        let store = Shared(Arc::new(Mutex::new(store)));
        let device = Device::serving_again(&config, media, Box::new(store.clone()))?;
        store.get().settle_places(|lpn| device.place_of(lpn));
        if let Some(why) = store.get().take_fault() {
            return Err(failed(why));
        }
        let (page_bytes, started_at) = (device.page_bytes(), device.now());
        let drive =
            Self { device, store, state, page_bytes, started_at, failed: None, pages: Vec::new() };
        Ok((drive, found))
    }

    /// What is in an image.
    ///
    /// # Errors
    /// The image cannot be read, or somebody has it open.
    pub fn info(path: &Path) -> Result<Info, Error> {
        let failed = |source| Error::file(path, source);
        let (image, config) = Image::open(path, false)?;
        let layout = image.layout();
        Ok(Info {
            config,
            exported: u64::from(layout.logical_pages) * u64::from(layout.page_bytes),
            size: layout.size(),
            allocated: image.allocated().map_err(failed)?,
            state: image.state().map_err(failed)?,
        })
    }

    /// Compares everything in an image that can be compared, and changes nothing.
    ///
    /// # Errors
    /// The image cannot be read, or somebody has it open.
    pub fn check(path: &Path) -> Result<Checked, Error> {
        let failed = |source| Error::file(path, source);
        let (image, config) = Image::open(path, false)?;
        let geometry = Geometry::new(&config.nand).map_err(DeviceError::Config)?;
        let state = image.state().map_err(failed)?;
        let (_, _, found) = Store::find(image, &geometry, Some(0)).map_err(failed)?;
        let mut wrong = Vec::new();
        if state.is_none() {
            wrong.push("how it was left cannot be read".to_owned());
        }
        let clean = state.is_some_and(|state| state.clean);
        if found.damaged > 0 && clean {
            wrong.push(format!(
                "{} pages do not hold what was written there, or have records that make no sense",
                found.damaged
            ));
        }
        Ok(Checked { found, clean, wrong })
    }

    /// The configuration of the drive in an image that differs from `asked`, if it does: the first
    /// key.
    ///
    /// # Errors
    /// The image cannot be read, or holds another drive.
    pub fn check_is(path: &Path, asked: &DeviceConfig) -> Result<(), Error> {
        let (_, config) = Image::open(path, false)?;
        let json = |config| serde_json::to_value(config).unwrap_or_else(|e| unreachable!("{e}"));
        match first_difference("", &json(&config), &json(asked)) {
            None => Ok(()),
            Some(difference) => Err(Error::OtherDrive { path: path.to_owned(), difference }),
        }
    }
}

/// The first key in which two configurations differ.
fn first_difference(
    path: &str,
    held: &serde_json::Value,
    asked: &serde_json::Value,
) -> Option<String> {
    use serde_json::Value::Object;
    match (held, asked) {
        (Object(held), Object(asked)) => {
            let keys = held.keys().chain(asked.keys().filter(|key| !held.contains_key(*key)));
            let null = serde_json::Value::Null;
            keys.into_iter().find_map(|key| {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let side = |map: &serde_json::Map<_, _>| map.get(key).unwrap_or(&null).clone();
                first_difference(&path, &side(held), &side(asked))
            })
        }
        _ if held == asked => None,
        _ => Some(format!("{path} is {held} there, and {asked} was asked for")),
    }
}
