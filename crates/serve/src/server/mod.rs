//! The server: clients on one side, one drive on the other, and one thread for all.
//!
//! The drive is quicker than the drive that it stands for, but one thing after the other: each
//! request is put to it as it comes, and the answers go out as the drive's own time passes. While
//! requests are under way that time goes from event to event, as fast as can be; while none is, it
//! goes with the clock on the wall, so that the drive has its idle time.
//!
//! What a client can make the server hold is bounded: its requests under way, the bytes of their
//! answers, one payload; and so is what all of them hold together, but for one request or payload
//! of each. A client that does not take its answers is not listened to.

mod client;
mod clock;
mod control;
mod deadline;
mod desk;
mod door;
mod exchange;
mod http;
mod listen;
mod numbers;
mod orders;
mod prometheus;
mod signals;
mod stream;
mod terms;
mod tls;
mod work;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use eraseblock_nbd::{Export, Sizes};
use mio::{Events, Interest, Poll, Token};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustls::ServerConfig;

use crate::drive::{Drive, Finished, Unfinished};
use crate::error::Error;
use crate::priority::Priority;
use crate::record::Recorder;
use client::Client;
use clock::Clock;
use control::Control;
use desk::{Desk, Question, Slip};
use door::Door;
use http::Figures;
pub use http::Http;
pub use listen::Address;
use listen::Listener;
use signals::Signals;
pub use terms::{Ended, Options, Ready};
pub use tls::Tls;
use work::{Answer, Work};

/// Bytes of a read or a write.
const MOST_PAYLOAD: u32 = 32 << 20;
/// Clients get this long to take their last answers.
const FAREWELL: Duration = Duration::from_secs(2);

const LISTENER: Token = Token(usize::MAX - 1);
const SIGNALS: Token = Token(usize::MAX - 2);
const ORDERS: Token = Token(usize::MAX - 3);
/// What the server asks of the drive itself is answered here.
const OURS: usize = usize::MAX;

/// Serves an image until the process is asked to end by SIGTERM or SIGINT. Then what is under way
/// is answered, everything is stored, and the image is closed. `prepare` is called when nobody else
/// can listen there, before the image is opened: it may make that, which can take long. `ready` is
/// told when clients can come. Where one of them says `false`, the server ends at once, and nothing
/// comes back.
///
/// # Errors
/// The image cannot be used, or nobody can listen there; or the drive did not come back after a
/// power cut, and what was answered before is in the image.
pub fn serve(
    path: &Path,
    options: &Options,
    prepare: impl FnOnce() -> bool,
    ready: impl FnOnce(&Ready) -> bool,
) -> Result<Option<Ended>, Error> {
    let failed = |source| Error::file(path, source);
    let tls = options.tls.as_ref().map(Tls::load).transpose()?;
    let listener = Listener::bind(&options.address, tls.is_some() || options.insecure)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let written_by = format!("eraseblock {}", env!("CARGO_PKG_VERSION"));
    let provenance = || {
        let pairs =
            [("source", name), ("source_format", "served".into()), ("written_by", written_by)];
        pairs.map(|(key, value)| (key.to_owned(), value)).to_vec()
    };
    let recorder =
        options.record.as_ref().map(|to| Recorder::create(to, provenance())).transpose()?;
    let mut control = options.control.as_deref().map(Control::bind).transpose()?;
    let mut figures = options.http.as_ref().map(Figures::bind).transpose()?;
    if !prepare() {
        return Ok(None);
    }
    // They may come while the image is being opened, which can take long.
    let signals = Signals::new().map_err(failed)?;
    let (mut drive, found) = Drive::open(path, options.sync)?;
    if let Some(recorder) = recorder {
        drive.record(recorder);
    }
    let mut server = Server::new((drive, listener, signals), tls, path, options).map_err(failed)?;
    if let Some(control) = &mut control {
        control.start(&server.desk);
    }
    if let (Some(figures), Some(http)) = (&mut figures, &options.http) {
        figures.start(http.page.clone(), &server.desk);
    }
    let (uri, page) = (server.door.uri(), figures.as_ref().map(Figures::uri));
    let real_time = server.real_time();
    let told = ready(&Ready { uri, page, size: server.size, found, real_time });
    let ran = if told { server.run() } else { Ok(()) };
    // What is left to be done takes its time.
    server.priority = None;
    let Server { poll, clients, work, door, broken, .. } = server;
    drop((door, control, figures));
    ran.map_err(failed)?;
    broken.map_or(Ok(()), Err)?;
    let lateness = work.clock.as_ref().and_then(Clock::lateness);
    let (finished, failed) = match work.drive.close() {
        Ok(finished) => (finished, None),
        Err(unfinished) => {
            let Unfinished { why, report, recorder } = *unfinished;
            let checkpoint_failed = None;
            (Finished { report, recorder, checkpoint_failed }, Some(why.to_string()))
        }
    };
    let Finished { report, recorder, checkpoint_failed } = finished;
    // Only now the image is closed: who hears that nothing more comes may open it.
    for mut client in clients.into_iter().flatten() {
        client.stream.close(poll.registry());
    }
    let recorded = recorder.as_ref().map(Recorder::requests);
    let written = recorder.map(Recorder::finish).transpose();
    let recording_failed = written.err().map(|why| why.to_string());
    let ended = Ended { report, lateness, recorded, recording_failed, checkpoint_failed, failed };
    Ok(told.then_some(ended))
}

struct Server {
    poll: Poll,
    door: Door,
    /// Kept, since it wakes the server.
    _signals: Signals,
    size: u64,
    clients: Vec<Option<Client>>,
    work: Work,
    /// That of this thread, where answers come in time.
    priority: Option<Priority>,
    /// Whose turn it is next, where clients wait for room in the drive.
    turn: usize,
    answers: Vec<Answer>,
    /// When answers were due, in the drive's time, that are going out.
    due: Vec<u64>,
    path: PathBuf,
    desk: Desk,
    questions: Receiver<Question>,
    /// Orders that wait for a flush, by its number.
    flushing: Vec<(u64, Slip)>,
    flushes: u64,
    /// The drive did not come back after a power cut.
    broken: Option<Error>,
    /// Since when the server is ending.
    ends: Option<Instant>,
}

impl Server {
    fn new(
        (drive, listener, mut signals): (Drive, Listener, Signals),
        tls: Option<Arc<ServerConfig>>,
        path: &Path,
        options: &Options,
    ) -> io::Result<Self> {
        let export = Export {
            name: String::new(),
            description: format!(
                "{}: a simulated drive",
                path.file_name().unwrap_or_default().to_string_lossy()
            ),
            size: drive.size(),
            read_only: false,
            sizes: Sizes {
                minimum: 1,
                preferred: (drive.page_bytes() as u32).next_power_of_two().max(4096),
                most: MOST_PAYLOAD,
            },
        };
        export.check().map_err(io::Error::other)?;
        let poll = Poll::new()?;
        let size = export.size;
        let door = Door::new(listener, tls, Arc::new(export), (poll.registry(), LISTENER))?;
        poll.registry().register(&mut signals.stream, SIGNALS, Interest::READABLE)?;
        let (desk, questions) = Desk::new(poll.registry(), ORDERS)?;
        Ok(Self {
            poll,
            door,
            _signals: signals,
            size,
            clients: Vec::new(),
            work: Work::new(drive, MOST_PAYLOAD, options.sync, options.pace),
            priority: (options.pace && options.real_time).then(Priority::ask),
            turn: 0,
            answers: Vec::new(),
            due: Vec::new(),
            path: path.to_owned(),
            desk,
            questions,
            flushing: Vec::new(),
            flushes: 0,
            broken: None,
            ends: None,
        })
    }

    fn run(&mut self) -> io::Result<()> {
        if self.work.clock.is_some() {
            clock::wake_in_time();
        }
        let mut events = Events::with_capacity(256);
        loop {
            let mut wait = self.patience();
            if self.work.clock.is_some() && wait != Some(Duration::ZERO) {
                self.doze(wait);
                wait = Some(Duration::ZERO);
            }
            self.priority.iter_mut().for_each(Priority::keep);
            match self.poll.poll(&mut events, wait) {
                Err(why) if why.kind() != io::ErrorKind::Interrupted => return Err(why),
                _ => {}
            }
            let (mut ordered, mut come) = (false, self.door.is_due());
            for event in &events {
                match event.token() {
                    LISTENER => come = true,
                    SIGNALS => self.end(),
                    ORDERS => ordered = true,
                    Token(place) => {
                        if let Some(client) = self.clients.get_mut(place).and_then(Option::as_mut) {
                            client.readable |= event.is_readable() || event.is_read_closed();
                            client.closing |= event.is_read_closed();
                            client.writable |= event.is_writable() || event.is_write_closed();
                        }
                    }
                }
            }
            self.listen();
            // Who has said something in its handshake is heard before its time counts as over.
            if come {
                self.admit();
            }
            if ordered {
                self.obey();
            }
            if self.broken.is_some() {
                // There is no drive any more. Clients hear that their requests have failed.
                self.send();
                return Ok(());
            }
            if self.work.has_more() {
                self.work.go_on(&mut self.answers);
                self.tell();
            }
            // Half of what is under way is answered before clients are listened to again, so that
            // they find the drive busy as it would be.
            let left = self.work.drive.under_way() / 2;
            while self.work.clock.is_none()
                && self.work.is_busy()
                && self.work.drive.under_way() > left
            {
                self.work.wait(&mut self.answers);
                self.tell();
            }
            if self.work.clock.is_some() {
                self.work.pass(&mut self.answers);
                self.tell();
            }
            self.send();
            if self.has_ended() {
                return Ok(());
            }
        }
    }

    /// How long nothing has to be done.
    fn patience(&mut self) -> Option<Duration> {
        let (crowded, full) = (self.is_crowded(), self.work.is_full());
        let has_work = |client: &mut Client| client.has_work(crowded);
        if self.work.has_more()
            || self.work.is_busy() && self.work.clock.is_none()
            || !full && self.clients.iter_mut().flatten().any(has_work)
        {
            return Some(Duration::ZERO);
        }
        let clients = self.ends.map(|_| Duration::from_millis(20));
        let due = self.answers.iter().map(|answer| answer.due).min();
        [clients, self.work.sleep(due), self.door.patience()].into_iter().flatten().min()
    }

    /// Sleeps until a client wants something, or time is up: to less than a thousandth of a second,
    /// which [`Poll`] does not.
    fn doze(&mut self, time: Option<Duration>) {
        let began = Instant::now();
        let mut registry = [PollFd::new(self.poll.registry(), PollFlags::IN)];
        let time = time.and_then(|time| Timespec::try_from(time).ok());
        // Whatever has gone wrong is found when it is asked what clients want.
        _ = rustix::event::poll(&mut registry, time.as_ref());
        self.priority.iter_mut().for_each(|priority| priority.slept_since(began));
    }

    fn admit(&mut self) {
        if self.ends.is_some() {
            self.door.refuse();
        } else {
            self.door.admit(&mut self.clients, self.poll.registry());
        }
    }

    fn end(&mut self) {
        self.ends.get_or_insert_with(Instant::now);
        for client in self.clients.iter_mut().flatten() {
            client.connection.shut_down();
        }
    }

    /// Whether everything has been said to everybody, or they have had their time.
    fn has_ended(&mut self) -> bool {
        let Some(since) = self.ends else { return false };
        let unsaid = self.clients.iter_mut().flatten().any(Client::has_unsent);
        let waiting = self.work.is_busy() || !self.answers.is_empty();
        !waiting && (!unsaid || since.elapsed() > FAREWELL)
    }

    /// Where answers come in time: whether this thread has real-time priority, or why not.
    fn real_time(&self) -> Option<Result<(), String>> {
        self.work.clock.as_ref()?;
        Some(match self.priority.as_ref().map(Priority::refused) {
            Some(None) => Ok(()),
            Some(Some(why)) => Err(why.to_owned()),
            None => Err("it has not been asked for".to_owned()),
        })
    }
}
