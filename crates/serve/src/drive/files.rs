//! How a drive gets into an image, and out of it again.

use std::path::Path;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use eraseblock_core::config::{DeviceConfig, PowerLoss};
use eraseblock_core::device::{Device, DeviceError, Saved};
use eraseblock_core::nand::{Geometry, Media};
use serde_json::json;

use super::Drive;
use super::powered::Powered;
use crate::error::Error;
use crate::found::{self, Compare, Damage, Found};
use crate::image::{Image, State, Tape};
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
        let geometry = Geometry::new(&config.nand).map_err(DeviceError::Config)?;
        let pages = Device::pages_for_host(config)?;
        let (image, new) = Image::create(path, config, &geometry, pages)?;
        Self::fill(image, config, &geometry, path)?;
        new.publish().map_err(|source| Error::file(path, source))
    }

    fn fill(
        image: Image,
        config: &DeviceConfig,
        geometry: &Geometry,
        path: &Path,
    ) -> Result<(), Error> {
        let failed = |source| Error::file(path, source);
        let contents = found::read(&image, geometry, None, Compare::New).map_err(failed)?;
        let mut store = Store::new(image);
        let media = store.restart(contents, State::default(), false);
        store.find_places(&media);
        // One is written at the end.
        store.checkpoint_every(u64::MAX);
        let store = Shared(Arc::new(Mutex::new(store)));
        let mut device = Device::serving(config, Box::new(store.clone()))?;
        device.precondition()?;
        device.settle()?;
        let mut store = store.get();
        if let Some(why) = store.take_fault() {
            return Err(failed(why));
        }
        let Some(media) = device.media() else { unreachable!("a drive with bytes has a medium") };
        store.write_erases(media.erases()).map_err(failed)?;
        store.end(0, media).map_err(failed)
    }

    /// Opens an image for a server. Its FTL rebuilds its state from the records of the pages; what
    /// power was lost over is found and left out. With `sync` nothing is erased before what takes
    /// its place is on the host's disk.
    ///
    /// # Errors
    /// The image cannot be used, is damaged, or its drive cannot be rebuilt.
    pub fn open(path: &Path, sync: bool) -> Result<(Self, Found), Error> {
        Self::open_watched(path, sync, None)
    }

    /// The same; all that is done to the image from the beginning on goes onto `tape`, too. For
    /// tests of what a machine that crashes leaves.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_watched(
        path: &Path,
        sync: bool,
        tape: Option<Tape>,
    ) -> Result<(Self, Found), Error> {
        let (mut image, config, geometry) = Image::open(path, true)?;
        if let Some(tape) = tape {
            image.disk_mut().record(tape);
        }
        let store = Shared(Arc::new(Mutex::new(Store::new(image))));
        let built = (&config, &geometry);
        let (device, found) = Self::power_up(&store, path, built, sync, Saved::default())?;
        let (page_bytes, started_at) = (device.page_bytes(), device.now());
        let drive = Self {
            device: Powered::on(device),
            store,
            page_bytes,
            started_at,
            failed: None,
            pages: Vec::new(),
            waited: false,
            recorder: None,
        };
        Ok((drive, found))
    }

    /// Power is there: the FTL rebuilds its state from what is in the image, and what a capacitor
    /// `saved` of the RAM is stored.
    fn power_up(
        store: &Shared,
        path: &Path,
        (config, geometry): (&DeviceConfig, &Geometry),
        sync: bool,
        saved: Saved,
    ) -> Result<(Device, Found), Error> {
        let failed = |source| Error::file(path, source);
        let mut held = store.get();
        let state = held.image().state().map_err(failed)?;
        let state = state.ok_or_else(|| damaged(path, HOW_LEFT))?;
        let contents = found::read(held.image(), geometry, Some(state), Compare::New);
        let contents = contents.map_err(failed)?;
        // Going on without what cannot be read would bring older versions back as if nothing were
        // amiss.
        if !contents.damage.is_empty() {
            return Err(damaged(path, &describe(&contents.damage)));
        }
        let (found, torn) = (contents.found, contents.unmarked.clone());
        let media = held.restart(contents, state, sync);
        held.begin(&torn).map_err(failed)?;
        // The drive takes it for each page that it stores.
        drop(held);
        // Copies of a medium have their pages in common. Where there is a thread for it, the store
        // looks through them while the FTL does, and is done before it is told of more.
        let (begun, pages) = (Barrier::new(2), media.clone());
        let device = thread::scope(|scope| {
            let look = || {
                let mut store = store.get();
                begun.wait();
                store.find_places(&pages);
            };
            let thread = thread::Builder::new().name("places".into());
            if thread.spawn_scoped(scope, look).is_ok() {
                begun.wait();
            } else {
                store.get().find_places(&pages);
            }
            Device::serving_again(config, media, saved, Box::new(store.clone()))
        })?;
        drop(pages);
        let mut held = store.get();
        held.settle_places(|lpn| device.place_of(lpn));
        if !device.keeps_ram() {
            held.forget_ram();
        }
        match held.take_fault() {
            Some(why) => Err(failed(why)),
            None => Ok((device, found)),
        }
    }

    /// Why power had better not fail now by order: what a capacitor or a battery saves cannot be
    /// written to a drive that has failed, and what the host's disk has lost does not come back
    /// with the power.
    pub fn refuses_power_cut(&mut self) -> Option<String> {
        let mut store = self.store.get();
        // What the disk says of a sync that is under way counts, too.
        store.let_sync_end();
        let lost = store.image().has_lost();
        drop(store);
        if lost {
            return Some(
                "the disk of the image has lost what was written to it: end the server when all \
                 that is needed has been read, and look what `eraseblock image check` says"
                    .to_owned(),
            );
        }
        let why = self.failed.as_ref().filter(|_| self.saves_ram())?;
        Some(format!(
            "the drive has failed and could not store what its RAM holds: {why}; end the server \
             when all that is needed has been read"
        ))
    }

    /// Whether a battery or a capacitor saves what RAM holds when power fails.
    pub fn saves_ram(&self) -> bool {
        let buffer = &self.device.config().buffer;
        buffer.battery || buffer.power_loss == PowerLoss::Capacitor
    }

    /// Power fails, and comes back: what is under way will not be answered, and what was not stored
    /// is gone, but for what a capacitor saves. Of the flash operations under way none has begun.
    /// `path` is the image's, which stays open, and nobody else's.
    ///
    /// # Errors
    /// As [`Self::open`]; the drive is of no use then.
    pub fn lose_power(&mut self, path: &Path, sync: bool) -> Result<Found, Error> {
        let (config, geometry) = (self.device.config().clone(), self.device.geometry().clone());
        let saved = self.device.saved();
        // One drive at a time is held in memory.
        self.device.switch_off();
        self.store.get().let_go().map_err(|why| Error::file(path, why))?;
        let (device, found) = Self::power_up(&self.store, path, (&config, &geometry), sync, saved)?;
        self.started_at = device.now();
        self.device = Powered::on(device);
        (self.failed, self.waited) = (None, false);
        Ok(found)
    }

    /// Copies the image to `path`, as a power cut would leave it now; whether the file system lets
    /// the two share what neither changes.
    ///
    /// # Errors
    /// The copy cannot be written.
    pub fn snapshot(&self, path: &Path) -> Result<bool, Error> {
        self.store.get().image().copy_to(path)
    }

    /// What is in an image.
    ///
    /// # Errors
    /// The image cannot be read, or somebody has it open.
    pub fn info(path: &Path) -> Result<Info, Error> {
        let failed = |source| Error::file(path, source);
        let (image, config, _) = Image::open(path, false)?;
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
        let (image, _, geometry) = Image::open(path, false)?;
        let state = image.state().map_err(failed)?;
        let contents = found::read(&image, &geometry, state, Compare::All).map_err(failed)?;
        let mut wrong = Vec::new();
        if state.is_none() {
            wrong.push(format!("{HOW_LEFT} is damaged"));
        }
        if !contents.damage.is_empty() {
            wrong.push(format!("damaged: {}", describe(&contents.damage)));
        }
        let clean = state.is_some_and(|state| state.clean);
        Ok(Checked { found: contents.found, clean, wrong })
    }

    /// The configuration of the drive in an image that differs from `asked`, if it does: the first
    /// key.
    ///
    /// # Errors
    /// The image cannot be read, or holds another drive.
    pub fn check_is(path: &Path, asked: &DeviceConfig) -> Result<(), Error> {
        let (_, config, _) = Image::open(path, false)?;
        compare(path, &tables(&config), &tables(asked))
    }

    /// What the flash of the drive in an image holds, for a simulation that begins with it, and the
    /// SHA-256 of that. `nand` and `ftl` of the drive have to be those of `asked`. Changes nothing.
    ///
    /// # Errors
    /// The image cannot be read, is damaged, or holds another drive.
    pub fn flash_of(path: &Path, asked: &DeviceConfig) -> Result<(Media, String), Error> {
        let failed = |source| Error::file(path, source);
        let (image, config, geometry) = Image::open(path, false)?;
        let below = |config| {
            let all = tables(config);
            json!({"nand": all["nand"], "ftl": all["ftl"]})
        };
        compare(path, &below(&config), &below(asked))?;
        let state = image.state().map_err(failed)?.ok_or_else(|| damaged(path, HOW_LEFT))?;
        let contents = found::read(&image, &geometry, Some(state), Compare::New).map_err(failed)?;
        if !contents.damage.is_empty() {
            return Err(damaged(path, &describe(&contents.damage)));
        }
        let sha256 = contents.sha256();
        Ok((contents.media, sha256))
    }
}

pub(super) const HOW_LEFT: &str = "what it says of how it was left";

/// Damages that are named.
const NAMED: usize = 5;

pub(super) fn describe(damage: &[Damage]) -> String {
    let mut named: Vec<_> = damage.iter().take(NAMED).map(Damage::describe).collect();
    if damage.len() > NAMED {
        named.push(format!("{} more", damage.len() - NAMED));
    }
    named.join(", ")
}

pub(super) fn damaged(path: &Path, what: &str) -> Error {
    Error::image(
        path,
        format!(
            "the image is damaged ({what}); `eraseblock image scrub` repairs what it can, and says \
             what is lost"
        ),
    )
}

/// A configuration as tables.
fn tables(config: &DeviceConfig) -> serde_json::Value {
    serde_json::to_value(config).unwrap_or_else(|e| unreachable!("{e}"))
}

/// Refuses an image that holds another drive.
fn compare(path: &Path, held: &serde_json::Value, asked: &serde_json::Value) -> Result<(), Error> {
    match first_difference("", held, asked) {
        None => Ok(()),
        Some(difference) => Err(Error::OtherDrive { path: path.to_owned(), difference }),
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
