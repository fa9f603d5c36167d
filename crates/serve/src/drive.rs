//! A drive with real bytes: the simulated one, and an image.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use eraseblock_core::config::DeviceConfig;
use eraseblock_core::device::{Device, DeviceError};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::nand::{Geometry, Media};
use eraseblock_core::support::ids::{Lpn, Ppn};
use thiserror::Error;

use crate::error::Error;
use crate::found::Found;
use crate::image::{Image, State};
use crate::store::{Shared, Store};

/// Why a drive does not do what it is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Failure {
    /// It cannot be written any more: the host's disk or the drive has no room.
    #[error("no room: {0}")]
    NoSpace(String),
    /// It cannot be written any more, or a page cannot be read.
    #[error("{0}")]
    Io(String),
}

/// A drive that is open.
#[derive(Debug)]
pub struct Drive {
    device: Device,
    store: Shared,
    state: State,
    page_bytes: u64,
    /// The drive's time when it was opened.
    started_at: u64,
    /// Why nothing can be written any more.
    failed: Option<Failure>,
    /// Pages of the request being put.
    pages: Vec<Lpn>,
}

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

impl Drive {
    /// Makes an image of the drive that `config` describes, in the state that its table
    /// `precondition` asks for. Pages that this writes are zero.
    ///
    /// # Errors
    /// The drive is impossible or cannot be served, or the file cannot be made.
    pub fn create(path: &Path, config: &DeviceConfig) -> Result<(), Error> {
        let empty = Device::new(config, eraseblock_core::device::Options::default())?;
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
    /// power was lost over is found and left out.
    ///
    /// # Errors
    /// The image cannot be used, or its drive not be rebuilt.
    pub fn open(path: &Path) -> Result<(Self, Found), Error> {
        let failed = |source| Error::file(path, source);
        let (image, config) = Image::open(path, true)?;
        let geometry = Geometry::new(&config.nand).map_err(DeviceError::Config)?;
        let state = image.state().map_err(failed)?.unwrap_or_default();
        let checked_after = (!state.clean).then_some(state.steps);
        let (store, media, found) = Store::find(image, &geometry, checked_after).map_err(failed)?;
        let state = State { clean: false, opened: state.opened + 1, ..state };
        store.mark_torn(&media).map_err(failed)?;
        store.image().write_state(&state).map_err(failed)?;
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

    /// Compares everything in an image that can be compared, and changes nothing: what was found,
    /// and what is wrong, if anything.
    ///
    /// # Errors
    /// The image cannot be read, or somebody has it open.
    pub fn check(path: &Path) -> Result<(Found, Vec<String>), Error> {
        let failed = |source| Error::file(path, source);
        let (image, config) = Image::open(path, false)?;
        let geometry = Geometry::new(&config.nand).map_err(DeviceError::Config)?;
        let state = image.state().map_err(failed)?;
        let (_, _, found) = Store::find(image, &geometry, Some(0)).map_err(failed)?;
        let mut wrong = Vec::new();
        if state.is_none() {
            wrong.push("how it was left cannot be read".to_owned());
        }
        if found.damaged > 0 && state.is_some_and(|state| state.clean) {
            wrong.push(format!(
                "{} pages do not hold what was written there, or have records that make no sense",
                found.damaged
            ));
        }
        Ok((found, wrong))
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

    /// Power fails when so many more steps of flash operations have ended: the drive fails, and the
    /// image is what is left.
    pub fn cut_after(&mut self, steps: u64) {
        self.device.cut_after(self.device.completions() + steps);
    }

    /// Steps of flash operations that have ended since the drive was opened.
    pub fn steps(&self) -> u64 {
        self.device.completions()
    }

    /// Bytes that clients see.
    pub fn size(&self) -> u64 {
        self.device.exported_bytes()
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// The simulated drive, to look at.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Pages whose bytes are in RAM.
    pub fn pages_in_ram(&self) -> usize {
        self.store.get().pages_in_ram()
    }

    /// Why nothing can be written any more.
    pub fn failure(&self) -> Option<&Failure> {
        self.failed.as_ref()
    }

    /// Puts a request to the drive, at `time` of its own in ns, or as soon as that one takes it.
    /// `data` are the bytes of a write. Its number comes back: it is answered when
    /// [`Self::take_answers`] names that.
    ///
    /// # Errors
    /// The drive has failed; of what was asked nothing has been answered.
    pub fn put(
        &mut self,
        op: Op,
        (offset, len): (u64, u64),
        data: &[u8],
        fua: bool,
        time: u64,
    ) -> Result<u64, Failure> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        let request = Request { arrival_ns: time, offset, len, volume: 0, op, fua };
        let put = self.device.make_way(&request);
        self.held(put)?;
        let number = self.device.next_number();
        let request = Request { arrival_ns: self.device.now(), ..request };
        self.pages.clear();
        match op {
            Op::Write => self.keep_bytes(offset, data)?,
            Op::Trim => {
                let (first, end) =
                    (offset.div_ceil(self.page_bytes), (offset + len) / self.page_bytes);
                let mut store = self.store.get();
                Lpn::each(Lpn(first as u32)..Lpn(end.max(first) as u32))
                    .for_each(|lpn| store.trim(lpn));
            }
            Op::Read | Op::Flush => {}
        }
        let put = self.device.submit(&request);
        self.held(put)?;
        let mut store = self.store.get();
        self.pages.iter().for_each(|&lpn| store.settle(lpn));
        drop(store);
        Ok(number)
    }

    /// The bytes of a write are kept from now on, as the versions that its pages are going to have.
    fn keep_bytes(&mut self, offset: u64, mut data: &[u8]) -> Result<(), Failure> {
        let Some(media) = self.device.media() else { return Ok(()) };
        let mut at = offset;
        let mut store = self.store.get();
        while !data.is_empty() {
            let (page, from) = ((at / self.page_bytes) as u32, at % self.page_bytes);
            let count = (self.page_bytes - from).min(data.len() as u64);
            let (now, rest) = data.split_at(count as usize);
            let lpn = Lpn(page);
            let version = self.device.host_version(lpn) + 1;
            let before = place(&self.device, lpn);
            store
                .write(lpn, version, (from as usize, now), before, media)
                .map_err(|why| Failure::Io(why.to_string()))?;
            self.pages.push(lpn);
            (data, at) = (rest, at + count);
        }
        Ok(())
    }

    /// What the host has written last of these bytes; no matter whether the drive has failed.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), Failure> {
        let Some(media) = self.device.media() else { return Ok(()) };
        let mut store = self.store.get();
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let (page, from) = ((at / self.page_bytes) as u32, at % self.page_bytes);
            let count = (self.page_bytes - from).min(rest.len() as u64);
            let (now, after) = rest.split_at_mut(count as usize);
            let lpn = Lpn(page);
            let expected = place(&self.device, lpn);
            store
                .read(lpn, expected, (from as usize, now), media)
                .map_err(|why| Failure::Io(why.to_string()))?;
            (rest, at) = (after, at + count);
        }
        Ok(())
    }

    /// Whether nothing is stored of the page with this byte, and where the page ends.
    pub fn is_hole(&self, offset: u64) -> (bool, u64) {
        let page = offset / self.page_bytes;
        (self.device.newest_version(Lpn(page as u32)).is_none(), (page + 1) * self.page_bytes)
    }

    /// The drive's time, in ns.
    pub fn now(&self) -> u64 {
        self.device.now()
    }

    /// Requests that have been put and not been answered.
    pub fn under_way(&self) -> u32 {
        self.device.under_way()
    }

    /// Lets the drive's time pass until one more request has been answered.
    ///
    /// # Errors
    /// The drive has failed: what is under way will not be answered.
    pub fn wait(&mut self) -> Result<(), Failure> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        let waited = self.device.wait_for_answer();
        self.held(waited)
    }

    /// Moves the numbers of the requests answered since the last call to `into`.
    pub fn take_answers(&mut self, into: &mut Vec<u64>) {
        self.device.take_answers(into);
    }

    /// What has been written to the image is on the host's disk when this returns.
    ///
    /// # Errors
    /// The disk does not take it.
    pub fn sync(&mut self) -> Result<(), Failure> {
        let synced = self.store.get().image().sync();
        synced.map_err(|why| self.fail(of_disk(&why)))
    }

    /// The drive ends as it should: everything is stored, and nothing is under way.
    ///
    /// # Errors
    /// The drive has failed; what was answered before is in the image.
    pub fn close(mut self) -> Result<(), Failure> {
        let now = self.now();
        self.put(Op::Flush, (0, 0), &[], false, now)?;
        while self.under_way() > 0 {
            self.wait()?;
        }
        let settled = self.device.settle();
        self.held(settled)?;
        let store = self.store.get();
        let time_ns = self.state.time_ns + self.device.now() - self.started_at;
        let state = State { clean: true, steps: store.steps(), time_ns, ..self.state };
        let image = store.image();
        let written = image.sync().and_then(|()| image.write_state(&state));
        written.and_then(|()| image.sync()).map_err(|why| of_disk(&why))
    }

    /// Nothing can be written from now on.
    fn fail(&mut self, why: Failure) -> Failure {
        self.failed.get_or_insert(why).clone()
    }

    /// The outcome of a step of the drive, and of what it did to the image.
    #[inline]
    fn held(&mut self, result: Result<(), DeviceError>) -> Result<(), Failure> {
        let fault = self.store.get().fault().map(of_disk);
        let failed = match (result, fault) {
            (Ok(()), None) => return Ok(()),
            (_, Some(why)) => why,
            (Err(why @ (DeviceError::NoSpace(_) | DeviceError::EndOfLife { .. })), None) => {
                Failure::NoSpace(why.to_string())
            }
            (Err(why), None) => Failure::Io(why.to_string()),
        };
        Err(self.fail(failed))
    }
}

/// Which version of a page a read has to find, and where the FTL says that it is.
#[inline]
fn place(device: &Device, lpn: Lpn) -> Option<(u32, Option<Ppn>)> {
    device.newest_version(lpn).map(|version| (version, device.place_of(lpn)))
}

fn of_disk(why: &io::Error) -> Failure {
    if why.kind() == io::ErrorKind::StorageFull {
        Failure::NoSpace(format!("the disk of the image: {why}"))
    } else {
        Failure::Io(format!("the disk of the image: {why}"))
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
            keys.filter_map(|key| {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let side = |map: &serde_json::Map<_, _>| map.get(key).unwrap_or(&null).clone();
                first_difference(&path, &side(held), &side(asked))
            })
            .next()
        }
        _ if held == asked => None,
        _ => Some(format!("{path} is {held} there, and {asked} was asked for")),
    }
}
