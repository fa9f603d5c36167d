//! The control socket: for the owner of the drive alone, one line of JSON for each order and one
//! for its reply. Threads of their own read it, so that whoever is slow there costs the drive and
//! others nothing.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::deadline::Timed;
use super::desk::{Desk, Order, Reply};
use super::listen::private_socket;
use crate::error::Error;

/// Bytes of an order.
const LONGEST: u64 = 64 << 10;
/// Whoever connects says all of what they want within this time, and takes the reply within it.
const PATIENCE: Duration = Duration::from_secs(5);
/// Where nobody could be let in, it is tried again after so long.
const AGAIN: Duration = Duration::from_millis(50);
/// So many may be about to give an order: who says nothing does not keep others from it.
const AT_ONCE: usize = 64;
/// An order takes no longer: a copy of a large image may take a while.
const LONGEST_ORDER: Duration = Duration::from_secs(3600);

/// The control socket of a server; it is removed at the end.
#[derive(Debug)]
pub struct Control {
    path: PathBuf,
    listener: Option<UnixListener>,
}

impl Control {
    /// Listens; nobody is answered yet.
    pub fn bind(path: &Path) -> Result<Self, Error> {
        let bound = private_socket(path, |path| UnixListener::bind(path));
        let listener = bound.map_err(|source| {
            let address = path.display().to_string();
            Error::Listen { address, source }
        })?;
        Ok(Self { path: path.to_owned(), listener: Some(listener) })
    }

    /// Orders go to `desk` from now on. Its threads end with the process.
    pub fn start(&mut self, desk: &Desk) {
        let Some(listener) = self.listener.take() else { return };
        let desk = desk.clone();
        thread::spawn(move || {
            let (done, ended) = channel();
            let (one, mut heard) = (Arc::new(Mutex::new(())), 0);
            for stream in listener.incoming() {
                // There may be no file handle left: others need the processor meanwhile.
                let Ok(stream) = stream else {
                    thread::sleep(AGAIN);
                    continue;
                };
                let (desk, one, done) = (desk.clone(), Arc::clone(&one), done.clone());
                let begun = thread::Builder::new().spawn(move || {
                    serve(&stream, &desk, &one);
                    _ = done.send(());
                });
                heard += usize::from(begun.is_ok());
                heard -= ended.try_iter().count();
                if heard >= AT_ONCE {
                    heard -= usize::from(ended.recv().is_ok());
                }
            }
        });
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.path);
    }
}

/// Hears one order, and does it when no other is being done: there is one drive.
fn serve(stream: &UnixStream, desk: &Desk, one: &Mutex<()>) {
    let mut line = String::new();
    let read = BufReader::new(Timed::new(stream, PATIENCE).take(LONGEST)).read_line(&mut line);
    if read.is_err() || line.is_empty() {
        return;
    }
    let reply: Reply = order(&line).and_then(|order| {
        let _turn = one.lock().unwrap_or_else(PoisonError::into_inner);
        desk.ask(order, LONGEST_ORDER)
    });
    let text = match reply {
        Ok(json) => format!("{{\"done\": {json}}}\n"),
        Err(why) => format!("{}\n", json!({ "error": why })),
    };
    // Whoever has gone does not want to know.
    _ = Timed::new(stream, PATIENCE).write_all(text.as_bytes());
}

fn order(line: &str) -> Result<Order, String> {
    let value: Value =
        serde_json::from_str(line).map_err(|why| format!("an order is JSON: {why}"))?;
    match (value["order"].as_str(), value["file"].as_str()) {
        (Some("stats"), None) => Ok(Order::Stats),
        (Some("flush"), None) => Ok(Order::Flush),
        (Some("power-cut"), None) => Ok(Order::PowerCut),
        (Some("snapshot"), Some(file)) if Path::new(file).is_absolute() => {
            Ok(Order::Snapshot(file.into()))
        }
        (Some("snapshot"), _) => Err("a snapshot needs the absolute name of its file".to_owned()),
        _ => Err("expected an order: stats, flush, power-cut or snapshot".to_owned()),
    }
}
