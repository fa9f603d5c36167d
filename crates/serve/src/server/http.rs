//! The drive's figures over HTTP: for Prometheus, and as a page for people. Threads of its own
//! answer; the drive's is asked for one thing, how it stands, and for that a few times a second at
//! most, however many ask.
//!
//! Nobody but programs of this machine can come, and a page of another site that a browser has open
//! gets nothing: the request has to name this machine as its host, which a name that was bound to
//! another address does not (DNS rebinding).

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::deadline::Timed;
use super::desk::{Desk, Standing};
use super::prometheus;
use crate::error::Error;

/// Bytes of a request.
const LONGEST: usize = 8 << 10;
/// Lines of its head.
const MOST_HEADERS: usize = 64;
/// A request is here within this time, and its answer taken within it.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections at a time.
const MOST_CONNECTIONS: usize = 16;
/// How the drive stands is asked for again after this time.
const FRESH: Duration = Duration::from_millis(200);

/// Figures over HTTP.
#[derive(Debug, Clone)]
pub struct Http {
    /// A port of the loopback interface; 0 is any that is free.
    pub port: u16,
    /// The page at `/`; it asks for `/standing.json`.
    pub page: String,
}

/// What listens.
#[derive(Debug)]
pub struct Figures {
    listener: Option<TcpListener>,
    address: SocketAddr,
    ends: Arc<AtomicBool>,
}

/// What is answered from.
struct Shared {
    desk: Desk,
    page: String,
    last: Mutex<Option<(Instant, Arc<Standing>)>>,
    connections: AtomicUsize,
}

impl Figures {
    /// Listens; nobody is answered yet.
    pub fn bind(http: &Http) -> Result<Self, Error> {
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, http.port));
        let found = bound.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = found.map_err(|source| {
            let address = format!("--http, port {}", http.port);
            Error::Listen { address, source }
        })?;
        Ok(Self { listener: Some(listener), address, ends: Arc::default() })
    }

    /// Where people find the page.
    pub fn uri(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Answers from now on.
    pub fn start(&mut self, page: String, desk: &Desk) {
        let Some(listener) = self.listener.take() else { return };
        let (desk, ends) = (desk.clone(), Arc::clone(&self.ends));
        let (last, connections) = (Mutex::default(), AtomicUsize::new(0));
        let shared = Arc::new(Shared { desk, page, last, connections });
        thread::spawn(move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                let Ok(stream) = stream else {
                    // There may be no file handle left: others need the processor meanwhile.
                    thread::sleep(Duration::from_millis(50));
                    continue;
                };
                if shared.connections.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
                    shared.connections.fetch_sub(1, Ordering::Relaxed);
                    continue;
                }
                let own = Arc::clone(&shared);
                let begun = thread::Builder::new().spawn(move || {
                    // Whoever has gone does not want to know.
                    _ = serve(&stream, &own);
                    own.connections.fetch_sub(1, Ordering::Relaxed);
                });
                if begun.is_err() {
                    shared.connections.fetch_sub(1, Ordering::Relaxed);
                }
            }
        });
    }
}

impl Drop for Figures {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if self.listener.is_none() {
            // It waits for the next one to come.
            _ = TcpStream::connect(self.address);
        }
    }
}

impl Shared {
    fn standing(&self) -> Result<Arc<Standing>, String> {
        // Others that ask meanwhile wait for the same.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, standing)) = &*last
            && at.elapsed() < FRESH
        {
            return Ok(Arc::clone(standing));
        }
        let standing = Arc::from(self.desk.standing(PATIENCE)?);
        *last = Some((Instant::now(), Arc::clone(&standing)));
        Ok(standing)
    }

    fn answer(&self, asked: Asked) -> Answer {
        let text = |status, text: &str| Answer::text(status, format!("{text}\n"));
        match asked {
            Asked::Refused(status, why) => text(status, why),
            Asked::Page => {
                Answer { kind: "text/html; charset=utf-8", ..Answer::text(OK, self.page.clone()) }
            }
            Asked::Metrics | Asked::Standing => match self.standing() {
                Err(why) => text("503 Service Unavailable", &why),
                Ok(standing) if asked == Asked::Metrics => {
                    let kind = "text/plain; version=0.0.4; charset=utf-8";
                    Answer { kind, ..Answer::text(OK, prometheus::text(&standing)) }
                }
                Ok(standing) => {
                    let body = serde_json::to_string(&*standing);
                    let body = body.unwrap_or_else(|e| unreachable!("{e}"));
                    Answer { kind: "application/json", ..Answer::text(OK, body) }
                }
            },
        }
    }
}

const OK: &str = "200 OK";

struct Answer {
    status: &'static str,
    kind: &'static str,
    body: String,
}

impl Answer {
    fn text(status: &'static str, body: String) -> Self {
        Self { status, kind: "text/plain; charset=utf-8", body }
    }

    fn send(&self, to: &mut impl Write) -> io::Result<()> {
        let Self { status, kind, body } = self;
        let allow = if status.starts_with("405") { "Allow: GET\r\n" } else { "" };
        let head = format!(
            "HTTP/1.1 {status}\r\n\
             Content-Type: {kind}\r\n\
             Content-Length: {}\r\n\
             {allow}\
             Cache-Control: no-store\r\n\
             Connection: close\r\n\
             Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; \
             style-src 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\n\
             Referrer-Policy: no-referrer\r\n\
             X-Content-Type-Options: nosniff\r\n\r\n",
            body.len(),
        );
        to.write_all(&[head.as_bytes(), body.as_bytes()].concat())
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    let mut timed = Timed::new(stream, PATIENCE);
    let asked = read(&mut timed)?;
    let is_refused = matches!(asked, Asked::Refused(..));
    shared.answer(asked).send(&mut Timed::new(stream, PATIENCE))?;
    if is_refused {
        // What has come and is not read would take the answer back that is on its way.
        stream.shutdown(std::net::Shutdown::Write)?;
        io::copy(&mut timed.take(1 << 20), &mut io::sink())?;
    }
    Ok(())
}

/// What somebody wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Page,
    Metrics,
    Standing,
    /// They may not have it: the status, and why.
    Refused(&'static str, &'static str),
}

/// Reads a request up to the end of its head.
fn read(from: &mut impl Read) -> io::Result<Asked> {
    let (mut bytes, mut held) = (vec![0; LONGEST], 0);
    loop {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes[..held]) {
            Ok(httparse::Status::Complete(_)) => return Ok(asked(&request)),
            Ok(httparse::Status::Partial) if held < LONGEST => {}
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                let status = "431 Request Header Fields Too Large";
                return Ok(Asked::Refused(status, "the request is too long"));
            }
            Err(_) => return Ok(Asked::Refused("400 Bad Request", "this is no request of HTTP")),
        }
        match from.read(&mut bytes[held..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => held += count,
        }
    }
}

fn asked(request: &httparse::Request<'_, '_>) -> Asked {
    let all = |name: &'static str| {
        let headers = request.headers.iter();
        headers.filter(move |header| header.name.eq_ignore_ascii_case(name))
    };
    let mut hosts = all("host");
    let host = hosts.next().and_then(|header| std::str::from_utf8(header.value).ok());
    if hosts.next().is_some() || !host.is_some_and(is_this_machine) {
        let why = "the request has to name this machine: 127.0.0.1, localhost or [::1]";
        return Asked::Refused("403 Forbidden", why);
    }
    if request.method != Some("GET") {
        return Asked::Refused("405 Method Not Allowed", "only GET is answered");
    }
    let has_body = all("transfer-encoding").next().is_some()
        || all("content-length").any(|header| header.value != b"0");
    if has_body {
        return Asked::Refused("400 Bad Request", "a request has no body");
    }
    let path = request.path.unwrap_or_default();
    match path.split_once('?').map_or(path, |(path, _)| path) {
        "/" => Asked::Page,
        "/metrics" => Asked::Metrics,
        "/standing.json" => Asked::Standing,
        _ => Asked::Refused("404 Not Found", "there are /, /metrics and /standing.json"),
    }
}

/// Whether a host of a request is this machine, at whatever port: there may be a tunnel.
fn is_this_machine(host: &str) -> bool {
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| {
        let begins = host.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        let rest = host.get(name.len()..).unwrap_or_default();
        begins && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
    })
}
