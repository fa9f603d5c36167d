//! A drive with real bytes: the simulated one, and an image.

mod files;
mod glance;
mod powered;
mod scrub;

use std::io;

use eraseblock_core::device::{Device, DeviceError};
use eraseblock_core::host::{Op, Request};
use eraseblock_core::metrics::Report;
use eraseblock_core::support::ids::{Lpn, Ppn};
use thiserror::Error;

pub use files::{Checked, Info};
pub use glance::{Glance, Times};
pub use scrub::Scrubbed;

use powered::Powered;

use crate::image::record::MOST_TIMES;
use crate::image::{Starved, Stop};
use crate::record::Recorder;
use crate::store::Shared;

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

/// What a drive leaves that ended as it should.
#[derive(Debug)]
pub struct Finished {
    /// What it has done since it was opened.
    pub report: Report,
    /// All that was put to it, whole.
    pub recorder: Option<Recorder>,
    /// Why its last checkpoint could not be written, if that is so: it takes longer to open the
    /// image then. Nothing else comes of it.
    pub checkpoint_failed: Option<String>,
}

/// What a drive leaves that could not end as it should.
#[derive(Debug)]
pub struct Unfinished {
    /// Why; what was answered before is in the image.
    pub why: Failure,
    /// What it has done until then.
    pub report: Report,
    /// All that was put to it until then.
    pub recorder: Option<Recorder>,
}

/// A drive that is open.
#[derive(Debug)]
pub struct Drive {
    device: Powered,
    store: Shared,
    page_bytes: u64,
    /// The drive's time when it was opened.
    started_at: u64,
    /// Why nothing can be written any more.
    failed: Option<Failure>,
    /// Pages that the request being put replaces in RAM.
    pages: Vec<Lpn>,
    /// Time has passed in which no request could come: the next one comes later than now.
    waited: bool,
    /// Where requests are written down.
    recorder: Option<Recorder>,
}

impl Drive {
    /// Power fails when so many more steps of flash operations have ended: the drive fails, and the
    /// image is what is left.
    pub fn cut_after(&mut self, steps: u64) {
        let end = self.device.completions() + steps;
        self.device.cut_after(end);
    }

    /// Nothing reaches the image after the `writes`-th write to it from now on. For tests of what
    /// that leaves.
    pub fn stop_after(&mut self, writes: u64, why: Stop) {
        self.store.get().image_mut().disk_mut().stop_after(writes, why);
    }

    /// The next sync of the image fails, and the ones after it do not: so the system tells of it.
    /// Or it does not fail, if it has not come yet. For tests.
    pub fn fail_sync(&mut self, fails: bool) {
        self.store.get().image_mut().disk_mut().fail_sync(fails);
    }

    /// A checkpoint is written whenever so many pages have been programmed. For tests: without
    /// this, small drives write one at their end alone, but for those that wait for the disk.
    pub fn checkpoint_every(&mut self, pages: u64) {
        self.store.get().checkpoint_every(pages);
    }

    /// Checkpoints lack this from now on, or nothing any more. For tests.
    pub fn starve_checkpoints(&mut self, why: Option<Starved>) {
        self.store.get().image_mut().starve(why);
    }

    /// Why the last checkpoint that was begun could not be written, if that is so. It takes longer
    /// to open the image then; nothing else comes of it.
    pub fn checkpoint_failure(&self) -> Option<String> {
        self.store.get().checkpoint_failure()
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
        // The drive's time begins with the first request, as that of a trace.
        let time = if self.device.next_number() == 0 { 0 } else { time };
        // What happens now may wait for all that comes now, and has happened: a simulation of the
        // same requests is to find the same order.
        let time = time.max(self.device.now() + u64::from(self.waited));
        self.waited = false;
        let request = Request { arrival_ns: time, offset, len, volume: 0, op, fua };
        if matches!(op, Op::Write | Op::Trim) {
            self.check_versions(offset, len)?;
        }
        let put = self.device.make_way(&request);
        self.held(put)?;
        let number = self.device.next_number();
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
        if let Some(recorder) = &mut self.recorder {
            recorder.note(request);
        }
        let put = self.device.submit(&request);
        self.held(put)?;
        if !self.pages.is_empty() {
            let mut store = self.store.get();
            self.pages.iter().for_each(|&lpn| store.settle(lpn));
        }
        Ok(number)
    }

    /// Whether these pages can be written or trimmed once more. Records have 32 bits for how often
    /// that has been done: a program that does nothing else gets there within hours.
    fn check_versions(&self, offset: u64, len: u64) -> Result<(), Failure> {
        let (first, end) = (offset / self.page_bytes, (offset + len).div_ceil(self.page_bytes));
        let is_last = |lpn: &Lpn| self.device.host_version(*lpn) + 1 >= MOST_TIMES;
        match Lpn::each(Lpn(first as u32)..Lpn(end as u32)).find(is_last) {
            None => Ok(()),
            Some(lpn) => Err(Failure::Io(format!(
                "logical page {lpn} has been written {} times, and its image counts no further: copy \
                 what the drive holds to a new one (eraseblock image export)",
                MOST_TIMES - 1
            ))),
        }
    }

    /// The bytes of a write are kept from now on, as the versions that its pages are going to have.
    fn keep_bytes(&mut self, offset: u64, mut data: &[u8]) -> Result<(), Failure> {
        let Some(media) = self.device.media() else { return Ok(()) };
        let mut at = offset;
        let mut store = self.store.get();
        // What is left of the last page has to be readable before anything is kept. (The first page
        // comes first.)
        let end = offset + data.len() as u64;
        if !end.is_multiple_of(self.page_bytes) {
            let lpn = Lpn((end / self.page_bytes) as u32);
            let mut page = vec![0; self.page_bytes as usize];
            store
                .read(lpn, place(&self.device, lpn), (0, &mut page), media)
                .map_err(|why| Failure::Io(why.to_string()))?;
        }
        while !data.is_empty() {
            let (page, from) = ((at / self.page_bytes) as u32, at % self.page_bytes);
            let count = (self.page_bytes - from).min(data.len() as u64);
            let (now, rest) = data.split_at(count as usize);
            let lpn = Lpn(page);
            let version = self.device.host_version(lpn) + 1;
            let replaces = if count == self.page_bytes {
                store.write(lpn, version, now)
            } else {
                let before = place(&self.device, lpn);
                store
                    .write_part(lpn, version, (from as usize, now), before, media)
                    .map_err(|why| Failure::Io(why.to_string()))?
            };
            if replaces {
                self.pages.push(lpn);
            }
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
        self.waited = true;
        let waited = self.device.wait_for_answer();
        self.held(waited)
    }

    /// The next thing happens in the drive, if it does before a request that comes at `time`;
    /// whether it did. What is answered by that is answered [now](Self::now).
    ///
    /// # Errors
    /// The drive has failed: what is under way will not be answered.
    pub fn pass(&mut self, time: u64) -> Result<bool, Failure> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        let passed = self.device.pass(time);
        let happened = passed.as_ref().is_ok_and(|&happened| happened);
        self.held(passed.map(drop))?;
        Ok(happened)
    }

    /// When the next thing happens in the drive, in ns of its time; `None` while nothing will.
    pub fn next_event(&self) -> Option<u64> {
        self.device.next_event()
    }

    /// Whether another request would have to wait for its turn.
    pub fn is_full(&self) -> bool {
        self.device.under_way() >= self.device.config().host.max_outstanding
    }

    /// From now on all that is put to the drive is written down, as a trace: a simulation of the
    /// same drive in the same state does with it what this one does.
    pub fn record(&mut self, recorder: Recorder) {
        self.recorder = Some(recorder);
    }

    /// Where requests are written down, if they are.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
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
        let synced = self.store.get().sync();
        synced.map_err(|why| self.fail(of_disk(&why)))
    }

    /// The drive ends as it should: everything is stored, and nothing is under way.
    ///
    /// # Errors
    /// The drive has failed, and why. What it has done until then comes back, too.
    pub fn close(mut self) -> Result<Finished, Box<Unfinished>> {
        match self.end() {
            Ok(report) => {
                let (checkpoint_failed, recorder) = (self.checkpoint_failure(), self.recorder);
                Ok(Finished { report, recorder, checkpoint_failed })
            }
            Err(why) => {
                let (report, recorder) = (self.device.report_so_far(), self.recorder);
                Err(Box::new(Unfinished { why, report, recorder }))
            }
        }
    }

    fn end(&mut self) -> Result<Report, Failure> {
        let now = self.now();
        self.put(Op::Flush, (0, 0), &[], false, now)?;
        while self.under_way() > 0 {
            self.wait()?;
        }
        let settled = self.device.settle();
        self.held(settled)?;
        // What the configuration asks for at the end of a run, and a check of its accounts.
        let finished = self.device.finish();
        let report = self.held(finished)?;
        let time_ns = self.device.now() - self.started_at;
        if let Some(media) = self.device.media() {
            self.store.get().end(time_ns, media).map_err(|why| of_disk(&why))?;
        }
        Ok(report)
    }

    /// Nothing can be written from now on.
    fn fail(&mut self, why: Failure) -> Failure {
        self.failed.get_or_insert(why).clone()
    }

    /// The outcome of a step of the drive, and of what it did to the image.
    #[inline]
    fn held<T>(&mut self, result: Result<T, DeviceError>) -> Result<T, Failure> {
        let fault = self.store.get().fault().map(of_disk);
        let failed = match (result, fault) {
            (Ok(value), None) => return Ok(value),
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
