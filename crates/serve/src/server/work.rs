//! Requests of clients on their way through the drive.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use eraseblock_core::host::Op;
use eraseblock_nbd::{Command, Errno, Extent, Request};

use super::clock::Clock;
use super::numbers::Numbers;
use crate::drive::{Drive, Failure};
use crate::error::Error;
use crate::found::Found;

/// Pages that are trimmed at once. What a client trims beyond that follows piece by piece, and
/// others have their turn in between.
const MOST_TRIMMED: u64 = 256 << 10;
/// Pages that are looked at for one question which bytes are allocated. Its answer ends there, and
/// the client asks on.
const MOST_PAGES: u32 = 16 << 10;
/// To look at so many is as much as to take a request.
const PAGES_OF_A_REQUEST: u64 = 256;
/// Buffers for the bytes of reads that are kept.
const KEPT_BUFFERS: usize = 64;
/// Larger ones are not kept.
const KEPT_BYTES: usize = 256 << 10;

/// A request under way.
#[derive(Debug)]
struct Asked {
    whose: Whose,
    request: Request,
    /// Requests of the drive that it still waits for.
    parts: u32,
    /// Bytes that are still to be trimmed.
    trim: (u64, u64),
    /// A flush follows.
    then_flush: bool,
    /// Bytes that were read when the drive took it.
    data: Option<Vec<u8>>,
}

/// A client, which may have gone meanwhile: its place, and which of those in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whose {
    pub place: usize,
    pub birth: u64,
}

/// What is to be said to a client.
#[derive(Debug)]
pub enum Said {
    Done,
    /// The bytes of a read, or that the drive has them at hand.
    Data(Option<Vec<u8>>),
    Extents(Vec<Extent>),
    Failed(Errno),
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub whose: Whose,
    pub request: Request,
    pub said: Said,
    /// The drive's time at which it is answered.
    pub due: u64,
}

/// The drive, and what clients have asked of it.
#[derive(Debug)]
pub struct Work {
    pub drive: Drive,
    asked: Vec<Option<Asked>>,
    free: Vec<u32>,
    /// Which request each one of the drive's belongs to.
    numbers: Numbers,
    answered: Vec<u64>,
    /// Places of requests of which a part is still to be put to the drive.
    unfinished: VecDeque<u32>,
    buffers: Vec<Vec<u8>>,
    zeroes: Vec<u8>,
    most: u32,
    /// Since when nothing has been under way; nothing before the first request.
    idle_since: Option<Instant>,
    /// Where answers come when the drive's time says so.
    pub clock: Option<Clock>,
    /// What is promised to last is on the host's disk first.
    sync: bool,
}

impl Work {
    pub fn new(drive: Drive, most: u32, sync: bool, paced: bool) -> Self {
        Self {
            drive,
            asked: Vec::new(),
            free: Vec::new(),
            numbers: Numbers::default(),
            answered: Vec::new(),
            unfinished: VecDeque::new(),
            buffers: Vec::new(),
            zeroes: Vec::new(),
            most,
            idle_since: None,
            clock: paced.then(Clock::default),
            sync,
        }
    }

    /// Whether requests are under way.
    pub fn is_busy(&self) -> bool {
        self.free.len() < self.asked.len()
    }

    /// The drive's time now. It stands until the first request. Then it goes from event to event
    /// while requests are under way, and with the clock on the wall while none is; with a clock of
    /// its own, always with that.
    #[inline]
    fn time(&mut self) -> u64 {
        let now = self.drive.now();
        if let Some(clock) = &mut self.clock {
            clock.start(now);
            return clock.now().unwrap_or(now);
        }
        if self.drive.under_way() > 0 {
            return now;
        }
        let idle = self
            .idle_since
            .map_or(0, |since| since.elapsed().as_nanos().min(u128::from(u64::MAX >> 8)) as u64);
        now + idle
    }

    /// Whether requests would have to wait for their turn: with a clock, clients keep them, as the
    /// host of a drive does. Without one the drive makes way for them.
    pub fn is_full(&self) -> bool {
        self.clock.is_some() && self.drive.is_full()
    }

    /// How much it is to take a request, in such as are put to the drive.
    #[inline]
    pub fn effort(&self, request: &Request) -> u32 {
        let most = match request.command {
            Command::BlockStatus { .. } => u64::from(MOST_PAGES),
            Command::Trim | Command::WriteZeroes { .. } => MOST_TRIMMED,
            _ => return 1,
        };
        let pages = request.length.div_ceil(self.drive.page_bytes()).min(most);
        1 + (pages / PAGES_OF_A_REQUEST) as u32
    }

    /// Takes a request, and adds to `answers` what can be answered now.
    pub fn ask(&mut self, whose: Whose, request: &Request, data: &[u8], answers: &mut Vec<Answer>) {
        let (request, trim) = (*request, (0, 0));
        let asked = Asked { whose, request, parts: 0, trim, then_flush: false, data: None };
        let place = self.free.pop().unwrap_or_else(|| {
            self.asked.push(None);
            self.asked.len() as u32 - 1
        });
        self.asked[place as usize] = Some(asked);
        if self.clock.is_some() {
            // What has been answered meanwhile is answered before.
            self.pass(answers);
        }
        match self.begin(place, &request, data) {
            Ok(None) => {}
            Ok(Some(said)) => self.say(place, said, answers),
            Err(why) => self.fail(place, &why, answers),
        }
        // Others may have been answered while this one was on its way.
        self.collect(answers);
    }

    /// Puts a request to the drive; what can be said at once.
    #[inline]
    fn begin(
        &mut self,
        place: u32,
        request: &Request,
        data: &[u8],
    ) -> Result<Option<Said>, Failure> {
        let Request { command, offset, length, fua, .. } = *request;
        if let Command::BlockStatus { one } = command {
            return Ok(Some(Said::Extents(self.extents(offset, length, one))));
        }
        if length == 0 && command != Command::Flush {
            return Ok(Some(if command == Command::Read { Said::Data(None) } else { Said::Done }));
        }
        if self.drive.failure().is_some() && matches!(command, Command::Read | Command::Cache) {
            // What was answered is there to be read.
            return Ok(Some(if command == Command::Read { Said::Data(None) } else { Said::Done }));
        }
        let range = (offset, length);
        match command {
            Command::Read => {
                let number = self.put(place, Op::Read, range, &[], false)?;
                self.drive.take_answers(&mut self.answered);
                if !self.answered.contains(&number) {
                    // Others may write there before the drive answers.
                    let mut bytes = self.buffers.pop().unwrap_or_default();
                    bytes.resize(length as usize, 0);
                    if let Err(why) = self.drive.read(offset, &mut bytes) {
                        self.buffers.push(bytes);
                        return Err(why);
                    }
                    if let Some(asked) = &mut self.asked[place as usize] {
                        asked.data = Some(bytes);
                    }
                }
            }
            Command::Write => _ = self.put(place, Op::Write, range, data, fua)?,
            Command::Flush => _ = self.put(place, Op::Flush, (0, 0), &[], false)?,
            Command::Cache if length > u64::from(self.most) => {
                return Ok(Some(Said::Failed(Errno::Overflow)));
            }
            Command::Cache => _ = self.put(place, Op::Read, range, &[], false)?,
            Command::Trim => return self.trim(place, range, fua),
            Command::WriteZeroes { keep: true, fast: true } => {
                return Ok(Some(Said::Failed(Errno::NotSupported)));
            }
            // Parts of pages are written, which is not faster than a write.
            Command::WriteZeroes { fast: true, .. }
                if offset % self.drive.page_bytes() != 0
                    || length % self.drive.page_bytes() != 0 =>
            {
                return Ok(Some(Said::Failed(Errno::NotSupported)));
            }
            Command::WriteZeroes { keep: true, .. } if length > u64::from(self.most) => {
                return Ok(Some(Said::Failed(Errno::Overflow)));
            }
            Command::WriteZeroes { keep: true, .. } => self.write_zeroes(place, range, fua)?,
            Command::WriteZeroes { keep: false, .. } => {
                // Whole pages are trimmed, which reads as zeroes; the rest is written.
                let (page, end) = (self.drive.page_bytes(), offset + length);
                let (first, last) = (offset.next_multiple_of(page).min(end), end / page * page);
                if first > offset {
                    self.write_zeroes(place, (offset, first - offset), fua)?;
                }
                if last >= first && last < end {
                    self.write_zeroes(place, (last, end - last), fua)?;
                }
                if last > first {
                    self.trim_all(place, (first, last - first), fua)?;
                }
            }
            Command::BlockStatus { .. } => {}
        }
        Ok(None)
    }

    fn trim(&mut self, place: u32, range: (u64, u64), fua: bool) -> Result<Option<Said>, Failure> {
        let page = self.drive.page_bytes();
        if range.0.next_multiple_of(page) >= (range.0 + range.1) / page * page {
            return Ok(Some(Said::Done));
        }
        self.trim_all(place, range, fua)?;
        Ok(None)
    }

    /// Trims the whole pages of a range, the first of them now.
    fn trim_all(&mut self, place: u32, range: (u64, u64), fua: bool) -> Result<(), Failure> {
        if let Some(asked) = &mut self.asked[place as usize] {
            (asked.trim, asked.then_flush) = (range, fua);
        }
        self.trim_some(place)
    }

    /// Trims as much as is trimmed at once of what a request is still to trim.
    fn trim_some(&mut self, place: u32) -> Result<(), Failure> {
        let most = MOST_TRIMMED * self.drive.page_bytes();
        let Some(asked) = &mut self.asked[place as usize] else { return Ok(()) };
        let (first, left) = asked.trim;
        // Each part but the last one ends where a page does.
        let length = (first / most * most + most - first).min(left);
        asked.trim = (first + length, left - length);
        if left > length {
            self.unfinished.push_back(place);
        }
        self.put(place, Op::Trim, (first, length), &[], false).map(drop)
    }

    /// Whether requests are under way of which a part is still to be put to the drive.
    pub fn has_more(&self) -> bool {
        !self.unfinished.is_empty()
    }

    /// Puts one more part of such a request to the drive.
    pub fn go_on(&mut self, answers: &mut Vec<Answer>) {
        let Some(place) = self.unfinished.pop_front() else { return };
        if let Err(why) = self.trim_some(place) {
            self.fail(place, &why, answers);
        }
        self.collect(answers);
    }

    fn write_zeroes(&mut self, place: u32, range: (u64, u64), fua: bool) -> Result<(), Failure> {
        let mut zeroes = std::mem::take(&mut self.zeroes);
        if zeroes.len() < range.1 as usize {
            zeroes.resize(range.1 as usize, 0);
        }
        let put = self.put(place, Op::Write, range, &zeroes[..range.1 as usize], fua);
        self.zeroes = zeroes;
        put.map(|_| ())
    }

    #[inline]
    fn put(
        &mut self,
        place: u32,
        op: Op,
        range: (u64, u64),
        data: &[u8],
        fua: bool,
    ) -> Result<u64, Failure> {
        let time = self.time();
        let number = self.drive.put(op, range, data, fua, time)?;
        self.numbers.insert(number, place);
        if let Some(asked) = &mut self.asked[place as usize] {
            asked.parts += 1;
        }
        Ok(number)
    }

    /// Which bytes are allocated, from `offset` on.
    fn extents(&self, offset: u64, length: u64, one: bool) -> Vec<Extent> {
        let mut extents: Vec<Extent> = Vec::new();
        let (mut at, end) = (offset, offset + length);
        for _ in 0..MOST_PAGES {
            if at >= end {
                break;
            }
            let (hole, next) = self.drive.is_hole(at);
            let length = next.min(end) - at;
            match extents.last_mut() {
                Some(last) if last.hole == hole => last.length += length,
                Some(_) if one => break,
                _ => extents.push(Extent { length, hole }),
            }
            at = next;
        }
        extents
    }

    /// Lets the drive's time pass until one more of its requests has been answered.
    pub fn wait(&mut self, answers: &mut Vec<Answer>) {
        match self.drive.wait() {
            Ok(()) => self.collect(answers),
            Err(why) => self.fail_all(&why, answers),
        }
    }

    /// How long the drive, which has a clock, needs no attention, where an answer is due at `due`;
    /// `None` where nothing is going to happen.
    pub fn sleep(&self, due: Option<u64>) -> Option<Duration> {
        let clock = self.clock.as_ref()?;
        let next = if self.drive.failure().is_some() { None } else { self.drive.next_event() };
        let waited_for = self.drive.under_way() > 0;
        let Some(next) = next.into_iter().chain(due).min() else {
            // It has stuck, which one more look at it resolves.
            return (waited_for && self.is_busy()).then_some(Duration::ZERO);
        };
        Some(clock.sleep_until(next, waited_for || due.is_some()))
    }

    /// Lets happen in the drive what has happened by now, one thing after the other.
    pub fn pass(&mut self, answers: &mut Vec<Answer>) {
        // So that clients are listened to meanwhile, on a machine that does not keep up.
        const MOST: u32 = 1000;
        let Some(now) = self.clock.as_ref().and_then(Clock::now) else { return };
        for _ in 0..MOST {
            match self.drive.pass(now) {
                Ok(true) => self.collect(answers),
                Ok(false) => return,
                Err(why) => {
                    self.fail_all(&why, answers);
                    return;
                }
            }
        }
    }

    /// Adds to `answers` what the drive has answered.
    #[inline]
    pub fn collect(&mut self, answers: &mut Vec<Answer>) {
        self.drive.take_answers(&mut self.answered);
        if self.answered.is_empty() {
            return;
        }
        let mut answered = std::mem::take(&mut self.answered);
        for number in answered.drain(..) {
            let Some(place) = self.numbers.remove(number) else { continue };
            let Some(asked) = &mut self.asked[place as usize] else { continue };
            asked.parts -= 1;
            if asked.parts > 0 || asked.trim.1 > 0 {
                continue;
            }
            if std::mem::take(&mut asked.then_flush) {
                asked.request.command = Command::Flush;
                if let Err(why) = self.put(place, Op::Flush, (0, 0), &[], false) {
                    self.fail(place, &why, answers);
                }
                continue;
            }
            let said = match asked.request.command {
                Command::Read => Said::Data(asked.data.take()),
                _ => Said::Done,
            };
            self.say(place, said, answers);
        }
        // What was put meanwhile may have been answered at once.
        let more = !self.answered.is_empty();
        if !more {
            self.answered = answered;
        }
        if self.drive.under_way() == 0 {
            self.idle_since = Some(Instant::now());
        }
        self.drive.take_answers(&mut self.answered);
        if !self.answered.is_empty() {
            self.collect(answers);
        }
    }

    #[inline]
    fn say(&mut self, place: u32, said: Said, answers: &mut Vec<Answer>) {
        let Some(Asked { whose, request, .. }) = self.asked[place as usize].take() else { return };
        self.free.push(place);
        let lasts = request.command == Command::Flush
            || (request.fua && matches!(said, Said::Done) && request.command != Command::Cache);
        let said = if self.sync && lasts && matches!(said, Said::Done) {
            self.drive.sync().map_or_else(|why| Said::Failed(errno(&why)), |()| said)
        } else {
            said
        };
        answers.push(Answer { whose, request, said, due: self.drive.now() });
    }

    /// A request has failed, and perhaps the drive with it.
    fn fail(&mut self, place: u32, why: &Failure, answers: &mut Vec<Answer>) {
        // What the drive still does of it is nobody's any more.
        self.numbers.forget(place);
        self.unfinished.retain(|&other| other != place);
        self.say(place, Said::Failed(errno(why)), answers);
        if self.drive.failure().is_some() {
            self.fail_all(why, answers);
        }
    }

    /// Nothing that is under way will be answered.
    fn fail_all(&mut self, why: &Failure, answers: &mut Vec<Answer>) {
        self.numbers.clear();
        self.unfinished.clear();
        for place in 0..self.asked.len() as u32 {
            self.say(place, Said::Failed(errno(why)), answers);
        }
    }

    /// Power fails, and comes back. What is under way fails.
    ///
    /// # Errors
    /// The drive does not come back.
    pub fn cut_power(&mut self, path: &Path, answers: &mut Vec<Answer>) -> Result<Found, Error> {
        self.fail_all(&Failure::Io("power has failed".into()), answers);
        self.answered.clear();
        self.idle_since = None;
        if let Some(clock) = &mut self.clock {
            // It stands until the next request, and forgets how late answers were, as the drive
            // forgets what it has done.
            *clock = Clock::default();
        }
        self.drive.lose_power(path, self.sync)
    }

    /// A buffer that `answer` has brought is not needed any more.
    #[inline]
    pub fn give_back(&mut self, buffer: Vec<u8>) {
        if self.buffers.len() < KEPT_BUFFERS && buffer.capacity() <= KEPT_BYTES {
            self.buffers.push(buffer);
        }
    }
}

/// The number that clients know for it.
pub fn errno(why: &Failure) -> Errno {
    match why {
        Failure::NoSpace(_) => Errno::NoSpace,
        Failure::Io(_) => Errno::Io,
    }
}
