//! A drive that serves a host of flesh and blood: its pages have bytes, and requests come one by
//! one, without a workload that is known beforehand.
//!
//! The bytes are somebody else's ([`Cells`]). A request is put to the drive with
//! [`Device::submit`]; what it means for the host's data is decided in that order, at once, so that
//! whoever holds the bytes can answer a read with what the host wrote last before it. When the
//! drive would have answered is found out with [`Device::wait_for_answer`].

use super::assemble::{build_backend, logical_pages};
use super::{Crash, Device, DeviceError, Options, Saved};
use crate::config::{DeviceConfig, Replay};
use crate::host::Request;
use crate::metrics::report::EndOfRun;
use crate::metrics::{Latency, Report};
use crate::nand::{Cells, Flash, Geometry, Media, Stored};
use crate::support::clocks::NEVER;
use crate::support::ids::{Lpn, Ppn};

impl Device {
    /// An empty drive whose pages have bytes.
    ///
    /// # Errors
    /// The configuration is impossible, or one that cannot be served.
    pub fn serving(config: &DeviceConfig, cells: Box<dyn Cells>) -> Result<Self, DeviceError> {
        let kept = Options { verify: true };
        let mut backend = build_backend(config, kept, |mapping| mapping)?;
        if let Some(stored) = backend.stored_mut() {
            stored.attach(cells);
        }
        let mut device = Self::assemble(config, Options::default(), backend, None)?;
        device.check_servable()?;
        device.note_answers();
        Ok(device)
    }

    /// Such a drive after its power has been gone: its FTL rebuilds its state from what was `found`
    /// on the flash, and what had been `saved` of the RAM is stored. What that writes has reached the bytes when this returns.
    ///
    /// # Errors
    /// As [`Self::serving`]; or recovery broke the physics.
    pub fn serving_again(
        config: &DeviceConfig,
        found: Media,
        saved: Saved,
        cells: Box<dyn Cells>,
    ) -> Result<Self, DeviceError> {
        let mut device = Self::serving(config, cells)?;
        let pages = device.logical_pages;
        device.rebuild(Crash::found(found, pages, saved))?;
        device.warmed_up.start_with(device.backend.flash().erases());
        Ok(device)
    }

    /// Pages that the host of such a drive sees; the drive is not built for that.
    ///
    /// # Errors
    /// The configuration is impossible.
    pub fn pages_for_host(config: &DeviceConfig) -> Result<u32, DeviceError> {
        let geometry = Geometry::new(&config.nand).map_err(DeviceError::Config)?;
        logical_pages(config, &geometry)
    }

    /// What a drive cannot do for a host that is really there.
    fn check_servable(&self) -> Result<(), DeviceError> {
        let why = if self.config.host.replay != Replay::Open {
            "host.replay: a drive that is served takes requests when they come; it has to be `open`"
        } else if (self.config.host.speedup - 1.0).abs() > f64::EPSILON {
            "host.speedup: requests of a host that is really there come when they come; it has to be 1"
        } else if self.config.buffer.battery {
            "buffer.battery: the image holds what is on flash, not what a battery keeps in RAM; it \
             has to be false for a drive that is served"
        } else if self.backend.collects_at_once() && self.geometry.program_pages > 1 {
            "ftl.gc: collection that takes no time erases what is only replaced in RAM, in program \
             units of several pages; such a drive cannot be served"
        } else if self.pipeline.buffer().needs_future() {
            "buffer.scheme: it decides by what the host is going to do, which nobody can tell a \
             drive that is served"
        } else {
            return Ok(());
        };
        Err(DeviceError::Config(why.into()))
    }

    /// Lets time pass until a request can be admitted: when it arrives, or when the one before it
    /// makes way. Nothing passes then when it is submitted.
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub fn make_way(&mut self, request: &Request) -> Result<(), DeviceError> {
        if self.failed || self.worn_out {
            return Err(DeviceError::Failed);
        }
        self.check_request(self.backend.counters().submitted, request)?;
        self.backend.note_progress();
        self.wait_for_turn(request.arrival_ns.max(self.requests.last_arrival()))?;
        self.way_is_made = true;
        Ok(())
    }

    /// How often the host has written or trimmed a page.
    #[inline]
    pub fn host_version(&self, lpn: Lpn) -> u32 {
        self.backend.engine().shadow().map_or(0, |shadow| shadow.version(lpn))
    }

    /// Which of the host's writes of a page a read has to find; `None` where it has written nothing
    /// or trimmed it, and zeroes are read.
    #[inline]
    pub fn newest_version(&self, lpn: Lpn) -> Option<u32> {
        let shadow = self.backend.engine().shadow()?;
        (!shadow.is_blank(lpn)).then(|| shadow.version(lpn))
    }

    /// Where the FTL says that a page is. It may be on its way there.
    #[inline]
    pub fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        self.backend.mapping().lookup(lpn)
    }

    /// What the flash holds.
    pub fn media(&self) -> Option<&Media> {
        self.backend.engine().stored().map(|stored: &Stored| &stored.media)
    }

    /// Pages that the host sees.
    pub fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    /// The drive's time, in ns.
    pub fn now(&self) -> u64 {
        self.backend.engine().now()
    }

    /// What the drive has done so far, without what its configuration asks for at the end of a run.
    pub fn report_so_far(&self) -> Report {
        self.report(EndOfRun::default(), self.pipeline.buffer().paper_bytes())
    }

    /// Response times so far: of reads, of writes, of trims and flushes.
    pub fn responses(&self) -> [Latency; 3] {
        self.requests.responses_by_kind()
    }

    /// The flash as it is by issue.
    pub fn flash(&self) -> &Flash {
        self.backend.flash()
    }

    /// What the drive was built from.
    pub fn config(&self) -> &DeviceConfig {
        &self.config
    }

    /// Requests that have been put to the drive and not been answered.
    pub fn under_way(&self) -> u32 {
        self.requests.under_way()
    }

    /// Lets time pass until one more request has been answered, or none is under way.
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub fn wait_for_answer(&mut self) -> Result<(), DeviceError> {
        let before = self.backend.counters().completed;
        while self.requests.under_way() > 0 && self.backend.counters().completed == before {
            self.advance()?;
        }
        Ok(())
    }

    /// Lets everything happen up to `time`, as it does before a request that comes then; the drive's
    /// own time goes on to the last of it alone.
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub fn pass_until(&mut self, time: u64) -> Result<(), DeviceError> {
        self.run_until(time)
    }

    /// When the next thing happens in the drive, in ns of its time; `None` while nothing will.
    pub fn next_event(&self) -> Option<u64> {
        Some(self.next_time()).filter(|&time| time != NEVER)
    }

    /// The next thing happens, if it does before a request that comes at `time`; whether it did.
    /// What is answered by that is answered [now](Self::now).
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub fn pass(&mut self, time: u64) -> Result<bool, DeviceError> {
        self.step_until(time)
    }

    /// Lets time pass until nothing is under way any more, neither requests nor what goes on behind
    /// them.
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub fn settle(&mut self) -> Result<(), DeviceError> {
        self.drain()?;
        self.check_faults()
    }

    /// Moves the numbers of the requests answered since the last call to `into`, in order.
    pub fn take_answers(&mut self, into: &mut Vec<u64>) {
        self.requests.take_answers(into);
    }

    /// The number that the next request will have.
    pub fn next_number(&self) -> u64 {
        self.backend.counters().submitted
    }
}
