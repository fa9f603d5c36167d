//! A drive that is driven from outside, request by request, in simulated time.
//!
//! The host has a clock. A request comes at a time of it, not before; what the drive does until
//! then has happened. The drive's own time starts with the first request, as in a replay, and is
//! never moved without one: so the record is the one that a replay of the same requests gives.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use eraseblock_core::config::{Precondition, Replay};
use eraseblock_core::device::idle::Idle;
use eraseblock_core::device::{AHEAD, Device, DeviceError, Options};
use eraseblock_core::host::Request;
use eraseblock_core::metrics::Counters;
use eraseblock_core::metrics::observer::{Answered, Hears, Observer};
use eraseblock_traces::{DriveShape, Given, WorkloadConfig};
use serde_json::{Value as Json, json};

use super::cache::Cache;
use super::error::RunError;
use super::record::{self, Record};
use super::{Progress, REPORT_EVERY, closed, filled};
use crate::experiment::Experiment;

/// A drive that waits for requests.
#[derive(Debug)]
pub struct Session {
    experiment: Experiment,
    device: Device,
    idle: Vec<Idle>,
    /// All requests so far, at the times of the host's clock.
    requests: Vec<Request>,
    /// The host's time, in ns.
    clock: u64,
    answers: Arc<Answers>,
    fill_s: f64,
    wall_s: f64,
    /// Why it takes no more requests.
    over: Option<String>,
    /// What came of it.
    record: Option<Record>,
}

/// How long the requests took that somebody waits for.
#[derive(Debug, Default)]
pub struct Answers(Mutex<Waited>);

#[derive(Debug, Default)]
struct Waited {
    /// By number: when the drive answered, in its own time, and how long that took.
    answered: HashMap<u64, Option<(u64, u64)>>,
    /// When the host looked up last: it knows of the answers until then, in the drive's time, to
    /// requests with a number below this.
    looked: (u64, u64),
}

/// How a request stands, for the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response {
    /// It is under way.
    UnderWay,
    /// It was answered so many ns after it came; nobody knows after how many in an untimed run.
    After(Option<u64>),
}

impl Answers {
    fn waited(&self) -> MutexGuard<'_, Waited> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How a request stands.
    pub fn of(&self, number: u64) -> Response {
        let waited = self.waited();
        match waited.answered.get(&number).copied().flatten() {
            Some((at, response)) if at <= waited.looked.0 && number < waited.looked.1 => {
                Response::After(Some(response).filter(|&response| response != UNTIMED))
            }
            _ => Response::UnderWay,
        }
    }

    /// Nobody waits for it any more.
    pub fn forget(&self, number: u64) {
        self.waited().answered.remove(&number);
    }
}

/// In the place of a response time: there is none.
const UNTIMED: u64 = u64::MAX;

/// Notes answers.
#[derive(Debug)]
struct Listener {
    answers: Arc<Answers>,
    timed: bool,
}

impl Observer for Listener {
    fn on_answer(&mut self, answered: &Answered) -> Hears {
        if let Some(answer) = self.answers.waited().answered.get_mut(&answered.number) {
            let response = if self.timed { answered.now - answered.arrival } else { UNTIMED };
            *answer = Some((answered.now, response));
        }
        Hears::Yes
    }
}

/// Is told how long work gets on, and may end it.
type Watch<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

fn go_on(watch: Watch<'_>, phase: &'static str, done: u64, total: u64) -> Result<(), RunError> {
    match watch(Progress { phase, done, total }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(RunError::Cancelled),
    }
}

/// A request comes after all times that the host's clock can show.
fn late() -> RunError {
    RunError::Option("workload: a time is beyond the device's clock, which ends at 2^64 ns".into())
}

impl Session {
    /// The drive of an experiment, filled; the workload of that does not matter. `watch` is told
    /// how filling gets on, and may end it.
    ///
    /// # Errors
    /// The drive cannot be built, or needs to know the requests beforehand.
    pub fn new(
        experiment: Experiment,
        verify: bool,
        cache: Option<&Cache>,
        watch: Watch<'_>,
    ) -> Result<Self, RunError> {
        let (config, options) = (experiment.device(), Options { verify });
        let beforehand = |what: &str| {
            DeviceError::Config(format!(
                "{what}: needs to know all requests beforehand, and a drive that is driven from \
                 outside does not; run an experiment instead"
            ))
        };
        if matches!(config.precondition.state, Precondition::Workload | Precondition::Trace) {
            return Err(beforehand("precondition.state").into());
        }
        if config.precondition.state == Precondition::Image {
            return Err(DeviceError::Config(
                "precondition.state: a drive that is driven from outside does not begin with an \
                 image; run an experiment instead"
                    .into(),
            )
            .into());
        }
        let mut device = Device::new(&config, options)?;
        if device.needs_future() {
            return Err(beforehand("buffer.scheme").into());
        }
        let idle = device.idle_settings();
        let start = Instant::now();
        let mut filling = |done, total| go_on(watch, "fill", done, total).is_ok();
        filled::fill(&mut device, (&config, options), cache, &mut filling)?;
        let answers = Arc::<Answers>::default();
        let timed = config.host.replay != Replay::Untimed;
        device.observe(Box::new(Listener { answers: answers.clone(), timed }));
        for metric in experiment.asked_metrics() {
            device.keep(metric);
        }
        Ok(Self {
            experiment,
            device,
            idle,
            requests: Vec::new(),
            clock: 0,
            answers,
            fill_s: start.elapsed().as_secs_f64(),
            wall_s: 0.0,
            over: None,
            record: None,
        })
    }

    /// The host's time, in ns.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// Bytes that the host sees, and of a page.
    pub fn bytes(&self) -> (u64, u64) {
        (self.device.exported_bytes(), self.device.page_bytes())
    }

    /// How requests stand that were put with `wait`.
    pub fn answers(&self) -> &Arc<Answers> {
        &self.answers
    }

    fn shape(&self) -> DriveShape {
        DriveShape {
            exported_bytes: self.device.exported_bytes(),
            page_bytes: self.device.page_bytes(),
            block_bytes: self.device.logical_block_bytes(),
        }
    }

    fn replay(&self) -> Replay {
        self.experiment.host.replay
    }

    /// When something of the host's clock happens by the drive's, which starts with the first
    /// request.
    fn drive_time(&self, host: u64) -> u64 {
        let since = host - self.requests.first().map_or(host, |first| first.arrival_ns);
        let speedup = self.experiment.host.speedup;
        if (speedup - 1.0).abs() < f64::EPSILON {
            since
        } else {
            (since as f64 / speedup).round() as u64
        }
    }

    /// The host lets its clock go on to a time, and looks what has been answered.
    fn look_at(&mut self, clock: u64) {
        self.clock = self.clock.max(clock);
        let seen =
            if self.replay() == Replay::Open { self.drive_time(self.clock) } else { u64::MAX };
        self.answers.waited().looked = (seen, self.device.next_number());
    }

    /// It still takes requests.
    fn check_open(&self) -> Result<(), RunError> {
        match &self.over {
            Some(why) => Err(RunError::Option(why.clone())),
            None => Ok(()),
        }
    }

    /// A time of the host's clock, now if none is given.
    fn time(&self, at: Option<u64>, what: &str) -> Result<u64, RunError> {
        match at {
            Some(at) if at < self.clock && self.replay() == Replay::Open => {
                Err(RunError::Option(format!(
                    "{what}: found {at} ns, which is before the device's clock ({} ns)",
                    self.clock
                )))
            }
            Some(at) => Ok(at.max(self.clock)),
            None => Ok(self.clock),
        }
    }

    /// Puts a request to the drive, at a time of the host's clock or now. Its number comes back;
    /// with `wait`, [`Self::answers`] has it until it is forgotten.
    ///
    /// # Errors
    /// The time is over, the request lies beyond the drive, or the drive cannot go on.
    pub fn put(&mut self, at: Option<u64>, request: Request, wait: bool) -> Result<u64, RunError> {
        self.check_open()?;
        let at = self.time(at, "at")?;
        let start = Instant::now();
        let number = self.device.next_number();
        if wait {
            self.answers.waited().answered.insert(number, None);
        }
        let put = self.submit(Request { arrival_ns: at, ..request });
        if wait && self.device.next_number() == number {
            self.answers.forget(number);
        }
        self.wall_s += start.elapsed().as_secs_f64();
        put.map(|()| number)
    }

    fn submit(&mut self, request: Request) -> Result<(), RunError> {
        let number = self.device.next_number();
        self.requests.push(request);
        let drives = Request { arrival_ns: self.since_first(request.arrival_ns), ..request };
        let put = self.device.submit(&drives);
        if self.device.next_number() == number {
            self.requests.pop();
        } else {
            self.clock = request.arrival_ns;
        }
        put.map_err(|error| self.failed(error))
    }

    fn since_first(&self, at: u64) -> u64 {
        at - self.requests.first().map_or(at, |first| first.arrival_ns)
    }

    /// What the drive said, and whether that was its end.
    fn failed(&mut self, error: DeviceError) -> RunError {
        if !matches!(error, DeviceError::Request { .. } | DeviceError::Config(_)) {
            self.over.get_or_insert_with(|| format!("the device takes no more requests: {error}"));
        }
        error.into()
    }

    /// Puts all requests of a workload to the drive, from now on. Paths start from the folder
    /// `base`. Says how many there were.
    ///
    /// # Errors
    /// As of a replay. What came before it has been served.
    pub fn run(
        &mut self,
        workload: &WorkloadConfig,
        base: &Path,
        watch: Watch<'_>,
    ) -> Result<u64, RunError> {
        self.check_open()?;
        let mut read = |passed| go_on(watch, "read", passed, 0).is_ok();
        let given = workload.given.is_some();
        let workload = workload.prepare_watched(base, &mut read)?;
        let fitted = workload.fit_watched(self.shape(), &mut read)?;
        let (start, total) = (Instant::now(), fitted.report().submitted);
        // Times of a file begin with its first request, those of a program's with its clock.
        let first = if given { workload.identity().start_ns } else { 0 };
        let begin = self.clock.checked_add(first).ok_or_else(late)?;
        let mut done = 0;
        let mut requests = fitted.requests();
        let mut next = Vec::with_capacity(AHEAD);
        let served = 'run: loop {
            next.clear();
            for request in requests.by_ref().take(AHEAD) {
                match request {
                    Ok(request) => next.push(request),
                    Err(error) => break 'run Err(error.into()),
                }
            }
            self.device.look_ahead(&next);
            for request in &next {
                if done % REPORT_EVERY == 0
                    && let Err(error) = go_on(watch, "replay", done, total)
                {
                    break 'run Err(error);
                }
                let Some(arrival_ns) = begin.checked_add(request.arrival_ns) else {
                    break 'run Err(late());
                };
                // Volumes have been laid out: its address is the drive's.
                let request = Request { arrival_ns, volume: 0, ..*request };
                if let Err(error) = self.submit(request) {
                    break 'run Err(error);
                }
                done += 1;
            }
            if next.len() < AHEAD {
                break Ok(done);
            }
        };
        self.wall_s += start.elapsed().as_secs_f64();
        served
    }

    /// The host's clock goes on to `until`: what the drive has answered by then, it knows of.
    ///
    /// # Errors
    /// The time is over, the run has no arrival times, or the drive cannot go on.
    pub fn advance(&mut self, until: u64) -> Result<(), RunError> {
        self.check_open()?;
        if self.replay() != Replay::Open {
            return Err(RunError::Option(
                "advance: host.replay is not \"open\": requests come when others are answered, and \
                 the host's clock stands still; use drain"
                    .to_owned(),
            ));
        }
        let until = self.time(Some(until), "until")?;
        if !self.requests.is_empty() {
            let passed = self.device.pass_until(self.drive_time(until));
            passed.map_err(|error| self.failed(error))?;
        }
        self.look_at(until);
        Ok(())
    }

    /// The host waits until all its requests have been answered, and knows of all answers.
    ///
    /// # Errors
    /// The drive cannot go on.
    pub fn drain(&mut self, watch: Watch<'_>) -> Result<(), RunError> {
        self.check_open()?;
        let all = u64::from(self.device.under_way());
        while self.device.under_way() > 0 {
            go_on(watch, "finish", all - u64::from(self.device.under_way()), all)?;
            self.device.wait_for_answer().map_err(|error| self.failed(error))?;
        }
        // The drive's time by the host's clock, not before the last answer.
        let first = self.requests.first().map_or(self.clock, |first| first.arrival_ns);
        let answered = (self.device.now() as f64 * self.experiment.host.speedup).ceil() as u64;
        let exact = (self.experiment.host.speedup - 1.0).abs() < f64::EPSILON;
        let answered = if exact { self.device.now() } else { answered };
        self.look_at(if self.replay() == Replay::Open { first + answered } else { 0 });
        Ok(())
    }

    /// What has been counted so far, and where the drive stands, as JSON.
    pub fn stats(&self) -> Json {
        let c = self.device.counters();
        let ratio = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let (submitted, completed) = (c.submitted, c.completed);
        json!({
            "clock_ns": self.clock,
            "requests": {"submitted": submitted, "answered": completed},
            "host_pages": {
                "read": c.pages_read, "write": c.pages_written, "trim": c.pages_trimmed,
            },
            "hit_ratio": {
                "all": ratio(c.read_hits + c.write_hits, c.pages_read + c.pages_written),
                "read": ratio(c.read_hits, c.pages_read),
                "write": ratio(c.write_hits, c.pages_written),
            },
            "buffer_pages": self.device.buffer().len(),
            "flash": {
                "reads": Counters::total(&c.reads),
                "programs": Counters::total(&c.programs),
                "erases": Counters::total(&c.erases),
            },
            "waf": ratio(c.programmed, c.pages_written),
        })
    }

    /// Ends the run: everything under way ends, and the record is that of a replay of the same
    /// requests. Later calls give the same one.
    ///
    /// # Errors
    /// There was no request, or the drive found itself wrong.
    pub fn record(&mut self, watch: Watch<'_>) -> Result<&Record, RunError> {
        let record = match self.record.take() {
            Some(record) => record,
            None => self.end(watch)?,
        };
        self.over = Some("the device has ended its run: its record was taken".to_owned());
        Ok(self.record.insert(record))
    }

    fn end(&mut self, watch: Watch<'_>) -> Result<Record, RunError> {
        if self.requests.is_empty() {
            return Err(RunError::Option("record: the device was given no requests".to_owned()));
        }
        let submitted = self.requests.len() as u64;
        let start = Instant::now();
        go_on(watch, "finish", 0, 1)?;
        self.over.get_or_insert_with(|| "the device could not end its run".to_owned());
        let given = Given::new(std::mem::take(&mut self.requests))?;
        self.experiment.workload = WorkloadConfig::given(given);
        let mut read = |_| true;
        let workload = self.experiment.workload.prepare_watched(Path::new(""), &mut read)?;
        let fitted = workload.fit_watched(self.shape(), &mut read)?;
        let figures = self.device.finish()?;
        self.wall_s += start.elapsed().as_secs_f64();
        self.answers.waited().looked = (u64::MAX, u64::MAX);
        let engine = record::Engine {
            requests: submitted,
            flash_ops: self.device.flash_ops(),
            wall_s: self.wall_s,
            fill_s: self.fill_s,
        };
        let idle = std::mem::take(&mut self.idle);
        closed(&self.experiment, (&workload, None), &fitted, &figures, idle, engine)
    }
}
