//! Power cuts: what is left of a drive, and how it comes back.

use super::pipeline::{Kept, Ram};
use super::{Device, DeviceError, Options};
use crate::config::{DeviceConfig, PowerLoss};
use crate::metrics::Counters;
pub use crate::nand::engine::Fate;
use crate::nand::{FlashOp, Media, Stored};
use crate::support::ids::Lpn;

/// What a power cut leaves: the flash, and what was in RAM where a battery holds it up or a
/// capacitor lets the drive save it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crash {
    media: Media,
    /// Version of the host's last trim of each page, for the oracle.
    trims: Vec<u32>,
    /// Without either empty, or what is in open program units, where collection takes no time.
    ram: Ram,
}

impl Crash {
    /// What was found of a drive of so many pages whose power has really been gone: the flash, and
    /// what had been `saved` of the RAM.
    pub(super) fn found(media: Media, logical_pages: u32, saved: Saved) -> Self {
        Self { media, trims: vec![0; logical_pages as usize], ram: saved.0 }
    }
}

/// What outlasts a power cut beside what is stored for good: which pages, not their bytes.
#[derive(Debug, Clone, Default)]
pub struct Saved(Ram);

/// Is shown a drive when power would fail, and says after how many completions that would be again.
type Look = Box<dyn FnMut(&Device) -> u64 + Send>;

/// Who looks at a drive when power would fail, if anybody does.
#[derive(Default)]
pub(super) struct OnCut(Option<Look>);

impl std::fmt::Debug for OnCut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OnCut").field(&self.0.is_some()).finish()
    }
}

impl Device {
    /// Power fails now. Each operation under way has not begun, is torn, or is done, as `fate`
    /// says.
    ///
    /// # Errors
    /// The drive does not keep what its flash holds: it was built without [`Options::verify`].
    pub fn cut(&self, fate: impl FnMut(&FlashOp) -> Fate) -> Result<Crash, DeviceError> {
        let Saved(ram) = self.saved();
        let Some(Stored { media, shadow: Some(shadow), .. }) = self.backend.engine().cut(fate)
        else {
            return Err(DeviceError::Config("a power cut needs a drive built with verify".into()));
        };
        Ok(Crash { media, trims: shadow.trims(), ram })
    }

    /// What would outlast a power cut at this moment beside what is stored for good.
    pub fn saved(&self) -> Saved {
        let buffer = &self.config.buffer;
        Saved(if !self.kept.is_empty() {
            self.kept.clone()
        } else if buffer.battery || buffer.power_loss == PowerLoss::Capacitor {
            self.ram()
        } else if self.backend.collects_at_once() {
            self.open_units()
        } else {
            Ram::new()
        })
    }

    /// Whether pages outlast power cuts that the flash has no room for, so that the drive can only
    /// be read.
    pub fn keeps_ram(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Brings a drive back from what a power cut left. The FTL rebuilds its state from the flash
    /// alone; then what a battery kept or a capacitor saved is stored. The flash operations that this takes happen at
    /// once.
    ///
    /// # Errors
    /// The configuration is impossible, or recovery broke the physics.
    pub fn recover(config: &DeviceConfig, crash: Crash) -> Result<Self, DeviceError> {
        let mut device = Self::new(config, Options { verify: true })?;
        device.rebuild(crash)?;
        Ok(device)
    }

    /// A drive that begins with what the flash of another one was `found` to hold: its FTL rebuilds
    /// its state from that, as after a power cut.
    ///
    /// # Errors
    /// As [`Self::recover`].
    pub fn resuming(
        config: &DeviceConfig,
        options: Options,
        found: Media,
    ) -> Result<Self, DeviceError> {
        let mut device = Self::new(config, options)?;
        let pages = device.logical_pages;
        device.rebuild(Crash::found(found, pages, Saved::default()))?;
        device.preconditioning.state = "image".into();
        device.preconditioning.settled = true;
        // What it takes to come back is in no figure, nor is the life before.
        device.warmed_up.start_with(device.backend.flash().erases());
        device.observers.restart(&device.as_observed());
        Ok(device)
    }

    /// A drive that comes back, as with [`Self::recover`], and what would be left if power failed
    /// again meanwhile: a crash for each program and erase of the recovery but the first, as it is
    /// just before that. Before the first nothing has changed; nor do reads change anything, so
    /// that a cut after one is the next cut.
    ///
    /// # Errors
    /// As [`Self::recover`].
    pub fn recovery_cuts(
        config: &DeviceConfig,
        crash: Crash,
    ) -> Result<(Self, Vec<Crash>), DeviceError> {
        let mut device = Self::new(config, Options { verify: true })?;
        let (trims, ram) = (crash.trims.clone(), crash.ram.clone());
        if let Some(stored) = device.backend.stored_mut() {
            stored.keep_moments();
        }
        device.rebuild(crash)?;
        let moments = device.backend.stored_mut().map(Stored::moments).unwrap_or_default();
        let crash = |media| Crash { media, trims: trims.clone(), ram: ram.clone() };
        let crashes = moments.into_iter().skip(1).map(crash).collect();
        Ok((device, crashes))
    }

    pub(super) fn rebuild(&mut self, crash: Crash) -> Result<(), DeviceError> {
        debug_assert_eq!(crash.trims.len(), self.logical_pages as usize);
        let mut found = crash.media;
        found.power_up();
        let timed = self.backend.set_timed(false);
        self.backend.recover(found, &crash.trims);
        self.start_jobs()?;
        self.backend.forget_plan();
        self.check_faults()?;
        self.backend.check().map_err(DeviceError::Law)?;
        self.backend.has_recovered();
        if !crash.ram.is_empty() {
            match self.store_ram(&crash.ram) {
                // The drive can only be read, and the battery goes on holding up what the flash has
                // no room for.
                Err(DeviceError::EndOfLife { .. }) => self.kept = crash.ram,
                stored => stored?,
            }
            self.backend.forget_plan();
            self.check_faults()?;
            self.backend.check().map_err(DeviceError::Law)?;
        }
        self.backend.set_timed(timed);
        *self.backend.count() = Counters::default();
        self.erased_before = self.backend.flash().erases().iter().map(|&e| u64::from(e)).sum();
        Ok(())
    }

    /// Version of the host's writes that a read of logical page `lpn` finds after recovery: 0 where
    /// there is nothing.
    pub fn stored_version(&self, lpn: Lpn) -> u32 {
        if let Ok(at) = self.kept.binary_search_by_key(&lpn, |&(lpn, _)| lpn) {
            return match self.kept[at].1 {
                Kept::Data(version) => version,
                Kept::Trimmed(_) => 0,
            };
        }
        let found = self
            .backend
            .mapping()
            .lookup(lpn)
            .and_then(|ppn| self.backend.engine().media()?.oob(ppn));
        found.filter(|oob| oob.lpn == lpn).map_or(0, |oob| oob.version)
    }

    /// Steps of flash operations that have ended.
    pub fn completions(&self) -> u64 {
        self.backend.engine().stored().map_or(0, Stored::completions)
    }

    /// Power will fail when so many steps of flash operations have ended: [`Device::submit`] and
    /// the others then end with [`DeviceError::PowerCut`], and [`Device::cut`] tells what is left.
    pub fn cut_after(&mut self, completions: u64) {
        self.cut_after = completions;
    }

    /// The same, but that nothing fails: `look` is shown the drive at that moment, for
    /// [`Device::cut`] to tell what would be left, and says after how many completions it wants to
    /// see it again. So one run has all moments of it.
    pub fn look_after(
        &mut self,
        completions: u64,
        look: impl FnMut(&Self) -> u64 + Send + 'static,
    ) {
        self.cut_after = completions;
        self.on_cut = OnCut(Some(Box::new(look)));
    }

    #[cold]
    pub(super) fn power_fails(&mut self) -> Result<(), DeviceError> {
        let Some(mut look) = self.on_cut.0.take() else {
            self.failed = true;
            return Err(DeviceError::PowerCut);
        };
        self.cut_after = look(self);
        self.on_cut.0 = Some(look);
        Ok(())
    }

    /// Notes which requests are answered, from now on.
    pub fn note_answers(&mut self) {
        self.requests.keep_answers();
    }

    /// Numbers of the requests answered since then, counted from 0, in order.
    pub fn answers(&self) -> &[u64] {
        self.requests.answers()
    }
}
